package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/quota"
)

// drain starts everything in order, charging request, and returns the IDs of
// the workloads as they went.
func drain(t testing.TB, q *Queues, tree *quota.Tree, request func(Item) quota.Amounts) []int32 {
	t.Helper()
	var ids []int32
	for leaf, it, ok := q.Best(); ok; leaf, it, ok = q.Best() {
		ids = append(ids, it.ID)
		if !q.Remove(leaf, it) {
			t.Fatalf("%v of queue %d does not wait", it, leaf)
		}
		if err := tree.Charge(leaf, request(it), false); err != nil {
			t.Fatal(err)
		}
		q.Touch(leaf)
	}
	return ids
}

// TestScenarios are the rows of the presets that an order of queues decides.
func TestScenarios(t *testing.T) {
	const high, normal, low = 125, 100, 50
	single := []given{{parent: -1, quota: []int64{9}, share: []int64{9}}}
	for _, c := range []struct {
		row    string
		order  Order
		queues []given
		wait   map[int][]Item // by leaf
		want   []int32
	}{
		{
			row: "O1: HIGH before NORMAL before LOW", order: FairShare, queues: single,
			wait: map[int][]Item{0: {{ID: 0, Priority: low, Submitted: 1}, {ID: 1, Priority: normal, Submitted: 2}, {ID: 2, Priority: high, Submitted: 3}}},
			want: []int32{2, 1, 0},
		},
		{
			row: "O2: same priority, submit order", order: FairShare, queues: single,
			wait: map[int][]Item{0: {{ID: 0, Priority: normal, Submitted: 2}, {ID: 1, Priority: normal, Submitted: 1}}},
			want: []int32{1, 0},
		},
		{
			row: "R7: quota before fair share before beyond", order: FairShare,
			queues: []given{
				{parent: -1, quota: []int64{0}, use: []int64{2}, share: []int64{2}},
				{parent: -1, quota: []int64{1}, use: []int64{2}, share: []int64{3}},
				{parent: -1, quota: []int64{9}, use: []int64{8}, share: []int64{9}},
			},
			wait: map[int][]Item{0: {{ID: 0, Submitted: 1}}, 1: {{ID: 1, Submitted: 2}}, 2: {{ID: 2, Submitted: 3}}},
			want: []int32{2, 1, 0},
		},
		{
			row: "A2: most deprived first", order: Deprived,
			queues: []given{
				{parent: -1, quota: []int64{2}, use: []int64{1}, share: []int64{2}},
				{parent: -1, quota: []int64{2}, use: []int64{0}, share: []int64{2}, created: 1},
			},
			wait: map[int][]Item{0: {{ID: 0}}, 1: {{ID: 1, Submitted: 1}, {ID: 2, Submitted: 2}}},
			// At 1/2 each the older queue has its turn.
			want: []int32{1, 0, 2},
		},
		{
			row: "D9: lower number first, then age", order: Global, // priorities negated: LowerFirst
			queues: []given{
				{parent: -1, quota: []int64{0}, share: []int64{0}},
				{parent: -1, quota: []int64{0}, share: []int64{0}},
			},
			wait: map[int][]Item{0: {{ID: 0, Priority: -42, Submitted: 1}, {ID: 2, Priority: -10, Submitted: 3}}, 1: {{ID: 1, Priority: -42, Submitted: 2}}},
			want: []int32{2, 0, 1},
		},
		{
			row: "O2 at every level: the department decides before the project", order: FairShare,
			queues: []given{
				{parent: -1, quota: []int64{1}, share: []int64{1}},
				{parent: 0, quota: []int64{3}, use: []int64{2}, share: []int64{3}}, // within its own quota, not its department's
				{parent: -1, quota: []int64{1}, share: []int64{3}},
				{parent: 2, quota: []int64{1}, use: []int64{2}, share: []int64{3}},
			},
			wait: map[int][]Item{1: {{ID: 0}}, 3: {{ID: 1}}},
			want: []int32{1, 0},
		},
		{
			row: "Re-evaluated after every start: equal queues take turns", order: FairShare,
			queues: []given{
				{parent: -1, quota: []int64{4}, share: []int64{4}},
				{parent: -1, quota: []int64{4}, share: []int64{4}},
			},
			wait: map[int][]Item{0: {{ID: 0}, {ID: 1}, {ID: 2}}, 1: {{ID: 3}, {ID: 4}, {ID: 5}}},
			want: []int32{0, 3, 1, 4, 2, 5},
		},
		{
			row: "PriorityFirst: priority between queues, then shares", order: PriorityFirst,
			queues: []given{
				{parent: -1, quota: []int64{9}, share: []int64{9}},
				{parent: -1, quota: []int64{0}, share: []int64{0}},
			},
			wait: map[int][]Item{0: {{ID: 0}, {ID: 1}}, 1: {{ID: 2, Priority: 1}, {ID: 3}}},
			want: []int32{2, 0, 1, 3},
		},
	} {
		t.Run(c.row, func(t *testing.T) {
			request := asking(1)
			q, tree := build(t, c.order, all(1), c.queues, request)
			for leaf, items := range c.wait { // filling one leaf says nothing to another
				q.Fill(leaf, items)
			}
			if got := drain(t, q, tree, request); !slices.Equal(got, c.want) {
				t.Errorf("order %v, want %v", got, c.want)
			}
		})
	}
}

