package explain

import (
	"context"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// Takings explains, of the actions that keep keeps, those that take places from a
// workload for the sake of another one or of the rules: by what right, and why
// from this workload. They come in the order of the plan; a nil keep keeps all. It
// costs a solve if there are such and none of them was asked about just before, which
// ends with the context's error when that ends.
func Takings(ctx context.Context, d *allot.Decision, keep func(i int, a allot.Action) bool) (out []Taking, err error) {
	takings := takingsOf(d.Actions(), keep)
	err = d.View(ctx, victims(d.Actions(), takings), func(v decision) error {
		out = (&viewed{v.World(), v}).takings(d.Actions(), takings)
		return nil
	})
	return out, err
}

// takingsOf are the actions that keep keeps and that take places, by index.
func takingsOf(actions []allot.Action, keep func(i int, a allot.Action) bool) (out []int) {
	for i, a := range actions {
		if takes(&a) && (keep == nil || keep(i, a)) {
			out = append(out, i)
		}
	}
	return out
}

// takes says whether an action takes places from a workload for the sake of another,
// or of something else.
func takes(a *allot.Action) bool {
	switch a.Reason.Code {
	case allot.ReclaimedByQuota, allot.ReclaimedByShare, allot.Preempted, allot.Consolidated, allot.StaleGang, allot.ReservationBegan, allot.Behind:
		return true
	}
	return false
}

// victims are the workloads of these actions.
func victims(actions []allot.Action, takings []int) view.Victims {
	out := view.Victims{Near: MostTold}
	for _, i := range takings {
		out.IDs = append(out.IDs, actions[i].Workload)
	}
	return out
}

// takings tells these actions. Those of the outcome are in the same order.
func (w *viewed) takings(actions []allot.Action, which []int) (out []Taking) {
	for _, i := range which {
		out = append(out, w.taking(&w.view.Outcome().Actions[i], actions[i].Clone()))
	}
	return out
}

// taking tells one action, with how its victim was chosen.
func (w *viewed) taking(a *cluster.Action, written allot.Action) Taking {
	out := Taking{
		Kind: written.Kind, Workload: written.Workload, Queue: written.Queue, Form: written.Form,
		Tasks: len(written.Tasks), Reason: written.Reason,
	}
	one, victim, preempted := engine.ChoiceFor(w.World, w.view.Outcome(), a)
	if one == nil {
		return out
	}
	w.tellChoice(&out, one)
	if preempted {
		out.Priorities = &Priorities{Preemptor: w.priority(one.Pool, one.Priority), Victim: w.priority(one.Pool, victim)}
	}
	return out
}

// tellChoice adds to a taking how its victim was chosen.
func (w *viewed) tellChoice(out *Taking, c *cluster.Choice) {
	for _, n := range c.Nodes {
		out.Nodes = append(out.Nodes, w.view.NodeID(w.Pools[c.Pool].Nodes[n]))
	}
	for _, level := range c.Ranking.Right {
		line := level.Entitlement
		if line >= quota.MaxSum {
			line = allot.MaxAmount
		}
		out.Right = append(out.Right, RightLevel{
			Queue: w.view.QueueID(c.Pool, level.Queue), Resource: w.view.Resource(c.Pool, level.Resource),
			Class: w.view.Class(c.Pool, level.Resource),
			Use:   level.Use, Asks: level.Asks, Entitlement: line, Own: level.Queue == c.Leaf,
		})
	}
	for i := range c.Ranking.Units {
		out.Candidates = append(out.Candidates, w.candidate(c, &c.Ranking.Units[i], &c.Units[i]))
	}
	out.Others = slices.Clone(c.Ranking.Others)
}

// candidate is a ranked unit in the plan's words.
func (w *viewed) candidate(c *cluster.Choice, r *preempt.Ranked, u *preempt.Unit) Candidate {
	out := Candidate{
		Workload: w.view.WorkloadID(u.Work), Queue: w.view.QueueID(c.Pool, u.Leaf), Step: int(u.Step),
		Fate: r.Fate, Class: r.Class, Protection: r.Protection, Priority: w.priority(c.Pool, u.Priority),
		Admitted: w.view.Instant(u.Admitted), Submitted: w.view.Instant(u.Submitted), Holds: w.amounts(c.Pool, u.Charge),
	}
	if r.Fate == preempt.MinRuntimeHolds {
		from := u.PreemptFrom
		if c.Mode == preempt.ReclaimByQuota || c.Mode == preempt.ReclaimByShare {
			from = u.ReclaimFrom
		}
		out.Until = w.view.Instant(from)
	}
	for at, q := range r.Queues {
		out.Saturation = append(out.Saturation, QueueSaturation{Queue: w.view.QueueID(c.Pool, q), Ratio: r.Saturations[at]})
	}
	return out
}
