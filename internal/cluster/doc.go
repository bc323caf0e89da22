// Package cluster is what a solve works on, as numbers: the cluster with its pools, queues and
// workloads, the table of which task has which place in it, and what was decided, with the codes of why.
// It decides nothing. Four packages do: settling has what is held take its place, division
// divides the capacity, engine goes through the rounds, and difference makes a plan of what
// they have done.
//
// # What is here
//
//   - [World] is a compiled state: nodes, pools, queues and workloads as dense
//     indices in the order of their IDs, so that comparing two indices compares two IDs (O1),
//     and no map can reach a decision (S1). [Pool], [Definition], [Form], [Work] and [Live]
//     are its parts, from what is written once to what changes at every step.
//   - [Holding] is a task of the state, [Seat] one of the solve: the rows of the [Table]. A unit
//     of rows goes as one (M6); [Commit] is a start, [Taking] what was taken and for which start.
//   - [Booking] has the transitions of the table, and tells package preempt of its units.
//   - [Journal] keeps workloads as they were, so that a decision can be undone. The index and
//     the tree of a pool have journals of their own.
//   - [Decision] is a list of [Action] in the order in which each is lawful; a [Verdict] is why
//     one is needed, or why a workload waits.
//   - [Loop] is what the table and the plan ask of the loop that decides.
//
// # Invariants
//
//   - After every transition what a workload holds per pod set ([Live]) is what its rows add up
//     to. So is, once its caller has charged and placed, the use of every queue in the tree, and
//     what is taken of every node in the index.
//   - A row with no commit stands where its holding stands; one with no origin starts in this
//     solve.
//   - A workload has a Live if and only if it holds something in the state, or has been given
//     something in a world that is kept.
//   - What stands in [Rare] and [Definition] is shared, and not written to, but for what a
//     definition remembers of its refusal.
//   - A memory of something in vain ([Memo]) names the epoch of its pool: it stands until
//     something is freed there, or anything changes.
//
// # Cost
//
// A row is found by its workload, in constant time; a transition costs the rows of one workload.
// Lists by node and by taking ([TableLists]) are made when they are first asked for, and cost
// the rows that there are. To keep a workload in the journal costs its rows, once in a decision.
package cluster
