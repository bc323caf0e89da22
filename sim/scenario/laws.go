package scenario

import (
	stdbytes "bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/verify"
)

// A trial is one solve and what the laws look at.
type trial struct {
	before allot.State  // a copy made before the solve
	state  *allot.State // what was solved
	plan   *allot.Plan
}

// A law is something that holds for every solve of every valid state.
type law struct {
	rule string // its number
	// violation is what is wrong, "" if nothing is.
	violation func(*trial) string
}

// laws are all of them, in the order in which violations are printed.
var laws = []law{
	{"S1: the state is not modified", (*trial).unmodified},
	{"S3: the order of lists does not matter", (*trial).permuted},
	{"S3: renaming renames the plan", (*trial).renamed},
	{"F3: only the proportion of weights matters", (*trial).weightsScaled},
	{"F7: an empty queue takes nothing", (*trial).emptyQueue},
	{"M5: the solve comes to rest", (*trial).rested},
	{"Verify: the plan is lawful", (*trial).verified},
	{"M11: a host may stop after any action", (*trial).stopped},
	{"X1: the plan applied, nothing is left to do", (*trial).fixpoint},
	{"S4: the plan begun, nothing else is decided", (*trial).begun},
	{"V1: JSON comes back", (*trial).throughJSON},
}

// broken lists the violations.
func (t *trial) broken() []string {
	var found []string
	for _, l := range laws {
		if violation := l.violation(t); violation != "" {
			// One line per law, whatever an error's text is made of.
			found = append(found, l.rule+": "+strings.Join(strings.Fields(violation), " "))
		}
	}
	return found
}

// unmodified: Solve changes nothing of the caller's state (S1).
func (t *trial) unmodified() string {
	if !reflect.DeepEqual(t.before, *t.state) {
		return "Solve has changed it"
	}
	return ""
}

// permuted: lists whose order says nothing may come in any order (S3). Two
// orders are tried, the reverse and one that parts neighbours.
func (t *trial) permuted() string {
	for _, p := range []permutation{reversed, interleaved} {
		s := deepCopy(*t.state)
		permute(&s, p)
		if difference := t.compare(&s, nil); difference != "" {
			return difference
		}
	}
	return ""
}

// stopped: the first actions of a plan, however many, can be carried out, and leave a
// state that fits its nodes, at once and as a beginning (S4, M11). Of a long plan some
// numbers of actions are tried.
func (t *trial) stopped() string {
	const most = 16
	step := 1 + len(t.plan.Actions)/most
	for n := 1; n < len(t.plan.Actions); n += step {
		first := func(i int, _ allot.Action) bool { return i < n }
		if _, err := allot.ApplySome(t.state, t.plan, first); err != nil {
			return "Apply of " + strconv.Itoa(n) + " actions: " + err.Error()
		}
		if _, err := allot.BeginSome(t.state, t.plan, first); err != nil {
			return "Begin of " + strconv.Itoa(n) + " actions: " + err.Error()
		}
	}
	return ""
}

// weightsScaled: weights times 3 give the same plan (F3, F5), but for warnings
// about a weight, which quote it.
func (t *trial) weightsScaled() string {
	const factor = 3
	s := deepCopy(*t.state)
	given := false
	for i := range s.Queues {
		for j := range s.Queues[i].Resources {
			r := &s.Queues[i].Resources[j]
			if !r.Weight.Given() {
				continue
			}
			if r.Weight.IsUnlimited() || r.Weight.Amount() > allot.MaxAmount/factor {
				return "" // cannot be said
			}
			given = true
			r.Weight = quota.Of(factor * r.Weight.Amount())
		}
	}
	if !given {
		return ""
	}
	return t.compare(&s, func(p *allot.Plan) {
		p.Warnings = slices.DeleteFunc(p.Warnings, func(f allot.Fault) bool { return strings.HasSuffix(f.Path, ".weight") })
	})
}

// emptyQueue: a queue without workloads beside the topmost ones changes
// nothing (F7). A pool without queues is left as it is: there a queue would
// bring the others under its rule.
func (t *trial) emptyQueue() string {
	s := deepCopy(*t.state)
	added := map[string]bool{}
	concerns := func(f allot.Fault) bool { // a warning names queues as queues["q1"]
		return slices.ContainsFunc(sortedKeys(added), func(id string) bool {
			return strings.Contains(f.Path, strconv.Quote(id))
		})
	}
	for _, pool := range poolsWithQueues(&s) {
		if byHistory(&s, pool) {
			continue // the weights of all count there (F6)
		}
		empty := allot.Queue{ID: unusedName(&s, "empty"), Pool: pool}
		for _, q := range t.state.Queues {
			if q.Parent == "" && q.Pool == pool {
				weighLike(&empty, &q)
			}
		}
		added[empty.ID] = true
		s.Queues = append(s.Queues, empty)
	}
	return t.compare(&s, func(p *allot.Plan) {
		p.Shares = slices.DeleteFunc(p.Shares, func(f allot.Share) bool { return added[f.Queue] })
		p.Warnings = slices.DeleteFunc(p.Warnings, concerns)
	})
}

