package mirror

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
	"github.com/allotsched/allot/quota"
)

// What one scheduler has promised, the next one keeps: it is in the conditions of the objects.
func TestPromisesOutliveTheScheduler(t *testing.T) {
	lasts := func(p *corev1.Pod, hours int64) *corev1.Pod {
		seconds := hours * 3600
		p.Spec.ActiveDeadlineSeconds = &seconds
		return p
	}
	life := func(waits *corev1.Pod, at time.Time) *Mirror {
		m := newMirror()
		runs := bound(lasts(podOf("runs", "a", "", 4), 2), "n1")
		runs.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
		put(m, nodeOf("n1", 8), queueOf("a", 8), runs, waits, &v1alpha1.Pool{
			ObjectMeta: metav1.ObjectMeta{Name: "main"},
			Spec:       v1alpha1.PoolSpec{Policy: "runai", Knobs: &runtime.RawExtension{Raw: []byte(`{"reserve":{"backfill":"easy"}}`)}},
		})
		for range 2 { // a promise is told the state as well
			m.Update(at)
			d, err := m.Snapshot().Decide()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Adopt(d); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	waits := lasts(podOf("waits", "a", "", 8), 1)
	m := life(waits, now)
	text := m.View().Promised["team/pods/waits"]
	w, _ := m.Snapshot().Workload("team/pods/waits")
	if w.Reserved == nil || !w.Reserved.At.Equal(now.Add(2*time.Hour)) {
		t.Fatalf("promised %+v, refused: %v", w.Reserved, m.Refused())
	}
	waits.Status.Conditions = []corev1.PodCondition{{Type: PromisedCondition, Status: corev1.ConditionTrue, Message: text}}
	later := now.Add(10 * time.Minute)
	m = life(waits, later)
	again, _ := m.Snapshot().Workload("team/pods/waits")
	one, _ := json.Marshal(w.Reserved)
	two, _ := json.Marshal(again.Reserved)
	if string(one) != string(two) {
		t.Errorf("%s was promised, and after a restart %s", one, two)
	}
	waits.Status.Conditions[0].Message = "{"
	if again, _ := life(waits, later).Snapshot().Workload("team/pods/waits"); again.Reserved == nil || !again.Reserved.Made.Equal(later) {
		t.Errorf("a condition that makes no sense is taken for %+v", again.Reserved)
	}
}

// What is expected must be a duration.
func TestDurations(t *testing.T) {
	m := newMirror()
	p := podOf("one", "a", "", 1)
	p.Annotations = map[string]string{v1alpha1.Duration: "90m"}
	odd := podOf("odd", "a", "", 1)
	odd.Annotations = map[string]string{v1alpha1.Duration: "soon"}
	put(m, nodeOf("n1", 8), queueOf("a", 8), p, odd)
	wants(t, m, "bind one n1")
	if w, _ := m.Snapshot().Workload("team/pods/one"); w.Duration.Amount() != 5400 || w.TimeLimit != (quota.Bound{}) {
		t.Errorf("duration %v, limit %v", w.Duration, w.TimeLimit)
	}
	if m.Refused()["workload team/pods/odd"] == "" {
		t.Error("a duration that makes no sense is not refused")
	}
}

// What was refused is so no more once it is as before, and what is gone is forgotten.
func TestNothingIsLeftBehind(t *testing.T) {
	m := newMirror()
	bad := queueOf("a", 8)
	bad.Spec.Parent, bad.Generation = "nobody", 2
	back := queueOf("a", 8)
	back.Generation = 3
	n1, p := nodeOf("n1", 8), bound(podOf("one", "a", "", 1), "n1")
	put(m, n1, queueOf("a", 8), p)
	wants(t, m)
	put(m, bad)
	wants(t, m)
	if m.Refused()["queue a"] == "" {
		t.Error("a queue below nobody is not refused")
	}
	put(m, back)
	wants(t, m)
	if len(m.Refused()) > 0 {
		t.Errorf("refused: %v", m.Refused())
	}
	m.Delete(n1)
	wants(t, m)
	m.Delete(p)
	wants(t, m)
	if len(m.nodes)+len(m.pods)+len(m.groups)+len(m.sent.nodes)+len(m.sent.workloads) > 0 {
		t.Errorf("left: %d nodes, %d pods, %d groups", len(m.nodes), len(m.pods), len(m.groups))
	}
}
