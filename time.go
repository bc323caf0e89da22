package allot

import (
	"time"

	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// The objects of time: how long work takes, what is promised to it, and what people
// have reserved (B1–B12). Durations are whole seconds, as a host's own are.

// Durations are what a queue or a policy says of the durations of work that does not
// say them itself (B1), in seconds of at least 1. Absent is inherited: a queue's from
// its parent, the uppermost's from the policy, whose absent is none.
type Durations struct {
	// Default is the expected duration, DefaultLimit the hard limit, of work that gives
	// none; Unlimited is none, whatever is said above.
	Default      quota.Bound `json:"default,omitzero"`
	DefaultLimit quota.Bound `json:"defaultLimit,omitzero"`
	// Max is the largest limit: a larger one, and none at all, is cut to it. The least of
	// those given from the queue up to the policy holds; Unlimited bounds nothing.
	Max quota.Bound `json:"max,omitzero"`
}

// A Deadline says until when a workload is of use (B11). It is told when it can no longer
// be met, or is not by the start that the workload is promised, and goes before others under
// [Policy.DeadlinesFirst]; nothing is dropped for it.
// The zero Deadline is none.
type Deadline struct {
	// Start is the latest start, End the latest end; zero is none.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// PromiseRule says by which rule a promise was made.
type PromiseRule uint8

const (
	// ByBackfill promises a time and places, as predicted ends allow (B3).
	ByBackfill PromiseRule = iota
	// ByGathering promises places without a time, as ends are unknown (B8).
	ByGathering
)

// A Promise is a time and places that a waiting workload has been given to start at
// (B4, B7). Begin and Apply write it into the state, so that the next solve keeps it.
type Promise struct {
	// At is when it starts at the latest; zero is not known (B8).
	At time.Time `json:"at,omitzero"`
	// Rule is the rule that made it.
	Rule PromiseRule `json:"rule,omitzero"`
	// Entitled: it was made within the entitlement of its queue; else it yields to one that is
	// (B4).
	Entitled bool `json:"entitled,omitzero"`
	// Form is the form that starts (G5), Tasks are its tasks with their nodes and devices.
	Form  int         `json:"form,omitzero"`
	Tasks []Placement `json:"tasks,omitempty"`
	// WaitsFor are the workloads, by ID, without whose end it could not begin then: those that have
	// its places, or what its queue may use, or are promised these before it. What they wait for in
	// turn is not told again.
	WaitsFor []string `json:"waitsFor,omitempty"`
	// Made is when this promise was made, First the time that the workload was first
	// promised: At, as it was then; zero where none has been known yet.
	Made  time.Time `json:"made,omitzero"`
	First time.Time `json:"first,omitzero"`
}

// PromiseChange is what a plan does to a promise (B7).
type PromiseChange uint8

const (
	// PromiseKept: it stands as it was.
	PromiseKept PromiseChange = iota
	// PromiseMade: the workload had none.
	PromiseMade
	// PromiseEarlier: it starts earlier than was promised.
	PromiseEarlier
	// PromiseMoved: it has other places at the same time.
	PromiseMoved
	// PromiseLater: it starts later, and the cause says why.
	PromiseLater
	// PromiseWithdrawn: it has none any more, and the cause says why.
	PromiseWithdrawn
)

// A PlannedReservation is a promise as it stands after the plan, or the one that was
// withdrawn.
type PlannedReservation struct {
	// Workload is whose it is; Queue is where it is charged.
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Change is what became of it, Cause why, for those made later or withdrawn; the zero
	// Reason otherwise.
	Change PromiseChange `json:"change,omitzero"`
	Cause  Reason        `json:"cause,omitzero"`
	// NotBefore is from when on the workload asks for places again, for a gathering that lets
	// go (B8): Apply and Begin write it into the workload. Zero changes nothing.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Held is what of its places is not in use now, by resource in the resource's unit, where the
	// policy charges it ([ReservePolicy.ChargeHeld]). What several promises hold counts for the one that
	// begins first.
	Held map[string]int64 `json:"held,omitempty"`
	// Promise is what is promised.
	Promise Promise `json:"promise,omitzero"`
}

// A ReservePolicy says for which work a pool keeps places free, and what may use them until
// then (B2–B8). The zero ReservePolicy keeps none.
//
// So that large gangs start some day under [RunAI] or [OSMO], turn on
//
//	policy.Reserve = allot.ReservePolicy{Backfill: queue.EASY, Depth: 10, GangsOnly: true, TrustDurations: true}
//
// and have users say how long their work takes (Workload.Duration), or queues what is usual
// (Durations.Default): work without a duration passes no promise. The first ten gangs have a time and
// places kept. A promise of what a queue borrows yields to work within the quota of another (B4). A TimeLimit
// that the host enforces is surer than a duration: with limits TrustDurations may be left out. A gang of which tasks
// run is promised nothing for those that it lacks.
//
// Where few gangs are large and wait for days behind the others, give them a priority of their own, and promise from
// that up; where durations are users' guesses, Evictable serves better than trust in them, as what passes then never
// keeps a promise from coming earlier, and is evicted when its time has come:
//
//	policy.Reserve = allot.ReservePolicy{Backfill: queue.EASY, Depth: 10, FromPriority: quota.Of(1), Evictable: true}
type ReservePolicy struct {
	// Backfill is how work may pass those that wait (B3); zero promises nothing.
	Backfill queue.Backfill `json:"backfill,omitzero"`
	// Depth is how many promises there are at most (B4): 0 is 1 under [queue.EASY] and
	// 100 under [queue.Conservative].
	Depth int `json:"depth,omitzero"`
	// GangsOnly reserves for gangs alone, FromPriority for workloads of this priority or
	// higher; absent is any. Under LowerFirst the lower number is the higher.
	GangsOnly    bool        `json:"gangsOnly,omitzero"`
	FromPriority quota.Bound `json:"fromPriority,omitzero"`
	// After is for how many seconds a workload has waited, since its WaitingSince, before
	// it is promised anything; absent is 0.
	After quota.Bound `json:"after,omitzero"`
	// MaxPromises is how many promises the workloads of one queue have at most (B4); 0 is
	// no bound. Of what has been promised, the last beyond it, and beyond Depth, are withdrawn.
	MaxPromises int `json:"maxPromises,omitzero"`
	// MaxHeldPercent is what promises may keep idle, in percent of the pool's devices;
	// MaxHold for how many seconds. Both are asked of a promise when it is made, and not
	// again while it is kept (B7). Absent bounds nothing.
	MaxHeldPercent quota.Bound `json:"maxHeldPercent,omitzero"`
	MaxHold        quota.Bound `json:"maxHold,omitzero"`
	// ChargeHeld: what promises keep idle counts as used by their queues (B4): the plan tells
	// how much that is, in [PlannedReservation.Held], and the host adds it to the history
	// that it keeps (B12).
	ChargeHeld bool `json:"chargeHeld,omitzero"`
	// RatherWait: a workload whose promise is at most so many seconds away makes no room
	// while it stands (B4); absent is 0.
	RatherWait quota.Bound `json:"ratherWait,omitzero"`
	// TrustDurations: what may pass is judged by its expected duration and not only by its
	// hard limit (B5).
	TrustDurations bool `json:"trustDurations,omitzero"`
	// Evictable lets preemptible work take promised places that it has not left by then, Behind
	// the workload that they are promised to, for which it goes when the time has come (B6). Work
	// within its entitlement does not go for a workload beyond its own, from which it would reclaim
	// its places in the same plan (M5).
	Evictable bool `json:"evictable,omitzero"`
	// Gather keeps places free for one workload of the pool for which no time is known, as
	// ends are unknown (B8): those at which least stands, of its GPUs no more than MaxHeldPercent
	// allows. After MaxHold they are let go for as long as they were held.
	Gather bool `json:"gather,omitzero"`
	// Horizon is how many seconds ahead promises are sought (B2); absent is without bound.
	// Resolution is the unit of seconds to whose multiples predicted ends are rounded up;
	// absent and 0 do not round.
	Horizon    quota.Bound `json:"horizon,omitzero"`
	Resolution quota.Bound `json:"resolution,omitzero"`
}

// A Reservation sets nodes or devices aside for a time (B9): for work of a queue, for
// workloads by name, or for none, which is maintenance. From From until Until only its
// members run there; before, others start there only if they will have left by From.
// Reservations that come again are the host's to list one by one, and one that has passed
// says nothing.
type Reservation struct {
	// ID is unique among the reservations and not empty.
	ID string `json:"id"`
	// Nodes and Domains are what is set aside, at least one of them.
	Nodes   []ReservedNode   `json:"nodes,omitempty"`
	Domains []ReservedDomain `json:"domains,omitempty"`
	// From is when it begins, Until when it ends, which is later. Zero is at once, and
	// for ever.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Queue is the queue whose work, and that of those below it, are its members; Workloads
	// name others, which need not be there. Neither is maintenance: its nodes are no
	// capacity while it lasts (F1).
	Queue     string   `json:"queue,omitzero"`
	Workloads []string `json:"workloads,omitempty"`
	// Evict: at From what is no member and preemptible is evicted, and until then may start
	// there whatever its end is; else it is waited for. Drain evicts also what is not
	// preemptible.
	Evict bool `json:"evict,omitzero"`
	Drain bool `json:"drain,omitzero"`
	// Lend lets preemptible work of others run there, and start whatever its end is, behind
	// the members: it goes when one of them wants the place, and not before (B9).
	Lend bool `json:"lend,omitzero"`
}

// A ReservedNode is a node, or some devices of it, that is set aside.
type ReservedNode struct {
	// Node is its ID, Devices are the indices of its devices; none is the whole node.
	Node    string `json:"node"`
	Devices []int  `json:"devices,omitempty"`
}

// A ReservedDomain is an amount of devices that is set aside in a domain, or in each domain of a
// level: healthy devices without foreign use, of nodes of the queue's pool that are not cordoned, the
// first by pool, node and index that no other reservation has at the same time. Reservations choose in
// the order of their IDs. Work that comes and goes does not change the choice; a node that comes,
// goes, is cordoned or fails may, and so may another reservation: then other devices are set aside. A node of which all healthy
// devices are chosen is set aside whole, where no other reservation has something of it. [Reserved]
// lists them; where a domain has fewer, these are, and [Plan.Warnings] say so.
type ReservedDomain struct {
	// Level is the name of one of [State.Levels], or [NodeLevel].
	Level string `json:"level"`
	// Domain is the name of a domain of it, or the ID of a node; empty is each by itself, and so
	// is each of several of that name in different wider ones.
	Domain string `json:"domain,omitzero"`
	// Devices is how many; it must be positive.
	Devices int `json:"devices"`
}
