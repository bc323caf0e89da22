package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// promiseScene is by hand, EASY with a depth of two: a has n until 10 and b has m until 4, both by
// their limits, o is free. wide asks two nodes for 5 hours, and has been promised m and n at 10;
// late asks two too, and is promised them at 15; small starts on o now, and has no end.
func promiseScene() (*allot.State, *allot.Plan) {
	hours := func(n int) quota.Bound { return quota.Of(int64(3600 * n)) }
	after := func(n int) time.Time { return sceneNow.Add(time.Duration(n) * time.Hour) }
	a := single("a", "q", gpus(1), since(task(allot.Running, 0, "n", 0), 1))
	b := single("b", "q", gpus(1), since(task(allot.Running, 0, "m", 0), 1))
	a.Tasks[0].Since, b.Tasks[0].Since = sceneNow, sceneNow
	a.Duration, a.TimeLimit, b.Duration, b.TimeLimit = hours(10), hours(10), hours(4), hours(4)
	wide, late := single("wide", "q", gpus(1)), single("late", "q", gpus(1))
	both := func() []allot.Placement { return []allot.Placement{at(0, "m", 0), at(1, "n", 0)} }
	wide.PodSets[0].Count, wide.Duration, wide.Submitted = 2, hours(5), sceneNow.Add(-2*time.Hour)
	late.PodSets[0].Count, late.Duration, late.Submitted = 2, hours(5), sceneNow.Add(-time.Hour)
	wide.Reserved = &allot.Promise{At: after(10), Entitled: true, Tasks: both(), WaitsFor: []string{"a", "b"}, Made: sceneNow.Add(-time.Minute), First: after(10)}
	small := single("small", "q", gpus(1))
	small.Submitted = sceneNow
	s := &allot.State{
		Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.EASY, Depth: 2}}}},
		Nodes: []allot.Node{node("m", 1), node("n", 1), node("o", 1)}, Queues: []allot.Queue{gpuQueue("q", "", 3)},
		Workloads: []allot.Workload{a, b, late, small, wide},
	}
	kept := *wide.Reserved
	p := &allot.Plan{
		Actions: []allot.Action{{Kind: allot.Start, Workload: "small", Queue: "q", Tasks: []allot.Placement{at(0, "o", 0)}}},
		Pending: []allot.Pending{stillWaits("late", "q"), stillWaits("wide", "q")},
		Reservations: []allot.PlannedReservation{
			{Workload: "late", Queue: "q", Change: allot.PromiseMade, Promise: allot.Promise{At: after(15), Entitled: true, Tasks: both(), WaitsFor: []string{"wide"}, Made: sceneNow, First: after(15)}},
			{Workload: "wide", Queue: "q", Change: allot.PromiseKept, Promise: kept},
		},
	}
	return figured(s, p, map[string]int64{"q": 3})
}

const (
	promisedLate = iota
	promisedWide
)

