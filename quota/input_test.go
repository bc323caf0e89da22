package quota_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

func TestBoundJSON(t *testing.T) {
	tests := []struct {
		in   string
		want quota.Bound
		ok   bool
	}{
		{`null`, quota.Bound{}, true},
		{`0`, quota.Of(0), true},
		{`-0`, quota.Of(0), true},
		{` 2000 `, quota.Of(2000), true},
		{`-1`, quota.Of(-1), true},
		{`9223372036854775807`, quota.Of(quota.Infinite), true},
		{`"unlimited"`, quota.Unlimited(), true},
		{`9223372036854775808`, quota.Bound{}, false},
		{`1.5`, quota.Bound{}, false},
		{`1.0`, quota.Bound{}, false},
		{`1e3`, quota.Bound{}, false},
		{`"Unlimited"`, quota.Bound{}, false},
		{`"5"`, quota.Bound{}, false},
		{`true`, quota.Bound{}, false},
		{`{}`, quota.Bound{}, false},
		{`[]`, quota.Bound{}, false},
	}
	for _, tt := range tests {
		got := quota.Of(77)
		err := json.Unmarshal([]byte(tt.in), &got)
		switch {
		case tt.ok && (err != nil || got != tt.want):
			t.Errorf("%s: %v, %v, want %v", tt.in, got, err, tt.want)
		case !tt.ok && (err == nil || got != quota.Of(77)):
			t.Errorf("%s: %v, %v, want an error and nothing changed", tt.in, got, err)
		}
	}
	// Not by way of encoding/json, which never hands these over.
	for _, in := range []string{"", "+1", "1_0", "0x1", "\x00"} {
		if err := new(quota.Bound).UnmarshalJSON([]byte(in)); err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

func TestBoundForms(t *testing.T) {
	type holder struct {
		B quota.Bound `json:"b,omitzero"`
	}
	tests := []struct {
		bound            quota.Bound
		text, json       string
		given, unlimited bool
		amount           int64
	}{
		{quota.Bound{}, "", `{}`, false, false, 0},
		{quota.Of(0), "0", `{"b":0}`, true, false, 0},
		{quota.Of(2000), "2000", `{"b":2000}`, true, false, 2000},
		{quota.Of(-3), "-3", `{"b":-3}`, true, false, -3},
		{quota.Unlimited(), "unlimited", `{"b":"unlimited"}`, true, true, quota.Infinite},
	}
	for _, tt := range tests {
		b := tt.bound
		if b.String() != tt.text || b.Given() != tt.given || b.IsUnlimited() != tt.unlimited || b.Amount() != tt.amount {
			t.Errorf("%#v: %q %v %v %d", b, b.String(), b.Given(), b.IsUnlimited(), b.Amount())
		}
		out, err := json.Marshal(holder{b})
		if err != nil || string(out) != tt.json {
			t.Errorf("%v: JSON %s, %v, want %s", b, out, err, tt.json)
		}
		var back holder
		if err := json.Unmarshal(out, &back); err != nil || back.B != b {
			t.Errorf("%v: came back as %v, %v", b, back.B, err)
		}
	}
	if out, err := json.Marshal(quota.Bound{}); err != nil || string(out) != "null" {
		t.Errorf("absent: %s, %v", out, err)
	}
}

// Sums, multiples and maxima of amounts agree with maps, and overflow is an
// error that changes nothing.
func TestAmountsArithmetic(t *testing.T) {
	asMap := func(a quota.Amounts) map[int32]int64 {
		m := make(map[int32]int64)
		for _, x := range a {
			m[x.Resource] = x.Value
		}
		return m
	}
	draw := func(t *rapid.T, label string) quota.Amounts {
		var a quota.Amounts
		for r := range int32(5) {
			if rapid.Bool().Draw(t, label+" has") {
				shift := rapid.IntRange(0, 61).Draw(t, "shift")
				a = append(a, quota.Amount{Resource: r, Value: 1 + rapid.Int64Range(0, quota.MaxSum-1).Draw(t, label)>>shift})
			}
		}
		return a
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		n := rapid.Int64Range(0, 5).Draw(t, "n")
		sum, largest, overflows := asMap(a), asMap(a), false
		for _, y := range b {
			for range n {
				// Both are at most 2^62−1, so that one step cannot wrap.
				if sum[y.Resource] <= quota.MaxSum {
					sum[y.Resource] += y.Value
				}
			}
			overflows = overflows || sum[y.Resource] > quota.MaxSum
			largest[y.Resource] = max(largest[y.Resource], y.Value)
		}
		if n == 0 {
			sum = asMap(a)
		}
		if got := quota.Max(a, b); !maps.Equal(asMap(got), largest) || got.Validate(5) != nil {
			t.Fatalf("Max = %v", got)
		}
		in := slices.Clone(a)
		got, err := slices.Clone(a).AddScaled(b, n)
		switch {
		case overflows && (!errors.Is(err, quota.ErrOverflow) || !slices.Equal(got, in)):
			t.Fatalf("overflow: %v, %v", got, err)
		case !overflows && (err != nil || !maps.Equal(asMap(got), sum) || got.Validate(5) != nil):
			t.Fatalf("%v + %d × %v = %v, %v", a, n, b, got, err)
		}
		for r := range int32(6) {
			if in.Of(r) != asMap(in)[r] {
				t.Fatalf("Of(%d) = %d", r, in.Of(r))
			}
		}
	})
}

func TestMalformedAmounts(t *testing.T) {
	tree := mustTree(t, quota.Config{Capacity: []int64{1, 1}, Queues: []quota.Queue{{Parent: 1}, {Parent: -1}}}, nil)
	good := one(1)
	tests := []struct {
		reason string
		queue  int
		a      quota.Amounts
		want   error
	}{
		{"zero value", 0, quota.Amounts{{0, 0}}, quota.ErrMalformed},
		{"negative value", 0, quota.Amounts{{0, -1}}, quota.ErrMalformed},
		{"twice", 0, quota.Amounts{{0, 1}, {0, 1}}, quota.ErrMalformed},
		{"not sorted", 0, quota.Amounts{{1, 1}, {0, 1}}, quota.ErrMalformed},
		{"negative resource", 0, quota.Amounts{{-1, 1}}, quota.ErrMalformed},
		{"unknown resource", 0, quota.Amounts{{2, 1}}, quota.ErrMalformed},
		{"too large", 0, quota.Amounts{{0, quota.MaxSum + 1}}, quota.ErrOverflow},
		{"negative queue", -1, good, quota.ErrMalformed},
		{"unknown queue", 2, good, quota.ErrMalformed},
		{"inner queue", 1, good, quota.ErrInnerQueue},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			for _, err := range []error{tree.Charge(tt.queue, tt.a, false), tree.Release(tt.queue, tt.a, true)} {
				var typed *quota.Error
				if !errors.Is(err, tt.want) || !errors.As(err, &typed) || err.Error() == "" {
					t.Errorf("%v, want %v", err, tt.want)
				}
			}
			if tree.Use(0, 0) != 0 || tree.Use(1, 1) != 0 {
				t.Error("something was charged")
			}
			if tt.want == quota.ErrInnerQueue {
				return // asking on behalf of an inner queue is fine
			}
			want := quota.Shortfall{Kind: quota.Malformed, Queue: tt.queue, Resource: -1}
			if s, ok := tree.Check(tt.queue, tt.a, false); ok || s != want {
				t.Errorf("Check = %v, %v", s, ok)
			}
			if s, ok := tree.Never(tt.queue, tt.a, false); ok || s != want {
				t.Errorf("Never = %v, %v", s, ok)
			}
			if s := tree.Shortfalls(nil, tt.queue, tt.a, false); !slices.Equal(s, []quota.Shortfall{want}) {
				t.Errorf("Shortfalls = %v", s)
			}
			if got := tree.Availability(tt.queue, tt.a, false); got != quota.Never {
				t.Errorf("Availability = %v", got)
			}
		})
	}
	for _, a := range []quota.Amounts{{{0, -1}}, {{1, 1}, {0, 1}}} {
		if sum, err := good.AddScaled(a, 1); !errors.Is(err, quota.ErrMalformed) || !slices.Equal(sum, one(1)) {
			t.Errorf("adding %v: %v, %v", a, sum, err)
		}
	}
	if _, err := good.AddScaled(good, -1); !errors.Is(err, quota.ErrMalformed) {
		t.Errorf("taking away: %v", err)
	}
	// Its last entry would be moved past the front, were its order not checked.
	if _, err := (quota.Amounts{{1, 1}, {2, 1}, {9, 1}, {0, 1}}).AddScaled(quota.Amounts{{1, 1}, {2, 1}}, 1); !errors.Is(err, quota.ErrMalformed) {
		t.Errorf("adding to unsorted amounts: %v", err)
	}
}

