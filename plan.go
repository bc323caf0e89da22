package allot

import (
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

// A Plan is what [Solve] decides, in full and as plain data.
type Plan struct {
	// Revision is the State's.
	Revision string `json:"revision,omitzero"`
	// Actions are in an order in which a host can carry them out: after every
	// prefix of them the cluster is lawful.
	Actions []Action `json:"actions,omitempty"`
	// Pending are the workloads that wait for something after the plan, by ID,
	// each with at least one reason (X1). A workload that runs at its minimum
	// and would take more tasks is not among them.
	Pending []Pending `json:"pending,omitempty"`
	// Reservations are the promises as they stand after the plan, and those that it
	// withdraws, by workload (B7). Apply and Begin write them into the state.
	Reservations []PlannedReservation `json:"reservations,omitempty"`
	// NextAt is the earliest time after the State's Now at which something could be decided or
	// promised otherwise, once the plan is carried out, although nothing but time has passed
	// (B10): a NotBefore, the begin or the end of a [Reservation], the end of a least runtime
	// ([MinRuntime]) or of the grace of a stale gang and, in pools that promise places ahead
	// ([ReservePolicy]), a predicted end, the time of a promise, or when a workload that waits
	// may be promised something by After, Horizon or MaxHold. It may be that nothing comes of it.
	// The predicted end of what is claimed and has not begun, and of what is past its limit, moves
	// with Now: NextAt does not name it. Zero is that there is none, or that the State has no Now.
	NextAt time.Time `json:"nextAt,omitzero"`
	// Shares are the figures per pool, queue, resource (GPU first) and class, in
	// this order (Q6), as they are after the plan.
	Shares []Share `json:"shares,omitempty"`
	// Warnings are what is odd but lawful about the State (V1), by path.
	Warnings []Fault `json:"warnings,omitempty"`
	// Work is what the solve cost, in counted steps.
	Work Work `json:"work,omitzero"`
}

// ActionKind says what an Action does.
type ActionKind uint8

const (
	// Start gives tasks of a waiting workload their places: everything that
	// is missing to its minimum, or claimed tasks whose places came free.
	Start ActionKind = iota + 1
	// Resize adds tasks to a workload that is at its minimum: one task, what
	// brings a group to its minimum, or the next step of a ladder (G2, G3, L3).
	Resize
	// Displace takes note that tasks lost their place with a node or device
	// (S7); they wait again.
	Displace
	// Unclaim gives up a claim whose place can no longer take it (S4); the
	// tasks wait again.
	Unclaim
	// Evict takes all tasks of a workload their places; it waits again, unless
	// Exit says that it ends.
	Evict
	// Shrink takes tasks above the minimum their places, the last first and by
	// the workload's own step (M6).
	Shrink
	// Move gives running tasks another place (M4, C1): they end in From and
	// start in Tasks.
	Move
)

// An Action is one step of a Plan.
type Action struct {
	// Kind is what it does.
	Kind ActionKind `json:"kind"`
	// Workload is whose tasks they are; Queue is where they are charged.
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Form is the workload's form that the tasks belong to (G5).
	Form int `json:"form,omitzero"`
	// Tasks are the tasks and their places, by pod set in the form's order,
	// then by index. Displace, Unclaim, Evict and Shrink name the places that
	// are given up.
	Tasks []Placement `json:"tasks,omitempty"`
	// From are the old places of a Move, task by task.
	From []Placement `json:"from,omitempty"`
	// After are the workloads, by ID, that must have left places of theirs
	// before all of Tasks can run there: those that this plan evicts, shrinks
	// or moves before, and those that are Terminating in the State. Until then the
	// tasks are Claimed (S4). Only Start, Resize and Move have it. Where moves would
	// go round in a circle, one of them is an Evict and, after the others, a Start that
	// has its own workload here (M11).
	After []string `json:"after,omitempty"`
	// Until is when the host ends the tasks of a Start that was cut to fit a hole, as its
	// workload has a [Workload.MinDuration] (B1); zero is by its TimeLimit alone.
	Until time.Time `json:"until,omitzero"`
	// Behind names the workload whose promised places tasks of a Start, Resize or Move take without
	// having left them by then (B6); empty is none.
	Behind string `json:"behind,omitzero"`
	// Reason is why, for everything but Start; the zero Reason otherwise (X2).
	Reason Reason `json:"reason,omitzero"`
	// Ending is how an evicted workload ends (S6), for Evict.
	Ending Ending `json:"ending,omitzero"`
}

// Ending is what an eviction means for the workload (S6). The zero Ending lets
// it wait again.
type Ending struct {
	// Status and ExitCode are the policy's, for the host to report.
	Status   string `json:"status,omitzero"`
	ExitCode int    `json:"exitCode,omitzero"`
	// Final: the workload ends failed and does not wait again.
	Final bool `json:"final,omitzero"`
	// Checkpoint: the host saves the work first, so that none is lost.
	Checkpoint bool `json:"checkpoint,omitzero"`
}

// A Placement is a task and its place (P2).
type Placement struct {
	// PodSet and Index name the task within its workload.
	PodSet string `json:"podSet,omitzero"`
	Index  int    `json:"index,omitzero"`
	// Node is the ID of the node.
	Node string `json:"node"`
	// Devices are the indices of the task's devices on the node, ascending;
	// empty is a task without GPUs.
	Devices []int `json:"devices,omitempty"`
}

// A Pending is a workload that waits, with every reason that holds, the most
// telling first. Its reasons are true in the world after the plan (X1).
type Pending struct {
	// Workload is its ID.
	Workload string `json:"workload"`
	// Queue is that of the form in which the workload holds something, else of
	// its first form; empty is the implicit queue of a pool without queues.
	Queue string `json:"queue,omitzero"`
	// Reasons are at least one.
	Reasons []Reason `json:"reasons,omitempty"`
}

// A Share holds the figures of one queue and resource after the plan (Q6).
// All amounts are in the resource's unit.
type Share struct {
	// Pool is empty where the State names none, Queue the implicit queue, Class
	// the total (Q8).
	Pool     string `json:"pool,omitzero"`
	Queue    string `json:"queue,omitzero"`
	Resource string `json:"resource"`
	Class    string `json:"class,omitzero"`
	// Quota and Limit are what holds after Q1's defaults; Unlimited where
	// there is none.
	Quota quota.Bound `json:"quota"`
	Limit quota.Bound `json:"limit"`
	// Used counts Running and Claimed; InQuota and OverQuota are its parts up
	// to and beyond quota, NonPreemptible the part that is never evicted.
	Used           int64 `json:"used,omitzero"`
	InQuota        int64 `json:"inQuota,omitzero"`
	OverQuota      int64 `json:"overQuota,omitzero"`
	NonPreemptible int64 `json:"nonPreemptible,omitzero"`
	// Demand is running and waiting (F1); of a class it is not known before
	// the tasks have their places, and 0.
	Demand int64 `json:"demand,omitzero"`
	// Divided says whether the resource is divided into fair shares: some queue
	// of the pool gives a quota for it (Q1), or the policy's method needs none
	// (F8). If not, FairShare and State say nothing.
	Divided bool `json:"divided,omitzero"`
	// FairShare is the queue's part by F1–F8.
	FairShare int64 `json:"fairShare,omitzero"`
	// Usage is what the queue has used and what there was, as the State says it; WeightMilli its
	// weight over those of its siblings of one tier, and AdjustedMilli what usage makes of it,
	// in thousandths and rounded down (F6). All are 0 where usage changes no weight.
	Usage         fairshare.Usage `json:"usage,omitzero"`
	WeightMilli   int64           `json:"weightMilli,omitzero"`
	AdjustedMilli int64           `json:"adjustedMilli,omitzero"`
	// Cut is what of its quota the queue may not defend, though it asks for it, as the queue
	// above, or under [Policy.ScaleGuarantees] the pool, has not enough for all (F2, F13).
	Cut int64 `json:"cut,omitzero"`
	// State is F12's.
	State fairshare.QueueState `json:"state"`
	// Borrowed is OverQuota as far as quota governs the resource; Lent is
	// what siblings use of this queue's unused quota.
	Borrowed int64 `json:"borrowed,omitzero"`
	Lent     int64 `json:"lent,omitzero"`
	// Reachable is the usable capacity of the nodes that the queue, or some queue below it, may
	// use, without nodes that are reserved whole for others (B9); PoolTotal is that of the pool.
	Reachable int64 `json:"reachable,omitzero"`
	PoolTotal int64 `json:"poolTotal,omitzero"`
}

// Work counts what a solve did. It is reported, never decided upon by a clock.
type Work struct {
	// Turns are the times a workload had its turn in the order (O2).
	Turns int64 `json:"turns,omitzero"`
	// Searches are the placements searched for, Remembered those answered by
	// an earlier refusal of the same shape (O5).
	Searches   int64 `json:"searches,omitzero"`
	Remembered int64 `json:"remembered,omitzero"`
	// Placed are the tasks placed.
	Placed int64 `json:"placed,omitzero"`
	// Rooms are the workloads for which room was looked for, Candidates the
	// sets of victims tried for them (M3), Evicted the units taken, whether or
	// not they were put back.
	Rooms      int64 `json:"rooms,omitzero"`
	Candidates int64 `json:"candidates,omitzero"`
	Evicted    int64 `json:"evicted,omitzero"`
	// Cut are the searches for room that ended at the policy's SearchBudget:
	// what they found may not be the least harm, and where they found nothing a
	// reason says so.
	Cut int64 `json:"cut,omitzero"`
	// Stopped: the solve was ended by its counted stop (M5), because it came
	// to no rest. It is a bug if this is ever true.
	Stopped bool `json:"stopped,omitzero"`
}
