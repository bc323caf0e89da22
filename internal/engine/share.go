package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// DivideShares divides every pool (F1–F8). It comes after settling: what
// non-preemptible work holds is part of demand.
func (w *World) DivideShares() error { return w.dividing().divideShares() }

// divideShares is World.DivideShares.
func (w dividing) divideShares() error {
	for _, p := range w.Pools {
		p.demand = newDemands(p)
	}
	w.addDemand()
	for i := range w.Pools {
		if err := w.dividePool(i); err != nil {
			return err
		}
	}
	return nil
}

// dividePool divides a pool of which all demand is known.
func (w dividing) dividePool(index int) error {
	p := w.Pools[index]
	for q, leaf := range p.IsLeaf {
		for r := 0; leaf && r < p.Plain; r++ {
			p.demand.asked[q*p.Width+r].RunningNonPreemptible = p.Tree.NonPreemptible(q, r)
		}
	}
	p.totalDemand()
	if err := p.divide(); err != nil {
		return err
	}
	return w.drawLines(index)
}

// drawLines has the room judge by what the queues may defend (R8).
func (w dividing) drawLines(index int) error {
	p := w.Pools[index]
	shares, guaranteed := p.fairShares(), p.guaranteed()
	fair := make([]int64, len(shares))
	for at := range fair { // what is kept from lending is in no share (Q5)
		fair[at] = max(shares[at], guaranteed[at])
	}
	config := preempt.Config{
		Tree: p.Tree, Divided: p.Divided, Shares: shares, Quotas: p.quotaLines(true), Uncut: p.quotaLines(false),
		Entitlements: preempt.Entitlements{Guaranteed: guaranteed, Fair: fair},
	}
	if err := p.guarantee(&config); err != nil {
		return err
	}
	if p.Room == nil {
		p.Room = preempt.NewEvaluator(w.booking().roomConfig(index, config))
	} else if p.Room.Redraw(config) {
		p.changes++ // who was refused room may be given it
	}
	return nil
}

// totalDemand sums the demand of the leaves up the tree, for the figures.
// Amounts per class have none: a task is charged to the class it lands on.
func (p *Pool) totalDemand() {
	p.DemandTotal = make([]int64, len(p.demand.asked))
	for q := range p.Parent {
		for r := range p.Plain {
			d := &p.demand.asked[q*p.Width+r]
			total := d.Preemptible + d.NonPreemptible
			for up := int32(q); total > 0 && up >= 0; up = p.Parent[up] {
				p.DemandTotal[int(up)*p.Width+r] += total
			}
		}
	}
}

// newOrder is an empty order over the pool's queues (O1, O2).
func (p *Pool) newOrder(w *World, order queue.Order) *queue.Queues {
	return queue.New(queue.Config{
		Tree:    p.Tree,
		Shares:  p.fairShares(),
		Divided: p.Divided,
		Tier:    p.Tiers,
		Created: p.Created,
		Order:   order,

		Guaranteed: p.orderLines(),
		Request:    func(it queue.Item) quota.Amounts { return w.asks(&w.Works[it.ID], it.Form) },
	})
}

// A wish is what a workload asks of one leaf.
type wish struct {
	work   int32
	form   *Form
	amount quota.Amounts
	part   int64
}

// addDemand adds up what every workload asks at most (F1). Forms of a workload
// in one leaf ask, per resource, the largest of them; a form that is impossible asks
// nothing unless the workload holds something in it.
func (w dividing) addDemand() {
	addDemandOf(w.World, func(int32) bool { return true })
}

// addDemandOf adds it up in some of the pools.
func addDemandOf(w *World, which func(pool int32) bool) {
	capped := make(map[Leaf][]wish)
	for i := range w.Works {
		k := &w.Works[i]
		if k.Status == Ending || k.Status == Failed {
			continue
		}
		w.dividing().eachLeafDemand(k, func(f *Form, a quota.Amounts, part int64) {
			if !which(f.Pool) {
				return
			}
			if at := (Leaf{f.Pool, f.Queue}); w.dividing().capsDemand(at) {
				capped[at] = append(capped[at], wish{int32(i), f, a, part})
			} else {
				w.Pools[f.Pool].addDemand(f, a, part, 1)
			}
		})
	}
	for at, wishes := range capped { // each leaf for itself: order cannot matter
		most := w.Pools[at.Pool].maxWorkloads(int(at.Queue))
		slices.SortFunc(wishes, func(a, b wish) int {
			return cmp.Or(cmp.Compare(b.form.Priority, a.form.Priority),
				cmp.Compare(w.Works[a.work].Submitted, w.Works[b.work].Submitted), w.dividing().compareIDs(a.work, b.work))
		})
		for _, one := range wishes[:min(int64(len(wishes)), most)] {
			w.Pools[at.Pool].addDemand(one.form, one.amount, one.part, 1)
		}
	}
}

