package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// otherStory is storyPlan as another state would have it: something of every
// heading is otherwise.
func otherStory() *allot.Plan {
	p := storyPlan()
	action := func(id string) *allot.Action {
		return &p.Actions[slices.IndexFunc(p.Actions, func(a allot.Action) bool { return a.Workload == id })]
	}
	drop := func(id string) {
		p.Actions = slices.DeleteFunc(p.Actions, func(a allot.Action) bool { return a.Workload == id })
	}
	action("q1/wf3").Tasks[0].Node = "n3"                                 // displaced otherwise
	action("wf4").Reason = allot.Reason{Code: allot.ClaimBroken, Form: 1} // gives up a claim otherwise
	drop("q2/wf5")                                                        // started before, waits
	drop("train")                                                         // starts no longer
	action("q1/wf6").Ending = allot.Ending{}                              // evicted otherwise
	drop("q1/wf7")                                                        // no longer evicted
	action("el").Tasks = action("el").Tasks[:1]                           // shrinks otherwise
	drop("q1/wf10")                                                       // moves no longer
	action("q1/wf11").Tasks[2].Devices = []int{7}                         // moves otherwise
	action("q1/wf9").After = nil                                          // starts after others
	action("cpu").Tasks = action("cpu").Tasks[:2]                         // grows otherwise
	p.Actions = append(p.Actions,
		allot.Action{Kind: allot.Start, Workload: "wf7", Queue: "q1", Form: 1, Tasks: []allot.Placement{{Node: "n1", Devices: []int{4}}}}, // starts
		allot.Action{Kind: allot.Evict, Workload: "a", Queue: "q1", Tasks: []allot.Placement{{PodSet: "leader", Node: "n0"}, {PodSet: "workers", Node: "n1", Devices: []int{0}}},
			Reason: allot.Reason{Code: allot.Preempted, Workload: "wf7"}},
		allot.Action{Kind: allot.Displace, Workload: "b", Tasks: []allot.Placement{{Node: "n9", Devices: []int{1}}}, Reason: allot.Reason{Code: allot.NodeLost, Node: "n9"}},
		allot.Action{Kind: allot.Start, Workload: "b", Tasks: []allot.Placement{{Node: "n8", Devices: []int{1}}}},
		allot.Action{Kind: allot.Move, Workload: "c", From: []allot.Placement{{Node: "n9"}}, Tasks: []allot.Placement{{Node: "n8"}}, Reason: allot.Reason{Code: allot.Consolidated, Workload: "wf7"}},
		allot.Action{Kind: allot.Resize, Workload: "d", Tasks: []allot.Placement{{Node: "n1"}}, Reason: allot.Reason{Code: allot.Grown}},
		allot.Action{Kind: allot.Shrink, Workload: "e", Tasks: []allot.Placement{{Node: "n1"}}, Reason: allot.Reason{Code: allot.Preempted, Workload: "wf7"}},
		allot.Action{Kind: allot.Unclaim, Workload: "h", Tasks: []allot.Placement{{PodSet: "w", Node: "n1"}, {PodSet: "w", Index: 1, Node: "n1"}}, Reason: allot.Reason{Code: allot.ClaimBroken}},
		allot.Action{Kind: allot.Unclaim, Workload: "f", Tasks: []allot.Placement{{Node: "n1"}}, Reason: allot.Reason{Code: allot.PlaceLost, Node: "n1"}})
	p.Pending = []allot.Pending{
		{Workload: "f", Reasons: []allot.Reason{{Code: allot.NoCapacity, Resource: allot.GPU, Need: 1000}}},
		{Workload: "g", Queue: "q1", Reasons: []allot.Reason{{Code: allot.VictimsShort}, {Code: allot.Outranked, Workload: "h"}, {Code: allot.SearchCut, Need: 9}}},
		{Workload: "q2/wf5", Queue: "q2", Reasons: []allot.Reason{{Code: allot.MaxWorkloads, Queue: "q2", Have: 3, Need: 3}}},
	}
	p.Shares[0].Used, p.Shares[0].FairShare, p.Shares[0].Divided = 2500, 6000, true
	p.Shares[1] = allot.Share{Pool: "p", Queue: "q3", Resource: allot.GPU, Limit: quota.Of(4000), Used: 500}
	p.Warnings = []allot.Fault{{Path: `queues["q3"].resources["gpu"].weight`, Code: allot.WarnWeightUnused, Value: "3", Want: "says nothing"}}
	return p
}

