package allot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// genState draws a State with small numbers that Check passes, by
// construction: several pools, queue trees of up to three levels, gangs,
// groups, alternatives, fractions, requests for device memory, selectors,
// taints, all phases, lost nodes and devices, foreign use, queues that are over
// their quota and limit, a topology and constraints, and everything that making room asks about.
func genState(t *rapid.T) *State { return newStateGen(t).state() }

// genStillState is genState without a topology and without what only making room
// knows: no policy lets anything be evicted or moved.
func genStillState(t *rapid.T) *State {
	g := newStateGen(t)
	g.still = true
	return g.state()
}

// genExtremeState is genState with the largest and smallest numbers there are
// among the small ones, long and odd names, and thousands of taints.
func genExtremeState(t *rapid.T) *State {
	g := newStateGen(t)
	g.extreme = true
	if g.chance(2) {
		g.memory = MaxAmount / 8
	}
	return g.state()
}

// generators are all of them, by name.
var generators = map[string]func(*rapid.T) *State{"small": genState, "still": genStillState, "extreme": genExtremeState}

// A stateGen draws one State. It keeps the same ledger of what tasks hold as
// the rule S4 does, in the plainest way, so that no task is drawn that does not
// fit.
type stateGen struct {
	t       *rapid.T
	extreme bool
	still   bool // nothing makes room
	s       *State
	memory  int64            // of the devices, as the unit of all device memory
	pool    []int            // by node: its pool or −1
	leaves  map[int][]*Queue // by pool
	held    map[string]map[Phase]int64
	poolOf  map[string]int // by workload
}

func newStateGen(t *rapid.T) *stateGen {
	return &stateGen{t: t, s: &State{}, memory: 8, leaves: map[int][]*Queue{}, held: map[string]map[Phase]int64{}, poolOf: map[string]int{}}
}

// chance is true once in n times.
func (g *stateGen) chance(n int) bool { return rapid.IntRange(0, n-1).Draw(g.t, "chance") == n-1 }

func (g *stateGen) upTo(n int) int { return rapid.IntRange(0, n).Draw(g.t, "n") }

func pick[T any](g *stateGen, from ...T) T { return rapid.SampledFrom(from).Draw(g.t, "pick") }

// amount draws one of the small amounts, or an extreme one.
func (g *stateGen) amount(small ...int64) int64 {
	if g.extreme && g.chance(3) {
		return pick[int64](g, 0, 1, MaxAmount-1, MaxAmount)
	}
	return pick(g, small...)
}

func (g *stateGen) bound(small ...int64) quota.Bound {
	if g.chance(10) {
		return quota.Unlimited()
	}
	return quota.Of(g.amount(small...))
}

// maybe is a bound once in n times.
func (g *stateGen) maybe(n int, small ...int64) quota.Bound {
	if !g.chance(n) {
		return quota.Bound{}
	}
	return g.bound(small...)
}

func (g *stateGen) time() time.Time {
	if g.chance(6) {
		return time.Time{}
	}
	if g.extreme && g.chance(3) {
		return pick(g, time.Unix(0, 0).UTC(), time.Unix(endSecond-1, 999999000).UTC())
	}
	return time.Unix(1_700_000_000+int64(g.upTo(20)), int64(g.upTo(1))*1000).UTC()
}

// name makes an ID of its stem: unique where the stem is.
func (g *stateGen) name(stem string, i int) string {
	name := fmt.Sprintf("%s%d", stem, i)
	if g.extreme && g.chance(4) {
		name = pick(g, `"<&> `, "ä€𝄞 ", strings.Repeat("x", maxText-40)) + name
	}
	return name
}

func (g *stateGen) state() *State {
	g.s.Now = g.time()
	g.s.Revision = pick(g, "", "r1")
	pools := pick(g, 0, 0, 1, 1, 2, 3)
	if g.still {
		pools = max(1, pools) // the zero Policy makes room
	}
	for i := range 1 + g.upTo(7) {
		g.node(i, pools)
	}
	g.pools(pools)
	for p := range max(1, pools) {
		g.queues(p)
	}
	for i := range g.upTo(10) {
		g.workload(i)
	}
	g.budgets()
	g.s.Nodes = shuffled(g, g.s.Nodes)
	g.s.Queues = shuffled(g, g.s.Queues)
	g.s.Workloads = shuffled(g, g.s.Workloads)
	g.scores()
	g.topology()
	for i := range g.s.Workloads {
		g.leavesOther(&g.s.Workloads[i], g.poolOf[g.s.Workloads[i].ID])
	}
	return g.s
}

