package cluster

import (
	"cmp"
	"iter"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// The transitions of the table. Each changes the rows of one workload, the counts of
// what it holds, and nothing else: the caller has charged or released its queue and
// taken or freed its places, and has the evaluators told by reenter. After each of them
// what a workload holds per pod set is what its rows add up to.

// Settled gives what runs or is claimed once all is settled its rows, where it stands.
// Nothing of that is of the solve: no row has a commit.
func (w Booking) Settled() {
	b := NewTable(len(w.Works))
	w.Room = b
	all, lost := make([]Seat, 0, len(w.Holdings)), false
	for i := range w.Live {
		l := &w.Live[i]
		if lost = lost || l.To == 0; l.To == 0 {
			continue
		}
		work, first := w.Holdings[l.From].Work, len(all)
		w.Works[work].SettleStatus(w.World)
		if all = AppendSeats(w.World, all, l.From, l.To); len(all) > first {
			b.Seats[work] = all[first:len(all):len(all)]
		}
	}
	for i := 0; lost && i < len(w.Works); i++ { // of some nothing is left
		w.Works[i].SettleStatus(w.World)
	}
}

// AppendSeats appends the seats of what runs or is claimed among some holdings.
func AppendSeats(w *World, seats []Seat, from, to int32) []Seat {
	for at := from; at < to; at++ {
		h := &w.Holdings[at]
		if h.Phase == Terminating {
			continue
		}
		seats = append(seats, Seat{
			TaskPlace: h.TaskPlace, Origin: at, Commit: -1, Admitted: h.Since,
			Claimed: h.Phase == Claimed, Pipelined: h.Phase == Claimed, Behind: h.Behind,
		})
	}
	return seats
}

// Start gives the tasks of a unit their rows, by a commit of their own: at once, or by
// a claim (S4). Each has an index that no other row of its pod set has.
// The unit is cut to end by a time, unless until is 0, stands behind a workload, unless
// behind is 0, and may start anew whatever ran of its workload.
func (w Booking) Start(i int32, kind Kind, unit gang.Unit, places []placement.Place, until int64, behind int32, anew bool) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	p := w.Pools[w.FormOf(k, k.Current).Pool]
	b.Commits = AppendMany(b.Commits, Commit{Work: i, Form: k.Current, Kind: kind})
	last := int32(len(b.Commits) - 1)
	first := len(b.Seats[i])
	own := b.room(b.Seats[i], len(places))
	ran, claimed := w.Homes(i, Running), w.Homes(i, Claimed)
	for task, set := range TasksOf(unit) {
		place := places[task]
		one := Seat{
			TaskPlace: TaskPlace{Set: int32(set), Node: p.Nodes[place.Node], Devices: place.Devices},
			Origin:    -1, Commit: last, Admitted: w.Now, Pipelined: place.Pipelined, Until: until, Behind: behind, Anew: anew,
		}
		if at := ran(int32(set), place); at != None { // there it stands as it did
			one.Behind = w.Holdings[at].Behind
		} else if at := claimed(int32(set), place); at != None && behind == 0 { // it is the same claim
			one.Behind = w.Holdings[at].Behind
		}
		own = append(own, one)
		if k.Live >= 0 {
			w.Live[k.Live].Held[set]++
		}
	}
	w.number(i, own, first)
	for at := first; at < len(own); at++ {
		k.Pipelined = k.Pipelined || own[at].Waits()
	}
	b.Seats[i] = own
	w.noteGrowth(i, own, first)
	NoteAtOnce(w.World, i, own[first:])
}

// TasksOf goes through the tasks of a unit in the order of their places: the number of each, and its pod set.
func TasksOf(unit gang.Unit) iter.Seq2[int, int] {
	return func(yield func(task, set int) bool) {
		task := 0
		for set, n := range unit.Add {
			for range n {
				if !yield(task, set) {
					return
				}
				task++
			}
		}
	}
}

