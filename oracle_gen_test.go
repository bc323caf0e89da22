package allot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A denseGen draws small states in which much is wanted and little is there:
// one pool of up to five nodes of up to four GPUs, a queue tree of up to three
// levels, gangs, elastic sets, fractions, priorities, claims and what
// terminates. Unlike genState it needs no rapid and is fast.
type denseGen struct {
	*rand.Rand
	s     *State
	lends bool                 // some queues have lending limits, then no quota is unlimited
	held  map[string]*[3]int64 // what each phase holds of a thing (S4)
}

// genDense draws the state of a seed; Check passes it by construction. Its
// policy makes no room, of which the oracle knows nothing.
func genDense(seed uint64) *State {
	g := &denseGen{Rand: rand.New(rand.NewPCG(seed, 1)), s: &State{}, held: make(map[string]*[3]int64)}
	g.s.Now = time.Unix(100, 0).UTC()
	for i := range oneOf(g, 1, 2, 3, 4, 5, 5) {
		g.node(i)
	}
	g.s.Pools = []Pool{{ID: "p", Policy: g.policy()}}
	g.lends = g.rarely(4)
	weighted, scarce := g.IntN(2) == 0, g.IntN(2) == 0
	switch g.IntN(8) {
	case 0: // the implicit queue
	case 1, 2, 3:
		g.queues("", 1, weighted, scarce)
	default:
		g.queues("", 3, weighted, scarce)
	}
	var leaves []string
	for _, q := range g.s.Queues {
		if !slices.ContainsFunc(g.s.Queues, func(c Queue) bool { return c.Parent == q.ID }) {
			leaves = append(leaves, q.ID)
		}
	}
	for i := range 2 + g.IntN(8) {
		g.workload(i, leaves)
	}
	g.Shuffle(len(g.s.Workloads), func(i, j int) {
		g.s.Workloads[i], g.s.Workloads[j] = g.s.Workloads[j], g.s.Workloads[i]
	})
	return g.s
}

func oneOf[T any](g *denseGen, from ...T) T { return from[g.IntN(len(from))] }

// withUsage has the queues of every third state have used something (F6). What else is drawn
// stays as it is.
func withUsage(s *State, seed uint64) *State {
	if seed%3 != 0 {
		return s
	}
	g := rand.New(rand.NewPCG(seed, 12))
	for i := range s.Pools {
		s.Pools[i].Policy.UsageStrengthMilli = []int64{500, 1000, 3000}[g.IntN(3)]
	}
	for i := range s.Queues {
		for r := range s.Queues[i].Resources {
			if one := &s.Queues[i].Resources[r]; one.Class == "" && g.IntN(4) > 0 {
				one.Usage.Capacity = []int64{4, 4, 12}[g.IntN(3)]
				one.Usage.Used = g.Int64N(one.Usage.Capacity + 1)
			}
		}
	}
	return s
}

// genUsage is genDense with usage.
func genUsage(seed uint64) *State { return withUsage(genDense(seed), seed) }

// rarely is true once in n times.
func (g *denseGen) rarely(n int) bool { return g.IntN(n) == 0 }

func (g *denseGen) node(i int) {
	n := Node{
		ID: fmt.Sprint("n", i), Capacity: map[string]int64{CPU: oneOf[int64](g, 4, 8, 16)},
		Rank: int64(g.IntN(6) / 5), Cordoned: g.rarely(25), Lost: g.rarely(30),
		Labels: map[string]string{"zone": oneOf(g, "a", "b")},
	}
	if g.rarely(10) {
		n.MaxTasks = 1 + g.IntN(4)
	}
	if g.rarely(10) {
		n.Foreign = map[string]int64{CPU: oneOf[int64](g, 1, 3, 14)}
	}
	if g.rarely(12) {
		n.Taints = []placement.Taint{{Key: "apart"}}
	}
	models := oneOf(g, "A", "A", "B", "AB")
	memory := oneOf[int64](g, 4, 6)
	for d := range oneOf(g, 0, 1, 2, 2, 4, 4) {
		device := Device{Model: string(models[d%len(models)]), Memory: memory, Unhealthy: g.rarely(40)}
		if g.rarely(20) {
			device.Foreign = oneOf[int64](g, 250, 1000)
		}
		n.Devices = append(n.Devices, device)
	}
	g.s.Nodes = append(g.s.Nodes, n)
}

