package allot_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A chance draws numbers: a seeded generator, or rapid.
type chance interface {
	IntN(n int) int // 0 ≤ result < n
}

// oneOf draws one of the values.
func oneOf[T any](c chance, from ...T) T { return from[c.IntN(len(from))] }

// A stabilityHost is a small cluster on which much is wanted and little is
// there, and what happens to it: it draws the state and every change of it that
// comes from outside.
type stabilityHost struct {
	chance
	s       *allot.State
	divided []string // resources that quotas are given for, GPU first
	models  []string // of GPUs, of which quotas are given too (Q8); none is one model
	// modelsOnly: of GPUs in all no quotas are given at first.
	modelsOnly bool
	named      int // workloads and queues that were given a name so far
}

// Amounts are whole units in thousands, so that scenarios read well.
const unit = 1000

// fpga is a third resource that may be divided.
const fpga = "fpga"

func newStabilityHost(c chance) *stabilityHost {
	h := &stabilityHost{chance: c, s: &allot.State{Now: time.Unix(1_000_000_000, 0).UTC()}}
	h.divided = [][]string{{allot.GPU}, {allot.GPU, allot.CPU}, {allot.GPU, allot.CPU, fpga}}[c.IntN(3)]
	if h.rarely(8) {
		h.models = oneOf(h, []string{"A", "H"}, []string{"H", "A"})
		h.modelsOnly = h.rarely(2)
	}
	pools := 1 + h.IntN(10)/9
	for p := range pools {
		h.s.Pools = append(h.s.Pools, allot.Pool{ID: fmt.Sprint("p", p), Policy: h.policy()})
	}
	for i := range 2 + h.IntN(3) {
		n := h.node(i)
		pool := &h.s.Pools[i%pools]
		pool.Nodes.IDs = append(pool.Nodes.IDs, n.ID)
		h.s.Nodes = append(h.s.Nodes, n)
	}
	for p := range h.s.Pools {
		h.siblings(h.s.Pools[p].ID, "", oneOf(h, 1, 2, 2, 3, 3))
	}
	for range 3 + h.IntN(5) {
		h.submit()
	}
	if h.rarely(16) {
		for _, owner := range []string{"ann", "bob"} {
			h.s.Budgets = append(h.s.Budgets, allot.DisruptionBudget{Owner: owner, MinRunning: h.IntN(4)})
		}
	}
	return h
}

// rarely is true once in n times.
func (h *stabilityHost) rarely(n int) bool { return h.IntN(n) == n-1 }

func (h *stabilityHost) divides(resource string) bool { return slices.Contains(h.divided, resource) }

func (h *stabilityHost) node(i int) allot.Node {
	n := allot.Node{ID: fmt.Sprint("n", i), Capacity: map[string]int64{allot.CPU: unit * oneOf[int64](h, 4, 4, 6)}}
	if h.divides(fpga) {
		n.Capacity[fpga] = oneOf[int64](h, 1, 2, 3)
	}
	for range oneOf(h, 1, 2, 2, 2, 3, 4) {
		n.Devices = append(n.Devices, allot.Device{Memory: 4})
	}
	if len(h.models) > 0 {
		model := h.models[i%2]
		for d := range n.Devices {
			n.Devices[d].Model = model
		}
	}
	if h.rarely(20) {
		n.MaxTasks = 1 + h.IntN(3)
	}
	if h.rarely(2) {
		n.Labels = map[string]string{"zone": "a"}
	}
	return n
}

