package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// An evictionView is a piece of work that must leave its place, and why.
type evictionView struct {
	Workload, What, Kind string
	Preemptor            string
	PreemptorText        string
	Rule, Why            string
	Subtrees             []subtreeView
	Ending               string
	// Right says by what the preemptor may take it, Choice why it and no other,
	// and Others how many were out of the question.
	Right  []string
	Choice []choiceRow
	Others []string
}

// A choiceRow is a piece of work that runs, and what became of it.
type choiceRow struct {
	Workload, Fate, Priority, Since, Holds string
	Taken                                  bool
}

// moreLines are things told in short, folded away.
type moreLines struct {
	Title string
	Lines []string
}

// A subtreeView is a side of a reclaim as bars: its use before and after, and the
// line, as percentages of the longest.
type subtreeView struct {
	Queue, Role               string
	Before, After, Line       string
	BeforeAt, AfterAt, LineAt string
	LineName                  string
	Label                     string
}

// A startGroup is the work of a queue that starts.
type startGroup struct {
	Queue string
	Lines []startLine
	Left  string
}

type startLine struct{ Workload, What, Where, After string }

// shownLines is how many lines of a group are shown, and listedLines how many
// more are listed.
const (
	shownLines  = 12
	listedLines = 200
)

// shownEvictions is how many are told in full. Why it and no other costs a solve
// for each, so that in a cluster of many nodes it is told of fewer, and in the
// largest of none: explain STATE WORKLOAD tells it.
const (
	shownEvictions = 12
	manyChoices    = 3
)

// evictions tells of all work that leaves or moves, in the plan's order.
func (d *drawing) evictions() (out []evictionView, more *moreLines, err error) {
	started := make(map[string]*allot.Action)
	for i := range d.plan.Actions {
		if a := &d.plan.Actions[i]; a.Kind == allot.Start || a.Kind == allot.Resize {
			started[a.Workload] = a
		}
	}
	left := 0
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind == allot.Start || a.Kind == allot.Resize {
			continue
		}
		if len(out) == shownEvictions {
			if more == nil {
				more = &moreLines{}
			}
			if left++; left <= listedLines {
				more.Lines = append(more.Lines, workName(a.Queue, a.Workload)+" "+kindText(a.Kind)+" "+placesText(a.Tasks)+": "+a.Reason.String())
			}
			more.Title = strconv.Itoa(left) + " more"
			continue
		}
		e := evictionView{Workload: workName(a.Queue, a.Workload), Kind: kindText(a.Kind), Rule: ruleText(a.Reason.Code), Why: upperFirst(a.Reason.String()) + "."}
		e.What = placesText(a.Tasks)
		if a.Kind == allot.Move {
			e.What = placesText(a.From) + " to " + placesText(a.Tasks)
		}
		if b := a.Reason.Workload; b != "" {
			e.Preemptor = b
			if w := d.work[b]; w != nil {
				e.Preemptor = workName(w.Queue, b)
			}
			if s := started[b]; s != nil {
				e.Preemptor = workName(s.Queue, b)
				e.PreemptorText = placesText(s.Tasks)
			}
		}
		if a.Reason.Subtrees != nil {
			e.Subtrees = subtreesOf(&a.Reason)
		}
		if a.Kind == allot.Evict {
			e.Ending = endingText(&a.Ending)
		}
		if len(out) < d.choices() {
			if err := d.choice(&e, a); err != nil {
				return nil, nil, err
			}
		}
		out = append(out, e)
	}
	if left > listedLines {
		more.Lines = append(more.Lines, "and "+strconv.Itoa(left-listedLines)+" more")
	}
	return out, more, nil
}

// choices is of how many evictions the choice is told.
func (d *drawing) choices() int {
	switch n := len(d.machines); {
	case n <= manyNodes:
		return shownEvictions
	case n <= manyListed:
		return manyChoices
	}
	return 0
}

func kindText(k allot.ActionKind) string {
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

// ruleText names the right by which work is taken.
func ruleText(c allot.Code) string {
	switch c {
	case allot.ReclaimedByQuota:
		return "Reclaim by quota"
	case allot.ReclaimedByShare:
		return "Reclaim by fair share"
	case allot.Preempted:
		return "Preemption by priority"
	case allot.Consolidated:
		return "Consolidation"
	}
	return upperFirst(strings.ReplaceAll(c.String(), "-", " "))
}

func endingText(e *allot.Ending) string {
	text := "It waits again."
	if e.Final {
		text = "It ends as failed."
	}
	if e.Checkpoint {
		text = "Its work is saved first. " + text
	}
	return text
}

func subtreesOf(r *allot.Reason) []subtreeView {
	line := "fair share"
	if r.Code == allot.ReclaimedByQuota {
		line = "quota"
	}
	scale := chart{scale: 1}
	for _, s := range []*allot.Subtree{&r.Subtrees.Victim, &r.Subtrees.Preemptor} {
		scale.scale = max(scale.scale, s.Before, s.After)
		if s.Entitlement < allot.MaxAmount {
			scale.scale = max(scale.scale, s.Entitlement)
		}
	}
	one := func(role string, s *allot.Subtree) subtreeView {
		v := subtreeView{
			Queue: queueName(s.Queue), Role: role, LineName: line,
			Before: figure(r.Resource, s.Before), After: figure(r.Resource, s.After), Line: "unlimited",
			BeforeAt: scale.position(s.Before), AfterAt: scale.position(s.After),
		}
		if s.Entitlement < allot.MaxAmount {
			v.Line, v.LineAt = figure(r.Resource, s.Entitlement), scale.position(s.Entitlement)
		}
		v.Label = role + " " + v.Queue + ": uses " + v.Before + ", then " + v.After + ", with a " + line + " of " + v.Line
		return v
	}
	return []subtreeView{one("gives", &r.Subtrees.Victim), one("gets", &r.Subtrees.Preemptor)}
}

// placesText says where tasks are: "h1, GPUs 0–3; h2 (2 tasks)".
func placesText(tasks []allot.Placement) string {
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
	slices.SortFunc(spots, func(a, b spot) int { return compareNames(a.node, b.node) })
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
			texts = append(texts, s.node+" GPU "+ranges(s.devices))
		default:
			texts = append(texts, s.node+" GPUs "+ranges(s.devices))
		}
	}
	return strings.Join(texts, ", ")
}

// openStarts is up to how many starts are not folded away.
const openStarts = 24

// starts lists what starts or grows, by queue.
func (d *drawing) starts() (groups []startGroup, open bool) {
	at, number := make(map[string]int), 0
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != allot.Start && a.Kind != allot.Resize {
			continue
		}
		number++
		queue := queueName(a.Queue)
		n, ok := at[queue]
		if !ok {
			n = len(groups)
			at[queue] = n
			groups = append(groups, startGroup{Queue: queue})
		}
		g := &groups[n]
		if len(g.Lines) == listedLines {
			g.Left = "and more"
			continue
		}
		what := "starts"
		if a.Kind == allot.Resize {
			what = "grows"
		}
		line := startLine{Workload: workName(a.Queue, a.Workload), What: what + " " + prose.Count(len(a.Tasks), "task"), Where: placesText(a.Tasks)}
		if len(a.After) > 0 {
			line.After = "when " + prose.Some(a.After, ", ", 4) + " " + hasHave(len(a.After)) + " left"
		}
		g.Lines = append(g.Lines, line)
	}
	slices.SortFunc(groups, func(a, b startGroup) int { return compareNames(a.Queue, b.Queue) })
	return groups, number <= openStarts
}

func hasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
