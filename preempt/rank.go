package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/fairshare"
)

// A Ranking tells how those were chosen that give way to a preemptor in one way, as
// the world was before they did.
type Ranking struct {
	// Right are the preemptor's queues from its leaf up to the uppermost side at
	// which a victim's path parts from its own; of a reclaim only.
	Right []Right
	// Units are the candidates, in the order of victims (M3); Others counts all
	// other units by fate, by fate.
	Units  []Ranked
	Others []FateCount
}

// A Right is how near a queue comes to its line (R1), in the resource in which
// it comes nearest.
type Right struct {
	Queue, Resource int32
	// Use is that with the victims gone, Asks what the preemptor adds.
	Use, Asks, Entitlement int64
}

// A Ranked is a unit as it was ranked.
type Ranked struct {
	Unit       UnitID
	Fate       Fate
	Class      Class
	Protection Protection
	// Queues are those from its side down to its leaf, Saturations theirs (F9); of
	// a reclaim only.
	Queues      []int32
	Saturations []fairshare.Ratio
}

// A FateCount is how many units had a fate.
type FateCount struct {
	Fate  Fate `json:"fate"`
	Units int  `json:"units"`
}

// Rank tells how those of a proposal were chosen that have the mode in their
// [Justification]: that of the proposal, Preempt of what goes beside a reclaim (R11),
// or Consolidate of what moves beside victims (M10); and what became of the others. It
// is asked before the proposal is carried out, and leaves the world as it was. Of
// candidates that stand elsewhere only the nearest in the order to one chosen, near
// before and after each, are told in what their place was worse; the others' fate is
// PlaceShort, and they are not among the Units.
//
// It takes time in all units, times the logarithm of their number, and looks at
// the places of those that it tells.
func (r *Evaluator) Rank(b *Preemptor, p *Proposal, mode Mode, near int) Ranking {
	a := &ask{Preemptor: b, mode: mode, withinLines: p.list.withinLines}
	own := &taking{room: r, ask: &ask{Preemptor: b, mode: Preempt}, fit: &fit{room: r}}
	defer own.end()
	if a.reclaims() {
		for _, c := range p.Justifications { // what goes beside a reclaim is gone when that begins (R11)
			if c.Mode == Preempt && own.vacate(c.Victim) {
				own.list.ids, a.excessOnly = append(own.list.ids, c.Victim), true
			}
		}
		a.readShort(r)
		r.prepare(a)
	}
	r.forgetTaken()
	s := &search{room: r, ask: a, findings: findings{fit: r.newFit(a), best: p.list, found: true}}
	if mode == Preempt && p.Mode != Preempt {
		s.best.nodes = nil // own ones go by their order alone (R11)
	}
	out := Ranking{Right: s.right(p)}
	ids, fates, counts := p.fates(s)
	slices.SortStableFunc(ids, func(x, y UnitID) int { return r.compare(a, r.units[x], r.units[y]) })
	taken := make(map[UnitID]bool, len(p.Justifications))
	for _, c := range p.Justifications {
		if c.Mode == mode {
			taken[c.Victim] = true
		}
	}
	for at, told := range window(ids, taken, near) {
		if !told {
			counts[fates[ids[at]]]++
			continue
		}
		one := s.ranked(ids[at])
		if one.Fate = fates[ids[at]]; one.Fate == PlaceShort {
			one.Fate = s.placeFate(ids[at])
		}
		out.Units = append(out.Units, one)
	}
	for fate, n := range counts {
		if n > 0 {
			out.Others = append(out.Others, FateCount{Fate(fate), n})
		}
	}
	return out
}

