package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
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
