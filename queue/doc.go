// Package queue decides which workload is next: it keeps the pending workloads of a
// pool's leaf queues and names the one that goes next (RULES.md, in the
// root of the repository: O1–O5).
//
// # Rule
//
// O1 orders the workloads of one queue ([Item.Compare]): higher priority, then
// (elastic) below its minimum before at it before above it, then earlier submit
// time, then ID.
//
// O2 orders sibling queues, at every level from the root down, each by its best
// pending workload:
//
//	(a) the class with the workload counted in: within quota, else within fair
//	    share, else beyond; the worst of the resources that it requests
//	(b) the higher over-quota priority, the highest of those resources
//	(c) a queue that would use what it has no share of comes last
//	(d) the lower saturation with the workload counted in
//	(e) the lower saturation without it
//	(f) the smaller fair share, resource by resource in the order of indices
//	(g) the older queue
//	(h) the lower index
//
// Saturation is the largest use/fair share over all divided resources (F9). A
// parent competes with its own use and shares and with the workload that is
// best among its children. A resource within quota makes no class, even where
// the quota is above the fair share (F12), and resources that are not divided
// count for nothing. (c) only ever decides between queues whose saturation is
// infinite: to use what one has no share of is to be saturated without end.
//
// The other values of [Order] are other lists of such comparisons:
//
//	FairShare      (a) … (h)
//	PriorityFirst  priority of the workload, then (a) … (h)
//	Global         O1 across all queues, then (h)
//	Deprived       use/quota, the largest over the requested resources,
//	               where a quota of 0 is ∞; then (g), (h)
//	ShareThenAge   (a), then O1 from the submit time on, then (h)
//
// Sources: O2 is Run:ai's rule (quota first, then fair share, then beyond) with
// KAI-Scheduler's tie-breaks; Deprived is Run:AI's of 2020; Global and
// ShareThenAge are Determined's.
//
// # Use
//
// [Queues.Fill] the leaves, then take turns: [Queues.Best]; [Queues.Remove] it;
// if it started, charge the tree and [Queues.Touch] the leaf. What comes back is
// [Queues.Push]ed. What a blocked workload does to those behind it (O4,
// [Queueing], [OwnQueueing]) is the caller's to say; [Queues.Drop] ends a leaf's part.
//
// # Invariants
//
//   - Every Order is a total order over the waiting queues of a sibling group,
//     and O1 one over items: the outcome depends on nothing but what is
//     compared, never on the order of calls that led there.
//   - Best is what sorting everything from scratch would put first, provided that
//     every change of use was followed by a Touch.
//   - Ratios are compared exactly; there are no floats.
//   - A leaf holds an item at most once.
//
// # Complexity
//
// Each sibling group is a winner tree over figures that are kept per queue, so a
// change in one leaf weighs the queues of its path anew and no others: O(depth ×
// log siblings) comparisons for Touch and for a new first item, O(1) for Best.
// This is done once a turn, when Best is asked or another leaf changes, however
// often the leaf changed in between. Fill is linear where items come sorted;
// Push and Remove are O(log items), Remove of a leaf's first item from Fill
// O(1). Nothing allocates in a turn but a Push that needs a new B-tree node, and
// the first Remove out of turn in a leaf.
//
// Pending work lies in two places, a sorted run for what comes in bulk and a
// B-tree (google/btree) for what comes later; the comment on the type pending
// says why.
//
// # Worked example
//
// One GPU at a time comes free, and three queues have one workload of one GPU
// each waiting: a uses 2 with quota 0 and share 2, b uses 2 with quota 1 and
// share 3, c uses 8 with quota 9. With it c is within its quota (9 of 9), b
// within its fair share (3 of 3), a beyond both (3 of 2): the order is c, b, a,
// whatever the priorities of the three workloads (O3).
package queue
