package preempt_test

import (
	"slices"

	"github.com/allotsched/allot/preempt"
)

// Reclaim and preemption together, as R11 says it, for the oracle of least harm.

// bestBoth finds the shortest run of own victims with which a reclaim serves, and
// spares of them, best standing first, whom the rest serves without.
func (c *harmCase) bestBoth() *harmRun {
	var run uint32
	for u := len(c.units) - 1; u >= 0; u-- {
		if !c.mayGoBeside(u, run) {
			continue
		}
		if run |= 1 << u; c.starts(run) && c.entitledBeside(run) {
			return nil // then preemption alone would do
		}
		if c.reclaimBeside(run) == nil {
			continue
		}
		for _, own := range unitsOf(run)[1:] { // the first was the last to be added
			if below := c.below(own, run); !below && c.reclaimBeside(run&^(1<<own)) != nil {
				run &^= 1 << own
			}
		}
		if found := c.reclaimBeside(run); c.gains(run) {
			return found
		}
		return nil
	}
	return nil
}

// entitledBeside says whether some reclaim has a right in the leaf once own victims
// are gone.
func (c *harmCase) entitledBeside(run uint32) bool {
	kinds := c.reclaims()
	r := &harmRun{harmCase: c, kind: kinds[len(kinds)-1]}
	return r.entitled(c.unit.leaf, run)
}

// below says whether a lower unit of the same workload is among those that go.
func (c *harmCase) below(u int, run uint32) bool {
	return slices.ContainsFunc(unitsOf(run), func(other int) bool { return c.above[other]&(1<<u) != 0 })
}

// mayGoBeside is E1, M1, M6 and M7 for one unit of the preemptor's leaf.
func (c *harmCase) mayGoBeside(u int, run uint32) bool {
	v := &c.units[u]
	return v.leaf == c.unit.leaf && !v.nonPreemptible && v.work != c.unit.work && v.still && v.priority < c.unit.priority &&
		c.above[u]&^run == 0 && c.withinBudgets(run|1<<u)
}

// reclaims are the reclaims that the policy has.
func (c *harmCase) reclaims() []harmKind {
	if c.policy.reclaim == preempt.ByQuota {
		return []harmKind{harmByQuota}
	}
	return []harmKind{harmByQuota, harmByShare}
}

// withoutOwn calls f in the world without own victims, in which only excess goes.
func (c *harmCase) withoutOwn(own uint32, f func()) {
	c.base, c.onlyExcess = own, true
	c.readShortage()
	f()
	c.base, c.onlyExcess = 0, false
	c.readShortage()
}

// reclaimBeside is the best reclaim once own victims are gone, by quota, else by
// share; nil if there is none, or if the preemptor starts without any.
func (c *harmCase) reclaimBeside(own uint32) (best *harmRun) {
	c.withoutOwn(own, func() {
		for _, kind := range c.reclaims() {
			if best == nil {
				best = c.bestBy(kind)
			}
		}
	})
	return best
}

// gains says whether own victims release less than the preemptor starts, in something
// that it is short of once they are gone, and more in nothing of that.
func (c *harmCase) gains(own uint32) bool {
	more, less := false, false
	var released harmAmounts
	for _, u := range unitsOf(own) {
		released = released.plus(c.units[u].amount)
	}
	c.withoutOwn(own, func() {
		for r, asked := range c.asked() {
			more = more || c.short[r] && released[r] < asked
			less = less || c.short[r] && released[r] > asked
		}
	})
	return more && !less
}

// judgeBoth says whether a set is lawful by reclaim and preemption together.
func (c *harmCase) judgeBoth(set uint32) (found *harmRun) {
	var own, run uint32
	for _, u := range unitsOf(set) {
		if c.units[u].leaf == c.unit.leaf {
			own |= 1 << u
		}
	}
	for _, u := range slices.Backward(unitsOf(own)) {
		if !c.mayGoBeside(u, run) {
			return nil
		}
		run |= 1 << u
	}
	if own == 0 || own == set || c.starts(own) || !c.gains(own) || !c.withinCap(set) {
		return nil
	}
	c.withoutOwn(own, func() {
		for _, kind := range c.reclaims() {
			for _, order := range kind.variants() {
				if r, ok := c.replayAt(set, kind, order); ok && found == nil {
					found = r
				}
			}
		}
	})
	return found
}
