package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

const second = time.Second

// borrowing is two nodes of 2 GPUs of which one queue borrows what the other comes to
// want at 100 s, and a job that can never run.
func borrowing() *sim.Input {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 2)}}
	for _, id := range []string{"a", "b"} {
		in.Cluster.Queues = append(in.Cluster.Queues, allot.Queue{ID: id, Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(2000)}}})
	}
	job := func(id, queue string, gpus, count int, submit, duration time.Duration) {
		in.Jobs = append(in.Jobs, sim.Job{Submit: submit, Duration: duration, Workload: allot.Workload{
			ID: id, Queue: queue, Preemption: allot.Preemptible,
			PodSets: []allot.PodSet{{Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}},
		}})
	}
	job("a0", "a", 2, 1, 0, 200*second)
	job("a1", "a", 2, 1, 0, 200*second)
	job("b0", "b", 1, 2, 100*second, 50*second)
	job("never", "b", 3, 1, 100*second, 50*second)
	return in
}

func TestFiles(t *testing.T) {
	in := borrowing()
	var events, picture, summary, jobs, series bytes.Buffer
	lines, slices := report.NewEventWriter(&events), report.NewChromeWriter(&picture, &in.Cluster)
	r, err := sim.Run(in, sim.Options{
		Costs: sim.Costs{Grace: 10 * second, Loses: true}, Sample: 60 * second, Check: true,
		Observe: func(e sim.Event) { lines.Observe(e); slices.Observe(e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summarize(r)
	for _, err := range []error{
		lines.Err(), slices.Close(r.End), report.WriteSummary(&summary, s), report.WriteJobs(&jobs, r), report.WriteSeries(&series, r),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	wantJobs := `job,queue,priority,gpus,tasks,submit,first_start,end,duration,pending,outcome,starts,evictions,moves,shrinks,useful,lost,vain,unsaved,overhead,waiting,leaving,slowdown,rho
a0,a,0,2.000,1,0,0,200,200,0,done,1,0,0,0,400.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,1.000000,0.655738
a1,a,0,2.000,1,0,0,360,200,60,done,2,1,0,0,400.000000,200.000000,0.000000,0.000000,0.000000,0.000000,20.000000,1.800000,1.283168
b0,b,0,2.000,2,100,110,160,50,10,done,1,0,0,0,100.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,1.200000,0.533333
never,b,0,3.000,1,100,,,50,260,unfinished,0,0,0,0,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,,
`
	if jobs.String() != wantJobs {
		t.Errorf("jobs.csv:\n%s", &jobs)
	}
	if got, want := series.String(), "at,usable,allocated,used,idle_no-demand,idle_too-few,idle_pieces,idle_by-rule,idle_until-free,idle_impossible,idle_untold,reserved,running,queued,held_a,share_a,held_b,share_b\n0,4.000,"; !strings.HasPrefix(got, want) {
		t.Errorf("series.csv:\n%s", got)
	}
	if got := events.String(); !strings.Contains(got, `{"at":100000000000,"event":"evict","job":"a1","tasks":[{"node":"node-1","devices":[0,1]}],"code":"reclaimed-by-quota","reason":"`) &&
		!strings.Contains(got, `"event":"evict","job":"a1"`) {
		t.Errorf("events.jsonl:\n%s", got)
	}
	if !json.Valid(picture.Bytes()) || !strings.Contains(picture.String(), `{"name":"b0","ph":"X","pid":1,"tid":0,"ts":110000000.000,"dur":50000000.000}`) {
		t.Errorf("trace.json:\n%s", &picture)
	}
	if s.Outcomes[sim.Unfinished].N != 1 || s.Evictions != 1 || s.Waste.Lost.Text(4) != "0.0556" || s.QueueMetrics[1].QuotaLatency.Max.Text(0) != "10" {
		t.Errorf("summary:\n%s", &summary)
	}
	if _, some := makespan(t, s); some || strings.Contains(summary.String(), "makespan") {
		t.Errorf("one job has not ended, and there is a makespan:\n%s", &summary)
	}
	if s.Usage.Allocated.Text(3) != "0.778" {
		t.Errorf("allocated %s: 1,120 of 4 × 360 GPU-seconds are held", s.Usage.Allocated)
	}
}

// makespan is the measure of a sweep.
func makespan(t *testing.T, s *report.Summary) (d sim.Decimal, some bool) {
	measures := report.Measures()
	last := measures[len(measures)-1]
	if last.Name != "makespan_s" {
		t.Fatalf("the last measure is %s", last.Name)
	}
	return last.Of(s)
}

// TestSteadyWindow: with a run-up, what is told of jobs is of those that came later.
func TestSteadyWindow(t *testing.T) {
	in, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 1, Nodes: 2, Jobs: 100, Percent: 200, Tenants: 2})
	if err != nil {
		t.Fatal(err)
	}
	from, to := in.Jobs[40].Submit, in.Jobs[89].Submit
	r, err := sim.Run(in, sim.Options{Scheduler: sim.FIFO(), From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	s := report.Summarize(r)
	if got, _ := makespan(t, s); got.String() != sim.Seconds(r.End).String() {
		t.Errorf("makespan %s of %v", got, r.End)
	}
	if s.All.Jobs != 50 || s.Slowdown.N != 50 || s.Outcomes[1].N != 100 {
		t.Errorf("%d jobs, %d ratios, outcomes %v", s.All.Jobs, s.Slowdown.N, s.Outcomes)
	}
}

// TestJainOfLeaves: the index is of the queues that have jobs, and not of those above them as well.
func TestJainOfLeaves(t *testing.T) {
	of := func(held, share int64) sim.QueueRow { return sim.QueueRow{Held: held, FairShare: share, Divided: true} }
	s := report.Summarize(&sim.Result{
		Queues: []sim.QueueResult{{ID: "above", Inner: true}, {ID: "a"}, {ID: "b"}},
		Rows:   []sim.Row{{Queues: []sim.QueueRow{of(6000, 7000), of(3000, 2000), of(3000, 5000)}}},
	})
	if s.Jain == nil || s.Jain.Text(3) != "0.845" || s.QueueMetrics[0].UseOfShare.Text(3) != "0.857" { // 2.1² / (2 × 2.61)
		t.Errorf("Jain's index is %v of %+v", s.Jain, s.QueueMetrics)
	}
}

// TestNothing: who is given nil says so, or makes nothing of it; and of nothing there are no
// ratios, and not ratios of 0.
func TestNothing(t *testing.T) {
	for name, err := range map[string]error{
		"summary": report.WriteSummary(io.Discard, report.Summarize(nil)), "jobs": report.WriteJobs(io.Discard, nil), "series": report.WriteSeries(io.Discard, nil),
		"sweep": report.WriteSweep(io.Discard, nil), "means": report.WriteSweepMeans(io.Discard, nil), "page": report.WritePage(io.Discard, "", nil, nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := report.NewChromeWriter(io.Discard, nil).Close(0); err != nil || report.NewPicture(nil) == nil {
		t.Error(err)
	}
	report.NewPicture(nil).Close(nil)
	r, err := sim.Run(&sim.Input{}, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteSummary(&text, report.Summarize(r)); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"unfair", "usage", "steady", "evictionsPerJob", "jain", "quotaLatency", "makespan", "mean", "null"} {
		if strings.Contains(text.String(), absent) {
			t.Errorf("of nothing there is %q:\n%s", absent, text.String())
		}
	}
	for _, m := range report.Compare([]report.Run{{Summary: report.Summarize(r)}}).Means[0].Estimates {
		if strings.HasSuffix(m.Measure, "_part") || strings.Contains(m.Measure, "quota") {
			t.Errorf("of nothing there is %v", m)
		}
	}
}

// TestPlacesEndWithWhatTheyHave: a job that has lost its place to a fault holds none until it runs again.
func TestPlacesEndWithWhatTheyHave(t *testing.T) {
	for _, c := range []struct {
		kind    sim.ChangeKind
		devices int
		places  string
	}{
		{sim.NodeLost, 2, "a 0-10 node-lost, b 0-10 node-lost, a 60-150 , b 60-150 "},
		{sim.DeviceLost, 2, "a 0-10 device-lost, b 0-100 , a 60-150 "},
		{sim.TaskFails, 2, "a 0-10 task-fails, b 0-100 , a 20-110 "},
		{sim.TaskFails, 0, "a 0-10 task-fails, b 0-10 task-fails, a 20-110 , b 20-110 "},
	} {
		in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, c.devices)}}
		if c.devices == 0 {
			in.Cluster.Nodes[0].Capacity = map[string]int64{sim.Slots: 2000}
		}
		for _, id := range []string{"a", "b"} {
			request := allot.Request{GPU: allot.GPURequest{Count: 1}}
			if c.devices == 0 {
				request = allot.Request{Resources: map[string]int64{sim.Slots: 1000}}
			}
			in.Jobs = append(in.Jobs, sim.Job{Duration: 100 * time.Second, Workload: allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: 1, Request: request}}}})
		}
		in.Changes = []sim.Change{{At: 10 * time.Second, Kind: c.kind, Node: "node-0"}}
		switch c.kind {
		case sim.NodeLost:
			in.Changes = append(in.Changes, sim.Change{At: 60 * time.Second, Kind: sim.NodeBack, Node: "node-0"})
		case sim.DeviceLost:
			in.Changes = append(in.Changes, sim.Change{At: 60 * time.Second, Kind: sim.DeviceBack, Node: "node-0"})
		}
		p := report.NewPicture(&in.Cluster)
		r, err := sim.Run(in, sim.Options{Scheduler: sim.FIFO(), Observe: p.Observe, Period: 20 * time.Second, Check: true})
		if err != nil {
			t.Fatal(err)
		}
		p.Close(r)
		var list []string
		for _, h := range p.Places {
			list = append(list, fmt.Sprintf("%s %v-%v %s", h.Job, h.From, h.To, h.Why))
		}
		if got := strings.Join(list, ", "); got != c.places {
			t.Errorf("%v: %s", c.kind, got)
		}
	}
}
