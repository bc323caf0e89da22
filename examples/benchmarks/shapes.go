package main

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A shape is a state of a kind, at one or more sizes, and what is to be decided
// about it. Its benchmark has sub-benchmarks by size, and below them by measure:
// floor, room, decide, solve, or event, which is With and Decide on a snapshot.
type shape struct {
	title string
	// folder of its package, from the root of the project.
	folder string
	// benchmark is the name of its function, without Benchmark.
	benchmark string
	sizes     []size
	// event: it is not a decision from scratch but an event on a snapshot of the
	// states of the benchmark cold, if it names one.
	event bool
	cold  string
	// times is how often a benchmark of the smallest size is repeated within a
	// run; larger ones are repeated less, events as often.
	times int
	// once: in the first round only.
	once    bool
	targets []target
}

// A size is the shape at n, of whatever it is large in.
type size struct {
	n    int
	name string // below the benchmark; "" where there is one size only
}

// sizes are those of a name with multiples of n in braces: {n}, {8n}.
func sizes(name string, ns ...int) (all []size) {
	for _, n := range ns {
		at := name
		for _, factor := range []int{1, 8, 32} {
			sign := "{" + strings.TrimPrefix(strconv.Itoa(factor), "1") + "n}"
			at = strings.ReplaceAll(at, sign, strconv.Itoa(factor*n))
		}
		all = append(all, size{n, at})
	}
	return all
}

// repeats is how often a run repeats each benchmark at the size.
func (s shape) repeats(at size, short bool) int {
	switch {
	case short:
		return 1
	case s.event:
		return s.times
	}
	return max(3, s.times*s.sizes[0].n/at.n)
}

// name is the benchmark at the size, as results have it.
func (s shape) name(at size) string {
	return path.Join(s.benchmark, at.name)
}

// choose takes the shapes that the command line asks for, in their order.
func choose(all []shape, o *options) (chosen []shape) {
	for _, s := range all {
		if !o.shapes.MatchString(s.title) && !o.shapes.MatchString(s.benchmark) {
			continue
		}
		if last := len(s.sizes) - 1; o.short && last > 0 {
			s.sizes = s.sizes[:last]
		}
		chosen = append(chosen, s)
	}
	return chosen
}

// allShapes are those of the tables, in the order of the tables.
func allShapes() []shape {
	return slices.Concat(idleShapes(), topologyShapes(), fullShapes(), restShapes(), eventShapes())
}

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// idleShapes are those in which nobody has to go.
func idleShapes() []shape {
	return []shape{
		{
			title:     "fill n nodes × 8 GPUs to the brim with work of all kinds, 200 queues",
			benchmark: "Fill", sizes: sizes("nodes={n}", 1_000, 10_000, 100_000), times: 10,
			targets: []target{
				timesFloor("decide", 8), timesFloor("solve", 15), ratioGrows("decide", 1_000, 100_000, 1.5), metric("decide", "B/task", "B of live heap a task", 400),
			},
		},
		{
			title:     "n nodes × 8 GPUs, 8n pending singles, 4 queues",
			benchmark: "Pending", sizes: sizes("nodes={n}/pending={8n}/queues=4", 125, 500, 2_000), times: 40,
			targets: []target{within("decide", 500, 5*ms)},
		},
		{
			title:     "n queues with one waiting head each: decide the order and start all",
			benchmark: "Heads", sizes: sizes("queues={n}", 200, 1_000, 5_000), times: 100,
			targets: []target{within("decide", 1_000, 2*ms)},
		},
		{
			title:     "n nodes × 32 cores, 32n pending singles, ten queues",
			benchmark: "Cores", sizes: sizes("nodes={n}/pending={32n}/queues=10", 100, 300, 1_000), times: 20,
			targets: []target{within("decide", 1_000, 50*ms)},
		},
		{
			title:     "10n pending of mixed size on n idle nodes, priority preset",
			benchmark: "Priorities", sizes: sizes("nodes={n}/idle", 100, 300, 1_000), times: 40,
			targets: []target{within("decide", 1_000, 20*ms)},
		},
		{
			title: "the openb cluster of n nodes and its 8,152 pods", folder: "examples/openb",
			benchmark: "Openb", sizes: []size{{1213, "nodes=1213/pods=8152"}}, times: 5,
		},
		{
			title: "FGD on the openb cluster of n nodes, the search for places alone", folder: "examples/fragmentation",
			benchmark: "FGD", sizes: []size{{n: 1213}}, times: 5,
			targets: []target{metric("", "µs/pod", "µs a pod", 10)},
		},
	}
}

