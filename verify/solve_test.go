package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// TestSolveIsLawful: through a random life of a cluster every plan of Solve is
// lawful, makes progress, and leaves nothing to do (M5). It pits two readings
// of the rules against each other: Solve's and Verify's.
func TestSolveIsLawful(t *testing.T) {
	var started, resized, displaced, unclaimed, disturbed, waited int
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for range rapid.IntRange(1, 4).Draw(t, "solves") {
			if err := allot.Check(s); err != nil {
				t.Fatalf("the test's own state: %v", err)
			}
			p, err := allot.Solve(s)
			if err != nil {
				t.Fatalf("Solve: %v", err)
			}
			if err := Plan(s, p); err != nil {
				t.Fatalf("Plan: %v\nstate %s\nplan\n%s", err, describe(s), p.String())
			}
			if err := progress(s, p); err != nil {
				t.Fatalf("progress: %v\nstate %s\nplan\n%s", err, describe(s), p.String())
			}
			for _, a := range p.Actions {
				switch a.Kind {
				case allot.Start:
					started++
				case allot.Resize:
					resized++
				case allot.Displace:
					displaced++
				case allot.Unclaim:
					unclaimed++
				case allot.Evict, allot.Shrink, allot.Move:
					disturbed++
				}
			}
			waited += len(p.Pending)
			if s, err = allot.Apply(s, p); err != nil {
				t.Fatalf("Apply: %v", err)
			}
			again, err := allot.Solve(s)
			if err != nil {
				t.Fatalf("Solve again: %v", err)
			}
			if len(again.Actions) > 0 {
				t.Fatalf("not at rest: %s\nstate %s", again.String(), describe(s))
			}
			change(t, s)
		}
	})
	t.Logf("%d disturbances beside %d starts", disturbed, started)
	for what, n := range map[string]int{"starts": started, "resizes": resized, "displacements": displaced, "unclaims": unclaimed, "waiting": waited} {
		if n == 0 && !testing.Short() { // then too few lives are drawn to count on it
			t.Errorf("no %s were seen", what)
		}
	}
}

// describe is the state as a host would send it.
func describe(s *allot.State) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func drawState(t *rapid.T) *allot.State {
	s := &allot.State{Now: time.Unix(1000, 0).UTC(), Revision: "r"}
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, drawNode(t, i))
	}
	p := allot.Policy{
		Order:                   rapid.SampledFrom([]queue.Order{queue.FairShare, queue.PriorityFirst, queue.Global, queue.Deprived, queue.ShareThenAge}).Draw(t, "order"),
		GPUStrategy:             rapid.SampledFrom([]placement.Strategy{placement.BinPack, placement.Spread, placement.First}).Draw(t, "strategy"),
		Queueing:                rapid.SampledFrom([]queue.Queueing{queue.BestEffort, queue.BestEffort, queue.StrictQueue, queue.StrictPool, queue.BackfillPreemptible}).Draw(t, "queueing"),
		BlockAlikeOnly:          rapid.Bool().Draw(t, "block alike only"),
		Shares:                  rapid.SampledFrom([]fairshare.Method{fairshare.QuotaThenWeight, fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin}).Draw(t, "shares"),
		LowerFirst:              rapid.IntRange(0, 3).Draw(t, "lower first") == 0,
		CPUOnlyApart:            rapid.IntRange(0, 3).Draw(t, "apart") == 0,
		NonPreemptibleFrom:      rapid.Int32Range(0, 3).Draw(t, "non-preemptible from"),
		NonPreemptibleOverQuota: rapid.IntRange(0, 5).Draw(t, "q2 off") == 0,
	}
	if rapid.IntRange(0, 4).Draw(t, "capped") == 0 {
		p.MaxCPUOnlyTasksPerNode = 1
	}
	drawRoomPolicy(t, &p)
	s.Pools = []allot.Pool{{ID: "p", Policy: p}}
	drawQueues(t, s)
	for i := range rapid.IntRange(1, 9).Draw(t, "workloads") {
		s.Workloads = append(s.Workloads, drawWorkload(t, fmt.Sprintf("w%d", i)))
	}
	s.Pools[0].Policy.MaxRelocations = rapid.SampledFrom([]quota.Bound{{}, {}, quota.Of(0), quota.Of(1)}).Draw(t, "relocations")
	return s
}

