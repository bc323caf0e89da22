package verify

import "github.com/allotsched/allot"

// granule is the unit in which siblings share a surplus (S2, F5): the policy's, else 1
// and, of GPUs, a device where somebody asks whole ones only, else the largest part of
// one of which all that is asked is a multiple.
func granule(group []*verifiedQueue, resource string, demand verifiedDemands) int64 {
	given, some := group[0].pool.policy.Granules[resource]
	switch {
	case some:
		return given
	case resource != allot.GPU:
		return 1
	}
	common := int64(milliPerDevice)
	for _, q := range group {
		part := q.part(demand)
		if part == milliPerDevice {
			return milliPerDevice
		}
		common = divisor(common, part)
	}
	return common
}

// part is the largest part of a device of which all is a multiple that is asked of the
// queue, as far as it can be used; 0 if nothing is.
func (q *verifiedQueue) part(demand verifiedDemands) (common int64) {
	if q.requestable(allot.GPU, demand) == 0 {
		return 0
	}
	for _, child := range q.children {
		common = divisor(common, child.part(demand))
	}
	if len(q.children) == 0 {
		common = divisor(milliPerDevice, demand[q][allot.GPU].each)
	}
	return common
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
