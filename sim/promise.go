package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
)

// PromiseEnd is what became of a promise.
type PromiseEnd uint8

const (
	// PromiseOpen: its job still waited when the run ended.
	PromiseOpen PromiseEnd = iota
	// PromiseStarted: its job has started, in time or late.
	PromiseStarted
	// PromiseWithdrawn: it was taken back, or its job ended before it started.
	PromiseWithdrawn
)

// A PromiseResult is a promise from when it was made (B4, B7): that a job starts at First at
// the latest. One that was taken back and made again is another.
type PromiseResult struct {
	// Job is the ID of its workload, GPUs what that asks, in milli.
	Job  string
	GPUs int64
	// Made is when it was made, First when it was to start, as it was then, and End when it
	// did, or when the promise was withdrawn, or the end of the run.
	Made, First, End time.Duration
	Became           PromiseEnd
}

// Late is by how much its job started later than it was promised, or, as it still waits,
// would do so at least; 0 is that the promise was kept, or withdrawn. Promises are told in microseconds (B1), and
// what of one has passed as its job starts is no delay.
func (p *PromiseResult) Late() time.Duration {
	if p.Became == PromiseWithdrawn {
		return 0
	}
	return max(p.End.Truncate(time.Microsecond)-p.First, 0)
}

// promises are those of a run in which some pool makes any. The library's are in the
// workloads of the state, as it is told to keep them (B7).
type promises struct {
	// made: some pool makes any.
	made bool
	// odd is by how much a wake may be before the end that it was foreseen for, as the
	// library counts in microseconds.
	odd time.Duration
	// standing are the jobs that have one.
	standing []*job
	list     []PromiseResult
}

// place is a device of a node.
type place struct {
	node   string
	device int
}

func (p *promises) open(e *engine) {
	p.made = e.ranking == nil && e.scheduler.Plan == nil && slices.ContainsFunc(e.library.state.Pools, func(pool allot.Pool) bool {
		return pool.Policy.Reserve.Backfill != queue.NoBackfill
	})
	if p.made && e.in.fine(&e.options) {
		p.odd = time.Microsecond - 1
	}
}

// keep writes what a plan promises into the state, as [allot.Begin] does, but for those of
// whom something was not carried out.
func (p *promises) keep(e *engine, plan *allot.Plan, missed map[string]bool) {
	if !p.made {
		return
	}
	before := slices.Clone(p.standing)
	for _, j := range before {
		if !missed[j.Workload.ID] {
			e.usage.promise(j, nil)
		}
	}
	p.standing = p.standing[:0]
	named := make(map[*job]bool, len(plan.Reservations))
	for i := range plan.Reservations {
		r := &plan.Reservations[i]
		if missed[r.Workload] {
			continue // it has what it had
		}
		j := e.byID[r.Workload]
		if j != nil && j.slot >= 0 && !r.NotBefore.IsZero() {
			e.workload(j).NotBefore = r.NotBefore
		}
		if j == nil || j.slot < 0 || j.phase == leaving || r.Change == allot.PromiseWithdrawn {
			if j != nil && j.slot >= 0 && r.Change == allot.PromiseWithdrawn {
				e.note(Event{Kind: PromiseEvent, Job: r.Workload, Promise: r})
			}
			continue
		}
		named[j] = true
		p.standing = append(p.standing, j)
		e.usage.promise(j, r.Held)
		p.write(e, j, r)
	}
	for _, j := range before {
		switch {
		case j.slot < 0 || named[j]:
		case missed[j.Workload.ID]:
			p.standing = append(p.standing, j)
		default:
			w := e.workload(j)
			w.Reserved, w.HeldSince = nil, time.Time{}
			e.library.touch(j)
			claims := slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
			if j.phase == waiting && len(w.Tasks) == 0 || j.phase == partial && !claims {
				p.withdraw(e, j)
			}
		}
	}
	e.meter.reserved = p.reserved(e)
	if at := plan.NextAt; !at.IsZero() && e.wanting > 0 { // else nobody could be decided otherwise
		if next := after(at.Sub(epoch), p.odd); next > e.now {
			e.wakeAt(next)
		}
	}
}

