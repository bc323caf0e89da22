package allot_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// changeOf is what has to change in a state for it to become another.
func changeOf(before, after *allot.State) (c allot.Change) {
	if !after.Now.Equal(before.Now) {
		c.Now = after.Now
	}
	if after.Revision != before.Revision {
		c.Revision = after.Revision
	}
	if !slices.Equal(before.Levels, after.Levels) {
		if c.Levels = after.Levels; len(after.Levels) == 0 {
			for _, level := range before.Levels {
				c.Remove.Levels = append(c.Remove.Levels, level.Name)
			}
		}
	}
	c.Nodes, c.Remove.Nodes = changed(before.Nodes, after.Nodes, func(n *allot.Node) string { return n.ID })
	c.Pools, c.Remove.Pools = changed(before.Pools, after.Pools, func(p *allot.Pool) string { return p.ID })
	c.Queues, c.Remove.Queues = changed(before.Queues, after.Queues, func(q *allot.Queue) string { return q.ID })
	c.Workloads, c.Remove.Workloads = changed(before.Workloads, after.Workloads, func(w *allot.Workload) string { return w.ID })
	c.Budgets, c.Remove.Budgets = changed(before.Budgets, after.Budgets, func(b *allot.DisruptionBudget) string { return b.Owner })
	return c
}

func changed[T any](before, after []T, id func(*T) string) (put []T, gone []string) {
	had := make(map[string]*T, len(before))
	for i := range before {
		had[id(&before[i])] = &before[i]
	}
	for i := range after {
		name := id(&after[i])
		if b := had[name]; b == nil || !reflect.DeepEqual(*b, after[i]) {
			put = append(put, after[i])
		}
		delete(had, name)
	}
	for i := range before {
		if name := id(&before[i]); had[name] != nil {
			gone = append(gone, name)
		}
	}
	return put, gone
}

// byIDs is the state with its lists sorted as a snapshot has them.
func byIDs(s *allot.State) *allot.State {
	c := *s
	c.Levels = append([]allot.Level(nil), s.Levels...)
	c.Nodes = sortedBy(s.Nodes, func(n allot.Node) string { return n.ID })
	c.Pools = sortedBy(s.Pools, func(p allot.Pool) string { return p.ID })
	c.Queues = sortedBy(s.Queues, func(q allot.Queue) string { return q.ID })
	c.Workloads = sortedBy(s.Workloads, func(w allot.Workload) string { return w.ID })
	c.Budgets = sortedBy(s.Budgets, func(b allot.DisruptionBudget) string { return b.Owner })
	return &c
}

// sortedBy is a sorted copy, nil where it is empty.
func sortedBy[T any](list []T, id func(T) string) (c []T) {
	c = append(c, list...)
	slices.SortFunc(c, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return c
}

// sameState says how the state of a snapshot is not the one it should be.
func sameState(got, want *allot.State) error {
	if want = byIDs(want); !reflect.DeepEqual(got, want) {
		a, b := asJSON(got), asJSON(want)
		if a == b {
			return errors.New("the state differs in what is nil and what is empty")
		}
		return fmt.Errorf("the state is\n%s\nnot\n%s", a, b)
	}
	return nil
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func planJSON(p *allot.Plan) string {
	text := asJSON(p)
	for _, list := range []string{`{"kind"`, `"pending"`, `{"workload"`, `"shares"`} { // a line each
		text = strings.ReplaceAll(text, list, "\n"+list)
	}
	return text
}

// account tells what broke: the shortest way to it that was found, as a
// scenario and changes.
func (l *lawLife) account(broken error) string {
	text := fmt.Sprintf("%v\nafter: %s\n", broken, strings.Join(l.log, "; "))
	if l.trace.broken() == nil {
		return text + "It does not break again when the same versions are decided on in the same order.\n"
	}
	short := l.trace.shrunk()
	return text + fmt.Sprintf("Shrunk: %v\n%s", short.broken(), short.text())
}

// A trace is what was done to the snapshots of a life, in its order.
type trace []*traceStep

// A traceStep makes a version, from another or anew, or decides on one, which is then asked for all of its
// plan or for its actions alone.
type traceStep struct {
	state   *allot.State
	from    *traceStep
	decides *traceStep
	asked   bool
}

// broken says how the law is broken by doing all of it again.
func (t trace) broken() (broken error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			broken = fmt.Errorf("panic: %v", panicked)
		}
	}()
	versions := make(map[*traceStep]*allot.Snapshot)
	for _, step := range t {
		if step.decides != nil {
			if err := sameAsked(versions[step.decides], step.asked); err != nil {
				return err
			}
			continue
		}
		made, err := (*allot.Snapshot)(nil), error(nil)
		if step.from == nil {
			made, err = allot.NewSnapshot(step.state)
		} else {
			made, err = versions[step.from].With(changeOf(step.from.state, step.state))
		}
		if err != nil {
			return nil // no trace at all
		}
		versions[step] = made
	}
	return nil
}

