package cluster

import (
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// The core tells why in codes and indices. What they are called, and what a caller is
// told, is for write_reason.go alone (X1).

// A Code says what kind of verdict it is: each has the value of its exported [Code],
// where what it says is told.
type Code uint8

const (
	// NodeLost: the node of the tasks is lost (S7).
	NodeLost Code = iota + 1
	// DeviceLost: a device of the tasks is unhealthy (S7).
	DeviceLost
	// PlaceLost: a claimed place can no longer take its task (S4).
	PlaceLost
	// ClaimBroken: what runs and is claimed is below the minimum (S4, G1).
	ClaimBroken
	// ReclaimedByQuota: another queue is entitled to it by its quota (R1).
	ReclaimedByQuota
	// ReclaimedByShare: another queue is entitled to it by its fair share (R1).
	ReclaimedByShare
	// Preempted: a workload of higher priority takes it (E1).
	Preempted
	// Consolidated: it moves so that another finds a place (C1).
	Consolidated
	// StaleGang: it ran below its minimum for too long (G1).
	StaleGang
	// Grown: tasks above the minimum start (G2).
	Grown
	// ImpossibleNode: a task fits no node of the empty cluster.
	ImpossibleNode
	// ImpossibleGang: the empty cluster takes too few of what must start together.
	ImpossibleGang
	// ImpossibleDomain: the constraints leave no place on the empty cluster (T7).
	ImpossibleDomain
	// ImpossibleQuota: non-preemptible, and larger than the quota (Q2).
	ImpossibleQuota
	// ImpossibleLimit: larger than the limit (Q3).
	ImpossibleLimit
	// NotSubmitted: too few of what must start together were submitted (G1).
	NotSubmitted
	// NotBefore: its time has not come (B1).
	NotBefore
	// Leaving: tasks of its own are still leaving (S5).
	Leaving
	// ClaimHeld: it waits for places that it claims (S4).
	ClaimHeld
	// MaxWorkloads: the queue runs as many workloads as it may (Q10).
	MaxWorkloads
	// OverLimit: the limit leaves too little (Q3).
	OverLimit
	// OverBorrowingLimit: quota and borrowing limit leave too little (Q3).
	OverBorrowingLimit
	// NoQuota: the quota leaves non-preemptible work too little (Q2).
	NoQuota
	// KeptFromLending: the rest is kept from lending (Q5).
	KeptFromLending
	// NoCapacity: the nodes have too little free in all.
	NoCapacity
	// NoNode: no node takes a task now.
	NoNode
	// GangShort: not all that must start together find a place.
	GangShort
	// NoDomain: the constraints leave no place now (T7).
	NoDomain
	// WaitsForLeaving: it would fit if what leaves had left (S4).
	WaitsForLeaving
	// Exposes: its start would give another a right to what ran (M9).
	Exposes
	// TakenBack: another would reclaim at once what it would start with by preempting protected work (E7, M2).
	TakenBack
	// OverLine: it is beyond its entitlement, and starts only in what is free (R1).
	OverLine
	// GuaranteeCut: the quota would let it in, but more is guaranteed than there is (F2, F13).
	GuaranteeCut
	// ProtectedUntil: a minimum runtime protects victims (M1).
	ProtectedUntil
	// BudgetSpent: a disruption budget or the cap of evictions is spent (M7).
	BudgetSpent
	// SaturationTurns: taking them would leave its subtree as saturated as theirs (R5).
	SaturationTurns
	// LargerThanShare: even with all of lower priority gone it would be beyond its share (E7).
	LargerThanShare
	// VictimsProtected: there are victims, and entitlements or their class protect them (R8, Q2).
	VictimsProtected
	// VictimsShort: all that may be taken is not enough.
	VictimsShort
	// Outranked: a workload that stands before it lets nothing pass (O4).
	Outranked
	// Overtaken: younger ones of its queue hold places while the gang waits (G1).
	Overtaken
	// ReservedForOther: what it would find is promised to another (B4).
	ReservedForOther
	// WaitsForReservation: it has been promised a time and places (B4).
	WaitsForReservation
	// TooLateToBackfill: it would end after what is promised to another begins (B5).
	TooLateToBackfill
	// DurationUnknown: it is not known when it would end (B5).
	DurationUnknown
	// OverHeld: what it might be promised would keep too much idle, or for too long (B4).
	OverHeld
	// SearchCut: the search was cut (G3, M3).
	SearchCut
	// Overruns: what was to have left by the time that was promised has not (B7).
	Overruns
	// PlaceGone: a node or device that was promised is lost (B7).
	PlaceGone
	// Yields: the promise gives way to another workload (B4).
	Yields
	// PromiseChanged: something else has changed since it was promised (B7); with Need it is that no more are promised.
	PromiseChanged
	// ReservationBegan: what it stood on has been reserved for others (B9).
	ReservationBegan
	// Behind: it had its place behind another workload, which takes it (B6, B9).
	Behind
)

// An Kind says what an action does: each has the value of its exported
// [ActionKind].
type Kind uint8

const (
	// Start: it starts as a whole.
	Start Kind = iota + 1
	// Resize: it grows by some tasks.
	Resize
	// Displace: tasks have lost their place.
	Displace
	// Unclaim: it gives up claimed places.
	Unclaim
	// Evict: all that it has goes.
	Evict
	// Shrink: some tasks above its minimum go.
	Shrink
	// Move: tasks go elsewhere.
	Move
)

// A Verdict is why a workload waits or an action was needed, in the core's terms.
// Every one begins with [NewVerdict], as an index that is not told is none and not 0.
type Verdict struct {
	// Code is the kind; 0 is that there is nothing to tell.
	Code Code
	Form int16
	// Pool is the one of the queue, the resource, the definition and the positions.
	Pool            int32
	Queue, Resource int32
	// Set is a pod set of the form that Definition defines.
	Definition, Set int32
	Workload        int32
	Node            int32 // by State.Nodes
	Have, Need      int64
	// Counts are nodes by predicate, Nearest is the one that lacks least and Pieces
	// how what is free lies; placement's resources and positions are meant. Counts and
	// Pieces are shared, and are not written to.
	Counts  []placement.Count
	Nearest placement.Miss
	Pieces  *placement.Pieces
	// Reservation is, by State.Reservations, what people have reserved.
	Reservation int32
	// Best are the best domains by level, the preferred level first.
	Best []gang.Best
	// Until is when the first of the protections ends, in microseconds; negative or
	// MaxInt64 is never.
	Until int64
	// Reclaim has the subtrees of a reclaim; nil is none.
	Reclaim *preempt.Justification
	// Shields are which units are protected by what, the most first.
	Shields []preempt.Shield
	Shield  *ShieldQuestion // what they depend on; nil once they are told
	// Chain is which workloads took the places one from the other, where they are several.
	Chain []Taker
}

// A Taker is one of a chain of workloads that took places from each other.
type Taker struct {
	Workload int32
	Code     Code
	// Reclaim has the subtrees of a reclaim in Pool; nil is none.
	Pool    int32
	Reclaim *preempt.Justification
}

// NewVerdict is one that tells of no more than a form in a pool.
func NewVerdict(c Code, form int16, pool int32) Verdict {
	return Verdict{
		Code: c, Form: form, Pool: pool, Queue: None, Resource: None, Definition: None, Set: None,
		Workload: None, Node: None, Reservation: None, Nearest: placement.Miss{Node: None, Resource: None}, Until: None,
	}
}

// Counting is the verdict with two counts.
func (v Verdict) Counting(have, need int64) Verdict {
	v.Have, v.Need = have, need
	return v
}

// OfSet is the verdict about a pod set of a definition.
func (v Verdict) OfSet(definition int32, set int) Verdict {
	v.Definition, v.Set = definition, int32(set)
	return v
}

// NewOverLine is a verdict about an entitlement that leaves so much.
func NewOverLine(pool int32, c Code, at int16, q, resource int32, left, need int64) Verdict {
	v := NewVerdict(c, at, pool).Counting(max(0, left), need)
	v.Queue, v.Resource = q, resource
	return v
}

// TellNoNode has the verdict count the nodes by predicate.
func TellNoNode(v Verdict, rejection *placement.Rejection) Verdict {
	v.Counts, v.Nearest = rejection.Counts, rejection.Nearest
	return v
}

// TellKeptApart has the verdict be that the constraints leave no place. What it counts is what
// the first constraint keeps together that stands in the way alone.
func TellKeptApart(v Verdict, best []gang.Best, found gang.Verdict) Verdict {
	v = v.Counting(int64(found.Placed), int64(found.Needed))
	if v.Best = best; len(best) > 0 {
		widest := best[len(best)-1]
		v.Have, v.Need = int64(widest.Tasks), int64(widest.Needed)
	}
	return v
}

// A ShieldQuestion is what that depends on: the preemptor without what starts it, the way
// that was refused, and what it was short of.
type ShieldQuestion struct {
	Preemptor preempt.Preemptor
	Mode      preempt.Mode
	Short     []int32
	Takeable  int
}
