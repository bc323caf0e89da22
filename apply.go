package allot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
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

// Error is "allot: plan does not match the state: path: problem".
func (e *MismatchError) Error() string {
	if e.Path == "" {
		return "allot: plan does not match the state: " + e.Problem
	}
	return "allot: plan does not match the state: " + e.Path + ": " + e.Problem
}

// Apply returns the state in which p has been carried out in full, and nothing
// else has happened:
//
//   - Start and Resize: the tasks are Running with Since = s.Now. A task that
//     had claimed its place keeps its Since, which is when it was given the
//     place (R8).
//   - Displace, Unclaim, Evict and Shrink: the tasks have no place and wait
//     again.
//   - Move: the tasks are Running in their new places and keep their Since.
//   - An Evict takes one of the workload's Retries where they are a number (S6),
//     or ends the workload for good if Ending says so: then it is no longer in
//     the state.
//
// What is Terminating in s stays, for it leaves when the host says so. A
// workload that ends for good stays with it, as Ending; and tasks that wait for
// it are Claimed and not Running: all those of a Start, Resize or Move that
// names its workload in After and gives one of them a place on its node.
//
// A workload that runs or claims some tasks, but fewer than its minimum, has a
// PartialSince afterwards, s.Now if it had none; any other workload has none
// (G1). Now stays.
//
// What the rules of time need is kept too: a task's Started, where that is later than its
// Since (B1), also of a task that the plan evicts so that others can move, and places anew;
// the WaitingSince of what waits again, which is s.Now; and what p.Reservations promises
// (B7). A workload that p.Reservations does not name loses its Reserved, unless an action
// of it was left out. The Behind of a task is cleared where the promise of the workload that
// it names does not hold the task's place any more (B6).
//
// Neither s nor p is modified, and the result shares no memory with them that
// a caller could write to. s must be a state that [Check] accepts; so is the
// result.
//
// Apply asks only that p can be carried out on s: that revisions agree, that
// everything named exists, that started tasks are pending or claim that very
// place, that tasks given up or moved are where the plan says, that an Evict
// leaves nothing of its workload running, and that all of it fits the nodes.
// Otherwise it returns a [*MismatchError] and no state. Whether the plan is
// lawful is for [github.com/allotsched/allot/verify.Plan] to say.
func Apply(s *State, p *Plan) (*State, error) {
	return ApplySome(s, p, nil)
}

// Begin returns the state in which p has been set going, which is what a host
// sees that has given all its orders and waits (S4). It is [Apply] but for what
// takes time:
//
//   - Evict and Shrink: the tasks are Terminating. A workload that ends for
//     good is Ending.
//   - Move: the tasks are Terminating in their old places and Claimed in their
//     new ones, with the Since that they had.
//   - Start and Resize that name somebody in After: the tasks are Claimed with
//     Since = s.Now, or the Since, and the Started, that they had where the plan has evicted
//     them before.
//     Without After they are Running at once, as under Apply. Where they are of another
//     form than what leaves of their workload, that is its LeavingForm from then on (S5).
//
// When all that was Terminating or became so has left, and then what claims its
// place runs, Begin has come to the same as Apply.
func Begin(s *State, p *Plan) (*State, error) {
	return BeginSome(s, p, nil)
}

// ApplySome is [Apply] for a part of the plan: the actions for which keep
// returns true, in the plan's order; a nil keep keeps all. keep is given the
// action's index and must not modify it. It is a [*MismatchError] if the part
// leaves out an action on which a later one rests: the displacement of tasks
// that start anew, an Evict, a Shrink or a Move of a workload that an action
// after it names in After, or anything else without which the part cannot be
// carried out or does not fit the nodes.
func ApplySome(s *State, p *Plan, keep func(i int, a Action) bool) (*State, error) {
	ap, err := begin(s, p, keep)
	if err != nil {
		return nil, err
	}
	ap.finish()
	return ap.result()
}

