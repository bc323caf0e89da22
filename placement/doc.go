// Package placement finds a place for a task: a node, and on it the exact
// devices (SPEC §7: P1–P3, P6, P7 and the strategy First).
//
// # Rules
//
// A task fits a node if every [Predicate] holds (P1). A request asks for whole
// devices, or for the same fraction, or the same memory, of each of several
// (P2); all devices of a task are of one model, and a fraction never crosses
// devices. A device is 1000 × max(1, memory in bytes) share units, so a milli
// of it and a byte of it are both whole numbers of units and nothing is
// rounded: three requests of 8 GiB fill a device of 24 GiB.
//
// Of the nodes that fit, [Index.Find] takes the first in an order that is a
// pure function of each node's own state (P3), so that neither history nor the
// way nodes are stored can show. 'Idle' is that no healthy device is used at
// all; 'whole' is a healthy device that nobody uses; 'shared' is one that is
// used and not full. Unhealthy devices are left out of account.
//
// With GPUs:
//   - [BinPack]: for fractions, nodes on whose shared devices the task fits
//     before those where it opens a whole one; used nodes before idle ones;
//     fewer whole devices first. On the node the shared device on which the
//     least is left over, then whole ones.
//   - [Spread]: the lower load of the devices first, in 63 steps, rounded up:
//     the sum over the healthy devices of what is used in milli, each rounded
//     up, over 1000 for each. On the node the least loaded device in milli.
//   - [First]: no order but position.
//
// Without GPUs (CPU-only): nodes without GPUs before nodes with them, then
//   - [BinPack]: the higher load first, in 63 steps, rounded up, of the first
//     resource requested;
//   - [Spread]: the lower load first;
//   - [First], and a task that requests no resource: no order but position.
//
// Ties go to the lowest position, and among devices to the lowest index (P6).
// Where several models of a node could serve, BinPack takes the one of which
// the fewest whole devices are opened, then the one that has the fewest; Spread
// the one whose most loaded chosen device is least loaded; ties, and First, the
// one that has the lowest device of all.
//
// A task without GPUs never waits for GPUs (P7): it needs none to be free; a
// node's CPUOnlySlots caps such tasks.
//
// Sources: the strategies are those of the Run:ai scheduler, the meaning of
// selectors, taints and tolerations is that of Kubernetes; the rest is ours.
//
// # How
//
// For every strategy in use the index keeps a ranking: each node's level and,
// per level, a bitmap over positions. Levels follow from the state of the node,
// and a change moves one bit. For every shape it keeps the set of nodes that
// would take the task when empty (computed once: labels only for keys that
// selectors name, the rest per kind of node), the subset that may take it now,
// and a cursor per level. A Find walks the levels in the strategy's order and
// takes the first node that is on the level, may take the task, and does. A
// node that does not is crossed out until it has more free than then, which
// takes a Give or an Undo: a thousand nodes with free GPUs and no CPU are looked
// at once by a shape, not once a task.
//
// # Invariants
//
//   - Rankings and bitmaps are functions of the nodes' state, and what a shape
//     remembers never excludes a node that fits: the answer of Find is that of
//     a scan of all nodes by the order above.
//   - Undo restores the state exactly; with no [Mark] outstanding nothing is
//     journaled.
//   - Find, Take, Give and Undo do not allocate once a shape and strategy has
//     been asked for and the journal has its size.
//   - Over-used nodes and devices (free amounts below zero) take nothing and do
//     no harm.
//
// # Complexity
//
// Take, Give and Undo: O(devices of the node + amounts of the request). Find:
// O(levels) and one test of a node, amortised; every node may be tested once
// more per shape after each Give or Undo there. A level on which nodes come and
// go far apart costs a scan of n/64 words at worst. [Index.Shape], the first
// Find of a shape and strategy, [Index.Reject], [Index.Candidates] (once) and
// [Index.Free]: O(n).
//
// # Example
//
// Nodes with 1, 3 and 8 of 8 devices free, by position. A task of one device
// goes to the first node under BinPack (the fewest whole devices) and to the
// third under Spread (load 0). A task of half a device opens a device of the
// first node under BinPack, unless some device is shared already and has half
// of it left; then it goes there.
package placement