// policy draws a preset or a mixture of knobs.
func (h *stabilityHost) policy() allot.Policy {
	if h.rarely(5) {
		p := oneOf(h, allot.OSMO, allot.RunAI, allot.RunAI20, allot.DeterminedFairShare, allot.DeterminedPriority)()
		if p.Order == queue.Global && h.rarely(2) {
			p.Preempt, p.Queueing = preempt.WithinPool, queue.BackfillPreemptible
		}
		return p
	}
	p := allot.Policy{
		LowerFirst:              h.rarely(6),
		Order:                   oneOf(h, queue.FairShare, queue.FairShare, queue.FairShare, queue.PriorityFirst, queue.Global, queue.Deprived, queue.ShareThenAge),
		Queueing:                oneOf(h, queue.BestEffort, queue.BestEffort, queue.BestEffort, queue.StrictQueue, queue.StrictPool, queue.BackfillPreemptible),
		BlockAlikeOnly:          h.rarely(3),
		CPUOnlyApart:            h.rarely(8),
		NonPreemptibleOverQuota: h.rarely(5),
		Shares:                  oneOf(h, fairshare.QuotaThenWeight, fairshare.QuotaThenWeight, fairshare.QuotaThenWeight, fairshare.ByDemand, fairshare.MaxMin),
		InnerWeightByQuota:      h.rarely(4),
		ClaimLeaving:            h.rarely(3),
		EqualSharesAtZeroWeight: h.rarely(4),
		ScaleGuarantees:         h.rarely(3),
		GPUStrategy:             oneOf(h, placement.Default, placement.Default, placement.Spread, placement.First),
		CPUStrategy:             oneOf(h, placement.Default, placement.Default, placement.Spread),
	}
	if h.rarely(2) {
		p.Granules = map[string]int64{allot.CPU: unit}
	}
	h.roomPolicy(&p)
	if h.rarely(6) {
		p.GPUStrategy, p.CPUStrategy = h.scoring(), oneOf(h, placement.Default, h.scoring())
		p.Scoring.Steps, p.Scoring.Ties = oneOf(h, 0, 0, 1, 2), oneOf(h, placement.ByPosition, placement.LeastGPULeft)
		p.Scoring.Seed = int64(h.IntN(3))
	}
	return p
}

// scoring is a strategy that scores nodes (P4, P5).
func (h *stabilityHost) scoring() placement.Strategy {
	return oneOf(h, placement.FragmentationGradient, placement.ShadowPrice, placement.DotProduct,
		placement.GPUPacking, placement.GPUClustering, placement.BestFit, placement.Random)
}

// roomPolicy draws the knobs of making room.
func (h *stabilityHost) roomPolicy(p *allot.Policy) {
	p.NoConsolidation = h.rarely(2)
	p.MaxMovedPercent = oneOf[int64](h, 0, 0, 50, 400)
	p.ConsolidateBeyondShare = h.rarely(3)
	if h.rarely(4) {
		p.MaxRelocations = quota.Of(oneOf[int64](h, 0, 1, 3))
	}
	p.Reclaim = oneOf(h, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuotaAndShare, preempt.ByQuota, preempt.ByQuota, preempt.NoReclaim)
	p.ReclaimNonPreemptibleOnly = h.rarely(20)
	p.ReclaimMarginMilli = oneOf[int64](h, 0, 0, 0, 1000, 1500)
	p.Straddle = oneOf(h, preempt.Take, preempt.Take, preempt.Spare)
	p.Preempt = oneOf(h, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinQueue, preempt.WithinPool, preempt.WithinPool, preempt.NoPreemption)
	if p.Preempt == preempt.WithinPool {
		p.Reclaim = preempt.NoReclaim
	}
	p.CheckpointOnEviction = h.rarely(4)
	if h.rarely(8) {
		p.MinRuntime = h.minRuntime()
	}
	if h.rarely(20) {
		p.MaxEvictions = 1 + h.IntN(2)
	}
	if h.rarely(40) {
		p.SearchBudget = 1 + h.IntN(4)
	}
	if h.rarely(4) {
		p.StaleGangGrace = quota.Of(int64(h.IntN(3)) * 10)
	}
	if h.rarely(6) {
		p.PreemptedExitCode = 3006
		p.ExitActions = []allot.ExitAction{{Code: 3006, Action: oneOf(h, allot.Reschedule, allot.Fail)}}
	}
}

func (h *stabilityHost) minRuntime() (m allot.MinRuntime) {
	if h.rarely(2) {
		m.Preempt = quota.Of(int64(h.IntN(3)) * 10)
	}
	if h.rarely(2) {
		m.Reclaim = quota.Of(int64(h.IntN(3)) * 10)
	}
	return m
}

