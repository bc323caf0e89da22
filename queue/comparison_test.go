package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/quota"
)

// A side is a queue of a row below with its one waiting workload. Amounts are
// of the resources gpu and cpu.
type side struct {
	quota, use, share [2]int64
	tier              [2]int32
	created           int64
	item              Item
	request           [2]int64
}

// A row has two sibling queues, by index. The comparison named decides for the
// queue first, and every later one would decide for the other as far as it can,
// so that two comparisons that change places are found out.
type row struct {
	name    string
	rule    string
	orders  []Order
	decides string
	first   int
	sides   [2]side
}

// item n of the rows; the fields that matter are set in the row.
func item(n int32) Item { return Item{ID: n} }

var byShares = []Order{FairShare, PriorityFirst}

var rows = []row{
	{
		name: "within quota before within fair share", rule: "O2 (a)",
		orders: byShares, decides: "(a) class", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 0}, share: [2]int64{4, 4}, tier: [2]int32{0, 1}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 3}, share: [2]int64{5, 0}, use: [2]int64{0, 1}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "within fair share before beyond", rule: "O2 (a)",
		orders: byShares, decides: "(a) class", first: 1,
		sides: [2]side{
			{share: [2]int64{4, 4}, use: [2]int64{0, 4}, tier: [2]int32{0, 1}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{share: [2]int64{5, 4}, use: [2]int64{6, 3}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "the class is the worst of the requested resources", rule: "O2 (a)",
		orders: byShares, decides: "(a) class", first: 1,
		sides: [2]side{
			{quota: [2]int64{9, 1}, share: [2]int64{9, 9}, created: 1, request: [2]int64{1, 2}, item: item(0)},
			{quota: [2]int64{9, 2}, share: [2]int64{9, 2}, use: [2]int64{8, 0}, created: 2, request: [2]int64{1, 2}, item: item(1)},
		},
	},
	{
		name: "a resource that the workload does not request makes no class", rule: "O2 (a)",
		orders: byShares, decides: "(a) class", first: 1,
		sides: [2]side{
			{quota: [2]int64{9, 1}, share: [2]int64{9, 9}, created: 1, request: [2]int64{0, 2}, item: item(0)},
			{quota: [2]int64{1, 2}, share: [2]int64{1, 2}, use: [2]int64{8, 0}, created: 2, request: [2]int64{0, 2}, item: item(1)},
		},
	},
	{
		name: "within a quota that is above the fair share is within quota", rule: "O2 (a), F12",
		orders: byShares, decides: "(a) class", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 0}, share: [2]int64{1, 9}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 9}, share: [2]int64{1, 1}, use: [2]int64{0, 5}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "higher over-quota priority", rule: "O2 (b)",
		orders: byShares, decides: "(b) over-quota priority", first: 1,
		sides: [2]side{
			{share: [2]int64{4, 4}, use: [2]int64{0, 4}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{share: [2]int64{5, 0}, use: [2]int64{0, 1}, tier: [2]int32{0, 1}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "the highest over-quota priority of those requested", rule: "O2 (b)",
		orders: byShares, decides: "(b) over-quota priority", first: 1,
		sides: [2]side{
			{share: [2]int64{9, 9}, tier: [2]int32{-2, -3}, created: 1, request: [2]int64{1, 1}, item: item(0)},
			{share: [2]int64{9, 9}, tier: [2]int32{-4, -1}, created: 2, request: [2]int64{1, 1}, item: item(1)},
		},
	},
	{
		name: "an over-quota priority of what is not requested is none", rule: "O2 (b)",
		orders: byShares, decides: "(g) age", first: 0,
		sides: [2]side{
			{share: [2]int64{9, 9}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{share: [2]int64{9, 9}, tier: [2]int32{7, 0}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		// Both are saturated without end, the first by a resource that its
		// workload does not request.
		name: "a request of what it has no share of comes last", rule: "O2 (c)",
		orders: byShares, decides: "(c) zero share last", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 1}, share: [2]int64{0, 0}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 1}, share: [2]int64{0, 4}, use: [2]int64{1, 0}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "lower saturation with the workload", rule: "O2 (d)",
		orders: byShares, decides: "(d) saturation with the workload", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, use: [2]int64{0, 4}, created: 1, request: [2]int64{0, 4}, item: item(0)},
			{quota: [2]int64{0, 10}, share: [2]int64{5, 10}, use: [2]int64{0, 5}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "saturation is of the dominant resource, requested or not", rule: "O2 (d), F9",
		orders: byShares, decides: "(d) saturation with the workload", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, use: [2]int64{3, 0}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, use: [2]int64{0, 6}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "saturations one part in 2^53 apart", rule: "O2 (d), F9",
		orders: byShares, decides: "(d) saturation with the workload", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 1 << 53}, share: [2]int64{0, 1<<53 - 2}, created: 1, request: [2]int64{0, 1<<53 - 3}, item: item(0)},
			{quota: [2]int64{0, 1 << 53}, share: [2]int64{0, 1<<53 - 3}, created: 2, request: [2]int64{0, 1<<53 - 4}, item: item(1)},
		},
	},
	{
		name: "lower saturation without the workload", rule: "O2 (e)",
		orders: byShares, decides: "(e) saturation without it", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, use: [2]int64{0, 5}, created: 1, request: [2]int64{0, 3}, item: item(0)},
			{quota: [2]int64{0, 10}, share: [2]int64{5, 10}, use: [2]int64{0, 4}, created: 2, request: [2]int64{0, 4}, item: item(1)},
		},
	},
	{
		name: "smaller fair share, the first resource first", rule: "O2 (f)",
		orders: byShares, decides: "(f) fair share", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 10}, share: [2]int64{5, 5}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, created: 2, request: [2]int64{0, 2}, item: item(1)},
		},
	},
	{
		name: "smaller fair share, the second resource next", rule: "O2 (f)",
		orders: byShares, decides: "(f) fair share", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 10}, share: [2]int64{4, 10}, created: 1, request: [2]int64{0, 2}, item: item(0)},
			{quota: [2]int64{0, 10}, share: [2]int64{4, 5}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "older", rule: "O2 (g)",
		orders: []Order{FairShare, PriorityFirst, Deprived}, decides: "(g) age", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 2, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "lower index", rule: "O2 (h)",
		orders: []Order{FairShare, PriorityFirst, Deprived, Global, ShareThenAge}, decides: "(h) index", first: 0,
		sides: [2]side{
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: item(7)},
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: item(7)},
		},
	},
	{
		name: "priority plays no part between queues", rule: "O3",
		orders: []Order{FairShare}, decides: "(a) class", first: 0,
		sides: [2]side{
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: Item{ID: 0, Priority: 1}},
			{quota: [2]int64{0, 0}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: Item{ID: 1, Priority: 2}},
		},
	},
	{
		name: "priority before shares", rule: "O3",
		orders: []Order{PriorityFirst}, decides: "priority", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: Item{ID: 0, Priority: 1}},
			{quota: [2]int64{0, 0}, share: [2]int64{4, 0}, created: 2, request: [2]int64{0, 1}, item: Item{ID: 1, Priority: 2}},
		},
	},
	{
		name: "one order over all queues", rule: "O3",
		orders: []Order{Global}, decides: "workload", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 5}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: Item{ID: 0, Submitted: 5}},
			{quota: [2]int64{0, 0}, share: [2]int64{4, 0}, created: 2, request: [2]int64{0, 1}, item: Item{ID: 1, Submitted: 4}},
		},
	},
	{
		name: "most deprived", rule: "O2, RunAI20",
		orders: []Order{Deprived}, decides: "use of quota", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 5}, use: [2]int64{0, 3}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 7}, use: [2]int64{0, 4}, share: [2]int64{4, 5}, created: 2, request: [2]int64{0, 9}, item: item(1)},
		},
	},
	{
		name: "a quota of 0 is never deprived", rule: "O2, RunAI20",
		orders: []Order{Deprived}, decides: "use of quota", first: 1,
		sides: [2]side{
			{quota: [2]int64{0, 0}, share: [2]int64{4, 5}, created: 1, request: [2]int64{0, 1}, item: item(0)},
			{quota: [2]int64{0, 1}, use: [2]int64{0, 9}, share: [2]int64{4, 5}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "only what is requested deprives, the largest ratio of it", rule: "O2, RunAI20",
		orders: []Order{Deprived}, decides: "use of quota", first: 1,
		sides: [2]side{
			{quota: [2]int64{4, 4}, use: [2]int64{2, 1}, share: [2]int64{4, 5}, created: 1, request: [2]int64{1, 1}, item: item(0)},
			{quota: [2]int64{4, 4}, use: [2]int64{4, 1}, share: [2]int64{4, 5}, created: 2, request: [2]int64{0, 1}, item: item(1)},
		},
	},
	{
		name: "class before the age of the workload", rule: "O2 (a), Determined",
		orders: []Order{ShareThenAge}, decides: "(a) class", first: 1,
		sides: [2]side{
			{share: [2]int64{4, 4}, use: [2]int64{0, 4}, request: [2]int64{0, 1}, item: Item{ID: 0, Submitted: 1}},
			{share: [2]int64{4, 4}, use: [2]int64{0, 3}, request: [2]int64{0, 1}, item: Item{ID: 1, Submitted: 2}},
		},
	},
	{
		name: "in one class the earlier workload, whatever its priority", rule: "Determined",
		orders: []Order{ShareThenAge}, decides: "age of the workload", first: 1,
		sides: [2]side{
			{share: [2]int64{4, 4}, created: 1, request: [2]int64{0, 1}, item: Item{ID: 0, Submitted: 2, Priority: 9}},
			{share: [2]int64{4, 4}, created: 2, use: [2]int64{0, 3}, request: [2]int64{0, 1}, item: Item{ID: 1, Submitted: 1}},
		},
	},
	{
		name: "at one time the lower ID", rule: "Determined",
		orders: []Order{ShareThenAge}, decides: "age of the workload", first: 1,
		sides: [2]side{
			{share: [2]int64{4, 4}, request: [2]int64{0, 1}, item: item(5)},
			{share: [2]int64{4, 4}, request: [2]int64{0, 1}, item: item(4)},
		},
	},
}

// contest lets the two sides of a row compete.
func (r row) contest(t *testing.T, order Order) *Queues {
	t.Helper()
	var queues []given
	for _, s := range r.sides {
		queues = append(queues, given{
			parent: -1, created: s.created, tier: s.tier[:],
			quota: s.quota[:], use: s.use[:], share: s.share[:],
		})
	}
	asked := 0 // the items of a row may be equal, but are asked in turn
	q, _ := build(t, order, all(2), queues, func(Item) quota.Amounts {
		asked++
		return amounts(r.sides[asked-1].request[:]...)
	})
	for i, s := range r.sides {
		q.Fill(i, []Item{s.item})
	}
	q.settle()
	return q
}

// TestComparisons: what O2, O3 and the presets' own orders say, one comparison
// at a time, and that each is the one that decides.
func TestComparisons(t *testing.T) {
	for _, r := range rows {
		for _, order := range r.orders {
			t.Run(fmt.Sprintf("%v/%s", order, r.name), func(t *testing.T) {
				q := r.contest(t, order)
				leaf, it, ok := q.Best()
				if !ok || leaf != r.first || it != r.sides[r.first].item {
					t.Errorf("%s: best is %v of queue %d, want queue %d", r.rule, it, leaf, r.first)
				}
				sign, by := q.ranking.compare(&q.contenders[0], &q.contenders[1])
				if name := q.ranking.list[by].name; sign == 0 || name != r.decides {
					t.Errorf("%s: %q decided (%d), want %q", r.rule, name, sign, r.decides)
				}
			})
		}
	}
}

// TestOrderOfComparisons breaks every order in every way that one step of an
// editor can: a comparison left out, turned round, or two neighbours that
// change places. The rows must notice.
func TestOrderOfComparisons(t *testing.T) {
	for order := range Order(len(orderTexts)) {
		list := order.ranking().list
		for i := range list {
			left := slices.Delete(slices.Clone(list), i, i+1)
			if len(left) > 0 && !rowsNotice(t, order, left) {
				t.Errorf("%v without %q decides all rows as before", order, list[i].name)
			}
			turned := slices.Clone(list)
			turned[i].compare = func(a, b *contender) int { return list[i].compare(b, a) }
			if !rowsNotice(t, order, turned) {
				t.Errorf("%v with %q turned round decides all rows as before", order, list[i].name)
			}
			if i == 0 {
				continue
			}
			swapped := slices.Clone(list)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			// A queue that would use what it has no share of is saturated
			// without end, so (d) never contradicts (c): the two commute.
			commute := list[i-1].name == "(c) zero share last"
			if rowsNotice(t, order, swapped) == commute {
				t.Errorf("%v with %q and %q swapped: decides all rows as before: %v", order, list[i-1].name, list[i].name, !commute)
			}
		}
	}
}

// rowsNotice reports whether a row of the order comes out otherwise than it
// should when the comparisons are those of list.
func rowsNotice(t *testing.T, order Order, list []comparison) bool {
	for _, r := range rows {
		if !slices.Contains(r.orders, order) {
			continue
		}
		q := r.contest(t, order)
		broken := ranking{list: list}
		sign, _ := broken.compare(&q.contenders[r.first], &q.contenders[1-r.first])
		if sign >= 0 {
			return true
		}
	}
	return false
}
