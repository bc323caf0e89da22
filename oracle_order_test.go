package allot

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/allotsched/allot/queue"
)

// Whose turn it is as O1 to O5 tell it: every queue is weighed anew, from the
// root down, for every turn.

// unit is what the workload would start next, in tasks per pod set: what is
// missing to its minimum (G1), or one task above it (G2); nil is nothing.
func (w *oracleWork) unit() []int {
	unit := make([]int, len(w.source.PodSets))
	missing := false
	for set := range unit {
		unit[set] = max(0, w.minimum(set)-w.held(set))
		missing = missing || unit[set] > 0
	}
	if missing {
		return unit
	}
	if all := w.extras(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// extras are the units of one task above the minimum, in listed order.
func (w *oracleWork) extras() (units [][]int) {
	for set := range w.source.PodSets {
		if w.held(set) < w.submittedTasks(set) {
			unit := make([]int, len(w.source.PodSets))
			unit[set] = 1
			units = append(units, unit)
		}
	}
	return units
}

// stage is O1's: below its minimum, at it, above it.
func (w *oracleWork) stage() queue.Stage {
	stage := queue.AtMinimum
	for set := range w.source.PodSets {
		switch held := w.held(set); {
		case held < w.minimum(set):
			return queue.BelowMinimum
		case held > w.minimum(set):
			stage = queue.AboveMinimum
		}
	}
	return stage
}

// shortOfTasks says that fewer are submitted than must start together (G1).
func (w *oracleWork) shortOfTasks() bool {
	for set := range w.source.PodSets {
		if w.held(set) < w.minimum(set) && w.submittedTasks(set) < w.minimum(set) {
			return true
		}
	}
	return false
}

// unitCharge is what the unit asks of a resource.
func (p *oraclePool) unitCharge(w *oracleWork, unit []int, resource string) (sum int64) {
	for set, n := range unit {
		sum += int64(n) * p.setCharge(w, set, resource)
	}
	return sum
}

// before is O1.
func (w *oracleWork) before(x *oracleWork) bool {
	return cmp.Or(cmp.Compare(x.priority, w.priority), cmp.Compare(w.stage(), x.stage()), w.age(x)) < 0
}

func (w *oracleWork) age(x *oracleWork) int {
	return cmp.Or(cmp.Compare(w.submitted, x.submitted), cmp.Compare(w.source.ID, x.source.ID))
}

// next is the workload whose turn it is among those below a queue, or on the
// top level: the best of each sibling, and of the siblings the first by the
// policy's order.
func (p *oraclePool) next(parent *oracleQueue, waits func(*oracleWork) bool) *oracleWork {
	if parent != nil && len(parent.children) == 0 {
		var best *oracleWork
		for _, w := range parent.work {
			if waits(w) && (best == nil || w.before(best)) {
				best = w
			}
		}
		return best
	}
	type entry struct {
		queue *oracleQueue
		work  *oracleWork
	}
	var entries []entry
	for _, q := range p.siblings(parent) {
		if w := p.next(q, waits); w != nil {
			entries = append(entries, entry{q, w})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b entry) int { return p.compare(a.queue, a.work, b.queue, b.work) })
	return entries[0].work
}

// compare is the order between two siblings with their best workloads (O2, O3).
func (p *oraclePool) compare(a *oracleQueue, v *oracleWork, b *oracleQueue, w *oracleWork) int {
	class := func() int { return cmp.Compare(p.class(a, v), p.class(b, w)) }
	ties := func() int { return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.id, b.id)) }
	switch p.policy.Order {
	case queue.FairShare:
		return cmp.Or(class(), p.compareShares(a, v, b, w), ties())
	case queue.PriorityFirst:
		return cmp.Or(cmp.Compare(w.priority, v.priority), class(), p.compareShares(a, v, b, w), ties())
	case queue.Deprived:
		return cmp.Or(p.deprivation(a, v).compare(p.deprivation(b, w)), ties())
	case queue.ShareThenAge:
		return cmp.Or(class(), v.age(w), cmp.Compare(a.id, b.id))
	case queue.Global:
	}
	if v.before(w) {
		return -1
	}
	return 1
}

