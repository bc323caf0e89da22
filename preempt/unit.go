package preempt

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// An EvictionRank says how well a unit stands (R8): the unit that stands worse is
// evicted first.
type EvictionRank struct {
	NonPreemptible bool
	// Priority: the higher stands better.
	Priority int32
	// Step is 0 for a workload's minimum and counts the units above it.
	Step int32
	// Admitted is when the unit was given its place, Submitted when its
	// workload was, in any unit of time; the earlier stands better.
	Admitted, Submitted int64
	// Rank stands before Work where the caller numbers workloads otherwise than in
	// the order of their IDs; elsewhere it is 0 for all.
	Rank int64
	// Work is the workload's number, in the order of the IDs where Rank is the same.
	Work int32
}

// Compare is negative where a stands better than b, positive where it stands
// worse, and 0 only for the same unit.
func (a EvictionRank) Compare(b EvictionRank) int { return a.compare(&b) }

// compare is Compare; most are told apart by what is asked first.
func (a *EvictionRank) compare(b *EvictionRank) int {
	switch {
	case a.NonPreemptible != b.NonPreemptible:
		return compareBools(b.NonPreemptible, a.NonPreemptible)
	case a.Priority != b.Priority:
		return cmp.Compare(b.Priority, a.Priority)
	case (a.Step > 0) != (b.Step > 0):
		return compareBools(a.Step > 0, b.Step > 0)
	case a.Admitted != b.Admitted:
		return cmp.Compare(a.Admitted, b.Admitted)
	case a.Submitted != b.Submitted:
		return cmp.Compare(a.Submitted, b.Submitted)
	case a.Rank != b.Rank:
		return cmp.Compare(a.Rank, b.Rank)
	case a.Work != b.Work:
		return cmp.Compare(a.Work, b.Work)
	}
	return cmp.Compare(a.Step, b.Step)
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// A Task is one task of a unit and its place.
type Task struct {
	Shape placement.Shape
	Place placement.Place
	// Charge is what it is charged, a part of what its unit is.
	Charge quota.Amounts
	// Milli are the GPUs whose work since Since is lost if the task is evicted, 0 if
	// none is.
	Milli, Since int64
}

// A Unit is what goes, or stays, as one: a workload's minimum or one step above
// it, running or claimed.
type Unit struct {
	EvictionRank
	// Leaf is the queue that it is charged to.
	Leaf int32
	// Running are the tasks that do run, which disruption budgets count.
	Running int32
	// Starting are the tasks that the caller starts, and that wait for nobody: what runs
	// of their owner may go once they run, and they cost nothing themselves (M7).
	Starting int32
	// Rooted: something of its workload is leaving, so that it cannot move.
	Rooted bool
	// Started: it has got its places since the caller began, so that others cost
	// nothing (M10).
	Started bool
	// Charge is what it is charged.
	Charge quota.Amounts
	Tasks  []Task
	// GPUs are what moving it moves, in milli.
	GPUs int64
	// PreemptFrom and ReclaimFrom are when its minimum runtimes are over (M1).
	PreemptFrom, ReclaimFrom int64
	// Like: units of one task with the same number find places on the same nodes, whosever they are, as long as where one
	// is placed depends on nodes alone; 0 is like no other.
	Like int32
	// Owner is whose disruption budget counts its tasks, −1 nobody's (M7).
	Owner int32
}

// Same says whether two descriptions of a unit say the same of it.
func (u *Unit) Same(other *Unit) bool {
	return u.EvictionRank == other.EvictionRank && u.Leaf == other.Leaf && u.Owner == other.Owner && u.Like == other.Like &&
		u.Running == other.Running && u.Starting == other.Starting && u.Rooted == other.Rooted && u.Started == other.Started &&
		u.GPUs == other.GPUs && u.PreemptFrom == other.PreemptFrom && u.ReclaimFrom == other.ReclaimFrom &&
		slices.Equal(u.Charge, other.Charge) &&
		slices.EqualFunc(u.Tasks, other.Tasks, func(a, b Task) bool {
			return a.Shape == b.Shape && a.Place == b.Place && a.Milli == b.Milli && a.Since == b.Since && slices.Equal(a.Charge, b.Charge)
		})
}

// movedGPUs is what moving all of the unit beside victims costs (M10).
func (u *Unit) movedGPUs() int64 {
	if u.Started {
		return 0
	}
	return u.GPUs
}

// Work is an amount of work, milli-GPUs × time, in 128 bits: it cannot
// overflow for what a node holds. The zero Work is none.
type Work struct{ hi, lo uint64 }

// WorkOf returns milli-GPUs × time; negative factors count as 0.
func WorkOf(milli, time int64) Work {
	hi, lo := bits.Mul64(uint64(max(milli, 0)), uint64(max(time, 0)))
	return Work{hi, lo}
}

// Plus returns the sum.
func (w Work) Plus(v Work) Work {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, over := bits.Add64(w.hi, v.hi, carry)
	if over > 0 { // more than 2^128: the largest is as good
		return Work{^uint64(0), ^uint64(0)}
	}
	return Work{hi, lo}
}

// lost is the work that is lost if the unit is evicted now.
func (u *Unit) lost(now int64) Work {
	var sum Work
	for i := range u.Tasks {
		if t := &u.Tasks[i]; t.Milli > 0 {
			sum = sum.Plus(WorkOf(t.Milli, now-t.Since))
		}
	}
	return sum
}

// SetNow has the time be another, by which minimum runtimes and lost work are
// judged, and says whether some minimum runtime has ended, or begun. It takes time in
// the units with one.
func (r *Evaluator) SetNow(now int64) (changed bool) {
	if now == r.Now {
		return false
	}
	r.Now = now
	r.law++ // the prices of nodes are others
	kept := r.timed[:0]
	for _, id := range r.timed {
		if int(id) >= len(r.units) || !r.state[id].alive {
			continue
		}
		kept = append(kept, id)
		was := r.state[id].bars
		if r.state[id].bars = r.barsOf(r.units[id]); r.state[id].bars == was {
			continue
		}
		changed, r.stretched[r.state[id].leaf] = true, false
		for i := range r.units[id].Tasks { // what may move there is another
			r.Touch(r.units[id].Tasks[i].Place.Node)
		}
	}
	r.timed = kept
	return changed
}

func (w Work) compare(v Work) int {
	if w.hi != v.hi {
		return cmp.Compare(w.hi, v.hi)
	}
	return cmp.Compare(w.lo, v.lo)
}

// A UnitID names a unit of an Evaluator.
type UnitID int32

// Reserve makes memory ready for about n units.
func (r *Evaluator) Reserve(n int) {
	r.units, r.state = slices.Grow(r.units, n), slices.Grow(r.state, n)
	r.slab = make([]Unit, n)
}

// Add takes note of a unit that runs or is claimed. Tree and index have it
// already. The unit stays where it is in memory.
func (r *Evaluator) Add(unit Unit) UnitID {
	id := UnitID(len(r.units))
	if len(r.slab) == 0 {
		r.slab = make([]Unit, 16+min(len(r.units), 240))
	}
	u := &r.slab[0]
	*u, r.slab = unit, r.slab[1:]
	if len(r.units) == cap(r.units) {
		r.units = slices.Grow(r.units, 1+len(r.units)/2)
	}
	if len(r.state) == cap(r.state) {
		r.state = slices.Grow(r.state, 1+len(r.state)/2)
	}
	r.units = append(r.units, u)
	r.state = append(r.state, r.stateOf(u))
	if r.whole[u.Leaf] {
		r.state[id].protection = byQuota // until its leaf is walked again
	}
	if max(u.PreemptFrom, u.ReclaimFrom) > math.MinInt64 {
		r.timed = append(r.timed, id)
	}
	r.priorities.count(u.Priority, 1)
	r.insert(id)
	r.standOnNodes(id)
	for len(r.byWork) <= int(u.Work) {
		r.byWork = append(r.byWork, slices.Repeat([]UnitID{-1}, max(64, len(r.byWork)))...)
	}
	if r.byWork[u.Work] >= 0 {
		r.shared++
	}
	r.state[id].next = r.byWork[u.Work]
	r.byWork[u.Work] = id
	r.loosen(u.Work)
	r.walked[u.Leaf] = false
	if len(r.caches) > 0 {
		r.loosened(u.Leaf)
	}
	budget(r, u, 1)
	if u.Owner >= 0 && u.Starting > 0 { // it licenses what was bound
		r.law++
	}
	r.record(unitStep{id: id})
	return id
}

// stateOf is what is kept of a new unit beside it.
func (r *Evaluator) stateOf(u *Unit) unitState {
	out := unitState{leaf: u.Leaf, priority: u.Priority, work: u.Work, node: -1, alive: true, started: u.Started}
	if len(u.Tasks) == 1 {
		t := &u.Tasks[0]
		out.node, out.shape, out.devices, out.pipelined = t.Place.Node, t.Shape, t.Place.Devices, t.Place.Pipelined
	}
	out.costless = u.GPUs == 0 && !slices.ContainsFunc(u.Tasks, func(t Task) bool { return t.Milli > 0 })
	if len(u.Charge) > 0 {
		out.charge = r.chargeOf(u.Charge)
	}
	for _, a := range u.Charge {
		if a.Value > 0 && a.Resource < 64 {
			out.holds |= 1 << a.Resource
		}
	}
	out.bars = r.barsOf(u)
	return out
}

// barsOf is what stands against taking a unit now.
func (r *Evaluator) barsOf(u *Unit) (out bars) {
	stands := func(bar bars, is bool) {
		if is {
			out |= bar
		}
	}
	stands(nonPreemptible, u.NonPreemptible)
	stands(rooted, u.Rooted)
	stands(preemptedEarly, u.PreemptFrom > r.Now)
	stands(reclaimedEarly, u.ReclaimFrom > r.Now)
	stands(budgeted, u.Owner >= 0 && u.Running+u.Starting > 0)
	stands(wide, len(u.Tasks) > 1)
	return out
}

// Take gives up a unit for good: its places are free and its charge is gone.
func (r *Evaluator) Take(id UnitID) error {
	if err := r.vacate(id); err != nil {
		return err
	}
	r.Forget(id)
	return nil
}

// Forget drops a unit whose places and charge are gone already, or that is
// entered anew.
func (r *Evaluator) Forget(id UnitID) {
	u := r.units[id]
	before := r.unlist(id)
	// A unit that no walk admitted leaves the walks of the others as they were.
	if r.state[id].protection != none || r.state[id].byClass || r.state[id].inClass {
		r.walked[u.Leaf] = false
	}
	// It may have made the side of somebody less full, or kept others of its leaf from
	// a reclaim.
	if r.parent(u.Leaf) >= 0 || r.Straddle == Spare || r.state[id].bars&reclaimedEarly != 0 {
		r.law++
	}
	r.record(unitStep{id: id, before: before, dropped: true})
}

// unlist takes a unit out of all lists, and returns the unit of its workload before
// it, −1 if it was the first.
func (r *Evaluator) unlist(id UnitID) (before UnitID) {
	u := r.units[id]
	r.state[id].alive, r.state[id].single = false, false
	r.priorities.count(u.Priority, -1)
	at := r.indexIn(u.Leaf, id)
	r.byLeaf[u.Leaf] = slices.Delete(r.byLeaf[u.Leaf], at, at+1)
	r.stretched[u.Leaf] = false
	if u.Step > 0 {
		r.stepsIn[u.Leaf]--
	}
	for i := range u.Tasks {
		node := u.Tasks[i].Place.Node
		if at := r.indexOn(node, id); at >= 0 {
			r.byNode[node] = slices.Delete(r.byNode[node], at, at+1)
			r.touch(node, left)
		}
	}
	before = -1
	for link := &r.byWork[u.Work]; *link >= 0; link = &r.state[*link].next {
		if *link == id {
			*link = r.state[id].next
			break
		}
		before = *link
	}
	r.loosen(u.Work)
	budget(r, u, -1)
	return before
}

// loosened takes note that a leaf uses more: others may take of it, or of a
// queue above it, what they could not before.
func (r *Evaluator) loosened(leaf int32) {
	for q := leaf; q >= 0; q = r.parent(q) {
		for res := range r.Divided {
			if guards(r, int32(res)) && r.use(q, int32(res)) > min(r.quota(q, int32(res)), r.lineOf(q, int32(res), false)) {
				r.law++
				return
			}
		}
	}
}

// Unit returns a unit, also when it was forgotten; it must not be modified.
func (r *Evaluator) Unit(id UnitID) *Unit { return r.units[id] }

// Taken says whether the search at hand has taken a unit.
func (r *Evaluator) Taken(id UnitID) bool { return r.state[id].taken }

// AllTaken yields the units that the search at hand has taken.
func AllTaken(r *Evaluator) iter.Seq[UnitID] {
	return func(yield func(UnitID) bool) {
		for _, id := range r.scratch.taking.list.ids { // of an earlier search none is taken any more
			if int(id) < len(r.state) && r.Taken(id) && !yield(id) {
				return
			}
		}
	}
}

// Moving says whether a unit is one of those that find other places in the trial at hand.
func Moving(r *Evaluator, id UnitID) bool { return r.state[id].moving }

// Of yields the units of a workload that run or are claimed, the last entered first; the one at hand may be
// forgotten.
func (r *Evaluator) Of(work int32) iter.Seq[UnitID] {
	return func(yield func(UnitID) bool) {
		if int(work) >= len(r.byWork) {
			return
		}
		for id := r.byWork[work]; id >= 0; {
			next := r.state[id].next
			if !yield(id) {
				return
			}
			id = next
		}
	}
}

// vacate frees the places and the charge of a unit.
func (r *Evaluator) vacate(id UnitID) error {
	u := r.units[id]
	for i := range u.Tasks {
		if err := r.Index.Give(u.Tasks[i].Shape, u.Tasks[i].Place); err != nil {
			return err
		}
	}
	return r.Tree.Release(int(u.Leaf), u.Charge, u.NonPreemptible)
}

// SortToReprieve sorts evicted units in the order in which they find places again
// (M4): the best standing first, but of one workload the lower step before the
// higher, whenever it was admitted.
func SortToReprieve[T any](units []T, standing func(T) EvictionRank) {
	if len(units) < 2 {
		return
	}
	var order standingOrder
	ids, steps := make([]UnitID, len(units)), false
	for i, u := range units {
		rank := standing(u)
		order.add(&rank, UnitID(i))
		steps = steps || rank.Step > 0
	}
	order.sort(ids, func(a, b UnitID) int { return standing(units[a]).Compare(standing(units[b])) })
	before := slices.Clone(units)
	for i, id := range ids {
		units[i] = before[id]
	}
	if !steps { // of no workload there are two
		return
	}
	turns := make(map[int32][]int) // by workload: where its units stand
	var works []int32
	for at, u := range units {
		work := standing(u).Work
		if len(turns[work]) == 0 {
			works = append(works, work)
		}
		turns[work] = append(turns[work], at)
	}
	for _, work := range works {
		own := make([]T, 0, len(turns[work]))
		for _, at := range turns[work] {
			own = append(own, units[at])
		}
		slices.SortFunc(own, func(a, b T) int { return cmp.Compare(standing(a).Step, standing(b).Step) })
		for i, at := range turns[work] {
			units[at] = own[i]
		}
	}
}