func shuffled[T any](g *stateGen, list []T) []T {
	if len(list) < 2 || g.chance(2) {
		return list
	}
	return rapid.Permutation(list).Draw(g.t, "order")
}

func (g *stateGen) node(i, pools int) {
	n := Node{
		ID:       g.name("n", i),
		Class:    pick(g, "", "", "fast"),
		Capacity: map[string]int64{CPU: g.amount(2000, 4000, 8000), Memory: g.amount(4, 16, 64)},
		Labels:   map[string]string{"zone": pick(g, "a", "b")},
		Cordoned: g.chance(12),
		Lost:     g.chance(12),
	}
	if g.chance(4) {
		n.Capacity["fpga"] = g.amount(1, 2)
		n.Labels["generation"] = pick(g, "1", "2", "new")
	}
	if g.chance(4) {
		n.Foreign = map[string]int64{CPU: g.amount(500, 1000, 9000)}
		n.ForeignTasks = g.upTo(1)
	}
	if g.chance(4) {
		n.MaxTasks = 1 + g.upTo(5)
	}
	if g.chance(4) {
		n.Rank = int64(g.upTo(3)) - 1
	}
	if g.chance(6) {
		n.Taints = []placement.Taint{{Key: "dedicated", Value: pick(g, "x", ""), Effect: pick(g, placement.DefaultEffect, placement.PreferNoSchedule, placement.NoExecute)}}
	}
	if g.extreme {
		g.extremeNode(&n)
	}
	g.devices(&n)
	owner := 0
	if pools > 0 {
		owner = g.upTo(pools) - g.upTo(1) // one beyond the last is no pool
		owner = max(0, owner)
		if owner == pools {
			owner = -1
		}
		n.Labels["pool"] = fmt.Sprint("p", owner)
	}
	g.pool = append(g.pool, owner)
	g.s.Nodes = append(g.s.Nodes, n)
}

// extremeNode gives a node extreme numbers, or the first one many taints.
func (g *stateGen) extremeNode(n *Node) {
	switch g.upTo(3) {
	case 0:
		n.Rank = pick[int64](g, math.MinInt64, math.MaxInt64)
		n.MaxTasks = math.MaxInt32
		n.ForeignTasks = pick(g, 0, math.MaxInt32)
	case 1:
		if len(g.s.Nodes) > 0 {
			return
		}
		for i := range 2000 {
			n.Taints = append(n.Taints, placement.Taint{Key: fmt.Sprint("k", i), Effect: placement.PreferNoSchedule})
		}
	}
}

func (g *stateGen) devices(n *Node) {
	count := pick(g, 0, 1, 2, 2, 4, 8)
	if g.extreme && g.chance(8) {
		count = maxDevices
	}
	models := pick(g, []string{"A"}, []string{"B"}, []string{"A", "B"}, []string{""})
	for i := range count {
		d := Device{Model: models[i*len(models)/count], Unhealthy: g.chance(16)}
		d.Memory = g.memory * pick[int64](g, 2, 3)
		if d.Model == "" {
			d.Memory = 0
		}
		if g.chance(16) {
			d.Foreign = pick[int64](g, 250, 1000)
		}
		n.Devices = append(n.Devices, d)
	}
}

func (g *stateGen) pools(count int) {
	for p := range count {
		pool := Pool{ID: fmt.Sprint("p", p), Policy: g.policy()}
		var ids []string
		for i, owner := range g.pool {
			if owner == p {
				ids = append(ids, g.s.Nodes[i].ID)
			}
		}
		if len(ids) > 0 && g.chance(2) {
			pool.Nodes.IDs = ids
		} else {
			pool.Nodes.Selector = &placement.Selector{Labels: map[string]string{"pool": pool.ID}}
		}
		g.s.Pools = append(g.s.Pools, pool)
	}
}