// siblings draws the children of a queue and what is below them, to the depth.
func (h *stabilityHost) siblings(pool, parent string, depth int) {
	weighted := h.rarely(2)
	for range 1 + h.IntN(2) {
		h.named++
		q := allot.Queue{ID: fmt.Sprint("q", h.named), Pool: pool, Parent: parent, Created: time.Unix(int64(h.IntN(3)), 0).UTC()}
		for _, resource := range h.divided {
			r := allot.QueueResource{Resource: resource}
			if weighted {
				r.Weight = quota.Of(int64(h.IntN(4)))
			}
			q.Resources = append(q.Resources, r)
			if h.modelsOnly && resource == allot.GPU {
				continue
			}
			h.given(&q.Resources[len(q.Resources)-1])
		}
		if len(h.models) > 0 {
			r := allot.QueueResource{Resource: allot.GPU, Class: h.models[0]}
			h.given(&r)
			q.Resources = append(q.Resources, r)
		}
		if h.rarely(30) {
			q.MaxWorkloads = quota.Of(int64(1 + h.IntN(3)))
		}
		if h.rarely(30) {
			q.MinRuntime = h.minRuntime()
		}
		if h.rarely(12) {
			q.Queueing = oneOf(h, queue.OwnBestEffort, queue.OwnStrict, queue.OwnBackfillPreemptible)
		}
		if h.rarely(20) {
			q.Nodes.Selector = &placement.Selector{Labels: map[string]string{"zone": "a"}}
		}
		h.s.Queues = append(h.s.Queues, q)
		if depth > 1 && len(h.s.Queues) < 6 {
			h.siblings(pool, q.ID, depth-1)
			if h.rarely(2) { // a queue above others is mostly given what they are
				for k := range q.Resources {
					q.Resources[k].Quota = quota.Bound{}
				}
			}
		}
	}
	if len(h.s.Queues) == 0 || parent == "" && !slices.ContainsFunc(h.s.Queues, func(q allot.Queue) bool { return q.Pool == pool }) {
		h.siblings(pool, parent, depth)
	}
}

// given draws quota, limits and tier of a queue; its weight is left.
func (h *stabilityHost) given(r *allot.QueueResource) {
	amount := func(n int) quota.Bound {
		step := int64(unit)
		if r.Resource == fpga {
			step = 1
		}
		return quota.Of(step * int64(h.IntN(n)))
	}
	r.Quota, r.Limit, r.BorrowingLimit, r.LendingLimit, r.OverQuotaPriority = quota.Bound{}, quota.Bound{}, quota.Bound{}, quota.Bound{}, 0
	if !h.rarely(6) {
		r.Quota = amount(4)
	}
	if h.rarely(60) {
		r.Quota = quota.Unlimited()
	}
	if h.rarely(60) {
		r.Limit = amount(5)
	}
	if r.Class != "" { // which has neither weights nor tiers
		if h.rarely(3) {
			r.Quota = quota.Bound{}
		}
		return
	}
	if h.rarely(60) {
		r.BorrowingLimit = amount(3)
	}
	if h.rarely(60) && !r.Quota.IsUnlimited() {
		r.LendingLimit = amount(3)
	}
	if h.rarely(8) {
		r.OverQuotaPriority = 1
	}
}

