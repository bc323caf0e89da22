package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A Shield is what keeps units of one leaf from a preemptor that could use what they
// hold: who protects them, and how many they are.
type Shield struct {
	// Fate is MinRuntimeHolds, BudgetHolds, WithinLine, Protected, Straddling or
	// NeverPreempted; Line is, of the three about lines, which one holds: quota or fair
	// share.
	Fate  Fate
	Line  Protection
	Leaf  int32
	Units int
}

// Shields tells who is protected from the preemptor in one way of making room that has
// been refused, by leaf, and whether that is the cause: with them gone too, enough would
// be free in all. Who stands where no task of the preemptor could stand is left out, and
// who is of no lower priority where that has to be.
//
// It takes time in the units that the way may ask for, and is for who asks why.
func Shields(r *Evaluator, b *Preemptor, mode Mode, short []int32) (list []Shield, cause bool) {
	alone := *b // what may be taken is asked without moves
	alone.Relocations = 0
	a := &ask{Preemptor: &alone, mode: mode, short: short}
	if a.reclaims() {
		r.prepare(a)
	}
	r.opened = true
	r.forgetTaken()
	s := &search{room: r, ask: a}
	count, all := shieldsOf(s)
	enough := coversNeed(s, all)
	if len(count) == 0 && enough && b.Relocations > 0 {
		count = stayPut(s)
	}
	if len(count) == 0 && len(all) > 0 && mode == Preempt && r.Scope == WithinQueue && r.Reclaim != NoReclaim {
		count, enough = jointShields(s, all)
	}
	for shield, n := range count { // sorted below
		shield.Units = n
		list = append(list, shield)
	}
	slices.SortFunc(list, func(x, y Shield) int {
		return cmp.Or(cmp.Compare(y.Units, x.Units), cmp.Compare(x.Fate, y.Fate), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Leaf, y.Leaf))
	})
	return list, enough && len(list) > 0
}

// shieldsOf counts who is protected; all are these and what may be taken.
func shieldsOf(s *search) (count map[Shield]int, all []UnitID) {
	r, a := s.room, s.ask
	count = make(map[Shield]int)
	bounds := r.Tree.Shortfalls(nil, int(a.Leaf), a.Asks, a.NonPreemptible)
	for leaf := range r.byLeaf {
		if a.passesOver(r, int32(leaf)) {
			continue
		}
		units := r.inLeaf(int32(leaf))
		r.protect(int32(leaf))
		for _, id := range units {
			shield, protected := shieldOf(s, id)
			if fate := shield.Fate; !protected && (fate > OwnSideFull || fate == MarginHolds) || !inReach(r, a.Preemptor, id) && !usesUp(r, bounds, id) {
				continue
			}
			all = append(all, id)
			if protected {
				count[shield]++
			}
		}
	}
	return count, all
}

// jointShields counts who is protected where own work gives way and a reclaim takes the rest
// from others (R11): all are the own ones.
func jointShields(s *search, own []UnitID) (count map[Shield]int, enough bool) {
	a := &ask{Preemptor: s.ask.Preemptor, mode: ReclaimByShare}
	if s.room.Reclaim == ByQuota {
		a.mode = ReclaimByQuota
	}
	for _, asks := range a.Asks { // what it is short of depends on who of its own goes
		if s.room.divides(asks.Resource) {
			a.short = append(a.short, asks.Resource)
		}
	}
	s.room.prepare(a)
	count, others := shieldsOf(&search{room: s.room, ask: a})
	return count, coversNeed(s, append(own, others...))
}

// coversNeed says whether with the units gone enough would be free in all.
func coversNeed(s *search, gone []UnitID) bool {
	free := s.ask.nodes(s.room.Index).Free(s.ask.Set)
	for _, need := range s.ask.Need {
		have := free.Milli
		if need.Resource > 0 {
			have = free.Amounts[need.Resource-1]
		}
		for _, id := range gone {
			have = addUpTo(have, s.room.charged(id).Of(need.Resource))
		}
		if have < need.Value {
			return false
		}
	}
	return true
}

