package trace

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// parseCount reads a whole number that is not negative.
func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// Slurm reads what sacct -P prints, such as
//
//	sacct -aPX -o JobID,Account,State,Submit,End,ElapsedRaw,TimelimitRaw,NNodes,ReqTRES,AllocTRES
//
// It must have JobID, State, Submit; ElapsedRaw (seconds) or Elapsed
// ([days-]hours:minutes:seconds); ReqTRES or AllocTRES, of which gres/gpu is read, or
// gres/gpu:model of all models. As far as they are there NNodes and TimelimitRaw (minutes) or Timelimit are read, the limit as
// the job's estimate. The queues are those of the column Account. Steps (JobID 12.batch)
// are not read. A job that was cancelled before it ran gives up after the time from Submit
// to End, if End is there, and would have run to its limit. Jobs without GPUs, those that
// never ran and those that still run or wait are left out. All are preemptible.
func Slurm(jobs io.Reader, site Site) (*sim.Input, error) {
	const what = "slurm jobs"
	l, err := site.log(what, nil)
	if err != nil {
		return nil, err
	}
	tenant := cmp.Or(site.Tenant, "Account")
	columns := []string{"State", "Submit"}
	if site.Tenant != "" {
		columns = append(columns, site.Tenant)
	}
	pipes := form{comma: '|', loose: true, either: [][]string{{"ElapsedRaw", "Elapsed"}, {"ReqTRES", "AllocTRES"}}}
	return l.done(pipes.readLog(what, jobs, l.in, "JobID", columns, func(r *row) *sim.Job {
		if strings.Contains(r.text("JobID"), ".") {
			return nil
		}
		j := &sim.Job{Submit: r.arrives(r.instant("Submit")), Duration: r.elapsed("ElapsedRaw", time.Second, "Elapsed")}
		if limit := cmp.Or(r.text("TimelimitRaw"), r.text("Timelimit")); limit != "UNLIMITED" && limit != "Partition_Limit" {
			j.Estimate = r.elapsed("TimelimitRaw", time.Minute, "Timelimit")
		}
		gpus := r.gpus()
		state, _, _ := strings.Cut(r.text("State"), " ")
		switch state {
		case "RUNNING", "PENDING", "REQUEUED", "RESIZING", "SUSPENDED":
			r.leaveOut("not ended", "it has not ended")
		case "CANCELLED":
			if end, ok := instantOf(r.text("End")); ok && j.Duration == 0 && end > j.Submit {
				j.CancelAfter, j.Duration = end-j.Submit, max(j.Estimate, time.Second)
			}
		}
		j.Fails = failed(state)
		nodes := 0
		if r.text("NNodes") != "" {
			nodes = r.count("NNodes")
		}
		if r.err != nil || !l.ask(r, gpus, j.Duration) {
			return nil
		}
		j.Workload = allot.Workload{
			ID: strings.Clone(r.text("JobID")), Queue: l.queue(r.text(tenant)), Preemption: allot.Preemptible, PodSets: l.gang(gpus, nodes),
		}
		return j
	}))
}

// elapsed is a time of one of two columns: a number of units, or [days-]hours:minutes:seconds.
func (r *row) elapsed(raw string, unit time.Duration, text string) time.Duration {
	if r.text(raw) != "" {
		return r.times(raw, unit)
	}
	if r.text(text) == "" {
		return 0
	}
	days, clock, hasDays := strings.Cut(r.text(text), "-")
	if !hasDays {
		days, clock = "0", days
	}
	parts := append([]string{days}, strings.Split(clock, ":")...)
	if len(parts) == 3 { // minutes and seconds
		parts = append(parts[:1], "0", parts[1], parts[2])
	}
	var sum time.Duration
	units := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second}
	for i, part := range parts {
		t, err := timeOf(part, time.Second)
		if err != nil || len(parts) != len(units) || t > maxTime/units[i]*time.Second {
			r.fail(text, "must be a time such as 1-02:03:04")
			return 0
		}
		sum += time.Duration(t.Seconds()) * units[i]
	}
	if sum > maxTime {
		r.fail(text, "must be less than %d years", int(maxTime/(365*24*time.Hour)))
	}
	return sum
}

// gpus are those of what was asked, or else given: of all models together, or the sum
// of the models.
func (r *row) gpus() int {
	for _, column := range []string{"ReqTRES", "AllocTRES"} {
		all, models := -1, -1
		for item := range strings.SplitSeq(r.text(column), ",") {
			name, value, _ := strings.Cut(item, "=")
			if name != "gres/gpu" && !strings.HasPrefix(name, "gres/gpu:") {
				continue
			}
			n, err := parseCount(value)
			if err != nil || n > maxGPUs || models > maxGPUs {
				r.fail(column, "must have at most %d GPUs", maxGPUs)
				return 0
			}
			if name == "gres/gpu" {
				all = n
			} else {
				models = max(models, 0) + n
			}
		}
		if n := max(all, models); n >= 0 {
			return n
		}
	}
	return 0
}
