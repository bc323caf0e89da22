package explain

import "github.com/allotsched/allot/internal/prose"

// Object is a kind of thing in an [allot.State].
type Object uint8

// The objects, in the order in which alterations are told.
const (
	// ObjectState is the state itself: its Now and Revision.
	ObjectState Object = iota
	// ObjectNode is an [allot.Node], and so on.
	ObjectNode
	ObjectPool
	ObjectQueue
	ObjectWorkload
	ObjectBudget
	ObjectReservation
)

var objectNames = [...]string{
	ObjectState:    "state",
	ObjectNode:     "node",
	ObjectPool:     "pool",
	ObjectQueue:    "queue",
	ObjectWorkload: "workload",
	ObjectBudget:   "budget",

	ObjectReservation: "reservation",
}

// String is the object's text: "state", "node", "pool", "queue", "workload",
// "budget" or "reservation".
func (n Object) String() string { return prose.Name("Object", objectNames[:], n) }

// MarshalText is the text of String; an unknown value is an error.
func (n Object) MarshalText() ([]byte, error) { return prose.MarshalName("object", objectNames[:], n) }

// UnmarshalText takes exactly the texts that MarshalText gives.
func (n *Object) UnmarshalText(text []byte) error {
	return prose.UnmarshalName("object", objectNames[:], n, text)
}
