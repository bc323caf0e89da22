package difference

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
)

// A rowBefore is a task of a workload and its place before the solve.
type rowBefore struct {
	cluster.TaskPlace
	ran bool // or it was claimed
	// reserved: people have reserved its place, so that it goes (B9).
	reserved bool
}

// A rowAfter is a task of the same workload and its place in the end.
type rowAfter struct {
	cluster.TaskPlace
	// before is the row that it continues, none for what starts. The solve has an
	// opinion, which match follows where nothing speaks against it.
	before int32
	// held: it is a claim of before and still waits.
	held bool
}

// A setStanding is a place of some task of a pod set.
type setStanding struct {
	set int32
	cluster.Standing
}

// match says which row after continues which one before. Rows before are in the order of
// pod set and index, rows after by pod set, the minimum first. Of what ran as many as possible are
// continued, the first of each set (M6): where they ran if anything of the set stands there, else on
// the same node if that may be, and in the place of a claim only if none else is left.
// Then claims start in their places. What continues nothing has an index that no other row
// has. O(n log n).
func match(before []rowBefore, after []rowAfter) {
	m := matching{before: before, after: after, taken: make([]bool, len(before)), opinion: make([]int32, len(after))}
	for i := range after {
		if m.opinion[i] = after[i].before; after[i].held {
			m.taken[after[i].before] = true
		} else {
			after[i].before = cluster.None
		}
	}
	m.lastGo()
	m.inPlace(true)
	m.asTheSolve()
	claims := make(map[setStanding]bool)
	for b := range before {
		if !before[b].ran && !m.taken[b] {
			claims[setStanding{before[b].Set, before[b].Where()}] = true
		}
	}
	for _, claimed := range [...]bool{false, true} {
		suits := func(a int) bool {
			return claims[setStanding{after[a].Set, after[a].Where()}] == claimed
		}
		m.pair(suits, true)
		m.pair(suits, false)
	}
	m.inPlace(false)
	m.number()
}

// A matching is a match in progress.
type matching struct {
	before  []rowBefore
	after   []rowAfter
	taken   []bool  // by row before: it is continued
	opinion []int32 // by row after: what the solve took it to continue
}

// lastGo has of each set the last go of what ran, where not all of it is continued, and before
// these what stands where people have reserved.
func (m *matching) lastGo() {
	left := make(map[int32]int) // by set: how many rows after may continue what ran
	for a := range m.after {
		if !m.after[a].held {
			left[m.after[a].Set]++
		}
	}
	for _, reserved := range [...]bool{false, true} {
		for b := range m.before {
			if row := &m.before[b]; row.ran && row.reserved == reserved {
				if left[row.Set]--; left[row.Set] < 0 {
					m.taken[b] = true
				}
			}
		}
	}
}

func (m *matching) join(a, b int) {
	m.after[a].before = int32(b)
	m.taken[b] = true
}

// inPlace joins rows of the same place: of what ran, or of what was claimed.
func (m *matching) inPlace(ran bool) {
	for a := range m.after {
		if b := m.opinion[a]; m.after[a].before == cluster.None && b != cluster.None && m.before[b].ran == ran && !m.taken[b] &&
			m.before[b].Where() == m.after[a].Where() {
			m.join(a, int(b))
		}
	}
	at := make(map[setStanding][]int) // rows before, the last first
	for b := len(m.before) - 1; b >= 0; b-- {
		if row := &m.before[b]; row.ran == ran && !m.taken[b] {
			key := setStanding{row.Set, row.Where()}
			at[key] = append(at[key], b)
		}
	}
	for a := range m.after {
		key := setStanding{m.after[a].Set, m.after[a].Where()}
		if list := at[key]; m.after[a].before == cluster.None && len(list) > 0 {
			m.join(a, list[len(list)-1])
			at[key] = list[:len(list)-1]
		}
	}
}

// asTheSolve joins what ran to what the solve has moved it to.
func (m *matching) asTheSolve() {
	for a := range m.after {
		if b := m.opinion[a]; m.after[a].before == cluster.None && b != cluster.None && m.before[b].ran && !m.taken[b] {
			m.join(a, int(b))
		}
	}
}

// pair joins what ran and is not continued to rows that suit, on its node or on any.
func (m *matching) pair(suits func(a int) bool, sameNode bool) {
	type key struct{ set, node int32 }
	of := func(t *cluster.TaskPlace) key {
		if sameNode {
			return key{t.Set, t.Node}
		}
		return key{t.Set, cluster.None}
	}
	var at map[key][]int // rows after, the last first
	for b := range m.before {
		if !m.before[b].ran || m.taken[b] {
			continue
		}
		if at == nil {
			at = make(map[key][]int)
			for a := len(m.after) - 1; a >= 0; a-- {
				if m.after[a].before == cluster.None && suits(a) {
					k := of(&m.after[a].TaskPlace)
					at[k] = append(at[k], a)
				}
			}
		}
		k := of(&m.before[b].TaskPlace)
		if list := at[k]; len(list) > 0 {
			m.join(list[len(list)-1], b)
			at[k] = list[:len(list)-1]
		}
	}
}

