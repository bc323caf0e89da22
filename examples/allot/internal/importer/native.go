package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What examples/kubernetes reads: Queues and Pools of its own, and Kubernetes' own PodGroups
// (scheduling.k8s.io/v1alpha2). It calls GPUs and levels as it is told to by flags, which a
// dump does not have.

// ownGroup is the API group of its kinds, and the prefix of its labels.
const ownGroup = "allotsched.github.io"

// A nativeGroup is what of a PodGroup is said in Kubernetes' own kind.
type nativeGroup struct {
	SchedulingPolicy struct {
		Gang struct {
			MinCount int `json:"minCount"`
		} `json:"gang"`
	} `json:"schedulingPolicy"`
	SchedulingConstraints struct {
		Topology []struct {
			Key string `json:"key"`
		} `json:"topology"`
	} `json:"schedulingConstraints"`
	Priority          int32  `json:"priority"`
	PriorityClassName string `json:"priorityClassName"`
}

// least is how many of a group must run together; 0 is not said.
func (g *groupObject) least() int {
	return cmp.Or(g.Spec.MinMember, g.Spec.SchedulingPolicy.Gang.MinCount)
}

type ownQueue struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Parent            string             `json:"parent"`
		Pool              string             `json:"pool"`
		Resources         []ownQueueResource `json:"resources"`
		MaxWorkloads      *int64             `json:"maxWorkloads"`
		MinRuntimeSeconds *int64             `json:"minRuntimeSeconds"`
	} `json:"spec"`
}

type ownQueueResource struct {
	Name              string          `json:"name"`
	Class             string          `json:"class"`
	Quota             json.RawMessage `json:"quota"`
	Limit             json.RawMessage `json:"limit"`
	BorrowingLimit    json.RawMessage `json:"borrowingLimit"`
	LendingLimit      json.RawMessage `json:"lendingLimit"`
	Weight            *int64          `json:"weight"`
	OverQuotaPriority int32           `json:"overQuotaPriority"`
}

type ownPool struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Policy       string          `json:"policy"`
		Knobs        json.RawMessage `json:"knobs"`
		NodeSelector *struct {
			MatchLabels      map[string]string      `json:"matchLabels"`
			MatchExpressions []placement.Expression `json:"matchExpressions"`
		} `json:"nodeSelector"`
	} `json:"spec"`
}

// ownQueue makes a queue of one of examples/kubernetes'.
func (m *importing) ownQueue(o *ownQueue) allot.Queue {
	q := allot.Queue{ID: o.Metadata.Name, Parent: o.Spec.Parent, Pool: o.Spec.Pool, Created: o.Metadata.Created.UTC()}
	amount := func(name string, raw json.RawMessage) quota.Bound {
		var t total
		m.addTo(&t, q.ID, name, raw)
		return t.bound()
	}
	for i := range o.Spec.Resources {
		given := &o.Spec.Resources[i]
		name := given.Name
		if isGPU(name) {
			name = allot.GPU
		}
		r := allot.QueueResource{
			Resource: name, Class: given.Class, OverQuotaPriority: given.OverQuotaPriority,
			Quota: amount(name, given.Quota), Limit: amount(name, given.Limit),
			BorrowingLimit: amount(name, given.BorrowingLimit), LendingLimit: amount(name, given.LendingLimit),
		}
		if given.Weight != nil {
			r.Weight = quota.Of(*given.Weight)
		}
		q.Resources = append(q.Resources, r)
	}
	if n := o.Spec.MaxWorkloads; n != nil {
		q.MaxWorkloads = quota.Of(*n)
	}
	if n := o.Spec.MinRuntimeSeconds; n != nil {
		q.MinRuntime = allot.MinRuntime{Preempt: quota.Of(*n), Reclaim: quota.Of(*n)}
	}
	return q
}

