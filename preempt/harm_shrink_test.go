package preempt_test

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// shrinkHarm takes away from a state what it can while the verdict stays, so
// that what is printed shows little but the case.
func shrinkHarm(s *allot.State, id, verdict string) *allot.State {
	same := func(t *allot.State) bool {
		at := slices.IndexFunc(t.Workloads, func(w allot.Workload) bool { return w.ID == id })
		if count := t.Workloads[at].PodSets[0].Count; allot.Check(t) != nil || count <= len(t.Workloads[at].Tasks) {
			return false
		}
		p, err := allot.Solve(t)
		if err != nil {
			return false
		}
		got, _ := compareHarm(t, id, p, make(map[string]int))
		return got == verdict
	}
	for changed := true; changed; {
		changed = false
		for _, simpler := range simplerStates(s, id) {
			if same(simpler) {
				s, changed = simpler, true
				break
			}
		}
	}
	return s
}

// simplerStates are states with one thing less.
func simplerStates(s *allot.State, id string) (all []*allot.State) {
	try := func(change func(*allot.State) bool) {
		if t := cloneState(s); change(t) {
			all = append(all, t)
		}
	}
	for i := range s.Workloads {
		try(func(t *allot.State) bool {
			t.Workloads = slices.Delete(t.Workloads, i, i+1)
			return s.Workloads[i].ID != id
		})
	}
	for i := range s.Queues {
		try(func(t *allot.State) bool { t.Queues = slices.Delete(t.Queues, i, i+1); return true })
		try(func(t *allot.State) bool { return liftQueue(t, i) })
	}
	for i := range s.Nodes {
		try(func(t *allot.State) bool { t.Nodes = slices.Delete(t.Nodes, i, i+1); return true })
		try(func(t *allot.State) bool {
			n := &t.Nodes[i]
			n.Devices = n.Devices[:max(0, len(n.Devices)-1)]
			return len(s.Nodes[i].Devices) > 0
		})
		try(func(t *allot.State) bool { t.Nodes[i].Labels = nil; return len(s.Nodes[i].Labels) > 0 })
		try(func(t *allot.State) bool { t.Nodes[i].Capacity = nil; return len(s.Nodes[i].Capacity) > 0 })
	}
	try(func(t *allot.State) bool { t.Budgets = nil; return len(s.Budgets) > 0 })
	for i := range s.Budgets {
		try(func(t *allot.State) bool { t.Budgets[i].MinRunning--; return s.Budgets[i].MinRunning > 0 })
	}
	all = append(all, simplerQueues(s)...)
	all = append(all, simplerWorkloads(s)...)
	return append(all, simplerPolicies(s)...)
}

// liftQueue takes a queue out of the tree; what is below it moves up.
func liftQueue(t *allot.State, i int) bool {
	q := t.Queues[i]
	t.Queues = slices.Delete(t.Queues, i, i+1)
	lifted := false
	for j := range t.Queues {
		if t.Queues[j].Parent == q.ID {
			t.Queues[j].Parent, lifted = q.Parent, true
		}
	}
	return lifted
}

func simplerQueues(s *allot.State) (all []*allot.State) {
	for i := range s.Queues {
		for j, r := range s.Queues[i].Resources {
			try := func(is bool, change func(*allot.QueueResource)) {
				if is {
					t := cloneState(s)
					change(&t.Queues[i].Resources[j])
					all = append(all, t)
				}
			}
			try(r.Limit.Given(), func(r *allot.QueueResource) { r.Limit = quota.Bound{} })
			try(r.BorrowingLimit.Given(), func(r *allot.QueueResource) { r.BorrowingLimit = quota.Bound{} })
			try(r.LendingLimit.Given(), func(r *allot.QueueResource) { r.LendingLimit = quota.Bound{} })
			try(r.OverQuotaPriority != 0, func(r *allot.QueueResource) { r.OverQuotaPriority = 0 })
			try(r.Quota.Given() && r.Quota.Amount() > 0, func(r *allot.QueueResource) { r.Quota = quota.Of(r.Quota.Amount() - 1000) })
		}
		for name := range map[string]bool{allot.GPU: true, allot.CPU: true} { // each is tried by itself, in no order
			t := cloneState(s)
			t.Queues[i].Resources = slices.DeleteFunc(t.Queues[i].Resources, func(r allot.QueueResource) bool { return r.Resource == name })
			if len(t.Queues[i].Resources) < len(s.Queues[i].Resources) {
				all = append(all, t)
			}
		}
		if q := s.Queues[i]; q.MaxWorkloads.Given() || q.MinRuntime != (allot.MinRuntime{}) || !q.Created.IsZero() {
			t := cloneState(s)
			t.Queues[i].MaxWorkloads, t.Queues[i].MinRuntime, t.Queues[i].Created = quota.Bound{}, allot.MinRuntime{}, time.Time{}
			all = append(all, t)
		}
	}
	t := cloneState(s)
	weighted := false
	for i := range t.Queues {
		for j := range t.Queues[i].Resources {
			weighted = weighted || t.Queues[i].Resources[j].Weight.Given()
			t.Queues[i].Resources[j].Weight = quota.Bound{}
		}
	}
	if weighted {
		all = append(all, t)
	}
	return all
}