func promiseMutants() []mutant {
	const late, wide = "reservations[0]", "reservations[1]"
	on := func(i int, change func(r *allot.PlannedReservation)) func(*allot.State, *allot.Plan) {
		return onPlan(func(p *allot.Plan) { change(&p.Reservations[i]) })
	}
	reserve := func(change func(r *allot.ReservePolicy)) func(*allot.State, *allot.Plan) {
		return func(s *allot.State, _ *allot.Plan) { change(&s.Pools[0].Policy.Reserve) }
	}
	hours := func(n int) time.Duration { return time.Duration(n) * time.Hour }
	later := func(cause allot.Reason) func(*allot.State, *allot.Plan) { // wide goes behind late, for which there is no reason
		return onPlan(func(p *allot.Plan) {
			a, b := &p.Reservations[promisedLate], &p.Reservations[promisedWide]
			a.Promise.At, a.Promise.First = sceneNow.Add(hours(10)), sceneNow.Add(hours(10))
			b.Promise.At, b.Change, b.Cause = sceneNow.Add(hours(15)), allot.PromiseLater, cause
		})
	}
	behind := func(how queue.Queueing) func(*allot.State, *allot.Plan) { // wide, within its lines, for late, which has no place
		return func(s *allot.State, p *allot.Plan) {
			s.Pools[0].Policy.Queueing = how
			s.Queues[0].Resources[0].Quota = quota.Of(9000)
			later(allot.Reason{Code: allot.Yields, Workload: "late"})(s, p)
		}
	}
	return []mutant{
		{"B2", late, "beyond the horizon", reserve(func(r *allot.ReservePolicy) { r.Horizon = quota.Of(14 * 3600) })},
		{"B3", late, "none is promised", reserve(func(r *allot.ReservePolicy) { *r = allot.ReservePolicy{} })},
		{"B8", late, "none is gathered", on(promisedLate, func(r *allot.PlannedReservation) {
			r.Promise.Rule, r.Promise.At, r.Promise.First = allot.ByGathering, time.Time{}, time.Time{}
		})},
		{"B4", "reservations", "depth", reserve(func(r *allot.ReservePolicy) { r.Depth = 0 })},
		{"B4", "reservations", "of one queue", reserve(func(r *allot.ReservePolicy) { r.MaxPromises = 1 })},
		{"B4", "reservations", "idle", func(s *allot.State, _ *allot.Plan) {
			s.Pools[0].Policy.Reserve.MaxHeldPercent = quota.Of(20)
			s.Workloads = s.Workloads[1:]
		}},
		{"B4", late, "idle for long", func(s *allot.State, _ *allot.Plan) {
			s.Pools[0].Policy.Reserve.MaxHold = quota.Of(14 * 3600)
			s.Workloads = s.Workloads[1:]
		}},
		{"B4", late + ".promise.tasks[0]", "promised twice", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.At = sceneNow.Add(hours(14)) })},
		{"B4", wide + ".promise.tasks[1]", "before it is free", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.At = sceneNow.Add(hours(9)) })},
		{"B4", wide + ".promise.tasks[1]", "the resolution", reserve(func(r *allot.ReservePolicy) { r.Resolution = quota.Of(7 * 24 * 3600) })},
		{"B4", late, "starts", func(_ *allot.State, p *allot.Plan) { p.Reservations[promisedLate].Workload = "small" }},
		{"B5", wide + ".promise.tasks[0]", "no end", func(s *allot.State, p *allot.Plan) {
			s.Workloads = append(s.Workloads[:1:1], s.Workloads[2:]...) // m is free
			p.Actions[0].Tasks[0].Node = "m"
			w := workload(s, "small")
			w.Duration = quota.Of(3600) // which is not enforced
		}},
		{"B5", wide + ".promise.tasks[0]", "too late by its limit", func(s *allot.State, p *allot.Plan) {
			s.Workloads = append(s.Workloads[:1:1], s.Workloads[2:]...)
			p.Actions[0].Tasks[0].Node = "m"
			w := workload(s, "small")
			w.Duration, w.TimeLimit = quota.Of(3600), quota.Of(36001)
		}},
		{"B5", wide, "another is placed", func(s *allot.State, p *allot.Plan) {
			s.Workloads = s.Workloads[2:]
			p.Actions[0].Tasks[0].Node = "m"
			later(allot.Reason{Code: allot.Yields, Workload: "small"})(s, p)
		}},
		{"B5", wide, "for one behind it that waits", behind(queue.BestEffort)},
		{"B5", wide, "for one behind it in a strict queue", behind(queue.StrictPool)},
		{"B7", wide, "no cause", later(allot.Reason{})},
		{"B7", wide, "nobody overruns", later(allot.Reason{Code: allot.Overruns, Workload: "a"})},
		{"B7", wide, "all is there", later(allot.Reason{Code: allot.PlaceGone})},
		{"B7", wide, "nothing has changed", on(promisedWide, func(r *allot.PlannedReservation) {
			r.Change, r.Cause.Code = allot.PromiseWithdrawn, allot.PromiseChanged
		})},
		{"B7", late, "its time has come, and it does not start", func(s *allot.State, p *allot.Plan) {
			workload(s, "late").PodSets[0].Count = 1
			r := &p.Reservations[promisedLate].Promise
			r.At, r.First, r.WaitsFor, r.Tasks = sceneNow, sceneNow, nil, []allot.Placement{at(0, "o", 0)}
			p.Actions = nil
		}},
		{"B7", wide, "told as kept", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.At = sceneNow.Add(hours(16)) })},
		{"B7", wide, "told as moved", on(promisedWide, func(r *allot.PlannedReservation) { r.Change = allot.PromiseMoved })},
		{"B7", wide, "told as earlier", on(promisedWide, func(r *allot.PlannedReservation) { r.Change = allot.PromiseEarlier })},
		{"B7", wide, "withdrawn without a cause", on(promisedWide, func(r *allot.PlannedReservation) { r.Change = allot.PromiseWithdrawn })},
		{"B7", wide, "a cause of nothing", on(promisedWide, func(r *allot.PlannedReservation) { r.Cause.Code = allot.PromiseChanged })},
		{"B7", "reservations", "forgotten", onPlan(func(p *allot.Plan) { p.Reservations = p.Reservations[:1] })},
		{"B7", late, "kept, of nothing", on(promisedLate, func(r *allot.PlannedReservation) { r.Change = allot.PromiseKept })},
		{"B7", late, "another first time", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.First = sceneNow })},
		{"B7", wide, "another first time than before", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.First = sceneNow.Add(hours(1)) })},
		{"B7", late, "in the past", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.At = sceneNow.Add(-hours(1)) })},
		{"B8", late, "let go, and nothing was gathered", on(promisedLate, func(r *allot.PlannedReservation) { r.NotBefore = sceneNow.Add(hours(1)) })},
		{"B9", wide + ".promise.tasks[1]", "reserved by then", func(s *allot.State, _ *allot.Plan) {
			s.Reservations = []allot.Reservation{{ID: "r", From: sceneNow.Add(hours(12)), Nodes: []allot.ReservedNode{{Node: "n"}}}}
		}},
		{"G1", late, "half of it", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.Tasks = r.Promise.Tasks[:1] })},
		{"P1", wide + ".promise.tasks[0]", "cordoned", func(s *allot.State, _ *allot.Plan) { s.Nodes[0].Cordoned = true }},
		{"P2", wide + ".promise.tasks[0]", "no device", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.Tasks[0].Devices = nil })},
		{"P2", late + ".promise.tasks[0]", "half a device twice", func(s *allot.State, p *allot.Plan) {
			workload(s, "late").PodSets[0].Request.GPU = allot.GPURequest{Count: 2, Milli: 500}
			p.Reservations[promisedLate].Promise.Tasks[0].Devices = []int{0, 0}
		}},
		{"Q2", late, "quota", func(s *allot.State, _ *allot.Plan) {
			workload(s, "late").Preemption = allot.NonPreemptible
			s.Queues[0].Resources[0].Quota = quota.Of(1000)
		}},
		{"Q3", late, "limit", func(s *allot.State, _ *allot.Plan) { s.Queues[0].Resources[0].Limit = quota.Of(2000) }},
		{"Q10", late, "cap", func(s *allot.State, _ *allot.Plan) { s.Queues[0].MaxWorkloads = quota.Of(1) }},
		{"S3", wide, "in no order", onPlan(func(p *allot.Plan) {
			p.Reservations[0], p.Reservations[1] = p.Reservations[1], p.Reservations[0]
		})},
		{"T2", wide + ".promise.tasks[1]", "in two racks", func(s *allot.State, _ *allot.Plan) {
			s.Levels = []allot.Level{{Name: "rack"}}
			s.Nodes[0].Domains, s.Nodes[1].Domains = map[string]string{"rack": "a"}, map[string]string{"rack": "b"}
			workload(s, "wide").Topology.Required = "rack"
		}},
		{"V1", wide, "another queue", on(promisedWide, func(r *allot.PlannedReservation) { r.Queue = "x" })},
		{"V1", late, "nobody", on(promisedLate, func(r *allot.PlannedReservation) { r.Workload = "nobody" })},
		{"V1", late, "no such form", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.Form = 1 })},
		{"V1", wide, "no such form, in no order", onPlan(func(p *allot.Plan) {
			p.Reservations[0], p.Reservations[1] = p.Reservations[1], p.Reservations[0]
			p.Reservations[1].Promise.Form = 1
		})},
		{"V1", late, "no such rule", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.Rule = 6 })},
		{"V1", late, "of no year", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.Made = time.Unix(-1, 0) })},
		{"V1", late, "both wait for nobody that is there", onPlan(func(p *allot.Plan) {
			p.Reservations[promisedLate].Promise.WaitsFor = []string{"ghost", "wide"}
			p.Reservations[promisedWide].Promise.WaitsFor = []string{"a", "b", "ghost"}
		})},
		{"V1", wide + ".promise.tasks[0]", "no such node", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.Tasks[0].Node = "x" })},
		{"X1", wide, "waits for nobody", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = nil })},
		{"X1", wide, "waits for one of two", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = []string{"a"} })},
		{"X1", wide, "waits for one who stays", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = []string{"a", "b", "small"} })},
		{"X1", wide, "waits in no order", on(promisedWide, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = []string{"b", "a"} })},
		{"X1", late, "waits for those before the last", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = []string{"a", "wide"} })},
		{"X1", late, "does not wait for who is promised its places", on(promisedLate, func(r *allot.PlannedReservation) { r.Promise.WaitsFor = []string{"a", "b"} })},
	}
}

