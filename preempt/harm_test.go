package preempt_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/sim/scenario"
)

var harmShow = flag.Int("harm.show", 1, "how many of each disagreement are shown")

// Of one decision of making room: no proposal is unlawful, a lawful start is
// missed in at most one of a thousand, and the victims are worse by M3 than the
// oracle's in at most one of a hundred.
func TestLeastHarm(t *testing.T) {
	states, counts, shown := 0, make(map[string]int), make(map[string]int)
	for seed := range deep.Seeds(t, 1500) {
		states++
		s, id := genHarm(seed)
		p := solveInTime(t, seed, s)
		verdict, _ := compareHarm(s, id, p, counts)
		counts[verdict]++
		if verdict == harmMissed {
			counts["missed: "+fmt.Sprint(newHarmCase(s, id).best().way())]++
		}
		if !slices.Contains(harmAgrees, verdict) {
			if shown[verdict]++; shown[verdict] <= *harmShow {
				t.Log(tellHarm(seed, s, id, verdict))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-40s %6d", name, counts[name])
	}
	rooms := counts["room"]
	if states < 1000 {
		return // too few to judge by
	}
	if rooms*100 < 40*states {
		t.Errorf("only %d of %d decisions make room", rooms, states)
	}
	for name, percent := range harmCovers { // each is judged by itself, in no order
		if counts["room: "+name]*100 < percent*rooms {
			t.Errorf("%s: %d of %d, less than %d%%", name, counts["room: "+name], rooms, percent)
		}
	}
	for verdict, perMille := range map[string]int{ // each is judged by itself, in no order
		harmUnlawful: 0, harmUseless: 0, harmIdle: 0, harmMissed: 1, harmUnseen: 1, harmWorse: 10,
	} {
		if counts[verdict]*1000 > perMille*rooms {
			t.Errorf("%s: %d of %d, more than %d in a thousand", verdict, counts[verdict], rooms, perMille)
		}
	}
}

// solveInTime solves, and fails where that does not end.
func solveInTime(t *testing.T, seed uint64, s *allot.State) *allot.Plan {
	t.Helper()
	context, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p, err := allot.SolveContext(context, s)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, scenario.Format(s))
	}
	return p
}

// tellHarm is a disagreement as a scenario, as small as it gets.
func tellHarm(seed uint64, s *allot.State, id, verdict string) string {
	s = shrinkHarm(s, id, verdict)
	p, err := allot.Solve(s)
	if err != nil {
		return err.Error()
	}
	_, story := compareHarm(s, id, p, make(map[string]int))
	return fmt.Sprintf("seed %d: %s\n%s\n%s%s", seed, verdict, story, scenario.Format(s), p.String())
}

// What a comparison can come to.
const (
	harmSame     = "same"
	harmNothing  = "nothing to be done"
	harmFits     = "fits without harm"
	harmPutBack  = "same, some back in their place"
	harmChained  = "a victim may make room in turn"
	harmBeside   = "others move beside the victims"
	harmBetter   = "another set, better"
	harmWorse    = "another set, worse"
	harmMissed   = "missed"
	harmFound    = "found where the procedure finds none"
	harmUnlawful = "unlawful"
	harmUseless  = "hurts and does not start"
	harmIdle     = "fits and does not start, or hurts"
	harmUnseen   = "fits in a way that package gang does not find"
)

var harmAgrees = []string{harmSame, harmNothing, harmFits, harmPutBack, harmChained, harmBeside}

// compareHarm compares a plan with the oracle's decision.
func compareHarm(s *allot.State, id string, p *allot.Plan, counts map[string]int) (verdict, story string) {
	c := newHarmCase(s, id)
	after := placesAfter(s, p)
	disturbed, started := c.disturbed(after), c.started(s, after)
	switch {
	case !c.starts(0):
	case started && disturbed == 0:
		return harmFits, ""
	case !started && disturbed == 0 && !c.placesFound():
		return harmUnseen, ""
	default:
		return harmIdle, ""
	}
	best := c.best()
	story = fmt.Sprintf("oracle: %v", best)
	if best != nil {
		best.count(counts)
	}
	if best != nil && best.kind == harmConsolidate && started && c.movedGPUs(after) > best.moved {
		counts["room: consolidate moves more than the fewest"]++
	}
	switch {
	case !started && disturbed != 0:
		return harmUseless, story
	case c.overdrawn(after) || !c.withinCap(disturbed):
		return harmUnlawful, story + "\nplan:   too many go (M7)"
	case !started && best == nil:
		if lawful := c.exists(); lawful != nil {
			return harmMissed, fmt.Sprintf("oracle: %v, but lawful: %v", best, lawful)
		}
		return harmNothing, story
	case !started:
		return harmMissed, story
	case best != nil && best.gone == disturbed:
		return harmSame, story
	case best != nil && disturbed&^best.gone == 0:
		return harmPutBack, story
	}
	if best != nil && (c.chains(s, best, disturbed, after) || best.namedIn(p)) {
		return harmChained, story
	}
	if best == nil && c.movesBesideIn(disturbed, &s.Pools[0].Policy) {
		return harmBeside, story
	}
	if best != nil && c.movesToSpare(disturbed) {
		return harmWorse, story + "\nplan:   moves more than it must"
	}
	lawful := c.judgeWider(disturbed)
	if lawful == nil {
		lawful = c.judgeChained(s, disturbed, after)
	}
	story += fmt.Sprintf("\nplan:   %v", lawful)
	switch {
	case lawful == nil:
		return harmUnlawful, story
	case best == nil:
		return harmFound, story
	case best.kind < lawful.kind || best.kind == lawful.kind && best.less(lawful):
		return harmWorse, story
	}
	return harmBetter, story
}

