package preempt_test

import (
	"fmt"
	"slices"

	"github.com/allotsched/allot"
)

// Disruption budgets and the cap of evictions (M7), for the oracle of least harm
// and the states that it is asked about.

// limitHarm gives some of the work owners with disruption budgets, and the policy
// a cap of evictions (M7).
func limitHarm(g *denseGen, s *allot.State) {
	if !g.rarely(3) {
		owners := 1 + g.IntN(2)
		for o := range owners {
			s.Budgets = append(s.Budgets, allot.DisruptionBudget{Owner: fmt.Sprint("o", o), MinRunning: 1 + g.IntN(4)})
		}
		for i := range s.Workloads {
			if !g.rarely(4) {
				s.Workloads[i].Owner = fmt.Sprint("o", g.IntN(owners))
			}
		}
	}
	if len(s.Budgets) == 0 || g.rarely(3) {
		s.Pools[0].Policy.MaxEvictions = 1 + g.IntN(2)
	}
}

// A harmBudget is one owner's (M7).
type harmBudget struct {
	units uint32
	most  int // tasks that may go
}

// addBudget says how many tasks of an owner may go.
func (c *harmCase) addBudget(owner string, minRunning int) {
	own := harmBudget{most: -minRunning}
	for i, u := range c.units {
		if c.works[u.work].owner == owner {
			own.units |= 1 << i
			own.most += len(u.tasks)
		}
	}
	c.budgets = append(c.budgets, own)
}

// tasksOf counts the tasks of a set of units.
func (c *harmCase) tasksOf(set uint32) (n int) {
	for _, u := range unitsOf(set) {
		n += len(c.units[u].tasks)
	}
	return n
}

// withinBudgets says whether so many may be gone (M7).
func (c *harmCase) withinBudgets(gone uint32) bool {
	return !slices.ContainsFunc(c.budgets, func(b harmBudget) bool {
		return gone&b.units != 0 && c.tasksOf(gone&b.units) > b.most
	})
}

// withinCap says whether one solve may disturb the workloads of so many (M7).
func (c *harmCase) withinCap(gone uint32) bool {
	return c.worksOf(gone) <= c.policy.cap
}

// worksOf counts the workloads of a set of units.
func (c *harmCase) worksOf(set uint32) int {
	works := make(map[int]bool)
	for _, u := range unitsOf(set) {
		works[c.units[u].work] = true
	}
	return len(works)
}

// overdrawn says whether more tasks of an owner are no longer where they were than
// its budget lets go (M7).
func (c *harmCase) overdrawn(after map[taskName]allot.Placement) bool {
	return slices.ContainsFunc(c.budgets, func(b harmBudget) bool {
		gone := 0
		for _, u := range unitsOf(b.units) {
			for _, t := range c.units[u].tasks {
				if p, ok := after[t.name]; !ok || p.Node != c.nodeNames[t.node] || !slices.Equal(p.Devices, t.devices) {
					gone++
				}
			}
		}
		return gone > 0 && gone > b.most
	})
}

// keepsSome says whether budgets keep some of what is preemptible from going.
func (c *harmCase) keepsSome() bool {
	return slices.ContainsFunc(c.budgets, func(b harmBudget) bool {
		preemptible := func(u int) bool { return !c.units[u].nonPreemptible }
		return slices.ContainsFunc(unitsOf(b.units), preemptible) && !c.withinBudgets(b.units)
	})
}
