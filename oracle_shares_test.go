package allot

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

// Fair shares as F1 to F8 tell them: granule by granule, in exact ratios.

// divide computes the fair shares of all queues (F1–F5, F8).
func (p *oraclePool) divide() {
	for _, q := range p.queues {
		q.fair = make(map[string]int64)
	}
	for _, r := range p.resources {
		if p.divided(r) {
			p.divideGroup(nil, r, max(0, p.capacity(r)))
		}
	}
}

// capacity is what the usable nodes have, less foreign use (F1).
func (p *oraclePool) capacity(resource string) (sum int64) {
	for _, n := range p.nodes {
		if !n.Lost && !n.Cordoned {
			sum += oracleCapacity(n, resource)
		}
	}
	return sum
}

func oracleCapacity(n *Node, resource string) (sum int64) {
	if resource != GPU {
		return max(0, n.Capacity[resource]-n.Foreign[resource])
	}
	for _, d := range n.Devices {
		if !d.Unhealthy {
			sum += 1000 - d.Foreign
		}
	}
	return sum
}

// demand is what the workloads of the queue and below ask, running and
// waiting (F1): each its maximum, and nothing where it ends.
func (p *oraclePool) demand(q *oracleQueue, resource string, wanted func(*oracleWork) bool) (sum int64) {
	for _, leaf := range q.leaves() {
		for _, w := range p.demanding(leaf) {
			if wanted(w) {
				sum += p.most(w, resource)
			}
		}
	}
	return sum
}

// asks says whether the workload's demand counts: it holds something, or it could start
// if nothing else were on the nodes.
func (p *oraclePool) asks(w *oracleWork) bool {
	return !w.source.Ending && (w.holds() || w.shortOfTasks() || !w.placeless())
}

// demanding are the workloads of a leaf whose demand counts: where shares know
// no quota no more than may run at once (F8), by O1 whatever runs, so that no
// start changes a share.
func (p *oraclePool) demanding(leaf *oracleQueue) []*oracleWork {
	work := slices.DeleteFunc(slices.Clone(leaf.work), func(w *oracleWork) bool { return !p.asks(w) })
	if p.policy.Shares == fairshare.QuotaThenWeight {
		return work
	}
	slices.SortStableFunc(work, func(a, b *oracleWork) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.age(b))
	})
	return work[:min(int64(len(work)), oracleBound(leaf.source.MaxWorkloads, oracleNone))]
}

// most is what a workload asks at its maximum.
func (p *oraclePool) most(w *oracleWork, resource string) (sum int64) {
	for set := range w.source.PodSets {
		sum += int64(w.submittedTasks(set)) * p.setCharge(w, set, resource)
	}
	return sum
}

func oracleAnyWork(*oracleWork) bool { return true }

// shareQuota is the quota as the shares know it: none where they know no quota.
func (p *oraclePool) shareQuota(q *oracleQueue, resource string) int64 {
	if p.policy.Shares != fairshare.QuotaThenWeight {
		return 0
	}
	return q.quota(resource)
}

// requestable is F1's: no more than the nodes have that the queue, or some queue below it,
// may use.
func (p *oraclePool) requestable(q *oracleQueue, resource string) (sum int64) {
	if len(q.children) == 0 {
		return min(p.counts(q, resource), p.reach(q, resource))
	}
	for _, c := range q.children {
		sum += p.requestable(c, resource)
	}
	return min(p.limit(q, resource), sum, p.reach(q, resource))
}

// reach is what the nodes have that some leaf of the queue may use.
func (p *oraclePool) reach(q *oracleQueue, resource string) (sum int64) {
	for _, n := range p.nodes {
		uses := func(leaf *oracleQueue) bool {
			return !slices.ContainsFunc(leaf.path(), func(above *oracleQueue) bool { return !oracleInSet(above.source.Nodes, n) })
		}
		if !n.Lost && !n.Cordoned && slices.ContainsFunc(q.leaves(), uses) {
			sum += oracleCapacity(n, resource)
		}
	}
	return max(0, sum)
}

