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
func (h *helper) demandOf(resource string) int64 { return demandOf(&h.work, resource) }

// demandOf is what a workload asks of a resource at most, in any form.
func demandOf(k *allot.Workload, resource string) (most int64) {
	for form := range 1 + len(k.Alternatives) {
		sets, _ := formIn(k, form)
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

// quotas raises the quotas of the workload's queues and of those above them, one at a
// time; where no single one helps, all of a way together.
func (h *helper) quotas() error {
	r := raiser{helper: h, resources: resourcesOf(&h.work), helps: make(map[string]bool)}
	for form := range 1 + len(h.work.Alternatives) {
		leaf := h.work.Queue
		if form > 0 {
			leaf = cmp.Or(h.work.Alternatives[form-1].Queue, leaf)
		}
		if _, done := r.helps[leaf]; done {
			continue
		}
		if err := r.raiseFrom(leaf); err != nil {
			return err
		}
	}
	return nil
}

// A raiser raises quotas along the ways from the queues of a workload's forms, each
// queue once though several ways lead through it.
type raiser struct {
	*helper
	// resources are those that the workload asks for.
	resources []string
	// helps: of each queue that was looked at, whether one of its quotas helps, or of
	// those below it on the way on which it was met first.
	helps map[string]bool
}

// raiseFrom raises the quotas on the way from a leaf.
func (r *raiser) raiseFrom(leaf string) error {
	var way []candidate
	alone := false
	for id := leaf; id != ""; {
		q, known := r.base.Queue(id)
		if !known {
			break
		}
		for _, one := range r.moreQuotas(&q) {
			if one.most <= 0 {
				continue
			}
			way = append(way, one)
			if _, done := r.helps[id]; done {
				continue
			}
			before := len(r.help.Remedies)
			if err := r.least(one.most, one.likely, one.remedy); err != nil {
				return err
			}
			alone = alone || len(r.help.Remedies) > before
		}
		if _, done := r.helps[id]; !done {
			r.helps[id] = alone
		}
		alone = alone || r.helps[id]
		id = q.Parent
	}
	if alone || len(way) < 2 {
		return nil
	}
	helps, err := r.leastTogether(way, true)
	if !helps && err == nil {
		r.failed = append(r.failed, way)
	}
	return err
}

// resourcesOf are those that a workload asks for: GPU first, then by name.
func resourcesOf(k *allot.Workload) []string {
	asked := make(map[string]int64)
	eachSet(k, func(s *allot.PodSet) {
		for name, n := range s.Request.Resources { // a maximum: order cannot matter
			asked[name] = max(asked[name], n)
		}
	})
	var names []string
	if asksGPUs(k) {
		names = append(names, allot.GPU)
	}
	for _, name := range amountNames(asked) {
		if asked[name] > 0 {
			names = append(names, name)
		}
	}
	return names
}

// moreQuotas is more of each quota of a queue that binds the workload: of resources, then
// of classes.
func (r *raiser) moreQuotas(q *allot.Queue) (more []candidate) {
	for _, resource := range r.resources {
		more = append(more, r.moreQuota(q, resource))
	}
	return append(more, r.moreOfClasses(q)...)
}

// moreQuota is more quota of a queue, in the unit of the resource: at most what the
// queue and the workload ask; of nothing where there is no quota, or one without end.
func (r *raiser) moreQuota(q *allot.Queue, resource string) candidate {
	given, demand := r.figures(q.ID, resource)
	if given.IsUnlimited() || !given.Given() {
		return candidate{}
	}
	from := given.Amount()
	c := candidate{most: min(max(demand, 0)+r.demandOf(resource), allot.MaxAmount-from)}
	for _, why := range r.reasons {
		short := why.Need - why.Have
		if why.Resource == resource && why.Queue == q.ID && why.Class == "" && short > 0 && short < math.MaxInt64/2 {
			c.likely = append(c.likely, short, short+min(r.aheadOf(q.ID, resource), c.most))
		}
	}
	if r.few && len(c.likely) > 1 { // the least may not be found
		c.likely = c.likely[1:]
	}
	if missing := demand - from; missing > 0 {
		c.likely = append(c.likely, 0, missing) // no reason is about that
	}
	c.remedy = func(n int64) (Remedy, bool) {
		with, _ := r.base.Queue(q.ID)
		entryOf(&with, resource).Quota = quota.Of(from + n)
		return Remedy{
			Kind: MoreQuota, Queue: q.ID, Resource: resource, Amount: n, From: from, To: from + n,
			Change: allot.Change{Queues: []allot.Queue{with}},
		}, true
	}
	return c
}

// aheadOf is how much of a resource all ask that wait in a queue, or below it, before the
// workload: by priority and time, as far as that tells the order.
func (h *helper) aheadOf(queue, resource string) (sum int64) {
	inside := func(id string) bool {
		for ; id != queue; id = h.queue[id].Parent {
			if h.queue[id] == nil {
				return false
			}
		}
		return true
	}
	policy := h.policy()
	own, _ := policy.Standing(h.work)
	for k := range h.base.Workloads() {
		if len(k.Tasks) > 0 || k.ID == h.work.ID || !inside(k.Queue) {
			continue
		}
		standing, _ := policy.Standing(k)
		before := cmp.Compare(standing, own)
		if policy.LowerFirst {
			before = -before
		}
		if before > 0 || before == 0 && k.Submitted.Before(h.work.Submitted) {
			sum = min(sum+demandOf(&k, resource), allot.MaxAmount)
		}
	}
	return sum
}

// moreOfClasses is more of each quota that the queue gives for a class of what the workload
// asks: they are guarantees (Q8). Those that a reason names are raised already.
func (r *raiser) moreOfClasses(q *allot.Queue) (more []candidate) {
	for at, e := range q.Resources {
		named := slices.ContainsFunc(r.reasons, func(why allot.Reason) bool {
			return why.Queue == q.ID && why.Resource == e.Resource && why.Class == e.Class &&
				(why.Code == allot.NoQuota || why.Code == allot.ImpossibleQuota)
		})
		if e.Class == "" || !e.Quota.Given() || e.Quota.IsUnlimited() || named || !slices.Contains(r.resources, e.Resource) {
			continue
		}
		from := e.Quota.Amount()
		_, demand := r.figures(q.ID, e.Resource)
		more = append(more, candidate{
			most:   min(max(demand, 0)+r.demandOf(e.Resource), allot.MaxAmount-from),
			likely: []int64{0, r.demandOf(e.Resource), demand - from},
			remedy: func(n int64) (Remedy, bool) {
				with, _ := r.base.Queue(q.ID)
				with.Resources[at].Quota = quota.Of(from + n)
				return Remedy{
					Kind: MoreQuota, Queue: q.ID, Resource: e.Resource, Class: e.Class, Amount: n, From: from, To: from + n,
					Change: allot.Change{Queues: []allot.Queue{with}},
				}, true
			},
		})
	}
	return more
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
