package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// divideShares divides every pool (F1–F8). It comes after settling: what
// non-preemptible work holds is part of demand.
func (w *coreWorld) divideShares() error {
	for _, p := range w.pools {
		p.demand = make([]fairshare.Demand, len(p.parent)*p.width)
	}
	w.addDemand()
	for i := range w.pools {
		if err := w.dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// dividePool divides a pool of which all demand is known.
func (w *coreWorld) dividePool(index int) error {
	p := w.pools[index]
	for q, leaf := range p.isLeaf {
		for r := 0; leaf && r < p.plain; r++ {
			p.demand[q*p.width+r].RunningNonPreemptible = p.tree.NonPreemptible(q, r)
		}
	}
	p.totalDemand()
	if err := p.divide(); err != nil {
		return err
	}
	return w.drawLines(index)
}

// drawLines draws what the queues may defend (R8), and has the room judge by
// it.
func (w *coreWorld) drawLines(index int) error {
	p := w.pools[index]
	width := p.width
	config := preempt.Config{
		Tree: p.tree, Divided: p.divided, Shares: p.fairShares(),
		Quotas:       make([]int64, len(p.shares)),
		Entitlements: preempt.Entitlements{Guaranteed: make([]int64, len(p.shares)), Fair: make([]int64, len(p.shares))},
	}
	lines := make([]preempt.EntitlementClaim, len(p.parent))
	for r := range p.plain {
		if !p.divided[r] {
			continue
		}
		for q := range p.parent {
			at := q*width + r
			if p.policy.Shares == fairshare.QuotaThenWeight {
				config.Quotas[at] = p.tree.Quota(q, r)
			}
			lines[q] = preempt.EntitlementClaim{
				Parent: p.parent[q], Quota: config.Quotas[at], Created: p.created[q],
				Requestable: p.shares[at].Requestable, FairShare: p.shares[at].FairShare,
			}
		}
		quotas, shares, err := preempt.DivideEntitlements(lines, p.granules[r])
		if err != nil {
			return err
		}
		for q := range p.parent {
			config.Entitlements.Guaranteed[q*width+r], config.Entitlements.Fair[q*width+r] = quotas[q], shares[q]
		}
	}
	if p.room == nil {
		p.room = preempt.NewEvaluator(w.roomConfig(index, config))
	} else if p.room.Redraw(config) {
		p.changes++ // who was refused room may be given it
	}
	return nil
}

// totalDemand sums the demand of the leaves up the tree, for the figures.
// Amounts per class have none: a task is charged to the class it lands on.
func (p *corePool) totalDemand() {
	p.demandTotal = make([]int64, len(p.demand))
	for q := range p.parent {
		for r := range p.plain {
			d := &p.demand[q*p.width+r]
			total := d.Preemptible + d.NonPreemptible
			for up := int32(q); total > 0 && up >= 0; up = p.parent[up] {
				p.demandTotal[int(up)*p.width+r] += total
			}
		}
	}
}

// newOrder is an empty order over the pool's queues (O1, O2).
func (p *corePool) newOrder(w *coreWorld, order queue.Order) *queue.Queues {
	return queue.New(queue.Config{
		Tree:    p.tree,
		Shares:  p.fairShares(),
		Divided: p.divided,
		Tier:    p.tiers,
		Created: p.created,
		Order:   order,
		Request: func(it queue.Item) quota.Amounts { return w.asks(&w.works[it.ID], it.Form) },
	})
}

// A wish is what a workload asks of one leaf.
type wish struct {
	work   int32
	form   *form
	amount quota.Amounts
}

// addDemand adds up what every workload asks at most (F1). Forms of a workload
// in one leaf ask, per resource, the largest of them.
func (w *coreWorld) addDemand() {
	addDemandOf(w, func(int32) bool { return true })
}

// addDemandOf adds it up in some of the pools.
func addDemandOf(w *coreWorld, which func(pool int32) bool) {
	capped := make(map[leafAt][]wish)
	for i := range w.works {
		k := &w.works[i]
		if k.status == ending || k.status == failed {
			continue
		}
		w.eachLeafDemand(k, func(f *form, a quota.Amounts) {
			if !which(f.pool) {
				return
			}
			if at := (leafAt{f.pool, f.queue}); w.capsDemand(at) {
				capped[at] = append(capped[at], wish{int32(i), f, a})
			} else {
				w.pools[f.pool].addDemand(f, a, 1)
			}
		})
	}
	for at, wishes := range capped { // each leaf for itself: order cannot matter
		most := w.pools[at.pool].maxWorkloads(int(at.queue))
		slices.SortFunc(wishes, func(a, b wish) int {
			return cmp.Or(cmp.Compare(b.form.priority, a.form.priority),
				cmp.Compare(w.works[a.work].submitted, w.works[b.work].submitted), w.compareIDs(a.work, b.work))
		})
		for _, one := range wishes[:min(int64(len(wishes)), most)] {
			w.pools[at.pool].addDemand(one.form, one.amount, 1)
		}
	}
}

// capsDemand says whether the leaf demands for at most its cap of running
// workloads (F8), those first in order.
func (w *coreWorld) capsDemand(at leafAt) bool {
	p := w.pools[at.pool]
	return p.capsDemand() && p.maxWorkloads(int(at.queue)) != quota.Infinite
}

// capsDemand says whether some leaf of the pool may.
func (p *corePool) capsDemand() bool {
	return p.counted && p.policy.Shares != fairshare.QuotaThenWeight
}

// maxWorkloads is the cap of a queue's running workloads (Q10), of a pool that has one.
func (p *corePool) maxWorkloads(q int) int64 { return p.tree.Limit(q, p.width-1) }

// countDemand adds up the demand of one pool anew.
func countDemand(w *coreWorld, index int32) {
	clear(w.pools[index].demand)
	addDemandOf(w, func(pool int32) bool { return pool == index })
}

// compareIDs orders workloads by their IDs.
func (w *coreWorld) compareIDs(a, b int32) int {
	return cmp.Or(cmp.Compare(w.works[a].rank, w.works[b].rank), cmp.Compare(a, b))
}

// eachLeafDemand calls add once for each leaf that has a form of the workload.
func (w *coreWorld) eachLeafDemand(k *work, add func(*form, quota.Amounts)) {
	for i := range int16(1 + len(k.others)) {
		f := w.formOf(k, i)
		same := func(j int16) bool {
			other := w.formOf(k, j)
			return other.pool == f.pool && other.queue == f.queue
		}
		first := int16(0)
		for !same(first) {
			first++
		}
		if first < i {
			continue // counted with the first form of its leaf
		}
		demand := w.definition(k, i).demand
		for j := i + 1; int(j) <= len(k.others); j++ {
			if same(j) {
				demand = quota.Max(demand, w.definition(k, j).demand)
			}
		}
		add(f, demand)
	}
}

// addDemand adds n times what a workload asks at most.
func (p *corePool) addDemand(f *form, amounts quota.Amounts, n int64) {
	for _, a := range amounts {
		d := &p.demand[int(f.queue)*p.width+int(a.Resource)]
		if f.nonPreemptible {
			d.NonPreemptible += n * a.Value
		} else {
			d.Preemptible += n * a.Value
		}
	}
}

// divide computes the fair shares of every divided resource (F1–F5, F8): those
// that some queue gives a quota for (Q1), and GPU where the method needs none.
func (p *corePool) divide() error {
	p.divided = make([]bool, p.width)
	p.shares = make([]fairshare.Share, len(p.parent)*p.width)
	row := make([]fairshare.Share, len(p.parent))
	for r := range p.plain {
		p.divided[r] = p.tree.Governed(r) || r == 0 && p.policy.Shares != fairshare.QuotaThenWeight
		if !p.divided[r] {
			continue
		}
		var err error
		if row, err = fairshare.DivideTree(row[:0], p.division(r)); err != nil {
			return err
		}
		for q := range row {
			p.shares[q*p.width+r] = row[q]
		}
	}
	return nil
}

// division is what is divided of resource r, among whom, and how.
func (p *corePool) division(r int) fairshare.TreeConfig {
	config := fairshare.TreeConfig{
		Capacity: p.capacity[r],
		Method:   p.policy.Shares,
		Options: fairshare.Options{
			Granule:           p.granules[r],
			EqualAtZeroWeight: p.policy.EqualSharesAtZeroWeight,
		},
		NonPreemptibleOverQuota: p.policy.NonPreemptibleOverQuota,
		Queues:                  make([]fairshare.Queue, len(p.parent)),
	}
	for q := range p.parent {
		config.Queues[q] = fairshare.Queue{
			Parent:  p.parent[q],
			Quota:   p.tree.Quota(q, r),
			Limit:   p.tree.Ceiling(q, r),
			Weight:  p.weights[q*p.width+r],
			Tier:    p.tiers[q*p.width+r],
			Created: p.created[q],
			Demand:  p.demand[q*p.width+r],
		}
		config.Queues[q].Keep = p.tree.Reserve(q, r)
	}
	return config
}

func (p *corePool) fairShares() []int64 {
	out := make([]int64, len(p.shares))
	for i := range p.shares {
		out[i] = p.shares[i].FairShare
	}
	return out
}