// fullShapes are those in which room has to be made.
func fullShapes() []shape {
	return []shape{
		{
			title:     "a gang of n/10 whole nodes reclaims from 8n singles on n nodes",
			benchmark: "ReclaimGang", sizes: sizes("nodes={n}", 100, 500, 1_000), times: 20,
			targets: []target{within("decide", 1_000, 50*ms), grows("decide", 1.2)},
		},
		{
			title:     "a gang of n/2 whole nodes reclaims from 8n singles on n nodes",
			benchmark: "ReclaimHalf", sizes: sizes("nodes={n}", 100, 500, 1_000), times: 20,
			targets: []target{within("decide", 100, 9*ms), within("decide", 1_000, 90*ms)},
		},
		{
			title:     "8n pending singles reclaim from 8n running ones on n nodes",
			benchmark: "ReclaimSingles", sizes: sizes("nodes={n}", 100, 500, 1_000), times: 10,
			targets: []target{within("decide", 100, 10*ms)},
		},
		{
			title:     "32n pending cores reclaim from 32n running ones on n nodes",
			benchmark: "ReclaimCores", sizes: sizes("nodes={n}", 100, 300, 1_000), times: 5,
			targets: []target{within("decide", 1_000, 100*ms)},
		},
		{
			title:     "a gang that needs 80 GPUs where 79 of 8n may be taken",
			benchmark: "HopelessGang", sizes: sizes("nodes={n}", 100, 300, 1_000), times: 200,
			targets: []target{within("decide", 100, 1*ms), within("decide", 1_000, 1*ms)},
		},
		{
			title:     "10n pending of mixed size on n nodes full of lower priority, priority preset",
			benchmark: "Priorities", sizes: sizes("nodes={n}/full", 100, 300, 1_000), times: 10,
			targets: []target{within("decide", 1_000, 40*ms)},
		},
		{
			title:     "find 10 victims among n queues of 100 running workloads",
			benchmark: "Victims", sizes: sizes("queues={n}/victims=10", 20, 40, 100), times: 20,
			targets: []target{within("decide", 100, 5*ms)},
		},
		{
			title:     "find 1,000 victims among n queues of 100 running workloads",
			benchmark: "Victims", sizes: sizes("queues={n}/victims=1000", 20, 40, 100), times: 10,
			targets: []target{within("decide", 100, 15*ms)},
		},
		{
			title:     "find 10 victims among n queues of 100 running cores of one node: quota alone",
			benchmark: "VictimsOfQuota", sizes: sizes("queues={n}/victims=10", 20, 40, 100), times: 20,
			targets: []target{within("decide", 100, 5*ms)},
		},
		{
			title:     "find 1,000 victims among n queues of 100 running cores of one node: quota alone",
			benchmark: "VictimsOfQuota", sizes: sizes("queues={n}/victims=1000", 20, 40, 100), times: 10,
			targets: []target{within("decide", 100, 15*ms)},
		},
		{
			title:     "0.087n gangs of 8 to 24 half nodes preempt gangs of ten on n full nodes, 2 resources",
			benchmark: "Cycle", sizes: sizes("nodes={n}/resources=2", 100, 300, 1_000), times: 10,
		},
		{
			title:     "0.087n gangs of 8 to 24 half nodes preempt gangs of ten on n full nodes, 30 resources",
			benchmark: "Cycle", sizes: sizes("nodes={n}/resources=30", 100, 300, 1_000), times: 10,
			targets: []target{within("decide", 1_000, 22*ms)},
		},
		{
			title:     "2n of higher priority in one queue of 8n running singles on n nodes",
			benchmark: "Preempt", sizes: sizes("nodes={n}", 50, 200, 800), times: 20,
		},
		{
			title:     "ten 4-GPU jobs where singles take 7 of 8 GPUs of each of n nodes: consolidation",
			benchmark: "Consolidate", sizes: sizes("nodes={n}", 50, 250, 1_000), times: 20,
		},
	}
}

// topologyShapes are gangs under constraints; of a row of them with other numbers of
// GPUs the largest stands here.
func topologyShapes() []shape {
	return []shape{
		{
			title:     "a gang of 92% of n nodes in equal parts per rack of 25 nodes",
			benchmark: "TopologyBalanced", sizes: sizes("nodes={n}", 625, 2_500, 10_000), times: 20,
			targets: []target{within("decide", 2_500, 2*ms), metric("place", "allocs/op", "allocations of the search", 100)},
		},
		{
			title:     "a gang of 64 GPUs in one rack of n nodes, every third node in use",
			benchmark: "TopologyGang", sizes: sizes("rack/gpus=64/nodes={n}", 1_000, 10_000, 100_000), times: 20,
		},
		{
			title:     "a gang of 4,096 GPUs in as few blocks of n nodes as can be",
			benchmark: "TopologyGang", sizes: sizes("block/gpus=4096/nodes={n}", 1_000, 10_000, 100_000), times: 20,
		},
		{
			title:     "a gang of 4,096 GPUs in slices of 16 nodes of a rack, on n nodes",
			benchmark: "TopologyGang", sizes: sizes("slices/gpus=4096/nodes={n}", 1_000, 10_000, 100_000), times: 20,
		},
		{
			title:     "a gang of a whole rack of 16 nodes reclaims one on n full nodes",
			benchmark: "TopologyClear", sizes: sizes("nodes={n}", 256, 1_024, 4_096), times: 8,
		},
	}
}