func simplerWorkloads(s *allot.State) (all []*allot.State) {
	for i, w := range s.Workloads {
		try := func(is bool, change func(*allot.Workload)) {
			if is {
				t := cloneState(s)
				change(&t.Workloads[i])
				all = append(all, t)
			}
		}
		try(w.Preemption != allot.PreemptionByClass, func(w *allot.Workload) { w.Preemption = allot.PreemptionByClass })
		try(!w.Checkpoint.IsZero(), func(w *allot.Workload) { w.Checkpoint = time.Time{} })
		try(!w.Submitted.Equal(time.Unix(0, 0)), func(w *allot.Workload) { w.Submitted = time.Unix(0, 0).UTC() })
		try(w.Owner != "", func(w *allot.Workload) { w.Owner = "" })
		try(w.Priority != 1, func(w *allot.Workload) { w.Priority-- })
		try(len(w.PodSets) > 1, func(w *allot.Workload) { w.PodSets = w.PodSets[:1] })
		for j, set := range w.PodSets {
			try(len(set.Request.Resources) > 0, func(w *allot.Workload) { w.PodSets[j].Request.Resources = nil })
			try(set.Request.GPU.Milli > 0, func(w *allot.Workload) { w.PodSets[j].Request.GPU = allot.GPURequest{Count: 1} })
			try(len(set.Request.Selector.Labels) > 0, func(w *allot.Workload) { w.PodSets[j].Request.Selector.Labels = nil })
			try(set.Count > 1, func(w *allot.Workload) {
				w.PodSets[j].Count--
				w.PodSets[j].Min = min(w.PodSets[j].Min, set.Count-1)
				w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return t.PodSet == set.Name && t.Index >= set.Count-1 })
			})
			try(set.Min < set.Count && set.Min > 0, func(w *allot.Workload) { w.PodSets[j].Min = 0 })
		}
	}
	return all
}

func simplerPolicies(s *allot.State) (all []*allot.State) {
	for _, change := range []func(*allot.Policy){
		func(p *allot.Policy) { p.Granules = nil }, func(p *allot.Policy) { p.NonPreemptibleOverQuota = false },
		func(p *allot.Policy) { p.LowerFirst = false }, func(p *allot.Policy) { p.ClaimLeaving = false }, func(p *allot.Policy) { p.InnerWeightByQuota = false },
		func(p *allot.Policy) { p.EqualSharesAtZeroWeight = false }, func(p *allot.Policy) { p.CheckpointOnEviction = false },
		func(p *allot.Policy) { p.GPUStrategy = 0 }, func(p *allot.Policy) { p.MaxMovedPercent = 0 },
		func(p *allot.Policy) { p.ReclaimMarginMilli = 0 }, func(p *allot.Policy) { p.Straddle = 0 },
		func(p *allot.Policy) { p.Shares = 0 }, func(p *allot.Policy) { p.MinRuntime = allot.MinRuntime{} },
		func(p *allot.Policy) { p.NoConsolidation = true }, func(p *allot.Policy) { p.ConsolidateBeyondShare = false },
		func(p *allot.Policy) { p.MaxEvictions = 0 },
		func(p *allot.Policy) { p.Reclaim = 2 }, func(p *allot.Policy) { p.Preempt = 2 },
	} {
		t := cloneState(s)
		change(&t.Pools[0].Policy)
		if compact(t) != compact(s) {
			all = append(all, t)
		}
	}
	return all
}