// count notes what a decision that makes room has to do with.
func (r *harmRun) count(counts map[string]int) {
	note := func(name string, has bool) {
		if has {
			counts["room: "+name]++
		}
	}
	counts["room"]++
	note(r.kind.String(), true)
	note("several victims", len(r.taken) > 1)
	note("fallback order", r.order != harmInOrder)
	note("two resources divided", r.divided[1])
	note("depth 3", len(r.path(r.unit.leaf)) > 2)
	note("preemptor is a gang", r.want[0].n > 1 || len(r.want) > 1)
	note("preemptor is a step", r.step)
	note("preemptor runs in part", r.holds() && !r.step)
	taken := func(is func(*harmUnit) bool) bool {
		return slices.ContainsFunc(r.taken, func(t harmTaking) bool { return is(&r.units[t.unit]) })
	}
	note("victim is a gang", taken(func(u *harmUnit) bool { return u.step == 0 && len(u.tasks) > 1 }))
	note("victim is a step", taken(func(u *harmUnit) bool { return u.step > 0 }))
	note("victim has a fraction", taken(func(u *harmUnit) bool { return u.tasks[0].shape.milli < 1000 }))
	note("protected victim", r.gone&(r.quotaSafe|r.shareSafe) != 0)
	note("non-preemptible work runs", slices.ContainsFunc(r.units, func(u harmUnit) bool { return u.nonPreemptible }))
	note("minimum runtime holds", slices.ContainsFunc(r.units, func(u harmUnit) bool { return !u.free || !u.still }))
	note("a budget keeps some", r.keepsSome())
	note("as many as the cap", r.policy.cap == r.worksOf(r.gone))
	note("victims of several leaves", taken(func(u *harmUnit) bool { return u.leaf != r.units[r.taken[0].unit].leaf }))
}

// harmCovers is how many of a hundred decisions that make room must have what.
var harmCovers = map[string]int{
	"consolidate": 5, "reclaim by quota": 15, "reclaim by share": 5, "preempt": 15, "several victims": 15,
	"two resources divided": 20, "depth 3": 5, "preemptor is a gang": 15, "preemptor is a step": 2,
	"preemptor runs in part": 1, "victim is a gang": 15, "victim is a step": 10, "victim has a fraction": 4,
	"protected victim": 10, "non-preemptible work runs": 10, "minimum runtime holds": 5,
	"victims of several leaves": 3, "a budget keeps some": 5, "as many as the cap": 5,
}

// movesToSpare says whether what is disturbed is a lawful consolidation of which
// a part would be one too: where what moves goes is searched for, so that a part
// may fail where the whole is found.
func (c *harmCase) movesToSpare(disturbed uint32) bool {
	r, superfluous := c.judge(disturbed)
	return superfluous && r.kind == harmConsolidate
}

// judgeWider finds a lawful set of which those that are disturbed are a part:
// the others were put back in their place.
func (c *harmCase) judgeWider(disturbed uint32) *harmRun {
	others := (uint32(1)<<len(c.units) - 1) &^ disturbed
	for extra := uint32(0); ; extra = (extra - others) & others {
		if r, superfluous := c.judge(disturbed | extra); r != nil && !superfluous {
			return r
		}
		if extra == others {
			return nil
		}
	}
}

// judgeChained finds a lawful set among those that are disturbed of which a victim
// may have made room in turn, at the expense of the others.
func (c *harmCase) judgeChained(s *allot.State, disturbed uint32, after map[taskName]allot.Placement) (best *harmRun) {
	for set := disturbed & (disturbed - 1); set != 0; set = (set - 1) & disturbed {
		r, superfluous := c.judge(set)
		if r != nil && !superfluous && c.chains(s, r, disturbed, after) &&
			(best == nil || r.kind < best.kind || r.kind == best.kind && r.less(best)) {
			best = r
		}
	}
	return best
}

