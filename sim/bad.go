package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
)

// A LeftOut is a job or a change that cannot be run, or a line of a trace that cannot be read.
type LeftOut struct {
	// Line is the line of its file, as far as it was read from one; Job is how it is named
	// there, as far as it is, or else its ID.
	Line int    `json:"line,omitzero"`
	Job  string `json:"job,omitzero"`
	// Submit is when it was to be submitted, if Timed: a change is not, nor what has no time
	// that can be read.
	Submit time.Duration `json:"submit,omitzero"`
	Timed  bool          `json:"timed,omitzero"`
	// Kind is what is wrong in a word or two, for counting, Why what is wrong of this one.
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

// LeftOut is the job as one that is left out, for a reason of a kind.
func (j *Job) LeftOut(kind, why string) LeftOut {
	return LeftOut{Line: j.Line, Job: cmp.Or(j.Name, j.Workload.ID), Submit: j.Submit, Timed: true, Kind: kind, Why: why}
}

// String says where it is and what is wrong.
func (l LeftOut) String() string {
	var where []string
	if l.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", l.Line))
	}
	if l.Job != "" {
		where = append(where, fmt.Sprintf("job %q", l.Job))
	}
	if len(where) == 0 {
		return l.Why
	}
	return strings.Join(where, ", ") + ": " + l.Why
}

// A BadInputError is the error of a run that has not begun, as something of its input
// cannot be run ([Options.LeaveOut]).
type BadInputError struct {
	// List is all of it: what its reader could make nothing of, then its jobs, and then its
	// changes, each in the order of the input.
	List []LeftOut
	// Printed is how many of List the text of the error has, the first ones; 0 is 20.
	Printed int
}

// printedBad is how many lines the text of a BadInputError has that does not say.
const printedBad = 20

