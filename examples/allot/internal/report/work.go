package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
)

// An evictionView is a piece of work that must leave its place, and why.
type evictionView struct {
	ID, Workload, What, Kind string
	Preemptor, PreemptorID   string
	PreemptorText            string
	Rule, Why                string
	Subtrees                 []subtreeView
	Ending                   string
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
	ID, Queue string
	Number    int
	Lines     []startLine
	Left      string
}

// A startLine is a workload that starts or grows, or Count alike ones of which it is
// the first.
type startLine struct {
	ID, Workload, What, Asks, Where, After string
	Count                                  int
	Members                                []startLine
	Left                                   string
}

// listedLines is how many lines are listed, folded away, beyond those that are shown.
const listedLines = 200

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
				more.Lines = append(more.Lines, words.WorkName(a.Queue, a.Workload)+" "+words.Kind(a.Kind)+" "+words.Places(a.Tasks)+": "+a.Reason.String())
			}
			more.Title = strconv.Itoa(left) + " more"
			continue
		}
		e := evictionView{ID: a.Workload, Workload: words.WorkName(a.Queue, a.Workload), Kind: words.Kind(a.Kind), Rule: words.Rule(a.Reason.Code), Why: words.UpperFirst(a.Reason.String()) + "."}
		e.What = words.Places(a.Tasks)
		if a.Kind == allot.Move {
			e.What = words.Places(a.From) + " to " + words.Places(a.Tasks)
		}
		if b := a.Reason.Workload; b != "" {
			e.Preemptor, e.PreemptorID = b, b
			if w := d.work[b]; w != nil {
				e.Preemptor = words.WorkName(w.Queue, b)
			}
			if s := started[b]; s != nil {
				e.Preemptor = words.WorkName(s.Queue, b)
				e.PreemptorText = words.Places(s.Tasks)
			}
		}
		if a.Reason.Subtrees != nil {
			e.Subtrees = subtreesOf(&a.Reason)
		}
		if a.Kind == allot.Evict {
			e.Ending = words.Ending(&a.Ending)
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

func subtreesOf(r *allot.Reason) []subtreeView {
	line := "fair share"
	if r.Code == allot.ReclaimedByQuota {
		line = "quota"
	}
	scale := int64(1)
	for _, s := range []*allot.Subtree{&r.Subtrees.Victim, &r.Subtrees.Preemptor} {
		scale = max(scale, s.Before, s.After)
		if s.Entitlement < allot.MaxAmount {
			scale = max(scale, s.Entitlement)
		}
	}
	one := func(role string, s *allot.Subtree) subtreeView {
		v := subtreeView{
			Queue: words.QueueName(s.Queue), Role: role, LineName: line,
			Before: words.Figure(r.Resource, s.Before), After: words.Figure(r.Resource, s.After), Line: "unlimited",
			BeforeAt: position(scale, s.Before), AfterAt: position(scale, s.After),
		}
		if s.Entitlement < allot.MaxAmount {
			v.Line, v.LineAt = words.Figure(r.Resource, s.Entitlement), position(scale, s.Entitlement)
		}
		v.Label = role + " " + v.Queue + ": uses " + v.Before + ", then " + v.After + ", with a " + line + " of " + v.Line
		return v
	}
	return []subtreeView{one("gives", &r.Subtrees.Victim), one("gets", &r.Subtrees.Preemptor)}
}

// openStarts is up to how many starts are told one by one and not folded away.
const openStarts = 24

// starts lists what starts or grows, by queue; where many do, those of a queue that ask
// the same in one line.
func (d *drawing) starts() (groups []startGroup, open bool) {
	at := make(map[string]int)
	open = d.count(allot.Start, allot.Resize) <= openStarts
	lines := make(map[string]int)
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != allot.Start && a.Kind != allot.Resize {
			continue
		}
		queue := words.QueueName(a.Queue)
		n, ok := at[queue]
		if !ok {
			n = len(groups)
			at[queue] = n
			groups = append(groups, startGroup{ID: a.Queue, Queue: queue})
		}
		g := &groups[n]
		g.Number++
		line := d.startLine(a)
		key := queue + "\x00" + line.What + "\x00" + line.Asks
		k, ok := lines[key]
		if !ok || open {
			k = len(g.Lines)
			lines[key] = k
			g.Lines = append(g.Lines, line)
		}
		l := &g.Lines[k]
		l.Count++
		if l.Count <= listedMembers {
			l.Members = append(l.Members, line)
		} else {
			l.Left = "and " + prose.Decimal(l.Count-listedMembers) + " more, which the tables of the nodes name"
		}
	}
	for i := range groups {
		g := &groups[i]
		if !open {
			slices.SortStableFunc(g.Lines, func(a, b startLine) int { return cmp.Compare(b.Count, a.Count) })
		}
		if left := len(g.Lines) - listedLines; left > 0 {
			g.Lines, g.Left = g.Lines[:listedLines], "and "+prose.Count(left, "more kind")
		}
		for k := range g.Lines {
			if g.Lines[k].Count == 1 {
				g.Lines[k].Members = nil
			} else if strings.HasPrefix(g.Lines[k].What, "starts") {
				g.Lines[k].What = "start"
			} else {
				g.Lines[k].What = "grow"
			}
		}
	}
	slices.SortFunc(groups, func(a, b startGroup) int { return words.CompareNames(a.Queue, b.Queue) })
	return groups, open
}

func (d *drawing) startLine(a *allot.Action) startLine {
	line := startLine{ID: a.Workload, Workload: words.WorkName(a.Queue, a.Workload), What: "starts " + prose.Count(len(a.Tasks), "task"), Where: words.Places(a.Tasks)}
	if a.Kind == allot.Resize {
		line.What = "grows " + prose.Count(len(a.Tasks), "task")
	}
	if w := d.work[a.Workload]; w != nil {
		line.Asks = words.Asks(w)
	}
	if len(a.After) > 0 {
		line.After = "when " + prose.Some(a.After, ", ", 4) + " " + words.HasHave(len(a.After)) + " left"
	}
	return line
}

// An evictionKind sums what leaves or moves by what becomes of it, by which right, from
// which queue and for which.
type evictionKind struct {
	Kind, Rule, From, For string
	Number, Tasks         int
}

// evictionKinds sums what leaves or moves, the most first.
func (d *drawing) evictionKinds() []evictionKind {
	at := make(map[evictionKind]int)
	var out []evictionKind
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind == allot.Start || a.Kind == allot.Resize {
			continue
		}
		key := evictionKind{Kind: a.Kind.String(), Rule: words.Rule(a.Reason.Code), From: words.QueueName(a.Queue)}
		if w := d.work[a.Reason.Workload]; w != nil {
			key.For = words.QueueName(w.Queue)
		}
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, key)
		}
		out[n].Number++
		out[n].Tasks += len(a.Tasks)
	}
	slices.SortStableFunc(out, func(a, b evictionKind) int { return cmp.Compare(b.Number, a.Number) })
	return out
}
