package preempt_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
)

// What holds of every plan that makes room, by the number of its rule. As in
// harm_rules_test.go each of these fails when its rule is broken on purpose.

// disturbedOf are the units of a workload among those of a set.
func (c *harmCase) disturbedOf(set uint32, workload string) (units []*harmUnit) {
	for _, u := range unitsOf(set) {
		if c.works[c.units[u].work].name == workload {
			units = append(units, &c.units[u])
		}
	}
	return units
}

// M1: nothing is taken before its minimum runtime is over, by reclaim that for
// reclaim, by preemption and for moves the other.
func TestM1NothingGoesTooEarly(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		s, p, c := h.state, h.plan, h.model
		gone := c.disturbed(placesAfter(s, p))
		for _, a := range p.Actions {
			units := c.disturbedOf(gone, a.Workload)
			if !harmed(&a) || len(units) != 1 { // several may have gone for several reasons
				continue
			}
			u := units[0]
			if !u.free || !u.still { // it may go in one way only
				counts["looked at"]++
			}
			if reclaimed(&a) && !u.free || !reclaimed(&a) && !u.still {
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
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		p := h.plan
		for _, a := range p.Actions {
			if !harmed(&a) {
				continue
			}
			counts["looked at"]++
			if !slices.ContainsFunc(p.Actions, func(b allot.Action) bool {
				return (b.Kind == allot.Start || b.Kind == allot.Resize || b.Kind == allot.Move) && b.Workload == a.Reason.Workload
			}) {
				return fmt.Sprintf("%s goes for %s, which does not start", a.Workload, a.Reason.Workload)
			}
		}
		return ""
	})
}

// M6: of an elastic workload a lower step goes only with all above it.
func TestM6StepsGoFromAbove(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		s, p := h.state, h.plan
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
// asks, with those that start before and wait for nobody, and no more workloads are
// disturbed than the policy's cap.
func TestM7BudgetsAndCapsHold(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		s, p, c := h.state, h.plan, h.model
		after := placesAfter(s, p)
		gone := c.disturbed(after)
		if gone != 0 && (c.keepsSome() || s.Pools[0].Policy.MaxEvictions > 0) {
			counts["looked at"]++
		}
		switch {
		case overdrawsBudget(s, p):
			return "a budget is overdrawn"
		case !c.withinCap(gone):
			return fmt.Sprintf("%d workloads are disturbed", c.worksOf(gone))
		}
		return ""
	})
}

// overdrawsBudget says whether after some action an owner has fewer tasks running where
// they are than its budget asks, that action being one that has some go.
func overdrawsBudget(s *allot.State, p *allot.Plan) bool {
	owner, runs := make(map[string]string), make(map[string]int)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		owner[w.ID] = w.Owner
		runs[w.Owner] += len(w.Tasks)
	}
	for i := range p.Actions {
		a := &p.Actions[i]
		o := owner[a.Workload]
		if !harmed(a) {
			if len(a.After) == 0 {
				runs[o] += len(a.Tasks)
			}
			continue
		}
		runs[o] -= len(a.Tasks)
		if slices.ContainsFunc(s.Budgets, func(b allot.DisruptionBudget) bool { return b.Owner == o && runs[o] < b.MinRunning }) {
			return true
		}
	}
	return false
}

// E1: within its queue a workload displaces lower priority only.
func TestE1OnlyLowerPriorityGivesWay(t *testing.T) {
	eachHarmPlan(t, func(h *harmPlan, counts map[string]int) string {
		p, c := h.plan, h.model
		for _, a := range p.Actions {
			if !harmed(&a) || a.Reason.Code != allot.Preempted {
				continue
			}
			victim, preemptor := c.workOf(a.Workload), c.workOf(a.Reason.Workload)
			if victim.leaf != preemptor.leaf && c.policy.scope != preempt.WithinPool {
				continue // its own preemptor went for another queue's in turn
			}
			counts["looked at"]++
			if victim.priority >= preemptor.priority {
				return fmt.Sprintf("%s gives way to %s of no higher priority", a.Workload, a.Reason.Workload)
			}
		}
		return ""
	})
}
