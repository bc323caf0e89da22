package allot

import (
	"slices"

	"github.com/allotsched/allot/internal/table"
)

// carryOut carries a plan out, in full or as far as setting it going, on the
// part of the state that the plan names. What cannot be carried out there is
// carried out on the whole, to tell why not.
func (s *Snapshot) carryOut(p *Plan, keep func(i int, a Action) bool, how partly) (*Snapshot, error) {
	if p == nil {
		_, err := how.whole(s.objects.state(), p, keep)
		return nil, err
	}
	keep = onlyOnce(p, keep)
	ap, err := begin(s.named(p), p, keep)
	if err != nil {
		return s.carryOutWhole(p, keep, how)
	}
	if how.finished {
		ap.finish()
	}
	ap.clear()
	next, err := s.With(s.outcome(p, keep, ap))
	if err != nil {
		return s.carryOutWhole(p, keep, how)
	}
	return next, nil
}

// A partly is a way to carry out a part of a plan.
type partly struct {
	whole    func(*State, *Plan, func(int, Action) bool) (*State, error)
	finished bool // nothing waits for what takes time
}

// onlyOnce is keep with a memory, so that it is asked once about each action.
func onlyOnce(p *Plan, keep func(int, Action) bool) func(int, Action) bool {
	const kept, leftOut = 1, 2
	said := make([]uint8, len(p.Actions))
	return func(i int, a Action) bool {
		if keep != nil && said[i] == 0 {
			if said[i] = leftOut; keep(i, a) {
				said[i] = kept
			}
		}
		return said[i] != leftOut
	}
}

// named is the part of the state that the plan names, and the workloads that
// every plan changes. What else stands on the nodes is missing.
func (s *Snapshot) named(p *Plan) *State {
	var nodes, workloads []string
	for i := range p.Actions {
		a := &p.Actions[i]
		workloads = append(append(workloads, a.Workload), a.After...)
		for _, places := range [][]Placement{a.Tasks, a.From} {
			for k := range places {
				nodes = append(nodes, places[k].Node)
			}
		}
	}
	for i := range p.Reservations {
		workloads = append(workloads, p.Reservations[i].Workload)
	}
	for k := range s.objects.irregular.All() {
		workloads = append(workloads, k.ID)
	}
	return &State{
		Now: s.objects.now, Revision: s.objects.revision, Levels: s.objects.levels,
		Nodes: some(s.objects.nodes, nodes), Workloads: some(s.objects.workloads, workloads),
	}
}

// some are the entries of the keys, as far as there are any.
func some[T any](t table.Table[T], keys []string) []T {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	out := make([]T, 0, len(keys))
	for _, key := range keys {
		if e := t.Get(key); e != nil {
			out = append(out, *e)
		}
	}
	return out
}

// outcome is what the applier has changed.
func (s *Snapshot) outcome(p *Plan, keep func(int, Action) bool, ap *applier) (c Change) {
	touched := make(map[string]bool)
	for i := range p.Actions {
		if keep(i, p.Actions[i]) {
			touched[p.Actions[i].Workload] = true
		}
	}
	for i := range p.Reservations {
		touched[p.Reservations[i].Workload] = true
	}
	for k := range s.objects.irregular.All() {
		touched[k.ID] = true
	}
	for i := range ap.state.Workloads {
		k := &ap.state.Workloads[i]
		if touched[k.ID] {
			ap.keepPartial(k)
			ap.keepTimes(k)
			c.Workloads = append(c.Workloads, *k)
			delete(touched, k.ID)
		}
	}
	for id := range touched { // sorted below
		c.Remove.Workloads = append(c.Remove.Workloads, id)
	}
	slices.Sort(c.Remove.Workloads)
	return c
}

// carryOutWhole carries the plan out on the whole state.
func (s *Snapshot) carryOutWhole(p *Plan, keep func(i int, a Action) bool, how partly) (*Snapshot, error) {
	next, err := how.whole(s.objects.state(), p, keep)
	if err != nil {
		return nil, err
	}
	var c Change
	after := tableOf(next.Workloads, workloadID, func(k Workload) Workload { return k })
	for _, d := range table.Differences(s.objects.workloads, after) {
		if d.After == nil {
			c.Remove.Workloads = append(c.Remove.Workloads, d.Before.ID)
		} else {
			c.Workloads = append(c.Workloads, *d.After)
		}
	}
	return s.With(c)
}
