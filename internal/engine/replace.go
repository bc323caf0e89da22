package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Where a workload that is within its lines finds no place, starts of this solve
// make way before anybody waits or goes: at most a few of them are placed anew so
// that it fits (M9, step 2). The sets of fewer starts are tried first, of one size
// the later starts; all sets of few starts, and of many those that stand on one
// node. What is tried is counted.

const (
	// defaultReplacedStarts is Policy.MaxReplacedStarts where that is absent.
	defaultReplacedStarts = 3
	// mostReplacements is how many sets are tried for one workload,
	// allReplacements how many in one solve and pool.
	mostReplacements, allReplacements = 256, 2048
	// fewStarts is up to how many starts all sets of them are tried, and how many
	// of one node.
	fewStarts = 12
)

// startReplacing starts the next unit of a workload that the rules admit and that
// finds no place, by placing starts of this solve anew; it reports whether it did.
func (s freeStarts) startReplacing(k *cluster.Work, it queue.Item, f *cluster.Form) (bool, error) {
	w, p, d := s.world, s.pool, s.world.Definition(k, it.Form)
	if replacedStarts(&p.Policy) == 0 {
		return false, nil
	}
	if s.kept != nil { // a bound says that none makes way, or that it does not tell
		s.decision.Unplain = s.decision.Unplain || s.phase == withinLines && s.kept.mayReplace(s.kept.kindOf(k, it))
		return false, nil
	}
	if s.phase != withinLines || s.claims || s.placer.UsedNodes || s.replacements >= allReplacements || len(d.Ladder) > 0 && it.Stage > 0 ||
		!s.startedSome() {
		return false, nil
	}
	held := w.CountsOf(k)
	fresh := held == nil && !p.Classed()
	if m := s.unreplaced[f.Definition]; fresh && m.Stands(p) && (m.Freed == 0 || k.Status != cluster.WaitsForLeavers) {
		s.decision.Work.Remembered++
		return false, nil
	}
	tried, searched := false, false
	done, err := s.preempting().anyUnit(d, held, func(add []int32, asks quota.Amounts) (bool, error) {
		if _, ok := p.Tree.Check(int(f.Queue), asks, f.NonPreemptible); !ok || !p.Room.Entitled(f.Queue, asks) {
			return false, nil
		}
		tried = true
		if k.Status != cluster.WaitsForLeavers && !s.isFreeInAll(s.needOf(d, add)) { // which claims what is leaving, too
			return false, nil
		}
		searched = true
		return s.replaceFor(k, it, slices.Clone(add), slices.Clone(asks))
	})
	if done || err != nil {
		return done, err
	}
	if fresh && tried {
		if s.unreplaced == nil {
			s.unreplaced = make(map[int32]cluster.Memo)
		}
		s.unreplaced[f.Definition] = p.UntilChanged()
		if !searched && !s.startedByMemory { // so little is free in all, and no more before something is freed
			s.unreplaced[f.Definition] = p.UntilFreed()
		}
	}
	return false, nil
}

// replacedStarts is how many starts of a solve the policy lets make way for one unit.
func replacedStarts(p *cluster.Policy) int {
	if p.MaxReplacedStarts.Given() {
		return int(p.MaxReplacedStarts.Amount())
	}
	return defaultReplacedStarts
}

// startedSome says whether something has started in this solve.
func (s freeStarts) startedSome() bool {
	return len(s.world.Room.Commits) > 0
}

// replaceFor is startReplacing for one unit.
func (s freeStarts) replaceFor(k *cluster.Work, it queue.Item, add []int32, asks quota.Amounts) (bool, error) {
	b := s.preempting().preemptor(k, it, it.Form, add, asks)
	begin := func() bool {
		defer claimForItself(s.Solver, k)()
		return b.Start()
	}
	if err := s.promising().layAgain(); err != nil {
		return false, err
	}
	defer s.promises.serve(it.ID)()
	r := &replacing{freeStarts: s, work: it.ID, begin: begin, helpsOn: func(node int32) bool {
		for set, n := range add {
			if n > 0 && s.pool.Index.Admissible(b.Shapes[set], node) {
				return true
			}
		}
		return false
	}}
	e := s.pool.Searching()
	defer e.Answered(e.Ask()) // with what is carried out, which makes the same searches again
	if found, err := r.search(); !found || err != nil {
		return false, err
	}
	lifts, err := s.liftAll(r.chosen)
	if err != nil {
		return false, err
	}
	end, tried := claimForItself(s.Solver, k), s.tries()
	begun, err := s.begun(k, it, it.Form, b)
	tried()
	if end(); !begun || err != nil {
		return false, cmp.Or(err, errUnsound)
	}
	return true, s.settleLifted(lifts, r.largest)
}

