// Package settling has what the workloads of a state hold take its place before any workload has
// a turn (S4, S5, S7).
//
// [Settle] reads the tasks that the state lists, in the order of workload, pod set and index:
//
//  1. What has lost its node or its device is displaced, and its claims are given up (S7).
//  2. What runs and what is leaving occupies the nodes.
//  3. Claims whose place could not take them even then are given up, those first in the order of
//     O1 kept.
//  4. Of each workload the claims start whose places have come free, if it is at its minimum
//     with them (G1); none does while tasks of its own are leaving that wait again (S5).
//  5. What is left is charged to its queue, and has its rows in the table.
//
// A world that is kept settles one workload at a time, by the methods of [Settling].
//
// # Invariants
//
//   - Nothing is taken for the sake of another: what is displaced or given up has no place.
//   - What Settle writes depends on the state alone, and comes before all other actions.
//   - Use in the tree and in the index is what runs, leaves and is claimed, once.
//
// # Cost
//
// O(t log t) for t tasks; one that stands where it stood costs a charge and a place.
package settling
