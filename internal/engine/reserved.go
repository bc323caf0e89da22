package engine

import (
	"encoding/binary"
	"slices"

	"github.com/allotsched/allot/placement"
)

// What people have reserved is closed to who is no member (B9): while it lasts, and before
// that to whoever would still be there when it begins. Who may not use what now is known
// when the state is compiled, and every place that is looked for heeds it.

// A Reserved is what people have set aside in a pool from one time, in microseconds, up to
// another; Never is for ever.
type Reserved struct {
	From, Until int64
	// Set is that of its nodes and devices in the pool's index, Source its index in the state.
	Set, Source int32
	// Evict: what is preemptible and no member goes when it begins; Drain: all else too. Lend:
	// what is preemptible stays, and starts, behind the members.
	Evict, Drain, Lend bool
}

// open is what the task asks of nodes of which nothing is reserved.
func (shape *Shape) open() placement.Request {
	r := shape.Request
	r.Closed = nil
	return r
}

// ClosedTo are the sets that somebody may not use from one time up to another who is a stranger
// to these reservations. What is lent is open to who borrows it.
func (p *Pool) ClosedTo(stranger []int32, nonPreemptible, borrows bool, from, until int64) (sets []int32) {
	for _, i := range stranger {
		r := &p.Reserved[i]
		waitedFor := from >= r.From || !r.Evict || nonPreemptible
		if from < r.Until && until > r.From && waitedFor && !(r.Lend && borrows && !nonPreemptible) {
			sets = append(sets, r.Set)
		}
	}
	return sets
}

// lasts says whether it has begun, of those that have not passed.
func (r *Reserved) lasts(now int64) bool { return r.From <= now }

// Most is after how long who starts in a pool has left for sure, by what it trusts (B5).
func (p *Pool) Most(t Times) int64 {
	if p.Policy.Reserve.TrustDurations {
		return t.Duration
	}
	return t.Limit
}

// evicts says whether who is no member goes when it begins.
func (r *Reserved) evicts(nonPreemptible bool) bool {
	if nonPreemptible {
		return r.Evict && r.Drain
	}
	return r.Evict && !r.Lend
}

// evictedAt is when a place is taken from its workload because somebody has reserved it, and by
// which reservation; Never is not.
func (p *Pool) evictedAt(w *World, k *Work, one *TaskPlace) (at, by int64) {
	at, by = Never, None
	if len(p.Reserved) == 0 || w.Outside(k, one.Node) {
		return at, by
	}
	f := w.FormOf(k, k.Current)
	for _, i := range w.Definition(k, k.Current).Stranger {
		if r := &p.Reserved[i]; r.evicts(f.NonPreemptible) && r.From < at && p.isIn(r.Set, w.Position[one.Node], one.Devices) {
			at, by = r.From, int64(i)
		}
	}
	return at, by
}

// isReserved says whether what a workload has at a place has to go by now, as people have reserved it.
func (w *World) isReserved(k *Work, one *TaskPlace) bool {
	begins, _ := w.Pools[w.FormOf(k, k.Current).Pool].evictedAt(w, k, one)
	return begins <= max(w.Now, 0)
}

// isIn says whether a node, or any of these devices of it, belongs to a set.
func (p *Pool) isIn(set, position int32, devices uint64) bool {
	n := &p.Placed[position]
	return slices.Contains(n.Sets, set) || slices.ContainsFunc(n.Parts, func(part placement.Part) bool {
		return part.Set == set && part.Devices&devices != 0
	})
}

// evacuate takes from all who are no members what has been reserved from now or before, where
// the reservation says so. They wait again, and may start elsewhere in this plan.
func (w reserving) evacuate(d *Decision) error {
	gone := false
	for s := range eachSolver(w.World) {
		if len(s.pool.Reserved) == 0 {
			continue
		}
		var works []int32
		for _, i := range s.pool.Works {
			if s.firstEvicted(i) >= 0 {
				works = append(works, i)
			}
		}
		if len(works) == 0 {
			continue
		}
		slices.SortFunc(works, w.dividing().compareIDs)
		w.booking().tell()
		s.enqueuing().lineUp(true)
		for _, i := range works {
			if err := s.takeReserved(i); err != nil {
				return err
			}
		}
		gone = true
	}
	if !gone {
		return nil
	}
	d.changed = true
	return w.redivide(d)
}

