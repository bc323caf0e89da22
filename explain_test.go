package allot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// reads back what is written of a value, and fails if its text is not that of the
// value: text comes from the data alone (X4).
func readsBack[T interface{ String() string }](t *testing.T, value, into T) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	if got, want := into.String(), value.String(); got != want {
		t.Errorf("read back:\n%s\nwas:\n%s", got, want)
	}
}

// decisionOf decides a state.
func decisionOf(t testing.TB, s *State) *Decision {
	t.Helper()
	snapshot, err := NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// explainable are small states of all kinds.
func explainable(t *testing.T, f func(seed uint64, s *State)) {
	seeds := uint64(250)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		f(seed, genDense(seed))
		f(seed, genRoom(seed))
		f(seed, genFull(seed))
	}
}

// TestExplain explains every workload of many states, and holds what it says against
// the plan and the state that the plan leaves.
func TestExplain(t *testing.T) {
	statuses, fates, chains := make(map[Status]int), make(map[preempt.Fate]int), 0
	explainable(t, func(seed uint64, s *State) {
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		after, err := Apply(s, p)
		if err != nil {
			t.Fatal(err)
		}
		c := &explanationCheck{t: t, seed: seed, state: s, plan: p, after: explained(after)}
		for i := range s.Workloads {
			e, err := d.Explain(t.Context(), s.Workloads[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			readsBack(t, e, new(Explanation))
			c.check(e)
			statuses[e.Status]++
			for i := range e.Takings {
				if len(e.Takings[i].Candidates) == 0 {
					chains++
				}
				for _, one := range e.Takings[i].Candidates {
					fates[one.Fate]++
				}
			}
		}
		if len(s.Workloads) > 0 && seed%20 == 0 { // from scratch it is the same
			one, err := decisionOf(t, s).Explain(t.Context(), s.Workloads[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			other, _ := d.Explain(t.Context(), s.Workloads[0].ID)
			if one.String() != other.String() {
				t.Errorf("seed %d: %s\n%s", seed, one, other)
			}
		}
	})
	t.Log(statuses, fates, chains)
	if testing.Short() {
		return
	}
	for status := StatusWaits; status <= StatusEnds; status++ {
		if statuses[status] == 0 && status != StatusFails {
			t.Errorf("no workload %v", status)
		}
	}
	for fate := preempt.Taken; fate.Candidate(); fate++ {
		switch fate {
		case preempt.PlaceMoves, preempt.PlaceMore, preempt.Straddling, preempt.OwnSideFull, preempt.PlaceLoses, preempt.PlaceNode,
			preempt.MarginHolds: // not in every draw
		default:
			if fates[fate] == 0 {
				t.Errorf("no candidate is %v", fate)
			}
		}
	}
}

type explanationCheck struct {
	t     *testing.T
	seed  uint64
	state *State
	plan  *Plan
	after *explainedWorld // of the state that the plan leaves
}

func (c *explanationCheck) fail(e *Explanation, what string) {
	c.t.Helper()
	c.t.Errorf("seed %d: %s\n%s\n%s", c.seed, what, e, c.plan.String())
}

func (c *explanationCheck) check(e *Explanation) {
	var pending []Reason
	for _, p := range c.plan.Pending {
		if p.Workload == e.Workload {
			pending = p.Reasons
		}
	}
	if len(pending) != len(e.Reasons) || len(pending) > 0 && !reflect.DeepEqual(pending, e.Reasons) {
		c.fail(e, "other reasons than the plan's")
	}
	var actions []Action
	takes := 0
	for _, a := range c.plan.Actions {
		if a.Workload == e.Workload {
			actions = append(actions, a)
		}
		switch a.Reason.Code {
		case ReclaimedByQuota, ReclaimedByShare, Preempted, Consolidated, StaleGang:
			if a.Workload == e.Workload {
				takes++
			}
		}
	}
	if len(actions) != len(e.Actions) || len(actions) > 0 && !reflect.DeepEqual(actions, e.Actions) {
		c.fail(e, "other actions than the plan's")
	}
	if takes != len(e.Takings) {
		c.fail(e, "not everything that is taken is told")
	}
	w := c.after.workloads[e.Workload]
	if e.Holds != w.held && !w.source.Ending {
		c.fail(e, "holds another number of tasks")
	}
	c.levels(e)
	c.ahead(e, w)
	c.holders(e)
	for i := range e.Takings {
		c.taking(e, &e.Takings[i])
	}
}

// levels: the figures are those of the plan, and what is left is what is left.
func (c *explanationCheck) levels(e *Explanation) {
	for _, l := range e.Levels {
		at := slices.IndexFunc(c.plan.Shares, func(s Share) bool {
			return s.Pool == l.Pool && s.Queue == l.Queue && s.Resource == l.Resource && s.Class == ""
		})
		if at < 0 && l.Demand == 0 {
			continue // a resource of which nothing is told
		}
		if at < 0 || c.plan.Shares[at] != l.Share {
			c.fail(e, "other figures than the plan's")
			return
		}
		left := func(bound quota.Bound, used int64) quota.Bound {
			if bound.IsUnlimited() {
				return bound
			}
			return quota.Of(max(0, bound.Amount()-used))
		}
		used := l.Used
		if e.NonPreemptible {
			used = l.NonPreemptible
		}
		if l.QuotaLeft != left(l.Quota, used) || l.Divided != l.Entitlement.Given() || l.Divided && l.EntitlementLeft != left(l.Entitlement, l.Used) ||
			l.LimitLeft.Amount() > left(l.Limit, l.Used).Amount() {
			c.fail(e, "what is left is something else")
		}
	}
}

// ahead: those of the queue that wait and stand before it (O1).
func (c *explanationCheck) ahead(e *Explanation, w *explainedWork) {
	if e.Ahead == nil {
		if e.Status == StatusWaits && e.Reasons[0].Code != NotSubmitted && w.source.Alternatives == nil {
			c.fail(e, "has no turn")
		}
		return
	}
	if e.Ahead.InQueue > e.Ahead.InPool || len(e.Ahead.Next) != min(e.Ahead.InPool, MostTold) {
		c.fail(e, "who is ahead does not add up")
	}
	policy := &w.forms[0].pool.policy
	if e.Status != StatusWaits || policy.CPUOnlyApart || slices.ContainsFunc(c.plan.Pending, func(p Pending) bool {
		return len(c.after.workloads[p.Workload].forms) > 1
	}) {
		return
	}
	n := 0
	for _, p := range c.plan.Pending {
		other := c.after.workloads[p.Workload]
		if p.Workload == e.Workload || p.Queue != e.Queue || slices.ContainsFunc(p.Reasons, func(r Reason) bool {
			return r.Code == NotSubmitted || r.Code == Leaving || r.Code == ClaimHeld
		}) || other.forms[0].queue != w.forms[0].queue {
			continue
		}
		x, y := standingOf(other, policy), standingOf(w, policy)
		if cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(x.submitted, y.submitted), cmp.Compare(p.Workload, e.Workload)) < 0 {
			n++
		}
	}
	if n != e.Ahead.InQueue {
		c.t.Errorf("seed %d: %d stand before %s in its queue, not %d\n%s", c.seed, n, e.Workload, e.Ahead.InQueue, c.plan.String())
	}
}

// holders: together they hold no more than all that runs or claims holds on nodes that
// take one of the workload's tasks by what nodes are, on devices of a model that it
// accepts; and, but for domains and islands, no less than what is like one of its tasks
// holds there.
func (c *explanationCheck) holders(e *Explanation) {
	sums := make(map[string]int64)
	for _, h := range e.Holders {
		sums[h.Resource] += h.Held
		if len(h.Last) != min(h.Workloads, MostTold) || h.OfNonPreemptible > h.Held {
			c.fail(e, "a holder does not add up")
		}
	}
	f := &c.after.workloads[e.Workload].forms[e.Form]
	for resource, sum := range sums { // each for itself: order cannot matter
		least, most := int64(0), int64(0)
		for i := range c.after.tasks {
			task := &c.after.tasks[i]
			amount := task.work.forms[task.work.source.Form].pool.charge(task.request, resource)
			could, like := f.couldUse(task, resource)
			if could {
				most += amount
			}
			if like {
				least += amount
			}
		}
		if sum > most || sum < least {
			c.fail(e, fmt.Sprintf("holders hold %d of %s, not %d to %d", sum, resource, least, most))
		}
	}
}

// taking: the right holds, and the victim is among the candidates, which are in the
// order of victims.
func (c *explanationCheck) taking(e *Explanation, t *Taking) {
	for _, r := range t.Right {
		if r.Use+r.Asks > r.Entitlement {
			c.fail(e, "the right does not hold")
		}
	}
	if t.Priorities != nil {
		higher := t.Priorities.Preemptor > t.Priorities.Victim
		if c.after.workloads[e.Workload].forms[0].pool.policy.LowerFirst {
			higher = t.Priorities.Preemptor < t.Priorities.Victim
		}
		if !higher {
			c.fail(e, "the priority is not higher")
		}
	}
	if len(t.Candidates) == 0 {
		return
	}
	if t.Reason.Code == Preempted && t.Priorities == nil {
		c.fail(e, "no priorities of a preemption")
	}
	reclaim := t.Reason.Code == ReclaimedByQuota || t.Reason.Code == ReclaimedByShare
	if (len(t.Right) > 0) != reclaim {
		c.fail(e, "right and rule do not go together")
	}
	if !slices.ContainsFunc(t.Candidates, func(one Candidate) bool {
		fate := preempt.Taken
		if t.Reason.Code == Consolidated {
			fate = preempt.Moved
		}
		return one.Workload == t.Workload && one.Fate == fate
	}) {
		c.fail(e, "the victim is not among the candidates")
	}
	for _, one := range t.Candidates {
		for _, a := range c.plan.Actions {
			if one.Fate == preempt.Moved && a.Workload == one.Workload && a.Kind == Evict {
				c.fail(e, "what is evicted is told to move")
			}
		}
	}
	for i := range t.Candidates[1:] {
		x, y := &t.Candidates[i], &t.Candidates[i+1]
		if reclaim && x.Class > y.Class {
			c.fail(e, "candidates are not in order of class")
		}
		if x.Queue == y.Queue && x.Class == y.Class && x.Priority != y.Priority &&
			(x.Priority > y.Priority) != c.after.workloads[e.Workload].forms[0].pool.policy.LowerFirst {
			c.fail(e, "candidates are not in order of priority")
		}
	}
}

// TestExplainQueue does every division again by hand, from its own numbers, a granule
// at a time.
func TestExplainQueue(t *testing.T) {
	ends := make(map[fairshare.End]int)
	explainable(t, func(seed uint64, s *State) {
		d := decisionOf(t, s)
		p, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Queues {
			e, err := d.ExplainQueue(t.Context(), s.Queues[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			readsBack(t, e, new(QueueExplanation))
			for at := range e.Divisions {
				byHand(t, seed, &e.Divisions[at])
				for _, m := range e.Divisions[at].Members {
					ends[m.End]++
					row := slices.IndexFunc(p.Shares, func(s Share) bool {
						return s.Queue == m.Queue && s.Resource == e.Divisions[at].Resource && s.Class == ""
					})
					if p.Shares[row].FairShare != m.FairShare || p.Shares[row].Quota != m.Quota || p.Shares[row].Demand != m.Demand {
						t.Errorf("seed %d: %v is not %v", seed, m, p.Shares[row])
					}
				}
			}
		}
	})
	for end := fairshare.Satisfied; end <= fairshare.Outbid; end++ {
		if ends[end] == 0 {
			t.Errorf("no share is %v", end)
		}
	}
}

// quotaParts are those that are told.
func quotaParts(d *Division) (sum int64) {
	for i := range d.Members {
		sum += d.Members[i].QuotaPart
	}
	return sum
}

// byHand divides as F2 to F5 and F8 say, and nothing else.
func byHand(t *testing.T, seed uint64, d *Division) {
	t.Helper()
	left, parts := d.Capacity-d.SetAside, int64(0)
	given := make([]int64, len(d.Members))
	for i, m := range d.Members {
		if d.Method == fairshare.QuotaThenWeight {
			given[i] = m.Requestable
			if !m.Quota.IsUnlimited() {
				given[i] = min(m.Requestable, max(0, m.Quota.Amount()-m.Kept))
			}
		}
		left, parts = max(0, left-given[i]), parts+given[i]
	}
	if sum := quotaParts(d); sum < parts { // more than there is, which is handed down by quota (F2, F13)
		if sum != d.Capacity-d.SetAside || d.Surplus != 0 {
			t.Errorf("seed %d: quota parts of %d are cut to %d of %d", seed, parts, sum, d.Capacity)
		}
		return
	}
	if left != d.Surplus {
		t.Errorf("seed %d: surplus %d, by hand %d", seed, d.Surplus, left)
	}
	for _, tier := range d.Tiers {
		for n := make([]int64, len(d.Members)); left > 0; {
			next := -1
			for i, m := range d.Members {
				if m.Tier != tier.Tier || m.Weight == 0 || given[i] >= m.Requestable || d.Method == fairshare.ByDemand && m.Counted == 0 {
					continue
				}
				if next < 0 || turn(d, n, i, next) {
					next = i
				}
			}
			if next < 0 {
				break
			}
			part := min(d.Granule, d.Members[next].Requestable-given[next], left)
			given[next], left = given[next]+part, left-part
			n[next]++
		}
	}
	for i, m := range d.Members {
		if given[i] != m.FairShare && !tied(d, i) {
			t.Errorf("seed %d: %s gets %d, by hand %d\n%+v", seed, m.Queue, m.FairShare, given[i], d)
		}
	}
}

// turn says whether member i has its turn before j (F5), but for age.
func turn(d *Division, n []int64, i, j int) bool {
	weight := func(m *DivisionMember) int64 {
		if d.Method == fairshare.ByDemand {
			return m.Weight * m.Counted
		}
		return m.Weight
	}
	a, b := weight(&d.Members[i]), weight(&d.Members[j])
	if x, y := (2*n[i]+1)*b, (2*n[j]+1)*a; x != y {
		return x < y
	}
	return a > b
}

// tied says whether another member is equal, so that age decides.
func tied(d *Division, i int) bool {
	m := &d.Members[i]
	for k := range d.Members {
		if o := &d.Members[k]; k != i && o.Weight == m.Weight && o.Tier == m.Tier {
			return true
		}
	}
	return false
}

// Who is not there is told so, by name and kind, whatever is asked.
func TestExplainUnknown(t *testing.T) {
	d := decisionOf(t, genDense(1))
	fitter := decisionOf(t, &State{Nodes: []Node{{ID: "n"}}}).Snapshot().Fitter()
	for name, ask := range map[string]func() error{
		"workload":                         func() error { _, err := d.Explain(t.Context(), "nobody"); return err },
		"queue":                            func() error { _, err := d.ExplainQueue(t.Context(), "nobody"); return err },
		"workload whose reasons are asked": func() error { _, err := d.Why(t.Context(), "nobody"); return err },
		"workload that would have to end": func() error {
			_, err := fitter.Ends(t.Context(), Workload{ID: "asked", PodSets: []PodSet{{Count: 1}}}, []string{"nobody"})
			return err
		},
	} { // each by itself: order cannot matter
		kind, _, _ := strings.Cut(name, " ")
		if err := ask(); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), kind+` "nobody"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e, err := decisionOf(t, nil).ExplainQueue(t.Context(), ""); err != nil || len(e.Shares) != 1 {
		t.Error(e, err)
	}
}

// A workload that does not wait has no reasons, which is no error.
func TestWhyNot(t *testing.T) {
	d := decisionOf(t, &State{Nodes: []Node{{ID: "n"}}, Workloads: []Workload{{ID: "w", PodSets: []PodSet{{Count: 1}}}}})
	if reasons, err := d.Why(t.Context(), "w"); reasons != nil || err != nil {
		t.Error(reasons, err)
	}
}

// A question ends with its context.
func TestQuestionsEnd(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	d := decisionOf(t, genDense(1))
	k := Workload{ID: "asked", PodSets: []PodSet{{Count: 1}}}
	fitter := decisionOf(t, &State{Nodes: []Node{{ID: "n"}}}).Snapshot().Fitter()
	for name, ask := range map[string]func() error{
		"Fitter.Now":  func() error { _, err := fitter.Now(ended, k); return err },
		"Fitter.Ends": func() error { _, err := fitter.Ends(ended, k, nil); return err },
		"Takings":     func() error { _, err := decisionOf(t, genDense(1)).Takings(ended, nil); return err },
	} { // each by itself: order cannot matter
		if err := ask(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fit, err := fitter.Now(t.Context(), k); err != nil || !fit.OK {
		t.Errorf("and then: %v, %v", fit, err)
	}
	if _, err := d.Plan(); err != nil {
		t.Error(err)
	}
}

// A queued is what O1 compares.
type queued struct {
	priority  int32
	submitted int64
}

func standingOf(w *explainedWork, policy *Policy) queued {
	priority, _ := policy.standing(w.source)
	return queued{priority, micros(w.source.Submitted)}
}
