package quota_test

import (
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

// TestMain raises rapid's 100 cases: the trees are small and quick.
func TestMain(m *testing.M) { deep.Main(m, "rapid.checks=1000") }
