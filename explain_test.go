package allot_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// readsBack reads back what is written of a value, and fails if its text is not that of the
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
func decisionOf(t testing.TB, s *allot.State) *allot.Decision {
	t.Helper()
	snapshot, err := allot.NewSnapshot(s)
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
func explainable(t *testing.T, f func(seed uint64, s *allot.State)) {
	seeds := uint64(250)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		f(seed, allot.GenDense(seed))
		f(seed, allot.GenRoom(seed))
		f(seed, allot.GenFull(seed))
	}
}

// TestExplain explains every workload of many states, and holds what it says against
// the plan and the state that the plan leaves.
func TestExplain(t *testing.T) {
	statuses, fates, chains := make(map[explain.Status]int), make(map[preempt.Fate]int), 0
	explainable(t, func(seed uint64, s *allot.State) {
		snapshot, err := allot.NewSnapshot(s)
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
		after, err := allot.Apply(s, p)
		if err != nil {
			t.Fatal(err)
		}
		c := &explanationCheck{t: t, seed: seed, state: s, plan: p, after: allot.Explained(after)}
		for i := range s.Workloads {
			e, err := explain.Workload(t.Context(), d, s.Workloads[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			readsBack(t, e, new(explain.Explanation))
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
			one, err := explain.Workload(t.Context(), decisionOf(t, s), s.Workloads[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			other, _ := explain.Workload(t.Context(), d, s.Workloads[0].ID)
			if one.String() != other.String() {
				t.Errorf("seed %d: %s\n%s", seed, one, other)
			}
		}
	})
	t.Log(statuses, fates, chains)
	if testing.Short() {
		return
	}
	for status := explain.StatusWaits; status <= explain.StatusEnds; status++ {
		if statuses[status] == 0 && status != explain.StatusFails {
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

// What is explained of a state, however its lists come, is what is explained of the decision on its snapshot, and the
// state stays as it is.
func TestExplainIn(t *testing.T) {
	takings := 0
	explainable(t, func(seed uint64, s *allot.State) {
		d := decisionOf(t, s)
		random := rand.New(rand.NewPCG(seed, 3))
		goes := make(map[string]bool)
		for _, a := range d.Actions() {
			goes[a.Workload] = a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move
		}
		for i := range s.Workloads {
			id := s.Workloads[i].ID
			if !goes[id] && random.IntN(len(s.Workloads)) > 2 {
				continue
			}
			want, err := explain.Workload(t.Context(), d, id)
			if err != nil {
				t.Fatal(err)
			}
			asked := allot.Permuted(s, random)
			before := allot.CloneState(asked)
			got, err := explain.WorkloadIn(t.Context(), asked, id)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) {
				t.Errorf("seed %d, %s:\n%s\nnot\n%s", seed, id, got, want)
			}
			if !reflect.DeepEqual(asked, before) {
				t.Errorf("seed %d, %s: the state is another", seed, id)
			}
			takings += len(got.Takings)
		}
	})
	if takings == 0 {
		t.Error("nothing was taken from any workload")
	}
}

// Of what cannot be explained of a state the error tells why, as it does of a decision.
func TestExplainInErrors(t *testing.T) {
	s := allot.GenRoom(1)
	if _, err := explain.WorkloadIn(t.Context(), s, "nobody"); !errors.Is(err, allot.ErrUnknown) || err.Error() != `allot: not in the state: workload "nobody"` {
		t.Error(err)
	}
	if _, err := explain.WorkloadIn(t.Context(), nil, "nobody"); !errors.Is(err, allot.ErrUnknown) {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if e, err := explain.WorkloadIn(ended, s, s.Workloads[0].ID); !errors.Is(err, context.Canceled) || e != nil {
		t.Error(e, err)
	}
	s.Workloads[0].Queue = "nowhere"
	want := allot.Check(s)
	if _, err := explain.WorkloadIn(t.Context(), s, s.Workloads[0].ID); want == nil || !reflect.DeepEqual(err, want) {
		t.Errorf("%v, not %v", err, want)
	}
}

type explanationCheck struct {
	t     *testing.T
	seed  uint64
	state *allot.State
	plan  *allot.Plan
	after *allot.ExplainedWorld // of the state that the plan leaves
}

func (c *explanationCheck) fail(e *explain.Explanation, what string) {
	c.t.Helper()
	c.t.Errorf("seed %d: %s\n%s\n%s", c.seed, what, e, c.plan.String())
}

func (c *explanationCheck) check(e *explain.Explanation) {
	var pending []allot.Reason
	for _, p := range c.plan.Pending {
		if p.Workload == e.Workload {
			pending = p.Reasons
		}
	}
	if len(pending) != len(e.Reasons) || len(pending) > 0 && !reflect.DeepEqual(pending, e.Reasons) {
		c.fail(e, "other reasons than the plan's")
	}
	var actions []allot.Action
	takes := 0
	for _, a := range c.plan.Actions {
		if a.Workload == e.Workload {
			actions = append(actions, a)
		}
		switch a.Reason.Code {
		case allot.ReclaimedByQuota, allot.ReclaimedByShare, allot.Preempted, allot.Consolidated, allot.StaleGang, allot.ReservationBegan, allot.Behind:
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
	w := c.after.Workloads[e.Workload]
	if e.Holds != w.Held && !w.Source.Ending {
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
func (c *explanationCheck) levels(e *explain.Explanation) {
	for _, l := range e.Levels {
		at := slices.IndexFunc(c.plan.Shares, func(s allot.Share) bool {
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
func (c *explanationCheck) ahead(e *explain.Explanation, w *allot.ExplainedWork) {
	if e.Ahead == nil {
		if e.Status == explain.StatusWaits && e.Reasons[0].Code != allot.NotSubmitted && w.Source.Alternatives == nil {
			c.fail(e, "has no turn")
		}
		return
	}
	if e.Ahead.InQueue > e.Ahead.InPool || len(e.Ahead.Next) != min(e.Ahead.InPool, explain.MostTold) {
		c.fail(e, "who is ahead does not add up")
	}
	policy := w.Policy()
	if e.Status != explain.StatusWaits || policy.CPUOnlyApart || slices.ContainsFunc(c.plan.Pending, func(p allot.Pending) bool {
		return len(c.after.Workloads[p.Workload].Forms) > 1
	}) {
		return
	}
	n := 0
	for _, p := range c.plan.Pending {
		other := c.after.Workloads[p.Workload]
		if p.Workload == e.Workload || p.Queue != e.Queue || slices.ContainsFunc(p.Reasons, func(r allot.Reason) bool {
			return r.Code == allot.NotSubmitted || r.Code == allot.Leaving || r.Code == allot.ClaimHeld
		}) || !other.SameQueue(w) {
			continue
		}
		others, submitted := other.Standing()
		own, ownSubmitted := w.Standing()
		if cmp.Or(cmp.Compare(own, others), cmp.Compare(submitted, ownSubmitted), cmp.Compare(p.Workload, e.Workload)) < 0 {
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
func (c *explanationCheck) holders(e *explain.Explanation) {
	sums := make(map[string]int64)
	for _, h := range e.Holders {
		sums[h.Resource] += h.Held
		if len(h.Last) != min(h.Workloads, explain.MostTold) || h.OfNonPreemptible > h.Held {
			c.fail(e, "a holder does not add up")
		}
	}
	for resource, sum := range sums { // each for itself: order cannot matter
		least, most := c.after.HeldFor(e.Workload, e.Form, resource)
		if sum > most || sum < least {
			c.fail(e, fmt.Sprintf("holders hold %d of %s, not %d to %d", sum, resource, least, most))
		}
	}
}

// taking: the right holds, and the victim is among the candidates, which are in the
// order of victims.
func (c *explanationCheck) taking(e *explain.Explanation, t *explain.Taking) {
	for _, r := range t.Right {
		if r.Use+r.Asks > r.Entitlement {
			c.fail(e, "the right does not hold")
		}
	}
	if t.Priorities != nil {
		higher := t.Priorities.Preemptor > t.Priorities.Victim
		if c.after.Workloads[e.Workload].Policy().LowerFirst {
			higher = t.Priorities.Preemptor < t.Priorities.Victim
		}
		if !higher {
			c.fail(e, "the priority is not higher")
		}
	}
	if len(t.Candidates) == 0 {
		return
	}
	if t.Reason.Code == allot.Preempted && t.Priorities == nil {
		c.fail(e, "no priorities of a preemption")
	}
	reclaim := t.Reason.Code == allot.ReclaimedByQuota || t.Reason.Code == allot.ReclaimedByShare
	if (len(t.Right) > 0) != reclaim {
		c.fail(e, "right and rule do not go together")
	}
	if !slices.ContainsFunc(t.Candidates, func(one explain.Candidate) bool {
		fate := preempt.Taken
		if t.Reason.Code == allot.Consolidated {
			fate = preempt.Moved
		}
		return one.Workload == t.Workload && one.Fate == fate
	}) {
		c.fail(e, "the victim is not among the candidates")
	}
	for _, one := range t.Candidates {
		for _, a := range c.plan.Actions {
			if one.Fate == preempt.Moved && a.Workload == one.Workload && a.Kind == allot.Evict {
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
			(x.Priority > y.Priority) != c.after.Workloads[e.Workload].Policy().LowerFirst {
			c.fail(e, "candidates are not in order of priority")
		}
	}
}

// TestExplainQueue does every division again by hand, from its own numbers, a granule
// at a time.
func TestExplainQueue(t *testing.T) {
	ends := make(map[fairshare.End]int)
	explainable(t, func(seed uint64, s *allot.State) {
		d := decisionOf(t, s)
		p, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Queues {
			e, err := explain.Queue(t.Context(), d, s.Queues[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			readsBack(t, e, new(explain.QueueExplanation))
			for at := range e.Divisions {
				byHand(t, seed, &e.Divisions[at])
				for _, m := range e.Divisions[at].Members {
					ends[m.End]++
					row := slices.IndexFunc(p.Shares, func(s allot.Share) bool {
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
func quotaParts(d *explain.Division) (sum int64) {
	for i := range d.Members {
		sum += d.Members[i].QuotaPart
	}
	return sum
}

// byHand divides as F2 to F5 and F8 say, and nothing else.
func byHand(t *testing.T, seed uint64, d *explain.Division) {
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
func turn(d *explain.Division, n []int64, i, j int) bool {
	weight := func(m *explain.DivisionMember) int64 {
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
func tied(d *explain.Division, i int) bool {
	m := &d.Members[i]
	for k := range d.Members {
		if o := &d.Members[k]; k != i && o.Weight == m.Weight && o.Tier == m.Tier {
			return true
		}
	}
	return false
}

// A workload that does not wait has no reasons, which is no error.
func TestWhyNot(t *testing.T) {
	d := decisionOf(t, &allot.State{Nodes: []allot.Node{{ID: "n"}}, Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 1}}}}})
	if reasons, err := d.Why(t.Context(), "w"); reasons != nil || err != nil {
		t.Error(reasons, err)
	}
}
