package cluster

import (
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A Node is what a solve knows of a node beyond what its pool's index does.
type Node struct {
	// rank is where its ID stands among all.
	Rank int32
	// class and models (by device) number names over all nodes; models is nil where
	// no queue bounds a class (Q8).
	Class  int32
	Models []int32
	// unhealthy are its devices that are.
	Unhealthy uint64
	Lost      bool
}

// A MinRuntime is how long, in seconds, what runs of a queue is protected (M1).
type MinRuntime struct{ Preempt, Reclaim quota.Bound }

// A Queueing is what a workload of a queue that cannot start does to those behind it
// (O4): by the word of the pool, or by the queue's own, which is about itself only.
type Queueing struct {
	How queue.Queueing
	Own bool
}

// A BoundClass is a resource that some queue bounds for one class (Q8): the plain
// resource and the number of the class.
type BoundClass struct {
	Plain, Class int32
	// OfNodes and OfDevices are its numbers among the classes and the models in the
	// pool's index; none is that nothing there has it.
	OfNodes, OfDevices int32
}

// A Policy is the part of a [Policy] that the solve reads; each knob has the
// meaning that it has there.
type Policy struct {
	Order                     queue.Order
	Queueing                  queue.Queueing
	BlockAlikeOnly            bool
	CPUOnlyApart              bool
	NonPreemptibleOverQuota   bool
	Shares                    fairshare.Method
	EqualSharesAtZeroWeight   bool
	ScaleGuarantees           bool
	Fitting                   gang.Fitting
	LeastFreeDomainsFirst     bool
	ClaimLeaving              bool
	NoConsolidation           bool
	MaxMovedPercent           int64
	ConsolidateBeyondShare    bool
	MaxRelocations            quota.Bound
	Reclaim                   preempt.Reclaim
	ReclaimNonPreemptibleOnly bool
	ReclaimMarginMilli        int64
	Straddle                  preempt.Straddle
	Preempt                   preempt.Scope
	MaxEvictions              int
	SearchBudget              int
	MaxReplacedStarts         quota.Bound
	StaleGangGrace            quota.Bound
	CheckpointOnEviction      bool
	Reserve                   Reserve
	UsageStrengthMilli        int64
	DeadlinesFirst            bool
}
