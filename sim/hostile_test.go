package sim_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// TestEndOfTime: instants that a clock cannot count are refused, or end the run with
// a fault; none lies in the past.
func TestEndOfTime(t *testing.T) {
	const long = 1 << 61
	for name, c := range map[string]struct {
		options sim.Options
		spoil   func(*sim.Input)
	}{
		"one after the other": {sim.Options{}, func(in *sim.Input) {
			for _, id := range []string{"c", "d", "e", "f"} {
				in.Jobs = append(in.Jobs, single(id, 4, 0, long))
			}
		}},
		"start":   {sim.Options{Costs: sim.Costs{Start: math.MaxInt64 - 5, Restore: 10}}, func(in *sim.Input) {}},
		"restore": {sim.Options{Costs: sim.Costs{Start: math.MaxInt64, Restore: math.MaxInt64}}, func(in *sim.Input) {}},
		"latency": {sim.Options{Latency: math.MaxInt64}, func(in *sim.Input) {}},
		"period":  {sim.Options{Period: math.MaxInt64}, func(in *sim.Input) { in.Jobs[0].Submit = 5 }},
		"late":    {sim.Options{}, func(in *sim.Input) { in.Jobs[0].Submit = math.MaxInt64 }},
		"late fault": {sim.Options{}, func(in *sim.Input) {
			in.Changes = []sim.Change{{At: math.MaxInt64, Kind: sim.Cordon, Node: "node-0"}}
			in.Jobs[1].Submit = math.MaxInt64 - 1
		}},
	} { // each on its own: order cannot matter
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{single("a", 4, 0, long), single("b", 4, 1, long)}
		c.spoil(in)
		r, err := sim.Run(in, c.options)
		if err == nil || !strings.Contains(err.Error(), "time") {
			t.Errorf("%s: error %v", name, err)
		}
		if r != nil && r.End < 0 {
			t.Errorf("%s: ends at %v", name, r.End)
		}
	}
}

// TestLargeAmounts: neither checkpoints that never come nor speeds that are large
// overflow; what is given up late never happens.
func TestLargeAmounts(t *testing.T) {
	one := allot.Request{GPU: allot.GPURequest{Count: 1}}
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 4, 0, 100*second)}
	in.Jobs[0].Workload.PodSets = []allot.PodSet{{Count: 4, Min: 1, Request: one}}
	in.Jobs[0].Speed = []int64{10, 18, 24, 30}
	in.Jobs[0].CancelAfter = math.MaxInt64
	r := mustRun(t, in, sim.Options{Check: true, Costs: sim.Costs{Loses: true, Checkpoint: math.MaxInt64 / 2, Save: second}, Sample: math.MaxInt64})
	if j := r.Jobs[0]; j.End != 100*second || j.Outcome != sim.Done {
		t.Errorf("%+v", j)
	}
	never := single("never", 5, 0, second)
	never.CancelAfter = math.MaxInt64
	in.Jobs = append(in.Jobs, never)
	if r := mustRun(t, in, sim.Options{}); r.Jobs[1].Outcome != sim.Unfinished || r.End != 100*second {
		t.Errorf("%+v", r.Jobs[1])
	}
	in.Jobs[0].Speed = []int64{math.MaxInt64, 1}
	if _, err := sim.Run(in, sim.Options{}); err == nil {
		t.Error("a speed that cannot be counted is taken")
	}
}

