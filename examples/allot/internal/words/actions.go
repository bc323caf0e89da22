package words

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

func Kind(k allot.ActionKind) string {
	switch k {
	case allot.Evict:
		return "is evicted from"
	case allot.Shrink:
		return "gives up tasks on"
	case allot.Move:
		return "moves from"
	case allot.Displace:
		return "has lost its place on"
	case allot.Unclaim:
		return "gives up its claim on"
	}
	return k.String()
}

// Rule names the right by which work is taken.
func Rule(c allot.Code) string {
	switch c {
	case allot.ReclaimedByQuota:
		return "Reclaim by quota"
	case allot.ReclaimedByShare:
		return "Reclaim by fair share"
	case allot.Preempted:
		return "Preemption by priority"
	case allot.Consolidated:
		return "Consolidation"
	case allot.Behind:
		return "What it had its place behind"
	}
	return UpperFirst(strings.ReplaceAll(c.String(), "-", " "))
}

func Ending(e *allot.Ending) string {
	text := "It waits again."
	if e.Final {
		text = "It ends as failed."
	}
	if e.Checkpoint {
		text = "Its work is saved first. " + text
	}
	return text
}

// Places says where tasks are: "h1, GPUs 0–3; h2 (2 tasks)".
func Places(tasks []allot.Placement) string {
	type spot struct {
		node    string
		tasks   int
		devices []int
	}
	var spots []spot
	for _, t := range tasks {
		at := slices.IndexFunc(spots, func(s spot) bool { return s.node == t.Node })
		if at < 0 {
			at = len(spots)
			spots = append(spots, spot{node: t.Node})
		}
		spots[at].tasks++
		for _, device := range t.Devices {
			if !slices.Contains(spots[at].devices, device) {
				spots[at].devices = append(spots[at].devices, device)
			}
		}
	}
	slices.SortFunc(spots, func(a, b spot) int { return CompareNames(a.node, b.node) })
	var texts []string
	for i, s := range spots {
		if i == 6 && len(spots) > 7 {
			texts = append(texts, "and "+strconv.Itoa(len(spots)-i)+" more nodes")
			break
		}
		slices.Sort(s.devices)
		switch len(s.devices) {
		case 0:
			texts = append(texts, s.node+" ("+prose.Count(s.tasks, "task")+")")
		case 1:
			texts = append(texts, s.node+" GPU "+Ranges(s.devices))
		default:
			texts = append(texts, s.node+" GPUs "+Ranges(s.devices))
		}
	}
	return strings.Join(texts, ", ")
}

func HasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
