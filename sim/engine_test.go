package sim_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

const second = time.Second

// gpuSeconds is the sum in seconds of GPU time.
func gpuSeconds(s sim.Sum) string { return s.GPUSeconds().Text(0) }

// reclaimed is a node of 4 GPUs, a job of the queue that borrows all of it, and one
// of the other queue that wants its quota at 100 s.
func reclaimed(costs sim.Costs) *sim.Input {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4), Queues: []allot.Queue{queueOf("a", 0), queueOf("b", 4)}}}
	in.Jobs = []sim.Job{single("a", 4, 0, 1000*second), single("b", 4, 100*second, 50*second)}
	in.Jobs[0].Workload.Queue, in.Jobs[1].Workload.Queue = "a", "b"
	in.Jobs[0].Costs, in.Jobs[1].Costs = &costs, &sim.Costs{}
	return in
}

// TestCosts: starts, stops and checkpoints take the time that they should, and what
// is lost is lost.
func TestCosts(t *testing.T) {
	for _, c := range []struct {
		name                   string
		costs                  sim.Costs
		firstEnd, secondStart  time.Duration
		useful, lost, overhead string
		leaving                string
	}{
		// 100 s, 50 s away, 900 s more.
		{"clean", sim.Costs{}, 1050 * second, 100 * second, "4000", "0", "0", "0"},
		{"all is lost", sim.Costs{Loses: true}, 1150 * second, 100 * second, "4000", "400", "0", "0"},
		// b waits for 20 s; a is back at 170 s.
		{"grace", sim.Costs{Grace: 20 * second}, 1070 * second, 120 * second, "4000", "0", "0", "80"},
		// a works from 10 s to 100 s, and after 160 s.
		{"start", sim.Costs{Start: 10 * second}, 160*second + 910*second, 100 * second, "4000", "0", "80", "0"},
		// a saves at 30, 60 and 90 s, and has done 90 s; from 150 s it does 910 s more
		// and saves 30 times, at no cost.
		{"checkpoints", sim.Costs{Loses: true, Checkpoint: 30 * second}, 150*second + 910*second, 100 * second, "4000", "40", "0", "0"},
		// a works 30 s, saves 5 s, and so on: two checkpoints by 70 s, the third begins
		// at 100 s and comes too late. From 150 s: 7 s to restore, 940 s of work, and
		// 31 checkpoints on the way, none at the end.
		{"all", sim.Costs{Loses: true, Checkpoint: 30 * second, Save: 5 * second, Restore: 7 * second}, 150*second + 7*second + 940*second + 31*5*second, 100 * second, "4000", "120", "688", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustRun(t, reclaimed(c.costs), sim.Options{Check: true})
			a, b := r.Jobs[0], r.Jobs[1]
			if a.End != c.firstEnd || b.FirstStart != c.secondStart {
				t.Errorf("a ends at %v, not %v; b starts at %v, not %v", a.End, c.firstEnd, b.FirstStart, c.secondStart)
			}
			if gpuSeconds(a.Useful) != c.useful || gpuSeconds(a.Lost) != c.lost || gpuSeconds(a.Overhead) != c.overhead || gpuSeconds(a.Leaving) != c.leaving {
				t.Errorf("useful %s, lost %s, overhead %s, leaving %s GPU-seconds", gpuSeconds(a.Useful), gpuSeconds(a.Lost), gpuSeconds(a.Overhead), gpuSeconds(a.Leaving))
			}
			// The quota is b's, and it waits for it as long as a takes to leave.
			if owed := r.Queues[1].Owed; c.costs.Grace > 0 != (len(owed) == 1 && owed[0] == c.costs.Grace) {
				t.Errorf("b waited %v for its quota", owed)
			}
		})
	}
}

