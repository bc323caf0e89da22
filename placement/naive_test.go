package placement

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// naive is the reference: it keeps the nodes as the caller gave them, adds up
// what is used, and answers by looking at every node and every set of devices.
// It is written from the package comment and P1 to P8, not from the index.
type naive struct {
	nodes   []Node
	used    []usage
	domains [][]string // names by node, the widest level first; nil where there are no levels
}

type usage struct {
	tasks, cpuOnly int64
	amounts        []int64
	devices        []int64 // share units
}

func newNaive(nodes []Node, resources int) *naive {
	m := &naive{nodes: nodes}
	for _, n := range nodes {
		m.used = append(m.used, usage{amounts: make([]int64, resources), devices: make([]int64, len(n.Devices))})
	}
	return m
}

func (m *naive) clone() *naive {
	c := &naive{nodes: m.nodes, used: slices.Clone(m.used), domains: m.domains}
	for i := range c.used {
		c.used[i].amounts = slices.Clone(c.used[i].amounts)
		c.used[i].devices = slices.Clone(c.used[i].devices)
	}
	return c
}

func total(d Device) int64 { return 1000 * max(1, d.Memory) }

func part(r Request, d Device) int64 {
	if r.Memory > 0 {
		return 1000 * r.Memory
	}
	if r.Milli == 0 {
		return total(d)
	}
	return r.Milli * max(1, d.Memory)
}

func (m *naive) take(r Request, p Place, sign int64) {
	u := &m.used[p.Node]
	u.tasks += sign
	if r.Devices == 0 {
		u.cpuOnly += sign
	}
	for _, a := range r.Amounts {
		u.amounts[a.Resource] += sign * a.Value
	}
	for i, d := range m.nodes[p.Node].Devices {
		if p.Devices>>i&1 == 1 {
			u.devices[i] += sign * part(r, d)
		}
	}
}

// left is what is left of a device, in share units.
func (m *naive) left(v, i int) int64 {
	d := m.nodes[v].Devices[i]
	return total(d) - d.Foreign*max(1, d.Memory) - m.used[v].devices[i]
}

func (m *naive) whole(v, i int) bool { return m.left(v, i) >= total(m.nodes[v].Devices[i]) }

func (m *naive) load(v, i int) int64 {
	d := m.nodes[v].Devices[i]
	share := max(1, d.Memory)
	used := min(total(d), total(d)-m.left(v, i))
	return max(0, (used+share-1)/share)
}

// accepted says whether the device would serve the request were it unused.
func accepted(r Request, d Device) bool {
	return (r.Models == nil || slices.Contains(r.Models, d.Model)) && d.Memory >= r.MinMemory && d.Memory >= r.Memory
}

// sets yields every set of devices that a task could be given now.
func (m *naive) sets(r Request, v int) []uint64 {
	var sets []uint64
	devices := m.nodes[v].Devices
	for set := uint64(0); set < 1<<len(devices); set++ {
		if bits.OnesCount64(set) == int(r.Devices) && m.setFits(r, v, set) {
			sets = append(sets, set)
		}
	}
	return sets
}

func (m *naive) setFits(r Request, v int, set uint64) bool {
	devices := m.nodes[v].Devices
	first := bits.TrailingZeros64(set)
	for i, d := range devices {
		if set>>i&1 == 1 && (d.Unhealthy || d.Model != devices[first].Model || !accepted(r, d) ||
			m.left(v, i) < part(r, d)) {
			return false
		}
	}
	return r.Devices <= 1 || inIsland(m.nodes[v], r.Island, set)
}