// drawRoomPolicy draws the knobs of making room.
func drawRoomPolicy(t *rapid.T, p *allot.Policy) {
	p.Reclaim = rapid.SampledFrom([]preempt.Reclaim{preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota, preempt.NoReclaim}).Draw(t, "reclaim")
	p.Preempt = rapid.SampledFrom([]preempt.Scope{preempt.WithinQueue, preempt.WithinPool, preempt.NoPreemption}).Draw(t, "preempt")
	if p.Preempt == preempt.WithinPool {
		p.Reclaim = preempt.NoReclaim
	}
	p.Straddle = rapid.SampledFrom([]preempt.Straddle{preempt.Take, preempt.Take, preempt.Spare}).Draw(t, "straddle")
	p.NoConsolidation = rapid.IntRange(0, 3).Draw(t, "no consolidation") == 0
	p.ConsolidateBeyondShare = rapid.IntRange(0, 3).Draw(t, "beyond share") == 0
	p.ReclaimNonPreemptibleOnly = rapid.IntRange(0, 5).Draw(t, "reclaim for non-preemptible") == 0
	p.ReclaimMarginMilli = rapid.SampledFrom([]int64{0, 0, 1500}).Draw(t, "margin")
	p.CheckpointOnEviction = rapid.Bool().Draw(t, "checkpoint")
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		p.PreemptedStatus, p.PreemptedExitCode = "PREEMPTED", 7
		p.ExitActions = []allot.ExitAction{{Code: rapid.IntRange(6, 7).Draw(t, "exit code"), Action: allot.Fail}}
	}
}

func drawNode(t *rapid.T, i int) allot.Node {
	n := allot.Node{ID: fmt.Sprintf("n%d", i), Capacity: map[string]int64{allot.CPU: rapid.Int64Range(0, 6).Draw(t, "cpu")}}
	model := rapid.SampledFrom([]string{"A", "B"}).Draw(t, "model")
	for range rapid.IntRange(0, 4).Draw(t, "devices") {
		n.Devices = append(n.Devices, allot.Device{Model: model, Memory: map[string]int64{"A": 24, "B": 16}[model]})
	}
	n.MaxTasks = rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(t, "slots")
	n.Class = rapid.SampledFrom([]string{"", "", "spot"}).Draw(t, "class")
	n.Labels = map[string]string{"zone": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "zone")}
	if rapid.IntRange(0, 5).Draw(t, "tainted") == 0 {
		n.Taints = []placement.Taint{{Key: "k", Value: "v"}}
	}
	return n
}

func drawBound(t *rapid.T, unit, most int64, name string) quota.Bound {
	switch k := rapid.Int64Range(-3, most+1).Draw(t, name); {
	case k < 0:
		return quota.Bound{}
	case k > most:
		return quota.Unlimited()
	default:
		return quota.Of(unit * k)
	}
}

func drawQueues(t *rapid.T, s *allot.State) {
	for _, q := range []allot.Queue{{ID: "d"}, {ID: "a", Parent: "d"}, {ID: "b", Parent: "d"}, {ID: "c"}} {
		if rapid.Bool().Draw(t, "gpu governed") {
			r := allot.QueueResource{
				Resource:       allot.GPU,
				Quota:          drawBound(t, 1000, 6, "quota"),
				Limit:          drawBound(t, 1000, 9, "limit"),
				BorrowingLimit: drawBound(t, 1000, 5, "borrowing"),
			}
			if r.Quota.Given() && !r.Quota.IsUnlimited() && rapid.IntRange(0, 2).Draw(t, "lends") == 0 {
				r.LendingLimit = drawBound(t, 1000, 3, "lending")
			}
			q.Resources = append(q.Resources, r)
		}
		if rapid.IntRange(0, 3).Draw(t, "per class") == 0 {
			q.Resources = append(q.Resources, allot.QueueResource{Resource: allot.GPU, Class: rapid.SampledFrom([]string{"A", "B", "spot"}).Draw(t, "class"),
				Limit: drawBound(t, 1000, 3, "class limit"), Quota: drawBound(t, 1000, 3, "class quota")})
		}
		if rapid.IntRange(0, 3).Draw(t, "cpu governed") == 0 {
			q.Resources = append(q.Resources, allot.QueueResource{Resource: allot.CPU, Quota: drawBound(t, 1, 6, "cpu quota"), Limit: drawBound(t, 1, 9, "cpu limit")})
		}
		if rapid.IntRange(0, 5).Draw(t, "workloads capped") == 0 {
			q.MaxWorkloads = drawBound(t, 1, 4, "max workloads")
		}
		if rapid.IntRange(0, 5).Draw(t, "on zone x") == 0 {
			q.Nodes.Selector = &placement.Selector{Labels: map[string]string{"zone": "x"}}
		}
		s.Queues = append(s.Queues, q)
	}
}

func drawWorkload(t *rapid.T, id string) allot.Workload {
	leaf := rapid.SampledFrom([]string{"a", "b", "c"})
	w := allot.Workload{
		ID:         id,
		Queue:      leaf.Draw(t, "queue"),
		Priority:   rapid.Int32Range(0, 3).Draw(t, "priority"),
		Preemption: rapid.SampledFrom([]allot.Preemption{allot.PreemptionByClass, allot.Preemptible, allot.NonPreemptible}).Draw(t, "preemption"),
		Submitted:  time.Unix(rapid.Int64Range(1, 5).Draw(t, "submitted"), 0).UTC(),
	}
	w.PodSets, w.Groups = drawPodSets(t)
	if !slices.ContainsFunc(w.PodSets, func(ps allot.PodSet) bool { return ps.Missing > 0 }) && rapid.IntRange(0, 4).Draw(t, "alternative") == 0 {
		f := allot.Form{Queue: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "form queue")}
		f.PodSets, f.Groups = drawPodSets(t)
		w.Alternatives = []allot.Form{f}
	}
	return w
}

