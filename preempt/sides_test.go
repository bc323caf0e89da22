package preempt

import "testing"

// TestSidesRunOut: once the last side has nobody left who may go, there is nobody (R9).
func TestSidesRunOut(t *testing.T) {
	h := sides{some: true, first: []int32{0}, from: []int32{0, 0}, heap: []int32{0}, keys: make([]sideKey, 1)}
	for range 2 {
		if got := h.best(&picker{}); got != -1 {
			t.Fatalf("the next of nobody is group %d", got)
		}
	}
}
