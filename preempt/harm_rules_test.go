package preempt_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// What never happens when room is made, over states in which several wait. Each
// of these tests fails when its rule is broken on purpose (testdata/mutants.table).

// genHarmRules draws a state in which up to five workloads wait.
func genHarmRules(seed uint64) *allot.State {
	source := rand.New(rand.NewPCG(seed, 11))
	family := []int{harmOnlyReclaim, harmOnlyReclaim, harmOnlyPreempt, harmOnlyPool, harmOnlyMoves, harmAll, harmAll}
	g := drawHarm(source, family[source.IntN(len(family))])
	for range 1 + g.IntN(5) {
		g.waiting()
	}
	if kept := (denseGen{Rand: rand.New(rand.NewPCG(seed, 19))}); kept.rarely(4) {
		limitHarm(&kept, g.s)
	}
	return g.s
}

// A harmPlan is a state with its plan.
type harmPlan struct {
	seed  uint64
	state *allot.State
	plan  *allot.Plan
	model *harmCase
}

// harmPlans are kept from one test to the next, those of an ordinary run: each is
// drawn and solved once and judged by every rule.
var harmPlans = make(map[uint64]*harmPlan)

// planOf is the state of a seed with its plan.
func planOf(t *testing.T, seed uint64) *harmPlan {
	t.Helper()
	if known := harmPlans[seed]; known != nil {
		return known
	}
	s := genHarmRules(seed)
	h := &harmPlan{seed, s, solveInTime(t, seed, s), newHarmCase(s, s.Workloads[0].ID)}
	if len(harmPlans) < 1500 {
		harmPlans[seed] = h
	}
	return h
}

// eachHarmPlan asks of each plan what is wrong with it.
func eachHarmPlan(t *testing.T, wrong func(*harmPlan, map[string]int) string) {
	t.Helper()
	counts, states := make(map[string]int), 0
	for seed := range deep.Seeds(t, 1500) {
		states++
		h := planOf(t, seed)
		if problem := wrong(h, counts); problem != "" {
			t.Fatalf("seed %d: %s\n%s%s", seed, problem, scenario.Format(h.state), h.plan.String())
		}
	}
	t.Log(counts)
	if counts["looked at"]*50 < states {
		t.Errorf("only %d of %d states say anything", counts["looked at"], states)
	}
}

// harmed says whether an action takes running work its place.
func harmed(a *allot.Action) bool {
	return a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move
}

// reclaimed says whether it does so for another queue's right.
func reclaimed(a *allot.Action) bool {
	return harmed(a) && (a.Reason.Code == allot.ReclaimedByQuota || a.Reason.Code == allot.ReclaimedByShare)
}

// Non-preemptible work is never touched.
func TestNonPreemptibleIsNeverTouched(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		p, c := h.plan, h.model
		for _, a := range p.Actions {
			if w := c.workOf(a.Workload); harmed(&a) && w.nonPreemptible {
				return fmt.Sprintf("%v of %s", a.Kind, a.Workload)
			}
		}
		if slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return harmed(&a) }) &&
			slices.ContainsFunc(c.works, func(w harmWork) bool { return w.nonPreemptible && w.holds }) {
			counts["looked at"]++
		}
		return ""
	})
}

// workOf is the workload of a name.
func (c *harmCase) workOf(name string) *harmWork {
	return &c.works[slices.IndexFunc(c.works, func(w harmWork) bool { return w.name == name })]
}

// sidesOf are the queues of two leaves' paths just below where they part.
func (c *harmCase) sidesOf(a, b int) (x, y int) {
	up, down := c.path(a), c.path(b)
	for len(up) > 1 && len(down) > 1 && up[len(up)-1] == down[len(down)-1] {
		up, down = up[:len(up)-1], down[:len(down)-1]
	}
	return up[len(up)-1], down[len(down)-1]
}

// A side that uses no more than its quota of anything, and in which nothing
// starts, loses nothing to another by reclaim (R3).
func TestSideWithinQuotaLosesNothing(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		p, c := h.plan, h.model
		for _, a := range p.Actions {
			if !reclaimed(&a) {
				continue
			}
			side, _ := c.sidesOf(c.workOf(a.Workload).leaf, c.workOf(a.Reason.Workload).leaf)
			if c.startsIn(p, side) {
				continue
			}
			counts["looked at"]++
			if c.withinQuota(side) {
				return fmt.Sprintf("%s loses %s to %s", c.queues[side].name, a.Workload, a.Reason.Workload)
			}
		}
		return ""
	})
}

// startsIn says whether the plan starts something in a queue or below.
func (c *harmCase) startsIn(plan *allot.Plan, q int) bool {
	return slices.ContainsFunc(plan.Actions, func(a allot.Action) bool {
		return (a.Kind == allot.Start || a.Kind == allot.Resize) && slices.Contains(c.path(c.workOf(a.Workload).leaf), q)
	})
}

func (c *harmCase) withinQuota(q int) bool {
	for r, use := range c.use(0).all[q] {
		if c.divided[r] && use > c.queues[q].quota[r] {
			return false
		}
	}
	return true
}

