package sim_test

import (
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// elastic is a job of 1 to so many single GPUs that works at the speed of their number.
func elastic(id string, tasks int, duration time.Duration) sim.Job {
	j := single(id, 1, 0, duration)
	j.Workload.PodSets[0].Count, j.Workload.PodSets[0].Min = tasks, 1
	for n := range tasks {
		j.Speed = append(j.Speed, int64(n+1))
	}
	return j
}

// TestCheckpointsAtHalfSpeed: checkpoints come after so much time of work at any speed.
func TestCheckpointsAtHalfSpeed(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{elastic("a", 2, 100*second)}}
	r := mustRun(t, in, sim.Options{Check: true, Costs: sim.Costs{Loses: true, Checkpoint: 30 * second, Save: 5 * second}})
	// 200 s of work on one GPU, with checkpoints after 30, 60, … and 180 s of it.
	if j := r.Jobs[0]; j.End != 230*second || gpuSeconds(j.Overhead) != "30" {
		t.Errorf("it ends at %v, and saves for %s GPU-seconds", j.End, gpuSeconds(j.Overhead))
	}
	// It is stopped at 102 s: 60 s of work are saved, and a checkpoint of 30 s more has begun
	// at 100 s.
	in.Changes = []sim.Change{{At: 102 * second, Kind: sim.TaskFails, Node: "node-0"}}
	r = mustRun(t, in, sim.Options{Check: true, Costs: sim.Costs{Loses: true, Checkpoint: 30 * second, Save: 5 * second}})
	if j := r.Jobs[0]; gpuSeconds(j.Lost) != "30" || j.Starts != 2 {
		t.Errorf("it lost %s GPU-seconds", gpuSeconds(j.Lost))
	}
}

// TestGrowing: tasks that come to a job that runs take their start, and it works on with
// the others meanwhile.
func TestGrowing(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 3, 0, 50*second), elastic("b", 4, 100*second)}
	in.Jobs[0].Costs = &sim.Costs{}
	r := mustRun(t, in, sim.Options{Check: true, Sample: 7 * second, Costs: sim.Costs{Start: 10 * second}})
	// b works from 10 s with 1 GPU, has 3 more from 50 s, and they work from 60 s: by then it
	// has done 50 of 400, and 350 take 4 of them 87.5 s.
	b := &r.Jobs[1]
	if b.End != 147*second+second/2 || gpuSeconds(b.Overhead) != "40" || gpuSeconds(b.Useful) != "400" || b.Starts != 1 {
		t.Errorf("it ends at %v, starting took %s GPU-seconds, work %s", b.End, gpuSeconds(b.Overhead), gpuSeconds(b.Useful))
	}
	// The task that it had fails at 55 s: what has come is all that is left, and starts anew.
	in.Changes = []sim.Change{{At: 55 * second, Kind: sim.TaskFails, Node: "node-0", Device: 3}}
	for device := range 4 {
		in.Changes[0].Device = device
		mustRun(t, in, sim.Options{Check: true, Sample: 7 * second, Costs: sim.Costs{Start: 10 * second, Grace: second, Loses: true}})
	}
}

// TestShrinking: tasks that were told to go hold their GPUs and do nothing for their job.
func TestShrinking(t *testing.T) {
	in := reclaimed(sim.Costs{Grace: 20 * second})
	in.Cluster.Queues = []allot.Queue{queueOf("a", 2), queueOf("b", 2)}
	in.Jobs[0].Workload.PodSets[0].Request.GPU.Count, in.Jobs[0].Workload.PodSets[0].Count, in.Jobs[0].Workload.PodSets[0].Min = 1, 4, 1
	in.Jobs[0].Speed = []int64{10, 18, 24, 30}
	in.Jobs[1].Workload.PodSets[0].Request.GPU.Count = 2
	r := mustRun(t, in, sim.Options{Check: true})
	// 100 s at 30, 70 s at 18 while two leave for 20 s and b runs for 50 s, and 858 s at 30.
	if a := &r.Jobs[0]; a.End != 1028*second || gpuSeconds(a.Leaving) != "40" || gpuSeconds(a.Useful) != "3972" {
		t.Errorf("it ends at %v; leaving took %s GPU-seconds, work %s", a.End, gpuSeconds(a.Leaving), gpuSeconds(a.Useful))
	}
}

// TestInVain: of a job that ends in any way but done no work is useful.
func TestInVain(t *testing.T) {
	saves := sim.Costs{Loses: true, Checkpoint: 30 * second}
	for _, c := range []struct {
		name               string
		spoil              func(*sim.Job)
		costs              sim.Costs
		useful, lost, vain string
	}{
		{"done", func(*sim.Job) {}, saves, "200", "0", "0"},
		{"failed", func(j *sim.Job) { j.Fails = true }, sim.Costs{}, "0", "0", "200"},
		{"failed, saving", func(j *sim.Job) { j.Fails = true }, saves, "0", "0", "200"},
		{"cancelled", func(j *sim.Job) { j.CancelAfter = 40 * second }, sim.Costs{}, "0", "0", "80"},
		{"cancelled, saving", func(j *sim.Job) { j.CancelAfter = 40 * second }, saves, "0", "20", "60"},
	} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 2)}, Jobs: []sim.Job{single("a", 2, 0, 100*second)}}
		c.spoil(&in.Jobs[0])
		j := &mustRun(t, in, sim.Options{Check: true, Costs: c.costs}).Jobs[0]
		if gpuSeconds(j.Useful) != c.useful || gpuSeconds(j.Lost) != c.lost || gpuSeconds(j.Vain) != c.vain {
			t.Errorf("%s: useful %s, lost %s, in vain %s", c.name, gpuSeconds(j.Useful), gpuSeconds(j.Lost), gpuSeconds(j.Vain))
		}
	}
	// What an unfinished job has not saved is neither useful nor lost.
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 2)}, Jobs: []sim.Job{single("a", 2, 0, 100*second)}}
	j := &mustRun(t, in, sim.Options{Check: true, Costs: saves, Until: 50 * second}).Jobs[0]
	if gpuSeconds(j.Useful) != "60" || gpuSeconds(j.Unsaved) != "40" {
		t.Errorf("useful %s, unsaved %s", gpuSeconds(j.Useful), gpuSeconds(j.Unsaved))
	}
}