// TestLongEstimates: however long a job is thought to take, and whatever unit its speed is told in, the one
// that is thought to take less is first where that counts, and one whose estimate no clock counts is refused.
func TestLongEstimates(t *testing.T) {
	for _, speed := range [][]int64{nil, {1000}, {1 << 20}} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
		in.Jobs = []sim.Job{single("a", 1, 0, 100*second), single("b", 1, 0, 1000*second)}
		in.Jobs[0].Estimate, in.Jobs[0].Speed = 1<<62-1, speed
		own := ranked(func(v *sim.View) (turns []sim.Turn) {
			for i := range v.Jobs {
				turns = append(turns, sim.Turn{Job: i})
			}
			slices.SortStableFunc(turns, func(a, b sim.Turn) int {
				x, y := v.Jobs[a.Job].Rho(), v.Jobs[b.Job].Rho()
				return x.Cmp(y)
			})
			return turns
		})
		for _, s := range []sim.Scheduler{sim.SJF(), sim.SRTF(), sim.SRSF(), own} {
			if r := mustRun(t, in, sim.Options{Scheduler: s}); r.Jobs[1].FirstStart != 0 {
				t.Errorf("%s, speed %d: b starts at %v", s.Name, speed, r.Jobs[1].FirstStart)
			}
		}
		in.Jobs[1].Submit = second // a is thought to end in 136 years
		in.Jobs = append(in.Jobs, single("c", 1, 2*second, 500*second))
		in.Jobs[0].Estimate = 40 * 365 * 24 * time.Hour
		r := mustRun(t, in, sim.Options{Scheduler: sim.EASY()})
		if r.Promises[0].Job != "b" || r.Promises[0].First != in.Jobs[0].Estimate {
			t.Errorf("speed %d: %s is promised %v", speed, r.Promises[0].Job, r.Promises[0].First)
		}
		in.Jobs[0].Estimate = 1 << 62
		if _, err := sim.Run(in, sim.Options{}); err == nil || !strings.Contains(err.Error(), "thought to take longer than can be counted") {
			t.Errorf("speed %d: error %v", speed, err)
		}
	}
}

// TestPlannedAnewAroundLeaving: who plans anew does not give away what a job that was
// given up still holds.
func TestPlannedAnewAroundLeaving(t *testing.T) {
	for _, s := range []sim.Scheduler{sim.SRTF(), sim.SRSF(), sim.LAS()} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{single("a", 4, 0, 100*second), single("b", 4, 1*second, 200*second)}
		in.Jobs[0].CancelAfter = 50 * second
		r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Costs: sim.Costs{Grace: 20 * second}})
		if b := r.Jobs[1]; b.FirstStart != 70*second {
			t.Errorf("%s: b starts at %v, while a leaves until 70s", s.Name, b.FirstStart)
		}
	}
}

// TestPriorityChanges: a priority that is set before the job is submitted is what it
// has then, and schedulers that know no priorities do not learn them by a change.
func TestPriorityChanges(t *testing.T) {
	make3 := func(at time.Duration) *sim.Input {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{single("a", 4, 0, 100*second), single("b", 4, 1*second, 10*second), single("c", 4, 2*second, 10*second)}
		in.Changes = []sim.Change{{At: at, Kind: sim.PrioritySet, Job: "c", Priority: 9}}
		return in
	}
	none := sim.Preset("kept", allot.Policy{Preempt: preempt.NoPreemption}, nil)
	for _, at := range []time.Duration{0, 2 * second, 3 * second} {
		if r := mustRun(t, make3(at), sim.Options{Scheduler: none, Check: true}); r.Jobs[2].FirstStart > r.Jobs[1].FirstStart {
			t.Errorf("set at %v: c starts at %v, b at %v", at, r.Jobs[2].FirstStart, r.Jobs[1].FirstStart)
		}
		for _, s := range []sim.Scheduler{sim.FIFO(), sim.FirstFit(), sim.SJF()} {
			if r := mustRun(t, make3(at), sim.Options{Scheduler: s, Check: true}); r.Jobs[2].FirstStart != 110*second {
				t.Errorf("%s: set at %v: c starts at %v", s.Name, at, r.Jobs[2].FirstStart)
			}
		}
	}
}

// TestCancelledBefore: a job whose user gives it up before it comes does not run.
func TestCancelledBefore(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 4, 10*second, 100*second)}
	in.Changes = []sim.Change{{At: 5 * second, Kind: sim.Cancel, Job: "a"}}
	if j := mustRun(t, in, sim.Options{Check: true}).Jobs[0]; j.Outcome != sim.Cancelled || j.Starts != 0 || j.End != 10*second {
		t.Errorf("%+v", j)
	}
}