// poolsWithQueues are the Pool fields that top-level queues have, in order of
// appearance.
func poolsWithQueues(s *allot.State) []string {
	var pools []string
	for _, q := range s.Queues {
		if q.Parent == "" && !slices.Contains(pools, q.Pool) {
			pools = append(pools, q.Pool)
		}
	}
	return pools
}

// unusedName is a name for a queue that no queue has.
func unusedName(s *allot.State, name string) string {
	for slices.ContainsFunc(s.Queues, func(q allot.Queue) bool { return q.ID == name }) {
		name += "+"
	}
	return name
}

// weighLike gives the queue its sibling's weight, as F4 asks where siblings have
// one, in its tier: a tier without any weight stays one.
func weighLike(q, sibling *allot.Queue) {
	for _, r := range sibling.Resources {
		has := func(own allot.QueueResource) bool { return own.Resource == r.Resource }
		if r.Weight.Given() && !slices.ContainsFunc(q.Resources, has) {
			q.Resources = append(q.Resources, allot.QueueResource{
				Resource: r.Resource, Weight: r.Weight, OverQuotaPriority: r.OverQuotaPriority,
			})
		}
	}
}

// byHistory says whether usage changes weights in the pool that queues name so.
func byHistory(s *allot.State, pool string) bool {
	return slices.ContainsFunc(s.Pools, func(p allot.Pool) bool {
		return p.Policy.UsageStrengthMilli > 0 && (pool == "" || p.ID == pool)
	})
}

// verified: Verify, which shares no code with Solve, finds the plan lawful.
func (t *trial) verified() string {
	if err := verify.Plan(t.state, t.plan); err != nil {
		return err.Error()
	}
	return ""
}

// rested: the solve was not ended by its counted stop (M5).
func (t *trial) rested() string {
	if t.plan.Work.Stopped {
		return "it was stopped"
	}
	return ""
}

// fixpoint: after Apply, Solve finds nothing to do but to start claims whose
// place has come free, the same workloads waiting for the same reasons, and the
// same figures (X1, M5). A plan that was cut is only a beginning; then going on
// in the same way must come to rest.
func (t *trial) fixpoint() string {
	applied, err := allot.Apply(t.state, t.plan)
	if err != nil {
		return "Apply: " + err.Error()
	}
	if difference := t.unmodified(); difference != "" {
		return "Apply changes the state"
	}
	cut := t.cut()
	_, again, violation := rest(applied, cut)
	if violation != "" || cut {
		return violation
	}
	expected := deepCopy(*t.plan)
	expected.Actions = nil
	expected.Reservations = keptPromises(expected.Reservations)
	expected.Warnings = slices.DeleteFunc(expected.Warnings, func(f allot.Fault) bool { // Apply has cleared it (B6)
		return f.Code == allot.WarnBehindNobody
	})
	t.forgetWaiting(&expected)
	t.forgetWaiting(again)
	return difference(&expected, again)
}

// keptPromises are those of a plan as the next one has them: what was promised is kept (B7).
func keptPromises(list []allot.PlannedReservation) (kept []allot.PlannedReservation) {
	for _, r := range list {
		if r.Change != allot.PromiseWithdrawn {
			r.Change, r.Cause = allot.PromiseKept, allot.Reason{}
			kept = append(kept, r)
		}
	}
	return kept
}

// rest solves and applies until nothing is left to do, and returns the state
// and the last plan; without any it is a violation to do more than to start
// claims.
func rest(state *allot.State, any bool) (*allot.State, *allot.Plan, string) {
	for range maxRounds {
		plan, err := allot.Solve(state)
		if err != nil {
			return nil, nil, "Solve: " + err.Error()
		}
		if len(plan.Actions) == 0 {
			return state, plan, ""
		}
		if action := notOfClaims(state, plan); action != "" && !any {
			return nil, nil, "then: " + action
		}
		if state, err = allot.Apply(state, plan); err != nil {
			return nil, nil, "Apply: " + err.Error()
		}
	}
	return nil, nil, fmt.Sprintf("there is no rest in %d rounds", maxRounds)
}

