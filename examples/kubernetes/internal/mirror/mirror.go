package mirror

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

// Options are what a mirror is told about its cluster.
type Options struct {
	read.Terms
	// Scheduler is the name by which pods ask for this scheduler.
	Scheduler string
	// Pools are the names of the pools that are this scheduler's; none is all of them.
	Pools []string
	// Grace is for how long a part of a gang may run before it is taken back.
	Grace time.Duration
}

// A Mirror is used by one goroutine. Its snapshots may be used by all.
type Mirror struct {
	options Options

	pods      map[types.NamespacedName]*pod
	nodes     map[string]*node
	groups    map[string]*group // workloads, by ID
	podGroups map[types.NamespacedName]*schedulingv1alpha2.PodGroup
	claims    map[types.NamespacedName]*resourcev1.ResourceClaim
	slices    map[string]*resourcev1.ResourceSlice
	queues    map[string]*v1alpha1.Queue
	pools     map[string]*v1alpha1.Pool
	// allocations are the claims that hold devices, by driver, pool and name.
	allocations map[[3]string]types.NamespacedName
	claimers    map[types.NamespacedName]map[*pod]bool // pods by the claims that they name

	snapshot *allot.Snapshot
	sent     nouns // what is in the snapshot
	dirty    dirty
	refused  map[string]string // by noun, such as "workload team/train"
	fresh    []*pod            // of which nothing is known but the object
	resumed  []Order
}

// nouns are what was put into the snapshot, by ID.
type nouns struct {
	levels    []allot.Level
	nodes     map[string]*allot.Node
	queues    map[string]*allot.Queue
	pools     map[string]*allot.Pool
	workloads map[string]*allot.Workload
}

// dirty is what is to be worked out again: everything is when queues or pools have changed.
type dirty struct {
	nodes, groups map[string]bool
	queues        bool
}

// New is a mirror of an empty cluster.
func New(o Options) *Mirror {
	first, _ := allot.NewSnapshot(nil) // which has no faults
	m := &Mirror{
		options: o, snapshot: first,
		pods: make(map[types.NamespacedName]*pod), nodes: make(map[string]*node), groups: make(map[string]*group),
		podGroups: make(map[types.NamespacedName]*schedulingv1alpha2.PodGroup),
		claims:    make(map[types.NamespacedName]*resourcev1.ResourceClaim),
		slices:    make(map[string]*resourcev1.ResourceSlice),
		queues:    make(map[string]*v1alpha1.Queue), pools: make(map[string]*v1alpha1.Pool),
		allocations: make(map[[3]string]types.NamespacedName),
		claimers:    make(map[types.NamespacedName]map[*pod]bool),
		sent: nouns{
			nodes: make(map[string]*allot.Node), queues: make(map[string]*allot.Queue),
			pools: make(map[string]*allot.Pool), workloads: make(map[string]*allot.Workload),
		},
		refused: make(map[string]string),
	}
	m.dirty = dirty{nodes: make(map[string]bool), groups: make(map[string]bool), queues: true}
	return m
}

// Snapshot is the state as of the last [Mirror.Update].
func (m *Mirror) Snapshot() *allot.Snapshot { return m.snapshot }

// Refused says why objects are left out, by noun and ID.
func (m *Mirror) Refused() map[string]string { return maps.Clone(m.refused) }

// Put takes note of an object that came or changed. Objects of kinds that it does not know
// are none of its business. It keeps the object, which nobody may write to.
func (m *Mirror) Put(object any) {
	switch o := object.(type) {
	case *corev1.Pod:
		m.putPod(o)
	case *corev1.Node:
		m.nodeNamed(o.Name).object = o
		m.touchNode(o.Name)
	case *schedulingv1alpha2.PodGroup:
		key := nameOf(o)
		m.podGroups[key] = o
		m.dirty.groups[key.String()] = true
	case *resourcev1.ResourceClaim:
		m.allocate(m.claims[nameOf(o)], o)
		m.claims[nameOf(o)] = o
		m.touchClaimers(nameOf(o))
	case *resourcev1.ResourceSlice:
		m.slices[o.Name] = o
		m.touchSlice(o)
	case *v1alpha1.Queue:
		if old := m.queues[o.Name]; old == nil || old.Generation != o.Generation {
			m.dirty.queues = true
		}
		m.queues[o.Name] = o
	case *v1alpha1.Pool:
		if old := m.pools[o.Name]; old == nil || old.Generation != o.Generation {
			m.dirty.queues = true
		}
		m.pools[o.Name] = o
	}
}