// miss is the first predicate that fails, and its numbers.
func (m *naive) miss(r Request, v int) Miss {
	n, u := m.nodes[v], m.used[v]
	fail := func(p Predicate, resource int32, have, need int64) Miss {
		return Miss{int32(v), p, resource, have, need}
	}
	if r.Set >= 0 && !slices.Contains(n.Sets, r.Set) {
		return fail(NodeSet, -1, 0, 1)
	}
	if n.Cordoned {
		return fail(Cordoned, -1, 0, 1)
	}
	if r.Classes != nil && !slices.Contains(r.Classes, n.Class) {
		return fail(NodeClass, -1, 0, 1)
	}
	if !r.Selector.Matches(n.Labels) {
		return fail(Labels, -1, 0, 1)
	}
	for _, t := range n.Taints {
		if t.TurnsAway(r.Tolerations) {
			return fail(Taints, -1, 0, 1)
		}
	}
	need := int64(r.Devices)
	if need > 0 {
		if most := m.mostDevices(r, v, func(d Device, i int) bool { return true }, false); most == 0 {
			return fail(Model, -1, 0, need)
		}
		if most := m.mostDevices(r, v, func(d Device, i int) bool { return true }, true); most == 0 {
			largest := int64(0)
			for _, d := range n.Devices {
				if r.Models == nil || slices.Contains(r.Models, d.Model) {
					largest = max(largest, d.Memory)
				}
			}
			return fail(DeviceMemory, -1, largest, max(r.Memory, r.MinMemory))
		}
		empty := m.mostDevices(r, v, func(d Device, i int) bool {
			return !d.Unhealthy && total(d)-d.Foreign*max(1, d.Memory) >= part(r, d)
		}, true)
		if empty < need {
			return fail(DeviceCount, -1, empty, need)
		}
		if island := m.ofOneModel(r, v, func(d Device, i int) bool {
			return total(d)-d.Foreign*max(1, d.Memory) >= part(r, d)
		}); need > 1 && island < need {
			return fail(IslandSize, -1, island, need)
		}
	}
	for _, a := range r.Amounts {
		if n.Capacity[a.Resource] < a.Value {
			return fail(Capacity, a.Resource, n.Capacity[a.Resource], a.Value)
		}
	}
	if n.Slots != NoCap && int64(n.Slots)-u.tasks < 1 {
		return fail(TaskSlots, -1, int64(n.Slots)-u.tasks, 1)
	}
	if need == 0 && n.CPUOnlySlots != NoCap && int64(n.CPUOnlySlots)-u.cpuOnly < 1 {
		return fail(CPUOnlySlots, -1, int64(n.CPUOnlySlots)-u.cpuOnly, 1)
	}
	for _, a := range r.Amounts {
		if free := n.Capacity[a.Resource] - u.amounts[a.Resource]; free < a.Value {
			return fail(Resources, a.Resource, free, a.Value)
		}
	}
	if need > 0 && len(m.sets(r, v)) == 0 {
		have := m.mostDevices(r, v, func(d Device, i int) bool { return !d.Unhealthy && m.left(v, i) >= part(r, d) }, true)
		if have >= need {
			island := m.ofOneModel(r, v, func(d Device, i int) bool { return m.left(v, i) >= part(r, d) })
			return fail(FreeIsland, -1, island, need)
		}
		if m.enoughInAll(r, v) {
			return fail(Fragmented, -1, have, need)
		}
		return fail(FreeDevices, -1, have, need)
	}
	return Miss{}
}

// mostDevices counts, for the model that has the most, the accepted devices
// that satisfy the condition.
func (m *naive) mostDevices(r Request, v int, ok func(Device, int) bool, memory bool) int64 {
	counts := map[int32]int64{}
	for i, d := range m.nodes[v].Devices {
		if !memory {
			d.Memory = math.MaxInt64
		}
		if accepted(r, d) && ok(m.nodes[v].Devices[i], i) {
			counts[d.Model]++
		}
	}
	most := int64(0)
	for _, n := range counts { // a maximum: order cannot matter
		most = max(most, n)
	}
	return most
}

func (m *naive) enoughInAll(r Request, v int) bool {
	free, need := map[int32]int64{}, map[int32]int64{}
	for i, d := range m.nodes[v].Devices {
		if d.Unhealthy || !accepted(r, d) {
			continue
		}
		share := max(1, d.Memory)
		if need[d.Model] == 0 {
			need[d.Model] = (part(r, d) + share - 1) / share * int64(r.Devices)
		}
		free[d.Model] += min(1000, max(0, m.left(v, i)/share))
	}
	for model := range free { // any: order cannot matter
		if free[model] >= need[model] {
			return true
		}
	}
	return false
}

// find is the first place in the documented order.
func (m *naive) find(r Request, st Strategy) (Place, bool) {
	if closer := r; r.PreferIsland > r.Island && r.Devices > 1 {
		closer.Island, closer.PreferIsland = r.PreferIsland, AnyIsland
		if p, ok := m.find(closer, st); ok {
			return p, true
		}
	}
	best, found := Place{Node: -1}, false
	var bestKey, bestRest []int64
	var bestAround []*big.Rat
	for v := range m.nodes {
		if m.miss(r, v).Predicate != 0 {
			continue
		}
		key, around := m.nodeKey(r, v, st), m.domainKey(r, v, st)
		for _, set := range m.sets(r, v) {
			rest := append([]int64{int64(v)}, m.deviceKey(r, v, st, set)...)
			if !found || cmp.Or(slices.Compare(key, bestKey), compareRats(around, bestAround), slices.Compare(rest, bestRest)) < 0 {
				best, bestKey, bestAround, bestRest, found = Place{Node: int32(v), Devices: set}, key, around, rest, true
			}
		}
	}
	return best, found
}

func (m *naive) nodeKey(r Request, v int, st Strategy) []int64 {
	n := m.nodes[v]
	if r.Devices == 0 {
		key := []int64{0}
		if len(n.Devices) > 0 {
			key[0] = 1
		}
		if len(r.Amounts) == 0 || st == First {
			return key
		}
		resource := r.Amounts[0].Resource
		load := ceiling(63*m.used[v].amounts[resource], n.Capacity[resource])
		if st == BinPack {
			load = -load
		}
		return append(key, load)
	}
	healthy, whole, load, opens := int64(0), int64(0), int64(0), int64(1)
	for i, d := range n.Devices {
		if d.Unhealthy {
			continue
		}
		healthy++
		if m.whole(v, i) {
			whole++
		}
		load += m.load(v, i)
	}
	switch st {
	case Spread:
		return []int64{ceiling(63*load, 1000*healthy)}
	case First:
		return nil
	}
	for _, set := range m.sets(r, v) {
		if m.opens(v, set) == 0 {
			opens = 0
		}
	}
	idle := int64(0)
	if whole == healthy {
		idle = 1
	}
	return []int64{opens, idle, whole}
}

