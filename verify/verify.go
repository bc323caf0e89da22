package verify

import (
	"fmt"
	"strings"

	"github.com/allotsched/allot"
)

// The rules that Plan finds broken, by their numbers in the specification.
const (
	// ruleState: a plan belongs to the state that it was made from.
	ruleState = "S1"
	// ruleOrder: lists of a plan are in the order that their doc comment says.
	ruleOrder = "S3"
	// ruleClaims: one place per task; claims are honoured, started in their
	// place when it is free and given up only when it is lost.
	ruleClaims = "S4"
	// ruleLeaving: nothing starts of what is terminating and waits again, nor
	// of what ends.
	ruleLeaving = "S5"
	// ruleEnding: an eviction ends a workload as policy and exit actions say.
	ruleEnding = "S6"
	// ruleDisplaced: what ran on lost nodes or devices is displaced, and
	// nothing else.
	ruleDisplaced = "S7"
	// ruleStrict: where queueing is strict nothing passes what waits before it.
	ruleStrict = "O4"
	// ruleTurns: no workload waits for a place that one alike and younger got.
	ruleTurns = "M9"
	// rulePolicy: promises are made where the policy makes any.
	rulePolicy = "B3"
	// rulePromises: what is promised is free then, and no more than may be.
	rulePromises = "B4"
	// ruleProfile: promises are sought up to a horizon.
	ruleProfile = "B2"
	// ruleBackfill: what is placed makes no promise later that need not yield to it.
	ruleBackfill = "B5"
	// ruleKept: a promise is kept, or a cause is told.
	ruleKept = "B7"
	// rulePlace: a task's node satisfies its request.
	rulePlace = "P1"
	// ruleCut: only what gives a least duration is cut to fit a hole, and not below it.
	ruleCut = "B1"
	// ruleReserved: what people have reserved only its members use, and only it evicts.
	ruleReserved = "B9"
	// rulePassed: only what is preemptible starts behind another, on what is promised to that.
	rulePassed = "B6"
	// ruleGather: what is gathered for one is promised to no other, and is left alone.
	ruleGather = "B8"
	// ruleDevices: the devices named are what is asked, and not overbooked.
	ruleDevices = "P2"
	// ruleCPUOnly: the cap of tasks without GPUs per node.
	ruleCPUOnly = "P7"
	// ruleGang: everything up to the minimum starts together.
	ruleGang = "G1"
	// ruleUnit: what is above the minimum starts unit by unit and never
	// preempts.
	ruleUnit = "G2"
	// ruleLadder: what halves and doubles keeps to its ladder.
	ruleLadder = "L1"
	// ruleTopology: all tasks of what requires a level are in one domain of it.
	ruleTopology = "T2"
	// ruleSlice: every so many consecutive tasks share a domain.
	ruleSlice = "T3"
	// ruleIsland: the devices of a task are in one island of their node.
	ruleIsland = "T4"
	// ruleSurvivors: new tasks join the domain of those that run.
	ruleSurvivors = "T6"
	// ruleFitting: a gang is on one node or fills nodes.
	ruleFitting = "P8"
	// ruleGroup is ruleGang where groups need m of n.
	ruleGroup = "G3"
	// ruleForm: one form at a time.
	ruleForm = "G5"
	// ruleQuota: non-preemptible use stays within quota.
	ruleQuota = "Q2"
	// ruleLimit: use stays within limit and borrowing limit.
	ruleLimit = "Q3"
	// ruleLending: nothing takes what another queue keeps from lending.
	ruleLending = "Q5"
	// ruleFigures: the figures of a queue are true.
	ruleFigures = "Q6"
	// ruleClass is ruleQuota or ruleLimit per class.
	ruleClass = "Q8"
	// ruleMaxWorkloads: the cap of workloads running at once.
	ruleMaxWorkloads = "Q10"
	// ruleDemand: demand is running and waiting.
	ruleDemand = "F1"
	// ruleQuotaPart: a fair share is never less than min(quota, requestable).
	ruleQuotaPart = "F2"
	// ruleTier: a surplus goes tier by tier.
	ruleTier = "F3"
	// ruleWeight: weight 0 has no part in the surplus.
	ruleWeight = "F4"
	// ruleGranule: inside a tier each granule goes to whose turn it is.
	ruleGranule = "F5"
	// ruleShareSum: fair shares exceed neither what can be used nor, in sum,
	// what there is, of which they leave nothing that could be used.
	ruleShareSum = "F7"
	// ruleQueueState: in quota, over quota, over fair share.
	ruleQueueState = "F12"
	// ruleVictim: only preemptible work that has run for its minimum is
	// disturbed.
	ruleVictim = "M1"
	// ruleUseful: no work is disturbed except for a workload that starts by it.
	ruleUseful = "M2"
	// ruleMove: what moves runs elsewhere, task by task.
	ruleMove = "M4"
	// ruleElastic: tasks above the minimum go one by one, the last first, and a
	// minimum goes whole.
	ruleElastic = "M6"
	// ruleBudget: disruption budgets and the cap of evictions.
	ruleBudget = "M7"
	// ruleReclaimer: what reclaims stays within its entitlement, and the policy lets it.
	ruleReclaimer = "R1"
	// ruleOver: what is reclaimed from is over its entitlement.
	ruleOver = "R2"
	// ruleWithin: a side within its line loses nothing.
	ruleWithin = "R3"
	// ruleStraddle: where straddling units are spared the line is kept.
	ruleStraddle = "R4"
	// ruleMargin: what is reclaimed from is the more saturated.
	ruleMargin = "R5"
	// rulePreempt: the higher priority, in the scope of the policy.
	rulePreempt = "E1"
	// ruleRelease: preemption takes no queue further beyond its lines.
	ruleRelease = "E8"
	// ruleMovedGPUs: the bound on what moves for one start.
	ruleMovedGPUs = "C3"
	// ruleRelocations: beside victims no more moves than the policy lets.
	ruleRelocations = "M10"
	// ruleConsolidate: the policy knows consolidation.
	ruleConsolidate = "C4"
	// ruleBeyondShare: nothing moves for what goes beyond its fair share.
	ruleBeyondShare = "C5"
	// ruleReasons: whatever waits has true reasons, and nothing else has.
	ruleReasons = "X1"
	// ruleActionReason: an action that takes something away says why.
	ruleActionReason = "X2"
	// ruleNames: everything that a plan names exists.
	ruleNames = "V1"
)

