package allot

import "time"

// run has the task at position k run from now on: what moves goes on, and has Started before.
func (k *Workload) run(task int, now time.Time) {
	t := &k.Tasks[task]
	t.Phase = Running
	if t.Started.IsZero() {
		t.Started = now
	}
	if t.Started.Equal(t.Since) {
		t.Started = time.Time{} // as it says by itself
	}
	k.WaitingSince = time.Time{}
}

// promises writes what the plan promises (B7).
func (ap *applier) promises(p *Plan) error {
	whole := root()
	list := whole.field("reservations")
	for i := range p.Reservations {
		r := &p.Reservations[i]
		w := ap.workloads[r.Workload]
		if w == nil {
			at := list.at(i)
			where := at.field("workload")
			return mismatch(&where, "no workload %q", r.Workload)
		}
		if !r.NotBefore.IsZero() {
			w.NotBefore = r.NotBefore
		}
		if r.Change == PromiseWithdrawn {
			continue
		}
		promise := clonePromise(r.Promise)
		w.Reserved, ap.promised[w.ID] = &promise, &promise
		if promise.Rule != ByGathering {
			w.HeldSince = time.Time{}
		} else if w.HeldSince.IsZero() {
			w.HeldSince = ap.state.Now
		}
	}
	for id := range ap.halted { // each for itself: order cannot matter
		if w := ap.workloads[id]; w != nil && ap.promised[id] == nil {
			ap.promised[id] = w.Reserved
		}
	}
	return nil
}

// keepTimes drops what the workload was promised and is no more (B7).
func (ap *applier) keepTimes(w *Workload) {
	if ap.promised[w.ID] == nil {
		w.Reserved, w.HeldSince = nil, time.Time{}
	}
}