// TestCheckpointOnEviction: where the policy has evicted work saved first, none is
// lost, and it takes the time that saving takes.
func TestCheckpointOnEviction(t *testing.T) {
	in := reclaimed(sim.Costs{Loses: true, Checkpoint: time.Hour, Save: 15 * second, Grace: 5 * second})
	r := mustRun(t, in, sim.Options{Check: true, Scheduler: sim.Preset("saving", allot.Policy{CheckpointOnEviction: true}, nil)})
	if a := r.Jobs[0]; a.Lost != (sim.Sum{}) || a.End != 170*second+900*second {
		t.Errorf("a ends at %v and lost %s", a.End, gpuSeconds(a.Lost))
	}
	in = reclaimed(sim.Costs{Loses: true, Checkpoint: time.Hour, Save: 15 * second}) // it leaves when it has saved
	r = mustRun(t, in, sim.Options{Check: true, Scheduler: sim.Preset("saving", allot.Policy{CheckpointOnEviction: true}, nil)})
	if a := r.Jobs[0]; a.Lost != (sim.Sum{}) || a.End != 165*second+900*second {
		t.Errorf("without grace a ends at %v and lost %s", a.End, gpuSeconds(a.Lost))
	}
}

// TestElastic: a job of 1 to 4 tasks gives up two for another, at the speeds of its
// table, and takes them back.
func TestElastic(t *testing.T) {
	in := reclaimed(sim.Costs{})
	in.Cluster.Queues = []allot.Queue{queueOf("a", 2), queueOf("b", 2)}
	one := allot.Request{GPU: allot.GPURequest{Count: 1}}
	in.Jobs[0].Workload.PodSets = []allot.PodSet{{Count: 4, Min: 1, Request: one}}
	in.Jobs[0].Speed = []int64{10, 18, 24, 30}
	in.Jobs[1].Workload.PodSets[0].Request.GPU.Count = 2
	r := mustRun(t, in, sim.Options{Check: true})
	// 100 s at 30, 50 s at 18, the rest of 30,000 at 30: 870 s.
	if a := r.Jobs[0]; a.End != 1020*second || a.Shrinks == 0 || a.Evictions != 0 || gpuSeconds(a.Useful) != "3980" {
		t.Errorf("%+v", a)
	}
}

// TestDecisionsLate: with a period, and with a latency.
func TestDecisionsLate(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	in.Jobs = []sim.Job{single("0", 1, 3*second, 10*second), single("1", 1, 4*second, 10*second)}
	r := mustRun(t, in, sim.Options{Check: true, Period: 5 * second, Latency: 2 * second})
	// Decided at 5 s, started at 7 s; ends at 17 s, decided at 20 s.
	if a, b := r.Jobs[0], r.Jobs[1]; a.FirstStart != 7*second || b.FirstStart != 22*second {
		t.Errorf("started at %v and %v", a.FirstStart, b.FirstStart)
	}
	// The node is lost while the plan is on its way.
	in.Changes = []sim.Change{{At: 6 * second, Kind: sim.NodeLost, Node: "node-0"}, {At: 11 * second, Kind: sim.NodeBack, Node: "node-0"}}
	r = mustRun(t, in, sim.Options{Check: true, Period: 5 * second, Latency: 2 * second})
	if a := r.Jobs[0]; a.FirstStart != 17*second {
		t.Errorf("started at %v", a.FirstStart)
	}
}