// forgetWaiting drops from who waits the workloads to which the trial's plan
// gives places that others leave: as long as they were leaving already before
// it, the state after it has claims that wait.
func (t *trial) forgetWaiting(p *allot.Plan) {
	p.Pending = slices.DeleteFunc(p.Pending, func(waits allot.Pending) bool {
		holds := len(waits.Reasons) > 0 && waits.Reasons[0].Code == allot.ClaimHeld
		return holds && slices.ContainsFunc(t.plan.Actions, func(a allot.Action) bool {
			return a.Workload == waits.Workload && len(a.After) > 0
		})
	})
}

// maxRounds is in how many rounds what was cut must come to rest.
const maxRounds = 64

// cut reports whether the plan may have been cut short, so that a later solve
// goes on: by the cap of evictions (M7) or by a bounded search (M3, G3). A
// workload above its minimum that was cut does not say so among who waits.
func (t *trial) cut() bool {
	disturbed := map[string]bool{}
	for i := range t.plan.Actions {
		switch a := &t.plan.Actions[i]; a.Kind {
		case allot.Evict, allot.Shrink, allot.Move:
			disturbed[a.Workload] = true
		}
	}
	capped := false
	for i := range t.state.Pools {
		p := &t.state.Pools[i].Policy
		if p.MaxEvictions > 0 && len(disturbed) >= p.MaxEvictions || p.SearchBudget > 0 && t.plan.Work.Candidates >= int64(p.SearchBudget) {
			return true
		}
		capped = capped || p.MaxEvictions > 0
	}
	cuts := func(r allot.Reason) bool {
		return r.Code == allot.SearchCut || r.Code == allot.BudgetSpent && capped
	}
	return slices.ContainsFunc(t.plan.Pending, func(p allot.Pending) bool { return slices.ContainsFunc(p.Reasons, cuts) })
}

// throughJSON: state and plan survive their JSON form, and what comes back
// is solved alike (V1).
func (t *trial) throughJSON() string {
	var state allot.State
	if fault := comesBack(*t.state, &state); fault != "" {
		return "state: " + fault
	}
	var plan allot.Plan
	if fault := comesBack(*t.plan, &plan); fault != "" {
		return "plan: " + fault
	}
	return t.compare(&state, nil)
}

// comesBack writes a value, reads it into another and writes that.
func comesBack[T any](value T, read *T) string {
	written, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(written, read); err != nil {
		return err.Error()
	}
	again, err := json.Marshal(*read)
	if err != nil {
		return err.Error()
	}
	if !stdbytes.Equal(written, again) {
		return "written twice, it differs"
	}
	return ""
}

// compare solves s, edits both plans and says how its differs from the trial's.
func (t *trial) compare(s *allot.State, edit func(*allot.Plan)) string {
	plan, err := allot.Solve(s)
	if err != nil {
		return "Solve: " + err.Error()
	}
	want := deepCopy(*t.plan)
	if edit != nil {
		edit(&want)
		edit(plan)
	}
	return difference(&want, plan)
}

// difference is the first line in which two plans differ, Work aside.
func difference(want, got *allot.Plan) string {
	return differenceOfLines(planLines(want), planLines(got))
}

// differenceOfLines is the first difference between two lists.
func differenceOfLines(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return "also: " + got[i]
		case i >= len(got):
			return "missing: " + want[i]
		case want[i] != got[i]:
			return fmt.Sprintf("%s instead of %s", got[i], want[i])
		}
	}
	return ""
}

// planLines is everything in a plan but Work, a line for each part.
func planLines(p *allot.Plan) []string {
	lines := []string{"revision " + quote(p.Revision)}
	for i := range p.Actions {
		lines = append(lines, formatAction(&p.Actions[i], nil))
		if p.Actions[i].Reason.Code != 0 {
			lines = append(lines, "because "+formatReason(&p.Actions[i].Reason, true))
		}
	}
	for i := range p.Pending {
		lines = append(lines, "wait "+formatWorkload(p.Pending[i].Queue, p.Pending[i].Workload))
		for j := range p.Pending[i].Reasons {
			lines = append(lines, "because "+formatReason(&p.Pending[i].Reasons[j], true))
		}
	}
	for i := range p.Reservations {
		r := &p.Reservations[i]
		lines = append(lines, formatPlanned(r, nil)+fmt.Sprintf(" entitled %v made %v first %v", r.Promise.Entitled, r.Promise.Made, r.Promise.First))
	}
	lines = append(lines, "next "+formatInstant(p.NextAt))
	for _, s := range p.Shares {
		lines = append(lines, fmt.Sprintf("share %+v", s))
	}
	for _, f := range p.Warnings {
		lines = append(lines, "warning "+f.String())
	}
	return lines
}
