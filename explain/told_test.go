package explain

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
)

// TestHoldersHoldWhatItCouldUse: whoever is named as a holder of what a workload waits
// for stands on a node that would take a task of it, in one of its forms, if it were
// empty (X1): nobody is ended for nothing. Of who has tasks with devices, Nodes speaks of
// these alone, so who holds what the others ask may stand elsewhere.
func TestHoldersHoldWhatItCouldUse(t *testing.T) {
	named := 0
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		d, err := must(allot.NewSnapshot(s)).Decide()
		if err != nil {
			t.Fatal(err)
		}
		plan, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		after, err := allot.Apply(s, plan)
		if err != nil {
			t.Fatal(err)
		}
		fitter := NewFitter(d.Snapshot())
		for _, p := range plan.Pending {
			e, err := Workload(t.Context(), d, p.Workload)
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Holders) == 0 {
				continue
			}
			k, _ := d.Snapshot().Workload(p.Workload)
			nodes, err := fitter.Nodes(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			devices := 0
			for _, set := range k.PodSets {
				if gpu := set.Request.GPU; gpu.Count > 0 || gpu.Milli > 0 || gpu.Memory > 0 {
					devices++
				}
			}
			apart := devices > 0 && devices < len(k.PodSets)
			for _, holder := range e.Holders {
				if apart && holder.Resource != allot.GPU {
					continue
				}
				for _, id := range holder.Last {
					named++
					i := slices.IndexFunc(after.Workloads, func(k allot.Workload) bool { return k.ID == id })
					if !slices.ContainsFunc(after.Workloads[i].Tasks, func(t allot.Task) bool { return slices.Contains(nodes, t.Node) }) {
						t.Fatalf("%s waits for %s and could use no node of %s: only %v", p.Workload, holder.Resource, id, nodes)
					}
				}
			}
		}
	})
	t.Logf("%d were named", named)
}

// TestGrowthSaysWhosePlaceItTakes: what grows into the place of somebody who goes for it
// does not say that it grows into what is free (X2).
func TestGrowthSaysWhosePlaceItTakes(t *testing.T) {
	grown := 0
	rapid.Check(t, func(t *rapid.T) {
		plan, err := allot.Solve(genState(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range plan.Actions {
			if a.Kind != allot.Resize {
				continue
			}
			grown++
			for _, b := range plan.Actions {
				goes := b.Kind == allot.Evict || b.Kind == allot.Shrink
				if goes && b.Reason.Workload == a.Workload && slices.Contains(a.After, b.Workload) && a.Reason.Workload == "" {
					t.Fatalf("%s grows where %s goes for it, and does not say so", a.Workload, b.Workload)
				}
			}
		}
	})
	t.Logf("%d grew", grown)
}
