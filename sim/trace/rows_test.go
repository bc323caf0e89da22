package trace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// leftRows are what is left out of an input, each by line, job and kind.
func leftRows(list []sim.LeftOut) string {
	var rows []string
	for _, l := range list {
		rows = append(rows, fmt.Sprintf("%d %s %s", l.Line, l.Job, l.Kind))
	}
	return strings.Join(rows, ", ")
}

// TestNativeRowsLeftOut: a line of any kind that cannot be read is listed and refused before the run, or left
// out: changes, nodes, pools, queues, budgets, and lines that are none of them.
func TestNativeRowsLeftOut(t *testing.T) {
	const whole = `{"trace":{"version":1}}
{"node":{"id":"n","devices":[{}]}}
{"queue":{"id":"q"}}
{"job":{"submit":0,"duration":1000000000,"workload":{"id":"a","queue":"q","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
{"change":{"at":5,"kind":"priority-set","job":"a","priority":4}}
`
	const bad = `{"change":{"at":"soon","kind":"cancel","job":"a"}}
{"change":{"at":1,"kind":"explode","node":"n"}}
{"change":{"at":1,"kind":"cordon","node":"n","until":7}}
{"change":7}
{"node":{"id":"m","devices":7}}
{"node":{"id":"m","devices":[` + "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}" + `]}}
{"queue":{"id":"r","resources":7}}
{"pool":{"id":"p","policy":7}}
{"budget":{"name":7}}
{"jbo":{}}
{"node":{"id":"m"},"queue":{"id":"r"}}
{"node":{"id":"m"}} {"node":{"id":"k"}}
{"job":{"submit":0,"duration":10
`
	in, err := trace.Read(strings.NewReader(whole + bad))
	if err != nil {
		t.Fatal(err)
	}
	want := "6 a change, 7  change, 8  change, 9  change, 10  node, 11  node, 12  queue, 13  pool, 14  budget, 15  line, 16  line, 17  line, 18  line"
	if got := leftRows(in.LeftOut); got != want {
		t.Errorf("left out are %s\nnot %s", got, want)
	}
	var refused *sim.BadInputError
	if err := sim.Check(in, sim.Options{}); !errors.As(err, &refused) || len(refused.List) != 13 || !strings.Contains(err.Error(), `line 7: sim: no such change: "explode"`) {
		t.Errorf("it is not refused: %v", err)
	}
	left, err := sim.Run(in, sim.Options{LeaveOut: true, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	sound, err := trace.Read(strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := sim.Run(sound, sim.Options{}); err != nil || r.Trail != left.Trail || len(left.LeftOut) != 13 {
		t.Errorf("what is left is another trace, or %v", err)
	}
}

// TestTwoTraces: a second header says that two traces are in one file, of which neither can be left out.
func TestTwoTraces(t *testing.T) {
	const text = "{\"trace\":{\"version\":1}}\n{\"node\":{\"id\":\"n\"}}\n"
	if _, err := trace.Read(strings.NewReader(text + text)); err == nil || !strings.Contains(err.Error(), "line 3: ") {
		t.Errorf("error %v", err)
	}
}

// TestRowsBesideLeftOut: rows of nodes, machines, tenants and tasks that are not as they should be are listed as
// rows of jobs are, each by what it is.
func TestRowsBesideLeftOut(t *testing.T) {
	read := func(text string) *strings.Reader { return strings.NewReader(text) }
	const entry = `[{"jobid":"a","submitted_time":"2017-11-05 01:20:00","attempts":[{"start_time":"2017-11-05 01:30:00","end_time":"2017-11-05 02:10:00","detail":[{"gpus":["gpu0"]}]}]}]`
	const machines = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\nm1,T4,96,512,2\nm2,T4,96,512,99\nm3,T4,many,512,2\nm4\n"
	const tasks = "a,t,1.0,Terminated,10,20,600.0,8.0,100.0,T4\n\"b,t,1.0,Terminated,10,20,600.0,8.0,100.0,T4\nc,t,x,Terminated,10,20,600.0,8.0,100.0,T4\nz,t,1.0,Terminated,10,20,600.0,8.0,100.0,T4\nz,u,1.0,Terminated,10,20,600.0,8.0,100.0,T4\n"
	for _, c := range []struct {
		name        string
		in          func() (*sim.Input, error)
		want        string
		nodes, jobs int
	}{
		{"openb", func() (*sim.Input, error) {
			return trace.Openb(read("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,1024,2,T4\nn1,x,1024,1,P100\nn2,1,1\nn3,1,1,65,T4\n"),
				read("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,pod_phase,creation_time,deletion_time,scheduled_time\np0,1000,512,1,460,T4,Running,10,30,15\n"))
		}, "3  node, 4  node, 5  node", 1, 1},
		{"philly", func() (*sim.Input, error) {
			return trace.Philly(read("timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,5,1,q\n2017-10-09 07:01:55,5,1,r\n"), read("vc,node num\nq,1\nr,none\nq,4\n"))
		}, "3  tenant, 4  tenant, 3 2017-10-09 07:01:55 cluster", 1, 1},
		{"philly-log", func() (*sim.Input, error) {
			return trace.PhillyLog(read(entry), trace.Site{List: read("machineId,number of GPUs\nm1,8\nm2,all\n")})
		}, "3  node", 1, 1},
		{"pai", func() (*sim.Input, error) {
			return trace.PAI(read("a,i,u,Terminated,10,20\nb,i,u,Terminated,10,20\nc,i,u,Terminated,10,20\n"), read(tasks), trace.Site{List: read(machines)})
		}, "3  node, 4  node, 5  node, 2 b no task, 3 c inst_num, 2  quotes, 4 z no job", 1, 1},
	} {
		in, err := c.in()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := leftRows(in.LeftOut); got != c.want || len(in.Cluster.Nodes) != c.nodes || len(in.Jobs) != c.jobs {
			t.Errorf("%s: left out are %s, not %s; %d nodes, %d jobs", c.name, got, c.want, len(in.Cluster.Nodes), len(in.Jobs))
		}
		if r, err := sim.Run(in, sim.Options{LeaveOut: true}); err != nil || r.Jobs[0].Outcome != sim.Done {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for name, err := range map[string]error{
		"philly":     taken(trace.Philly(read("timestamp,duration,num_gpus,cluster\n"), read("vc,node num\nq,none\n"))),
		"philly-log": taken(trace.PhillyLog(read("[]"), trace.Site{List: read("machineId,number of GPUs\nm2,all\n")})),
	} { // each on its own: order cannot matter
		if err == nil || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("%s: of a cluster without a row that can be read the error is %v", name, err)
		}
	}
}

// TestTenantsLeftOut: rows of the small file of tenants are listed, and the rest is there; with a parent its
// children go.
func TestTenantsLeftOut(t *testing.T) {
	queues, err := trace.Tenants(strings.NewReader("tenant,parent,quota\na,,many\nb,a,1\nc,b,1\nd,,2\nd,,3\ne,nobody,1\n"))
	var bad *sim.BadInputError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	if got := leftRows(bad.List); got != "2  tenant, 6  tenant, 3  tenant, 4  tenant, 7  tenant" || len(queues) != 1 || queues[0].ID != "d" {
		t.Errorf("left out are %s of %v", got, queues)
	}
}

// TestSlurmNodes: a number of nodes that is none is not taken for one that is not known.
func TestSlurmNodes(t *testing.T) {
	in, err := trace.Slurm(strings.NewReader("JobID|State|Submit|ElapsedRaw|NNodes|ReqTRES\n1|COMPLETED|2023-01-01T00:00:00|5|two|gres/gpu=4\n2|COMPLETED|2023-01-01T00:00:00|5||gres/gpu=4\n"), trace.Site{Nodes: 1})
	if err != nil || leftRows(in.LeftOut) != "2 1 NNodes" || len(in.Jobs) != 1 {
		t.Errorf("%v, %v", in, err)
	}
}