func (g *stateGen) policy() Policy {
	p := Policy{
		LowerFirst:              g.chance(4),
		ClassBeatsPriority:      g.chance(4),
		Order:                   pick(g, queue.FairShare, queue.FairShare, queue.PriorityFirst, queue.Global, queue.Deprived, queue.ShareThenAge),
		Queueing:                pick(g, queue.BestEffort, queue.BestEffort, queue.StrictQueue, queue.StrictPool, queue.BackfillPreemptible),
		BlockAlikeOnly:          g.chance(3),
		CPUOnlyApart:            g.chance(5),
		NonPreemptibleOverQuota: g.chance(4),
		Shares:                  pick(g, fairshare.QuotaThenWeight, fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin),
		InnerWeightByQuota:      g.chance(4),
		ClaimLeaving:            g.chance(2),
		EqualSharesAtZeroWeight: g.chance(4),
		ScaleGuarantees:         g.chance(3),
		GPUStrategy:             pick(g, placement.Default, placement.BinPack, placement.Spread, placement.First),
		CPUStrategy:             pick(g, placement.Default, placement.BinPack, placement.Spread, placement.First),
	}
	if g.chance(6) {
		p.MaxCPUOnlyTasksPerNode = 1 + g.upTo(2)
	}
	if g.chance(3) {
		p.Granules = map[string]int64{GPU: max(1, g.amount(500, 1000, 2000)), Memory: 4}
	}
	if g.chance(2) {
		p.Classes = []Class{{Name: "high", Priority: 100, NonPreemptible: true}, {Name: "low", Priority: 50}}
		p.DefaultClass = pick(g, "", "low", "high")
		p.NonPreemptibleFrom = pick[int32](g, 0, 75)
	}
	g.roomPolicy(&p)
	return p
}

// scores gives some policies and workloads strategies that score nodes (P4, P5).
func (g *stateGen) scores() {
	for i := range g.s.Pools {
		p := &g.s.Pools[i].Policy
		if g.chance(4) {
			p.GPUStrategy = g.scoring()
		}
		if g.chance(4) {
			p.CPUStrategy = g.scoring()
		}
		if g.chance(4) {
			p.Scoring = g.parameters()
		}
	}
	for i := range g.s.Workloads {
		if g.chance(8) {
			g.s.Workloads[i].Strategy = g.scoring()
		}
	}
}

// scoring is a strategy that scores nodes.
func (g *stateGen) scoring() placement.Strategy {
	return pick(g, placement.FragmentationGradient, placement.ShadowPrice, placement.DotProduct,
		placement.GPUPacking, placement.GPUClustering, placement.BestFit, placement.Random)
}

// parameters draws those of scoring. Where only a part of the state makes the
// mix, a plan changes it, and M5 is not sure (see [MixSource]): only extreme
// states, of which nobody asks for that, have it.
func (g *stateGen) parameters() Scoring {
	s := Scoring{
		MixFrom: pick(g, MixBoth, MixGiven), Coverage: pick[int64](g, 0, 0, 1, 50, 100),
		Ties: pick(g, placement.ByPosition, placement.LeastGPULeft, placement.LeastCPULeft),
		Seed: min(MaxAmount, g.amount(0, 1, 2)),
	}
	if g.extreme {
		s.MixFrom = pick(g, MixPending, MixRunning, MixBoth)
	}
	if s.Exact = g.chance(3); !s.Exact {
		s.Scale, s.Steps = min(placement.MaxScale, g.amount(0, 1, 500)), pick(g, 0, 1, 2, placement.MaxSteps)
	}
	for range g.upTo(2) {
		s.Mix = append(s.Mix, MixShape{Request: g.request(), Weight: max(1, min(maxMixWeight/2, g.amount(1, 2, 5)))})
	}
	return s
}

// queues draws the queues of a pool: none, or a tree of up to three levels.
func (g *stateGen) queues(pool int) {
	if g.chance(5) {
		return
	}
	g.siblings(pool, "", 1)
	for i := range g.s.Queues {
		q := &g.s.Queues[i]
		inner := slices.ContainsFunc(g.s.Queues, func(c Queue) bool { return c.Parent == q.ID })
		if q.Pool == g.poolName(pool) && !inner {
			g.leaves[pool] = append(g.leaves[pool], &Queue{ID: q.ID, Nodes: q.Nodes})
		}
	}
}