// fates says of every unit what became of it: of the candidates one by one, of the
// others how many had a fate. Whoever is chosen in another way is among the candidates
// if this way might have taken it.
func (p *Proposal) fates(s *search) (candidates []UnitID, fates map[UnitID]Fate, others []int) {
	r := s.room
	chosen := make(map[UnitID]Justification, len(p.Justifications))
	for _, c := range p.Justifications {
		chosen[c.Victim] = c
	}
	fates, others = make(map[UnitID]Fate), make([]int, len(fateNames))
	for leaf := range r.byLeaf {
		if len(r.byLeaf[leaf]) > 0 && p.Mode != Consolidate {
			r.protect(int32(leaf))
		}
		for _, id := range r.inLeaf(int32(leaf)) {
			fate := s.fate(id)
			if fate == PlaceShort && s.ask.mode == Consolidate && p.Mode != Consolidate {
				fate = Elsewhere
			}
			candidate := fate.Candidate()
			if c, is := chosen[id]; is {
				candidate = candidate || c.Mode == s.ask.mode
				if fate = Taken; c.Moves {
					fate = Moved
				}
			}
			if !candidate {
				others[fate]++
				continue
			}
			fates[id] = fate
			candidates = append(candidates, id)
		}
	}
	return candidates, fates, others
}

// window says of each unit in order whether it is a victim or near one.
func window(ids []UnitID, taken map[UnitID]bool, near int) []bool {
	out := make([]bool, len(ids))
	for at, id := range ids {
		if taken[id] {
			for i := max(0, at-near); i <= min(len(ids)-1, at+near); i++ {
				out[i] = true
			}
		}
	}
	return out
}

// right are the preemptor's queues up to the uppermost side, with the victims
// gone.
func (s *search) right(p *Proposal) []Right {
	r, a := s.room, s.ask
	if !a.reclaims() {
		return nil
	}
	top := a.Leaf
	for _, c := range p.victims() {
		if c.Mode != p.Mode {
			continue
		}
		if _, own := r.sides(a, r.units[c.Victim].Leaf); r.depth(own) < r.depth(top) {
			top = own
		}
	}
	var out []Right
	for q := a.Leaf; ; q = r.parent(q) {
		if level, some := s.nearestLine(p, q); some {
			out = append(out, level)
		}
		if q == top {
			return out
		}
	}
}

func (r *Evaluator) depth(q int32) (n int) {
	for ; q >= 0; q = r.parent(q) {
		n++
	}
	return n
}

// nearestLine is the resource in which the queue comes nearest to its line.
func (s *search) nearestLine(p *Proposal, q int32) (out Right, some bool) {
	r, a := s.room, s.ask
	for _, asks := range a.claims() {
		if !guards(r, asks.Resource) {
			continue
		}
		level := Right{Queue: q, Resource: asks.Resource, Use: r.use(q, asks.Resource), Asks: asks.Value}
		switch {
		case q == a.Leaf:
			level.Entitlement = r.lineOf(q, asks.Resource, a.byShare())
		case a.byShare():
			level.Entitlement = r.share(q, asks.Resource)
		default:
			level.Entitlement = r.quota(q, asks.Resource)
		}
		for _, c := range p.victims() {
			if u := r.units[c.Victim]; c.Mode == p.Mode && r.isBelow(u.Leaf, q) {
				level.Use -= u.Charge.Of(asks.Resource)
			}
		}
		if !some || level.Entitlement-level.Use-level.Asks < out.Entitlement-out.Use-out.Asks {
			out, some = level, true
		}
	}
	return out, some
}

func (r *Evaluator) isBelow(q, above int32) bool {
	for ; q >= 0; q = r.parent(q) {
		if q == above {
			return true
		}
	}
	return false
}

// ranked tells what a unit is ranked by.
func (s *search) ranked(id UnitID) Ranked {
	r, a := s.room, s.ask
	u := r.units[id]
	r.protect(u.Leaf) // whoever has asked before
	out := Ranked{Unit: id, Class: Class(r.classOf(a, u.Leaf, u.Charge)), Protection: Protection(r.state[id].protection)}
	if a.reclaims() {
		for _, q := range slices.Backward(r.descent(a, u.Leaf)) {
			out.Queues = append(out.Queues, q)
			out.Saturations = append(out.Saturations, r.ratio(q))
		}
	}
	return out
}

