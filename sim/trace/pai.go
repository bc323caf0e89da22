package trace

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// The columns of the tables, which are published without them.
var (
	paiJobs     = []string{"job_name", "inst_id", "user", "status", "start_time", "end_time"}
	paiTasks    = []string{"job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"}
	paiMachines = []string{"machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu"}
)

// A paiJob is the tasks of a job.
type paiJob struct {
	sets       []allot.PodSet
	milli      int64
	begin, end time.Duration
	timed      bool
	fault      error
	kind       string
	line       int // of its first task
}

// PAI reads pai_job_table and pai_task_table of Alibaba's cluster-trace-gpu-v2020, with or
// without their heads. A job is submitted at its start_time and is a gang: each of its
// tasks is a pod set of inst_num. It runs from the first start of a task to the last end,
// and at least a second; what is not Terminated fails. plan_gpu is in percent of a GPU,
// from 100 on rounded up to whole ones. The queues are those of the column user. Site's
// List is pai_machine_spec: with it tasks also ask plan_cpu and plan_mem, and nodes have
// models, which no task asks. Jobs without GPUs, or without a task that has both its times,
// are left out, and so are tasks of no job. All are preemptible.
func PAI(jobs, tasks io.Reader, site Site) (*sim.Input, error) {
	const what = "pai jobs"
	l, err := site.log(what, paiNodes)
	if err != nil {
		return nil, err
	}
	byJob := make(map[string]*paiJob)
	table := form{comma: ',', columns: paiTasks}
	err = table.read("pai tasks", tasks, paiTasks[:len(paiTasks)-1], func(r *row) error {
		p := byJob[r.text("job_name")]
		if p == nil {
			p = &paiJob{line: r.line}
			byJob[strings.Clone(r.text("job_name"))] = p
		}
		if r.err == nil {
			p.task(r, site.List != nil)
		}
		if r.err != nil && p.fault == nil {
			p.kind, p.fault = r.kind, fmt.Errorf("its task in line %d: %w", r.line, r.err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	tenant := cmp.Or(site.Tenant, "user")
	table.columns = paiJobs
	err = table.readLog(what, jobs, l.in, "job_name", []string{"status", "start_time", tenant}, func(r *row) *sim.Job {
		p := byJob[r.text("job_name")]
		submit := r.arrives(r.times("start_time", time.Second))
		switch {
		case r.err != nil:
			return nil
		case p == nil:
			r.leaveOut("no task", "it has no task")
			return nil
		case p.fault != nil:
			r.leaveOut(p.kind, p.fault.Error())
			return nil
		case !p.timed:
			r.leaveOut("never ran", "no task has a start and an end")
			return nil
		}
		const milli = 1000
		if !l.ask(r, int((p.milli+milli-1)/milli), max(p.end-p.begin, time.Second)) {
			return nil
		}
		return &sim.Job{
			Submit: submit, Duration: max(p.end-p.begin, time.Second), Fails: r.text("status") != "Terminated",
			Workload: allot.Workload{ID: strings.Clone(r.text("job_name")), Queue: l.queue(r.text(tenant)), Preemption: allot.Preemptible, PodSets: p.sets},
		}
	})
	if err == nil {
		err = leaveTasks(l.in, byJob)
	}
	return l.done(err)
}

// leaveTasks leaves out the tasks of jobs that are not there, neither to be run nor left out, by their first.
func leaveTasks(in *sim.Input, byJob map[string]*paiJob) error {
	for i := range in.Jobs {
		delete(byJob, in.Jobs[i].Name)
	}
	for _, l := range in.LeftOut {
		if l.Job != "" { // else it is no job, or nobody knows which
			delete(byJob, l.Job)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(byJob), func(a, b string) int { return cmp.Compare(byJob[a].line, byJob[b].line) }) {
		p := byJob[name]
		left := sim.LeftOut{Line: p.line, Job: name, Kind: "no job", Why: "pai tasks: they are of a job that is not there"}
		if p.fault != nil {
			left.Kind, left.Why = p.kind, "pai tasks: "+p.fault.Error()
		}
		if err := leave(in, left); err != nil {
			return err
		}
	}
	return nil
}

// paiNodes reads the machines.
func paiNodes(l *log, list io.Reader) error {
	const most = 1 << 20
	return form{comma: ',', columns: paiMachines}.readBeside("pai machines", "node", list, l.in, paiMachines, func(r *row) {
		gpus := r.count("cap_gpu")
		n := allot.Node{ID: strings.Clone(r.text("machine")), Devices: make([]allot.Device, min(gpus, nodeDevices))}
		for i := range n.Devices {
			n.Devices[i].Model = strings.Clone(r.text("gpu_type"))
		}
		n.Capacity = map[string]int64{allot.CPU: 1000 * int64(min(r.count("cap_cpu"), most)), allot.Memory: int64(min(r.count("cap_mem"), most)) << 30}
		if gpus > nodeDevices {
			r.fail("cap_gpu", "must be at most %d", nodeDevices)
		}
		l.node(r, n)
	})
}

// task takes in a task; resources says whether nodes have CPU and memory.
func (p *paiJob) task(r *row, resources bool) {
	const most = 1 << 16
	count := r.count("inst_num")
	if count == 0 || count > most {
		r.fail("inst_num", "must be from 1 to %d", most)
		return
	}
	set := allot.PodSet{Name: strings.Clone(r.text("task_name")), Count: count}
	// Of a percent and of a GB, in thousandths.
	percent, gpu := r.thousandths("plan_cpu"), r.thousandths("plan_gpu")
	memory := r.thousandths("plan_mem")
	if r.err != nil {
		return
	}
	if resources && percent+memory > 0 {
		set.Request.Resources = map[string]int64{}
		if percent > 0 {
			set.Request.Resources[allot.CPU] = (percent + 99) / 100
		}
		if memory > 0 {
			set.Request.Resources[allot.Memory] = memory * (1 << 30) / 1000
		}
	}
	const wholePercent, perMilli = 100_000, 100
	switch {
	case gpu >= wholePercent:
		whole := int((gpu + wholePercent - 1) / wholePercent)
		set.Request.GPU.Count = whole
		p.milli += 1000 * int64(whole) * int64(count)
	case gpu > 0:
		milli := (gpu + perMilli - 1) / perMilli
		set.Request.GPU = allot.GPURequest{Count: 1, Milli: milli % 1000}
		p.milli += milli * int64(count)
	}
	p.sets = append(p.sets, set)
	if r.text("start_time") != "" && r.text("end_time") != "" {
		begin, end := r.times("start_time", time.Second), r.times("end_time", time.Second)
		if r.err == nil && end >= begin {
			if !p.timed {
				p.begin = begin
			}
			p.begin, p.end, p.timed = min(p.begin, begin), max(p.end, end), true
		}
	}
}

// thousandths is a number, empty for 0, in thousandths.
func (r *row) thousandths(column string) int64 {
	if r.text(column) == "" {
		return 0
	}
	const most = 1 << 32
	n, err := timeOf(r.text(column), time.Microsecond) // a thousandth is a nanosecond
	if err != nil || n > most {
		r.fail(column, "must be a number from 0 to %d", most/1000)
		return 0
	}
	return int64(n)
}
