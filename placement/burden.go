package placement

import (
	"cmp"
	"math/bits"
	"slices"
)

// What is held for later is in the way of a window that reaches it. How much of a node is
// free in the whole of a window is not what is free at any one time of it: of each
// resource, device and slot it is the least. So what is held is not taken task by task but
// node by node: as a burden, by how much less is free than when the window begins.

// burden takes from the index, for each node of which something is held in the window from now on by
// those that are named, by how much less of it is free at some time in the window than
// now, where the index has what stands; steady is that nothing of it
// leaves. It says whether anybody is named. Of nodes that are not to be looked at it takes nothing.
func (p *Profile) burden(until int64, steady bool, where func(node int32) bool, whose func(holder int32) bool) bool {
	w := &p.burdening
	w.named = w.named[:0]
	for _, h := range p.byFrom {
		if h.from >= until {
			break
		}
		if h.until > p.now && whose(h.holder) {
			w.named = append(w.named, h.holder)
		}
	}
	if len(w.named) == 0 {
		return false
	}
	one := p.burdenOf(w.named, steady)
	for i, v := range one.nodes {
		if where == nil || where(v) {
			one.cells[one.at[i]:one.at[i+1]].burden(p.index, v)
		}
	}
	return true
}

// A burdenedFor is by how much less is free of some nodes where it is kept free for some holders. It is so
// whatever stands in the index, as long as nothing else comes to be held or is told to stand: the many
// who ask for room one after the other find it as it was.
type burdenedFor struct {
	holders   []int32
	steady    bool
	nodes, at []int32 // at is where in cells those of each begin, and where the last end
	cells     cells
}

// mostBurdens is of how many lists of holders it is kept.
const mostBurdens = 128

// burdenOf is the burden of some holders, all of whom have begun by the end of the window: then it
// does not depend on when that is.
func (p *Profile) burdenOf(holders []int32, steady bool) *burdenedFor {
	w := &p.burdening
	for i := range w.known {
		if one := &w.known[i]; one.steady == steady && slices.Equal(one.holders, holders) {
			return one
		}
	}
	if len(w.known) == mostBurdens {
		w.forget()
	}
	w.known = append(w.known, burdenedFor{holders: slices.Clone(holders), steady: steady})
	one := &w.known[len(w.known)-1]
	w.begin(len(p.index.nodes))
	for _, holder := range holders {
		for i := range p.holds[holder] {
			w.add(heldStay{&p.holds[holder][i], holder})
		}
	}
	slices.Sort(w.nodes)
	for _, v := range w.nodes {
		w.most = w.most.none(p.index, v)
		w.now = w.now.none(p.index, v)
		p.mostOn(w.most, w.now, v, w.held[w.at[v]-1], p.now, Never, steady)
		if slices.ContainsFunc(w.most, func(n int64) bool { return n != 0 }) {
			one.nodes, one.at = append(one.nodes, v), append(one.at, int32(len(one.cells)))
			one.cells = append(one.cells, w.most...)
		}
	}
	one.at = append(one.at, int32(len(one.cells)))
	return one
}

// A burdening is what one burden needs, kept for the next: what is held in its window, by node.
type burdening struct {
	named     []int32
	known     []burdenedFor
	nodes     []int32
	at        []int32      // by node: where in held its list is, plus one
	held      [][]heldStay // lists, of which as many are in use as there are nodes
	most, now cells
}

// forget forgets all burdens, as something else is held or stands.
func (w *burdening) forget() { w.known = w.known[:0] }

// begin forgets what was held for the one before.
func (w *burdening) begin(nodes int) {
	if len(w.at) < nodes {
		w.at = make([]int32, nodes)
	}
	for _, v := range w.nodes {
		w.at[v] = 0
	}
	w.nodes = w.nodes[:0]
}

func (w *burdening) add(s heldStay) {
	v := s.Place.Node
	if w.at[v] == 0 {
		w.nodes = append(w.nodes, v)
		n := len(w.nodes)
		if w.at[v] = int32(n); n > len(w.held) {
			w.held = append(w.held, nil)
		}
		w.held[n-1] = w.held[n-1][:0]
	}
	list := &w.held[w.at[v]-1]
	*list = append(*list, s)
}