// Error counts what is wrong by kind, and lists the first of it.
func (e *BadInputError) Error() string {
	most := cmp.Or(e.Printed, printedBad)
	counts := make(map[string]int)
	for i := range e.List {
		counts[e.List[i].Kind]++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sim: %d cannot be run (", len(e.List))
	for i, kind := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %d", kind, counts[kind])
	}
	b.WriteString(")")
	for i := range e.List {
		if i == most {
			fmt.Fprintf(&b, "\n\tand %d more", len(e.List)-i)
			break
		}
		b.WriteString("\n\t" + e.List[i].String())
	}
	return b.String()
}

// checkedAtOnce is how many jobs are put to [allot.Check] at once, as far as they have no more
// tasks together than a state may have.
const checkedAtOnce = 1 << 12

// maxTasks is how many tasks the workloads of a state may have, by [allot.Check].
const maxTasks = 1 << 24

// bad are the jobs that cannot be run, by position, each with what is wrong first.
func (l *library) bad(jobs []Job, costs *Costs) (map[int]LeftOut, error) {
	found := make(map[int]LeftOut)
	note := func(i int, kind, why string) {
		if _, noted := found[i]; !noted {
			found[i] = jobs[i].LeftOut(kind, why)
		}
	}
	var known map[string]bool
	if !namesRise(jobs) {
		known = make(map[string]bool, len(jobs))
	}
	for i := range jobs {
		if kind, why := jobs[i].wrong(costs); kind != "" {
			note(i, kind, why)
		} else if id := jobs[i].Workload.ID; known[id] {
			note(i, "same name", fmt.Sprintf("two jobs are named %q", id))
		} else if known != nil {
			known[id] = true
		}
	}
	state := *l.state
	var at []int // of the workloads of the state
	one := new(job)
	for next := 0; next < len(jobs); {
		state.Workloads, at = state.Workloads[:0], at[:0]
		for tasks := 0; next < len(jobs) && len(at) < checkedAtOnce; next++ {
			if _, noted := found[next]; noted {
				continue
			}
			one.Job = &jobs[next]
			last := len(at)
			state.Workloads = append(state.Workloads, one.Workload) // where the scheduler may change it
			w := &state.Workloads[last]
			if l.submit(one, w); w.ID != one.Workload.ID || len(w.Tasks) > 0 || w.Ending || len(w.Alternatives) > 0 {
				note(next, "scheduler", "the scheduler gives it another ID, tasks or alternatives")
				state.Workloads = state.Workloads[:last]
				continue
			}
			one.estimate(w)
			own := tasksUpTo(w, maxTasks+1)
			if own > maxTasks {
				note(next, "tasks", fmt.Sprintf("it has more than %d tasks", maxTasks))
				state.Workloads = state.Workloads[:last]
				continue
			}
			if tasks += own; tasks > maxTasks {
				state.Workloads = state.Workloads[:last]
				break
			}
			at = append(at, next)
		}
		var invalid *allot.InvalidError
		if err := allot.Check(&state); err != nil && !errors.As(err, &invalid) {
			return nil, err
		} else if err == nil {
			continue
		}
		for _, f := range invalid.Faults {
			k, path, ok := workloadOf(f.Path)
			if !ok {
				return nil, invalid // of all of them together
			}
			f.Path = fmt.Sprintf("workloads[%d]%s", at[k], path)
			note(at[k], kindOf(path), f.String())
		}
	}
	return found, nil
}

// tasksUpTo is how many tasks a workload has, or most where there are more.
func tasksUpTo(w *allot.Workload, most int) (tasks int) {
	for i := range w.PodSets {
		tasks += min(max(w.PodSets[i].Count, 0), most-tasks)
	}
	return tasks
}

// namesRise says whether each job's name comes after that of the job before, as generated
// ones do: then no two are the same, of however many.
func namesRise(jobs []Job) bool {
	for i := range len(jobs) - 1 {
		if jobs[i].Workload.ID >= jobs[i+1].Workload.ID {
			return false
		}
	}
	return true
}

// badChanges adds to the changes that are wrong those of queues after which the cluster would be none that
// [allot.Check] accepts, by position. Each is looked at behind those before it in time that
// are in order.
func (l *library) badChanges(changes []Change, s *Scheduler, found map[int]LeftOut) {
	var sets []int
	for i := range changes {
		if _, wrong := found[i]; !wrong && changes[i].Kind == QueueSet {
			sets = append(sets, i)
		}
	}
	slices.SortStableFunc(sets, func(a, b int) int { return cmp.Compare(changes[a].At, changes[b].At) })
	state, snapshot := *l.state, l.snapshot
	for _, i := range sets {
		c := &changes[i]
		next := state
		next.Nodes, next.Pools, next.Queues = slices.Clone(state.Nodes), slices.Clone(state.Pools), slices.Clone(state.Queues)
		at := slices.IndexFunc(next.Queues, func(q allot.Queue) bool { return q.ID == c.Queue.ID })
		if at < 0 {
			continue // the scheduler compared knows no queues
		}
		next.Queues[at] = *c.Queue
		if s.Cluster != nil {
			s.Cluster(&next)
		}
		after, err := snapshot.With(allot.Change{Queues: next.Queues})
		if err != nil {
			found[i] = c.leftOut(err.Error())
			continue
		}
		state, snapshot = next, after
	}
}

// workloadOf reads the number in a path such as "workloads[3].queue", and what is behind.
func workloadOf(path string) (at int, rest string, ok bool) {
	rest, begins := strings.CutPrefix(path, "workloads[")
	digits, rest, closed := strings.Cut(rest, "]")
	at, err := strconv.Atoi(digits)
	return at, rest, begins && closed && err == nil
}

// kindOf is a path such as ".podSets[0].count" without its numbers and names.
func kindOf(path string) string {
	var b strings.Builder
	depth := 0
	for _, r := range strings.TrimPrefix(path, ".") {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	if b.Len() == 0 {
		return "workload"
	}
	return b.String()
}

// faults are the jobs and the changes of an input that cannot be run, by position.
type faults struct{ jobs, changes map[int]LeftOut }

// inspect finds them.
func (l *library) inspect(in *Input, o *Options) (f faults, err error) {
	if f.jobs, err = l.bad(in.Jobs, &o.Costs); err == nil {
		f.changes = in.wrongChanges()
		l.badChanges(in.Changes, &o.Scheduler, f.changes)
	}
	return f, err
}

// without is the input without what has faults, which stands in its LeftOut.
func (in *Input) without(f faults) *Input {
	if len(f.jobs)+len(f.changes) == 0 {
		return in
	}
	out, gone := *in, make(map[string]bool)
	out.Jobs, out.Changes, out.LeftOut = nil, nil, slices.Clone(in.LeftOut)
	for _, found := range []map[int]LeftOut{f.jobs, f.changes} {
		for _, i := range slices.Sorted(maps.Keys(found)) {
			out.LeftOut = append(out.LeftOut, found[i])
		}
	}
	for i := range in.Jobs {
		if _, bad := f.jobs[i]; bad {
			gone[in.Jobs[i].Workload.ID] = true
		} else {
			out.Jobs = append(out.Jobs, in.Jobs[i])
		}
	}
	for i := range out.Jobs {
		delete(gone, out.Jobs[i].Workload.ID) // the first of two of one name stays
	}
	for i, c := range in.Changes {
		if _, bad := f.changes[i]; !bad && (!gone[c.Job] || c.Kind != PrioritySet && c.Kind != Cancel) {
			out.Changes = append(out.Changes, c)
		}
	}
	return &out
}

// Sound is the input as it can be run with each of some options, so that the runs are of the
// same: without the jobs and changes that cannot be run with one of them, which stand in its
// LeftOut. The error is that of [Run] where none of it can be run, as an option makes no sense,
// a scheduler does not take it, or the cluster is none.
func Sound(in *Input, of ...Options) (*Input, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	libraries := make([]library, len(of))
	for k := range of {
		if err := libraries[k].begin(in, &of[k]); err != nil {
			return nil, err
		}
	}
	for {
		found := make([]faults, len(of))
		for k := range of {
			var err error
			if found[k], err = libraries[k].inspect(in, &of[k]); err != nil {
				return nil, err
			}
		}
		all := faults{
			jobs:    union(of, func(k int) map[int]LeftOut { return found[k].jobs }),
			changes: union(of, func(k int) map[int]LeftOut { return found[k].changes }),
		}
		in = in.without(all)
		if len(all.changes) == 0 { // else one behind it may be none that can follow
			return in, nil
		}
	}
}

// union is what is found with one of the options at least. What is found with some of them
// alone says under whom.
func union(of []Options, found func(int) map[int]LeftOut) map[int]LeftOut {
	under, all := make(map[int][]string), make(map[int]LeftOut)
	for k := range of {
		for i, l := range found(k) { // each has a place of its own: in any order
			under[i] = append(under[i], cmp.Or(of[k].Scheduler.Name, "the policies of the pools"))
			if len(under[i]) == 1 {
				all[i] = l
			}
		}
	}
	for i, names := range under { // in any order, likewise
		if l := all[i]; len(names) < len(of) {
			l.Why = "under " + strings.Join(names, ", ") + ": " + l.Why
			all[i] = l
		}
	}
	return all
}
