package allot_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// decisionFeatures are what a state and its plan have that the run must have
// met often enough.
func decisionFeatures(s *allot.State, p *allot.Plan) map[string]bool {
	f := make(map[string]bool)
	set := func(name string, has bool) { f[name] = f[name] || has }
	for i := range s.Workloads {
		w := &s.Workloads[i]
		set("claims in flight", has(allot.Claimed)(w))
		set("terminating", has(allot.Terminating)(w))
		set("alternatives", len(w.Alternatives) > 0)
		set("halving", w.PodSets[0].Step == gang.Halving)
	}
	for _, a := range p.Actions {
		set("evicts", hurts(a))
		set(a.Kind.String(), true)
		set("gang", isGang(workloadOf(s, a.Workload)))
		if a.Reason.Code != 0 {
			set(a.Reason.Code.String(), true)
		}
		set("reclaim of a class", a.Reason.Code == allot.ReclaimedByQuota && a.Reason.Class != "")
		set("claim taken", a.Kind == allot.Unclaim && a.Reason.Workload != "")
	}
	for _, w := range p.Pending {
		set("gang", isGang(workloadOf(s, w.Workload)))
		set("blocked head", isBlockedHead(s, p, w))
	}
	parents := make(map[string]string)
	for _, q := range s.Queues {
		parents[q.ID] = q.Parent
		set("minimum runtime", q.MinRuntime != allot.MinRuntime{})
	}
	for i := range s.Workloads {
		set("depth 3", parents[parents[s.Workloads[i].Queue]] != "")
	}
	for i := range s.Pools {
		set("minimum runtime", s.Pools[i].Policy.MinRuntime != allot.MinRuntime{})
	}
	set("cut", mayBeCut(s, p))
	binding := make(map[string]bool)
	for _, share := range p.Shares {
		if share.Divided && share.Class == "" && share.Demand > share.FairShare {
			binding[share.Resource] = true
		}
	}
	set("two binding resources", len(binding) > 1)
	return f
}

func workloadOf(s *allot.State, id string) *allot.Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
}

// isGang says that more than one task must run together.
func isGang(w *allot.Workload) bool {
	least := 0
	for _, p := range w.PodSets {
		least += cmp.Or(p.Min, p.Count)
	}
	return least > 1
}

// isBlockedHead says that a workload waits that is neither impossible nor short
// of submitted tasks, and that one behind it in its queue starts or waits.
func isBlockedHead(s *allot.State, p *allot.Plan, waits allot.Pending) bool {
	switch waits.Reasons[0].Code {
	case allot.ImpossibleNode, allot.ImpossibleGang, allot.ImpossibleQuota, allot.ImpossibleLimit, allot.NotSubmitted:
		return false
	}
	head := workloadOf(s, waits.Workload)
	behind := func(id string) bool {
		w := workloadOf(s, id)
		return w.Queue == head.Queue && (w.Priority < head.Priority || w.Priority == head.Priority && w.Submitted.After(head.Submitted))
	}
	return slices.ContainsFunc(p.Pending, func(w allot.Pending) bool { return behind(w.Workload) }) ||
		slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return a.Kind == allot.Start && behind(a.Workload) })
}

// B9: where people have reserved nodes and devices a host comes to rest too, by the laws of all
// solves, and Verify lets nobody stand where he may not.
func TestStabilityOfReserved(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 800), (*stabilityStats).steps, reservedLife, total)
	total.log(t)
	tellFailures(t, failures, total)
}

// reservedLife is live with reservations that come and go, and limits by which work has left
// before them.
func reservedLife(seed uint64, stats *stabilityStats) *failure {
	random := rand.New(rand.NewPCG(seed, 21))
	h := newStabilityHost(random)
	return h.live(stats, func() schedule {
		h.s.Reservations = drawReserved(random, h.s)
		for i := range h.s.Workloads {
			if random.IntN(3) == 0 {
				h.s.Workloads[i].TimeLimit = quota.Of(3600 * int64(1+random.IntN(200)))
				h.s.Workloads[i].MinDuration = int64(i%2) * 3600
			}
		}
		return schedule{mode: oneOf(random, applies, begins, begins, appliesPart, beginsPart), seed: random.Uint64()}
	}, h.change)
}

