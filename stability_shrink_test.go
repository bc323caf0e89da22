package allot_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// story is what happened, round by round.
func (e *restError) story() string {
	return "  " + strings.ReplaceAll(strings.Join(e.log, "\n"), "\n", "\n  ")
}

// scenario is the failure as the text that one reports.
func (f *failure) scenario() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s. The host: %s, seed %d, rounds %d.\n", f.broken.kind, hostModeNames[f.how.mode], f.how.seed, f.how.rounds)
	b.WriteString(scenario.Format(f.state))
	b.WriteString("solve\n\n" + f.broken.story())
	return b.String()
}

// shrink drops whatever can be dropped while the same promise stays broken.
func (f *failure) shrink() *failure {
	small := *f
	for again, rounds := true, 0; again && rounds < 20; rounds++ {
		again = false
		for _, cut := range cuts(small.state) {
			s := copyState(small.state)
			if !cut(s) {
				continue
			}
			if g := small.breaks(s); g != nil {
				small, again = *g, true
			}
		}
	}
	return &small
}

// breaks says how the state breaks the same promise, under the same schedule
// or a like one.
func (f *failure) breaks(s *allot.State) *failure {
	if allot.Check(s) != nil {
		return nil
	}
	hows := []schedule{{mode: applies}, {mode: begins, seed: 1}, {mode: begins, seed: 2}, {mode: begins, seed: 3}, f.how}
	for seed := range uint64(10) {
		hows = append(hows, schedule{mode: f.how.mode, seed: seed})
	}
	for _, how := range hows {
		if _, broken := rest(s, how, newStabilityStats()); broken != nil && broken.kind == f.broken.kind {
			return &failure{state: s, how: how, cause: f.cause, broken: broken}
		}
	}
	return nil
}

func copyState(s *allot.State) *allot.State {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	c := new(allot.State)
	if err := json.Unmarshal(text, c); err != nil {
		panic(err)
	}
	return c
}

// A cut makes a state smaller in place and says whether it did.
type cut func(*allot.State) bool

// cuts are all that may be tried on a state of this size.
func cuts(s *allot.State) (all []cut) {
	for i := len(s.Workloads) - 1; i >= 0; i-- {
		all = append(all, func(s *allot.State) bool { return dropAt(&s.Workloads, i) })
	}
	for i := len(s.Nodes) - 1; i >= 0; i-- {
		all = append(all, func(s *allot.State) bool { return dropNode(s, i) }, func(s *allot.State) bool { return dropDevice(s, i) })
	}
	for i := len(s.Queues) - 1; i >= 0; i-- {
		all = append(all, func(s *allot.State) bool { return dropQueue(s, i) }, func(s *allot.State) bool { return raiseQueue(s, i) })
	}
	all = append(all, func(s *allot.State) bool { return set(&s.Budgets, nil) }, dropPool)
	for i := range s.Workloads {
		all = append(all, workloadCuts(i)...)
	}
	for i := range s.Queues {
		all = append(all, queueCuts(i)...)
	}
	for i := range s.Nodes {
		all = append(all, nodeCuts(i)...)
	}
	for i := range s.Pools {
		all = append(all, policyCuts(i)...)
	}
	return all
}

func dropAt[T any](list *[]T, i int) bool {
	if i < 0 || i >= len(*list) {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// set gives a variable another value and says whether it is another.
func set[T any](variable *T, value T) bool {
	if fmt.Sprint(*variable) == fmt.Sprint(value) {
		return false
	}
	*variable = value
	return true
}

func dropNode(s *allot.State, i int) bool {
	if i >= len(s.Nodes) {
		return false
	}
	id := s.Nodes[i].ID
	for j := range s.Pools {
		s.Pools[j].Nodes.IDs = slices.DeleteFunc(s.Pools[j].Nodes.IDs, func(n string) bool { return n == id })
	}
	return dropAt(&s.Nodes, i)
}

func dropDevice(s *allot.State, i int) bool {
	return i < len(s.Nodes) && dropAt(&s.Nodes[i].Devices, len(s.Nodes[i].Devices)-1)
}

// dropPool leaves one pool, if there are two.
func dropPool(s *allot.State) bool {
	if len(s.Pools) < 2 {
		return false
	}
	s.Queues = slices.DeleteFunc(s.Queues, func(q allot.Queue) bool { return q.Pool != s.Pools[0].ID })
	return dropAt(&s.Pools, 1)
}

func dropQueue(s *allot.State, i int) bool {
	if i >= len(s.Queues) {
		return false
	}
	id := s.Queues[i].ID
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.Queue == id })
	return dropAt(&s.Queues, i)
}

