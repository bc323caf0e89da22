package importer

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/placement"
)

// podsEnd makes workloads of pods, those of one group together, and foreign use of what
// belongs to the nodes themselves.
func (m *importing) podsEnd(places map[string]*nodePlaces) {
	type member struct {
		pod     *podObject
		request allot.Request
	}
	work := make(map[string][]member)
	var order []string
	for i := range m.kube.pods {
		p := &m.kube.pods[i]
		if p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
			continue
		}
		if gated(p) {
			m.note(p.Metadata.id(), "pods with scheduling gates are not submitted yet, and left out")
			continue
		}
		if p.Metadata.Deleted != nil && p.Spec.NodeName == "" {
			m.note(p.Metadata.id(), "pods that are deleted before they have a node are left out")
			continue
		}
		r := m.podRequest(p)
		if m.foreign(p, &r, places) {
			continue
		}
		id := p.Metadata.id()
		if g := groupOf(p); g != "" {
			id = p.Metadata.Namespace + "/" + g
		}
		if _, known := work[id]; !known {
			order = append(order, id)
		}
		work[id] = append(work[id], member{p, r})
	}
	slices.Sort(order)
	for _, id := range order {
		members := work[id]
		slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.pod.Metadata.Name, b.pod.Metadata.Name) })
		first := members[0].pod
		w := allot.Workload{ID: id, Queue: m.queueOfPod(&first.Metadata, id)}
		m.nativeWork(&w, first)
		if !first.Metadata.Created.IsZero() && first.Metadata.Created.Year() >= 1970 && first.Metadata.Created.Year() < 10000 {
			w.Submitted = first.Metadata.Created.UTC()
		}
		sets := make(map[string]int)
		for _, one := range members {
			key, _ := json.Marshal(one.request) // plain data always has JSON
			at, known := sets[string(key)]
			if !known {
				at = len(w.PodSets)
				sets[string(key)] = at
				w.PodSets = append(w.PodSets, allot.PodSet{Name: "set-" + strconv.Itoa(at+1), Request: one.request})
			}
			index := w.PodSets[at].Count
			w.PodSets[at].Count++
			m.place(&w, &w.PodSets[at], index, one.pod, places)
		}
		if len(w.PodSets) == 1 {
			w.PodSets[0].Name = ""
			for i := range w.Tasks {
				w.Tasks[i].PodSet = ""
			}
		}
		m.minimum(&w, first)
		m.state.Workloads = append(m.state.Workloads, w)
	}
}

// tasksOf is how many tasks a workload has.
func tasksOf(w *allot.Workload) int {
	sum := 0
	for i := range w.PodSets {
		sum += w.PodSets[i].Count
	}
	return sum
}

// gated says whether a pod is not to be scheduled yet. Kueue holds back with gates what waits in
// its queues.
func gated(p *podObject) bool {
	for _, gate := range p.Spec.SchedulingGates {
		if !strings.HasPrefix(gate.Name, "kueue.x-k8s.io/") {
			return true
		}
	}
	return false
}

// minimum is how many of a group must run together.
func (m *importing) minimum(w *allot.Workload, first *podObject) {
	g, known := m.kube.groups[w.ID]
	least := g.least()
	if n, err := strconv.Atoi(first.Metadata.Annotations["kueue.x-k8s.io/pod-group-total-count"]); err == nil && !known {
		known, least = true, n
	}
	set := &w.PodSets[0]
	switch {
	case !known || least < 1 || least >= 1<<20:
	case len(w.PodSets) == 1 && least > set.Count:
		set.Missing = least - set.Count
		set.Count = least
	case len(w.PodSets) == 1:
		set.Min = least
	case least < tasksOf(w):
		m.note(w.ID, "the minimum of a group of unlike pods is left out: all of them start together")
	}
}

