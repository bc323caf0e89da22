// Package preempt finds out which running work may give way to which waiting work,
// and proposes the least harmful way to do it (RULES.md, in the root of the
// repository: M1–M9, C1–C5, R1–R11 and E1–E8).
//
// # The rule
//
// A preemptor is a unit that waits: what is missing to a workload's minimum,
// or one task above it. A victim is a unit that runs or is claimed: the minimum
// of a workload, which goes whole, or one step above it (M6). There are four
// ways to make room. By consolidation victims only move (C1–C5). By reclaim a
// queue takes from others what its quota or fair share entitles it to (R1–R9).
// By preemption a workload displaces work of lower priority (E1–E8); and by the
// last two at once it does both (R11).
//
// # Words
//
// All of the following is per pool, in the resources that are divided (Q1);
// other resources bind nothing and give no right. The use of a queue is what runs
// and is claimed in it.
//
// Classes of a resource (Q8) are resources without shares: they count for reclaims by quota,
// and for these only where the preemptor's leaf gives a quota of a class that it could land
// in. Then they are among what it is short of, R1 binds in them, and a unit is protected by
// quota that fits under LQ in them, too.
//
//   - The eviction rank of a unit is its standing (R8): non-preemptible units stand
//     best, then those of higher priority; a minimum stands before what is above
//     one; then earlier admission, earlier submission, lower ID and lower step
//     decide. Admission is when the workload, or the task above its minimum, was
//     given its place; a move keeps it; what starts in the solve at hand is
//     admitted now. The unit with the worst rank is evicted first.
//   - The entitlements of a queue are its lines (R8): LQ, the guaranteed amount,
//     which it may defend by quota, and LF, the fair amount, which it may defend by
//     fair share. At the top LQ = min(quota, requestable) and LF = max(LQ, fair
//     share). Below, where the children's min(quota, requestable) sum to more than
//     the parent's LQ, that LQ is divided among them in proportion to quota (F5),
//     and none gets more than its own; where they sum to more than the parent's LF,
//     so is that LF, and a child's LF is the larger of this part and its LQ. Where
//     the method of division knows no quota (F8), LQ is 0.
//   - Protection (R8): walk a leaf's units from the best standing to the worst; a
//     unit that still fits under LQ in every resource is quota-protected; walk the
//     rest, on top of these; what still fits under LF is share-protected.
//   - The side of a victim against a preemptor of another leaf is the subtree below
//     their common ancestor in which the victim is: the victim's ancestor-or-self
//     just below the queue where the two paths part. The preemptor's own side is
//     the one beside it.
//   - A preemptor is short of a resource if the nodes that it may use, with what
//     runs there, would not take it even if its tasks asked for that resource
//     alone; if there is no such resource, it is short of all that it requests. A resource of which
//     some queue is given a quota of a class counts there too, so that one that is short of nothing else, and
//     is given no quota of such a class itself, reclaims nothing (Q8).
//   - A queue is over quota for a victim if in some resource that the preemptor is
//     short of and the victim holds its use is above its quota; it is over fair
//     share if in one such resource its use is above both.
//   - The class (R3) of a queue for a victim is 0 over fair share, 1 over quota, 2
//     within quota. The class of a victim is the highest of its side's and of the
//     queues' below it down to the leaf. Preemption and consolidation know one
//     class only.
//   - A taking is excess (R9) if afterwards the use of the leaf is at or above LQ, by
//     share LF, in some resource that the preemptor is short of and the victim holds. What is
//     protected by quota and, best standing first, within LQ of its classes is excess only if the
//     use is at or above LQ in each of these too (Q8).
//   - The order of victims (M3): the lower class goes first, then the more saturated
//     side (F9), then the more saturated queue below it, and so on to the leaf, then
//     the lower priority, then excess before what is none, then the worse eviction
//     rank. Class, saturation and excess are read again after each unit.
//     Preemption and consolidation know the eviction rank only.
//   - A victim is reprieved if it turns out that the rest is enough without it: it
//     keeps its place.
//
// # What is lawful
//
// Of every victim: it is preemptible, its minimum runtime is over (M1: that for
// preemption also guards against moves), no disruption budget and no cap is
// overdrawn (M7; what starts of an owner counts beside what runs, but lets nothing of its own workload
// go, and may itself go as long as nothing that ran has), and with all victims gone the preemptor starts: it is
// within Q2, Q3, Q5, Q8 and Q10, and finds its places (M2). A unit takes with it,
// at its turn, what is left of the units above it in its workload, the highest
// step first; each of them is judged like a victim of its own. Of those that hold nothing that a
// reclaim is short of no right is asked, but then the preemptor does not start without the victims
// with which they go (Q8).
//
// Reclaim by quota (by share), from each leaf: with the victims gone and the
// preemptor started, its leaf is within LQ (LF) and the queues between the
// leaf and the one where the paths part are within quota (fair share), in every
// resource that it requests (R1). Before each victim goes its side is over
// quota (over fair share) (R2); with the knob [Spare] it is still at or above
// that line afterwards in a resource in which it was over (R4). A unit stays that might
// preempt units of lower priority of its leaf which the reclaim has to leave alone for their
// minimum runtime or for R4, if these are at least what it would lose (R6). By share only,
// the side's saturation before is above margin × that of the preemptor's side
// afterwards (R5). And either-or (R9): a victim that is quota-protected (protected at
// all) may only be taken as excess; one that is not also as long as no such
// protected unit of its leaf is taken. By share a second protected unit of a leaf is taken only
// if the leaf kept LQ though those that are out preempted what of lower priority is left of it, of
// which no more counts than the smallest that is out: a leaf that comes below LQ by that would reclaim by
// quota what it has lost. Nor does by share a unit go as long as work of lower priority of its leaf is left that it might
// preempt, if that runs with something above its minimum, and would be within LQ with the minimum alone, or if the unit is
// protected by quota, and the leaf would be below LQ in something without it: then that work, or the unit, would
// reclaim by quota what it has lost, and all begin again (M5). The sets of protected units are those
// before the reclaim. As LQ ≤ LF a workload that may reclaim by quota does so.
//
// Preemption: every victim is of strictly lower priority and of the same leaf,
// or with the knob [WithinPool] of any (E1). Quota-protected work is displaced
// only if the preemptor, admitted now, is quota-protected afterwards;
// share-protected work only if it is protected (E7). In no queue from its leaf
// up is the use of a resource it requests afterwards above all of quota, fair
// share and the use before (E8); more victims are added to reach that. Where no
// place can be cleared so, all units of lower priority may go, protected or not, if
// afterwards, in every resource that the preemptor requests, its leaf is within LF and
// every queue above within the larger of quota and fair share. Units
// above a minimum never preempt (G2). With [WithinPool] there is no reclaim: the
// one goes by priority between queues, the other by entitlement, and they would
// undo each other for ever.
//
// Reclaim and preemption together (R11), for one that neither serves: of the preemptor's
// own leaf preemptible units of strictly lower priority go, in reverse order of eviction
// rank, and of others excess alone, by a reclaim that is judged with these gone, for the
// shortest run of own units with which there is one. Own units, best standing first, are
// spared without which there is one too. They release less than the preemptor starts, in
// something that it is short of then, and more in nothing of that: its leaf gains. Up to so many runs are tried.
//
// Consolidation: queues admit the preemptor as things stand, and it is within
// its lines, or the policy lets it be beyond them (C5); every victim finds a
// place once the preemptor has started, the best standing first (C1); the GPUs
// that move, without those of tasks that are where they were in the end, are at
// most the policy's factor × those requested (C3).
// Of what is taken together all look for new places, the best standing first;
// where that moves too many GPUs, or a minimum moves with its steps, once more
// with those staying that can; and where a gang that keeps some of its places
// leaves another none, once more with nothing kept.
//
// # Moves beside victims
//
// Where a reclaim or a preemption does not serve the preemptor it may be asked once more with
// [Preemptor.Relocations], the number of running units that may find another place beside the
// victims (M10). Then 'the preemptor starts' reads: it starts as things stand, or it
// starts with some of what stands at the place moved, as by consolidation: each mover
// finds another place once the preemptor has started, the best standing first (C1), M1,
// M7 and C3 hold for it, and it may be protected, of any queue, and of whatever priority. A
// mover keeps its charge and its admission, so that no line and no protection
// changes by it; but what goes beside it is never protected, not as excess either.
// Consolidation is the same without a victim, and with as many movers as C3 lets. Of the
// movers that serve, those with the fewest GPUs are chosen, then the fewest units, then those
// that stand worst. What the caller has started since it began ([Unit.Started]) counts
// nothing, neither as GPUs nor as a unit.
//
// # What is chosen
//
// A place is a set of nodes. For a place, victims that stand on it are taken in
// their order until the preemptor starts, anywhere (what E8 asks for more is taken once from
// there and once from wherever it may be, and does the less harm); then, best standing
// first, each victim is reprieved without which it starts too and the rest is
// lawful, replayed in order. Where the order of a reclaim does not free enough, it is
// tried again with unprotected victims only, with excess only, then each unit in this
// order by itself, then with the
// largest units first, then with the smallest (R9), by what they hold there of the
// first resource that is short, then by what they hold of it in all, of one size in order
// of eviction rank. Preemption is
// tried again without quota-protected and with unprotected victims only and, where
// there are disruption budgets, which the first may use up, largest and smallest
// first; consolidation tries its order, the largest and the smallest by GPUs. A
// list of more workloads than the cap lets go (M7) gives way to the lists of as
// many as it does. Places are compared by their victims: the pairs of class and priority, best protected first (the
// higher class, then the higher priority), the lower pair being better and a
// shorter list that is the beginning of a longer one too; then by less lost
// work (GPU × time since checkpoint or start); fewer workloads; the victims
// themselves in the order of M3, the earlier one being better; and the nodes'
// positions. For consolidation fewer moved GPUs come before all of this; what moves beside
// victims is compared after them, and before the nodes.
//
// Where a constraint requires one domain for the preemptor (T7), the caller names
// the domains, and each is cleared like a pool of its own: places are sets of its nodes,
// and victims are the units that stand there. What is found in all of them is compared as
// above, so the domain is chosen by the victims that it costs. If counting tells whether the
// preemptor starts (Exact), only room in the domain at hand counts; else the whole
// pool is tried as one place too, as others may have to go elsewhere.
//
// All sets of few nodes are looked at; of many nodes single ones and those that
// are cheapest to clear. What is tried is counted and bounded, and a search cut
// short says so.
//
// # Invariants
//
//   - A proposal leaves the world as it was; the caller carries it out.
//   - Every proposal is lawful, judged again in full before it is returned, and
//     no victim of it is superfluous.
//   - Sound bounds come first: where all that might lawfully be taken does not
//     suffice, there is no search, and where the uses and lines of the queues
//     show it already ([Evaluator.Infeasible]), no unit is looked at. Where a bound, or what
//     was found out for another, answers for some places of a search, their steps
//     are counted as if they had been tried.
//   - The same world and preemptor give the same proposal.
//   - Only a domain in which what is free and all that candidates hold are too little is
//     left out; that counts as a step.
//
// # Cost
//
// Trying a place walks the victims on it once an order, and once more to reprieve, each
// time changing the uses of their queues and the room on their nodes. Domains cost the
// sum of theirs, and O(nodes) a request.
//
// What is asked again costs less. The price of a node for a single task, what it offers a
// gang that preempts, and what would move from it are kept, and asked anew where units came
// or went; what of it cannot serve is kept both for when some find other places and for when
// they find none. Whom a reclaim takes first on a node is kept too, as long as the class, the saturation
// and the excess of the leaves of those that stand there are the same, and the same of them may go; else a gang
// that reclaims asks every node, as each start changes what may be taken. So is it that a node takes too
// little with all gone that may go. Of a single task's prices the least is found
// among those of each queue and size, which are a heap each.
// A preemption whose queue stays within what is guaranteed to it, so that neither E7 nor E8 asks anything of it, shares
// the prices of nodes with those of other priorities above the same units; and where by these no node serves, none is
// tried again.
//
// # Example
//
// Two racks of two nodes with 4 GPUs, full of single-GPU jobs of one queue, all of one
// class: in rack r1 eight of priority 60, in r2 one of priority 60 and seven of 50. A
// queue with the quota for it asks 8 GPUs in one rack. The best protected victim is as
// high in both, the next one is lower in r2: all of r2 goes.
//
// # Sources
//
// Reclaim by quota before fair share, saturation and consolidation are those of
// Run:ai and KAI-Scheduler, reclaim by quota alone NVIDIA OSMO's; protection,
// either-or and the order of places are ours.
package preempt