// leaves are the leaf queues of a pool, or of all of them.
func (h *stabilityHost) leaves(pool string) (ids []string) {
	for i := range h.s.Queues {
		q := &h.s.Queues[i]
		inner := slices.ContainsFunc(h.s.Queues, func(c allot.Queue) bool { return c.Parent == q.ID })
		if !inner && (pool == "" || q.Pool == pool) {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// submit has a workload arrive.
func (h *stabilityHost) submit() {
	h.named++
	w := allot.Workload{
		ID: fmt.Sprint("w", h.named), Queue: h.leaf(),
		Priority:   int32(oneOf(h, 0, 0, 1, 2, 3)),
		Preemption: oneOf(h, allot.PreemptionByClass, allot.PreemptionByClass, allot.Preemptible, allot.Preemptible, allot.Preemptible, allot.Preemptible, allot.Preemptible, allot.Preemptible, allot.NonPreemptible),
		Submitted:  h.s.Now.Add(-time.Duration(h.IntN(4)) * time.Second),
		Owner:      oneOf(h, "", "ann", "bob"),
	}
	if h.rarely(10) {
		w.Retries = quota.Of(int64(h.IntN(2)))
	}
	for range 4 { // much that can never run would only stand about
		if w.PodSets, w.Groups = h.podSets(); h.possible(w.PodSets) {
			break
		}
	}
	if h.rarely(20) {
		form := allot.Form{Queue: oneOf(h, h.leaves("")...)}
		form.PodSets, form.Groups = h.podSets()
		w.Alternatives = []allot.Form{form}
	}
	h.s.Workloads = append(h.s.Workloads, w)
}

// possible says that the least of some pod sets is half of the GPUs there are,
// or less.
func (h *stabilityHost) possible(sets []allot.PodSet) bool {
	asked, there := 0, 0
	for i := range sets {
		asked += 2 * cmp.Or(sets[i].Min, sets[i].Count) * sets[i].Request.GPU.Count
	}
	for i := range h.s.Nodes {
		there += len(h.s.Nodes[i].Devices)
	}
	return asked <= there
}

// leaf draws a leaf: mostly the one that has least beyond its quota of GPUs.
func (h *stabilityHost) leaf() string {
	leaves := h.leaves("")
	if h.rarely(3) {
		return oneOf(h, leaves...)
	}
	beyond := make(map[string]int64)
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		for _, p := range w.PodSets {
			beyond[w.Queue] += unit * int64(cmp.Or(p.Min, p.Count)*p.Request.GPU.Count)
		}
	}
	for _, id := range leaves {
		if own := h.queue(id).Resources[0].Quota; !own.IsUnlimited() {
			beyond[id] -= own.Amount()
		}
	}
	return slices.MinFunc(leaves, func(a, b string) int { return cmp.Compare(beyond[a], beyond[b]) })
}

func (h *stabilityHost) podSets() (sets []allot.PodSet, groups []allot.Group) {
	p := allot.PodSet{Count: 1, Request: h.request()}
	switch h.IntN(8) {
	case 0, 1, 2: // one task
	case 3, 4: // a gang
		p.Count = 2 + h.IntN(2)
	case 5: // elastic by one
		p.Count = 2 + h.IntN(3)
		p.Min = 1 + h.IntN(2)
	case 6: // elastic by halving
		p.Count, p.Min, p.Step = oneOf(h, 2, 4, 4, 5), 1, gang.Halving
	case 7: // unlike tasks
		p.Name = "a"
		other := allot.PodSet{Name: "b", Count: 1 + h.IntN(2), Request: h.request()}
		other.Min = 1
		if h.rarely(3) {
			groups = []allot.Group{{Name: "g", Min: 1}}
			p.Group, other.Group = "g", "g"
		}
		return []allot.PodSet{p, other}, groups
	}
	if h.rarely(30) {
		p.Missing = h.IntN(p.Count)
	}
	return []allot.PodSet{p}, nil
}

func (h *stabilityHost) request() (r allot.Request) {
	switch h.IntN(16) {
	case 0:
		r.GPU.Count = 0
	case 1, 2:
		r.GPU.Milli = oneOf[int64](h, 250, 500, 600)
	case 3:
		r.GPU.Memory = oneOf[int64](h, 1, 2, 3)
	case 4, 5:
		r.GPU.Count = 2
	case 6:
		r.GPU.Count = 2 + h.IntN(2)
	default:
		r.GPU.Count = 1
	}
	if h.rarely(2) || r.GPU.Count == 0 && r.GPU.Milli == 0 && r.GPU.Memory == 0 {
		r.Resources = map[string]int64{allot.CPU: unit * int64(1+h.IntN(2))}
	}
	if h.divides(fpga) && h.rarely(4) {
		if r.Resources == nil {
			r.Resources = map[string]int64{}
		}
		r.Resources[fpga] = 1
	}
	if len(h.models) > 0 && r.GPU.Count+int(r.GPU.Milli)+int(r.GPU.Memory) > 0 && !h.rarely(3) {
		r.GPU.Models = []string{oneOf(h, h.models[0], h.models[0], h.models[1])}
	}
	if h.rarely(40) {
		r.Selector.Labels = map[string]string{"zone": "a"}
	}
	return r
}
