package placement

import (
	"math"
	"math/bits"
	"slices"
)

// Fits reports whether exactly this place would take one task of the shape now, or
// where it is pipelined, once all that is releasing has left: every predicate of P1
// holds for the node, and the devices are healthy, accepted, of one model and have
// room.
func (x *Index) Fits(s Shape, p Place) bool {
	switch {
	case x.now != nil:
		return x.now.Fits(s, p)
	case p.Pipelined && x.release != nil && x.release.nodes[p.Node] != nil:
		return x.release.nodes[p.Node].fits(x, s, p)
	case !x.Admits(s, p):
		return false
	}
	sh, nd := x.shape(s), &x.nodes[p.Node]
	return x.takes(sh, p.Node, false) &&
		(sh.count == 0 || p.Devices&^x.withRoom(sh, nd, p.Devices&sh.capable[nd.layout]&nd.healthy) == 0)
}

// Admits reports whether exactly this place would take one task of the shape
// if nothing were on the node: Fits, but for what is in use.
func (x *Index) Admits(s Shape, p Place) bool {
	sh := x.shape(s)
	if sh == nil || p.Node < 0 || int(p.Node) >= len(x.nodes) || !sh.allowed.has(p.Node) {
		return false
	}
	nd := &x.nodes[p.Node]
	if bits.OnesCount64(p.Devices) != sh.count || p.Devices&^(sh.capable[nd.layout]&nd.healthy) != 0 {
		return false
	}
	l := &x.layouts[nd.layout]
	return sh.count == 0 || sh.admits(l, p.Devices) && slices.ContainsFunc(l.groups, func(g group) bool {
		return p.Devices&^g.mask == 0
	})
}

// A Lack is what a place has not free of what one task of a shape asks there.
type Lack struct {
	Resources []int32 // by index
	Devices   uint64
	// Slots and CPUOnlySlots: no task more may stand there, or none without devices.
	Slots, CPUOnlySlots bool
}

// Nothing reports whether nothing is lacking.
func (l *Lack) Nothing() bool {
	return len(l.Resources) == 0 && l.Devices == 0 && !l.Slots && !l.CPUOnlySlots
}

// Lacks returns what exactly this place, which admits the shape, has not free
// for one task of it now.
func (x *Index) Lacks(s Shape, p Place) Lack {
	sh, nd := x.shape(s), &x.nodes[p.Node]
	out := Lack{Slots: nd.slots < 1, CPUOnlySlots: sh.count == 0 && nd.cpuOnlySlots < 1}
	free := x.freeOf(p.Node)
	for _, a := range sh.amounts {
		if free[a.Resource] < a.Value {
			if out.Resources == nil {
				out.Resources = make([]int32, 0, len(sh.amounts))
			}
			out.Resources = append(out.Resources, a.Resource)
		}
	}
	if sh.count > 0 {
		out.Devices = p.Devices &^ x.withRoom(sh, nd, p.Devices)
	}
	return out
}

// Candidates returns how many tasks of the shape the nodes could take at most
// if all of them were empty: a sound upper bound, exact where a task takes one
// device or none, or whole ones in an island (see [Index.RoomOn]). It stops at the largest int. Cordoned nodes count nothing. It
// takes time linear in the nodes, once.
func (x *Index) Candidates(s Shape) int {
	sh := x.shape(s)
	if sh == nil {
		return 0
	}
	if sh.candidates < 0 {
		var sum int64
		for v := range x.nodes {
			if sh.allowed.has(int32(v)) {
				sum = addUpTo(sum, x.emptyRoom(sh, int32(v)))
			}
		}
		sh.candidates = int(min(sum, math.MaxInt))
	}
	return sh.candidates
}

// emptyRoom bounds how many tasks an allowed node takes when empty.
func (x *Index) emptyRoom(sh *shape, v int32) int64 {
	tasks := x.slots[v].tasks
	if sh.count == 0 {
		tasks = min(tasks, x.slots[v].cpuOnly)
	}
	capacity := x.capacityOf(v)
	for _, a := range sh.amounts {
		tasks = min(tasks, capacity[a.Resource]/a.Value)
	}
	if sh.count == 0 {
		return tasks
	}
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	var byDevices int64
	for i := range l.groups {
		if sh.island != AnyIsland {
			byDevices += x.islandRoom(sh, l, x.roomWhenEmpty(sh, v, l.groups[i].mask), func(d int) int64 {
				return x.unforeign(nd, d)
			})
			continue
		}
		var parts int64
		for m := sh.capable[nd.layout] & nd.healthy & l.groups[i].mask; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			parts += x.unforeign(nd, d) / sh.units(l, d)
		}
		byDevices += parts / int64(sh.count)
	}
	return min(tasks, byDevices)
}