// number gives what continues something its index, and what starts one that is free.
func (m *matching) number() {
	used := make(map[[2]int32]bool, len(m.after))
	for a := range m.after {
		if b := m.after[a].before; b != cluster.None {
			m.after[a].Index = m.before[b].Index
			used[[2]int32{m.after[a].Set, m.after[a].Index}] = true
		}
	}
	next := make(map[int32]int32)
	for a := range m.after {
		row := &m.after[a]
		if row.before != cluster.None {
			continue
		}
		if used[[2]int32{row.Set, row.Index}] {
			for used[[2]int32{row.Set, next[row.Set]}] {
				next[row.Set]++
			}
			row.Index = next[row.Set]
		}
		used[[2]int32{row.Set, row.Index}] = true
	}
}

// matchWorkload assigns the identities of one workload's tasks, and says of each that
// stands where it ran or was claimed that nothing has placed it.
func (w Difference) matchWorkload(i int32) {
	k, seats := &w.Works[i], w.Room.Seats[i]
	switch {
	case len(seats) == 0:
		k.Pipelined = false
		return
	case k.Live < 0 && len(seats) == 1: // as mostly: there is nothing to match and one step
		seats[0].Origin = cluster.None
		return
	}
	if w.Room.Last[i] == 0 && !slices.ContainsFunc(seats, func(s cluster.Seat) bool { return s.Commit >= 0 }) {
		return
	}
	if k.Live >= 0 && w.Live[k.Live].Form == k.Current && !w.Booking().RestartsBehindItself(i, seats) {
		var decided []cluster.Seat
		if w.Definition(k, k.Current).Gang.Sliced() {
			decided = slices.Clone(seats)
		}
		w.matchSeats(i, seats)
		if decided != nil && !w.Together(i) { // not every task can be any other (T3)
			copy(seats, decided)
			for at := range seats {
				if s := &seats[at]; s.Origin >= 0 && s.Commit >= 0 && w.Booking().WasClaimed(s) {
					s.Origin = cluster.None // it starts elsewhere instead
				}
			}
		}
	} else {
		for at := range seats {
			seats[at].Origin = cluster.None
		}
	}
	w.startInUnits(i, seats)
}

// matchSeats matches the seats of a workload that held something before.
func (w Difference) matchSeats(i int32, seats []cluster.Seat) {
	l := &w.Live[w.Works[i].Live]
	var before []rowBefore
	var of []int32 // by row before: the holding
	for at := l.From; at < l.To; at++ {
		if w.Holdings[at].Phase != cluster.Terminating {
			of = append(of, at)
		}
	}
	slices.SortFunc(of, func(a, b int32) int { return cluster.CompareTasks(w.Holdings[a].TaskPlace, w.Holdings[b].TaskPlace) })
	row := make(map[int32]int32, len(of)) // by holding
	for _, at := range of {
		h := &w.Holdings[at]
		row[at] = int32(len(before))
		before = append(before, rowBefore{h.TaskPlace, h.Phase == cluster.Running && !h.Fresh, w.IsReserved(&w.Works[i], &h.TaskPlace)})
	}
	slices.SortFunc(seats, func(a, b cluster.Seat) int { // what is above a minimum comes last
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Index, b.Index))
	})
	after := make([]rowAfter, len(seats))
	for at := range seats {
		s := &seats[at]
		after[at] = rowAfter{s.TaskPlace, cluster.None, s.Claimed}
		if s.Origin >= 0 {
			after[at].before = row[s.Origin]
		}
	}
	match(before, after)
	for at := range seats {
		s, b := &seats[at], after[at].before
		s.Index, s.Origin = after[at].Index, cluster.None
		switch {
		case b == cluster.None:
			continue
		case before[b].Where() == s.Where():
			if s.Pipelined = s.Pipelined && !before[b].ran; before[b].ran || w.Holdings[of[b]].Fresh || s.Claimed {
				s.Commit = cluster.None
			} // else it is a claim that starts with what starts elsewhere, or stays one
		case s.Commit < 0: // what stood here has gone, and another of its like comes
			w.Room.Commits = append(w.Room.Commits, cluster.Commit{Work: i, Form: w.Works[i].Current, Kind: cluster.Move})
			s.Commit = int32(len(w.Room.Commits) - 1)
		}
		s.Origin = of[b]
	}
}

// A deviceRow is a task on a node and the devices that it has in the end.
type deviceRow struct {
	now uint64
	// had are the devices of this node that it had before, 0 if it had none. A row that
	// is fixed keeps what it has.
	had   uint64
	fixed bool
}