// capsDemand says whether the leaf demands for at most its cap of running
// workloads (F8), those first in order.
func (w dividing) capsDemand(at Leaf) bool {
	p := w.Pools[at.Pool]
	return p.capsDemand() && p.maxWorkloads(int(at.Queue)) != quota.Infinite
}

// capsDemand says whether some leaf of the pool may.
func (p *Pool) capsDemand() bool {
	return p.Counted && p.Policy.Shares != fairshare.QuotaThenWeight
}

// maxWorkloads is the cap of a queue's running workloads (Q10), of a pool that has one.
func (p *Pool) maxWorkloads(q int) int64 { return p.Tree.Limit(q, p.Width-1) }

// countDemand adds up the demand of one pool anew.
func countDemand(w *World, index int32) {
	w.Pools[index].demand.clear()
	addDemandOf(w, func(pool int32) bool { return pool == index })
}

// compareIDs orders workloads by their IDs.
func (w dividing) compareIDs(a, b int32) int {
	return cmp.Or(cmp.Compare(w.Works[a].Rank, w.Works[b].Rank), cmp.Compare(a, b))
}

// precedes says whether a form of a workload stands before one of another in the leaf of both (O1).
func (w dividing) precedes(i int32, f *Form, work int32, form int16) bool {
	a, b := &w.Works[i], &w.Works[work]
	other := w.FormOf(b, form)
	return other.Queue == f.Queue && cmp.Or(cmp.Compare(other.Priority, f.Priority), cmp.Compare(a.Submitted, b.Submitted), w.compareIDs(i, work)) < 0
}

// asksIn says whether a form of a workload asks anything: it holds something in it, or could
// start in it if nothing else were on the nodes.
func (w dividing) asksIn(k *Work, i int16) bool {
	f := w.FormOf(k, i)
	bare := w.Pools[f.Pool].bare
	return bare.knownPossible(f.Definition) || k.Live >= 0 && k.Current == i && w.holds(k) || bare.possible(f.Definition)
}

// asksBecause says whether a workload that has gone, or come back, asks only while it is there.
func (w dividing) asksBecause(k *Work) bool {
	f := w.FormOf(k, k.Current)
	return !w.Pools[f.Pool].bare.possible(f.Definition)
}

// eachLeafDemand calls add once for each leaf that has a form of the workload which asks.
func (w dividing) eachLeafDemand(k *Work, add func(f *Form, most quota.Amounts, part int64)) {
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
				part = commonDivisor(part, w.Definition(k, j).Part)
			}
		}
		add(f, demand, part)
	}
}

// addDemand adds n times what a workload asks at most, of devices in such parts.
func (p *Pool) addDemand(f *Form, amounts quota.Amounts, part, n int64) {
	p.demand.parts[f.Queue].add(part, n)
	for _, a := range amounts {
		d := &p.demand.asked[int(f.Queue)*p.Width+int(a.Resource)]
		if f.NonPreemptible {
			d.NonPreemptible += n * a.Value
		} else {
			d.Preemptible += n * a.Value
		}
	}
}

// divide computes the fair shares of every divided resource (F1–F5, F8): those
// that some queue gives a quota for (Q1), and GPU where the method needs none.
func (p *Pool) divide() error {
	p.Divided = make([]bool, p.Width)
	p.Shares = make([]fairshare.Share, len(p.Parent)*p.Width)
	row := make([]fairshare.Share, len(p.Parent))
	for r := range p.Plain {
		p.Divided[r] = p.Tree.Governed(r) || r == 0 && p.Policy.Shares != fairshare.QuotaThenWeight
		if !p.Divided[r] {
			continue
		}
		var err error
		if row, err = fairshare.DivideTree(row[:0], p.Division(r)); err != nil {
			return err
		}
		for q := range row {
			p.Shares[q*p.Width+r] = row[q]
		}
	}
	return nil
}