// write writes one into the state.
func (p *promises) write(e *engine, j *job, r *allot.PlannedReservation) {
	w := e.workload(j)
	gathered := w.Reserved != nil && w.Reserved.Rule == allot.ByGathering && !w.HeldSince.IsZero()
	if w.Reserved == nil || r.Change != allot.PromiseKept || !slices.Equal(w.Reserved.WaitsFor, r.Promise.WaitsFor) {
		promise := r.Promise
		w.Reserved = &promise
		e.library.touch(j)
	}
	switch {
	case r.Promise.Rule != allot.ByGathering:
		w.HeldSince = time.Time{}
	case !gathered:
		w.HeldSince = e.instant()
	}
	if j.vow == 0 && !r.Promise.At.IsZero() {
		at := r.Promise.At.Sub(epoch)
		p.list = append(p.list, PromiseResult{Job: j.Workload.ID, GPUs: j.asks, Made: e.now, First: at})
		j.vow = len(p.list)
	}
	if r.Change != allot.PromiseKept {
		e.note(Event{Kind: PromiseEvent, Job: r.Workload, Promise: r})
	}
}

// start takes note that a job runs.
func (p *promises) start(e *engine, j *job) { p.close(e, j, PromiseStarted) }

// withdraw takes note that a job is promised nothing any more.
func (p *promises) withdraw(e *engine, j *job) { p.close(e, j, PromiseWithdrawn) }

// leave takes note that a job has ended: also where nobody decides now, as nobody else waits,
// no place is kept for it.
func (p *promises) leave(e *engine, j *job) {
	p.withdraw(e, j)
	if i := slices.Index(p.standing, j); i >= 0 {
		p.standing = slices.Delete(p.standing, i, i+1)
		e.workload(j).Reserved = nil
		e.meter.reserved = p.reserved(e)
	}
}

func (p *promises) close(e *engine, j *job, became PromiseEnd) {
	if j.vow > 0 {
		one := &p.list[j.vow-1]
		one.End, one.Became, j.vow = e.now, became, 0
	}
}

// end takes in that the run is over.
func (p *promises) end(e *engine) {
	for i := range p.list {
		if one := &p.list[i]; one.Became == PromiseOpen {
			one.End = e.now
		}
	}
}

// rewind has the run end at an instant before: what was promised since is nobody's, and what became of
// others since is open.
func (p *promises) rewind(to time.Duration) {
	p.list = slices.DeleteFunc(p.list, func(one PromiseResult) bool { return one.Made > to })
	for i := range p.list {
		if one := &p.list[i]; one.End > to {
			one.Became = PromiseOpen
		}
	}
}

// reserved is what of the promised places nobody holds, in milli-GPU: of a device that
// several were promised, for different times, the most that one was.
func (p *promises) reserved(e *engine) (held int64) {
	promised := make(map[place]int64)
	for _, j := range p.standing {
		w := e.workload(j)
		for i := range w.Reserved.Tasks {
			t := &w.Reserved.Tasks[i]
			if len(t.Devices) == 0 {
				continue
			}
			each := j.size(w, t.PodSet) / int64(len(t.Devices))
			for _, d := range t.Devices {
				at := place{t.Node, d}
				promised[at] = max(promised[at], min(each, 1000))
			}
		}
	}
	if len(promised) == 0 {
		return 0
	}
	used := make(map[place]int64)
	for slot, i := range e.library.jobs {
		w := &e.library.state.Workloads[slot]
		for k := range w.Tasks {
			t := &w.Tasks[k]
			if t.Phase == allot.Claimed || len(t.Devices) == 0 {
				continue
			}
			each := e.jobs[i].size(w, t.PodSet) / int64(len(t.Devices))
			for _, d := range t.Devices {
				used[place{t.Node, d}] += each
			}
		}
	}
	for at, amount := range promised { // a sum: order cannot matter
		held += min(amount, max(1000-used[at], 0))
	}
	return held
}