// asked are the divided resources that the workload's next unit requests.
func (p *oraclePool) asked(w *oracleWork) (resources []string) {
	for _, r := range p.resources {
		if p.divided(r) && p.unitCharge(w, w.unit(), r) > 0 {
			resources = append(resources, r)
		}
	}
	return resources
}

// class is O2 (a): 0 within quota, 1 within fair share, 2 beyond.
func (p *oraclePool) class(q *oracleQueue, w *oracleWork) (class int) {
	for _, r := range p.asked(w) {
		switch with := p.use(q, r, false) + p.unitCharge(w, w.unit(), r); {
		case p.governed(r) && with <= p.orderLine(q, r):
		case with <= q.fair[r]:
			class = max(class, 1)
		default:
			class = 2
		}
	}
	return class
}

// compareShares is O2 (b) to (f).
func (p *oraclePool) compareShares(a *oracleQueue, v *oracleWork, b *oracleQueue, w *oracleWork) int {
	if c := cmp.Or(cmp.Compare(p.tier(b, w), p.tier(a, v)), cmp.Compare(p.shareless(a, v), p.shareless(b, w)),
		p.saturation(a, v).compare(p.saturation(b, w)), p.saturation(a, nil).compare(p.saturation(b, nil))); c != 0 {
		return c
	}
	for _, r := range p.resources {
		if c := cmp.Compare(a.fair[r], b.fair[r]); c != 0 {
			return c
		}
	}
	return 0
}

// tier is O2 (b): the highest of the resources requested.
func (p *oraclePool) tier(q *oracleQueue, w *oracleWork) (tier int32) {
	for i, r := range p.asked(w) {
		if own := q.given(r).OverQuotaPriority; i == 0 || own > tier {
			tier = own
		}
	}
	return tier
}

// shareless is O2 (c): 1 where something is asked of which there is no share.
func (p *oraclePool) shareless(q *oracleQueue, w *oracleWork) int {
	if slices.ContainsFunc(p.asked(w), func(r string) bool { return q.fair[r] == 0 }) {
		return 1
	}
	return 0
}

// An oracleRatio is use over share; nil is infinite (F9).
type oracleRatio struct{ value *big.Rat }

func newOracleRatio(use, share int64) oracleRatio {
	switch {
	case share == oracleNone || use == 0 && share == 0:
		return oracleRatio{new(big.Rat)}
	case share == 0:
		return oracleRatio{}
	}
	return oracleRatio{big.NewRat(use, share)}
}

func (a oracleRatio) compare(b oracleRatio) int {
	switch {
	case a.value == nil && b.value == nil:
		return 0
	case a.value == nil:
		return 1
	case b.value == nil:
		return -1
	}
	return a.value.Cmp(b.value)
}

// saturation is F9's, over all divided resources, with the workload counted
// in unless it is nil.
func (p *oraclePool) saturation(q *oracleQueue, w *oracleWork) oracleRatio {
	most := oracleRatio{new(big.Rat)}
	for _, r := range p.resources {
		if !p.divided(r) {
			continue
		}
		use := p.use(q, r, false)
		if w != nil {
			use += p.unitCharge(w, w.unit(), r)
		}
		if ratio := newOracleRatio(use, q.fair[r]); ratio.compare(most) > 0 {
			most = ratio
		}
	}
	return most
}

// deprivation is use over quota, the largest of the resources requested; a
// quota of 0 is infinite (O2, RunAI20).
func (p *oraclePool) deprivation(q *oracleQueue, w *oracleWork) oracleRatio {
	most := oracleRatio{new(big.Rat)}
	for _, r := range p.asked(w) {
		ratio := oracleRatio{}
		if own := q.quota(r); p.governed(r) && own > 0 {
			ratio = newOracleRatio(p.use(q, r, false), own)
		}
		if ratio.compare(most) > 0 {
			most = ratio
		}
	}
	return most
}
