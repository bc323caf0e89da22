package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// kubeQueues are the queues of KAI and of Kueue.
type kubeQueues struct {
	kai      []kaiQueue
	clusters []clusterQueue
	cohorts  []cohortObject
	own      []ownQueue
}

// A kaiQueue is a Queue of KAI: GPUs in devices, CPU in thousandths of cores, memory in
// millions of bytes; -1 is unlimited.
type kaiQueue struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		ParentQueue string                 `json:"parentQueue"`
		Priority    *int32                 `json:"priority"`
		Resources   map[string]kaiResource `json:"resources"`
	} `json:"spec"`
}

type kaiResource struct {
	Quota           *float64 `json:"quota"`
	Limit           *float64 `json:"limit"`
	OverQuotaWeight *float64 `json:"overQuotaWeight"`
}

type resourceGroup struct {
	Flavors []struct {
		Name      string `json:"name"`
		Resources []struct {
			Name           string          `json:"name"`
			NominalQuota   json.RawMessage `json:"nominalQuota"`
			BorrowingLimit json.RawMessage `json:"borrowingLimit"`
			LendingLimit   json.RawMessage `json:"lendingLimit"`
		} `json:"resources"`
	} `json:"flavors"`
}

type clusterQueue struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Cohort           string          `json:"cohort"`
		CohortName       string          `json:"cohortName"`
		ResourceGroups   []resourceGroup `json:"resourceGroups"`
		QueueingStrategy string          `json:"queueingStrategy"`
		Preemption       json.RawMessage `json:"preemption"`
		FairSharing      json.RawMessage `json:"fairSharing"`
		StopPolicy       string          `json:"stopPolicy"`
		AdmissionChecks  json.RawMessage `json:"admissionChecks"`
	} `json:"spec"`
}

type cohortObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Parent         string          `json:"parent"`
		ParentName     string          `json:"parentName"`
		ResourceGroups []resourceGroup `json:"resourceGroups"`
		FairSharing    json.RawMessage `json:"fairSharing"`
	} `json:"spec"`
}

// queueObject reads an object that is neither node nor pod.
func (m *importing) queueObject(api, kind string, o *meta, text []byte) error {
	q := &m.kube.queues
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s %q: %w", kind, o.id(), err)
	}
	switch {
	case kind == "Queue" && strings.HasPrefix(api, "scheduling.run.ai/"):
		var one kaiQueue
		err := json.Unmarshal(text, &one)
		q.kai = append(q.kai, one)
		return fail(err)
	case kind == "Queue" && strings.HasPrefix(api, ownGroup+"/"):
		var one ownQueue
		err := json.Unmarshal(text, &one)
		q.own, m.kube.own = append(q.own, one), true
		return fail(err)
	case kind == "Pool" && strings.HasPrefix(api, ownGroup+"/"):
		var one ownPool
		m.kube.own = true
		if err := json.Unmarshal(text, &one); err != nil {
			return fail(err)
		}
		return m.ownPool(&one)
	case kind == "ClusterQueue":
		var one clusterQueue
		err := json.Unmarshal(text, &one)
		q.clusters = append(q.clusters, one)
		return fail(err)
	case kind == "Cohort":
		var one cohortObject
		err := json.Unmarshal(text, &one)
		q.cohorts = append(q.cohorts, one)
		return fail(err)
	case kind == "LocalQueue":
		var one struct {
			Spec struct {
				ClusterQueue string `json:"clusterQueue"`
			} `json:"spec"`
		}
		err := json.Unmarshal(text, &one)
		if m.kube.local == nil {
			m.kube.local = make(map[string]string)
		}
		m.kube.local[o.id()] = one.Spec.ClusterQueue
		return fail(err)
	}
	m.note(o.id(), "objects of kind %.60s are left out", kind)
	return nil
}

// queueOfPod is the queue that a pod names.
func (m *importing) queueOfPod(o *meta, workload string) string {
	for _, label := range []string{"kai.scheduler/queue", "runai/queue", ownGroup + "/queue"} {
		if name := o.Labels[label]; name != "" {
			return name
		}
	}
	g := m.kube.groups[workload]
	if name := cmp.Or(g.Spec.Queue, g.Metadata.Labels[ownGroup+"/queue"]); name != "" {
		return name
	}
	if name := o.Labels["kueue.x-k8s.io/queue-name"]; name != "" {
		return m.kube.local[o.Namespace+"/"+name]
	}
	return ""
}

