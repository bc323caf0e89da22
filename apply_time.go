package allot

import (
	"slices"
	"time"
)

// run has the task at position k run from now on: what moves goes on, and has Started before.
func (k *Workload) run(task int, now time.Time) {
	t := &k.Tasks[task]
	t.Phase = Running
	if t.Started.IsZero() {
		t.Started = now
	}
	if t.Started.Equal(t.Since) || t.Since.IsZero() && t.Started.Unix() == 0 {
		t.Started = time.Time{} // as it says by itself
	}
	k.WaitingSince = time.Time{}
}

// began is when a task that has begun did so, wherever it was then.
func (t *Task) began() time.Time {
	if t.Started.IsZero() {
		return t.Since
	}
	return t.Started
}

// goesOnSince is when a task that moves began, as its claim says: one of which no time is known began in
// 1970, so that the claim is told from one that starts.
func (t *Task) goesOnSince() time.Time {
	if began := t.began(); !began.IsZero() {
		return began
	}
	return time.Unix(0, 0).UTC()
}

// hasBegun says whether a task runs, or claims where it moves, and goes on there (B1).
func (t *Task) hasBegun() bool {
	return t.Phase == Running || t.Phase == Claimed && !t.Started.IsZero()
}

// isBehind says that some task is Behind a workload (B6).
func (k *Workload) isBehind() bool {
	return slices.ContainsFunc(k.Tasks, func(t Task) bool { return t.Behind != "" })
}

// forgetBehind clears the Behind of the workload's tasks where the workload that it names has no promise in the
// state: the plan has been made as if they were behind none (B6).
func (ap *applier) forgetBehind(w *Workload) {
	for k := range w.Tasks {
		t := &w.Tasks[k]
		if holder := ap.workloads[t.Behind]; holder != nil && holder.Reserved == nil {
			t.Behind = ""
		}
	}
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
		gathered := w.Reserved != nil && w.Reserved.Rule == ByGathering && !w.HeldSince.IsZero()
		promise := clonePromise(r.Promise)
		w.Reserved, ap.promised[w.ID] = &promise, &promise
		if promise.Rule != ByGathering {
			w.HeldSince = time.Time{}
		} else if !gathered { // what is said of no gathering is of none
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

// keepTimes drops what the workload was promised and is no more, and clears of its tasks
// that they are behind what does not hold their place (B6, B7).
func (ap *applier) keepTimes(w *Workload) {
	if ap.promised[w.ID] == nil {
		w.Reserved, w.HeldSince = nil, time.Time{}
	}
	for k := range w.Tasks {
		if t := &w.Tasks[k]; t.Behind != "" && !ap.promised[t.Behind].holds(t) {
			t.Behind = ""
		}
	}
}

// isOver says whether a workload holds its minimum, or some task that is promised a place.
func (p *Promise) isOver(w *Workload) bool {
	held := slices.DeleteFunc(slices.Clone(w.Tasks), func(t Task) bool { return t.Phase == Terminating })
	return len(held) > 0 && (w.atMinimum() || slices.ContainsFunc(held, func(t Task) bool {
		return slices.ContainsFunc(p.Tasks, func(at Placement) bool { return at.PodSet == t.PodSet && at.Index == t.Index })
	}))
}

// holds says whether something is promised at the place of a task; nil promises nothing.
func (p *Promise) holds(t *Task) bool {
	return p != nil && slices.ContainsFunc(p.Tasks, func(at Placement) bool {
		shared := slices.ContainsFunc(t.Devices, func(d int) bool { return slices.Contains(at.Devices, d) })
		return at.Node == t.Node && (shared || len(t.Devices) == 0 || len(at.Devices) == 0)
	})
}
