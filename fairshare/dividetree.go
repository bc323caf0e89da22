package fairshare

import "slices"

// DivideTree divides the capacity down the tree of queues and returns one
// [Share] per queue, in the order of the queues.
//
// What is requestable is summed from the leaves up (F1); then every sibling
// group divides its parent's fair share, the top level the capacity, by
// [Divide] or [DivideByDemand] (F2–F5, F8), in granules that follow from what its
// members ask (F5, [Granules]). Where quota parts sum to more than
// the parent's fair share, that is divided among them by quota; at the top level they
// stand (F2), but for [TreeConfig.ScaleGuarantees] (F13). Likewise the children of a
// queue divide what of its quota it may defend (R8). Under [ByDemand] and [MaxMin] all quotas
// are 0 and a leaf's requestable is its demand capped by its limit; ByDemand
// knows no tiers.
//
// Lending (Q5): what a queue keeps and cannot use itself is set aside from
// the quotas of its ancestors and from the capacity, so it is no surplus
// at any level, and no part of any share. The quota part of an inner
// queue is therefore min(quota less what is set aside below it, requestable).
//
// The shares are written to dst if its capacity is enough. Faulty input is an
// *[InputError] (a negative amount, demands that sum to 2^63 or more, a parent
// that is none or on a cycle, demand at an inner queue). It takes the time of
// the groups' divisions and allocates a fixed number of scratch slices,
// whatever the number of groups.
func DivideTree(dst []Share, c TreeConfig) ([]Share, error) {
	t, shares, keptIdle, err := asked(dst, &c)
	if err != nil {
		return nil, err
	}
	t.divide(shares, keptIdle, &c)
	return shares, nil
}

// asked checks the input and fills in what is asked, from the leaves up.
func asked(dst []Share, c *TreeConfig) (t *tree, shares []Share, keptIdle []int64, err error) {
	if !c.Method.Valid() {
		return nil, nil, nil, &InputError{Index: -1, Field: "Method", Value: int64(c.Method), Fault: UnknownMethod}
	}
	if err := firstNegative(-1, field{"Granule", c.Granule}, field{"UsageStrengthMilli", c.UsageStrengthMilli}); err != nil {
		return nil, nil, nil, err
	}
	if t, err = newTree(c.Queues); err != nil {
		return nil, nil, nil, err
	}
	shares = resize(dst, len(c.Queues))
	clear(shares)
	keptIdle = make([]int64, len(c.Queues))
	if c.Method == ByDemand {
		t.asked = make([]int64, len(c.Queues))
	}
	return t, shares, keptIdle, t.ask(shares, keptIdle, c)
}

// A tree is the order of a walk: top-level queues first, then group by group,
// every group after its parent.
type tree struct {
	queues []Queue
	// order lists the queues; those of one group stand together, by index.
	order []int32
	// first is the position in order of a queue's first child, children their
	// number.
	first, children []int32
	top             int32 // the number of top-level queues
	// asked is, under ByDemand, what each asks within its limit, in reach or not.
	asked []int64
}

// newTree checks the queues and puts them in order.
func newTree(queues []Queue) (*tree, error) {
	n := len(queues)
	t := &tree{queues: queues, order: make([]int32, 0, n), first: make([]int32, n), children: make([]int32, n)}
	for i := range queues {
		q := &queues[i]
		if err := checkQueue(i, q, n); err != nil {
			return nil, err
		}
		if q.Parent < 0 {
			t.order = append(t.order, int32(i))
		} else {
			t.children[q.Parent]++
		}
	}
	t.top = int32(len(t.order))
	byParent, start := childrenByParent(queues, t.children)
	for position := 0; position < len(t.order); position++ {
		q := t.order[position]
		t.first[q] = int32(len(t.order))
		t.order = append(t.order, byParent[start[q]:start[q]+t.children[q]]...)
	}
	if len(t.order) < n {
		return nil, cycleIn(queues, t.order)
	}
	for i := range queues {
		if d := queues[i].Demand; t.children[i] > 0 && d != (Demand{}) {
			return nil, &InputError{Index: i, Field: "Demand", Value: max(d.Preemptible, d.NonPreemptible), Fault: NotALeaf}
		}
	}
	return t, nil
}

// childrenByParent sorts the queues that have a parent by it, then by index,
// in linear time. start is where a parent's children begin.
func childrenByParent(queues []Queue, children []int32) (byParent, start []int32) {
	start = make([]int32, len(queues))
	sum := int32(0)
	for i, count := range children {
		start[i] = sum
		sum += count
	}
	byParent = make([]int32, sum)
	next := slices.Clone(start)
	for i := range queues {
		if p := queues[i].Parent; p >= 0 {
			byParent[next[p]] = int32(i)
			next[p]++
		}
	}
	return byParent, start
}

