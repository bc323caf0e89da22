package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/units"
	"github.com/allotsched/allot/placement"
)

// A kube is what was read of Kubernetes: pods can be told only when nodes and groups are
// known.
type kube struct {
	nodes  []nodeObject
	pods   []podObject
	groups map[string]groupObject // by namespace and name
	local  map[string]string      // by namespace and name of a LocalQueue: its ClusterQueue
	queues kubeQueues
	levels map[string]bool // label keys that groups name
	// classes are those of the policies of own Pools.
	classes map[string]bool
	own     bool // there are Queues or Pools of examples/kubernetes
}

type meta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	Created         time.Time         `json:"creationTimestamp"`
	Deleted         *time.Time        `json:"deletionTimestamp"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
	} `json:"ownerReferences"`
}

func (m *meta) id() string {
	if m.Namespace == "" {
		return m.Name
	}
	return m.Namespace + "/" + m.Name
}

type taint struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
	Operator string `json:"operator"`
}

type nodeObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Unschedulable bool    `json:"unschedulable"`
		Taints        []taint `json:"taints"`
	} `json:"spec"`
	Status struct {
		Capacity    map[string]json.RawMessage `json:"capacity"`
		Allocatable map[string]json.RawMessage `json:"allocatable"`
		Conditions  []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type container struct {
	RestartPolicy string `json:"restartPolicy"`
	Resources     struct {
		Requests map[string]json.RawMessage `json:"requests"`
		Limits   map[string]json.RawMessage `json:"limits"`
	} `json:"resources"`
}

type podObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		NodeName       string            `json:"nodeName"`
		NodeSelector   map[string]string `json:"nodeSelector"`
		Affinity       json.RawMessage   `json:"affinity"`
		Tolerations    []taint           `json:"tolerations"`
		Priority       int32             `json:"priority"`
		Containers     []container       `json:"containers"`
		InitContainers []container       `json:"initContainers"`

		PriorityClassName string `json:"priorityClassName"`
		SchedulerName     string `json:"schedulerName"`
		SchedulingGates   []any  `json:"schedulingGates"`
		SchedulingGroup   struct {
			PodGroupName string `json:"podGroupName"`
		} `json:"schedulingGroup"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

type groupObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		MinMember int    `json:"minMember"`
		Queue     string `json:"queue"`
		nativeGroup
	} `json:"spec"`
}

// mostObject is how many bytes an object may have.
const mostObject = 4 << 20

