package fairshare_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// edges are the numbers at which arithmetic goes wrong.
var edges = []int64{math.MinInt64, -1, 0, 0, 1, 2, 1000, largest, math.MaxInt64 - 1, math.MaxInt64}

func pickEdge(pick picker) int64 { return edges[pick(0, int64(len(edges)-1))] }

// TestAnyInput: whatever the numbers, a division is an InputError or obeys the
// laws of F7 that hold for zero weights too; nothing panics.
func TestAnyInput(t *testing.T) {
	divided := 0
	forManyGroups(t, 50_000, func(pick picker) string {
		g := group{capacity: pickEdge(pick), options: fairshare.Options{Granule: pickEdge(pick)}}
		negative := g.options.Granule < 0
		for range pick(0, 4) {
			c := fairshare.Claim{Quota: pickEdge(pick), Requestable: pickEdge(pick), Weight: pickEdge(pick), Created: pickEdge(pick)}
			negative = negative || min(c.Quota, c.Requestable, c.Weight) < 0
			g.claims = append(g.claims, c)
		}
		_, err := fairshare.Divide(nil, g.capacity, g.claims, g.options)
		var input *fairshare.InputError
		switch {
		case errors.As(err, &input) != negative || (err != nil) != negative:
			return fmt.Sprintf("%v: %v", g, err)
		case negative:
			return ""
		}
		divided++
		for _, l := range []func(division, group, picker) string{lawAtMostRequestable, lawAtLeastQuota} {
			if violation := l(divide, g, pick); violation != "" {
				return violation
			}
		}
		for _, c := range g.claims {
			if c.Weight == 0 {
				return ""
			}
		}
		return lawSum(divide, g, pick) + lawTurnsFit(g, pick)
	})
	if divided < 5_000 {
		t.Errorf("only %d divisions", divided)
	}
}

// lawTurnsFit is lawTurns where a granule added to a share stays an int64.
func lawTurnsFit(g group, pick picker) string {
	if g.granule() > largest {
		return ""
	}
	return lawTurns(divide, g, pick)
}

// TestAnyTree is TestAnyInput for trees.
func TestAnyTree(t *testing.T) {
	divided := 0
	forManyGroups(t, 50_000, func(pick picker) string {
		c := fairshare.TreeConfig{Capacity: pickEdge(pick), Method: fairshare.Method(pick(0, 3)),
			Options: fairshare.Options{Granule: pickEdge(pick)}}
		edge := func() int64 { return max(-1, pickEdge(pick)) * min(1, pick(-1, 40)) }
		for range pick(0, 6) {
			q := fairshare.Queue{Parent: int32(pick(-1, 5)), Quota: max(0, edge()), Limit: max(0, edge()),
				Weight: max(0, edge()), Keep: max(0, edge()), Created: edge()}
			if pick(0, 1) == 0 {
				q.Parent = -1
				q.Demand = fairshare.Demand{Preemptible: edge(), NonPreemptible: edge(), RunningNonPreemptible: edge()}
			}
			c.Queues = append(c.Queues, q)
		}
		shares, err := fairshare.DivideTree(nil, c)
		if err != nil {
			var input *fairshare.InputError
			if !errors.As(err, &input) || shares != nil {
				return fmt.Sprintf("%+v: %v", c, err)
			}
			return ""
		}
		divided++
		for i, s := range shares {
			if s.QuotaPart < 0 || s.FairShare < s.QuotaPart || s.Requestable < s.FairShare || s.Demand < s.Requestable {
				return fmt.Sprintf("%+v: queue %d: %+v", c, i, s)
			}
		}
		return ""
	})
	if divided < 2_000 {
		t.Errorf("only %d divisions", divided)
	}
}
