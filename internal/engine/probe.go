package engine

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A Probe is a world that has been settled and divided and in which nobody has a turn.
// What is asked about takes the place of a workload that nobody is, its slot, and
// everything is taken back after the answer; only what has been learnt about shapes and
// definitions stays. It answers by the functions of the solver.
type Probe struct {
	world *cluster.World
	Slot  int32
	// replaced is the work that the slot stands for, or none, and was its status.
	replaced int32
	was      cluster.Status
	// By pool: scored says that the index knows what to score by, demand is that
	// of the version, nil where it takes a look at all workloads.
	scored     []scoredBy
	own        bool // what was asked last is a part of the mix
	demand     []cluster.Demands
	remembered map[string]Answer
	key        []byte
}

// A Answer is the answer of a probe.
type Answer struct {
	// ok says that it would start, room that places would be made for it.
	Ok, Room     bool
	Form         int16
	Availability quota.Availability
	// unit is what would start, places where; none where room has to be made.
	Unit   gang.Unit
	Places []placement.Place
}

// A scoredBy says of a pool whether strategies score its nodes, and by a mix (P4).
type scoredBy struct{ scored, mixed bool }

// NewProbe settles and divides a world, whose last work is the slot.
func NewProbe(w *cluster.World, slot int32) (*Probe, error) {
	d := &cluster.Decision{World: w}
	if err := begin(w, d); err != nil {
		return nil, err
	}
	newSolvers(context.Background(), w, d)
	f := &Probe{world: w, Slot: slot, replaced: cluster.None, remembered: make(map[string]Answer)}
	for i, p := range w.Pools {
		solverAt(w, int32(i)).enqueuing().unblock()
		f.scored = append(f.scored, scoredBy{p.Scored, p.Mixed})
		f.demand = append(f.demand, cluster.Demands{})
		if !p.Counted || p.Policy.Shares == fairshare.QuotaThenWeight {
			f.demand[i] = p.Demand.Clone()
		}
	}
	return f, nil
}

// Clear has the mix be without what was asked last.
func (f *Probe) Clear() error {
	if !f.own {
		return nil
	}
	f.own = false
	return division.Of(f.world).ScorePools()
}

// Pose asks about what has been compiled into the slot, in place of another workload
// if there is one.
func (f *Probe) Pose(ctx context.Context, replaced int32) {
	w := f.world
	cluster.RenewEffort(w)
	one := &w.Works[f.Slot]
	for at := range int16(1 + len(one.Others)) {
		if g := w.FormOf(one, at); w.Definition(one, at).Constrained { // nobody may have asked for it before
			solverAt(w, g.Pool).placer.Topology = w.Pools[g.Pool].Topology
		}
	}
	if f.replaced = replaced; replaced != cluster.None {
		f.was = w.Works[replaced].Status
		w.Works[replaced].Status = cluster.Ending // it asks for itself
	}
	w.Enlist(f.Slot)
	for s := range eachSolver(w) {
		s.ctx = ctx
	}
}

// Dismiss takes what was asked about out of the slot.
func (f *Probe) Dismiss() {
	w := f.world
	for _, p := range w.Pools {
		if n := len(p.Works); n > 0 && p.Works[n-1] == f.Slot {
			p.Works = p.Works[:n-1]
		}
	}
	if f.replaced != cluster.None {
		w.Works[f.replaced].Status = f.was
	}
	source := w.Works[f.Slot].Source
	w.Works[f.Slot] = cluster.Work{Source: source, Rare: cluster.Nothing, Live: -1, Status: cluster.Ending}
}