// cycleIn names the first queue that a walk from the top did not reach.
func cycleIn(queues []Queue, reached []int32) error {
	seen := make([]bool, len(queues))
	for _, q := range reached {
		seen[q] = true
	}
	i := slices.Index(seen, false)
	return &InputError{Index: i, Field: "Parent", Value: int64(queues[i].Parent), Fault: Cycle}
}

func checkQueue(i int, q *Queue, n int) error {
	d := &q.Demand
	if int64(q.Parent) < -1 || int64(q.Parent) >= int64(n) {
		return &InputError{Index: i, Field: "Parent", Value: int64(q.Parent), Fault: NoSuchParent}
	}
	return firstNegative(i, field{"Quota", q.Quota}, field{"Limit", q.Limit},
		field{"Weight", q.Weight}, field{"Keep", q.Keep}, field{"OutOfReach", q.OutOfReach},
		field{"Demand.Preemptible", d.Preemptible}, field{"Demand.NonPreemptible", d.NonPreemptible},
		field{"Demand.RunningNonPreemptible", d.RunningNonPreemptible}, field{"Demand.Unit", d.Unit},
		field{"Usage.Used", q.Usage.Used}, field{"Usage.Capacity", q.Usage.Capacity})
}

// ask fills in, from the leaves up, Demand, Requestable (F1) and what is kept
// from lending and not requestable (Q5).
func (t *tree) ask(shares []Share, keptIdle []int64, c *TreeConfig) error {
	quotas := c.Method == QuotaThenWeight
	for position := len(t.order) - 1; position >= 0; position-- {
		i := t.order[position]
		q, s := &t.queues[i], &shares[i]
		if t.children[i] == 0 {
			var ok bool
			if s.Demand, s.Requestable, ok = q.Demand.ask(c, q.Quota); !ok {
				return overflow(int(i), q.Demand.NonPreemptible)
			}
		}
		s.Requestable = min(s.Requestable, q.Limit)
		if t.asked != nil { // what is out of reach counts in proportion (F8)
			if t.children[i] == 0 {
				t.asked[i] = s.Requestable
			}
			t.asked[i] = min(t.asked[i], q.Limit)
		}
		s.Requestable = min(s.Requestable, max(0, max(c.Capacity, 0)-q.OutOfReach))
		if quotas {
			// An inner queue keeps the larger of its own and its children's.
			keptIdle[i] = max(keptIdle[i], min(q.Keep, q.Quota)-s.Requestable)
		}
		if q.Parent < 0 {
			continue
		}
		parent := &shares[q.Parent]
		parent.Demand += s.Demand
		if parent.Demand < 0 {
			return overflow(int(i), s.Demand)
		}
		parent.Requestable += s.Requestable // at most the demand
		if t.asked != nil {
			t.asked[q.Parent] += t.asked[i]
		}
		keptIdle[q.Parent] = saturatingAdd(keptIdle[q.Parent], keptIdle[i])
	}
	return nil
}

func overflow(i int, value int64) error {
	return &InputError{Index: i, Field: "Demand", Value: value, Fault: Overflow}
}

// ask returns what a leaf demands and what of it is requestable before its
// limit (F1), and false if that is 2^63 or more. Non-preemptible work starts
// only within quota where Q2 is on, but what runs is not unasked by that.
func (d *Demand) ask(c *TreeConfig, quota int64) (demand, requestable int64, ok bool) {
	nonPreemptible, startable := d.NonPreemptible, d.NonPreemptible
	if c.Method == QuotaThenWeight {
		nonPreemptible = max(nonPreemptible, d.RunningNonPreemptible)
		startable = nonPreemptible
		if !c.NonPreemptibleOverQuota {
			startable = max(d.RunningNonPreemptible, min(quota, nonPreemptible))
		}
	}
	demand = d.Preemptible + nonPreemptible
	return demand, d.Preemptible + startable, demand >= 0
}

// saturatingAdd is a + b for amounts ≥ 0, [Unlimited] where that overflows.
func saturatingAdd(a, b int64) int64 {
	if a > Unlimited-b {
		return Unlimited
	}
	return a + b
}

// widestGroup returns the size of the largest sibling group.
func (t *tree) widestGroup() int {
	widest := t.top
	for _, children := range t.children {
		widest = max(widest, children)
	}
	return int(widest)
}

