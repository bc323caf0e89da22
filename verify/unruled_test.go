package verify

import (
	"testing"

	"github.com/allotsched/allot"
)

// TestFiguresOfNothing: a row says nothing of what is neither given nor divided
// (Q6, Q8), and no figure is below 0.
func TestFiguresOfNothing(t *testing.T) {
	s := &allot.State{
		Nodes: []allot.Node{{ID: "n", Capacity: map[string]int64{"cpu": 4}}},
		Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{
			{Count: 1, Request: allot.Request{Resources: map[string]int64{"cpu": 1}}}}}},
	}
	for name, spoil := range map[string]func(row *allot.Share){
		"nothing": nil,
		"lent":    func(row *allot.Share) { row.Lent = 1 },
		"a class": func(row *allot.Share) {
			row.Class, row.Demand, row.Used, row.InQuota = "fast", 0, 0, 0
			row.Reachable, row.PoolTotal = 0, 0
		},
		"demand":     func(row *allot.Share) { row.Demand = -1 },
		"fair share": func(row *allot.Share) { row.FairShare = -1 },
	} {
		p, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if spoil != nil {
			spoil(&p.Shares[len(p.Shares)-1])
		}
		if err := Plan(s, p); (err == nil) != (spoil == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