// object reads one object of Kubernetes.
func (m *importing) object(text []byte) error {
	if len(text) > mostObject {
		return fmt.Errorf("has an object of %d MiB, where Kubernetes takes less than %d", len(text)>>20, mostObject>>20)
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   meta   `json:"metadata"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	k := &m.kube
	if len(k.nodes)+len(k.pods) > mostThings {
		return fmt.Errorf("has more than %d objects", mostThings)
	}
	switch {
	case head.Kind == "Node":
		var n nodeObject
		if err := json.Unmarshal(text, &n); err != nil {
			return fmt.Errorf("node %q: %w", head.Metadata.Name, err)
		}
		k.nodes = append(k.nodes, n)
	case head.Kind == "Pod":
		var p podObject
		if err := json.Unmarshal(text, &p); err != nil {
			return fmt.Errorf("pod %q: %w", head.Metadata.id(), err)
		}
		k.pods = append(k.pods, p)
	case head.Kind == "PodGroup":
		var g groupObject
		if err := json.Unmarshal(text, &g); err != nil {
			return fmt.Errorf("pod group %q: %w", head.Metadata.id(), err)
		}
		if k.groups == nil {
			k.groups = make(map[string]groupObject)
		}
		k.groups[g.Metadata.id()] = g
	default:
		return m.queueObject(head.APIVersion, head.Kind, &head.Metadata, text)
	}
	return nil
}

// The resources of Kubernetes that are GPUs.
func isGPU(name string) bool {
	return name == "nvidia.com/gpu" || name == "amd.com/gpu" || name == "gpu.intel.com/i915"
}

// notScheduled are resources that are no part of what is scheduled here.
func notScheduled(name string) bool {
	return name == "pods" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "attachable-volumes")
}

// quantity is an amount of a resource in the library's unit.
func quantity(resource string, raw json.RawMessage) (int64, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return 0, err
		}
	}
	n, err := units.Of(resource).Parse(text)
	if err == nil && (n < 0 || n > allot.MaxAmount) {
		err = fmt.Errorf("is out of range")
	}
	return n, err
}

// amounts are all resources that are neither GPUs nor left out, and how many GPUs.
func (m *importing) amounts(of string, list map[string]json.RawMessage) (amounts map[string]int64, gpus int) {
	amounts = make(map[string]int64)
	for name, raw := range list { // a map again: order cannot matter
		switch {
		case isGPU(name):
			n, err := quantity("nvidia.com/gpu", raw)
			if err != nil || n > placement.MaxDevices {
				m.note(of, "a number of GPUs that cannot be is none: %.20s", raw)
				continue
			}
			gpus += int(n)
		case notScheduled(name):
		default:
			n, err := quantity(name, raw)
			if err != nil {
				m.note(of, "an amount of %.40s that cannot be read is left out", name)
				continue
			}
			amounts[name] = n
		}
	}
	return amounts, gpus
}

// kubernetesEnd makes nouns of all that was read.
func (m *importing) kubernetesEnd() error {
	places := make(map[string]*nodePlaces)
	for i := range m.kube.nodes {
		n := m.node(&m.kube.nodes[i])
		if places[n.ID] != nil || n.ID == "" {
			m.note(n.ID, "a node that is listed twice, or has no name, is taken once or not")
			continue
		}
		places[n.ID] = &nodePlaces{free: make([]int64, len(n.Devices))}
		for d := range places[n.ID].free {
			places[n.ID].free[d] = 1000
		}
		m.state.Nodes = append(m.state.Nodes, n)
	}
	for i := range m.state.Nodes {
		if p := places[m.state.Nodes[i].ID]; p != nil {
			p.node = &m.state.Nodes[i]
		}
	}
	m.kubeQueueEnd()
	if len(m.kube.nodes) > 0 && len(m.kube.pods) > 0 {
		m.note("", "Kubernetes does not say which GPUs of a node a pod holds: they are the lowest that are free")
	}
	m.podsEnd(places)
	m.levelsEnd()
	return nil
}

func (m *importing) node(o *nodeObject) allot.Node {
	list := o.Status.Allocatable
	if len(list) == 0 {
		list = o.Status.Capacity
	}
	n := allot.Node{ID: o.Metadata.Name, Labels: o.Metadata.Labels, Cordoned: o.Spec.Unschedulable}
	var gpus int
	n.Capacity, gpus = m.amounts(n.ID, list)
	if gpus > placement.MaxDevices {
		m.note(n.ID, "a node has more GPUs than %d: the others are left out", placement.MaxDevices)
		gpus = placement.MaxDevices
	}
	device := allot.Device{Model: o.Metadata.Labels["nvidia.com/gpu.product"]}
	if mib, err := strconv.ParseInt(o.Metadata.Labels["nvidia.com/gpu.memory"], 10, 32); err == nil && mib > 0 {
		device.Memory = mib << 20
	}
	for range gpus {
		n.Devices = append(n.Devices, device)
	}
	if raw, ok := list["pods"]; ok {
		if most, err := quantity("pods", raw); err == nil && most < 1<<20 {
			n.MaxTasks = int(most)
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			n.Cordoned = true
			m.note(n.ID, "a node that is not ready is cordoned; say lost when nothing runs there any more")
		}
	}
	for _, t := range o.Spec.Taints {
		if t.Key == "node.kubernetes.io/unschedulable" {
			continue // that is the cordon
		}
		var effect placement.Effect
		if effect.UnmarshalText([]byte(t.Effect)) != nil || t.Key == "" {
			m.note(n.ID, "a taint of an unknown effect is left out")
			continue
		}
		n.Taints = append(n.Taints, placement.Taint{Key: t.Key, Value: t.Value, Effect: effect})
	}
	for name := range list { // noted: order cannot matter
		if notScheduled(name) && name != "pods" {
			m.note(n.ID, "%.40s is not scheduled and is left out", name)
		}
	}
	return n
}

// nodePlaces are what of the devices of a node nobody holds, in thousandths.
type nodePlaces struct {
	node *allot.Node
	free []int64
	// used is what tasks have of its resources, and tasks how many they are.
	used  map[string]int64
	tasks int
}

// take gives a task its devices, the lowest that are free; nil and false if there are
// not so many.
func (p *nodePlaces) take(g *allot.GPURequest) ([]int, bool) {
	want, each := g.Count, int64(1000)
	if g.Milli > 0 {
		want, each = max(g.Count, 1), g.Milli
	}
	if g.Memory > 0 {
		if len(p.node.Devices) == 0 || p.node.Devices[0].Memory == 0 {
			return nil, false
		}
		want, each = max(g.Count, 1), min(1000, (g.Memory*1000+p.node.Devices[0].Memory-1)/p.node.Devices[0].Memory)
	}
	var devices []int
	for d, free := range p.free {
		if len(devices) < want && free >= each {
			devices = append(devices, d)
		}
	}
	if len(devices) < want {
		return nil, false
	}
	for _, d := range devices {
		p.free[d] -= each
	}
	return devices, true
}

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
		if len(p.Spec.SchedulingGates) > 0 {
			m.note(p.Metadata.id(), "pods with scheduling gates are not submitted yet, and left out")
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
		m.minimum(&w)
		m.state.Workloads = append(m.state.Workloads, w)
	}
}

// minimum is how many of a group must run together.
func (m *importing) minimum(w *allot.Workload) {
	g, known := m.kube.groups[w.ID]
	if !known {
		return
	}
	switch {
	case len(w.PodSets) == 1 && g.least() > w.PodSets[0].Count && g.least() < 1<<20:
		set := &w.PodSets[0]
		set.Missing = g.least() - set.Count
		set.Count = g.least()
	case len(w.PodSets) == 1 && g.least() > 0 && g.least() <= w.PodSets[0].Count:
		w.PodSets[0].Min = g.least()
	case len(w.PodSets) > 1:
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

// podRequest is what a pod asks: the larger of all its containers together and of each
// that runs before them.
func (m *importing) podRequest(p *podObject) allot.Request {
	id := p.Metadata.id()
	total, gpus := make(map[string]int64), 0
	sum := func(c *container) {
		list := c.Resources.Requests
		if len(list) == 0 {
			list = c.Resources.Limits
		}
		merged := make(map[string]json.RawMessage, len(list))
		for name, raw := range list { // a map again: order cannot matter
			merged[name] = raw
		}
		for name, raw := range c.Resources.Limits { // the same
			if _, has := merged[name]; !has {
				merged[name] = raw
			}
		}
		amounts, n := m.amounts(id, merged)
		gpus = min(gpus+n, placement.MaxDevices)
		for name, n := range amounts { // sums have no order
			total[name] = min(total[name]+n, allot.MaxAmount)
		}
	}
	for i := range p.Spec.Containers {
		sum(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == "Always" {
			sum(c)
			continue
		}
		amounts, n := m.amounts(id, c.Resources.Requests)
		gpus = max(gpus, n)
		for name, n := range amounts { // each by itself: order cannot matter
			total[name] = max(total[name], n)
		}
	}
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
	if len(p.Spec.Affinity) > 2 {
		m.note(id, "affinity of pods is left out: selectors and taints are taken over")
	}
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