// needOf is what nodes must give for a unit, by resource, until it is called again.
func (s freeStarts) needOf(d *cluster.Definition, add []int32) []int64 {
	s.need = append(s.need[:0], make([]int64, s.pool.Plain)...)
	for set, n := range add {
		if n > 0 {
			cluster.AddNeed(s.need, &d.Sets[set], int64(n))
		}
	}
	return s.need
}

// tries has all be tried only until what it returns is called: promises lie where they lie, and are laid again
// when all has its place.
func (s *Solver) tries() (end func()) {
	before, use := s.trial, s.promises.tree // what of the table is read meanwhile is not kept, as it may be out for the trial
	s.trial = true
	return func() { s.trial, s.promises.tree = before, use }
}

// isFreeInAll says whether so much is free on the nodes of the pool taken together:
// placing something anew frees nothing in all, unless it asks device memory, which
// is another part of another device, or claims what is leaving.
func (s freeStarts) isFreeInAll(need []int64) bool {
	if s.startedToClaim {
		return true
	}
	for r, n := range need {
		if n > 0 && (r > 0 || !s.startedByMemory) && placement.FreeOf(s.pool.Index, -1, int32(r)) < n {
			return false
		}
	}
	return true
}

// settleLifted gives lifted starts their new places.
func (s freeStarts) settleLifted(lifts []*lifted, largest bool) error {
	tried := s.tries()
	found, err := s.putDownAll(lifts, largest)
	if tried(); !found || err != nil {
		return cmp.Or(err, errUnsound)
	}
	for _, l := range lifts {
		waited := s.world.Works[l.work].Pipelined
		reenter(s.world, l.work)
		s.afterLift(l.work)
		if waited && !s.world.Works[l.work].Pipelined {
			s.requeue(l.work)
		}
	}
	s.replaced = true
	s.decision.Again = true // what is free lies elsewhere now
	return nil
}

// A replacing is the search for the starts that make way.
type replacing struct {
	freeStarts
	work int32 // for which it is
	// begin takes the places of what they make way for, in the journals; helpsOn says
	// whether it might stand on a node.
	begin   func() bool
	helpsOn func(node int32) bool
	// paid: starts for which somebody went make way too.
	paid  bool
	steps int
	// starts are those of this solve, the latest first; useful says of each whether
	// it stands where the unit could.
	starts []int32
	useful []bool
	// chosen are those that make way, placed anew the largest first or not.
	chosen  []int32
	largest bool
}

