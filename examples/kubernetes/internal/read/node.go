package read

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

const maxDevices = placement.MaxDevices

// Node reads a node as it is by itself: who uses it is not known here. Of a node that is not
// ready it is not known what runs there, so it is cordoned; its administrator says by the
// taint out-of-service that nothing does. With devices they are the GPUs, else they are as
// many as the node says can be allocated.
func (t *Terms) Node(o *corev1.Node, devices []Device) (allot.Node, error) {
	var wrong Unsaid
	n := allot.Node{ID: o.Name, Labels: o.Labels, Cordoned: o.Spec.Unschedulable || !isReady(o)}
	var gpus int
	n.Capacity, gpus = t.amounts(o.Status.Allocatable, &wrong)
	if n.Capacity == nil {
		n.Capacity = make(map[string]int64)
	}
	if devices == nil {
		devices = slices.Repeat([]Device{{Model: o.Labels["nvidia.com/gpu.product"], Memory: labelledMemory(o)}}, gpus)
	}
	if len(devices) > maxDevices {
		wrong.add("more than %d GPUs of a node", maxDevices)
		devices = devices[:maxDevices]
	}
	for _, d := range devices {
		n.Devices = append(n.Devices, allot.Device{Model: d.Model, Memory: d.Memory})
	}
	if pods, ok := o.Status.Allocatable[corev1.ResourcePods]; ok {
		n.MaxTasks = int(min(max(pods.Value(), 0), 1<<20))
	}
	for _, level := range t.Levels {
		if domain := o.Labels[level]; domain != "" {
			if n.Domains == nil {
				n.Domains = make(map[string]string, len(t.Levels))
			}
			n.Domains[level] = domain
		}
	}
	for _, taint := range o.Spec.Taints {
		if taint.Key == corev1.TaintNodeUnschedulable {
			continue // that is the cordon
		}
		n.Lost = n.Lost || taint.Key == corev1.TaintNodeOutOfService
		var effect placement.Effect
		if effect.UnmarshalText([]byte(taint.Effect)) != nil {
			wrong.add("a taint with effect %s", taint.Effect)
			continue
		}
		n.Taints = append(n.Taints, placement.Taint{Key: taint.Key, Value: taint.Value, Effect: effect})
	}
	return n, wrong.orNil()
}

// isReady says whether a node says that it is; one that has not said anything yet is not.
func isReady(o *corev1.Node) bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// labelledMemory is what GPU feature discovery says of each device; 0 is not known.
func labelledMemory(o *corev1.Node) int64 {
	mib, err := strconv.ParseInt(o.Labels["nvidia.com/gpu.memory"], 10, 32)
	if err != nil || mib < 0 {
		return 0
	}
	return mib << 20
}

// A Device is a GPU that a DRA driver lists.
type Device struct {
	// Driver, Pool and Name are how claims name it.
	Driver, Pool, Name string
	Model              string
	Memory             int64 // bytes; 0 is not known
}

// Key is how claims name a device: by driver, pool and name.
func (d *Device) Key() [3]string { return [3]string{d.Driver, d.Pool, d.Name} }

// Devices lists the GPUs of a node, of all its ResourceSlices, in the order of their names.
// Of a pool only the newest generation counts.
func (t *Terms) Devices(list []*resourcev1.ResourceSlice) []Device {
	newest := make(map[string]int64)
	for _, s := range list {
		if s.Spec.Driver == t.Driver {
			newest[s.Spec.Pool.Name] = max(newest[s.Spec.Pool.Name], s.Spec.Pool.Generation)
		}
	}
	var out []Device
	for _, s := range list {
		if s.Spec.Driver != t.Driver || s.Spec.Pool.Generation != newest[s.Spec.Pool.Name] {
			continue
		}
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			one := Device{Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Name: d.Name}
			if a := d.Attributes["productName"]; a.StringValue != nil {
				one.Model = *a.StringValue
			}
			if c, ok := d.Capacity["memory"]; ok {
				one.Memory = min(max(c.Value.Value(), 0), allot.MaxAmount)
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Device) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return out
}
