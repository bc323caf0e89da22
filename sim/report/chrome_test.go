package report_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

// A drawn is a slice of trace.json, in nanoseconds.
type drawn struct {
	job, thread string
	at, end     int64
}

// draw runs an input and reads what is drawn of it. No two slices of a thread may
// overlap: viewers nest those, or shift them.
func draw(t *testing.T, in *sim.Input, o sim.Options) (*sim.Result, []drawn) {
	t.Helper()
	var picture bytes.Buffer
	writer := report.NewChromeWriter(&picture, &in.Cluster)
	o.Check, o.Observe = true, writer.Observe
	r, err := sim.Run(in, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(r.End); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name, Ph string
			Pid, Tid int
			TS, Dur  json.Number
			Args     struct{ Name string }
		}
	}
	if err := json.Unmarshal(picture.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	nanos := func(micros json.Number) (n int64) {
		if _, err := fmt.Sscan(strings.Replace(micros.String(), ".", "", 1), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	names := make(map[[2]int]string)
	var list []drawn
	for _, e := range file.TraceEvents {
		at := [2]int{e.Pid, e.Tid}
		if e.Name == "thread_name" {
			names[at] = fmt.Sprintf("%d/%s", e.Pid, e.Args.Name)
		}
		if e.Ph == "X" {
			list = append(list, drawn{e.Name, names[at], nanos(e.TS), nanos(e.TS) + nanos(e.Dur)})
		}
	}
	slices.SortFunc(list, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.at, b.at)) })
	for i := 1; i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.thread == b.thread && b.at < a.end {
			t.Fatalf("%+v and %+v overlap", a, b)
		}
	}
	return r, list
}

// TestChromeShares: jobs that share a GPU, or run on a node without one, have a thread
// each, and the lowest that is free.
func TestChromeShares(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 2)}}
	in.Cluster.Nodes[0].Capacity = map[string]int64{allot.CPU: 2000}
	job := func(id string, r allot.Request, submit, duration time.Duration) {
		in.Jobs = append(in.Jobs, sim.Job{Submit: submit, Duration: duration, Workload: allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: r}}}})
	}
	part := allot.Request{GPU: allot.GPURequest{Count: 1, Milli: 300}}
	core := allot.Request{Resources: map[string]int64{allot.CPU: 1000}}
	job("p0", part, 0, 10*second)
	job("p1", part, 0, 30*second)
	job("p2", part, 5*second, 30*second)
	job("p3", part, 10*second, 10*second)
	job("whole", allot.Request{GPU: allot.GPURequest{Count: 1}}, 1*second, 10*second)
	job("c0", core, 0, 10*second)
	job("c1", core, 0, 10*second)
	_, list := draw(t, in, sim.Options{Scheduler: sim.FirstFit()})
	var got []string
	for _, d := range list {
		got = append(got, fmt.Sprintf("%s: %s %d-%d", d.thread, d.job, d.at/int64(second), d.end/int64(second)))
	}
	want := []string{
		"0/GPU 00: p0 0-10", "0/GPU 00: p3 10-20", "0/GPU 00, share 2: p1 0-30", "0/GPU 00, share 3: p2 5-35", "0/GPU 01: whole 1-11",
		"0/no GPU: c0 0-10", "0/no GPU, share 2: c1 0-10",
	}
	if !slices.Equal(got, want) {
		t.Errorf("drawn is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestChromeFaultWithoutGPUs: on a node without GPUs a task fails, but no GPU is lost.
func TestChromeFaultWithoutGPUs(t *testing.T) {
	for kind, want := range map[sim.ChangeKind]int{sim.DeviceLost: 1, sim.TaskFails: 2} { // the order does not matter
		in := &sim.Input{
			Cluster: allot.State{Nodes: []allot.Node{{ID: "n0", Capacity: map[string]int64{allot.CPU: 1000}}}},
			Jobs: []sim.Job{{Duration: 10 * second, Workload: allot.Workload{ID: "c", PodSets: []allot.PodSet{
				{Count: 1, Request: allot.Request{Resources: map[string]int64{allot.CPU: 1000}}},
			}}}},
			Changes: []sim.Change{{At: 5 * second, Kind: kind, Node: "n0"}},
		}
		if _, list := draw(t, in, sim.Options{Costs: sim.Costs{Loses: true}}); len(list) != want {
			t.Errorf("%v: drawn is %+v", kind, list)
		}
	}
}

// TestChromeIsWhatWasHeld: with all faults on, the slices of a job are to the
// nanosecond the GPU time for which it held its places until it was told to leave.
func TestChromeIsWhatWasHeld(t *testing.T) {
	in, err := trace.Generate(trace.ElasticFlowMix(), trace.Load{Seed: 1, Nodes: 6, Jobs: 100, Percent: 200, Tenants: 3, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	in, err = trace.FaultsOf(trace.Elastic(in, 2), trace.Faults{
		Seed: 1, Until: 5 * 24 * time.Hour, NodeLost: 50 * time.Hour, NodeBack: time.Hour, DeviceLost: 400 * time.Hour, DeviceBack: 2 * time.Hour,
		TaskFails: 200 * time.Hour, QueueSet: 24 * time.Hour, CancelPercent: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	costs := sim.Costs{Start: 40 * second, Grace: 30 * second, Loses: true, Checkpoint: 30 * time.Minute, Save: 20 * second}
	for _, s := range []sim.Scheduler{{Name: "zero"}, sim.Presets()[1], sim.FirstFit(), sim.SRTF(), sim.SRSF()} {
		r, list := draw(t, in, sim.Options{Scheduler: s, Costs: costs})
		drawn := make(map[string]int64)
		for _, d := range list {
			drawn[d.job] += d.end - d.at
		}
		for i := range r.Jobs {
			j := &r.Jobs[i]
			held := j.Useful.Plus(j.Lost).Plus(j.Vain).Plus(j.Overhead).Plus(j.Waiting)
			if j.Outcome == sim.Unfinished {
				t.Errorf("%s: job %s has not ended", s.Name, j.Workload.ID)
			} else if got, want := sim.Quotient(drawn[j.Workload.ID], int64(second)).Text(9), held.GPUSeconds().Text(9); got != want {
				t.Errorf("%s: job %s is drawn for %s GPU-seconds and held %s", s.Name, j.Workload.ID, got, want)
			}
		}
	}
}
