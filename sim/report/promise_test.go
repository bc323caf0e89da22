package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

// TestPromisesAreTold: a holds 3 of 4 GPUs, thought to 100 s and really to 130 s; b asks all and
// is promised 100 s at 10 s, 160 s at 100 s, and starts at 130 s. Until then a GPU is idle.
func TestPromisesAreTold(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	job := func(id string, gpus int) allot.Workload {
		return allot.Workload{ID: id, Preemption: allot.Preemptible, PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}}}
	}
	in.Jobs = []sim.Job{
		{Duration: 130 * second, Estimate: 100 * second, Workload: job("a", 3)},
		{Submit: 10 * second, Duration: 50 * second, Workload: job("b", 4)},
	}
	var events bytes.Buffer
	lines, drawn := report.NewEventWriter(&events), report.NewPicture(&in.Cluster)
	r, err := sim.Run(in, sim.Options{Scheduler: sim.EASY(), Sample: 20 * second, Observe: func(e sim.Event) {
		lines.Observe(e)
		drawn.Observe(e)
	}})
	if err != nil || lines.Err() != nil {
		t.Fatal(err, lines.Err())
	}
	drawn.Close(r)
	s := report.Summarize(r)
	if p := s.Promises; p == nil || p.Made != 1 || p.Late != 1 || p.Kept+p.Open+p.Withdrawn != 0 || p.LateBy.Max.Text(0) != "30" || p.Held.Times(3600).Text(0) != "120" {
		t.Errorf("%+v", s.Promises)
	}
	for _, want := range []string{`"event":"promise","job":"b"`, `"change":"made"`, `"change":"later"`} {
		if !strings.Contains(events.String(), want) {
			t.Errorf("no event has %s", want)
		}
	}
	var series bytes.Buffer
	if err := report.WriteSeries(&series, r); err != nil {
		t.Fatal(err)
	}
	rest := ",0.000,0.000,0.000,0.000,0.000" // nothing is idle for other causes
	for _, want := range []string{",idle_untold,reserved,running,queued,", "\n0,4.000,3.000,3.000,1.000,0.000" + rest + ",0.000,1,0,", "\n20,4.000,3.000,3.000,0.000,1.000" + rest + ",1.000,1,1,"} {
		if !strings.Contains(series.String(), want) {
			t.Errorf("the series has no %q:\n%s", want, &series)
		}
	}
	text, err := json.Marshal(drawn)
	want := `"promises":[{"job":"b","node":0,"gpus":4,"from":10,"to":100,"at":100},{"job":"b","node":0,"gpus":4,"from":100,"to":130,"at":160}]`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: the picture has no %s: %s", err, want, text)
	}
	plain, err := sim.Run(in, sim.Options{Scheduler: sim.FirstFit()})
	if err != nil {
		t.Fatal(err)
	}
	if s := report.Summarize(plain); s.Promises != nil {
		t.Errorf("without promises: %+v", s.Promises)
	}
}
