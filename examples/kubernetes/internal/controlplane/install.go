package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/manifests"
)

// Client is a client of the plane that knows Queues and Pools, once [Plane.Install] has
// returned.
func (p *Plane) Client() (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(p.Config(), client.Options{Scheme: scheme})
}

// Install makes the kinds Queue and Pool known to the API server, with the scheduler's role,
// and waits until it serves them.
func (p *Plane) Install(ctx context.Context) error {
	c, err := p.Client()
	if err != nil {
		return err
	}
	for _, text := range [][]byte{manifests.Queues, manifests.Pools} {
		kind := new(apiextensionsv1.CustomResourceDefinition)
		if err := yaml.Unmarshal(text, kind); err != nil {
			return err
		}
		if err := c.Create(ctx, kind); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	role := new(rbacv1.ClusterRole)
	if err := yaml.Unmarshal(manifests.Role, role); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "allot"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := c.List(ctx, &v1alpha1.QueueList{})
		if err == nil {
			err = c.List(ctx, &v1alpha1.PoolList{})
		}
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

// Node is a node with GPUs, as KWOK plays it.
func Node(name string, gpus int64, labels map[string]string) *corev1.Node {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	if gpus > 0 {
		amounts["nvidia.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	all := map[string]string{"kubernetes.io/hostname": name}
	for key, value := range labels { // entries of their own: order cannot matter
		all[key] = value
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: all},
		Status:     corev1.NodeStatus{Capacity: amounts, Allocatable: amounts},
	}
}

// AddNodes makes nodes of 8 GPUs, four to a rack and four racks to a block.
func AddNodes(ctx context.Context, c client.Client, count int) error {
	for i := range count {
		n := Node(fmt.Sprintf("node-%03d", i), 8, map[string]string{
			"example.com/rack": fmt.Sprintf("rack-%03d", i/4), "example.com/block": fmt.Sprintf("block-%03d", i/16),
		})
		if err := c.Create(ctx, n); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
