package queue

import (
	"cmp"
	"math"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

// What the comparisons compare. Each has a type of its own, so that none can
// take another's place.
type (
	// class is O2 (a): 0 within quota, 1 within fair share, 2 beyond.
	class uint8
	// tier is the over-quota priority, O2 (b); the higher goes first.
	tier int32
	// saturationWith is O2 (d): the largest (use + request)/fair share.
	saturationWith fairshare.Ratio
	// saturationWithout is O2 (e): the largest use/fair share.
	saturationWithout fairshare.Ratio
	// deprivation is RunAI20's use/quota; the lower is the more deprived.
	deprivation fairshare.Ratio
	// instant is when a queue was created; the lower is the older.
	instant int64
)

// An entitlement is what a queue is given of one divided resource.
type entitlement struct {
	quota, guaranteed, share int64 // ≥ 0; quota.Infinite is an unlimited quota
	resource                 int32 // the tree's index
	tier                     tier
}

// A contender is a queue in the contest with its siblings: what never changes
// about it, its best pending workload, and what the comparisons read, kept
// since the queue was last weighed with that workload. What most matches read
// comes first, to lie in one cache line.
type contender struct {
	class     class
	zeroShare bool // it would use a resource of which its share is zero, O2 (c)
	tier      tier
	with      saturationWith
	without   saturationWithout

	created instant
	queue   int32
	// leaf is where best waits, the queue itself or one below it; noQueue if
	// nothing waits: then neither best nor what was weighed means anything.
	leaf         int32
	best         Item
	entitlements []entitlement // by divided resource, the same resources in every queue

	deprived deprivation
}

// A comparison is one step of an order between siblings: negative if a goes
// before b, positive if b goes before a, 0 to leave it to the next step.
type comparison struct {
	name    string
	compare func(a, b *contender) int
}

// A ranking is an Order taken apart: what has to be known of a contender, and
// the comparisons, the first that decides deciding. The last one always does.
type ranking struct {
	// weigh reads what the comparisons need, given what the best workload
	// requests of each divided resource. nil: they need the item alone.
	weigh func(c *contender, tree *quota.Tree, requested []int64)
	list  []comparison
}

// ranking returns the order o as its comparisons. This is the one place that
// says what comes before what between queues.
func (o Order) ranking() ranking {
	age := comparison{"(g) age", byCreation}
	index := comparison{"(h) index", byIndex}
	fair := []comparison{
		{"(a) class", byClass},
		{"(b) over-quota priority", byTier},
		{"(c) zero share last", byZeroShare},
		{"(d) saturation with the workload", bySaturationWith},
		{"(e) saturation without it", bySaturationWithout},
		{"(f) fair share", byShare},
		age,
		index,
	}
	switch o {
	case PriorityFirst:
		priority := comparison{"priority", byPriority}
		return ranking{(*contender).weighShares, append([]comparison{priority}, fair...)}
	case Global:
		return ranking{nil, []comparison{
			{"workload", byItem},
			index,
		}}
	case Deprived:
		return ranking{(*contender).weighQuota, []comparison{
			{"use of quota", byDeprivation},
			age,
			index,
		}}
	case ShareThenAge:
		return ranking{(*contender).weighShares, []comparison{
			{"(a) class", byClass},
			{"age of the workload", byItemAge},
			index,
		}}
	default:
		return ranking{(*contender).weighShares, fair}
	}
}

func byClass(a, b *contender) int { return cmp.Compare(a.class, b.class) }

func byTier(a, b *contender) int { return cmp.Compare(b.tier, a.tier) }

func byZeroShare(a, b *contender) int {
	switch {
	case a.zeroShare == b.zeroShare:
		return 0
	case b.zeroShare:
		return -1
	default:
		return 1
	}
}

func bySaturationWith(a, b *contender) int {
	return fairshare.Ratio(a.with).Cmp(fairshare.Ratio(b.with))
}

func bySaturationWithout(a, b *contender) int {
	return fairshare.Ratio(a.without).Cmp(fairshare.Ratio(b.without))
}

// byShare compares fair shares, resource by resource in the order of their indices.
func byShare(a, b *contender) int {
	for i := range a.entitlements {
		if a.entitlements[i].share != b.entitlements[i].share {
			return cmp.Compare(a.entitlements[i].share, b.entitlements[i].share)
		}
	}
	return 0
}

func byCreation(a, b *contender) int { return cmp.Compare(a.created, b.created) }

func byIndex(a, b *contender) int { return cmp.Compare(a.queue, b.queue) }

func byPriority(a, b *contender) int { return cmp.Compare(b.best.Priority, a.best.Priority) }

func byItem(a, b *contender) int { return a.best.Compare(b.best) }

func byItemAge(a, b *contender) int { return a.best.compareAge(b.best) }

func byDeprivation(a, b *contender) int {
	return fairshare.Ratio(a.deprived).Cmp(fairshare.Ratio(b.deprived))
}

// weighShares reads what O2 (a) to (e) compare. The class is the worst of the
// requested resources (F12 in each), the tier the highest of them, or 0 (Q1's
// default) where the workload requests none that is divided. Saturation is over
// all divided resources (F9).
func (c *contender) weighShares(tree *quota.Tree, requested []int64) {
	c.class, c.zeroShare, c.tier = 0, false, 0
	var with, without fairshare.Ratio
	asks := false
	for i := range c.entitlements {
		given := &c.entitlements[i]
		use := tree.Use(int(c.queue), int(given.resource))
		without = fairshare.Dominant(without, fairshare.Ratio{Num: use, Den: given.share})
		total := use
		if amount := requested[i]; amount > 0 {
			total = saturatingAdd(use, amount)
			c.class = max(c.class, class(fairshare.State(total, given.guaranteed, given.share)))
			c.zeroShare = c.zeroShare || given.share == 0
			if !asks || given.tier > c.tier {
				c.tier = given.tier
			}
			asks = true
		}
		with = fairshare.Dominant(with, fairshare.Ratio{Num: total, Den: given.share})
	}
	c.with, c.without = saturationWith(with), saturationWithout(without)
}

// weighQuota reads what Deprived compares: use over quota, the largest over the
// divided resources that the workload requests; 0 if there are none. A quota of
// 0 is ∞ even where nothing is used, and no use of an unlimited quota is any.
func (c *contender) weighQuota(tree *quota.Tree, requested []int64) {
	var most fairshare.Ratio
	for i := range c.entitlements {
		given := &c.entitlements[i]
		switch {
		case requested[i] == 0 || given.quota == quota.Infinite:
		case given.quota == 0:
			most = fairshare.Ratio{Num: 1}
		default:
			use := tree.Use(int(c.queue), int(given.resource))
			most = fairshare.Dominant(most, fairshare.Ratio{Num: use, Den: given.quota})
		}
	}
	c.deprived = deprivation(most)
}

// saturatingAdd adds two amounts, neither negative. A sum that does not fit is
// beyond every share, which is all that is asked of it here.
func saturatingAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
