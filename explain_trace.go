package allot

import (
	"context"

	"github.com/allotsched/allot/preempt"
)

// Why a victim was chosen is known while it is chosen. Who asks about some has the
// state decided once more, with a trace of the proposals that take them: the same
// state gives the same plan (S1), so these are the proposals of the first time.

// A trace keeps how the victims among some workloads were chosen.
type trace struct {
	works map[int32]bool
	// chosen are by commit, the start that something was taken for, and by the way in
	// which it was taken.
	chosen map[chosenFor]*choice
}

// A chosenFor names a choice: what goes for one start in one way.
type chosenFor struct {
	commit int32
	mode   preempt.Mode
}

// A choice is how those of one proposal were chosen that go, or move, in one way, in
// the plan's words.
type choice struct {
	beneficiary int32
	priority    int32
	nodes       []string
	right       []RightLevel
	candidates  []Candidate
	others      []preempt.FateCount
}

// note keeps a proposal that takes one of the workloads asked about, before it is
// carried out.
func (t *trace) note(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal) {
	told := make(map[preempt.Mode]bool)
	for _, c := range proposal.Justifications {
		if !told[c.Mode] && t.works[s.pool.room.Unit(c.Victim).Work] {
			told[c.Mode] = true
			t.chosen[chosenFor{int32(len(s.world.room.commits)), c.Mode}] = choiceOf(s, b, proposal, c.Mode)
		}
	}
}

// choiceOf tells how those of a proposal were chosen that go in one way.
func choiceOf(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal, mode preempt.Mode) *choice {
	w, p := s.world, s.pool
	ranking := p.room.Rank(b, proposal, mode, MostTold)
	one := &choice{beneficiary: b.Work, priority: b.Priority, others: ranking.Others}
	if mode == proposal.Mode || mode == preempt.Consolidate { // own ones beside a reclaim go from anywhere (R11)
		for _, n := range proposal.Nodes() {
			one.nodes = append(one.nodes, w.state.Nodes[p.nodes[n]].ID)
		}
	}
	for _, level := range ranking.Right {
		one.right = append(one.right, RightLevel{
			Queue: p.queueID(w.state, int(level.Queue)), Resource: p.resources[level.Resource].name,
			Use: level.Use, Asks: level.Asks, Entitlement: toldLine(level.Entitlement), Own: level.Queue == b.Leaf,
		})
	}
	for _, r := range ranking.Units {
		one.candidates = append(one.candidates, s.candidate(&r, mode))
	}
	return one
}

// candidate is a ranked unit in the plan's words.
func (s *solver) candidate(r *preempt.Ranked, mode preempt.Mode) Candidate {
	w, p := s.world, s.pool
	u := p.room.Unit(r.Unit)
	out := Candidate{
		Workload: w.source(&w.works[u.Work]).ID, Queue: p.queueID(w.state, int(u.Leaf)), Step: int(u.Step),
		Fate: r.Fate, Class: r.Class, Protection: r.Protection,
		Priority: u.Priority, Admitted: timeOf(u.Admitted), Submitted: timeOf(u.Submitted), Holds: p.asAmounts(u.Charge),
	}
	if p.policy.LowerFirst {
		out.Priority = -out.Priority
	}
	if r.Fate == preempt.MinRuntimeHolds {
		from := u.PreemptFrom
		if mode == preempt.ReclaimByQuota || mode == preempt.ReclaimByShare {
			from = u.ReclaimFrom
		}
		out.Until = timeOf(from)
	}
	for at, q := range r.Queues {
		out.Saturation = append(out.Saturation, QueueSaturation{Queue: p.queueID(w.state, int(q)), Ratio: r.Saturations[at]})
	}
	return out
}

// Takings explains, of the actions that keep keeps, those that take places from a
// workload for the sake of another one or of the rules: by what right, and why
// from this workload. They come in the order of the plan; a nil keep keeps all. It
// costs a solve if there are such, which ends with the context's error when that
// ends.
func (d *Decision) Takings(ctx context.Context, keep func(i int, a Action) bool) ([]Taking, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFull(ctx); err != nil {
		return nil, err
	}
	return d.takings(ctx, keep)
}

// takings is Takings where the lock is held and d is solved in full.
func (d *Decision) takings(ctx context.Context, keep func(i int, a Action) bool) ([]Taking, error) {
	if keep == nil {
		keep = func(int, Action) bool { return true }
	}
	t := &trace{works: make(map[int32]bool), chosen: make(map[chosenFor]*choice)}
	for i := range d.actions {
		if a := &d.actions[i]; takes(a) && keep(i, *a) {
			work, _ := d.world.workOf(a.Workload)
			t.works[work] = true
		}
	}
	if len(t.works) == 0 {
		return nil, nil
	}
	w, err := compile(d.world.state)
	if err != nil {
		return nil, err
	}
	w.traced = t
	found, err := w.solve(ctx)
	if err != nil {
		return nil, err
	}
	var plan Plan
	w.writeActions(&plan, found)
	var out []Taking
	for i := range plan.Actions {
		if a := &plan.Actions[i]; takes(a) && keep(i, *a) {
			out = append(out, w.taken(found, &found.actions[i], a))
		}
	}
	return out, nil
}

// takes says whether an action takes places that somebody had for the sake of
// somebody or something else.
func takes(a *Action) bool {
	switch a.Reason.Code {
	case ReclaimedByQuota, ReclaimedByShare, Preempted, Consolidated, StaleGang:
		return true
	}
	return false
}

// taken tells one action, with how its victim was chosen.
func (w *world) taken(d *decision, a *action, written *Action) Taking {
	out := Taking{
		Kind: written.Kind, Workload: written.Workload, Queue: written.Queue, Form: written.Form,
		Tasks: len(written.Tasks), Reason: written.Reason,
	}
	chain := w.chainOf(d, a)
	if len(chain) != 1 {
		return out
	}
	t := &w.room.takings[chain[0]]
	one := w.traced.chosen[chosenFor{t.commit, t.is.Mode}]
	if one == nil {
		return out
	}
	out.Right, out.Nodes, out.Candidates, out.Others = one.right, one.nodes, one.candidates, one.others
	if t.code == codePreempted {
		sign := int32(1)
		if w.pools[t.pool].policy.LowerFirst {
			sign = -1
		}
		out.Priorities = &Priorities{Preemptor: sign * one.priority, Victim: sign * t.unit.Priority}
	}
	return out
}
