package allot

import (
	"time"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// Code says what kind of Reason it is. Codes are stable: a host may act on
// them. Their text is what JSON and the text form of a plan show.
type Code uint8

// The codes, in the order in which reasons are ranked: the most telling first.
const (
	// NodeLost: the tasks' node is lost (S7; Displace, Unclaim).
	NodeLost Code = iota + 1
	// DeviceLost: a device of the tasks is unhealthy (S7; Displace, Unclaim).
	DeviceLost
	// PlaceLost: a claimed place can no longer take its task (S4; Unclaim).
	PlaceLost
	// ClaimBroken: what runs and is still claimed is less than the workload's
	// minimum, so that the rest of its claims would wait for nothing (S4, G1;
	// Unclaim).
	ClaimBroken
	// ReclaimedByQuota and ReclaimedByShare: Workload, of another queue, is
	// entitled to it by its quota, or by its fair share (R1–R9; Evict, Shrink,
	// Move, Unclaim). Queue is the victim's subtree below the common ancestor; Have is its use of Resource before, Need its quota or fair share;
	// Subtrees has the ratios (X2).
	ReclaimedByQuota
	ReclaimedByShare
	// Preempted: Workload has the higher priority (E1–E8; Evict, Shrink, Move,
	// Unclaim).
	Preempted
	// Consolidated: it moves so that Workload finds a place (C1–C5; Move).
	Consolidated
	// StaleGang: it ran with Have of the Need tasks that must run together for
	// longer than the policy's grace (G1; Evict).
	StaleGang
	// Grown: tasks above the minimum start in what is free (G2, L3; Resize) or, where
	// Workload is named, in places that were taken from that for them (G2).
	Grown

	// ImpossibleNode: a task of PodSet fits no node of this cluster, however
	// empty, even if nothing were cordoned or unhealthy; Nodes counts them by
	// the first predicate that fails.
	ImpossibleNode
	// ImpossibleGang: of the Need tasks that PodSet must start together, the
	// empty cluster takes at most Have, even if nothing were cordoned or
	// unhealthy. Where several pod sets only ask too much together, PodSet is empty
	// and all of them are meant.
	ImpossibleGang
	// ImpossibleDomain: the constraints of the topology, or that several tasks go to
	// one node or to whole ones (P8), leave no place even on the
	// empty cluster, if nothing were cordoned or unhealthy: of the Need tasks that
	// must be in one domain the best takes Have. Domains says so level by level
	// (T7).
	ImpossibleDomain
	// ImpossibleQuota: non-preemptible, and asks more (Need) than the quota
	// (Have) of Queue (Q2).
	ImpossibleQuota
	// ImpossibleLimit: asks more (Need) than the limit (Have) of Queue (Q3).
	ImpossibleLimit

	// NotSubmitted: PodSet has Have of the Need tasks that must start
	// together (G1).
	NotSubmitted
	// NotBefore: it may not start before Until (B1).
	NotBefore
	// Leaving: Need of the workload's own tasks are still terminating (S5).
	Leaving
	// ClaimHeld: the workload holds claims for Need tasks and starts when
	// enough of their places are free (S4).
	ClaimHeld

	// MaxWorkloads: Queue runs Have workloads and its cap is Need (Q10).
	MaxWorkloads
	// OverLimit: the limit of Queue leaves Have and the request is Need (Q3).
	OverLimit
	// OverBorrowingLimit: quota plus borrowing limit of Queue leave Have and
	// the request is Need (Q3).
	OverBorrowingLimit
	// NoQuota: non-preemptible, and the quota of Queue leaves Have where the
	// request is Need (Q2).
	NoQuota
	// KeptFromLending: Have is free beyond what Queue keeps from lending, and
	// the request is Need (Q5).
	KeptFromLending

	// NoCapacity: the nodes that Queue may use have Have of Resource free in
	// all, and the request is Need.
	NoCapacity
	// NoNode: no node takes a task of PodSet now. Nodes counts them by the first
	// predicate that fails, Nearest is the node that lacks least, Free tells what
	// is free but fragmented. Where NoCapacity says it all (which for device memory
	// is not told), it is left out: if every node that the queue may use lacks
	// nothing but what NoCapacity names.
	NoNode
	// GangShort: Have of the Need tasks that must start together find a
	// place; PodSet is where the search ended. Free is of one task of it, with
	// nothing of the gang placed.
	GangShort
	// NoDomain: the constraints of the topology, or that several tasks go to one node
	// or to whole ones (P8), leave no place now: of the Need
	// tasks that must be in one domain the best takes Have. Domains says so level
	// by level (T7); it is empty where no constraint stands in the way alone, but
	// all of them together do, and Have of the Need tasks that must start together
	// found a place.
	NoDomain
	// WaitsForLeaving: it would fit if what is Terminating were gone (S4).
	WaitsForLeaving
	// Exposes: with it Queue would use more than its due, and Workload, which waits,
	// could then reclaim what ran in it before (M9).
	Exposes
	// TakenBack: within the lines of its queues it might preempt what is protected there, but Workload, which waits,
	// would then reclaim the places from it at once, so that nobody goes for it (E7, M2).
	TakenBack
	// OverLine: it could only start in what is free, as it takes Queue beyond
	// its quota and its fair share: Have is what is left of the larger, Need
	// the request (R1).
	OverLine
	// GuaranteeCut: of Queue's quota of Need of Resource only Have is guaranteed, as the
	// queues beside it are guaranteed more than there is together (F2, F13).
	GuaranteeCut
	// ProtectedUntil: there are victims, but for some the minimum runtime is
	// not over before Until (M1), or never if Until is zero; Need counts them.
	ProtectedUntil
	// BudgetSpent: there are victims, but for some a disruption budget or the
	// cap of evictions is spent (M7); Need counts them.
	BudgetSpent
	// SaturationTurns: there are victims, but taking them would leave the subtree
	// of the one that waits at least as saturated as theirs (R5); Need counts
	// them.
	SaturationTurns
	// LargerThanShare: even with all of lower priority gone that it might preempt it
	// would take Queue beyond its share of Resource, so that what is protected there
	// does not go for it: Have is what the larger of quota and fair share would leave,
	// Need the request (E7).
	LargerThanShare
	// VictimsProtected: there are victims where it could stand, and too many of them
	// are protected by their class, a quota or a fair share: Need counts the protected
	// units, Protections say by what and whose, Have counts those that might be
	// taken (R2, R4, R8, R9, Q2).
	VictimsProtected
	// VictimsShort: with all that the rules allow to be taken it would still
	// not start, and would not with the protected ones either; Need counts the units
	// that might be taken, 0 if none.
	VictimsShort
	// Outranked: Workload stands before it, waits, and lets nothing (strict
	// order) or nothing non-preemptible (backfill) pass (O4).
	Outranked
	// Overtaken: Need workloads of its queue that are younger and of no higher priority
	// run or hold claims after the plan, while this one, a gang, waits (O1, G1).
	Overtaken
	// ReservedForOther: what it could start in is promised to Workload, which starts there at
	// Until (B4).
	ReservedForOther
	// WaitsForReservation: it has been promised a time and places and starts at Until, behind
	// the end of Workload; empty is behind no end (B4).
	WaitsForReservation
	// TooLateToBackfill: in places that are promised to Workload from Until on it would be Need
	// seconds too long (B5).
	TooLateToBackfill
	// DurationUnknown: it is not known to end by Until, from when on places
	// that it could start in are promised to Workload (B5).
	DurationUnknown
	// OverHeld: it is promised nothing, as too much would be idle until it starts. Need of Resource would be, with what
	// is for others, and the policy lets promises keep Have (MaxHeldPercent); without a Resource it would be idle for
	// Need seconds, of Have at most (MaxHold) (B4).
	OverHeld
	// SearchCut: the search was cut at Need counted steps; another choice of
	// pod sets (G3) or of victims (M3) might do.
	SearchCut

	// Overruns, of a promise that is later: Workload, which was to have left by then, runs on
	// (B7).
	Overruns
	// PlaceGone, of a promise: a node or device of it is lost, or closed (B7).
	PlaceGone
	// Yields, of a promise: it gives way to Workload (B4).
	Yields
	// PromiseChanged, of a promise: what it depends on has changed (B7). Where Need is not 0 it is how many promises
	// the policy makes, of Have that there were: in all, or to the workloads of Queue (B4).
	PromiseChanged

	// ReservationBegan: what it ran on is reserved for others from now, or before, until Until;
	// zero is for ever (B9; Evict, Shrink, Move, and Unclaim of what builds on what goes).
	// Reservation names the reservation.
	ReservationBegan

	// Behind: it had its place behind Workload, which takes it: promised to that (B6), or borrowed
	// of what is reserved for it (B9; Evict, Shrink, Move, Unclaim).
	Behind
)

// A Reason is why a workload waits or an action was needed, with its numbers.
// Which fields are set is told at each Code; amounts are in the unit of
// Resource. Text is [Reason.String].
type Reason struct {
	// Code is the kind; zero is no reason.
	Code Code `json:"code"`
	// Form is the workload's form that the reason concerns (G5).
	Form int `json:"form,omitzero"`
	// What these are about is told at the Code.
	Queue    string `json:"queue,omitzero"`
	Resource string `json:"resource,omitzero"`
	Class    string `json:"class,omitzero"`
	PodSet   string `json:"podSet,omitzero"`
	Workload string `json:"workload,omitzero"`
	Node     string `json:"node,omitzero"`
	// Reservation is the ID of what people have reserved (B9).
	Reservation string `json:"reservation,omitzero"`
	Have        int64  `json:"have,omitzero"`
	Need        int64  `json:"need,omitzero"`
	// Nodes counts the nodes that the queue may use by the predicate that
	// turned the task away, in the order of the predicates.
	Nodes []PredicateCount `json:"nodes,omitempty"`
	// Nearest is the node that lacks least, with the predicate it fails and
	// what it has and what is needed.
	Nearest *Nearest `json:"nearest,omitempty"`
	// Free tells, for NoNode and GangShort, in what pieces what is free lies.
	Free *Pieces `json:"free,omitempty"`
	// Domains are the best domains by level, the preferred level first.
	Domains []DomainRoom `json:"domains,omitempty"`
	// Until is when the first of the protections ends; zero is never (M1). Of NotBefore it is
	// the workload's.
	Until time.Time `json:"until,omitzero"`
	// Protections say, for VictimsProtected, ProtectedUntil and BudgetSpent, whose units
	// are protected by what, the most first.
	Protections []Protection `json:"protections,omitempty"`
	// Subtrees are the victim's and the preemptor's of a reclaim, just below the
	// common ancestor of their queues (X2).
	Subtrees *Subtrees `json:"subtrees,omitempty"`
	// Chain is, where Workload did not take the places itself, the workloads that took
	// them one from the other within the solve (M11): the first from this one, by Code, each
	// next from the one before, and the last is Workload.
	Chain []Taker `json:"chain,omitempty"`
}

// A Taker is one of a chain of workloads each of which took places from the one
// before.
type Taker struct {
	// Workload is the one that took them, and Code its right: [ReclaimedByQuota],
	// [ReclaimedByShare], [Preempted], or [Consolidated] for the first of those that move.
	Workload string `json:"workload"`
	Code     Code   `json:"code"`
	// Of a reclaim, Queue is the subtree from which they were taken, just below the
	// common ancestor, Resource is what decided, and Subtrees are both as they were
	// then: what they show was so while the solve went on, and need not be so before or
	// after the plan.
	Queue    string `json:"queue,omitzero"`
	Resource string `json:"resource,omitzero"`
	// Class is that of which a quota decided, empty where it was of the resource in all (Q8).
	Class    string    `json:"class,omitzero"`
	Subtrees *Subtrees `json:"subtrees,omitempty"`
}

// Pieces tell what is free but fragmented from what is not free, in the unit of
// Resource: the first that a task of the pod set asks, GPU first, of which no
// node has enough; else the first that it asks.
type Pieces struct {
	Resource string `json:"resource"`
	// InAll is free on the nodes that the queue may use. Eligible of it is on
	// nodes and devices that would take such a task were they empty (P1), Whole of
	// that in devices with room for the task's part: the rest is in pieces.
	InAll    int64 `json:"inAll"`
	Eligible int64 `json:"eligible"`
	Whole    int64 `json:"whole"`
	// Largest is the most of Whole on one node, Node the first such node.
	Largest int64  `json:"largest"`
	Node    string `json:"node,omitzero"`
}

// A Protection is what keeps units of one queue from a workload that waits.
type Protection struct {
	// By is what protects them: their minimum runtime ([preempt.MinRuntimeHolds]), a
	// disruption budget ([preempt.BudgetHolds]), that they are not preemptible
	// ([preempt.NeverPreempted]), or an entitlement: that of the subtree that would give
	// ([preempt.WithinLine], [preempt.Straddling]) or of the queue itself
	// ([preempt.Protected]). Line says, of these three, which: quota or fair share.
	By   preempt.Fate       `json:"by"`
	Line preempt.Protection `json:"line,omitzero"`
	// Queue is theirs, Units how many they are.
	Queue string `json:"queue,omitzero"`
	Units int    `json:"units"`
}

// Subtrees are the victim's and the preemptor's subtree of a reclaim in the
// resource that decided it.
type Subtrees struct {
	Victim    Subtree `json:"victim"`
	Preemptor Subtree `json:"preemptor"`
}

// A Subtree is a queue just below the common ancestor of the victim's queue and the
// preemptor's, with all that is under it. Its ratio is use over entitlement.
type Subtree struct {
	Queue string `json:"queue"`
	// Before and After are its use before and after the change: of the victim's
	// subtree before and after the victim goes, of the preemptor's before and
	// after the preemptor starts.
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// Entitlement is its quota for a reclaim by quota, its fair share for one by fair
	// share; [MaxAmount] where that is unlimited.
	Entitlement int64 `json:"entitlement"`
}

// A PredicateCount says how many nodes a predicate turned away.
type PredicateCount struct {
	// Predicate is the first that failed (P1).
	Predicate placement.Predicate `json:"predicate"`
	// Resource is the resource's name where the predicate is Capacity or
	// Resources; empty elsewhere.
	Resource string `json:"resource,omitzero"`
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
}

// A DomainRoom is what the best domain of a topology level would take of the tasks
// that must be in one (T7).
type DomainRoom struct {
	// Level is the level's name.
	Level string `json:"level"`
	// Domain is the domain's path from the widest level on, such as "b1/r2", or a
	// node's ID; empty is that no domain of the level takes any.
	Domain string `json:"domain,omitzero"`
	// Have is how many tasks it would take, Need how many there are.
	Have int64 `json:"have,omitzero"`
	Need int64 `json:"need,omitzero"`
}

// Nearest is the near miss of a NoNode or ImpossibleNode reason.
type Nearest struct {
	// Node is its ID, Predicate the first that it fails (P1).
	Node      string              `json:"node"`
	Predicate placement.Predicate `json:"predicate"`
	// Resource is as in [PredicateCount].
	Resource string `json:"resource,omitzero"`
	// Have and Need are what the node has and what is asked of it, in the unit
	// of the predicate: devices, bytes of device memory, slots, or Resource's.
	Have int64 `json:"have,omitzero"`
	Need int64 `json:"need,omitzero"`
}
