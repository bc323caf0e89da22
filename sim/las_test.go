package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// TestLASHasTheCluster: what is lost, cordoned or unhealthy is so under 2D-LAS as well, and
// GPUs that are asked by their memory are held. Jobs that end before they go down a queue run
// first in, first out.
func TestLASHasTheCluster(t *testing.T) {
	const short = 50 * time.Minute
	singles := func(n int) (jobs []sim.Job) {
		for i := range n {
			jobs = append(jobs, single(fmt.Sprint(i), 1, time.Duration(i)*second, short))
		}
		return jobs
	}
	const device = 1 // of node-0
	for _, c := range []struct {
		name     string
		nodes    []allot.Node
		jobs     []sim.Job
		changes  []sim.Change
		makespan time.Duration
	}{
		{"a node is lost", trace.Nodes(1, 1), singles(2), []sim.Change{
			{At: 30 * time.Minute, Kind: sim.NodeLost, Node: "node-0"}, {At: 10 * time.Hour, Kind: sim.NodeBack, Node: "node-0"},
		}, 10*time.Hour + 20*time.Minute + short},
		{"a node is cordoned", trace.Nodes(1, 1), singles(2), []sim.Change{
			{At: 30 * time.Minute, Kind: sim.Cordon, Node: "node-0"}, {At: 10 * time.Hour, Kind: sim.Uncordon, Node: "node-0"},
		}, 10*time.Hour + short},
		{"a device is lost", trace.Nodes(1, 2), singles(4), []sim.Change{
			{At: 0, Kind: sim.DeviceLost, Node: "node-0", Device: device}, {At: 2 * short, Kind: sim.DeviceBack, Node: "node-0", Device: device},
		}, 3 * short},
		{"a node is lost from the beginning", append(trace.Nodes(1, 1), allot.Node{ID: "lost", Devices: make([]allot.Device, 2), Lost: true}), singles(3), nil, 3 * short},
		{"memory", []allot.Node{{ID: "n", Devices: []allot.Device{{Memory: 1000}}}}, asMemory(singles(3), 1000), nil, 3 * short},
		{"parts of memory", []allot.Node{{ID: "n", Devices: []allot.Device{{Memory: 1000}}}}, asMemory(singles(4), 500), nil, 2*short + second},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &sim.Input{Cluster: allot.State{Nodes: c.nodes}, Jobs: c.jobs, Changes: c.changes}
			for _, s := range []sim.Scheduler{sim.FirstFit(), sim.LAS()} {
				r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Sample: time.Hour})
				if r.Makespan != c.makespan {
					t.Errorf("%s: makespan %v, not %v", s.Name, r.Makespan, c.makespan)
				}
			}
		})
	}
}

// asMemory has the jobs ask their GPU by its memory.
func asMemory(jobs []sim.Job, memory int64) []sim.Job {
	for i := range jobs {
		jobs[i].Workload.PodSets[0].Request.GPU = allot.GPURequest{Memory: memory}
	}
	return jobs
}

// TestLASByModel: a job is as slow under 2D-LAS as the GPU that it has.
func TestLASByModel(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1)}, Jobs: []sim.Job{single("a", 2, 0, 100*second)}}
	in.Cluster.Nodes[1].Devices[0].Model = "old"
	in.Jobs[0].ModelSpeed = map[string]int64{"old": 500}
	if r := mustRun(t, in, sim.Options{Scheduler: sim.LAS(), Check: true}); r.Makespan != 200*second {
		t.Errorf("it took %v", r.Makespan)
	}
}
