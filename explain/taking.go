package explain

import (
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/preempt"
)

// A Taking says why an action takes places from a workload that had them: from
// the right of the one that it is done for to the choice of this victim and no
// other. Text is [Taking.String].
type Taking struct {
	// Kind, Workload, Queue and Form are the action's, Tasks the number of its
	// tasks, Reason its reason, with rule, preemptor and ratios (X2).
	Kind     allot.ActionKind `json:"kind"`
	Workload string           `json:"workload"`
	Queue    string           `json:"queue,omitzero"`
	Form     int              `json:"form,omitzero"`
	Tasks    int              `json:"tasks"`
	Reason   allot.Reason     `json:"reason"`
	// Right are the preemptor's queues from its own up to its subtree (R1), each with
	// the resource that comes nearest to its entitlement. Priorities are what a
	// preemption goes by (E1). What only moves does so by no right against it, and
	// has neither (C1, M10). None of this is told of a stale gang, nor of a chain
	// (M9) that ends with another preemptor than it began.
	Right      []RightLevel `json:"right,omitempty"`
	Priorities *Priorities  `json:"priorities,omitempty"`
	// Nodes are the place that was cleared; none is anywhere (M3).
	Nodes []string `json:"nodes,omitempty"`
	// Candidates are in the order of M3 as things stood before anything went for
	// this preemptor: those that go in the same way, and of the others at most [MostTold]
	// before and after each. Others counts those that are not told, by fate; what is
	// preempted beside a reclaim (R11), or moves beside victims (M10), has a choice of its own.
	Candidates []Candidate         `json:"candidates,omitempty"`
	Others     []preempt.FateCount `json:"others,omitempty"`
}

// A RightLevel is a queue of the preemptor that stays within its entitlement with
// what is taken for it (R1).
type RightLevel struct {
	Queue    string `json:"queue"`
	Resource string `json:"resource"`
	// Class is that of which it is the quota, empty where it is of the resource in all (Q8).
	Class string `json:"class,omitzero"`
	// Use is that with the victims gone, Asks what the preemptor adds, Entitlement
	// what the queue may use by this right, [allot.MaxAmount] where that is unlimited.
	Use         int64 `json:"use"`
	Asks        int64 `json:"asks"`
	Entitlement int64 `json:"entitlement"`
	// Own: it is the preemptor's leaf, whose entitlement is R8's; of the others it is
	// quota or fair share.
	Own bool `json:"own,omitzero"`
}

// Priorities are those of a preemption, higher first.
type Priorities struct {
	Preemptor int32 `json:"preemptor"`
	Victim    int32 `json:"victim"`
}

// A Candidate is a unit that runs, and how it stood when victims were chosen: a
// workload's minimum, or what is above it.
type Candidate struct {
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Step is 0 for the minimum, n for the n-th step above it (M6).
	Step int `json:"step,omitzero"`
	// Fate is what became of it and why.
	Fate preempt.Fate `json:"fate"`
	// Class and Saturation are what a reclaim ranks by first (R3): the class of its
	// subtree and the queues below, and their use over fair share, from the subtree down.
	Class      preempt.Class      `json:"class,omitzero"`
	Saturation []QueueSaturation  `json:"saturation,omitempty"`
	Protection preempt.Protection `json:"protection,omitzero"`
	// Priority, Admitted and Submitted are its standing (R8).
	Priority  int32     `json:"priority,omitzero"`
	Admitted  time.Time `json:"admitted,omitzero"`
	Submitted time.Time `json:"submitted,omitzero"`
	// Holds is what it is charged.
	Holds []AskedAmount `json:"holds,omitempty"`
	// Until is when its minimum runtime ends, where that protects it; zero is
	// never (M1).
	Until time.Time `json:"until,omitzero"`
}

// A QueueSaturation is a queue's largest use over fair share (F9).
type QueueSaturation struct {
	Queue string          `json:"queue"`
	Ratio fairshare.Ratio `json:"ratio"`
}