// TestSampling: what is looked at less often comes about the same, and is said to be.
func TestSampling(t *testing.T) {
	in := generate(t, trace.PhillyMix(), trace.Load{Seed: 2, Nodes: 2, Jobs: 150, Percent: 300, Tenants: 2, Burst: 5})
	all := mustRun(t, in, sim.Options{Scheduler: sim.Presets()[1], Sample: 3600 * second})
	some := mustRun(t, in, sim.Options{Scheduler: sim.Presets()[1], Sample: 3600 * second, VerifyEvery: 10, ReasonsEvery: 10})
	none := mustRun(t, in, sim.Options{Scheduler: sim.Presets()[1], Sample: 3600 * second, NoVerify: true, NoReasons: true})
	if all.Trail != some.Trail || all.Trail != none.Trail || all.Allocated != some.Allocated || all.Usable != none.Usable {
		t.Error("they are other runs")
	}
	if all.Verified != all.Decisions || all.Explained != all.Decisions || some.Verified == 0 || some.Verified > all.Decisions/10 || some.Explained > all.Decisions/10 || none.Verified+none.Explained != 0 {
		t.Errorf("of %d decisions %d and %d were verified, %d and %d asked", all.Decisions, all.Verified, some.Verified, all.Explained, some.Explained)
	}
	if all.Idle[sim.Untold] != (sim.Sum{}) || none.Idle[sim.Pieces] != (sim.Sum{}) || none.Idle[sim.NoDemand] != all.Idle[sim.NoDemand] {
		t.Errorf("idle are %s, or %s", idleSeconds(all), idleSeconds(none))
	}
	for i := range all.Rows {
		for k, q := range all.Rows[i].Queues {
			if !q.Divided || q != some.Rows[i].Queues[k] || none.Rows[i].Queues[k].Divided {
				t.Fatalf("at %v queue %d has %+v, or %+v, or %+v", all.Rows[i].At, k, q, some.Rows[i].Queues[k], none.Rows[i].Queues[k])
			}
		}
	}
}

// TestOddOptions: options that make no sense are refused.
func TestOddOptions(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 1000*second)}}
	for i, o := range []sim.Options{
		{Period: -1}, {Latency: -1}, {Sample: -1}, {Until: -1}, {From: -1}, {To: -1}, {From: 5, To: 4}, {Drop: -1}, {Drop: 1001},
		{VerifyEvery: -1}, {ReasonsEvery: -1}, {Costs: sim.Costs{Grace: -1}}, {Costs: sim.Costs{Loses: true, Checkpoint: 1}},
	} {
		if r, err := sim.Run(in, o); err == nil || r != nil {
			t.Errorf("options %d are taken", i)
		}
	}
	if _, err := sim.Run(nil, sim.Options{}); err == nil {
		t.Error("no input is taken")
	}
}

// TestFaultsAreNoEvictions: a job that loses its place to a fault was not evicted, nor moved, under any
// scheduler; it starts again when it finds a place.
func TestFaultsAreNoEvictions(t *testing.T) {
	for _, s := range sim.Schedulers() {
		for _, kind := range []sim.ChangeKind{sim.NodeLost, sim.DeviceLost, sim.TaskFails} {
			for nodes := 1; nodes <= 2; nodes++ { // it waits till its node is back, or starts on the other
				in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(nodes, 1)}, Jobs: []sim.Job{single("a", 1, 0, 100*second)}}
				in.Changes = []sim.Change{{At: 10 * second, Kind: kind, Node: "node-0"}}
				if back := kind + 1; kind != sim.TaskFails && nodes == 1 {
					in.Changes = append(in.Changes, sim.Change{At: 30 * second, Kind: back, Node: "node-0"})
				}
				a := &mustRun(t, in, sim.Options{Scheduler: s, Check: true}).Jobs[0]
				if a.Outcome != sim.Done || a.Evictions != 0 || a.Moves != 0 || a.Starts != 2 {
					t.Errorf("under %s, %v, %d nodes: %d evictions, %d moves, %d starts, %v", s.Name, kind, nodes, a.Evictions, a.Moves, a.Starts, a.Outcome)
				}
			}
		}
	}
}

// TestBackWithoutLoss: where a node or a device comes back that was there, what runs on it goes on.
func TestBackWithoutLoss(t *testing.T) {
	for _, kind := range []sim.ChangeKind{sim.NodeBack, sim.DeviceBack} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 100*second)}}
		in.Changes = []sim.Change{{At: 10 * second, Kind: kind, Node: "node-0"}}
		if a := &mustRun(t, in, sim.Options{Check: true, Costs: sim.Costs{Loses: true}}).Jobs[0]; a.End != 100*second || a.Starts != 1 {
			t.Errorf("after %v it ends at %v, having started %d times", kind, a.End, a.Starts)
		}
	}
}
