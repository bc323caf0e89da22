package mirror

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// PromisedCondition is the type of the condition that says to people, and to the schedulers
// to come, what a PodGroup or pod has been promised (B7): its message is the promise as JSON.
// Unlike annotations it is not for who owns the object to write.
const PromisedCondition = v1alpha1.Group + "/Promised"

// promises says whether some pool makes promises, or somebody has one to be taken back.
func (m *Mirror) promises() bool {
	for _, p := range m.sent.pools { // any of them
		if p.Policy.Reserve.Backfill != queue.NoBackfill {
			return true
		}
	}
	for _, g := range m.groups { // any of them
		if g.promised != nil {
			return true
		}
	}
	return false
}

// promise takes note of what a decision has promised a workload.
func (m *Mirror) promise(g *group, p *allot.Promise) {
	if !reflect.DeepEqual(g.promised, p) {
		g.promised = p
		m.dirty.groups[g.id] = true
	}
}

// recall reads once what a scheduler before this one has promised a workload that waits. What no
// state can have is nothing: nobody is refused for it.
func (g *group) recall(w *allot.Workload, d *demand) {
	if g.recalled {
		return
	}
	g.recalled = true
	if d.promised == "" || len(w.Tasks) > 0 {
		return
	}
	p := new(allot.Promise)
	if json.Unmarshal([]byte(d.promised), p) != nil {
		return
	}
	alone := allot.Workload{ID: "alone", PodSets: []allot.PodSet{{Count: 1}}, Reserved: p}
	if allot.Check(&allot.State{Workloads: []allot.Workload{alone}}) == nil {
		g.promised = p
	}
}

// promisedOf is what conditions say of a promise; empty is nothing.
func promisedOf(list []metav1.Condition) string {
	for i := range list {
		if c := &list[i]; c.Type == PromisedCondition && c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

func promisedOfPod(p *corev1.Pod) string {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == PromisedCondition && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// durations say how long the pods work: what is expected, and when the kubelet ends them.
func (d *demand) durations(w *allot.Workload, pods []*pod) error {
	if text := d.annotations[v1alpha1.Duration]; text != "" {
		expected, err := time.ParseDuration(text)
		if err != nil || expected < time.Second {
			return fmt.Errorf("annotation %s is %q, and not a duration of a second or more", v1alpha1.Duration, text)
		}
		w.Duration = quota.Of(int64(expected / time.Second))
	}
	longest := int64(0)
	for _, p := range pods {
		limit := p.object.Spec.ActiveDeadlineSeconds
		if limit == nil {
			return nil
		}
		longest = max(longest, *limit)
	}
	w.TimeLimit = quota.Of(longest)
	return nil
}