// drawReserved draws up to three reservations of what there is.
func drawReserved(random *rand.Rand, s *allot.State) (list []allot.Reservation) {
	for i := range random.IntN(3) {
		r := allot.Reservation{ID: fmt.Sprint("r", i), Evict: random.IntN(2) == 0, From: s.Now, Until: s.Now.Add(1000 * time.Hour)}
		if random.IntN(3) == 0 { // no life is so long: with time nothing changes by itself
			r.From = s.Now.Add(time.Duration(100+random.IntN(2)) * time.Hour)
		}
		r.Drain = r.Evict && random.IntN(2) == 0
		for n := range s.Nodes {
			of := allot.ReservedNode{Node: s.Nodes[n].ID}
			for d := range s.Nodes[n].Devices {
				if random.IntN(4) == 0 {
					of.Devices = append(of.Devices, d)
				}
			}
			if random.IntN(2) == 0 {
				of.Devices = nil
			}
			if random.IntN(3) == 0 {
				r.Nodes = append(r.Nodes, of)
			}
		}
		if len(s.Queues) > 0 && random.IntN(3) == 0 {
			r.Queue = s.Queues[random.IntN(len(s.Queues))].ID
		}
		if len(s.Workloads) > 0 && random.IntN(3) == 0 {
			r.Workloads = slices.Clone([]string{s.Workloads[random.IntN(len(s.Workloads))].ID})
		}
		// Every other one lends what no member asks for; what else is drawn stays what it was.
		r.Lend = len(r.Nodes)%2 == 1 && (r.Queue != "" || len(r.Workloads) > 0)
		if len(r.Nodes) > 0 {
			list = append(list, r)
		}
	}
	if n := len(list); n > 1 && len(list[0].Nodes) == 1 { // no more is drawn for it
		list[1].Nodes, list[1].Domains = nil, []allot.ReservedDomain{{Level: allot.NodeLevel, Devices: 1}}
	}
	return list
}

// B9: an amount is reserved as the nodes are that it comes to: where these are named the plan is
// the same, but for what it warns of, and Verify, which chooses them by itself, says the same of it.
func TestAmountsAreNamedNodes(t *testing.T) {
	amounts := 0
	for seed := range deep.Seeds(t, 400) {
		random := rand.New(rand.NewPCG(seed, 9))
		family := allot.Families[random.IntN(len(allot.Families))]
		s := family.Draw(seed)
		s.Reservations = drawReservedAmounts(random, s)
		plan, err := allot.Solve(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		named := *s
		named.Reservations = slices.Clone(s.Reservations)
		nodes, err := allot.Reserved(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range named.Reservations {
			if r := &named.Reservations[i]; len(r.Domains) > 0 && (r.Until.IsZero() || r.Until.After(s.Now)) {
				r.Nodes, r.Domains = nodes[i], nil
				amounts += len(nodes[i])
			}
		}
		named.Reservations = slices.DeleteFunc(named.Reservations, func(r allot.Reservation) bool { return len(r.Nodes) == 0 && len(r.Domains) == 0 })
		again, err := allot.Solve(&named)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, scenario.Format(s))
		}
		for _, p := range []*allot.Plan{plan, again} {
			p.Warnings = slices.DeleteFunc(p.Warnings, func(w allot.Fault) bool { return w.Code == allot.WarnAmountUnmet })
		}
		if want, got := planJSON(plan), planJSON(again); got != want {
			t.Fatalf("seed %d: with its nodes named\n%s\nnot\n%s\n%s", seed, got, want, scenario.Format(s))
		}
		if want, got := fmt.Sprint(verify.Plan(&named, plan)), fmt.Sprint(verify.Plan(s, plan)); got != want {
			t.Fatalf("seed %d: %s, and with its nodes named %s\n%s", seed, got, want, scenario.Format(s))
		}
	}
	if t.Logf("amounts came to devices of %d nodes", amounts); amounts < 300 && !testing.Short() {
		t.Errorf("amounts came to devices of %d nodes alone", amounts)
	}
}

// drawReservedAmounts draws reservations of which most have amounts, of times that meet and that
// do not.
func drawReservedAmounts(random *rand.Rand, s *allot.State) (list []allot.Reservation) {
	base := s.Now
	if base.Year() <= 1970 || base.Year() >= 9999 {
		base = time.Unix(1e9, 0) // times are of the years 1970 to 9999
	}
	for i := range 2 + random.IntN(8) {
		from := base.Add(time.Duration(random.IntN(12)-3) * time.Hour)
		r := allot.Reservation{ID: fmt.Sprint("r", random.IntN(100), "-", i), From: from, Until: from.Add(time.Duration(1+random.IntN(6)) * time.Hour)}
		if random.IntN(6) == 0 {
			r.Until = time.Time{}
		}
		for _, level := range append([]allot.Level{{Name: allot.NodeLevel}}, s.Levels...) {
			if random.IntN(2) == 0 {
				r.Domains = append(r.Domains, allot.ReservedDomain{Level: level.Name, Devices: 1 + random.IntN(6)})
			}
		}
		if n := &s.Nodes[random.IntN(len(s.Nodes))]; random.IntN(3) == 0 || len(r.Domains) == 0 {
			r.Nodes = []allot.ReservedNode{{Node: n.ID}}
			if len(n.Devices) > 0 && random.IntN(2) == 0 {
				r.Nodes[0].Devices = []int{random.IntN(len(n.Devices))}
			}
		}
		if len(s.Queues) > 0 && random.IntN(3) == 0 {
			r.Queue = s.Queues[random.IntN(len(s.Queues))].ID
		}
		r.Evict = random.IntN(3) == 0
		list = append(list, r)
	}
	return list
}

