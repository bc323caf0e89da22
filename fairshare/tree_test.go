package fairshare_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/fairshare"
)

const unlimited = fairshare.Unlimited

// top and leaf write a queue of the top level and one with preemptible demand.
func top(q fairshare.Queue) fairshare.Queue { return under(-1, q) }

// under sets the parent and, where the row gives no limit, that there is none.
func under(parent int32, q fairshare.Queue) fairshare.Queue {
	q.Parent = parent
	if q.Limit == 0 {
		q.Limit = unlimited
	}
	return q
}

// wants is preemptible demand.
func wants(amount int64) fairshare.Demand { return fairshare.Demand{Preemptible: amount} }

func TestDivideTree(t *testing.T) {
	type queues = []fairshare.Queue
	type share struct{ Demand, Requestable, QuotaPart, FairShare int64 }
	type shares = []share
	for _, test := range []struct {
		name   string
		config fairshare.TreeConfig
		want   shares
	}{
		{"no queues", fairshare.TreeConfig{Capacity: 8}, nil},
		{
			"F1: a leaf's requestable",
			fairshare.TreeConfig{Capacity: 100, Queues: queues{
				top(fairshare.Queue{Quota: 3, Demand: fairshare.Demand{Preemptible: 2, NonPreemptible: 5}}),
				top(fairshare.Queue{Quota: 3, Demand: fairshare.Demand{NonPreemptible: 5, RunningNonPreemptible: 4}}),
				top(fairshare.Queue{Quota: 3, Limit: 6, Demand: wants(9)}),
				top(fairshare.Queue{Quota: unlimited, Demand: fairshare.Demand{NonPreemptible: 5}}),
				top(fairshare.Queue{Quota: 3, Demand: fairshare.Demand{NonPreemptible: 1, RunningNonPreemptible: 4}}),
			}},
			shares{{7, 5, 3, 3}, {5, 4, 3, 3}, {9, 6, 3, 3}, {5, 5, 5, 5}, {4, 4, 3, 3}},
		},
		{
			"F1: with Q2 off all non-preemptible demand is requestable",
			fairshare.TreeConfig{Capacity: 100, NonPreemptibleOverQuota: true, Queues: queues{
				top(fairshare.Queue{Quota: 3, Weight: 3, Demand: fairshare.Demand{Preemptible: 2, NonPreemptible: 5}}),
			}},
			shares{{7, 7, 3, 7}},
		},
		{
			"F1: an inner queue asks what its children do, up to its limit; a group divides its parent's share",
			fairshare.TreeConfig{Capacity: 20, Queues: queues{
				under(2, fairshare.Queue{Weight: 1, Demand: wants(9)}),
				under(2, fairshare.Queue{Quota: 2, Weight: 3, Demand: wants(9)}),
				top(fairshare.Queue{Quota: 4, Limit: 12, Weight: 1}),
				top(fairshare.Queue{Weight: 1, Demand: wants(100)}),
			}},
			// Surplus 16: 8 each; then 12 less the quota of 2, at 1 to 3.
			shares{{9, 9, 0, 3}, {9, 9, 2, 9}, {18, 12, 4, 12}, {100, 20, 0, 8}},
		},
		{
			"R3: departments by quota, whatever their projects' weights",
			fairshare.TreeConfig{Capacity: 6, Queues: queues{
				top(fairshare.Queue{Quota: 2, Weight: 2}),
				top(fairshare.Queue{Quota: 1, Weight: 1}),
				under(0, fairshare.Queue{Quota: 2, Weight: 1, Demand: wants(6)}),
				under(1, fairshare.Queue{Quota: 1, Weight: 100, Demand: wants(6)}),
			}},
			shares{{6, 6, 2, 4}, {6, 6, 1, 2}, {6, 6, 2, 4}, {6, 6, 1, 2}},
		},
		{
			"R1: over-quota 7, 10, 3",
			fairshare.TreeConfig{Capacity: 40_000, Options: fairshare.Options{Granule: 1000}, Queues: queues{
				top(fairshare.Queue{Quota: 14_000, Weight: 2, Demand: wants(40_000)}),
				top(fairshare.Queue{Quota: 6_000, Weight: 3, Demand: wants(40_000)}),
				top(fairshare.Queue{Weight: 1, Demand: wants(40_000)}),
			}},
			shares{{40_000, 40_000, 14_000, 21_000}, {40_000, 40_000, 6_000, 16_000}, {40_000, 40_000, 0, 3_000}},
		},
		{
			"F2: of more than their parent's share children's quotas divide that",
			fairshare.TreeConfig{Capacity: 4, Queues: queues{
				top(fairshare.Queue{Quota: 1, Weight: 1}), top(fairshare.Queue{Quota: 1, Weight: 1}),
				under(0, fairshare.Queue{Quota: 3, Weight: 3, Demand: wants(3)}),
				under(1, fairshare.Queue{Quota: 1, Weight: 1, Demand: wants(2)}),
			}},
			shares{{3, 3, 1, 2}, {2, 2, 1, 2}, {3, 3, 2, 2}, {2, 2, 1, 2}},
		},
		{
			// The first child keeps 5, so of the department's 10 only 5 are
			// the other's; the surplus is 20 − 10, half of it each.
			"Q5: what a child keeps is surplus at no level",
			fairshare.TreeConfig{Capacity: 20, Queues: queues{
				top(fairshare.Queue{Quota: 10, Weight: 1}), top(fairshare.Queue{Weight: 1, Demand: wants(100)}),
				under(0, fairshare.Queue{Quota: 5, Weight: 1, Keep: 5}),
				under(0, fairshare.Queue{Quota: 5, Weight: 1, Demand: wants(20)}),
			}},
			shares{{20, 20, 5, 10}, {100, 20, 0, 5}, {}, {20, 20, 5, 10}},
		},
		{
			"Q5: an inner queue keeps the larger of its own and its children's",
			fairshare.TreeConfig{Capacity: 20, Queues: queues{
				top(fairshare.Queue{Quota: 10, Keep: 7, Weight: 1}), top(fairshare.Queue{Weight: 1, Demand: wants(100)}),
				under(0, fairshare.Queue{Quota: 5, Keep: 5, Weight: 1, Demand: wants(3)}),
				under(0, fairshare.Queue{Quota: 5, Weight: 1}),
			}},
			shares{{3, 3, 3, 3}, {100, 20, 0, 13}, {3, 3, 3, 3}, {}},
		},
		{
			"Q5: an unlimited quota that lends nothing leaves nothing",
			fairshare.TreeConfig{Capacity: 20, Queues: queues{
				top(fairshare.Queue{Quota: unlimited, Keep: unlimited, Weight: 1, Demand: wants(3)}),
				top(fairshare.Queue{Quota: unlimited, Keep: unlimited, Weight: 1, Demand: wants(4)}),
				top(fairshare.Queue{Quota: 2, Weight: 1, Demand: wants(100)}),
			}},
			shares{{3, 3, 3, 3}, {4, 4, 4, 4}, {100, 20, 2, 2}},
		},
		{
			"Q5: what children with unlimited quotas keep is no less than everything",
			fairshare.TreeConfig{Capacity: 20, Queues: queues{
				top(fairshare.Queue{Quota: 5, Weight: 1}), top(fairshare.Queue{Quota: 2, Weight: 1, Demand: wants(100)}),
				under(0, fairshare.Queue{Quota: unlimited, Keep: unlimited, Weight: 1, Demand: wants(3)}),
				under(0, fairshare.Queue{Quota: unlimited, Keep: unlimited, Weight: 1, Demand: wants(4)}),
			}},
			shares{{7, 7, 0, 0}, {100, 20, 2, 2}, {3, 3, 0, 0}, {4, 4, 0, 0}},
		},
		{
			"D3: by demand; quotas, tiers and what is kept are not read",
			fairshare.TreeConfig{Capacity: 8, Method: fairshare.ByDemand, Queues: queues{
				top(fairshare.Queue{Quota: 8, Keep: 8, Tier: 3, Weight: 1, Demand: fairshare.Demand{NonPreemptible: 4, Preemptible: 6}}),
				top(fairshare.Queue{Weight: 1, Demand: wants(30)}),
			}},
			shares{{10, 8, 0, 2}, {30, 8, 0, 6}},
		},
		{
			"F8: by demand capped by the limit, level by level",
			fairshare.TreeConfig{Capacity: 8, Method: fairshare.ByDemand, Queues: queues{
				top(fairshare.Queue{Limit: 10, Weight: 1}), top(fairshare.Queue{Weight: 1, Demand: wants(30)}),
				under(0, fairshare.Queue{Weight: 1, Demand: wants(10)}), under(0, fairshare.Queue{Weight: 1, Demand: wants(10)}),
			}},
			shares{{20, 8, 0, 2}, {30, 8, 0, 6}, {10, 8, 0, 1}, {10, 8, 0, 1}},
		},
		{
			"D3: weighted max-min gives 4 and 4",
			fairshare.TreeConfig{Capacity: 8, Method: fairshare.MaxMin, Queues: queues{
				top(fairshare.Queue{Quota: 8, Weight: 1, Demand: wants(10)}), top(fairshare.Queue{Weight: 1, Demand: wants(30)}),
			}},
			shares{{10, 8, 0, 4}, {30, 8, 0, 4}},
		},
		{
			"F8: and 6 and 2 with weights 3 and 1",
			fairshare.TreeConfig{Capacity: 8, Method: fairshare.MaxMin, Queues: queues{
				top(fairshare.Queue{Weight: 3, Demand: wants(10)}), top(fairshare.Queue{Weight: 1, Demand: wants(30)}),
			}},
			shares{{10, 8, 0, 6}, {30, 8, 0, 2}},
		},
		{
			"F1: what a queue cannot reach is not in its share",
			fairshare.TreeConfig{Capacity: 12, Queues: queues{
				top(fairshare.Queue{Weight: 4, OutOfReach: 8, Demand: wants(12)}),
				top(fairshare.Queue{Weight: 1, Demand: wants(8)}), top(fairshare.Queue{Weight: 1, Demand: wants(8)}),
			}},
			shares{{12, 4, 0, 4}, {8, 8, 0, 4}, {8, 8, 0, 4}},
		},
		{
			"F8: out of reach it still counts in proportion",
			fairshare.TreeConfig{Capacity: 8, Method: fairshare.ByDemand, Queues: queues{
				top(fairshare.Queue{Weight: 1, OutOfReach: 5, Demand: wants(30)}), top(fairshare.Queue{Weight: 1, Demand: wants(10)}),
			}},
			shares{{30, 3, 0, 3}, {10, 8, 0, 5}},
		},
		{
			"F2: an unlimited quota hands down no more than there is",
			fairshare.TreeConfig{Capacity: 4, Queues: queues{
				top(fairshare.Queue{Quota: unlimited, Weight: 1}),
				under(0, fairshare.Queue{Weight: 1, Demand: wants(4)}), under(0, fairshare.Queue{Weight: 1, Demand: wants(4)}),
			}},
			shares{{8, 4, 4, 4}, {4, 4, 0, 2}, {4, 4, 0, 2}},
		},
		{
			"Q7: at the top quotas stand",
			fairshare.TreeConfig{Capacity: 8, Queues: queues{
				top(fairshare.Queue{Quota: 9, Weight: 1, Demand: wants(9)}), top(fairshare.Queue{Quota: 3, Weight: 1, Demand: wants(9)}),
			}},
			shares{{9, 8, 8, 8}, {9, 8, 3, 3}},
		},
		{
			"F13: unless guarantees are scaled",
			fairshare.TreeConfig{Capacity: 8, ScaleGuarantees: true, Queues: queues{
				top(fairshare.Queue{Quota: 9, Weight: 1, Demand: wants(9)}), top(fairshare.Queue{Quota: 3, Weight: 1, Demand: wants(9)}),
			}},
			shares{{9, 8, 6, 6}, {9, 8, 2, 2}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			divided, err := fairshare.DivideTree(nil, test.config)
			var got shares
			for _, s := range divided {
				got = append(got, share{s.Demand, s.Requestable, s.QuotaPart, s.FairShare})
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v, −want +got:\n%s", err, diff)
			}
		})
	}
}

