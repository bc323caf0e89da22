package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// run replays an input first in, first out, and fails the test on any error.
func run(t *testing.T, in *sim.Input) *sim.Result {
	t.Helper()
	r, err := sim.Run(in, sim.Options{Scheduler: sim.FirstFit(), Check: true, LeaveOut: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestElasticFlow(t *testing.T) {
	const text = "job_id,submission_time,duration,num_gpu\nb,105,60,12\na,100,30,4\nz,100,0,4\n"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(text))
	w.Close()
	in, err := trace.ElasticFlow(strings.NewReader(text), 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := trace.ElasticFlow(&zipped, 2)
	if err != nil || in.Hash() != again.Hash() {
		t.Errorf("gzipped it is another trace, or %v", err)
	}
	if len(in.Jobs) != 2 || in.Jobs[0].Workload.ID != "0-a" || in.Jobs[0].Submit != 0 || in.Jobs[1].Submit != 5*time.Second {
		t.Fatalf("jobs %+v", in.Jobs)
	}
	if sets := in.Jobs[1].Workload.PodSets; len(sets) != 2 || sets[0].Request.GPU.Count != 8 || sets[1].Request.GPU.Count != 4 {
		t.Errorf("12 GPUs are %+v", sets)
	}
	if r := run(t, in); r.Makespan != 65*time.Second {
		t.Errorf("makespan %v", r.Makespan)
	}
}

func TestMuri(t *testing.T) {
	in, err := trace.Muri(strings.NewReader("job_id,num_gpu,submit_time,iterations,iteration_time\n0,4,0,1000,214\n1,16,1500,10,100\n"), 2)
	if err != nil {
		t.Fatal(err)
	}
	if d := in.Jobs[0].Duration; d != 217210*time.Millisecond {
		t.Errorf("1000 × 214 ms × 1.015 = %v", d)
	}
	if in.Jobs[1].Submit != 1500*time.Millisecond {
		t.Errorf("submitted at %v", in.Jobs[1].Submit)
	}
	run(t, in)
}

func TestPhilly(t *testing.T) {
	in, err := trace.Philly(
		strings.NewReader("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.5,1,66.0,b\n2017-10-09 07:01:50,10.0,8,80.0,a\n2017-10-09 07:01:50,10.0,8,80.0,nobody\n"),
		strings.NewReader("vc,node num\na,2\nb,1\n"))
	if err != nil || len(in.LeftOut) != 1 {
		t.Fatal(in, err)
	}
	if len(in.Cluster.Nodes) != 3 || in.Cluster.Queues[0].Resources[0].Quota != quota.Of(16000) {
		t.Errorf("cluster %+v", in.Cluster)
	}
	if j := in.Jobs[1]; j.Submit != 5*time.Second || j.Duration != 66500*time.Millisecond || j.Workload.Queue != "b" {
		t.Errorf("job %+v", j)
	}
	faster, err := trace.Scale(in, 200)
	if err != nil || faster.Jobs[1].Submit != 2500*time.Millisecond {
		t.Errorf("twice the load: %+v, %v", faster.Jobs, err)
	}
	run(t, in)
}

// At every load what has an instant that no run has is left to the run, which lists it.
func TestScaleOfNoTime(t *testing.T) {
	in, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 1, Nodes: 2, Jobs: 4, Percent: 90})
	if err != nil {
		t.Fatal(err)
	}
	in.Jobs[1].Submit, in.Jobs[2].Submit, in.Jobs[3].Submit = -5, 9e18, math.MaxInt64
	for _, percent := range []int64{1, 99, 100, 150} {
		scaled, err := trace.Scale(in, percent)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(scaled, sim.Options{Scheduler: sim.FirstFit(), LeaveOut: true})
		if err != nil || len(r.LeftOut) != 3 || r.LeftOut[0].Kind != "time" || r.LeftOut[2].Kind != "time" {
			t.Errorf("at %d%%: %v, %v", percent, r, err)
		}
	}
}

func TestOpenb(t *testing.T) {
	in, err := trace.Openb(
		strings.NewReader("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1024,2,T4\nn1,64000,1024,1,P100\n"),
		strings.NewReader("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"+
			"p0,1000,512,1,460,T4|G2,LS,Running,10,30,15\np1,1000,512,2,1000,,BE,Failed,12,12,\np2,1000,512,0,0,,BE,Succeeded,13,20,13\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := in.Jobs[0]
	if p.Duration != 15*time.Second || !cmp.Equal(p.Workload.PodSets[0].Request.GPU, allot.GPURequest{Count: 1, Milli: 460, Models: []string{"T4", "G2"}}) {
		t.Errorf("pod %+v", p)
	}
	r := run(t, in)
	if r.Jobs[1].Outcome != sim.Failed || r.Jobs[2].Outcome != sim.Done || r.Jobs[1].CompletionTime() != 14*time.Second {
		t.Errorf("%+v", r.Jobs)
	}
}

func TestSWF(t *testing.T) {
	const text = "; Version: 2.2\n; MaxProcs: 20\n" +
		"1 0 5 100 12 -1 -1 12 200 -1 1 3 1 1 0 1 -1 -1\n" +
		"2 10 -1 50 4 -1 -1 -1 -1 -1 0 3 1 1 1 1 -1 -1\n" +
		"3 20 30 -1 -1 -1 -1 4 60 -1 5 3 1 1 1 1 -1 -1\n" +
		"4 20 -1 -1 -1 -1 -1 4 60 -1 1 3 1 1 1 1 -1 -1\n" +
		"5 20 -1 10 -1 -1 -1 40 60 -1 1 3 1 1 1 1 -1 -1\n"
	for _, cores := range []bool{false, true} {
		in, err := trace.SWF(strings.NewReader(text), trace.SWFOptions{Cores: cores, Queues: true})
		if err != nil || len(in.LeftOut) != 2 || len(in.Jobs) != 3 || len(in.Cluster.Nodes) != 3 || len(in.Cluster.Queues) != 2 {
			t.Fatalf("%v, %+v", err, in)
		}
		if j := in.Jobs[0]; j.Estimate != 200*time.Second || j.Duration != 100*time.Second {
			t.Errorf("job %+v", j)
		}
		r := run(t, in)
		if r.Jobs[0].Outcome != sim.Done || r.Jobs[1].Outcome != sim.Failed {
			t.Errorf("%+v", r.Jobs)
		}
		if in.Jobs[2].CancelAfter != 30*time.Second || r.Jobs[2].Outcome != sim.Cancelled {
			t.Errorf("job 3 gives up after %v and is %v", in.Jobs[2].CancelAfter, r.Jobs[2].Outcome)
		}
	}
}

// TestSWFLeftOut: a line of the format that makes no job says why, and numbers that cannot be
// read are not taken for numbers that are not known.
func TestSWFLeftOut(t *testing.T) {
	for line, want := range map[string]string{
		"2 5 10 0 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1":    "run time: it ran for no time",
		"2 5 10 -1 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1":   "run time: nobody knows how long it ran",
		"2 5 0 0 4 -1 -1 4 -1 -1 5 1 1 1 1 1 -1 -1":     "run time: it was cancelled, and neither ran nor waited",
		"6 9 5 10.5 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1":  `number: its run time "10.5" is no whole number`,
		"6 9 5 10 4 -1 -1 four -1 -1 1 1 1 1 1 1 -1 -1": `number: its number of requested processors "four" is no whole number`,
		"6 9 5 10 4 -1 -1 4 1h -1 1 1 1 1 1 1 -1 -1":    `number: its requested time "1h" is no whole number`,
		"6 9 5 10 4 7.5 -1 4 1 -1 1 1 1 1 1 1 -1 -1":    "",
	} { // each on its own: order cannot matter
		in, err := trace.SWF(strings.NewReader("; MaxProcs: 8\n"+line+"\n"), trace.SWFOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range in.LeftOut {
			got += l.Kind + ": " + l.Why
		}
		if got != want || len(in.Jobs) != min(len(want), 1)^1 {
			t.Errorf("%s: %d jobs, left out as %q, not %q", line, len(in.Jobs), got, want)
		}
	}
}

// TestFaultsNamed: every reader says which line is wrong, and how.
func TestFaultsNamed(t *testing.T) {
	for _, c := range []struct {
		name, want string
		read       func() error
	}{
		{"elasticflow", `line 3, job "b": num_gpu is "x": must be a whole number`, func() error {
			return taken(trace.ElasticFlow(strings.NewReader("job_id,submission_time,duration,num_gpu\na,1,1,1\nb,1,1,x\n"), 1))
		}},
		{"column", `no column "num_gpu"`, func() error {
			return taken(trace.ElasticFlow(strings.NewReader("job_id,submission_time,duration\n"), 1))
		}},
		{"muri", `line 2, job "0": iteration_time is "0"`, func() error {
			return taken(trace.Muri(strings.NewReader("job_id,num_gpu,submit_time,iterations,iteration_time\n0,4,0,1000,0\n"), 2))
		}},
		{"philly", `line 2, job "yesterday": timestamp is "yesterday"`, func() error {
			return taken(trace.Philly(strings.NewReader("timestamp,duration,num_gpus,cluster\nyesterday,1,1,a\n"), strings.NewReader("vc,node num\na,2\n")))
		}},
		{"swf", `line 2: it has 3 fields, not 18`, func() error {
			return taken(trace.SWF(strings.NewReader("; MaxProcs: 8\n1 2 3\n"), trace.SWFOptions{}))
		}},
		{"native", `line 2: json: unknown field "nodes"`, func() error {
			return taken(trace.Read(strings.NewReader("{\"trace\":{\"version\":1}}\n{\"nodes\":{}}\n")))
		}},
		{"header", `line 1: the header`, func() error {
			return taken(trace.Read(strings.NewReader("{\"node\":{\"id\":\"a\"}}\n")))
		}},
	} {
		if err := c.read(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

// TestQueueSet: quotas and weights become half to one and a half times what they were.
func TestQueueSet(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{
		{Resource: allot.GPU, Quota: quota.Of(10_500), Limit: quota.Unlimited(), Weight: quota.Of(40)},
		{Resource: allot.CPU, Quota: quota.Of(1), Weight: quota.Of(0)},
	}}}}}
	in, err := trace.FaultsOf(in, trace.Faults{Seed: 1, Until: 1000 * time.Hour, QueueSet: time.Hour})
	if err != nil || len(in.Changes) < 500 {
		t.Fatal(len(in.Changes), err)
	}
	least, most := int64(1<<62), int64(0)
	for _, c := range in.Changes {
		gpu, cpu := c.Queue.Resources[0], c.Queue.Resources[1]
		if q, w := gpu.Quota.Amount(), gpu.Weight.Amount(); q < 5250 || q > 15750 || w < 20 || w > 60 || !gpu.Limit.IsUnlimited() {
			t.Fatalf("%+v", gpu)
		}
		if cpu.Quota != quota.Of(1) || cpu.Weight != quota.Of(0) {
			t.Fatalf("%+v", cpu)
		}
		least, most = min(least, gpu.Weight.Amount()), max(most, gpu.Weight.Amount())
	}
	if least > 22 || most < 58 {
		t.Errorf("weights are from %d to %d", least, most)
	}
}

// TestNative: what is written is read again, and written alike.
func TestNative(t *testing.T) {
	in, err := trace.Generate(trace.PhillyMix(), trace.Load{Seed: 7, Nodes: 4, Jobs: 200, Percent: 90, Tenants: 3, Noise: 50})
	if err != nil {
		t.Fatal(err)
	}
	in = trace.Elastic(in, 1)
	in, err = trace.FaultsOf(in, trace.Faults{
		Seed: 7, Until: 10 * 24 * time.Hour, NodeLost: 48 * time.Hour, NodeBack: time.Hour, TaskFails: 100 * time.Hour,
		QueueSet: 48 * time.Hour, CancelPercent: 10, PriorityPercent: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	in.Cluster.Pools = []allot.Pool{{ID: "p", Policy: allot.RunAI()}}
	in.Jobs[0].Costs = &sim.Costs{Start: time.Second, Loses: true}
	in.Jobs[1].ModelSpeed = map[string]int64{"V100": 1000, "A100": 2500}
	var text, again bytes.Buffer
	if err := trace.Write(&text, "test", in); err != nil {
		t.Fatal(err)
	}
	written := text.String()
	read, err := trace.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if err := trace.Write(&again, "test", read); err != nil || again.String() != written {
		t.Errorf("it is not written as it was read: %v", err)
	}
	if in.Hash() != read.Hash() {
		t.Error("the hash is another one")
	}
	if a, b := run(t, in), run(t, read); a.Trail != b.Trail {
		t.Error("the run is another one")
	}
}

// TestGenerate: the figures of what is made are those that were asked for.
func TestGenerate(t *testing.T) {
	for _, m := range append(trace.Mixes(), trace.ExponentialMix(time.Hour)) {
		const jobs, nodes = 20000, 100
		in, err := trace.Generate(m, trace.Load{Seed: 1, Nodes: nodes, Jobs: jobs, Percent: 80})
		if err != nil {
			t.Fatal(err)
		}
		work := 0.0
		for i := range in.Jobs {
			j := &in.Jobs[i]
			gpus := 0
			for _, p := range j.Workload.PodSets {
				gpus += p.Count * p.Request.GPU.Count
			}
			work += float64(gpus) * j.Duration.Seconds()
		}
		load := work / in.Jobs[jobs-1].Submit.Seconds() / (nodes * 8)
		if load < 0.72 || load > 0.88 {
			t.Errorf("%s: offered load %.3f, not about 0.8", m.Name, load)
		}
		same, err := trace.Generate(m, trace.Load{Seed: 1, Nodes: nodes, Jobs: jobs, Percent: 80})
		if err != nil || same.Hash() != in.Hash() {
			t.Errorf("%s: the same seed makes another trace, or %v", m.Name, err)
		}
	}
}

// TestTooMuchLoad: a load of which the clock cannot count the gaps is refused; it used
// to stand still in the hours, and never end.
func TestTooMuchLoad(t *testing.T) {
	for _, l := range []trace.Load{
		{Nodes: 1 << 20, Jobs: 1000, Percent: 100_000}, {Nodes: 1 << 30, Jobs: 1, Percent: 1}, {Nodes: 1, Jobs: 1, Percent: 1 << 60},
	} {
		if _, err := trace.Generate(trace.PhillyMix(), l); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
	odd := trace.PhillyMix()
	odd.Hours[3] = -1
	if _, err := trace.Generate(odd, trace.Load{Nodes: 1, Jobs: 1, Percent: 1}); err == nil {
		t.Error("a negative hour is taken")
	}
}

// TestOddFiles: files that are none of the format are refused, without a panic.
func TestOddFiles(t *testing.T) {
	for _, text := range []string{
		"", "\n", "\x1f\x8b", "\x1f\x8bgarbage", "null\n", "{}\n", "[1]\n", "{\"trace\":null}\n", "{\"trace\":{\"version\":1}}{}\n",
		"{\"trace\":{\"version\":1}}\n{\"job\":null}\n", "{\"trace\":{\"version\":1}}\n{\"trace\":{\"version\":1}}\n",
		"job_id,submission_time,duration,num_gpu\n1,1e999999999,1,1\n", "job_id,submission_time,duration,num_gpu\n1,0,-1,1\n",
		"job_id,submission_time,duration,num_gpu\n1,0,1\n", "job_id,submission_time,duration,num_gpu\n1,NaN,Inf,0x\n",
		"timestamp,duration,num_gpus,cluster\n9999-99-99 00:00:00,1,1,a\n", "vc,node num\na,1\na,1\n", "vc,node num\na,99999999999999999999\n",
		"; MaxProcs: -4\n", "; MaxProcs: 8\n1 2 3\n", "; MaxProcs: 8\n1 -1 0 1 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n", "1 0 0 1 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n",
		"job_id,num_gpu,submit_time,iterations,iteration_time\n1,1,0,1099511627776,1048576\n",
	} {
		read := func() io.Reader { return strings.NewReader(text) }
		one := "vc,node num\na,1\n"
		for name, err := range map[string]error{
			"native":      taken(trace.Read(read())),
			"elasticflow": taken(trace.ElasticFlow(read(), 1)),
			"muri":        taken(trace.Muri(read(), 1)),
			"openb":       taken(trace.Openb(read(), read())),
			"philly":      taken(trace.Philly(read(), strings.NewReader(one))),
			"tenants":     taken(trace.Philly(strings.NewReader(one), read())),
			"swf":         taken(trace.SWF(read(), trace.SWFOptions{})),
		} { // each on its own: order cannot matter
			if err == nil {
				t.Errorf("%s takes %q", name, text)
			}
		}
	}
}

// taken is why an input is not taken: by its reader, or for a run.
func taken(in *sim.Input, err error) error {
	if err != nil {
		return err
	}
	return sim.Check(in, sim.Options{})
}

// TestRowsLeftOut: of each reader, what makes no job is listed by line, job and kind, and
// everything else is there.
func TestRowsLeftOut(t *testing.T) {
	const native = `{"trace":{"version":1}}
{"node":{"id":"n","devices":[{},{}]}}
{"job":{"submit":0,"duration":1000000000,"workload":{"id":"a","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}

{"job":{"submit":"x","duration":1000000000,"workload":{"id":"b"}}}
{"job":{"submit":0,"duration":-5,"workload":{"id":"c","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
{"job":{"submit":0,"duration":1000000000,"workload":{"id":"d","queue":"x","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
{"job":{"submit":0,"duration":1000000000,"workload":{"id":"a","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
{"change":{"at":1,"kind":"priority-set","job":"d","priority":4}}
{"change":{"at":1,"kind":"priority-set","job":"a","priority":4}}
`
	table := "job_id,submission_time,duration,num_gpu\na,0,5,1\nb,0,0,1\nc,0,5,-1\nd,0,5\ne,1,5,2\n"
	philly := "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,5,1,q\n2017-10-09 07:01:55,5,9,q\n2017-10-09 07:01:55,5,1,z\n"
	swf := "; MaxProcs: 8\n1 0 0 9 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n2 0 0 9 1 0 0 1 0 0 3 1 1 1 1 1 -1 -1\n3 0 0 9 1 0 0 9 0 0 1 1 1 1 1 1 -1 -1\n4 0 0 0 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n5\n"
	for _, c := range []struct {
		name string
		in   func() (*sim.Input, error)
		want string
		jobs int
	}{
		{"native", func() (*sim.Input, error) { return trace.Read(strings.NewReader(native)) }, "5 b job, 6 c time, 7 d queue, 8 a same name", 1},
		{"table", func() (*sim.Input, error) { return trace.ElasticFlow(strings.NewReader(table), 1) }, "3 b duration, 4 c num_gpu, 5 d columns", 2},
		{"philly", func() (*sim.Input, error) {
			return trace.Philly(strings.NewReader(philly), strings.NewReader("vc,node num\nq,1\n"))
		}, "3 2017-10-09 07:01:55 num_gpus, 4 2017-10-09 07:01:55 cluster", 1},
		{"swf", func() (*sim.Input, error) { return trace.SWF(strings.NewReader(swf), trace.SWFOptions{}) }, "3 2 partial run, 5 4 run time, 6  fields, 4 3 processors", 1},
	} {
		in, err := c.in()
		if err != nil {
			t.Fatal(c.name, err)
		}
		var bad *sim.BadInputError
		if r, err := sim.Run(in, sim.Options{}); !errors.As(err, &bad) || r != nil {
			t.Errorf("%s: it runs: %v", c.name, err)
			continue
		}
		r, err := sim.Run(in, sim.Options{LeaveOut: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, l := range r.LeftOut {
			got = append(got, fmt.Sprintf("%d %s %s", l.Line, l.Job, l.Kind))
		}
		if text := strings.Join(got, ", "); text != c.want || len(r.Jobs) != c.jobs || len(bad.List) != len(r.LeftOut) {
			t.Errorf("%s: left out are %s; %d jobs", c.name, text, len(r.Jobs))
		}
		for i := range r.Jobs {
			if r.Jobs[i].Outcome != sim.Done {
				t.Errorf("%s: %+v", c.name, r.Jobs[i])
			}
		}
	}
}

// TestLinesOfTables: a line of a table is a row, whatever quotes are left open in it: the rows behind are there. In
// what sacct prints quotes mean nothing. Numbers are digits and a point, and no two columns have one name.
func TestLinesOfTables(t *testing.T) {
	const head = "\ufeff\"job_id\",submission_time,duration,num_gpu,user\r\n"
	elastic := func(text string) (*sim.Input, error) { return trace.ElasticFlow(strings.NewReader(text), 1) }
	slurm := func(text string) (*sim.Input, error) {
		return trace.Slurm(strings.NewReader(text), trace.Site{Nodes: 1})
	}
	const sacct = "\ufeffJobName|JobID|State|Submit|ElapsedRaw|ReqTRES\n"
	for _, c := range []struct {
		name, text string
		read       func(string) (*sim.Input, error)
		want       string
		jobs       int
	}{
		{"open in the ID", head + "a,0,5,1,u\n\"b,0,5,1,u\nc,0,5,1,u\nd\",0,5,1,u\ne,0,5,1,u\n", elastic, "3  quotes, 5  quotes", 3},
		{"open in what is not read", head + "a,0,5,1,\"u\nb,0,5,1,u\nc,0,5,1,u\"\n", elastic, "2  quotes, 4  quotes", 1},
		{"open to the end", head + "a,0,5,1,u\nb,0,5,1,\"u\nc,0,5,1,u\nd,0,5,1,u", elastic, "3  quotes", 3},
		{"closed", head + "\"a, \"\"b\"\"\",0,5,1,\"u,v\"\r\n\n", elastic, "", 1},
		{"numbers", head + "a,0x1,5,1,u\nb,0,1/3,1,u\nc,0,1_0,1,u\nd,0,5.,1,u\ne,0,.,1,u\nf,+0.0,.5,1,u\n", elastic, "2 a submission_time, 3 b duration, 4 c duration, 6 e duration", 2},
		{"slurm", sacct + "\"x|1|COMPLETED|2023-01-01T00:00:00|5|gres/gpu=1\ny\"|2|COMPLETED|2023-01-01T00:00:00|5|gres/gpu=1\n", slurm, "", 2},
	} {
		in, err := c.read(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, l := range in.LeftOut {
			got = append(got, fmt.Sprintf("%d %s %s", l.Line, l.Job, l.Kind))
		}
		if text := strings.Join(got, ", "); text != c.want || len(in.Jobs) != c.jobs {
			t.Errorf("%s: left out are %s; %d jobs", c.name, text, len(in.Jobs))
		}
	}
	if _, err := elastic("job_id,duration,submission_time,duration,num_gpu\na,1,2,3,1\n"); err == nil || !strings.Contains(err.Error(), `two columns "duration"`) {
		t.Errorf("error %v", err)
	}
	for _, quota := range []string{"0b1", "0o1", "0x1", "1_0", "1/2", "1e1", "-1"} {
		if _, err := trace.Tenants(strings.NewReader("tenant,quota\na," + quota + "\n")); err == nil {
			t.Errorf("%s is a quota", quota)
		}
	}
	swf, err := trace.SWF(strings.NewReader("\ufeff; MaxProcs: 8\n1 0 0 9 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n"), trace.SWFOptions{})
	if err != nil || len(swf.Jobs) != 1 {
		t.Errorf("swf: %v", err)
	}
	log, err := trace.PhillyLog(strings.NewReader("\ufeff[]"), trace.Site{Nodes: 1})
	if err != nil || len(log.Jobs) != 0 {
		t.Errorf("philly log: %v", err)
	}
}

// TestNativeMark: a file that begins with the mark of UTF-8 is one of the native format.
func TestNativeMark(t *testing.T) {
	in, err := trace.Read(strings.NewReader("\ufeff{\"trace\":{\"version\":1}}\n{\"node\":{\"id\":\"a\"}}\n"))
	if err != nil || len(in.Cluster.Nodes) != 1 {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestBetween: a slice of a trace has the cluster that there was then, what changes in it, and
// what changes behind it while its jobs run: whatever names the jobs have that are not in it.
func TestBetween(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1)}}
	for i, id := range []string{"early", "a", "b", "late"} {
		in.Jobs = append(in.Jobs, sim.Job{Submit: time.Duration(i) * time.Hour, Duration: 10 * time.Hour, Workload: allot.Workload{ID: id}})
	}
	change := func(at time.Duration, kind sim.ChangeKind, node, job string) sim.Change {
		return sim.Change{At: at, Kind: kind, Node: node, Job: job}
	}
	in.Changes = []sim.Change{
		change(9*time.Hour, sim.NodeBack, "node-0", ""), change(30*time.Minute, sim.NodeBack, "node-1", ""), change(10*time.Minute, sim.NodeLost, "node-0", ""),
		change(20*time.Minute, sim.NodeLost, "node-1", ""), change(90*time.Minute, sim.Cancel, "", "early"), change(2*time.Hour, sim.PrioritySet, "", "b"),
	}
	for range 2 { // outside: one without a name, one named like one inside
		in.Jobs = append(in.Jobs, sim.Job{Duration: time.Hour})
	}
	in.Jobs[5].Workload.ID = "b"
	got := trace.Between(in, time.Hour, 3*time.Hour)
	want := []sim.Change{
		change(0, sim.NodeLost, "node-0", ""), change(0, sim.NodeLost, "node-1", ""), change(0, sim.NodeBack, "node-1", ""),
		change(time.Hour, sim.PrioritySet, "", "b"), change(8*time.Hour, sim.NodeBack, "node-0", ""),
	}
	if d := cmp.Diff(want, got.Changes, cmp.AllowUnexported(quota.Bound{})); d != "" {
		t.Error(d)
	}
	if len(got.Jobs) != 2 || got.Jobs[0].Workload.ID != "a" || got.Jobs[0].Submit != 0 || got.Jobs[1].Submit != time.Hour {
		t.Errorf("jobs %+v", got.Jobs)
	}
	if in.Changes[0].At != 9*time.Hour || len(in.Jobs) != 6 {
		t.Error("the input was changed")
	}
}

// TestLeftOutOfASlice: of what makes no job a slice counts what was to come in it, and what has no
// time that can be read.
func TestLeftOutOfASlice(t *testing.T) {
	site := trace.Site{Nodes: 1}
	read := strings.NewReader
	for name, c := range map[string]struct {
		in   func() (*sim.Input, error)
		want string
	}{
		"native": {func() (*sim.Input, error) {
			return trace.Read(read(`{"trace":{"version":1}}
{"job":{"submit":0,"duration":1,"workload":{"id":"a"}}}
{"job":{"submit":3600000000000,"duration":"x","workload":{"id":"b"}}}
{"job":{"submit":7200000000000,"duration":"x","workload":{"id":"c"}}}
{"job":{"submit":"x","duration":1,"workload":{"id":"d"}}}
`))
		}, "3 b, 5 d"},
		"elasticflow": {func() (*sim.Input, error) {
			return trace.ElasticFlow(read("job_id,submission_time,duration,num_gpu\na,100,5,1\nb,3700,0,1\nc,7300,0,1\nd,x,5,1\ne,50,0,1\n"), 1)
		}, "3 b, 5 d"},
		"muri": {func() (*sim.Input, error) {
			return trace.Muri(read("job_id,num_gpu,submit_time,iterations,iteration_time\na,1,0,1,1\nb,0,3600000,1,1\nc,0,7200000,1,1\nd,1,x,1,1\n"), 1)
		}, "3 b, 5 d"},
		"philly": {func() (*sim.Input, error) {
			return trace.Philly(read("timestamp,duration,num_gpus,cluster\n2017-10-09 07:00:00,5,1,q\n2017-10-09 08:00:00,5,1,z\n2017-10-09 09:00:00,5,1,z\nd,5,1,q\n"), read("vc,node num\nq,1\n"))
		}, "3 2017-10-09 08:00:00, 5 d"},
		"swf": {func() (*sim.Input, error) {
			rest := " 0 9 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n"
			return trace.SWF(read("; MaxProcs: 8\n1 0"+rest+"2 3600 0 x"+rest[4:]+"3 7200 0 x"+rest[4:]+"4 x"+rest+"5 7200 0 9 1 0 0 9 0 0 1 1 1 1 1 1 -1 -1\n6\n"), trace.SWFOptions{})
		}, "3 2, 5 4, 7 "},
		"helios": {func() (*sim.Input, error) {
			return trace.Helios(read("job_id,vc,gpu_num,state,submit_time,duration\na,v,1,X,2020-04-01 00:00:00,5\nb,v,x,X,2020-04-01 01:00:00,5\nc,v,0,X,2020-04-01 02:00:00,5\nd,v,1,X,x,5\n"), site)
		}, "3 b, 5 d"},
		"slurm": {func() (*sim.Input, error) {
			return trace.Slurm(read("JobID|State|Submit|ElapsedRaw|AllocTRES\na|COMPLETED|2020-04-01T00:00:00|5|gres/gpu=1\nb|COMPLETED|2020-04-01T01:00:00|5|\nc|COMPLETED|2020-04-01T02:00:00|5|\nd|COMPLETED|x|5|gres/gpu=1\n"), site)
		}, "3 b, 5 d"},
		"pai": {func() (*sim.Input, error) {
			return trace.PAI(read("a,i,u,Terminated,0,9\nb,i,u,Terminated,3600,9\nc,i,u,Terminated,7200,9\nd,i,u,Terminated,x,9\n"), read("a,t,1,Terminated,0,9,100,1,100,V\n"), site)
		}, "2 b, 4 d"},
		"philly-log": {func() (*sim.Input, error) {
			ran := `"attempts":[{"start_time":"2017-10-07 01:00:00","end_time":"2017-10-07 02:00:00","detail":[{"ip":"m","gpus":["g"]}]}]`
			return trace.PhillyLog(read(`[{"jobid":"a","submitted_time":"2017-10-07 00:00:00",`+ran+`},{"jobid":"b","submitted_time":"2017-10-07 01:00:00"},
				{"jobid":"c","submitted_time":"2017-10-07 02:00:00"},{"jobid":"d",`+ran+`}]`), site)
		}, "1 b, 2 d"},
		"openb": {func() (*sim.Input, error) {
			return trace.Openb(read("sn,cpu_milli,memory_mib,gpu,model\nn,1000,1000,1,T4\n"), read("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\na,1,1,1,1000,0,5\nb,x,1,1,1000,3600,3605\nc,x,1,1,1000,7200,7205\nd,1,1,1,1000,x,5\n"))
		}, "3 b, 5 d"},
	} {
		in, err := c.in()
		if err != nil {
			t.Fatal(name, err)
		}
		fast, err := trace.Scale(in, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, slice := range []*sim.Input{trace.Between(in, time.Hour, 2*time.Hour), trace.Between(fast, 2*time.Hour, 4*time.Hour)} {
			var got []string
			for _, l := range slice.LeftOut {
				got = append(got, fmt.Sprintf("%d %s", l.Line, l.Job))
				if l.Submit != 0 {
					t.Errorf("%s: line %d was to come at %v", name, l.Line, l.Submit)
				}
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("%s: left out of the slice are %s", name, text)
			}
		}
		if len(in.LeftOut) < 3 {
			t.Errorf("%s: left out are %v", name, in.LeftOut)
		}
	}
}

// TestNamesOfTheFile: what is left out later is named as in the file, as what makes no job is.
func TestNamesOfTheFile(t *testing.T) {
	in, err := trace.ElasticFlow(strings.NewReader("job_id,submission_time,duration,num_gpu\na,0,5,1\nb,0,5,99\nc,0,0,1\n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range trace.WithTenants(in, nil).LeftOut {
		got = append(got, l.String())
	}
	in.Jobs[1].Duration = -1
	var bad *sim.BadInputError
	if err := sim.Check(in, sim.Options{}); !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, l := range bad.List {
		got = append(got, l.String())
	}
	want := []string{
		`line 4, job "c": duration is "0": it takes no time`, `line 2, job "a": its tenant "" is not among those that are given`, `line 3, job "b": its tenant "" is not among those that are given`,
		`line 4, job "c": duration is "0": it takes no time`, `line 3, job "b": a time is negative, or it takes no time`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOutOfRange: numbers that make no sense, and what is not there, are errors.
func TestOutOfRange(t *testing.T) {
	const table, tenants = "job_id,submission_time,duration,num_gpu\na,0,5,1\n", "vc,node num\nq,1\n"
	some, err := trace.Generate(trace.PhillyMix(), trace.Load{Nodes: 1, Jobs: 3, Percent: 100})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"elasticflow, many": taken(trace.ElasticFlow(strings.NewReader(table), math.MaxInt32)),
		"elasticflow, none": taken(trace.ElasticFlow(strings.NewReader(table), 0)),
		"elasticflow, less": taken(trace.ElasticFlow(strings.NewReader(table), -1)),
		"elasticflow, nil":  taken(trace.ElasticFlow(nil, 1)),
		"muri, many":        taken(trace.Muri(strings.NewReader(table), math.MaxInt32)),
		"muri, nil":         taken(trace.Muri(nil, 1)),
		"philly, nil":       taken(trace.Philly(nil, strings.NewReader(tenants))),
		"tenants, nil":      taken(trace.Philly(strings.NewReader(table), nil)),
		"tenants, many":     taken(trace.Philly(strings.NewReader(table), strings.NewReader("vc,node num\n"+manyTenants()))),
		"openb, nil":        taken(trace.Openb(nil, nil)),
		"swf, nil":          taken(trace.SWF(nil, trace.SWFOptions{})),
		"swf, many":         taken(trace.SWF(strings.NewReader("\n"), trace.SWFOptions{Processors: math.MaxInt32})),
		"swf, wide":         taken(trace.SWF(strings.NewReader("\n"), trace.SWFOptions{Processors: 8, Cores: true, PerNode: math.MaxInt32})),
		"swf, less":         taken(trace.SWF(strings.NewReader("\n"), trace.SWFOptions{Processors: -8})),
		"native, nil":       taken(trace.Read(nil)),
		"write nil":         trace.Write(io.Discard, "", nil),
		"generate, many":    taken(trace.Generate(trace.PhillyMix(), trace.Load{Nodes: 1, Jobs: math.MaxInt32, Percent: 100})),
		"generate, tenants": taken(trace.Generate(trace.PhillyMix(), trace.Load{Nodes: 1, Jobs: 1, Percent: 100, Tenants: math.MaxInt32})),
		"scale nil":         taken(trace.Scale(nil, 100)),
		"faults of nil":     taken(trace.FaultsOf(nil, trace.Faults{})),
		"faults, many":      taken(trace.FaultsOf(some, trace.Faults{Until: time.Hour, TaskFails: 1})),
		"elastic nil":       taken(trace.Elastic(nil, 2), nil),
		"noisy nil":         taken(trace.Noisy(nil, 1, 2), nil),
		"between nil":       taken(trace.Between(nil, 1, 2), nil),
		"no input":          taken(nil, nil),
	} { // each on its own: order cannot matter
		if err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	if n := len(trace.Nodes(-1, 8)) + len(trace.Nodes(8, -1)) + len(trace.Nodes(math.MaxInt32, 8)) + len(trace.Nodes(8, math.MaxInt32)); n != 0 {
		t.Errorf("%d nodes of no number", n)
	}
	if in := trace.Noisy(some, 1, -1<<62); in.Jobs[0].Estimate != in.Jobs[0].Duration/100*100 {
		t.Errorf("an estimate is %v of %v", in.Jobs[0].Estimate, in.Jobs[0].Duration)
	}
}

func manyTenants() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "q%d,65536\n", i)
	}
	return b.String()
}

// TestBlankFiles: a small file of gzip that is large and blank is refused, whatever it
// is read as.
func TestBlankFiles(t *testing.T) {
	var small bytes.Buffer
	zip := gzip.NewWriter(&small)
	for _, blank := range []string{" ", "\n"} {
		line := []byte(strings.Repeat(blank, 1<<16))
		for range 20 << 4 {
			if _, err := zip.Write(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	read := func() io.Reader { return bytes.NewReader(small.Bytes()) }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, err := range map[string]error{
		"native":      taken(trace.Read(read())),
		"elasticflow": taken(trace.ElasticFlow(read(), 1)),
		"muri":        taken(trace.Muri(read(), 1)),
		"openb":       taken(trace.Openb(read(), read())),
		"philly":      taken(trace.Philly(strings.NewReader("timestamp,duration,num_gpus,cluster\n"), read())),
		"swf":         taken(trace.SWF(read(), trace.SWFOptions{Processors: 8})),
	} { // each on its own: order cannot matter
		if err == nil {
			t.Errorf("%s takes it", name)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 50<<20 {
		t.Errorf("that took %d MB", grown>>20)
	}
}

// TestManyLines: a file of more lines than there is room for is refused, be they jobs, none
// or comments, and so are nodes of more GPUs than there can be. A small file of gzip
// has any number of them.
func TestManyLines(t *testing.T) {
	const head, native = "job_id,submission_time,duration,num_gpu\n", "{\"trace\":{\"version\":1}}\n"
	for _, c := range []struct {
		name, want, head, line string
		read                   func(io.Reader) (*sim.Input, error)
	}{
		{"bad", "more than 1048576 lines are left out", head, "1\n", func(r io.Reader) (*sim.Input, error) { return trace.ElasticFlow(r, 1) }},
		{"comments", "more than 2097152 lines", "; MaxProcs: 8\n", ";\n", func(r io.Reader) (*sim.Input, error) { return trace.SWF(r, trace.SWFOptions{}) }},
		{"torn", "more than 1048576 lines are left out", native, "{\n", trace.Read},
		{"very wide", "line 2: it has 1048579 objects", native, `{"node":{"id":"a","devices":[{}` + strings.Repeat(",{}", 1<<20) + "]}}\n", trace.Read},
		{"many nodes", "or 1048576 GPUs", native, `{"node":{"id":"a","devices":[{}` + strings.Repeat(",{}", 63) + "]}}\n", trace.Read},
	} {
		if err := taken(c.read(io.MultiReader(strings.NewReader(c.head), &endless{line: c.line}))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// endless is a line again and again.
type endless struct {
	line string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.line[e.at]
		e.at = (e.at + 1) % len(e.line)
	}
	return len(p), nil
}
