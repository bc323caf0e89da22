package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What an administrator can grant: every bound of a queue that a reason names,
// and the quotas on the workload's way.

// bounds raises the bounds that the reasons name, one at a time.
func (h *helper) bounds() error {
	var seen []allot.Reason
	for _, r := range h.reasons {
		key := allot.Reason{Code: r.Code, Queue: r.Queue, Resource: r.Resource, Class: r.Class}
		if slices.ContainsFunc(seen, func(s allot.Reason) bool {
			return s.Code == key.Code && s.Queue == key.Queue && s.Resource == key.Resource && s.Class == key.Class
		}) {
			continue
		}
		seen = append(seen, key)
		if err := h.raise(&r); err != nil {
			return err
		}
	}
	return nil
}

// raise looks for the least that one bound has to be higher by.
func (h *helper) raise(r *allot.Reason) error {
	q, known := h.base.Queue(r.Queue)
	if !known {
		return nil
	}
	kind, field := MoreLimit, func(e *allot.QueueResource) *quota.Bound { return &e.Limit }
	switch r.Code {
	case allot.MaxWorkloads:
		return h.moreWorkloads(&q)
	case allot.OverLimit, allot.ImpossibleLimit:
	case allot.OverBorrowingLimit:
		kind, field = MoreBorrowing, func(e *allot.QueueResource) *quota.Bound { return &e.BorrowingLimit }
	case allot.KeptFromLending:
		kind, field = MoreLending, func(e *allot.QueueResource) *quota.Bound { return &e.LendingLimit }
	case allot.NoQuota, allot.ImpossibleQuota:
		if r.Class == "" {
			return nil // with the other quotas
		}
		kind, field = MoreQuota, func(e *allot.QueueResource) *quota.Bound { return &e.Quota }
	default:
		return nil
	}
	at := slices.IndexFunc(q.Resources, func(e allot.QueueResource) bool { return e.Resource == r.Resource && e.Class == r.Class })
	if at < 0 || !field(&q.Resources[at]).Given() || field(&q.Resources[at]).IsUnlimited() {
		return nil
	}
	from := field(&q.Resources[at]).Amount()
	_, demand := h.figures(r.Queue, r.Resource)
	most := min(allot.MaxAmount-from, max(r.Need, r.Need-r.Have, demand)+h.demandOf(r.Resource))
	return h.least(most, []int64{r.Need - r.Have}, func(n int64) (Remedy, bool) {
		with, _ := h.base.Queue(q.ID)
		*field(&with.Resources[at]) = quota.Of(from + n)
		return Remedy{
			Kind: kind, Queue: q.ID, Resource: r.Resource, Class: r.Class, Amount: n, From: from, To: from + n,
			Change: allot.Change{Queues: []allot.Queue{with}},
		}, from+n <= allot.MaxAmount
	})
}

func (h *helper) moreWorkloads(q *allot.Queue) error {
	if !q.MaxWorkloads.Given() || q.MaxWorkloads.IsUnlimited() {
		return nil
	}
	from := q.MaxWorkloads.Amount()
	return h.least(h.workloads, []int64{1}, func(n int64) (Remedy, bool) {
		with, _ := h.base.Queue(q.ID)
		with.MaxWorkloads = quota.Of(from + n)
		return Remedy{
			Kind: MoreWorkloads, Queue: q.ID, Amount: n, From: from, To: from + n, Change: allot.Change{Queues: []allot.Queue{with}},
		}, true
	})
}

// figures are the quota that holds for a queue (Q1), unlimited where there is
// none, and what it demands.
func (h *helper) figures(queue, resource string) (quota.Bound, int64) {
	i := slices.IndexFunc(h.shares, func(s allot.Share) bool {
		return s.Queue == queue && s.Resource == resource && s.Class == ""
	})
	if i < 0 {
		return quota.Unlimited(), 0
	}
	return h.shares[i].Quota, max(h.shares[i].Demand, h.shares[i].Used)
}

// demandOf is what the workload asks of a resource at most, in any form.
func (h *helper) demandOf(resource string) (most int64) {
	for form := range 1 + len(h.work.Alternatives) {
		sets, _ := formIn(&h.work, form)
		sum := int64(0)
		for i := range sets {
			r, devices := &sets[i].Request, devicesOf(&sets[i])
			each := r.Resources[resource]
			if resource == allot.GPU {
				each = devices * cmp.Or(r.GPU.Milli, wholeGPU)
				if r.GPU.Memory > 0 { // what that is charged depends on the pool
					each = devices * 64 * wholeGPU
				}
			}
			if sum += each * int64(sets[i].Count); sum > allot.MaxAmount {
				sum = allot.MaxAmount
			}
		}
		most = max(most, sum)
	}
	return most
}