func (g *denseGen) policy() Policy {
	p := Policy{
		LowerFirst:              g.rarely(4),
		Order:                   queue.Order(g.IntN(5)),
		Queueing:                oneOf(g, queue.BestEffort, queue.BestEffort, queue.StrictQueue, queue.StrictPool, queue.BackfillPreemptible),
		BlockAlikeOnly:          g.rarely(3),
		CPUOnlyApart:            g.rarely(5),
		NonPreemptibleOverQuota: g.rarely(4),
		Shares:                  oneOf(g, fairshare.QuotaThenWeight, fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin),
		InnerWeightByQuota:      g.rarely(4),
		ClaimLeaving:            g.rarely(2),
		EqualSharesAtZeroWeight: g.rarely(4),
		ScaleGuarantees:         g.rarely(3),
		GPUStrategy:             placement.Strategy(g.IntN(4)),
		CPUStrategy:             placement.Strategy(g.IntN(4)),
		NoConsolidation:         true,
		Reclaim:                 preempt.NoReclaim,
		Preempt:                 preempt.NoPreemption,
	}
	if g.rarely(2) {
		p.Order = queue.FairShare
	}
	if g.rarely(6) {
		p.MaxCPUOnlyTasksPerNode = 1 + g.IntN(2)
	}
	if g.rarely(4) {
		p.Granules = map[string]int64{GPU: oneOf[int64](g, 500, 2000), CPU: 3}
	}
	if g.rarely(3) {
		p.Classes = []Class{{Name: "high", Priority: 2, NonPreemptible: true}, {Name: "low", Priority: 1}}
		p.DefaultClass = oneOf(g, "", "low", "high")
		p.NonPreemptibleFrom = int32(2 * g.IntN(2))
		p.ClassBeatsPriority = g.rarely(3)
	}
	return p
}

// queues draws siblings and what is below them, to a depth. Where CPU is
// scarce it is under quota as well.
func (g *denseGen) queues(parent string, depth int, weighted, scarce bool) {
	for range 1 + g.IntN(3) {
		q := Queue{ID: fmt.Sprint("q", len(g.s.Queues)), Parent: parent}
		q.Created = time.Unix(int64(g.IntN(3)), 0).UTC()
		q.Resources = []QueueResource{g.given(GPU, 1000, 4, weighted)}
		if scarce {
			q.Resources = append(q.Resources, g.given(CPU, 2, 4, weighted))
		}
		if g.rarely(10) {
			q.MaxWorkloads = quota.Of(int64(g.IntN(3)))
		}
		if g.rarely(8) {
			q.Queueing = oneOf(g, queue.OwnBestEffort, queue.OwnStrict, queue.OwnBackfillPreemptible)
		}
		if g.rarely(15) {
			q.Nodes.Selector = &placement.Selector{Labels: map[string]string{"zone": oneOf(g, "a", "b")}}
		}
		g.s.Queues = append(g.s.Queues, q)
		if depth > 1 && !g.rarely(3) && len(g.s.Queues) < 8 {
			g.queues(q.ID, depth-1, weighted, scarce)
		}
	}
}

