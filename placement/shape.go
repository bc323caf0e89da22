package placement

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/quota"
)

// A shape is a request as the index holds it.
type shape struct {
	request Request // the index's own copy, in normal form
	count   int     // devices
	island  Island  // in which they are
	whole   bool    // whole devices
	memory  int64   // bytes of each device, instead of milli
	milli   int64   // of each device
	amounts quota.Amounts
	// senseless requests fit nowhere.
	senseless bool
	preferred Shape // the same in the island that is preferred, or −1
	team      int32 // see GPUClustering; −1 takes no devices

	capable []uint64    // by layout: the devices that are accepted
	banned  []Predicate // by kind: the first of its predicates to fail, or 0
	labels  bitmap      // nodes that the selector matches; nil words for all
	allowed bitmap      // nodes that would take the task were they empty; read only
	ever    bool        // there are such nodes

	finders    [lastStrategy + 1]*finder // by strategy
	candidates int                       // -1 until asked for
	rejection  Rejection
	rejected   uint64 // the index's version of rejection, plus one
	rooms      rooms
}

// units is what the task takes of a device that it is given.
func (sh *shape) units(l *layout, device int) int64 {
	switch {
	case sh.count <= 0 || sh.senseless:
		return 0
	case sh.memory > 0:
		return 1000 * sh.memory
	}
	return sh.milli * l.scale[device]
}

// Shape returns the name of a request, the same for equal ones. What of the
// request depends on the nodes' descriptions alone is computed here, once: time
// linear in the kinds of nodes where every node qualifies, else in the nodes.
// The request is copied.
func (x *Index) Shape(r Request) Shape {
	if x.now != nil {
		return x.now.Shape(r)
	}
	r = normal(r)
	preferred := Shape(-1)
	if r.PreferIsland != AnyIsland {
		closer := r
		closer.Island, closer.PreferIsland = r.PreferIsland, AnyIsland
		preferred = x.Shape(closer)
	}
	x.key = appendRequestKey(x.key[:0], &r)
	if s, known := x.byKey[string(x.key)]; known {
		return s
	}
	r.Amounts, r.Tolerations = slices.Clone(r.Amounts), slices.Clone(r.Tolerations)
	sh := &shape{
		request: r, count: int(r.Devices), island: r.Island, preferred: preferred, amounts: r.Amounts,
		memory: r.Memory, milli: r.Milli, candidates: -1,
	}
	sh.whole = sh.memory == 0 && sh.milli == 1000
	sh.senseless = r.Devices < 0 || !r.Island.Valid() || !r.PreferIsland.Valid() || r.Milli < 0 || r.Milli > 1000 || r.Memory < 0 || r.Memory > MaxMemory ||
		r.Amounts.Validate(x.resources) != nil
	sh.team = x.teamOf(sh)
	x.compile(sh)
	s := Shape(len(x.shapes))
	x.shapes = append(x.shapes, sh)
	x.byKey[string(x.key)] = s
	if x.release != nil && x.release.after != nil {
		sh.copyTo(x.release.after)
	}
	return s
}

// shape returns the shape of that name, or nil.
func (x *Index) shape(s Shape) *shape {
	if s < 0 || int(s) >= len(x.shapes) {
		return nil
	}
	return x.shapes[s]
}

// normal returns the request in a form in which equal meanings are equal; it
// shares the lists that it leaves as they are.
func normal(r Request) Request {
	if r.Devices == 0 {
		r.Milli, r.Memory, r.MinMemory, r.Models = 0, 0, 0, nil
	} else if r.Milli == 0 || r.Memory > 0 {
		r.Milli = 1000
	}
	if r.Devices <= 1 {
		r.Island, r.PreferIsland = AnyIsland, AnyIsland
	}
	if r.PreferIsland <= r.Island {
		r.PreferIsland = AnyIsland // it asks for nothing more
	}
	r.MinMemory = max(0, r.MinMemory)
	r.Set = max(-1, r.Set)
	r.Models, r.Classes = sortedSet(r.Models), sortedSet(r.Classes)
	if len(r.Closed) > 0 {
		r.Closed = sortedSet(r.Closed)
	} else {
		r.Closed = nil
	}
	if r.Selector != nil && r.Selector.IsZero() {
		r.Selector = nil
	}
	return r
}

// sortedSet keeps the difference between nil (any) and empty (none).
func sortedSet(a []int32) []int32 {
	a = slices.Clone(a)
	slices.Sort(a)
	return slices.Compact(a)
}

