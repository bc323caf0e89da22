package mirror

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

// Kind is what an order asks for.
type Kind string

const (
	// Bind binds a pod to a node, after its claims have been given their devices.
	Bind Kind = "bind"
	// Claim nominates a node for a pod, and Unclaim takes that back.
	Claim   Kind = "claim"
	Unclaim Kind = "unclaim"
	// Evict asks a pod to leave.
	Evict Kind = "evict"
)

// An Order is something to ask the API server for. Until it is seen, or known to have failed,
// the mirror takes it for done.
type Order struct {
	Kind     Kind
	Pod      *corev1.Pod
	Workload string
	// Node is where, for Bind and Claim.
	Node string
	// Claims get Devices, for Bind; both are empty where GPUs are an extended resource.
	Claims  []*resourcev1.ResourceClaim
	Devices []read.Device
	// For is the workload that gets the place, Why the reason, for Evict.
	For, Why string

	devices []int
	since   time.Time
}

// seen says whether what was asked for is to be seen at a pod.
func (o *Order) seen(p *corev1.Pod) bool {
	switch o.Kind {
	case Evict:
		return p.DeletionTimestamp != nil
	default:
		return p.Spec.NodeName != ""
	}
}

// Adopt takes note that a decision on the mirror's snapshot is being carried out, and says
// what to ask for. Whatever the outcome, it is for [Mirror.Done].
func (m *Mirror) Adopt(d *allot.Decision) ([]Order, error) {
	orders := m.resumed
	m.resumed = nil
	if len(d.Actions()) == 0 && !m.promises() {
		return orders, nil
	}
	begun, err := d.Begin()
	if err != nil {
		return orders, err
	}
	why := make(map[string]allot.Reason)
	for _, a := range d.Actions() {
		if a.Reason.Code != 0 {
			why[a.Workload] = a.Reason
		}
	}
	changes := begun.Since(d.Snapshot())
	for i := range changes.Workloads {
		w := &changes.Workloads[i]
		if g := m.groups[w.ID]; g != nil {
			m.promise(g, w.Reserved)
			orders = m.compare(orders, g, w, why[w.ID], d.Snapshot().Now())
		}
	}
	return orders, nil
}

// compare says what is to be asked for of one workload.
func (m *Mirror) compare(orders []Order, g *group, w *allot.Workload, why allot.Reason, now time.Time) []Order {
	placed := make(map[*pod]bool, len(w.Tasks))
	give := func(p *pod, o Order) {
		o.Pod, o.Workload, o.since = p.object, g.id, now
		p.order = &o
		m.settle(p)
		m.touch(p)
		orders = append(orders, o)
	}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		p := g.slots[slot{t.PodSet, t.Index}]
		if p == nil {
			continue
		}
		switch {
		case t.Phase == allot.Terminating:
			if p.at != "" && !p.leaving() {
				give(p, Order{Kind: Evict, For: why.Workload, Why: why.String()})
			}
		case p.at != "": // it runs, or leaves and would come back
		case t.Phase == allot.Running:
			o := Order{Kind: Bind, Node: t.Node, devices: t.Devices}
			m.withClaims(p, &o)
			give(p, o)
			placed[p] = true
		default:
			if p.order == nil || p.order.Kind != Claim || p.order.Node != t.Node {
				give(p, Order{Kind: Claim, Node: t.Node, devices: t.Devices})
			}
			placed[p] = true
		}
	}
	for _, p := range g.slots { // each by itself: order cannot matter
		if p.order != nil && p.order.Kind == Claim && !placed[p] {
			p.order = nil
			m.touch(p)
			orders = append(orders, Order{Kind: Unclaim, Pod: p.object, Workload: g.id})
		}
	}
	return orders
}

// withClaims says which claims of a pod get which devices.
func (m *Mirror) withClaims(p *pod, o *Order) {
	if len(p.claims) == 0 {
		return
	}
	for _, key := range p.claims {
		o.Claims = append(o.Claims, m.claims[key]) // ask has found all of them
	}
	devices := m.devicesOf(o.Node, m.nodes[o.Node])
	for _, d := range o.devices {
		if d < len(devices) {
			o.Devices = append(o.Devices, devices[d])
		}
	}
}

// Done takes note of what became of an order: with an error the mirror goes by what it sees
// of the pod again, which is what was read after the failure, if anything was.
func (m *Mirror) Done(o *Order, read *corev1.Pod, err error) {
	p := m.pods[nameOf(o.Pod)]
	if p == nil || p.object.UID != o.Pod.UID {
		return
	}
	if err != nil && p.order != nil && p.order.Kind == o.Kind {
		p.order = nil
		m.settle(p)
		m.touch(p)
	}
	if read != nil && read.UID == p.object.UID {
		m.putPod(read)
	}
}

// resume takes up what a scheduler before this one has asked for and not finished: a pod
// that was nominated claims its place, and one whose claims were given their devices is
// bound where they are.
func (m *Mirror) resume(p *pod, now time.Time) {
	if p.workload == "" || p.at != "" || p.object.DeletionTimestamp != nil || p.order != nil {
		return
	}
	if name, n := m.nodeOfClaims(p); n.there() {
		if numbers, ok := m.allocated(p, m.devicesOf(name, n)); ok {
			o := Order{Kind: Bind, Node: name, devices: numbers, Pod: p.object, Workload: p.workload, since: now}
			m.withClaims(p, &o)
			p.order = &o
			m.settle(p)
			m.touch(p)
			m.resumed = append(m.resumed, o)
		}
		return
	}
	name := p.object.Status.NominatedNodeName
	if n := m.nodes[name]; n.there() {
		if numbers, ok := m.claimable(p, n); ok {
			p.order = &Order{Kind: Claim, Node: name, devices: numbers, Pod: p.object, Workload: p.workload, since: now}
			m.touch(p)
		}
	}
}

// nodeOfClaims finds the node on which the claims of a pod have devices.
func (m *Mirror) nodeOfClaims(p *pod) (string, *node) {
	m.ask(p)
	for _, key := range p.claims {
		c := m.claims[key]
		if c == nil || c.Status.Allocation == nil || len(c.Status.Allocation.Devices.Results) == 0 {
			continue
		}
		r := &c.Status.Allocation.Devices.Results[0]
		for _, s := range m.slices { // a pool of a node's is of one node
			if s.Spec.Driver == r.Driver && s.Spec.Pool.Name == r.Pool && s.Spec.NodeName != nil {
				return *s.Spec.NodeName, m.nodes[*s.Spec.NodeName]
			}
		}
	}
	return "", nil
}

// claimable finds devices for a claim on a node: free ones, or those of pods that leave.
func (m *Mirror) claimable(p *pod, n *node) ([]int, bool) {
	m.ask(p)
	want := p.request.GPU.Count
	out, err := m.options.Node(n.object, m.devicesOf(n.object.Name, n))
	if err != nil || p.problem != nil {
		return nil, false
	}
	held := make(map[int]bool)
	for _, other := range n.pods { // marks: order cannot matter
		if !other.leaving() {
			for _, d := range other.devices {
				held[d] = true
			}
		}
	}
	for _, other := range m.pods { // the same
		if other.order != nil && other.order.Kind == Claim && m.nodes[other.order.Node] == n {
			for _, d := range other.order.devices {
				held[d] = true
			}
		}
	}
	var numbers []int
	for d := 0; d < len(out.Devices) && len(numbers) < want; d++ {
		if !held[d] {
			numbers = append(numbers, d)
		}
	}
	return numbers, len(numbers) == want
}
