package gang

import "testing"

// T2: who is given a task leaves the domains that have too few theirs.
func TestParting(t *testing.T) {
	p := &parting{of: map[int32]int32{0: 0, 1: 0, 2: 1}, given: make([]int32, 2), least: 1, most: 9, missing: 2, left: 4}
	for step, want := range [][3]bool{{true, true, true}, {true, true, true}, {true, true, true}, {false, false, true}} {
		for node := range int32(3) {
			if p.open(node) != want[node] {
				t.Errorf("after %d tasks node %d is open: %v", step, node, !want[node])
			}
		}
		p.give(int32(step%2), 1)
	}
	if p.give(0, -1); !p.open(2) || p.open(0) || p.missing != 1 || p.left != 1 {
		t.Errorf("a task that is taken back counts: %+v", p)
	}
	none := (*parting)(nil)
	if none.give(5, 1); !none.open(5) {
		t.Error("nothing is bounded where nothing is to be parted")
	}
}
