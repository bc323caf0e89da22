package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An observer sees what the API server tells, and nothing of the scheduler's: that no pod is
// bound twice, that no node is given more GPUs than it has, and for how long gangs are bound
// in part.
type observer struct {
	lock     sync.Mutex
	capacity map[string]int64
	pods     map[types.UID]*corev1.Pod
	byNode   map[string]map[types.UID]*corev1.Pod // those of pods that are bound
	byGang   map[string]map[types.UID]*corev1.Pod
	bound    map[types.UID]string // for ever, as nobody is bound twice
	partial  map[string]time.Time // gangs, by namespace and name
	// succeeded are the pods of gangs whose work is done.
	succeeded map[string]map[types.UID]bool
	longest   time.Duration
	problems  []string
	binds     int
	// onBind is told of every pod when it is first seen bound, if it is set.
	onBind func(*corev1.Pod)
}

// observe watches until the test ends, and then tells what was wrong.
func observe(ctx context.Context, t *testing.T, c client.WithWatch) *observer {
	t.Helper()
	o := &observer{
		capacity: make(map[string]int64),
		bound:    make(map[types.UID]string), partial: make(map[string]time.Time),
		succeeded: make(map[string]map[types.UID]bool),
	}
	o.begin()
	ctx, stop := context.WithCancel(ctx)
	t.Cleanup(func() {
		stop()
		o.lock.Lock()
		defer o.lock.Unlock()
		for _, p := range o.problems {
			t.Error(p)
		}
		t.Logf("observed: %d binds, no gang longer bound in part than %v", o.binds, o.longest.Round(time.Millisecond))
	})
	go o.follow(ctx, c, &corev1.NodeList{})
	go o.follow(ctx, c, &corev1.PodList{})
	return o
}

// begin forgets the pods: a watch begins with all that there are.
func (o *observer) begin() {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.pods = make(map[types.UID]*corev1.Pod)
	o.byNode, o.byGang = make(map[string]map[types.UID]*corev1.Pod), make(map[string]map[types.UID]*corev1.Pod)
}

// forget takes a pod out, keep takes it in as it is now.
func (o *observer) forget(p *corev1.Pod) {
	if before := o.pods[p.UID]; before != nil {
		delete(o.pods, p.UID)
		delete(o.byNode[before.Spec.NodeName], p.UID)
		delete(o.byGang[gangOf(before)], p.UID)
	}
}

func (o *observer) keep(p *corev1.Pod) {
	o.forget(p)
	o.pods[p.UID] = p
	index(o.byNode, p.Spec.NodeName, p)
	index(o.byGang, gangOf(p), p)
}

func index(in map[string]map[types.UID]*corev1.Pod, key string, p *corev1.Pod) {
	if in[key] == nil {
		in[key] = make(map[types.UID]*corev1.Pod)
	}
	in[key][p.UID] = p
}

// gangOf is the PodGroup of a pod, by namespace and name; empty is none.
func gangOf(p *corev1.Pod) string {
	if p.Spec.SchedulingGroup == nil || p.Spec.SchedulingGroup.PodGroupName == nil {
		return ""
	}
	return p.Namespace + "/" + *p.Spec.SchedulingGroup.PodGroupName
}

// follow watches one kind, and begins anew where a watch ends, as when the server dies.
func (o *observer) follow(ctx context.Context, c client.WithWatch, list client.ObjectList) {
	for ctx.Err() == nil {
		if _, pods := list.(*corev1.PodList); pods {
			o.begin()
		}
		w, err := c.Watch(ctx, list)
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for e := range w.ResultChan() {
			o.see(ctx, c, e)
		}
	}
}

func (o *observer) see(ctx context.Context, c client.WithWatch, e watch.Event) {
	o.lock.Lock()
	defer o.lock.Unlock()
	switch object := e.Object.(type) {
	case *corev1.Node:
		n := object.Status.Allocatable["nvidia.com/gpu"]
		o.capacity[object.Name] = max(o.capacity[object.Name], n.Value()) // what is taken away of a node says nothing about what ran
	case *corev1.Pod:
		o.seePod(object, e.Type == watch.Deleted)
		o.seeGang(ctx, c, object)
	}
}

func (o *observer) seePod(p *corev1.Pod, gone bool) {
	node := p.Spec.NodeName
	if before, ok := o.bound[p.UID]; ok && node != "" && before != node {
		o.problems = append(o.problems, fmt.Sprintf("%s was bound to %s and then to %s", p.Name, before, node))
	}
	if _, ok := o.bound[p.UID]; !ok && node != "" {
		o.bound[p.UID] = node
		o.binds++
		if o.onBind != nil {
			o.onBind(p)
		}
	}
	if gone || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		o.forget(p)
		return
	}
	o.keep(p)
	if node == "" {
		return
	}
	var used int64
	for _, other := range o.byNode[node] { // sums have no order
		used += gpusOf(other)
	}
	if has, known := o.capacity[node]; known && used > has {
		o.problems = append(o.problems, fmt.Sprintf("%s has %d GPUs and pods with %d", node, has, used))
	}
}

func gpusOf(p *corev1.Pod) (n int64) {
	for i := range p.Spec.Containers {
		q := p.Spec.Containers[i].Resources.Requests["nvidia.com/gpu"]
		n += q.Value()
	}
	return n
}

// seeGang measures for how long less than the minimum of a gang is bound.
func (o *observer) seeGang(ctx context.Context, c client.WithWatch, p *corev1.Pod) {
	key := gangOf(p)
	if key == "" {
		return
	}
	bound := 0
	for _, other := range o.byGang[key] { // sums have no order
		if other.Spec.NodeName != "" && other.DeletionTimestamp == nil {
			bound++
		}
	}
	if p.Status.Phase == corev1.PodSucceeded {
		if o.succeeded[key] == nil {
			o.succeeded[key] = make(map[types.UID]bool)
		}
		o.succeeded[key][p.UID] = true
	}
	least := o.least(ctx, c, p) - len(o.succeeded[key])
	since, was := o.partial[key]
	switch is := bound > 0 && bound < least; {
	case is && !was:
		o.partial[key] = time.Now()
	case !is && was:
		o.longest = max(o.longest, time.Since(since))
		delete(o.partial, key)
	}
}

// minimums are those of PodGroups that were read: they never change.
var minimums sync.Map

func (o *observer) least(ctx context.Context, c client.WithWatch, p *corev1.Pod) int {
	key := types.NamespacedName{Namespace: p.Namespace, Name: *p.Spec.SchedulingGroup.PodGroupName}
	if n, ok := minimums.Load(key); ok {
		return n.(int)
	}
	pg := new(schedulingv1alpha2.PodGroup)
	if err := c.Get(ctx, key, pg); err != nil || pg.Spec.SchedulingPolicy.Gang == nil {
		return 0
	}
	n := int(pg.Spec.SchedulingPolicy.Gang.MinCount)
	minimums.Store(key, n)
	return n
}

// bindsSeen is how many pods were bound.
func (o *observer) bindsSeen() int {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.binds
}

// longestHalf is for how long a gang was bound in part at most.
func (o *observer) longestHalf() time.Duration {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.longest
}

// halves are the gangs that are bound in part now, for longer than some time.
func (o *observer) halves(longer time.Duration) (list []string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for key, since := range o.partial { // for people
		if time.Since(since) > longer {
			list = append(list, key)
		}
	}
	return list
}
