package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// A part is a domain, or a node by its position, with how many tasks it takes and
// how many it is given.
type part struct {
	domain   placement.Domain
	takes, n int64 // 0 ≤ n ≤ takes; in whole slices where there are any
	free     int64 // of a domain: tasks that it would take were there no slices, at least takes
	had      int64 // tasks of the set that it holds already
	apart    bool  // its nodes lack the level, so that it is used last
}

// placeSet places the unit's tasks of a set in an area: first what belongs to slices
// of which something is held or missing, then the rest in whole slices.
func (w *search) placeSet(s int32, where area, c Constraint) bool {
	cuts := w.slices(s)
	whole, rests := w.chunks(s)
	for _, rest := range rests {
		if !w.placeRest(s, where, rest, cuts) {
			return false
		}
	}
	if len(whole) == 0 {
		return true
	}
	if c.Preferred == 0 {
		return w.fill(s, where, whole, cuts)
	}
	if len(where) == 1 && w.t.LevelOf(where[0]) >= c.Preferred {
		return w.fillClose(s, where, whole, cuts)
	}
	parts := slices.Clone(w.parts(s, where, c.Preferred, cuts)) // what fills them asks for others
	unit := int64(1)
	if len(cuts) > 0 {
		unit = int64(cuts[0].Size)
	}
	if w.countHeld(s, parts, c.Preferred) {
		if !shareWithHeld(parts, int64(len(whole)), unit, c.Mode) {
			return false
		}
	} else if !w.share(parts, int64(len(whole)), unit, c.Mode) {
		return false
	}
	ones, inside := make(area, len(parts)), make([]area, len(parts))
	for i := range parts {
		ones[i] = parts[i].domain
		inside[i] = ones[i : i+1 : i+1]
	}
	return fillParts(parts, inside, whole, func(where area, tasks []int32) bool { return w.fillClose(s, where, tasks, cuts) })
}

// fillClose places tasks in one domain slice by slice or, where there are none, in few
// domains.
func (w *search) fillClose(s int32, where area, tasks []int32, cuts []Slice) bool {
	if len(cuts) == 0 {
		return w.narrow(s, where, tasks)
	}
	return w.fill(s, where, tasks, cuts)
}

// fillParts gives every part, each of which is an area, its tasks in their order.
func fillParts(parts []part, inside []area, tasks []int32, fill func(area, []int32) bool) bool {
	for i := range parts {
		n := parts[i].n
		if n > 0 && !fill(inside[i], tasks[:n]) {
			return false
		}
		tasks = tasks[n:]
	}
	return true
}

// index is that of a task of the unit in its set.
func (w *search) index(s, task int32) int32 {
	if w.siblings.Indices == nil {
		return task
	}
	return w.siblings.Indices[s][task]
}

// chunks parts the unit's tasks of a set into those of slices that are all in the
// unit, and the rests of the others, slice by slice.
func (w *search) chunks(s int32) (whole []int32, rests [][]int32) {
	n := w.g.added(w.u, int(s))
	tasks := make([]int32, n)
	for i := range tasks {
		tasks[i] = int32(i)
	}
	cuts := w.slices(s)
	if len(cuts) == 0 {
		return tasks, nil
	}
	size := cuts[0].Size
	slices.SortStableFunc(tasks, func(a, b int32) int { return cmp.Compare(w.index(s, a), w.index(s, b)) })
	for _, part := range w.slicesOf(s, tasks, size) {
		if int32(len(part)) == size {
			whole = append(whole, part...)
		} else {
			rests = append(rests, part)
		}
	}
	return whole, rests
}

// slicesOf parts tasks, which are by index, into those of one slice each.
func (w *search) slicesOf(s int32, tasks []int32, size int32) (out [][]int32) {
	for len(tasks) > 0 {
		to := 1
		for to < len(tasks) && w.index(s, tasks[to])/size == w.index(s, tasks[0])/size {
			to++
		}
		out = append(out, tasks[:to])
		tasks = tasks[to:]
	}
	return out
}