// TestLosses: a lost node stops a gang, which starts again where there is room.
func TestLosses(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(3, 2)}}
	in.Jobs = []sim.Job{single("0", 2, 0, 100*second)}
	in.Jobs[0].Workload.PodSets[0].Count = 2
	in.Jobs[0].Costs = &sim.Costs{Loses: true, Checkpoint: 30 * second}
	for _, c := range []struct {
		name string
		loss sim.Change
	}{
		{"node", sim.Change{At: 40 * second, Kind: sim.NodeLost, Node: "node-0"}},
		{"device", sim.Change{At: 40 * second, Kind: sim.DeviceLost, Node: "node-0", Device: 1}},
		{"task", sim.Change{At: 40 * second, Kind: sim.TaskFails, Node: "node-0", Device: 1}},
	} {
		in.Changes = []sim.Change{c.loss}
		r := mustRun(t, in, sim.Options{Check: true})
		// 30 s are saved, 10 s lost.
		if j := r.Jobs[0]; j.End != 110*second || gpuSeconds(j.Lost) != "40" || j.Starts != 2 {
			t.Errorf("%s: %+v", c.name, j)
		}
	}
	in.Cluster.Nodes = in.Cluster.Nodes[:2]
	in.Changes = []sim.Change{{At: 40 * second, Kind: sim.NodeLost, Node: "node-0"}, {At: 60 * second, Kind: sim.NodeBack, Node: "node-0"}}
	r := mustRun(t, in, sim.Options{Check: true})
	if j := r.Jobs[0]; j.End != 130*second || j.Pending != 20*second || gpuSeconds(j.Waiting) != "40" {
		t.Errorf("back again: %+v, waited with %s GPU-seconds", j, gpuSeconds(j.Waiting))
	}
	stale := sim.Preset("stale", allot.Policy{StaleGangGrace: quota.Of(5)}, nil)
	r = mustRun(t, in, sim.Options{Check: true, Scheduler: stale})
	if j := r.Jobs[0]; j.End != 130*second || j.Evictions != 1 || gpuSeconds(j.Waiting) != "10" {
		t.Errorf("with a grace: %+v, waited with %s GPU-seconds", j, gpuSeconds(j.Waiting))
	}
}

// TestChanges: quotas, priorities and users change what happens.
func TestChanges(t *testing.T) {
	in := reclaimed(sim.Costs{Grace: 3 * second})
	small, large := queueOf("b", 0), queueOf("b", 4)
	in.Cluster.Queues[1] = small
	in.Cluster.Queues[0] = queueOf("a", 4)
	none := queueOf("a", 0)
	in.Changes = []sim.Change{{At: 200 * second, Kind: sim.QueueSet, Queue: &large}, {At: 200 * second, Kind: sim.QueueSet, Queue: &none}}
	if r := mustRun(t, in, sim.Options{Check: true}); r.Jobs[1].FirstStart != 203*second {
		t.Errorf("quota at 200 s: started at %v", r.Jobs[1].FirstStart)
	}
	in.Changes = []sim.Change{{At: 300 * second, Kind: sim.Cancel, Job: "a"}}
	if r := mustRun(t, in, sim.Options{Check: true}); r.Jobs[1].FirstStart != 303*second || r.Jobs[0].Outcome != sim.Cancelled || r.Jobs[0].End != 300*second {
		t.Errorf("cancelled at 300 s: %+v", r.Jobs)
	}
	in.Jobs[1].Workload.Queue = "a"
	in.Changes = []sim.Change{{At: 400 * second, Kind: sim.PrioritySet, Job: "b", Priority: 7}}
	if r := mustRun(t, in, sim.Options{Check: true}); r.Jobs[1].FirstStart != 403*second {
		t.Errorf("priority at 400 s: started at %v", r.Jobs[1].FirstStart)
	}
}

// TestBadQueueSet: a change to a queue that no state may have is found before the run, by the
// scheduler's own idea of queues, or left out; those behind it are looked at without it.
func TestBadQueueSet(t *testing.T) {
	bad, good := queueOf("b", 4), queueOf("b", 4)
	bad.Resources = append(bad.Resources, bad.Resources...) // a resource twice
	in := reclaimed(sim.Costs{})
	in.Changes = []sim.Change{
		{At: 300 * second, Kind: sim.QueueSet, Queue: &good}, {At: 200 * second, Kind: sim.QueueSet, Queue: &bad}, {At: 100 * second, Kind: sim.QueueSet, Queue: &good},
	}
	err := sim.Check(in, sim.Options{})
	var refused *sim.BadInputError
	if !errors.As(err, &refused) || len(refused.List) != 1 || refused.List[0].Kind != "queue-set" || !strings.Contains(err.Error(), "queue-set at 3m20s: ") {
		t.Fatal(err)
	}
	left := mustRun(t, in, sim.Options{LeaveOut: true, Check: true})
	in.Changes = slices.Delete(in.Changes, 1, 2)
	if want := mustRun(t, in, sim.Options{Check: true}); left.Trail != want.Trail || !slices.Equal(left.LeftOut, refused.List) || want.LeftOut != nil {
		t.Errorf("left out: %v", left.LeftOut)
	}
	in.Changes[0].Queue = &bad
	if err := sim.Check(in, sim.Options{Scheduler: sim.FIFO()}); err != nil {
		t.Errorf("fifo knows no queues: %v", err)
	}
}

