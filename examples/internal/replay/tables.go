package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
)

// A Table is one for people.
type Table struct {
	// Title is what it is of.
	Title string
	// Rows are the lines, the first of them the head; a line may have fewer cells.
	Rows [][]string
	// Names is how many columns, from the left, are names and not numbers.
	Names int
}

// Tables are what people are told of the runs: each run, means over several seeds, and the
// queues where they are asked for. Wide ones have more columns.
func (s *Sweep) Tables(wide bool) []Table {
	tables := []Table{s.runsTable(wide)}
	if len(s.seeds) > 1 {
		result := s.Result()
		tables = append(tables, meansTable("Means over the seeds, with their 95% confidence intervals", result.Means))
		if len(result.Differences) > 0 {
			tables = append(tables, meansTable("What each has more than "+s.schedulers[0].Name+", seed by seed", result.Differences))
		}
	}
	if s.byQueue {
		tables = append(tables, s.queueTables()...)
	}
	return tables
}

// Failed is why runs failed, nil if none did.
func (s *Sweep) Failed() error {
	var failed []error
	for _, r := range s.runs {
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", prose.Word(r.name()), r.err))
		}
	}
	return errors.Join(failed...)
}

// A column is one of the table of runs.
type column struct {
	title string
	wide  bool
	of    func(*report.Summary) string
	// some says of which runs it tells something; nil is of all. Without one it is left out.
	some func(*report.Summary) bool
}

var columns = []column{
	{"jobs", false, func(a *report.Summary) string { return fmt.Sprint(a.All.Jobs) }, nil},
	{"unfinished", false, func(a *report.Summary) string { return fmt.Sprint(a.All.Unfinished) }, nil},
	{"JCT h", false, func(a *report.Summary) string { return hours(a.All.CompletionTime, a.All.CompletionTime.Mean) }, nil},
	{"wait h", false, func(a *report.Summary) string { return hours(a.All.Pending, a.All.Pending.Mean) }, nil},
	{"p99 h", false, func(a *report.Summary) string { return hours(a.All.Pending, a.All.Pending.P99) }, nil},
	{"slowdown", true, func(a *report.Summary) string { return figure(a.Slowdown.N, a.Slowdown.Mean) }, nil},
	{"allocated", false, func(a *report.Summary) string { // nothing may be usable
		if a.Steady == nil {
			return "-"
		}
		return a.Steady.Allocated.Times(100).Text(1) + "%"
	}, nil},
	{"used", true, func(a *report.Summary) string {
		if a.Steady == nil {
			return "-"
		}
		return a.Steady.Used.Times(100).Text(1) + "%"
	}, nil},
	{"evictions", false, func(a *report.Summary) string { return fmt.Sprint(a.Evictions) }, nil},
	{"moves", true, func(a *report.Summary) string { return fmt.Sprint(a.Moves) }, nil},
	{"shrinks", true, func(a *report.Summary) string { return fmt.Sprint(a.Shrinks) }, nil},
	{"lost GPU-h", false, func(a *report.Summary) string { return a.Waste.Lost.Text(1) }, nil},
	{"quota wait s", false, func(a *report.Summary) string { mean, _ := quotaWait(a); return mean }, nil},
	{"max s", false, func(a *report.Summary) string { _, longest := quotaWait(a); return longest }, nil},
	{"Jain", false, func(a *report.Summary) string {
		if a.Jain == nil { // no queue has a fair share
			return "-"
		}
		return a.Jain.Text(3)
	}, nil},
	{"unfair", true, func(a *report.Summary) string { // nobody may have ended
		if a.Unfair == nil {
			return "-"
		}
		return a.Unfair.Times(100).Text(1) + "%"
	}, nil},
	{"decisions", true, func(a *report.Summary) string { return fmt.Sprint(a.Decisions) }, nil},
	{"makespan h", true, func(a *report.Summary) string { // some may not have ended
		if a.Makespan.Cmp(sim.Decimal{}) == 0 {
			return "-"
		}
		return a.Makespan.Over(3600).Text(1)
	}, nil},
	{"p99 h of ≥ 64 GPUs", false, func(a *report.Summary) string {
		g := largest(a)
		if g == nil {
			return "-"
		}
		return hours(g.Pending, g.Pending.P99)
	}, promised},
	{"promises", false, ofPromises(func(p *report.Promises) string { return fmt.Sprint(p.Made) }), promised},
	{"late", false, ofPromises(func(p *report.Promises) string { return fmt.Sprint(p.Late) }), promised},
	{"late by h", true, ofPromises(func(p *report.Promises) string { return hours(p.LateBy, p.LateBy.Mean) }), promised},
	{"held GPU-h", false, ofPromises(func(p *report.Promises) string { return p.Held.Text(1) }), promised},
}