// ownPool makes a pool of one of examples/kubernetes', which moves nothing.
func (m *importing) ownPool(o *ownPool) error {
	policy, err := input.Preset(cmp.Or(o.Spec.Policy, "runai"))
	if err != nil {
		return fmt.Errorf("policy of pool %q %w", o.Metadata.Name, err)
	}
	if len(o.Spec.Knobs) > 0 {
		d := json.NewDecoder(bytes.NewReader(o.Spec.Knobs))
		d.DisallowUnknownFields()
		if err := d.Decode(&policy); err != nil {
			return fmt.Errorf("knobs of pool %q: %w", o.Metadata.Name, err)
		}
	}
	policy.NoConsolidation = true
	m.knowClasses(&policy)
	p := allot.Pool{ID: o.Metadata.Name, Policy: policy}
	if s := o.Spec.NodeSelector; s != nil {
		p.Nodes.Selector = &placement.Selector{Labels: s.MatchLabels, Expressions: s.MatchExpressions}
	}
	m.note(p.ID, "the grace of broken gangs of a pool is the policy's: the scheduler's flag is not known")
	m.state.Pools = append(m.state.Pools, p)
	return nil
}

// nativeWork says what labels, and a PodGroup of Kubernetes' own kind, say of a workload.
func (m *importing) nativeWork(w *allot.Workload, first *podObject) {
	labels := maps.Clone(first.Metadata.Labels)
	priority, class := first.Spec.Priority, first.Spec.PriorityClassName
	g, grouped := m.kube.groups[w.ID]
	if grouped {
		if labels == nil {
			labels = make(map[string]string)
		}
		maps.Copy(labels, g.Metadata.Labels)
		if g.Spec.Priority != 0 || g.Spec.PriorityClassName != "" {
			priority, class = g.Spec.Priority, g.Spec.PriorityClassName
		}
		for _, t := range g.Spec.SchedulingConstraints.Topology { // one at most
			w.Topology.Required = m.level(t.Key)
		}
		if key := g.Metadata.Annotations[ownGroup+"/preferred-topology"]; key != "" {
			w.Topology.Preferred = m.level(key)
		}
	}
	w.Priority = max(priority, -math.MaxInt32)
	for _, name := range []string{labels[ownGroup+"/class"], class} {
		if w.Class == "" && m.kube.classes[name] {
			w.Class, w.Priority = name, 0
		}
	}
	switch cmp.Or(labels[ownGroup+"/preemptible"], labels["kai.scheduler/preemptibility"]) {
	case "true", "preemptible":
		w.Preemption = allot.Preemptible
	case "false", "non-preemptible":
		w.Preemption = allot.NonPreemptible
	case "":
		if len(m.kube.queues.kai) > 0 && w.Class == "" && w.Priority >= leastKept {
			w.Preemption = allot.NonPreemptible
		}
	}
}

// leastKept is the least priority of what KAI never evicts.
const leastKept = 100

// knowClasses takes note of the classes of a policy, which pods may name.
func (m *importing) knowClasses(p *allot.Policy) {
	if m.kube.classes == nil {
		m.kube.classes = make(map[string]bool)
	}
	for _, c := range p.Classes {
		m.kube.classes[c.Name] = true
	}
}

// level takes note that a label key is a level of topology.
func (m *importing) level(key string) string {
	if key == "kubernetes.io/hostname" {
		return allot.NodeLevel
	}
	if m.kube.levels == nil {
		m.kube.levels = make(map[string]bool)
	}
	m.kube.levels[key] = true
	return key
}

// levelsEnd makes levels of the labels that groups name: of how many values there are the
// fewest, that is the widest.
func (m *importing) levelsEnd() {
	if len(m.kube.levels) == 0 {
		return
	}
	m.note("", "levels are those that groups name, the one with the fewest domains as the widest")
	domains := make(map[string]map[string]bool)
	for i := range m.state.Nodes {
		n := &m.state.Nodes[i]
		for key, domain := range n.Labels { // each by itself: order cannot matter
			if !m.kube.levels[key] || domain == "" {
				continue
			}
			if n.Domains == nil {
				n.Domains = make(map[string]string)
			}
			if domains[key] == nil {
				domains[key] = make(map[string]bool)
			}
			n.Domains[key], domains[key][domain] = domain, true
		}
	}
	for key := range m.kube.levels { // sorted below
		m.state.Levels = append(m.state.Levels, allot.Level{Name: key})
	}
	slices.SortFunc(m.state.Levels, func(a, b allot.Level) int {
		return cmp.Or(cmp.Compare(len(domains[a.Name]), len(domains[b.Name])), cmp.Compare(a.Name, b.Name))
	})
}
