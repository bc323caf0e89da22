// Package gang says what a workload starts at once, and places it whole or not
// at all (SPEC §6, G1–G4), and by which steps it grows and shrinks (L1).
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
// # Invariants
//
//   - A unit adds at least one task and never more than are submitted and not
//     held.
//   - Below the minimum a unit reaches it and no part of the unit does; every
//     smallest way to reach it is a unit, or differs from one only by exchanging
//     alike children.
//   - The units of a budget are the first of those of any larger budget.
//   - Place takes every place it returns, or changes nothing.
//   - A [Gang] never changes; the same arguments give the same answers.
//
// # Cost
//
// For a gang of s sets and g groups, a unit costs O(s + g), and one that needs
// all its children and holds nothing O(1) and no memory. Place makes one search
// of the index per task and order. A million alike workloads may share one Gang.
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
// The sources of the rules are Run:ai and KAI-Scheduler (subgroups), Determined
// and Grove; the order of other tries moves what failed to the front, as in
// "squeaky wheel" optimisation (Joslin and Clements, 1999).
package gang