// noteGrowth counts where rows stand that a workload with constraints has grown by, those from the
// first on: the next of many that it grows by asks for that.
func (w Booking) noteGrowth(i int32, seats []Seat, first int) {
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	if k.Live < 0 || first == 0 || !d.Gang.Constrained() {
		return
	}
	l := &w.Live[k.Live]
	g := l.grows()
	if g.standing == nil {
		g.standing, first = gang.NewStanding(w.Pools[w.FormOf(k, k.Current).Pool].Topology, d.Gang), 0
	}
	for at := first; at < len(seats); at++ {
		g.standing.Add(w.HeldIn(k, &seats[at].TaskPlace))
	}
}

// Standing is where all of a workload stands that has grown under constraints, nil where that is not known.
func (l *Live) Standing() *gang.Standing {
	if l.growth == nil {
		return nil
	}
	return l.growth.standing
}

// grows is what is known of a workload of which rows come one after the other.
func (l *Live) grows() *growth {
	if l.growth == nil {
		l.growth = new(growth)
	}
	return l.growth
}

// forgetGrowth forgets what is only known of rows that come one after the other.
func (l *Live) forgetGrowth() { l.growth = nil }

// ForgetGrowth forgets where rows of a workload stand, as some stand elsewhere now.
func (w Booking) ForgetGrowth(i int32) {
	if k := &w.Works[i]; k.Live >= 0 {
		w.Live[k.Live].forgetGrowth()
	}
}

