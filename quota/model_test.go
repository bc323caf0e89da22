package quota_test

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/allotsched/allot/quota"
)

// model is the oracle: it has the configuration as given and the list of what
// is charged, and computes every answer from these two by the words of the
// rules, recursively and without care for speed. It shares no code with Tree.
type model struct {
	config  quota.Config
	charges []charge
}

type charge struct {
	queue          int
	amounts        quota.Amounts
	nonPreemptible bool
}

// figure is an amount or, where unbounded is set, no bound.
type figure struct {
	n         int64
	unbounded bool
}

func (f figure) resolved() int64 {
	if f.unbounded {
		return quota.Infinite
	}
	return f.n
}

// allows reports whether n is within f.
func (f figure) allows(n int64) bool { return f.unbounded || n <= f.n }

func figureOf(b quota.Bound) figure {
	if !b.Given() || b.IsUnlimited() {
		return figure{unbounded: true}
	}
	return figure{n: b.Amount()}
}

func (m *model) given(q, r int) quota.Bounds {
	if r < len(m.config.Queues[q].Bounds) {
		return m.config.Queues[q].Bounds[r]
	}
	return quota.Bounds{}
}

func (m *model) children(p int) []int {
	var out []int
	for q := range m.config.Queues {
		if int(m.config.Queues[q].Parent) == p {
			out = append(out, q)
		}
	}
	return out
}

// path is q and what is above it.
func (m *model) path(q int) []int {
	var out []int
	for ; q != -1; q = int(m.config.Queues[q].Parent) {
		out = append(out, q)
	}
	return out
}

func (m *model) capOnly(r int) bool {
	return r < len(m.config.CapOnly) && m.config.CapOnly[r]
}

func (m *model) governed(r int) bool {
	for q := range m.config.Queues {
		if m.given(q, r).Quota.Given() {
			return true
		}
	}
	return false
}

// use is the use of q, of the whole pool for q = −1.
func (m *model) use(q, r int) int64 { return m.sum(q, r, false) }

func (m *model) nonPreemptible(q, r int) int64 { return m.sum(q, r, true) }

func (m *model) sum(q, r int, onlyNonPreemptible bool) int64 {
	sum := int64(0)
	for _, c := range m.charges {
		if onlyNonPreemptible && !c.nonPreemptible {
			continue
		}
		if q == -1 || slices.Contains(m.path(c.queue), q) {
			sum += c.amounts.Of(int32(r))
		}
	}
	return sum
}

// quota is Q1.
func (m *model) quota(q, r int) figure {
	if !m.governed(r) {
		return figure{unbounded: true}
	}
	if b := m.given(q, r).Quota; b.Given() {
		return figureOf(b)
	}
	var sum figure
	for _, c := range m.children(q) {
		f := m.quota(c, r)
		sum.n += f.n
		sum.unbounded = sum.unbounded || f.unbounded
	}
	return sum
}

func (m *model) limit(q, r int) figure { return figureOf(m.given(q, r).Limit) }

// borrowing is quota + borrowing limit.
func (m *model) borrowing(q, r int) figure {
	f, borrow := m.quota(q, r), figureOf(m.given(q, r).Borrow)
	return figure{n: f.n + borrow.n, unbounded: f.unbounded || borrow.unbounded}
}

// reserve is the part of the quota beyond the lending limit (Q5).
func (m *model) reserve(q, r int) int64 {
	lend := figureOf(m.given(q, r).Lend)
	if lend.unbounded || !m.governed(r) {
		return 0
	}
	f := m.quota(q, r)
	if f.unbounded {
		f.n = m.config.Capacity[r]
	}
	return max(0, f.n-lend.n)
}

// kept is what of the reserve is not in use; in an inner queue or the pool at
// least what the children keep.
func (m *model) kept(q, r int) int64 {
	below := int64(0)
	for _, c := range m.children(q) {
		below += m.kept(c, r)
	}
	if q == -1 {
		return below
	}
	return max(below, m.reserve(q, r)-m.use(q, r))
}

// keptByOthers is what the queues beside q's path keep, each for all below it.
func (m *model) keptByOthers(q, r int) int64 {
	path, sum := m.path(q), int64(0)
	for v := range m.config.Queues {
		p := int(m.config.Queues[v].Parent)
		if !slices.Contains(path, v) && (p == -1 || slices.Contains(path[1:], p)) {
			sum += m.kept(v, r)
		}
	}
	return sum
}

// shortfalls is Q3, Q2 and Q5 word by word.
func (m *model) shortfalls(q int, a quota.Amounts, nonPreemptible bool) []quota.Shortfall {
	var out []quota.Shortfall
	for _, v := range m.path(q) {
		for _, x := range a {
			r := int(x.Resource)
			add := func(kind quota.ShortfallKind, bound figure, inUse int64) {
				if !bound.allows(inUse + x.Value) {
					out = append(out, quota.Shortfall{Kind: kind, Queue: v, Resource: r, Have: bound.n - inUse, Need: x.Value})
				}
			}
			add(quota.OverLimit, m.limit(v, r), m.use(v, r))
			add(quota.OverBorrowing, m.borrowing(v, r), m.use(v, r))
			if nonPreemptible && !m.config.NonPreemptibleOverQuota {
				add(quota.OverQuota, m.quota(v, r), m.nonPreemptible(v, r))
			}
		}
	}
	for _, x := range a {
		r := int(x.Resource)
		others := m.keptByOthers(q, r)
		left := m.config.Capacity[r] - m.use(-1, r) - x.Value
		own := m.kept(-1, r) - others
		if others > 0 && left < others && x.Value > own {
			have := max(left+x.Value-others, own)
			out = append(out, quota.Shortfall{Kind: quota.Kept, Queue: m.keeper(q, r), Resource: r, Have: have, Need: x.Value})
		}
	}
	return out
}