// given draws what a queue is given of a resource, in units.
func (g *denseGen) given(resource string, unit int64, most int, weighted bool) QueueResource {
	some := func(n int) quota.Bound {
		if !g.rarely(n) {
			return quota.Bound{}
		}
		return quota.Of(unit * int64(g.IntN(most+1)))
	}
	r := QueueResource{Resource: resource, Quota: some(2), OverQuotaPriority: int32(g.IntN(5) / 4)}
	r.Limit, r.BorrowingLimit, r.LendingLimit = some(10), some(15), quota.Bound{}
	if g.lends {
		r.LendingLimit = some(3)
	}
	if g.rarely(20) {
		r.Quota = quota.Unlimited()
	}
	if weighted {
		r.Weight = quota.Of(int64(g.IntN(4)))
	}
	return r
}

func (g *denseGen) workload(i int, leaves []string) {
	w := Workload{
		ID: fmt.Sprint("w", i), Priority: int32(g.IntN(4) * g.IntN(2)),
		Preemption: oneOf(g, PreemptionByClass, PreemptionByClass, Preemptible, NonPreemptible),
		Submitted:  time.Unix(int64(g.IntN(4)), 0).UTC(),
	}
	if g.rarely(5) {
		w.Strategy = placement.Strategy(g.IntN(4))
	}
	if len(leaves) > 0 {
		w.Queue = oneOf(g, leaves...)
	}
	if len(g.s.Pools[0].Policy.Classes) > 0 {
		w.Class = oneOf(g, "", "high", "low")
	}
	for set := range oneOf(g, 1, 1, 1, 1, 1, 2, 3) {
		p := PodSet{Name: fmt.Sprint("s", set), Count: oneOf(g, 1, 1, 1, 2, 3, 4), Request: g.request()}
		p.Min = g.IntN(p.Count + 1)
		if g.rarely(20) {
			p.Missing = g.IntN(p.Count + 1)
		}
		w.PodSets = append(w.PodSets, p)
	}
	if g.rarely(3) {
		g.tasks(&w)
	}
	g.s.Workloads = append(g.s.Workloads, w)
}

func (g *denseGen) request() (r Request) {
	switch g.IntN(8) {
	case 0:
	case 1:
		r.GPU = GPURequest{Milli: oneOf[int64](g, 250, 500, 600), Count: g.IntN(3)}
	case 2:
		r.GPU = GPURequest{Memory: 1 + g.Int64N(6)}
	case 3:
		r.GPU = GPURequest{Count: oneOf(g, 2, 2, 4)}
	default:
		r.GPU = GPURequest{Count: 1}
	}
	if oracleDevices(r.GPU) > 0 && g.rarely(12) {
		r.GPU.Models = []string{oneOf(g, "A", "B")}
	}
	if oracleDevices(r.GPU) > 0 && g.rarely(20) {
		r.GPU.MinMemory = 5
	}
	if oracleDevices(r.GPU) == 0 || g.rarely(2) {
		r.Resources = map[string]int64{CPU: 1 + g.Int64N(4)}
	}
	if g.rarely(12) {
		r.Selector.Labels = map[string]string{"zone": "a"}
	}
	if g.rarely(8) {
		r.Tolerations = []placement.Toleration{{Key: "apart"}}
	}
	return r
}

// tasks gives tasks of a workload places that they may have.
func (g *denseGen) tasks(w *Workload) {
	w.Ending = g.rarely(10)
	phase := oneOf(g, Running, Running, Claimed, Terminating)
	for _, set := range w.PodSets {
		for index := range set.Count {
			t := Task{PodSet: set.Name, Index: index, Phase: phase, Since: time.Unix(int64(g.IntN(9)), 0).UTC()}
			if w.Ending || g.rarely(12) {
				t.Phase = Terminating
			}
			if g.rarely(4) || t.Phase != Terminating && index >= set.Count-set.Missing {
				continue
			}
			if g.hold(&t, &set.Request, w.Queue) {
				w.Tasks = append(w.Tasks, t)
			}
		}
	}
}

