package allot_test

import (
	"cmp"
	"maps"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// decisionFeatures are what a state and its plan have that the run must have
// met often enough.
func decisionFeatures(s *allot.State, p *allot.Plan) map[string]bool {
	f := make(map[string]bool)
	set := func(name string, has bool) { f[name] = f[name] || has }
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set("claims in flight", has(allot.Claimed)(w))
		set("terminating", has(allot.Terminating)(w))
		set("alternatives", len(w.Alternatives) > 0)
		set("halving", w.PodSets[0].Step == gang.Halving)
	}
	for _, a := range p.Actions {
		set("evicts", hurts(a))
		set(a.Kind.String(), true)
		set("gang", isGang(workloadOf(s, a.Workload)))
		if a.Reason.Code != 0 {
			set(a.Reason.Code.String(), true)
		}
		set("reclaim of a class", a.Reason.Code == allot.ReclaimedByQuota && a.Reason.Class != "")
		set("claim taken", a.Kind == allot.Unclaim && a.Reason.Workload != "")
	}
	for _, w := range p.Pending {
		set("gang", isGang(workloadOf(s, w.Workload)))
		set("blocked head", isBlockedHead(s, p, w))
	}
	parents := make(map[string]string)
	for _, q := range s.Queues {
		parents[q.ID] = q.Parent
		set("minimum runtime", q.MinRuntime != allot.MinRuntime{})
	}
	for i := range s.Workloads {
		set("depth 3", parents[parents[s.Workloads[i].Queue]] != "")
	}
	for i := range s.Pools {
		set("minimum runtime", s.Pools[i].Policy.MinRuntime != allot.MinRuntime{})
	}
	set("cut", mayBeCut(s, p))
	binding := make(map[string]bool)
	for _, share := range p.Shares {
		if share.Divided && share.Class == "" && share.Demand > share.FairShare {
			binding[share.Resource] = true
		}
	}
	set("two binding resources", len(binding) > 1)
	return f
}

func workloadOf(s *allot.State, id string) *allot.Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
}

// isGang says that more than one task must run together.
func isGang(w *allot.Workload) bool {
	least := 0
	for _, p := range w.PodSets {
		least += cmp.Or(p.Min, p.Count)
	}
	return least > 1
}

// isBlockedHead says that a workload waits that is neither impossible nor short
// of submitted tasks, and that one behind it in its queue starts or waits.
func isBlockedHead(s *allot.State, p *allot.Plan, waits allot.Pending) bool {
	switch waits.Reasons[0].Code {
	case allot.ImpossibleNode, allot.ImpossibleGang, allot.ImpossibleQuota, allot.ImpossibleLimit, allot.NotSubmitted:
		return false
	}
	head := workloadOf(s, waits.Workload)
	behind := func(id string) bool {
		w := workloadOf(s, id)
		return w.Queue == head.Queue && (w.Priority < head.Priority || w.Priority == head.Priority && w.Submitted.After(head.Submitted))
	}
	return slices.ContainsFunc(p.Pending, func(w allot.Pending) bool { return behind(w.Workload) }) ||
		slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return a.Kind == allot.Start && behind(a.Workload) })
}
