package preempt_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A denseGen draws what a task is and where it runs.
type denseGen struct {
	*rand.Rand
	s    *allot.State
	held map[string]int64 // of a thing
}

func oneOf[T any](g *denseGen, from ...T) T { return from[g.IntN(len(from))] }

// rarely is true once in n times.
func (g *denseGen) rarely(n int) bool { return g.IntN(n) == 0 }

// hold looks for a node with room for the task, from any one on, in the
// plainest way.
func (g *denseGen) hold(t *allot.Task, r *allot.Request) bool {
	from := g.IntN(len(g.s.Nodes))
	for k := range g.s.Nodes {
		n := &g.s.Nodes[(from+k)%len(g.s.Nodes)]
		devices := g.devices(n, r)
		if len(devices) < devicesAsked(r.GPU) || g.held[n.ID]+r.Resources[allot.CPU] > n.Capacity[allot.CPU] {
			continue
		}
		g.held[n.ID] += r.Resources[allot.CPU]
		for _, d := range devices {
			g.held[fmt.Sprint(n.ID, " ", d)] += cmp.Or(r.GPU.Milli, 1000)
		}
		t.Node, t.Devices = n.ID, devices
		return true
	}
	return false
}

func (g *denseGen) devices(n *allot.Node, r *allot.Request) (devices []int) {
	for i := range n.Devices {
		g.IntN(len(n.Devices)) // says nothing any more; the scenarios name states by their seeds
		if len(devices) < devicesAsked(r.GPU) && g.held[fmt.Sprint(n.ID, " ", i)]+cmp.Or(r.GPU.Milli, 1000) <= 1000 {
			devices = append(devices, i)
		}
	}
	return devices
}

// A harmGen draws full little clusters on which one workload waits. What a task
// is and where it runs is drawn by the denseGen's means.
type harmGen struct {
	denseGen
	family int
	gpus   int // of all nodes
	cpu    int // 0: no such resource; 1: nodes have it; 2: it is divided as well
	leaves []string
	units  int
	used   int // milli-GPU
}

// The families of policies: one way of making room each, and all together.
const (
	harmOnlyReclaim = iota
	harmOnlyPreempt
	harmOnlyPool
	harmOnlyMoves
	harmAll
	harmFamilies
)

// genHarm draws the state of a seed and names the workload that waits. States in
// which the oracle makes no room are drawn again, but for some.
func genHarm(seed uint64) (*allot.State, string) {
	g := denseGen{Rand: rand.New(rand.NewPCG(seed, 7))}
	family := oneOf(&g, harmOnlyReclaim, harmOnlyReclaim, harmOnlyReclaim, harmOnlyReclaim, harmOnlyPreempt,
		harmOnlyPool, harmOnlyMoves, harmOnlyMoves, harmAll, harmAll)
	kept := denseGen{Rand: rand.New(rand.NewPCG(seed, 17))}
	limited := kept.rarely(4)
	for {
		h := drawHarm(g.Rand, family)
		s, id := h.s, h.preemptor()
		if limited {
			limitHarm(&kept, s)
		}
		if g.rarely(15) || newHarmCase(s, id).wantsRoom() {
			return s, id
		}
	}
}

func (c *harmCase) wantsRoom() bool { return !c.starts(0) && c.best() != nil }

// drawHarm draws a cluster on which work runs.
func drawHarm(source *rand.Rand, family int) *harmGen {
	g := &harmGen{denseGen: denseGen{Rand: source, s: &allot.State{}, held: make(map[string]int64)}, family: family}
	g.s.Now = time.Unix(100, 0).UTC()
	g.cpu = oneOf(&g.denseGen, 0, 0, 1, 2, 2)
	for i := range oneOf(&g.denseGen, 1, 2, 2, 3, 3, 4) {
		g.node(i)
	}
	g.s.Pools = []allot.Pool{{ID: "p", Policy: g.policy()}}
	g.tree("", 1+g.IntN(3), g.rarely(2))
	full := 100
	if family == harmOnlyMoves {
		full = 50 + g.IntN(40) // moves want holes
	}
	for len(g.s.Workloads) < 6 && g.units < 10 && g.used*100 < full*1000*g.gpus && !g.rarely(14) {
		g.running()
	}
	return g
}

