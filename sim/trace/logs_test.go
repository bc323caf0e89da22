package trace_test

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// open opens a sample; they are made by us in the published formats.
func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// kinds counts what is left out.
func kinds(in *sim.Input) map[string]int {
	out := make(map[string]int)
	for _, l := range in.LeftOut {
		out[l.Kind]++
	}
	return out
}

// check compares what a sample makes: the jobs' names, times and gangs, and what is left out.
func check(t *testing.T, in *sim.Input, err error, jobs []string, left map[string]int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range in.Jobs {
		j := &in.Jobs[i]
		words := []string{j.Workload.ID, j.Workload.Queue, j.Submit.String(), j.Duration.String()}
		for k := range j.Workload.PodSets {
			p := &j.Workload.PodSets[k]
			words = append(words, "["+text(p)+"]")
		}
		if j.Fails {
			words = append(words, "fails")
		}
		got = append(got, strings.Join(words, " "))
	}
	if d := cmp.Diff(jobs, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(left, kinds(in)); d != "" {
		t.Error(d)
	}
	in.LeftOut = nil
	if r := run(t, in); r.Partial {
		t.Error("the run is partial")
	}
}

// text is a pod set such as "worker 2x4/0": two tasks of 4 GPUs, none of them in part.
func text(p *allot.PodSet) string {
	return strings.TrimSpace(fmt.Sprintf("%s %dx%d/%d", p.Name, p.Count, p.Request.GPU.Count, p.Request.GPU.Milli))
}

func TestPhillyLog(t *testing.T) {
	in, err := trace.PhillyLog(open(t, "philly.json"), trace.Site{List: open(t, "philly_machines.csv")})
	check(t, in, err, []string{
		"0-application_1 ee9e8c 0s 1h0m0s [1x8/0]",
		"1-application_2 2869ce 1m0s 45m0s [2x4/0] fails",
	}, map[string]int{"never ran": 1, "not ended": 1, "submitted_time": 1})
	if n := in.Cluster.Nodes; len(n) != 2 || n[1].ID != "m2" || len(n[1].Devices) != 8 {
		t.Errorf("nodes %+v", n)
	}
}

// TestPhillyLines: what a log has that makes no job, and its jobs, have the line on which they begin, however the
// entries stand on lines.
func TestPhillyLines(t *testing.T) {
	const ran = `"attempts":[{"start_time":"2017-11-05 01:30:00","end_time":"2017-11-05 02:10:00","detail":[{"gpus":["gpu0"]}]}]`
	in, err := trace.PhillyLog(strings.NewReader(`[
 {"jobid":"a","submitted_time":"x"}, {"jobid":"b",
  "submitted_time":"x"} , {"jobid":"c","submitted_time":"x"},

 7
 ,
 {"jobid":"d","submitted_time":"2017-11-05 01:20:00",
`+ran+`}]`), trace.Site{Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, l := range in.LeftOut {
		lines = append(lines, l.Line)
	}
	if !slices.Equal(lines, []int{2, 2, 3, 5}) || len(in.Jobs) != 1 || in.Jobs[0].Line != 7 {
		t.Errorf("lines %v, jobs %+v", lines, in.Jobs)
	}
}

// TestPhillyZones: where a log says how far its clocks are from UTC, they may be put back while
// a job runs.
func TestPhillyZones(t *testing.T) {
	in, err := trace.PhillyLog(strings.NewReader(`[{"jobid":"a","submitted_time":"2017-11-05 01:20:00 PDT","attempts":[
		{"start_time":"2017-11-05 01:30:00 PDT","end_time":"2017-11-05 01:10:00 PST","detail":[{"gpus":["gpu0"]}]}]}]`), trace.Site{Nodes: 1})
	check(t, in, err, []string{"0-a  0s 40m0s [1x1/0]"}, map[string]int{})
}

func TestHelios(t *testing.T) {
	in, err := trace.Helios(open(t, "helios.csv"), trace.Site{Nodes: 4})
	check(t, in, err, []string{
		"0-101 vcA 0s 1h0m0s [2x8/0]", "1-102 vcB 10s 1m40s [1x3/0] fails",
	}, map[string]int{"no GPU": 1, "never ran": 1, "too large": 1})
}

func TestAcme(t *testing.T) {
	in, err := trace.Acme(open(t, "acme.csv"), trace.Site{Nodes: 8, Tenant: "type"})
	check(t, in, err, []string{
		"0-j1 Pretrain 0s 1h0m0s [8x8/0]", "1-j2 Debug 30m0s 1m57s [1x1/0]",
	}, map[string]int{"submit_time": 1})
}

func TestSlurm(t *testing.T) {
	in, err := trace.Slurm(open(t, "sacct.txt"), trace.Site{Nodes: 4, PerNode: 4})
	check(t, in, err, []string{
		"0-11 phys 0s 1h1m1s [2x4/0]", "1-12_1 chem 1m0s 26h3m4s [1x2/0] fails", "2-14 chem 5m0s 2h0m0s [1x1/0]",
	}, map[string]int{"no GPU": 1, "not ended": 1, "ReqTRES": 1})
	if j := in.Jobs; j[0].Estimate != 2*time.Hour || j[2].CancelAfter != 10*time.Minute {
		t.Errorf("%+v", j)
	}
}

// TestSlurmColumns: a file that does not say how long jobs ran, or what GPUs they had, is none
// of jobs that all never ran, or asked none.
func TestSlurmColumns(t *testing.T) {
	for columns, want := range map[string]string{
		"JobID|State|Submit|Start|End|AllocTRES":  "no column ElapsedRaw or Elapsed",
		"JobID|State|Submit|Elapsed|NNodes":       "no column ReqTRES or AllocTRES",
		"JobID|Submit|Elapsed|ReqTRES":            `no column "State"`,
		"JobID|State|Submit|Elapsed|ReqTRES":      "<nil>",
		"JobID|State|Submit|ElapsedRaw|AllocTRES": "<nil>",
	} { // each on its own: order cannot matter
		if _, err := trace.Slurm(strings.NewReader(columns+"\n"), trace.Site{Nodes: 1}); !strings.HasSuffix(fmt.Sprint(err), want) {
			t.Errorf("%s: error %v, not %s", columns, err, want)
		}
	}
}

func TestPAI(t *testing.T) {
	for _, machines := range []bool{false, true} {
		site := trace.Site{Nodes: 2}
		if machines {
			site = trace.Site{List: open(t, "pai_machine_spec.csv")}
		}
		in, err := trace.PAI(open(t, "pai_job_table.csv"), open(t, "pai_task_table.csv"), site)
		check(t, in, err, []string{
			"0-j1 u1 0s 10m0s [ps 1x0/0] [worker 2x1/500]", "1-j2 u2 1m0s 1m0s [tensorflow 1x2/0] fails",
		}, map[string]int{"no GPU": 1, "no task": 1, "never ran": 1, "plan_gpu": 1})
		want := map[string]int64(nil)
		if machines {
			want = map[string]int64{allot.CPU: 6000, allot.Memory: 29296875 << 30 / 1000000}
		}
		got := in.Jobs[0].Workload.PodSets[0].Request.Resources
		if got[allot.CPU] != want[allot.CPU] || got[allot.Memory]>>30 != want[allot.Memory]>>30 {
			t.Errorf("it asks %v, want %v", got, want)
		}
	}
}

// TestTenants: a small file gives an imported trace its quotas.
func TestTenants(t *testing.T) {
	queues, err := trace.Tenants(strings.NewReader("tenant,parent,quota,limit,weight\nvcA,all,8,16,\nall,,8.5,,\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []allot.Queue{
		{ID: "vcA", Parent: "all", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(8000), Limit: quota.Of(16000)}}},
		{ID: "all", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(8500)}}},
	}
	if !cmp.Equal(queues, want, cmp.AllowUnexported(quota.Bound{})) {
		t.Errorf("%+v", queues)
	}
	in, err := trace.Helios(open(t, "helios.csv"), trace.Site{Nodes: 4})
	if err != nil {
		t.Fatal(err)
	}
	in.LeftOut = nil
	in = trace.WithTenants(in, queues)
	if len(in.Jobs) != 1 || len(in.LeftOut) != 1 || in.LeftOut[0].Kind != "tenant" || in.LeftOut[0].Line != 3 {
		t.Fatalf("%+v", in)
	}
	in.LeftOut = nil
	run(t, in)
	for _, text := range []string{
		"tenant,quota\n", "tenant,quota\na,1\na,1\n", "tenant,quota\na,-1\n", "tenant,quota\na,1e9\n", "tenant,quota\na,0.0001\n",
		"tenant,quota,parent\na,1,b\n", "tenant,quota,wieght\na,1,2\n", "tenant,quota\n,1\n",
	} {
		if _, err := trace.Tenants(strings.NewReader(text)); err == nil {
			t.Errorf("these are tenants: %q", text)
		}
	}
}

