package quota_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/quota"
)

// one is n of the first resource.
func one(n int64) quota.Amounts { return quota.Amounts{{Resource: 0, Value: n}} }

// flat are top-level queues with bounds of one resource.
func flat(bounds ...quota.Bounds) []quota.Queue {
	var queues []quota.Queue
	for _, b := range bounds {
		queues = append(queues, quota.Queue{Parent: -1, Bounds: []quota.Bounds{b}})
	}
	return queues
}

// starts are charged one after another.
type starts []charge

func mustTree(t *testing.T, c quota.Config, running starts) *quota.Tree {
	t.Helper()
	tree, err := quota.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range running {
		if err := tree.Charge(s.queue, s.amounts, s.nonPreemptible); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

const (
	low    = false // preemptible: LOW, Train, training
	normal = true  // non-preemptible: NORMAL, HIGH, Build, interactive
)

// The rows of the presets as far as quotas and limits decide them, in whole GPUs.
// 'What the nodes have free' is placement's part, so that capacity only matters
// to Q5, Q6 and Q9 here.
func TestRows(t *testing.T) {
	of := quota.Of
	department := []quota.Queue{
		{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Unlimited()}}},
		{Parent: 0, Bounds: []quota.Bounds{{Quota: of(2)}}},
	}
	tests := []struct {
		row, reason string
		config      quota.Config
		running     starts
		ask         charge
		want        quota.Shortfall // none: it may start
		never       bool            // and could never
	}{
		{"O6", "NORMAL does not borrow", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), normal}, {0, one(1), normal}}, charge{0, one(1), normal},
			quota.Shortfall{Kind: quota.OverQuota, Have: 0, Need: 1}, false},
		{"O7", "LOW runs at quota", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), normal}, {0, one(1), normal}}, charge{0, one(1), low}, quota.Shortfall{}, false},
		{"O8", "LOW does not count towards quota", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), low}, {0, one(1), low}}, charge{0, one(2), normal}, quota.Shortfall{}, false},
		{"O17", "borrowing once the quota is reached", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(2), low}}, charge{0, one(1), low}, quota.Shortfall{}, false},
		{"O18", "pool1 borrows what pool2 does not use", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)}, quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), normal}, {0, one(1), low}, {1, one(1), normal}}, charge{0, one(1), low}, quota.Shortfall{}, false},
		{"O25", "68 of at most 70: 4 more are too many", quota.Config{Capacity: []int64{100}, Queues: flat(quota.Bounds{Quota: of(30), Limit: of(70)})},
			starts{{0, one(68), low}}, charge{0, one(4), low},
			quota.Shortfall{Kind: quota.OverLimit, Have: 2, Need: 4}, false},
		{"O25", "68 of at most 70: 2 more are not", quota.Config{Capacity: []int64{100}, Queues: flat(quota.Bounds{Quota: of(30), Limit: of(70)})},
			starts{{0, one(68), low}}, charge{0, one(2), low}, quota.Shortfall{}, false},
		{"O26", "a gang larger than the quota can never be NORMAL", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)})},
			nil, charge{0, one(6), normal}, quota.Shortfall{Kind: quota.OverQuota, Have: 4, Need: 6}, true},
		{"O26", "the same may be LOW", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)})},
			nil, charge{0, one(6), low}, quota.Shortfall{}, false},
		{"R4", "Build of 3 in a project of 2, its department unlimited", quota.Config{Capacity: []int64{8}, Queues: department},
			nil, charge{1, one(3), normal}, quota.Shortfall{Kind: quota.OverQuota, Queue: 1, Have: 2, Need: 3}, true},
		{"R4", "Train of 3 starts", quota.Config{Capacity: []int64{8}, Queues: department},
			nil, charge{1, one(3), low}, quota.Shortfall{}, false},
		{"R14", "over-subscription is legal: quota lets both fill up", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(6)}, quota.Bounds{Quota: of(6)})},
			starts{{0, one(6), normal}, {1, one(2), normal}}, charge{1, one(1), normal}, quota.Shortfall{}, false},
		{"R15", "each resource has its own quota: CPU is over", quota.Config{Capacity: []int64{8, 100}, Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: of(4)}, {Quota: of(10)}}}}},
			starts{{0, quota.Amounts{{0, 1}, {1, 8}}, normal}}, charge{0, quota.Amounts{{0, 1}, {1, 4}}, normal},
			quota.Shortfall{Kind: quota.OverQuota, Resource: 1, Have: 2, Need: 4}, false},
		{"A1", "interactive only within quota, though GPUs are idle", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), normal}, {0, one(1), normal}}, charge{0, one(1), normal},
			quota.Shortfall{Kind: quota.OverQuota, Have: 0, Need: 1}, false},
		{"Q1", "0 is a real 0", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(0)})},
			nil, charge{0, one(1), normal}, quota.Shortfall{Kind: quota.OverQuota, Have: 0, Need: 1}, true},
		{"Q1", "absent is 0 where a sibling gives a quota", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{}, quota.Bounds{Quota: of(1)})},
			nil, charge{0, one(1), normal}, quota.Shortfall{Kind: quota.OverQuota, Have: 0, Need: 1}, true},
		{"Q1", "nobody gives one: not under quota", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{}, quota.Bounds{})},
			starts{{0, one(9), normal}}, charge{0, one(9), normal}, quota.Shortfall{}, false},
		{"Q1", "a limit of 0 is a real 0", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Limit: of(0)})},
			nil, charge{0, one(1), low}, quota.Shortfall{Kind: quota.OverLimit, Have: 0, Need: 1}, true},
		{"Q2", "off: the Determined presets", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(0)}), NonPreemptibleOverQuota: true},
			nil, charge{0, one(1), normal}, quota.Shortfall{}, false},
		{"Q2", "an ancestor's quota binds too", quota.Config{Capacity: []int64{9}, Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: of(3)}}},
			{Parent: 0, Bounds: []quota.Bounds{{Quota: of(2)}}},
			{Parent: 0, Bounds: []quota.Bounds{{Quota: of(2)}}}}},
			starts{{1, one(2), normal}}, charge{2, one(2), normal},
			quota.Shortfall{Kind: quota.OverQuota, Queue: 0, Have: 1, Need: 2}, false},
		{"Q3", "quota plus borrowing limit", quota.Config{Capacity: []int64{9}, Queues: flat(quota.Bounds{Quota: of(2), Borrow: of(1)})},
			starts{{0, one(2), low}}, charge{0, one(2), low},
			quota.Shortfall{Kind: quota.OverBorrowing, Have: 1, Need: 2}, false},
		{"Q3", "an ancestor's limit binds too", quota.Config{Capacity: []int64{9}, Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Limit: of(3)}}}, {Parent: 0}, {Parent: 0}}},
			starts{{1, one(2), low}}, charge{2, one(2), low},
			quota.Shortfall{Kind: quota.OverLimit, Queue: 0, Have: 1, Need: 2}, false},
		{"Q5", "kept: the last of what the sibling lends", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)}, quota.Bounds{Quota: of(4), Lend: of(1)})},
			starts{{0, one(4), low}}, charge{0, one(1), low}, quota.Shortfall{}, false},
		{"Q5", "kept: more than the sibling lends", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)}, quota.Bounds{Quota: of(4), Lend: of(1)})},
			starts{{0, one(4), low}}, charge{0, one(2), low},
			quota.Shortfall{Kind: quota.Kept, Queue: 1, Have: 1, Need: 2}, false},
		{"Q5", "the keeper itself may use it", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)}, quota.Bounds{Quota: of(4), Lend: of(1)})},
			starts{{0, one(5), low}}, charge{1, one(3), low}, quota.Shortfall{}, false},
		{"Q5", "what is kept and in use is kept no more", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(4)}, quota.Bounds{Quota: of(4), Lend: of(1)})},
			starts{{0, one(4), low}, {1, one(2), low}}, charge{0, one(2), low},
			quota.Shortfall{Kind: quota.Kept, Queue: 1, Have: 1, Need: 2}, false},
		{"Q5", "the keeper named is another queue, though one keeps more oneself", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(3), Lend: of(0)}, quota.Bounds{Quota: of(1), Lend: of(0)})},
			nil, charge{0, one(4), low}, quota.Shortfall{Kind: quota.Kept, Queue: 1, Have: 3, Need: 4}, false},
		{"Q5", "the keeper named is the one that keeps most, not the first", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(0)}, quota.Bounds{Quota: of(1), Lend: of(0)}, quota.Bounds{Quota: of(3), Lend: of(1)}, quota.Bounds{Quota: of(2), Lend: of(0)})},
			nil, charge{0, one(1), low}, quota.Shortfall{Kind: quota.Kept, Queue: 2, Have: 0, Need: 1}, false},
		{"Q5", "an idle pool, two queues that keep more than there is: one's own reserve is not borrowed", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(6), Lend: of(0)}, quota.Bounds{Quota: of(6), Lend: of(0)})},
			nil, charge{1, one(4), low}, quota.Shortfall{}, false},
		{"Q10", "a cap on running workloads is no quota", quota.Config{Capacity: []int64{8, 0}, CapOnly: []bool{false, true}, Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: of(8)}, {Limit: of(4)}}}}},
			starts{{0, quota.Amounts{{0, 1}, {1, 4}}, normal}}, charge{0, quota.Amounts{{0, 1}, {1, 1}}, normal},
			quota.Shortfall{Kind: quota.OverLimit, Resource: 1, Have: 0, Need: 1}, false},
		{"S7", "use beyond quota came in: what is left is negative", quota.Config{Capacity: []int64{8}, Queues: flat(quota.Bounds{Quota: of(2), Limit: of(3)})},
			starts{{0, one(5), normal}}, charge{0, one(1), normal},
			quota.Shortfall{Kind: quota.OverLimit, Have: -2, Need: 1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.row+"/"+tt.reason, func(t *testing.T) {
			tree := mustTree(t, tt.config, tt.running)
			got, ok := tree.Check(tt.ask.queue, tt.ask.amounts, tt.ask.nonPreemptible)
			if got != tt.want || ok != (tt.want == quota.Shortfall{}) {
				t.Errorf("Check = %+v, %v, want %+v", got, ok, tt.want)
			}
			if _, possible := tree.Never(tt.ask.queue, tt.ask.amounts, tt.ask.nonPreemptible); possible == tt.never {
				t.Errorf("Never: possible %v, want %v", possible, !tt.never)
			}
		})
	}
}

