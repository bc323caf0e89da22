package preempt

import (
	"testing"
	"unsafe"
)

// TestUnitState: what is asked of many units for one that is taken is read at once.
func TestUnitState(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(unitState{}); size > line { // less where words have 32 bits
		t.Errorf("a unitState has %d bytes, want at most %d", size, line)
	}
}
