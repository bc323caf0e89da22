package division

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// DivideShares divides every pool (F1–F8). It comes after settling: what
// non-preemptible work holds is part of demand.
func DivideShares(w *cluster.World) error { return Of(w).divideShares() }

// divideShares is DivideShares.
func (w Dividing) divideShares() error {
	for _, p := range w.Pools {
		p.Demand = NewDemands(p)
	}
	w.addDemand()
	for i := range w.Pools {
		if err := w.DividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// DividePool divides a pool of which all demand is known.
func (w Dividing) DividePool(index int) error {
	p := w.Pools[index]
	for q, leaf := range p.IsLeaf {
		for r := 0; leaf && r < p.Plain; r++ {
			p.Demand.Asked[q*p.Width+r].RunningNonPreemptible = p.Tree.NonPreemptible(q, r)
		}
	}
	totalDemand(p)
	if err := divide(p); err != nil {
		return err
	}
	return w.drawLines(index)
}

// drawLines has the room judge by what the queues may defend (R8).
func (w Dividing) drawLines(index int) error {
	p := w.Pools[index]
	shares, guaranteed := p.FairShares(), guaranteed(p)
	fair := make([]int64, len(shares))
	for at := range fair { // what is kept from lending is in no share (Q5)
		fair[at] = max(shares[at], guaranteed[at])
	}
	config := preempt.Config{
		Tree: p.Tree, Divided: p.Divided, Shares: shares, Quotas: quotaLines(p, true), Uncut: quotaLines(p, false),
		Entitlements: preempt.Entitlements{Guaranteed: guaranteed, Fair: fair},
	}
	if err := guarantee(p, &config); err != nil {
		return err
	}
	if p.Room == nil {
		p.Room = preempt.NewEvaluator(w.Booking().RoomConfig(index, config))
	} else if p.Room.Redraw(config) {
		p.Changes++ // a workload that was refused room may be given it
	}
	return nil
}

// totalDemand sums the demand of the leaves up the tree, for the figures.
// Amounts per class have none: a task is charged to the class it lands on.
func totalDemand(p *cluster.Pool) {
	p.DemandTotal = cleared(p.DemandTotal, len(p.Demand.Asked))
	for q := range p.Parent {
		for r := range p.Plain {
			d := &p.Demand.Asked[q*p.Width+r]
			total := d.Preemptible + d.NonPreemptible
			for up := int32(q); total > 0 && up >= 0; up = p.Parent[up] {
				p.DemandTotal[int(up)*p.Width+r] += total
			}
		}
	}
}

// NewOrder is an empty order over the pool's queues (O1, O2).
func NewOrder(p *cluster.Pool, w *cluster.World, order queue.Order) *queue.Queues {
	return queue.New(queue.Config{
		Tree:    p.Tree,
		Shares:  p.FairShares(),
		Divided: p.Divided,
		Tier:    p.Tiers,
		Created: p.Created,
		Order:   order,

		Guaranteed: OrderLines(p),
		Request:    func(it queue.Item) quota.Amounts { return w.Asks(&w.Works[it.ID], it.Form) },
	})
}

// A wish is what a workload asks of one leaf.
type wish struct {
	work   int32
	form   *cluster.Form
	amount quota.Amounts
	part   int64
}

// addDemand adds up what every workload asks at most (F1). Forms of a workload
// in one leaf ask, per resource, the largest of them; a form that is impossible asks
// nothing unless the workload holds something in it.
func (w Dividing) addDemand() {
	addDemandOf(w.World, func(int32) bool { return true })
}

// addDemandOf adds it up in some of the pools.
func addDemandOf(w *cluster.World, which func(pool int32) bool) {
	capped := make(map[cluster.Leaf][]wish)
	for i, n := 0, 0; i < len(w.Works); i += n {
		k := &w.Works[i]
		if n = 1; !demands(k) {
			continue
		}
		n = Of(w).inARow(i)
		Of(w).EachLeafDemand(k, func(f *cluster.Form, a quota.Amounts, part int64) {
			if !which(f.Pool) {
				return
			}
			at := cluster.Leaf{Pool: f.Pool, Queue: f.Queue}
			if !Of(w).capsDemand(at) {
				AddDemand(w.Pools[f.Pool], f, a, part, int64(n))
				return
			}
			for next := range n {
				capped[at] = append(capped[at], wish{int32(i + next), f, a, part})
			}
		})
	}
	for at, wishes := range capped { // each leaf for itself: order cannot matter
		most := maxWorkloads(w.Pools[at.Pool], int(at.Queue))
		slices.SortFunc(wishes, func(a, b wish) int {
			return cmp.Or(cmp.Compare(b.form.Priority, a.form.Priority),
				cmp.Compare(w.Works[a.work].Submitted, w.Works[b.work].Submitted), w.CompareIDs(a.work, b.work))
		})
		for _, one := range wishes[:min(int64(len(wishes)), most)] {
			AddDemand(w.Pools[at.Pool], one.form, one.amount, one.part, 1)
		}
	}
}

// demands says whether a workload is one that goes on, or is yet to start.
func demands(k *cluster.Work) bool { return k.Status != cluster.Ending && k.Status != cluster.Failed }

// inARow is how many workloads from one on plainly ask the same of one leaf: their demand is added at once.
func (w Dividing) inARow(from int) (n int) {
	f := w.Works[from].Form
	known := w.Pools[f.Pool].Bare.KnownPossible(f.Definition)
	for n = 0; from+n < len(w.Works); n++ {
		k := &w.Works[from+n]
		if k.Form != f || !demands(k) || len(k.Others) > 0 || k.NotBefore >= 0 || !known && !w.Holds(k) {
			break
		}
	}
	return max(1, n)
}

// capsDemand says whether the leaf demands for at most its cap of running
// workloads (F8), those first in order.
func (w Dividing) capsDemand(at cluster.Leaf) bool {
	p := w.Pools[at.Pool]
	return CapsDemand(p) && maxWorkloads(p, int(at.Queue)) != quota.Infinite
}

// CapsDemand says whether some leaf of the pool may.
func CapsDemand(p *cluster.Pool) bool {
	return p.Counted && p.Policy.Shares != fairshare.QuotaThenWeight
}

// maxWorkloads is the cap of a queue's running workloads (Q10), of a pool that has one.
func maxWorkloads(p *cluster.Pool, q int) int64 { return p.Tree.Limit(q, p.Width-1) }

// CountDemand adds up the demand of one pool anew.
func CountDemand(w *cluster.World, index int32) {
	w.Pools[index].Demand.Clear()
	addDemandOf(w, func(pool int32) bool { return pool == index })
}

// Precedes says whether a form of a workload stands before one of another in the leaf of both, were neither to hold
// anything (O1, B11).
func (w Dividing) Precedes(i int32, f *cluster.Form, work int32, form int16) bool {
	a, b := &w.Works[i], &w.Works[work]
	other := w.FormOf(b, form)
	return other.Queue == f.Queue && cmp.Or(cmp.Compare(other.Priority, f.Priority), cmp.Compare(w.Due(a, f), w.Due(b, other)), cmp.Compare(a.Submitted, b.Submitted), w.CompareIDs(i, work)) < 0
}

// asksIn says whether a form of a workload asks anything: it holds something in it, or its time has come
// (B1) and it could start in it if nothing else were on the nodes.
func (w Dividing) asksIn(k *cluster.Work, i int16) bool {
	if k.NotBefore >= 0 {
		return false
	}
	f := w.FormOf(k, i)
	bare := w.Pools[f.Pool].Bare
	return bare.KnownPossible(f.Definition) || k.Current == i && w.Holds(k) || bare.Possible(f.Definition)
}

// AsksBecause says whether a workload that has gone, or come back, asks only while it is there.
func (w Dividing) AsksBecause(k *cluster.Work) bool {
	f := w.FormOf(k, k.Current)
	return !w.Pools[f.Pool].Bare.Possible(f.Definition)
}

// EachLeafDemand calls add once for each leaf that has a form of the workload which asks.
func (w Dividing) EachLeafDemand(k *cluster.Work, add func(f *cluster.Form, most quota.Amounts, part int64)) {
	if len(k.Others) == 0 { // as most
		if w.asksIn(k, 0) {
			d := w.Definition(k, 0)
			add(&k.Form, d.Demand, d.Part)
		}
		return
	}
	for i := range int16(1 + len(k.Others)) {
		f := w.FormOf(k, i)
		if !w.asksIn(k, i) {
			continue
		}
		same := func(j int16) bool {
			other := w.FormOf(k, j)
			return other.Pool == f.Pool && other.Queue == f.Queue
		}
		first := int16(0)
		for !same(first) || !w.asksIn(k, first) {
			first++
		}
		if first < i {
			continue // counted with the first form of its leaf
		}
		demand, part := w.Definition(k, i).Demand, w.Definition(k, i).Part
		for j := i + 1; int(j) <= len(k.Others); j++ {
			if same(j) && w.asksIn(k, j) {
				demand = quota.Max(demand, w.Definition(k, j).Demand)
				part = cluster.CommonDivisor(part, w.Definition(k, j).Part)
			}
		}
		add(f, demand, part)
	}
}

// AddDemand adds n times what a workload asks at most, of devices in such parts.
func AddDemand(p *cluster.Pool, f *cluster.Form, amounts quota.Amounts, part, n int64) {
	p.Demand.Parts[f.Queue].Add(part, n)
	for _, a := range amounts {
		d := &p.Demand.Asked[int(f.Queue)*p.Width+int(a.Resource)]
		if f.NonPreemptible {
			d.NonPreemptible += n * a.Value
		} else {
			d.Preemptible += n * a.Value
		}
	}
}

// divide computes the fair shares of every divided resource (F1–F5, F8): those
// that some queue gives a quota for (Q1), and GPU where the method needs none.
func divide(p *cluster.Pool) error {
	p.Divided = make([]bool, p.Width) // the room has that of before
	p.Shares = cleared(p.Shares, len(p.Parent)*p.Width)
	for r := range p.Plain {
		p.Divided[r] = p.Tree.Governed(r) || r == 0 && p.Policy.Shares != fairshare.QuotaThenWeight
		if !p.Divided[r] {
			continue
		}
		p.ToDivide = cleared(p.ToDivide, len(p.Parent))
		var err error
		if p.Row, err = fairshare.DivideTree(p.Row[:0], configOf(p, r, p.ToDivide)); err != nil {
			return err
		}
		for q := range p.Row {
			p.Shares[q*p.Width+r] = p.Row[q]
		}
	}
	return nil
}

// cleared is a list of so many zeros, in the memory of another where that is enough.
func cleared[T any](list []T, n int) []T {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// ConfigOf is what is divided of resource r, among which queues, and how.
func ConfigOf(p *cluster.Pool, r int) fairshare.TreeConfig {
	return configOf(p, r, make([]fairshare.Queue, len(p.Parent)))
}

// configOf is ConfigOf, whose queues are written to a list.
func configOf(p *cluster.Pool, r int, queues []fairshare.Queue) fairshare.TreeConfig {
	config := fairshare.TreeConfig{
		Capacity: p.Capacity[r],
		Method:   p.Policy.Shares,
		Options: fairshare.Options{
			Granule:           p.Granules[r],
			EqualAtZeroWeight: p.Policy.EqualSharesAtZeroWeight,
		},
		NonPreemptibleOverQuota: p.Policy.NonPreemptibleOverQuota,
		ScaleGuarantees:         p.Policy.ScaleGuarantees,
		UsageStrengthMilli:      p.Policy.UsageStrengthMilli,
		Queues:                  queues,
	}
	for q := range p.Parent {
		config.Queues[q] = fairshare.Queue{
			Parent:  p.Parent[q],
			Quota:   p.Tree.Quota(q, r),
			Limit:   p.Tree.Ceiling(q, r),
			Weight:  p.Weights[q*p.Width+r],
			Tier:    p.Tiers[q*p.Width+r],
			Created: p.Created[q],
			Demand:  p.Demand.Asked[q*p.Width+r],
		}
		config.Queues[q].Keep = p.Tree.Reserve(q, r)
		if p.Usage != nil {
			config.Queues[q].Usage = p.Usage[q*p.Width+r]
		}
		if r == 0 {
			config.Queues[q].Demand.Unit = p.Demand.Parts[q].Unit()
		}
		if reach := p.Reach[q]; reach >= 0 {
			config.Queues[q].OutOfReach = p.Reaches[reach].Out[r]
		}
	}
	return config
}

func guaranteed(p *cluster.Pool) []int64 {
	out := make([]int64, len(p.Shares))
	for i := range p.Shares {
		out[i] = p.Shares[i].Guaranteed
	}
	return out
}

// OrderLines are up to what use is within quota in the order (O2): where the method knows no
// quotas those that are given.
func OrderLines(p *cluster.Pool) []int64 {
	if p.Policy.Shares != fairshare.QuotaThenWeight {
		return nil
	}
	return quotaLines(p, true)
}

// quotaLines are up to what use is within quota (R1 to R3, O2): the quota, or with cut what is
// left of it where it was cut. It is 0 where the method knows none.
func quotaLines(p *cluster.Pool, cut bool) []int64 {
	out := make([]int64, len(p.Shares))
	for r := range p.Plain {
		for q := range p.Parent {
			switch at := q*p.Width + r; {
			case !p.Divided[r] || p.Policy.Shares != fairshare.QuotaThenWeight:
			case cut && p.Cut(q, r) > 0:
				out[at] = p.Shares[at].Guaranteed
			default:
				out[at] = p.Tree.Quota(q, r)
			}
		}
	}
	return out
}

// NewDemands are those of leaves that ask nothing.
func NewDemands(p *cluster.Pool) cluster.Demands {
	return cluster.Demands{Asked: make([]fairshare.Demand, len(p.Parent)*p.Width), Parts: make([]cluster.Parts, len(p.Parent))}
}

// PartOf is what so many thousandths of a device each come in: their greatest
// common divisor and a whole device's; 0 where that is a whole one (F5).
func PartOf(milli ...int64) int64 {
	unit := int64(cluster.WholeDevice)
	for _, n := range milli {
		unit = cluster.CommonDivisor(unit, n)
	}
	if unit == cluster.WholeDevice {
		return 0
	}
	return unit
}

// Dividing divides the capacity down the trees of queues, and scores nodes.
type Dividing struct{ *cluster.World }

// Of is the world as it is divided.
func Of(w *cluster.World) Dividing { return Dividing{w} }