func (g *stateGen) poolName(pool int) string {
	if len(g.s.Pools) < 2 {
		return ""
	}
	return g.s.Pools[pool].ID
}

func (g *stateGen) siblings(pool int, parent string, depth int) {
	weighted := g.chance(2)
	for range 1 + g.upTo(2) {
		q := Queue{ID: g.name("q", len(g.s.Queues)), Pool: g.poolName(pool), Parent: parent, Created: g.time()}
		q.MaxWorkloads = g.maybe(8, 1, 2)
		q.MinRuntime = g.minRuntime(6)
		if g.chance(20) {
			q.Queueing = pick(g, queue.OwnBestEffort, queue.OwnStrict, queue.OwnBackfillPreemptible)
		}
		if g.chance(6) {
			q.Nodes.Selector = &placement.Selector{Labels: map[string]string{"zone": pick(g, "a", "b")}}
		}
		gpu := QueueResource{Resource: GPU, Quota: g.maybe(2, 0, 1000, 2000, 4000), Limit: g.maybe(4, 0, 2000, 4000)}
		gpu.BorrowingLimit = g.maybe(8, 0, 1000)
		gpu.LendingLimit = g.maybe(8, 0, 1000)
		gpu.OverQuotaPriority = int32(g.upTo(3) / 3)
		if weighted {
			gpu.Weight = quota.Of(g.amount(0, 1, 2, 3))
		}
		q.Resources = []QueueResource{gpu}
		if g.chance(3) {
			q.Resources = append(q.Resources, QueueResource{Resource: CPU, Quota: g.maybe(2, 1000, 4000), Limit: g.maybe(3, 2000, 8000)})
		}
		if g.chance(5) {
			q.Resources = append(q.Resources, QueueResource{Resource: GPU, Class: pick(g, "A", "fast"), Quota: g.maybe(2, 1000), Limit: g.maybe(2, 1000, 3000)})
		}
		g.s.Queues = append(g.s.Queues, q)
		if depth < 3 && g.chance(3) {
			g.siblings(pool, q.ID, depth+1)
		}
	}
}

func (g *stateGen) workload(i int) {
	pool := g.upTo(max(1, len(g.s.Pools)) - 1)
	w := Workload{
		ID:         g.name("w", i),
		Priority:   int32(g.upTo(2) * 50),
		Preemption: pick(g, PreemptionByClass, PreemptionByClass, Preemptible, NonPreemptible),
		Submitted:  g.time(),
		Strategy:   pick(g, placement.Default, placement.Default, placement.Spread),
		Ending:     g.chance(12),
	}
	if g.extreme && g.chance(4) {
		w.Priority = pick[int32](g, -math.MaxInt32, math.MaxInt32)
	}
	leaf := g.leaf(pool)
	w.Queue = leaf.ID
	if w.Queue == "" {
		w.Pool = g.poolName(pool)
	}
	if len(g.s.Pools) > 0 && len(g.s.Pools[pool].Policy.Classes) > 0 {
		w.Class = pick(g, "", "high", "low")
	}
	w.PodSets, w.Groups = g.podSets()
	for range max(0, g.upTo(4)-2) {
		form := Form{Queue: pick(g, "", g.leaf(pool).ID)}
		form.PodSets, form.Groups = g.podSets()
		w.Alternatives = append(w.Alternatives, form)
		w.Preemption = NonPreemptible // an eviction that ends in another form is the stability tests' (G5)
	}
	if g.chance(2) {
		g.tasks(&w, pool)
	}
	g.roomWorkload(&w)
	g.s.Workloads = append(g.s.Workloads, w)
	g.poolOf[w.ID] = pool
}

// leaf draws a leaf queue of the pool; the implicit queue has no ID.
func (g *stateGen) leaf(pool int) *Queue {
	if len(g.leaves[pool]) == 0 {
		return &Queue{}
	}
	return rapid.SampledFrom(g.leaves[pool]).Draw(g.t, "leaf")
}

