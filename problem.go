package allot

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"

	"github.com/allotsched/allot/fairshare"
)

// A nodeFacts is what a solve knows of a node beyond what its pool's index does.
type nodeFacts struct {
	// rank is where its ID stands among all.
	rank int32
	// class and models (by device) number names over all nodes; models is nil where
	// no queue bounds a class (Q8).
	class  int32
	models []int32
	// unhealthy are its devices that are.
	unhealthy uint64
	lost      bool
}

// A minRuntime is how long, in seconds, what runs of a queue is protected (M1).
type minRuntime struct{ preempt, reclaim quota.Bound }

// A boundClass is a resource that some queue bounds for one class (Q8): the plain
// resource and the number of the class.
type boundClass struct {
	plain, class int32
	// ofNodes and ofDevices are its numbers among the classes and the models in the
	// pool's index; none is that nothing there has it.
	ofNodes, ofDevices int32
}

// A policyKnobs is the part of a [Policy] that the solve reads; each knob has the
// meaning that it has there.
type policyKnobs struct {
	Order                     queue.Order
	Queueing                  queue.Queueing
	CPUOnlyApart              bool
	NonPreemptibleOverQuota   bool
	Shares                    fairshare.Method
	EqualSharesAtZeroWeight   bool
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
}