// BeginSome is [Begin] for a part of the plan, for hosts that carry out plans
// in parts or whose orders fail. Of keep, and of what a part may leave out, the
// same is true as in [ApplySome].
func BeginSome(s *State, p *Plan, keep func(i int, a Action) bool) (*State, error) {
	ap, err := begin(s, p, keep)
	if err != nil {
		return nil, err
	}
	return ap.result()
}

// begin sets the part of the plan going on a copy of the state.
func begin(s *State, p *Plan, keep func(i int, a Action) bool) (*applier, error) {
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
	whole := root()
	list := whole.field("actions")
	for i := range p.Actions {
		a := &p.Actions[i]
		if keep != nil && !keep(i, *a) {
			ap.leaveOut(i, a)
			continue
		}
		at := list.at(i)
		if err := ap.action(&at, a); err != nil {
			return nil, err
		}
	}
	if err := ap.promises(p); err != nil {
		return nil, err
	}
	return ap, nil
}

// An applier sets actions going on a state of its own, and can finish them.
type applier struct {
	state     *State
	nodes     map[string]*Node
	workloads map[string]*Workload
	// held finds a task in its workload's Tasks. Tasks that are gone are marked
	// and swept out at the end, so that positions stay.
	held map[heldName]int
	gone map[*Workload][]bool
	// leaving and starting are what the plan has made Terminating and Claimed,
	// by position in the workload's Tasks; some of the latter waits for what
	// was Terminating before.
	leaving  map[heldName]int
	starting map[heldName]claimedBy
	// stays are the nodes on which a workload's tasks were Terminating before.
	stays map[workloadNode]bool
	// leftOut is, by workload, the last action left out that frees places.
	leftOut map[string]int
	ended   map[string]bool // the workloads that the plan ends for good
	// halted are those of which some action was left out.
	halted map[string]bool
	// promised is what is promised after the plan, by workload: by the plan, or as before.
	promised map[string]*Promise
}

// A taskName names a task of a state.
type taskName struct {
	workload, podSet string
	index            int
}

// A heldName names a task's place: one that moves has two, of which it claims
// one.
type heldName struct {
	taskName
	claimed bool
}

// A claimedBy is a claim that the plan makes: the position of the task, and
// whether it waits for something that is not the plan's to take away.
type claimedBy struct {
	task  int
	waits bool
}

// A workloadNode is where a workload has tasks.
type workloadNode struct{ workload, node string }

func newApplier(s *State) *applier {
	ap := &applier{
		state:     s,
		nodes:     make(map[string]*Node, len(s.Nodes)),
		workloads: make(map[string]*Workload, len(s.Workloads)),
		held:      make(map[heldName]int),
		gone:      make(map[*Workload][]bool),
		leaving:   make(map[heldName]int),
		starting:  make(map[heldName]claimedBy),
		stays:     make(map[workloadNode]bool),
		leftOut:   make(map[string]int),
		ended:     make(map[string]bool),
		halted:    make(map[string]bool),
		promised:  make(map[string]*Promise),
	}
	for i := range s.Nodes {
		ap.nodes[s.Nodes[i].ID] = &s.Nodes[i]
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		ap.workloads[w.ID] = w
		for k, t := range w.Tasks {
			ap.held[heldName{taskName{w.ID, t.PodSet, t.Index}, t.Phase == Claimed}] = k
			if t.Phase == Terminating {
				ap.stays[workloadNode{w.ID, t.Node}] = true
			}
		}
	}
	for i := range s.Workloads {
		ap.forgetBehind(&s.Workloads[i])
	}
	return ap
}

// leaveOut notes an action that is not carried out.
func (ap *applier) leaveOut(i int, a *Action) {
	ap.halted[a.Workload] = true
	if a.Kind == Evict || a.Kind == Shrink || a.Kind == Move {
		ap.leftOut[a.Workload] = i
	}
}

// finish carries out what was set going: what leaves is gone, and what waited
// for that runs.
func (ap *applier) finish() {
	for name, k := range ap.leaving { // each task for itself: order cannot matter
		ap.remove(ap.workloads[name.workload], k)
	}
	for name, claim := range ap.starting { // each task for itself: order cannot matter
		if !claim.waits {
			ap.workloads[name.workload].run(claim.task, ap.state.Now)
		}
	}
}