// sameDecision says how what a snapshot decides differs from what Solve does.
func sameDecision(s *allot.Snapshot) error { return sameAsked(s, true) }

// sameAsked is sameDecision of a decision that is asked for all of its plan or for its actions alone.
func sameAsked(s *allot.Snapshot, asked bool) error {
	d, err := s.Decide()
	if err != nil {
		return err
	}
	v := lawVersion{snapshot: s}
	if err := v.solve(); err != nil {
		return nil // not the law's fault
	}
	if err := sameActions(d.Actions(), v.plan.Actions); err != nil || !asked {
		return err
	}
	got, err := d.Plan()
	if err != nil {
		return err
	}
	if got.Work = (allot.Work{}); !reflect.DeepEqual(got, v.plan) {
		return fmt.Errorf("the plan is\n%s\nnot\n%s", planJSON(got), planJSON(v.plan))
	}
	return nil
}

// shrunk drops what can be dropped while the law stays broken.
func (t trace) shrunk() trace {
	for size := len(t); size > 0; size /= 2 {
		for from := len(t) - size; from >= 0; from -= size {
			if short := t.cut(from, from+size); short.broken() != nil {
				t = short
				from = min(from, len(t))
			}
		}
	}
	for _, drop := range []func(*allot.State, string){dropWorkloadID, dropNodeID, dropQueueID} {
		for _, id := range t.names() {
			if short := t.without(drop, id); short.broken() != nil {
				t = short
			}
		}
	}
	return t
}

// cut is the trace without some steps: what was made from them is made from
// what they were made from.
func (t trace) cut(from, to int) trace {
	var short trace
	now := make(map[*traceStep]*traceStep) // what takes the place of each version
	for i, step := range t {
		out := i >= from && i < to
		switch {
		case step.decides != nil:
			if of := now[step.decides]; !out && of != nil && of.state == step.decides.state {
				short = append(short, &traceStep{decides: of, asked: step.asked})
			}
		case out:
			now[step] = now[step.from]
		default:
			now[step] = &traceStep{state: step.state, from: now[step.from]}
			short = append(short, now[step])
		}
	}
	return short
}

// names are all IDs in the trace.
func (t trace) names() []string {
	all := make(map[string]bool)
	for _, step := range t {
		if step.state == nil {
			continue
		}
		for i := range step.state.Workloads {
			all[step.state.Workloads[i].ID] = true
		}
		for i := range step.state.Nodes {
			all[step.state.Nodes[i].ID] = true
		}
		for i := range step.state.Queues {
			all[step.state.Queues[i].ID] = true
		}
	}
	return sortedKeys(all)
}

// without is the trace with something dropped from all its states.
func (t trace) without(drop func(*allot.State, string), id string) trace {
	var short trace
	now := make(map[*traceStep]*traceStep)
	for _, step := range t {
		if step.decides != nil {
			short = append(short, &traceStep{decides: now[step.decides], asked: step.asked})
			continue
		}
		s := copyState(step.state)
		drop(s, id)
		now[step] = &traceStep{state: s, from: now[step.from]}
		short = append(short, now[step])
	}
	return short
}

func dropWorkloadID(s *allot.State, id string) {
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })
}

func dropNodeID(s *allot.State, id string) {
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n allot.Node) bool { return n.ID == id })
	for i := range s.Pools {
		set := &s.Pools[i].Nodes
		set.IDs = slices.DeleteFunc(set.IDs, func(n string) bool { return n == id })
	}
}

func dropQueueID(s *allot.State, id string) {
	s.Queues = slices.DeleteFunc(s.Queues, func(q allot.Queue) bool { return q.ID == id })
}

// text is each first state as a scenario, and what changes from each to the next.
func (t trace) text() string {
	var b strings.Builder
	number := make(map[*traceStep]int)
	for _, step := range t {
		switch {
		case step.decides != nil:
			fmt.Fprintf(&b, "decide on %d%s\n", number[step.decides], map[bool]string{true: " in full"}[step.asked])
			continue
		case step.from == nil:
			fmt.Fprintf(&b, "version %d:\n%s", len(number), scenario.Format(step.state))
		default:
			fmt.Fprintf(&b, "version %d, from %d: %s\n", len(number), number[step.from], asJSON(changeOf(step.from.state, step.state)))
		}
		number[step] = len(number)
	}
	return b.String()
}