// counts is what the queue asks within its limits, in reach or not, which counts in
// proportion to demand (F8).
func (p *oraclePool) counts(q *oracleQueue, resource string) (sum int64) {
	if len(q.children) > 0 {
		for _, c := range q.children {
			sum += p.counts(c, resource)
		}
		return min(p.limit(q, resource), sum)
	}
	fixed := p.demand(q, resource, func(w *oracleWork) bool { return w.nonPreemptible })
	all := p.demand(q, resource, oracleAnyWork)
	counted := fixed
	if !p.policy.NonPreemptibleOverQuota && p.policy.Shares == fairshare.QuotaThenWeight {
		counted = max(p.use(q, resource, true), min(p.shareQuota(q, resource), fixed))
	}
	return min(p.limit(q, resource), all-fixed+counted)
}

// aside is what the queue keeps from lending and cannot use itself (Q5).
func (p *oraclePool) aside(q *oracleQueue, resource string) (sum int64) {
	for _, c := range q.children {
		sum += p.aside(c, resource)
	}
	return max(sum, p.reserve(q, resource)-p.requestable(q, resource))
}

// reserve is the part of the quota that a lending limit keeps (Q5).
func (p *oraclePool) reserve(q *oracleQueue, resource string) int64 {
	lend := q.given(resource).LendingLimit
	if !lend.Given() || !p.governed(resource) || p.policy.Shares != fairshare.QuotaThenWeight {
		return 0
	}
	own := q.quota(resource)
	if own == oracleNone {
		own = max(0, p.capacity(resource))
	}
	return max(0, own-lend.Amount())
}

// An oracleClaim is what one queue of a group brings.
type oracleClaim struct {
	queue       *oracleQueue
	requestable int64
	share       int64
	surplus     int64
	weight      *big.Int
	adjusted    *big.Rat // by usage (F6); nil where nothing changes it
	tier        int32
}

// divideGroup divides an amount among the children of a queue, or the top
// level, and each one's share among its own.
func (p *oraclePool) divideGroup(parent *oracleQueue, resource string, amount int64) {
	claims := p.claims(parent, resource)
	there, sum := amount, int64(0)
	for _, c := range claims {
		part := int64(oracleNone)
		if own := p.shareQuota(c.queue, resource); own != oracleNone {
			part = own
			for _, child := range c.queue.children {
				part -= p.aside(child, resource)
			}
		}
		c.share = min(max(0, part), c.requestable)
		sum = oracleSum(sum, c.share)
		amount -= c.share
		if parent == nil {
			amount -= p.aside(c.queue, resource)
			there = max(0, there-p.aside(c.queue, resource))
		}
	}
	if (parent != nil || p.policy.ScaleGuarantees) && sum > there {
		parts := make(map[*oracleQueue]int64)
		for _, c := range claims {
			parts[c.queue] = c.share
		}
		p.cutLines(p.siblings(parent), resource, there, func(q *oracleQueue) int64 { return parts[q] }, func(q *oracleQueue, n int64) { parts[q] = n })
		for _, c := range claims {
			c.share, amount = parts[c.queue], 0
		}
		p.features["handed down"] = true
	}
	var tiers []int32
	for _, c := range claims {
		tiers = append(tiers, c.tier)
	}
	slices.Sort(tiers)
	slices.Reverse(tiers)
	for _, tier := range slices.Compact(tiers) {
		amount = p.divideTier(claims, tier, resource, amount)
	}
	for _, c := range claims {
		c.queue.fair[resource] = c.share
		if len(c.queue.children) > 0 {
			p.divideGroup(c.queue, resource, c.share)
		}
	}
}

// claims are those of a sibling group, with their weights (F4, F8).
func (p *oraclePool) claims(parent *oracleQueue, resource string) (claims []*oracleClaim) {
	group := p.siblings(parent)
	byQuota := p.policy.InnerWeightByQuota &&
		slices.ContainsFunc(group, func(q *oracleQueue) bool { return len(q.children) > 0 })
	sums := make(map[int32]*big.Int) // of the weights, by tier (F6)
	for _, q := range group {
		c := &oracleClaim{queue: q, requestable: p.requestable(q, resource), tier: q.given(resource).OverQuotaPriority}
		weight := q.given(resource).Weight
		switch absent := !weight.Given() || byQuota; {
		case absent && p.policy.Shares == fairshare.QuotaThenWeight:
			weight = quota.Of(q.quota(resource))
		case absent:
			weight = quota.Of(1)
		}
		c.weight = big.NewInt(weight.Amount())
		if p.policy.Shares == fairshare.ByDemand {
			c.tier = 0
		}
		claims = append(claims, c)
		if sums[c.tier] == nil {
			sums[c.tier] = new(big.Int)
		}
		sums[c.tier].Add(sums[c.tier], c.weight)
	}
	if p.policy.UsageStrengthMilli > 0 {
		for _, c := range claims {
			c.byUsage(p.policy.UsageStrengthMilli, resource, sums[c.tier])
			p.features["usage"] = p.features["usage"] || c.adjusted != nil && c.queue.given(resource).Usage.Used > 0
		}
	}
	return claims
}

