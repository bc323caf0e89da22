package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
)

// Waits of 1, 2, 3 and 6 s: mean 3, variance 14/3, so the standard error is 1.0801234 and
// 3.182 of it are 3.436953. Against 1, 1, 2 and 4: differences 0, 1, 1, 2, mean 1, variance
// 2/3, 0.4082483 × 3.182 = 1.299046.
func TestCompare(t *testing.T) {
	run := func(scheduler string, seed uint64, wait int64) report.Run {
		s := &report.Summary{}
		s.All.Pending = report.Spread{N: 1, Mean: sim.Seconds(time.Duration(wait) * time.Second)}
		return report.Run{Trace: "t", Load: 100, Seed: seed, Scheduler: scheduler, Summary: s}
	}
	var runs []report.Run
	for i, waits := range [][2]int64{{1, 1}, {1, 2}, {2, 3}, {4, 6}} {
		runs = append(runs, run("a", uint64(i), waits[0]), run("b", uint64(i), waits[1]))
	}
	late := run("b", 9, 1000)
	late.Summary.Partial = true
	runs = append(runs, late, report.Run{Trace: "t", Load: 100, Seed: 10, Scheduler: "b", Fault: "it broke"})
	s := report.Compare(runs)
	if len(s.Means) != 2 || len(s.Differences) != 1 || s.Differences[0].Against != "a" {
		t.Fatalf("%+v", s)
	}
	find := func(m report.Means) string {
		for _, e := range m.Estimates {
			if e.Measure == "wait_mean_s" {
				return e.Mean.String() + " " + e.Low.String() + " " + e.High.String()
			}
		}
		return ""
	}
	if got := find(s.Means[1]); got != "3.000000 -0.436953 6.436953" {
		t.Errorf("the mean of b is %s", got)
	}
	if got := find(s.Differences[0]); got != "1.000000 -0.299046 2.299046" {
		t.Errorf("b less a is %s", got)
	}
	var text, csv, again bytes.Buffer
	if err := report.WriteSweep(&text, s); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteSweepMeans(&csv, s); err != nil || !strings.Contains(csv.String(), "t,100,b,a,wait_mean_s,4,1.000000,-0.299046,2.299046\n") {
		t.Errorf("%v: %s", err, &csv)
	}
	csv.Reset()
	if err := report.WriteSweepRuns(&csv, runs); err != nil || !strings.Contains(csv.String(), "t,100,10,b,false,it broke,,,") {
		t.Errorf("%v: %s", err, &csv)
	}
	// What is read again comes to the same.
	var read report.Sweep
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteSweep(&again, report.Compare(read.Runs)); err != nil || again.String() != text.String() {
		t.Errorf("it is another one: %v", err)
	}
	if one := report.Compare(runs[:1]); one.Means[0].Estimates[0].Low != nil {
		t.Errorf("one run has an interval: %+v", one.Means[0])
	}
}

// The page carries its data and nothing from elsewhere, whatever names there are.
func TestPage(t *testing.T) {
	in := borrowing()
	in.Jobs[0].Workload.ID = "</script><script>alert(1)</script>"
	drawn := report.NewPicture(&in.Cluster)
	r, err := sim.Run(in, sim.Options{Sample: 60 * second, LeaveOut: true, Costs: sim.Costs{Grace: 10 * second}, Observe: drawn.Observe})
	if err != nil {
		t.Fatal(err)
	}
	drawn.Close(r)
	text, err := json.Marshal(drawn)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		End    float64
		Came   float64
		Rows   struct{ At []float64 }
		Places []struct {
			Job, Why string
			Node     int
			From, To float64
		}
		Waits []struct{ Jobs, Open int }
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	why := ""
	for _, h := range p.Places {
		if h.To <= h.From || h.Node < 0 || h.Node > 1 || h.To > p.End {
			t.Errorf("%+v of a run to %v", h, p.End)
		}
		why += h.Why
	}
	last := 0.0
	for i := range in.Jobs {
		last = max(last, in.Jobs[i].Submit.Seconds())
	}
	if p.Came != last || len(p.Rows.At) != len(r.Rows) {
		t.Errorf("the last job came at %v, not %v; %d of %d rows", last, p.Came, len(p.Rows.At), len(r.Rows))
	}
	if len(p.Places) < 4 || why == "" || len(p.Waits) == 0 {
		t.Errorf("%s", text)
	}
	var page bytes.Buffer
	sweep := report.Compare([]report.Run{{Trace: "t", Load: 100, Scheduler: "a", Summary: report.Summarize(r)}, {Trace: "t", Load: 100, Scheduler: "b", Fault: "it broke"}})
	if err := report.WritePage(&page, "<a & b>", sweep, []json.RawMessage{text, nil}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "alert(1)</script>") || strings.Count(page.String(), "<script") != 2 {
		t.Error("a name is read as a script")
	}
	for _, other := range []string{"http:", "https:", "src=", "@import", "url("} {
		if strings.Contains(page.String(), other) {
			t.Errorf("the page has %s", other)
		}
	}
	if err := report.WritePage(&page, "", sweep, nil); err == nil {
		t.Error("a page without its pictures is written")
	}
}

// TestPictureInParts: parts of a GPU are drawn as parts, by their memory as well, quotas as they
// are at each row, and places under every scheduler.
func TestPictureInParts(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: []allot.Node{{ID: "n", Devices: []allot.Device{{Memory: 1000}, {Memory: 1000}}}}}}
	queue := func(quota quota.Bound) *allot.Queue {
		return &allot.Queue{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota}}}
	}
	in.Cluster.Queues = []allot.Queue{*queue(quota.Of(1000))}
	for id, asks := range map[string]allot.GPURequest{"quarter": {Milli: 250}, "half": {Memory: 500}, "one": {Count: 1}} {
		in.Jobs = append(in.Jobs, sim.Job{Duration: 100 * second, Workload: allot.Workload{
			ID: id, Queue: "q", Preemption: allot.Preemptible, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: asks}}},
		}})
	}
	in.Changes = []sim.Change{{At: 40 * second, Kind: sim.QueueSet, Queue: queue(quota.Bound{})}, {At: 70 * second, Kind: sim.QueueSet, Queue: queue(quota.Of(500))}}
	for _, s := range []sim.Scheduler{sim.FIFO(), sim.SRTF(), sim.LAS(), sim.Presets()[1]} {
		drawn := report.NewPicture(&in.Cluster)
		r, err := sim.Run(in, sim.Options{Scheduler: s, Sample: 20 * second, Observe: drawn.Observe})
		if err != nil {
			t.Fatal(err)
		}
		drawn.Close(r)
		gpus := make(map[string]float64)
		for i := range drawn.Places {
			gpus[drawn.Places[i].Job] = drawn.Places[i].GPUs
		}
		if want := map[string]float64{"quarter": 0.25, "half": 0.5, "one": 1}; !maps.Equal(gpus, want) {
			t.Errorf("%s: places of %v, not %v", s.Name, gpus, want)
		}
		var quotas []string
		for _, q := range drawn.Queues[0].Quota {
			text := "-"
			if q != nil {
				text = fmt.Sprint(*q)
			}
			quotas = append(quotas, text)
		}
		if got := strings.Join(quotas, " "); got != "1 1 - - 0.5 0.5" {
			t.Errorf("%s: quotas are %s", s.Name, got)
		}
	}
}
