// Package fairshare divides a capacity fairly among queues: exact, in
// integers, with laws that hold for every input.
//
// # The rule
//
// Each claim first gets the smaller of its quota and what it can use (F2). The
// surplus goes tier by tier of over-quota priority, inside a tier in
// proportion to weight, and no claim gets more than it can use (F3, weighted
// max-min). It is given in granules, whole devices say: one at a time to the
// claim with the lowest (2·surplus so far + granule)/weight (F5). That is the
// divisor method of Webster and Sainte-Laguë, known from the apportionment of
// parliaments (Balinski and Young, Fair Representation, 1982): the divisor
// method that favours neither large nor small claims. Being one it has the
// laws below, which 'floor and largest remainder' has not. The rules with
// their numbers stand in RULES.md, in the root of the repository.
//
//   - [Divide] divides one group of claims.
//   - [DivideByDemand] divides in proportion to demand × weight (F8).
//   - [DivideTree] divides a tree of queues, each group its parent's share, in
//     the granules that [Granules] tells.
//   - [Ratio] compares saturations, use over share, exactly (F9).
//   - [State] tells where a queue's use stands (F12).
//
// # Invariants
//
// For one group without lending limits and with positive weights (F7): at the top,
// unless guarantees are scaled (F13), the
// shares sum to max(Σ min(quota, requestable), min(capacity, Σ requestable)) and
// each is between min(quota, requestable) and requestable; elsewhere they sum to
// min(handed down, Σ requestable), and each is at least what the queue may defend of its
// quota. More capacity, or a
// claimant that leaves, lowers no share; a higher weight does not lower the
// share of its claim; asking for more than a claim can use brings it nothing of
// use; inside a tier no unsatisfied claim has reason to envy another by more
// than the rounding of one granule; the order of the claims decides nothing but
// the last tie.
//
// # Parts of granules
//
// Amounts need not be multiples of the granule. The order of turns reads
// every turn as if it gave a whole granule, also the one that reaches a
// claim's requestable amount and the one in which the surplus ends, and only
// what is given is cut short. So the order of turns does not depend on the
// capacity, a claim's turns do not depend on where its demand ends, and all
// the laws hold for parts as they do for whole granules. Valued at what it
// gives, the turn in which the surplus ends would depend on the capacity, and a
// claim could bring a turn forward by asking for less than it can use.
//
// # Exactness
//
// All comparisons are made by cross-multiplication in 128 bits, and in 192
// where F8 multiplies two amounts. Every int64 ≥ 0 is a valid amount, weight
// or granule. No sum can overflow but that of the demands in a tree, and that
// is an error.
//
// # Cost
//
// A division takes O(n·log n + n·log(capacity/granule)), never time in
// proportion to the number of granules. Turns come in the order of their
// (2·given + 1)/weight, so a level of that value marks a beginning of the
// order, and how many turns of a claim it contains is one multiplication.
// Halving finds a level that leaves O(n) granules; these are given one by one
// from a heap.
//
// # Example
//
// F10: a pool of 40 GPUs. Projects 1, 2 and 3 have quotas 14, 6 and 0, weights
// 2, 3 and 1, and all want everything. The quotas take 20. Of the surplus of
// 20 they get 2/6, 3/6 and 1/6: 6⅔, 10 and 3⅓, in whole GPUs 7, 10 and 3. So
// the fair shares are 21, 16 and 3.
//
// # A slip of a source
//
// Two projects with quotas 3 and 1 and no weights share idle GPUs 3 to 1 (F11).
// The Run:AI document of 2020 prints the two percentages, 25 and 75, the other
// way round, against its own rule 'relative portion of GPU quota'. The rule
// holds here.
package fairshare
