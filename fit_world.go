package allot

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A fitWorld is a world that has been settled and divided and in which nobody has
// a turn. What is asked about takes the place of a workload that nobody is, its
// slot, and everything is taken back after the answer; only what has been learnt
// about shapes and definitions stays. It answers by the functions of the solver.
type fitWorld struct {
	state    *State // with room for the slot at the end
	names    map[string]bool
	world    *world
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
	remembered map[string]Fit
	key        []byte
}

// A scoredBy says of a pool whether strategies score its nodes, and by a mix (P4).
type scoredBy struct{ scored, mixed bool }

// newFitWorld compiles and settles a state that has been checked.
func newFitWorld(s *State) (*fitWorld, error) {
	f := &fitWorld{state: s, names: make(map[string]bool)}
	return f, f.compile()
}

// learn has the world know the resources that a workload asks for.
func (f *fitWorld) learn(k *Workload) error {
	addRequested(f.names, k.PodSets)
	for a := range k.Alternatives {
		addRequested(f.names, k.Alternatives[a].PodSets)
	}
	return f.compile()
}

// compile makes the world, with a workload that has ended for good and asks for
// every name that was learnt.
func (f *fitWorld) compile() error {
	s := *f.state
	s.Workloads = slices.Clip(s.Workloads)
	if len(f.names) > 0 {
		asks := make(map[string]int64, len(f.names))
		for name := range f.names { // into a map: order cannot matter
			asks[name] = 1
		}
		gone := Workload{Ending: true, PodSets: []PodSet{{Count: 1, Request: Request{Resources: asks}}}}
		gone.Pool, gone.Queue = someLeaf(&s)
		s.Workloads = append(s.Workloads, gone)
	}
	w, err := compile(&s)
	if err != nil {
		return err
	}
	d := &decision{world: w}
	if err := w.settle(d); err != nil {
		return err
	}
	if err := w.scorePools(); err != nil {
		return err
	}
	if err := w.divideShares(); err != nil {
		return err
	}
	d.settled = len(d.actions)
	w.newSolvers(context.Background(), d)
	f.scored, f.demand = nil, nil
	for i, p := range w.pools {
		w.solvers[i].unblock()
		f.scored = append(f.scored, scoredBy{p.scored, p.mixed})
		f.demand = append(f.demand, nil)
		if !p.counted || p.policy.Shares == fairshare.QuotaThenWeight {
			f.demand[i] = slices.Clone(p.demand)
		}
	}
	f.slot = int32(len(w.works))
	s.Workloads = append(s.Workloads, Workload{})
	w.works = append(w.works, work{source: int32(len(s.Workloads)) - 1, live: -1, status: ending})
	f.world, f.decision, f.replaced = w, d, none
	f.remembered = make(map[string]Fit)
	return nil
}

// someLeaf is a pool and a leaf queue in which a workload may stand.
func someLeaf(s *State) (pool, queue string) {
	inner := make(map[string]bool, len(s.Queues))
	for i := range s.Queues {
		inner[s.Queues[i].Parent] = true
	}
	for i := range s.Queues {
		if !inner[s.Queues[i].ID] {
			return "", s.Queues[i].ID
		}
	}
	if len(s.Pools) > 0 {
		pool = s.Pools[0].ID
	}
	return pool, ""
}

// knows says whether every pool has a number for every resource that the workload
// requests.
func (f *fitWorld) knows(k *Workload) bool {
	named := func(sets []PodSet) bool {
		for i := range sets {
			for name := range sets[i].Request.Resources { // all or not: order cannot matter
				unknown := func(p *pool) bool { _, ok := p.byName[name]; return !ok }
				if !f.names[name] && slices.ContainsFunc(f.world.pools, unknown) {
					return false
				}
			}
		}
		return true
	}
	return named(k.PodSets) && !slices.ContainsFunc(k.Alternatives, func(a Form) bool { return !named(a.PodSets) })
}

// pose puts the workload into the slot; dismiss takes it out.
func (f *fitWorld) pose(k *Workload) error {
	w := f.world
	if f.own { // the last one was a part of the mix
		f.own = false
		if err := w.scorePools(); err != nil {
			return err
		}
	}
	one := &w.works[f.slot]
	source := one.source
	w.state.Workloads[source] = *k
	if err := w.compileWork(f.slot, source); err != nil {
		return err
	}
	for at := range int16(1 + len(one.others)) {
		if g := w.formOf(one, at); w.definition(one, at).constrained {
			w.solvers[g.pool].placer.Topology = w.pools[g.pool].treeOfNodes(w) // nobody may have asked for it before
		}
	}
	f.replaced = none
	if at, known := f.find(k.ID); known {
		f.replaced, f.was = at, w.works[at].status
		w.works[at].status = ending // it asks for itself
	}
	w.enlist(f.slot)
	return nil
}

