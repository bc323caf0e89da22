package e2e

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const driver = "gpu.nvidia.com"

// slice lists the devices of a node, as a DRA driver does.
func (w *world) slice(node string, gpus int) {
	w.Helper()
	model := "H100"
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}}
	s.Spec = resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node,
		Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}
	for i := range gpus {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": {StringValue: &model}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
		})
	}
	w.create(s)
}

// claim asks for GPUs by a ResourceClaim.
func (w *world) claim(name string, gpus int64) podChange {
	w.Helper()
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: gpus,
	}}}
	w.create(c)
	w.Cleanup(func() { // as the controller of claims does, which does not run here
		if err := w.client.Get(theContext(), client.ObjectKeyFromObject(c), c); err == nil {
			w.release(c)
			_ = w.client.Delete(theContext(), c)
		}
	})
	return func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}}
	}
}

// release takes the devices of a claim back.
func (w *world) release(c *resourcev1.ResourceClaim) {
	w.Helper()
	c.Status = resourcev1.ResourceClaimStatus{}
	if err := w.client.Status().Update(theContext(), c); err != nil {
		w.Error(err)
	}
	c.Finalizers = nil
	if err := w.client.Update(theContext(), c); err != nil {
		w.Error(err)
	}
}

// devices are those that a claim was allocated, with the pod that they are reserved for.
func (w *world) devices(claim string) (devices []string, pod string) {
	w.Helper()
	c := new(resourcev1.ResourceClaim)
	if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: claim}, c); err != nil {
		w.Fatal(err)
	}
	if c.Status.Allocation != nil {
		for _, r := range c.Status.Allocation.Devices.Results {
			devices = append(devices, r.Pool+"/"+r.Device)
		}
	}
	for _, r := range c.Status.ReservedFor {
		pod = r.Name
	}
	return devices, pod
}

// DRA: claims get the devices of the plan, each device once; who waits gets those that come
// free; a claim that asks for what cannot be said is refused.
func TestDRA(t *testing.T) {
	w := newWorld(t)
	w.node("n1", 0)
	w.slice("n1", 4)
	w.pool("runai")
	w.queue("a", 4)
	w.scheduler("-verify")
	w.pod("one", "a", 0, w.claim("one", 2))
	w.pod("two", "a", 0, w.claim("two", 2))
	w.runs("one", "two")
	var all []string
	for _, name := range []string{"one", "two"} {
		devices, pod := w.devices(name)
		if len(devices) != 2 || pod != name {
			t.Errorf("%s has %v, reserved for %q", name, devices, pod)
		}
		all = append(all, devices...)
	}
	slices.Sort(all)
	if !slices.Equal(all, []string{"n1/gpu-0", "n1/gpu-1", "n1/gpu-2", "n1/gpu-3"}) {
		t.Error(all)
	}
	w.pod("three", "a", 0, w.claim("three", 1))
	w.waits("three", "free")
	w.remove("one")
	w.stays("three") // the devices are allocated until the claim is released
	c := new(resourcev1.ResourceClaim)
	if err := w.client.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: "one"}, c); err != nil {
		t.Fatal(err)
	}
	w.release(c)
	w.runs("three")
	w.pod("missing", "a", 0, func(p *corev1.Pod) {
		name := "nothing"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}}
	})
	w.waits("missing", "ResourceClaim")
}