// TestWrongChanges: a change of what is not there, or at no time, is listed and refused, or left out, and loses
// no run; one of a job that has been left out before, as its tenant was, is one of them.
func TestWrongChanges(t *testing.T) {
	other := queueOf("other", 4)
	in := reclaimed(sim.Costs{})
	in.Cluster.Queues = append(in.Cluster.Queues, other)
	stranger := single("stranger", 1, 0, 10*second)
	stranger.Workload.Queue = "other"
	in.Jobs = append(in.Jobs, stranger)
	right := []sim.Change{{At: 100 * second, Kind: sim.PrioritySet, Job: "a", Priority: 1}, {At: 150 * second, Kind: sim.Cordon, Node: "node-0"}}
	in.Changes = append([]sim.Change{
		{At: second, Kind: sim.Cancel, Job: "stranger"}, {At: second, Kind: sim.QueueSet, Queue: &other}, {At: second, Kind: sim.QueueSet},
		{At: second, Kind: sim.NodeLost, Node: "x"}, {At: second, Kind: sim.DeviceLost, Node: "node-0", Device: 9}, {At: -second, Kind: sim.Uncordon, Node: "node-0"},
		{At: math.MaxInt64, Kind: sim.Uncordon, Node: "node-0"}, {At: second},
	}, right...)
	in = trace.WithTenants(in, in.Cluster.Queues[:2])
	err := sim.Check(in, sim.Options{})
	var refused *sim.BadInputError
	if !errors.As(err, &refused) || len(refused.List) != 9 || !strings.Contains(err.Error(), `job "stranger": cancel at 1s: there is no such job`) {
		t.Fatal(err)
	}
	sound, err := sim.Sound(in, sim.Options{}, sim.Options{Scheduler: sim.FIFO()})
	if err != nil || !slices.Equal(sound.Changes, right) {
		t.Fatalf("%v, %v", sound, err)
	}
	left := mustRun(t, in, sim.Options{LeaveOut: true, Check: true})
	in.Changes, in.LeftOut = right, nil
	if want := mustRun(t, in, sim.Options{Check: true}); left.Trail != want.Trail || !slices.Equal(left.LeftOut, refused.List) {
		t.Errorf("left out: %v", left.LeftOut)
	}
}

// TestBadClusterNamesLines: of a cluster that is none the error also lists what was left out, which may be what
// is missing.
func TestBadClusterNamesLines(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	in.Cluster.Queues = []allot.Queue{{ID: "q", Parent: "gone"}}
	in.LeftOut = []sim.LeftOut{{Line: 4, Kind: "queue", Why: "it is odd"}}
	for _, err := range []error{sim.Check(in, sim.Options{LeaveOut: true}), func() error { _, err := sim.Sound(in, sim.Options{}); return err }()} {
		var invalid *allot.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "line 4: it is odd") {
			t.Errorf("error %v", err)
		}
	}
}