// restShapes are clusters at rest, from scratch: what events are compared with.
func restShapes() []shape {
	return []shape{
		{
			title:     "at rest: n nodes × 8 GPUs, 8n running and 2n pending singles, 200 queues",
			benchmark: "Steady", sizes: sizes("nodes={n}", 1_000, 10_000, 100_000), times: 10,
		},
		{
			title:     "at rest: n sibling queues share 2n GPUs by weight",
			benchmark: "Siblings", sizes: sizes("siblings={n}", 100, 1_000, 10_000), times: 20,
		},
		{
			title:     "at rest: n idle pending beside a busy queue on 100 nodes",
			benchmark: "Idle", sizes: sizes("pending={n}", 1_000, 10_000, 100_000, 1_000_000), times: 20,
		},
	}
}

// eventShapes are what happens to snapshots of them.
func eventShapes() []shape {
	nodes := sizes("nodes={n}", 1_000, 10_000, 100_000)
	flat := []target{medianWithin(10_000, 200*us), larger("p50-sec/op", "median", 1_000, 100_000, 2)}
	return []shape{
		{
			title:     "one workload arrives on n nodes with 8n running, 2n pending, and waits",
			benchmark: "SnapshotArrival", sizes: nodes, event: true, cold: "Steady", times: 200, targets: flat,
		},
		{
			title:     "one of 8n running ends, the next of its queue starts",
			benchmark: "SnapshotEnd", sizes: nodes, event: true, cold: "Steady", times: 200, targets: flat,
		},
		{
			title:     "one of n nodes is lost, eight workloads are displaced",
			benchmark: "SnapshotLoss", sizes: nodes, event: true, cold: "Steady", times: 200, targets: flat,
		},
		{
			title:     "a full cluster under Run:ai with gangs in racks and claims in flight, one ends or one more arrives",
			benchmark: "SnapshotContended", sizes: sizes("nodes={n}", 100, 1_000), event: true, times: 200,
			targets: []target{medianWithin(1_000, 2*ms), metric("event", "scratch-%", "decisions from scratch in a hundred", 5)},
		},
		{
			title:     "a workload comes that needs the room of 10 victims among n queues of 100 running workloads",
			benchmark: "SnapshotVictims", sizes: sizes("queues={n}/victims=10", 20, 40, 100), event: true, times: 200,
			targets: []target{medianWithin(100, ms/2)},
		},
		{
			title:     "a workload comes that needs the room of 1,000 victims among n queues of 100 running workloads",
			benchmark: "SnapshotVictims", sizes: sizes("queues={n}/victims=1000", 20, 40, 100), event: true, times: 50,
			targets: []target{medianWithin(100, 5*ms)},
		},
		openbEvents("runai", "Run:ai"), openbEvents("determined-fair-share", "Determined's fair share"), openbEvents("determined-priority", "Determined's priorities"),
		{
			title:     "an arrival moves the shares of n siblings",
			benchmark: "SnapshotShares", sizes: sizes("siblings={n}", 100, 1_000, 10_000), event: true, cold: "Siblings", times: 200,
			targets: []target{medianWithin(1_000, ms), mediansGrow(1.1)},
		},
		{
			title:     "an arrival that n idle pending have nothing to do with",
			benchmark: "SnapshotIdle", sizes: sizes("pending={n}", 1_000, 10_000, 100_000, 1_000_000), event: true, cold: "Idle", times: 200,
			targets: []target{larger("p50-sec/op", "median", 1_000, 1_000_000, 1.25)},
		},
		{
			title:     "an arrival in one of n queues, in each of which workloads of 30 kinds wait",
			benchmark: "SnapshotKinds", sizes: sizes("queues={n}/kinds=30", 200, 2_000), event: true, times: 200,
			targets: []target{medianWithin(2_000, 2*ms)},
		},
		{
			title:     "n steps, each an end, a start and an arrival, on 10 nodes",
			benchmark: "SnapshotSteps", sizes: sizes("steps={n}", 10_000, 100_000, 1_000_000), event: true, times: 1, once: true,
			// What the first steps set up is divided by few steps at first.
			targets: []target{largest("event", "B/step", "B of live heap a step", 1_000_000, 1)},
		},
	}
}

