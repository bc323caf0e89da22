package allot_test

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// maxStabilityWork keeps the instances small, so that conflicts are dense.
const maxStabilityWork = 8

// changes are what may happen to the cluster from outside.
var changes = map[string]func(*stabilityHost){
	"arrival":  (*stabilityHost).arrival,
	"end":      (*stabilityHost).end,
	"ending":   (*stabilityHost).ending,
	"quota":    (*stabilityHost).quotaChange,
	"swap":     (*stabilityHost).swapQuotas,
	"weight":   (*stabilityHost).weightChange,
	"priority": (*stabilityHost).priorityChange,
	"node":     (*stabilityHost).nodeChange,
	"device":   (*stabilityHost).deviceChange,
	"task":     (*stabilityHost).taskLost,
	"claim":    (*stabilityHost).claimLost,
	"time":     (*stabilityHost).timePasses,
	"knob":     (*stabilityHost).knobChange,
	"tasks":    (*stabilityHost).tasksSubmitted,
}

// likely are the names of the changes as often as they shall come beside an
// arrival.
var likely = []string{
	"end", "end", "ending", "swap", "swap", "swap", "quota", "quota", "weight", "priority", "priority", "priority",
	"node", "node", "device", "task", "claim", "time", "knob", "tasks", "arrival", "arrival",
}

// change has something happen, mostly with an arrival, and says what.
func (h *stabilityHost) change() string {
	name := oneOf(h, likely...)
	changes[name](h)
	if h.rarely(3) {
		return name
	}
	h.arrival()
	return name + " and an arrival"
}

// workload draws one of which the function is true; nil if there is none.
func (h *stabilityHost) workload(wanted func(*allot.Workload) bool) *allot.Workload {
	var found []*allot.Workload
	for i := range h.s.Workloads {
		if w := &h.s.Workloads[i]; wanted(w) {
			found = append(found, w)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return oneOf(h, found...)
}

func anyWorkload(*allot.Workload) bool { return true }

func waiting(w *allot.Workload) bool { return len(w.Tasks) == 0 }

func has(phase allot.Phase) func(*allot.Workload) bool {
	return func(w *allot.Workload) bool {
		return slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == phase })
	}
}

// arrival submits a workload; where there are many, one that waits gives up.
func (h *stabilityHost) arrival() {
	if len(h.s.Workloads) >= maxStabilityWork {
		w := h.workload(waiting)
		if w == nil {
			h.end()
		} else {
			h.remove(w)
		}
	}
	h.submit()
}

func (h *stabilityHost) remove(w *allot.Workload) {
	id := w.ID
	h.s.Workloads = slices.DeleteFunc(h.s.Workloads, func(o allot.Workload) bool { return o.ID == id })
}

// end takes away a workload, its tasks included.
func (h *stabilityHost) end() {
	w := h.workload(has(allot.Running))
	if w == nil {
		w = h.workload(anyWorkload)
	}
	if w != nil {
		h.remove(w)
	}
}

// ending has a workload begin to end: it still holds its places.
func (h *stabilityHost) ending() {
	w := h.workload(has(allot.Running))
	if w == nil {
		return
	}
	w.Ending = true
	w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
	for i := range w.Tasks {
		w.Tasks[i].Phase = allot.Terminating
	}
}

func (h *stabilityHost) quotaChange() {
	q := &h.s.Queues[h.IntN(len(h.s.Queues))]
	h.given(&q.Resources[h.IntN(len(q.Resources))])
}

// swapQuotas has two leaves of one pool change places, one of which something
// runs and one in which something waits: what one was entitled to the other is.
func (h *stabilityHost) swapQuotas() {
	runs, waits := h.workload(has(allot.Running)), h.workload(waiting)
	if runs == nil || waits == nil {
		h.quotaChange()
		return
	}
	a, b := h.queue(runs.Queue), h.queue(waits.Queue)
	for k := range a.Resources {
		r, o := &a.Resources[k], &b.Resources[k]
		r.Quota, o.Quota = o.Quota, r.Quota
		r.LendingLimit, o.LendingLimit = quota.Bound{}, quota.Bound{}
	}
}

func (h *stabilityHost) queue(id string) *allot.Queue {
	return &h.s.Queues[slices.IndexFunc(h.s.Queues, func(q allot.Queue) bool { return q.ID == id })]
}

func (h *stabilityHost) weightChange() {
	q := &h.s.Queues[h.IntN(len(h.s.Queues))]
	if r := &q.Resources[h.IntN(len(q.Resources))]; r.Weight.Given() {
		r.Weight = quota.Of(int64(h.IntN(4)))
	}
}

// priorityChange raises what waits or lowers what runs, or does anything.
func (h *stabilityHost) priorityChange() {
	w, priority := h.workload(anyWorkload), int32(h.IntN(4))
	switch h.IntN(3) {
	case 0:
		w, priority = h.workload(waiting), 3
	case 1:
		w, priority = h.workload(has(allot.Running)), 0
	}
	if w != nil {
		w.Priority = priority
	}
}