// addUpTo returns a + b, for a, b ≥ 0, or the largest int64.
func addUpTo(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// freeMilli sums what is free of the devices, each rounded down.
func (x *Index) freeMilli(nd *node, devices uint64) int64 {
	l := &x.layouts[nd.layout]
	sum := 1000 * int64(bits.OnesCount64(devices&nd.whole))
	for m := devices & nd.shared; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		sum += x.left[int(nd.devices)+d] / l.scale[d]
	}
	return sum
}

// Reject says why nodes do not take a task of the shape now. It looks at every
// node; asked again for the shape while nothing has changed, it answers from
// memory. An unknown shape is rejected by nobody.
func (x *Index) Reject(s Shape) Rejection {
	sh := x.shape(s)
	if sh == nil {
		return Rejection{Nearest: Miss{Node: -1}}
	}
	if sh.rejected == x.version+1 {
		return sh.rejection
	}
	r := Rejection{Ever: sh.ever, Nearest: Miss{Node: -1, Resource: -1}, Free: x.Free(sh.request.Set)}
	at, last := 0, new(deviceMiss)
	for v := range x.nodes {
		if last.known && last.isAlike(x, sh, int32(v)) { // which is no nearer
			if !last.takes {
				r.Counts[last.at].Nodes++
			}
			continue
		}
		m := x.miss(sh, int32(v))
		noted := last.note(sh, &x.nodes[v], &m)
		if m.Predicate == 0 {
			continue
		}
		if m.nearer(r.Nearest) {
			r.Nearest = m
		}
		if at >= len(r.Counts) || r.Counts[at].Predicate != m.Predicate || r.Counts[at].Resource != m.Resource {
			at = slices.IndexFunc(r.Counts, func(c Count) bool {
				return c.Predicate == m.Predicate && c.Resource == m.Resource
			})
			if at < 0 {
				at = len(r.Counts)
				r.Counts = append(r.Counts, Count{m.Predicate, m.Resource, 0})
			}
		}
		r.Counts[at].Nodes++
		if noted {
			last.at = at
		}
	}
	slices.SortFunc(r.Counts, func(a, b Count) int {
		if a.Predicate != b.Predicate {
			return int(a.Predicate) - int(b.Predicate)
		}
		return int(a.Resource) - int(b.Resource)
	})
	sh.rejection, sh.rejected = r, x.version+1
	return r
}

// nearer reports whether m lacks less than n, of a lower position or none.
func (m Miss) nearer(n Miss) bool {
	if n.Node < 0 || m.Predicate != n.Predicate {
		return n.Node < 0 || m.Predicate > n.Predicate
	}
	// (need − have)/need, compared crosswise in 128 bits.
	mh, ml := bits.Mul64(uint64(m.Need-m.Have), uint64(n.Need))
	nh, nl := bits.Mul64(uint64(n.Need-n.Have), uint64(m.Need))
	return mh < nh || mh == nh && ml < nl
}

// A deviceMiss is a node that lacks nothing but devices, of which none is shared, or that takes the task: the next
// with the same devices, and with all else, lacks the same.
type deviceMiss struct {
	known, takes   bool
	layout         int32
	healthy, whole uint64
	at             int // where it is counted, if it lacks some
}

// note takes note of a node, if its miss is such a one.
func (d *deviceMiss) note(sh *shape, nd *node, m *Miss) bool {
	switch m.Predicate {
	case 0, FreeDevices, Fragmented, FreeIsland:
		if sh.count > 0 && nd.shared == 0 {
			*d = deviceMiss{true, m.Predicate == 0, nd.layout, nd.healthy, nd.whole, 0}
			return true
		}
	}
	return false
}

// isAlike reports whether another node misses what this one does.
func (d *deviceMiss) isAlike(x *Index, sh *shape, v int32) bool {
	nd := &x.nodes[v]
	if d.layout != nd.layout || d.healthy != nd.healthy || d.whole != nd.whole || nd.shared != 0 || sh.banned[nd.kind] != 0 ||
		nd.slots < 1 || sh.labels.bits != nil && !sh.labels.has(v) {
		return false
	}
	free := x.freeOf(v) // no more than there is
	for _, a := range sh.amounts {
		if free[a.Resource] < a.Value {
			return false
		}
	}
	return x.foreign == nil || !missCount(x, sh, v, new(Miss))
}

