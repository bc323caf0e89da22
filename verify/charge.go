package verify

import (
	"cmp"
	"math"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
)

// A verifiedCharge is an amount charged to a queue for a resource or class.
type verifiedCharge struct {
	key    verifiedKey
	amount int64
}

// charges are what one task is charged where it runs: the total of each
// resource it requests and, by Q8, the node's class and, for GPU, the model.
func charges(r *allot.Request, p *verifiedPool, n *verifiedNode, devices []int) []verifiedCharge {
	list := make([]verifiedCharge, 0, len(r.Resources)+2)
	add := func(resource string, amount int64, model string) {
		list = append(list, verifiedCharge{verifiedKey{resource, ""}, amount})
		if class := n.source.Class; class != "" {
			list = append(list, verifiedCharge{verifiedKey{resource, class}, amount})
		}
		if model != "" && model != n.source.Class {
			list = append(list, verifiedCharge{verifiedKey{resource, model}, amount})
		}
	}
	if amount := chargedGPU(r.GPU, p); amount > 0 {
		model := ""
		if len(devices) > 0 {
			model = n.source.Devices[devices[0]].Model
		}
		add(allot.GPU, amount, model)
	}
	for _, resource := range sortedNames(r.Resources) {
		if amount := r.Resources[resource]; amount > 0 {
			add(resource, amount, "")
		}
	}
	return list
}

// chargedGPU is the milli-GPU that one task is charged (F1): device memory by
// the smallest device of the pool.
func chargedGPU(g allot.GPURequest, p *verifiedPool) int64 {
	each := cmp.Or(g.Milli, milliPerDevice)
	if m := p.smallestMemory; g.Memory > 0 && m > 0 {
		each = g.Memory/m*milliPerDevice + (g.Memory%m*milliPerDevice+m-1)/m
	}
	return int64(deviceCount(g)) * each
}

// deviceCount is how many devices a task names (P2).
func deviceCount(g allot.GPURequest) int {
	if g.Count == 0 && (g.Milli > 0 || g.Memory > 0) {
		return 1
	}
	return g.Count
}

// unbounded is the amount of no quota and no limit.
const unbounded = math.MaxInt64

// bindingQuotaOf is the quota by Q2: that of a class binds only where it is given (Q8).
func (q *verifiedQueue) bindingQuotaOf(key verifiedKey) int64 {
	if key.class != "" && !q.given[key].Quota.Given() {
		return unbounded
	}
	return q.quotaOf(key)
}

// guarantees says whether the leaf may reclaim the class (Q8): it gives a quota for it, and
// the shares know quotas.
func (q *verifiedQueue) guarantees(key verifiedKey) bool {
	return key.class != "" && q.given[key].Quota.Given() && q.pool.policy.Shares == fairshare.QuotaThenWeight
}

// quotaOf is what holds after Q1's defaults.
func (q *verifiedQueue) quotaOf(key verifiedKey) int64 {
	if !q.pool.governed[key] {
		return unbounded
	}
	if amount, known := q.quotas[key]; known {
		return amount
	}
	var amount int64
	switch given := q.given[key].Quota; {
	case given.Given():
		amount = given.Amount()
	default: // 0 in a leaf, which has no children
		for _, child := range q.children {
			amount = addBounded(amount, child.quotaOf(key))
		}
	}
	q.quotas[key] = amount
	return amount
}

// limitOf is the limit, borrowingOf the quota plus the borrowing limit.
func (q *verifiedQueue) limitOf(key verifiedKey) int64 {
	if limit := q.given[key].Limit; limit.Given() {
		return limit.Amount()
	}
	return unbounded
}

func (q *verifiedQueue) borrowingOf(key verifiedKey) int64 {
	if limit := q.given[key].BorrowingLimit; limit.Given() {
		return addBounded(q.quotaOf(key), limit.Amount())
	}
	return unbounded
}

// addBounded adds two amounts of which either may be unbounded. Sums of given
// amounts are below 2^62 (V1).
func addBounded(a, b int64) int64 {
	if a == unbounded || b == unbounded {
		return unbounded
	}
	return a + b
}

// used is the queue's use, zero where there is none.
func (q *verifiedQueue) used(key verifiedKey) verifiedUse {
	if u := q.use[key]; u != nil {
		return *u
	}
	return verifiedUse{}
}
