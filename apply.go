package allot

import (
	"fmt"
	"slices"
)

// A MismatchError says that a plan cannot be carried out on a state because
// it was not made from it. It names the first thing that does not match.
type MismatchError struct {
	// Path is where in the plan, such as "actions[3].tasks[0].node"; empty is
	// the plan as a whole.
	Path string
	// Problem is what does not match, for people.
	Problem string
}

// Error is "plan does not match the state: path: problem".
func (e *MismatchError) Error() string {
	if e.Path == "" {
		return "plan does not match the state: " + e.Problem
	}
	return "plan does not match the state: " + e.Path + ": " + e.Problem
}

// Apply returns the state in which p has been carried out in full, and
// nothing else has happened: started tasks are Running with Since = s.Now,
// displaced and unclaimed ones are gone and wait again, and what is
// Terminating stays, for it leaves when the host says so. Now stays too.
//
// Neither s nor p is modified, and the result shares no memory with them that
// anybody could write to. s must be a state that [Check] accepts.
//
// Apply asks only that p can be carried out on s: that revisions agree, that
// everything named exists, that started tasks are pending or claim that very
// place, and that tasks given up are where the plan says. Otherwise it returns
// a [*MismatchError] and no state. Whether the plan is lawful is for [Verify].
func Apply(s *State, p *Plan) (*State, error) {
	return ApplySome(s, p, nil)
}

// Begin returns the state in which p has been set going: actions that take no
// time are done, those that need somebody to leave first wait for it (S4). A
// plan that evicts nobody needs nobody to leave, as its tasks start in places
// that are free; then Begin and [Apply] return the same.
func Begin(s *State, p *Plan) (*State, error) {
	return ApplySome(s, p, nil)
}

// ApplySome is [Apply] for a part of the plan: the actions for which keep
// returns true, in the plan's order; a nil keep keeps all. keep is given the
// action's index and must not modify it. A part that leaves out an action on
// which a later one rests, such as the displacement of tasks that start anew,
// is a [*MismatchError].
func ApplySome(s *State, p *Plan, keep func(i int, a Action) bool) (*State, error) {
	if s == nil || p == nil {
		return nil, &MismatchError{Problem: "no state or no plan"}
	}
	if p.Revision != s.Revision {
		return nil, &MismatchError{
			Path:    "revision",
			Problem: fmt.Sprintf("%q is not the state's, %q", p.Revision, s.Revision),
		}
	}
	ap := newApplier(cloneState(s))
	for i, a := range p.Actions {
		if keep != nil && !keep(i, a) {
			continue
		}
		if err := ap.action(fmt.Sprintf("actions[%d]", i), a); err != nil {
			return nil, err
		}
	}
	ap.sweep()
	return ap.state, nil
}

// An applier carries out actions on a state of its own.
type applier struct {
	state     *State
	nodes     map[string]*Node
	workloads map[string]*Workload
	// held finds a task in its workload's Tasks. Tasks given up are marked in
	// gone and swept out at the end, so that positions stay.
	held map[taskName]int
	gone map[*Workload][]bool
}

// A taskName names a task of a state.
type taskName struct {
	workload, podSet string
	index            int
}

func newApplier(s *State) *applier {
	ap := &applier{
		state:     s,
		nodes:     make(map[string]*Node, len(s.Nodes)),
		workloads: make(map[string]*Workload, len(s.Workloads)),
		held:      make(map[taskName]int),
		gone:      make(map[*Workload][]bool),
	}
	for i := range s.Nodes {
		ap.nodes[s.Nodes[i].ID] = &s.Nodes[i]
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		ap.workloads[w.ID] = w
		for k, t := range w.Tasks {
			ap.held[taskName{w.ID, t.PodSet, t.Index}] = k
		}
	}
	return ap
}

func (ap *applier) action(path string, a Action) error {
	w := ap.workloads[a.Workload]
	if w == nil {
		return mismatch(path+".workload", "no workload %q", a.Workload)
	}
	if a.Form < 0 || a.Form > len(w.Alternatives) {
		return mismatch(path+".form", "%q has no form %d", w.ID, a.Form)
	}
	if ap.holds(w) && a.Form != w.Form {
		return mismatch(path+".form", "%q holds tasks of form %d, not %d", w.ID, w.Form, a.Form)
	}
	if a.Kind < Start || a.Kind > Unclaim {
		return mismatch(path+".kind", "%d is no kind of action", a.Kind)
	}
	form := formOf(w, a.Form)
	if a.Queue != form.Queue {
		return mismatch(path+".queue", "form %d of %q is in queue %q, not %q", a.Form, w.ID, form.Queue, a.Queue)
	}
	for i, t := range a.Tasks {
		at := fmt.Sprintf("%s.tasks[%d]", path, i)
		if err := ap.place(at, t); err != nil {
			return err
		}
		if a.Kind == Start || a.Kind == Resize {
			if err := ap.start(at, w, a.Form, form, t); err != nil {
				return err
			}
		} else if err := ap.giveUp(at, w, a.Kind, t); err != nil {
			return err
		}
	}
	return nil
}

