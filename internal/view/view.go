package view

import (
	"context"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
)

// Names are the names of what is in a world, by the indices that it has there. Pools,
// queues of a pool, its resources and its definitions are numbered as in [cluster.Pool].
type Names interface {
	// Workload is the index of the workload with the ID, WorkloadID the ID by index.
	Workload(id string) (i int32, known bool)
	WorkloadID(i int32) string
	// Queue is where the queue with the ID stands; the empty ID is that of the implicit
	// queue. QueueID is the way back.
	Queue(id string) (at cluster.Leaf, known bool)
	QueueID(pool, queue int32) string
	PoolID(pool int32) string
	// LowerFirst says of a pool that lower numbers are the higher priority, which the
	// engine knows by the opposite sign.
	LowerFirst(pool int32) bool
	// Resource is the name of a plain resource of a pool, ResourceOf its index by name, −1 where
	// nothing of the pool has, governs or requests it.
	Resource(pool, resource int32) string
	// Class is the class of nodes or model of a resource that is a quota's of one alone
	// (Q8), "" elsewhere.
	Class(pool, resource int32) string
	ResourceOf(pool int32, name string) int32
	// NodeID is the ID of a node of the world, PodSets the names of a definition's sets.
	NodeID(n int32) string
	PodSets(pool, definition int32) []string
	// Instant is the time of so many microseconds; zero where there is none.
	Instant(micros int64) time.Time
}

// A Decision is what was decided, in full: the world after the last action.
type Decision[Reason, Share any] interface {
	Names
	World() *cluster.World
	Outcome() *cluster.Decision
	// Turns are those that wait in a pool, in the order of their turns.
	Turns(pool int32) []int32
	// Holders are those that hold something on the nodes of a pool.
	Holders(pool int32) *engine.Holders
	// Reasons are why workload i waits (X1); none if it does not.
	Reasons(i int32) ([]Reason, error)
	// Shares are the figures of a queue in some resources (Q6), Told the resources of
	// which a plan tells figures, in its order.
	Shares(of cluster.Leaf, resources []int32) []Share
	Told(pool int32) []int32
}

// Victims are workloads of which it is to be known how they were chosen; the zero Victims
// ask about none.
type Victims struct {
	IDs []string
	// Near is how many other candidates are told before and after each that was chosen.
	Near int
}

// Ahead is how many of those that wait in a pool are looked at in a forecast, at most.
type Ahead struct{ Most int }

// A Probe is a version of a snapshot in which one workload after the other is asked
// about. It is not shared.
type Probe[Workload, Reason any] interface {
	Names
	World() *cluster.World
	// Pose checks a workload that holds no places, and asks about it: [Probe.Asked]
	// answers, until its Dismiss.
	Pose(ctx context.Context, k Workload) error
	Asked() *engine.Probe
	// Reasons are why what is asked about would wait (X1).
	Reasons() ([]Reason, error)
}
