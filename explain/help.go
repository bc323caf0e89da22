package explain

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A Help is what would help a workload that waits, as plain data.
type Help struct {
	// Workload is its ID.
	Workload string `json:"workload"`
	// Waits says whether the plan leaves it waiting. If not, nothing has to help.
	Waits bool `json:"waits,omitzero"`
	// Evicted: it runs, and waits because the plan evicts it. What lets it stay
	// where it is helps as well then.
	Evicted bool `json:"evicted,omitzero"`
	// Remedies are each enough by itself, the cheapest first: those for which
	// nothing else is evicted or delayed; then by Kind, in the order of the kinds;
	// then those that disturb fewer; then fewer changes; then the smaller Amount; then
	// by names. None: no one change helps, nor do two together, as far as was looked.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Solves are the decisions that were made to find them.
	Solves int `json:"solves,omitzero"`
	// Cut: the search ended at its bound of solves, or left out some of many
	// alike, such as queues, or of many pairs of changes: there may be more, and cheaper
	// ones.
	Cut bool `json:"cut,omitzero"`
	// Unlooked are the kinds for which the search ended before all that it knows of them
	// was looked at, in their order: what it may have missed, or found larger than need be.
	Unlooked []RemedyKind `json:"unlooked,omitempty"`
}

// A RemedyKind says what kind of change a Remedy is. The texts of kinds are stable.
type RemedyKind uint8

// The kinds, the cheapest first: waiting; what the workload's owner can say
// otherwise; what an administrator can grant; what others would have to give;
// and what has to be bought.
const (
	// WaitUntil: nothing but time, Amount microseconds, until the protection of
	// victims ends (M1): the state at Change.Now.
	WaitUntil RemedyKind = iota + 1
	// WaitForLeaving: the tasks of Workloads, Amount of them, that are terminating
	// are gone (S4).
	WaitForLeaving
	// SubmitTasks: the last Amount missing tasks of PodSet are submitted (G1).
	SubmitTasks
	// Tolerate: every task tolerates Taint (P1).
	Tolerate
	// DropSelector: no task asks for the label Name, or for what Expression says
	// (P1).
	DropSelector
	// AcceptModel: every task that names models accepts the model Name too (P2).
	AcceptModel
	// DropMinMemory: no task asks for devices of some least memory (P2).
	DropMinMemory
	// WiderDomain: what has to be in one domain of the level Name has to be in one of
	// Level, which is wider, or in none if Level is empty; slices of the level Name
	// are none (T2, T3).
	WiderDomain
	// LessMinimum: PodSet starts with Amount tasks fewer than its minimum (G1).
	LessMinimum
	// LessGroupMinimum: the group Name needs Amount children fewer (G3).
	LessGroupMinimum
	// ShorterDuration: it takes To seconds at most, Amount fewer than From; both are 0 where it was not known how
	// long it takes (B5). That is its Duration, and its TimeLimit too unless the pool trusts durations.
	ShorterDuration
	// OtherPriority: the priority is Amount steps better, To instead of From (O1).
	OtherPriority
	// OtherClass: the class is Name.
	OtherClass
	// BePreemptible: the workload may be evicted, and so may borrow (Q2, Q4).
	BePreemptible
	// OtherQueue: the workload is in Queue, of the same pool.
	OtherQueue
	// OtherPool: the workload is in Pool, in Queue if that has queues.
	OtherPool
	// Uncordon: Node takes new work again.
	Uncordon
	// MoreWorkloads: the cap of running workloads of Queue is higher by Amount
	// (Q10).
	MoreWorkloads
	// MoreQuota: the quota of Queue in Resource (and Class) is higher by Amount
	// (Q1).
	MoreQuota
	// MoreLimit: the limit of Queue is higher by Amount (Q3).
	MoreLimit
	// MoreBorrowing: the borrowing limit of Queue is higher by Amount (Q3).
	MoreBorrowing
	// MoreLending: the lending limit of Queue is higher by Amount (Q5).
	MoreLending
	// EndOf: Workloads, Amount of them, end. How long they run is not known; of the
	// sets that were found it is the smallest, then the one that was started
	// earliest, and none of it can be left out.
	EndOf
	// MoreGPUs: Amount more devices, on Nodes new nodes like Node, all of which but
	// the last have as many as that, and which are in its domains: in Domain of
	// Level where tasks have to be near to each other (T2).
	MoreGPUs
	// MoreNodes: Amount more nodes like Node, for tasks without devices.
	MoreNodes
)

// A Remedy is a change that would start a workload, or let it stay, with what it costs.
type Remedy struct {
	// Kind is what it changes. Which of the fields below are set is told there.
	Kind RemedyKind `json:"kind"`
	// What these are about is told at the Kind.
	Pool     string `json:"pool,omitzero"`
	Queue    string `json:"queue,omitzero"`
	Resource string `json:"resource,omitzero"`
	Class    string `json:"class,omitzero"`
	PodSet   string `json:"podSet,omitzero"`
	Node     string `json:"node,omitzero"`
	Name     string `json:"name,omitzero"`
	Form     int    `json:"form,omitzero"`
	Level    string `json:"level,omitzero"`
	Domain   string `json:"domain,omitzero"`
	// Expression is a part of a selector, Taint what keeps tasks off a node.
	Expression *placement.Expression `json:"expression,omitempty"`
	Taint      *placement.Taint      `json:"taint,omitempty"`
	// Amount is by how much, in the unit of Resource, or in tasks, children,
	// steps, workloads, devices, nodes, seconds or microseconds; From and To are before and after.
	Amount int64 `json:"amount,omitzero"`
	From   int64 `json:"from,omitzero"`
	To     int64 `json:"to,omitzero"`
	// Nodes is how many nodes are new.
	Nodes int `json:"nodes,omitzero"`
	// Workloads are those that end, by ID.
	Workloads []string `json:"workloads,omitempty"`
	// Together are changes that must be made as well: the quotas of other queues on the
	// workload's way, or a second change where no single one helps. None of all can be
	// less by one unit. They have neither Change nor Effects, nor a Together: those of
	// the Remedy are of all.
	Together []Remedy `json:"together,omitempty"`
	// Change is what would do it: [allot.Snapshot.With] it, and Decide starts the
	// workload, or does not evict it.
	Change allot.Change `json:"change,omitzero"`
	// Effects are what else becomes of it.
	Effects Effects `json:"effects,omitzero"`
}

// Effects are what a Remedy does to others, by ID: the difference of two plans.
type Effects struct {
	// Starts are others that start too, and would not without the change.
	Starts []string `json:"starts,omitempty"`
	// Evicted are those that are evicted or shrunk, Moved those that move, and
	// would not without it.
	Evicted []string `json:"evicted,omitempty"`
	Moved   []string `json:"moved,omitempty"`
	// Delayed are those that would start without the change, and wait with it.
	Delayed []string `json:"delayed,omitempty"`
	// After are those that must leave before the workload itself can run: it
	// claims its place until then (S4).
	After []string `json:"after,omitempty"`
}

// disturbed is how many others it disturbs.
func (e *Effects) disturbed() int { return len(e.Evicted) + len(e.Moved) + len(e.Delayed) }
