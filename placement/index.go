package placement

import (
	"errors"
	"fmt"
	"slices"
)

// noCap is how an absent cap is counted: so high that no number of tasks uses it up.
const noCap = int64(1) << 62

// A node is the state of one node that changes: plain values, undone by
// subtraction.
type node struct {
	slots, cpuOnlySlots int64  // free now; below 0 where more is used than there is
	healthy             uint64 // devices
	whole               uint64 // healthy devices that are not in use
	shared              uint64 // healthy devices that are in use and not full; none is whole
	devices             int32  // where its devices start in Index.left
	layout              int32  // in Index.layouts
	kind                int32  // in Index.kinds
}

// An Index holds nodes and what is used of them, and finds the best place for
// a task without looking at all of them (P1–P3, P6). It is not safe for
// concurrent use; [Index.Find] updates what it remembers.
type Index struct {
	resources int
	nodes     []node
	capacity  []int64 // by node × resources + resource, of the empty node
	free      []int64 // likewise, now
	left      []int64 // by device: share units left now
	foreign   []int64 // by device: milli that others use; nil where nobody does
	slots     []slots // by node, of the empty node
	labels    []map[string]string
	layouts   []layout
	keepsRoom bool // see KeepingRoom
	kinds     []kind

	least      []int64 // by resource: the least capacity of a node
	mostDevice int     // the most healthy devices of a node
	// regular: all devices are healthy and in no foreign use, and every empty
	// node has a slot for every task.
	regular bool
	every   bitmap // every node; read only

	columns   map[string]column // by label key
	selectors map[string]bitmap // by the selector's key
	byKey     map[string]Shape  // by the request's key
	key       []byte            // scratch of Shape
	shapes    []*shape

	scoring  Scoring
	scorer   *scorer // nil until a strategy scores
	teams    []team  // tasks by their number of devices, see GPUClustering
	rankings rankings
	domains  *domains           // above the nodes; nil where none tell them apart
	grown    ring               // nodes that have more free than before (Give, Undo)
	opened   ring               // those, and nodes of which an unused device became shared
	moved    ring               // nodes of which anything has changed
	frees    map[int32]*freeSum // by set, see Free

	journal journal
	// release is what is releasing and claimed, nil where nothing is; now is, of the
	// index of what is free after that, the one that it belongs to.
	release *release
	now     *Index
	// version names the state: what was found out at a version holds whenever
	// the state has it. Undo brings back the version with the state.
	version, changes uint64
}

type slots struct{ tasks, cpuOnly int64 }

// NewIndex returns an index of the nodes, all of them empty but for foreign
// use, with the given number of resources. A node's position is its index:
// order by what decides ties last (P6). Nothing of nodes is modified, and
// nothing may be while the index is in use.
//
// It is an error if a node has a number of capacities other than resources,
// more than [MaxDevices] devices, a device memory below 0 or above [MaxMemory],
// foreign use outside 0 to 1000, a socket or switch below 0, a link of a pair that is
// none or was named before or with NVLinks outside 0 to [MaxNVLinks], or sets that do
// not ascend.
//
// It takes time and memory linear in nodes and devices: some 100 bytes a node,
// 16 a resource and 8 a device (16 where there is foreign use). Each strategy in
// use adds 3 to 32 bytes a node, each shape a quarter to half a byte, each shape
// of a strategy that scores 12 to 24, and each number of devices that tasks ask 4.
func NewIndex(nodes []Node, resources int) (*Index, error) {
	if resources < 0 {
		return nil, fmt.Errorf("placement: %d resources", resources)
	}
	if len(nodes) > 1<<30 {
		return nil, errors.New("placement: more than 2^30 nodes")
	}
	n := len(nodes)
	x := &Index{
		resources: resources,
		nodes:     make([]node, n),
		capacity:  make([]int64, 0, n*resources),
		slots:     make([]slots, n),
		labels:    make([]map[string]string, n),
		least:     make([]int64, resources),
		columns:   map[string]column{},
		selectors: map[string]bitmap{},
		byKey:     map[string]Shape{},
		rankings:  newRankings(resources),
		grown:     newRing(n),
		opened:    newRing(n),
		moved:     newRing(n),
		frees:     map[int32]*freeSum{},
		regular:   true,
	}
	layouts, kinds := map[string]int32{}, map[string]int32{}
	near := make([]uint8, MaxDevices*MaxDevices)
	for i := range nodes {
		if err := validate(&nodes[i], resources); err != nil {
			return nil, fmt.Errorf("placement: node %d: %w", i, err)
		}
		x.add(nodes, i, layouts, kinds, near)
	}
	x.free = slices.Clone(x.capacity)
	x.every = newBitmap(n)
	for v := range n {
		x.every.set(int32(v))
	}
	for r := range resources {
		for v := range n {
			if c := x.capacity[v*resources+r]; v == 0 || c < x.least[r] {
				x.least[r] = c
			}
		}
	}
	return x, nil
}