// place gives a task of a bound pod its place.
func (m *importing) place(w *allot.Workload, set *allot.PodSet, index int, p *podObject, places map[string]*nodePlaces) {
	if p.Spec.NodeName == "" {
		return
	}
	at := places[p.Spec.NodeName]
	if at == nil {
		m.note(w.ID, "a pod runs on a node that was not given: it waits")
		return
	}
	for name, n := range set.Request.Resources { // each by itself: order cannot matter
		if at.used[name]+n > at.node.Capacity[name] {
			m.note(w.ID, "a pod holds more %.40s than its node has: it waits", name)
			return
		}
	}
	if at.node.MaxTasks > 0 && at.tasks == at.node.MaxTasks {
		m.note(w.ID, "a node runs more pods than it may: the others wait")
		return
	}
	devices, ok := at.take(&set.Request.GPU)
	if !ok {
		m.note(w.ID, "a pod holds more GPUs than its node has free: it waits")
		return
	}
	at.tasks++
	for name, n := range set.Request.Resources { // sums have no order
		if at.used == nil {
			at.used = make(map[string]int64)
		}
		at.used[name] += n
	}
	phase := allot.Running
	if p.Metadata.Deleted != nil {
		phase = allot.Terminating
	}
	w.Tasks = append(w.Tasks, allot.Task{PodSet: set.Name, Index: index, Node: p.Spec.NodeName, Devices: devices, Phase: phase})
}

// foreign says whether a pod belongs to its node, and charges it there (S8).
func (m *importing) foreign(p *podObject, r *allot.Request, places map[string]*nodePlaces) bool {
	daemon := slices.ContainsFunc(p.Metadata.OwnerReferences, func(o struct {
		Kind string `json:"kind"`
	}) bool {
		return o.Kind == "DaemonSet" || o.Kind == "Node"
	})
	others := m.kube.own && p.Spec.SchedulerName == "default-scheduler"
	switch {
	case daemon || p.Metadata.Namespace == "kube-system":
		m.note(p.Metadata.id(), "pods of daemon sets and of kube-system are foreign use of their nodes")
	case others:
		m.note(p.Metadata.id(), "pods of the default scheduler are foreign use of their nodes")
	default:
		return false
	}
	at := places[p.Spec.NodeName]
	if at == nil || at.node == nil {
		return true
	}
	if at.node.Foreign == nil {
		at.node.Foreign = make(map[string]int64)
	}
	at.node.ForeignTasks++
	for name, n := range r.Resources { // each by itself: order cannot matter
		at.node.Foreign[name] = min(at.node.Foreign[name]+n, allot.MaxAmount)
	}
	if devices, ok := at.take(&r.GPU); ok {
		for _, d := range devices {
			at.node.Devices[d].Foreign = 1000 - at.free[d]
		}
	}
	return true
}

// groupOf is the group that a pod says it is of.
func groupOf(p *podObject) string {
	o := &p.Metadata
	for _, name := range []string{p.Spec.SchedulingGroup.PodGroupName, o.Annotations["pod-group-name"], o.Labels["kueue.x-k8s.io/pod-group-name"], o.Labels["scheduling.x-k8s.io/pod-group"], o.Labels["pod-group.scheduling.sigs.k8s.io"]} {
		if name != "" {
			return name
		}
	}
	return ""
}

// podRequest is what a pod asks: the larger of all that run together, its containers with those
// of its sidecars, and of each container that runs before them, with the sidecars that have begun
// by then. What is said of the pod as a whole stands in the place of that, and its overhead is
// added to it.
func (m *importing) podRequest(p *podObject) allot.Request {
	id := p.Metadata.id()
	var together, most need
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		one := m.asked(id, &c.Resources)
		one.add(&together)
		if c.RestartPolicy == "Always" {
			together = one
		}
		most.atLeast(&one)
	}
	for i := range p.Spec.Containers {
		one := m.asked(id, &p.Spec.Containers[i].Resources)
		together.add(&one)
	}
	most.atLeast(&together)
	whole := m.asked(id, &p.Spec.Resources)
	for name, n := range whole.amounts { // each by itself: order cannot matter
		most.amounts[name] = n
	}
	over := m.asked(id, &podAmounts{Requests: p.Spec.Overhead})
	most.add(&over)
	gpus, total := most.gpus, most.amounts
	r := allot.Request{GPU: allot.GPURequest{Count: gpus}}
	for name, n := range total { // a map again: order cannot matter
		if n > 0 {
			if r.Resources == nil {
				r.Resources = make(map[string]int64)
			}
			r.Resources[name] = n
		}
	}
	m.share(p, &r)
	if len(p.Spec.NodeSelector) > 0 {
		r.Selector.Labels = p.Spec.NodeSelector
	}
	m.affinity(p, &r)
	for _, t := range p.Spec.Tolerations {
		out := placement.Toleration{Key: t.Key, Value: t.Value}
		if t.Operator == "Exists" {
			out.Operator, out.Value = placement.TolerationExists, ""
		}
		if out.Effect.UnmarshalText([]byte(t.Effect)) != nil || len(out.Validate()) > 0 {
			m.note(id, "a toleration that makes no sense is left out")
			continue
		}
		r.Tolerations = append(r.Tolerations, out)
	}
	return r
}

