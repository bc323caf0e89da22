package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
)

// A phillyJob is an entry of cluster_job_log.
type phillyJob struct {
	Status   string         `json:"status"`
	VC       string         `json:"vc"`
	ID       string         `json:"jobid"`
	Submit   string         `json:"submitted_time"`
	User     string         `json:"user"`
	Attempts []phillyServed `json:"attempts"`
	line     int            // on which it begins
}

// A phillyServed is an attempt.
type phillyServed struct {
	Start  string `json:"start_time"`
	End    string `json:"end_time"`
	Detail []struct {
		IP   string   `json:"ip"`
		GPUs []string `json:"gpus"`
	} `json:"detail"`
}

// PhillyLog reads cluster_job_log of Microsoft's Philly as it is published: a JSON array of
// jobs with their attempts. A job asks the most GPUs that an attempt had, on as many nodes
// where that is even, and runs for as long as its attempts did together; one that is Failed
// fails. The queues are the virtual clusters (vc, or user if the site's Tenant is that),
// without quotas. Jobs without an attempt that has both its times are left out, and those
// that still ran. All are preemptible. Site's List is cluster_machine_list (machineId,
// number of GPUs).
func PhillyLog(jobs io.Reader, site Site) (*sim.Input, error) {
	const what = "philly log"
	if site.Tenant != "" && site.Tenant != "vc" && site.Tenant != "user" {
		return nil, fmt.Errorf("%s: tenants are by vc or by user, not by %q", what, site.Tenant)
	}
	l, err := site.log(what, func(l *log, list io.Reader) error {
		return plainCSV.readBeside("philly machines", "node", list, l.in, []string{"machineId", "number of GPUs"}, func(r *row) {
			l.node(r, allot.Node{ID: strings.Clone(r.text("machineId")), Devices: make([]allot.Device, r.number("number of GPUs", 0, nodeDevices))})
		})
	})
	if err != nil {
		return nil, err
	}
	text, err := plain(jobs, maxEntry, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	budget := &rationed{from: text, left: maxEntry, lines: []int64{-1}}
	decoder := json.NewDecoder(budget)
	if first, err := decoder.Token(); err != nil || first != json.Delim('[') {
		return nil, fmt.Errorf("%s: it must be a JSON array of jobs (%w)", what, cmp.Or(err, errors.New("it begins otherwise")))
	}
	for n := 1; decoder.More(); n++ {
		var p phillyJob
		var odd *json.UnmarshalTypeError
		begins := decoder.InputOffset()
		err := decoder.Decode(&p)
		p.line = budget.lineAfter(begins)
		if errors.As(err, &odd) {
			l.leaveOut(&p, "entry", fmt.Sprintf("entry %d: %v", n, err))
		} else if err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", what, n, err)
		} else if j, kind, why := p.job(l, site.Tenant); kind != "" {
			l.leaveOut(&p, kind, fmt.Sprintf("entry %d: %s", n, why))
		} else {
			l.in.Jobs = append(l.in.Jobs, j)
		}
		if n > maxLines || len(l.in.LeftOut) > maxLeftOut {
			return nil, fmt.Errorf("%s: it has more than %d entries, or more than %d are no jobs", what, maxLines, maxLeftOut)
		}
		budget.left = maxEntry
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return l.done(nil)
}

func (l *log) leaveOut(p *phillyJob, kind, why string) {
	submit, timed := instantOf(p.Submit)
	l.in.LeftOut = append(l.in.LeftOut, sim.LeftOut{Line: p.line, Job: p.ID, Submit: submit, Timed: timed, Kind: kind, Why: why})
}

// job is the job, or what is wrong.
func (p *phillyJob) job(l *log, tenant string) (j sim.Job, kind, why string) {
	submit, ok := instantOf(p.Submit)
	if !ok {
		return j, "submitted_time", fmt.Sprintf("submitted_time is %q: must be a time such as 2017-10-07 01:11:39", p.Submit)
	}
	var ran time.Duration
	gpus, nodes := 0, 0
	for i := range p.Attempts {
		a := &p.Attempts[i]
		had := 0
		for k := range a.Detail {
			had += len(a.Detail[k].GPUs)
		}
		if had > gpus {
			gpus, nodes = had, len(a.Detail)
		}
		start, begun := instantOf(a.Start)
		end, ended := instantOf(a.End)
		switch {
		case begun && ended && end >= start:
			ran += min(end-start, maxTime)
		case begun && !ended && i == len(p.Attempts)-1:
			return j, "not ended", "it still ran"
		}
		if ran > maxTime {
			return j, "time", "it ran for too long to be true"
		}
	}
	var r row
	if !l.ask(&r, gpus, ran) {
		return j, r.kind, r.err.Error()
	}
	if tenant == "user" {
		p.VC = p.User
	}
	return sim.Job{
		Line: p.line, Name: p.ID, Submit: submit, Duration: ran, Fails: p.Status == "Failed",
		Workload: allot.Workload{ID: p.ID, Queue: l.queue(p.VC), Preemption: allot.Preemptible, PodSets: l.gang(gpus, nodes)},
	}, "", ""
}

// maxEntry bounds an entry of a log that is an array, in bytes, and its lines.
const maxEntry = 1 << 26

// A rationed reader ends with an error when its ration is used up, and knows which lines it has read.
type rationed struct {
	from io.Reader
	left int
	read int64
	// lines are, of each line from the one after passed on, where the last of it stands that is neither space nor
	// a comma, −1 where nothing does.
	lines  []int64
	passed int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("an entry is longer than %d bytes", maxEntry)
	}
	n, err := r.from.Read(p[:min(len(p), r.left)])
	for i, c := range p[:n] {
		switch c {
		case '\n':
			r.lines = append(r.lines, -1)
		case ' ', '\t', '\r', ',':
		default:
			r.lines[len(r.lines)-1] = r.read + int64(i)
		}
	}
	r.left, r.read = r.left-n, r.read+int64(n)
	return n, err
}

// lineAfter is the line of the first entry that begins at an offset or later. It passes the lines before.
func (r *rationed) lineAfter(offset int64) int {
	for len(r.lines) > 1 && r.lines[0] < offset {
		r.lines, r.passed = r.lines[1:], r.passed+1
	}
	return r.passed + 1
}
