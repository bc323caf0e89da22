package placement

import (
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

// TestMain raises rapid's defaults: what goes wrong does so in long histories.
func TestMain(m *testing.M) { deep.Main(m, "rapid.checks=500", "rapid.steps=80") }