func (g *harmGen) node(i int) {
	n := allot.Node{ID: fmt.Sprint("n", i), Labels: map[string]string{"zone": oneOf(&g.denseGen, "a", "b")}}
	for range oneOf(&g.denseGen, 1, 2, 2, 3, 4, 4) {
		n.Devices = append(n.Devices, allot.Device{})
	}
	g.gpus += len(n.Devices)
	if g.cpu > 0 {
		n.Capacity = map[string]int64{allot.CPU: 1000 * int64(len(n.Devices)+g.IntN(2*len(n.Devices)+1))}
	}
	g.s.Nodes = append(g.s.Nodes, n)
}

func (g *harmGen) policy() allot.Policy {
	p := allot.Policy{
		NoConsolidation: true, Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption,
		Granules: map[string]int64{allot.CPU: 500}, NonPreemptibleOverQuota: g.rarely(6),
		LowerFirst: g.rarely(6), InnerWeightByQuota: g.rarely(4), ClaimLeaving: g.rarely(3), EqualSharesAtZeroWeight: g.rarely(6),
		CheckpointOnEviction: g.rarely(8),
	}
	if g.rarely(3) {
		p.GPUStrategy = oneOf(&g.denseGen, placement.Spread, placement.First)
	}
	switch g.family {
	case harmOnlyReclaim:
		p.Reclaim = oneOf(&g.denseGen, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota)
		p.ReclaimNonPreemptibleOnly = g.rarely(12)
		if g.rarely(8) {
			p.Straddle = preempt.Spare
		}
		if g.rarely(6) {
			p.ReclaimMarginMilli = oneOf[int64](&g.denseGen, 1100, 1500, 2000)
		}
		if g.rarely(12) {
			p.Shares = oneOf(&g.denseGen, fairshare.ByDemand, fairshare.MaxMin)
		}
	case harmOnlyPreempt:
		p.Preempt = preempt.WithinQueue
	case harmOnlyPool:
		p.Preempt = preempt.WithinPool
	case harmOnlyMoves, harmAll:
		p.NoConsolidation = false
		if g.rarely(4) {
			p.MaxMovedPercent = oneOf[int64](&g.denseGen, 50, 100, 400)
		}
		p.ConsolidateBeyondShare = g.rarely(4)
		if g.family == harmAll {
			p.Reclaim = preempt.ByQuotaAndShare
			if p.Preempt = oneOf(&g.denseGen, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinPool); p.Preempt == preempt.WithinPool {
				p.Reclaim = preempt.NoReclaim
			}
		}
	}
	p.MinRuntime = g.minRuntime(8)
	return p
}

// minRuntime protects some of the work in some of the states.
func (g *harmGen) minRuntime(n int) (m allot.MinRuntime) {
	if g.rarely(n) {
		m.Preempt = quota.Of(int64(10 * g.IntN(6)))
	}
	if g.rarely(n) {
		m.Reclaim = quota.Of(int64(10 * g.IntN(6)))
	}
	return m
}

// tree draws siblings and what is below them.
func (g *harmGen) tree(parent string, depth int, weighted bool) {
	for range 1 + g.IntN(3) {
		if len(g.s.Queues) > 7 {
			break
		}
		q := allot.Queue{ID: fmt.Sprint("q", len(g.s.Queues)), Parent: parent, Created: time.Unix(int64(g.IntN(3)), 0).UTC()}
		inner := depth > 1 && !g.rarely(4)
		q.Resources = []allot.QueueResource{g.given(allot.GPU, 1000, g.gpus, weighted, inner)}
		if g.cpu == 2 {
			q.Resources = append(q.Resources, g.given(allot.CPU, 1000, 2*g.gpus, weighted, inner))
		}
		q.MinRuntime = g.minRuntime(15)
		if g.rarely(30) {
			q.MaxWorkloads = quota.Of(int64(1 + g.IntN(3)))
		}
		g.s.Queues = append(g.s.Queues, q)
		if inner {
			g.tree(q.ID, depth-1, weighted)
		} else {
			g.leaves = append(g.leaves, q.ID)
		}
	}
}

// given draws the settings of a queue for a resource of which there is so much.
func (g *harmGen) given(resource string, unit int64, most int, weighted, inner bool) allot.QueueResource {
	r := allot.QueueResource{Resource: resource, OverQuotaPriority: int32(g.IntN(10) / 9)}
	switch {
	case inner && g.rarely(2):
	case inner:
		r.Quota = quota.Of(unit * int64(1+g.IntN(most)))
	default:
		r.Quota = quota.Of(unit * int64(g.IntN(most/2+2)))
	}
	some := func(n int) quota.Bound {
		if !g.rarely(n) {
			return quota.Bound{}
		}
		return quota.Of(unit * int64(1+g.IntN(most)))
	}
	r.Limit, r.BorrowingLimit, r.LendingLimit = some(15), some(30), some(40)
	if weighted {
		r.Weight = quota.Of(int64(g.IntN(4)))
	}
	return r
}

