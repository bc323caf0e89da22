// Package placement finds a place for a task: a node, and on it the exact
// devices (RULES.md, in the root of the repository: P1–P7, T1 and T4).
// A [Topology] tells which nodes are near each other.
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
// pure function of each node's own state (P3) and, between nodes of which that is alike,
// of their domains' (see below), so that neither history nor the
// way nodes are stored can show. 'Idle' is that no healthy device is used at
// all; 'whole' is a healthy device that is not in use; 'shared' is one that is
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
// Nodes that tie are told apart by their domains where [Index.SetTopology] has told of
// any, from the narrowest named level to the widest, so that work without constraints
// breaks no idle rack, and of blocks no idle one:
//
//   - [BinPack]: domains in use before idle ones; a node that lacks the level breaks
//     none, and goes with those in use;
//   - [Spread]: the domain with the lower load first, which is compared exactly; a node
//     that lacks the level is alone.
//
// With GPUs it is the healthy devices that are used or idle, and the load is that of
// them all; without, it is the first resource requested. All nodes of a domain count but
// those that are cordoned.
//
// What still ties goes to the lowest position, and among devices to the lowest index (P6).
// Where several models of a node could serve, BinPack takes the one of which
// the fewest whole devices are opened, then the one that has the fewest; Spread
// the one whose most loaded chosen device is least loaded; ties, and First, the
// one that has the lowest device of all. Where it is known how the devices of a node
// are joined, that and not the index decides between them: see below.
//
// A task without GPUs never waits for GPUs (P7): it needs none to be free; a
// node's CPUOnlySlots caps such tasks.
//
// # Inside the node
//
// How near two devices are to each other follows from [Node.Links], [Device.Switch]
// and [Device.Socket]: by the number of NVLinks between them, the more the nearer (on
// an NVSwitch every pair has all of a device's); between pairs with as many, or none,
// those on one PCIe switch are nearest, then those on one socket. [Hardware] tells it
// for well-known makes. Devices of which nothing is known are joined to none.
//
// An island is a set of devices of which every two are joined as its kind says, or
// more tightly: two devices with NVLinks are in one island of every kind, whatever
// they hang on. Islands need not be a tree: those of NVLinks in a hybrid cube mesh are
// two squares of four devices, and four pairs across.
//
// A task that requires an island goes where enough devices with room, of one model,
// are in one. One that prefers an island goes to the node that the strategy prefers of
// those that can give it one now; if none can, to where it would go anyway.
//
// Which whole devices of a model a task takes on a node of which anything is known is
// the same for all strategies but Random (T4). They are, in this order,
//
//  1. in the tightest common island: the pair of them that is least near is as near
//     as can be;
//  2. such that the devices left, of those that the task could have taken, are least
//     broken: these have the most pairs that are as near as any, then of the next
//     nearest, and so on;
//  3. joined by the most NVLinks;
//  4. the lowest.
//
// So a single device is one that has lost its neighbours, and pairs, squares and
// sockets stay whole for tasks that ask for them. For parts of devices the strategy comes
// first: BinPack opens the fewest whole devices, then leaves least over, device by
// device; Spread has the least load on the most loaded, then device by device; and
// what they find as good, for First all, is chosen as above, the whole devices being
// those that should stay least broken. FragmentationGradient and ShadowPrice choose
// parts as they do elsewhere, of several only what is with the chosen in an island
// that has enough. A node that takes whole devices they score as if it gave the
// lowest of a model, whatever island is required: it differs only where devices of a
// model have unlike memory. Random draws among those with which an island can be had.
//
// Up to 16 devices between which there is a choice, it is the best of all subsets.
// Beyond that a task takes, inside each of the tightest islands, one device after the
// other, each time that which leaves the rest least broken. Up to 16 devices of a
// node all islands are known, and beyond that all of trees and of what is like them;
// of meshes that have more than 512 of a kind, some. What is said of an island then
// holds of those that are known.
//
// # The tree of nodes
//
// A [Topology] is the tree of named levels above the nodes (T1), the widest first. A
// domain is what has the same names at its level and all wider ones, so a rack r1 of one
// block is not the rack r1 of another. A node that lacks a level is in none of its
// domains, not together with others that lack it; it hangs below the next wider domain
// that it is in. Nodes are in depth-first order, siblings by name, and a domain is a range
// of it: [Topology.Nodes] is a part of one list, and [Topology.At] gives the domains inside
// another as two numbers. What may run where in it is the business of package gang,
// which asks [Index.Rooms] what nodes take and [Index.PlaceOn] for a place on one.
//
// # What is releasing, and what is claimed
//
// A task that was evicted, or that ends, holds its place until it has left: it is
// releasing ([Index.Release], then [Index.Leave]). Another may claim the place
// meanwhile, and starts when it has come free. So there are two answers to what is
// free, and the index gives both (S4), for each resource, device and slot of a node:
//
//   - now: what neither runs there nor is the larger of releasing and claimed. What
//     is found in it fits beside what runs and is releasing, and beside what runs and
//     is claimed, and may start at once;
//   - once all that is releasing has left ([Index.AfterRelease]): what neither runs
//     nor is claimed. What is found in it fits beside what runs and is claimed. Where
//     it does not fit now, the place is [Place.Pipelined], and to take it is to claim
//     it.
//
// Of a gang of which one place is pipelined, all have to be: it starts as one. A place
// that was taken may be given and claimed instead at any time; that never makes less
// free.
//
// # Over time
//
// A [Profile] is an index together with when what stands there is to leave, and with what
// is held for later (B2). It answers when at the earliest something can be placed for a
// whole window: [Profile.Earliest] brings the index to what is free during all of the
// window, by what the journal can undo, and its caller searches there as everywhere; so
// a gang with its topology is placed by the same rules at any time. What ends is given back.
// What is held is taken: of each amount of a node as much as at any one time of the
// window is used more than at its beginning, which is neither what is used then nor the
// sum of all that is held in it. What is releasing has left; claims stand until they end.
//
// It is one sweep over the times at which something ends, as only then can something fit that did
// not just before: from one time to the next the nodes are read of which something ends, or is held
// that the window leaves or comes to, and of each what it has free now is known. What ends and is taken at
// once by what is held changes nothing. Before places are looked for, the room that all nodes have for
// each shape is counted, and whether any node that has become more free has some. Where that is enough and no places are found, the first time is found by halving at
// which there are any with nothing held, as then more is free the later it is; the sweep goes on from
// there.
//
// What that costs, where E ends are known and H places are held: the ends are sorted once, in E log E, and the
// room for a shape is counted once on all nodes and then on those that have changed. A sweep reads a node at most
// E + 2H times, however many nodes there are and however long the window is; a read of one on which e tasks
// end and h places are held takes (1 + h)(e + h) steps, so a sweep is linear in E + H where few are on a node.
// Places are searched for at most once at each time at which something ends, and in halving some 2 log E times, after which
// a sweep begins anew. A start that is not accepted costs what has changed by then once more; where tasks stand behind
// holders, each time reads the places too of all holders whose time has come.
//
// # Strategies that score
//
// The others give every node that takes the task a whole number and take the
// highest (P4, P5), then the first by [Scoring.Ties], then the lowest position
// (P6). All but ShadowPrice are those of "Beware of Fragmentation: Scheduling GPU-Sharing
// Workloads with Fragmentation Gradient Descent" (Weng and others, USENIX ATC
// 2023) as its published runs computed them, in floats cut off to whole numbers;
// which number each is, is told here. Below, 'left' is what is free before the
// task and 'rest' what is free after it, of the resource [Scoring.CPU], at least
// 0, and in milli of the healthy devices, each rounded down and at most 1000; CPU
// and GPU are the most that a node has of either. A task without GPUs is scored
// like any other: nodes without GPUs do not come first.
//
//   - [FragmentationGradient]: F is the expected fragmentation of a node, the mean
//     over the targets of the mix by weight of what is free and a target cannot
//     use. That is all that is free if the target asks no device, if its class or
//     amounts are not there, or if no model has as many devices with their part
//     free as it asks; else what is free on the devices that have not, or are not
//     accepted. Slots, sets, labels and taints do not count. The score is
//     ⌊Steps × sigmoid((F before − F after) / Scale)⌋, published with 100 and 1000:
//     how many of the differences Scale × ln(k/(Steps−k)), 0 < k < Steps, are
//     reached, the logarithms rounded to 2^-40. Only the middle one can be met
//     exactly: a task that changes no F reaches it and has half of the steps. With
//     Exact the score is the difference. A part of one device is tried on each
//     with room, and the best score wins, then the lowest index; whole devices are
//     the lowest that are free, of the model of the best score, then of the first;
//     parts of several devices, which the source does not know, are chosen one
//     after the other, each time where F is least then. The
//     source sums F in floats, and where F does not change but the sums differ in
//     the last bit, it may have one less than the half.
//   - [ShadowPrice] is ours; see below.
//   - [DotProduct]: ⌊100 × (1 − (cpu left × cpu asked/CPU² + gpu left × gpu
//     asked/GPU²)/2)⌋.
//   - [BestFit]: ⌊100 × (1 − (cpu rest/CPU + gpu rest/GPU)/2)⌋. The source then
//     spreads the scores of the nodes that fit over 0 to 100, which keeps their
//     order.
//   - [GPUPacking]: where shared devices take the task, 100 − p/10 and at least 50,
//     both rounded as integers are, p being the sum over those devices of what is
//     free of each in percent, cut off; where it opens devices of a used node, 50
//     less their number, at least 33; on an idle node 33 less its devices, at least
//     0 (the source: at least their number, which differs from 17 on).
//   - [GPUClustering]: 75, 50, 25 or 0, and ⌊25 × (GPU − gpu left)/GPU⌋ more. 75: all
//     tasks on the node that have devices have as many as this one and, as this
//     one, whole or in part; 50: some; 25: there are no such tasks; 0: only
//     others. What is releasing is no task, and a claim is one.
//   - [Random]: each node that takes the task, and each device of it with room, is
//     as likely. What decides is [Scoring.Seed] and the state of all nodes, mixed
//     by SplitMix64: no chance, and the same state has the same answer however it
//     came to be. This order is the one that is not a function of each node's
//     own state: if it were, a node that has just won would win again and again.
//
// GPUPacking and GPUClustering score 0 without GPUs. On the node all but
// FragmentationGradient, ShadowPrice and Random take the devices of BinPack. A request for
// device memory is compared with, and taken from, share units as they are; in
// milli it asks what it makes the milli that are free fall by. No float decides
// anything: CPU² × GPU² is kept below 2^63, for which amounts of nodes beyond
// that (370 cores in milli beside 8 devices) are counted in twos, fours and so on.
//
// # Shadow price
//
// ShadowPrice knows no more than FragmentationGradient: the mix and the nodes. It
// takes the place that is the first by, in this order,
//
//  1. the least loss of worth, V before − V after;
//  2. the most of F before − F after − 3/20 × (W before − W after) − S − 1/100 × A, in
//     milli, rounded to 2^-10: the first two together and S down to it, the last one too;
//  3. the position. [Scoring.Ties], Scale, Steps and Exact say nothing to it.
//
// On the node a part of one device is tried on each with room; of equals the one
// with the most free is taken, then the lowest index. Whole devices and parts of
// several are chosen as FragmentationGradient does. The terms:
//
//   - V, worth: sizes of parts have prices, the shadow prices of the linear program
//     'the fewest devices that hold the mix'. No parts that fit on one device cost
//     more than a whole one, and with that the mix costs as much as can be. What is
//     free of a device is worth the most that parts which fit there cost; V is the
//     sum over the devices. Of 0.3 and 0.5, asked alike, a 0.3 costs 1/3 and a 0.5
//     1/2; of many 0.8 and a few 0.2, which find room beside them, a 0.8 costs 1 and a
//     0.2 nothing. [DeviceWorth] tells it.
//   - F is FragmentationGradient's.
//   - W, usable: the mean over the targets by weight of the milli that whole parts of
//     the target make up on the node, what is free there on the devices that have their
//     part, or for which its other amounts are enough, whichever is least; 0 where its
//     class or enough devices of one model are not there.
//     So W minds how much is free of what else a task needs, F only whether there is
//     enough.
//   - S, scarce: what the task takes in milli, of memory what its part is of the smallest
//     device that it accepts, times the price of devices on the node, and what it takes of [Scoring.CPU], in milli by
//     what all nodes have of both, times the price of that, each rounded down to 2^-10. A price is the sum, over the targets that
//     this node serves, of the target's part of all that is asked, rounded down
//     to 2^-20, times what is free now of the nodes with devices that do not serve it over what is free of those that do;
//     of targets that the same nodes serve together, rounded down to 2^-20, too. So what all nodes serve is scarce nowhere, and
//     what nearly all do hardly. Of these it is told which runs out first
//     there: u is what they ask of devices over what is free of them on the nodes that serve them, over the same of the resource.
//     Where u is 1 or more the price of devices counts alone, where it is 7/8 or less that of the resource, and between
//     them 8u − 7 of the one and the rest of the other, all in 2^-20 rounded down. Targets that accept some models or
//     classes alone count three times by devices, as nothing else keeps room for them, and all count
//     five times by the resource. A node serves a target
//     that it would take, were it empty, whatever its slots, labels, taints and health; of one without devices nothing is scarce.
//     So the nodes of a model grow dear as they fill before the others do, and cheap where
//     more is left there than is asked by tasks that can go nowhere else; and tasks without devices
//     keep off the nodes whose cores only few others have.
//   - A: what is free on the node after the task of what runs out first, the devices or
//     the resource [Scoring.CPU]. u is what the mix asks of devices over what it asks of that
//     resource, each as a part of what all nodes have. Where u is 1 or more, A is what is free of
//     devices; where it is 7/8 or less what is free of the resource, in milli by what all
//     nodes have of both; between them 8u − 7 of
//     the one, rounded down to 2^-20, and the rest of the other. Of a node without devices the
//     resource counts nothing. What no node takes has no part in u, and neither has what is foreseen.
//
// F, W and S are of the mix and what is foreseen beyond it: one target more for every 200
// (by weight) is for a whole node, its healthy and other devices of the model of which it
// has the most, and what it has of all amounts, also of those that the mix knows nothing of, each cut to its 4 leading
// bits. Nodes of which these are equal are a kind, each kind has its part of that weight by
// its devices, and of more than 32 kinds those of the most weight count. Without it the few
// largest nodes are broken into by what would fit elsewhere, and what only they can hold is
// refused; a mix need not know of it, as it is rare. Weights are scaled to 2^38 up to 2^39 in
// all; parts below one are nothing. Prices are of the mix alone.
//
// Targets that no node would take count in F alone. One that asks memory has the size
// of its part of the smallest device that it accepts, in milli, rounded up. The
// program is solved once per scoring, in fractions, from the most asked 32 sizes in at
// most 256 steps, as long as the prices have a common unit of at least 2^-40; what else
// is asked is worth nothing by itself, and prices that are not the last are lawful all
// the same. Where not even the first have a unit, as of many small sizes, parts cost
// their size. Equal mixes have equal prices: they do not depend on the order in which
// they are given.
//
// On the five published workloads it leaves less unallocated than
// FragmentationGradient and keeps more nodes idle, but for one, and on most lists made of
// them it allocates no less (see examples/fragmentation, also for all that was
// tried). It loses
//
//   - by some tenths of a percent on few lists: where CPUs run out before devices, as it refuses fewer
//     tasks that ask no device, and so has less CPU for those that do, or as a task that asks all devices of a large
//     node and many cores finds none;
//   - where many tasks accept few models: the others then go to large nodes of models
//     that few ask, and fewer whole nodes are left (gpuspec33);
//   - where the mix tells little of what comes: it is as good as its mix, and without
//     one all is as good but for the least free;
//   - to BinPack in simplicity: what is placed where depends on what else runs and
//     waits, as with FragmentationGradient, and small changes of its constants move
//     the figures by some tenths of a percent, up and down.
//
// Sources of the rest: BinPack, Spread and the order of CPU-only tasks are those
// of the Run:ai scheduler, the meaning of selectors, taints and tolerations is
// that of Kubernetes; what is not named is ours.
//
// # How
//
// For every strategy in use the index keeps a ranking: each node's level and,
// per level, a bitmap over positions. Levels follow from the state of the node,
// and a change moves one bit once a search asks for the ranking again. For every shape it keeps the set of nodes that
// would take the task when empty (computed once: labels only for keys that
// selectors name, the rest per kind of node), the subset that may take it now,
// and a cursor per level. A Find walks the levels in the strategy's order and
// takes the first node that is on the level, may take the task, and does. A
// node that does not is crossed out until it has more free than then, which
// takes a Give or an Undo: a thousand nodes with free GPUs and no CPU are looked
// at once by a shape, not once a task.
//
// Where there are domains, BinPack and Spread keep instead, for each shape, a tournament
// of the nodes that follows the tree: in each domain what is directly in it plays, domains
// by their winners. Which node wins inside a domain does not depend on what is around it, so a
// change concerns the matches on its own node's way up, whatever it does to the domains.
//
// For a shape and a strategy that scores, the index keeps every node's score and
// a tournament over the positions; a Find scores the nodes that have changed since
// the last one and plays their matches again. FragmentationGradient numbers the
// states of devices, whatever their order, and what free amounts are enough for;
// F is a product of two short lists of numbers then, and where a task leads from
// a state is looked up. Both are forgotten when far more are known than there are
// nodes, so that memory stays flat. ShadowPrice does the same, with V by state
// of devices and what each target finds enough of by free amounts. S changes with every task that
// comes or goes, and is the same of all nodes that serve the same targets, a ground: scores are
// without it, each ground has a tournament of its own, and a Find compares the winners, with S.
//
// # Invariants
//
//   - Rankings and bitmaps are functions of the nodes' state, and what a shape
//     remembers never excludes a node that fits: the answer of Find is that of
//     a scan of all nodes by the order above.
//   - A task is never given devices outside the island that it requires.
//   - What is remembered of choices inside nodes is a function of how devices are
//     joined and which are free: it can be forgotten at any time.
//   - A caller that takes only what is found keeps S4: what runs and is releasing fits, and
//     what runs and is claimed, on every node and device, whatever is released, leaves,
//     is claimed, given or undone in between.
//   - What is found after the release is what an index would find in which what runs
//     and what is claimed was taken, and nothing was ever releasing.
//   - Undo restores the state exactly; with no [Mark] outstanding nothing is
//     journaled.
//   - Find, Take, Give and Undo do not allocate once a shape and strategy has
//     been asked for and the journal has its size; FragmentationGradient and
//     ShadowPrice may for a state of devices that is new, and all may for free
//     devices between which there has not been a choice yet.
//   - What a profile answers is what a look at every time answers: no earlier start is
//     possible, and a place that is found is free in all of the window.
//   - At every level a node is in one domain or in none, and what is around that domain
//     is around the node. The tree is a function of the nodes' names and positions.
//   - [Index.Rooms] is [Index.RoomOn] of every node, whatever was taken, given or undone
//     since.
//   - Over-used nodes and devices (free amounts below zero) take nothing and do
//     no harm.
//
// # Complexity
//
// Take, Give and Undo: O(devices of the node + amounts of the request), Release, Leave
// and claims likewise, and twice that once [Index.AfterRelease] has been asked for,
// which takes O(n) the first time. Where nothing is releasing and claimed, none of it
// is there. Find:
// O(levels), and for the nodes that changed since the last Find by the same ranking O(changes), at most O(n);
// and one test of a node, amortised; every node may be tested once more per shape after each Give or Undo there. Where there are domains, BinPack and
// Spread: O(changed nodes × (log n + levels)) for the nodes that changed since the last
// Find of the shape, as a match seldom looks at the domains, at worst a factor of the
// levels more; and 9 to 17 bytes a node and shape. A strategy that scores: O(changed
// nodes × log n), Random O(changed nodes + n/64); FragmentationGradient in
// addition parts of the mix, and ShadowPrice targets of it, for each way to use a
// node. The first Find of ShadowPrice after a SetScoring solves its program, some 0.5
// ms for 12 sizes and 5 ms for 32, at worst 0.1 s, and takes O(targets × distinct
// nodes), and each Find after a change O(grounds × lists of grounds that serve some target). A level on which nodes come and go far apart costs a scan of n/64 words at
// worst. Which devices are best is computed once for each make of node and set of free
// devices, and looked up then: the first time it takes a few µs for 8 devices and up
// to some ms for 16. That a task requires an island adds a look at each island of a node
// that is tested, of which there are seldom more than ten. [Index.Shape], the first
// Find of a shape and strategy, [Index.Reject], [Index.Candidates] (once) and
// [Index.Free]: O(n). [NewTopology]: O(n·l·(l + log n)) for l levels, and 4 bytes a node
// and level, and some 40 a domain; nothing in it is searched but by [Topology.At],
// O(log n). [Index.Rooms]: O(changed nodes), 4 bytes a node and shape.
//
// [NewProfile]: O(1), and O(log ends) for what is told by [Profile.Stands]; [Profile.Hold],
// [Profile.Release] and [Profile.Free]: O(places × what stands and is held on their nodes). [Profile.Earliest]:
// O(n/64 + h·log h) for h holders, a reading of its nodes for every end and every holder up to the
// answer, and of each time at which more is free and there may be room a search for places, of which there are O(log ends)
// more where one of them fails; a start that is not accepted has the nodes that have changed until then be changed back
// and again. 10,000 nodes of which 450 become free before the answer, 100 holders on all of these: 0.15 ms. [Profile.During] and [Profile.KeepFree] read what is held up to their time.
//
// # Example
//
// Nodes with 1, 3 and 8 of 8 devices free, by position. A task of one device
// goes to the first node under BinPack (the fewest whole devices) and to the
// third under Spread (load 0). A task of half a device opens a device of the
// first node under BinPack, unless some device is shared already and has half
// of it left; then it goes there.
//
// Four nodes of two levels, block and rack: in east r1, east r2 and west r1, and one in
// east of which the rack is not known. The tree has the blocks east, with three nodes,
// and west; the racks r1 and r2 in east and r1 in west, with one node each; and four
// nodes, of which the last one's parent is east.
package placement