// divide fills in QuotaPart and FairShare from the top down.
func (t *tree) divide(shares []Share, keptIdle []int64, c *TreeConfig) {
	g := newGroupDivider(t.widestGroup(), c.Method)
	g.asked, g.history = t.asked, c.usesHistory()
	granules := t.granules(shares, c)
	top, there := t.order[:t.top], max(c.Capacity, 0)
	for _, i := range top {
		there -= min(there, keptIdle[i])
	}
	most := Unlimited
	if c.ScaleGuarantees {
		most = there
	}
	g.options = c.optionsOf(granules, -1)
	g.entitle(shares, t.queues, top, most, c)
	g.divide(shares, keptIdle, t.queues, top, there, c.ScaleGuarantees, c)
	for _, i := range t.order {
		if t.children[i] > 0 {
			group := t.order[t.first[i]:][:t.children[i]]
			g.options = c.optionsOf(granules, i)
			g.entitle(shares, t.queues, group, shares[i].Guaranteed, c)
			g.divide(shares, keptIdle, t.queues, group, shares[i].FairShare, true, c)
		}
	}
}

// A groupDivider divides one sibling group after the other in one scratch.
type groupDivider struct {
	divider
	options      Options // of the group
	claims       []Claim
	demandClaims []DemandClaim
	rooms        []int64
	result       []int64
	asked        []int64 // see tree
	history      bool    // what was used changes weights (F6)
}

func newGroupDivider(widest int, m Method) *groupDivider {
	g := &groupDivider{
		divider: divider{claimants: make([]claimant, 0, widest)},
		result:  make([]int64, widest),
	}
	if m == ByDemand {
		g.demandClaims, g.rooms = make([]DemandClaim, 0, widest), make([]int64, 0, widest)
	} else {
		g.claims = make([]Claim, 0, widest)
	}
	return g
}

// divide divides capacity among the queues of a group and writes their quota
// parts and fair shares. With scaled the quota parts are no more than the capacity.
//
// What is kept idle at or below a queue has been taken from the capacity at
// the top, so here it is only taken from the queue's quota: as far as the
// quota goes it is that queue's quota which is kept.
func (g *groupDivider) divide(shares []Share, keptIdle []int64, queues []Queue, group []int32, capacity int64, scaled bool, c *TreeConfig) {
	weight := func(_ int, i int32) int64 { return queues[i].Weight }
	if c.Method == ByDemand {
		if g.history {
			adjusted := adjustGroup(shares, queues, group, c)
			weight = func(at int, _ int32) int64 { return adjusted[at] }
		}
		g.demandClaims, g.rooms = g.demandClaims[:0], g.rooms[:0]
		for at, i := range group {
			q := &queues[i]
			g.demandClaims = append(g.demandClaims, DemandClaim{Demand: g.asked[i], Weight: weight(at, i), Created: q.Created})
			g.rooms = append(g.rooms, shares[i].Requestable)
		}
		g.result = g.divideByDemand(g.result, capacity, g.demandClaims, g.rooms, g.options)
	} else {
		g.partQuotas(shares, keptIdle, queues, group, c)
		if scaled && g.cut(shares, queues, group, capacity, func(s *Share) *int64 { return &s.QuotaPart }) {
			for _, i := range group {
				shares[i].FairShare = shares[i].QuotaPart
			}
			return
		}
		if g.history {
			adjusted := adjustGroup(shares, queues, group, c)
			weight = func(at int, _ int32) int64 { return adjusted[at] }
		}
		g.claims = g.claims[:0]
		for at, i := range group {
			q := &queues[i]
			claim := Claim{Requestable: shares[i].Requestable, Weight: weight(at, i), Tier: q.Tier, Created: q.Created}
			if c.Method == QuotaThenWeight {
				claim.Quota = q.quotaLess(keptIdle[i])
			}
			g.claims = append(g.claims, claim)
		}
		g.result = g.divider.divide(g.result, capacity, g.claims, g.options)
	}
	for position, i := range group {
		shares[i].FairShare = g.result[position]
	}
}

// partQuotas fills in the quota parts of a group, each by itself (F2).
func (g *groupDivider) partQuotas(shares []Share, keptIdle []int64, queues []Queue, group []int32, c *TreeConfig) {
	for _, i := range group {
		if c.Method == QuotaThenWeight {
			shares[i].QuotaPart = min(queues[i].quotaLess(keptIdle[i]), shares[i].Requestable)
		}
	}
}

// quotaLess is the quota without what of it is kept idle.
func (q *Queue) quotaLess(kept int64) int64 {
	if q.Quota == Unlimited {
		return q.Quota
	}
	return max(0, q.Quota-kept)
}
