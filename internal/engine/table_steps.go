package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// The transitions of the table. Each changes the rows of one workload, the counts of
// what it holds, and nothing else: who calls it has charged or released its queue and
// taken or freed its places, and has the evaluators told by reenter. After each of them
// what a workload holds per pod set is what its rows add up to.

// settled gives what runs or is claimed once all is settled its rows, where it stands.
// Nothing of that is of the solve: no row has a commit.
func (w booking) settled() {
	b := newTable(len(w.Works))
	w.Room = b
	all, lost := make([]Seat, 0, len(w.Holdings)), false
	for i := range w.live {
		l := &w.live[i]
		if lost = lost || l.to == 0; l.to == 0 {
			continue
		}
		work, first := w.Holdings[l.from].Work, len(all)
		w.Works[work].settleStatus(w.World)
		if all = appendSeats(w.World, all, l.from, l.to); len(all) > first {
			b.Seats[work] = all[first:len(all):len(all)]
		}
	}
	for i := 0; lost && i < len(w.Works); i++ { // of some nothing is left
		w.Works[i].settleStatus(w.World)
	}
}

// appendSeats appends the seats of what runs or is claimed among some holdings.
func appendSeats(w *World, seats []Seat, from, to int32) []Seat {
	for at := from; at < to; at++ {
		h := &w.Holdings[at]
		if h.Phase == Terminating {
			continue
		}
		seats = append(seats, Seat{
			TaskPlace: h.TaskPlace, origin: at, commit: -1, Admitted: h.Since,
			claimed: h.Phase == Claimed, pipelined: h.Phase == Claimed, behind: h.Behind,
		})
	}
	return seats
}

// start gives the tasks of a unit their rows, by a commit of their own: at once, or by
// a claim (S4). Each has an index that no other row of its pod set has.
// It is cut to end by a time, unless that is 0, and stands behind somebody, unless that is 0.
func (w booking) start(i int32, kind Kind, unit gang.Unit, places []placement.Place, until int64, behind int32) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	p := w.Pools[w.FormOf(k, k.Current).Pool]
	b.commits = appendMany(b.commits, commit{work: i, form: k.Current, kind: kind})
	last := int32(len(b.commits) - 1)
	first := len(b.Seats[i])
	own := b.room(b.Seats[i], len(places))
	next := 0
	for set, n := range unit.Add {
		for range n {
			place := places[next]
			next++
			one := Seat{
				TaskPlace: TaskPlace{Set: int32(set), Node: p.Nodes[place.Node], Devices: place.Devices},
				origin:    -1, commit: last, Admitted: w.Now, pipelined: place.Pipelined, until: until, behind: behind,
			}
			if at := w.stoodAt(i, int32(set), place, Running); at != None { // there it stands as it did
				one.behind = w.Holdings[at].Behind
			} else if at := w.stoodAt(i, int32(set), place, Claimed); at != None && behind == 0 { // it is the same claim
				one.behind = w.Holdings[at].Behind
			}
			w.continues(i, own, &one)
			own = append(own, one)
			if k.Live >= 0 {
				w.live[k.Live].held[set]++
			}
			k.pipelined = k.pipelined || one.waits()
		}
	}
	b.Seats[i] = own
	noteAtOnce(w.World, i, own[first:])
}

// room are the seats with room for n more: all of the starts of a solve are cut from few
// arrays.
func (b *Table) room(seats []Seat, n int) []Seat {
	if len(seats) > 0 {
		return slices.Grow(seats, n)
	}
	const many = 1024
	if len(b.seats) < n {
		b.seats = make([]Seat, max(n, many))
	}
	out := b.seats[:0:n]
	b.seats = b.seats[n:]
	return out
}

