// Package explain answers questions about a decision that a plan alone does not
// answer: what would help a workload that waits, what a change of the state would do,
// who would pay for a workload that comes, and how two plans differ.
//
// It asks package allot like any other user, and decides nothing by a rule of its
// own: whatever it says of a changed state has been found by deciding on that state
// (X3), so that an answer cannot promise what the next plan does not keep.
//
// # The questions
//
// All have one form: a context, an [allot.Decision] or [allot.Snapshot], and what is
// asked about, mostly by its ID.
//
//	Reclaim(ctx, decision, workload)        who would go if it were submitted now?
//	WhatHelps(ctx, decision, id, search)    which change, or which two, would start it?
//	WhatIf(ctx, snapshot, changes...)       what would the changes do?
//	Diff(plan, plan)                        what of the second plan is otherwise?
//
// What the solver itself knows is asked of the decision and the snapshot, in the same
// form; these answers are types of package allot:
//
//	decision.Explain(ctx, id)               why does it wait, run or go, and against whom?
//	decision.ExplainQueue(ctx, id)          why is a fair share what it is?
//	decision.Why(ctx, id)                   the reasons alone
//	decision.Takings(ctx, keep)             why these victims and no others?
//	snapshot.Fitter().Now(ctx, workload)    would it start? Also WithRoom, Ever, Copies,
//	                                        Why, Ends and Nodes
//
// An ID that the state does not have is an error that wraps [allot.ErrUnknown] and
// names it. A context that ends, ends the answer with its error; it never shapes one.
//
// # The answers
//
// Answers are plain data. Each has a String for people, made from the data alone (X4),
// and comes back from its JSON with the same String. [Difference] and [Consequences],
// which tools exchange, have the strict JSON of a State, with a version in front.
// Enumerations ([Fate], [Object], [RemedyKind]) have stable texts that a host may act on.
//
// # How
//
// Diff sorts what two plans say by workload and compares side by side, by what it
// means: an empty list is no list, an instant is the same in every zone. WhatIf makes
// a version of the snapshot, decides on both and takes the Diff; what is otherwise in
// the state it finds with [allot.Snapshot.Since] and tells field by field, by the form
// of the JSON. Reclaim is a decision with the workload beside the one without it.
//
// WhatHelps tries one kind of change after the other, the cheap ones first: time,
// constraints, minimum, standing, other queues, bounds and quotas, the end of others,
// more nodes. Of an amount it looks for the least: a number that helps, of which one
// less does not, found by what is likely and then by halves. Quotas it raises also all
// along the way from the workload's queue up, where no single one helps; and where no
// change does, it follows those that it has tried, at their most, and looks for a second
// one beside them. Then each is made less in turn, until none can be. Before a decision it asks
// an [allot.Fitter], which refuses most of what is hopeless in a fraction of the time.
// A bound on the number of decisions ends the search, and Help says so.
//
// # Invariants
//
//   - The same question of the same state has the same answer, bit for bit.
//   - The decision, snapshot or plan that is asked about stays as it is.
//   - Every [Remedy] has been decided upon: its Change, given to [allot.Snapshot.With],
//     lets the workload start or stay, and a smaller amount, of any of the changes that
//     it makes together, does not, unless the search was cut short.
//   - Diff(a, b) is empty exactly where the plans say the same, and Diff(b, a) is its
//     mirror.
//
// # Cost
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
