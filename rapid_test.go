package allot

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/deep"
)

func TestMain(m *testing.M) { deep.Main(m) }

// DrawnStates are the states that the generators of this package draw of a
// seed, for package allot_test.
func DrawnStates(seed uint64) []*State {
	drawn := []*State{genDense(seed), genRoom(seed)}
	for _, name := range []string{"extreme", "small", "still"} {
		drawn = append(drawn, rapid.Custom(generators[name]).Example(int(seed)))
	}
	return drawn
}