// A Violation is one way in which a plan breaks the rules.
type Violation struct {
	// Path is where in the plan, such as "actions[3].tasks[0]". What the plan
	// fails to do is found at the list where it is missing.
	Path string
	// Rule is the number of the rule broken, such as "Q2".
	Rule string
	// Message says what is wrong, with its numbers, for people.
	Message string
}

// String is "path: message (rule)".
func (v Violation) String() string {
	return v.Path + ": " + v.Message + " (" + v.Rule + ")"
}

// An Error holds everything that [Plan] found wrong with a plan, in
// the order in which it was found: actions, then what they leave behind, then
// the pending workloads, then the shares.
type Error struct {
	Violations []Violation
}

// Error is "verify: unlawful plan, violations: n", and the violations, one a line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: unlawful plan, violations: %d", len(e.Violations))
	for _, v := range e.Violations {
		b.WriteString("\n\t")
		b.WriteString(v.String())
	}
	return b.String()
}

// Plan finds out whether p is a lawful plan for s. It returns nil, or an [*Error]
// with every violation; for a state that is itself malformed, what [allot.Check]
// returns. Without a state or a plan that is the violation.
func Plan(s *allot.State, p *allot.Plan) error {
	if s == nil || p == nil {
		return &Error{[]Violation{{Rule: ruleState, Message: "no state or no plan"}}}
	}
	if err := allot.Check(s); err != nil {
		return err
	}
	v := newVerifier(afterGathering(s), p)
	if p.Revision != s.Revision {
		v.fail("revision", ruleState, "%q is not the state's, %q", p.Revision, s.Revision)
	}
	for i := range p.Actions {
		v.action(i, &p.Actions[i])
		v.together(i, &p.Actions[i])
	}
	v.comeFree()
	v.keptFromLending()
	v.judge()
	v.leftBehind()
	v.inOrder()
	inTurn(v)
	needless{v: v, promises: judgePromises(v)}.judge()
	v.pending()
	v.shares()
	if len(v.found) > 0 {
		return &Error{v.found}
	}
	return nil
}

func (v *verifier) fail(path, rule, format string, args ...any) {
	v.found = append(v.found, Violation{path, rule, fmt.Sprintf(format, args...)})
}

// failAt is fail at a place that becomes text only then.
func (v *verifier) failAt(at fmt.Stringer, rule, format string, args ...any) {
	v.fail(at.String(), rule, format, args...)
}

// A spot is a task of an action or, where task is negative, the action itself.
// It becomes text only where something is wrong.
type spot struct{ action, task int }

func (s spot) String() string {
	if s.task < 0 {
		return fmt.Sprintf("actions[%d]", s.action)
	}
	return fmt.Sprintf("actions[%d].tasks[%d]", s.action, s.task)
}

// A reasonSpot is a reason of a workload that waits, as a spot is a task.
type reasonSpot struct{ pending, reason int }

func (s reasonSpot) String() string {
	return listPath("pending", s.pending) + listPath(".reasons", s.reason)
}

func listPath(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }
