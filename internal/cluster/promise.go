package cluster

import "math"

// Never is the time of what has no known end, and the duration of what has no end.
const Never = math.MaxInt64

// Times are how long a workload takes, in microseconds (B1). Those that take unlike times ask
// unlike things, where anything is promised.
type Times struct {
	// Duration is how long it is expected to run, at most its Limit; Limit is after how long
	// the host ends it. Never is not known, and no limit. Of fixed work the duration is that of
	// the fewest tasks that start together.
	Duration, Limit int64
	// Fixed: its tasks do together what is left of its work, which is the Rest in
	// task-microseconds; see [Times.Lasts] and [Joint].
	Fixed bool
	Rest  int64
	// Least is for how long it is content to run, where it is cut to fit a hole; 0 is that it
	// never is.
	Least int64
}

// Unknown are the times of what nothing is known of.
var Unknown = Times{Duration: Never, Limit: Never}

// A Reserve says for which work a pool keeps places free (B3, B4); the zero Reserve is for none.
// Times are in microseconds.
type Reserve struct {
	// Depth is how many promises there are at most; 0 promises nothing.
	Depth int
	// GangsOnly promises to gangs alone, FromPriority to work of this priority or a higher
	// one; After is for how long it must have waited.
	GangsOnly    bool
	FromPriority int32
	After        int64
	// MaxPromises is how many the workloads of one queue have at most; 0 is no bound.
	MaxPromises int
	// MaxHeld is how much of the pool's devices promises may keep idle, in milli, MaxHold
	// for how long.
	MaxHeld, MaxHold int64
	// ChargeHeld has what promises keep idle be told.
	ChargeHeld bool
	// Gather has places be kept free for one workload for which no time is known (B8).
	Gather bool
	// RatherWait: a workload with a promise at most so far away makes no room.
	RatherWait int64
	// TrustDurations judges what may pass by its expected duration too.
	TrustDurations bool
	// Evictable lets what is preemptible take what is promised, behind that.
	Evictable bool
	// Horizon and Resolution are those of the profile (B2).
	Horizon, Resolution int64
	// Grace is for how long past its limit what runs takes to end.
	Grace int64
}

// A Promise is a time and places that a waiting workload has been given to start at (B4,
// B7).
type Promise struct {
	At       int64
	Entitled bool // it was within its entitlement
	Form     int16
	// Tasks are its tasks with their places, by pod set; the node is none of a place that is
	// not there any more.
	Tasks []TaskPlace
	// WaitsFor are the workloads without whose end it could not begin then, by ID. Made is when this promise
	// was made, First the time that was promised first.
	WaitsFor    []int32
	Made, First int64
	// Gathers: its time is not known, and At Never (B8); HeldSince is since when.
	Gathers   bool
	HeldSince int64
}

// A Change is what a plan does to a promise: each has the value of its exported
// [PromiseChange].
type Change uint8

const (
	// Kept: it stands as it was.
	Kept Change = iota
	// Made: the workload had none.
	Made
	// Earlier: it starts earlier than was promised.
	Earlier
	// Moved: it has other places at the same time.
	Moved
	// Later: it starts later.
	Later
	// Withdrawn: there is none any more.
	Withdrawn
)

// A Reservation is a promise as it stands after the plan, or one that is withdrawn.
type Reservation struct {
	Work    int32
	Change  Change
	Cause   *Verdict // of what is later or withdrawn
	Promise Promise
	// Held is by plain resource of its pool what of its places is not in use now, where that is
	// charged.
	Held []int64
}