// raiseQueue takes a queue away and hangs those below it one level higher.
func raiseQueue(s *allot.State, i int) bool {
	if i >= len(s.Queues) {
		return false
	}
	q, inner := s.Queues[i], false
	for j := range s.Queues {
		if s.Queues[j].Parent == q.ID {
			s.Queues[j].Parent, inner = q.Parent, true
		}
	}
	return inner && dropAt(&s.Queues, i)
}

func workloadCuts(i int) (all []cut) {
	with := func(do func(w *allot.Workload) bool) {
		all = append(all, func(s *allot.State) bool { return i < len(s.Workloads) && do(&s.Workloads[i]) })
	}
	for k := 7; k >= 0; k-- {
		with(func(w *allot.Workload) bool { return dropAt(&w.Tasks, k) })
	}
	with(func(w *allot.Workload) bool { return set(&w.Alternatives, nil) })
	with(func(w *allot.Workload) bool { return set(&w.Groups, nil) && set(&w.PodSets[0].Group, "") })
	with(func(w *allot.Workload) bool { return len(w.PodSets) > 1 && dropAt(&w.PodSets, 1) })
	with(func(w *allot.Workload) bool { return set(&w.Priority, 0) })
	with(func(w *allot.Workload) bool { return set(&w.Owner, "") })
	with(func(w *allot.Workload) bool { return set(&w.Retries, quota.Bound{}) })
	with(func(w *allot.Workload) bool { return set(&w.Class, "") })
	with(func(w *allot.Workload) bool { return set(&w.Preemption, allot.PreemptionByClass) })
	with(func(w *allot.Workload) bool { return set(&w.Preemption, allot.Preemptible) })
	with(func(w *allot.Workload) bool { return set(&w.Checkpoint, time.Time{}) })
	with(func(w *allot.Workload) bool { return set(&w.PartialSince, time.Time{}) })
	for k := range 2 {
		withSet := func(do func(p *allot.PodSet) bool) {
			with(func(w *allot.Workload) bool { return k < len(w.PodSets) && do(&w.PodSets[k]) })
		}
		withSet(func(p *allot.PodSet) bool { return set(&p.Step, gang.ByOne) })
		withSet(func(p *allot.PodSet) bool { return set(&p.Missing, 0) })
		withSet(func(p *allot.PodSet) bool { p.Min = min(p.Min, p.Count-1); p.Count--; return true })
		withSet(func(p *allot.PodSet) bool { return set(&p.Min, 0) })
		withSet(func(p *allot.PodSet) bool { return set(&p.Request.Resources, nil) })
		withSet(func(p *allot.PodSet) bool { return set(&p.Request.Selector.Labels, nil) })
		withSet(func(p *allot.PodSet) bool { return set(&p.Request.GPU, allot.GPURequest{Count: 1}) })
	}
	return all
}

func queueCuts(i int) (all []cut) {
	with := func(do func(q *allot.Queue) bool) {
		all = append(all, func(s *allot.State) bool { return i < len(s.Queues) && do(&s.Queues[i]) })
	}
	with(func(q *allot.Queue) bool { return set(&q.Nodes.Selector, nil) })
	with(func(q *allot.Queue) bool { return set(&q.MaxWorkloads, quota.Bound{}) })
	with(func(q *allot.Queue) bool { return set(&q.MinRuntime, allot.MinRuntime{}) })
	with(func(q *allot.Queue) bool { return set(&q.Created, time.Time{}) })
	for k := 2; k >= 0; k-- {
		withResource := func(do func(r *allot.QueueResource) bool) {
			with(func(q *allot.Queue) bool { return k < len(q.Resources) && do(&q.Resources[k]) })
		}
		with(func(q *allot.Queue) bool { return dropAt(&q.Resources, k) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.LendingLimit, quota.Bound{}) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.BorrowingLimit, quota.Bound{}) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.Limit, quota.Bound{}) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.OverQuotaPriority, 0) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.Weight, quota.Bound{}) })
		withResource(func(r *allot.QueueResource) bool { return r.Weight.Given() && set(&r.Weight, quota.Of(1)) })
		withResource(func(r *allot.QueueResource) bool { return set(&r.Quota, quota.Bound{}) })
	}
	return all
}