// A heldStay is a task for which a place is held, and for whom.
type heldStay struct {
	*Stay
	holder int32
}

// mostOn adds to most, of a node, by how much less of it is free at some time of a window than
// at its beginning, by what is held there; now is for its use.
func (p *Profile) mostOn(most, now cells, v int32, held []heldStay, from, until int64, steady bool) {
	u := &p.using
	u.begin(held)
	for at := from; ; at = u.next() { // more is taken only when something that is held begins
		users := u.moveTo(at)
		for _, waiting := range [...]bool{false, true} {
			if waiting && (steady || len(p.awaiting) == 0 || !slices.ContainsFunc(users, func(s heldStay) bool { return p.awaits(s.holder) })) {
				break
			}
			p.heldAt(now, v, users, from, at, steady, waiting)
			for c := range most {
				most[c] = max(most[c], now[c])
			}
		}
		if u.next() >= until {
			return
		}
	}
}

// A using goes through the times at which what is held of a node comes into use.
type using struct {
	held   []heldStay
	byFrom []int32    // of held, as they begin
	begun  int        // of byFrom, those that have begun
	now    []int32    // of held, ascending, those that are in use
	users  []heldStay // which are these
}

// begin forgets what was held elsewhere.
func (u *using) begin(held []heldStay) {
	u.held, u.byFrom, u.begun, u.now = held, u.byFrom[:0], 0, u.now[:0]
	for i := range held {
		u.byFrom = append(u.byFrom, int32(i))
	}
	slices.SortFunc(u.byFrom, func(i, k int32) int { return cmp.Compare(held[i].From, held[k].From) })
}

// next is when something begins that has not begun yet; Never is that nothing does.
func (u *using) next() int64 {
	if u.begun == len(u.byFrom) {
		return Never
	}
	return u.held[u.byFrom[u.begun]].From
}

// moveTo is what is in use at a time, which is none before the last, in the order of the list.
func (u *using) moveTo(at int64) []heldStay {
	u.now = slices.DeleteFunc(u.now, func(i int32) bool { return u.held[i].Until <= at })
	for ; u.begun < len(u.byFrom) && u.next() <= at; u.begun++ {
		if i := u.byFrom[u.begun]; u.held[i].Until > at {
			where, _ := slices.BinarySearch(u.now, i)
			u.now = slices.Insert(u.now, where, i)
		}
	}
	u.users = u.users[:0]
	for _, i := range u.now {
		u.users = append(u.users, u.held[i])
	}
	return u.users
}

// heldAt is how much less of a node is free at a time than at the beginning of the window, by those who use
// it then, while those who wait for what stands there wait still, or when all of it has left for them.
func (p *Profile) heldAt(now cells, v int32, users []heldStay, from, at int64, steady, waiting bool) {
	clear(now)
	for _, s := range users {
		if !(waiting && p.awaits(s.holder)) {
			now.add(p.index, s.Stay, 1)
		}
	}
	if steady {
		return
	}
	p.withoutBehind(now, v, users, at, waiting)
	for i := p.lastOn(v); i >= 0; i = p.next[i] - 1 {
		if s := &p.stands[i]; s.Until > from && s.Until <= at && !p.isGone(s) {
			now.add(p.index, s, -1)
		}
	}
}

// awaits says whether a holder waits for what stands on its places.
func (p *Profile) awaits(holder int32) bool {
	_, ok := slices.BinarySearch(p.awaiting, holder)
	return ok
}

// lastOn is of what stands on a node and has an end the last that was told; −1 is nothing.
func (p *Profile) lastOn(v int32) int32 {
	if p.first == nil {
		return -1
	}
	return p.first[v] - 1
}

