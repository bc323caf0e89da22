package sim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// TestNothingIsHeldForTheGone: one node of 4 GPUs, of which a holds 3 up to 100 s. b asks 4
// from 10 s on and is given up at 30 s: for 20 s the last GPU was held for it, also where a
// decision at which nobody waits is none.
func TestNothingIsHeldForTheGone(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 3, 0, 100*second), single("b", 4, 10*second, 50*second)}
	in.Jobs[1].CancelAfter = 20 * second
	for _, o := range []sim.Options{{Check: true}, {NoVerify: true, NoReasons: true}} {
		o.Scheduler = sim.EASY()
		r := mustRun(t, in, o)
		if got := gpuSeconds(r.Reserved); got != "20" {
			t.Errorf("%s GPU-seconds were held", got)
		}
		if len(r.Promises) != 1 || r.Promises[0].Became != sim.PromiseWithdrawn || r.Promises[0].End != 30*second {
			t.Errorf("promises: %+v", r.Promises)
		}
	}
}

// TestNoCheckpointAtTheEnd: a works for two whole intervals between checkpoints, and takes one:
// who is done saves nothing any more. So b is promised the time at which it has really ended.
func TestNoCheckpointAtTheEnd(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 4, 0, time.Hour), single("b", 4, 10*second, 50*second)}
	r := mustRun(t, in, sim.Options{
		Scheduler: sim.EASY(), Check: true,
		Costs: sim.Costs{Start: 40 * second, Loses: true, Checkpoint: 30 * time.Minute, Save: 20 * second},
	})
	if len(r.Promises) != 1 {
		t.Fatalf("promises: %+v", r.Promises)
	}
	if p := r.Promises[0]; p.First != time.Hour+60*second || p.End != p.First {
		t.Errorf("promised %v, started %v", p.First, p.End)
	}
}

// TestChangesBetweenMicroseconds: a fails at a time that the library cannot count, so that it
// starts anew then, and ends within the microsecond after what the library is told. That is no
// overrun: b is promised one time and starts at it.
func TestChangesBetweenMicroseconds(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 3, 0, 100*second), single("b", 4, 10*second, 50*second), single("c", 1, 90*second, 50*second)}
	in.Changes = []sim.Change{{At: 5*second + 500, Kind: sim.TaskFails, Node: in.Cluster.Nodes[0].ID, Device: 0}}
	r := mustRun(t, in, sim.Options{Scheduler: sim.EASY(), Check: true, Costs: sim.Costs{Loses: true}})
	for i, want := range []time.Duration{0, 105*second + 500, 155*second + 500} {
		if got := r.Jobs[i].FirstStart; got != want {
			t.Errorf("%s starts at %v and not at %v", r.Jobs[i].Workload.ID, got, want)
		}
	}
}

// TestTimeLimit: a would work for 200 s and is ended after 100 s by its own limit (B1), with what
// it has done; its grace is 10 s. b has as long as it works for, and is done. c fails at 60 s and
// begins anew: its limit is counted from then.
func TestTimeLimit(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(3, 4)}}
	in.Jobs = []sim.Job{single("a", 4, 0, 200*second), single("b", 4, 0, 100*second), single("c", 4, 50*second, 300*second)}
	for i, limit := range []int64{100, 100, 90} {
		in.Jobs[i].Workload.TimeLimit = quota.Of(limit)
	}
	in.Changes = []sim.Change{
		{At: 60 * second, Kind: sim.TaskFails, Node: in.Cluster.Nodes[2].ID},
		{At: 500 * second, Kind: sim.Cordon, Node: in.Cluster.Nodes[2].ID},
	}
	for _, s := range []sim.Scheduler{sim.FirstFit(), sim.EASY(), sim.SRTF()} {
		r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Costs: sim.Costs{Grace: 10 * second, Loses: true}})
		for i, want := range []struct {
			outcome sim.Outcome
			end     time.Duration
			lost    string
		}{{sim.Failed, 100 * second, "400"}, {sim.Done, 100 * second, "0"}, {sim.Failed, 150 * second, "400"}} {
			if j := r.Jobs[i]; j.Outcome != want.outcome || j.End != want.end || gpuSeconds(j.Lost) != want.lost || gpuSeconds(j.Useful) != "0" && i != 1 {
				t.Errorf("%s: %s is %v at %v, and lost %s", s.Name, j.Workload.ID, j.Outcome, j.End, gpuSeconds(j.Lost))
			}
		}
	}
}

// TestPlacedAnewGoesOn: b and c change their places so that w, which has lost a GPU, finds some:
// there is no free place for one of them to go first, so that c is evicted and placed anew, and
// is since when it began, as the library says (B1).
func TestPlacedAnewGoesOn(t *testing.T) {
	for _, grace := range []time.Duration{0, 10 * second} {
		in := &sim.Input{Cluster: allot.State{Nodes: slices.Concat(trace.Nodes(2, 5)[:1], trace.Nodes(2, 2)[1:])}}
		in.Jobs = []sim.Job{single("c", 1, 0, 1000*second), single("w", 3, second, 1000*second), single("b", 2, 2*second, 1000*second)}
		in.Changes = []sim.Change{{At: 50 * second, Kind: sim.DeviceLost, Node: "node-0", Device: 0}}
		for _, s := range sim.Presets() {
			if s.Name != "runai" {
				continue
			}
			moved := ""
			r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Costs: sim.Costs{Grace: grace, Loses: true}, Observe: func(e sim.Event) {
				if e.Kind == sim.ActionEvent && e.At == 50*second {
					moved += e.Action.Kind.String() + " " + e.Job + " "
				}
			}})
			if moved != "displace w evict c move b start c start w " || r.Jobs[0].Outcome != sim.Done {
				t.Errorf("with a grace of %v: %s", grace, moved)
			}
		}
	}
}