// byUsage is F6: max(0, w + k·(w − u)), as a fraction, where the weights of the tier have a sum.
func (c *oracleClaim) byUsage(strengthMilli int64, resource string, sum *big.Int) {
	if sum.Sign() == 0 {
		return
	}
	w, u, k := new(big.Rat).SetFrac(c.weight, sum), new(big.Rat), big.NewRat(strengthMilli, 1000)
	if said := c.queue.given(resource).Usage; said.Capacity > 0 {
		u.SetFrac64(said.Used, said.Capacity)
	}
	u.Sub(w, u).Mul(u, k).Add(u, w)
	if u.Sign() < 0 {
		u.SetInt64(0)
	}
	c.adjusted = u
}

// weighByUsage takes the adjusted weights of a tier, as whole numbers, unless of those who want
// more nobody has any.
func weighByUsage(members []*oracleClaim) {
	some, all := false, big.NewInt(1)
	for _, c := range members {
		if c.adjusted == nil {
			return
		}
		some = some || c.adjusted.Sign() > 0 && c.share < c.requestable
		all.Mul(all, c.adjusted.Denom())
	}
	for _, c := range members {
		if some {
			c.weight = new(big.Int).Div(new(big.Int).Mul(c.adjusted.Num(), all), c.adjusted.Denom())
		}
	}
}

// divideTier gives the surplus to one tier (F3, F5) and returns what is left.
func (p *oraclePool) divideTier(claims []*oracleClaim, tier int32, resource string, surplus int64) int64 {
	members := slices.DeleteFunc(slices.Clone(claims), func(c *oracleClaim) bool { return c.tier != tier })
	weighByUsage(members)
	weightless := !slices.ContainsFunc(members, func(c *oracleClaim) bool { return c.weight.Sign() > 0 })
	if weightless && p.policy.EqualSharesAtZeroWeight {
		for _, c := range members {
			c.weight = big.NewInt(1)
		}
	}
	if p.policy.Shares == fairshare.ByDemand {
		for _, c := range members {
			c.weight.Mul(c.weight, big.NewInt(p.counts(c.queue, resource)))
		}
	}
	granule := p.granule(members[0].queue.parent, resource)
	for surplus > 0 {
		var next *oracleClaim
		for _, c := range members {
			if c.share < c.requestable && c.weight.Sign() > 0 && (next == nil || c.before(next, granule)) {
				next = c
			}
		}
		if next == nil {
			break
		}
		given := min(granule, surplus, next.requestable-next.share)
		next.share += given
		next.surplus += given
		surplus -= given
	}
	return surplus
}

// granule is F5's of the children of a queue: as given, else one, and of GPUs the
// largest part of a device of which all that is asked is a multiple, if nobody asks
// whole ones only.
func (p *oraclePool) granule(parent *oracleQueue, resource string) int64 {
	if g := p.policy.Granules[resource]; g > 0 {
		return g
	}
	if resource != GPU {
		return 1
	}
	var all []int64
	for _, q := range p.siblings(parent) {
		asked := p.askedOfDevices(q)
		whole := func(n int64) bool { return n%1000 == 0 }
		if len(asked) > 0 && !slices.ContainsFunc(asked, func(n int64) bool { return !whole(n) }) {
			return 1000
		}
		all = append(all, asked...)
	}
	granule := int64(1000)
	for slices.ContainsFunc(all, func(n int64) bool { return n%granule != 0 }) {
		for granule--; 1000%granule != 0; granule-- {
		}
	}
	return granule
}

// askedOfDevices is what the work of the queue and below asks of each device, of queues
// that can use anything.
func (p *oraclePool) askedOfDevices(q *oracleQueue) (asked []int64) {
	if p.requestable(q, GPU) == 0 {
		return nil
	}
	for _, c := range q.children {
		asked = append(asked, p.askedOfDevices(c)...)
	}
	if len(q.children) > 0 {
		return asked
	}
	for _, w := range p.demanding(q) {
		for set := range w.source.PodSets {
			if charge := p.setCharge(w, set, GPU); charge > 0 && w.submittedTasks(set) > 0 {
				asked = append(asked, charge/int64(max(1, w.source.PodSets[set].Request.GPU.Count)))
			}
		}
	}
	return asked
}