// appendRequestKey appends what tells a normal request from others.
func appendRequestKey(key []byte, r *Request) []byte {
	for _, n := range [...]int64{int64(r.Devices), r.Milli, r.Memory, r.MinMemory, int64(r.Set), int64(r.Island)<<8 | int64(r.PreferIsland)} {
		key = binary.AppendVarint(key, n)
	}
	for _, list := range [...][]int32{r.Models, r.Classes, r.Closed} {
		length := int64(len(list))
		if list == nil {
			length = -1
		}
		key = binary.AppendVarint(key, length)
		for _, n := range list {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	key = binary.AppendUvarint(key, uint64(len(r.Amounts)))
	for _, a := range r.Amounts {
		key = binary.AppendVarint(key, int64(a.Resource))
		key = binary.AppendVarint(key, a.Value)
	}
	key = binary.AppendUvarint(key, uint64(len(r.Tolerations)))
	for _, t := range r.Tolerations {
		key = appendText(key, t.Key)
		key = appendText(key, t.Value)
		key = append(key, byte(t.Operator), byte(t.Effect))
	}
	if r.Selector != nil {
		key = append(key, selectorKey(r.Selector)...)
	}
	return key
}

// compile computes where the shape is allowed.
func (x *Index) compile(sh *shape) {
	sh.capable = make([]uint64, len(x.layouts))
	for i := range x.layouts {
		sh.capable[i] = sh.accepted(&x.layouts[i]) &^ x.layouts[i].closed(sh.request.Closed)
	}
	sh.banned = make([]Predicate, len(x.kinds))
	for i := range x.kinds {
		sh.banned[i] = x.ban(sh, &x.kinds[i])
	}
	if sh.request.Selector != nil {
		sh.labels = x.matching(sh.request.Selector)
		sh.request.Selector = nil // the caller's; what it says is in labels
	}
	ample := sh.ample(x)
	if ample && x.everywhere(sh) {
		sh.allowed, sh.ever = x.every, len(x.nodes) > 0
		return
	}
	sh.allowed = newBitmap(len(x.nodes))
	for v := range x.nodes {
		if x.allows(sh, int32(v), ample) {
			sh.allowed.set(int32(v))
			sh.ever = true
		}
	}
}

// everywhere reports whether every node, when empty, would take the shape, as
// far as that can be told without a look at each.
func (x *Index) everywhere(sh *shape) bool {
	if !x.regular || sh.senseless || sh.labels.bits != nil {
		return false
	}
	for _, banned := range sh.banned {
		if banned != 0 {
			return false
		}
	}
	for i := range x.layouts {
		enough := func(g group) bool { return sh.holds(&x.layouts[i], sh.capable[i]&g.mask) }
		if sh.count > 0 && !slices.ContainsFunc(x.layouts[i].groups, enough) {
			return false
		}
	}
	return true
}

// accepted returns the devices of an accepted model with enough memory.
func (sh *shape) accepted(l *layout) uint64 {
	var mask uint64
	for _, g := range l.groups {
		if sh.request.Models != nil && !slices.Contains(sh.request.Models, g.model) {
			continue
		}
		for m := g.mask; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			if l.memory[d] >= sh.needMemory() {
				mask |= 1 << d
			}
		}
	}
	return mask
}

// needMemory is the least total memory of an accepted device.
func (sh *shape) needMemory() int64 { return max(sh.request.MinMemory, sh.memory) }

// ban returns the first predicate of a kind of nodes that fails, labels left
// aside, or 0.
func (x *Index) ban(sh *shape, k *kind) Predicate {
	r := &sh.request
	switch {
	case r.Set >= 0 && !k.in(r.Set):
		return NodeSet
	case slices.ContainsFunc(r.Closed, k.in), sh.count > 0 && sh.capable[k.layout] == 0 && x.layouts[k.layout].closed(r.Closed) != 0 && sh.accepted(&x.layouts[k.layout]) != 0:
		return Reserved
	case k.cordoned:
		return Cordoned
	case r.Classes != nil && !slices.Contains(r.Classes, k.class):
		return NodeClass
	case slices.ContainsFunc(k.taints, func(t Taint) bool { return t.TurnsAway(r.Tolerations) }):
		return Taints
	case sh.count > 0 && !slices.ContainsFunc(x.layouts[k.layout].groups, func(g group) bool {
		return r.Models == nil || slices.Contains(r.Models, g.model)
	}):
		return Model
	case sh.count > 0 && sh.capable[k.layout] == 0:
		return DeviceMemory
	}
	return 0
}

func (k *kind) in(set int32) bool {
	_, found := slices.BinarySearch(k.sets, set)
	return found
}

// ample reports whether every node has the capacity, so that it need not be
// compared one by one.
func (sh *shape) ample(x *Index) bool {
	for _, a := range sh.amounts {
		if a.Resource < 0 || int(a.Resource) >= x.resources || x.least[a.Resource] < a.Value {
			return false
		}
	}
	return true
}

// allows reports whether the empty node would take the shape.
func (x *Index) allows(sh *shape, v int32, ample bool) bool {
	nd := &x.nodes[v]
	if sh.senseless || sh.banned[nd.kind] != 0 || sh.labels.bits != nil && !sh.labels.has(v) {
		return false
	}
	if s := x.slots[v]; s.tasks < 1 || sh.count == 0 && s.cpuOnly < 1 {
		return false
	}
	if !ample {
		capacity := x.capacityOf(v)
		for _, a := range sh.amounts {
			if capacity[a.Resource] < a.Value {
				return false
			}
		}
	}
	return sh.count == 0 || x.mostOfOneModel(sh, v, sh.island) >= sh.count
}

// mostOfOneModel returns how many devices of one model, in one island, the empty
// node could give to one task.
func (x *Index) mostOfOneModel(sh *shape, v int32, island Island) int {
	l, most := &x.layouts[x.nodes[v].layout], 0
	for i := range l.groups {
		most = max(most, l.largest(island, x.roomWhenEmpty(sh, v, l.groups[i].mask)))
	}
	return most
}

// roomWhenEmpty returns those of the devices that take their part of the task if
// only what is foreign uses them.
func (x *Index) roomWhenEmpty(sh *shape, v int32, devices uint64) uint64 {
	nd := &x.nodes[v]
	room := sh.capable[nd.layout] & nd.healthy & devices
	if x.foreign == nil {
		return room
	}
	l := &x.layouts[nd.layout]
	for m := room; m != 0; m &= m - 1 {
		if d := bits.TrailingZeros64(m); x.unforeign(nd, d) < sh.units(l, d) {
			room &^= 1 << d
		}
	}
	return room
}

// unforeign is the part of a device that others do not use, in share units.
func (x *Index) unforeign(nd *node, device int) int64 {
	l := &x.layouts[nd.layout]
	if x.foreign == nil {
		return l.total(device)
	}
	return (1000 - x.foreign[int(nd.devices)+device]) * l.scale[device]
}