// ceiling is a/b rounded up, for b > 0, and not below 0.
func ceiling(a, b int64) int64 { return max(0, int64(math.Ceil(float64(a)/float64(b)))) }

func (m *naive) opens(v int, set uint64) (n int64) {
	for i := range m.nodes[v].Devices {
		if set>>i&1 == 1 && m.whole(v, i) {
			n++
		}
	}
	return n
}

func (m *naive) deviceKey(r Request, v int, st Strategy, set uint64) []int64 {
	if set == 0 {
		return nil
	}
	devices := m.nodes[v].Devices
	model := devices[bits.TrailingZeros64(set)].Model
	lowest, whole, highest, wholes := int64(-1), int64(0), int64(0), uint64(0)
	var chosen [][2]int64 // by preference
	for i, d := range devices {
		if d.Model != model || !accepted(r, d) || d.Unhealthy {
			continue
		}
		if m.whole(v, i) {
			whole++
			wholes |= 1 << i
		}
		if set>>i&1 == 0 {
			continue
		}
		highest = max(highest, m.load(v, i))
		over := m.left(v, i) - part(r, d)
		switch {
		case st == Spread:
			over = m.load(v, i)
		case st == First:
			over = 0
		case m.whole(v, i):
			over = math.MaxInt64 // after all shared ones
		}
		chosen = append(chosen, [2]int64{over, int64(i)})
	}
	for i, d := range devices {
		if d.Model == model && lowest < 0 {
			lowest = int64(i)
		}
	}
	slices.SortFunc(chosen, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	var key []int64
	switch st {
	case BinPack:
		key = []int64{m.opens(v, set), whole, lowest}
	case Spread:
		key = []int64{highest, lowest}
	case First:
		key = []int64{lowest}
	}
	joined := knownJoined(m.nodes[v])
	for _, c := range chosen {
		if key = append(key, c[0]); !joined {
			key = append(key, c[1])
		}
	}
	if joined {
		key = append(key, joinedKey(m.nodes[v], set, wholes)...)
	}
	return key
}

// reject counts and finds the nearest miss with exact fractions.
func (m *naive) reject(r Request) (counts []Count, ever bool, nearest Miss) {
	nearest = Miss{Node: -1, Resource: -1}
	empty := newNaive(m.nodes, len(m.used[0].amounts))
	for v := range m.nodes {
		ever = ever || empty.miss(r, v).Predicate == 0
		miss := m.miss(r, v)
		if miss.Predicate == 0 {
			continue
		}
		lacks := func(a Miss) float64 { return float64(a.Need-a.Have) / float64(a.Need) }
		if nearest.Node < 0 || miss.Predicate > nearest.Predicate ||
			miss.Predicate == nearest.Predicate && lacks(miss) < lacks(nearest) {
			nearest = miss
		}
		i := slices.IndexFunc(counts, func(c Count) bool {
			return c.Predicate == miss.Predicate && c.Resource == miss.Resource
		})
		if i < 0 {
			i = len(counts)
			counts = append(counts, Count{miss.Predicate, miss.Resource, 0})
		}
		counts[i].Nodes++
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Predicate, b.Predicate), cmp.Compare(a.Resource, b.Resource))
	})
	return counts, ever, nearest
}

// most is the most tasks of the request that the empty node takes, by trying.
func (m *naive) most(r Request, v int) int {
	empty := newNaive(m.nodes, len(m.used[0].amounts))
	return empty.tryAll(r, v, 12)
}

func (m *naive) tryAll(r Request, v, depth int) int {
	if depth == 0 || m.miss(r, v).Predicate != 0 {
		return 0
	}
	// Devices of a model in use alike are interchangeable: the emptiest first
	// is the most that can be placed of equal parts.
	sets := m.sets(r, v)
	best := slices.MinFunc(sets, func(a, b uint64) int {
		return slices.Compare(m.deviceKey(r, v, Spread, a), m.deviceKey(r, v, Spread, b))
	})
	m.take(r, Place{Node: int32(v), Devices: best}, 1)
	return 1 + m.tryAll(r, v, depth-1)
}

// free sums what is free on the nodes of a set that are not cordoned.
func (m *naive) free(set int32) Free {
	f := Free{Amounts: make([]int64, len(m.used[0].amounts))}
	for v, n := range m.nodes {
		if n.Cordoned || set >= 0 && !slices.Contains(n.Sets, set) {
			continue
		}
		for r, c := range n.Capacity {
			f.Amounts[r] += max(0, c-m.used[v].amounts[r])
		}
		for i, d := range n.Devices {
			if !d.Unhealthy {
				f.Milli += min(1000, max(0, m.left(v, i)/max(1, d.Memory)))
			}
		}
	}
	return f
}
