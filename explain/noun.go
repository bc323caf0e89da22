package explain

import "github.com/allotsched/allot/internal/prose"

// Noun is a kind of thing in a [allot.State].
type Noun uint8

// The nouns, in the order in which alterations are told.
const (
	// TheState is the state itself: its Now and Revision.
	TheState Noun = iota
	// ANode is a [allot.Node], and so on.
	ANode
	APool
	AQueue
	AWorkload
	ABudget
)

var nounNames = [...]string{
	TheState:  "state",
	ANode:     "node",
	APool:     "pool",
	AQueue:    "queue",
	AWorkload: "workload",
	ABudget:   "budget",
}

// String is the noun's text: "state", "node", "pool", "queue", "workload" or
// "budget".
func (n Noun) String() string { return prose.Name("Noun", nounNames[:], n) }

// MarshalText is the text of String; an unknown value is an error.
func (n Noun) MarshalText() ([]byte, error) { return prose.MarshalName("noun", nounNames[:], n) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (n *Noun) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("noun", nounNames[:], n, text)
}
