package cluster

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

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

// ClosedTo adds the sets that a workload may not use from one time up to another if it is no member
// of these reservations. What is lent is open to work that borrows it.
func (p *Pool) ClosedTo(sets, stranger []int32, nonPreemptible, borrows bool, from, until int64) []int32 {
	for _, i := range stranger {
		r := &p.Reserved[i]
		waitedFor := from >= r.From || !r.Evict || nonPreemptible
		if from < r.Until && until > r.From && waitedFor && !(r.Lend && borrows && !nonPreemptible) {
			sets = append(sets, r.Set)
		}
	}
	return sets
}

// PlacedUntil is the shape in the index of a task of a workload which is ended by then, as it was cut to fit a hole
// (B1); 0 is never. To such a task it is open what people have reserved from then on (B9).
func (w *World) PlacedUntil(k *Work, set int32, until int64) placement.Shape {
	f, shape := w.FormOf(k, k.Current), &w.Definition(k, k.Current).Sets[set]
	if until == 0 || len(shape.Request.Closed) == 0 {
		return shape.Placed
	}
	p, r := w.Pools[f.Pool], shape.open()
	r.Closed = p.ClosedTo(nil, w.Definition(k, k.Current).Stranger, f.NonPreemptible, true, max(w.Now, 0), until)
	return p.Index.Shape(r)
}

// Lasts says whether it has begun, of those that have not passed.
func (r *Reserved) Lasts(now int64) bool { return r.From <= now }

// Most is after how long so many tasks that start in a pool have left for sure, by what it trusts (B5).
func (p *Pool) Most(t *Times, tasks int32) int64 {
	if p.Policy.Reserve.TrustDurations {
		return t.Lasts(tasks)
	}
	return t.Limit
}

// evicts says whether work that is no member goes when it begins.
func (r *Reserved) evicts(nonPreemptible bool) bool {
	if nonPreemptible {
		return r.Evict && r.Drain
	}
	return r.Evict && !r.Lend
}

// EvictedAt is when a place is taken from its workload because people have reserved it, and by
// which reservation; Never is not.
func (p *Pool) EvictedAt(w *World, k *Work, one *TaskPlace) (at, by int64) {
	at, by = Never, None
	if len(p.Reserved) == 0 || w.Outside(k, one.Node) {
		return at, by
	}
	f := w.FormOf(k, k.Current)
	for _, i := range w.Definition(k, k.Current).Stranger {
		if r := &p.Reserved[i]; r.evicts(f.NonPreemptible) && r.From < at && p.IsIn(r.Set, w.Position[one.Node], one.Devices) {
			at, by = r.From, int64(i)
		}
	}
	return at, by
}

// IsReserved says whether what a workload has at a place has to go by now, as people have reserved it.
func (w *World) IsReserved(k *Work, one *TaskPlace) bool {
	begins, _ := w.Pools[w.FormOf(k, k.Current).Pool].EvictedAt(w, k, one)
	return begins <= max(w.Now, 0)
}

// IsIn says whether a node, or any of these devices of it, belongs to a set.
func (p *Pool) IsIn(set, position int32, devices uint64) bool {
	n := &p.Placed[position]
	return slices.Contains(n.Sets, set) || slices.ContainsFunc(n.Parts, func(part placement.Part) bool {
		return part.Set == set && part.Devices&devices != 0
	})
}

// goesAlone tells by 1 which seats of a workload go, or have gone in this solve to wherever they are now, as people have
// reserved the places that they had, while the others stay, as those of them that run are a minimum (M6); where nothing
// goes, or all does with it, it tells 0 of each.
func (w Booking) goesAlone(k *Work, d *Definition, seats []Seat) func(*Seat) int32 {
	p := w.Pools[w.FormOf(k, k.Current).Pool]
	none := func(*Seat) int32 { return 0 }
	if len(p.Reserved) == 0 || !d.Elastic {
		return none
	}
	goes := func(one *Seat) int32 {
		if one.Origin >= 0 && w.IsReserved(k, &w.Holdings[one.Origin].TaskPlace) {
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

// ReservedFrom is by which reservation a workload has lost what it held.
func (w Reserving) ReservedFrom(i int32) int32 {
	k := &w.Works[i]
	l := &w.Live[k.Live]
	first, at := int32(None), int64(Never)
	for h := l.From; h < l.To; h++ {
		one := &w.Holdings[h]
		f := w.FormOf(k, one.Form)
		p := w.Pools[f.Pool]
		if one.Phase != Running || w.NodePool[one.Node] != f.Pool {
			continue
		}
		for _, r := range w.Definition(k, one.Form).Stranger {
			by := &p.Reserved[r]
			if by.evicts(f.NonPreemptible) && by.From < at && p.IsIn(by.Set, w.Position[one.Node], one.Devices) {
				first, at = by.Source, by.From
			}
		}
	}
	return first
}

// Reserving has what people have reserved be left to its members.
type Reserving struct{ *World }
