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
	var b strings.Builder
	fmt.Fprintf(&b, "%v\nafter: %s\n", broken, strings.Join(l.log, "; "))
	states := l.path()
	if len(states) > 0 && allot.Check(states[len(states)-1]) == nil && history(states).broken() == nil {
		b.WriteString("The states that led there do not break it again when all are decided on in turn.\n")
		return b.String()
	}
	short := history(states).shrunk()
	fmt.Fprintf(&b, "Shrunk: %v\n%s", short.broken(), short.text())
	return b.String()
}

// path are the states from the first to the one that was last looked at.
func (l *lawLife) path() (states []*allot.State) {
	for i := l.at; i >= 0; i = l.versions[i].from {
		states = append(states, l.versions[i].snapshot.State())
	}
	slices.Reverse(states)
	return states
}

// A history is a line of states that become one another.
type history []*allot.State

// broken says how the law is broken by snapshots that go through the history,
// deciding on each.
func (h history) broken() (broken error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			broken = fmt.Errorf("panic: %v", panicked)
		}
	}()
	s, err := allot.NewSnapshot(h[0])
	for i := range h {
		if err == nil && i > 0 {
			s, err = s.With(changeOf(h[i-1], h[i]))
		}
		if err != nil {
			return nil // no history at all
		}
		d, err := s.Decide()
		if err != nil {
			return err
		}
		want, err := allot.Solve(h[i])
		if err != nil {
			return nil
		}
		want.Work = allot.Work{}
		if err := sameActions(d.Actions(), want.Actions); err != nil {
			return fmt.Errorf("state %d: %w", i, err)
		}
		got, err := d.Plan()
		if err != nil {
			return err
		}
		if got.Work = (allot.Work{}); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("state %d: the plan is\n%s\nnot\n%s", i, planJSON(got), planJSON(want))
		}
	}
	return nil
}

// shrunk drops what can be dropped while the law stays broken.
func (h history) shrunk() history {
	if len(h) == 0 || h.broken() == nil {
		return h
	}
	for k := len(h) - 1; k > 0; k-- {
		if short := h[k:]; short.broken() != nil {
			h = short
			break
		}
	}
	for k := len(h) - 2; k >= 0; k-- {
		if short := slices.Delete(slices.Clone(h), k, k+1); short.broken() != nil {
			h = short
		}
	}
	for _, drop := range []func(*allot.State, string){dropWorkloadID, dropNodeID, dropQueueID} {
		for _, id := range h.names() {
			if short := h.without(drop, id); short.broken() != nil {
				h = short
			}
		}
	}
	return h
}

// names are all IDs in the history.
func (h history) names() []string {
	all := make(map[string]bool)
	for _, s := range h {
		for i := range s.Workloads {
			all[s.Workloads[i].ID] = true
		}
		for i := range s.Nodes {
			all[s.Nodes[i].ID] = true
		}
		for i := range s.Queues {
			all[s.Queues[i].ID] = true
		}
	}
	return sortedKeys(all)
}

func (h history) without(drop func(*allot.State, string), id string) history {
	var short history
	for _, s := range h {
		s = copyState(s)
		drop(s, id)
		short = append(short, s)
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

// text is the first state as a scenario, and what changes from each to the next.
func (h history) text() string {
	var b strings.Builder
	for i, s := range h {
		if i == 0 {
			b.WriteString(scenario.Format(s))
			continue
		}
		fmt.Fprintf(&b, "change %d: %s\n", i, asJSON(changeOf(h[i-1], s)))
	}
	return b.String()
}
