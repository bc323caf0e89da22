// Package verify says whether a plan is lawful: whether a host may carry out its
// actions in their order, the cluster being lawful after each of them, and whether
// what the plan says about the world after them is true. RULES.md, in the root of
// the repository, has the rules.
//
// # Independence
//
// [Plan] decides from the rules alone. The package imports the objects of the root
// package (State, Plan and what they are made of) and the types of their fields from
// the children. It calls nothing that decides: of the root only [allot.Check]. So
// neither it nor [allot.Solve] can hide the other's errors; a test keeps the imports so.
// Plan does not ask whether another plan would have been better.
//
// A solve makes one change at a time, and what it took and put back is not seen in its
// plan (M9): where such a change could make a plan lawful, Plan does not refuse it.
//
// # What is checked
//
// In this order:
//
//   - The plan is of this state's revision (S1) and names only what exists, and times
//     that a state may have (V1), which count in microseconds. Lists are in their order (S3).
//   - Only pending, submitted tasks start, at most once; a claim starts only
//     in its place (S4). Nothing starts of a workload that ends or some of
//     whose tasks are terminating and wait again (S5).
//   - A new task's node and devices satisfy its request (P1, P2, P7), and at
//     no point does an action raise running plus terminating, or running plus
//     claimed, beyond what is usable of any resource, slot or device (S4, S8).
//     Where the state itself is beyond, it may stay so (S7), but nothing that
//     asks for the same starts there.
//   - What starts or moves to a place that others are still leaving names them in After,
//     and fits once they have left, whatever else has (S4). What is named has left in an
//     earlier action, or before the plan: moves never go round in a circle (M11).
//   - A Start brings its workload to its minimum, takes no more than that, or
//     consists of claims (G1, G3); a Resize adds one unit to a workload at its
//     minimum (G2); what halves keeps to its ladder (L1); all of a workload is
//     in one form (G5).
//   - What gets a new place gets it as the topology asks: in one domain of the
//     required level, with what runs already (T2, T6), slice by slice (T3), on
//     devices of one island (T4), and on whole nodes where the policy fits (P8).
//   - After each action that adds use, in the queue and its ancestors, in what
//     was added to: quota (Q2), limits (Q3), both per class (Q8), lending
//     (Q5), running workloads (Q10).
//   - What is evicted, shrunk, moved or loses its claim to others stands in its
//     pool (S7), is preemptible and has run for its minimum (M1), within budgets
//     and caps (M7), whole or from its last task on (M6); what moves runs
//     elsewhere (M4). It ends as policy and exit actions say (S6), or is stale (G1).
//   - It goes for a preemptor that starts by it (M2) and is entitled to it: by the
//     policy, by queue and priority (E1, E8), by quota and share (R1–R5), or for
//     few enough moved GPUs (C3–C5). Where a chain is told, each workload of it was
//     entitled to take from the one before, and the preemptor is the last of it (M11).
//   - Something is in the way of its staying: no task moves whose old place is free in the
//     end, or among whole devices that are alike, and nothing goes that would fit (M11).
//   - Exactly what lost its place is displaced (S7) and unclaimed (S4), and
//     claims whose places are free have started (S4), with reasons (X2).
//   - Exactly what waits after the plan is pending, with reasons whose numbers
//     are right where they can be told without solving (X1).
//   - Where queueing is strict, by the policy of the pool or of the queue, nothing starts past
//     what waits before it in its queue (O4); where the policy says so this holds for alike
//     work only. No workload waits for a place that a younger one alike of its queue got
//     without anything going for it (M9).
//   - What is promised exists, brings its workload to its minimum (G1), is free when it is
//     promised, beside what has not left by then and all else that is promised (B4, T2, T3,
//     B9), is within the bounds of its queues (Q2, Q3, Q10), and is no more than the policy
//     allows (B2–B4). A promise of the state is told, as it stands, and none is later or gone
//     without a cause (B7). What the plan itself places is no cause: it has left by then for
//     sure, or leaves alone what is promised (B5).
//   - The figures of the queues are those of the world after the plan (Q6,
//     F1, F12), and the fair shares are those of the division (F2–F5, F7).
//     Whether a queue could use more, or has reason to envy another, is not asked where
//     alternatives of its workloads, some preemptible and some not, come to the same demand
//     (F1): which of them counted is not told.
//
// # Where two rules meet
//
// A kept promise of a workload beyond its entitlement yields to a workload within its own, and each
// to one that comes before it in its queue (B4). The entitlements are those of this solve: a workload that is
// over its own now is beyond it whenever it was promised (mayYield), and so is one from which
// another could reclaim at once (R1, R2). Of promises of the state that cannot all stand, as a start was planned and
// not carried out, the later ones by (time, ID) yield (B4). Three things more are accepted as yielding, because the next
// solve could not keep a promise against them (M5). With preemption across queues a workload whose promise
// could begin now may start in the solve, be preempted by one of higher priority (E1), and be promised
// its time again, so that the preemptor runs where it was promised (mayTake); a right to preempt
// excuses nothing in the way of a promise that could not have begun. And a head of a strict order
// stops a workload, or has idle nodes kept from it (O4, P8).
//
// What stands behind a promise is evicted for it when its time comes (B6), unless it would take its
// places back at once, so that both would lose work for nothing (M5): because it comes before the
// other in its queue (O1), may preempt it (E1), or is within its entitlement where the other is
// beyond and waits for it. The promise is then later, with the overrun for its cause (B7).
//
// # Invariants
//
// The state and the plan are read and never changed. An action that is wrong is
// carried out all the same, as far as it names what exists, so that the next one
// meets the world that the plan means; an error at one place is told once and does
// not hide those at others. The same plan gets the same violations in the same order.
//
// # Costs
//
// The cost is linear in the state and the plan, times the depth of the queue tree. A
// node that m tasks leave and n tasks come to costs m·n, and each different request
// among the tasks that wait costs a look at all nodes. A promise is compared, for each
// workload that it waits for, with what stands and is promised on its own nodes alone,
// and with what the queues above it use, which is counted as one promise after the other
// begins; what those wait for in turn is one bit for each. A gang of thousands of tasks
// that waits for thousands of victims costs no more than both of them: what an action
// waits for is one set for all of its tasks.
//
// # Example
//
// A node has one device, and workload w asks two. The plan
//
//	start w n[0]
//
// names one device: "actions[0].tasks[0]: 1 devices named, 2 requested (P2)". Were
// the plan empty, it would leave out what waits: "pending: "w" waits and is not
// listed (X1)".
package verify
