package edits

import (
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/sim/scenario"
)

func cluster(t testing.TB) *allot.State {
	t.Helper()
	s, err := scenario.State("nodes n1..n2 gpu=4\nqueue a quota=4\nqueue b quota=4\nrun a/one gpu=4 on n1\nsubmit b/two gpu=3\n")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is said is what is otherwise, and nothing else.
func TestEdits(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"cordon n1", "node n1: cordoned no -> yes"},
		{"cordon n1\nuncordon n1\nlose n2 # gone", "node n2: lost no -> yes"},
		{"quota a=6", "queue a: gpu quota 4 -> 6"},
		{"quota a = 6 GPUs\nlimit a=8", "limit"},
		{"limit b=64 cores of cpu", "cpu limit"},
		{"end one", "workload one removed"},
		{"end a/one b/two", "workload two removed"},
		{"priority one=60", "priority"},
		{"queue two=a", "queue b -> a"},
		{"add 2 n1", "nodes n1-new-1, n1-new-2 added"},
		{"remove n2", "node n2"},
		{"submit 2 b 0.5", "workloads new-1, new-2 added"},
		{"-cordon n2", "node n2: cordoned no -> yes"},
	} {
		s := cluster(t)
		change, err := Parse(s, test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		c, err := explain.WhatIf(t.Context(), snapshot, change)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if !strings.Contains(c.String(), test.want) {
			t.Errorf("%q: without %q:\n%s", test.text, test.want, c)
		}
	}
}

// A mistyped ID is an error with the nearest names, and nonsense says what makes sense.
func TestRefused(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "there is no change"},
		{"# nothing", "there is no change"},
		{"cordon n3", `line 1: cordon: there is no node "n3"; there is n1, n2`},
		{"\nquota aa=3", `line 2: quota: there is no queue "aa"; there is a`},
		{"end on", `there is no workload "on"; there is a/one`},
		{"drain n1", `line 1: there is no change "drain"; there is add, cordon`},
		{"quota a", "takes a queue and an amount"},
		{"quota a=many", `"many"`},
		{"priority one=high", `"high" is no priority`},
		{"add 300 n1", `"300" is no number from 1 to 256`},
		{"add 200 n1\nadd 200 n1", "at most 256 things"},
		{"submit 2 c 1", `there is no queue "c"`},
		{"submit a 1.5", "more than one GPU is asked in whole ones"},
		{"remove n1\ncordon n1", `there is no node "n1"`},
		{strings.Repeat("cordon n1\n", 101), "100 changes at once"},
		{strings.Repeat("x", MaxText+1), "changes may have"},
	} {
		if _, err := Parse(cluster(t), test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: %v, want %q", test.text, err, test.want)
		}
	}
}

// FuzzParse: whatever is said is an error or a change that can be decided on or refused.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"add 2 n1\ncordon n1", "quota a=1=2", "submit 256 b 256", "remove n1\nadd n1\nend one one", "weight a=unlimited\nlimit a=0 of cpu"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := cluster(t)
		change, err := Parse(s, text)
		if err != nil {
			return
		}
		snapshot, err := allot.NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		if next, err := snapshot.With(change); err == nil {
			if _, err := next.Decide(); err != nil {
				t.Error(err)
			}
		}
	})
}
