// Package explain answers questions about a decision that a plan alone does not
// answer: why a workload waits, runs or goes, how a fair share came about, what would
// fit, what would help a workload that waits, when it would start, what a change of the
// state would do, what would go for a workload that comes, and how two plans differ.
//
// It decides nothing by a rule of its own. What it says of the state as it is comes from
// the solver: it reads the solver's data after the decision, and asks the search that
// decides (X1). What it says of a changed state has been found by deciding on that state
// (X3), so that an answer cannot promise what the next plan does not keep.
//
// # The questions
//
// All have one form: a context, an [allot.Decision] or [allot.Snapshot] (WorkloadIn an
// [allot.State]), and what is asked about, mostly by its ID.
//
//	Workload(ctx, decision, id)             why does it wait, run or go?
//	WorkloadIn(ctx, state, id)              the same, for one question about a state
//	Queue(ctx, decision, id)                why is a fair share what it is?
//	Takings(ctx, decision, keep)            why these victims and no others?
//	NewFitter(snapshot).Now(ctx, workload)  would it start? Also WithRoom, Ever, Copies,
//	                                        Why, Ends and Nodes
//	Reclaim(ctx, decision, workload)        which work would go if it were submitted now?
//	Turns(ctx, decision)                    in what order does everything wait?
//	Forecasts(ctx, decision, most)          when would what waits start?
//	WhatHelps(ctx, decision, id, search)    which change, or which two, would start it?
//	WhatIf(ctx, snapshot, changes...)       what would the changes do?
//	Compare(decision, decision)             what is otherwise in the second?
//	Diff(plan, plan)                        what of the second plan is otherwise?
//
// The reasons alone are [allot.Decision.Why].
//
// An ID that the state does not have is an error that wraps [allot.ErrUnknown] and
// names it. A context that ends, ends the answer with its error; it never shapes one.
//
// # The answers
//
// Answers are plain data. Each has a String for people, made from the data alone (X4),
// and comes back from its JSON with the same String. [Difference] and [Consequences],
// which tools exchange, have the strict JSON of a State, with a version in front.
// Enumerations ([Status], [Fate], [Object], [RemedyKind]) have stable texts that a host
// may act on.
//
// # How
//
// Workload, Queue and Takings read what [allot.Decision.View] shows of a decision, and
// WorkloadIn what [allot.State.View] shows of one that is made for it: the engine's world
// (its compiled state) after the last action, and the names in it. The reasons, the order
// of turns and the choice of victims are the engine's own; the choice of victims is known
// of a solve that was asked to trace it. A Fitter asks a probe ([allot.Snapshot.Probe]):
// the version with one workload more, for which the engine proposes what it would do as in
// a solve, and takes all of it back.
//
// Diff sorts what two plans say by workload and compares side by side, by what it
// means: an empty list is no list, an instant is the same in every zone. WhatIf makes
// a version of the snapshot, decides on both and takes the Diff; what is otherwise in
// the state it finds with [allot.Snapshot.Since] and tells field by field, by the form
// of the JSON. Reclaim is a decision with the workload beside the one without it.
//
// Forecasts begins the plan, and asks the engine to play it on: to decide nothing more, and
// to find for each workload that waits where and when it would be promised to start (B10).
//
// WhatHelps tries one kind of change after the other, the cheap ones first: time,
// constraints, minimum, how long it takes, priority and class, other queues, bounds and quotas, the end of
// other work, more nodes. Of an amount it looks for the least: a number that helps, of
// which one less does not, found by trying what is likely and then by halving. Where no
// single quota helps, it raises quotas all along the way from the workload's queue up.
// Where no change helps, it keeps each that it has tried, at its most, and looks for a
// second one beside it; then it makes each less in turn, until none can be. Before a
// decision it asks a [Fitter], which refuses most of what is hopeless in a fraction of the
// time. A bound on the number of decisions ends the search, and Help says so.
//
// # Invariants
//
//   - The same question of the same state has the same answer, bit for bit.
//   - The decision, snapshot or plan that is asked about stays as it is.
//   - An [Explanation] has the actions and reasons of the plan, a [Fit] is what would be
//     decided were the workload alone in its turns.
//   - Every [Remedy] has been decided upon: its Change, given to [allot.Snapshot.With],
//     lets the workload start or stay, and a smaller amount, of any of the changes that
//     it makes together, does not, unless the search was cut short.
//   - Diff(a, b) is empty exactly where the plans say the same, and Diff(b, a) is its
//     mirror.
//
// # Cost
//
// The first question about a decision has it made once more, in full, in the world that
// follows the snapshot, which is not compiled again; so has the first after others were
// decided. Each other one takes time in what runs and waits in the pool, and the victims one
// decision more. WorkloadIn compiles the state and decides once, victims or not, and copies
// nothing: one question costs about what [allot.Solve] does. A Fitter compiles the version
// once, and remembers what it learns.
//
// Diff takes time in the size of the plans. WhatIf and Reclaim take two decisions, in
// full. WhatHelps takes at most as many decisions as it may, 128 if nothing is said.
//
// # Example
//
// Queues vision and speech have a quota of 4 GPUs each. In vision a non-preemptible
// label holds 1 GPU, and a non-preemptible gang of two tasks with 2 GPUs each waits: it
// would need 5 of 4 GPUs (Q2). WhatHelps says that one task less at the start helps,
// or being preemptible, or 1 GPU more of quota, or the end of label: the first
// example below. Rules are cited by number; RULES.md states them.
package explain
