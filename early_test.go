package allot

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/cluster"
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
			want, err := Solve(snapshot.State())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Actions, slices.Clone(d.Actions()), exact); diff != "" {
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

// B9: who holds something of a node at some time of a spell is found among the runs as in a list.
func TestHoldersAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var held holders
		var list []holder
		draw := func() spell {
			from := rapid.Int64Range(-5, 200).Draw(t, "from")
			if rapid.IntRange(0, 9).Draw(t, "for ever") == 0 {
				return spell{from, cluster.Never}
			}
			return spell{from, from + rapid.Int64Range(1, 20).Draw(t, "for")}
		}
		for i := range rapid.IntRange(0, 300).Draw(t, "holders") {
			s := draw()
			one := holder{int32(i), s.from, s.until, 1 << (i % 64)}
			held.add(one)
			list = append(list, one)
		}
		asked := draw()
		var found, want []int32
		held.during(asked, func(h *holder) { found = append(found, h.by) })
		for _, h := range list {
			if h.from < asked.until && h.until > asked.from {
				want = append(want, h.by)
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Fatalf("during %v: found %v, want %v", asked, found, want)
		}
		for i, r := range held {
			if len(r.list) == 0 || len(r.list) > longestRun || i > 0 && r.list[0].from < held[i-1].list[0].from {
				t.Fatalf("run %d has %d holders from %d on", i, len(r.list), r.list[0].from)
			}
		}
	})
}