func (g *stateGen) podSets() ([]PodSet, []Group) {
	count := pick(g, 1, 1, 1, 2, 3)
	sets := make([]PodSet, count)
	for i := range sets {
		p := &sets[i]
		p.Count = pick(g, 1, 1, 1, 2, 3, 4)
		p.Min = g.upTo(p.Count)
		if g.chance(8) {
			p.Missing = g.upTo(p.Count)
		}
		p.Request = g.request()
		if count > 1 {
			p.Name = fmt.Sprint("s", i)
		}
	}
	if count < 2 || g.chance(2) {
		g.step(sets)
		return sets, nil
	}
	groups := []Group{{Name: "g0", Min: g.upTo(count)}}
	for i := range sets {
		sets[i].Group = "g0"
	}
	if g.chance(2) { // the last set one level deeper
		groups = append(groups, Group{Name: "g1", Parent: "g0", Min: g.upTo(1)})
		sets[count-1].Group = "g1"
	}
	return sets, groups
}

func (g *stateGen) request() Request {
	r := Request{Resources: map[string]int64{}}
	switch g.upTo(7) {
	case 0: // without GPUs
	case 1:
		r.GPU = GPURequest{Milli: pick[int64](g, 100, 250, 500, 1000), Count: g.upTo(2)}
	case 2:
		r.GPU = GPURequest{Memory: g.memory * pick[int64](g, 1, 2, 3), Count: g.upTo(2)}
	default:
		r.GPU = GPURequest{Count: pick(g, 1, 1, 2, 4)}
	}
	if g.chance(4) {
		r.GPU.Models = pick(g, []string{"A"}, []string{"A", "B"}, []string{"nowhere"})
		r.GPU.MinMemory = g.memory * int64(g.upTo(3))
	}
	if g.chance(2) {
		r.Resources[CPU] = g.amount(0, 500, 1000, 3000)
	}
	if g.chance(3) {
		r.Resources[Memory] = g.amount(1, 4)
	}
	if g.chance(8) {
		r.Resources["fpga"] = g.amount(1)
	}
	if len(r.Resources) == 0 {
		r.Resources = nil
	}
	if g.chance(6) {
		r.Selector.Labels = map[string]string{"zone": pick(g, "a", "b")}
	}
	if g.chance(8) {
		r.Selector.Expressions = []placement.Expression{pick(g,
			placement.Expression{Key: "zone", Operator: placement.NotIn, Values: []string{"b"}},
			placement.Expression{Key: "generation", Operator: placement.Exists},
			placement.Expression{Key: "generation", Operator: placement.Gt, Values: []string{"1"}})}
	}
	if g.chance(5) {
		r.Tolerations = []placement.Toleration{{Key: "dedicated", Operator: placement.TolerationExists}}
	}
	return r
}

// tasks gives some tasks of one form places that they may have.
func (g *stateGen) tasks(w *Workload, pool int) {
	w.Form = g.upTo(len(w.Alternatives))
	sets, leaf := w.PodSets, w.Queue
	if w.Form > 0 {
		form := &w.Alternatives[w.Form-1]
		sets = form.PodSets
		if form.Queue != "" {
			leaf = form.Queue
		}
	}
	phase := pick(g, Running, Running, Running, Claimed, Terminating)
	for s := range sets {
		for index := range sets[s].Count + g.upTo(1) {
			task := Task{PodSet: sets[s].Name, Index: index, Phase: phase, Since: g.time()}
			if w.Ending || g.chance(10) {
				task.Phase = Terminating
			}
			if task.Phase != Terminating && index >= sets[s].Count-sets[s].Missing || g.chance(8) {
				continue
			}
			if g.place(&task, &sets[s].Request, pool, leaf) {
				w.Tasks = append(w.Tasks, task)
				g.moving(w, task, &sets[s].Request, pool, leaf)
			}
		}
	}
	w.Tasks = shuffled(g, w.Tasks)
}