// broken says whether the unit has only a part of some slice.
func (w *search) broken(s int32) bool {
	if w.known == nil {
		w.known = make([]int8, len(w.g.sets))
	}
	if w.known[s] == 0 { // every area asks again
		w.known[s] = 1
		if _, rests := w.chunks(s); len(rests) > 0 {
			w.known[s] = 2
		}
	}
	return w.known[s] == 2
}

// placeRest places what the unit has of one slice, beside what is held of it (T6);
// if nothing is, where the whole slice would fit, if it can.
func (w *search) placeRest(s int32, where area, rest []int32, cuts []Slice) bool {
	if len(cuts) == 0 {
		return w.onNodes(s, where, rest)
	}
	home, held := w.homeOf(s, rest, cuts[0])
	if held && home < 0 {
		return false
	}
	var list []candidate
	for _, e := range w.divide(where, cuts[0].Level) {
		one := candidate{area: e, room: w.takes(s, e, nil)}
		if held && w.domainAt(e[0], cuts[0].Level) != home || one.room < int64(len(rest)) {
			continue
		}
		if one.room < int64(cuts[0].Size) { // the fuller it is, the sooner the next one fails
			one.quality, one.room = quality{1: 1}, -one.room
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return compareCandidates(&a, &b) })
	for i := range list {
		if w.attempt(func() bool { return w.restInside(s, list[i].area, rest, cuts[1:]) }) {
			return true
		}
	}
	return false
}

// restInside places the rest of a slice in its domain, slice by slice of the next
// narrower kind.
func (w *search) restInside(s int32, where area, rest []int32, cuts []Slice) bool {
	if len(cuts) == 0 {
		return w.onNodes(s, where, rest)
	}
	for _, part := range w.slicesOf(s, rest, cuts[0].Size) {
		if !w.placeRest(s, where, part, cuts) {
			return false
		}
	}
	return true
}

// parts lists the domains of a level in an area with what each takes, in order;
// nodes that lack the level stand behind them, one by one or, where there are slices,
// domain by domain of the next narrower level that they have. No part is narrower than
// a slice. The list is good until the next call.
func (w *search) parts(s int32, where area, level placement.Level, cuts []Slice) []part {
	if len(cuts) > 0 {
		level = min(level, cuts[0].Level)
	}
	rooms := w.x.Rooms(w.g.sets[s].Shape)
	out, apart := w.scratch.parts[:0], []part(nil)
	add := func(d placement.Domain, lacks bool) {
		n := w.takesIn(rooms, d, cuts)
		if n <= 0 {
			return
		}
		one := part{domain: d, takes: n, free: n, apart: lacks}
		if len(cuts) > 0 {
			one.free = w.takesIn(rooms, d, nil)
		}
		if lacks {
			apart = append(apart, one)
		} else {
			out = append(out, one)
		}
	}
	for _, d := range where {
		if w.t.LevelOf(d) >= level {
			add(d, w.domainAt(d, level) < 0)
			continue
		}
		nodes := w.t.Nodes(d)
		for len(nodes) > 0 {
			e := w.t.Of(nodes[0], level)
			lacks := e < 0
			if lacks {
				e = aloneAt(w.t, nodes[0], level, cuts)
			}
			add(e, lacks)
			nodes = nodes[len(w.t.Nodes(e)):]
		}
	}
	w.scratch.parts = append(out, apart...)
	return w.scratch.parts
}

// aloneAt is the domain that a node which lacks a level is in there: of the node alone or,
// where slices are to be in one, the widest below that it has.
func aloneAt(t *placement.Topology, node int32, level placement.Level, cuts []Slice) placement.Domain {
	narrower := level + 1
	if len(cuts) == 0 {
		narrower = t.NodeLevel()
	}
	e := t.Of(node, narrower)
	for e < 0 {
		narrower++
		e = t.Of(node, narrower)
	}
	return e
}

// share gives n tasks, in units of so many, to the parts by the mode, and says
// whether they take them.
func (w *search) share(parts []part, n, unit int64, mode Mode) bool {
	total := int64(0)
	for i := range parts {
		total += parts[i].takes
	}
	if total < n {
		return false
	}
	usable := parts
	proper := int64(0)
	for i := range parts {
		if !parts[i].apart {
			proper += parts[i].takes
		} else if proper >= n {
			usable = parts[:i]
			break
		}
	}
	switch {
	case mode == Spread:
		even(mostRoom(usable, int(n/unit)), n, unit)
	case mode == Balance:
		even(balance(usable, n, unit), n, unit)
	case w.LeastFreeFirst:
		leastFree(usable, n)
	default:
		pack(usable, n)
	}
	return true
}

