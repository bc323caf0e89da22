// Package mirror keeps what a cluster looks like to Allot: a Snapshot that follows the
// objects of the API server, batch by batch, by Changes of what is otherwise.
//
// # One direction
//
// A workload is worked out from its objects and from what has been asked for and is not to be
// seen yet ([Order]s under way), and from nothing else. So what was forgotten by a scheduler
// that died is of no harm: its successor sees the objects, and goes on.
//
//	objects (Put, Delete) ─┐
//	                       ├─▶ Update: nouns ─▶ Change ─▶ Snapshot ─▶ Decide ─▶ Adopt ─▶ Orders
//	outcomes (Done)  ──────┘        ▲                                              │
//	                                └────────── asked for, not seen yet ◀──────────┘
//
// Adopt compares the state in which the decision has begun with the one that was decided
// upon: who runs there and is not bound is to be bound, who terminates there and is not
// deleted is to be evicted, who claims is to be nominated. It does not go by kinds of action.
//
// # What stands for what
//
//	a PodGroup and its pods    a Workload "namespace/name", a gang of its minimum
//	any other pod              a Workload "namespace/pods/name" of one task
//	bound, or being bound      Running
//	deleted, or being evicted  Terminating; if all are, the Workload is Ending: pods never come back,
//	                           their controllers make others
//	nominated for a node       Claimed
//	a pod of another scheduler foreign use of its node (S8), and so is whatever was refused
//	a node that is gone        not there, and the pods on it neither, until they are deleted
//
// # Who is refused
//
// What cannot be said ([read.Unsaid]), and what makes the state unsound, is left out, alone,
// and [Mirror.Refused] says why. It is tried again when it changes, and when queues, pools or
// nodes do.
//
// # Devices
//
// The devices of an extended resource are all alike, and the device plugin chooses among
// them; the mirror only keeps count, by giving each pod the lowest free numbers of its node.
// The devices of a ResourceClaim are those that it was allocated.
package mirror