// Delete takes note that an object is gone.
func (m *Mirror) Delete(object any) {
	switch o := object.(type) {
	case *corev1.Pod:
		if p := m.pods[nameOf(o)]; p != nil && p.object.UID == o.UID {
			m.dropPod(p)
		}
	case *corev1.Node:
		if n := m.nodes[o.Name]; n != nil {
			n.object = nil
			m.touchNode(o.Name)
		}
	case *schedulingv1alpha2.PodGroup:
		delete(m.podGroups, nameOf(o))
		m.dirty.groups[nameOf(o).String()] = true
	case *resourcev1.ResourceClaim:
		m.allocate(m.claims[nameOf(o)], nil)
		delete(m.claims, nameOf(o))
		m.touchClaimers(nameOf(o))
	case *resourcev1.ResourceSlice:
		delete(m.slices, o.Name)
		m.touchSlice(o)
	case *v1alpha1.Queue:
		delete(m.queues, o.Name)
		m.dirty.queues = true
	case *v1alpha1.Pool:
		delete(m.pools, o.Name)
		m.dirty.queues = true
	}
}

type named interface {
	GetName() string
	GetNamespace() string
}

func nameOf(o named) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (m *Mirror) touchSlice(o *resourcev1.ResourceSlice) {
	if o.Spec.NodeName != nil {
		m.nodeNamed(*o.Spec.NodeName).devicesRead = false
		m.touchNode(*o.Spec.NodeName)
	}
}

// allocate keeps by whom devices are held, and has the nodes worked out again of which some
// come or go.
func (m *Mirror) allocate(before, after *resourcev1.ResourceClaim) {
	visit := func(c *resourcev1.ResourceClaim, do func(device [3]string)) {
		if c == nil || c.Status.Allocation == nil {
			return
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			do([3]string{r.Driver, r.Pool, r.Device})
			for _, s := range m.slices { // marks: order cannot matter
				if s.Spec.Pool.Name == r.Pool && s.Spec.Driver == r.Driver && s.Spec.NodeName != nil {
					m.touchNode(*s.Spec.NodeName)
				}
			}
		}
	}
	visit(before, func(device [3]string) { delete(m.allocations, device) })
	visit(after, func(device [3]string) { m.allocations[device] = nameOf(after) })
}

// touchClaimers has the pods read again that name a claim, and the nodes on which it has
// devices.
func (m *Mirror) touchClaimers(claim types.NamespacedName) {
	for p := range m.claimers[claim] { // marks: order cannot matter
		p.key = ""
		m.touch(p)
	}
}

// touchNode has a node and what is on it worked out again.
func (m *Mirror) touchNode(name string) {
	m.dirty.nodes[name] = true
	if n := m.nodes[name]; n != nil {
		for _, p := range n.pods { // marks: order cannot matter
			if p.workload != "" {
				m.dirty.groups[p.workload] = true
			}
		}
	}
}

// touch has what a pod is part of worked out again.
func (m *Mirror) touch(p *pod) {
	if p.workload != "" {
		m.dirty.groups[p.workload] = true
	}
	if p.at != "" {
		m.dirty.nodes[p.at] = true
	}
}

// mine says whether a pool is this scheduler's.
func (m *Mirror) mine(pool string) bool {
	return len(m.options.Pools) == 0 || slices.Contains(m.options.Pools, pool)
}