// What a plan promises is judged against what it says it was, what stands and what else is
// promised.
func TestVerifyRefusesPromises(t *testing.T) {
	s, p := promiseScene()
	if found := broken(t, s, p); len(found) > 0 {
		t.Fatal(found)
	}
	for _, m := range promiseMutants() {
		m.refused(t, promiseScene)
	}
}

// B9: the amounts of reservations that meet in many ways come here to the devices that
// allot.Reserved lists.
func TestAmountsAreAsReserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		up := func(n int, what string) int { return rapid.IntRange(0, n).Draw(t, what) }
		s := &allot.State{Now: sceneNow, Levels: []allot.Level{{Name: "rack"}}}
		for n := range 2 + up(4, "nodes") {
			one := node(fmt.Sprint("n", n), 1+up(3, "devices"))
			if up(5, "in a rack") > 0 {
				one.Domains = map[string]string{"rack": fmt.Sprint("r", up(1, "rack"))}
			}
			one.Cordoned = up(7, "cordoned") == 7
			s.Nodes = append(s.Nodes, one)
		}
		for i := range 2 + up(10, "reservations") {
			r := allot.Reservation{ID: fmt.Sprint("r", up(50, "ID"), "-", i), From: sceneNow.Add(time.Duration(up(20, "from")) * time.Hour)}
			if up(9, "for ever") > 0 {
				r.Until = r.From.Add(time.Duration(1+up(6, "for")) * time.Hour)
			}
			if up(2, "of racks") == 0 {
				r.Domains = append(r.Domains, allot.ReservedDomain{Level: "rack", Devices: 1 + up(3, "of a rack")})
			}
			if up(1, "of nodes") == 0 || len(r.Domains) == 0 {
				r.Domains = append(r.Domains, allot.ReservedDomain{Level: allot.NodeLevel, Devices: 1 + up(1, "of a node")})
			}
			if up(3, "named") == 0 {
				r.Nodes = []allot.ReservedNode{{Node: "n0", Devices: []int{0}}}
			}
			s.Reservations = append(s.Reservations, r)
		}
		want, err := allot.Reserved(s)
		if err != nil {
			t.Fatal(err)
		}
		got := newVerifier(s, &allot.Plan{}).state.Reservations
		for i := range want {
			if a, b := devicesOf(s, want[i]), devicesOf(s, got[i].Nodes); !slices.Equal(a, b) {
				t.Fatalf("%s: %v, not %v", s.Reservations[i].ID, b, a)
			}
		}
	})
}