// chains says whether what else is disturbed follows from a set of victims: once
// it is gone and the preemptor has started, a victim makes room in turn. Solve
// is asked what follows, as each such decision is a first one in another state.
func (c *harmCase) chains(s *allot.State, r *harmRun, disturbed uint32, after map[taskName]allot.Placement) bool {
	next := cloneState(s)
	for i := range next.Workloads {
		w := &next.Workloads[i]
		w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool {
			return slices.ContainsFunc(unitsOf(r.gone), func(u int) bool {
				return slices.ContainsFunc(r.units[u].tasks, func(g harmTask) bool {
					return g.name == taskName{w.ID, t.PodSet, t.Index}
				})
			})
		})
		if w.ID == c.works[c.unit.work].name {
			w.Tasks = c.tasksAfter(s, after)
		}
	}
	if p, err := allot.Solve(next); err == nil && c.disturbed(placesAfter(next, p))&^r.gone == disturbed&^r.gone {
		return true
	}
	for _, u := range unitsOf(r.gone) {
		if d := newHarmCase(next, r.works[r.units[u].work].name); !d.starts(0) && d.best() != nil {
			return true
		}
	}
	return false
}

// way is the way of making room, as far as there is one.
func (r *harmRun) way() string {
	if r == nil {
		return "only out of order"
	}
	return r.kind.String()
}

// namedIn says whether a victim is named as a preemptor in the plan, or as one from
// whom another took what it had made room for (M11).
func (r *harmRun) namedIn(p *allot.Plan) bool {
	named := func(workload string) bool {
		return slices.ContainsFunc(unitsOf(r.gone), func(u int) bool { return r.works[r.units[u].work].name == workload })
	}
	return slices.ContainsFunc(p.Actions, func(a allot.Action) bool {
		return harmed(&a) && (named(a.Reason.Workload) ||
			slices.ContainsFunc(a.Reason.Chain, func(t allot.Taker) bool { return named(t.Workload) }))
	})
}

// placesAfter are the places of all tasks after a plan.
func placesAfter(s *allot.State, p *allot.Plan) map[taskName]allot.Placement {
	after := make(map[taskName]allot.Placement)
	for _, w := range s.Workloads {
		for _, t := range w.Tasks {
			after[taskName{w.ID, t.PodSet, t.Index}] = allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: t.Devices}
		}
	}
	for _, a := range p.Actions {
		give, take := a.Tasks, a.From
		switch a.Kind {
		case allot.Start, allot.Resize, allot.Move:
		case allot.Displace, allot.Unclaim, allot.Evict, allot.Shrink:
			give, take = nil, a.Tasks
		}
		for _, t := range take {
			delete(after, taskName{a.Workload, t.PodSet, t.Index})
		}
		for _, t := range give {
			after[taskName{a.Workload, t.PodSet, t.Index}] = t
		}
	}
	return after
}

// disturbed are the units of which a task is no longer where it was.
func (c *harmCase) disturbed(after map[taskName]allot.Placement) (set uint32) {
	for u := range c.units {
		for _, t := range c.units[u].tasks {
			place, ok := after[t.name]
			if !ok || place.Node != c.nodeNames[t.node] || !slices.Equal(place.Devices, t.devices) {
				set |= 1 << u
			}
		}
	}
	return set
}

// movedGPUs are those of tasks that are no longer where they were, in milli.
func (c *harmCase) movedGPUs(after map[taskName]allot.Placement) (sum int64) {
	for _, u := range c.units {
		for _, t := range u.tasks {
			if p := after[t.name]; p.Node != c.nodeNames[t.node] || !slices.Equal(p.Devices, t.devices) {
				sum += int64(t.shape.devices) * t.shape.milli
			}
		}
	}
	return sum
}

// started says whether the preemptor holds what it waited for.
func (c *harmCase) started(s *allot.State, after map[taskName]allot.Placement) bool {
	want := 0
	for _, w := range s.Workloads {
		if w.ID == c.works[c.unit.work].name {
			want = len(w.Tasks)
		}
	}
	for _, w := range c.want {
		want += w.n
	}
	return len(c.tasksAfter(s, after)) == want
}

// tasksAfter are the preemptor's tasks after the plan.
func (c *harmCase) tasksAfter(s *allot.State, after map[taskName]allot.Placement) (tasks []allot.Task) {
	for name, place := range after { // sorted below
		if name.workload == c.works[c.unit.work].name {
			tasks = append(tasks, allot.Task{PodSet: name.podSet, Index: name.index, Node: place.Node,
				Devices: place.Devices, Since: s.Now})
		}
	}
	slices.SortFunc(tasks, func(a, b allot.Task) int {
		return cmp.Or(cmp.Compare(a.PodSet, b.PodSet), cmp.Compare(a.Index, b.Index))
	})
	return tasks
}

// A taskName names a task.
type taskName struct {
	workload, podSet string
	index            int
}

// cloneState copies a state by its JSON form.
func cloneState(s *allot.State) *allot.State {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	out := new(allot.State)
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

// compact is a state's JSON form.
func compact(s *allot.State) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