// TestNothingIsForeseen: what was foreseen of a job that has ended, when its user would give up
// or its rank would be another, is no event: the run is over when nothing can happen any more,
// and who waits for ever has waited up to then under every scheduler.
func TestNothingIsForeseen(t *testing.T) {
	for _, s := range sim.Schedulers() {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Jobs = []sim.Job{single("a", 4, 0, 10*second), single("b", 5, 0, 10*second)}
		in.Jobs[0].CancelAfter = time.Hour
		r := mustRun(t, in, sim.Options{Scheduler: s, Sample: second})
		if b := r.Jobs[1]; b.Outcome != sim.Unfinished || b.Pending != 10*second || r.End != 10*second {
			t.Errorf("%s: b has waited %v at %v", s.Name, b.Pending, r.End)
		}
	}
}

// TestNil: who is given nil makes nothing of it.
func TestNil(t *testing.T) {
	var in *sim.Input
	var r *sim.Result
	if in.Hash() == (&sim.Input{}).Hash() || r.Steady() != nil || sim.Reserving(sim.Scheduler{Name: "own"}).Name != "own-reserving" {
		t.Error("something is made of nothing")
	}
}

// TestProgressIsTold: whoever ends a run is asked soon, however long a decision takes.
func TestProgressIsTold(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	for i := range 100 {
		in.Jobs = append(in.Jobs, single(fmt.Sprint("j", i), 1, time.Duration(i)*second, second/2))
	}
	last, apart := int64(0), int64(0)
	mustRun(t, in, sim.Options{Progress: func(p sim.Progress) bool {
		apart, last = max(apart, p.Events-last), p.Events
		return true
	}})
	if last == 0 || apart > 20 {
		t.Errorf("of %d events up to %d pass before anybody is asked", last, apart)
	}
}

// TestTooManyRows: a series that would take all memory ends the run.
func TestTooManyRows(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 10*second)}}
	r, err := sim.Run(in, sim.Options{Sample: 8 * time.Microsecond, NoReasons: true})
	if err == nil || !strings.Contains(err.Error(), "Sample is too short") || len(r.Rows) != 1<<20 {
		t.Errorf("%d rows, error %v", len(r.Rows), err)
	}
}

// TestRowsEndNoWait: how long somebody waits who can never run is no matter of how often rows
// are written.
func TestRowsEndNoWait(t *testing.T) {
	for _, came := range []time.Duration{0, 5 * second} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("never", 2, came, time.Hour)}}
		for _, every := range []time.Duration{0, second, time.Minute, 24 * time.Hour} {
			if r := mustRun(t, in, sim.Options{Sample: every}); r.End != came || r.Jobs[0].Pending != 0 || every > 0 && len(r.Rows) == 0 {
				t.Errorf("a row every %v: it ends at %v with %d rows, not at %v", every, r.End, len(r.Rows), came)
			}
		}
	}
}

// TestWakesEndNoWait: nor is it of how long others were thought to run, or of timers that are void.
func TestWakesEndNoWait(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}}
	in.Jobs = []sim.Job{single("x", 1, 0, 60*second), single("y", 1, second, 60*second), single("z", 1, 2*second, 60*second)}
	in.Jobs[1].Workload.PodSets[0].Count = 2
	for i := range in.Jobs {
		in.Jobs[i].Estimate = 10 * time.Hour
	}
	for _, s := range []sim.Scheduler{sim.FirstFit(), sim.EASY(), sim.Conservative(), sim.Reserving(sim.Presets()[1])} {
		for _, every := range []time.Duration{0, 7 * second, 24 * time.Hour} {
			r := mustRun(t, in, sim.Options{Scheduler: s, Sample: every})
			if r.End != 120*second || r.Jobs[1].Pending != 119*second || len(r.Rows) > 0 && r.Rows[len(r.Rows)-1].At > r.End {
				t.Errorf("%s, a row every %v: it ends at %v, y has waited %v", s.Name, every, r.End, r.Jobs[1].Pending)
			}
		}
	}
}

