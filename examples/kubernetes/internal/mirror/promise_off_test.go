package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// A condition is what others may have written: one that no state can have is no promise, and
// nobody is refused for it.
func TestOddPromisesAreNone(t *testing.T) {
	for _, text := range []string{
		`{}`, `null`, `{"at":"2026-11-23T02:00:00Z"}`, `{"at":"2026-11-23T02:00:00Z","tasks":[{"node":"gone","devices":[0,1,2,3,4,5,6,7]}],"made":"2026-11-23T00:00:00Z","first":"2026-11-23T02:00:00Z"}`,
		`{"at":"2026-11-23T02:00:00Z","tasks":[{"node":"n1","devices":[70]}],"made":"2026-11-23T00:00:00Z","first":"2026-11-23T02:00:00Z"}`,
		`{"at":"2026-11-23T02:00:00Z","form":-1,"tasks":[{"node":"n1","index":-4,"podSet":"x","devices":[-1]}],"waitsFor":["",""]}`,
		`{"at":"0001-01-01T00:00:00Z","form":99,"tasks":[{"node":"n1"}]}`,
	} {
		m := newMirror()
		waits := podOf("waits", "a", "", 8)
		waits.Status.Conditions = []corev1.PodCondition{{Type: PromisedCondition, Status: corev1.ConditionTrue, Message: text}}
		put(m, nodeOf("n1", 8), queueOf("a", 8), waits, &v1alpha1.Pool{
			ObjectMeta: metav1.ObjectMeta{Name: "main"},
			Spec:       v1alpha1.PoolSpec{Policy: "runai", Knobs: &runtime.RawExtension{Raw: []byte(`{"reserve":{"backfill":"easy"}}`)}},
		})
		wants(t, m, "bind waits n1")
		if refused := m.Refused(); len(refused) > 0 {
			t.Errorf("%s: refused: %v", text, refused)
		}
	}
}