// remove marks the task at position k as gone.
func (ap *applier) remove(w *Workload, k int) {
	gone := ap.gone[w]
	ap.gone[w] = append(gone, make([]bool, len(w.Tasks)-len(gone))...)
	ap.gone[w][k] = true
}

// isGone reports whether the task at position k is gone.
func (ap *applier) isGone(w *Workload, k int) bool {
	gone := ap.gone[w]
	return k < len(gone) && gone[k]
}

// result is the state that the applier has come to.
func (ap *applier) result() (*State, error) {
	ap.clear()
	var invalid *InvalidError
	if errors.As(Check(ap.state), &invalid) {
		return nil, &MismatchError{Problem: "it leads to an invalid state: " + invalid.Faults[0].String()}
	}
	for i := range ap.state.Workloads {
		w := &ap.state.Workloads[i]
		ap.keepPartial(w)
		ap.keepTimes(w)
	}
	return ap.state, nil
}

// clear takes what is gone out of the state, and clears the promise of a workload that still
// holds its minimum in it, or a task that is promised a place: that was to go, and did not.
func (ap *applier) clear() {
	for w := range ap.gone { // each workload for itself: order cannot matter
		ap.sweep(w)
	}
	ap.state.Workloads = slices.DeleteFunc(ap.state.Workloads, func(w Workload) bool {
		return ap.ended[w.ID] && len(w.Tasks) == 0
	})
	for i := range ap.state.Workloads {
		if w := &ap.state.Workloads[i]; ap.promised[w.ID] != nil && ap.promised[w.ID].isOver(w) {
			delete(ap.promised, w.ID)
		}
	}
}

// sweep removes the tasks of w that are gone.
func (ap *applier) sweep(w *Workload) {
	var left []Task
	for k, t := range w.Tasks {
		if !ap.isGone(w, k) {
			left = append(left, t)
		}
	}
	if w.Tasks = left; left == nil {
		w.Form = 0
	}
	if !slices.ContainsFunc(left, func(t Task) bool { return t.Phase == Terminating }) {
		w.LeavingForm = quota.Bound{}
	}
}

// keepPartial keeps the workload's PartialSince (G1). A task that moves counts
// where it claims.
func (ap *applier) keepPartial(w *Workload) {
	held := 0
	for i := range w.Tasks {
		if w.Tasks[i].Phase != Terminating {
			held++
		}
	}
	switch {
	case held == 0 || w.atMinimum():
		w.PartialSince = time.Time{}
	case w.PartialSince.IsZero():
		w.PartialSince = ap.state.Now
	}
}

// atMinimum says whether enough tasks of the workload's form run or claim a
// place (G1, G3).
func (k *Workload) atMinimum() bool {
	f := formOf(k, k.Form)
	held := make([]int32, len(f.PodSets))
	set := 0
	for i := range k.Tasks {
		if t := &k.Tasks[i]; t.Phase != Terminating {
			if f.PodSets[set].Name != t.PodSet { // tasks mostly come by pod set
				set = slices.IndexFunc(f.PodSets, func(p PodSet) bool { return p.Name == t.PodSet })
			}
			held[set]++
		}
	}
	full := true
	for i := range f.PodSets {
		full = full && int(held[i]) >= f.PodSets[i].Count
	}
	if full {
		return true // as most are
	}
	group := groupIndices(f.Groups)
	sets := make([]gang.Set, len(f.PodSets))
	for i, p := range f.PodSets {
		sets[i] = gang.Set{
			Count: int32(p.Count), Min: int32(cmp.Or(p.Min, p.Count)), Submitted: int32(p.Count),
			Parent: group[p.Group] - 1,
		}
	}
	groups := make([]gang.Group, len(f.Groups))
	for i, g := range f.Groups {
		groups[i] = gang.Group{Parent: group[g.Parent] - 1, Min: int32(g.Min)}
	}
	tree, err := gang.New(sets, groups)
	return err != nil || tree.AtMinimum(held) // no state that Check accepts has a form without a tree
}