// TestOddLogs: files that are none of the format are refused, or make no job, without a
// panic.
func TestOddLogs(t *testing.T) {
	site := trace.Site{Nodes: 2}
	for _, text := range []string{
		"", "\n", "\x1f\x8b", "\x1f\x8bgarbage", "null\n", "{}\n", "[1]\n", "[{\"jobid\":7}]", "[{\"attempts\":[{\"start_time\":\"None\"}]}]", "[{", "[[[[",
		"JobID|State|Submit|ElapsedRaw|ReqTRES\n1|COMPLETED|2023-01-01T00:00:00|99999999999999|gres/gpu=1\n",
		"JobID|State|Submit|Elapsed|ReqTRES\n1|COMPLETED|2023-01-01T00:00:00|9999999-00:00:00|gres/gpu=1\n",
		"JobID|State|Submit|Elapsed|ReqTRES\n1|COMPLETED|Unknown|1:2:3:4:5|gres/gpu=99999999999\n",
		"job_id,user,vc,gpu_num,state,submit_time,duration\n1,u,v,1.5,COMPLETED,2020-04-01 00:00:00,1\n",
		"job_id,user,vc,gpu_num,state,submit_time,duration\n1,u,v,1,COMPLETED,2020-04-01 00:00:00,1e9999999\n", "j,t,1e9999999,Terminated,1,2,3,4,5,6\n",
		"job_id,user,vc,gpu_num,state,submit_time,duration\n\"1,u,v\n",
	} {
		read := func() io.Reader { return strings.NewReader(text) }
		for name, do := range map[string]func() (*sim.Input, error){
			"philly-log": func() (*sim.Input, error) { return trace.PhillyLog(read(), site) },
			"machines":   func() (*sim.Input, error) { return trace.PhillyLog(strings.NewReader("[]"), trace.Site{List: read()}) },
			"helios":     func() (*sim.Input, error) { return trace.Helios(read(), site) },
			"acme":       func() (*sim.Input, error) { return trace.Acme(read(), site) },
			"slurm":      func() (*sim.Input, error) { return trace.Slurm(read(), site) },
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
	for _, site := range []trace.Site{{Nodes: -1}, {}, {Nodes: math.MaxInt32}, {Nodes: 300_000, PerNode: 64}} {
		if _, err := trace.Slurm(strings.NewReader("JobID|State|Submit|Elapsed|ReqTRES\n"), site); err == nil {
			t.Errorf("%d nodes of %d are a site", site.Nodes, site.PerNode)
		}
	}
	if _, err := trace.Slurm(nil, site); err == nil {
		t.Error("nothing can be read")
	}
}