// largest is the group of the largest jobs, nil where there are none.
func largest(a *report.Summary) *report.Group {
	if i := slices.IndexFunc(a.Sizes, func(g report.Group) bool { return g.Name == "64 GPUs or more" }); i >= 0 {
		return &a.Sizes[i]
	}
	return nil
}

func promised(a *report.Summary) bool { return a.Promises != nil }

// ofPromises is what is told of the promises of a run, a dash where there are none.
func ofPromises(of func(*report.Promises) string) func(*report.Summary) string {
	return func(a *report.Summary) string {
		if a.Promises == nil {
			return "-"
		}
		return of(a.Promises)
	}
}

// columns are those of the table of the runs.
func (s *Sweep) columns(wide bool) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		tells := func(r *oneRun) bool { return r.err == nil && c.some(r.summary) }
		return c.wide && !wide || c.some != nil && !slices.ContainsFunc(s.runs, tells)
	})
}

func (s *Sweep) runsTable(wide bool) Table {
	t := Table{Names: 3, Rows: [][]string{{"load", "seed", "scheduler"}}}
	told := s.columns(wide)
	for _, c := range told {
		t.Rows[0] = append(t.Rows[0], c.title)
	}
	for _, r := range s.runs {
		name := r.scheduler.Name
		switch {
		case r.err != nil:
			name += " failed"
		case r.summary.Partial:
			name += " (partial)"
		}
		row := []string{loadOf(r.trace, r.load), fmt.Sprint(r.seed), name}
		for _, c := range told {
			if r.err == nil {
				row = append(row, c.of(r.summary))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// told are the measures that the text has a column for, with what makes a shorter number of
// them.
var told = []struct {
	name, title string
	times, over int64
	digits      int
}{
	{"unfinished_jobs", "unfinished", 1, 1, 1}, {"completion_mean_s", "JCT h", 1, 3600, 2}, {"wait_mean_s", "wait h", 1, 3600, 2}, {"wait_p99_s", "p99 h", 1, 3600, 2},
	{"allocated_part", "allocated %", 100, 1, 1}, {"evictions", "evictions", 1, 1, 1}, {"longest_quota_wait_s", "max quota wait s", 1, 1, 0},
}

func meansTable(title string, list []report.Means) Table {
	t := Table{Title: title, Names: 2, Rows: [][]string{{"load", "scheduler", "seeds"}}}
	for _, m := range told {
		t.Rows[0] = append(t.Rows[0], m.title)
	}
	for _, means := range list {
		seeds := 0
		for _, e := range means.Estimates {
			seeds = max(seeds, e.Runs)
		}
		row := []string{loadOf(means.Trace, means.Load), means.Scheduler, fmt.Sprint(seeds)}
		for _, m := range told {
			cell := "-"
			if e := estimateOf(&means, m.name); e != nil {
				text := func(d sim.Decimal) string { return d.Times(m.times).Over(m.over).Text(m.digits) }
				if cell = text(e.Mean); e.Low != nil {
					cell += " (" + text(*e.Low) + " to " + text(*e.High) + ")"
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// estimateOf is the estimate of a measure, nil if there is none.
func estimateOf(m *report.Means, measure string) *report.Estimate {
	at := slices.IndexFunc(m.Estimates, func(e report.Estimate) bool { return e.Measure == measure })
	if at < 0 {
		return nil
	}
	return &m.Estimates[at]
}

// queueTables have a line for each queue, and three columns for each run of one load and
// seed.
func (s *Sweep) queueTables() (out []Table) {
	n := len(s.schedulers)
	for at := 0; at < len(s.runs); at += n {
		var runs []*oneRun
		for _, r := range s.runs[at : at+n] {
			if r.err == nil {
				runs = append(runs, r)
			}
		}
		if len(runs) == 0 {
			continue
		}
		t := Table{
			Title: fmt.Sprintf("Load %s, seed %d: mean wait in hours, and the longest wait within quota in seconds", loadOf(runs[0].trace, runs[0].load), runs[0].seed),
			Names: 1, Rows: [][]string{{"queue", "jobs"}},
		}
		for _, r := range runs {
			t.Rows[0] = append(t.Rows[0], r.summary.Scheduler, "unfinished", "quota")
		}
		for i := range runs[0].summary.QueueMetrics {
			if row := queueRow(runs, runs[0].summary.QueueMetrics[i].Queue); row != nil {
				t.Rows = append(t.Rows, row)
			}
		}
		out = append(out, t)
	}
	return out
}

// queueRow is the line of a queue, nil if it has no jobs.
func queueRow(runs []*oneRun, q string) []string {
	jobs := 0 // a run that was ended early knows fewer
	for _, r := range runs {
		jobs = max(jobs, jobsOf(r.summary, q).Jobs)
	}
	if jobs == 0 {
		return nil
	}
	row := []string{prose.Word(q), fmt.Sprint(jobs)}
	for _, r := range runs {
		g := jobsOf(r.summary, q)
		_, longest := owedSeconds(owedTo(r.summary, q))
		row = append(row, hours(g.Pending, g.Pending.Mean), fmt.Sprint(g.Unfinished), longest)
	}
	return row
}

// Notes are what else is to be said: that seeds made no other runs, that quotas are missing,
// and what of the inputs was not run, of each load and seed once, as it is the same under all
// schedulers.
func (s *Sweep) Notes() (notes []string) {
	if s.once {
		notes = append(notes, "The seeds make no other runs: nothing of a trace that is read is left to chance without -faults, -drop or -estimates user.")
	}
	notes = append(notes, s.withoutQuotas()...)
	for at := 0; at < len(s.runs); at += len(s.schedulers) {
		r := s.runs[at]
		if r.summary == nil || len(r.summary.LeftOut) == 0 {
			continue
		}
		var kinds []string
		for _, c := range r.summary.LeftOut {
			kinds = append(kinds, fmt.Sprintf("%d %s", c.N, c.Name))
		}
		notes = append(notes, fmt.Sprintf("load %s, seed %d: left out are %s", loadOf(r.trace, r.load), r.seed, strings.Join(kinds, ", ")))
	}
	return notes
}

// withoutQuotas says of which traces no queue has a quota of GPUs, where somebody is compared
// who goes by them: of the baselines that is static-partition alone.
func (s *Sweep) withoutQuotas() (notes []string) {
	baselines := sim.Baselines()
	heeds := func(a sim.Scheduler) bool {
		return a.Name == sim.StaticPartition().Name || !slices.ContainsFunc(baselines, func(b sim.Scheduler) bool { return a.Name == b.Name })
	}
	if !slices.ContainsFunc(s.schedulers, heeds) {
		return nil
	}
	flag := "-queue-list"
	if len(s.traces) == 0 {
		flag = "-tenants"
	}
	for at := 0; at < len(s.runs); at += len(s.loads) * len(s.seeds) * len(s.schedulers) {
		if r := s.runs[at]; !r.of.quotas {
			name := "The trace"
			if r.trace != "" {
				name = prose.Word(r.trace)
			}
			notes = append(notes, name+" has no quotas of GPUs: there is no partition, and presets have none to go by. "+flag+" gives some.")
		}
	}
	return notes
}

// hasQuotas says whether a queue has a quota of GPUs.
func hasQuotas(in *sim.Input) bool {
	return slices.ContainsFunc(in.Cluster.Queues, func(q allot.Queue) bool {
		return slices.ContainsFunc(q.Resources, func(r allot.QueueResource) bool { return r.Resource == allot.GPU && r.Quota.Given() })
	})
}

// jobsOf are the jobs of a queue.
func jobsOf(s *report.Summary, queue string) (none report.Group) {
	for i := range s.Queues {
		if s.Queues[i].Name == queue {
			return s.Queues[i]
		}
	}
	return none
}

// owedTo is how long a queue waited within its quota, nil if it has none.
func owedTo(s *report.Summary, queue string) *report.Spread {
	for i := range s.QueueMetrics {
		if s.QueueMetrics[i].Queue == queue {
			return s.QueueMetrics[i].QuotaLatency
		}
	}
	return nil
}

// quotaWait is the mean and the longest time for which that queue waited within its quota
// that waited longest, in seconds, "-" where none has a quota.
func quotaWait(s *report.Summary) (mean, longest string) {
	var worst *report.Spread
	for i := range s.QueueMetrics {
		if q := s.QueueMetrics[i].QuotaLatency; worst == nil || q != nil && q.Max.Cmp(worst.Max) > 0 {
			worst = q
		}
	}
	return owedSeconds(worst)
}

// owedSeconds are the mean and the longest of such times, "-" where there is no quota.
func owedSeconds(owed *report.Spread) (mean, longest string) {
	if owed == nil {
		return "-", "-"
	}
	return owed.Mean.Text(0), owed.Max.Text(0)
}

// hours is a figure of a spread in hours, "-" where it is that of none.
func hours(s report.Spread, seconds sim.Decimal) string {
	return figure(s.N, seconds.Over(3600))
}

// figure is a number, "-" where it is of none.
func figure(n int, d sim.Decimal) string {
	if n == 0 {
		return "-"
	}
	return d.Text(2)
}

// loadOf is a load, with the trace before it if there are several: as a word, whatever its file is
// called.
func loadOf(trace string, load int64) string {
	if trace == "" {
		return fmt.Sprintf("%d%%", load)
	}
	return fmt.Sprintf("%s %d%%", prose.Word(trace), load)
}