// TestUndividedResourcesCountForNothing: O2 and RunAI20's order skip what is
// under no division (Q1).
func TestUndividedResourcesCountForNothing(t *testing.T) {
	for _, order := range []Order{FairShare, PriorityFirst, Deprived, ShareThenAge} {
		queues := []given{
			{parent: -1, quota: []int64{0, 9}, use: []int64{9, 1}, share: []int64{0, 9}, tier: []int32{-5, 0}},
			{parent: -1, quota: []int64{9, 9}, share: []int64{9, 9}, use: []int64{0, 2}, tier: []int32{5, 0}},
		}
		q, _ := build(t, order, []bool{false, true}, queues, asking(1, 1))
		q.Fill(0, []Item{{ID: 0}})
		q.Fill(1, []Item{{ID: 1}})
		if leaf, _, _ := q.Best(); leaf != 0 {
			t.Errorf("%v: a resource that is not divided decides", order)
		}
	}
}

// TestDrop: a dropped leaf takes no further part (StrictQueue), and says so.
func TestDrop(t *testing.T) {
	request := asking(1)
	q, tree := build(t, FairShare, all(1), []given{
		{parent: -1, quota: []int64{4}, share: []int64{4}},
		{parent: -1, quota: []int64{0}, share: []int64{4}},
	}, request)
	q.Fill(0, []Item{{ID: 0}, {ID: 1}})
	q.Push(0, Item{ID: 2})
	q.Fill(1, []Item{{ID: 3}})
	q.Drop(0)
	q.Drop(0)
	if q.Fill(0, []Item{{ID: 4}}) || q.Push(0, Item{ID: 4}) || q.Remove(0, Item{ID: 1}) {
		t.Error("a dropped leaf takes part")
	}
	if q.Len() != 1 {
		t.Errorf("Len() = %d, want 1", q.Len())
	}
	if got := drain(t, q, tree, request); !slices.Equal(got, []int32{3}) {
		t.Errorf("order %v, want only 3", got)
	}
}

// TestNoLeaf: an index that is no leaf's is refused, never a panic.
func TestNoLeaf(t *testing.T) {
	q, _ := build(t, FairShare, all(1), []given{
		{parent: -1, quota: []int64{4}, share: []int64{4}},
		{parent: 0, quota: []int64{4}, share: []int64{4}},
	}, asking(1))
	for _, leaf := range []int{-2, -1, 0, 2, 1 << 30} {
		if q.Fill(leaf, []Item{{}}) || q.Push(leaf, Item{}) || q.Remove(leaf, Item{}) {
			t.Errorf("%d is taken for a leaf", leaf)
		}
		q.Touch(leaf)
		q.Drop(leaf)
	}
	if _, _, ok := q.Best(); ok || q.Len() != 0 {
		t.Error("something waits")
	}
}

// TestRequestIsReadAgain: what the first item requests is asked anew when its
// leaf is touched, and when it went and came back, as an elastic workload does
// for its next task.
func TestRequestIsReadAgain(t *testing.T) {
	need := int64(1)
	q, _ := build(t, FairShare, all(1), []given{
		{parent: -1, quota: []int64{2}, share: []int64{4}},
		{parent: -1, quota: []int64{1}, share: []int64{4}},
	}, func(it Item) quota.Amounts {
		if it.ID == 0 {
			return amounts(need)
		}
		return amounts(1)
	})
	q.Fill(0, []Item{{ID: 0}})
	q.Fill(1, []Item{{ID: 1}})
	if leaf, _, _ := q.Best(); leaf != 0 {
		t.Fatalf("queue %d is first, want the less saturated 0", leaf)
	}
	need = 3
	q.Touch(0)
	if leaf, _, _ := q.Best(); leaf != 1 {
		t.Errorf("queue %d is first, want 1: the other has come to ask beyond its quota", leaf)
	}
	need = 1
	q.Remove(0, Item{ID: 0})
	q.Push(0, Item{ID: 0})
	if leaf, _, _ := q.Best(); leaf != 0 {
		t.Errorf("queue %d is first, want 0: it asks within its quota again", leaf)
	}
}

