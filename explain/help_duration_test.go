package explain

import (
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// B5, X3: whoever would end too late to pass what is promised to another is told how long it may take at most, by what its
// pool goes by, and whoever has not said it too. It starts when it says so, and a second more is too much.
func TestShorterDuration(t *testing.T) {
	for _, c := range []struct{ name, policy, work, want string }{
		{"by limits", "", "for=1h limit=12h", "say that it takes 6h0m0s at most instead of 12h0m0s"},
		{"unknown", "", "for=1h", "say that it takes 6h0m0s at most"},
		{"by durations", "reserve.trust-durations", "for=12h", "say that it takes 6h0m0s at most instead of 12h0m0s"},
		{"by durations, and with a limit", "reserve.trust-durations", "for=7h limit=12h", "say that it takes 6h0m0s at most instead of 7h0m0s"},
		{"with a least duration", "", "for=12h limit=12h least=8h", "say that it takes 6h0m0s at most instead of 8h0m0s"},
		{"for thousands of years", "", "limit=60000000h", "say that it takes 6h0m0s at most instead of 60000000h0m0s"},
		{"of fixed work", "", "work=12h", ""},
	} {
		s, err := scenario.State("policy reserve.backfill=easy " + c.policy + `
nodes n1..n2 gpu=1
run a gpu=1 for=10h limit=10h at=0h since=0h non-preemptible on n1
submit g tasks=2 gpu=1 for=5h limit=5h at=1h
submit w gpu=1 at=2h ` + c.work + `
now 4h
`)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		h, err := WhatHelps(t.Context(), decide(t, s), "w", HelpSearch{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range h.Remedies {
			if r := &h.Remedies[i]; r.Kind == ShorterDuration {
				got = r.text()
				longestStarts(t, s, r)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q\n%s", c.name, got, c.want, h)
		}
	}
}

// longestStarts: the workload of a remedy starts as it tells, and with a second more does not.
func longestStarts(t *testing.T, s *allot.State, r *Remedy) {
	t.Helper()
	for _, more := range []int64{0, 1} {
		changed := copyOf(&r.Change)
		w := &changed.Workloads[0]
		for _, b := range []*quota.Bound{&w.Duration, &w.TimeLimit} {
			if b.Given() {
				*b = quota.Of(b.Amount() + more)
			}
		}
		if w.MinDuration > 0 {
			w.MinDuration += more
		}
		base, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		next, err := base.With(changed)
		if err != nil {
			t.Fatal(err)
		}
		d, err := next.Decide()
		if err != nil {
			t.Fatal(err)
		}
		if starts := slices.ContainsFunc(d.Actions(), func(a allot.Action) bool { return a.Kind == allot.Start && a.Workload == w.ID }); starts != (more == 0) {
			t.Errorf("%s: with %d seconds more: starts is %v", r, more, starts)
		}
	}
}
