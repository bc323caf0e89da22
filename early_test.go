package allot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// B1: as time passes, and back, a snapshot that goes on decides what a new state would: which
// workloads are before their time is its time's alone to say.
func TestEarlyBySnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(0, 5)
		at := func(n int64) time.Time { return time.Unix(n, 0).UTC() }
		s := &State{Now: at(second.Draw(t, "now")), Nodes: []Node{{ID: "a", Devices: make([]Device, 3)}}}
		for _, id := range []string{"u", "v", "w", "x"} {
			k := Workload{ID: id, Submitted: at(second.Draw(t, "submitted")), PodSets: []PodSet{{Count: rapid.IntRange(1, 3).Draw(t, "tasks"), Request: Request{GPU: GPURequest{Count: 1}}}}}
			if rapid.Bool().Draw(t, "timed") {
				k.NotBefore = at(second.Draw(t, "not before"))
			}
			s.Workloads = append(s.Workloads, k)
		}
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			c := Change{Now: at(second.Draw(t, "then"))}
			if rapid.Bool().Draw(t, "otherwise") {
				k := s.Workloads[rapid.IntRange(0, 3).Draw(t, "which")]
				k.NotBefore = at(second.Draw(t, "not before"))
				c.Workloads = []Workload{k}
			}
			if snapshot, err = snapshot.With(c); err != nil {
				t.Fatal(err)
			}
			d, err := snapshot.Decide()
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Plan()
			if err != nil {
				t.Fatal(err)
			}
			want, err := Solve(snapshot.State())
			if err != nil {
				t.Fatal(err)
			}
			got.Work, want.Work = Work{}, Work{}
			if diff := cmp.Diff(want, got, exact); diff != "" {
				t.Fatalf("at %v:\n%s", c.Now, diff)
			}
			for _, p := range want.Pending {
				k, _ := snapshot.Workload(p.Workload)
				if early := k.NotBefore.After(c.Now); early != (p.Reasons[0].Code == NotBefore) || early && !p.Reasons[0].Until.Equal(k.NotBefore) {
					t.Fatalf("%s waits at %v for %v", p.Workload, c.Now, p.Reasons)
				}
			}
		}
	})
}
