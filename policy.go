package allot

import (
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// A Policy says how one pool is scheduled: a struct of orthogonal knobs, each
// with a zero value that is the sensible thing. The five published schedulers
// are values of it: [OSMO], [RunAI], [RunAI20], [DeterminedFairShare] and
// [DeterminedPriority]. Any mixture is legal unless [Check] says why not.
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
	// number of the class holds (Determined on Kubernetes, D21).
	ClassBeatsPriority bool `json:"classBeatsPriority,omitzero"`
	// NonPreemptibleFrom makes workloads whose number comes from their own
	// Priority non-preemptible from this number up (Run:ai: 100); 0 leaves it
	// to the class.
	NonPreemptibleFrom int32 `json:"nonPreemptibleFrom,omitzero"`

	// Order is the order between queues (O2, O3); zero is by fair share.
	Order queue.Order `json:"order,omitzero"`
	// Queueing says what a workload that cannot start does to those behind it
	// (O4); zero is nothing.
	Queueing queue.Queueing `json:"queueing,omitzero"`
	// CPUOnlyApart: workloads without GPUs are decided before and apart from
	// the others, first in, first out, or by priority where Order is by
	// priority (P7, Determined's zero-slot tasks).
	CPUOnlyApart bool `json:"cpuOnlyApart,omitzero"`
	// MaxCPUOnlyTasksPerNode caps the tasks without GPUs on one node (P7); 0
	// is no cap.
	MaxCPUOnlyTasksPerNode int `json:"maxCPUOnlyTasksPerNode,omitzero"`

	// NonPreemptibleOverQuota switches Q2 off.
	NonPreemptibleOverQuota bool `json:"nonPreemptibleOverQuota,omitzero"`
	// Shares is how fair shares are computed (F1–F5, F8); zero is quota first,
	// then weight.
	Shares fairshare.Method `json:"shares,omitzero"`
	// InnerWeightByQuota: siblings of which one has queues below it weigh by
	// their quota, whatever weights they give (F4; Run:ai's departments).
	InnerWeightByQuota bool `json:"innerWeightByQuota,omitzero"`
	// EqualSharesAtZeroWeight: a tier whose weights are all 0 shares equally
	// (F4).
	EqualSharesAtZeroWeight bool `json:"equalSharesAtZeroWeight,omitzero"`
	// Granules are the units in which surplus is shared (S2, F5), by
	// resource; absent is 1000 for GPU and 1 for all others.
	Granules map[string]int64 `json:"granules,omitempty"`

	// GPUStrategy places tasks with GPUs, CPUStrategy those without (P3); zero
	// is bin-packing.
	GPUStrategy placement.Strategy `json:"gpuStrategy,omitzero"`
	CPUStrategy placement.Strategy `json:"cpuStrategy,omitzero"`
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