// A need is what containers ask.
type need struct {
	amounts map[string]int64
	gpus    int
}

// asked is what a list of resources asks: where only a limit is said, that.
func (m *importing) asked(of string, list *podAmounts) need {
	merged := maps.Clone(list.Limits)
	if merged == nil {
		merged = make(map[string]json.RawMessage, len(list.Requests))
	}
	maps.Copy(merged, list.Requests)
	var n need
	n.amounts, n.gpus = m.amounts(of, merged)
	return n
}

// add adds what others ask at the same time.
func (n *need) add(other *need) {
	n.gpus = min(n.gpus+other.gpus, placement.MaxDevices)
	for name, more := range other.amounts { // sums have no order
		if n.amounts == nil {
			n.amounts = make(map[string]int64)
		}
		n.amounts[name] = min(n.amounts[name]+more, allot.MaxAmount)
	}
}

// atLeast is enough for another as well.
func (n *need) atLeast(other *need) {
	n.gpus = max(n.gpus, other.gpus)
	if n.amounts == nil {
		n.amounts = make(map[string]int64)
	}
	for name, more := range other.amounts { // each by itself: order cannot matter
		n.amounts[name] = max(n.amounts[name], more)
	}
}

// affinity takes over what a pod requires of its node, where that is one list of expressions.
func (m *importing) affinity(p *podObject, r *allot.Request) {
	if len(p.Spec.Affinity) <= 2 {
		return
	}
	var all struct {
		Node struct {
			Required struct {
				Terms []struct {
					Expressions []placement.Expression `json:"matchExpressions"`
					Fields      []any                  `json:"matchFields"`
				} `json:"nodeSelectorTerms"`
			} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
			Preferred []any `json:"preferredDuringSchedulingIgnoredDuringExecution"`
		} `json:"nodeAffinity"`
		Pod     map[string]any `json:"podAffinity"`
		AntiPod map[string]any `json:"podAntiAffinity"`
	}
	id := p.Metadata.id()
	err := json.Unmarshal(p.Spec.Affinity, &all)
	terms := all.Node.Required.Terms
	selector := placement.Selector{Labels: r.Selector.Labels}
	if len(terms) > 0 {
		selector.Expressions = terms[0].Expressions
	}
	if err != nil || len(terms) > 1 || len(terms) == 1 && len(terms[0].Fields) > 0 || len(selector.Validate()) > 0 {
		m.note(id, "what pods require of nodes is left out where it is a choice, or is of fields")
	} else {
		r.Selector = selector
	}
	if len(all.Node.Preferred) > 0 || len(all.Pod) > 0 || len(all.AntiPod) > 0 {
		m.note(id, "what pods prefer of nodes, and want of other pods, is left out")
	}
}

// share reads the annotations by which pods ask a part of a GPU.
func (m *importing) share(p *podObject, r *allot.Request) {
	id := p.Metadata.id()
	if text := p.Metadata.Annotations["gpu-fraction"]; text != "" {
		milli, err := units.Of(allot.GPU).Parse(text)
		if err != nil || milli < 1 || milli > 1000 {
			m.note(id, "a gpu-fraction that cannot be is left out")
			return
		}
		r.GPU = allot.GPURequest{Count: 1, Milli: milli}
	}
	if text := p.Metadata.Annotations["gpu-memory"]; text != "" {
		mib, err := strconv.ParseInt(text, 10, 32)
		if err != nil || mib < 1 {
			m.note(id, "a gpu-memory that cannot be is left out")
			return
		}
		r.GPU = allot.GPURequest{Count: 1, Memory: mib << 20}
	}
}
