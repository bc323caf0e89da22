package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
)

// What is left of a gang of which some tasks were lost waits for others that complete it (G1), and may be promised their
// places as a workload that starts is promised its own (B4): beside what runs, in the domain that this and the
// constraints define (T6), and at a time at which all of that runs still.

// define sets what is promised: the unit that its workload starts, or that completes what is left of it. It says whether
// there is one.
func (s laying) define(p *promise) bool {
	w := s.world
	k := &w.Works[p.work]
	d := w.Definition(k, p.form)
	if p.unit, p.asks = d.Unit, d.Asks; w.Holds(k) {
		unit, verdict := NextUnit(d, w.CountsOf(k))
		asks, err := s.unitAsks(d, unit, false)
		if !verdict.OK || err != nil {
			return false
		}
		p.unit, p.asks, p.held = gang.Unit{Add: slices.Clone(unit.Add)}, slices.Clone(asks), slices.Clone(w.CountsOf(k))
	}
	p.indices = s.indicesOf(p)
	p.duration = d.Times.Lasts(p.tasks())
	return true
}

// tasks is how many tasks of its workload run together once a promise is in use.
func (p *promise) tasks() int32 {
	all := p.unit.Tasks()
	for _, n := range p.held {
		all += n
	}
	return all
}

// indicesOf are the indices of the tasks of a promise: of each set the first, or those that what is left of a gang lacks.
func (s laying) indicesOf(p *promise) (all []int32) {
	for set, n := range p.unit.Add {
		all = append(all, s.indicesIn(p, int32(set), n)...)
	}
	return all
}

// indicesIn are those of one set.
func (s laying) indicesIn(p *promise, set, n int32) []int32 {
	if p.held != nil {
		some := indicesFor(s.world, p.work, set, n)
		slices.Sort(some)
		return some
	}
	first := make([]int32, n)
	for i := range first {
		first[i] = int32(i)
	}
	return first
}

// siblings is what its workload holds while places are looked for that are promised to it.
func (s laying) siblings(p *promise, d *cluster.Definition) gang.Siblings {
	out := s.reprieving().beside(p.work, d, p.unit)
	for _, some := range out.Indices {
		slices.Sort(some)
	}
	return out
}

// lacks says whether none of the tasks of a promise, as the state names them, is one that its workload holds, or there
// are not so many.
func (s laying) lacks(p *promise) bool {
	d, next := s.world.Definition(&s.world.Works[p.work], p.form), int32(0)
	held := s.world.HeldBy(p.work)
	for task, set := range cluster.TasksOf(p.unit) {
		index := p.indices[task]
		if task > 0 && p.was.Tasks[task-1].Set == int32(set) && index < next || index < 0 || index >= d.Gang.Set(set).Count ||
			slices.ContainsFunc(held, func(one gang.Held) bool { return one.Set == int32(set) && one.Index == index }) {
			return false
		}
		next = index + 1
	}
	return true
}

// withdrawOthers withdraws the promises of units that do not complete what is left of a gang any more, as more of it has
// gone.
func (s laying) withdrawOthers() {
	for _, p := range slices.Clone(s.promises.list) {
		if p.held != nil && !slices.Equal(p.held, s.world.CountsOf(&s.world.Works[p.work])) {
			v := cluster.NewVerdict(cluster.PromiseChanged, p.form, s.index)
			s.withdraw(p, &v)
		}
	}
}

// completes says whether a promise is of a workload that starts, or completes with its places what is left of a gang
// while all of that runs still.
func (s laying) completes(p *promise) bool {
	if p.held == nil {
		return true
	}
	return p.at < s.goesBy(p) && obeys(s.Solver, p, s.world.Definition(&s.world.Works[p.work], p.form))
}

// goesBy is when the first of what is left of a gang is predicted to end, before which a promise completes it; Never is
// that nothing of it runs, or no end is known. Fixed work that is overdue is completed at no time: the guess of when it
// ends begins anew with each task that joins (B1), and comes to be later for all that waits for that.
func (s laying) goesBy(p *promise) int64 {
	first := int64(cluster.Never)
	if p.held == nil {
		return first
	}
	ends, times := endings{World: s.world}, &s.world.Definition(&s.world.Works[p.work], p.form).Times
	if times.Fixed {
		if joint := jointOf(s.world, p.work, times, false); joint.Done() <= s.world.Now {
			return s.world.Now
		}
	}
	for at := range s.world.Room.Seats[p.work] {
		first = min(first, ends.leavesAt(p.work, &s.world.Room.Seats[p.work][at]))
	}
	return first
}
