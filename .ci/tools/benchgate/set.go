package main

// benchmarks are the short set of the gate: each kind of work once, at a size that
// takes milliseconds. examples/benchmarks measures all shapes at all sizes.
var benchmarks = []benchmark{
	{"", "Fill/nodes=1000/decide", 10},
	{"", "Fill/nodes=1000/solve", 10},
	{"", "Heads/queues=1000/decide", 50},
	{"", "Cores/nodes=100/pending=3200/queues=10/decide", 50},
	{"", "Priorities/nodes=100/idle/decide", 100},
	{"", "Priorities/nodes=100/full/decide", 10},
	{"", "ReclaimGang/nodes=100/decide", 50},
	{"", "ReclaimSingles/nodes=100/decide", 20},
	{"", "HopelessGang/nodes=300/decide", 100},
	{"", "Victims/queues=20/victims=10/decide", 50},
	{"", "Preempt/nodes=50/decide", 20},
	{"", "Consolidate/nodes=50/decide", 20},
	{"", "SnapshotArrival/nodes=1000", 20},
	{"", "SnapshotEnd/nodes=1000", 20},
	{"verify", "Verify/nodes=1000/tasks=8000", 5},
	{"verify", "VerifyGang/halves/nodes=200", 5},
	{"placement", "Fill/strategy=bin-pack/nodes=1000", 20},
	{"placement", "Churn/nodes=1000", 50_000},
	{"queue", "OrderAll/queues=1000/levels=3/order=fair-share", 20},
	{"fairshare", "DivideTree", 20},
}
