// Package quota keeps the use of a tree of queues against their quotas and
// limits, and says whether a request may start.
//
// # Rules
//
// Those of RULES.md, in the root of the repository, that a tree of queues decides:
// the defaults of quotas (Q1); non-preemptible work stays within quota (Q2), all
// work within limit and borrowing limit (Q3), in its queue and every queue above; a
// lending limit keeps a part of a quota from others (Q5); the figures that are
// reported (Q6); over-subscription is legal (Q7); questions of availability (Q9);
// caps on counts such as running workloads (Q10). Quotas per device model or node
// class (Q8) are further resources to this package: the caller charges both, and says that
// of these a quota binds only where it is given.
//
// Sources: quotas that bind non-preemptible work only are those of NVIDIA OSMO
// and Run:ai, lending limits and availability those of Kueue.
//
// # A worked example
//
// Two queues share 8 GPUs, with a quota of 4 each; b has a lending limit of 1.
// a runs 4 that are non-preemptible, b nothing. More such work would exceed a's
// quota: no (Q2). Preemptible work may borrow: of the 4 that are free, b keeps
// 4 − 1 = 3, so one more GPU may start in a and not two (Q5). When b itself runs
// 2, it keeps only 1; 2 are free, and a may still take one. See
// [Example].
//
// # Invariants
//
//   - The use of a queue is the sum of what was charged to the leaves below it
//     and not released (S7). Charge refuses nothing for a bound, as use in the
//     input may exceed every bound; Check then says no until it has gone down.
//   - A call that returns an error has changed nothing. No sum wraps: beyond
//     [MaxSum] is [ErrOverflow].
//   - [Tree.Check] is ok if and only if [Tree.Shortfalls] is empty; its answer
//     does not depend on the order of earlier calls.
//   - [Tree.Undo] restores every answer of the tree to what it was at the mark.
//   - What [Tree.Never] refuses, Check refuses in every state.
//   - Starts that Check allows never take what another queue keeps; see Q5's
//     exception for more kept than there is at [Tree.Check].
//
// # Costs
//
// Dense slices indexed by queue × resource, 40 B of bounds and 24 B of state per
// cell, no pointer and no map. Check, Never, Charge and Release are O(depth ×
// amounts) and allocate nothing; Undo is O(depth) per change taken back;
// [Tree.AppendFigures] is linear but for sorting lenders.
package quota