// R8: what a queue may defend of its quota.
func TestGuaranteed(t *testing.T) {
	type queues = []fairshare.Queue
	for _, test := range []struct {
		name   string
		config fairshare.TreeConfig
		want   []int64
	}{
		{"at the top what is requestable of quota, whatever they sum to (Q7)", fairshare.TreeConfig{Capacity: 9, Queues: queues{
			top(fairshare.Queue{Quota: 4, Demand: wants(3)}), top(fairshare.Queue{Quota: 10, Demand: wants(10)}),
		}}, []int64{3, 9}},
		{"with F13 what there is of it", fairshare.TreeConfig{Capacity: 9, ScaleGuarantees: true, Queues: queues{
			top(fairshare.Queue{Quota: 8, Demand: wants(3)}), top(fairshare.Queue{Quota: 10, Demand: wants(10)}),
		}}, []int64{3, 6}},
		{"children that sum to more divide their parent's by quota (F5)", fairshare.TreeConfig{Capacity: 9, Queues: queues{
			top(fairshare.Queue{Quota: 3}), under(0, fairshare.Queue{Quota: 4, Demand: wants(9)}), under(0, fairshare.Queue{Quota: 2, Demand: wants(9)}),
		}}, []int64{3, 2, 1}},
		{"and less than that stands", fairshare.TreeConfig{Capacity: 9, Queues: queues{
			top(fairshare.Queue{Quota: 6}), under(0, fairshare.Queue{Quota: 4, Demand: wants(9)}), under(0, fairshare.Queue{Quota: 2, Demand: wants(9)}),
		}}, []int64{6, 4, 2}},
		{"a line below is divided again, wherever parents stand", fairshare.TreeConfig{Capacity: 9, Queues: queues{
			under(2, fairshare.Queue{Quota: 2, Demand: wants(9)}), top(fairshare.Queue{Quota: 1}), under(1, fairshare.Queue{Quota: 5}),
		}}, []int64{1, 1, 1}},
		{"ties go to the older", fairshare.TreeConfig{Capacity: 9, Queues: queues{
			top(fairshare.Queue{Quota: 1}), under(0, fairshare.Queue{Quota: 1, Created: 2, Demand: wants(1)}), under(0, fairshare.Queue{Quota: 1, Created: 1, Demand: wants(1)}),
		}}, []int64{1, 0, 1}},
		{"without quotas there is nothing to defend (F8)", fairshare.TreeConfig{Capacity: 9, Method: fairshare.MaxMin, Queues: queues{
			top(fairshare.Queue{Quota: 4, Weight: 1, Demand: wants(3)}),
		}}, []int64{0}},
	} {
		shares, err := fairshare.DivideTree(nil, test.config)
		var got []int64
		for _, s := range shares {
			got = append(got, s.Guaranteed)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
}

// F2, R8: a queue hands down no more than it has: of its fair share, of what it may defend
// and, with F13, of the capacity; nobody has more than its part of it, and nothing is lost.
func TestHandedDown(t *testing.T) {
	cut := 0
	forManyGroups(t, 20_000, func(pick picker) string {
		c := pickTree(pick)
		for i := range c.Queues {
			c.Queues[i].Keep = 0
		}
		shares, _ := fairshare.DivideTree(nil, c)
		for up := -1; up < len(c.Queues); up++ {
			var lines, fair, asked, parts int64
			for i, q := range c.Queues {
				if s := shares[i]; int(q.Parent) == up {
					lines, fair, asked = lines+s.Guaranteed, fair+s.FairShare, asked+s.Requestable
					part := min(q.Quota, s.Requestable)
					if parts += part; c.Method == fairshare.QuotaThenWeight && s.Guaranteed > part || s.Guaranteed > s.FairShare || s.FairShare > s.Requestable {
						return fmt.Sprintf("%+v: queue %d: %+v", c, i, s)
					}
				}
			}
			switch there := max(0, c.Capacity); {
			case up >= 0:
				if leaf := asked == 0; !leaf && (fair > shares[up].FairShare || lines > shares[up].Guaranteed) {
					return fmt.Sprintf("%+v: below %d %d and %d of %+v", c, up, fair, lines, shares[up])
				}
				if lines < parts {
					cut++
				}
			case c.ScaleGuarantees && (fair > there || lines > there):
				return fmt.Sprintf("%+v: %d and %d of the capacity", c, fair, lines)
			case !c.ScaleGuarantees && c.Method == fairshare.QuotaThenWeight && lines != parts:
				return fmt.Sprintf("%+v: lines of %d, and parts of %d", c, lines, parts)
			}
		}
		return ""
	})
	if cut < 1000 {
		t.Errorf("only %d groups had more quota than there was", cut)
	}
}

func TestDivideTreeErrors(t *testing.T) {
	at := func(queues ...fairshare.Queue) fairshare.TreeConfig { return fairshare.TreeConfig{Queues: queues} }
	ok := top(fairshare.Queue{})
	for _, test := range []struct {
		config fairshare.TreeConfig
		text   string
	}{
		{fairshare.TreeConfig{Method: 7}, "fairshare: Method 7 is unknown"},
		{fairshare.TreeConfig{Options: fairshare.Options{Granule: -7}}, "fairshare: Granule -7 is negative"},
		{at(top(fairshare.Queue{Demand: fairshare.Demand{Unit: -1}})), "fairshare: [0].Demand.Unit -1 is negative"},
		{at(ok, fairshare.Queue{Parent: 2}), "fairshare: [1].Parent 2 is no queue"},
		{at(fairshare.Queue{Parent: -2}), "fairshare: [0].Parent -2 is no queue"},
		{at(ok, fairshare.Queue{Parent: 1}), "fairshare: [1].Parent 1 is on a cycle"},
		{at(ok, under(2, ok), under(1, ok), under(2, ok)), "fairshare: [1].Parent 2 is on a cycle"},
		{at(top(fairshare.Queue{Demand: wants(4)}), under(0, ok)), "fairshare: [0].Demand 4 is given at a queue with children"},
		{at(top(fairshare.Queue{Quota: -1})), "fairshare: [0].Quota -1 is negative"},
		{at(top(fairshare.Queue{Limit: -1})), "fairshare: [0].Limit -1 is negative"},
		{at(top(fairshare.Queue{Weight: -1})), "fairshare: [0].Weight -1 is negative"},
		{at(top(fairshare.Queue{Keep: -1})), "fairshare: [0].Keep -1 is negative"},
		{at(top(fairshare.Queue{OutOfReach: -1})), "fairshare: [0].OutOfReach -1 is negative"},
		{at(top(fairshare.Queue{Demand: wants(-1)})), "fairshare: [0].Demand.Preemptible -1 is negative"},
		{at(top(fairshare.Queue{Demand: fairshare.Demand{NonPreemptible: -1}})), "fairshare: [0].Demand.NonPreemptible -1 is negative"},
		{at(top(fairshare.Queue{Demand: fairshare.Demand{RunningNonPreemptible: -1}})), "fairshare: [0].Demand.RunningNonPreemptible -1 is negative"},
		{at(top(fairshare.Queue{Demand: fairshare.Demand{Preemptible: math.MaxInt64, NonPreemptible: 5}})), "fairshare: [0].Demand 5 overflows the sum"},
		{at(ok, under(0, fairshare.Queue{Demand: wants(math.MaxInt64)}), under(0, fairshare.Queue{Demand: wants(1)})), "fairshare: [1].Demand 9223372036854775807 overflows the sum"},
	} {
		shares, err := fairshare.DivideTree(nil, test.config)
		checkError(t, shares, err, test.text)
	}
}

// pickTree picks a tree of up to ten queues in any order of parents.
func pickTree(pick picker) fairshare.TreeConfig {
	m := pickMagnitude(pick)
	n := int(pick(1, 10))
	c := fairshare.TreeConfig{
		Capacity:                pick(-1, min(largest, 4*m.amount)),
		Method:                  fairshare.Method(max(0, pick(-2, 2))),
		Options:                 fairshare.Options{Granule: m.granule, EqualAtZeroWeight: pick(0, 1) == 0},
		NonPreemptibleOverQuota: pick(0, 3) == 0,
		ScaleGuarantees:         pick(0, 2) == 0,
		Queues:                  make([]fairshare.Queue, n),
	}
	name := make([]int32, n) // where the i-th queue from the top stands
	for i := range name {
		other := pick(0, int64(i))
		name[i], name[other] = name[other], int32(i)
	}
	inner := make([]bool, n)
	for i, at := range name {
		q := fairshare.Queue{Parent: -1, Quota: pickQuota(pick, m.amount), Limit: unlimited,
			Weight: pick(0, m.weight), Tier: int32(max(0, pick(-2, 1))), Created: pick(0, 2)}
		if i > 0 && pick(0, 2) > 0 {
			q.Parent = name[pick(0, int64(i-1))]
			inner[q.Parent] = true
		}
		if pick(0, 3) == 0 {
			q.Limit = pick(0, m.amount)
		}
		if pick(0, 3) == 0 {
			q.Keep = pick(0, m.amount/2)
		}
		if pick(0, 3) == 0 {
			q.OutOfReach = pick(0, m.amount)
		}
		c.Queues[at] = q
	}
	for i := range c.Queues {
		if !inner[i] {
			running := pick(0, m.amount/4)
			c.Queues[i].Demand = fairshare.Demand{
				Preemptible: pick(0, m.amount/2), NonPreemptible: running + pick(0, m.amount/4), RunningNonPreemptible: running,
				Unit: pickUnit(pick, m.granule)}
		}
	}
	return c
}

// referenceTree is F1, and Q5 as the package says it, by plain recursion over
// the reference's division of one group.
type referenceTree struct {
	fairshare.TreeConfig
	shares []fairshare.Share
	idle   []int64 // kept from lending at or below, and not requestable
	asked  []int64 // within limits, in reach or not
}

func (r *referenceTree) childrenOf(parent int) []int {
	var list []int
	for i, q := range r.Queues {
		if int(q.Parent) == parent {
			list = append(list, i)
		}
	}
	return list
}

// ask is F1 for the queue and all below.
func (r *referenceTree) ask(i int) {
	q, s := r.Queues[i], &r.shares[i]
	d := q.Demand
	nonPreemptible := d.NonPreemptible
	if r.Method == fairshare.QuotaThenWeight && !r.NonPreemptibleOverQuota {
		nonPreemptible = max(d.RunningNonPreemptible, min(q.Quota, d.NonPreemptible))
	}
	s.Demand = d.Preemptible + d.NonPreemptible
	s.Requestable = d.Preemptible + nonPreemptible
	for _, child := range r.childrenOf(i) {
		r.ask(child)
		s.Demand += r.shares[child].Demand
		s.Requestable += r.shares[child].Requestable
		r.idle[i] += r.idle[child]
		r.asked[i] += r.asked[child]
	}
	if len(r.childrenOf(i)) == 0 {
		r.asked[i] = s.Requestable
	}
	r.asked[i] = min(r.asked[i], q.Limit)
	s.Requestable = min(s.Requestable, q.Limit, max(0, max(0, r.Capacity)-q.OutOfReach))
	if own := min(q.Keep, q.Quota) - s.Requestable; r.Method == fairshare.QuotaThenWeight && own > r.idle[i] {
		r.idle[i] = own
	}
}

// cut divides what there is by quota among the parts, where they sum to more, and says
// whether they did (F2).
func (r *referenceTree) cut(parent int, there int64, parts []int64) bool {
	sum := new(big.Int)
	g := group{capacity: there, options: fairshare.Options{Granule: referenceGranule(r.TreeConfig, r.shares, int32(parent))}}
	for position, i := range r.childrenOf(parent) {
		sum.Add(sum, big.NewInt(parts[position]))
		g.claims = append(g.claims, fairshare.Claim{Requestable: parts[position], Weight: r.Queues[i].Quota, Created: r.Queues[i].Created})
	}
	if sum.Cmp(big.NewInt(there)) <= 0 {
		return false
	}
	copy(parts, referenceDivide(g))
	return true
}

// entitle is R8's LQ for the children of a queue and all below.
func (r *referenceTree) entitle(parent int, most int64) {
	if r.Method != fairshare.QuotaThenWeight {
		return
	}
	children, lines := r.childrenOf(parent), []int64(nil)
	for _, i := range children {
		lines = append(lines, min(r.Queues[i].Quota, r.shares[i].Requestable))
	}
	r.cut(parent, most, lines)
	for position, i := range children {
		r.shares[i].Guaranteed = lines[position]
		r.entitle(i, lines[position])
	}
}

// divide is F2 to F5, or F8, for the children of a queue and all below.
func (r *referenceTree) divide(parent int, capacity int64) {
	children := r.childrenOf(parent)
	var parts []int64
	g := group{capacity: capacity, options: r.Options}
	g.options.Granule = referenceGranule(r.TreeConfig, r.shares, int32(parent))
	var demands []fairshare.DemandClaim
	for _, i := range children {
		q, s := r.Queues[i], &r.shares[i]
		claim := fairshare.Claim{Requestable: s.Requestable, Weight: q.Weight, Tier: q.Tier, Created: q.Created}
		if r.Method == fairshare.QuotaThenWeight {
			claim.Quota = q.Quota
			if q.Quota < unlimited {
				claim.Quota = max(0, q.Quota-r.idle[i])
			}
			s.QuotaPart = quotaPart(claim)
		}
		parts = append(parts, s.QuotaPart)
		g.claims = append(g.claims, claim)
		demands = append(demands, fairshare.DemandClaim{Demand: r.asked[i], Weight: q.Weight, Created: q.Created})
	}
	shares := referenceDivide(g)
	if r.Method == fairshare.ByDemand {
		equal := r.EqualAtZeroWeight
		for _, d := range demands {
			equal = equal && d.Weight == 0
		}
		for i := range demands {
			if equal {
				demands[i].Weight = 1
			}
		}
		rooms := make([]int64, 0, len(children))
		for _, i := range children {
			rooms = append(rooms, r.shares[i].Requestable)
		}
		shares = referenceDemand(capacity, demands, rooms, g.options)
	}
	if r.Method == fairshare.QuotaThenWeight && (parent >= 0 || r.ScaleGuarantees) && r.cut(parent, max(0, capacity), parts) {
		shares = parts
		for position, i := range children {
			r.shares[i].QuotaPart = parts[position]
		}
	}
	for position, i := range children {
		r.shares[i].FairShare = shares[position]
		r.divide(i, shares[position])
	}
}

// TestF1Reference compares DivideTree with the reference on random trees.
func TestF1Reference(t *testing.T) {
	forManyGroups(t, 20_000, func(pick picker) string {
		c := pickTree(pick)
		before := slices.Clone(c.Queues)
		got, err := fairshare.DivideTree(nil, c)
		r := referenceTree{TreeConfig: c, shares: make([]fairshare.Share, len(c.Queues)), idle: make([]int64, len(c.Queues)), asked: make([]int64, len(c.Queues))}
		capacity := max(0, c.Capacity)
		for _, i := range r.childrenOf(-1) {
			r.ask(i)
			capacity -= min(capacity, r.idle[i])
		}
		r.divide(-1, capacity)
		most := int64(unlimited)
		if c.ScaleGuarantees {
			most = capacity
		}
		r.entitle(-1, most)
		switch {
		case err != nil:
			return fmt.Sprintf("%+v: %v", c, err)
		case !slices.Equal(before, c.Queues):
			return fmt.Sprintf("%+v: the queues were changed", c)
		case !slices.Equal(got, r.shares):
			return fmt.Sprintf("%+v:\ngot  %v\nwant %v", c, got, r.shares)
		}
		return ""
	})
}

// TestF1TreeOrder: the order in which the queues of a tree are listed does not
// matter where age decides every tie.
func TestF1TreeOrder(t *testing.T) {
	forManyGroups(t, 10_000, func(pick picker) string {
		c := pickTree(pick)
		n := len(c.Queues)
		order := make([]int32, n) // where each queue goes
		for i := range order {
			c.Queues[i].Created = int64(i)
			other := pick(0, int64(i))
			order[i], order[other] = order[other], int32(i)
		}
		moved := c
		moved.Queues = make([]fairshare.Queue, n)
		for from, to := range order {
			q := c.Queues[from]
			if q.Parent >= 0 {
				q.Parent = order[q.Parent]
			}
			moved.Queues[to] = q
		}
		before, _ := fairshare.DivideTree(nil, c)
		after, _ := fairshare.DivideTree(nil, moved)
		for from, to := range order {
			if before[from] != after[to] {
				return fmt.Sprintf("%+v: queue %d: %+v, at %d %+v", c, from, before[from], to, after[to])
			}
		}
		return ""
	})
}

// TestQ5Kept: what a leaf keeps and does not request is given to nobody: where
// the quotas fit, everybody's share and it fit the capacity.
func TestQ5Kept(t *testing.T) {
	fitting := 0
	forManyGroups(t, 20_000, func(pick picker) string {
		c := pickTree(pick)
		c.Method = fairshare.QuotaThenWeight
		shares, _ := fairshare.DivideTree(nil, c)
		var given, kept, overSubscribed int64
		for i, q := range c.Queues {
			var below int64
			leaf := true
			for child, r := range c.Queues {
				if int(r.Parent) == i {
					below += shares[child].QuotaPart
					leaf = false
				}
			}
			if below > shares[i].FairShare {
				overSubscribed++
			}
			if leaf {
				given += shares[i].FairShare
				kept += max(0, min(q.Keep, q.Quota)-shares[i].Requestable)
			}
		}
		var atTop int64
		for i, q := range c.Queues {
			if q.Parent < 0 {
				atTop += shares[i].QuotaPart
			}
		}
		if overSubscribed > 0 || atTop+kept > c.Capacity {
			return "" // quotas stand whatever there is (F2)
		}
		fitting++
		if given+kept > c.Capacity {
			return fmt.Sprintf("%+v: %v give %d and keep %d", c, shares, given, kept)
		}
		return ""
	})
	if fitting < 4_000 {
		t.Errorf("only %d trees whose quotas fit", fitting)
	}
}
