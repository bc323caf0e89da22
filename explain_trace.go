package allot

import (
	"context"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/preempt"
)

// tellChoice adds to a taking how its victim was chosen.
func (w *world) tellChoice(out *Taking, c *engine.Choice) {
	p := w.pools[c.Pool]
	for _, n := range c.Nodes {
		out.Nodes = append(out.Nodes, w.state.Nodes[p.Nodes[n]].ID)
	}
	for _, level := range c.Ranking.Right {
		out.Right = append(out.Right, RightLevel{
			Queue: p.queueID(w.state, int(level.Queue)), Resource: p.resources[level.Resource].name, Class: p.resources[level.Resource].class,
			Use: level.Use, Asks: level.Asks, Entitlement: toldLine(level.Entitlement), Own: level.Queue == c.Leaf,
		})
	}
	for i := range c.Ranking.Units {
		out.Candidates = append(out.Candidates, w.candidate(p, &c.Ranking.Units[i], &c.Units[i], c.Mode))
	}
	out.Others = c.Ranking.Others
}

// candidate is a ranked unit in the plan's words.
func (w *world) candidate(p *pool, r *preempt.Ranked, u *preempt.Unit, mode preempt.Mode) Candidate {
	out := Candidate{
		Workload: w.source(&w.Works[u.Work]).ID, Queue: p.queueID(w.state, int(u.Leaf)), Step: int(u.Step),
		Fate: r.Fate, Class: r.Class, Protection: r.Protection,
		Priority: u.Priority, Admitted: timeOf(u.Admitted), Submitted: timeOf(u.Submitted), Holds: p.asAmounts(u.Charge),
	}
	if p.given.LowerFirst {
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
	asked := make(map[int32]bool)
	for i := range d.actions {
		if a := &d.actions[i]; takes(a) && keep(i, *a) {
			work, _ := d.world.workOf(a.Workload)
			asked[work] = true
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	w, err := compile(d.world.state)
	if err != nil {
		return nil, err
	}
	w.Traced = engine.NewTrace(asked, MostTold)
	found, err := w.Solve(ctx)
	if err != nil {
		return nil, err
	}
	var plan Plan
	w.writeActions(&plan, found)
	var out []Taking
	for i := range plan.Actions {
		if a := &plan.Actions[i]; takes(a) && keep(i, *a) {
			out = append(out, w.taken(found, &found.Actions[i], a))
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
func (w *world) taken(d *engine.Decision, a *engine.Action, written *Action) Taking {
	out := Taking{
		Kind: written.Kind, Workload: written.Workload, Queue: written.Queue, Form: written.Form,
		Tasks: len(written.Tasks), Reason: written.Reason,
	}
	one, victim, preempted := w.ChoiceFor(d, a)
	if one == nil {
		return out
	}
	w.tellChoice(&out, one)
	if preempted {
		sign := int32(1)
		if w.pools[one.Pool].given.LowerFirst {
			sign = -1
		}
		out.Priorities = &Priorities{Preemptor: sign * one.Priority, Victim: sign * victim}
	}
	return out
}
