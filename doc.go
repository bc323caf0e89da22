// Package allot schedules GPU clusters: it decides which waiting work starts
// where, and says why the rest waits.
//
// A [State] goes in, the cluster and its work as plain data; a [Plan] comes
// out, the actions to take and a reason for everything that waits. Allot reads
// nothing beside the state, keeps nothing between calls but what is in a
// [Snapshot], and starts nothing itself: the host, the program that uses this
// package, carries the plan out and comes back with the next state.
//
// # The flow
//
//	State → check → compile → share → pop the best → place, or make room → Plan
//	                             └──── until nothing more can change ────┘
//
// Every queue is entitled to its quota and, of what the others leave, to a part
// in proportion to its weight; the two together are its fair share (package
// fairshare). The queue that is furthest below what it is entitled to has the next
// turn, and in it the workload that comes first by priority and age (package
// queue). The workload starts if quota and limits admit it (package quota) and
// everything that it must start at once (package gang) finds a place (package
// placement). If it finds none, or what it is entitled to is in use by others, room
// is made for it. Then the next workload has its turn. Each of these packages is
// useful alone and knows nothing of this one.
//
// # Making room
//
// Room is made in three ways, each of them a knob of the policy (package
// preempt). Consolidation only moves what runs. By reclaim a queue takes back
// what its quota or its fair share entitles it to, from queues that use more
// than theirs. By preemption a workload displaces work of lower priority in its
// queue. Whatever the way, no running work is touched unless the workload for which
// that is done starts in the same plan (M2). What is taken is preemptible and has run
// for its minimum time (M1), and it is as little as possible: from the most saturated
// queue first, and there the lowest in priority and the newest (M3). What finds
// another place moves instead (M4).
//
// A plan then has actions that evict, shrink and move, each with its rule and its
// preemptor, the workload for which that is done ([Reason]), and actions that start
// tasks After others have left. An evicted workload waits again with its old age,
// unless its [Ending] is final. A task that has been told to leave takes its time:
// until it is gone it is Terminating, and what comes after it has Claimed the place
// (S4), so that solving again, however often, evicts nothing else for the same need.
//
// # What is scheduled
//
// A cluster has nodes with GPUs of several models, in pools. Each pool has a [Policy]
// and a tree of [Queue]s with quotas, limits and weights per resource. A [Workload]
// waits in a leaf queue and asks for pod sets of identical tasks: whole GPUs,
// fractions, device memory, and any other resource by name, on nodes that its
// selector matches and whose taints it tolerates. What must run together starts
// together or not at all.
//
// The knobs of a Policy are independent of each other, and their zero values are the
// sensible defaults. Five published schedulers are values of it: [OSMO], [RunAI],
// [RunAI20], [DeterminedFairShare] and [DeterminedPriority].
//
// Where the policy says so ([ReservePolicy]), a workload that waits is promised a time
// and places ([PlannedReservation]), by backfill or by gathering, and people may
// reserve nodes and devices ([Reservation]).
//
// # Units
//
// GPU and CPU are in thousandths ([GPU], [CPU]): 1000 is one device, one core.
// Memory is in bytes. Any other resource has a name and a unit of the host's.
// Amounts are whole numbers up to [MaxAmount]; a sum that could overflow is a
// fault of the state. Times count in microseconds. Texts for people say "0.5
// GPU" and "16 GiB"; everything else says 500 and 17179869184.
//
// # How to embed it
//
// A host keeps its own truth about the cluster and, whenever something has
// happened, and at the plan's NextAt if nothing has, does this:
//
//	state := …                       // what is there, what runs, what waits
//	plan, err := allot.Solve(state)  // err: the state is malformed
//	state, err = allot.Begin(state, plan)
//	…                                // record the state; then start and stop what it says
//
// Tasks that have started come back in the next state as Running, tasks that are on
// their way out as Terminating, tasks that wait for these as Claimed ([Task]); work
// that has ended for good is left out. Beside this there is little to remember
// (since when a task has its place, how often a workload may still be evicted, what
// it was promised), and [Begin] works it out. A host that acts by what it has
// recorded, and not by the plan, may crash anywhere: it goes on from its record.
// examples/controller shows how.
//
//   - [Solve] decides; [SolveContext] can be given up. The only other error is
//     that the state is malformed, an [*InvalidError] that names every fault with
//     its path and a stable code. A full cluster is no error.
//   - [Check] finds these faults alone, to tell users early.
//   - Package [github.com/allotsched/allot/verify] finds out whether a plan is
//     lawful for a state, from the rules and without the solver's code: for tests,
//     simulations and hosts that would rather ask twice.
//   - [Begin] gives the state in which a plan has been set going, [Apply] that in
//     which it has been carried out, [BeginSome] and [ApplySome] those in which a
//     part of it has. A plan and a state of different Revisions are refused.
//   - State, Plan and [Change] have a strict JSON form with a version in front
//     ([State.UnmarshalJSON], [Plan.MarshalJSON]), and a plan a canonical text
//     ([Plan.String]).
//   - A [Reason] has a [Code] and numbers to act upon; its text is for people.
//     Package [github.com/allotsched/allot/explain] says more: why something waits, runs
//     or goes, how a fair share came about, whether something would fit, when what waits
//     would start, what would help it, which work would go for a workload that comes,
//     what a change does, and how two plans differ.
//   - Everything that people may want to read has a String. A question about an ID that
//     the state does not have is an error that wraps [ErrUnknown].
//
// All of it may be called from several goroutines at once, as long as none of them
// modifies a State or Plan that a call is reading.
//
// # Snapshots
//
// A host that decides after every event, and a planner that asks what-if questions,
// keep a [Snapshot] in place of a State:
//
//	s, err := allot.NewSnapshot(state)  // checked and copied, once
//	s, err = s.With(change)             // the next version; the one before stays
//	d, err := s.Decide()                // d.Actions() at once
//	s, err = d.Begin()                  // or Apply
//
// [Snapshot.With] takes time in what changes, and a version shares with the others
// all that is the same: keep as many as are of use, and decide on any of them at any
// time. [Snapshot.Decide] decides what [Solve] does on [Snapshot.State], bit for bit
// but for [Plan] Work, which counts the steps that it took. It goes on from what was
// decided on another version, also where room has to be made; that takes time in what
// differs and, for the division, in the queues of the pool. Where it cannot go on it
// reads the whole state anew, or solves from scratch ([Decision.Incremental] is false then);
// ARCHITECTURE.md says when and why.
//
// [Decision.Pending], [Decision.Shares], [Decision.Why] and [Decision.Plan] are found
// out when they are asked for, which takes one solve. The objects of a version are
// read without a copy of all of it ([Snapshot.Workloads], [Snapshot.Node]), and
// [Snapshot.Since] tells in what two versions differ. Snapshots and Decisions may be
// used by several goroutines at once.
//
// # Invariants
//
//   - The same state gives the same plan, bit for bit, on every machine (S1).
//     Neither the order of its lists nor, as far as their alphabetical order is
//     kept, the names in it matter (S3). No decision reads a clock, draws a random
//     number or computes with floats. Another version of Allot may decide
//     differently; CHANGELOG.md says where.
//   - The caller's data is never modified.
//   - After every prefix of a plan's actions the cluster is lawful: a host can
//     carry them out in order and stop anywhere.
//   - A plan applied leaves nothing to do: solving again gives no action, and
//     the same reasons (X1, M5), unless a cap on evictions or on the search cut
//     it short. No plan undoes what an earlier one has done for the same need.
//     ARCHITECTURE.md lists the rare states that are known to break this.
//   - Non-preemptible work is never evicted or moved.
//   - Everything that waits has a reason that is true after the plan, with its numbers.
//   - No input makes a call panic (V1).
//
// Numbers such as V1 are those of rules: RULES.md, in the root of the repository, says
// what each of them is, where it comes from, and which scenarios and tests guard it.
//
// # Cost
//
// For t tasks, n nodes and q queues in a tree of some depth a solve that makes no room
// takes about O(t·(depth·log q + log n)), beside checking and sorting the state.
// Identical requests are compiled once, and what found no place is not searched for
// again while nothing is freed. A constraint of the topology costs a look at the
// domains that it allows, once more for each unit by which work grows. Each promise
// ([ReservePolicy]) is laid beside all others, and tried again when one of them moves.
//
// Making room costs more. Bounds come first, which refuse hopeless questions cheaply.
// The search behind them is counted and capped ([Policy.SearchBudget]), and all
// searches for room and under constraints together are capped in proportion to the
// nodes, the workloads and what runs: in a state made to be expensive many searches end
// there, and the reasons of the workloads that wait say so. Measurements, with their
// commands, stand in examples/benchmarks/README.md.
//
// # Example
//
// The queues speech and vision have a quota of 2 GPUs each, on one node of 4.
// The workloads notebook (1 GPU) and serve (2 GPUs), both non-preemptible, wait in
// speech; train (3 GPUs), preemptible, waits in vision. Both queues have used nothing
// yet. notebook starts first, as it leaves its queue within its quota and train would
// not (O2). serve would bring the non-preemptible use of speech to 3, beyond the
// quota: it waits (Q2), though there is room at that moment. train is preemptible and
// may borrow what no more entitled queue can use (Q4): it starts on the other three
// GPUs. The code is the first example below.
//
// # Reading on
//
// The rules come from the documentation of NVIDIA OSMO, Run:ai and Determined,
// and from the behaviour of KAI-Scheduler, Kueue and Slurm; each preset says
// where it departs from its source. They are cited by number (Q2, F5, …)
// throughout: RULES.md says what the letters stand for, and states each rule.
// ARCHITECTURE.md says how the code is laid out and where to begin. The folder
// examples has programs: quickstart, the smallest; allot, one program for people who
// have a cluster and questions; openb, a real cluster of 6,212 GPUs and its load;
// controller, a host that survives lost requests, lost nodes and its own death, with a
// guide to embedding; kubernetes, a scheduler beside kube-scheduler; replay,
// fragmentation and benchmarks, which measure. Package sim/scenario reads clusters,
// events and expected plans from a text that people write.
package allot