// NextIndices are the indices that the next n tasks of a pod set get where its rows are known to be
// numbered without a gap, see nextIndex.
func (w Booking) NextIndices(i, set, n int32) (next []int32, known bool) {
	k := &w.Works[i]
	if k.Live < 0 || w.Live[k.Live].growth == nil {
		return nil, false
	}
	dense := w.Live[k.Live].growth.dense
	if dense == nil || dense[set] < 0 {
		return nil, false
	}
	for at := range n {
		next = append(next, dense[set]+at)
	}
	return next, true
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

// number gives the rows of a start their indices, those from the first on.
func (w Booking) number(i int32, seats []Seat, first int) {
	k := &w.Works[i]
	if w.Room.Last[i] == 0 || k.Live < 0 || w.RestartsBehindItself(i, seats) { // it has lost nothing in this solve, or all of it for a time
		for at := first; at < len(seats); at++ {
			seats[at].Index = w.nextIndex(k, seats[:at], seats[at].Set)
		}
		return
	}
	c := continuing{World: w.World, work: i, used: make(map[[2]int32]bool)}
	for _, s := range seats[:first] {
		c.used[[2]int32{s.Set, s.Index}] = true
	}
	c.keepFirst(seats[first:])
	for at := first; at < len(seats); at++ {
		c.take(&seats[at], true)
	}
	for at := first; at < len(seats); at++ { // and no longer what another one stands in the place of
		c.take(&seats[at], false)
	}
	for at := first; at < len(seats); at++ {
		c.settle(&seats[at])
	}
}

// RestartsBehindItself says whether a workload that has lost all that ran of it claims, by some of these rows, a place in which it
// ran: beside what has been given that since, it cannot run on there. So does one that starts anew in a hole, until that
// ends, as what ran would go on beyond it (B1), and one by which others had a right only while it was gone (R1). Then nothing of it continues what ran, and it starts behind itself (S5).
func (w Booking) RestartsBehindItself(i int32, seats []Seat) bool {
	k := &w.Works[i]
	if k.Live < 0 || w.Live[k.Live].Form != k.Current || slices.ContainsFunc(seats, func(one Seat) bool { return w.Ran(&one) }) {
		return false
	}
	return slices.ContainsFunc(seats, func(one Seat) bool {
		return one.Anew || one.Until > 0 && one.Commit >= 0 || one.Pipelined && w.hadMoreThere(k, seats, &one)
	})
}

// hadMoreThere says whether more tasks of a pod set of a workload ran where a row of it is than run there by these rows.
func (w Booking) hadMoreThere(k *Work, seats []Seat, one *Seat) bool {
	more, l := 0, &w.Live[k.Live]
	for _, h := range w.Holdings[l.From:l.To] {
		if h.Phase == Running && !h.Fresh && h.Set == one.Set && h.Where() == one.Where() {
			more++
		}
	}
	for at := range seats {
		if s := &seats[at]; !s.Pipelined && s.Set == one.Set && s.Where() == one.Where() {
			more--
		}
	}
	return more > 0
}

// A continuing is which rows of a workload that starts continue tasks of it that ran in the state and have no row
// now: these were admitted when that was (R8), and stay where they were if the place is the same.
type continuing struct {
	*World
	work int32
	used map[[2]int32]bool // by pod set and index
	last map[int32]int32   // by pod set the last index that is continued where it ran, as the last go first (M6)
}

// keepFirst notes which tasks are continued where they ran: of each pod set the first that have no row, as many as there are rows.
func (c *continuing) keepFirst(seats []Seat) {
	left := make(map[int32]int)
	for at := range seats {
		left[seats[at].Set]++
	}
	l := &c.Live[c.Works[c.work].Live]
	tasks := slices.Clone(c.Holdings[l.From:l.To])
	slices.SortFunc(tasks, func(a, b Holding) int { return CompareTasks(a.TaskPlace, b.TaskPlace) })
	c.last = make(map[int32]int32)
	for at := range tasks {
		h := &tasks[at]
		if h.Phase == Running && left[h.Set] > 0 && !c.used[[2]int32{h.Set, h.Index}] {
			left[h.Set]--
			c.last[h.Set] = h.Index
		}
	}
}

// take lets a row that continues nothing continue the first task of its pod set that may be, at its place or at any.
func (c *continuing) take(one *Seat, atHome bool) {
	k := &c.Works[c.work]
	l := &c.Live[k.Live]
	if one.Origin >= 0 || l.Form != k.Current { // what it has claimed in another form it has lost
		return
	}
	for at := l.From; at < l.To; at++ {
		h := &c.Holdings[at]
		home := h.Where() == one.Where()
		if h.Set != one.Set || h.Phase != Running || c.used[[2]int32{h.Set, h.Index}] || !home && (atHome || h.Fresh) || atHome && h.Index > c.last[h.Set] {
			continue
		}
		if one.Origin < 0 || h.Index < one.Index {
			one.Origin, one.Index, one.Admitted = at, h.Index, h.Since
		}
	}
	if one.Origin >= 0 {
		c.used[[2]int32{one.Set, one.Index}] = true
		if c.Holdings[one.Origin].Where() == one.Where() {
			one.Commit = -1
		}
	}
}

// settle gives a row that continues nothing an index that no other has.
func (c *continuing) settle(one *Seat) {
	if one.Origin >= 0 {
		return
	}
	for c.used[[2]int32{one.Set, one.Index}] {
		one.Index++
	}
	c.used[[2]int32{one.Set, one.Index}] = true
}

// StoodAt is the holding by which a task of a pod set was at a place in the state in a phase, of a workload
// that has lost something in this solve and is in the form in which it was; none if there is none.
func (w Booking) StoodAt(i, set int32, place placement.Place, phase Phase) int32 {
	return w.stoodAt(i, set, place, phase, nil)
}

// stoodAt is StoodAt but for holdings that have been told.
func (w Booking) stoodAt(i, set int32, place placement.Place, phase Phase, told []int32) int32 {
	k := &w.Works[i]
	if w.Room.Last[i] == 0 || k.Live < 0 || w.Live[k.Live].Form != k.Current {
		return None
	}
	l := &w.Live[k.Live]
	for at := l.From; at < l.To; at++ {
		if h := &w.Holdings[at]; h.Phase == phase && h.Set == set && w.Position[h.Node] == place.Node && h.Devices == place.Devices && !slices.Contains(told, at) {
			return at
		}
	}
	return None
}

// Homes tells of places, one after the other, which holding was there as StoodAt says, and has left: each is told once,
// as of tasks that come to a place no more stand as they did than were there. What a row of the workload has stayed in, or
// has come back to, is that row's.
func (w Booking) Homes(i int32, phase Phase) func(set int32, place placement.Place) int32 {
	var told []int32
	for _, one := range w.Room.Seats[i] {
		if one.Origin >= 0 && one.Commit < 0 {
			told = append(told, one.Origin)
		}
	}
	return func(set int32, place placement.Place) int32 {
		at := w.stoodAt(i, set, place, phase, told)
		if at != None {
			told = append(told, at)
		}
		return at
	}
}

// nextIndex is the lowest index of a pod set that none of the rows has. Where they are
// numbered without a gap, which is read once, it is how many there are.
func (w Booking) nextIndex(k *Work, seats []Seat, set int32) int32 {
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
	l := &w.Live[k.Live]
	g := l.grows()
	if g.dense == nil {
		g.dense = w.NewCounts(len(l.Held))
		for at := range seats {
			g.dense[seats[at].Set]++
		}
		for at := range seats {
			if s := &seats[at]; s.Index >= g.dense[s.Set] {
				g.dense[s.Set] = None // and never less than one
			}
		}
	}
	if n := g.dense[set]; n >= 0 {
		g.dense[set]++
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

// Release takes the rows of a unit out of the table, and returns them. What the workload
// holds is less by them.
func (w Booking) Release(i, step int32) (own []Seat) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	own, b.Seats[i] = PartSeats(b.Seats[i], step)
	if k.Live < 0 {
		return own
	}
	l := &w.Live[k.Live]
	l.forgetGrowth()
	for _, seat := range own {
		l.Held[seat.Set]--
		if seat.Claimed {
			l.Claimed--
		}
	}
	return own
}

// Reprieve brings rows back that were released: where they were, or at other places,
// which elsewhere has noted in them.
func (w Booking) Reprieve(i int32, seats []Seat) {
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	b.Seats[i] = append(b.Seats[i], seats...)
	if k.Live < 0 {
		return
	}
	l := &w.Live[k.Live]
	l.forgetGrowth()
	if n := len(w.Definition(k, k.Current).Sets); len(l.Held) != n { // it held something in another form since
		l.Held = w.NewCounts(n)
	}
	for _, seat := range seats {
		l.Held[seat.Set]++
		if seat.Claimed {
			l.Claimed++
		}
	}
}

// Begin has rows of a workload that claim their places start there, as these are free: what was
// claimed in the state by a commit of its own.
func (w Booking) Begin(i int32, rows []bool) {
	w.Journal.Keep(w.World, i)
	b, k := w.Room, &w.Works[i]
	b.touch(i)
	by := int32(None)
	for at := range b.Seats[i] {
		s := &b.Seats[i][at]
		if !rows[at] {
			continue
		}
		if s.Pipelined = false; !s.Claimed {
			continue
		}
		if by < 0 {
			by = int32(len(b.Commits))
			b.Commits = AppendMany(b.Commits, Commit{Work: i, Form: k.Current, Kind: Start})
		}
		s.Claimed, s.Commit = false, by
		w.Live[k.Live].Claimed--
	}
	if by >= 0 && w.Live[k.Live].Claimed == 0 {
		k.Status = Complete
	}
}

// HoldPlaces has rows of claims of the state keep their places free of what comes beside what is leaving there.
func (w Booking) HoldPlaces(i int32, rows []int32) {
	w.Journal.Keep(w.World, i)
	w.Room.touch(i)
	for _, at := range rows {
		w.Room.Seats[i][at].Pipelined = false
	}
}

// Withdraw takes the rows of a start of this solve out of the table, which has cost
// nothing yet (M9), and returns them and what the workload has beside them.
func (w Booking) Withdraw(start int32) (own, others []Seat) {
	i := w.Room.Commits[start].Work
	for _, one := range w.Room.Seats[i] {
		if one.Commit == start {
			own = append(own, one)
		} else {
			others = append(others, one)
		}
	}
	w.Room.Seats[i] = others
	w.countHeld(i, own, -1)
	return own, others
}

// Restart brings rows that were withdrawn back, at the places that are theirs now.
func (w Booking) Restart(i int32, seats []Seat) {
	w.Room.Seats[i] = append(slices.Clip(w.Room.Seats[i]), seats...)
	w.countHeld(i, seats, 1)
}

// countHeld counts rows that a workload has gained or lost.
func (w Booking) countHeld(i int32, seats []Seat, n int32) {
	k := &w.Works[i]
	if k.Live < 0 {
		return
	}
	l := &w.Live[k.Live]
	l.forgetGrowth()
	for at := range seats {
		l.Held[seats[at].Set] += n
	}
}

// Exchange has two tasks that are alike change places.
func (s *Seat) Exchange(other *Seat) {
	s.Node, s.Devices, s.Pipelined, other.Node, other.Devices, other.Pipelined =
		other.Node, other.Devices, other.Pipelined, s.Node, s.Devices, s.Pipelined
}

// Sit gives a row another place.
func (s *Seat) Sit(nodes []int32, at placement.Place) {
	s.Node, s.Devices, s.Pipelined = nodes[at.Node], at.Devices, at.Pipelined
}

// Elsewhere notes in rows that are brought back that they are at new places: what ran
// moves, what has only been claimed starts there instead. Those that stayed are as they
// were. What had its places without a break, as what moves beside others has, stays the
// start that it was, unless it has come to wait for its place: a start waits as a whole (S4).
func (w Booking) Elsewhere(i int32, old, seats []Seat, stillBegun bool) {
	w.Room.Commits = append(w.Room.Commits, Commit{Work: i, Form: w.Works[i].Current, Kind: Move})
	stands := func(at int) bool { return seats[at].Node == old[at].Node && seats[at].Devices == old[at].Devices }
	starts := false
	for at := range seats {
		starts = starts || seats[at].Claimed && !stands(at)
	}
	for at := range seats {
		s := &seats[at]
		if s.Origin >= 0 && stands(at) { // what starts in this solve starts together
			if s.Claimed && starts {
				s.Claimed, s.Commit = false, int32(len(w.Room.Commits)-1)
			}
			continue
		}
		if stillBegun && s.Origin < 0 && s.Commit >= 0 && !s.Claimed && (old[at].Pipelined || !s.Pipelined) {
			continue
		}
		if s.Claimed || w.WasClaimed(s) && !stands(at) {
			s.Origin, s.Claimed = -1, false
		}
		s.Commit = int32(len(w.Room.Commits) - 1)
		if s.Origin >= 0 && w.Holdings[s.Origin].Node == s.Node && w.Holdings[s.Origin].Devices == s.Devices {
			s.Commit = -1 // back where it was
		}
	}
}

// PartSeats parts the seats of a step from the others.
func PartSeats(seats []Seat, step int32) (own, others []Seat) {
	if !slices.ContainsFunc(seats, func(s Seat) bool { return s.Step != step }) {
		return seats, nil
	}
	for _, s := range seats {
		if s.Step == step {
			own = append(own, s)
		} else {
			others = append(others, s)
		}
	}
	return own, others
}

// A Standing is where a task stands.
type Standing struct {
	Node    int32
	Devices uint64
}

// Where is the standing of a place.
func (t *TaskPlace) Where() Standing { return Standing{t.Node, t.Devices} }

// CompareTasks is the order of pod set and index.
func CompareTasks(a, b TaskPlace) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Index, b.Index))
}

// StartsFresh says whether a task starts in the solve that did not run before it.
func StartsFresh(s Seat) bool { return !s.Claimed && s.Origin < 0 && s.Commit >= 0 }
