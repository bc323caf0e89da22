package read

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

var terms = &Terms{GPU: "nvidia.com/gpu", Driver: "gpu.nvidia.com", DeviceClass: "gpu.nvidia.com", Levels: []string{"block", "rack"}}

func list(pairs ...string) corev1.ResourceList {
	out := make(corev1.ResourceList)
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// asking is a pod of one container that asks.
func asking(pairs ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}}
	return p
}

// A node is its labels, taints, domains, amounts and devices.
func TestNode(t *testing.T) {
	o := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"rack": "r1", "nvidia.com/gpu.product": "H100", "nvidia.com/gpu.memory": "81559"}},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, {Key: "kept", Value: "for", Effect: corev1.TaintEffectNoExecute},
		}},
		Status: corev1.NodeStatus{
			Allocatable: list("cpu", "1500m", "memory", "1Gi", "nvidia.com/gpu", "2", "example.com/nic", "4", "pods", "110", "hugepages-2Mi", "0", "ephemeral-storage", "10Gi"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	n, err := terms.Node(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !n.Cordoned || n.Lost || n.MaxTasks != 110 || len(n.Taints) != 1 || n.Domains["rack"] != "r1" || len(n.Domains) != 1 {
		t.Errorf("%+v", n)
	}
	if len(n.Capacity) != 4 || n.Capacity["cpu"] != 1500 || n.Capacity["memory"] != 1<<30 || n.Capacity["example.com/nic"] != 4 || n.Capacity["ephemeral-storage"] != 10<<30 {
		t.Errorf("capacity %v", n.Capacity)
	}
	if len(n.Devices) != 2 || n.Devices[1] != (allot.Device{Model: "H100", Memory: 81559 << 20}) {
		t.Errorf("devices %v", n.Devices)
	}
	o.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: "Sometimes"}}
	if n, err := terms.Node(o, nil); err == nil || !n.Lost {
		t.Errorf("lost %v, error %v", n.Lost, err)
	}
	o.Status.Conditions = nil
	if n, _ := terms.Node(o, nil); !n.Cordoned {
		t.Error("a node that has not said that it is ready is used")
	}
}

// Of the slices of a node the newest generation of each pool counts, in the order of names.
func TestDevices(t *testing.T) {
	slice := func(pool string, generation int64, driver string, names ...string) *resourcev1.ResourceSlice {
		s := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool, Generation: generation}}}
		for _, name := range names {
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: name})
		}
		return s
	}
	got := terms.Devices([]*resourcev1.ResourceSlice{
		slice("b", 1, terms.Driver, "gpu-10", "gpu-2"), slice("a", 1, terms.Driver, "old"), slice("a", 2, terms.Driver, "new"),
		slice("b", 1, "nic.example.com", "nic-0"),
	})
	var names []string
	for _, d := range got {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"new", "gpu-2", "gpu-10"}) {
		t.Error(names)
	}
}

// What pods ask for, and what of it cannot be said.
func TestRequest(t *testing.T) {
	p := asking("cpu", "2", "nvidia.com/gpu", "4", "ephemeral-storage", "1Gi")
	p.Spec.NodeSelector = map[string]string{"kind": "a100"}
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}, {Key: "kept", Value: "for", Effect: corev1.TaintEffectNoSchedule}}
	r, err := terms.Request(p, nil)
	if err != nil || r.GPU.Count != 4 || r.Resources["cpu"] != 2000 || r.Resources["ephemeral-storage"] != 1<<30 || r.Selector.Labels["kind"] != "a100" {
		t.Errorf("%+v, error %v", r, err)
	}
	if len(r.Tolerations) != 2 || r.Tolerations[0].Operator != placement.TolerationExists {
		t.Errorf("tolerations %+v", r.Tolerations)
	}
	for _, test := range []struct {
		want   string
		change func(p *corev1.Pod)
	}{
		{"host port 80", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}},
		{"affinity to pods", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, 1)}}
		}},
		{"several terms", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 2)}}}
		}},
		{"spread", func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{WhenUnsatisfiable: corev1.DoNotSchedule}}
		}},
		{"volume data", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		}},
		{"toleration by Gt", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "x", Operator: "Gt", Value: "1"}} }},
		{"not there", func(p *corev1.Pod) { p.Spec.ResourceClaims = make([]corev1.PodResourceClaim, 1) }},
		{"GPUs on one node", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = list("nvidia.com/gpu", "100000") }},
	} {
		p := asking("nvidia.com/gpu", "1")
		test.change(p)
		if _, err := terms.Request(p, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.want, err)
		}
		p.Annotations = map[string]string{v1alpha1.IgnoreUnsaid: "true"}
		if _, err := terms.Request(p, nil); err != nil {
			t.Errorf("%s: %v, though its owner wants that ignored", test.want, err)
		}
	}
}