// hold looks for a node with room for the task, from any one on, in the
// plainest way.
func (g *denseGen) hold(t *Task, r *Request, leaf string) bool {
	from := g.IntN(len(g.s.Nodes))
	for k := range g.s.Nodes {
		n := &g.s.Nodes[(from+k)%len(g.s.Nodes)]
		devices := g.devices(n, t.Phase, r)
		if len(devices) < oracleDevices(r.GPU) || !g.has(n.ID, t.Phase, r.Resources[CPU], n.Capacity[CPU]) ||
			n.MaxTasks > 0 && !g.has(n.ID+" tasks", t.Phase, 1, int64(n.MaxTasks)) {
			continue
		}
		g.take(n.ID, t.Phase, r.Resources[CPU])
		g.take(n.ID+" tasks", t.Phase, 1)
		for _, d := range devices {
			g.take(fmt.Sprint(n.ID, " ", d), t.Phase, oracleUnits(r, n.Devices[d]))
		}
		t.Node, t.Devices = n.ID, devices
		return true
	}
	return false
}

func (g *denseGen) devices(n *Node, phase Phase, r *Request) (devices []int) {
	for i, d := range n.Devices {
		model := oneOf(g, n.Devices...).Model
		if len(devices) > 0 {
			model = n.Devices[devices[0]].Model
		}
		if len(devices) < oracleDevices(r.GPU) && d.Model == model && d.Memory >= r.GPU.MinMemory &&
			(len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, d.Model)) &&
			g.has(fmt.Sprint(n.ID, " ", i), phase, oracleUnits(r, d), 1000*max(1, d.Memory)) {
			devices = append(devices, i)
		}
	}
	return devices
}

// has says whether S4 still holds for a thing when a phase takes more of it.
func (g *denseGen) has(thing string, phase Phase, amount, capacity int64) bool {
	held := g.held[thing]
	if held == nil {
		return amount <= capacity
	}
	other := held[phase]
	if phase == Running {
		other = max(held[Claimed], held[Terminating])
	}
	return amount <= capacity-held[Running]-other
}

func (g *denseGen) take(thing string, phase Phase, amount int64) {
	if g.held[thing] == nil {
		g.held[thing] = new([3]int64)
	}
	g.held[thing][phase] += amount
}

// genDetermined is genDense under the Determined presets and the knobs that their source
// has: kinds of task, priorities, weights, max slots and max concurrent trials, and no quota.
// What evicts is off, as the oracle knows nothing of it.
func genDetermined(seed uint64) *State {
	s := genDense(seed)
	g := rand.New(rand.NewPCG(seed, 19))
	for i := range s.Pools {
		s.Pools[i].Policy = determinedPolicy(g)
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		q.Queueing = queue.OwnQueueing(0)
		for r := range q.Resources {
			one := &q.Resources[r]
			one.Quota, one.LendingLimit, one.BorrowingLimit = quota.Bound{}, quota.Bound{}, quota.Bound{}
			if one.Weight.Given() {
				one.Weight = quota.Of(int64(1 + g.IntN(4)))
			}
			if one.Resource == GPU && g.IntN(5) == 0 {
				one.Limit = quota.Of(1000 * int64(1+g.IntN(6)))
			}
		}
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		w.Class = []string{"", "", "trial", "notebook", "command"}[g.IntN(5)]
		w.Preemption = PreemptionByClass
		if g.IntN(3) == 0 && len(w.Tasks) == 0 {
			w.PodSets = []PodSet{{Name: "s0", Count: 1 + g.IntN(8), Request: Request{GPU: GPURequest{Count: 1}}}}
		}
	}
	return s
}

func determinedPolicy(g *rand.Rand) Policy {
	p := DeterminedFairShare()
	if g.IntN(2) == 0 {
		p = DeterminedPriority()
		p.LowerFirst, p.ClassBeatsPriority = g.IntN(4) > 0, g.IntN(4) == 0
		if g.IntN(2) == 0 {
			p.Queueing = queue.BackfillPreemptible
		}
	}
	p.Reclaim = preempt.NoReclaim
	if g.IntN(3) == 0 {
		p.Fitting = gang.MixedWholeNodes
	}
	return p
}
