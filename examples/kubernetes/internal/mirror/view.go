package mirror

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// A View is what of a mirror's objects there is to tell about, at one moment. It does not
// change any more.
type View struct {
	// Pods are those of this scheduler's workloads, by workload; Bound is how many of them are
	// bound and not leaving.
	Pods  map[string][]*corev1.Pod
	Bound map[string]int
	// Promised is what they have been promised, as JSON.
	Promised map[string]string
	// PodGroups are those of which there are pods, by workload.
	PodGroups map[string]*schedulingv1alpha2.PodGroup
	Queues    map[string]*v1alpha1.Queue
	Pools     map[string]*v1alpha1.Pool
	// Refused says why objects are left out, by noun and ID.
	Refused map[string]string
	// Mine says whether a pool is this scheduler's.
	Mine func(pool string) bool
}

// View is the present one.
func (m *Mirror) View() *View {
	v := &View{
		Pods: make(map[string][]*corev1.Pod, len(m.groups)), Bound: make(map[string]int), Promised: make(map[string]string),
		PodGroups: make(map[string]*schedulingv1alpha2.PodGroup),
		Queues:    maps.Clone(m.queues), Pools: maps.Clone(m.pools), Refused: m.Refused(), Mine: m.mine,
	}
	for id, g := range m.groups { // entries of their own: order cannot matter
		for p := range g.pods { // who tells sorts
			v.Pods[id] = append(v.Pods[id], p.object)
			if p.object.Spec.NodeName != "" && p.object.DeletionTimestamp == nil {
				v.Bound[id]++
			}
		}
		if g.promised != nil {
			text, _ := json.Marshal(g.promised) // plain data always has JSON
			v.Promised[id] = string(text)
		}
		if pg := m.podGroups[g.name()]; pg != nil && !g.single() && len(g.pods) > 0 {
			v.PodGroups[id] = pg
		}
	}
	return v
}

// WorkloadOf is the ID of the workload of a pod, if it is one of a mirror's.
func (v *View) WorkloadOf(pod types.NamespacedName) (string, bool) {
	for id, pods := range v.Pods { // a pod is of one: order cannot matter
		for _, p := range pods {
			if nameOf(p) == pod {
				return id, true
			}
		}
	}
	return "", false
}
