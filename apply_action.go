package allot

import (
	"fmt"
	"slices"
	"time"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// An order is an action with what it means on the state at hand.
type order struct {
	*Action
	work *Workload
	form Form
	// waits: the action waits for what was Terminating before.
	waits bool
}

// action sets one action going.
func (ap *applier) action(at *path, a *Action) error {
	o, err := ap.order(at, a)
	if err != nil {
		return err
	}
	list, from := at.field("tasks"), at.field("from")
	if a.Kind == Move && len(a.From) != len(a.Tasks) {
		return mismatch(&from, "%d old places of %d tasks", len(a.From), len(a.Tasks))
	}
	if a.Kind != Move && len(a.From) > 0 {
		return mismatch(&from, "only what moves has old places")
	}
	if len(a.Tasks) == 0 {
		return mismatch(&list, "there are none")
	}
	for i := range a.Tasks {
		here, old := list.at(i), from.at(i)
		if err := ap.place(&here, &a.Tasks[i]); err != nil {
			return err
		}
		switch a.Kind {
		case Start, Resize:
			err = ap.start(&here, &o, &a.Tasks[i])
		case Move:
			err = ap.move(&old, &o, i)
		default:
			err = ap.giveUp(&here, o.work, a.Kind, &a.Tasks[i])
		}
		if err != nil {
			return err
		}
	}
	if a.Kind == Evict {
		return ap.evict(&list, o.work, &a.Ending)
	}
	return nil
}

// order finds what the action means.
func (ap *applier) order(at *path, a *Action) (order, error) {
	w := ap.workloads[a.Workload]
	where := at.field("workload")
	if w == nil {
		return order{}, mismatch(&where, "no workload %q", a.Workload)
	}
	where = at.field("form")
	if a.Form < 0 || a.Form > len(w.Alternatives) {
		return order{}, mismatch(&where, "%q has no form %d", w.ID, a.Form)
	}
	if held, tied := ap.tiedTo(w, a); tied && a.Form != held {
		return order{}, mismatch(&where, "%q holds tasks of form %d, not %d", w.ID, held, a.Form)
	}
	where = at.field("kind")
	if !prose.Known(actionNames[:], a.Kind) {
		return order{}, mismatch(&where, "%d is no kind of action", a.Kind)
	}
	form := formOf(w, a.Form)
	where = at.field("queue")
	if a.Queue != form.Queue {
		return order{}, mismatch(&where, "form %d of %q is in queue %q, not %q", a.Form, w.ID, form.Queue, a.Queue)
	}
	waits, err := ap.after(at, a)
	return order{a, w, form, waits}, err
}

// tiedTo is the form that the action has to be of, as the workload holds tasks in it: what
// leaves ties nothing that starts behind it (S5), and is displaced in its own.
func (ap *applier) tiedTo(w *Workload, a *Action) (form int, tied bool) {
	behindItself := a.Kind == Start && slices.Contains(a.After, w.ID)
	for k := range w.Tasks {
		switch at := w.FormOf(w.Tasks[k]); {
		case ap.isGone(w, k):
		case w.Tasks[k].Phase != Terminating && (a.Kind != Displace || w.Tasks[k].Phase == Running):
			return at, true
		case w.Tasks[k].Phase == Terminating && !behindItself && a.Kind != Unclaim:
			form, tied = at, true
		}
	}
	return form, tied
}

// enter has the workload's tasks that do not leave be of another form: what leaves
// stays in that which it had.
func (ap *applier) enter(w *Workload, form int) {
	leaving := form
	for k := range w.Tasks {
		if w.Tasks[k].Phase == Terminating && !ap.isGone(w, k) {
			leaving = w.FormOf(w.Tasks[k])
			break
		}
	}
	w.Form, w.LeavingForm = form, quota.Bound{}
	if leaving != form {
		w.LeavingForm = quota.Of(int64(leaving))
	}
}

// after finds out whether all that the action waits for exists and goes,
// and whether it waits for what was Terminating before.
func (ap *applier) after(at *path, a *Action) (waits bool, err error) {
	list := at.field("after")
	if len(a.After) > 0 && a.Kind != Start && a.Kind != Resize && a.Kind != Move {
		return false, mismatch(&list, "a %v waits for nobody", a.Kind)
	}
	for i, id := range a.After {
		here := list.at(i)
		if ap.workloads[id] == nil {
			return false, mismatch(&here, "no workload %q", id)
		}
		if missing, ok := ap.leftOut[id]; ok {
			return false, mismatch(&here, "%q keeps its places, as actions[%d] is left out", id, missing)
		}
		for k := range a.Tasks {
			waits = waits || ap.stays[workloadNode{id, a.Tasks[k].Node}]
		}
		waits = waits || id == a.Workload && ap.isLeaving(id)
	}
	return waits, nil
}

// isLeaving says whether something of the workload was Terminating before.
func (ap *applier) isLeaving(id string) bool {
	w := ap.workloads[id]
	return slices.ContainsFunc(w.Tasks, func(t Task) bool {
		return t.Phase == Terminating && ap.stays[workloadNode{id, t.Node}]
	})
}

// place finds out whether t's node and devices exist.
func (ap *applier) place(at *path, t *Placement) error {
	n := ap.nodes[t.Node]
	if n == nil {
		where := at.field("node")
		return mismatch(&where, "no node %q", t.Node)
	}
	list := at.field("devices")
	for i, d := range t.Devices {
		where := list.at(i)
		if d < 0 || d >= len(n.Devices) {
			return mismatch(&where, "node %q has no device %d", n.ID, d)
		}
		if slices.Contains(t.Devices[:i], d) {
			return mismatch(&where, "device %d is named twice", d)
		}
	}
	return nil
}

// start gives a task its place, which is claimed where other work has to leave
// first.
func (ap *applier) start(at *path, o *order, t *Placement) error {
	w := o.work
	if w.Ending {
		return mismatch(at, "%q is ending", w.ID)
	}
	k := slices.IndexFunc(o.form.PodSets, func(ps PodSet) bool { return ps.Name == t.PodSet })
	if k < 0 {
		where := at.field("podSet")
		return mismatch(&where, "form %d of %q has no pod set %q", o.Form, w.ID, t.PodSet)
	}
	if ps := o.form.PodSets[k]; t.Index < 0 || t.Index >= ps.Count-ps.Missing {
		where := at.field("index")
		return mismatch(&where, "%d is none of the %d tasks submitted", t.Index, ps.Count-ps.Missing)
	}
	name := placeOf(w, t, false)
	since, started := ap.state.Now, time.Time{}
	if k, ok := ap.held[name]; ok {
		switch _, leaves := ap.leaving[name]; {
		case w.FormOf(w.Tasks[k]) != o.Form: // another task, which has left by then
		case leaves && len(o.After) > 0: // it has left so that others can move, and claims another place
			since, started = w.Tasks[k].Since, w.Tasks[k].goesOnSince()
		case w.Tasks[k].Phase == Terminating && slices.Contains(o.After, w.ID): // it waits for itself (S5)
		default:
			return mismatch(at, "the task is %v on node %q", w.Tasks[k].Phase, w.Tasks[k].Node)
		}
	}
	ap.enter(w, o.Form)
	claim := placeOf(w, t, true)
	k, claimed := ap.held[claim]
	if _, twice := ap.starting[claim]; twice {
		return mismatch(at, "the task starts twice")
	}
	if claimed && !w.Tasks[k].isAt(t) {
		return mismatch(at, "the task already has another place on node %q", w.Tasks[k].Node)
	}
	if !claimed {
		k = len(w.Tasks)
		w.Tasks = append(w.Tasks, Task{
			PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: slices.Clone(t.Devices), Since: since, Started: started,
			Until: o.Until,
		})
	}
	if o.Behind != "" {
		w.Tasks[k].Behind = o.Behind
	}
	if len(o.After) > 0 {
		w.Tasks[k].Phase = Claimed
		ap.held[claim], ap.starting[claim] = k, claimedBy{k, o.waits}
		return nil
	}
	w.run(k, ap.state.Now)
	delete(ap.held, claim)
	ap.held[name] = k
	return nil
}

// move lets a running task leave its old place for a new one.
func (ap *applier) move(old *path, o *order, i int) error {
	w, t, from := o.work, &o.Tasks[i], &o.From[i]
	if from.PodSet != t.PodSet || from.Index != t.Index {
		return mismatch(old, "task %d of pod set %q is not the task that moves", from.Index, from.PodSet)
	}
	if err := ap.place(old, from); err != nil {
		return err
	}
	if err := ap.giveUp(old, w, Move, from); err != nil {
		return err
	}
	claim := placeOf(w, t, true)
	k, was := len(w.Tasks), w.Tasks[ap.held[placeOf(w, t, false)]]
	w.Tasks = append(w.Tasks, Task{
		PodSet: t.PodSet, Index: t.Index, Phase: Claimed, Node: t.Node, Devices: slices.Clone(t.Devices),
		Since: was.Since, Started: was.goesOnSince(), Until: was.Until, Behind: o.Behind,
	})
	ap.held[claim], ap.starting[claim] = k, claimedBy{k, o.waits}
	return nil
}

// giveUp takes a task's place away: Unclaim a claimed one, Displace any other,
// and what runs leaves by anything else.
func (ap *applier) giveUp(at *path, w *Workload, kind ActionKind, t *Placement) error {
	name := placeOf(w, t, kind == Unclaim)
	k, ok := ap.held[name]
	if !ok {
		return mismatch(at, "task %d of pod set %q has no such place", t.Index, t.PodSet)
	}
	had := &w.Tasks[k]
	if !had.isAt(t) {
		return mismatch(at, "the task has another place on node %q", had.Node)
	}
	if kind == Displace || kind == Evict || kind == Unclaim && !had.Started.IsZero() { // what was moving ran
		w.WaitingSince = ap.state.Now
	}
	if kind == Unclaim || kind == Displace {
		delete(ap.held, name)
		delete(ap.starting, name)
		delete(ap.leaving, name)
		ap.remove(w, k)
		return nil
	}
	if had.Phase != Running {
		return mismatch(at, "the task is %v", had.Phase)
	}
	had.Phase, w.LeavingForm = Terminating, quota.Bound{} // whatever else leaves is of the form that runs
	ap.leaving[name] = k
	return nil
}

// evict says what becomes of a workload whose tasks have been evicted (S6).
func (ap *applier) evict(at *path, w *Workload, e *Ending) error {
	for k := range w.Tasks {
		t := &w.Tasks[k]
		if t.Phase != Terminating && (t.Phase == Running || e.Final) && !ap.isGone(w, k) {
			return mismatch(at, "task %d of pod set %q of %q is %v and not evicted", t.Index, t.PodSet, w.ID, t.Phase)
		}
	}
	switch {
	case e.Final:
		w.Ending = true
		ap.ended[w.ID] = true
	case w.Retries.Given() && !w.Retries.IsUnlimited():
		w.Retries = quota.Of(max(0, w.Retries.Amount()-1))
	}
	return nil
}

// placeOf names the place of a task, or the one that it claims.
func placeOf(w *Workload, t *Placement, claimed bool) heldName {
	return heldName{taskName{w.ID, t.PodSet, t.Index}, claimed}
}

// isAt says whether the task's place is the one given.
func (t *Task) isAt(p *Placement) bool {
	return t.Node == p.Node && sameDevices(t.Devices, p.Devices)
}

// formOf returns form i of w, its queue resolved.
func formOf(w *Workload, i int) Form {
	if i == 0 {
		return Form{Queue: w.Queue, PodSets: w.PodSets, Groups: w.Groups, Topology: w.Topology}
	}
	f := w.Alternatives[i-1]
	if f.Queue == "" {
		f.Queue = w.Queue
	}
	return f
}

// FormOf is the form that a task of the workload belongs to, numbered as Form is (G5).
func (k *Workload) FormOf(t Task) int {
	if t.Phase == Terminating && k.LeavingForm.Given() {
		return int(k.LeavingForm.Amount())
	}
	return k.Form
}

// sameDevices says whether a and b are the same set of devices; neither names
// one twice.
func sameDevices(a, b []int) bool {
	if slices.Equal(a, b) {
		return true
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func mismatch(at *path, format string, args ...any) error {
	return &MismatchError{Path: at.String(), Problem: fmt.Sprintf(format, args...)}
}