// openbEvents are single events on the full openb cluster under a preset.
func openbEvents(preset, words string) shape {
	return shape{
		title:  "the openb cluster of n nodes full under " + words + ", one ends or one more arrives",
		folder: "examples/openb", benchmark: "OpenbEvent", sizes: []size{{1213, "nodes=1213/pods=8152/" + preset}}, event: true, times: 200,
		targets: []target{medianWithin(1213, ms), bounded("event", "p99-sec/op", "p99", 1213, 10*ms), metric("event", "scratch-%", "decisions from scratch in a hundred", 5)},
	}
}

// A target is an upper bound that we have set ourselves.
type target struct {
	text  string
	limit float64
	// value is what was measured; false where it was not. The text is the value
	// as it is printed.
	value func(g group) (value float64, text string, ok bool)
}

// within bounds the time of a measure at a size.
func within(measure string, n int, limit time.Duration) target {
	return bounded(measure, "sec/op", measure, n, limit)
}

// medianWithin bounds the median of an event.
func medianWithin(n int, limit time.Duration) target {
	return bounded("event", "p50-sec/op", "median", n, limit)
}

func bounded(measure, unit, words string, n int, limit time.Duration) target {
	return target{
		fmt.Sprintf("%s at n = %s within %s", words, grouped(n), durations(limit.Seconds())), limit.Seconds(),
		func(g group) (float64, string, bool) {
			v, ok := g.at(n).median(measure, unit)
			return v, durations(v), ok
		},
	}
}

// timesFloor bounds how many times the floor of the same run a measure takes, at
// every size.
func timesFloor(measure string, limit float64) target {
	return target{
		fmt.Sprintf("%s ≤ %s × floor", measure, significant(limit)), limit,
		func(g group) (worst float64, text string, ok bool) {
			for _, c := range g.cells {
				v, found := c.ratio(measure)
				worst, ok = max(worst, v), ok || found
			}
			return worst, significant(worst), ok
		},
	}
}

// ratioGrows bounds the ratio to floor at a large size by that at a small one.
func ratioGrows(measure string, small, large int, limit float64) target {
	return target{
		fmt.Sprintf("%s: × floor at n = %s ≤ %s × that at %s", measure, grouped(large), significant(limit), grouped(small)), limit,
		func(g group) (float64, string, bool) {
			first, ok1 := g.at(small).ratio(measure)
			last, ok2 := g.at(large).ratio(measure)
			return last / first, significant(last / first), ok1 && ok2
		},
	}
}

// larger bounds a figure of an event at a large size by that at a small one.
func larger(unit, words string, small, large int, limit float64) target {
	return target{
		fmt.Sprintf("%s at n = %s ≤ %s × that at %s", words, grouped(large), significant(limit), grouped(small)), limit,
		func(g group) (float64, string, bool) {
			first, ok1 := g.at(small).median("event", unit)
			last, ok2 := g.at(large).median("event", unit)
			return last / first, significant(last / first), ok1 && ok2
		},
	}
}

// grows bounds the exponent of growth of a measure by that of n·log n.
func grows(measure string, limit float64) target {
	return exponent(measure, "sec/op", measure+" grows about as n·log n", limit)
}

// mediansGrow bounds that of an event by that of what is linear.
func mediansGrow(limit float64) target {
	return exponent("event", "p50-sec/op", "median grows linearly", limit)
}

func exponent(measure, unit, words string, limit float64) target {
	return target{
		fmt.Sprintf("%s: n^ ≤ %s", words, significant(limit)), limit,
		func(g group) (float64, string, bool) {
			v, ok := g.growth(func(c cell) (float64, bool) { return c.median(measure, unit) })
			return v, fmt.Sprintf("%.2f", v), ok
		},
	}
}

// largest bounds a figure at one size.
func largest(measure, unit, words string, n int, limit float64) target {
	return target{
		fmt.Sprintf("≤ %s %s at n = %s", significant(limit), words, grouped(n)), limit,
		func(g group) (float64, string, bool) {
			v, ok := g.at(n).median(measure, unit)
			return v, significant(v), ok
		},
	}
}

// metric bounds a figure that the benchmark itself reports, at every size.
func metric(measure, unit, words string, limit float64) target {
	return target{
		fmt.Sprintf("≤ %s %s", significant(limit), words), limit,
		func(g group) (worst float64, text string, ok bool) {
			for _, c := range g.cells {
				v, found := c.median(measure, unit)
				worst, ok = max(worst, v), ok || found
			}
			return worst, significant(worst), ok
		},
	}
}