// quotas raises the quotas of the workload's queues and of those above them, one
// at a time, in granules (S2).
func (h *helper) quotas() error {
	done := make(map[string]bool)
	for form := range 1 + len(h.work.Alternatives) {
		leaf := h.work.Queue
		if form > 0 {
			leaf = cmp.Or(h.work.Alternatives[form-1].Queue, leaf)
		}
		for id := leaf; id != ""; {
			q, known := h.base.Queue(id)
			if !known || done[id] {
				break
			}
			done[id] = true
			for _, resource := range h.resources() {
				if err := h.moreQuota(&q, resource); err != nil {
					return err
				}
			}
			if err := h.moreOfClasses(&q); err != nil {
				return err
			}
			id = q.Parent
		}
	}
	return nil
}

// resources are those that the workload asks for: GPU first, then by name.
func (h *helper) resources() []string {
	asked := make(map[string]int64)
	eachSet(&h.work, func(s *allot.PodSet) {
		for name, n := range s.Request.Resources { // a maximum: order cannot matter
			asked[name] = max(asked[name], n)
		}
	})
	var names []string
	if asksGPUs(&h.work) {
		names = append(names, allot.GPU)
	}
	for _, name := range amountNames(asked) {
		if asked[name] > 0 {
			names = append(names, name)
		}
	}
	return names
}

func (h *helper) moreQuota(q *allot.Queue, resource string) error {
	given, demand := h.figures(q.ID, resource)
	if given.IsUnlimited() || !given.Given() {
		return nil // it is under no quota, or under one without end
	}
	granule := h.granule(q, resource)
	from := given.Amount()
	steps := func(n int64) int64 { // rounded up, without overflow
		return n/granule + min(1, n%granule)
	}
	ask := min(h.demandOf(resource), allot.MaxAmount)
	most := min(steps(max(demand, 0)+ask), (allot.MaxAmount-from)/granule)
	var likely []int64
	for _, r := range h.reasons {
		short := r.Need - r.Have
		if r.Resource == resource && r.Queue == q.ID && r.Class == "" && short > 0 && short < math.MaxInt64/2 {
			likely = append(likely, steps(short))
		}
	}
	if missing := demand - from; missing > 0 {
		likely = append(likely, steps(missing))
	}
	return h.least(most, likely, func(n int64) (Remedy, bool) {
		with, _ := h.base.Queue(q.ID)
		entry := entryOf(&with, resource)
		entry.Quota = quota.Of(from + n*granule)
		return Remedy{
			Kind: MoreQuota, Queue: q.ID, Resource: resource, Amount: n * granule, From: from, To: from + n*granule,
			Change: allot.Change{Queues: []allot.Queue{with}},
		}, true
	})
}

// moreOfClasses raises the quotas that the queue gives for classes of what the workload
// asks, one at a time: they are guarantees (Q8). Those that a reason names are raised already.
func (h *helper) moreOfClasses(q *allot.Queue) error {
	for at, e := range q.Resources {
		named := slices.ContainsFunc(h.reasons, func(r allot.Reason) bool {
			return r.Queue == q.ID && r.Resource == e.Resource && r.Class == e.Class && (r.Code == allot.NoQuota || r.Code == allot.ImpossibleQuota)
		})
		if e.Class == "" || !e.Quota.Given() || e.Quota.IsUnlimited() || named || !slices.Contains(h.resources(), e.Resource) {
			continue
		}
		granule, from := h.granule(q, e.Resource), e.Quota.Amount()
		_, demand := h.figures(q.ID, e.Resource)
		ask := min(h.demandOf(e.Resource), allot.MaxAmount)
		most := min(max(demand, 0)/granule+ask/granule+2, (allot.MaxAmount-from)/granule)
		err := h.least(most, nil, func(n int64) (Remedy, bool) {
			with, _ := h.base.Queue(q.ID)
			with.Resources[at].Quota = quota.Of(from + n*granule)
			return Remedy{
				Kind: MoreQuota, Queue: q.ID, Resource: e.Resource, Class: e.Class, Amount: n * granule, From: from, To: from + n*granule,
				Change: allot.Change{Queues: []allot.Queue{with}},
			}, true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// entryOf is the queue's entry for the total of a resource, made if need be.
func entryOf(q *allot.Queue, resource string) *allot.QueueResource {
	at := slices.IndexFunc(q.Resources, func(e allot.QueueResource) bool { return e.Resource == resource && e.Class == "" })
	if at < 0 {
		at = len(q.Resources)
		q.Resources = append(q.Resources, allot.QueueResource{Resource: resource})
	}
	return &q.Resources[at]
}

// granule is the step in which quotas are told.
func (h *helper) granule(q *allot.Queue, resource string) int64 {
	if granule := h.policyOf(h.poolOf(q)).Granules[resource]; granule > 0 {
		return granule
	}
	if resource == allot.GPU {
		return wholeGPU
	}
	return 1
}