// fate says what stands against a unit, as the first to go. Whoever may go is
// NotNeeded in the place that is cleared, and PlaceShort elsewhere until its
// place is looked at.
func (s *search) fate(id UnitID) Fate {
	r, a := s.room, s.ask
	u := r.units[id]
	switch {
	case u.Work == a.Work:
		return Itself
	case u.NonPreemptible:
		return NeverPreempted
	case a.mode == Consolidate && u.Rooted:
		return Immovable
	case a.mode == Preempt && u.Leaf != a.Leaf && r.Scope != WithinPool:
		return OtherQueue
	case a.mode == Preempt && u.Priority >= a.Priority:
		return PriorityHolds
	case a.reclaims() && u.Leaf == a.Leaf:
		return SameQueue
	case a.reclaims() && !holdsShort(r, a, id):
		return HoldsNothing
	case !a.isBehind(r, id):
		return NotBehind
	}
	var why Refusal
	if !r.fixed(a, id, &why) {
		switch {
		case why.Budgeted > 0:
			return BudgetHolds
		case why.Protected == 0: // it might preempt what straddles (R6)
			return Straddling
		}
		return MinRuntimeHolds
	}
	switch r.first(a, id) {
	case turns:
		return MarginHolds
	case notYet:
		if comesBack(r, a, id) {
			return Protected
		}
		return OwnSideFull
	case unlawful:
		return s.unlawfulBy(u, id)
	}
	if s.inPlace(id) {
		return NotNeeded
	}
	return PlaceShort
}

// unlawfulBy says which rule stands against the unit.
func (s *search) unlawfulBy(u *Unit, id UnitID) Fate {
	r, a := s.room, s.ask
	if !a.reclaims() {
		return Protected
	}
	side, _ := r.sides(a, u.Leaf)
	switch class := r.class(a, side, u.Charge); {
	case class == 2 || a.byShare() && class > 0:
		return WithinLine
	case !r.mayTake(a, id), a.relocates() && r.protectionOf(a, id) != none:
		return Protected
	}
	return Straddling
}

// inPlace says whether the unit stands in the place that is cleared.
func (s *search) inPlace(id UnitID) bool {
	if len(s.best.nodes) == 0 {
		return true
	}
	for _, t := range s.room.units[id].Tasks {
		if slices.Contains(s.best.nodes, t.Place.Node) {
			return true
		}
	}
	return false
}

// placeFate looks at the places where a unit stands: by what the best of them is
// worse than the one that was chosen.
func (s *search) placeFate(id UnitID) Fate {
	r, a := s.room, s.ask
	var best list
	found := false
	for _, t := range r.units[id].Tasks {
		var here []UnitID
		var ignored Refusal
		for _, other := range r.onNode(t.Place.Node) {
			if a.isBehind(r, other) && r.fixed(a, other, &ignored) {
				here = append(here, other)
			}
		}
		a.place = []int32{t.Place.Node}
		for _, kind := range s.kinds() {
			r.forgetTaken()
			if one, ok := r.clearPlace(a, s.fit, here, kind); ok {
				one.nodes = a.place
				if !found || s.compareLists(&one, &best) < 0 {
					best, found = one, true
				}
				break
			}
		}
	}
	r.forgetTaken()
	if !found {
		return PlaceShort
	}
	return s.worseBy(&best)
}

// worseBy says by which comparison of places another is worse than the best.
func (s *search) worseBy(other *list) Fate {
	one, two := s.harmOf(&s.best), s.harmOf(other)
	switch {
	case s.ask.mode == Consolidate && cmp.Compare(s.best.moved, other.moved) != 0:
		return PlaceMoves
	case s.comparePairs(&s.best, other) != 0:
		return PlaceHarms
	case one.lost.compare(two.lost) != 0:
		return PlaceLoses
	case one.works != two.works:
		return PlaceMore
	case !slices.Equal(s.best.victims(), other.victims()):
		return PlaceLater
	}
	return PlaceNode
}
