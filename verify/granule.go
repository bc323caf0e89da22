package verify

import "github.com/allotsched/allot"

// granule is the unit in which siblings share a surplus (S2, F5): the policy's, else 1
// and, of GPUs, a device where some queue asks whole ones only, else the largest part of
// one of which all that is asked is a multiple. It is not sure where the plan does not say
// of all work whether it asks.
func granule(group []*verifiedQueue, resource string, demand verifiedDemands) (unit int64, sure bool) {
	given, some := group[0].pool.policy.Granules[resource]
	switch {
	case some:
		return given, true
	case resource != allot.GPU:
		return 1, true
	}
	sure, unit = true, milliPerDevice
	whole := false
	for _, q := range group {
		part, known := q.part(demand)
		whole, sure, unit = whole || part == milliPerDevice, sure && known, divisor(unit, part)
	}
	if whole {
		unit = milliPerDevice
	}
	return unit, sure
}

// A verifiedPart is the largest part of a device of which all is a multiple that is asked of a queue. It is sure
// if what may be asked beside that makes no difference.
type verifiedPart struct {
	common int64
	sure   bool
}

// part is the verifiedPart of the queue, as far as what is asked of it can be used; 0 if nothing is.
func (q *verifiedQueue) part(demand verifiedDemands) (common int64, sure bool) {
	if q.asked == nil {
		q.asked = new(verifiedPart)
		q.asked.common, q.asked.sure = q.partAnew(demand)
	}
	return q.asked.common, q.asked.sure
}

func (q *verifiedQueue) partAnew(demand verifiedDemands) (common int64, sure bool) {
	if q.requestable(allot.GPU, demand) == 0 {
		return 0, true
	}
	if len(q.children) == 0 {
		one := demand[q][allot.GPU]
		common = divisor(milliPerDevice, one.each)
		return common, divisor(common, one.unsure) == common
	}
	sure = true
	for _, child := range q.children {
		part, known := child.part(demand)
		common, sure = divisor(common, part), sure && known
	}
	return common, sure
}

// each is a divisor of what the form asks of every device; 0 if it asks none.
func (f *verifiedForm) each() (common int64) {
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		if amount := chargedGPU(ps.Request.GPU, f.queue.pool); amount > 0 && ps.Count > ps.Missing {
			common = divisor(common, amount/int64(deviceCount(ps.Request.GPU)))
		}
	}
	return common
}

// divisor is the greatest common divisor; 0 is a multiple of everything.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