// TestSound: several schedulers run the same of an input: what each of them can. Who alone finds
// fault is named.
func TestSound(t *testing.T) {
	unclassed, knowing := allot.Policy{Name: "unclassed"}, allot.Policy{Name: "knowing", Classes: []allot.Class{{Name: "train"}}}
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	for _, id := range []string{"a", "b", "c"} {
		in.Jobs = append(in.Jobs, single(id, 1, 0, 10*second))
	}
	in.Jobs[0].Workload.Class = "train"
	in.Jobs[2].Duration = 0
	in.Changes = []sim.Change{{At: second, Kind: sim.Cancel, Job: "a"}}
	in.LeftOut = []sim.LeftOut{{Line: 4, Kind: "odd", Why: "it is odd"}}
	of := []sim.Options{
		{Scheduler: sim.FIFO()}, {Scheduler: sim.Scheduler{Name: "knowing", Policy: &knowing}}, {Scheduler: sim.Scheduler{Name: "unclassed", Policy: &unclassed}},
	}
	sound, err := sim.Sound(in, of...)
	if err != nil || len(sound.Jobs) != 1 || sound.Jobs[0].Workload.ID != "b" || len(sound.Changes) != 0 {
		t.Fatalf("%+v, %v", sound, err)
	}
	var list []string
	for _, l := range sound.LeftOut {
		list = append(list, l.String())
	}
	want := []string{"line 4: it is odd", `job "a": under unclassed: `, `job "c": a time is negative`}
	if !slices.EqualFunc(list, want, strings.HasPrefix) {
		t.Errorf("left out: %q", list)
	}
	for _, o := range of {
		o.LeaveOut = true
		if r := mustRun(t, sound, o); len(r.Jobs) != 1 || !slices.Equal(r.LeftOut, sound.LeftOut) {
			t.Errorf("%s runs %d jobs, and leaves out %v", o.Scheduler.Name, len(r.Jobs), r.LeftOut)
		}
	}
	if len(in.Jobs) != 3 || len(in.LeftOut) != 1 {
		t.Error("the input is another")
	}
	of[0].LeaveOut = true // runs alone it has its own idea of what is bad
	if r := mustRun(t, in, of[0]); len(r.Jobs) != 2 {
		t.Errorf("%d jobs", len(r.Jobs))
	}
	if _, err := sim.Sound(in, sim.Options{Scheduler: sim.SRTF(), Drop: 1}); err == nil || !strings.Contains(err.Error(), "srtf") {
		t.Errorf("error %v", err)
	}
	if _, err := sim.Sound(nil); err == nil {
		t.Error("no input is sound")
	}
}

// TestSoundChanges: a change that is in order only behind one that goes under another scheduler
// goes as well.
func TestSoundChanges(t *testing.T) {
	bad, last := queueOf("b", 5), queueOf("a", 3)
	bad.Resources = append(bad.Resources, bad.Resources...)
	quotaOf := func(s *allot.State, id string) int64 {
		at := slices.IndexFunc(s.Queues, func(q allot.Queue) bool { return q.ID == id })
		return s.Queues[at].Resources[0].Quota.Amount()
	}
	odd := sim.Scheduler{Name: "odd", Cluster: func(s *allot.State) {
		if quotaOf(s, "a") == 3000 && quotaOf(s, "b") != 5000 {
			s.Queues = append(s.Queues, s.Queues...)
		}
		for i := range s.Queues {
			s.Queues[i].Resources = s.Queues[i].Resources[:1]
		}
	}}
	in := reclaimed(sim.Costs{})
	in.Changes = []sim.Change{{At: second, Kind: sim.QueueSet, Queue: &bad}, {At: 2 * second, Kind: sim.QueueSet, Queue: &last}}
	of := []sim.Options{{LeaveOut: true}, {Scheduler: odd}}
	if err := sim.Check(in, of[1]); err != nil {
		t.Fatal(err)
	}
	sound, err := sim.Sound(in, of...)
	if err != nil || len(sound.LeftOut) != 2 || len(sound.Changes) != 0 || !strings.HasPrefix(sound.LeftOut[0].String(), "under the policies of the pools: ") {
		t.Fatalf("%v, %v", sound.LeftOut, err)
	}
}