// restoreDevices says which device of a node goes by the name of which: alike has for
// every device its class, and only devices of one class are exchanged. Every row that
// had devices of the node has them again as far as that can be, the earlier row first.
// O(rows + devices).
func restoreDevices(rows []deviceRow, alike []int32) []int32 {
	e := exchange{to: make([]int32, len(alike)), from: make([]int32, len(alike)), alike: alike}
	for d := range alike {
		e.to[d], e.from[d] = cluster.None, cluster.None
	}
	for _, r := range rows {
		if r.fixed || r.had == r.now {
			e.put(r.now, r.now)
		}
	}
	for _, r := range rows {
		if !r.fixed && r.had != 0 && r.had != r.now {
			e.put(r.now, r.had)
		}
	}
	for d := range e.to { // the others stay if they can
		if e.to[d] == cluster.None && e.from[d] == cluster.None {
			e.to[d], e.from[d] = int32(d), int32(d)
		}
	}
	for d := range e.to {
		for free := 0; e.to[d] == cluster.None; free++ { // there are as many of a class as are without a name
			if e.from[free] == cluster.None && alike[free] == alike[d] {
				e.to[d], e.from[free] = int32(free), int32(d)
			}
		}
	}
	return e.to
}

// An exchange is what every device of a node is to be called, and which is called so.
type exchange struct {
	to, from, alike []int32
}

// put has the devices of a row be called by those that it had, or changes nothing.
func (e *exchange) put(now, had uint64) {
	type pair struct{ d, name int }
	var pairs []pair
	both := now & had
	for rest := both; rest != 0; rest &= rest - 1 {
		d := bits.TrailingZeros64(rest)
		pairs = append(pairs, pair{d, d})
	}
	left := had &^ both
	for rest := now &^ both; rest != 0; rest &= rest - 1 {
		d := bits.TrailingZeros64(rest)
		name := int32(cluster.None)
		for names := left; names != 0 && name == cluster.None; names &= names - 1 {
			if n := bits.TrailingZeros64(names); e.alike[n] == e.alike[d] {
				name = int32(n)
			}
		}
		if name == cluster.None {
			return
		}
		left &^= 1 << name
		pairs = append(pairs, pair{d, int(name)})
	}
	if left != 0 || slices.ContainsFunc(pairs, func(p pair) bool {
		return e.to[p.d] != int32(p.name) && (e.to[p.d] != cluster.None || e.from[p.name] != cluster.None)
	}) {
		return
	}
	for _, p := range pairs {
		e.to[p.d], e.from[p.name] = int32(p.name), int32(p.d)
	}
}

// keepDevices has what runs on a node before and after keep its devices, where those
// that it would have in the end are like them: nothing is restarted on another device of
// its node for nothing (M11).
func (w Difference) keepDevices() {
	var strayed map[int32][]*cluster.Seat // by node on which some task has other devices, all that stands there
	for _, i := range w.Room.Touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.Commit >= 0 && w.Booking().Ran(s) && w.Holdings[s.Origin].Node == s.Node {
				if strayed == nil {
					strayed = make(map[int32][]*cluster.Seat)
				}
				strayed[s.Node] = nil
			}
		}
	}
	if strayed == nil {
		return
	}
	for _, loop := range w.Loops { // by the names that the index has
		loop.TellWaits()
	}
	for i := range w.Room.Seats {
		for at := range w.Room.Seats[i] {
			s := &w.Room.Seats[i][at]
			if list, some := strayed[s.Node]; some {
				strayed[s.Node] = append(list, s)
			}
		}
	}
	for node, seats := range strayed { // each node for itself: order cannot matter
		w.keepDevicesOf(node, seats)
	}
}

// keepDevicesOf is keepDevices for one node, where what leaves it and what is claimed
// behind that keeps the devices that it has.
func (w Difference) keepDevicesOf(node int32, seats []*cluster.Seat) {
	var rows []deviceRow
	leaves := false
	for _, i := range w.Booking().HoldingsOn(node) {
		if h := &w.Holdings[i]; h.Phase == cluster.Terminating {
			rows = append(rows, deviceRow{now: h.Devices, fixed: true})
			leaves = true
		}
	}
	for _, s := range seats {
		row := deviceRow{now: s.Devices, fixed: s.Claimed || s.AtOnce || s.Pipelined && leaves}
		if s.Origin >= 0 && w.Holdings[s.Origin].Node == node {
			row.had = w.Holdings[s.Origin].Devices
			row.fixed = row.fixed || w.Loops[w.NodePool[node]].ComesBehind(s) // as what stays does not (B6)
		}
		rows = append(rows, row)
	}
	to := restoreDevices(rows, cluster.AlikeDevices(&w.Pools[w.NodePool[node]].Placed[w.Position[node]]))
	w.Loops[w.NodePool[node]].RenameDevices(w.Position[node], to)
	for _, s := range seats {
		if s.Devices = cluster.Renamed(s.Devices, to); w.Booking().Ran(s) && w.Holdings[s.Origin].Where() == s.Where() {
			s.Commit = cluster.None // else it is a claim, which starts with what starts elsewhere
		}
	}
}
