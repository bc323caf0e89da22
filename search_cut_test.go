package allot

import (
	"fmt"
	"testing"
)

// M3: a search that ends at its budget is counted, also where it has found
// somebody who may go.
func TestM3CutSearchesAreCounted(t *testing.T) {
	for budget, cut := range map[int]bool{1: true, 1000: false} { // each is its own state
		s := &State{
			Pools:  []Pool{{ID: "p", Policy: Policy{SearchBudget: budget}}},
			Queues: []Queue{gpuQueue("a", "", 0), gpuQueue("b", "", 6)},
		}
		for n := range 4 {
			id := string(rune('m' + n))
			s.Nodes = append(s.Nodes, node(id, 2))
			for d := range 2 {
				s.Workloads = append(s.Workloads, single(fmt.Sprint("x", 2*n+d), "a", gpus(1), task(Running, 0, id, d)))
			}
		}
		s.Workloads = append(s.Workloads, single("y", "b", gpus(2)))
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Work.Cut > 0; got != cut || len(p.Actions) == 0 {
			t.Errorf("budget %d: %d searches cut, %d actions", budget, p.Work.Cut, len(p.Actions))
		}
	}
}
