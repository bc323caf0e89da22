package mirror

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
	"github.com/allotsched/allot/placement"
)

// A node is one that is there, or that pods say they are on.
type node struct {
	object *corev1.Node // nil is not there
	pods   map[types.UID]*pod
	// devices are those of ResourceSlices, once they were read.
	devices     []read.Device
	devicesRead bool
	// numbers is how many devices the pods are numbered by, leaked are those that are
	// allocated to claims of which no pod is here.
	numbers int
	leaked  []int
}

func (m *Mirror) nodeNamed(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{pods: make(map[types.UID]*pod)}
		m.nodes[name] = n
	}
	return n
}

// there says whether anything can be on a node: it is there, and nobody said that nothing
// runs on it any more.
func (n *node) there() bool {
	return n != nil && n.object != nil && !slices.ContainsFunc(n.object.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeOutOfService
	})
}

func (m *Mirror) devicesOf(name string, n *node) []read.Device {
	if !n.devicesRead {
		var list []*resourcev1.ResourceSlice
		for _, s := range m.slices { // Devices sorts
			if s.Spec.NodeName != nil && *s.Spec.NodeName == name {
				list = append(list, s)
			}
		}
		n.devices, n.devicesRead = m.options.Devices(list), true
	}
	return n.devices
}

// node says a node in Allot's words, with what others use of it; nil is not there. What is
// bound to it fits, whatever the node says: where it has become smaller, what it lacks is
// foreign use.
func (m *Mirror) node(name string) (*allot.Node, error) {
	n := m.nodes[name]
	if n == nil || n.object == nil {
		return nil, nil
	}
	out, err := m.options.Node(n.object, m.devicesOf(name, n))
	if err != nil {
		return nil, err
	}
	for len(out.Devices) < min(n.numbers, placement.MaxDevices) {
		out.Devices = append(out.Devices, allot.Device{Foreign: 1000})
	}
	ours := use{amounts: make(map[string]int64)}
	theirs := use{amounts: make(map[string]int64)}
	foreign := slices.Clone(n.leaked)
	for _, p := range n.pods { // sums have no order
		if p.stands {
			ours.add(p.request.Resources)
			continue
		}
		var unsaid read.Unsaid
		theirs.add(m.options.Use(p.object, &unsaid).Resources)
		foreign = append(foreign, p.devices...)
	}
	for _, d := range foreign {
		if d < len(out.Devices) {
			out.Devices[d].Foreign = 1000
		}
	}
	for resource, used := range ours.amounts { // each by itself: order cannot matter
		if lacks := used - out.Capacity[resource]; lacks > 0 {
			out.Capacity[resource] = used
			theirs.amounts[resource] += lacks
		}
	}
	for resource := range theirs.amounts { // the same
		theirs.amounts[resource] = min(theirs.amounts[resource], allot.MaxAmount)
	}
	if out.MaxTasks > 0 && ours.tasks > out.MaxTasks {
		theirs.tasks += ours.tasks - out.MaxTasks
		out.MaxTasks = ours.tasks
	}
	if len(theirs.amounts) > 0 {
		out.Foreign = theirs.amounts
	}
	out.ForeignTasks = theirs.tasks
	return &out, nil
}

// use is what pods take of a node.
type use struct {
	amounts map[string]int64
	tasks   int
}

func (u *use) add(amounts map[string]int64) {
	u.tasks++
	for resource, n := range amounts { // each by itself: order cannot matter
		u.amounts[resource] += n
	}
}

// number gives every pod on a node the numbers of its devices: those of its claims, else
// those that it has, else the lowest that are free. A node that has become smaller keeps the
// devices that are in use, for nobody new.
func (m *Mirror) number(name string) {
	n := m.nodes[name]
	devices := m.devicesOf(name, n)
	list := slices.Collect(maps.Values(n.pods)) // sorted below
	slices.SortFunc(list, func(a, b *pod) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.object.UID, b.object.UID))
	})
	var taken [4 * placement.MaxDevices]bool // more than that are on no node
	free := func(numbers []int) bool {
		return !slices.ContainsFunc(numbers, func(d int) bool { return d >= len(taken) || taken[d] })
	}
	hold := func(p *pod, numbers []int) {
		for _, d := range numbers {
			taken[d] = true
			n.numbers = max(n.numbers, d+1)
		}
		if !slices.Equal(p.devices, numbers) {
			p.devices = numbers
			m.touch(p)
		}
	}
	n.numbers, n.leaked = 0, nil
	for d := range devices {
		if owner, ok := m.allocations[devices[d].Key()]; ok && !slices.ContainsFunc(list, func(p *pod) bool { return slices.Contains(p.claims, owner) }) {
			n.leaked = append(n.leaked, d)
			taken[d] = true
		}
	}
	var rest []*pod
	for _, p := range list {
		m.ask(p)
		numbers, ok := m.allocated(p, devices)
		if !ok {
			numbers = p.devices
		}
		if len(numbers) == m.gpusOf(p) && free(numbers) {
			hold(p, numbers)
		} else {
			rest = append(rest, p)
		}
	}
	for _, p := range rest {
		var numbers []int
		for d := 0; len(numbers) < m.gpusOf(p) && d < len(taken); d++ {
			if !taken[d] {
				numbers = append(numbers, d)
			}
		}
		hold(p, numbers)
	}
}

// gpusOf is how many devices a pod has where it is.
func (m *Mirror) gpusOf(p *pod) int {
	if p.workload != "" && p.key != "" && p.problem == nil {
		return p.request.GPU.Count
	}
	var unsaid read.Unsaid
	return m.options.Use(p.object, &unsaid).GPU.Count
}
