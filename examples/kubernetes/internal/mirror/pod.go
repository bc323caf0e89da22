package mirror

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

// A pod is one that waits for this scheduler, or uses a node.
type pod struct {
	object   *corev1.Pod
	workload string // its ID; empty is of another scheduler
	// order is what has been asked for and is not seen yet; nil is nothing.
	order *Order
	// at is the node whose ledger has the pod, with the devices that it has there; empty is
	// none. since is when it was given that place.
	at      string
	devices []int
	since   time.Time
	// request is what the pod asks, once it was read: key tells it from others, empty is
	// that it has to be read. problem is why it cannot be.
	request allot.Request
	key     string
	problem error
	claims  []types.NamespacedName
	// stands is that the pod is a task, or waits, in the snapshot.
	stands bool
}

func finished(o *corev1.Pod) bool {
	return o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
}

// leaving says whether a pod is deleted, or is to be.
func (p *pod) leaving() bool {
	return p.object.DeletionTimestamp != nil || p.order != nil && p.order.Kind == Evict
}

// place is the node that a pod is bound to, or is being bound to.
func (p *pod) place() string {
	if p.object.Spec.NodeName != "" {
		return p.object.Spec.NodeName
	}
	if p.order != nil && p.order.Kind == Bind {
		return p.order.Node
	}
	return ""
}

// workloadOf is the ID of the workload that a pod belongs to; empty is another scheduler's.
func (m *Mirror) workloadOf(o *corev1.Pod) string {
	if o.Spec.SchedulerName != m.options.Scheduler {
		return ""
	}
	if g := o.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return o.Namespace + "/" + *g.PodGroupName
	}
	return o.Namespace + "/pods/" + o.Name
}

func (m *Mirror) putPod(o *corev1.Pod) {
	key := nameOf(o)
	p := m.pods[key]
	if p != nil && p.object.UID != o.UID {
		m.dropPod(p)
		p = nil
	}
	if finished(o) {
		if p != nil {
			m.dropPod(p)
		}
		m.finish(o)
		return
	}
	if p == nil {
		p = &pod{workload: m.workloadOf(o)}
		m.pods[key] = p
		m.fresh = append(m.fresh, p)
		if p.workload != "" {
			m.groupNamed(p.workload).pods[p] = true
		}
	} else if p.object.Generation != o.Generation || len(p.object.Status.ResourceClaimStatuses) != len(o.Status.ResourceClaimStatuses) {
		p.key = ""
	}
	p.object = o
	if p.order != nil && p.order.seen(o) {
		p.order = nil
	}
	m.settle(p)
	m.touch(p)
}

// finish takes note of a pod that has ended: what it had is free, and if its work is done
// its gang needs one pod less.
func (m *Mirror) finish(o *corev1.Pod) {
	id := m.workloadOf(o)
	if id == "" {
		return
	}
	g := m.groupNamed(id)
	if o.Status.Phase == corev1.PodSucceeded {
		g.succeeded[o.UID] = true
	}
	m.dirty.groups[id] = true
}

func (m *Mirror) dropPod(p *pod) {
	m.touch(p)
	m.unsettle(p)
	delete(m.pods, nameOf(p.object))
	m.disclaim(p)
	if g := m.groups[p.workload]; g != nil {
		delete(g.pods, p)
	}
}

// settle keeps the ledgers of nodes: a pod is on the one where it is bound or being bound.
func (m *Mirror) settle(p *pod) {
	place := p.place()
	if p.at == place {
		return
	}
	m.unsettle(p)
	if place == "" {
		return
	}
	p.at, p.devices = place, nil
	n := m.nodeNamed(place)
	n.pods[p.object.UID] = p
	switch {
	case p.order != nil:
		p.since, p.devices = p.order.since, p.order.devices
	case p.since.IsZero():
		p.since = boundAt(p.object)
	}
	m.dirty.nodes[place] = true
}

func (m *Mirror) unsettle(p *pod) {
	if p.at == "" {
		return
	}
	m.dirty.nodes[p.at] = true
	delete(m.nodes[p.at].pods, p.object.UID)
	p.at, p.devices = "", nil
}

// boundAt is when a pod was bound, as far as it says so.
func boundAt(o *corev1.Pod) time.Time {
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.UTC()
		}
	}
	return o.CreationTimestamp.UTC()
}

// ask reads what a pod asks, if it has not been read.
func (m *Mirror) ask(p *pod) {
	if p.key != "" {
		return
	}
	names, complete := read.ClaimNames(p.object)
	m.disclaim(p)
	var claims []*resourcev1.ResourceClaim
	for _, name := range names {
		key := types.NamespacedName{Namespace: p.object.Namespace, Name: name}
		p.claims = append(p.claims, key)
		if m.claimers[key] == nil {
			m.claimers[key] = make(map[*pod]bool)
		}
		m.claimers[key][p] = true
		if c := m.claims[key]; c != nil {
			claims = append(claims, c)
		}
	}
	p.request, p.problem = m.options.Request(p.object, claims)
	if !complete && p.problem == nil {
		p.problem = &read.Unsaid{What: []string{"a ResourceClaim that is not there"}}
	}
	text, _ := json.Marshal(p.request) // plain data always has JSON
	p.key = string(text)
}

// disclaim forgets the claims that a pod names.
func (m *Mirror) disclaim(p *pod) {
	for _, claim := range p.claims {
		if delete(m.claimers[claim], p); len(m.claimers[claim]) == 0 {
			delete(m.claimers, claim)
		}
	}
	p.claims = nil
}

// allocated are the devices that the claims of a pod have been given, as numbers of a node's;
// false where they have not been.
func (m *Mirror) allocated(p *pod, devices []read.Device) (numbers []int, ok bool) {
	for _, key := range p.claims {
		c := m.claims[key]
		if c == nil || c.Status.Allocation == nil {
			return nil, false
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			i := slices.IndexFunc(devices, func(d read.Device) bool {
				return d.Key() == [3]string{r.Driver, r.Pool, r.Device}
			})
			if i < 0 {
				return nil, false
			}
			numbers = append(numbers, i)
		}
	}
	slices.Sort(numbers)
	return numbers, len(numbers) > 0
}

// byName is the order of pods within their group: w-2 comes before w-10.
func byName(a, b *pod) int {
	x, y := a.object.Name, b.object.Name
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}
