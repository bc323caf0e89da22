package allot_test

import (
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// What becomes of one node concerns others: the pools that it is in, the queues
// that name it, the memory by which requests are charged. With says of it what
// Check says of all.
func TestWithChecksNodesForOthers(t *testing.T) {
	zone := func(name string) allot.NodeSet {
		return allot.NodeSet{Selector: &placement.Selector{Labels: map[string]string{"zone": name}}}
	}
	node := func(id, zone string, memory int64) allot.Node {
		return allot.Node{ID: id, Labels: map[string]string{"zone": zone}, Devices: []allot.Device{{Memory: memory}}}
	}
	snapshot := mustSnapshot(t, &allot.State{
		Nodes:  []allot.Node{node("a0", "a", 80), node("a1", "a", 40), node("b0", "b", 80), node("c0", "c", 80)},
		Pools:  []allot.Pool{{ID: "pa", Nodes: zone("a")}, {ID: "pb", Nodes: allot.NodeSet{IDs: []string{"b0", "c0"}}}},
		Queues: []allot.Queue{{ID: "qa", Pool: "pa"}, {ID: "qb", Pool: "pb", Nodes: allot.NodeSet{IDs: []string{"b0"}}}},
		// Memory is charged as a part of the smallest device of the pool, that of a1.
		Workloads: []allot.Workload{{ID: "w", Queue: "qa", PodSets: []allot.PodSet{{
			Count: 1, Request: allot.Request{GPU: allot.GPURequest{Memory: 30}},
		}}}},
	})
	for _, row := range []struct {
		name   string
		change allot.Change
		code   allot.FaultCode // 0: it makes sense
	}{
		{"from no pool into one", allot.Change{Nodes: []allot.Node{node("d0", "a", 80)}}, 0},
		{"out of a pool", allot.Change{Nodes: []allot.Node{node("a0", "d", 80)}}, 0},
		{"into two pools", allot.Change{Nodes: []allot.Node{node("c0", "a", 80)}}, allot.FaultNodeInTwoPools},
		{"named by a pool and gone", allot.Change{Remove: allot.Removal{Nodes: []string{"c0"}}}, allot.FaultUnknownNode},
		{"named by a queue and gone", allot.Change{Remove: allot.Removal{Nodes: []string{"b0"}}}, allot.FaultUnknownNode},
		{"named by nobody and gone", allot.Change{Remove: allot.Removal{Nodes: []string{"a0"}}}, 0},
		{"the least memory gone", allot.Change{Remove: allot.Removal{Nodes: []string{"a1"}}}, 0},
		{"less memory than any", allot.Change{Nodes: []allot.Node{node("a0", "a", 20)}}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			after := snapshot.State()
			for _, n := range row.change.Nodes {
				after.Nodes = append(dropped(after.Nodes, n.ID), n)
			}
			for _, id := range row.change.Remove.Nodes {
				after.Nodes = dropped(after.Nodes, id)
			}
			wrong := allot.Check(byIDs(after))
			next, err := snapshot.With(row.change)
			if faultLines(err) != faultLines(wrong) || (row.code == 0) != (err == nil) {
				t.Fatalf("%v\nnot\n%v", err, wrong)
			}
			if err == nil {
				if err := sameDecision(next); err != nil {
					t.Error(err)
				}
				// The next version rests on what is kept of this one.
				mustWith(t, next, allot.Change{Workloads: snapshot.State().Workloads})
			}
		})
	}
}

func dropped(nodes []allot.Node, id string) (rest []allot.Node) {
	for _, n := range nodes {
		if n.ID != id {
			rest = append(rest, n)
		}
	}
	return rest
}
