// Package allot schedules GPU clusters: it decides which waiting work starts
// where, and says why the rest waits.
//
// A [State] goes in, the cluster and its work as plain data; a [Plan] comes
// out, the actions to take and a reason for everything that waits. Nothing is
// read beside the state, nothing is kept between calls, and the same state
// gives the same plan, bit for bit, on every machine (SPEC S1). Allot starts
// nothing itself: the host carries the plan out and comes back with the next
// state.
//
// # The calls
//
//   - [Solve] decides. Its only error is that the state is malformed; then it
//     names every fault, each with its path, as [Check] does alone.
//   - [Verify] finds out whether a plan is lawful for a state, from the rules
//     and without the solver's code. It is for tests, simulations and hosts that
//     would rather ask twice.
//   - [Apply] gives the state in which a plan has been carried out, [Begin] that
//     in which it has been set going, [ApplySome] that in which a part of it has.
//   - [State] and [Plan] have a strict, versioned JSON form, and a plan a text
//     form ([Plan.Text]).
//
// # What is scheduled
//
// Nodes with GPUs of several models, in pools. Each pool has a [Policy] and a
// tree of [Queue]s with quotas, limits and weights per resource. A [Workload]
// sits in a leaf queue and asks for pod sets of identical tasks: whole GPUs,
// fractions, device memory, and any other resource by name, on nodes that its
// selector matches and whose taints it tolerates. What must run together starts
// together or not at all.
//
// The knobs of a Policy are orthogonal, and their zero values are the sensible
// thing. Five published schedulers are values of it: [OSMO], [RunAI], [RunAI20],
// [DeterminedFairShare] and [DeterminedPriority].
//
// # How it decides
//
// Every queue is entitled to its quota and, of what the others leave, to a part
// in proportion to its weight: its fair share (package fairshare). The turn is
// of the queue that is furthest below what it is entitled to, and in it of the
// workload that comes first by priority and age (package queue). It starts if
// quota and limits admit it (package quota) and if everything it must start at
// once (package gang) finds a place (package placement). Then it is the next
// one's turn, until nothing that waits can start.
//
// Rules are cited by their numbers (Q2, F5, …) throughout; README.md says in a
// few lines what the letters stand for, ARCHITECTURE.md how the code is laid
// out.
//
// # Invariants
//
//   - The plan does not depend on the order of any list of the state (S3), and
//     renaming things in the same alphabetical order renames the plan.
//   - After every prefix of its actions the cluster is lawful: a host can carry
//     them out in order.
//   - A plan applied leaves nothing to do: solving again gives no action, and
//     the same reasons.
//   - Whatever waits has a reason that is true after the plan, with its numbers.
//   - Amounts are int64 and exact; what would overflow is a fault of the state.
//
// # Cost
//
// For t tasks, n nodes and q queues about O(t·(depth·log q + log n)), beside
// checking and sorting the state. Identical requests are compiled once, and what
// found no place is not searched for again while nothing is freed.
//
// # Example
//
// The queues speech and vision have a quota of 2 GPUs each, on one node of 4.
// In speech wait notebook (1 GPU) and serve (2), both non-preemptible, in
// vision train (3), preemptible. Both queues have used nothing yet; notebook
// starts first, as it leaves its queue within its quota and train would not.
// serve would bring the non-preemptible use of speech to 3, beyond the quota:
// it waits (Q2), though there is room. train is preemptible and may borrow what
// nobody more entitled can use (Q4): it starts on the other three GPUs.
package allot
