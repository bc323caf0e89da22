package allot

import "github.com/allotsched/allot/gang"

// NodeLevel is the name of the narrowest level: every node is a domain of it. It
// is always there and listed nowhere.
const NodeLevel = "node"

// A Level is a named level of the cluster's topology (T1).
type Level struct {
	// Name is unique among the levels, not empty and not [NodeLevel].
	Name string `json:"name"`
}

// A Topology says how near to each other tasks run (T2, T3). The zero Topology
// lets them run anywhere. Levels are named as in [State.Levels], or [NodeLevel].
//
// What runs counts: tasks that start later, or again, join those that run or are
// claimed, in the domain in which those are (T6).
type Topology struct {
	// Required is the level of which one domain holds all tasks; empty asks for
	// no common domain.
	Required string `json:"required,omitzero"`
	// Preferred is the level of which one domain should hold all tasks, no
	// wider than Required. If none can, the next wider level is tried, up to
	// Required or the whole cluster; inside the domain that is found Mode says
	// how the tasks use the domains of this level. Empty is Required.
	Preferred string `json:"preferred,omitzero"`
	// Mode is how tasks are parted among the domains of the preferred level; zero
	// packs them into the fewest.
	Mode gang.Mode `json:"mode,omitzero"`
	// Slices are of a pod set only, the widest first: of every Size consecutive
	// tasks all run in one domain of Level. Each Level is no wider than the
	// preferred and narrower than the one before; each Size divides the one
	// before, the first divides Count and Min.
	Slices []Slice `json:"slices,omitempty"`
}

// A Slice is a number of consecutive tasks that share a domain (T3).
type Slice struct {
	// Size is how many tasks; it must be positive.
	Size int `json:"size"`
	// Level is the level of the domain that they share.
	Level string `json:"level"`
}

// A Link is how many NVLinks join two devices of a node. It overrides what the
// node's Hardware says of them: 0 is a pair whose links are down.
type Link struct {
	// A and B are indices of two different devices; each pair is named once.
	A int `json:"a"`
	B int `json:"b"`
	// NVLinks is the number of links, 0 to [placement.MaxNVLinks].
	NVLinks int `json:"nvlinks,omitzero"`
}