// devicesOf lists the devices that a reservation has of each node.
func devicesOf(s *allot.State, nodes []allot.ReservedNode) (list []string) {
	for _, of := range nodes {
		n := s.Nodes[slices.IndexFunc(s.Nodes, func(n allot.Node) bool { return n.ID == of.Node })]
		for d := range n.Devices {
			if len(of.Devices) == 0 || slices.Contains(of.Devices, d) {
				list = append(list, fmt.Sprint(of.Node, "/", d))
			}
		}
	}
	slices.Sort(list)
	return list
}

// TestVerifyGrowsWithPromises: with twice the promises verify allocates about twice as much, as each is compared with
// those only that share its nodes, and not with all (Costs).
func TestVerifyGrowsWithPromises(t *testing.T) {
	allocations := func(waiting int) float64 {
		s := overbooked(50, waiting)
		p, err := allot.Solve(s)
		if err != nil || len(p.Reservations) != waiting {
			t.Fatal(err, p)
		}
		return testing.AllocsPerRun(1, func() {
			if err := Plan(s, p); err != nil {
				t.Error(err)
			}
		})
	}
	if few, many := allocations(50), allocations(100); many > 2.5*few {
		t.Errorf("%v allocations with 50 promises, %v with 100", few, many)
	}
}

// TestVerifyPromisesOfALimit: where a queue lets in one at a time each waits for the one before it alone, as those
// before that have gone by then, and for nobody else, though there is room on the nodes (B7, Q3).
func TestVerifyPromisesOfALimit(t *testing.T) {
	s := &allot.State{Now: sceneNow, Nodes: []allot.Node{node("n", 4)},
		Pools:  []allot.Pool{{ID: "pool", Policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.Conservative}}}},
		Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Limit: quota.Of(1000)}}}}}
	for i, id := range []string{"a", "b", "c", "d"} {
		w := single(id, "q", gpus(1))
		w.Duration = quota.Of(100)
		if i == 0 {
			w.Tasks = []allot.Task{since(task(allot.Running, 0, "n", 0), 0)}
			w.Tasks[0].Since, w.Tasks[0].Started = sceneNow, sceneNow
		}
		s.Workloads = append(s.Workloads, w)
	}
	p, err := allot.Solve(s)
	if err != nil || len(p.Reservations) != 3 {
		t.Fatal(err, p)
	}
	if err := Plan(s, p); err != nil {
		t.Error(err)
	}
	for _, waitsFor := range [][]string{{}, {"a"}, {"b"}, {"a", "c"}, {"b", "c"}} {
		p.Reservations[2].Promise.WaitsFor = waitsFor
		if err := Plan(s, p); err == nil || !strings.Contains(err.Error(), "reservations[2]") {
			t.Errorf("d waits for %q: %v", waitsFor, err)
		}
	}
}