// TestQuietEndsNothingToCome: nobody holds anything for long, while the next decision, a job, or a node is
// still to come: whoever waits for it starts then, however many rows are written meanwhile and however
// often somebody asks before. Where nothing is to come such a run ends.
func TestQuietEndsNothingToCome(t *testing.T) {
	const late = 20_000 * second
	asked := 0
	asks := func(first string) sim.Scheduler {
		return ranked(func(v *sim.View) (turns []sim.Turn) {
			asked++
			v.Wake(v.Now + second)
			for i := range v.Jobs {
				if v.Jobs[i].Workload.ID == first || v.Now > late {
					turns = append(turns, sim.Turn{Job: i})
				}
			}
			return turns
		})
	}
	two := []sim.Job{single("a", 1, second, 100*second), single("b", 1, late, 100*second)}
	back := []sim.Change{{At: 0, Kind: sim.NodeLost, Node: "node-0"}, {At: late, Kind: sim.NodeBack, Node: "node-0"}}
	for name, c := range map[string]struct {
		jobs    []sim.Job
		changes []sim.Change
		o       sim.Options
		first   time.Duration // start
	}{ // each on its own: order cannot matter
		"rows before the next decision": {two[:1], nil, sim.Options{Scheduler: sim.FIFO(), Period: late, Sample: second}, late},
		"asks before a job comes":       {two, nil, sim.Options{Scheduler: asks("b")}, late},
		"asks before a node is back":    {two[:1], back, sim.Options{Scheduler: asks("a")}, late},
	} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: c.jobs, Changes: c.changes}
		c.o.NoVerify, c.o.NoReasons = true, true
		r := mustRun(t, in, c.o)
		last := &r.Jobs[len(r.Jobs)-1]
		if last.Outcome != sim.Done || last.FirstStart != c.first {
			t.Errorf("%s: %s is %v and starts at %v", name, last.Workload.ID, last.Outcome, last.FirstStart)
		}
	}
	asked = 0
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: two[:1]}
	if r := mustRun(t, in, sim.Options{Scheduler: asks(""), NoVerify: true, NoReasons: true}); asked > 11_000 || r.Jobs[0].Outcome != sim.Unfinished || r.End != second {
		t.Errorf("asked %d times, it is %v at %v", asked, r.Jobs[0].Outcome, r.End)
	}
	far := ranked(func(v *sim.View) []sim.Turn {
		v.Wake(math.MaxInt64)
		return nil
	})
	if r := mustRun(t, in, sim.Options{Scheduler: far}); r.Jobs[0].Outcome != sim.Unfinished || r.End != second {
		t.Errorf("of a wake that is too far, it is %v at %v", r.Jobs[0].Outcome, r.End)
	}
}

// TestBrokenGangEnds: a gang that has lost a node for good keeps the place that it has left, for which somebody
// waits who is promised it again and again, or has a share by past usage: both wait for ever, however often rows
// are written.
func TestBrokenGangEnds(t *testing.T) {
	usage := allot.Policy{Name: "usage", UsageStrengthMilli: 1000, Reclaim: preempt.NoReclaim}
	for _, s := range []sim.Scheduler{sim.FirstFit(), sim.EASY(), sim.Conservative(), sim.Reserving(sim.Scheduler{Name: "zero"}), {Name: "usage", Policy: &usage}} {
		trails := make(map[string]bool)
		for _, every := range []time.Duration{0, second, time.Hour} {
			if every == second && s.Name != "easy" {
				continue // as many rows as there may be take their time
			}
			in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1), Queues: []allot.Queue{queueOf("q", 2)}}}
			in.Jobs = []sim.Job{single("gang", 1, 0, 100*second), single("b", 1, 10*second, 100*second)}
			in.Jobs[0].Workload.PodSets[0].Count = 2
			for i := range in.Jobs {
				in.Jobs[i].Workload.Queue = "q"
			}
			in.Changes = []sim.Change{{At: 50 * second, Kind: sim.NodeLost, Node: "node-1"}}
			r := mustRun(t, in, sim.Options{Scheduler: s, Sample: every, VerifyEvery: 100, NoReasons: true})
			lawful(t, in, r)
			a, b := &r.Jobs[0], &r.Jobs[1]
			if a.Outcome != sim.Unfinished || b.Outcome != sim.Unfinished || r.End != 50*second || a.Pending != 0 || b.Pending != 40*second || gpuSeconds(r.Allocated) != "100" {
				t.Errorf("%s, a row every %v: it ends at %v, gang is %v, b %v and has waited %v", s.Name, every, r.End, a.Outcome, b.Outcome, b.Pending)
			}
			if trails[r.Trail] = true; len(trails) > 1 {
				t.Errorf("%s: with a row every %v something else happens", s.Name, every)
			}
			for _, p := range r.Promises {
				if p.Made > r.End || p.End > r.End || p.End < p.Made {
					t.Errorf("%s, a row every %v: a promise %+v of a run that ends at %v", s.Name, every, p, r.End)
				}
			}
		}
	}
}