// withoutBehind takes off what stands on a node behind those who use what is held there at a
// time, and would not have ended by then; waiting is that it is still there for whom it is awaited.
func (p *Profile) withoutBehind(now cells, v int32, users []heldStay, at int64, waiting bool) {
	known := int32(-1) // the holders stand side by side
	for i, s := range users {
		if i > 0 && s.holder == known {
			continue
		}
		if known = s.holder; waiting && p.awaits(known) {
			continue
		}
		behind := p.behind[s.holder]
		for k := range behind {
			if one := &behind[k]; one.Place.Node == v && one.Until > at && !p.isGone(one) && !p.goesFor(users[:i], one, waiting) {
				now.add(p.index, one, -1)
			}
		}
	}
}

// goesFor says whether a task that stands behind one stands behind any of those others too who use what
// is held of its node: it goes once.
func (p *Profile) goesFor(users []heldStay, one *Stay, waiting bool) bool {
	return slices.ContainsFunc(users, func(s heldStay) bool {
		return !(waiting && p.awaits(s.holder)) && slices.ContainsFunc(p.behind[s.holder], one.IsAlike)
	})
}

// IsAlike says whether another task is of the same shape at the same place up to the same time, and the
// same one as far as its caller tells.
func (s *Stay) IsAlike(other Stay) bool {
	return s.Place == other.Place && s.Shape == other.Shape && s.Until == other.Until && s.Of == other.Of
}

// cells are amounts of what a task may take a part of on a node: its resources, its
// devices, its slots and those for tasks without devices; then, where there are more, by team how many
// of its tasks there are.
type cells []int64

// none are those of a node, all 0, in the place of others.
func (c cells) none(x *Index, v int32) cells {
	n := c.width(x, v)
	if cap(c) < n {
		return make(cells, n)
	}
	clear(c[:n])
	return c[:n]
}

// width is how many those of a node are, without what is counted by team.
func (cells) width(x *Index, v int32) int {
	return x.resources + len(x.layouts[x.nodes[v].layout].scale) + 2
}

// add adds what a task takes, so many times.
func (c cells) add(x *Index, s *Stay, times int64) {
	sh := x.shape(s.Shape)
	for _, a := range sh.amounts {
		c[a.Resource] += times * a.Value
	}
	l := &x.layouts[x.nodes[s.Place.Node].layout]
	for m := s.Place.Devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		c[x.resources+d] += times * sh.units(l, d)
	}
	last := x.resources + len(l.scale)
	c[last] += times
	if sh.count == 0 {
		c[last+1] += times
	}
}

// burden has so much less of a node be free, until the mark is undone that is outstanding.
func (c cells) burden(x *Index, v int32) {
	if !slices.ContainsFunc(c, func(n int64) bool { return n != 0 }) {
		return
	}
	x.journal.entries = append(x.journal.entries, entry{
		place: Place{Node: v, Devices: uint64(len(x.journal.cells))}, shape: burdened,
	})
	x.journal.cells = append(x.journal.cells, c...)
	c.load(x, v, -1)
}

// burdened is, in the journal, the shape of what is no task but a burden; its cells begin
// where the devices say.
const burdened Shape = -1

// unburden takes a burden back, which is the last in the journal.
func (e *entry) unburden(x *Index) {
	at := int(e.place.Devices)
	x.journal.cells[at:].load(x, e.place.Node, 1)
	x.journal.cells = x.journal.cells[:at]
}

// load changes what is free of a node in both layers.
func (c cells) load(x *Index, v int32, sign int64) {
	nd, free, l := &x.nodes[v], x.freeOf(v), &x.layouts[x.nodes[v].layout]
	for r := range free {
		free[r] += sign * c[r]
	}
	for d := range l.scale {
		x.left[int(nd.devices)+d] += sign * c[x.resources+d]
	}
	last := x.resources + len(l.scale)
	nd.slots += sign * c[last]
	nd.cpuOnlySlots += sign * c[last+1]
	for team, tasks := range c[last+2:] {
		x.teams[team].tasks[v] -= int32(sign * tasks)
	}
	x.moved.push(v)
	if slices.ContainsFunc(c, func(n int64) bool { return sign*n > 0 }) {
		x.grown.push(v)
		x.opened.push(v)
	}
	x.settle(v, l.all())
	if x.release != nil && x.release.after != nil {
		c.load(x.release.after, v, sign)
	}
}