// place finds out whether t's node and devices exist.
func (ap *applier) place(path string, t Placement) error {
	n := ap.nodes[t.Node]
	if n == nil {
		return mismatch(path+".node", "no node %q", t.Node)
	}
	for i, d := range t.Devices {
		if d < 0 || d >= len(n.Devices) {
			return mismatch(fmt.Sprintf("%s.devices[%d]", path, i), "node %q has no device %d", n.ID, d)
		}
		if slices.Contains(t.Devices[:i], d) {
			return mismatch(fmt.Sprintf("%s.devices[%d]", path, i), "device %d is named twice", d)
		}
	}
	return nil
}

func (ap *applier) start(path string, w *Workload, form int, f Form, t Placement) error {
	k := slices.IndexFunc(f.PodSets, func(ps PodSet) bool { return ps.Name == t.PodSet })
	if k < 0 {
		return mismatch(path+".podSet", "form %d of %q has no pod set %q", form, w.ID, t.PodSet)
	}
	if ps := f.PodSets[k]; t.Index < 0 || t.Index >= ps.Count-ps.Missing {
		return mismatch(path+".index", "%d is none of the %d tasks submitted", t.Index, ps.Count-ps.Missing)
	}
	name := taskName{w.ID, t.PodSet, t.Index}
	if k, ok := ap.held[name]; ok {
		claim := &w.Tasks[k]
		if claim.Phase != Claimed || claim.Node != t.Node || !sameDevices(claim.Devices, t.Devices) {
			return mismatch(path, "the task already has another place on node %q", claim.Node)
		}
		claim.Phase, claim.Since = Running, ap.state.Now
		return nil
	}
	w.Form = form
	ap.held[name] = len(w.Tasks)
	w.Tasks = append(w.Tasks, Task{
		PodSet:  t.PodSet,
		Index:   t.Index,
		Phase:   Running,
		Node:    t.Node,
		Devices: slices.Clone(t.Devices),
		Since:   ap.state.Now,
	})
	return nil
}

// giveUp takes a task's place away: Unclaim a claimed one, Displace any other.
func (ap *applier) giveUp(path string, w *Workload, kind ActionKind, t Placement) error {
	name := taskName{w.ID, t.PodSet, t.Index}
	k, ok := ap.held[name]
	if !ok {
		return mismatch(path, "task %d of pod set %q has no place", t.Index, t.PodSet)
	}
	had := &w.Tasks[k]
	if had.Node != t.Node || !sameDevices(had.Devices, t.Devices) {
		return mismatch(path, "the task has another place on node %q", had.Node)
	}
	if (had.Phase == Claimed) != (kind == Unclaim) {
		return mismatch(path, "the task is %v", had.Phase)
	}
	delete(ap.held, name)
	gone := ap.gone[w]
	ap.gone[w] = append(gone, make([]bool, len(w.Tasks)-len(gone))...)
	ap.gone[w][k] = true
	return nil
}

// holds says whether w holds or claims any place now.
func (ap *applier) holds(w *Workload) bool {
	gone := ap.gone[w]
	for k := range w.Tasks {
		if k >= len(gone) || !gone[k] {
			return true
		}
	}
	return false
}

// sweep removes the tasks that were given up.
func (ap *applier) sweep() {
	for w, gone := range ap.gone { // each workload for itself: order cannot matter
		var left []Task
		for k, t := range w.Tasks {
			if k >= len(gone) || !gone[k] {
				left = append(left, t)
			}
		}
		if w.Tasks = left; left == nil {
			w.Form = 0
		}
	}
}

// formOf returns form i of w, its queue resolved.
func formOf(w *Workload, i int) Form {
	if i == 0 {
		return Form{Queue: w.Queue, PodSets: w.PodSets, Groups: w.Groups}
	}
	f := w.Alternatives[i-1]
	if f.Queue == "" {
		f.Queue = w.Queue
	}
	return f
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

func mismatch(path, format string, args ...any) error {
	return &MismatchError{Path: path, Problem: fmt.Sprintf(format, args...)}
}
