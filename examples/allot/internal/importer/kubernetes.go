package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A kube is what was read of Kubernetes: pods can be told only when nodes and groups are
// known.
type kube struct {
	nodes  []nodeObject
	pods   []podObject
	seen   map[string]bool        // the pods, by namespace and name
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
	RestartPolicy string     `json:"restartPolicy"`
	Resources     podAmounts `json:"resources"`
}

type podAmounts struct {
	Requests map[string]json.RawMessage `json:"requests"`
	Limits   map[string]json.RawMessage `json:"limits"`
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

		Resources podAmounts                 `json:"resources"`
		Overhead  map[string]json.RawMessage `json:"overhead"`
		Claims    []any                      `json:"resourceClaims"`
		Spread    []any                      `json:"topologySpreadConstraints"`

		PriorityClassName string `json:"priorityClassName"`
		SchedulerName     string `json:"schedulerName"`
		SchedulingGates   []struct {
			Name string `json:"name"`
		} `json:"schedulingGates"`
		SchedulingGroup struct {
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

// mostObjects is how many nodes and pods there may be: about what Kubernetes is made for.
const mostObjects = 150_000

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
	if len(k.nodes)+len(k.pods) > mostObjects {
		return fmt.Errorf("has more than %d nodes and pods", mostObjects)
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
		switch id := p.Metadata.id(); {
		case p.Metadata.Name == "":
			m.note(id, "pods without a name are left out")
		case k.seen[id]:
			m.note(id, "pods that are listed twice are taken once")
		default:
			if k.seen == nil {
				k.seen = make(map[string]bool)
			}
			k.seen[id] = true
			k.pods = append(k.pods, p)
		}
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

// isSlice says whether a resource is parts of GPUs: those of MIG, or by time.
func isSlice(name string) bool {
	return strings.HasPrefix(name, "nvidia.com/mig-") || name == "nvidia.com/gpu.shared"
}

// notScheduled are resources that are no part of what is scheduled here.
func notScheduled(name string) bool {
	return name == "pods" || name == "ephemeral-storage" || strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "attachable-volumes")
}

// amounts are all resources that are neither GPUs nor left out, and how many GPUs.
func (m *importing) amounts(of string, list map[string]json.RawMessage) (amounts map[string]int64, gpus int) {
	amounts = make(map[string]int64)
	for name, raw := range list { // a map again: order cannot matter
		switch {
		case isGPU(name):
			n, err := quantity(name, raw)
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
			if isSlice(name) {
				m.note(of, "parts of GPUs such as %.40s are a resource of their own, by number", name)
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
	m.addDevices(&n, gpus, device)
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