func drawPodSets(t *rapid.T) (sets []allot.PodSet, groups []allot.Group) {
	n := rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "pod sets")
	if n > 1 && rapid.Bool().Draw(t, "grouped") {
		groups = []allot.Group{{Name: "g", Min: rapid.IntRange(0, 1).Draw(t, "group min")}}
	}
	for i := range n {
		ps := allot.PodSet{Count: rapid.IntRange(1, 3).Draw(t, "count"), Request: drawRequest(t)}
		if n > 1 {
			ps.Name = fmt.Sprintf("s%d", i)
		}
		if groups != nil && (i == 0 || rapid.Bool().Draw(t, "in group")) {
			ps.Group = "g"
		}
		ps.Min = rapid.IntRange(0, ps.Count).Draw(t, "min")
		if rapid.IntRange(0, 5).Draw(t, "incomplete") == 0 {
			ps.Missing = rapid.IntRange(0, ps.Count).Draw(t, "missing")
		}
		sets = append(sets, ps)
	}
	return sets, groups
}

func drawRequest(t *rapid.T) allot.Request {
	var r allot.Request
	switch rapid.IntRange(0, 6).Draw(t, "kind of request") {
	case 0:
	case 1:
		r.GPU = allot.GPURequest{Milli: rapid.SampledFrom([]int64{250, 333, 500}).Draw(t, "milli"), Count: rapid.IntRange(0, 2).Draw(t, "count")}
	case 2:
		r.GPU = allot.GPURequest{Memory: rapid.SampledFrom([]int64{5, 8, 24}).Draw(t, "memory")}
	default:
		r.GPU = allot.GPURequest{Count: rapid.IntRange(1, 3).Draw(t, "count")}
	}
	if rapid.Bool().Draw(t, "with cpu") {
		r.Resources = map[string]int64{allot.CPU: rapid.Int64Range(0, 3).Draw(t, "cpu")}
	}
	if deviceCount(r.GPU) > 0 && rapid.IntRange(0, 4).Draw(t, "by model") == 0 {
		r.GPU.Models = []string{"A"}
	}
	if rapid.IntRange(0, 5).Draw(t, "selects") == 0 {
		r.Selector.Expressions = []placement.Expression{{Key: "zone", Operator: placement.NotIn, Values: []string{"y"}}}
	}
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		r.Tolerations = []placement.Toleration{{Key: "k", Operator: placement.TolerationExists}}
	}
	return r
}

// change lets time pass: things end, fail, arrive.
func change(t *rapid.T, s *allot.State) {
	for i := range s.Workloads {
		w := &s.Workloads[i]
		switch rapid.IntRange(0, 9).Draw(t, "what happens to the workload") {
		case 0: // its tasks end
			w.Tasks, w.Form = nil, 0
		case 1, 2: // evicted, or ends for good: claims are dropped
			w.Tasks = slices.DeleteFunc(w.Tasks, func(t allot.Task) bool { return t.Phase == allot.Claimed })
			for k := range w.Tasks {
				w.Tasks[k].Phase = allot.Terminating
			}
			w.Ending = len(w.Tasks) > 0 && rapid.Bool().Draw(t, "for good")
			if len(w.Tasks) > 0 && rapid.Bool().Draw(t, "made smaller") {
				sets := formOf(w, w.Form).PodSets
				sets[0].Count, sets[0].Min, sets[0].Missing = 1, 0, 0
			}
		case 3: // one task fails
			if len(w.Tasks) > 1 {
				w.Tasks = slices.Delete(w.Tasks, 0, 1)
			}
		case 4, 5: // it was a claim all the time
			for k := range w.Tasks {
				if w.Tasks[k].Phase == allot.Running {
					w.Tasks[k].Phase = allot.Claimed
				}
			}
		}
	}
	n := &s.Nodes[rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "node")]
	switch rapid.IntRange(0, 5).Draw(t, "what happens to the node") {
	case 0:
		n.Lost = true
	case 1:
		n.Cordoned = !n.Cordoned
	case 2:
		n.Foreign = map[string]int64{allot.CPU: 3}
	case 3:
		for d := range n.Devices[:len(n.Devices)/2] {
			n.Devices[d].Unhealthy = true
		}
	case 4:
		n.Lost = false
	}
	fresh := 0 // what has ended is gone, so that their number would name one twice
	for slices.ContainsFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == fmt.Sprintf("x%d", fresh) }) {
		fresh++
	}
	s.Workloads = append(s.Workloads, drawWorkload(t, fmt.Sprintf("x%d", fresh)))
}