func validate(n *Node, resources int) error {
	if len(n.Capacity) != resources {
		return fmt.Errorf("%d capacities for %d resources", len(n.Capacity), resources)
	}
	if len(n.Devices) > MaxDevices {
		return fmt.Errorf("%d devices, more than %d", len(n.Devices), MaxDevices)
	}
	for i, d := range n.Devices {
		if d.Memory < 0 || d.Memory > MaxMemory {
			return fmt.Errorf("device %d has %d bytes of memory", i, d.Memory)
		}
		if d.Foreign < 0 || d.Foreign > 1000 {
			return fmt.Errorf("device %d has %d milli in foreign use", i, d.Foreign)
		}
		if d.Socket < 0 || d.Switch < 0 {
			return fmt.Errorf("device %d has a negative socket or switch", i)
		}
	}
	if err := validateLinks(n); err != nil {
		return err
	}
	for i := 1; i < len(n.Sets); i++ {
		if n.Sets[i-1] >= n.Sets[i] {
			return errors.New("its sets do not ascend")
		}
	}
	return nil
}

func validateLinks(n *Node) error {
	var seen [MaxDevices]uint64
	for _, l := range n.Links {
		a, b := min(l.A, l.B), max(l.A, l.B)
		switch {
		case a < 0 || int(b) >= len(n.Devices) || a == b || seen[a]&(1<<b) != 0:
			return fmt.Errorf("link of devices %d and %d, or named twice", l.A, l.B)
		case l.NVLinks < 0 || l.NVLinks > MaxNVLinks:
			return fmt.Errorf("%d NVLinks between devices %d and %d", l.NVLinks, l.A, l.B)
		}
		seen[a] |= 1 << b
	}
	return nil
}

// add appends node i, interning what it shares with others.
func (x *Index) add(nodes []Node, i int, layouts, kinds map[string]int32, near []uint8) {
	n := &nodes[i]
	l := int32(0)
	if i > 0 && laidOutAlike(&nodes[i-1], n) { // most stand beside others of their make
		l = x.nodes[i-1].layout
	} else {
		if near = near[:len(n.Devices)*len(n.Devices)]; !readNear(n, near) {
			near = nil
		}
		l = intern(layouts, layoutKey(n.Devices, n.Parts, near), func() { x.layouts = append(x.layouts, newLayout(n.Devices, n.Parts, near)) })
	}
	k := kind{l, n.Class, slices.Clone(n.Sets), slices.Clone(n.Taints), n.Cordoned}
	nd := &x.nodes[i]
	*nd = node{
		slots: capOf(n.Slots), cpuOnlySlots: capOf(n.CPUOnlySlots),
		devices: int32(len(x.left)), layout: l,
		kind: intern(kinds, k.key(), func() { x.kinds = append(x.kinds, k) }),
	}
	x.slots[i] = slots{nd.slots, nd.cpuOnlySlots}
	x.capacity = append(x.capacity, n.Capacity...)
	x.labels[i] = n.Labels
	healthy := 0
	for d, device := range n.Devices {
		if device.Foreign != 0 && x.foreign == nil {
			x.foreign = make([]int64, len(x.left), cap(x.left))
		}
		if x.foreign != nil {
			x.foreign = append(x.foreign, device.Foreign)
		}
		x.left = append(x.left, (1000-device.Foreign)*x.layouts[l].scale[d])
		if !device.Unhealthy {
			nd.healthy |= 1 << d
			healthy++
		}
	}
	x.mostDevice = max(x.mostDevice, healthy)
	x.regular = x.regular && healthy == len(n.Devices) && x.foreign == nil && nd.slots > 0 && nd.cpuOnlySlots > 0
	x.sortDevices(nd, x.layouts[l].all())
}

// intern returns the number of a key, a new one after calling add.
func intern(numbers map[string]int32, key string, add func()) int32 {
	i, known := numbers[key]
	if !known {
		i = int32(len(numbers))
		numbers[key] = i
		add()
	}
	return i
}

func capOf(n int32) int64 {
	if n == NoCap {
		return noCap
	}
	return int64(n)
}

// freeOf returns what is free on a node, by resource.
func (x *Index) freeOf(v int32) []int64 {
	at := int(v) * x.resources
	return x.free[at : at+x.resources : at+x.resources]
}

// capacityOf returns what the empty node has, by resource.
func (x *Index) capacityOf(v int32) []int64 {
	at := int(v) * x.resources
	return x.capacity[at : at+x.resources : at+x.resources]
}

// add returns a + b and whether it is exact.
func add(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}