// TestShrunkInACircleGoesOn: so that w3 finds places, w5 moves to where a task of w1 is, and that one to where w5
// was: the circle is cut where w1 gives up the task and is given it anew (M11). The task is since when it was
// placed first, as a move keeps it (R8), and as the library says.
func TestShrunkInACircleGoesOn(t *testing.T) {
	plain, memory := allot.Device{}, allot.Device{Memory: 3 << 30}
	one, part := allot.Request{GPU: allot.GPURequest{Count: 1}}, allot.Request{GPU: allot.GPURequest{Memory: 3 << 30}}
	for _, grace := range []time.Duration{0, 10 * second} {
		in := &sim.Input{Cluster: allot.State{
			Nodes: []allot.Node{
				{ID: "n0", Devices: []allot.Device{plain, memory}}, {ID: "n1", Devices: []allot.Device{plain}},
				{ID: "n3", Devices: []allot.Device{plain, memory, plain}}, {ID: "n4", Devices: []allot.Device{plain, plain, plain, plain}},
			},
			Queues: []allot.Queue{{ID: "q1"}, {ID: "q2"}},
		}}
		in.Jobs = []sim.Job{
			single("w1", 1, 0, 1000*second), single("w3", 1, 50*second, 1000*second), single("w5", 1, 0, 1000*second),
		}
		groups := []allot.Group{{Name: "g"}}
		w1, w3, w5 := &in.Jobs[0].Workload, &in.Jobs[1].Workload, &in.Jobs[2].Workload
		w1.Queue, w1.Groups, w1.PodSets = "q2", groups, []allot.PodSet{{Name: "s0", Count: 1, Request: one}, {Name: "s1", Count: 1, Group: "g"}}
		w3.Queue, w3.Groups, w3.PodSets = "q1", groups, []allot.PodSet{{Name: "s0", Count: 1, Request: one}, {Name: "s1", Count: 2, Group: "g", Request: part}}
		w5.Queue, w5.PodSets = "q1", []allot.PodSet{{Count: 3, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}
		moved := ""
		r := mustRun(t, in, sim.Options{Check: true, Costs: sim.Costs{Grace: grace}, Observe: func(e sim.Event) {
			if e.Kind == sim.ActionEvent && e.At == 50*second {
				moved += e.Action.Kind.String() + " " + e.Job + " "
			}
		}})
		if moved != "shrink w1 move w5 start w1 start w3 " || r.Jobs[0].Outcome != sim.Done {
			t.Errorf("with a grace of %v: %s", grace, moved)
		}
	}
}

// TestLeastTime: b is content with 100 s at the least. Where its estimate is less, and it is of one size, it is
// refused before the run, whoever promises what (V1). Where less is left of it than that, as it has been evicted, it is
// content with what is left.
func TestLeastTime(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	in.Jobs = []sim.Job{single("a", 4, 0, 60*second), single("b", 4, 0, 150*second), single("c", 4, 130*second, 20*second)}
	in.Jobs[1].Workload.MinDuration = 100
	in.Jobs[2].Workload.Priority = 1
	scheduler := sim.Scheduler{Name: "promising", Policy: &allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.EASY}}}
	r := mustRun(t, in, sim.Options{Check: true, Scheduler: scheduler})
	if j := &r.Jobs[1]; j.Evictions != 1 || j.End != 230*second {
		t.Errorf("%+v", j)
	}
	in.Jobs[1].Duration = 99 * second
	for _, s := range []sim.Scheduler{scheduler, sim.FIFO()} {
		_, err := sim.Run(in, sim.Options{Scheduler: s})
		var refused *sim.BadInputError
		if !errors.As(err, &refused) || len(refused.List) != 1 || refused.List[0].Job != "b" || refused.List[0].Kind != "minDuration" ||
			!strings.Contains(err.Error(), "workloads[1] (b).minDuration") {
			t.Errorf("%s: error %v", s.Name, err)
		}
		left := mustRun(t, in, sim.Options{Check: true, Scheduler: s, LeaveOut: true})
		if len(left.Jobs) != 2 || len(left.LeftOut) != 1 {
			t.Errorf("%s: left out: %v", s.Name, left.LeftOut)
		}
	}
	for name, mend := range map[string]func(*sim.Job){
		"its estimate is enough": func(j *sim.Job) { j.Estimate = 100 * second },
		"it is elastic":          func(j *sim.Job) { j.Workload.PodSets[0].Count, j.Workload.PodSets[0].Min = 2, 1 },
		"it is fixed work":       func(j *sim.Job) { j.Workload.FixedWork = 99 },
	} { // each on its own: order cannot matter
		mended := *in
		mended.Jobs = slices.Clone(in.Jobs)
		mended.Jobs[1].Workload.PodSets = slices.Clone(in.Jobs[1].Workload.PodSets)
		mend(&mended.Jobs[1])
		if r, err := sim.Run(&mended, sim.Options{Check: true, Scheduler: scheduler}); err != nil || r.Jobs[1].Outcome != sim.Done {
			t.Errorf("%s: %v", name, err)
		}
	}
}
