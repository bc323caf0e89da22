package verify

import (
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
)

// What a solve took for one workload and gave to another is told as a chain (M11): each
// of it took the places from the one before. What lies between is not in the plan, and
// so each taking is judged by itself, in the figures that it is told with.

// A chainJudge judges the chain of one action.
type chainJudge struct {
	v *verifier
	x *verifiedVictim
}

// judge checks that each of the chain of an action's reason was entitled to take from the
// one before, the first from the workload of the action, and that the last is the
// preemptor, which is known to start.
func (j chainJudge) judge() {
	v, x := j.v, j.x
	r := &x.action.Reason
	if len(r.Chain) < 2 || r.Chain[0].Code != r.Code || r.Chain[len(r.Chain)-1].Workload != r.Workload {
		v.failAt(x.at, ruleActionReason, "the chain does not lead from the right that is told to %q", r.Workload)
		return
	}
	from := []*verifiedForm{&x.source.forms[x.action.Form]}
	loser := x.source
	for i := range r.Chain {
		t := &r.Chain[i]
		w := v.workloads[t.Workload]
		switch {
		case w == nil:
			v.failAt(x.at, ruleNames, "no workload %q", t.Workload)
			return
		case w == loser:
			v.failAt(x.at, ruleUseful, "%q takes from itself", t.Workload)
			return
		case i > 0 && !entitles(t.Code) || i == 0 && t.Code == allot.Consolidated && x.action.Kind != allot.Move && x.action.Kind != allot.Unclaim && !v.restarts[x.action.Workload]:
			v.failAt(x.at, ruleActionReason, "%d is no code of a right of one of a chain", t.Code)
			return
		}
		if from = j.takesFrom(t, w, loser, from); len(from) == 0 {
			v.failAt(x.at, chainRule(t.Code), "%q has no such right to what %q had", t.Workload, loser.source.ID)
			return
		}
		if t.Subtrees != nil {
			j.subtrees(t)
		}
		loser = w
	}
	if first := r.Chain[0]; first.Queue != r.Queue || first.Resource != r.Resource || first.Class != r.Class ||
		(r.Subtrees == nil) != (first.Subtrees == nil) || r.Subtrees != nil && *r.Subtrees != *first.Subtrees {
		v.failAt(x.at, ruleActionReason, "the first of the chain is told otherwise than the reason")
	}
	if s := r.Subtrees; s != nil {
		victimLoses(v, x, s.Victim, verifiedKey{r.Resource, r.Class})
	}
}

// chainRule is the rule that is broken where a right is none.
func chainRule(c allot.Code) string {
	switch c {
	case allot.Behind:
		return ruleReserved
	case allot.Preempted:
		return rulePreempt
	case allot.Consolidated:
		return ruleConsolidate
	}
	return ruleReclaimer
}

// takesFrom are the forms in which one of a chain may have taken from a loser in one of
// the forms that this may have had: preemptible ones but for the last of the chain.
func (j chainJudge) takesFrom(t *allot.Taker, w, loser *verifiedWorkload, from []*verifiedForm) (list []*verifiedForm) {
	v, x := j.v, j.x
	last := t.Workload == x.action.Reason.Workload
	for i := range w.forms {
		f := &w.forms[i]
		if f.queue.pool != x.queue.pool || f.nonPreemptible && !last {
			continue
		}
		if slices.ContainsFunc(from, func(had *verifiedForm) bool {
			if !v.mayTake(w, f.queue, loser, had.queue, t.Code) || had.nonPreemptible {
				return false
			}
			side, own := part(had.queue, f.queue)
			return t.Subtrees == nil || side != nil && side.id == t.Queue &&
				t.Subtrees.Victim.Queue == side.id && t.Subtrees.Preemptor.Queue == own.id
		}) {
			list = append(list, f)
		}
	}
	return list
}

// subtrees checks what a taking of a chain tells of the two sides: amounts that can
// be, lines that are those of the queues, and a right that these figures give (R1, R2).
func (j chainJudge) subtrees(t *allot.Taker) {
	v, x := j.v, j.x
	s := t.Subtrees
	side, own := v.queues[s.Victim.Queue], v.queues[s.Preemptor.Queue]
	if side == nil || own == nil {
		return // told already
	}
	if s.Victim.After < 0 || s.Victim.Before <= s.Victim.After || s.Preemptor.Before < 0 || s.Preemptor.After < s.Preemptor.Before {
		v.failAt(x.at, ruleActionReason, "queue %q goes from %d to %d, queue %q from %d to %d", side.id, s.Victim.Before, s.Victim.After,
			own.id, s.Preemptor.Before, s.Preemptor.After)
	}
	key, byShare := verifiedKey{t.Resource, t.Class}, t.Code == allot.ReclaimedByShare
	v.lineTold(x, side, key, byShare, s.Victim.Entitlement)
	v.lineTold(x, own, key, byShare, s.Preemptor.Entitlement)
	over, allowed := s.Victim.Entitlement, s.Preemptor.Entitlement
	if byShare {
		allowed = max(allowed, quotaLine(v, own, key))
		if side.pool.policy.Shares == fairshare.QuotaThenWeight && !side.pool.ends {
			over = max(over, quotaLine(v, side, key))
		}
	}
	if s.Victim.Before <= over {
		v.failAt(x.at, ruleOver, "queue %q uses %d %s, which is not over %d", side.id, s.Victim.Before, key.resource, over)
	}
	if s.Preemptor.After > allowed {
		v.failAt(x.at, ruleReclaimer, "queue %q would use %d %s, which is over %d", own.id, s.Preemptor.After, key.resource, allowed)
	}
}
