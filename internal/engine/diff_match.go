package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
)

// A standing is where a task stands.
type standing struct {
	node    int32
	devices uint64
}

// where is the standing of a place.
func (t *TaskPlace) where() standing { return standing{t.Node, t.Devices} }

// compareTasks is the order of pod set and index.
func compareTasks(a, b TaskPlace) int {
	return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.Index, b.Index))
}

// A rowBefore is a task of a workload and its place before the solve.
type rowBefore struct {
	TaskPlace
	ran bool // or it was claimed
	// reserved: people have reserved its place, so that it goes (B9).
	reserved bool
}

// A rowAfter is a task of the same workload and its place in the end.
type rowAfter struct {
	TaskPlace
	// before is the row that it continues, none for what starts. The solve has an
	// opinion, which match follows where nothing speaks against it.
	before int32
	// held: it is a claim of before and still waits.
	held bool
}

// A setStanding is a place of some task of a pod set.
type setStanding struct {
	set int32
	standing
}

// match says which row after continues which one before. Rows before are in the order of
// pod set and index, rows after by pod set, the minimum first. Of what ran as many as possible are continued,
// the first of each set (M6): where they ran if anything of the set stands there, else on
// the same node if that may be, and in the place of a claim only if none else is left.
// Then claims start in their places. What continues nothing has an index that nobody
// else has. O(n log n).
func match(before []rowBefore, after []rowAfter) {
	m := matching{before: before, after: after, taken: make([]bool, len(before)), opinion: make([]int32, len(after))}
	for i := range after {
		if m.opinion[i] = after[i].before; after[i].held {
			m.taken[after[i].before] = true
		} else {
			after[i].before = None
		}
	}
	m.lastGo()
	m.inPlace(true)
	m.asTheSolve()
	claims := make(map[setStanding]bool)
	for b := range before {
		if !before[b].ran && !m.taken[b] {
			claims[setStanding{before[b].Set, before[b].where()}] = true
		}
	}
	for _, claimed := range [...]bool{false, true} {
		suits := func(a int) bool {
			return claims[setStanding{after[a].Set, after[a].where()}] == claimed
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
		if b := m.opinion[a]; m.after[a].before == None && b != None && m.before[b].ran == ran && !m.taken[b] &&
			m.before[b].where() == m.after[a].where() {
			m.join(a, int(b))
		}
	}
	at := make(map[setStanding][]int) // rows before, the last first
	for b := len(m.before) - 1; b >= 0; b-- {
		if row := &m.before[b]; row.ran == ran && !m.taken[b] {
			key := setStanding{row.Set, row.where()}
			at[key] = append(at[key], b)
		}
	}
	for a := range m.after {
		key := setStanding{m.after[a].Set, m.after[a].where()}
		if list := at[key]; m.after[a].before == None && len(list) > 0 {
			m.join(a, list[len(list)-1])
			at[key] = list[:len(list)-1]
		}
	}
}

// asTheSolve joins what ran to what the solve has moved it to.
func (m *matching) asTheSolve() {
	for a := range m.after {
		if b := m.opinion[a]; m.after[a].before == None && b != None && m.before[b].ran && !m.taken[b] {
			m.join(a, int(b))
		}
	}
}

// pair joins what ran and is not continued to rows that suit, on its node or on any.
func (m *matching) pair(suits func(a int) bool, sameNode bool) {
	type key struct{ set, node int32 }
	of := func(t *TaskPlace) key {
		if sameNode {
			return key{t.Set, t.Node}
		}
		return key{t.Set, None}
	}
	var at map[key][]int // rows after, the last first
	for b := range m.before {
		if !m.before[b].ran || m.taken[b] {
			continue
		}
		if at == nil {
			at = make(map[key][]int)
			for a := len(m.after) - 1; a >= 0; a-- {
				if m.after[a].before == None && suits(a) {
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
		if b := m.after[a].before; b != None {
			m.after[a].Index = m.before[b].Index
			used[[2]int32{m.after[a].Set, m.after[a].Index}] = true
		}
	}
	next := make(map[int32]int32)
	for a := range m.after {
		row := &m.after[a]
		if row.before != None {
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
func (w closing) matchWorkload(i int32) {
	k, seats := &w.Works[i], w.Room.Seats[i]
	switch {
	case len(seats) == 0:
		k.pipelined = false
		return
	case k.Live < 0 && len(seats) == 1: // as mostly: there is nothing to match and one step
		seats[0].origin = None
		return
	}
	if w.Room.last[i] == 0 && !slices.ContainsFunc(seats, func(s Seat) bool { return s.commit >= 0 }) {
		return
	}
	if k.Live >= 0 && w.live[k.Live].form == k.Current {
		var decided []Seat
		if w.Definition(k, k.Current).Gang.Sliced() {
			decided = slices.Clone(seats)
		}
		w.matchSeats(i, seats)
		if decided != nil && !w.together(i) { // not every task can be any other (T3)
			copy(seats, decided)
			for at := range seats {
				if s := &seats[at]; s.origin >= 0 && s.commit >= 0 && w.booking().wasClaimed(s) {
					s.origin = None // it starts elsewhere instead
				}
			}
		}
	} else {
		for at := range seats {
			seats[at].origin = None
		}
	}
	w.startInUnits(i, seats)
}

// matchSeats matches the seats of a workload that held something before.
func (w closing) matchSeats(i int32, seats []Seat) {
	l := &w.live[w.Works[i].Live]
	var before []rowBefore
	var of []int32 // by row before: the holding
	for at := l.from; at < l.to; at++ {
		if w.Holdings[at].Phase != Terminating {
			of = append(of, at)
		}
	}
	slices.SortFunc(of, func(a, b int32) int { return compareTasks(w.Holdings[a].TaskPlace, w.Holdings[b].TaskPlace) })
	row := make(map[int32]int32, len(of)) // by holding
	for _, at := range of {
		h := &w.Holdings[at]
		row[at] = int32(len(before))
		before = append(before, rowBefore{h.TaskPlace, h.Phase == Running && !h.fresh, w.isReserved(&w.Works[i], &h.TaskPlace)})
	}
	slices.SortFunc(seats, func(a, b Seat) int { // what is above a minimum comes last
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(a.step, b.step), cmp.Compare(a.Index, b.Index))
	})
	after := make([]rowAfter, len(seats))
	for at := range seats {
		s := &seats[at]
		after[at] = rowAfter{s.TaskPlace, None, s.claimed}
		if s.origin >= 0 {
			after[at].before = row[s.origin]
		}
	}
	match(before, after)
	for at := range seats {
		s, b := &seats[at], after[at].before
		s.Index, s.origin = after[at].Index, None
		switch {
		case b == None:
			continue
		case before[b].where() == s.where():
			if s.pipelined = s.pipelined && !before[b].ran; before[b].ran || w.Holdings[of[b]].fresh || s.claimed {
				s.commit = None
			} // else it is a claim that starts with what starts elsewhere, or stays one
		case s.commit < 0: // what stood here has gone, and another of its like comes
			w.Room.commits = append(w.Room.commits, commit{work: i, form: w.Works[i].Current, kind: Move})
			s.commit = int32(len(w.Room.commits) - 1)
		}
		s.origin = of[b]
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
		e.to[d], e.from[d] = None, None
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
		if e.to[d] == None && e.from[d] == None {
			e.to[d], e.from[d] = int32(d), int32(d)
		}
	}
	for d := range e.to {
		for free := 0; e.to[d] == None; free++ { // there are as many of a class as are without a name
			if e.from[free] == None && alike[free] == alike[d] {
				e.to[d], e.from[free] = int32(free), int32(d)
			}
		}
	}
	return e.to
}

// An exchange is what every device of a node is to be called, and who is called so.
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
		name := int32(None)
		for names := left; names != 0 && name == None; names &= names - 1 {
			if n := bits.TrailingZeros64(names); e.alike[n] == e.alike[d] {
				name = int32(n)
			}
		}
		if name == None {
			return
		}
		left &^= 1 << name
		pairs = append(pairs, pair{d, int(name)})
	}
	if left != 0 || slices.ContainsFunc(pairs, func(p pair) bool {
		return e.to[p.d] != int32(p.name) && (e.to[p.d] != None || e.from[p.name] != None)
	}) {
		return
	}
	for _, p := range pairs {
		e.to[p.d], e.from[p.name] = int32(p.name), int32(p.d)
	}
}

// renamed are the devices by their new names.
func renamed(devices uint64, to []int32) (out uint64) {
	for rest := devices; rest != 0; rest &= rest - 1 {
		out |= 1 << to[bits.TrailingZeros64(rest)]
	}
	return out
}

// keepDevices has what runs on a node before and after keep its devices, where those
// that it would have in the end are like them: nobody is restarted on another device of
// its node for nothing (M11).
func (w closing) keepDevices() {
	var strayed map[int32][]*Seat // by node on which somebody has other devices, all that stands there
	for _, i := range w.Room.touched {
		for at := range w.Room.Seats[i] {
			if s := &w.Room.Seats[i][at]; s.commit >= 0 && w.booking().ran(s) && w.Holdings[s.origin].Node == s.Node {
				if strayed == nil {
					strayed = make(map[int32][]*Seat)
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
func (w closing) keepDevicesOf(node int32, seats []*Seat) {
	var rows []deviceRow
	leaves := false
	for _, i := range w.booking().holdingsOn(node) {
		if h := &w.Holdings[i]; h.Phase == Terminating {
			rows = append(rows, deviceRow{now: h.Devices, fixed: true})
			leaves = true
		}
	}
	for _, s := range seats {
		row := deviceRow{now: s.Devices, fixed: s.claimed || s.atOnce || s.pipelined && leaves}
		if s.origin >= 0 && w.Holdings[s.origin].Node == node {
			row.had = w.Holdings[s.origin].Devices
			row.fixed = row.fixed || w.Loops[w.NodePool[node]].ComesBehind(s) // as what stays does not (B6)
		}
		rows = append(rows, row)
	}
	to := restoreDevices(rows, alikeDevices(&w.Pools[w.NodePool[node]].Placed[w.Position[node]]))
	w.Loops[w.NodePool[node]].RenameDevices(w.Position[node], to)
	for _, s := range seats {
		if s.Devices = renamed(s.Devices, to); w.booking().ran(s) && w.Holdings[s.origin].where() == s.where() {
			s.commit = None // else it is a claim, which starts with what starts elsewhere
		}
	}
}

// alikeDevices are the classes of a node's devices: those of a class differ in
// nothing that a rule knows, and are joined alike to all others.
func alikeDevices(n *placement.Node) []int32 {
	links := make(map[[2]int32]int32, 2*len(n.Links))
	for _, l := range n.Links {
		links[[2]int32{l.A, l.B}], links[[2]int32{l.B, l.A}] = l.NVLinks, l.NVLinks
	}
	out := make([]int32, len(n.Devices))
	for d := range out {
		out[d] = int32(d)
		for first := range d {
			if out[first] == int32(first) && n.Devices[first] == n.Devices[d] && !parted(n, first, d) && joinedAlike(links, int32(first), int32(d), int32(len(out))) {
				out[d] = int32(first)
				break
			}
		}
	}
	return out
}

// parted says whether one of two devices is set aside and the other is not (B9).
func parted(n *placement.Node, a, b int) bool {
	return slices.ContainsFunc(n.Parts, func(p placement.Part) bool { return p.Devices>>a&1 != p.Devices>>b&1 })
}

// joinedAlike says whether two of n devices are joined to every other by as many links.
func joinedAlike(links map[[2]int32]int32, a, b, n int32) bool {
	for d := range n {
		if d != a && d != b && links[[2]int32{a, d}] != links[[2]int32{b, d}] {
			return false
		}
	}
	return true
}