// Division is what is divided of resource r, among whom, and how.
func (p *Pool) Division(r int) fairshare.TreeConfig {
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
		Queues:                  make([]fairshare.Queue, len(p.Parent)),
	}
	for q := range p.Parent {
		config.Queues[q] = fairshare.Queue{
			Parent:  p.Parent[q],
			Quota:   p.Tree.Quota(q, r),
			Limit:   p.Tree.Ceiling(q, r),
			Weight:  p.Weights[q*p.Width+r],
			Tier:    p.Tiers[q*p.Width+r],
			Created: p.Created[q],
			Demand:  p.demand.asked[q*p.Width+r],
		}
		config.Queues[q].Keep = p.Tree.Reserve(q, r)
		if p.Usage != nil {
			config.Queues[q].Usage = p.Usage[q*p.Width+r]
		}
		if r == 0 {
			config.Queues[q].Demand.Unit = p.demand.parts[q].unit()
		}
		if reach := p.Reach[q]; reach >= 0 {
			config.Queues[q].OutOfReach = p.Reaches[reach].Out[r]
		}
	}
	return config
}

// fairShares are those of all queues, by queue × Width + resource.
func (p *Pool) fairShares() []int64 {
	out := make([]int64, len(p.Shares))
	for i := range p.Shares {
		out[i] = p.Shares[i].FairShare
	}
	return out
}

func (p *Pool) guaranteed() []int64 {
	out := make([]int64, len(p.Shares))
	for i := range p.Shares {
		out[i] = p.Shares[i].Guaranteed
	}
	return out
}

// Cut is what of its quota a queue may not defend, as there is not enough for all (F2, F13).
func (p *Pool) Cut(q, r int) int64 {
	if p.Policy.Shares != fairshare.QuotaThenWeight {
		return 0
	}
	s := &p.Shares[q*p.Width+r]
	return min(p.Tree.Quota(q, r), s.Requestable) - s.Guaranteed
}

// orderLines are up to what use is within quota in the order (O2): where the method knows no
// quotas those that are given.
func (p *Pool) orderLines() []int64 {
	if p.Policy.Shares != fairshare.QuotaThenWeight {
		return nil
	}
	return p.quotaLines(true)
}

// quotaLines are up to what use is within quota (R1 to R3, O2): the quota, or with cut what is
// left of it where it was cut. It is 0 where the method knows none.
func (p *Pool) quotaLines(cut bool) []int64 {
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

// demands are what the leaves of a pool ask.
type demands struct {
	asked []fairshare.Demand // by queue × Width + resource, but for the unit
	parts []parts            // by queue: of devices
}

// newDemands are those of leaves that ask nothing.
func newDemands(p *Pool) demands {
	return demands{make([]fairshare.Demand, len(p.Parent)*p.Width), make([]parts, len(p.Parent))}
}

// clone is a copy.
func (d demands) clone() demands { return demands{slices.Clone(d.asked), slices.Clone(d.parts)} }

// copyFrom makes them those of others.
func (d demands) copyFrom(other demands) {
	copy(d.asked, other.asked)
	copy(d.parts, other.parts)
}

// clear has nobody ask anything.
func (d demands) clear() {
	clear(d.asked)
	clear(d.parts)
}

// partUnits are what parts of a device may come in: the divisors of a whole one.
var partUnits = [...]int64{1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500}

// parts counts the workloads of a leaf that ask for parts of devices, by what they
// come in (F5). It is a count, so that who leaves can be taken out.
type parts struct {
	count [len(partUnits)]int32
	some  uint16 // the units of which the count is not 0
}

// add adds n workloads whose parts come in unit; 0 is whole devices.
func (c *parts) add(unit, n int64) {
	if unit == 0 { // as most
		return
	}
	i := slices.Index(partUnits[:], unit)
	if i < 0 {
		return
	}
	if c.count[i] += int32(n); c.count[i] != 0 {
		c.some |= 1 << i
	} else {
		c.some &^= 1 << i
	}
}

// unit is what all of them come in, 0 where there are none.
func (c *parts) unit() (unit int64) {
	for some := c.some; some != 0; some &= some - 1 {
		unit = commonDivisor(unit, partUnits[bits.TrailingZeros16(some)])
	}
	return unit
}

// PartOf is what so many thousandths of a device each come in: their greatest
// common divisor and a whole device's; 0 where that is a whole one (F5).
func PartOf(milli ...int64) int64 {
	unit := int64(WholeDevice)
	for _, n := range milli {
		unit = commonDivisor(unit, n)
	}
	if unit == WholeDevice {
		return 0
	}
	return unit
}

// commonDivisor is the greatest common divisor; 0 is a multiple of everything.
func commonDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
