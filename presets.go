package allot

import (
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The presets are published schedulers as values of [Policy]: read
// them, change a knob, mix them. Each call returns a fresh value. What they
// have in common is left at the zero value: bin-packing (P3), shares by quota
// and then weight (F2–F5), and a workload that cannot start blocks nothing (O4).
//
// None makes promises, as none of the schedulers does: [ReservePolicy] tells what to turn on for large gangs.

// OSMO is NVIDIA OSMO's policy: classes HIGH and NORMAL (the default) are
// never preempted and live within the quota (Q2); LOW may borrow. A queue is
// what OSMO calls a pool. Raising a LOW workload to NORMAL can make it wait,
// as it may no longer borrow. Borrowed GPUs go back to any demand within the
// quota of their owner, as the user's guide promises; its admin's guide lets only
// HIGH and NORMAL cause that, which is [Policy.ReclaimNonPreemptibleOnly]. (A slip
// of the source: its example 001 says 'pool1 is only using 1 of its 2' where pool2
// is meant.) So that large gangs start some day, turn on what [ReservePolicy] names.
func OSMO() Policy {
	return Policy{
		Name: "osmo",
		Classes: []Class{
			{Name: "HIGH", Priority: 125, NonPreemptible: true},
			{Name: "NORMAL", Priority: 100, NonPreemptible: true},
			{Name: "LOW", Priority: 50},
		},
		DefaultClass:      "NORMAL",
		NoConsolidation:   true,
		Reclaim:           preempt.ByQuota,
		PreemptedStatus:   "FAILED_PREEMPTED",
		PreemptedExitCode: 3006,
	}
}

// RunAI is the Run:ai scheduler's policy: departments over projects in each
// node pool, departments weighted by their quota, projects by their weight, and
// equally where none has any; workloads of priority 100 and more are
// non-preemptible. What is left of a broken gang goes after a minute (G1). The
// source evicts 'in some scenarios even from queues that are below their deserved
// quota' without telling which: here that is where the department is over its own
// quota, or where a gang straddles the quota, with a part of it within (R3, R4). So that large
// gangs start some day, turn on what [ReservePolicy] names.
func RunAI() Policy {
	return Policy{
		Name: "runai",
		Classes: []Class{
			{Name: "inference", Priority: 125, NonPreemptible: true},
			{Name: "build", Priority: 100, NonPreemptible: true},
			{Name: "interactive-preemptible", Priority: 75},
			{Name: "train", Priority: 50},
		},
		DefaultClass:            "train",
		NonPreemptibleFrom:      100,
		InnerWeightByQuota:      true,
		EqualSharesAtZeroWeight: true,
		ScaleGuarantees:         true,
		ClaimLeaving:            true,
		StaleGangGrace:          quota.Of(60),
	}
}

// RunAI20 is the Run:AI scheduler's policy as of 2020: the most deprived
// project first (lowest use over quota), inside a project interactive work
// before training and only within the guaranteed quota, surplus by quota, or equally
// where none has any (F11; the source prints the two percentages of its example the other way round,
// against its own rule, which holds here). Its elastic workloads are pod sets
// whose Step is [gang.Halving] (L1, L2).
func RunAI20() Policy {
	return Policy{
		Name: "runai20",
		Classes: []Class{
			{Name: "interactive", Priority: 100, NonPreemptible: true},
			{Name: "training", Priority: 50},
		},
		DefaultClass:            "training",
		Order:                   queue.Deprived,
		EqualSharesAtZeroWeight: true,
		ScaleGuarantees:         true,
		ClaimLeaving:            true,
	}
}

// determinedClasses are the kinds of task of Determined, all of the default
// priority 42: trials may be preempted, the interactive kinds never.
func determinedClasses() []Class {
	const standard = 42
	return []Class{
		{Name: "trial", Priority: standard},
		{Name: "notebook", Priority: standard, NonPreemptible: true},
		{Name: "tensorboard", Priority: standard, NonPreemptible: true},
		{Name: "shell", Priority: standard, NonPreemptible: true},
		{Name: "command", Priority: standard, NonPreemptible: true},
	}
}

// DeterminedFairShare is Determined's fair-share policy: GPUs are divided
// among the experiments in proportion to their demand and weight (F8). An
// experiment is a queue, a trial a workload of it; max slots is the queue's
// limit, max concurrent trials its MaxWorkloads. What is over its share gives way
// to what is under; evicted trials are saved first.
//
// The published text holds here, not the code where it differs: that divides as
// [fairshare.MaxMin] does, which is a knob ([Policy.Shares]), never preempts for a
// newcomer on a full cluster, and releases more than is needed. A queue that reports more
// demand gets more, a weakness of the text. A trial of n slots is n tasks of one
// GPU, which go to one node or fill whole idle ones of one size (P8);
// [gang.MixedWholeNodes] is its knob for nodes of several sizes.
func DeterminedFairShare() Policy {
	return Policy{
		Name:                    "determined-fair-share",
		Classes:                 determinedClasses(),
		DefaultClass:            "trial",
		Order:                   queue.ShareThenAge,
		CPUOnlyApart:            true,
		NonPreemptibleOverQuota: true,
		Shares:                  fairshare.ByDemand,
		Fitting:                 gang.WholeNodes,
		NoConsolidation:         true,
		Preempt:                 preempt.NoPreemption,
		CheckpointOnEviction:    true,
	}
}

// DeterminedPriority is Determined's priority policy: one order over all
// experiments, the lower number first, then first in, first out. Preemption is
// off, as it is there by default; to have it, set Preempt to
// [preempt.WithinPool] and Queueing to [queue.BackfillPreemptible]. For the
// variant on Kubernetes set LowerFirst to false, ClassBeatsPriority to true
// and the default class's priority to 50 (row D21); there, with preemption, Queueing is
// [queue.BackfillSingles] (row D22). Trials of several slots are fitted as under
// [DeterminedFairShare] (P8).
func DeterminedPriority() Policy {
	return Policy{
		Name:                    "determined-priority",
		Classes:                 determinedClasses(),
		DefaultClass:            "trial",
		LowerFirst:              true,
		Order:                   queue.Global,
		CPUOnlyApart:            true,
		NonPreemptibleOverQuota: true,
		Fitting:                 gang.WholeNodes,
		NoConsolidation:         true,
		Reclaim:                 preempt.NoReclaim,
		Preempt:                 preempt.NoPreemption,
		CheckpointOnEviction:    true,
	}
}