// pack gives n tasks to the fewest parts: the largest while none takes all that is
// left, then the fullest that does, so that big ones stay whole (T5). Parts that lack
// the level come last, and are as few as can be.
func pack(parts []part, n int64) (used int) {
	order := fewestFirst(byRoom(parts), n)
	for n > 0 && used < len(order) {
		pick := order[used]
		for _, o := range order[used+1:] {
			if o.apart == pick.apart && o.takes >= n && cmp.Or(cmp.Compare(o.takes, pick.takes), cmp.Compare(o.free, pick.free)) < 0 {
				pick = o
			}
		}
		if pick != order[used] { // it takes all that is left
			pick.n = n
			return used + 1
		}
		pick.n = min(n, pick.takes)
		n -= pick.n
		used++
	}
	return used
}

// fewestFirst leaves of parts by room only so many that have the level as stand among the
// fewest parts that take n tasks together; all of them where those that lack it are not
// needed.
func fewestFirst(order []*part, n int64) []*part {
	proper := firstOf(order, func(p *part) bool { return p.apart })
	room := int64(0) // of those that have the level and are left, and of as few others as do
	for _, p := range order[:proper] {
		room += p.takes
	}
	if room >= n || proper == 0 {
		return order
	}
	left, few, others := proper, len(order)+1, proper
	for kept := proper; kept >= 0; kept-- { // the fewer are left, the more others are needed
		for ; room < n && others < len(order); others++ {
			room += order[others].takes
		}
		if room < n {
			break
		}
		if used := kept + others - proper; used < few {
			left, few = kept, used
		}
		if kept > 0 {
			room -= order[kept-1].takes
		}
	}
	return append(order[:left:left], order[proper:]...)
}

// packed is how many parts pack uses; it gives nothing.
func packed(parts []part, n int64) int {
	used := pack(parts, n)
	for i := range parts {
		parts[i].n = 0
	}
	return used
}

// byRoom orders the parts: those that have the level first, then by room, the
// largest first.
func byRoom(parts []part) []*part {
	order := make([]*part, len(parts))
	sorted := true
	for i := range parts {
		order[i] = &parts[i]
		sorted = sorted && (i == 0 || compareRoom(order[i-1], order[i]) <= 0)
	}
	if sorted {
		return order
	}
	slices.SortStableFunc(order, compareRoom)
	return order
}

// compareRoom puts parts that have the level first, then those with the most room,
// and of these those that are broken already.
func compareRoom(a, b *part) int {
	return cmp.Or(apartLast(a, b), cmp.Compare(b.takes, a.takes), cmp.Compare(a.free, b.free))
}

// apartLast orders parts that have the level before those that lack it.
func apartLast(a, b *part) int {
	switch {
	case a.apart == b.apart:
		return 0
	case a.apart:
		return 1
	}
	return -1
}

// leastFree gives n tasks to the parts with the least room first (T5).
func leastFree(parts []part, n int64) {
	order := byRoom(parts)
	slices.SortStableFunc(order, func(a, b *part) int {
		return cmp.Or(apartLast(a, b), cmp.Compare(a.takes, b.takes))
	})
	for _, p := range order {
		p.n = min(n, p.takes)
		n -= p.n
	}
}

// mostRoom are the so many parts that have the most room.
func mostRoom(parts []part, count int) []*part {
	order := byRoom(parts)
	return order[:min(count, len(order))]
}

// even gives n tasks to the parts, in units of so many, so that the smallest is as
// large as can be, and among such the next one; what is left over goes to those
// with the most room.
func even(parts []*part, n, unit int64) {
	order := slices.Clone(parts)
	slices.SortStableFunc(order, func(a, b *part) int { return cmp.Compare(a.takes, b.takes) })
	units := n / unit
	for i, p := range order { // from the least room on: what one cannot take the others do
		left := int64(len(order) - i)
		share := min(units/left, p.takes/unit)
		p.n = share * unit
		units -= share
	}
}

