package allot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/preempt"
)

// What holds of every plan that makes room, by the number of its rule. As in
// harm_rules_test.go each of these fails when its rule is broken on purpose.

// disturbedOf are the units of a workload among those of a set.
func (c *harmCase) disturbedOf(set uint32, workload string) (units []*harmUnit) {
	for _, u := range unitsOf(set) {
		if c.units[u].work.source.ID == workload {
			units = append(units, &c.units[u])
		}
	}
	return units
}

// M1: nothing is taken before its minimum runtime is over, by reclaim that for
// reclaim, by preemption and for moves the other.
func TestM1NothingGoesTooEarly(t *testing.T) {
	eachHarmPlan(t, func(s *State, p *Plan, counts map[string]int) string {
		c := newHarmCase(s, s.Workloads[0].ID)
		gone := c.disturbed(placesAfter(s, p))
		for _, a := range p.Actions {
			units := c.disturbedOf(gone, a.Workload)
			if !a.harmed() || len(units) != 1 { // several may have gone for several reasons
				continue
			}
			u := units[0]
			if !u.free || !u.still { // it may go in one way only
				counts["looked at"]++
			}
			if a.reclaimed() && !u.free || !a.reclaimed() && !u.still {
				return fmt.Sprintf("%s goes too early", a.Workload)
			}
		}
		if len(p.Actions) > 0 && slices.ContainsFunc(c.units, func(u harmUnit) bool { return !u.free || !u.still }) {
			counts["looked at"]++
		}
		return ""
	})
}

// M2: whoever something is taken for starts in the same plan, or, having lost its
// place for another, finds a new one.
func TestM2WhoHurtsStarts(t *testing.T) {
	eachHarmPlan(t, func(_ *State, p *Plan, counts map[string]int) string {
		for _, a := range p.Actions {
			if !a.harmed() {
				continue
			}
			counts["looked at"]++
			if !slices.ContainsFunc(p.Actions, func(b Action) bool {
				return (b.Kind == Start || b.Kind == Resize || b.Kind == Move) && b.Workload == a.Reason.Workload
			}) {
				return fmt.Sprintf("%s goes for %s, which does not start", a.Workload, a.Reason.Workload)
			}
		}
		return ""
	})
}

// M6: of an elastic workload a lower step goes only with all above it.
func TestM6StepsGoFromAbove(t *testing.T) {
	eachHarmPlan(t, func(s *State, p *Plan, counts map[string]int) string {
		after := placesAfter(s, p)
		for _, w := range s.Workloads {
			if len(w.Tasks) < 2 || w.PodSets[0].Min == 0 || w.PodSets[0].Min == w.PodSets[0].Count {
				continue
			}
			held := func(index int) bool { _, held := after[taskName{w.ID, "s", index}]; return held }
			for index := 1; index < len(w.Tasks); index++ {
				if !held(index) {
					counts["looked at"]++
				}
				if !held(index-1) && held(index) {
					return fmt.Sprintf("%s loses task %d and keeps task %d", w.ID, index-1, index)
				}
			}
		}
		return ""
	})
}

// M7: no owner keeps fewer of its tasks running where they are than its budget
// asks, and no more workloads are disturbed than the policy's cap.
func TestM7BudgetsAndCapsHold(t *testing.T) {
	eachHarmPlan(t, func(s *State, p *Plan, counts map[string]int) string {
		c := newHarmCase(s, s.Workloads[0].ID)
		after := placesAfter(s, p)
		gone := c.disturbed(after)
		if gone != 0 && (c.keepsSome() || c.policy.MaxEvictions > 0) {
			counts["looked at"]++
		}
		switch {
		case c.overdrawn(after):
			return "a budget is overdrawn"
		case !c.withinCap(gone):
			return fmt.Sprintf("%d workloads are disturbed", c.worksOf(gone))
		}
		return ""
	})
}

// E1: within its queue a workload displaces lower priority only.
func TestE1OnlyLowerPriorityGivesWay(t *testing.T) {
	eachHarmPlan(t, func(s *State, p *Plan, counts map[string]int) string {
		pool := oraclePools(s)[0]
		for _, a := range p.Actions {
			if !a.harmed() || a.Reason.Code != Preempted {
				continue
			}
			victim, beneficiary := pool.workOf(a.Workload), pool.workOf(a.Reason.Workload)
			if victim.queue != beneficiary.queue && pool.policy.Preempt != preempt.WithinPool {
				continue // its own beneficiary went for another queue's in turn
			}
			counts["looked at"]++
			if victim.priority >= beneficiary.priority {
				return fmt.Sprintf("%s gives way to %s of no higher priority", a.Workload, a.Reason.Workload)
			}
		}
		return ""
	})
}

// M3: a search that ends at its budget is counted, also where it has found
// somebody who may go.
func TestM3CutSearchesAreCounted(t *testing.T) {
	for budget, cut := range map[int]bool{1: true, 1000: false} { // each is its own state
		s := &State{
			Pools:  []Pool{{ID: "p", Policy: Policy{SearchBudget: budget}}},
			Queues: []Queue{gpuQueue("a", "", 0), gpuQueue("b", "", 6)},
		}
		for n := range 4 {
			id := string(rune('m' + n))
			s.Nodes = append(s.Nodes, node(id, 2))
			for d := range 2 {
				s.Workloads = append(s.Workloads, single(fmt.Sprint("x", 2*n+d), "a", gpus(1), task(Running, 0, id, d)))
			}
		}
		s.Workloads = append(s.Workloads, single("y", "b", gpus(2)))
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Work.Cut > 0; got != cut || len(p.Actions) == 0 {
			t.Errorf("budget %d: %d searches cut, %d actions", budget, p.Work.Cut, len(p.Actions))
		}
	}
}
