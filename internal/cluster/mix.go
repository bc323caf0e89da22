package cluster

import "github.com/allotsched/allot/placement"

// A MixSource says of which tasks of a pool the target mix is made (P4).
type MixSource uint8

const (
	// MixBoth: all tasks that were submitted.
	MixBoth MixSource = iota
	// MixPending: those that hold no place.
	MixPending
	// MixRunning: those that hold one.
	MixRunning
	// MixGiven: none, but what the policy gives.
	MixGiven
)

// A Mix is what the target mix of a pool is made of (P4).
type Mix struct {
	From MixSource
	// coverage is how much of the tasks it covers at least, in percent.
	Coverage int64
	// targets are all its shapes, with the weights that the policy gives; shapes are
	// by definition those of its pod sets.
	Targets []placement.Target
	Shapes  [][]int32
}

// Knows says whether the shapes of a definition are in the mix.
func (m *Mix) Knows(definition int32) bool {
	return int(definition) < len(m.Shapes) && m.Shapes[definition] != nil
}
