package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
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
	r, err := sim.Run(in, sim.Options{Scheduler: sim.FirstFit(), Check: true})
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
	if err != nil || len(in.LeftOut) != 1 || in.LeftOut[0].Job != "z" {
		t.Fatal(in, err)
	}
	in.LeftOut = nil
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
	if err != nil || len(in.LeftOut) != 1 || in.LeftOut[0].Kind != "tenant" || in.LeftOut[0].Line != 4 {
		t.Fatal(in, err)
	}
	in.LeftOut = nil
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
		in.LeftOut = nil
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

// TestFaultsNamed: every reader says which line is wrong, and how: of a job as what is
// left out, of the file as an error.
func TestFaultsNamed(t *testing.T) {
	one := strings.NewReader
	for _, c := range []struct {
		name, want string
		read       func() (*sim.Input, error)
	}{
		{"elasticflow", `line 3, job "b": num_gpu is "x": must be a whole number`, func() (*sim.Input, error) {
			return trace.ElasticFlow(one("job_id,submission_time,duration,num_gpu\na,1,1,1\nb,1,1,x\n"), 1)
		}},
		{"fields", `line 2, job "b": wrong number of fields`, func() (*sim.Input, error) {
			return trace.ElasticFlow(one("job_id,submission_time,duration,num_gpu\nb,1,1\n"), 1)
		}},
		{"column", `no column "num_gpu"`, func() (*sim.Input, error) {
			return trace.ElasticFlow(one("job_id,submission_time,duration\n"), 1)
		}},
		{"muri", `line 2, job "0": iteration_time is "0"`, func() (*sim.Input, error) {
			return trace.Muri(one("job_id,num_gpu,submit_time,iterations,iteration_time\n0,4,0,1000,0\n"), 2)
		}},
		{"philly", `line 2: timestamp is "yesterday"`, func() (*sim.Input, error) {
			return trace.Philly(one("timestamp,duration,num_gpus,cluster\nyesterday,1,1,a\n"), one("vc,node num\na,2\n"))
		}},
		{"swf", `line 2: has 3 fields, not 18`, func() (*sim.Input, error) {
			return trace.SWF(one("; MaxProcs: 8\n1 2 3\n"), trace.SWFOptions{})
		}},
		{"native", `line 2: json: unknown field "nodes"`, func() (*sim.Input, error) {
			return trace.Read(one("{\"trace\":{\"version\":1}}\n{\"nodes\":{}}\n"))
		}},
		{"header", `line 1: the header`, func() (*sim.Input, error) {
			return trace.Read(one("{\"node\":{\"id\":\"a\"}}\n"))
		}},
	} {
		in, err := c.read()
		if err == nil && len(in.LeftOut) == 1 {
			err = errors.New(in.LeftOut[0].String())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
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

// oddTexts are files that are none of any format, or hold no job.
var oddTexts = []string{
	"", "\n", "\x1f\x8b", "\x1f\x8bgarbage", "null\n", "{}\n", "[1]\n", "{\"trace\":null}\n", "{\"trace\":{\"version\":1}}{}\n",
	"{\"trace\":{\"version\":1}}\n{\"job\":null}\n", "{\"trace\":{\"version\":1}}\n{\"trace\":{\"version\":1}}\n",
	"job_id,submission_time,duration,num_gpu\n1,1e999999999,1,1\n", "job_id,submission_time,duration,num_gpu\n1,0,-1,1\n",
	"job_id,submission_time,duration,num_gpu\n1,0,1\n", "job_id,submission_time,duration,num_gpu\n1,NaN,Inf,0x\n",
	"timestamp,duration,num_gpus,cluster\n9999-99-99 00:00:00,1,1,a\n", "vc,node num\na,1\na,1\n", "vc,node num\na,99999999999999999999\n",
	"; MaxProcs: -4\n", "; MaxProcs: 8\n1 2 3\n", "; MaxProcs: 8\n1 -1 0 1 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n", "1 0 0 1 1 0 0 1 0 0 1 1 1 1 1 1 -1 -1\n",
	"job_id,num_gpu,submit_time,iterations,iteration_time\n1,1,0,1099511627776,1048576\n",
	"JobID|State|Submit|ElapsedRaw|ReqTRES\n1|COMPLETED|2023-01-01T00:00:00|99999999999999|gres/gpu=1\n",
	"JobID|State|Submit|Elapsed|ReqTRES\n1|COMPLETED|2023-01-01T00:00:00|9999999-00:00:00|gres/gpu=1\n",
	"JobID|State|Submit|Elapsed|ReqTRES\n1|COMPLETED|Unknown|1:2:3:4:5|gres/gpu=99999999999\n",
	"job_id,user,vc,gpu_num,state,submit_time,duration\n1,u,v,1.5,COMPLETED,2020-04-01 00:00:00,1\n",
	"[{\"jobid\":7}]", "[{\"attempts\":[{\"start_time\":\"None\"}]}]", "[{", "[[[[", "j,t,1e9999999,Terminated,1,2,3,4,5,6\n",
}

// TestOddFiles: files that are none of the format are refused, or make no job, without a
// panic.
func TestOddFiles(t *testing.T) {
	site := trace.Site{Nodes: 2}
	for _, text := range oddTexts {
		read := func() io.Reader { return strings.NewReader(text) }
		listed := trace.Site{List: read()}
		for name, do := range map[string]func() (*sim.Input, error){
			"native":      func() (*sim.Input, error) { return trace.Read(read()) },
			"elasticflow": func() (*sim.Input, error) { return trace.ElasticFlow(read(), 1) },
			"muri":        func() (*sim.Input, error) { return trace.Muri(read(), 1) },
			"openb":       func() (*sim.Input, error) { return trace.Openb(read(), read()) },
			"philly":      func() (*sim.Input, error) { return trace.Philly(read(), strings.NewReader("vc,node num\na,1\n")) },
			"tenants":     func() (*sim.Input, error) { return trace.Philly(strings.NewReader("vc,node num\na,1\n"), read()) },
			"swf":         func() (*sim.Input, error) { return trace.SWF(read(), trace.SWFOptions{}) },
			"philly-log":  func() (*sim.Input, error) { return trace.PhillyLog(read(), site) },
			"machines":    func() (*sim.Input, error) { return trace.PhillyLog(strings.NewReader("[]"), listed) },
			"helios":      func() (*sim.Input, error) { return trace.Helios(read(), site) },
			"acme":        func() (*sim.Input, error) { return trace.Acme(read(), site) },
			"slurm":       func() (*sim.Input, error) { return trace.Slurm(read(), site) },
			"pai": func() (*sim.Input, error) {
				return trace.PAI(read(), strings.NewReader("j,t,1.0,Terminated,1,2,3,4,50.0,MISC\n"), site)
			},
			"pai tasks": func() (*sim.Input, error) {
				return trace.PAI(strings.NewReader("j,i,u,Terminated,1,2\n"), read(), site)
			},
		} { // each on its own: order cannot matter
			if in, err := do(); err == nil && len(in.Jobs) > 0 {
				t.Errorf("%s takes %q", name, text)
			}
		}
		if _, err := trace.Tenants(read()); err == nil {
			t.Errorf("these are tenants: %q", text)
		}
	}
}

// TestNoCluster: a number of nodes that makes no cluster, and nothing to read, are errors.
func TestNoCluster(t *testing.T) {
	const head = "job_id,submission_time,duration,num_gpu\na,1,1,1\n"
	for _, nodes := range []int{-1, 0, 1 << 40} {
		if _, err := trace.ElasticFlow(strings.NewReader(head), nodes); err == nil {
			t.Errorf("%d nodes are a cluster", nodes)
		}
		if _, err := trace.Slurm(strings.NewReader("JobID|State|Submit\n"), trace.Site{Nodes: nodes}); err == nil {
			t.Errorf("%d nodes are a site", nodes)
		}
	}
	if _, err := trace.SWF(strings.NewReader(""), trace.SWFOptions{Processors: 1 << 40}); err == nil {
		t.Error("2^40 processors are a cluster")
	}
	if _, err := trace.Read(nil); err == nil {
		t.Error("nothing can be read")
	}
}

// TestBlanks: what unzips to a lot of nothing ends early.
func TestBlanks(t *testing.T) {
	for _, text := range []string{" ", "\n", "x"} {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		for range 8 << 10 {
			io.WriteString(w, strings.Repeat(text, 1<<10))
		}
		w.Close()
		for name, do := range map[string]func(io.Reader) error{
			"native": func(r io.Reader) error { _, err := trace.Read(r); return err },
			"swf":    func(r io.Reader) error { _, err := trace.SWF(r, trace.SWFOptions{}); return err },
			"slurm":  func(r io.Reader) error { _, err := trace.Slurm(r, trace.Site{Nodes: 1}); return err },
			"philly": func(r io.Reader) error { _, err := trace.PhillyLog(r, trace.Site{Nodes: 1}); return err },
		} { // each on its own: order cannot matter
			if err := do(bytes.NewReader(zipped.Bytes())); err == nil {
				t.Errorf("%s takes 8 MB of %q", name, text)
			}
		}
	}
}
