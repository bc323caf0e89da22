package sim

import (
	"encoding/json"
	"reflect"
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

// together parts an order into runs that the library is told as one workload each:
// neighbours of one kin that ask a GPU or less. Where all of a run start they have the
// places that they would have one by one, as the nodes are searched for each task as
// for a job of its own. Behind what fits the cluster each is alone.
func (e *replanner) together(order []*job) (runs [][]*job) {
	left := e.meter.usable
	for i, j := range order {
		left -= j.asks
		if n := len(runs) - 1; i > 0 && left >= 0 && j.kin != 0 && j.kin == order[i-1].kin && j.turn.plain() && order[i-1].turn.plain() && j.asks <= 1000 {
			runs[n] = order[i-len(runs[n]) : i+1]
			continue
		}
		runs = append(runs, order[i:i+1])
	}
	return runs
}

// apart has the actions of a plan for runs be those for their jobs; false if a run
// waits.
func (e *replanner) apart(runs [][]*job, plan *allot.Plan) bool {
	heads := make(map[string][]*job, len(runs))
	for _, run := range runs {
		if len(run) > 1 {
			heads[run[0].Workload.ID] = run
		}
	}
	if len(heads) == 0 {
		return true
	}
	started := 0
	for i := range plan.Actions {
		if heads[plan.Actions[i].Workload] != nil {
			started++
		}
	}
	if started < len(heads) {
		return false
	}
	count := len(plan.Actions)
	for _, run := range runs {
		count += len(run) - 1
	}
	actions := make([]allot.Action, 0, count)
	for i := range plan.Actions {
		a := &plan.Actions[i]
		run := heads[a.Workload]
		if run == nil {
			actions = append(actions, *a)
			continue
		}
		for k, j := range run {
			a.Tasks[k].Index = 0
			actions = append(actions, *a)
			one := &actions[len(actions)-1]
			one.Workload, one.Tasks = j.Workload.ID, a.Tasks[k:k+1:k+1]
		}
	}
	plan.Actions = actions
	return true
}
