package allot

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/table"
)

// TestChangedSince: what a version has otherwise than the one that it was made from, as it is
// kept, is what the two tables differ in, whatever the changes put, took away and put again.
func TestChangedSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &State{Nodes: []Node{{ID: "n", Capacity: map[string]int64{"cpu": 1000}}}}
		there := make(map[string]bool)
		for i := range rapid.IntRange(0, 6).Draw(t, "before") {
			id := strconv.Itoa(i)
			s.Workloads, there[id] = append(s.Workloads, Workload{ID: id, PodSets: []PodSet{{Count: 1}}}), true
		}
		before, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		var changes []Change
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			var c Change
			for i := range 8 {
				id := strconv.Itoa(i)
				does := rapid.IntRange(0, 3).Draw(t, id)
				if does >= 2 && there[id] {
					c.Remove.Workloads, there[id] = append(c.Remove.Workloads, id), false
				}
				if does%2 == 1 {
					c.Workloads, there[id] = append(c.Workloads, Workload{ID: id, PodSets: []PodSet{{Count: 1 + i}}}), true
				}
			}
			changes = append(changes, c)
		}
		after, err := before.With(changes...)
		if err != nil {
			t.Fatal(err)
		}
		want := table.Differences(before.objects.workloads, after.objects.workloads)
		if got := after.objects.changedSince(before.objects.workloads); !slices.Equal(got, want) || after.objects.made.from != before.objects.workloads {
			t.Errorf("%d are changed, not %d", len(got), len(want))
		}
		// Of another version it is found out; a snapshot that no change has made knows nothing.
		later, err := after.With(Change{Workloads: []Workload{{ID: "new", PodSets: []PodSet{{Count: 1}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]*Snapshot{{before, later}, {later, before}, {new(Snapshot).orZero(), before}} {
			if got := pair[1].objects.changedSince(pair[0].objects.workloads); !slices.Equal(got, table.Differences(pair[0].objects.workloads, pair[1].objects.workloads)) {
				t.Errorf("%d are changed since another version", len(got))
			}
		}
	})
}
