package verify

import (
	"fmt"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
)

// progress finds out whether p, a lawful plan for s, leaves something
// out that it should start: in a pool where nothing blocks anything (best
// effort, O4) a single task that is all that a workload lacks, or would take
// beyond its minimum, fits some node within all quotas and limits. It tries
// every node for every such task, so it is for tests.
func progress(s *allot.State, p *allot.Plan) error {
	v := newVerifier(s, p)
	waits := make(map[string]bool) // for places that others leave: nothing is added to it until it runs (G2)
	for i := range p.Actions {
		v.action(i, &p.Actions[i])
		waits[p.Actions[i].Workload] = waits[p.Actions[i].Workload] || len(p.Actions[i].After) > 0
	}
	for _, w := range v.workOrder {
		if sum := w.total(); w.source.Ending || waits[w.source.ID] || sum.claimed > 0 || sum.terminating > 0 {
			continue
		}
		for i := range w.forms {
			if w.places > 0 && w.form != i || w.forms[i].queue.pool.policy.Queueing != queue.BestEffort {
				continue
			}
			for set := range w.forms[i].PodSets {
				if where := v.fitsSomewhere(w, i, set); where != "" {
					return fmt.Errorf("%q could start a task of form %d, pod set %d, %s", w.source.ID, i, set, where)
				}
			}
		}
	}
	return nil
}

// fitsSomewhere says where one more task of the set would fit and complete or
// extend w, or "".
func (v *verifier) fitsSomewhere(w *verifiedWorkload, form, set int) string {
	f := &w.forms[form]
	ps := f.PodSets[set]
	name := taskName{workload: w.source.ID, podSet: ps.Name}
	for ; name.index < ps.Count-ps.Missing; name.index++ {
		if _, taken := v.tasks[name]; !taken {
			break
		}
	}
	if name.index == ps.Count-ps.Missing {
		return ""
	}
	before, was := w.snapshot(form), w.form
	after := w.snapshot(form)
	after.counts[set].running++
	root := f.tree()
	if root.reached(before.counts, runningTasks) {
		if !root.oneUnit(before.counts, after.counts) {
			return ""
		}
	} else if !root.reached(after.counts, runningTasks) {
		return ""
	}
	for _, n := range f.queue.pool.nodes {
		devices, ok := n.someDevices(ps.Request.GPU)
		if !ok || len(n.unsuitable(f, &ps.Request, devices)) > 0 {
			continue
		}
		rooms, found := f.queue.lendingRooms(), len(v.found)
		v.lent = nil
		w.form = form
		t := verifiedTask{allot.Running, n.source.ID, devices}
		v.putIn(w, name, t)
		for _, o := range n.overfull(&ps.Request, devices, true, true) {
			v.fail("", o.rule, "%s", o.message)
		}
		v.withinQuotas(spot{}, f, charges(&ps.Request, f.queue.pool, n, devices), rooms, before.active == 0)
		v.takeOut(w, name, t)
		w.form = was
		if len(v.found) == found && len(v.lent) == 0 {
			return fmt.Sprintf("node %q, devices %v", n.source.ID, devices)
		}
		v.found, v.lent = v.found[:found], nil
	}
	return ""
}

// someDevices chooses devices of one model that can take the request.
func (n *verifiedNode) someDevices(g allot.GPURequest) (devices []int, ok bool) {
	count := deviceCount(g)
	if count == 0 {
		return nil, true
	}
	byModel := make(map[string][]int)
	for i := range n.devices {
		d := &n.devices[i]
		milli, bytes := g.Milli, g.Memory
		if milli == 0 && bytes == 0 {
			milli = milliPerDevice
		}
		nowMilli, nowBytes := d.now()
		thenMilli, thenBytes := d.then()
		if len(n.unsuitableDevice(g, i)) > 0 || !d.holds(nowMilli+milli, nowBytes+bytes) || !d.holds(thenMilli+milli, thenBytes+bytes) {
			continue
		}
		model := d.source.Model
		if byModel[model] = append(byModel[model], i); len(byModel[model]) == count {
			return byModel[model], true
		}
	}
	return nil, false
}
