package allot

import (
	"math"
	"strconv"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/preempt"
)

// What says how room is made is checked here.

// roomPolicy checks the knobs of a policy about making room.
func (c *checker) roomPolicy(at *path, p *Policy) {
	c.within(at, "maxMovedPercent", p.MaxMovedPercent, 0, maxMoved)
	if p.MaxRelocations.Given() {
		c.within(at, "maxRelocations", p.MaxRelocations.Amount(), 0, mostRelocations)
	}
	enum(c, at, "reclaim", p.Reclaim)
	if p.ReclaimMarginMilli != 0 {
		c.within(at, "reclaimMarginMilli", p.ReclaimMarginMilli, leastMargin, maxMargin)
	}
	enum(c, at, "straddle", p.Straddle)
	enum(c, at, "preempt", p.Preempt)
	if p.Preempt == preempt.WithinPool && p.Reclaim != preempt.NoReclaim {
		// Between queues either entitlement or priority decides (R6): with both,
		// each would undo what the other has done.
		c.faultAt(at, "preempt", FaultExclusive, p.Preempt.String(), `"queue" or "off" unless reclaim is "off"`)
	}
	c.minRuntime(at, &p.MinRuntime)
	c.within(at, "maxEvictions", int64(p.MaxEvictions), 0, maxCount)
	c.within(at, "searchBudget", int64(p.SearchBudget), 0, maxCount)
	c.bound(at, "staleGangGrace", p.StaleGangGrace)
	c.text(at, "preemptedStatus", p.PreemptedStatus)
	c.exitCode(at, "preemptedExitCode", p.PreemptedExitCode)
	c.exitActions(at, p.ExitActions)
}

// minRuntime checks the field "minRuntime". Unlimited protects for ever.
func (c *checker) minRuntime(at *path, m *MinRuntime) {
	below := at.field("minRuntime")
	c.bound(&below, "preempt", m.Preempt)
	c.bound(&below, "reclaim", m.Reclaim)
}

// exitActions checks the field "exitActions": one action per code.
func (c *checker) exitActions(at *path, actions []ExitAction) {
	if len(actions) == 0 {
		return
	}
	list := at.field("exitActions")
	named := make(map[int]int, len(actions))
	for i, a := range actions {
		below := list.at(i)
		c.exitCode(&below, "code", a.Code)
		if !prose.Known(exitNames[:], a.Action) {
			c.faultAt(&below, "action", FaultUnknownValue, a.Action.String(), "must be a known value")
		}
		if first, twice := named[a.Code]; twice {
			c.duplicateValue(&list, i, "code", strconv.Itoa(a.Code), first)
			continue
		}
		named[a.Code] = i
	}
}

// exitCode checks an exit code: 32 bits, as every system has them.
func (c *checker) exitCode(at *path, field string, code int) {
	c.within(at, field, int64(code), math.MinInt32, math.MaxInt32)
}

// checkBudgets checks the disruption budgets (M7). An owner needs none.
func (c *checker) checkBudgets(at *path) {
	budgets := c.s.Budgets
	list := at.field("budgets")
	owners := make(map[string]int, len(budgets))
	for i := range budgets {
		b := &budgets[i]
		below := list.at(i)
		c.name(&below, "owner", b.Owner)
		c.within(&below, "minRunning", int64(b.MinRunning), 0, maxCount)
		if first, twice := owners[b.Owner]; twice && b.Owner != "" {
			c.duplicate(&list, i, "owner", b.Owner, first)
			continue
		}
		owners[b.Owner] = i
	}
}
