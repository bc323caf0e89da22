package gang_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
)

// set is a set of the workload, all submitted.
func set(count, min int32) gang.Set {
	return gang.Set{Count: count, Min: min, Submitted: count, Parent: -1}
}

// in puts a set into a group.
func in(group int32, s gang.Set) gang.Set {
	s.Parent = group
	return s
}

// submitted makes only n tasks of a set exist.
func submitted(n int32, s gang.Set) gang.Set {
	s.Submitted = n
	return s
}

// show is all units, one per field, as the tasks per set; then '…' if there
// were more than the budget; or why there is none.
func show(g *gang.Gang, held []int32, budget int) string {
	units, cut := g.Units(held, budget)
	var out []string
	for _, u := range units {
		out = append(out, strings.Trim(strings.ReplaceAll(fmt.Sprint(u.Add), " ", ","), "[]"))
	}
	if cut {
		out = append(out, "…")
	}
	if _, v := g.First(held); !v.OK {
		out = append(out, v.Kind.String())
		if v.Kind == gang.NotSubmitted {
			out = append(out, fmt.Sprintf("set %d: %d of %d", v.Set, v.Have, v.Need))
		}
	}
	return strings.Join(out, " ")
}

// leaderWorkers is two replicas, each a leader and three workers of which two
// are enough, and one of them must run.
var leaderWorkers = definition{
	sets:   []gang.Set{in(1, set(1, 1)), in(1, set(3, 2)), in(2, set(1, 1)), in(2, set(3, 2))},
	groups: []gang.Group{{Parent: -1, Min: 1}, {Parent: 0}, {Parent: 0}},
}

// prefillDecode needs a router, two of three prefill sets, and one of two
// decode sets of different sizes.
var prefillDecode = definition{
	sets: []gang.Set{set(1, 1),
		in(0, set(1, 1)), in(0, set(2, 2)), in(0, set(3, 3)),
		in(1, set(4, 4)), in(1, set(2, 2))},
	groups: []gang.Group{{Parent: -1, Min: 2}, {Parent: -1, Min: 1}},
}