// continues gives the row its index, and lets it continue a task of the
// workload that ran in the state and has no row now: then it was admitted when
// that was (R8), and stays where it was if the place is the same.
func (w booking) continues(i int32, seats []Seat, one *Seat) {
	k := &w.Works[i]
	if w.Room.last[i] == 0 || k.Live < 0 { // it has lost nothing in this solve
		one.Index = w.nextIndex(k, seats, one.Set)
		return
	}
	used := make(map[int32]bool)
	for _, s := range seats {
		if s.Set == one.Set {
			used[s.Index] = true
		}
	}
	l := &w.live[k.Live]
	from, to := l.from, l.to
	if l.form != k.Current { // what it has claimed in another form it has lost
		to = from
	}
	for at := from; at < to; at++ {
		h := &w.Holdings[at]
		if h.Set != one.Set || used[h.Index] {
			continue
		}
		if h.Phase == Running && (!h.fresh || h.where() == one.where()) && (one.origin < 0 || h.Index < one.Index) {
			one.origin, one.Index, one.Admitted = at, h.Index, h.Since
		}
	}
	if one.origin >= 0 {
		if old := &w.Holdings[one.origin]; old.Node == one.Node && old.Devices == one.Devices {
			one.commit = -1
		}
		return
	}
	for used[one.Index] {
		one.Index++
	}
}

// stoodAt is the holding by which a task of a pod set was at a place in the state in a phase, of a workload
// that has lost something in this solve and is in the form in which it was; none if there is none.
func (w booking) stoodAt(i, set int32, place placement.Place, phase Phase) int32 {
	k := &w.Works[i]
	if w.Room.last[i] == 0 || k.Live < 0 || w.live[k.Live].form != k.Current {
		return None
	}
	l := &w.live[k.Live]
	for at := l.from; at < l.to; at++ {
		if h := &w.Holdings[at]; h.Phase == phase && h.Set == set && w.Position[h.Node] == place.Node && h.Devices == place.Devices {
			return at
		}
	}
	return None
}

// nextIndex is the lowest index of a pod set that none of the rows has. Where they are
// numbered without a gap, which is read once, it is how many there are.
func (w booking) nextIndex(k *Work, seats []Seat, set int32) int32 {
	if k.Live < 0 { // it starts as a whole, and its tasks are numbered in their order
		n := int32(len(seats))
		for n > 0 && seats[n-1].Set != set {
			n--
		}
		if n == 0 {
			return 0
		}
		return seats[n-1].Index + 1
	}
	l := &w.live[k.Live]
	if l.dense == nil {
		l.dense = w.settling().newCounts(len(l.held))
		for at := range seats {
			l.dense[seats[at].Set]++
		}
		for at := range seats {
			if s := &seats[at]; s.Index >= l.dense[s.Set] {
				l.dense[s.Set] = None // and never less than one
			}
		}
	}
	if n := l.dense[set]; n >= 0 {
		l.dense[set]++
		return n
	}
	used := make([]bool, len(seats)+1)
	for at := range seats {
		if s := &seats[at]; s.Set == set && int(s.Index) < len(used) {
			used[s.Index] = true
		}
	}
	return int32(slices.Index(used, false))
}

// release takes the rows of a unit out of the table, and returns them. What the workload
// holds is less by them.
func (w booking) release(i, step int32) (own []Seat) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	own, b.Seats[i] = partSeats(b.Seats[i], step)
	if k.Live < 0 {
		return own
	}
	l := &w.live[k.Live]
	l.dense = nil
	for _, seat := range own {
		l.held[seat.Set]--
		if seat.claimed {
			l.claimed--
		}
	}
	return own
}

// reprieve brings rows back that were released: where they were, or at other places,
// which elsewhere has noted in them.
func (w booking) reprieve(i int32, seats []Seat) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	b.Seats[i] = append(b.Seats[i], seats...)
	if k.Live < 0 {
		return
	}
	l := &w.live[k.Live]
	l.dense = nil
	if n := len(w.Definition(k, k.Current).Sets); len(l.held) != n { // it held something in another form since
		l.held = w.settling().newCounts(n)
	}
	for _, seat := range seats {
		l.held[seat.Set]++
		if seat.claimed {
			l.claimed++
		}
	}
}

