package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// isEarly says whether the workload may not start yet (B1): what it runs and claims goes on.
func isEarly(w *allot.Workload, s *allot.State) bool {
	return micros(w.NotBefore) > micros(s.Now) && !slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase != allot.Terminating })
}

// afterGathering is the state in which those for which places have been gathered for as long as may be
// do not start before as long again is over (B8).
func afterGathering(s *allot.State) *allot.State {
	if !slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool { return !w.HeldSince.IsZero() }) {
		return s
	}
	out := *s
	out.Workloads = slices.Clone(s.Workloads)
	for i := range out.Workloads {
		w := &out.Workloads[i]
		if w.HeldSince.IsZero() || w.Reserved == nil || w.Reserved.Rule != allot.ByGathering {
			continue
		}
		now := max(0, micros(s.Now))
		held := now - micros(w.HeldSince)
		if next := after(now, held); held > 0 && held >= seconds(maxHold(s, w)) && next < forever && next > micros(w.NotBefore) {
			w.NotBefore = instant(next)
		}
	}
	return &out
}

// maxHold is for how long the pool that promised a workload something lets places be held; one that promises nothing
// any more has nothing to let go.
func maxHold(s *allot.State, w *allot.Workload) quota.Bound {
	pool, leaf := w.Pool, w.Queue
	if form := w.Reserved.Form; form > len(w.Alternatives) {
		return quota.Bound{}
	} else if form > 0 {
		leaf = cmp.Or(w.Alternatives[form-1].Queue, w.Queue)
	}
	for i := range s.Queues {
		if q := &s.Queues[i]; q.ID == leaf {
			pool = q.Pool
		}
	}
	for i := range s.Pools {
		if p := &s.Pools[i]; (p.ID == pool || len(s.Pools) == 1) && p.Policy.Reserve.Backfill != queue.NoBackfill {
			return p.Policy.Reserve.MaxHold
		}
	}
	return quota.Bound{}
}

// notSubmitted are pod sets of which no task is submitted: before its time a workload asks
// for nothing.
func notSubmitted(sets []allot.PodSet) []allot.PodSet {
	sets = slices.Clone(sets)
	for i := range sets {
		sets[i].Missing = sets[i].Count
	}
	return sets
}

// reasonUntil checks what ends of itself, ProtectedUntil and NotBefore: that it has not.
func reasonUntil(v *verifier, at reasonSpot, w *verifiedWorkload, r allot.Reason) {
	if r.Code == allot.ProtectedUntil {
		if !r.Until.IsZero() && micros(r.Until) <= micros(v.state.Now) { // zero is for ever
			v.failAt(at, ruleReasons, "the protection has ended at %s", date(r.Until))
		}
		v.reasonCounts(at, r)
	} else if !isEarly(w.source, v.state) || micros(r.Until) != micros(w.source.NotBefore) {
		v.failAt(at, ruleReasons, "%q may start from %s on", w.source.ID, date(w.source.NotBefore))
	}
}