// before is F5: the lowest (2·surplus so far + g)/weight, then the larger
// weight, the older, the ID.
func (c *oracleClaim) before(d *oracleClaim, granule int64) bool {
	left := new(big.Int).Mul(big.NewInt(2*c.surplus+granule), d.weight)
	right := new(big.Int).Mul(big.NewInt(2*d.surplus+granule), c.weight)
	return cmp.Or(left.Cmp(right), d.weight.Cmp(c.weight),
		cmp.Compare(c.queue.created, d.queue.created), cmp.Compare(c.queue.id, d.queue.id)) < 0
}

// drawLines draws what every queue may defend by quota and by fair share (R8).
func (p *oraclePool) drawLines() {
	for _, q := range p.queues {
		q.byQuota, q.byShare = make(map[string]int64), make(map[string]int64)
	}
	for _, r := range p.resources {
		if p.divided(r) {
			p.drawLinesBelow(nil, r)
		}
	}
}

func (p *oraclePool) drawLinesBelow(parent *oracleQueue, r string) {
	group, sum := p.siblings(parent), int64(0)
	part := func(q *oracleQueue) int64 { return min(p.shareQuota(q, r), p.requestable(q, r)) }
	for _, q := range group {
		sum = oracleSum(sum, part(q))
	}
	for _, q := range group {
		q.byQuota[r], q.byShare[r] = part(q), q.fair[r]
	}
	most := int64(oracleNone)
	switch {
	case parent != nil:
		most = parent.byQuota[r]
	case p.policy.ScaleGuarantees:
		most = max(0, p.capacity(r))
		for _, q := range group {
			most = max(0, most-p.aside(q, r))
		}
	}
	if sum > most {
		p.cutLines(group, r, most, part, func(q *oracleQueue, n int64) { q.byQuota[r] = n })
	}
	for _, q := range group {
		q.byShare[r] = max(q.byQuota[r], q.byShare[r])
		if len(q.children) > 0 {
			p.drawLinesBelow(q, r)
		}
	}
}

// cutLines divides an amount in proportion to quota, nobody above its part.
func (p *oraclePool) cutLines(group []*oracleQueue, r string, amount int64, part func(*oracleQueue) int64, set func(*oracleQueue, int64)) {
	var claims []*oracleClaim
	for _, q := range group {
		claims = append(claims, &oracleClaim{queue: q, requestable: part(q), weight: big.NewInt(q.quota(r))})
	}
	granule := p.granule(group[0].parent, r)
	for amount > 0 {
		var next *oracleClaim
		for _, c := range claims {
			if c.share < c.requestable && (next == nil || c.before(next, granule)) {
				next = c
			}
		}
		if next == nil {
			break
		}
		given := min(granule, amount, next.requestable-next.share)
		next.share, next.surplus, amount = next.share+given, next.surplus+given, amount-given
	}
	for _, c := range claims {
		set(c.queue, c.share)
	}
}

// quotaLine is the quota, or what is left of it where it was cut (F2, F13).
func (p *oraclePool) quotaLine(q *oracleQueue, r string) int64 {
	if q.byQuota[r] < min(p.shareQuota(q, r), p.requestable(q, r)) {
		return q.byQuota[r]
	}
	return p.shareQuota(q, r)
}

// orderLine is up to what use is within quota for O2: where shares know no quota the one given.
func (p *oraclePool) orderLine(q *oracleQueue, r string) int64 {
	if p.policy.Shares != fairshare.QuotaThenWeight {
		return q.quota(r)
	}
	return p.quotaLine(q, r)
}

// withinLines says whether the unit keeps its path within its lines at every
// level: LF of the leaf, above it the larger of quota and fair share.
func (p *oraclePool) withinLines(w *oracleWork, unit []int) bool {
	for _, r := range p.resources {
		need := p.unitCharge(w, unit, r)
		if need == 0 || !p.divided(r) {
			continue
		}
		for _, q := range w.queue.path() {
			line := max(p.quotaLine(q, r), q.fair[r])
			if q == w.queue {
				line = q.byShare[r]
			}
			if p.use(q, r, false)+need > line {
				return false
			}
		}
	}
	return true
}