// firstEvicted is the lowest step of a workload of which something stands where it may not
// stay; negative is none.
func (s *Solver) firstEvicted(i int32) int32 {
	w := s.world
	k := &w.Works[i]
	first := int32(-1)
	if k.Live < 0 || w.FormOf(k, k.Current).Pool != s.index || w.strayed(k) {
		return first
	}
	for at := range w.Room.Seats[i] {
		one := &w.Room.Seats[i][at]
		if one.origin >= 0 && w.isReserved(k, &one.TaskPlace) && (first < 0 || one.step < first) {
			first = one.step
		}
	}
	return first
}

// goesAlone tells by 1 which seats of a workload go, as people have reserved their places, while the others
// stay, as those of them that run are a minimum (M6); where nothing goes, or all does with it, it tells 0 of each.
func (w booking) goesAlone(k *Work, d *Definition, seats []Seat) func(*Seat) int32 {
	p := w.Pools[w.FormOf(k, k.Current).Pool]
	none := func(*Seat) int32 { return 0 }
	if len(p.Reserved) == 0 || !d.Elastic {
		return none
	}
	goes := func(one *Seat) int32 {
		if one.origin >= 0 && w.isReserved(k, &one.TaskPlace) {
			return 1
		}
		return 0
	}
	rest := make([]int32, len(d.Sets))
	for at := range seats {
		if goes(&seats[at]) == 0 && runsNext(w.World, &seats[at]) {
			rest[seats[at].Set]++
		}
	}
	if !d.Gang.AtMinimum(rest) {
		return none
	}
	return goes
}

// takeReserved takes of a workload what stands where it may not stay, and what builds on it.
func (s *Solver) takeReserved(i int32) error {
	first := s.firstEvicted(i)
	for _, id := range slices.Collect(s.pool.Room.Of(i)) {
		if s.pool.Room.Unit(id).Step < first {
			continue
		}
		if err := s.takeAlone(id, ReservationBegan); err != nil {
			return err
		}
	}
	w := s.world
	k := &w.Works[i]
	w.Room.redivide = w.Room.redivide || w.FormOf(k, k.Current).NonPreemptible
	return nil
}

// reservedFrom is by which reservation a workload has lost what it held.
func (w reserving) reservedFrom(i int32) int32 {
	k := &w.Works[i]
	l := &w.live[k.Live]
	first, at := int32(None), int64(Never)
	for h := l.from; h < l.to; h++ {
		one := &w.Holdings[h]
		f := w.FormOf(k, one.Form)
		p := w.Pools[f.Pool]
		if one.Phase != Running || w.NodePool[one.Node] != f.Pool {
			continue
		}
		for _, r := range w.Definition(k, one.Form).Stranger {
			by := &p.Reserved[r]
			if by.evicts(f.NonPreemptible) && by.From < at && p.isIn(by.Set, w.Position[one.Node], one.Devices) {
				first, at = by.Source, by.From
			}
		}
	}
	return first
}

// openAt is the definition of a form as it may be used from a time on.
func (s promising) openAt(i int32, form int16, at int64) *Definition {
	return s.open(i, form, at, later(at, s.pool.Most(s.world.Definition(&s.world.Works[i], form).Times)))
}

// open is the definition of a form as it may be used from one time to another: by who
// has a right to it and does not only borrow: what is closed to it then.
func (s promising) open(i int32, form int16, from, until int64) *Definition {
	w := s.world
	k := &w.Works[i]
	d, f := w.Definition(k, form), w.FormOf(k, form)
	if len(d.Stranger) == 0 {
		return d
	}
	closed := s.pool.ClosedTo(d.Stranger, f.NonPreemptible, false, from, until)
	key := binary.AppendVarint(nil, int64(f.Definition))
	for _, set := range closed {
		key = binary.AppendVarint(key, int64(set))
	}
	if known := s.promises.open[string(key)]; known != nil {
		return known
	}
	again := *d
	again.Sets = slices.Clone(d.Sets)
	for set := range again.Sets {
		one := &again.Sets[set]
		one.Request.Closed = closed
		one.Placed = s.pool.Index.Shape(one.Request)
	}
	again.Gang = d.Gang.Reshaped(func(set int) placement.Shape { return again.Sets[set].Placed })
	if s.promises.open == nil {
		s.promises.open = make(map[string]*Definition)
	}
	s.promises.open[string(key)] = &again
	return &again
}