// X4: the text of a difference is golden, in both directions, and has every
// heading.
func TestDifferenceText(t *testing.T) {
	a, b := storyPlan(), otherStory()
	more := &allot.Plan{Pending: []allot.Pending{
		{Workload: "g", Queue: "q1", Reasons: []allot.Reason{{Code: allot.VictimsShort}, {Code: allot.Outranked, Workload: "i"}, {Code: allot.SearchCut, Need: 9}}},
		{Workload: "turned", Reasons: []allot.Reason{{Code: allot.VictimsShort}, {Code: allot.Outranked, Workload: "i"}}},
		{Workload: "lifted", Queue: "q2", Reasons: []allot.Reason{{Code: allot.VictimsShort}}},
	}}
	more.Actions = []allot.Action{{Kind: allot.Start, Workload: "there", Tasks: []allot.Placement{{Node: "n2"}}}}
	less := &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: "there", Tasks: []allot.Placement{{Node: "n1"}}}, {Kind: 99, Workload: "odd"}}, Pending: []allot.Pending{
		{Workload: "g", Queue: "q1", Reasons: b.Pending[1].Reasons},
		{Workload: "turned", Reasons: []allot.Reason{{Code: allot.Outranked, Workload: "i"}, {Code: allot.VictimsShort}}},
		{Workload: "lifted", Reasons: []allot.Reason{{Code: allot.VictimsShort}}},
	}}
	text := Diff(a, b).String() + "\nThe other way:\n" + Diff(b, a).String() + "\nSmall things:\n" + Diff(less, more).String()
	golden(t, "difference.golden", text)
	for _, h := range headings {
		if !strings.Contains(text, " "+h.one+":\n") && !strings.Contains(text, " "+h.many+":\n") {
			t.Errorf("nothing %s", h.one)
		}
	}
	if got := Diff(nil, new(allot.Plan)).String(); got != "No difference.\n" {
		t.Errorf("no difference is %q", got)
	}
	if err := Diff(a, b).WriteText(brokenPipe{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	odd := &allot.Plan{Actions: []allot.Action{{Kind: 99, Workload: "w"}, {Kind: allot.Move, Workload: "v"}}}
	if got := Diff(nil, odd).String(); got != "1 workload moves now:\n  v: moves nothing\n1 workload is told of otherwise:\n  w:\n" {
		t.Errorf("odd actions are %q", got)
	}
}

// Every field of Difference and Consequences has its place in the form; documents of
// version 1 are read as the same values.
func TestDifferenceJSONHasEveryField(t *testing.T) {
	c := new(Consequences)
	fill(t, reflect.ValueOf(c).Elem(), "Consequences")
	everyField(t, "every-field-consequences.json", c, new(Consequences))
	everyField(t, "every-field-difference.json", &c.Difference, new(Difference))
	readAs(t, "every-field-consequences-version-1.json", c, new(Consequences))
	readAs(t, "every-field-difference-version-1.json", &c.Difference, new(Difference))
	for _, v := range []json.Unmarshaler{c, &c.Difference} {
		before := string(must(json.Marshal(v)))
		err := v.UnmarshalJSON([]byte(`{"version":1,"workloads":[{"before":{"fate":"glad"}}]}`))
		if got := new(allot.InvalidError); !errors.As(err, &got) {
			t.Errorf("%T: got %v", v, err)
		}
		if after := string(must(json.Marshal(v))); after != before {
			t.Errorf("%T: an error changed it", v)
		}
	}
	for f := range fateNames {
		var back Fate
		if text, err := Fate(f).MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != Fate(f) {
			t.Errorf("%d is %q, %v", f, text, err)
		}
	}
	for n := range objectNames {
		var back Object
		if text, err := Object(n).MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != Object(n) {
			t.Errorf("%d is %q, %v", n, text, err)
		}
	}
	if got := Fate(200).String() + Object(200).String(); got != "Fate(200)Object(200)" {
		t.Error(got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A saying is what a plan says of a workload, found in the plainest way.
type saying struct{ Actions, Reasons string }

func sayings(p *allot.Plan) map[string]saying {
	all := make(map[string]saying)
	for _, a := range p.Actions {
		s := all[a.Workload]
		s.Actions += string(must(json.Marshal(allot.Plan{Actions: []allot.Action{a}})))
		all[a.Workload] = s
	}
	for _, w := range p.Pending {
		s := all[w.Workload]
		s.Reasons = string(must(json.Marshal(allot.Plan{Pending: []allot.Pending{w}})))
		all[w.Workload] = s
	}
	return all
}

// checkDiff holds a difference to its laws: it tells all that is otherwise and
// nothing else, in order, the one way as the other, and comes back from JSON.
func checkDiff(t fataler, a, b *allot.Plan) *Difference {
	d := Diff(a, b)
	before, after := sayings(a), sayings(b)
	told := make(map[string]bool)
	for i, w := range d.Workloads {
		told[w.Workload] = true
		if i > 0 && d.Workloads[i-1].Workload >= w.Workload {
			t.Fatalf("%s stands after %s", w.Workload, d.Workloads[i-1].Workload)
		}
		for _, side := range []struct {
			o    Outcome
			want saying
		}{{w.Before, before[w.Workload]}, {w.After, after[w.Workload]}} {
			p := allot.Plan{Actions: side.o.Actions}
			if len(side.o.Reasons) > 0 {
				p.Pending = []allot.Pending{{Workload: w.Workload, Queue: side.o.Queue, Reasons: side.o.Reasons}}
			}
			if got := sayings(&p)[w.Workload]; got != side.want {
				t.Fatalf("of %s it has %v, and the plan %v", w.Workload, got, side.want)
			}
		}
	}
	for id, s := range before { // each by itself: order cannot matter
		if (s != after[id]) != told[id] {
			t.Fatalf("of %s the plans say\n%v\n%v\nwhich is told: %t", id, s, after[id], told[id])
		}
	}
	for id := range after { // each by itself: order cannot matter
		if _, known := before[id]; !known && !told[id] {
			t.Fatalf("nothing is told of %s", id)
		}
	}
	checkFigures(t, d, a, b)
	if mirror := mirrored(d); !reflect.DeepEqual(Diff(b, a), mirror) {
		t.Fatalf("the mirror: %s", cmp.Diff(mirror, Diff(b, a), exact))
	}
	if !Diff(a, a).IsZero() || !Diff(b, b).IsZero() || d.IsZero() != (len(told)+len(d.Shares)+len(d.WarningsBefore)+len(d.WarningsAfter) == 0) {
		t.Fatalf("zero where it is not, or not where it is")
	}
	var back Difference
	data, err := json.Marshal(d)
	if err != nil || back.UnmarshalJSON(data) != nil || back.String() != d.String() || !bytes.Equal(must(json.Marshal(back)), data) {
		t.Fatalf("it does not come back from JSON: %v\n%s", err, data)
	}
	return d
}

// checkFigures: applied to the figures and warnings of the one plan the
// difference gives those of the other.
func checkFigures(t fataler, d *Difference, a, b *allot.Plan) {
	type place struct{ pool, queue, resource, class string }
	figures := make(map[place]allot.Share)
	for _, s := range a.Shares {
		figures[place{s.Pool, s.Queue, s.Resource, s.Class}] = s
	}
	for _, s := range d.Shares {
		at := place{s.Pool, s.Queue, s.Resource, s.Class}
		if had, ok := figures[at]; ok != (s.Before != nil) || ok && had != *s.Before || s.Before != nil && s.After != nil && *s.Before == *s.After {
			t.Fatalf("of %v it has %v", at, s)
		}
		if delete(figures, at); s.After != nil {
			figures[at] = *s.After
		}
	}
	if len(figures) != len(b.Shares) {
		t.Fatalf("%d figures and not %d", len(figures), len(b.Shares))
	}
	for _, s := range b.Shares {
		if figures[place{s.Pool, s.Queue, s.Resource, s.Class}] != s {
			t.Fatalf("figures %v are not told", s)
		}
	}
	left := slices.Concat(a.Warnings, d.WarningsAfter)
	for _, f := range d.WarningsBefore {
		i := slices.Index(left, f)
		if i < 0 {
			t.Fatalf("warning %v was not there", f)
		}
		left = slices.Delete(left, i, i+1)
	}
	slices.SortFunc(left, func(a, b allot.Fault) int { return compareFaults(&a, &b) })
	if !slices.Equal(left, b.Warnings) {
		t.Fatalf("warnings\n%v\nnot\n%v", left, b.Warnings)
	}
}

// mirrored is the difference the other way.
func mirrored(d *Difference) *Difference {
	m := &Difference{WarningsBefore: d.WarningsAfter, WarningsAfter: d.WarningsBefore}
	for _, w := range d.Workloads {
		w.Before, w.After = w.After, w.Before
		m.Workloads = append(m.Workloads, w)
	}
	for _, s := range d.Shares {
		s.Before, s.After = s.After, s.Before
		m.Shares = append(m.Shares, s)
	}
	return m
}

// X4: the difference of any two plans tells all that is otherwise and nothing
// else; of a plan and itself it is zero; both ways it is the same.
func TestDiffLaws(t *testing.T) {
	checkDiff(t, storyPlan(), otherStory())
	rapid.Check(t, func(t *rapid.T) {
		a, err := allot.Solve(genState(t))
		if err != nil {
			t.Fatal(err)
		}
		b, err := allot.Solve(genState(t))
		if err != nil {
			t.Fatal(err)
		}
		checkDiff(t, a, b)
		if d := Diff(a, backFromJSON(t, a)); !d.IsZero() {
			t.Fatalf("after JSON:\n%s", d.String())
		}
	})
}

func backFromJSON(t fataler, p *allot.Plan) *allot.Plan {
	var back allot.Plan
	data, err := json.Marshal(p)
	if err == nil {
		err = back.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return &back
}

// The one of several fates that is told is the most telling.
func TestFates(t *testing.T) {
	for _, row := range []struct {
		kinds   []allot.ActionKind
		reasons int
		want    Fate
	}{
		{nil, 0, Untouched}, {nil, 1, Waits},
		{[]allot.ActionKind{allot.Start}, 0, Starts}, {[]allot.ActionKind{allot.Start}, 1, Starts},
		{[]allot.ActionKind{allot.Evict}, 1, Evicted}, {[]allot.ActionKind{allot.Displace, allot.Start}, 0, Displaced},
		{[]allot.ActionKind{allot.Displace, allot.Evict}, 1, Evicted}, {[]allot.ActionKind{allot.Unclaim}, 1, Waits},
		{[]allot.ActionKind{allot.Unclaim, allot.Start}, 0, Starts}, {[]allot.ActionKind{allot.Unclaim}, 0, Unclaims},
		{[]allot.ActionKind{allot.Resize, allot.Move}, 0, Moves}, {[]allot.ActionKind{allot.Move, allot.Shrink}, 0, Shrinks}, {[]allot.ActionKind{allot.Resize}, 0, Grows},
	} {
		p := &allot.Plan{}
		for _, k := range row.kinds {
			p.Actions = append(p.Actions, allot.Action{Kind: k, Workload: "w"})
		}
		if row.reasons > 0 {
			p.Pending = []allot.Pending{{Workload: "w", Reasons: make([]allot.Reason, row.reasons)}}
		}
		got := Untouched
		if d := Diff(nil, p); len(d.Workloads) > 0 {
			got = d.Workloads[0].After.Fate
		}
		if got != row.want {
			t.Errorf("%v with %d reasons: %v, want %v", row.kinds, row.reasons, got, row.want)
		}
	}
}

// Instants and empty lists are compared by what they mean.
func TestAlike(t *testing.T) {
	reasons := func(until time.Time, nodes []allot.PredicateCount) *allot.Plan {
		return &allot.Plan{Pending: []allot.Pending{{Workload: "w", Reasons: []allot.Reason{{Code: allot.ProtectedUntil, Until: until, Nodes: nodes}}}}}
	}
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	plan := reasons(at, nil)
	if d := Diff(plan, reasons(at.In(time.FixedZone("", 3600)), []allot.PredicateCount{})); !d.IsZero() {
		t.Error(d.String())
	}
	if d := Diff(plan, reasons(at.Add(time.Second), nil)); d.IsZero() {
		t.Error("a second makes no difference")
	}
	if x, y := (map[string]quota.Bound{"a": quota.Of(0)}), (map[string]quota.Bound{"a": {}}); alike(reflect.ValueOf(x), reflect.ValueOf(y)) {
		t.Error("an absent bound is none of 0")
	}
}