func TestOutsideOfTheTree(t *testing.T) {
	var empty quota.Tree
	made := mustTree(t, quota.Config{Capacity: []int64{1}, Queues: flat(quota.Bounds{Quota: quota.Of(1), Lend: quota.Of(0)})}, nil)
	for _, tree := range []*quota.Tree{&empty, made} {
		for _, at := range [][2]int{{-1, 0}, {0, -1}, {1, 0}, {0, 1}, {5, 5}} {
			q, r := at[0], at[1]
			if tree.Quota(q, r) != quota.Infinite || tree.Limit(q, r) != quota.Infinite || tree.Ceiling(q, r) != quota.Infinite {
				t.Errorf("%v: bounded", at)
			}
			if tree.Use(q, r) != 0 || tree.NonPreemptible(q, r) != 0 || tree.Reserve(q, r) != 0 || tree.Figures(q, r) != (quota.Figures{}) {
				t.Errorf("%v: used", at)
			}
			if q != 0 && tree.Parent(q) != -1 || r != 0 && tree.Governed(r) {
				t.Errorf("%v: known", at)
			}
		}
	}
	if empty.Queues() != 0 || made.Queues() != 1 || made.Resources() != 1 || made.Parent(0) != -1 {
		t.Error("wrong counts")
	}
}