// B6: in lives of pools that promise, and let others take what is promised, every plan is
// lawful and leaves nothing to do at its time; who starts behind somebody is so in the state, and
// who goes for somebody stood behind it.
func TestLivesBehind(t *testing.T) {
	at := slices.IndexFunc(allot.Families, func(f allot.Family) bool { return f.Name == "timed" })
	family := allot.Families[at]
	starts, goes := 0, 0
	for seed := range deep.Seeds(t, 150) {
		life := &behindLife{t: t, state: family.Draw(2*seed + 1), random: rand.New(rand.NewPCG(seed, 6)), seed: seed}
		for range 10 {
			life.step()
		}
		starts, goes = starts+life.starts, goes+life.goes
		if t.Failed() {
			return
		}
	}
	t.Logf("%d started behind somebody, %d went for whom they stood behind", starts, goes)
	if !testing.Short() && (starts < 10 || goes < 2) {
		t.Errorf("%d started behind somebody, %d went for whom they stood behind", starts, goes)
	}
}

type behindLife struct {
	t            *testing.T
	state        *allot.State
	random       *rand.Rand
	seed         uint64
	starts, goes int
	submitted    int
}

// step is one plan, carried out, and time that passes until something may be otherwise.
func (l *behindLife) step() {
	t, s := l.t, l.state
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", l.seed, err, scenario.Format(s))
	}
	if broken := l.broken(plan); len(broken) > 0 {
		t.Errorf("seed %d: %v\n%s", l.seed, broken, scenario.Format(s))
	}
	after, err := allot.Apply(s, plan)
	if err != nil {
		t.Fatal(err)
	}
	l.judge(plan, after)
	if again, err := allot.Solve(after); err != nil || slices.ContainsFunc(again.Actions, func(a allot.Action) bool { return a.Kind == allot.Evict || a.Kind == allot.Move }) {
		t.Errorf("seed %d: then %v %v", l.seed, again.Actions, err)
	}
	next := plan.NextAt
	if next.IsZero() || l.random.IntN(4) == 0 {
		next = s.Now.Add(time.Duration(1+l.random.IntN(600)) * time.Second)
	}
	after.Now = next
	after.Workloads = slices.DeleteFunc(after.Workloads, func(w allot.Workload) bool {
		return len(w.Tasks) > 0 && l.random.IntN(6) == 0
	})
	for range min(2, len(after.Workloads)) {
		l.submitted++
		w := after.Workloads[l.random.IntN(len(after.Workloads))]
		w.ID, w.Submitted, w.Tasks, w.Reserved = fmt.Sprint("late ", l.submitted), next, nil, nil
		w.PartialSince, w.WaitingSince, w.Checkpoint, w.Ending, w.Form = time.Time{}, time.Time{}, time.Time{}, false, 0
		if l.random.IntN(2) == 0 {
			w.Duration, w.TimeLimit = quota.Bound{}, quota.Bound{}
		}
		after.Workloads = append(after.Workloads, w)
	}
	l.state = after
}

// broken is what is unlawful in a plan.
func (l *behindLife) broken(plan *allot.Plan) []verify.Violation {
	var unlawful *verify.Error
	if err := verify.Plan(l.state, plan); !errors.As(err, &unlawful) {
		return nil
	}
	return unlawful.Violations
}

// judge looks at what a plan says of who stands behind whom.
func (l *behindLife) judge(plan *allot.Plan, after *allot.State) {
	find := func(s *allot.State, id string) *allot.Workload {
		return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
	}
	for _, a := range plan.Actions {
		if a.Behind != "" {
			if l.starts++; !slices.ContainsFunc(find(after, a.Workload).Tasks, func(t allot.Task) bool { return t.Behind == a.Behind }) {
				l.t.Errorf("seed %d: %q has started behind %q, and is not in the state", l.seed, a.Workload, a.Behind)
			}
		}
		if a.Reason.Code == allot.Behind && len(a.Reason.Chain) == 0 {
			l.goes++
			for _, b := range plan.Actions { // what it grows by after that is like anybody's
				if b.Kind == allot.Start && b.Workload == a.Reason.Workload && b.Behind != "" {
					l.t.Errorf("seed %d: %q has had somebody go, and starts behind %q itself", l.seed, b.Workload, b.Behind)
				}
			}
		}
	}
	for i := range after.Workloads {
		for _, one := range after.Workloads[i].Tasks {
			if one.Behind != "" && find(after, one.Behind).Reserved == nil {
				l.t.Errorf("seed %d: %q is behind %q, which has been promised nothing", l.seed, after.Workloads[i].ID, one.Behind)
			}
		}
	}
}
