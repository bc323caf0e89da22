package main

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A request is what a user asks for: Submit, End or Queue is set.
type request struct {
	// At is when the request was accepted.
	At time.Time
	// Submit is a workload to run.
	Submit *allot.Workload
	// End is the ID of a workload to end, whether it runs or waits.
	End string
	// Queue has its GPU quota changed to Quota, in milli-GPU.
	Queue string
	Quota int64
}

// merge brings what was seen and what was asked for into the record. It says
// whether there is cause to solve. As the record is written after the next
// solve only, merge may come to the same again after a kill.
func (r *record) merge(now time.Time, seen report, requests []request) (cause bool) {
	s := r.State
	if now.After(s.Now) { // a clock that was set back stands still
		s.Now = now
	}
	r.Reported = seen.At
	for i := range s.Nodes {
		cause = mergeNode(&s.Nodes[i], seen.Nodes) || cause
	}
	r.mergeCheckpoints(seen)
	left := r.Attempts[:0]
	for _, a := range r.Attempts {
		result := seen.Attempts[a.Number]
		switch t := r.task(&a); {
		case result.Status == ended:
			r.over(&a, result.Exit)
			cause = true
			continue
		case t != nil && t.Phase == allot.Running && result.Status == unknown && s.Now.Sub(a.Begun) >= startTimeout:
			// It may be lost, or late. Only when the cluster says that it is
			// over may the task be given another place.
			t.Phase = allot.Terminating
			cause = true
		}
		left = append(left, a)
	}
	r.Attempts = left
	for _, q := range requests {
		r.Requests++
		cause = r.mergeRequest(q) || cause
	}
	return r.sweep() || cause
}

// mergeNode takes over how a node stands. Nobody hears a silent node, but what
// runs there may go on, so it is only cordoned. Lost says that nothing runs
// there any more; then Solve displaces what did.
func mergeNode(n *allot.Node, nodes []nodeReport) (changed bool) {
	for _, seen := range nodes {
		if seen.ID != n.ID {
			continue
		}
		cordoned, lost := seen.Health == silent, seen.Health == down
		changed = n.Cordoned != cordoned || n.Lost != lost
		n.Cordoned, n.Lost = cordoned, lost
	}
	return changed
}

// mergeCheckpoints sets the instant up to which the work of each workload is
// saved: what all of its tasks have saved. That is no cause to solve.
func (r *record) mergeCheckpoints(seen report) {
	saved := make(map[string]time.Time)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		at := seen.Attempts[a.Number].Saved
		if least, ok := saved[a.Workload]; !ok || at.Before(least) {
			saved[a.Workload] = at
		}
	}
	for i := range r.State.Workloads {
		w := &r.State.Workloads[i]
		if at := saved[w.ID]; at.After(w.Checkpoint) {
			w.Checkpoint = at
		}
	}
}

// over takes an attempt out of the state that the cluster says is over. If its
// work is done, so is its workload's; else the task waits again, and Solve
// completes its gang.
func (r *record) over(a *attempt, how exit) {
	w := r.workload(a.Workload)
	if t := r.task(a); t != nil {
		gone := *t
		w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool {
			return t.Phase == gone.Phase && t.PodSet == gone.PodSet && t.Index == gone.Index
		})
		if len(w.Tasks) == 0 {
			w.Form = 0
		}
	}
	if how == done {
		end(w)
	}
}

// end has the workload end for good: its claims are void, and what runs is
// stopped.
func end(w *allot.Workload) {
	w.Ending = true
	w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
	for i := range w.Tasks {
		w.Tasks[i].Phase = allot.Terminating
	}
}

// mergeRequest does what a user asks for, if it makes sense: a request that
// would make the state malformed must not keep everybody else's waiting.
func (r *record) mergeRequest(q request) (accepted bool) {
	s := r.State
	switch {
	case q.Submit != nil:
		w := *q.Submit
		w.Submitted = q.At
		s.Workloads = append(s.Workloads, w)
		if allot.Check(s) != nil {
			s.Workloads = s.Workloads[:len(s.Workloads)-1]
			return false
		}
		return true
	case q.End != "":
		w := r.workload(q.End)
		if w != nil {
			end(w)
		}
		return w != nil
	}
	return r.mergeQuota(q.Queue, q.Quota)
}

// mergeQuota changes a queue's GPU quota.
func (r *record) mergeQuota(queue string, milli int64) (accepted bool) {
	for i := range r.State.Queues {
		if r.State.Queues[i].ID != queue {
			continue
		}
		for j := range r.State.Queues[i].Resources {
			given := &r.State.Queues[i].Resources[j]
			if given.Resource != allot.GPU || given.Class != "" {
				continue
			}
			before := given.Quota
			given.Quota = quota.Of(milli)
			if allot.Check(r.State) == nil {
				return true
			}
			given.Quota = before
		}
	}
	return false
}

// sweep removes the workloads that end and of which nothing is left. Until
// then their IDs stay taken.
func (r *record) sweep() (changed bool) {
	left := make(map[string]bool)
	for i := range r.Attempts {
		left[r.Attempts[i].Workload] = true
	}
	before := len(r.State.Workloads)
	r.State.Workloads = slices.DeleteFunc(r.State.Workloads, func(w allot.Workload) bool {
		return w.Ending && !left[w.ID]
	})
	return len(r.State.Workloads) < before
}