func TestNewRefuses(t *testing.T) {
	of := quota.Of
	bounds := func(b ...quota.Bounds) quota.Config { return quota.Config{Capacity: []int64{8}, Queues: flat(b...)} }
	parents := func(p ...int32) quota.Config {
		c := quota.Config{Capacity: []int64{8}}
		for _, p := range p {
			c.Queues = append(c.Queues, quota.Queue{Parent: p})
		}
		return c
	}
	half := of(quota.MaxSum/2 + 1)
	tests := []struct {
		reason string
		config quota.Config
		want   quota.Error
	}{
		{"unknown parent", parents(-1, 2), quota.Error{Err: quota.ErrParent, Queue: 1, Resource: -1, Value: 2}},
		{"parent below −1", parents(-2), quota.Error{Err: quota.ErrParent, Queue: 0, Resource: -1, Value: -2}},
		{"own parent", parents(-1, 1), quota.Error{Err: quota.ErrCycle, Queue: 1, Resource: -1}},
		{"cycle: its lowest queue, not one that hangs on it", parents(3, -1, 4, 2, 3), quota.Error{Err: quota.ErrCycle, Queue: 2, Resource: -1}},
		{"negative quota", bounds(quota.Bounds{Quota: of(-1)}), quota.Error{Err: quota.ErrNegative, Value: -1}},
		{"negative limit", bounds(quota.Bounds{Limit: of(-1)}), quota.Error{Err: quota.ErrNegative, Value: -1}},
		{"negative borrowing limit", bounds(quota.Bounds{}, quota.Bounds{Borrow: of(-1)}), quota.Error{Err: quota.ErrNegative, Queue: 1, Value: -1}},
		{"negative lending limit", bounds(quota.Bounds{Lend: of(-1)}), quota.Error{Err: quota.ErrNegative, Value: -1}},
		{"an amount that looks unlimited", bounds(quota.Bounds{Quota: of(quota.Infinite)}), quota.Error{Err: quota.ErrOverflow, Value: quota.Infinite}},
		{"siblings' quotas", bounds(quota.Bounds{Quota: half}, quota.Bounds{Quota: half}), quota.Error{Err: quota.ErrOverflow, Queue: -1}},
		{"siblings' quotas below one queue, also beside an unlimited one", quota.Config{Capacity: []int64{8}, Queues: []quota.Queue{
			{Parent: -1, Bounds: []quota.Bounds{{Quota: of(1)}}},
			{Parent: 0, Bounds: []quota.Bounds{{Quota: half}}}, {Parent: 0, Bounds: []quota.Bounds{{Quota: half}}},
			{Parent: 0, Bounds: []quota.Bounds{{Quota: quota.Unlimited()}}}}},
			quota.Error{Err: quota.ErrOverflow, Queue: 0}},
		{"capacity", quota.Config{Capacity: []int64{-quota.MaxSum - 1}}, quota.Error{Err: quota.ErrOverflow, Queue: -1, Value: -quota.MaxSum - 1}},
		{"kept of unlimited quotas", quota.Config{Capacity: []int64{quota.MaxSum}, Queues: flat(
			quota.Bounds{Quota: quota.Unlimited(), Lend: of(0)}, quota.Bounds{Quota: quota.Unlimited(), Lend: of(0)})},
			quota.Error{Err: quota.ErrOverflow, Queue: 0, Value: quota.MaxSum}},
		{"quota of a resource that has caps only", quota.Config{Capacity: []int64{8}, CapOnly: []bool{true}, Queues: flat(quota.Bounds{Quota: of(2)})},
			quota.Error{Err: quota.ErrCapOnly, Value: 2}},
		{"more bounds than resources", quota.Config{Queues: flat(quota.Bounds{})}, quota.Error{Err: quota.ErrMalformed, Queue: 0, Resource: 0}},
		{"more caps than resources", quota.Config{CapOnly: []bool{false}}, quota.Error{Err: quota.ErrMalformed, Queue: -1, Resource: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			tree, err := quota.New(tt.config)
			var typed *quota.Error
			if tree != nil || !errors.As(err, &typed) || *typed != tt.want || !errors.Is(err, tt.want.Err) {
				t.Fatalf("%v, want %v", err, &tt.want)
			}
		})
	}
}

// Any depth: no recursion, and charges reach the top.
func TestDeepTree(t *testing.T) {
	const depth = 100_000
	c := quota.Config{Capacity: []int64{9}, Queues: make([]quota.Queue, depth)}
	for q := range c.Queues {
		c.Queues[q].Parent = int32(q) + 1
	}
	c.Queues[depth-1].Parent = -1
	c.Queues[depth-1].Bounds = []quota.Bounds{{Limit: quota.Of(1)}}
	c.Queues[0].Bounds = []quota.Bounds{{Quota: quota.Of(2)}}
	tree := mustTree(t, c, starts{{0, one(1), normal}})
	if got := tree.Use(depth-1, 0); got != 1 {
		t.Errorf("use at the top %d", got)
	}
	if got := tree.Quota(depth-1, 0); got != 2 {
		t.Errorf("quota at the top %d", got)
	}
	want := quota.Shortfall{Kind: quota.OverLimit, Queue: depth - 1, Have: 0, Need: 1}
	if s, ok := tree.Check(0, one(1), normal); ok || s != want {
		t.Errorf("Check = %+v", s)
	}
}
