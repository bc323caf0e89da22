package allot

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A probe is a world that has been settled and divided and in which nobody has a turn.
// What is asked about takes the place of a workload that nobody is, its slot, and
// everything is taken back after the answer; only what has been learnt about shapes and
// definitions stays. It answers by the functions of the solver.
type probe struct {
	world    *coreWorld
	decision *decision
	slot     int32
	// replaced is the work that the slot stands for, or none, and was its status.
	replaced int32
	was      status
	// By pool: scored says that the index knows what to score by, demand is that
	// of the version, nil where it takes a look at all workloads.
	scored     []scoredBy
	own        bool // what was asked last is a part of the mix
	demand     [][]fairshare.Demand
	remembered map[string]probed
	key        []byte
}

// A probed is the answer of a probe.
type probed struct {
	// ok says that it would start, room that places would be made for it.
	ok, room     bool
	form         int16
	availability quota.Availability
	// unit is what would start, places where; none where room has to be made.
	unit   gang.Unit
	places []placement.Place
}

// A scoredBy says of a pool whether strategies score its nodes, and by a mix (P4).
type scoredBy struct{ scored, mixed bool }

// newProbe settles and divides a world, whose last work is the slot.
func newProbe(w *coreWorld, slot int32) (*probe, error) {
	d := &decision{world: w}
	if err := w.settle(d); err != nil {
		return nil, err
	}
	if err := w.scorePools(); err != nil {
		return nil, err
	}
	if err := w.divideShares(); err != nil {
		return nil, err
	}
	d.settled = len(d.actions)
	w.newSolvers(context.Background(), d)
	f := &probe{world: w, decision: d, slot: slot, replaced: none, remembered: make(map[string]probed)}
	for i, p := range w.pools {
		w.solvers[i].unblock()
		f.scored = append(f.scored, scoredBy{p.scored, p.mixed})
		f.demand = append(f.demand, nil)
		if !p.counted || p.policy.Shares == fairshare.QuotaThenWeight {
			f.demand[i] = slices.Clone(p.demand)
		}
	}
	return f, nil
}

// clear has the mix be without what was asked last.
func (f *probe) clear() error {
	if !f.own {
		return nil
	}
	f.own = false
	return f.world.scorePools()
}

// pose asks about what has been compiled into the slot, in place of another workload
// if there is one.
func (f *probe) pose(ctx context.Context, replaced int32) {
	w := f.world
	one := &w.works[f.slot]
	for at := range int16(1 + len(one.others)) {
		if g := w.formOf(one, at); w.definition(one, at).constrained { // nobody may have asked for it before
			w.solvers[g.pool].placer.Topology = w.pools[g.pool].topology
		}
	}
	if f.replaced = replaced; replaced != none {
		f.was = w.works[replaced].status
		w.works[replaced].status = ending // it asks for itself
	}
	w.enlist(f.slot)
	for _, s := range w.solvers {
		s.ctx = ctx
	}
}

// dismiss takes what was asked about out of the slot.
func (f *probe) dismiss() {
	w := f.world
	for _, p := range w.pools {
		if n := len(p.works); n > 0 && p.works[n-1] == f.slot {
			p.works = p.works[:n-1]
		}
	}
	if f.replaced != none {
		w.works[f.replaced].status = f.was
	}
	source := w.works[f.slot].source
	w.works[f.slot] = work{source: source, live: -1, status: ending}
}

