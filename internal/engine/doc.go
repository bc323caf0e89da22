// Package engine decides: numbers in, numbers out. It knows nothing of a State, of a
// name, of a reason's words. The root compiles its objects into a [cluster.World], has it decided
// upon, and gives the outcome its names.
//
// # In
//
// A [cluster.World] has nodes, pools, queues and workloads as dense indices in the order of
// their IDs, so that comparing two indices compares two IDs (O1), and no map can reach
// a decision (S1). Workloads that ask the same share a [cluster.Definition]. Of the objects in a
// [cluster.Pool] each keeps one kind of fact, and has a journal (Mark, Undo): [quota.Tree] what
// queues use and may use, [placement.Index] what is free now and once all that leaves
// has left (S4), [preempt.Evaluator] which work may go for which.
//
// # The flow
//
// [Solve] is five stages, each of which returns before the next begins:
//
//  1. Settle: what runs, leaves and is claimed takes its place and is charged; what
//     has lost its place gives it up (S4, S5, S7).
//  2. Score: what nodes are scored by is told where a strategy asks (P4).
//  3. Divide: the capacity is divided down every tree of queues (F1 to F8).
//  4. Decide: the first in order has its turn and starts, is made room for or waits, until
//     nothing changes (O4, M9). Its numbered steps are in decide.go.
//  5. Close: the plan is the difference of two tables, before and after: match, order,
//     attribute (M11). What a solve remembers of its way may add to it, and forbids
//     nothing.
//
// # The table
//
// A [cluster.Table] says of every task that holds or is given a place where it stands, from the
// settling on: a row is a [cluster.Seat], and a unit of rows goes as one (M6). A row is
//
//	running   → released  (release)   → running again where it was, or elsewhere (reprieve)
//	claimed   → running   (its place came free: S4), or released
//	nothing   → started now, at once or by a claim (start); it has cost nothing yet (M9),
//	            and makes way for what comes before it (withdraw, restart)
//
// and with these steps, which [cluster.Booking] has, their caller charges or releases
// its queue and takes or frees its place: after every one use is what the rows add up to,
// in the tree and in the index. A solve that makes no room pays for a row per task and
// nothing else: the evaluators are told of the units when they are first asked, and so
// are lists by node. In a world that is kept the rows follow the versions, and a journal
// undoes what a decision has done to them.
//
// # Time
//
// Where a pool promises (B3), a workload that is refused may be given a time and places. The promises and
// when what stands is to end are a [placement.Profile] of the pool; whatever looks for places
// finds none that a promise holds, unless it has left by then, the promise yields to it, or
// finds equal places at the same time (B5). Promises that the state has stand before any workload has
// a turn. They are tried earlier then, and when nothing else changes at the end of a
// round; one that moves is a change like others, so that the rounds end when all
// rest (B7).
//
// A workload that stands behind a promise is evicted when the time of the promise comes, even if it is within its
// entitlement (B6). Where it has the better right, by order, priority or entitlement, it would have its places back in
// the same solve, or evict the other for them in the next: two evictions, work lost twice, and nothing gained. There M5
// holds and not B6: it is not evicted, and the promise waits for it, which is told as an overrun. So the promise has a
// time that can be kept, and what runs goes on. Nor is a workload evicted for one beyond its entitlement whose start
// would give a third a right to what ran (M9); that is tried as any start is. A promise whose time has come and whose
// start would give one is put off until something else has ended. In each turn of its workload it is laid as if it were
// not, so that the same is asked again, and as it was if that may still not start (promise_order.go).
//
// What a promise becomes is told beside the actions, in promise_tell.go. [Foresee] lays each workload that
// waits so, and starts none (B10).
//
// # Again and again
//
// An [Incremental] is a world that stays settled and follows the versions of a state.
// It marks every journal, goes the rounds of a solve, tells, and undoes: a decision
// leaves it as it was. There is one loop, with two sources of turns: orders that
// are filled for the solve, and orders that an Incremental keeps between decisions. By
// the latter a bound tells at once which workloads are plainly refused, so that they
// need no turn; where it does not hold ([Incremental.Decide]), the rounds are gone with
// orders that are filled. A [Probe] asks the same functions what they would do with one
// workload more.
//
// # Out
//
// A [cluster.Decision] has the actions in the order in which each is lawful, with places as
// node and devices. Why an action is needed, or a workload waits, is a [cluster.Verdict]: a
// [cluster.Code] and integers.
//
// # Invariants
//
//   - The same world gives the same decision; ranks, not indices, order workloads in a
//     world that is kept.
//   - Nothing of the caller's is modified but the world, which is the engine's.
//   - What an Incremental decides is what a solve from scratch decides, bit for bit.
//   - No action of a decision takes from a workload what none that is entitled gets.
//
// # Cost
//
// For t tasks, n nodes and q queues of some depth about O(t·(depth·log q + log n)).
// Making room adds, per unit that asks for it, the bounds of package preempt, and where
// they do not refuse it a search that is counted and capped (M8). An Incremental takes
// time in what has changed and in what waits and may start.
package engine
