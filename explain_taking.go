package allot

import (
	"context"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
)

// A Taking says why an action takes places from a workload that had them: from
// the right of the one that it is done for to the choice of this victim and no
// other. Text is [Taking.String].
type Taking struct {
	// Kind, Workload, Queue and Form are the action's, Tasks the number of its
	// tasks, Reason its reason, with rule, preemptor and ratios (X2).
	Kind     ActionKind `json:"kind"`
	Workload string     `json:"workload"`
	Queue    string     `json:"queue,omitzero"`
	Form     int        `json:"form,omitzero"`
	Tasks    int        `json:"tasks"`
	Reason   Reason     `json:"reason"`
	// Right are the preemptor's queues from its own up to its subtree (R1), each with
	// the resource that comes nearest to its entitlement. Priorities are what a
	// preemption goes by (E1). What only moves does so by no right against it, and
	// has neither (C1, M10). None of this is told of a stale gang, nor of a chain
	// (M9) that ends with another preemptor than it began.
	Right      []RightLevel `json:"right,omitempty"`
	Priorities *Priorities  `json:"priorities,omitempty"`
	// Nodes are the place that was cleared; none is anywhere (M3).
	Nodes []string `json:"nodes,omitempty"`
	// Candidates are in the order of M3 as things stood before anybody went for
	// this preemptor: those that go in the same way, and of the others at most [MostTold]
	// before and after each. Others counts those that are not told, by fate; what is
	// preempted beside a reclaim (R11), or moves beside victims (M10), has a choice of its own.
	Candidates []Candidate         `json:"candidates,omitempty"`
	Others     []preempt.FateCount `json:"others,omitempty"`
}

// A RightLevel is a queue of the preemptor that stays within its entitlement with
// what is taken for it (R1).
type RightLevel struct {
	Queue    string `json:"queue"`
	Resource string `json:"resource"`
	// Use is that with the victims gone, Asks what the preemptor adds, Entitlement
	// what the queue may use by this right, [MaxAmount] where that is unlimited.
	Use         int64 `json:"use"`
	Asks        int64 `json:"asks"`
	Entitlement int64 `json:"entitlement"`
	// Own: it is the preemptor's leaf, whose entitlement is R8's; of the others it is
	// quota or fair share.
	Own bool `json:"own,omitzero"`
}

// Priorities are those of a preemption, higher first.
type Priorities struct {
	Preemptor int32 `json:"preemptor"`
	Victim    int32 `json:"victim"`
}

// A Candidate is a unit that runs, and how it stood when victims were chosen: a
// workload's minimum, or what is above it.
type Candidate struct {
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Step is 0 for the minimum, n for the n-th step above it (M6).
	Step int `json:"step,omitzero"`
	// Fate is what became of it and why.
	Fate preempt.Fate `json:"fate"`
	// Class and Saturation are what a reclaim ranks by first (R3): the class of its
	// subtree and the queues below, and their use over fair share, from the subtree down.
	Class      preempt.Class      `json:"class,omitzero"`
	Saturation []QueueSaturation  `json:"saturation,omitempty"`
	Protection preempt.Protection `json:"protection,omitzero"`
	// Priority, Admitted and Submitted are its standing (R8).
	Priority  int32     `json:"priority,omitzero"`
	Admitted  time.Time `json:"admitted,omitzero"`
	Submitted time.Time `json:"submitted,omitzero"`
	// Holds is what it is charged.
	Holds []AskedAmount `json:"holds,omitempty"`
	// Until is when its minimum runtime ends, where that protects it; zero is
	// never (M1).
	Until time.Time `json:"until,omitzero"`
}

// A QueueSaturation is a queue's largest use over fair share (F9).
type QueueSaturation struct {
	Queue string          `json:"queue"`
	Ratio fairshare.Ratio `json:"ratio"`
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
	t := &trace{works: make(map[int32]bool), most: MostTold, chosen: make(map[chosenFor]*choice)}
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
	(&teller{world: w}).chosen(&out, one)
	if t.code == codePreempted {
		sign := int32(1)
		if w.pools[t.pool].policy.LowerFirst {
			sign = -1
		}
		out.Priorities = &Priorities{Preemptor: sign * one.priority, Victim: sign * t.unit.Priority}
	}
	return out
}

// chosen tells how a victim was chosen.
func (t *teller) chosen(out *Taking, one *choice) {
	p := t.pools[one.pool]
	for _, n := range one.nodes {
		out.Nodes = append(out.Nodes, t.nodeAt(p, n))
	}
	for _, level := range one.ranking.Right {
		out.Right = append(out.Right, RightLevel{
			Queue: p.queueID(t.state, int(level.Queue)), Resource: p.resources[level.Resource].name,
			Use: level.Use, Asks: level.Asks, Entitlement: toldLine(level.Entitlement), Own: level.Queue == one.leaf,
		})
	}
	for at := range one.units {
		out.Candidates = append(out.Candidates, t.candidate(p, one, at))
	}
	out.Others = one.ranking.Others
}

// candidate tells a ranked unit.
func (t *teller) candidate(p *pool, one *choice, at int) Candidate {
	r, u := &one.ranking.Units[at], &one.units[at]
	out := Candidate{
		Workload: t.workID(u.Work), Queue: p.queueID(t.state, int(u.Leaf)), Step: int(u.Step),
		Fate: r.Fate, Class: r.Class, Protection: r.Protection,
		Priority: u.Priority, Admitted: timeOf(u.Admitted), Submitted: timeOf(u.Submitted), Holds: p.asAmounts(u.Charge),
	}
	if p.policy.LowerFirst {
		out.Priority = -out.Priority
	}
	if r.Fate == preempt.MinRuntimeHolds {
		from := u.PreemptFrom
		if one.mode == preempt.ReclaimByQuota || one.mode == preempt.ReclaimByShare {
			from = u.ReclaimFrom
		}
		out.Until = timeOf(from)
	}
	for at, q := range r.Queues {
		out.Saturation = append(out.Saturation, QueueSaturation{Queue: p.queueID(t.state, int(q)), Ratio: r.Saturations[at]})
	}
	return out
}