func (g *harmGen) frame(i int) allot.Workload {
	w := allot.Workload{
		ID: fmt.Sprint("w", i), Queue: oneOf(&g.denseGen, g.leaves...), Priority: int32(1 + g.IntN(2)),
		Submitted: time.Unix(int64(g.IntN(10)), 0).UTC(),
	}
	if g.rarely(3) {
		w.Priority = int32(1 + g.IntN(4))
	}
	if g.rarely(9) {
		w.Preemption = allot.NonPreemptible
	}
	if g.rarely(8) {
		w.Checkpoint = time.Unix(int64(10+g.IntN(89)), 0).UTC()
	}
	return w
}

func (g *harmGen) request(most int) (r allot.Request) {
	switch g.IntN(10) {
	case 0:
		r.GPU = allot.GPURequest{Milli: oneOf[int64](&g.denseGen, 250, 500, 600)}
	case 1, 2, 3:
		r.GPU = allot.GPURequest{Count: 1 + g.IntN(most)}
	case 4:
		if g.cpu > 0 && g.rarely(2) {
			break // without GPUs
		}
		r.GPU = allot.GPURequest{Count: 1}
	default:
		r.GPU = allot.GPURequest{Count: 1}
	}
	if g.cpu > 0 && (r.GPU.Count+int(r.GPU.Milli) == 0 || !g.rarely(4)) {
		r.Resources = map[string]int64{allot.CPU: 1000 * int64(1+g.IntN(3))}
	}
	return r
}

// running adds a workload that runs, whole.
func (g *harmGen) running() {
	w := g.frame(len(g.s.Workloads))
	set := allot.PodSet{Name: "s", Count: oneOf(&g.denseGen, 1, 1, 1, 2, 3, 4), Request: g.request(2)}
	if set.Min = set.Count; set.Count > 1 && g.rarely(2) {
		set.Min = 1 + g.IntN(set.Count)
	}
	since := int64(10 + g.IntN(89))
	for index := range set.Count {
		t := allot.Task{PodSet: "s", Index: index, Since: time.Unix(since, 0).UTC()}
		if !g.hold(&t, &set.Request) {
			set.Count = index
			break
		}
		if w.Tasks = append(w.Tasks, t); index+1 >= set.Min {
			since = min(99, since+int64(g.IntN(3)*10))
		}
	}
	if set.Count == 0 {
		return
	}
	set.Min = min(set.Min, set.Count)
	g.units += 1 + set.Count - set.Min
	g.used += set.Count * devicesAsked(set.Request.GPU) * int(cmp.Or(set.Request.GPU.Milli, 1000))
	w.PodSets = []allot.PodSet{set}
	g.s.Workloads = append(g.s.Workloads, w)
}

// preemptor adds what waits: mostly a new workload, else one that runs and
// wants one task more, or lost some of its gang.
func (g *harmGen) preemptor() string {
	if kind := g.IntN(14); kind < 2 && len(g.s.Workloads) > 0 {
		w := &g.s.Workloads[g.IntN(len(g.s.Workloads))]
		set := &w.PodSets[0]
		if kind == 1 && len(w.Tasks) == set.Min {
			set.Min++
		}
		set.Count++
		return w.ID
	}
	return g.waiting()
}

// waiting adds a workload that waits.
func (g *harmGen) waiting() string {
	w := g.frame(len(g.s.Workloads))
	if g.rarely(4) {
		w.Preemption = allot.NonPreemptible
	}
	if w.Priority = int32(3 + g.IntN(2)); g.s.Pools[0].Policy.LowerFirst {
		w.Priority = 1
	}
	w.PodSets = []allot.PodSet{{Name: "s", Count: oneOf(&g.denseGen, 1, 1, 2, 2, 3, 4), Request: g.request(4)}}
	if g.rarely(12) {
		w.PodSets = append(w.PodSets, allot.PodSet{Name: "t", Count: 1 + g.IntN(2), Request: g.request(2)})
	}
	if g.rarely(8) {
		for i := range w.PodSets {
			w.PodSets[i].Request.Selector.Labels = map[string]string{"zone": "a"}
		}
	}
	g.s.Workloads = append(g.s.Workloads, w)
	slices.Reverse(g.s.Workloads)
	return w.ID
}