// TestOddSchedulers: what a scheduler makes of the cluster and of jobs that no run could go on with is refused.
func TestOddSchedulers(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 10*second)}}
	submit := func(change func(*allot.Workload)) sim.Scheduler {
		s := sim.FIFO()
		s.Submit = func(_ *sim.Job, w *allot.Workload) { change(w) }
		return s
	}
	crowd := sim.FIFO()
	crowd.Cluster = func(s *allot.State) { s.Workloads = []allot.Workload{{ID: "w", PodSets: in.Jobs[0].Workload.PodSets}} }
	for want, s := range map[string]sim.Scheduler{
		`job "a": the scheduler gives it another`:  submit(func(w *allot.Workload) { w.ID = "b" }),
		"gives it another ID, tasks":               submit(func(w *allot.Workload) { w.Tasks = []allot.Task{{Node: "node-0", Devices: []int{0}}} }),
		"another ID, tasks or alternatives":        submit(func(w *allot.Workload) { w.Alternatives = []allot.Form{{PodSets: w.PodSets}} }),
		"sim: scheduler fifo gives the cluster wo": crowd,
	} { // each on its own: order cannot matter
		if _, err := sim.Run(in, sim.Options{Scheduler: s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestTrailTellsChanges: two runs that differ in a change alone have two trails.
func TestTrailTellsChanges(t *testing.T) {
	small, large := queueOf("b", 4), queueOf("b", 5)
	seen := make(map[string]bool)
	changes := []sim.Change{
		{At: second, Kind: sim.QueueSet, Queue: &small}, {At: second, Kind: sim.QueueSet, Queue: &large},
		{At: second, Kind: sim.PrioritySet, Job: "a"}, {At: second, Kind: sim.PrioritySet, Job: "b"}, {At: second, Kind: sim.PrioritySet, Job: "a", Priority: 1},
	}
	for i := range changes {
		in := reclaimed(sim.Costs{})
		in.Changes = changes[i : i+1]
		seen[mustRun(t, in, sim.Options{}).Trail] = true
	}
	if len(seen) != len(changes) {
		t.Errorf("%d trails of %d inputs", len(seen), len(changes))
	}
}

// TestFastIsTheSame: what is left out for speed changes nothing that happens, nor do
// rows of the series, nor the number of threads.
func TestFastIsTheSame(t *testing.T) {
	for seed := range deep.Seeds(t, 12) {
		in := soakInput(t, seed, 6, 150, 5*24*time.Hour)
		o := soakOptions(seed)
		o.Check = false
		want := mustRun(t, in, o)
		o.NoVerify, o.NoReasons, o.Sample = true, true, 0
		before := runtime.GOMAXPROCS(1 + int(seed%2))
		got := mustRun(t, in, o)
		runtime.GOMAXPROCS(before)
		if got.Trail != want.Trail {
			t.Errorf("seed %d under %s: fast, it is another run: %d and %d events", seed, o.Scheduler.Name, got.Events, want.Events)
		}
	}
}

// TestPromisesLookedAt: nor does it change what is promised, under who promises anything, how
// often plans are looked at.
func TestPromisesLookedAt(t *testing.T) {
	promising := []sim.Scheduler{sim.EASY(), sim.Conservative(), sim.Reserving(sim.Presets()[0]), sim.Reserving(sim.Presets()[1])}
	for seed := range deep.Seeds(t, 12) {
		in := soakInput(t, seed, 2, 40, 5*24*time.Hour)
		o := sim.Options{Scheduler: promising[seed%uint64(len(promising))], Costs: sim.Costs{Start: 10 * second, Grace: 5 * second}, LeaveOut: true}
		want := mustRun(t, in, o)
		o.NoVerify, o.NoReasons = true, true
		if got := mustRun(t, in, o); got.Trail != want.Trail || got.End != want.End || got.Decisions != want.Decisions {
			t.Errorf("seed %d under %s: not looked at, it is another run of %d decisions to %v, not %d to %v", seed, o.Scheduler.Name, got.Decisions, got.End, want.Decisions, want.End)
		}
	}
}

// TestPromisesDropped: what is promised somebody of whom an action is not carried out is not
// promised, so that the next plan is none against it.
func TestPromisesDropped(t *testing.T) {
	for seed := uint64(336); seed < 346; seed++ { // of the first thousand 341 needs it
		in := soakInput(t, seed, 1+int(seed%2), 30, 24*time.Hour)
		costs := sim.Costs{Start: 10 * second, Grace: time.Duration(seed%4) * 5 * second}
		mustRun(t, in, sim.Options{Scheduler: sim.Reserving(sim.Presets()[seed/2%2]), Costs: costs, Drop: 200 + int64(seed%3)*200, Seed: seed, LeaveOut: true})
	}
}

// TestManyTasks: a job of more tasks than there can be is left out by itself, and sound jobs that
// are not there together may have as many together as they like.
func TestManyTasks(t *testing.T) {
	for _, s := range []sim.Scheduler{sim.FIFO(), sim.LAS()} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, second), single("b", 1, 0, second)}}
		in.Jobs[0].Workload.PodSets[0].Count, in.Jobs[0].Line = math.MaxInt32, 7
		r := mustRun(t, in, sim.Options{Scheduler: s, LeaveOut: true})
		if len(r.Jobs) != 1 || len(r.LeftOut) != 1 || r.LeftOut[0].String() != `line 7, job "a": it has more than 16777216 tasks` {
			t.Errorf("%s: %d jobs are run, left out are %v", s.Name, len(r.Jobs), r.LeftOut)
		}
		in.Jobs[0].Workload.PodSets[0].Count, in.Jobs[1].Workload.PodSets[0].Count = 1<<24, 1<<24
		if err := sim.Check(in, sim.Options{Scheduler: s}); err != nil {
			t.Errorf("%s: two large jobs: %v", s.Name, err)
		}
	}
}