// begin has rows of a workload that claim their places start there, as these are free: what was
// claimed in the state by a commit of its own.
func (w booking) begin(i int32, rows []bool) {
	w.journal.keep(w.World, i)
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	by := int32(None)
	for at := range b.Seats[i] {
		s := &b.Seats[i][at]
		if !rows[at] {
			continue
		}
		if s.pipelined = false; !s.claimed {
			continue
		}
		if by < 0 {
			by = int32(len(b.commits))
			b.commits = appendMany(b.commits, commit{work: i, form: k.Current, kind: Start})
		}
		s.claimed, s.commit = false, by
		w.live[k.Live].claimed--
	}
	if by >= 0 && w.live[k.Live].claimed == 0 {
		k.Status = complete
	}
}

// withdraw takes the rows of a start of this solve out of the table, which has cost
// nothing yet (M9), and returns them and what the workload has beside them.
func (w booking) withdraw(start int32) (own, others []Seat) {
	i := w.Room.commits[start].work
	for _, one := range w.Room.Seats[i] {
		if one.commit == start {
			own = append(own, one)
		} else {
			others = append(others, one)
		}
	}
	w.Room.Seats[i] = others
	w.countHeld(i, own, -1)
	return own, others
}

// restart brings rows that were withdrawn back, at the places that are theirs now.
func (w booking) restart(i int32, seats []Seat) {
	w.Room.Seats[i] = append(slices.Clip(w.Room.Seats[i]), seats...)
	w.countHeld(i, seats, 1)
}

// countHeld counts rows that a workload has gained or lost.
func (w booking) countHeld(i int32, seats []Seat, n int32) {
	k := &w.Works[i]
	if k.Live < 0 {
		return
	}
	l := &w.live[k.Live]
	l.dense = nil
	for at := range seats {
		l.held[seats[at].Set] += n
	}
}

// exchange has two tasks that are alike change places.
func (s *Seat) exchange(other *Seat) {
	s.Node, s.Devices, s.pipelined, other.Node, other.Devices, other.pipelined =
		other.Node, other.Devices, other.pipelined, s.Node, s.Devices, s.pipelined
}

// sit gives a row another place.
func (s *Seat) sit(nodes []int32, at placement.Place) {
	s.Node, s.Devices, s.pipelined = nodes[at.Node], at.Devices, at.Pipelined
}

// elsewhere notes in rows that are brought back that they are at new places: what ran
// moves, what has only been claimed starts there instead. Those that stayed are as they
// were. What had its places without a break, as what moves beside others has, stays the
// start that it was, unless it has come to wait for its place: a start waits as a whole (S4).
func (w booking) elsewhere(i int32, old, seats []Seat, stillBegun bool) {
	w.Room.commits = append(w.Room.commits, commit{work: i, form: w.Works[i].Current, kind: Move})
	stands := func(at int) bool { return seats[at].Node == old[at].Node && seats[at].Devices == old[at].Devices }
	starts := false
	for at := range seats {
		starts = starts || seats[at].claimed && !stands(at)
	}
	for at := range seats {
		s := &seats[at]
		if s.origin >= 0 && stands(at) { // what starts in this solve starts together
			if s.claimed && starts {
				s.claimed, s.commit = false, int32(len(w.Room.commits)-1)
			}
			continue
		}
		if stillBegun && s.origin < 0 && s.commit >= 0 && !s.claimed && (old[at].pipelined || !s.pipelined) {
			continue
		}
		if s.claimed || w.wasClaimed(s) && !stands(at) {
			s.origin, s.claimed = -1, false
		}
		s.commit = int32(len(w.Room.commits) - 1)
		if s.origin >= 0 && w.Holdings[s.origin].Node == s.Node && w.Holdings[s.origin].Devices == s.Devices {
			s.commit = -1 // back where it was
		}
	}
}