// leavesOther has a workload claim its places and leave some of another of its forms, now
// and then (S5, G5).
func (g *stateGen) leavesOther(w *Workload, pool int) {
	if g.still || len(w.Alternatives) == 0 || len(w.Tasks) == 0 || slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Phase == Terminating }) || g.chance(4) {
		return
	}
	for k := range w.Tasks {
		w.Tasks[k].Phase = Claimed
	}
	forms := 1 + len(w.Alternatives)
	other := (w.Form + 1 + g.upTo(forms-2)) % forms
	f := formOf(w, other)
	for _, set := range f.PodSets {
		for index := range set.Count + g.upTo(1) {
			task := Task{PodSet: set.Name, Index: index, Phase: Terminating, Since: g.time()}
			if !g.chance(3) && g.place(&task, &set.Request, pool, f.Queue) {
				w.Tasks, w.LeavingForm = append(w.Tasks, task), quota.Of(int64(other))
			}
		}
	}
}

// place looks for a node, from a drawn one on, and holds what the task takes. Often,
// but less so in still states, the node may have left the pool under it (S7).
func (g *stateGen) place(task *Task, r *Request, pool int, leaf string) bool {
	odds := 2
	if g.still {
		odds = 4
	}
	from, strays := g.upTo(len(g.s.Nodes)-1), len(g.s.Pools) > 0 && g.chance(odds)
	for k := range g.s.Nodes {
		i := (from + k) % len(g.s.Nodes)
		n := &g.s.Nodes[i]
		if g.pool[i] != pool && !strays || !g.mayUse(leaf, n) || !r.Selector.Matches(n.Labels) ||
			slices.ContainsFunc(n.Taints, func(t placement.Taint) bool { return t.TurnsAway(r.Tolerations) }) {
			continue
		}
		slots := int64(math.MaxInt64)
		if n.MaxTasks > 0 {
			slots = int64(n.MaxTasks)
		}
		fits := g.fits(n.ID, task.Phase, 1, slots)
		for name, amount := range r.Resources {
			fits = fits && g.fits(n.ID+"/"+name, task.Phase, amount, n.Capacity[name])
		}
		devices := g.takeDevices(n, task.Phase, r)
		if !fits || int64(len(devices)) != r.GPU.devices() {
			continue
		}
		g.hold(n.ID, task.Phase, 1)
		for name, amount := range r.Resources {
			g.hold(n.ID+"/"+name, task.Phase, amount)
		}
		for _, d := range devices {
			g.hold(fmt.Sprint(n.ID, "/", d), task.Phase, deviceTake(r, n.Devices[d]))
		}
		task.Node, task.Devices = n.ID, devices
		return true
	}
	return false
}

func (g *stateGen) mayUse(leaf string, n *Node) bool {
	for leaf != "" {
		q := &g.s.Queues[slices.IndexFunc(g.s.Queues, func(q Queue) bool { return q.ID == leaf })]
		if !q.Nodes.Selector.Matches(n.Labels) {
			return false
		}
		leaf = q.Parent
	}
	return true
}

func deviceTake(r *Request, d Device) int64 {
	switch {
	case r.GPU.Memory > 0:
		return 1000 * r.GPU.Memory
	case r.GPU.Milli > 0:
		return r.GPU.Milli * max(1, d.Memory)
	}
	return 1000 * max(1, d.Memory)
}

// takeDevices lists the first devices of one model with room, as many as asked.
func (g *stateGen) takeDevices(n *Node, phase Phase, r *Request) []int {
	var devices []int
	for i, d := range n.Devices {
		accepted := len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, d.Model)
		if !accepted || d.Memory < r.GPU.MinMemory || int64(len(devices)) == r.GPU.devices() {
			continue
		}
		if len(devices) > 0 && n.Devices[devices[0]].Model != d.Model {
			break
		}
		if g.fits(fmt.Sprint(n.ID, "/", i), phase, deviceTake(r, d), 1000*max(1, d.Memory)) {
			devices = append(devices, i)
		}
	}
	return devices
}

// fits says whether S4 still holds for a thing when a phase takes n more of it.
func (g *stateGen) fits(thing string, phase Phase, n, capacity int64) bool {
	held := g.held[thing]
	free := capacity - held[Running] - held[phase]
	switch phase {
	case Running:
		free = capacity - held[Running] - max(held[Claimed], held[Terminating])
	case Claimed, Terminating:
	}
	return n <= free
}

