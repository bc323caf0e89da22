package mirror

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/examples/kubernetes/internal/read"
)

var now = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func newMirror() *Mirror {
	return New(Options{Terms: read.Terms{GPU: "nvidia.com/gpu"}, Scheduler: "allot", Grace: 30 * time.Second})
}

func nodeOf(name string, gpus int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func queueOf(name string, gpus int64) *v1alpha1.Queue {
	return &v1alpha1.Queue{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: v1alpha1.QueueSpec{
		Resources: []v1alpha1.QueueResource{{Name: "nvidia.com/gpu", Quota: resource.NewQuantity(gpus, resource.DecimalSI)}},
	}}
}

func podOf(name, queue, group string, gpus int64) *corev1.Pod {
	amount := corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus, resource.DecimalSI)}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "team", UID: types.UID(name), Labels: map[string]string{v1alpha1.QueueLabel: queue}, CreationTimestamp: metav1.NewTime(now),
	}}
	p.Spec.SchedulerName = "allot"
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: amount}}}
	if group != "" {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	return p
}

func groupOf(name, queue string, least int32) *schedulingv1alpha2.PodGroup {
	pg := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", Labels: map[string]string{v1alpha1.QueueLabel: queue}}}
	pg.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: least}
	return pg
}

// bound is a pod as it is once it was bound.
func bound(p *corev1.Pod, node string) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

// next updates, decides and says what is asked for, such as "bind w-0 n1".
func next(t *testing.T, m *Mirror) []string {
	t.Helper()
	m.Update(now)
	d, err := m.Snapshot().Decide()
	if err != nil {
		t.Fatal(err)
	}
	orders, err := m.Adopt(d)
	if err != nil {
		t.Fatal(err)
	}
	m.Update(now)
	var texts []string
	for _, o := range orders {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Kind, o.Pod.Name, o.Node)))
	}
	slices.Sort(texts)
	return texts
}

func wants(t *testing.T, m *Mirror, texts ...string) {
	t.Helper()
	if got := next(t, m); !slices.Equal(got, texts) {
		t.Fatalf("asks for %q, want %q; refused: %v", got, texts, m.Refused())
	}
}

func put(m *Mirror, objects ...any) {
	for _, o := range objects {
		m.Put(o)
	}
}

// A gang is asked for whole, once, and stays as it is when it is seen.
func TestGangIsAskedForOnce(t *testing.T) {
	m := newMirror()
	put(m, nodeOf("n1", 8), queueOf("a", 8), groupOf("g", "a", 2), podOf("g-0", "a", "g", 4))
	wants(t, m)
	put(m, podOf("g-1", "a", "g", 4))
	wants(t, m, "bind g-0 n1", "bind g-1 n1")
	wants(t, m)
	put(m, bound(podOf("g-0", "a", "g", 4), "n1"))
	before := m.Snapshot()
	wants(t, m)
	if c := m.Snapshot().Since(before); len(c.Workloads)+len(c.Nodes) > 0 {
		t.Errorf("what was asked for and is seen is a change: %+v", c)
	}
}

// What failed is decided anew; what a scheduler before this one has done half is completed.
func TestHalfAGang(t *testing.T) {
	m := newMirror()
	put(m, nodeOf("n1", 8), queueOf("a", 8), groupOf("g", "a", 2))
	put(m, bound(podOf("g-0", "a", "g", 4), "n1"), podOf("g-1", "a", "g", 4))
	m.Update(now)
	if w, _ := m.Snapshot().Workload("team/g"); w.PartialSince.IsZero() {
		t.Error("a gang of which half is bound is not known as partial")
	}
	wants(t, m, "bind g-1 n1")
	o := *m.pods[types.NamespacedName{Namespace: "team", Name: "g-1"}].order
	m.Done(&o, nil, fmt.Errorf("no"))
	wants(t, m, "bind g-1 n1")
}

// A nomination is a claim, also to a scheduler that did not make it.
func TestClaimsOutliveTheScheduler(t *testing.T) {
	first := func() *Mirror {
		m := newMirror()
		put(m, nodeOf("n1", 8), queueOf("a", 0), queueOf("b", 8), bound(podOf("low", "a", "", 8), "n1"))
		return m
	}
	m := first()
	put(m, podOf("high", "b", "", 8))
	wants(t, m, "claim high n1", "evict low")
	m = first() // another life
	leaving := bound(podOf("low", "a", "", 8), "n1")
	stamp := metav1.NewTime(now)
	leaving.DeletionTimestamp = &stamp
	nominated := podOf("high", "b", "", 8)
	nominated.Status.NominatedNodeName = "n1"
	put(m, leaving, nominated)
	wants(t, m)
	if w, _ := m.Snapshot().Workload("team/pods/high"); len(w.Tasks) != 1 || w.Tasks[0].Node != "n1" {
		t.Errorf("the claim is lost: %+v", w.Tasks)
	}
	m.Delete(leaving)
	wants(t, m, "bind high n1")
}

// What is refused is use of its node's, and nobody else's business.
func TestRefused(t *testing.T) {
	m := newMirror()
	lost := bound(podOf("lost", "nowhere", "", 6), "n1")
	put(m, nodeOf("n1", 8), queueOf("a", 8), lost, podOf("big", "a", "", 4), podOf("small", "a", "", 2))
	wants(t, m, "bind small n1")
	if why := m.Refused()["workload team/pods/lost"]; !strings.Contains(why, "nowhere") {
		t.Errorf("refused for %q", why)
	}
	put(m, queueOf("nowhere", 0)) // now it is known, and owes its place to who has a quota
	wants(t, m, "claim big n1", "evict lost")
}

// A node that vanishes takes its pods with it, one that shrinks keeps them.
func TestNodesChange(t *testing.T) {
	m := newMirror()
	n1 := nodeOf("n1", 8)
	put(m, n1, nodeOf("n2", 8), queueOf("a", 16), bound(podOf("one", "a", "", 6), "n1"), podOf("two", "a", "", 8))
	wants(t, m, "bind two n2")
	put(m, nodeOf("n1", 2))
	wants(t, m)
	if w, _ := m.Snapshot().Workload("team/pods/one"); len(w.Tasks) != 1 || len(m.Refused()) > 0 {
		t.Errorf("%+v, refused: %v", w.Tasks, m.Refused())
	}
	m.Delete(n1)
	wants(t, m)
	if _, there := m.Snapshot().Workload("team/pods/one"); there || len(m.Refused()) > 0 {
		t.Errorf("a pod is there without its node; refused: %v", m.Refused())
	}
}
