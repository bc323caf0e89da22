package mirror

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allotsched/allot/examples/kubernetes/api/v1alpha1"
)

// A pool that promises nothing any more takes back what it has promised, also where there is
// nothing else to do.
func TestPromisesAreTakenBack(t *testing.T) {
	pool := func(knobs string) *v1alpha1.Pool {
		return &v1alpha1.Pool{
			ObjectMeta: metav1.ObjectMeta{Name: "main"},
			Spec:       v1alpha1.PoolSpec{Policy: "runai", Knobs: &runtime.RawExtension{Raw: []byte(knobs)}},
		}
	}
	m := newMirror()
	runs, limit := bound(podOf("runs", "a", "", 4), "n1"), int64(7200)
	runs.Spec.ActiveDeadlineSeconds = &limit
	put(m, nodeOf("n1", 8), queueOf("a", 8), runs, podOf("waits", "a", "", 8), pool(`{"reserve":{"backfill":"easy"}}`))
	round := func() {
		m.Update(now)
		d, err := m.Snapshot().Decide()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Adopt(d); err != nil {
			t.Fatal(err)
		}
	}
	round()
	if m.View().Promised["team/pods/waits"] == "" {
		t.Fatalf("nothing is promised; refused: %v", m.Refused())
	}
	other := pool(`{}`)
	other.Generation = 2
	put(m, other)
	round()
	m.Update(now)
	w, _ := m.Snapshot().Workload("team/pods/waits")
	if text := m.View().Promised["team/pods/waits"]; text != "" || w.Reserved != nil {
		t.Errorf("still promised: %s, in the state %+v", text, w.Reserved)
	}
}