// kubeQueueEnd makes queues of all that was read.
func (m *importing) kubeQueueEnd() {
	q := &m.kube.queues
	taken := make(map[string]bool)
	add := func(one allot.Queue) {
		taken[one.ID] = true
		m.state.Queues = append(m.state.Queues, one)
	}
	if len(q.kai) > 0 {
		m.preset = allot.RunAI
		m.note("", "the policy is the preset runai, of which KAI is the open part")
		policy := allot.RunAI()
		m.knowClasses(&policy)
	}
	for i := range q.kai {
		add(m.kaiQueue(&q.kai[i]))
	}
	for i := range q.own {
		add(m.ownQueue(&q.own[i]))
	}
	if len(q.own) > 0 && len(m.state.Pools) == 0 {
		m.preset = allot.RunAI
		policy := allot.RunAI()
		m.knowClasses(&policy)
	}
	for i := range q.cohorts {
		c := &q.cohorts[i]
		one := allot.Queue{ID: cohortID(c.Metadata.Name), Parent: cohortID(c.Spec.Parent + c.Spec.ParentName)}
		one.Resources = m.flavors(one.ID, c.Spec.ResourceGroups, false)
		if len(c.Spec.FairSharing) > 2 {
			m.note(one.ID, "fairSharing of cohorts is left out")
		}
		add(one)
	}
	for i := range q.clusters {
		c := &q.clusters[i]
		one := allot.Queue{ID: c.Metadata.Name, Parent: cohortID(c.Spec.Cohort + c.Spec.CohortName)}
		if one.Parent != "" && !taken[one.Parent] {
			add(allot.Queue{ID: one.Parent})
		}
		one.Resources = m.flavors(one.ID, c.Spec.ResourceGroups, one.Parent == "")
		if c.Spec.QueueingStrategy == "StrictFIFO" {
			one.Queueing = queue.OwnStrict
		}
		for what, raw := range map[string]json.RawMessage{"preemption": c.Spec.Preemption, "fairSharing": c.Spec.FairSharing, "admissionChecks": c.Spec.AdmissionChecks} { // noted: order cannot matter
			if len(raw) > 2 {
				m.note(one.ID, "%s of cluster queues is left out: it is the policy's here", what)
			}
		}
		if c.Spec.StopPolicy != "" && c.Spec.StopPolicy != "None" {
			m.note(one.ID, "stopPolicy of cluster queues is left out")
		}
		add(one)
	}
}

// cohortID is the queue that stands for a cohort, which may be called as a cluster queue
// is.
func cohortID(name string) string {
	if name == "" {
		return ""
	}
	return "cohort:" + name
}

// flavors are the quotas of a cluster queue or cohort, of all flavors together. Alone says
// that it has nobody to borrow from.
func (m *importing) flavors(of string, groups []resourceGroup, alone bool) []allot.QueueResource {
	type sums struct{ nominal, borrow, lend total }
	var names []string
	by := make(map[string]*sums)
	for _, g := range groups {
		if len(g.Flavors) > 1 {
			m.note(of, "the quotas of several flavors are one: quotas of each are left out")
		}
		for _, flavor := range g.Flavors {
			for _, r := range flavor.Resources {
				name := r.Name
				if isGPU(name) {
					name = allot.GPU
				}
				if by[name] == nil {
					by[name] = &sums{}
					names = append(names, name)
				}
				s := by[name]
				m.addTo(&s.nominal, of, name, r.NominalQuota)
				m.addTo(&s.borrow, of, name, r.BorrowingLimit)
				m.addTo(&s.lend, of, name, r.LendingLimit)
			}
		}
	}
	slices.Sort(names)
	var out []allot.QueueResource
	for _, name := range names {
		if notScheduled(name) || name == "" {
			continue
		}
		s := by[name]
		r := allot.QueueResource{Resource: name, Quota: s.nominal.bound(), BorrowingLimit: s.borrow.bound(), LendingLimit: s.lend.bound()}
		if alone {
			r.Limit = r.Quota
		}
		out = append(out, r)
	}
	return out
}

// A total is a sum of amounts of which some may not be said.
type total struct {
	n     int64
	given bool
}

func (t *total) bound() quota.Bound {
	if !t.given {
		return quota.Bound{}
	}
	return quota.Of(min(t.n, allot.MaxAmount))
}

func (m *importing) addTo(t *total, of, name string, raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	n, err := quantity(name, raw)
	if err != nil {
		m.note(of, "a quota of %.40s that cannot be read is left out", name)
		return
	}
	t.n, t.given = min(t.n+n, allot.MaxAmount), true
}

func (m *importing) kaiQueue(q *kaiQueue) allot.Queue {
	out := allot.Queue{ID: q.Metadata.Name, Parent: q.Spec.ParentQueue}
	for _, r := range []struct {
		from, to string
		scale    float64
	}{{"gpu", allot.GPU, 1000}, {"cpu", allot.CPU, 1}, {"memory", allot.Memory, 1e6}} {
		given, has := q.Spec.Resources[r.from]
		if !has {
			continue
		}
		entry := allot.QueueResource{
			Resource: r.to, Quota: m.scaled(out.ID, given.Quota, r.scale), Limit: m.scaled(out.ID, given.Limit, r.scale),
			Weight: m.scaled(out.ID, weight(given.OverQuotaWeight), 1000),
		}
		if q.Spec.Priority != nil {
			entry.OverQuotaPriority = *q.Spec.Priority
		}
		out.Resources = append(out.Resources, entry)
	}
	return out
}

// weight is a weight, 1 where none is said, so that all siblings have one.
func weight(w *float64) *float64 {
	if w == nil || *w < 0 {
		one := 1.0
		return &one
	}
	return w
}

// scaled is a number in base units; absent stays absent, and below 0 is unlimited.
func (m *importing) scaled(of string, n *float64, scale float64) quota.Bound {
	switch {
	case n == nil:
		return quota.Bound{}
	case *n < 0:
		return quota.Unlimited()
	case math.IsNaN(*n) || *n*scale > allot.MaxAmount:
		m.note(of, "an amount that is too large is unlimited")
		return quota.Unlimited()
	}
	exact := math.Round(*n * scale)
	if math.Abs(exact-*n*scale) > 1e-9*max(1, exact) { // what is no more is the form of the number
		m.note(of, "amounts finer than a thousandth are rounded")
	}
	return quota.Of(int64(exact))
}