// question is the key of what the answer depends on: equal keys, equal answers.
func (f *Probe) question(room bool) string {
	k := &f.world.Works[f.Slot]
	key := f.key[:0]
	if room {
		key = append(key, 1)
		for _, n := range [...]int64{k.Submitted, int64(f.replaced), int64(k.Owner)} {
			key = binary.AppendVarint(key, n)
		}
	}
	for at := range int16(1 + len(k.Others)) {
		g := f.world.FormOf(k, at)
		key = append(key, 0)
		if g.NonPreemptible {
			key = append(key, 1)
		}
		for _, n := range [...]int32{g.Pool, g.Queue, g.Definition, g.Priority} {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	f.key = key
	return string(key)
}

// Fit answers for what is in the slot.
func (f *Probe) Fit(room bool) (Answer, error) {
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
func (f *Probe) found(k *cluster.Work, at int16, unit gang.Unit) Answer {
	return Answer{
		Ok: true, Form: at, Availability: f.availability(k, at),
		Unit: gang.Unit{Add: slices.Clone(unit.Add)}, Places: slices.Clone(solverOf(f.world, k, at).places),
	}
}

// decide goes the way of a workload that is alone in its turns (M9): every form in
// what is free, within the lines; then room for them, and smaller sizes (L2);
// then, beyond the lines, what is free.
func (f *Probe) decide(room bool) (Answer, error) {
	w := f.world
	k := &w.Works[f.Slot]
	if err := f.score(k); err != nil {
		return Answer{}, err
	}
	if !chooses(w, k) { // what is free beyond the lines is had, and no room made
		if fit, err := f.free(k, beyondLines); fit.Ok || err != nil || !room {
			return fit, err
		}
	}
	if err := f.divide(k); err != nil {
		return Answer{}, err
	}
	// Who would claim or have room made for it does so, rather than take what comes later.
	ways := []func() (Answer, error){
		func() (Answer, error) { return f.free(k, withinLines) },
		func() (Answer, error) { return f.claim(k, withinLines) },
	}
	for at := range int16(1 + len(k.Others)) {
		ways = append(ways, func() (Answer, error) { return f.help(k, at) })
	}
	ways = append(ways,
		func() (Answer, error) { return f.free(k, beyondLines) },
		func() (Answer, error) { return f.claim(k, beyondLines) })
	for at := range int16(1 + len(k.Others)) {
		ways = append(ways, func() (Answer, error) { return f.smaller(k, at, beyondLines, true) })
	}
	for _, way := range ways {
		fit, err := way()
		switch {
		case err != nil:
			return Answer{}, err
		case fit.Room && !room:
			return f.refused(k), nil
		case fit.Ok:
			return fit, nil
		}
	}
	return f.refused(k), nil
}

// claim looks for places that others are leaving by themselves, where the policy lets who
// waits claim them (S4): that is room.
func (f *Probe) claim(k *cluster.Work, now attempt) (Answer, error) {
	for at := range int16(1 + len(k.Others)) {
		s := solverOf(f.world, k, at)
		if !mayClaim(s.pool, now) {
			continue
		}
		s.claims = true
		fit, err := f.freeForm(k, at, now)
		s.claims = false
		if fit.Ok || err != nil {
			return Answer{Ok: fit.Ok, Room: true, Form: at, Availability: fit.Availability}, err
		}
	}
	return f.refused(k), nil
}

// chooses says whether the workload may start in more ways than one: then the
// lines decide which of them it is.
func chooses(w *cluster.World, k *cluster.Work) bool {
	d := w.Definition(k, 0)
	if len(k.Others) > 0 || len(d.Ladder) > 0 {
		return true
	}
	units, _ := d.Gang.Units(nil, 2)
	return len(units) > 1
}

// score tells the indices by what to score. What is asked about is a part of the
// mix only where that may decide whether a place is found, as the search for unlike
// tasks is greedy: otherwise many questions share a mix.
func (f *Probe) score(k *cluster.Work) error {
	w, anew, unsure, swapped := f.world, false, false, false
	for at := range int16(1 + len(k.Others)) {
		g := w.FormOf(k, at)
		p := w.Pools[g.Pool]
		now := scoredBy{p.Scored, p.Mixed}
		anew = anew || now != f.scored[g.Pool]
		unsure = unsure || p.Scored && w.Definition(k, at).Unsure
		swapped = swapped || p.Mixed && f.replaced != cluster.None // which is no part of it now
		f.scored[g.Pool] = now
	}
	if !unsure && !anew && !swapped {
		return nil
	}
	if f.own = unsure || swapped; !unsure {
		was := k.Status
		k.Status = cluster.Ending // it is no part of the mix
		defer func() { k.Status = was }()
	}
	return division.Of(w).ScorePools()
}

// refused is the answer of no.
func (f *Probe) refused(k *cluster.Work) Answer {
	return Answer{Availability: f.availability(k, 0)}
}

func (f *Probe) availability(k *cluster.Work, at int16) quota.Availability {
	g, d := f.world.FormOf(k, at), f.world.Definition(k, at)
	if !d.Verdict.OK {
		return quota.Never
	}
	return f.world.Pools[g.Pool].Tree.Availability(int(g.Queue), d.Asks, g.NonPreemptible)
}

// free looks for places for the forms, in their order of preference (G5).
func (f *Probe) free(k *cluster.Work, now attempt) (Answer, error) {
	for at := range int16(1 + len(k.Others)) {
		if fit, err := f.freeForm(k, at, now); fit.Ok || err != nil {
			return fit, err
		}
	}
	return f.refused(k), nil
}

// freeForm looks for places for a form.
func (f *Probe) freeForm(k *cluster.Work, at int16, now attempt) (Answer, error) {
	s, d := solverOf(f.world, k, at), f.world.Definition(k, at)
	s.phase = now
	if !d.Verdict.OK {
		return f.refused(k), nil
	}
	if d.HasOneStart() {
		if s.fits(s.reaches(f.Slot, d, d.Unit.Tasks()), f.world.FormOf(k, at), d, d.Unit, d.Asks) {
			return f.found(k, at, d.Unit), nil
		}
		return f.refused(k), nil
	}
	for s.walk.Reset(d.Gang, nil, d.Choices()); ; {
		unit, ok := s.walk.Next()
		if !ok {
			return f.refused(k), nil
		}
		asks, err := s.unitAsks(d, unit, true)
		if err != nil {
			return Answer{}, err
		}
		if s.fits(s.reaches(f.Slot, d, unit.Tasks()), f.world.FormOf(k, at), d, unit, asks) {
			return f.found(k, at, unit), nil
		}
	}
}

// fits says whether the rules admit the unit and it finds its places, which are
// in s.places then; they are not taken.
func (s *Solver) fits(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, asks quota.Amounts) bool {
	p := s.pool
	if _, ok := p.Tree.Check(int(f.Queue), asks, f.NonPreemptible); !ok {
		return false
	}
	if s.phase == withinLines && !s.enqueuing().strict(f.Queue) && !p.Room.Entitled(f.Queue, asks) {
		return false
	}
	m := p.Index.Mark()
	_, found, err := s.placeUnit(r, f, d, unit, gang.Siblings{}, asks)
	p.Index.Undo(m)
	return found && err == nil
}

// Copies counts how many of what is in the slot start one after the other.
func (f *Probe) Copies(most int) (n int, err error) {
	w := f.world
	k := &w.Works[f.Slot]
	if err := f.score(k); err != nil {
		return 0, err
	}
	type marks struct {
		index placement.Mark
		tree  quota.Mark
	}
	before := make([]marks, len(w.Pools))
	for i, p := range w.Pools {
		before[i] = marks{p.Index.Mark(), p.Tree.Mark()}
	}
	for n < most && err == nil {
		var took bool
		if took, err = f.takeOne(k); !took {
			break
		}
		n++
	}
	for i, p := range w.Pools {
		p.Index.Undo(before[i].index)
		p.Tree.Undo(before[i].tree)
	}
	return n, err
}

// takeOne starts one of what is in the slot in the journals only.
func (f *Probe) takeOne(k *cluster.Work) (bool, error) {
	w := f.world
	for at := range int16(1 + len(k.Others)) {
		s, d, g := solverOf(w, k, at), w.Definition(k, at), w.FormOf(k, at)
		if !d.Verdict.OK {
			continue
		}
		units, _ := d.Gang.Units(nil, d.Choices())
		if len(d.Ladder) > 0 {
			units = units[:0]
			for i := range d.Ladder {
				units = append(units, gang.Unit{Add: d.Ladder[i : i+1]})
			}
		}
		for _, unit := range units {
			asks, err := s.unitAsks(d, unit, true)
			if err != nil {
				return false, err
			}
			if _, ok := s.pool.Tree.Check(int(g.Queue), asks, g.NonPreemptible); !ok {
				continue
			}
			charge, found, err := s.placeUnit(s.reaches(f.Slot, d, unit.Tasks()), g, d, unit, gang.Siblings{}, asks)
			if err != nil {
				return false, err
			}
			if found {
				return true, s.pool.Tree.Charge(int(g.Queue), charge, g.NonPreemptible)
			}
		}
	}
	return false, nil
}