// fill places tasks in an area slice by slice.
func (w *search) fill(s int32, where area, tasks []int32, cuts []Slice) bool {
	if len(cuts) == 0 {
		return w.onNodes(s, where, tasks)
	}
	var parts []part
	var inside []area // the parts'
	size := int64(cuts[0].Size)
	total := int64(0)
	for _, e := range w.divide(where, cuts[0].Level) {
		n := w.takes(s, e, cuts[1:])
		if n -= n % size; n > 0 {
			parts = append(parts, part{takes: n, free: w.takes(s, e, nil)})
			inside = append(inside, e)
			total += n
		}
	}
	if total < int64(len(tasks)) {
		return false
	}
	if w.LeastFreeFirst {
		leastFree(parts, int64(len(tasks)))
	} else {
		pack(parts, int64(len(tasks)))
	}
	return fillParts(parts, inside, tasks, func(where area, tasks []int32) bool { return w.fill(s, where, tasks, cuts[1:]) })
}

// onNodes places tasks on the nodes of an area by the strategy of their set:
// bin-packing from the fullest node on, spreading from the emptiest, first by
// position. In the whole cluster the index finds the nodes.
func (w *search) onNodes(s int32, where area, tasks []int32) bool {
	set := &w.g.sets[s]
	strategy := w.st.of(set)
	if len(where) == 1 && where[0] == 0 && w.idle == nil {
		for _, task := range tasks {
			place, ok := w.x.Find(set.Shape, strategy)
			if !ok || !w.take(s, task, place) {
				return false
			}
		}
		return true
	}
	return w.onThese(s, w.nodesFor(s, where, int64(len(tasks)), strategy), tasks)
}

// onThese places tasks on nodes, on each as many as it is given.
func (w *search) onThese(s int32, nodes []part, tasks []int32) bool {
	set := &w.g.sets[s]
	for i := range nodes {
		for range nodes[i].n {
			place, ok := w.x.PlaceOn(set.Shape, int32(nodes[i].domain), w.st.of(set))
			if !ok || !w.take(s, tasks[0], place) {
				break
			}
			tasks = tasks[1:]
		}
	}
	return len(tasks) == 0
}

// take takes a place for a task of the unit.
func (w *search) take(s, task int32, place placement.Place) bool {
	if w.barred(s, place.Node) || w.x.Take(w.g.sets[s].Shape, place) != nil {
		return false
	}
	w.dst[w.begin[s]+task] = place
	w.placed++
	w.peak = max(w.peak, w.placed)
	return true
}

// nodesFor lists nodes of an area, by position in place of domain, with how many of
// n tasks each is given.
func (w *search) nodesFor(s int32, where area, n int64, strategy placement.Strategy) []part {
	nodes := w.nodesWithin(s, where)
	slices.SortFunc(nodes, func(a, b part) int {
		byPosition := cmp.Compare(a.domain, b.domain)
		switch strategy {
		case placement.First:
			return byPosition
		case placement.Spread:
			return cmp.Or(cmp.Compare(b.takes, a.takes), byPosition)
		}
		return cmp.Or(cmp.Compare(a.takes, b.takes), byPosition)
	})
	if strategy == placement.Spread {
		even(mostRoom(nodes, int(n)), n, 1)
		return nodes
	}
	fillInOrder(nodes, n)
	return nodes
}

// nodesWithin lists the nodes of an area that take a task of the set, by position in
// place of domain, with how many they take. The list is good until the next call.
func (w *search) nodesWithin(s int32, where area) []part {
	rooms := w.x.Rooms(w.g.sets[s].Shape)
	nodes := w.scratch.nodes[:0]
	for _, d := range where {
		for _, v := range w.t.Nodes(d) {
			if rooms[v] > 0 && !w.barred(s, v) {
				nodes = append(nodes, part{domain: placement.Domain(v), takes: int64(rooms[v])})
			}
		}
	}
	w.scratch.nodes = nodes
	return nodes
}
