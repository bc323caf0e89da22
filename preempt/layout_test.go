package preempt

import (
	"testing"
	"unsafe"
)

// TestUnitState: what is asked of many units for one that is taken is read at once.
func TestUnitState(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(unitState{}); size != line {
		t.Errorf("a unitState has %d bytes, want %d", size, line)
	}
}