// Claims for a number of devices are asked for; others are not said.
func TestClaims(t *testing.T) {
	claim := func(change func(*resourcev1.ExactDeviceRequest)) *resourcev1.ResourceClaim {
		e := &resourcev1.ExactDeviceRequest{DeviceClassName: terms.DeviceClass, Count: 2}
		change(e)
		return &resourcev1.ResourceClaim{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpus", Exactly: e}}}}}
	}
	p := asking()
	p.Spec.ResourceClaims = make([]corev1.PodResourceClaim, 1)
	plain := claim(func(*resourcev1.ExactDeviceRequest) {})
	if r, err := terms.Request(p, []*resourcev1.ResourceClaim{plain}); err != nil || r.GPU.Count != 2 {
		t.Errorf("%d GPUs, error %v", r.GPU.Count, err)
	}
	plain.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "2"}}
	for what, c := range map[string]*resourcev1.ResourceClaim{ // tests of their own
		"of another pod": plain,
		"of all devices": claim(func(e *resourcev1.ExactDeviceRequest) { e.AllocationMode = resourcev1.DeviceAllocationModeAll }),
		"by selectors":   claim(func(e *resourcev1.ExactDeviceRequest) { e.Selectors = make([]resourcev1.DeviceSelector, 1) }),
		"of NICs":        claim(func(e *resourcev1.ExactDeviceRequest) { e.DeviceClassName = "nic" }),
	} {
		if _, err := terms.Request(p, []*resourcev1.ResourceClaim{c}); err == nil {
			t.Errorf("a claim %s is said", what)
		}
	}
}

// Queues and pools say what Allot's do.
func TestQueueAndPool(t *testing.T) {
	half := resource.MustParse("500m")
	weight, seconds := int64(3), int64(60)
	q, err := terms.Queue(&v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.QueueSpec{
		Parent: "p", MinRuntimeSeconds: &seconds,
		Resources: []v1alpha1.QueueResource{{Name: "nvidia.com/gpu", Quota: &half, Weight: &weight}},
	}})
	if err != nil || q.Parent != "p" || q.Resources[0].Resource != allot.GPU || q.Resources[0].Quota != quota.Of(500) || q.Resources[0].Weight != quota.Of(3) {
		t.Errorf("%+v, error %v", q, err)
	}
	pool := &v1alpha1.Pool{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.PoolSpec{
		Policy: "osmo", Knobs: &runtime.RawExtension{Raw: []byte(`{"noConsolidation":false,"staleGangGrace":7}`)},
	}}
	p, err := terms.Pool(pool, time.Minute)
	if err != nil || !p.Policy.NoConsolidation || p.Policy.StaleGangGrace != quota.Of(7) {
		t.Errorf("%+v, error %v", p.Policy, err)
	}
	pool.Spec.Knobs.Raw = []byte(`{"unheardOf":1}`)
	if _, err := terms.Pool(pool, time.Minute); err == nil {
		t.Error("a knob that nobody has heard of is turned")
	}
	if got := terms.Quantity(allot.GPU, 500) + " " + terms.Quantity(allot.Memory, 1<<30) + " " + terms.ResourceName(allot.GPU); got != "500m 1Gi nvidia.com/gpu" {
		t.Error(got)
	}
}