// stayPut counts who may not even move for the preemptor, in whatever leaf, and why: it is
// not preemptible, or its minimum runtime or its owner's budget holds (M1, M7, M10).
func stayPut(s *search) map[Shield]int {
	r, count := s.room, make(map[Shield]int)
	for leaf := range r.byLeaf {
		for _, id := range r.byLeaf[leaf] {
			u, bars := r.units[id], r.state[id].bars
			one := Shield{Leaf: u.Leaf}
			switch {
			case u.Work == s.ask.Work || !inReach(r, s.ask.Preemptor, id):
				continue
			case u.NonPreemptible:
				one.Fate = NeverPreempted
			case bars&preemptedEarly != 0:
				one.Fate = MinRuntimeHolds
			case !withinBudget(r, u):
				one.Fate = BudgetHolds
			default:
				continue
			}
			count[one]++
		}
	}
	return count
}

// passesOver says whether all units of a leaf are out of the question: it has none, or
// the way takes from the preemptor's own queue alone (E1), or from all others (R2).
func (a *ask) passesOver(r *Evaluator, leaf int32) bool {
	return len(r.byLeaf[leaf]) == 0 || a.mode == Preempt && r.Scope != WithinPool && leaf != a.Leaf || a.reclaims() && leaf == a.Leaf
}

// shieldOf is what protects a unit, if something does; else only its fate is told.
func shieldOf(s *search, id UnitID) (Shield, bool) {
	r, a := s.room, s.ask
	u := r.units[id]
	out := Shield{Fate: s.fate(id), Leaf: u.Leaf}
	switch out.Fate {
	case MinRuntimeHolds, BudgetHolds:
		return out, true
	case NeverPreempted:
		if a.reclaims() {
			return out, u.Leaf != a.Leaf && holdsShort(r, a, id)
		}
		return out, u.Priority < a.Priority && (u.Leaf == a.Leaf || r.Scope == WithinPool)
	case WithinLine:
		side, _ := r.sides(a, u.Leaf)
		if out.Line = ShareProtected; r.class(a, side, u.Charge) == 2 {
			out.Line = QuotaProtected
		}
		return out, true
	case Protected, Straddling:
		if out.Line = QuotaProtected; a.byShare() && r.state[id].protection != byQuota {
			out.Line = ShareProtected
		}
		return out, true
	}
	return out, false
}

// usesUp says whether a unit is charged to one of the bounds that leave the preemptor too
// little, wherever it stands (Q3, Q10).
func usesUp(r *Evaluator, bounds []quota.Shortfall, id UnitID) bool {
	u := r.units[id]
	return slices.ContainsFunc(bounds, func(short quota.Shortfall) bool {
		q := u.Leaf
		for q >= 0 && int(q) != short.Queue {
			q = r.parent(q)
		}
		return q >= 0 && u.Charge.Of(int32(short.Resource)) > 0
	})
}

// inReach says whether a task of the preemptor could stand where the unit does, on one of
// its devices if it asks for devices, or on others while it holds there what is lacking
// beside them.
func inReach(r *Evaluator, b *Preemptor, id UnitID) bool {
	for set, n := range b.Add.Add {
		if n == 0 {
			continue
		}
		for i := range r.units[id].Tasks {
			place := r.units[id].Tasks[i].Place
			v := placement.Vacant(r.Index, b.Shapes[set], place.Node)
			if v.Tasks > 0 && (v.Devices == 0 || v.Devices&place.Devices != 0) {
				return true
			}
			place.Devices = v.Devices
			if v.Tasks > 0 && holdsOf(r, id, r.Index.Lacks(b.Shapes[set], place)) {
				return true
			}
		}
	}
	return false
}

// holdsOf says whether a unit holds something of what a node lacks on which it stands,
// beside devices.
func holdsOf(r *Evaluator, id UnitID, lack placement.Lack) bool {
	return lack.Slots || slices.ContainsFunc(lack.Resources, func(resource int32) bool {
		return r.charged(id).Of(resource+1) > 0 // 0 are the GPUs
	})
}