// TestFaultHasState: what goes wrong in a run ends it with a fault that has the state,
// and the result so far.
func TestFaultHasState(t *testing.T) {
	in := reclaimed(sim.Costs{})
	own := sim.FIFO()
	came := 0
	own.Submit = func(j *sim.Job, w *allot.Workload) {
		if came++; came > 3 { // the check of both, and the first
			w.Queue = "x"
		}
	}
	r, err := sim.Run(in, sim.Options{Scheduler: own})
	var fault *sim.Fault
	if !errors.As(err, &fault) || fault.State == nil || r == nil || fault.At != 100*second {
		t.Errorf("error %v, result %v", err, r)
	}
}

// TestWithoutGPUs: jobs that ask no GPU run under every scheduler.
func TestWithoutGPUs(t *testing.T) {
	for _, s := range sim.Schedulers() {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
		in.Cluster.Nodes[0].Capacity = map[string]int64{allot.CPU: 4000}
		in.Jobs = []sim.Job{single("a", 4, 0, 100*second), single("b", 0, 0, 100*second)}
		in.Jobs[1].Workload.PodSets[0].Request = allot.Request{Resources: map[string]int64{allot.CPU: 1000}}
		if r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Sample: second}); r.Makespan != 100*second {
			t.Errorf("%s: makespan %v", s.Name, r.Makespan)
		}
	}
}