func TestUnits(t *testing.T) {
	one := func(s gang.Set) definition { return definition{sets: []gang.Set{s}} }
	for _, tc := range []struct {
		rule string
		d    definition
		held []int32
		want string
	}{
		{"G1 all together", one(set(32, 32)), []int32{0}, "32"},
		{"G1 nothing left", one(set(32, 32)), []int32{32}, "complete"},
		{"G1 partly running: completed together", one(set(32, 32)), []int32{31}, "1"},
		{"G1 two sets together", definition{sets: []gang.Set{set(1, 1), set(4, 3)}}, nil, "1,3"},
		{"G1 two sets, one lost", definition{sets: []gang.Set{set(1, 1), set(4, 3)}}, []int32{0, 4}, "1,0"},
		{"G1 not submitted", one(submitted(3, set(8, 4))), nil, "not-submitted set 0: 3 of 4"},
		{"G1 not submitted, some hold", one(submitted(3, set(8, 4))), []int32{2}, "not-submitted set 0: 3 of 4"},
		{"G1 the first short set is named", definition{sets: []gang.Set{set(2, 2), submitted(0, set(1, 1)), submitted(0, set(1, 1))}}, nil,
			"not-submitted set 1: 0 of 1"},
		{"G1 later tasks join", one(submitted(5, set(8, 4))), []int32{4}, "1"},
		{"G1 extras not submitted", one(submitted(5, set(8, 4))), []int32{5}, "complete"},
		{"S7 holds more than exists", one(submitted(1, set(4, 2))), []int32{2}, "complete"},
		{"S7 so in groups", definition{
			sets:   []gang.Set{in(0, submitted(1, set(4, 2))), in(0, set(1, 1)), set(1, 1)},
			groups: []gang.Group{{Parent: -1, Min: 1}}}, []int32{2, 0, 0}, "0,0,1"},
		{"S7 and is no candidate", definition{
			sets:   []gang.Set{in(0, submitted(1, set(4, 2))), in(0, set(1, 1)), in(0, submitted(0, set(1, 1)))},
			groups: []gang.Group{{Parent: -1, Min: 2}}}, []int32{2, 0, 0}, "0,1,0"},
		{"G2 one at a time, in listed order", definition{sets: []gang.Set{set(3, 1), set(1, 1), set(2, 1)}}, []int32{1, 1, 1}, "1,0,0 0,0,1"},
		{"G2 minimum first", definition{sets: []gang.Set{set(3, 1), set(2, 2)}}, []int32{2, 0}, "0,2"},
		{"G2 minimum of nothing", one(set(2, 0)), nil, "1"},
		{"G2 minimum of nothing, nothing submitted", one(submitted(0, set(2, 0))), nil, "complete"},
		{"G3 leader and workers: the first replica", leaderWorkers, nil, "1,2,0,0"},
		{"G3 the one that holds tasks first", leaderWorkers, []int32{0, 0, 1, 1}, "0,0,0,1 1,2,0,0"},
		{"G3 then the other whole, then single workers", leaderWorkers, []int32{1, 2, 0, 0}, "0,0,1,2 0,1,0,0"},
		{"G3 the other is completed", leaderWorkers, []int32{1, 3, 0, 2}, "0,0,1,0"},
		{"G3 all full", leaderWorkers, []int32{1, 3, 1, 3}, "complete"},
		{"G3 prefill and decode: choices", prefillDecode, nil,
			"1,1,2,0,4,0 1,1,2,0,0,2 1,1,0,3,4,0 1,1,0,3,0,2 1,0,2,3,4,0 1,0,2,3,0,2"},
		{"G3 a choice half made", prefillDecode, []int32{1, 0, 0, 1, 0, 2}, "0,1,0,2,0,0 0,0,2,2,0,0 0,1,2,0,0,0"},
		{"G3 beyond the choice", prefillDecode, []int32{1, 1, 2, 0, 4, 0}, "0,0,0,3,0,0 0,0,0,0,0,2"},
		{"G3 what is not submitted is no choice", definition{
			sets:   []gang.Set{in(0, submitted(0, set(1, 1))), in(0, set(2, 2))},
			groups: []gang.Group{{Parent: -1, Min: 1}}}, nil, "0,2"},
		{"G3 too few can: the preferred one is named", definition{
			sets:   []gang.Set{in(0, submitted(1, set(4, 4))), in(0, submitted(2, set(3, 3))), in(0, set(1, 1))},
			groups: []gang.Group{{Parent: -1, Min: 2}}}, []int32{0, 1, 0}, "not-submitted set 1: 2 of 3"},
		{"G3 alike children are one choice", definition{
			sets:   []gang.Set{in(0, set(2, 2)), in(0, set(2, 2)), in(0, set(2, 2)), in(0, set(2, 2))},
			groups: []gang.Group{{Parent: -1, Min: 2}}}, nil, "2,2,0,0"},
		{"G3 but not if they hold different numbers", definition{
			sets:   []gang.Set{in(0, set(2, 2)), in(0, set(2, 2)), in(0, set(2, 2)), in(0, set(2, 2))},
			groups: []gang.Group{{Parent: -1, Min: 2}}}, []int32{0, 0, 1, 0}, "2,0,1,0 2,2,0,0"},
		{"G3 a child whose minimum is nothing counts", definition{
			sets:   []gang.Set{in(0, set(2, 2)), in(0, set(3, 0))},
			groups: []gang.Group{{Parent: -1, Min: 1}}}, nil, "2,0 0,1"},
		{"G3 a group stands where its first set stands", definition{
			sets:   []gang.Set{in(1, set(1, 1)), in(0, set(2, 2)), in(1, set(3, 3))},
			groups: []gang.Group{{Parent: 2}, {Parent: 2}, {Parent: -1, Min: 1}}}, nil, "1,0,3 0,2,0"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if got := show(build(t, tc.d), tc.held, math.MaxInt); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestStage (O1): below the minimum, at it, or above it: a task could be spared.
func TestStage(t *testing.T) {
	elastic := definition{sets: []gang.Set{set(4, 2), set(1, 1)}}
	for _, tc := range []struct {
		d    definition
		held []int32
		want string
	}{
		{elastic, nil, "below"},
		{elastic, []int32{4, 0}, "below"},
		{elastic, []int32{2, 1}, "at"},
		{elastic, []int32{3, 1}, "above"},
		{leaderWorkers, []int32{1, 1, 0, 2}, "below"},
		{leaderWorkers, []int32{1, 2, 0, 0}, "at"},
		{leaderWorkers, []int32{1, 2, 0, 1}, "above"}, // the other's worker
		{leaderWorkers, []int32{1, 3, 0, 0}, "above"},
		{leaderWorkers, []int32{1, 2, 1, 2}, "above"}, // either replica
	} {
		g, stage := build(t, tc.d), "below"
		if g.AtMinimum(tc.held) {
			stage = "at"
		}
		if g.AboveMinimum(tc.held) {
			stage = "above"
		}
		if stage != tc.want {
			t.Errorf("%v: %s, want %s", tc.held, stage, tc.want)
		}
	}
}

func TestBudget(t *testing.T) {
	g := build(t, prefillDecode)
	for budget, want := range []string{
		"…",
		"1,1,2,0,4,0 …",
		"1,1,2,0,4,0 1,1,2,0,0,2 …",
	} {
		if got := show(g, nil, budget); got != want {
			t.Errorf("budget %d: got %s, want %s", budget, got, want)
		}
	}
	if got := show(g, nil, 6); strings.Contains(got, "…") {
		t.Errorf("all six, and yet cut: %s", got)
	}
	if got := show(g, nil, -1); got != "…" {
		t.Errorf("a negative budget is none: %s", got)
	}
}

// TestManyChoices: C(40, 20) choices cost what the budget allows, and alike
// children none at all.
func TestManyChoices(t *testing.T) {
	d := definition{groups: []gang.Group{{Parent: -1, Min: 20}}}
	for i := range int32(40) {
		d.sets = append(d.sets, in(0, set(1+i, 1+i)))
	}
	if units, cut := build(t, d).Units(nil, 1000); len(units) != 1000 || !cut {
		t.Errorf("%d units, cut %v", len(units), cut)
	}
	for i := range d.sets {
		d.sets[i] = in(0, set(1, 1))
	}
	if units, cut := build(t, d).Units(nil, 1000); len(units) != 1 || cut {
		t.Errorf("alike: %d units, cut %v", len(units), cut)
	}
}

// TestDeep: groups may nest as deep as they like.
func TestDeep(t *testing.T) {
	const depth = 100_000
	d := definition{sets: []gang.Set{in(depth-1, set(3, 2)), in(depth-1, set(1, 1))}}
	for i := range int32(depth) {
		d.groups = append(d.groups, gang.Group{Parent: i - 1, Min: 1})
	}
	g := build(t, d)
	if got := show(g, nil, 9); got != "2,0 0,1" {
		t.Error(got)
	}
	if g.AtMinimum(nil) || !g.AtMinimum([]int32{0, 1}) {
		t.Error("AtMinimum")
	}
}

func TestWalkIsReusable(t *testing.T) {
	var w gang.Walk
	if _, ok := w.Next(); ok || w.Cut() {
		t.Error("the zero Walk has no units")
	}
	for _, d := range []definition{prefillDecode, {sets: []gang.Set{set(4, 2)}}, leaderWorkers, prefillDecode} {
		g := build(t, d)
		want, _ := g.Units(nil, 100)
		if v := w.Reset(g, nil, 100); !v.OK {
			t.Fatal(v)
		}
		for i := 0; ; i++ {
			u, ok := w.Next()
			if !ok {
				if i != len(want) {
					t.Errorf("%d units, want %d", i, len(want))
				}
				break
			}
			if fmt.Sprint(u) != fmt.Sprint(want[i]) {
				t.Errorf("unit %d: %v, want %v", i, u, want[i])
			}
		}
		if _, ok := w.Next(); ok {
			t.Error("a unit after the end")
		}
	}
}

func TestNewRefuses(t *testing.T) {
	cyclic := []gang.Group{{Parent: 1}, {Parent: 0}}
	for _, tc := range []struct {
		want   string
		sets   []gang.Set
		groups []gang.Group
	}{
		{"gang: no-sets", nil, nil},
		{"gang: set 0: bad-count", []gang.Set{set(0, 0)}, nil},
		{"gang: set 0: bad-count", []gang.Set{set(-1, -1)}, nil},
		{"gang: set 1: bad-count", []gang.Set{set(gang.MaxTasks, 1), set(1, 1)}, nil},
		{"gang: set 0: bad-min", []gang.Set{set(2, 3)}, nil},
		{"gang: set 0: bad-min", []gang.Set{set(2, -1)}, nil},
		{"gang: set 0: bad-submitted", []gang.Set{submitted(3, set(2, 2))}, nil},
		{"gang: set 0: bad-submitted", []gang.Set{submitted(-1, set(2, 2))}, nil},
		{"gang: set 0: bad-devices", []gang.Set{{Count: 1, Devices: -1, Parent: -1}}, nil},
		{"gang: set 0: bad-amounts", []gang.Set{{Count: 1, Parent: -1, Amounts: quota.Amounts{{Resource: 1, Value: 1}, {Resource: 0, Value: 1}}}}, nil},
		{"gang: set 0: bad-parent", []gang.Set{in(0, set(1, 1))}, nil},
		{"gang: set 0: bad-parent", []gang.Set{in(-2, set(1, 1))}, nil},
		{"gang: group 0: bad-parent", []gang.Set{in(0, set(1, 1))}, []gang.Group{{Parent: 1}}},
		{"gang: group 0: cycle", []gang.Set{in(0, set(1, 1))}, cyclic},
		{"gang: group 0: cycle", []gang.Set{in(0, set(1, 1))}, []gang.Group{{Parent: 0}}},
		{"gang: group 0: empty-group", []gang.Set{set(1, 1)}, cyclic},
		{"gang: group 1: empty-group", []gang.Set{in(0, set(1, 1))}, []gang.Group{{Parent: -1}, {Parent: 0}}},
		{"gang: group 0: bad-min", []gang.Set{in(0, set(1, 1))}, []gang.Group{{Parent: -1, Min: 2}}},
		{"gang: group 0: bad-min", []gang.Set{in(0, set(1, 1))}, []gang.Group{{Parent: -1, Min: -1}}},
	} {
		_, err := gang.New(tc.sets, tc.groups)
		var fault *gang.DefinitionError
		if !errors.As(err, &fault) || err.Error() != tc.want {
			t.Errorf("%+v %+v: got %v, want %s", tc.sets, tc.groups, err, tc.want)
		}
	}
}

// TestNewKeepsNothing: what the caller does with its slices afterwards changes
// nothing.
func TestNewKeepsNothing(t *testing.T) {
	sets := []gang.Set{{Count: 2, Min: 2, Submitted: 2, Parent: -1, Amounts: quota.Amounts{{Resource: 0, Value: 5}}}}
	g, err := gang.New(sets, nil)
	if err != nil {
		t.Fatal(err)
	}
	sets[0].Count, sets[0].Amounts[0].Value = 9, 9
	if s := g.Set(0); s.Count != 2 || s.Amounts[0].Value != 5 || g.Len() != 1 {
		t.Errorf("%+v", s)
	}
}

func TestAmounts(t *testing.T) {
	sets := []gang.Set{set(3, 3), set(4, 2), set(2, 0)}
	sets[0].Amounts = quota.Amounts{{Resource: 1, Value: 10}, {Resource: 4, Value: 7}}
	sets[1].Amounts = quota.Amounts{{Resource: 0, Value: 1}, {Resource: 4, Value: 2}}
	g := build(t, definition{sets: sets})
	for _, tc := range []struct {
		add  []int32
		want string
	}{
		{[]int32{3, 2, 0}, "[{0 2} {1 30} {4 25}]"},
		{[]int32{1, 0, 0}, "[{1 10} {4 7}]"},
		{[]int32{0, 0, 2}, "[]"},
		{nil, "[]"},
		{[]int32{-1, 1}, "[{0 1} {4 2}]"},
		{[]int32{0, math.MaxInt32, 0, 8}, "[{0 4} {4 8}]"}, // a unit of another gang: no more than there are
	} {
		got, err := g.Amounts(quota.Amounts{{Resource: 9, Value: 9}}, gang.Unit{Add: tc.add})
		if err != nil || fmt.Sprint(got) != tc.want {
			t.Errorf("%v: %v %v, want %s", tc.add, got, err, tc.want)
		}
	}
}

func TestAmountsOverflow(t *testing.T) {
	sets := []gang.Set{set(2, 1), set(1, 1)}
	sets[0].Amounts = quota.Amounts{{Resource: 0, Value: quota.MaxSum}}
	sets[1].Amounts = quota.Amounts{{Resource: 0, Value: 1}}
	g := build(t, definition{sets: sets})
	for _, add := range [][]int32{{2, 0}, {1, 1}} {
		if got, err := g.Amounts(nil, gang.Unit{Add: add}); !errors.Is(err, quota.ErrOverflow) || len(got) != 0 {
			t.Errorf("%v: %v, %v", add, got, err)
		}
	}
	if got, err := g.Amounts(nil, gang.Unit{Add: []int32{1, 0}}); err != nil || got.Of(0) != quota.MaxSum {
		t.Errorf("%v, %v", got, err)
	}
}

// TestNoAllocation: the plain case costs no memory, and a Walk none after its
// first use.
func TestNoAllocation(t *testing.T) {
	plain := build(t, definition{sets: []gang.Set{set(8, 4), set(1, 1)}})
	grouped := build(t, prefillDecode)
	var w gang.Walk
	walk := func(g *gang.Gang, held []int32) {
		w.Reset(g, held, 100)
		for {
			if _, ok := w.Next(); !ok {
				return
			}
		}
	}
	part, above := []int32{1, 1}, []int32{5, 1}
	choice := []int32{1, 0, 0, 1, 0, 2}
	dst := make(quota.Amounts, 0, 4)
	for name, f := range map[string]func(){ // each alone, so that the order cannot matter
		"First, fresh":           func() { plain.First(nil) },
		"First, grouped":         func() { grouped.First(nil) },
		"First, above":           func() { plain.First(above) },
		"AtMinimum":              func() { plain.AtMinimum(part) },
		"AtMinimum, grouped":     func() { grouped.AtMinimum(choice) },
		"AboveMinimum, grouped":  func() { grouped.AboveMinimum([]int32{1, 1, 2, 3, 4, 0}) },
		"Walk, partly running":   func() { walk(plain, part) },
		"Walk, above":            func() { walk(plain, above) },
		"Walk, grouped":          func() { walk(grouped, nil) },
		"Walk, grouped, choice":  func() { walk(grouped, choice) },
		"Amounts, into a buffer": func() { dst, _ = plain.Amounts(dst, gang.Unit{Add: above}) },
	} {
		f()
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestText(t *testing.T) {
	for k, want := range []string{"none", "complete", "not-submitted", "too-few", "no-place", "no-domain", "kind(6)"} {
		if got := gang.Kind(k).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for f, want := range map[gang.Fault]string{ // each alone, so that the order cannot matter
		0: "fault(0)", gang.NoSets: "no-sets", gang.EmptyGroup: "empty-group", gang.BadConstraint: "bad-constraint", 99: "fault(99)",
	} {
		if got := f.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