// Several bounds short at once: all are told, from the leaf upward.
func TestShortfallsTellsAll(t *testing.T) {
	tree := mustTree(t, quota.Config{Capacity: []int64{10, 10}, Queues: []quota.Queue{
		{Parent: -1, Bounds: []quota.Bounds{{Limit: quota.Of(4)}}},
		{Parent: 0, Bounds: []quota.Bounds{{Quota: quota.Of(1), Limit: quota.Of(2), Borrow: quota.Of(0)}, {Quota: quota.Of(2)}}},
		{Parent: -1, Bounds: []quota.Bounds{{Quota: quota.Of(9), Lend: quota.Of(3)}}},
	}}, nil)
	got := tree.Shortfalls(nil, 1, quota.Amounts{{0, 5}, {1, 3}}, normal)
	want := []quota.Shortfall{
		{quota.OverLimit, 1, 0, 2, 5},
		{quota.OverBorrowing, 1, 0, 1, 5},
		{quota.OverQuota, 1, 0, 1, 5},
		{quota.OverQuota, 1, 1, 2, 3},
		{quota.OverLimit, 0, 0, 4, 5},
		{quota.OverQuota, 0, 0, 1, 5},
		{quota.OverQuota, 0, 1, 2, 3},
		{quota.Kept, 2, 0, 4, 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Q6 and the figures of rows O8, O17, O18 and O28.
func TestFigures(t *testing.T) {
	of, inf := quota.Of, quota.Infinite
	tests := []struct {
		row     string
		config  quota.Config
		running starts
		want    []quota.Figures // by queue, of the first resource
	}{
		{"O8: quota used 2, use 4, borrowed 2", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(2), low}, {0, one(2), normal}},
			[]quota.Figures{{Quota: 2, Limit: inf, Used: 4, InQuota: 2, OverQuota: 2, NonPreemptible: 2, Borrowed: 2}}},
		{"O17: use 2 of 2, borrowed 0", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(2), low}},
			[]quota.Figures{{Quota: 2, Limit: inf, Used: 2, InQuota: 2}}},
		{"O17: use 3 of 2, borrowed 1", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)})},
			starts{{0, one(3), low}},
			[]quota.Figures{{Quota: 2, Limit: inf, Used: 3, InQuota: 2, OverQuota: 1, Borrowed: 1}}},
		{"O18: pool2 lends its one free", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Quota: of(2)}, quota.Bounds{Quota: of(2)})},
			starts{{0, one(1), normal}, {0, one(2), low}, {1, one(1), normal}},
			[]quota.Figures{
				{Quota: 2, Limit: inf, Used: 3, InQuota: 2, OverQuota: 1, NonPreemptible: 1, Borrowed: 1},
				{Quota: 2, Limit: inf, Used: 1, InQuota: 1, NonPreemptible: 1, Lent: 1}}},
		{"O28: quota used 4 of 8, total use 6", quota.Config{Capacity: []int64{12}, Queues: flat(quota.Bounds{Quota: of(8)})},
			starts{{0, one(4), normal}, {0, one(2), low}},
			[]quota.Figures{{Quota: 8, Limit: inf, Used: 6, InQuota: 6, NonPreemptible: 4}}},
		{"Q1: not under quota, so nothing is over it", quota.Config{Capacity: []int64{4}, Queues: flat(quota.Bounds{Limit: of(9)})},
			starts{{0, one(5), low}},
			[]quota.Figures{{Quota: inf, Limit: 9, Used: 5, InQuota: 5}}},
		{"Q6: what belongs to no quota is borrowed first", quota.Config{Capacity: []int64{10}, Queues: flat(quota.Bounds{Quota: of(2)}, quota.Bounds{Quota: of(4)})},
			starts{{0, one(7), low}},
			[]quota.Figures{
				{Quota: 2, Limit: inf, Used: 7, InQuota: 2, OverQuota: 5, Borrowed: 5},
				{Quota: 4, Limit: inf, Lent: 1}}},
		{"Q6: lent in proportion, the rest to the largest, then to the lower index", quota.Config{Capacity: []int64{10},
			Queues: flat(quota.Bounds{Quota: of(0)}, quota.Bounds{Quota: of(3)}, quota.Bounds{Quota: of(3)}, quota.Bounds{Quota: of(4)})},
			starts{{0, one(5), low}}, // 1.5, 1.5 and 2 of 5
			[]quota.Figures{
				{Limit: inf, Used: 5, OverQuota: 5, Borrowed: 5},
				{Quota: 3, Limit: inf, Lent: 1},
				{Quota: 3, Limit: inf, Lent: 1},
				{Quota: 4, Limit: inf, Lent: 3}}},
		{"Q6: of equal lenders the lower index lends the odd one", quota.Config{Capacity: []int64{4},
			Queues: flat(quota.Bounds{Quota: of(2)}, quota.Bounds{Quota: of(2)}, quota.Bounds{Quota: of(0)})},
			starts{{2, one(3), low}},
			[]quota.Figures{
				{Quota: 2, Limit: inf, Lent: 2},
				{Quota: 2, Limit: inf, Lent: 1},
				{Limit: inf, Used: 3, OverQuota: 3, Borrowed: 3}}},
		{"Q6: what is kept is not lent", quota.Config{Capacity: []int64{8},
			Queues: flat(quota.Bounds{Quota: of(0)}, quota.Bounds{Quota: of(4)}, quota.Bounds{Quota: of(4), Lend: of(1)})},
			starts{{0, one(5), low}},
			[]quota.Figures{
				{Limit: inf, Used: 5, OverQuota: 5, Borrowed: 5},
				{Quota: 4, Limit: inf, Lent: 4},
				{Quota: 4, Limit: inf, Lent: 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.row, func(t *testing.T) {
			tree := mustTree(t, tt.config, tt.running)
			if diff := cmp.Diff(tt.want, tree.AppendFigures(nil)); diff != "" {
				t.Error(diff)
			}
			for q, want := range tt.want {
				if got := tree.Figures(q, 0); got != want {
					t.Errorf("Figures(%d) = %+v, want %+v", q, got, want)
				}
			}
		})
	}
}

