package explain

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// crowded has a workload that nodes are too few for, and one whose queue is full behind
// others that wait.
const crowded = `nodes n0,n1 gpu=4
queue a quota=4
queue b quota=4
run b/x gpu=4 on n0
run b/y gpu=2 on n1
submit a/first non-preemptible gpu=4
submit a/w non-preemptible gpu=2
`

// TestHelpOfFew: with few decisions those kinds go first that are likely, every one that is
// told helps, and what was not looked at is named.
func TestHelpOfFew(t *testing.T) {
	s, err := scenario.State(crowded)
	if err != nil {
		t.Fatal(err)
	}
	d := decide(t, s)
	all, err := WhatHelps(t.Context(), d, "w", HelpSearch{})
	if err != nil || all.Cut || len(all.Unlooked) > 0 || len(all.Remedies) == 0 {
		t.Fatalf("%v: %s", err, all)
	}
	few, err := WhatHelps(t.Context(), d, "w", HelpSearch{Solves: fewSolves - 1})
	if err != nil || few.Cut || !reflect.DeepEqual(few.Remedies, all.Remedies) {
		t.Fatalf("%v: of many alike\n%s\nof fewer\n%s", err, all, few)
	}
	// What a kind leaves over goes to those that need more: as many as it takes are enough.
	if just, err := WhatHelps(t.Context(), d, "w", HelpSearch{Solves: few.Solves}); err != nil || !reflect.DeepEqual(just, few) {
		t.Fatalf("%v: of %d\n%s", err, few.Solves, just)
	}
	for solves := 1; solves < few.Solves; solves++ {
		h, err := WhatHelps(t.Context(), d, "w", HelpSearch{Solves: solves})
		if err != nil {
			t.Fatal(err)
		}
		if h.Solves > solves || !h.Cut || len(h.Unlooked) == 0 || !slices.IsSorted(h.Unlooked) {
			t.Errorf("of %d: %d solves, cut %v, not looked at %v", solves, h.Solves, h.Cut, h.Unlooked)
		}
		for i := range h.Remedies {
			next, err := d.Snapshot().With(h.Remedies[i].Change)
			if err != nil {
				t.Fatal(err)
			}
			if after, err := next.Decide(); err != nil || !hasAction(after, allot.Start, "w") {
				t.Errorf("of %d: %s does not start it, %v", solves, h.Remedies[i], err)
			}
		}
	}
}

// TestHelpEnded: when the context ends, what was found by then is there.
func TestHelpEnded(t *testing.T) {
	s, err := scenario.State(crowded)
	if err != nil {
		t.Fatal(err)
	}
	d := decide(t, s)
	all, err := WhatHelps(t.Context(), d, "w", HelpSearch{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for after := range 400 {
		h, err := WhatHelps(&ending{t.Context(), after}, d, "w", HelpSearch{})
		if err == nil {
			if !found || h.String() != all.String() {
				t.Errorf("in the end it is\n%s", h)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || h != nil && (!h.Cut || len(h.Unlooked) == 0) {
			t.Fatalf("after %d: %v, %+v", after, err, h)
		}
		found = found || h != nil && len(h.Remedies) > 0
	}
	t.Error("it never ends")
}

// An ending context ends after it has been asked so often.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}