func (g *stateGen) hold(thing string, phase Phase, n int64) {
	if g.held[thing] == nil {
		g.held[thing] = map[Phase]int64{}
	}
	g.held[thing][phase] += n
}

// The generator's states have what they are said to have, often enough to
// matter.
func TestGeneratorCoverage(t *testing.T) {
	const states = 400
	counts := make(map[string]int)
	drawn := rapid.Custom(genState)
	for seed := range states {
		features := make(map[string]bool)
		s := drawn.Example(seed)
		for i := range s.Workloads {
			workloadFeatures(&s.Workloads[i], features)
		}
		lost := make(map[string]bool)
		for _, n := range s.Nodes {
			lost[n.ID] = n.Lost
			features["foreign use"] = features["foreign use"] || n.Foreign != nil
			features["taint"] = features["taint"] || n.Taints != nil
		}
		for _, w := range s.Workloads {
			for _, task := range w.Tasks {
				features["task on a lost node"] = features["task on a lost node"] || lost[task.Node]
				features["task of another pool"] = features["task of another pool"] || task.Phase == Running && strays(s, &w, task.Node)
			}
		}
		features["several pools"] = len(s.Pools) > 1
		roomFeatures(s, features)
		topologyFeatures(s, features)
		parents := make(map[string]string)
		for _, q := range s.Queues {
			parents[q.ID] = q.Parent
		}
		for i := range s.Pools {
			p := &s.Pools[i].Policy
			features["scored pool"] = features["scored pool"] || p.GPUStrategy.Scores() || p.CPUStrategy.Scores()
			features["own mix"] = features["own mix"] || p.Scoring.Mix != nil
		}
		for _, q := range s.Queues {
			features["depth 3"] = features["depth 3"] || parents[parents[q.ID]] != ""
		}
		for name, has := range features { // counting has no order
			if has {
				counts[name]++
			}
		}
	}
	for _, name := range []string{
		"alternatives", "groups", "gang", "elastic", "fraction", "device memory", "selector", "missing tasks",
		"running", "claimed", "terminating", "foreign use", "taint", "task on a lost node", "task of another pool", "several pools", "depth 3",
		"reclaim", "reclaim by quota", "preemption", "consolidation", "minimum runtime", "budget", "cap of evictions",
		"levels", "hardware", "links", "fitting", "constraint", "constraint of a group", "slices", "island",
		"exit action", "retries", "halving", "moving", "leaves another form", "partial gang", "scored pool", "own mix", "scored workload",
	} {
		t.Logf("%-20s %3d%%", name, counts[name]*100/states)
		if counts[name]*100 < 4*states {
			t.Errorf("%s: only %d of %d states", name, counts[name], states)
		}
	}
}

// strays says whether a node is not in the pool of a workload (S7).
func strays(s *State, w *Workload, node string) bool {
	queue := w.Queue
	if w.Form > 0 {
		queue = cmp.Or(w.Alternatives[w.Form-1].Queue, queue)
	}
	pool := w.Pool
	for i := range s.Queues {
		if s.Queues[i].ID == queue {
			pool = s.Queues[i].Pool
		}
	}
	at := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == node })
	return slices.ContainsFunc(s.Pools, func(p Pool) bool {
		return (p.ID == pool || len(s.Pools) == 1) && !p.Nodes.takes(&s.Nodes[at])
	})
}

func workloadFeatures(w *Workload, features map[string]bool) {
	set := func(name string, has bool) { features[name] = features[name] || has }
	set("alternatives", len(w.Alternatives) > 0)
	set("groups", len(w.Groups) > 0)
	set("scored workload", w.Strategy.Scores())
	for _, p := range w.PodSets {
		set("gang", p.Min > 1)
		set("elastic", p.Min > 0 && p.Min < p.Count)
		set("missing tasks", p.Missing > 0)
		set("fraction", p.Request.GPU.Milli > 0)
		set("device memory", p.Request.GPU.Memory > 0)
		set("selector", !p.Request.Selector.IsZero())
	}
	for _, task := range w.Tasks {
		set(task.Phase.String(), true)
	}
}