// obey has the searches end when the context does.
func (f *fitWorld) obey(ctx context.Context) {
	for _, s := range f.world.solvers {
		s.ctx = ctx
	}
}

func (f *fitWorld) dismiss() {
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
func (f *fitWorld) question(room bool) string {
	k := &f.world.works[f.slot]
	key := f.key[:0]
	if room {
		key = append(key, 1)
		key = binary.AppendVarint(key, k.submitted)
		key = binary.AppendVarint(key, int64(f.replaced))
		key = append(key, f.world.source(k).Owner...)
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
func (f *fitWorld) fit(room bool) (Fit, error) {
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

// decide goes the way of a workload that is alone in its turns (M9): every form in
// what is free, within the lines; then room for them, and smaller sizes (L2);
// then, beyond the lines, what is free.
func (f *fitWorld) decide(room bool) (Fit, error) {
	w := f.world
	k := &w.works[f.slot]
	if err := f.score(k); err != nil {
		return Fit{}, err
	}
	if !w.chooses(k) { // what is free beyond the lines is had, and no room made
		if fit, err := f.free(k, beyondLines); fit.OK || err != nil || !room {
			return fit, err
		}
	}
	if err := f.divide(k); err != nil {
		return Fit{}, err
	}
	if fit, err := f.free(k, withinLines); fit.OK || err != nil {
		return fit, err
	}
	for at := range int16(1 + len(k.others)) {
		fit, err := f.help(k, at)
		if err == nil && fit.Room && !room {
			return f.refused(k), nil // it would take it, rather than what is free
		}
		if fit.OK || err != nil {
			return fit, err
		}
	}
	if fit, err := f.free(k, beyondLines); fit.OK || err != nil {
		return fit, err
	}
	for at := range int16(1 + len(k.others)) {
		if fit, err := f.smaller(k, at, beyondLines, false); fit.OK || err != nil {
			return fit, err
		}
	}
	return f.refused(k), nil
}

// chooses says whether the workload may start in more ways than one: then the
// lines decide which of them it is.
func (w *world) chooses(k *work) bool {
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
func (f *fitWorld) score(k *work) error {
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
	w.compileMixes()
	return w.scorePools()
}

// refused is the answer of no.
func (f *fitWorld) refused(k *work) Fit {
	return Fit{Availability: f.availability(k, 0)}
}

func (f *fitWorld) availability(k *work, at int16) quota.Availability {
	g, d := f.world.formOf(k, at), f.world.definition(k, at)
	if !d.verdict.OK {
		return quota.Never
	}
	return f.world.pools[g.pool].tree.Availability(int(g.queue), d.asks, g.nonPreemptible)
}

// free looks for places for the forms, in their order of preference (G5).
func (f *fitWorld) free(k *work, now phase) (Fit, error) {
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
				return Fit{}, err
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

// found is the answer of yes, with the places in the solver.
func (f *fitWorld) found(k *work, at int16, unit gang.Unit) Fit {
	s, d := f.world.solverOf(k, at), f.world.definition(k, at)
	out := Fit{OK: true, Form: int(at), Availability: f.availability(k, at), Tasks: make([]Placement, 0, len(s.places))}
	next := 0
	for set, n := range unit.Add {
		for i := range n {
			out.Tasks = append(out.Tasks, f.placement(s.pool, d.names[set], int(i), s.places[next]))
			next++
		}
	}
	return out
}

func (f *fitWorld) placement(p *pool, set string, index int, place placement.Place) Placement {
	out := Placement{PodSet: set, Index: index, Node: f.world.state.Nodes[p.nodes[place.Node]].ID}
	for rest := place.Devices; rest != 0; rest &= rest - 1 {
		out.Devices = append(out.Devices, bits.TrailingZeros64(rest))
	}
	return out
}

// copies counts how many of what is in the slot start one after the other.
func (f *fitWorld) copies(most int) (n int, err error) {
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
func (f *fitWorld) takeOne(k *work) (bool, error) {
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