// search finds the first set of starts that can make way.
func (r *replacing) search() (bool, error) {
	r.listStarts()
	most := min(replacedStarts(&r.pool.Policy), len(r.starts))
	for size := 1; size <= most && r.mayTry(); size++ {
		if len(r.starts) <= fewStarts || size == 1 {
			if found, err := r.choose(r.starts, r.useful, size); found || err != nil {
				return found, err
			}
			continue
		}
		for _, here := range r.byNode() {
			if found, err := r.choose(here, nil, size); found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// listStarts lists the starts of this solve that may make way.
func (r *replacing) listStarts() {
	w := r.world
	for c := range slices.Backward(w.Room.Commits) {
		commit := int32(c)
		if len(r.starts) == mostReplacements || w.Room.Commits[c].Work == r.work || !r.isFree(commit) || w.Room.IsPaidFor(commit) && !r.paid {
			continue
		}
		useful := slices.ContainsFunc(w.Room.Seats[w.Room.Commits[c].Work], func(one cluster.Seat) bool {
			return one.Commit == commit && r.helpsOn(w.Position[one.Node])
		})
		r.starts, r.useful = append(r.starts, commit), append(r.useful, useful)
	}
}

// mayTry says whether the counted budgets let one more set be tried.
func (r *replacing) mayTry() bool {
	return r.steps < mostReplacements && r.replacements < allReplacements && !r.pool.Searching().Over(0)
}

// byNode lists the useful starts node by node, in the order of the first of each.
func (r *replacing) byNode() (lists [][]int32) {
	at := make(map[int32]int) // by node: its list
	for i, c := range r.starts {
		for _, one := range r.world.Room.Seats[r.world.Room.Commits[c].Work] {
			n := r.world.Position[one.Node]
			if one.Commit != c || !r.useful[i] || !r.helpsOn(n) {
				continue
			}
			list, known := at[n]
			if !known {
				list = len(lists)
				at[n] = list
				lists = append(lists, nil)
			}
			if l := lists[list]; len(l) < fewStarts && !slices.Contains(l, c) {
				lists[list] = append(l, c)
			}
		}
	}
	return lists
}

// choose tries the sets of so many of the starts, of which one at least is useful.
func (r *replacing) choose(starts []int32, useful []bool, size int) (bool, error) {
	return eachChoice(starts, size, func(chosen []int) (bool, error) {
		helps := useful == nil || slices.ContainsFunc(chosen, func(at int) bool { return useful[at] })
		if !helps || !r.mayTry() {
			return false, nil
		}
		set := make([]int32, size)
		for i, at := range chosen {
			set[i] = starts[at]
		}
		return r.try(set)
	})
}

// eachChoice has one after the other of the choices of so many of a list be tried, the first of the list first, until one
// is found that does: a choice is told as where in the list they are.
func eachChoice[T any](list []T, size int, try func(chosen []int) (bool, error)) (bool, error) {
	var grow func(from int, chosen []int) (bool, error)
	grow = func(from int, chosen []int) (bool, error) {
		if len(chosen) == size {
			return try(chosen)
		}
		for i := from; i < len(list); i++ {
			if found, err := grow(i+1, append(slices.Clip(chosen), i)); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
	return grow(0, nil)
}

// try says whether it can begin when these starts are placed anew, in one order or
// the other.
func (r *replacing) try(set []int32) (bool, error) {
	for _, largest := range []bool{false, true}[:min(2, len(set))] {
		if fits, err := r.tryIn(set, largest); fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}

func (r *replacing) tryIn(set []int32, largest bool) (bool, error) {
	s := r.freeStarts
	r.steps++
	s.replacements++
	if s.letsGo(set) {
		return false, nil
	}
	defer s.tries()()
	nodes, use := s.pool.Index.Mark(), s.pool.Tree.Mark()
	lifts, err := s.liftAll(set)
	fits := err == nil && r.begin()
	if fits {
		fits, err = s.putDownAll(lifts, largest)
	}
	s.unliftAll(lifts)
	s.pool.Index.Undo(nodes)
	s.pool.Tree.Undo(use)
	if fits {
		r.chosen, r.largest = slices.Clone(set), largest
	}
	return fits, err
}

// comeBack puts a unit that was taken back to its old place, by placing starts of
// this solve anew that stand there now; it reports whether that could be done.
func (s freeStarts) comeBack(o *cluster.OutUnit) (bool, error) {
	w, p := s.world, s.pool
	if s.replacements >= allReplacements || o.Tried.Stands(s.pool) {
		return false, nil
	}
	if may, err := s.mayComeBack(o); !may || err != nil {
		return false, err
	}
	r := &replacing{freeStarts: s, work: o.Unit.Work, paid: true}
	r.begin = func() bool {
		_, ok := p.Tree.Check(int(o.Unit.Leaf), o.Unit.Charge, o.Unit.NonPreemptible)
		return ok && s.reprieving().takeOld(o, o.Seats) && p.Tree.Charge(int(o.Unit.Leaf), o.Unit.Charge, o.Unit.NonPreemptible) == nil
	}
	r.helpsOn = func(node int32) bool {
		return slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return w.Position[one.Node] == node })
	}
	e := p.Searching()
	defer e.Answered(e.Ask()) // with what is carried out, which makes the same searches again
	if found, err := r.search(); !found || err != nil {
		return false, err
	}
	lifts, err := s.liftAll(r.chosen)
	if err != nil {
		return false, err
	}
	if back, err := s.reprieving().seatUnit(o, oldPlace); !back || err != nil {
		return false, cmp.Or(err, errUnsound)
	}
	return true, s.settleLifted(lifts, r.largest)
}

// mayComeBack says whether the unit could stay where it ran if nothing else stood
// there.
func (s freeStarts) mayComeBack(o *cluster.OutUnit) (bool, error) {
	if !s.isEnoughFree(o) || !basisStands(o, s.Solver) || s.reprieving().strays(o) ||
		slices.ContainsFunc(o.Seats, func(one cluster.Seat) bool { return one.Claimed || one.Pipelined }) {
		return false, nil
	}
	ends, err := s.reprieving().endsRights(o)
	return !ends && err == nil, err
}

// isEnoughFree is a bound: whether so much is free on all nodes together as a unit that was taken needs.
func (s freeStarts) isEnoughFree(o *cluster.OutUnit) bool {
	d := &s.pool.Definitions[s.world.FormOf(&s.world.Works[o.Unit.Work], o.Form).Definition]
	return s.isFreeInAll(s.needOf(d, s.reprieving().countsOf(o, d)))
}

// noteStarted takes note of the first start that claims, or asks device memory: placing such anew may free
// something, so that who found too little free in all may find enough.
func noteStarted(s *Solver, d *cluster.Definition) {
	toClaim := s.claims && !s.startedToClaim
	byMemory := !s.startedByMemory && slices.ContainsFunc(d.Sets, func(one cluster.Shape) bool { return one.Request.Memory > 0 })
	if toClaim || byMemory {
		s.startedToClaim, s.startedByMemory = s.startedToClaim || toClaim, s.startedByMemory || byMemory
		clear(s.unreplaced)
	}
}
