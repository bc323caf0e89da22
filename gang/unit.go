package gang

import (
	"slices"

	"github.com/allotsched/allot/quota"
)

// A Unit is what a gang starts at once: so many tasks of each set. The zero
// Unit is nothing.
type Unit struct {
	// Add is by set. It may be shared and must not be modified.
	Add []int32
}

// added is how many tasks of set s the unit adds; beyond the set's Count there
// are none.
func (g *Gang) added(u Unit, s int) int32 {
	return min(held(u.Add, s), g.sets[s].Count)
}

// Tasks is how many tasks the unit has.
func (u Unit) Tasks() int32 {
	total := int32(0)
	for _, n := range u.Add {
		total += max(0, n)
	}
	return total
}

// First is the unit that the gang would rather start next, held tasks running
// or claimed per set, and whether there is one: OK, Complete or NotSubmitted
// (G1–G3). It is the first of [Gang.Units]. O(sets and groups); it does not
// allocate while nothing is held, nor for one task above the minimum of a gang
// in which every group needs all its children.
func (g *Gang) First(counts []int32) (Unit, Verdict) {
	holds := false
	for _, n := range counts {
		holds = holds || n > 0
	}
	if !holds {
		return Unit{Add: g.start}, g.verdict
	}
	var w Walk
	verdict := w.Reset(g, counts, 1)
	unit, _ := w.Next()
	return unit, verdict
}

// Units are the units that the gang may start next, in order of preference, at
// most budget of them; cut says that there were more (see [Walk], which does
// not allocate).
//
// Below the minimum each is what is missing to it, held tasks counted (G1): one
// unit per choice of children where a group needs m of n (G3). From the minimum
// on they are, for each child that is below its own minimum inside groups that
// are at theirs, what is missing to that, and then one task of each set that is
// not full (G2).
func (g *Gang) Units(counts []int32, budget int) (units []Unit, cut bool) {
	var w Walk
	w.Reset(g, counts, budget)
	for {
		unit, ok := w.Next()
		if !ok {
			return units, w.Cut()
		}
		units = append(units, Unit{Add: slices.Clone(unit.Add)})
	}
}

// Amounts is the charge of unit u, by resource: what a task of each set is
// charged times the tasks added. It is written over dst, whose array is used as
// far as it reaches; dst must not be a set's own Amounts. The error is the
// [*quota.Error] of a sum beyond [quota.MaxSum]; then the result is empty.
// O(s·r) for s sets and r resources.
func (g *Gang) Amounts(dst quota.Amounts, u Unit) (quota.Amounts, error) {
	dst = dst[:0]
	for s := range g.sets {
		var err error
		if dst, err = dst.AddScaled(g.sets[s].Amounts, int64(g.added(u, s))); err != nil {
			return dst[:0], err
		}
	}
	return dst, nil
}