// keeper is the sibling that keeps most on the lowest level of the path where
// one keeps anything.
func (m *model) keeper(q, r int) int {
	for _, v := range m.path(q) {
		siblings := slices.DeleteFunc(m.children(int(m.config.Queues[v].Parent)), func(s int) bool { return s == v })
		slices.SortStableFunc(siblings, func(a, b int) int { return cmp.Compare(m.kept(b, r), m.kept(a, r)) })
		if len(siblings) > 0 && m.kept(siblings[0], r) > 0 {
			return siblings[0]
		}
	}
	return -1
}

// empty is the model with nothing in use.
func (m *model) empty() *model { return &model{config: m.config} }

// fits reports whether rules and the capacity in all let a start.
func (m *model) fits(q int, a quota.Amounts, nonPreemptible bool) bool {
	for _, x := range a {
		r := int(x.Resource)
		if !m.capOnly(r) && m.use(-1, r)+x.Value > m.config.Capacity[r] {
			return false
		}
	}
	return len(m.shortfalls(q, a, nonPreemptible)) == 0
}

// guaranteed is the part of v's use that its quota covers, not counting what
// queues below use beyond theirs.
func (m *model) guaranteed(v, r int) int64 {
	return min(m.counted(v, r), m.quota(v, r).resolved())
}

func (m *model) counted(v, r int) int64 {
	sum := int64(0)
	for _, c := range m.charges {
		if c.queue == v {
			sum += c.amounts.Of(int32(r))
		}
	}
	for _, c := range m.children(v) {
		sum += m.guaranteed(c, r)
	}
	return sum
}

// availability is Q9, the guarantee judged by charging a and looking at the
// counted use.
func (m *model) availability(q int, a quota.Amounts, nonPreemptible bool) quota.Availability {
	switch {
	case !m.empty().fits(q, a, nonPreemptible):
		return quota.Never
	case !m.fits(q, a, nonPreemptible):
		return quota.ByMakingRoom
	case nonPreemptible && !m.config.NonPreemptibleOverQuota:
		return quota.WithinQuota
	}
	after := &model{config: m.config, charges: append(slices.Clone(m.charges), charge{queue: q, amounts: a})}
	for _, x := range a {
		for _, v := range m.path(q) {
			if r := int(x.Resource); m.governed(r) && !m.quota(v, r).allows(after.counted(v, r)) {
				return quota.ByBorrowing
			}
		}
	}
	return quota.WithinQuota
}

// figures is Q6.
func (m *model) figures(q, r int) quota.Figures {
	use, bound := m.use(q, r), m.quota(q, r)
	f := quota.Figures{
		Quota: bound.resolved(), Limit: m.limit(q, r).resolved(),
		Used: use, InQuota: use, NonPreemptible: m.nonPreemptible(q, r),
	}
	if !bound.allows(use) {
		f.InQuota = bound.n
		f.OverQuota = use - bound.n
		f.Borrowed = f.OverQuota
	}
	f.Lent = m.lent(q, r)
	return f
}

func (m *model) lendable(q, r int) int64 {
	f := m.quota(q, r)
	if f.unbounded {
		return 0
	}
	unused := max(0, f.n-m.use(q, r))
	return min(unused, max(0, f.n-m.reserve(q, r)))
}

// lent divides what q's sibling group lends by exact fractions.
func (m *model) lent(q, r int) int64 {
	if !m.governed(r) {
		return 0
	}
	parent := int(m.config.Queues[q].Parent)
	group := m.children(parent)
	fund := figure{n: m.config.Capacity[r]}
	total := int64(0)
	if parent != -1 {
		if f := m.quota(parent, r); !f.unbounded {
			fund = f
			total -= max(0, m.use(parent, r)-f.n)
		}
	}
	could := int64(0)
	for _, s := range group {
		f := m.quota(s, r)
		if !f.unbounded {
			total += max(0, m.use(s, r)-f.n)
		}
		fund.n -= f.n
		fund.unbounded = fund.unbounded || f.unbounded
		could += m.lendable(s, r)
	}
	if !fund.unbounded {
		total -= max(0, fund.n)
	}
	total = min(total, could)
	if total <= 0 {
		return 0
	}
	parts := make(map[int]int64)
	left := total
	for _, s := range group {
		exact := new(big.Rat).Mul(big.NewRat(total, could), new(big.Rat).SetInt64(m.lendable(s, r)))
		parts[s] = new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
		left -= parts[s]
	}
	slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(m.lendable(b, r), m.lendable(a, r)) })
	for _, s := range group[:left] {
		parts[s]++
	}
	return parts[q]
}
