// Package difference makes a plan of two tables of allocations, before a solve and after it, and
// never of the history of the solve between them (M9, M11).
//
// [Close] writes the actions; [Difference] tells afterwards by which chain a workload lost a place
// to another. Inside there are pure functions of dense integers, each in its file, with what joins
// them to the world beside them: match (diff_match.go) says which task is which, steps
// (diff_starts.go) how a workload starts so that each part leaves it at its minimum, sequence
// (diff_order.go) which action waits for what, attribute (diff_attribute.go) which workload took
// the place of which. Their
// page is the head of diff.go. In which steps one workload starts is in diff_units.go, and
// what may go only because something starts first in budgets.go (M7).
//
// # Invariants
//
//   - The plan says of every task that moved, went or started so, and of no other: what stays is
//     not told. No other assignment of alike tasks has fewer of them leave their place.
//   - After every prefix the cluster is lawful (S4): what an action waits for left in an earlier
//     one, or was releasing before. A circle of moves is cut at the cheapest.
//   - The last of each chain of takers holds something in the end.
//   - What a solve remembers of its way (commits, takings) chooses among differences and adds
//     none.
//
// # Cost
//
// For n rows of workloads that anything was taken from or given to, O(n log n); a chain costs its
// length, and what waits for what each action and each node on which it is given places, once. A
// solve that takes nobody pays for the rows that it starts.
package difference