func nodeCuts(i int) (all []cut) {
	with := func(do func(n *allot.Node) bool) {
		all = append(all, func(s *allot.State) bool { return i < len(s.Nodes) && do(&s.Nodes[i]) })
	}
	with(func(n *allot.Node) bool { return set(&n.Labels, nil) })
	with(func(n *allot.Node) bool { return set(&n.Foreign, nil) })
	with(func(n *allot.Node) bool { return set(&n.MaxTasks, 0) })
	with(func(n *allot.Node) bool { return set(&n.Lost, false) })
	with(func(n *allot.Node) bool { return set(&n.Cordoned, false) })
	with(func(n *allot.Node) bool { return set(&n.Capacity, map[string]int64{allot.CPU: 16 * unit, fpga: 8}) })
	with(func(n *allot.Node) bool { return set(&n.Capacity, nil) })
	for d := range 4 {
		with(func(n *allot.Node) bool { return d < len(n.Devices) && set(&n.Devices[d], allot.Device{Memory: 4}) })
		with(func(n *allot.Node) bool { return d < len(n.Devices) && set(&n.Devices[d], allot.Device{}) })
	}
	return all
}

func policyCuts(i int) (all []cut) {
	with := func(do func(p *allot.Policy) bool) {
		all = append(all, func(s *allot.State) bool { return i < len(s.Pools) && do(&s.Pools[i].Policy) })
	}
	with(func(p *allot.Policy) bool { return set(p, allot.Policy{}) })
	with(func(p *allot.Policy) bool { return set(p, allot.Policy{NoConsolidation: true}) })
	with(func(p *allot.Policy) bool { return set(&p.Name, "") })
	with(func(p *allot.Policy) bool { return set(&p.Order, queue.FairShare) })
	with(func(p *allot.Policy) bool { return set(&p.Queueing, queue.BestEffort) })
	with(func(p *allot.Policy) bool { return set(&p.Shares, 0) })
	with(func(p *allot.Policy) bool { return set(&p.GPUStrategy, 0) })
	with(func(p *allot.Policy) bool { return set(&p.CPUStrategy, 0) })
	with(func(p *allot.Policy) bool { return set(&p.Scoring, allot.Scoring{}) })
	with(func(p *allot.Policy) bool { return set(&p.Granules, nil) })
	with(func(p *allot.Policy) bool { return set(&p.ExitActions, nil) && set(&p.PreemptedExitCode, 0) })
	with(func(p *allot.Policy) bool { return set(&p.Reclaim, 0) })
	with(func(p *allot.Policy) bool { return set(&p.Straddle, 0) })
	with(func(p *allot.Policy) bool { return set(&p.Preempt, 0) })
	with(func(p *allot.Policy) bool { return set(&p.MaxMovedPercent, 0) })
	with(func(p *allot.Policy) bool { return set(&p.ReclaimMarginMilli, 0) })
	with(func(p *allot.Policy) bool { return set(&p.MaxEvictions, 0) })
	with(func(p *allot.Policy) bool { return set(&p.SearchBudget, 0) })
	with(func(p *allot.Policy) bool { return set(&p.MinRuntime, allot.MinRuntime{}) })
	with(func(p *allot.Policy) bool { return set(&p.StaleGangGrace, quota.Bound{}) })
	with(func(p *allot.Policy) bool { return set(&p.NoConsolidation, true) })
	for _, flag := range []func(*allot.Policy) *bool{
		func(p *allot.Policy) *bool { return &p.LowerFirst }, func(p *allot.Policy) *bool { return &p.CPUOnlyApart },
		func(p *allot.Policy) *bool { return &p.NonPreemptibleOverQuota }, func(p *allot.Policy) *bool { return &p.InnerWeightByQuota },
		func(p *allot.Policy) *bool { return &p.EqualSharesAtZeroWeight }, func(p *allot.Policy) *bool { return &p.ConsolidateBeyondShare },
		func(p *allot.Policy) *bool { return &p.ReclaimNonPreemptibleOnly }, func(p *allot.Policy) *bool { return &p.CheckpointOnEviction },
	} {
		with(func(p *allot.Policy) bool { return set(flag(p), false) })
	}
	return all
}