// nodeChange loses a node, cordons one, brings one back, or changes its pool.
func (h *stabilityHost) nodeChange() {
	n := &h.s.Nodes[h.IntN(len(h.s.Nodes))]
	switch {
	case !h.pooled(n.ID), h.rarely(10):
		h.poolChange(n.ID)
	case n.Lost, n.Cordoned:
		n.Lost, n.Cordoned = false, false
	case h.rarely(3):
		n.Cordoned = true
	case h.rarely(3):
		n.Foreign = map[string]int64{allot.CPU: unit * int64(h.IntN(4))}
	default:
		n.Lost = true
	}
}

// poolChange takes a node out of its pool, with what runs there, or puts one that
// is in none into one. No pool is left without nodes: it would be of all.
func (h *stabilityHost) poolChange(node string) {
	for i := range h.s.Pools {
		set := &h.s.Pools[i].Nodes
		if at := slices.Index(set.IDs, node); at >= 0 {
			if len(set.IDs) > 1 {
				set.IDs = slices.Delete(slices.Clone(set.IDs), at, at+1)
			}
			return
		}
	}
	set := &h.s.Pools[h.IntN(len(h.s.Pools))].Nodes
	set.IDs = append(slices.Clip(set.IDs), node)
}

func (h *stabilityHost) pooled(node string) bool {
	return slices.ContainsFunc(h.s.Pools, func(p allot.Pool) bool {
		return len(p.Nodes.IDs) == 0 || slices.Contains(p.Nodes.IDs, node)
	})
}

func (h *stabilityHost) deviceChange() {
	n := &h.s.Nodes[h.IntN(len(h.s.Nodes))]
	d := &n.Devices[h.IntN(len(n.Devices))]
	switch {
	case d.Unhealthy, d.Foreign > 0:
		d.Unhealthy, d.Foreign = false, 0
	case h.rarely(3):
		d.Foreign = oneOf[int64](h, 400, 1000)
	default:
		d.Unhealthy = true
	}
}

// taskLost has one task of a workload fail.
func (h *stabilityHost) taskLost() {
	if w := h.workload(has(allot.Running)); w != nil {
		i := h.IntN(len(w.Tasks))
		w.Tasks = slices.Delete(slices.Clone(w.Tasks), i, i+1)
		if len(w.Tasks) == 0 {
			w.Form = 0
		}
	}
}

// claimLost has the host give up the claims of a workload.
func (h *stabilityHost) claimLost() {
	if w := h.workload(has(allot.Claimed)); w != nil {
		w.Tasks = slices.DeleteFunc(slices.Clone(w.Tasks), func(t allot.Task) bool { return t.Phase == allot.Claimed })
		if len(w.Tasks) == 0 {
			w.Form = 0
		}
	}
}

func (h *stabilityHost) timePasses() {
	h.s.Now = h.s.Now.Add(time.Duration(oneOf(h, 1, 5, 10, 11, 30)) * time.Second)
	if w := h.workload(has(allot.Running)); w != nil && h.rarely(2) {
		w.Checkpoint = h.s.Now
	}
}

// knobChange turns the knobs of making room of one pool.
func (h *stabilityHost) knobChange() {
	h.roomPolicy(&h.s.Pools[h.IntN(len(h.s.Pools))].Policy)
}

// tasksSubmitted has missing tasks arrive.
func (h *stabilityHost) tasksSubmitted() {
	if w := h.workload(func(w *allot.Workload) bool { return w.PodSets[0].Missing > 0 }); w != nil {
		w.PodSets[0].Missing--
	}
}

// leave has some of what terminates leave: all of it, or each task once in two
// times but at least one. It says whether anything was there to leave.
func leave(c chance, s *allot.State) bool {
	var leaving []*allot.Task
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for k := range w.Tasks {
			if w.Tasks[k].Phase == allot.Terminating {
				leaving = append(leaving, &w.Tasks[k])
			}
		}
	}
	if len(leaving) == 0 {
		return false
	}
	gone := make(map[*allot.Task]bool)
	gone[leaving[c.IntN(len(leaving))]] = true
	all := c.IntN(3) == 0
	for _, t := range leaving {
		if all || c.IntN(2) == 0 {
			gone[t] = true
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		var stay []allot.Task
		for k := range w.Tasks {
			if !gone[&w.Tasks[k]] {
				stay = append(stay, w.Tasks[k])
			}
		}
		if w.Tasks = stay; len(stay) == 0 {
			w.Form = 0
		}
	}
	sweepEnded(s)
	return true
}

// sweepEnded removes workloads that have ended and left.
func sweepEnded(s *allot.State) {
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.Ending && len(w.Tasks) == 0 })
}