// miss returns the first predicate that fails on a node, or one with the
// Predicate 0.
func (x *Index) miss(sh *shape, v int32) Miss {
	nd := &x.nodes[v]
	m := Miss{Node: v, Resource: -1, Need: 1}
	banned := sh.banned[nd.kind]
	switch {
	case banned != 0 && banned < Labels:
		m.Predicate = banned
	case sh.labels.bits != nil && !sh.labels.has(v):
		m.Predicate = Labels
	case banned != 0:
		m.Predicate = banned
		switch banned {
		case Model:
			m.Need = int64(sh.count)
		case DeviceMemory:
			m.Have, m.Need = x.mostMemory(sh, nd), sh.needMemory()
		}
	case sh.senseless:
		x.missSense(sh, &m)
	case missCount(x, sh, v, &m):
	case !lacks(&m, Capacity, sh, x.capacityOf(v)):
		x.missNow(sh, v, &m)
	}
	return m
}

// missCount fills in the miss if the empty node has too few devices.
func missCount(x *Index, sh *shape, v int32, m *Miss) bool {
	most := x.mostOfOneModel(sh, v, AnyIsland)
	if m.Predicate = DeviceCount; most >= sh.count && sh.island != AnyIsland {
		most, m.Predicate = x.mostOfOneModel(sh, v, sh.island), IslandSize
	}
	if most >= sh.count {
		m.Predicate = 0
		return false
	}
	m.Have, m.Need = int64(most), int64(sh.count)
	return true
}

// missSense tells what of a senseless request nothing can satisfy.
func (x *Index) missSense(sh *shape, m *Miss) {
	m.Predicate, m.Need = DeviceCount, int64(max(1, sh.count))
	for _, a := range sh.amounts {
		if a.Resource < 0 || int(a.Resource) >= x.resources {
			m.Predicate, m.Resource, m.Need = Capacity, a.Resource, max(1, a.Value)
			return
		}
	}
}

// lacks fills in the miss if some amount is not there.
func lacks(m *Miss, p Predicate, sh *shape, there []int64) bool {
	for _, a := range sh.amounts {
		if have := there[a.Resource]; have < a.Value {
			m.Predicate, m.Resource, m.Have, m.Need = p, a.Resource, have, a.Value
			return true
		}
	}
	return false
}

// missNow fills in what is not free now.
func (x *Index) missNow(sh *shape, v int32, m *Miss) {
	nd := &x.nodes[v]
	switch {
	case nd.slots < 1:
		m.Predicate, m.Have = TaskSlots, nd.slots
	case sh.count == 0 && nd.cpuOnlySlots < 1:
		m.Predicate, m.Have = CPUOnlySlots, nd.cpuOnlySlots
	case lacks(m, Resources, sh, x.freeOf(v)):
	case sh.count > 0:
		x.missDevices(sh, nd, m)
	}
}

// missDevices fills in that too few devices are free: in pieces, if what is
// free of an accepted model would do in all.
func (x *Index) missDevices(sh *shape, nd *node, m *Miss) {
	l := &x.layouts[nd.layout]
	capable := sh.capable[nd.layout] & nd.healthy
	most, inIsland, inPieces := 0, 0, false
	for i := range l.groups {
		devices := capable & l.groups[i].mask
		if devices == 0 {
			continue
		}
		room := x.withRoom(sh, nd, devices)
		most = max(most, bits.OnesCount64(room))
		inIsland = max(inIsland, l.largest(sh.island, room))
		first := bits.TrailingZeros64(devices)
		need := ceilDiv(sh.units(l, first), l.scale[first])
		inPieces = inPieces || x.freeMilli(nd, devices) >= need*int64(sh.count)
	}
	if most >= sh.count {
		if inIsland < sh.count {
			m.Predicate, m.Have, m.Need = FreeIsland, int64(inIsland), int64(sh.count)
		}
		return
	}
	m.Predicate, m.Have, m.Need = FreeDevices, int64(most), int64(sh.count)
	if inPieces {
		m.Predicate = Fragmented
	}
}

// mostMemory is the largest memory of a device of an accepted model.
func (x *Index) mostMemory(sh *shape, nd *node) int64 {
	l := &x.layouts[nd.layout]
	most := int64(0)
	for _, g := range l.groups {
		if sh.request.Models != nil && !slices.Contains(sh.request.Models, g.model) {
			continue
		}
		for m := g.mask; m != 0; m &= m - 1 {
			most = max(most, l.memory[bits.TrailingZeros64(m)])
		}
	}
	return most
}
