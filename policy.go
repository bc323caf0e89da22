package allot

import (
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// A Policy says how one pool is scheduled: a struct of orthogonal knobs, each
// with a zero value that is the sensible thing. The five published schedulers
// are values of it: [OSMO], [RunAI], [RunAI20], [DeterminedFairShare] and
// [DeterminedPriority]. Any mixture is legal unless [Check] says why not.
//
// # The presets
//
// These knobs some preset turns, beside the Classes that stand at each; – is the zero
// value, and all other knobs have it everywhere.
//
//	knob                     osmo               runai              runai20            det.-fair-share  det.-priority
//	DefaultClass             NORMAL             train              training           trial            trial
//	LowerFirst               –                  –                  –                  –                yes
//	NonPreemptibleFrom       –                  100                –                  –                –
//	Order                    fair-share         fair-share         deprived           share-then-age   global
//	CPUOnlyApart             –                  –                  –                  yes              yes
//	NonPreemptibleOverQuota  –                  –                  –                  yes              yes
//	Shares                   quota-then-weight  quota-then-weight  quota-then-weight  by-demand        quota-then-weight
//	InnerWeightByQuota       –                  yes                –                  –                –
//	EqualSharesAtZeroWeight  –                  yes                yes                –                –
//	ScaleGuarantees          –                  yes                yes                –                –
//	Fitting                  any-nodes          any-nodes          any-nodes          whole-nodes      whole-nodes
//	ClaimLeaving             –                  yes                yes                –                –
//	NoConsolidation          yes                –                  –                  yes              yes
//	Reclaim                  quota              quota-and-share    quota-and-share    quota-and-share  off
//	Preempt                  queue              queue              queue              off              off
//	StaleGangGrace           –                  60                 –                  –                –
//	PreemptedStatus          FAILED_PREEMPTED   –                  –                  –                –
//	PreemptedExitCode        3006               –                  –                  –                –
//	CheckpointOnEviction     –                  –                  –                  yes              yes
type Policy struct {
	// Name is for people; it decides nothing.
	Name string `json:"name,omitzero"`

	// Classes are the priority classes. None: a workload's Priority is its
	// number, and it is preemptible unless it says otherwise.
	Classes []Class `json:"classes,omitempty"`
	// DefaultClass is the class of a workload that names none; empty is no
	// class, which is priority 0 and preemptible.
	DefaultClass string `json:"defaultClass,omitzero"`
	// LowerFirst: the lower number is the higher priority (O1; Determined).
	LowerFirst bool `json:"lowerFirst,omitzero"`
	// ClassBeatsPriority: where a workload gives a Class and a Priority, the
	// number of the class holds (Determined on Kubernetes, row D21).
	ClassBeatsPriority bool `json:"classBeatsPriority,omitzero"`
	// NonPreemptibleFrom makes workloads whose number comes from their own
	// Priority non-preemptible from this number up (Run:ai: 100); 0 leaves it
	// to the class.
	NonPreemptibleFrom int32 `json:"nonPreemptibleFrom,omitzero"`

	// Order is the order between queues (O2, O3); zero is by fair share.
	Order queue.Order `json:"order,omitzero"`
	// Queueing says what a workload that cannot start does to those behind it
	// (O4); zero is nothing. A queue may say otherwise for itself ([Queue].Queueing).
	Queueing queue.Queueing `json:"queueing,omitzero"`
	// BlockAlikeOnly: what cannot start stops only work that could use what it could
	// use, were it free (O4): work with GPUs by devices, all other by nodes. Work for GPUs of
	// other models, or whose selectors or taints lead elsewhere, passes. Without it
	// all are stopped. It changes nothing where nothing blocks.
	BlockAlikeOnly bool `json:"blockAlikeOnly,omitzero"`
	// CPUOnlyApart: workloads without GPUs are decided before and apart from
	// the others, first in, first out, or by priority where Order is by
	// priority (P7, Determined's zero-slot tasks).
	CPUOnlyApart bool `json:"cpuOnlyApart,omitzero"`
	// MaxCPUOnlyTasksPerNode caps the tasks without GPUs on one node (P7); 0
	// is no cap.
	MaxCPUOnlyTasksPerNode int `json:"maxCPUOnlyTasksPerNode,omitzero"`

	// DeadlinesFirst: of the workloads of one priority of one queue those with the earlier
	// deadline go first, and before those without one (B11).
	DeadlinesFirst bool `json:"deadlinesFirst,omitzero"`
	// Durations are those of work of which neither it nor its queues say them (B1).
	Durations Durations `json:"durations,omitzero"`
	// KillGrace is how many seconds past its limit a task that still runs is expected to
	// take to end (B1); absent is 30.
	KillGrace quota.Bound `json:"killGrace,omitzero"`
	// Reserve says for which work places are kept free (B2–B8); zero is for none.
	Reserve ReservePolicy `json:"reserve,omitzero"`

	// NonPreemptibleOverQuota switches Q2 off.
	NonPreemptibleOverQuota bool `json:"nonPreemptibleOverQuota,omitzero"`
	// Shares is how fair shares are computed (F1–F5, F8); zero is quota first,
	// then weight.
	Shares fairshare.Method `json:"shares,omitzero"`
	// InnerWeightByQuota: siblings of which one has queues below it weigh by
	// their quota, whatever weights they give (F4; Run:ai's departments).
	InnerWeightByQuota bool `json:"innerWeightByQuota,omitzero"`
	// EqualSharesAtZeroWeight: a tier whose weights are all 0, of those that want
	// anything and of those that do not, shares equally (F4).
	EqualSharesAtZeroWeight bool `json:"equalSharesAtZeroWeight,omitzero"`
	// ScaleGuarantees: where what the top queues may defend of their quotas exceeds the
	// capacity, as after the loss of a node, it is divided among them by quota (F13). Then
	// a queue within its nominal quota may lose work to another, and a workload larger than
	// what is left of its queue's quota takes nothing back by it. Else quotas stand whatever
	// they sum to (Q7).
	ScaleGuarantees bool `json:"scaleGuarantees,omitzero"`
	// UsageStrengthMilli is how much what queues have used lowers or raises their weights
	// (F6): k in thousandths, at most a million; 0 does not. Quotas are untouched.
	UsageStrengthMilli int64 `json:"usageStrengthMilli,omitzero"`
	// UsageDecay and UsagePeriod say how the host, which keeps the history, forgets (B12): by a
	// half-life or a window of so many seconds, of at least 1; absent is a week. Solve reads
	// what is left of it from [QueueResource.Usage].
	UsageDecay  fairshare.Decay `json:"usageDecay,omitzero"`
	UsagePeriod quota.Bound     `json:"usagePeriod,omitzero"`
	// Granules are the units in which surplus is shared (S2, F5), by resource.
	// Absent is 1 and, for GPU, 1000 wherever some queue of a sibling group asks for
	// whole devices only, else the greatest common divisor of 1000 and what those queues of
	// the group that can use anything ask of a device.
	Granules map[string]int64 `json:"granules,omitempty"`

	// GPUStrategy places tasks with GPUs, CPUStrategy those without (P3–P5); zero
	// is bin-packing. Tasks without GPUs go to nodes without GPUs first, but not
	// under the strategies that score nodes: those weigh all nodes alike, as they
	// were published.
	GPUStrategy placement.Strategy `json:"gpuStrategy,omitzero"`
	CPUStrategy placement.Strategy `json:"cpuStrategy,omitzero"`
	// Scoring are the parameters of the strategies that score nodes (P4, P5);
	// zero is as published.
	Scoring Scoring `json:"scoring,omitzero"`

	// Fitting is how gangs of tasks with whole devices use nodes (P8); zero lets
	// the strategy place task by task.
	Fitting gang.Fitting `json:"fitting,omitzero"`
	// LeastFreeDomainsFirst parts tasks among topology domains from the one with
	// the least free room on, instead of using the fewest domains (T5).
	LeastFreeDomainsFirst bool `json:"leastFreeDomainsFirst,omitzero"`

	// ClaimLeaving: a workload that would start if what is Terminating had left
	// claims those places in its turn, without any right to evict (S4; what is
	// leaving is capacity to come, for the first in order). Without it only a workload
	// that could evict for its start claims them.
	ClaimLeaving bool `json:"claimLeaving,omitzero"`
	// NoConsolidation switches consolidation off (C4).
	NoConsolidation bool `json:"noConsolidation,omitzero"`
	// MaxMovedPercent bounds a consolidation: the GPUs that move, in percent of
	// those that the workload requests (C3); 0 is 200.
	MaxMovedPercent int64 `json:"maxMovedPercent,omitzero"`
	// ConsolidateBeyondShare consolidates also for a workload that takes its
	// queue beyond its fair share (C5).
	ConsolidateBeyondShare bool `json:"consolidateBeyondShare,omitzero"`
	// MaxRelocations bounds the units that may move beside victims for one
	// workload that cannot be served by victims alone (M10): absent is 2, 0 is none,
	// and more than 4 is a fault. NoConsolidation switches them off too, and
	// MaxMovedPercent bounds them as well.
	MaxRelocations quota.Bound `json:"maxRelocations,omitzero"`
	// Reclaim is what queues take back from each other (R1–R9); zero is by
	// quota and by fair share.
	Reclaim preempt.Reclaim `json:"reclaim,omitzero"`
	// ReclaimNonPreemptibleOnly lets only non-preemptible work cause a reclaim
	// (OSMO's admin doc: HIGH and NORMAL).
	ReclaimNonPreemptibleOnly bool `json:"reclaimNonPreemptibleOnly,omitzero"`
	// ReclaimMarginMilli is R5's margin in thousandths, at least 1000; 0 is
	// 1000.
	ReclaimMarginMilli int64 `json:"reclaimMarginMilli,omitzero"`
	// Straddle is what happens to a unit of which a part is beyond its queue's
	// entitlement (R4); zero takes it.
	Straddle preempt.Straddle `json:"straddle,omitzero"`
	// Preempt is which work a workload of higher priority may displace (E1–E8); zero
	// is work of its own queue. [preempt.WithinPool] needs Reclaim to be
	// [preempt.NoReclaim], as between queues either entitlement or priority
	// decides (R6).
	Preempt preempt.Scope `json:"preempt,omitzero"`
	// MinRuntime protects what runs for a time (M1); queues may say otherwise.
	// Absent does not.
	MinRuntime MinRuntime `json:"minRuntime,omitzero"`
	// MaxEvictions caps the workloads that one solve may evict, shrink or move
	// in the pool (M7); 0 is no cap.
	MaxEvictions int `json:"maxEvictions,omitzero"`
	// SearchBudget bounds the candidate sets of victims that are tried for one
	// workload and stage (M3); 0 is 100,000. What all searches cost together is bounded by
	// the size of the state beside that (M8). A search cut short says so.
	SearchBudget int `json:"searchBudget,omitzero"`
	// MaxReplacedStarts is how many starts of one solve are placed anew at most so
	// that a workload within its entitlement finds a place, before any running work is
	// touched (M9): absent is 3, 0 is none. Where it would take more, and the policy
	// lets room be made, a later solve may make it.
	MaxReplacedStarts quota.Bound `json:"maxReplacedStarts,omitzero"`
	// StaleGangGrace is for how many seconds a gang that lost tasks may run
	// below its minimum before what is left of it is evicted (G1); absent is
	// for ever; with 0 it goes at once.
	StaleGangGrace quota.Bound `json:"staleGangGrace,omitzero"`

	// PreemptedStatus and PreemptedExitCode are how an evicted workload ends
	// (S6; OSMO: FAILED_PREEMPTED, 3006); empty and 0 say nothing.
	PreemptedStatus   string `json:"preemptedStatus,omitzero"`
	PreemptedExitCode int    `json:"preemptedExitCode,omitzero"`
	// ExitActions say what follows an eviction where the workload does not
	// (S6); what neither names is rescheduled.
	ExitActions []ExitAction `json:"exitActions,omitempty"`
	// CheckpointOnEviction: evicted work is saved first, so none is lost (M3;
	// Determined).
	CheckpointOnEviction bool `json:"checkpointOnEviction,omitzero"`
}

// A Class is a priority class of a policy.
type Class struct {
	// Name is what workloads name; it is unique in the policy and not empty.
	Name string `json:"name"`
	// Priority goes first where it is higher, or lower under LowerFirst (O1).
	Priority int32 `json:"priority,omitzero"`
	// NonPreemptible is what the class's workloads are unless they say
	// otherwise.
	NonPreemptible bool `json:"nonPreemptible,omitzero"`
}
