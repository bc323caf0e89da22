package cluster

import (
	"testing"

	"github.com/allotsched/allot/internal/deep"
)

func TestMain(m *testing.M) { deep.Main(m) }
