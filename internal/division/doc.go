// Package division divides the capacity of every pool among its queues (F1 to F8), and has nodes
// be scored by what work they are kept for (P4).
//
// [DivideShares] adds up what the workloads of each leaf ask at most (F1): in each form that
// could start on empty nodes, or in which they hold something. It has package fairshare divide
// each resource down the tree, and computes the entitlements by which package preempt tells what
// each queue may defend (R1, R8): quota, what is left of it where more is guaranteed than there is (F13),
// and share. Amounts of a class have shares of their own (Q8). [Dividing.ScorePools] tallies the
// mix that a strategy asks for.
//
// A world that is kept adds and takes out workloads by [AddDemand], and divides a pool anew
// ([Dividing.DividePool]) where that has changed something.
//
// # Invariants
//
//   - Demand is a sum, so that a workload that leaves is taken out exactly.
//   - It comes after settling: what non-preemptible work holds is part of demand.
//   - Entitlements are computed before anything is judged by them, and again only with the shares.
//
// # Cost
//
// O(w) for w workloads, and what package fairshare takes for the queues of a pool and each of its
// resources. A division anew costs the queues, not the workloads.
package division
