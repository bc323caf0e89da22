package explain_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
)

// TestFieldOfAResourceWithPoints: points and brackets in the name of a resource are
// no steps of the path to it.
func TestFieldOfAResourceWithPoints(t *testing.T) {
	nics := func(n int64) *allot.Snapshot {
		s, err := allot.NewSnapshot(&allot.State{Nodes: []allot.Node{{ID: "n", Capacity: map[string]int64{"example.com/nic[0]": n}}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := nics(4)
	c, err := explain.WhatIf(t.Context(), before, nics(5).Since(before))
	if err != nil {
		t.Fatal(err)
	}
	if text := c.String(); !strings.Contains(text, " capacity 4 -> 5\n") {
		t.Error(text)
	}
}

// TestWhatHelpsEnds: a context that has ended is the error also where nothing has
// to help.
func TestWhatHelpsEnds(t *testing.T) {
	s, err := allot.NewSnapshot(&allot.State{
		Nodes:     []allot.Node{{ID: "n"}},
		Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 1}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if help, err := explain.WhatHelps(ctx, d, "w", explain.HelpSearch{}); !errors.Is(err, context.Canceled) {
		t.Errorf("help %v, error %v", help, err)
	}
}