// TestValidate: every fault of a Config has its message, and New is total.
func TestValidate(t *testing.T) {
	tree, err := quota.New(quota.Config{
		Capacity: []int64{8},
		Queues:   []quota.Queue{{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(4)}}}, {Parent: -1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fault  string // "" is none
		change func(*Config)
	}{
		{"", func(*Config) {}},
		{"", func(c *Config) { c.Tier = nil }},
		{"", func(c *Config) { c.Request, c.Order = nil, Global }},
		{"no tree", func(c *Config) { c.Tree = nil }},
		{"no such order: 9", func(c *Config) { c.Order = 9 }},
		{"order deprived needs to know", func(c *Config) { c.Request, c.Order = nil, Deprived }},
		{"Divided has 0 entries, not 1", func(c *Config) { c.Divided = nil }},
		{"Divided has 2 entries, not 1", func(c *Config) { c.Divided = all(2) }},
		{"Created has 1 entries, not 2", func(c *Config) { c.Created = c.Created[:1] }},
		{"Shares has 1 entries, not 2", func(c *Config) { c.Shares = c.Shares[:1] }},
		{"Tier has 1 entries, not 2", func(c *Config) { c.Tier = c.Tier[:1] }},
		{"negative share -3 of queue 1, resource 0", func(c *Config) { c.Shares = []int64{4, -3} }},
	} {
		t.Run(cmp.Or(c.fault, "none"), func(t *testing.T) {
			config := Config{
				Tree: tree, Shares: []int64{4, 4}, Divided: all(1), Tier: []int32{0, 0},
				Created: []int64{1, 2}, Request: asking(1),
			}
			c.change(&config)
			err := config.Validate()
			if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Errorf("Validate() = %v, want %q", err, c.fault)
			}
			q := New(config)
			q.Fill(0, []Item{{ID: 0}})
			q.Touch(0)
			q.Fill(1, []Item{{ID: 1}})
			_, _, ok := q.Best()
			if ok != (config.Tree != nil) {
				t.Errorf("Best finds something: %v", ok)
			}
		})
	}
}

// TestNegativeShare: it counts as 0, and so is no less than 0 and no share.
func TestNegativeShare(t *testing.T) {
	queue := quota.Queue{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(4)}}}
	tree, err := quota.New(quota.Config{Capacity: []int64{8}, Queues: []quota.Queue{queue, queue}})
	if err != nil {
		t.Fatal(err)
	}
	q := New(Config{Tree: tree, Shares: []int64{0, -1}, Divided: all(1), Created: []int64{0, 0}, Request: asking(1)})
	q.Fill(0, []Item{{ID: 0}})
	q.Fill(1, []Item{{ID: 1}})
	if leaf, _, _ := q.Best(); leaf != 0 {
		t.Error("a negative share comes before one of 0")
	}
}

// TestNothingDivided: without divided resources O2 comes down to age and index.
func TestNothingDivided(t *testing.T) {
	request := asking(1)
	q, tree := build(t, FairShare, []bool{false}, []given{
		{parent: -1, quota: []int64{0}, share: []int64{0}, created: 2},
		{parent: -1, quota: []int64{0}, share: []int64{0}, created: 1},
		{parent: -1, quota: []int64{0}, share: []int64{0}, created: 1},
	}, request)
	for leaf := range 3 {
		q.Fill(leaf, []Item{{ID: int32(leaf)}, {ID: int32(leaf) + 3}})
	}
	if got, want := fmt.Sprint(drain(t, q, tree, request)), "[1 4 2 5 0 3]"; got != want {
		t.Errorf("order %v, want %v", got, want)
	}
}

// TestHugeAmounts: sums beyond int64 are beyond every share, never negative.
func TestHugeAmounts(t *testing.T) {
	const huge = 1<<63 - 1
	q, _ := build(t, FairShare, all(1), []given{
		{parent: -1, quota: []int64{4}, use: []int64{1}, share: []int64{4}},
		{parent: -1, quota: []int64{4}, use: []int64{4}, share: []int64{4}},
	}, func(it Item) quota.Amounts {
		if it.ID == 0 {
			return amounts(huge)
		}
		return amounts(1)
	})
	q.Fill(0, []Item{{ID: 0}})
	q.Fill(1, []Item{{ID: 1}})
	if leaf, _, _ := q.Best(); leaf != 1 {
		t.Error("an overflow comes first")
	}
}

// TestTurnsDoNotAllocate: a turn costs no memory under any order, nor does a
// workload that comes back, once its leaf has a tree.
func TestTurnsDoNotAllocate(t *testing.T) {
	ask := amounts(1, 2)
	for order := range Order(len(orderTexts)) {
		queues := []given{{parent: -1, quota: []int64{9, 9}, share: []int64{9, 9}}}
		for range 20 {
			queues = append(queues, given{parent: 0, quota: []int64{3, 6}, share: []int64{4, 8}})
		}
		q, tree := build(t, order, all(2), queues, func(Item) quota.Amounts { return ask })
		for leaf := 1; leaf < len(queues); leaf++ {
			q.Fill(leaf, []Item{{ID: 1}, {ID: 2}, {ID: 3}})
			q.Push(leaf, Item{ID: 4})
		}
		turn := func() {
			leaf, it, _ := q.Best()
			q.Remove(leaf, it)
			if tree.Charge(leaf, ask, false) != nil {
				t.Fatal("charge")
			}
			q.Touch(leaf)
			it.Submitted++
			q.Push(leaf, it)
		}
		if n := testing.AllocsPerRun(500, turn); n != 0 {
			t.Errorf("%v: %v allocations a turn", order, n)
		}
	}
}
