package sim

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// A kinship numbers what jobs of one task ask: those of one number differ in nothing
// but their IDs.
type kinship map[string]int32

// of is the number of a workload, from 1 on; 0 is that it is told alone, as it asks
// more than GPUs and other resources for one task.
func (k kinship) of(w allot.Workload) int32 {
	if len(w.PodSets) != 1 || w.PodSets[0].Count != 1 {
		return 0
	}
	set := w.PodSets[0]
	text, err := json.Marshal(&allot.Workload{Queue: w.Queue, Preemption: w.Preemption, PodSets: w.PodSets})
	w.ID, w.Queue, w.Preemption, w.Submitted, w.PodSets = "", "", 0, time.Time{}, nil
	set.Name, set.Count, set.Request = "", 0, allot.Request{}
	if err != nil || !reflect.DeepEqual(w, allot.Workload{}) || !reflect.DeepEqual(set, allot.PodSet{}) {
		return 0
	}
	n, known := k[string(text)]
	if !known {
		n = int32(len(k)) + 1
		k[string(text)] = n
	}
	return n
}

// kinOf is the number of a job's kin; where GPUs are scattered each job is alone.
func (e *replanner) kinOf(j *job) int32 {
	if e.scheduler.scatters {
		return 0
	}
	return e.kinship.of(e.library.submitted(j))
}

// together parts an order into runs that the library is told as one workload each:
// neighbours of one kin that ask a GPU or less. Where all of a run start they have the
// places that they would have one by one, as the nodes are searched for each task as
// for a job of its own. Behind what fits the cluster each is alone.
func (e *replanner) together(order []*job) {
	left := e.meter.usable
	e.runs = e.runs[:0]
	for i, j := range order {
		left -= j.asks
		if n := len(e.runs) - 1; i > 0 && left >= 0 && j.kin != 0 && j.kin == order[i-1].kin && j.turn.plain() && order[i-1].turn.plain() && j.asks <= 1000 {
			e.runs[n] = order[i-len(e.runs[n]) : i+1]
			continue
		}
		e.runs = append(e.runs, order[i:i+1])
	}
}

// eachAlone has every job be a run by itself.
func (e *replanner) eachAlone(order []*job) {
	e.runs = slices.AppendSeq(e.runs[:0], slices.Chunk(order, 1))
}

// apart lists what the actions of a plan for runs give their jobs; false if a run waits.
func (e *replanner) apart(plan *allot.Plan) bool {
	waiting := 0
	for i, run := range e.runs {
		if run[0].run = i; len(run) > 1 {
			waiting++
		}
	}
	e.starts = e.starts[:0]
	for i := range plan.Actions {
		a := &plan.Actions[i]
		head := e.byID[a.Workload]
		if head.count <= 1 {
			e.starts = append(e.starts, placing{a, head, a.Tasks, 0})
			continue
		}
		waiting--
		for k, j := range e.runs[head.run] {
			e.starts = append(e.starts, placing{a, j, a.Tasks[k : k+1 : k+1], a.Tasks[k].Index})
		}
	}
	return waiting == 0
}

// singly lists what the actions of a plan give the jobs that they name.
func (e *replanner) singly(plan *allot.Plan) {
	e.starts = e.starts[:0]
	for i := range plan.Actions {
		a := &plan.Actions[i]
		e.starts = append(e.starts, placing{a, e.byID[a.Workload], a.Tasks, 0})
	}
}
