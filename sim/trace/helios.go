package trace

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// Helios reads cluster_log.csv of a cluster of SenseTime's Helios, with the columns
// job_id, vc, gpu_num, state, submit_time and duration (seconds), and node_num where it is
// there. The queues are the virtual clusters, without quotas ([Tenants] gives them; the
// GPUs of each are in the published cluster_gpu_number.csv, by day). A job of g GPUs on n
// nodes is n tasks. It runs as long as it ran there; it fails if it is FAILED, TIMEOUT or
// NODE_FAIL, and a CANCELLED one ends then. Jobs without GPUs and those that never ran
// are left out. All are preemptible. A node has 8 GPUs where the site does not say.
func Helios(jobs io.Reader, site Site) (*sim.Input, error) {
	return slurmTable("helios jobs", "vc", jobs, site)
}

// Acme reads trace_seren.csv or trace_kalos.csv of Shanghai AI Lab's Acme, which have the
// columns of [Helios] but vc: the queues are those of the column user, if the site names
// no other, such as type.
func Acme(jobs io.Reader, site Site) (*sim.Input, error) {
	return slurmTable("acme jobs", "user", jobs, site)
}

// slurmTable reads what both publish.
func slurmTable(what, tenant string, jobs io.Reader, site Site) (*sim.Input, error) {
	l, err := site.log(what, nil)
	if err != nil {
		return nil, err
	}
	tenant = cmp.Or(site.Tenant, tenant)
	columns := []string{tenant, "gpu_num", "state", "submit_time", "duration"}
	return l.done(plainCSV.readLog(what, jobs, l.in, "job_id", columns, func(r *row) *sim.Job {
		submit := r.arrives(r.instant("submit_time"))
		gpus := r.count("gpu_num")
		nodes := 0
		if r.text("node_num") != "" {
			nodes = r.count("node_num")
		}
		var ran time.Duration
		if text := r.text("duration"); text != "" {
			ran = r.times("duration", time.Second)
		}
		if r.err != nil || !l.ask(r, gpus, ran) {
			return nil
		}
		return &sim.Job{
			Submit: submit, Duration: ran, Fails: failed(r.text("state")),
			Workload: allot.Workload{
				ID: strings.Clone(r.text("job_id")), Queue: l.queue(r.text(tenant)), Preemption: allot.Preemptible, PodSets: l.gang(gpus, nodes),
			},
		}
	}))
}

// failed tells the states of Slurm in which a job has failed.
func failed(state string) bool {
	switch word, _, _ := strings.Cut(state, " "); word {
	case "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE":
		return true
	}
	return false
}

// count is a whole number, which may be written as 8.0.
func (r *row) count(column string) int {
	whole, rest, _ := strings.Cut(r.text(column), ".")
	if strings.Trim(rest, "0") == "" {
		if n, err := parseCount(whole); err == nil && n <= maxGPUs {
			return n
		}
	}
	r.fail(column, "must be a whole number from 0 to %d", maxGPUs)
	return 0
}
