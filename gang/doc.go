// Package gang says what a workload starts at once, and places it whole or not
// at all (G1–G4), near together where its constraints say so (T2, T3, T5–T7; P8), and
// by which steps it grows and shrinks (L1). RULES.md, in the root of the repository,
// has the rules.
//
// # The rule
//
// A workload's form is a tree: pod sets of identical tasks, in groups of any
// depth. A set is at its minimum when it holds Min of its tasks, a group when m
// of its n children are at theirs; the workload is the root group and needs all
// its children. From what is held, running or claimed, follow the units that
// may start next:
//
//   - Below the minimum a unit is exactly what is missing to it, over all sets
//     together: nothing of a gang starts alone, and one that lost tasks is
//     completed together (G1). Where a group needs fewer children than it has,
//     each choice of children is a unit (G3).
//   - From the minimum on, units are the children that no choice needed yet,
//     each at its own minimum, and then tasks above the minimum, one at a time
//     (G2).
//   - Tasks that are not submitted are in no unit. If the minimum is out of
//     reach without them, the verdict says of which set how many are there and
//     how many must be (G1).
//
// [Placer.Place] gives each task of one unit a place in a [placement.Index], or
// leaves the index as it was. As no unit is ever half placed, two gangs that each need
// everything cannot block each other with halves (G4).
//
// A set may also go by halving: then its sizes are those of its [Ladder], and
// which of them to start at and when to climb is the caller's to say (L2, L3).
//
// Which workload has its turn, whether quota and limits admit a unit, and which
// form of a workload is tried (G5), is the caller's business.
//
// # The order of preference
//
// Listed order is the order of the sets; a group stands where the first of its
// sets stands. Of the children that could be chosen those that hold tasks come
// first, then listed order decides; choices follow in lexicographic order, the
// choice inside a later child varying before that inside an earlier one. Alike
// children, of one definition and holding the same, are not exchanged for one
// another: that would ask for the same tasks again. There can be exponentially
// many choices, so a [Walk] yields a counted number and says whether it was cut.
//
// Sets are placed hardest first, and in a bounded number of other orders if
// that fails: see [Placer.Place]. Packing several shapes is hard in general; a
// search that fails after the last order proves nothing, and its verdict gives
// the most that was placed. For a unit of one shape, one order is the whole
// search and, but for fractions of several devices, an exact one.
//
// # Near together
//
// The workload, a group and a set may each have a [Constraint]. It speaks of the
// levels of a [placement.Topology], the whole cluster being level 0, and
// [Placer.PlaceWithSiblings] keeps it for what is held and what is added together:
//
//   - Required (T2): one domain of the level holds all that the constraint is of. A
//     node that lacks the level is in none.
//   - Preferred (T2): one domain of that level should; else one of the next wider, and
//     so on up to the required level, or the whole cluster. There the tasks are parted
//     among domains of the preferred level. Nodes that lack it are used where these do not
//     take all, and count for one domain each. Each level is tried as if it were required
//     before a wider one is.
//   - Mode (T2, T5) says how. Pack takes the domains with the most room, and for what
//     is left the fullest that takes it: so the fewest domains, and big ones stay
//     whole. With [Placer.LeastFreeFirst] it begins with the least room. Balance takes
//     even parts, which differ by one at most: the fewest that there are, and of those
//     the fullest; where there are none, the parts that differ least, then the fewest.
//     Of sets of several shapes together parts that differ least are looked for in up to 12
//     domains, piece by piece and then in every way, within a budget. Spread takes as many
//     domains as there are, and parts of which the smallest is as large as can be, then the
//     next one.
//   - Slices (T3): the tasks with the indices 0 to k−1, k to 2k−1 and so on are each in
//     one domain, and of these the smaller slices inside. No domain counts for more
//     than the whole slices that it takes, and none is parted narrower than a slice.
//   - What is held pins (T6): what is added joins the domain of what its constraint, or
//     its slice, has there already, and finds no place if that is full or if it is in
//     two.
//
// What has no preference of its own is parted like what is around it. In the domains of
// the preferred level each narrower level is packed likewise, in turn down to the nodes;
// but which nodes, strategies that spread decide, evenly, and First, by position, and
// these pack a set of one shape in no narrower level. Where nothing is preferred, sets of
// slices included, a set is placed by its strategy: bin-packing, and all that score, from
// the node with the least room on.
//
// Of one shape, how many tasks a domain takes is a sum, and counting is a proof. Sets
// of several shapes are placed for real: in all choices of up to 12 domains, and at
// last, for up to 64 tasks on up to 64 nodes with room, in every way. So are slices of
// which a unit has only a part, and of which nothing is held. A search that gives up
// before that says so (Cut). Of what finds no place, [Placer.Best] says which domains
// come nearest (T7), and [Placer.Domains] which of them could be cleared.
//
// Without constraints, a [Fitting] puts tasks of whole devices on one node if that
// takes them, and else on idle nodes that they fill (P8).
//
// # Invariants
//
//   - A unit adds at least one task and never more than are submitted and not
//     held.
//   - Below the minimum a unit reaches it and no part of the unit does; every
//     smallest way to reach it is a unit, or differs from one only by exchanging
//     alike children.
//   - The units of a budget are the first of those of any larger budget.
//   - Place and PlaceWithSiblings take every place they return, or change nothing.
//   - No required level and no slice is broken by what is added. A refusal (NoDomain)
//     that is not Cut is a proof for whole devices, single ones and CPU-only tasks.
//   - Domains and nodes are told apart by room, then by their order: history does not
//     show.
//   - A [Gang] never changes; the same arguments give the same answers.
//
// # Cost
//
// For a gang of s sets and g groups, a unit costs O(s + g), and one that needs
// all its children and holds nothing O(1) and no memory. Place makes one search
// of the index per task and order. A million alike workloads may share one Gang.
//
// Under constraints a set of one shape costs O(n + d log d) for the n nodes and d
// domains that are looked at, once a level from the preferred to the required one, and
// O(m log m) for the m nodes of the domains that are chosen. Sets of several shapes
// cost that for each choice of domains, of at most some 4,000 at a time; [MostWasted]
// places taken in vain, or some 20,000 at the end, are the most, and four times as many
// for levels that are preferred only.
//
// # Example
//
// A service of two replicas, of which one is enough, each a leader and 2 to 3
// workers:
//
//	sets:   0 leader 1 of 1 in group 1    groups: 0 needs 1 of its 2 children
//	        1 worker 2 of 3 in group 1            1 in group 0, needs both
//	        2 leader 1 of 1 in group 2            2 in group 0, needs both
//	        3 worker 2 of 3 in group 2
//
// It starts with 1,2,0,0 (tasks by set), or, as the replicas are alike, not at
// all. Then the other replica follows whole, 0,0,1,2, or, if that finds no
// place, a third worker alone, 0,1,0,0. If then the first replica's leader is
// lost, 1,0,0,0 and 0,0,1,2 both make the service whole again, the former first
// because that replica holds tasks.
//
// Racks that take 3, 3, 2 and 1 tasks, and a gang of 7 that prefers one rack: none takes
// it, so it is placed in the whole cluster, as 3, 3 and, for the last one, the fullest
// rack that takes it: 3, 3, 0, 1. Balance gives the three racks with the most room
// 3, 2 and 2, Spread all of them 2, 2, 2 and 1; least free first fills the racks of 1,
// 2 and 3 and has 1 left for the other. If the gang required one rack, nothing would
// start, and Best would name a rack of 3. In slices of two the racks count 2, 2, 2 and
// 0, and 6 tasks are all that can be placed.
//
// The sources of the rules are Run:ai and KAI-Scheduler (subgroups), Determined
// and Grove; the order of other tries moves what failed to the front, as in
// "squeaky wheel" optimisation (Joslin and Clements, 1999).
package gang