// Where one reclaim by quota takes from a leaf and leaves its use below the
// line in all that is divided, what it took was not quota-protected (R9).
func TestQuotaReclaimSparesProtected(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		s, p, c := h.state, h.plan, h.model
		gone := c.disturbed(placesAfter(s, p))
		for leaf, q := range c.queues {
			victims, single := c.takenByQuota(p, gone, leaf)
			if victims == 0 || !single || c.startsIn(p, leaf) {
				continue
			}
			counts["looked at"]++
			use := c.use(victims).all[leaf]
			atLine := false
			for r := range use {
				atLine = atLine || c.divided[r] && use[r] >= c.queues[leaf].LQ[r]
			}
			if !atLine && victims&c.quotaSafe != 0 {
				return fmt.Sprintf("%s is left with %v of %v and loses the protected of %v", q.name, use, c.queues[leaf].LQ, unitsOf(victims))
			}
			if !atLine {
				counts["below the line"]++
			}
		}
		return ""
	})
}

// takenByQuota are the disturbed units of a leaf; single says that all of them
// were taken by quota and for one preemptor, as far as a plan shows: an action
// may stand for units of one workload that went one after the other.
func (c *harmCase) takenByQuota(p *allot.Plan, gone uint32, leaf int) (victims uint32, single bool) {
	works := make(map[int]bool)
	for _, u := range unitsOf(gone) {
		if c.units[u].leaf == leaf {
			victims |= 1 << u
			works[c.units[u].work] = true
		}
	}
	if len(works) < len(unitsOf(victims)) {
		return victims, false
	}
	preemptor := ""
	for _, a := range p.Actions {
		if !harmed(&a) || c.workOf(a.Workload).leaf != leaf {
			continue
		}
		if a.Reason.Code != allot.ReclaimedByQuota || preemptor != "" && preemptor != a.Reason.Workload {
			return victims, false
		}
		preemptor = a.Reason.Workload
	}
	return victims, true
}

// What can never start changes nothing: the plan has the actions that it has without the
// workload, which asks nothing (F1).
func TestHopelessHurtsNobody(t *testing.T) {
	for seed := range deep.Seeds(t, 1000) {
		s := genHarmRules(seed)
		hopeless := addHopeless(s, seed)
		with := actionTextsOf(t, seed, s)
		s.Workloads = s.Workloads[:len(s.Workloads)-1]
		if without := actionTextsOf(t, seed, s); !slices.Equal(with, without) {
			t.Fatalf("seed %d: %s changes actions from %q\nto %q\n%s", seed, hopeless, without, with, scenario.Format(s))
		}
	}
}

func actionTextsOf(t *testing.T, seed uint64, s *allot.State) (texts []string) {
	t.Helper()
	for _, a := range solveInTime(t, seed, s).Actions {
		texts = append(texts, fmt.Sprint(a))
	}
	return texts
}

// addHopeless adds a workload that can never run where its turn, which comes to
// nothing, shifts nobody else's (O2): in a queue of its own that is entitled to
// all that it asks, or last in an uppermost leaf, or, where there is one queue,
// first in it.
func addHopeless(s *allot.State, seed uint64) string {
	source := rand.New(rand.NewPCG(seed, 13))
	w := allot.Workload{ID: "x hopeless", Priority: 1, Submitted: s.Now}
	set := allot.PodSet{Name: "s", Count: 2, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}
	nowhere := placement.Selector{Labels: map[string]string{"zone": "nowhere"}}
	switch source.IntN(3) {
	case 0:
		set.Count = 40
		w.PodSets = []allot.PodSet{set}
	case 1:
		set.Request.GPU.Count = 9
		w.PodSets = []allot.PodSet{set}
	case 2:
		other := set
		other.Name, other.Request.Selector = "t", nowhere
		w.PodSets = []allot.PodSet{set, other}
	}
	switch leaves := uppermostLeaves(s); {
	case len(s.Queues) == 1 && source.IntN(2) == 0:
		w.Priority, w.Submitted, w.Queue = 9, time.Unix(0, 0).UTC(), leaves[0]
		if s.Pools[0].Policy.LowerFirst {
			w.Priority = 1
		}
	case len(leaves) > 0 && source.IntN(2) == 0:
		w.Queue = leaves[source.IntN(len(leaves))]
		if s.Pools[0].Policy.LowerFirst {
			w.Priority = 9
		}
	default:
		s.Queues = append(s.Queues, harmOwnQueue(s))
		w.Queue = s.Queues[len(s.Queues)-1].ID
	}
	s.Workloads = append(s.Workloads, w)
	return w.ID
}

func uppermostLeaves(s *allot.State) (leaves []string) {
	for _, q := range s.Queues {
		if q.Parent == "" && !slices.ContainsFunc(s.Queues, func(child allot.Queue) bool { return child.Parent == q.ID }) {
			leaves = append(leaves, q.ID)
		}
	}
	return leaves
}

// harmOwnQueue is a queue with quota for everything, weighted as the others are.
func harmOwnQueue(s *allot.State) allot.Queue {
	q := allot.Queue{ID: "z own"}
	for _, r := range s.Queues[0].Resources {
		own := allot.QueueResource{Resource: r.Resource, Quota: quota.Of(50_000)}
		if r.Weight.Given() {
			own.Weight = quota.Of(1)
		}
		q.Resources = append(q.Resources, own)
	}
	return q
}