// Q9, by its four answers.
func TestAvailability(t *testing.T) {
	of := quota.Of
	// A department of 4 whose children have 2 each, beside one of 4.
	departments := []quota.Queue{
		{Parent: -1, Bounds: []quota.Bounds{{Quota: of(4)}}},
		{Parent: 0, Bounds: []quota.Bounds{{Quota: of(2)}}},
		{Parent: 0, Bounds: []quota.Bounds{{Quota: of(2)}}},
		{Parent: -1, Bounds: []quota.Bounds{{Quota: of(4), Limit: of(6)}}},
	}
	tests := []struct {
		reason  string
		running starts
		ask     charge
		want    quota.Availability
	}{
		{"within quota", starts{{1, one(1), low}}, charge{1, one(1), low}, quota.WithinQuota},
		{"beyond its own quota", starts{{1, one(2), low}}, charge{1, one(1), low}, quota.ByBorrowing},
		{"a sibling over-uses the department's quota: the guarantee is as large as it was",
			starts{{1, one(4), low}}, charge{2, one(2), low}, quota.WithinQuota},
		{"its room is lent out", starts{{3, one(6), low}, {1, one(3), low}}, charge{2, one(2), low}, quota.ByMakingRoom},
		{"the limit leaves nothing now", starts{{3, one(6), low}}, charge{3, one(1), low}, quota.ByMakingRoom},
		{"larger than the limit", nil, charge{3, one(7), low}, quota.Never},
		{"larger than the pool", nil, charge{1, one(11), low}, quota.Never},
		{"non-preemptible and larger than the quota", nil, charge{1, one(3), normal}, quota.Never},
		{"non-preemptible within quota beside LOW that borrows (O8)", starts{{1, one(3), low}}, charge{1, one(2), normal}, quota.WithinQuota},
		{"no such queue", nil, charge{9, one(1), low}, quota.Never},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			tree := mustTree(t, quota.Config{Capacity: []int64{10}, Queues: departments}, tt.running)
			if got := tree.Availability(tt.ask.queue, tt.ask.amounts, tt.ask.nonPreemptible); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Q1: the defaults, and Q5's reserve, over a tree listed children first.
func TestDefaults(t *testing.T) {
	of, absent := quota.Of, quota.Bound{}
	tests := []struct {
		reason            string
		leaf, leaf2, root quota.Bound
		want              [3]int64
	}{
		{"given", of(1), of(2), of(5), [3]int64{1, 2, 5}},
		{"absent above: the sum", of(1), of(2), absent, [3]int64{1, 2, 3}},
		{"absent in a leaf: 0", absent, of(2), absent, [3]int64{0, 2, 2}},
		{"only above: leaves have 0", absent, absent, of(5), [3]int64{0, 0, 5}},
		{"a given 0 above is a real 0", of(1), of(2), of(0), [3]int64{1, 2, 0}},
		{"unlimited below makes the sum unlimited", quota.Unlimited(), of(2), absent, [3]int64{quota.Infinite, 2, quota.Infinite}},
		{"nobody: not governed", absent, absent, absent, [3]int64{quota.Infinite, quota.Infinite, quota.Infinite}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			tree := mustTree(t, quota.Config{Capacity: []int64{9}, Queues: []quota.Queue{
				{Parent: 2, Bounds: []quota.Bounds{{Quota: tt.leaf}}},
				{Parent: 2, Bounds: []quota.Bounds{{Quota: tt.leaf2}}},
				{Parent: -1, Bounds: []quota.Bounds{{Quota: tt.root}}},
			}}, nil)
			got := [3]int64{tree.Quota(0, 0), tree.Quota(1, 0), tree.Quota(2, 0)}
			if got != tt.want {
				t.Errorf("quotas %v, want %v", got, tt.want)
			}
			if want := tt.want != [3]int64{quota.Infinite, quota.Infinite, quota.Infinite}; tree.Governed(0) != want {
				t.Errorf("Governed = %v, want %v", tree.Governed(0), want)
			}
		})
	}
}