// TestFaulty: an input that makes no sense is refused, and says why.
func TestFaulty(t *testing.T) {
	for want, spoil := range map[string]func(*sim.Input){
		`"a": it holds tasks`:         func(in *sim.Input) { in.Jobs[0].Workload.Tasks = make([]allot.Task, 1) },
		`two jobs are named "a"`:      func(in *sim.Input) { in.Jobs[1].Workload.ID = "a" },
		`it takes no time`:            func(in *sim.Input) { in.Jobs[0].Duration = 0 },
		`ends later than can be coun`: func(in *sim.Input) { in.Jobs[1].Submit = 1<<62 - in.Jobs[1].Duration + 1 },
		`is too much work to count`:   func(in *sim.Input) { in.Jobs[0].Speed = []int64{1 << 60} },
		`there is no such node`:       func(in *sim.Input) { in.Changes = []sim.Change{{Kind: sim.NodeLost, Node: "x"}} },
		`there is no such device`:     func(in *sim.Input) { in.Changes = []sim.Change{{Kind: sim.TaskFails, Node: "node-0", Device: 4}} },
		`there is no such queue`:      func(in *sim.Input) { in.Changes = []sim.Change{{Kind: sim.QueueSet}} },
		`its pool or parent is ano`: func(in *sim.Input) {
			q := in.Cluster.Queues[0]
			q.Parent = "b"
			in.Changes = []sim.Change{{Kind: sim.QueueSet, Queue: &q}}
		},
		`there is no such kind`:       func(in *sim.Input) { in.Changes = []sim.Change{{}} },
		`a cost is negative`:          func(in *sim.Input) { in.Jobs[0].Costs = &sim.Costs{Save: -1} },
		`they belong into Jobs`:       func(in *sim.Input) { in.Cluster.Workloads = make([]allot.Workload, 1) },
		`workloads[0] (a).queue`:      func(in *sim.Input) { in.Jobs[0].Workload.Queue = "x" },
		`alternatives are not simula`: func(in *sim.Input) { in.Jobs[0].Workload.Alternatives = make([]allot.Form, 1) },
	} { // each on its own: order cannot matter
		in := reclaimed(sim.Costs{})
		spoil(in)
		if _, err := sim.Run(in, sim.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestBaselinesPayCosts: who is stopped by a scheduler that plans anew takes its grace, and
// loses what others lose; who takes the places waits for them.
func TestBaselinesPayCosts(t *testing.T) {
	for _, s := range []sim.Scheduler{sim.SRTF(), sim.SRSF(), sim.LAS()} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		long, from := 1000*second, 100*second
		if s.Name == "las" { // of 4 GPUs it goes down at 813 s
			long, from = 10000*second, 1000*second
		}
		in.Jobs = []sim.Job{single("a", 4, 0, long), single("b", 4, from, 50*second)}
		r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Sample: 7 * second, Costs: sim.Costs{Grace: 20 * second, Start: 10 * second, Loses: true}})
		a, b := &r.Jobs[0], &r.Jobs[1]
		// a works from 10 s on, is told to leave when b comes, and is gone 20 s later. b starts
		// for 10 s and works for 50 s, and a does all of its work after 10 s more.
		if b.FirstStart != from+20*second || b.End != from+80*second || a.End != from+90*second+long {
			t.Errorf("%s: b runs from %v to %v, a ends at %v", s.Name, b.FirstStart, b.End, a.End)
		}
		if gpuSeconds(a.Leaving) != "80" || a.Evictions != 1 || a.Lost.GPUSeconds().Cmp(sim.Seconds(4*(from-10*second))) != 0 || a.Moves != 0 {
			t.Errorf("%s: a leaves with %s GPU-seconds and lost %s", s.Name, gpuSeconds(a.Leaving), gpuSeconds(a.Lost))
		}
	}
}

// TestCrossing: under LAS a job that was stopped goes down when it has worked for so long
// in all, and when it would have had it not been stopped nobody does.
func TestCrossing(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	in.Jobs = []sim.Job{
		single("d", 1, 0, 20000*second), single("a", 1, second, 20000*second),
		single("c", 1, 7000*second+second/2, 10*second+second/4),
	}
	var starts []time.Duration
	o := sim.Options{Scheduler: sim.LAS(), Check: true, Observe: func(e sim.Event) {
		if e.Kind == sim.ActionEvent && e.Job == "a" {
			starts = append(starts, e.At)
		}
	}}
	mustRun(t, in, o)
	// d goes down at 3250 s, and a at 6500 s. Then d has 3950 s to go, of which c comes after
	// 500.5 s: it goes down to the last queue after 10460.25 s.
	if len(starts) < 2 || starts[0] != 3250*second || starts[1] != 10460*second+second/4 {
		t.Errorf("a starts at %v", starts)
	}
}
