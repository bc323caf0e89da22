package sim

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/allotsched/allot"
)

// closed checks at the end of a run that nothing was lost: GPU time is conserved
// to the unit, and Little's law holds.
func (e *engine) closed() error {
	var booked, idle, sojourn Sum
	for i := range e.results {
		booked.sum(e.results[i].Held())
	}
	for _, i := range e.library.jobs {
		if j := e.jobs[i]; j.phase != leaving {
			sojourn.add(int64(e.now-j.Submit), 1)
		}
	}
	for _, s := range e.meter.idleTime {
		idle.sum(s)
	}
	sojourn.sum(e.meter.sojourn)
	if booked != e.meter.allocatedTime {
		return e.wrong("jobs held %v milli-GPU × ns, and the cluster counted %v", booked.big(), e.meter.allocatedTime.big())
	}
	if all := booked.Plus(idle); all != e.meter.usableTime {
		return e.wrong("%v milli-GPU × ns were held or idle, and %v usable", all.big(), e.meter.usableTime.big())
	}
	if sojourn != e.meter.inSystem {
		return e.wrong("jobs were in the system for %v ns, and the cluster counted %v", sojourn.big(), e.meter.inSystem.big())
	}
	return nil
}

// invariants checks the state after a decision.
func (e *engine) invariants(plan *allot.Plan) error {
	if err := allot.Check(e.library.state); err != nil {
		return e.wrong("after the plan: %w", err)
	}
	held, reasons := int64(0), make(map[string]bool, len(plan.Pending))
	for i := range plan.Pending {
		reasons[plan.Pending[i].Workload] = len(plan.Pending[i].Reasons) > 0
	}
	whole := e.options.Latency == 0 && e.options.Drop == 0 && e.scheduler.Rank == nil && e.scheduler.Plan == nil
	for slot, i := range e.library.jobs {
		j := e.jobs[i]
		held += j.held
		if j.slot != slot {
			return e.wrong("job %q is at %d and not at %d", j.Workload.ID, slot, j.slot)
		}
		if j.phase == waiting && whole && len(e.workload(j).Tasks) == 0 && !reasons[j.Workload.ID] {
			return e.wrong("job %q waits without a reason", j.Workload.ID)
		}
	}
	if held != e.meter.allocated {
		return e.wrong("jobs hold %d milli-GPU, and the cluster counts %d", held, e.meter.allocated)
	}
	return nil
}

// carryOutChecked carries out a plan and compares what has come of it with what the
// library says would: with Begin where all that leaves takes its time, with Apply
// where none does.
func (e *engine) carryOutChecked(decision *allot.Decision, f *flight) error {
	plan, slow, fast := f.plan, 0, 0
	for i := range plan.Actions {
		switch a := &plan.Actions[i]; a.Kind {
		case allot.Evict, allot.Shrink, allot.Move:
			if e.grace(e.byID[a.Workload], a) > 0 {
				slow++
			} else {
				fast++
			}
		}
	}
	if slow > 0 && fast > 0 || e.options.Drop > 0 {
		return e.carryOut(f, nil)
	}
	told := decision.Apply
	if slow > 0 {
		told = decision.Begin
	}
	next, err := told()
	if err != nil {
		return e.fault(err)
	}
	if err := e.carryOut(f, nil); err != nil {
		return err
	}
	if err := e.promises.asTold(e, next); err != nil {
		return err
	}
	for i := range plan.Actions {
		id := plan.Actions[i].Workload
		want, _ := next.Workload(id)
		var got []allot.Task
		if j := e.byID[id]; j != nil {
			got = slices.Clone(e.workload(j).Tasks)
		}
		slices.SortFunc(got, byName)
		slices.SortFunc(want.Tasks, byName)
		if !slices.EqualFunc(got, want.Tasks, sameTask) {
			return e.wrong("job %q holds %+v, and by the library %+v", id, got, want.Tasks)
		}
	}
	return nil
}

// asTold checks that jobs are promised what the library says that they are.
func (p *promises) asTold(e *engine, next *allot.Snapshot) error {
	if !p.made {
		return nil
	}
	for _, i := range e.library.jobs {
		got := e.workload(e.jobs[i])
		want, known := next.Workload(got.ID)
		if !known {
			continue
		}
		if !reflect.DeepEqual(got.Reserved, want.Reserved) || !got.WaitingSince.Equal(want.WaitingSince) {
			return e.wrong("job %q is promised %+v and waits since %v, and by the library %+v since %v", want.ID, got.Reserved, got.WaitingSince, want.Reserved, want.WaitingSince)
		}
	}
	return nil
}

func byName(a, b allot.Task) int {
	return cmp.Or(cmp.Compare(a.PodSet, b.PodSet), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Phase, b.Phase))
}

func sameTask(a, b allot.Task) bool {
	return samePlace(a, b) && a.Phase == b.Phase && a.Since.Equal(b.Since) && a.Started.Equal(b.Started)
}