// question is the key of what the answer depends on: equal keys, equal answers.
func (f *probe) question(room bool) string {
	k := &f.world.works[f.slot]
	key := f.key[:0]
	if room {
		key = append(key, 1)
		for _, n := range [...]int64{k.submitted, int64(f.replaced), int64(k.owner)} {
			key = binary.AppendVarint(key, n)
		}
	}
	for at := range int16(1 + len(k.others)) {
		g := f.world.formOf(k, at)
		key = append(key, 0)
		if g.nonPreemptible {
			key = append(key, 1)
		}
		for _, n := range [...]int32{g.pool, g.queue, g.definition, g.priority} {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	f.key = key
	return string(key)
}

// fit answers for what is in the slot.
func (f *probe) fit(room bool) (probed, error) {
	key := f.question(room)
	if known, ok := f.remembered[key]; ok {
		return known, nil
	}
	answer, err := f.decide(room)
	if err == nil {
		f.remembered[key] = answer
	}
	return answer, err
}

// found is the answer of yes, with the places in the solver.
func (f *probe) found(k *work, at int16, unit gang.Unit) probed {
	return probed{
		ok: true, form: at, availability: f.availability(k, at),
		unit: gang.Unit{Add: slices.Clone(unit.Add)}, places: slices.Clone(f.world.solverOf(k, at).places),
	}
}

// decide goes the way of a workload that is alone in its turns (M9): every form in
// what is free, within the lines; then room for them, and smaller sizes (L2);
// then, beyond the lines, what is free.
func (f *probe) decide(room bool) (probed, error) {
	w := f.world
	k := &w.works[f.slot]
	if err := f.score(k); err != nil {
		return probed{}, err
	}
	if !w.chooses(k) { // what is free beyond the lines is had, and no room made
		if fit, err := f.free(k, beyondLines); fit.ok || err != nil || !room {
			return fit, err
		}
	}
	if err := f.divide(k); err != nil {
		return probed{}, err
	}
	if fit, err := f.free(k, withinLines); fit.ok || err != nil {
		return fit, err
	}
	for at := range int16(1 + len(k.others)) {
		fit, err := f.help(k, at)
		if err == nil && fit.room && !room {
			return f.refused(k), nil // it would take it, rather than what is free
		}
		if fit.ok || err != nil {
			return fit, err
		}
	}
	if fit, err := f.free(k, beyondLines); fit.ok || err != nil {
		return fit, err
	}
	for at := range int16(1 + len(k.others)) {
		if fit, err := f.smaller(k, at, beyondLines, false); fit.ok || err != nil {
			return fit, err
		}
	}
	return f.refused(k), nil
}

// chooses says whether the workload may start in more ways than one: then the
// lines decide which of them it is.
func (w *coreWorld) chooses(k *work) bool {
	d := w.definition(k, 0)
	if len(k.others) > 0 || len(d.ladder) > 0 {
		return true
	}
	units, _ := d.gang.Units(nil, 2)
	return len(units) > 1
}

// score tells the indices by what to score. What is asked about is a part of the
// mix only where that may decide whether a place is found, as the search for unlike
// tasks is greedy: otherwise many questions share a mix.
func (f *probe) score(k *work) error {
	w, anew, unsure := f.world, false, false
	for at := range int16(1 + len(k.others)) {
		g := w.formOf(k, at)
		p := w.pools[g.pool]
		now := scoredBy{p.scored, p.mixed}
		anew = anew || now != f.scored[g.pool]
		unsure = unsure || p.scored && w.definition(k, at).unsure
		f.scored[g.pool] = now
	}
	if !unsure && !anew {
		return nil
	}
	if f.own = unsure; !unsure {
		was := k.status
		k.status = ending // it is no part of the mix
		defer func() { k.status = was }()
	}
	return w.scorePools()
}

// refused is the answer of no.
func (f *probe) refused(k *work) probed {
	return probed{availability: f.availability(k, 0)}
}

func (f *probe) availability(k *work, at int16) quota.Availability {
	g, d := f.world.formOf(k, at), f.world.definition(k, at)
	if !d.verdict.OK {
		return quota.Never
	}
	return f.world.pools[g.pool].tree.Availability(int(g.queue), d.asks, g.nonPreemptible)
}

// free looks for places for the forms, in their order of preference (G5).
func (f *probe) free(k *work, now phase) (probed, error) {
	for at := range int16(1 + len(k.others)) {
		s, d := f.world.solverOf(k, at), f.world.definition(k, at)
		s.phase = now
		if !d.verdict.OK {
			continue
		}
		if !d.unsure {
			if s.fits(f.world.formOf(k, at), d, d.unit, d.asks) {
				return f.found(k, at, d.unit), nil
			}
			continue
		}
		for s.walk.Reset(d.gang, nil, unitBudget); ; {
			unit, ok := s.walk.Next()
			if !ok {
				break
			}
			asks, err := s.unitAsks(d, unit, true)
			if err != nil {
				return probed{}, err
			}
			if s.fits(f.world.formOf(k, at), d, unit, asks) {
				return f.found(k, at, unit), nil
			}
		}
	}
	return f.refused(k), nil
}

// fits says whether the rules admit the unit and it finds its places, which are
// in s.places then; they are not taken.
func (s *solver) fits(f *form, d *definition, unit gang.Unit, asks quota.Amounts) bool {
	p := s.pool
	if _, ok := p.tree.Check(int(f.queue), asks, f.nonPreemptible); !ok {
		return false
	}
	if s.phase == withinLines && !s.strict() && !p.room.Entitled(f.queue, asks) {
		return false
	}
	m := p.index.Mark()
	_, found, err := s.placeUnit(f, d, unit, gang.Siblings{}, asks)
	p.index.Undo(m)
	return found && err == nil
}

// copies counts how many of what is in the slot start one after the other.
func (f *probe) copies(most int) (n int, err error) {
	w := f.world
	k := &w.works[f.slot]
	if err := f.score(k); err != nil {
		return 0, err
	}
	type marks struct {
		index placement.Mark
		tree  quota.Mark
	}
	before := make([]marks, len(w.pools))
	for i, p := range w.pools {
		before[i] = marks{p.index.Mark(), p.tree.Mark()}
	}
	for n < most && err == nil {
		var took bool
		if took, err = f.takeOne(k); !took {
			break
		}
		n++
	}
	for i, p := range w.pools {
		p.index.Undo(before[i].index)
		p.tree.Undo(before[i].tree)
	}
	return n, err
}

// takeOne starts one of what is in the slot in the journals only.
func (f *probe) takeOne(k *work) (bool, error) {
	w := f.world
	for at := range int16(1 + len(k.others)) {
		s, d, g := w.solverOf(k, at), w.definition(k, at), w.formOf(k, at)
		if !d.verdict.OK {
			continue
		}
		units, _ := d.gang.Units(nil, unitBudget)
		if len(d.ladder) > 0 {
			units = units[:0]
			for i := range d.ladder {
				units = append(units, gang.Unit{Add: d.ladder[i : i+1]})
			}
		}
		for _, unit := range units {
			asks, err := s.unitAsks(d, unit, true)
			if err != nil {
				return false, err
			}
			if _, ok := s.pool.tree.Check(int(g.queue), asks, g.nonPreemptible); !ok {
				continue
			}
			charge, found, err := s.placeUnit(g, d, unit, gang.Siblings{}, asks)
			if err != nil {
				return false, err
			}
			if found {
				return true, s.pool.tree.Charge(int(g.queue), charge, g.nonPreemptible)
			}
		}
	}
	return false, nil
}
