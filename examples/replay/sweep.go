package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

// A sweep is all runs, in the order in which they are told: by load, seed and
// scheduler.
type sweep struct {
	*options
	runs []*oneRun
	// once: seeds were left out, with which the runs would have been the same.
	once bool
}

// A oneRun is one of them.
type oneRun struct {
	trace     string
	input     *sim.Input
	scheduler sim.Scheduler
	seed      uint64
	load      int64
	summary   *report.Summary
	picture   json.RawMessage // nil where no files are written
	err       error
}

// name is that of the run's folder.
func (r *oneRun) name() string {
	name := fmt.Sprintf("%s-%d-%d", r.scheduler.Name, r.load, r.seed)
	if r.trace != "" {
		name = r.trace + "-" + name
	}
	return name
}

func newSweep(o *options) (*sweep, error) {
	s := &sweep{options: o}
	if len(o.seeds) > 1 && !o.byChance() {
		o.seeds, s.once = o.seeds[:1], true
	}
	if o.jobsFile == "" {
		return s, s.add("", nil)
	}
	for file := range strings.SplitSeq(o.jobsFile, ",") {
		own, err := o.read(file)
		if err != nil {
			return nil, err
		}
		name := "" // of one trace it goes without saying
		if strings.Contains(o.jobsFile, ",") {
			name, _, _ = strings.Cut(filepath.Base(file), ".")
		}
		if err := s.add(name, own); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return s, nil
}

// add adds the runs of a trace; nil is one that is made.
func (s *sweep) add(name string, own *sim.Input) error {
	if slices.ContainsFunc(s.runs, func(r *oneRun) bool { return r.trace == name }) {
		return fmt.Errorf("two traces are named %q", name)
	}
	for _, load := range s.loads {
		for _, seed := range s.seeds {
			in, err := s.input(own, seed, load)
			if err == nil {
				err = sim.Check(in, sim.Options{LeaveOut: s.leaveOut})
			}
			if bad := (*sim.BadInputError)(nil); errors.As(err, &bad) {
				err = fmt.Errorf("%w\n\t-leave-out runs the rest", err)
			}
			if err != nil {
				return err
			}
			for _, scheduler := range s.schedulers {
				s.runs = append(s.runs, &oneRun{trace: name, input: in, scheduler: scheduler, seed: seed, load: load})
			}
		}
	}
	return nil
}

// input is the trace of a seed and a load.
func (o *options) input(own *sim.Input, seed uint64, load int64) (in *sim.Input, err error) {
	if own != nil {
		in, err = trace.Scale(own, load)
	} else {
		in, err = o.made(seed, load)
	}
	if err == nil && o.faults {
		in, err = withFaults(in, seed)
	}
	return in, err
}

// carryOut carries out the runs, some at once. Each is on its own, so it does not
// matter which ends first.
func (s *sweep) carryOut(ctx context.Context, m *meter) {
	cores := s.cores
	if cores == 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var all sync.WaitGroup
	for range min(cores, len(s.runs)) {
		all.Go(func() {
			for i := range next {
				s.runs[i].err = s.one(ctx, s.runs[i], func(p sim.Progress) { m.progress(i, p) })
				m.done(i)
			}
		})
	}
	for i := range s.runs {
		next <- i
	}
	close(next)
	all.Wait()
}

// one carries out a run and writes its files.
func (s *sweep) one(ctx context.Context, r *oneRun, progress func(sim.Progress)) error {
	o := sim.Options{
		Scheduler: r.scheduler, Seed: r.seed, Until: s.until, Sample: s.sample,
		Period: s.period, Latency: s.latency, Drop: s.drop, LeaveOut: s.leaveOut,
		NoVerify: s.verify == 0, VerifyEvery: s.verify.of(r.input), NoReasons: s.reasons == 0, ReasonsEvery: s.reasons.of(r.input),
		Progress: func(p sim.Progress) bool {
			progress(p)
			return ctx.Err() == nil
		},
	}
	for i := range r.input.Jobs {
		o.From = max(o.From, r.input.Jobs[i].Submit/100*time.Duration(s.warmUp))
	}
	if s.costs {
		o.Costs = typical()
	}
	if s.out == "" {
		result, err := sim.Run(r.input, o)
		if err == nil {
			r.summary = report.Summarize(result)
		}
		return err
	}
	folder := filepath.Join(s.out, r.name())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if s.resume && s.takeFrom(folder, r) {
		return nil
	}
	if err := writeFiles(folder, r, o); err != nil || r.summary.Partial {
		return err
	}
	return os.WriteFile(filepath.Join(folder, keyFile), []byte(s.key(r)), 0o666)
}

// writeFiles carries out a run and writes its files as it goes, and at its end.
func writeFiles(folder string, r *oneRun, o sim.Options) error {
	return withNew(folder, "events.jsonl", func(lines io.Writer) error {
		return withNew(folder, "trace.json", func(picture io.Writer) error {
			events := report.NewEventWriter(lines)
			slices := report.NewChromeWriter(picture, &r.input.Cluster)
			drawn := report.NewPicture(&r.input.Cluster)
			o.Observe = func(e sim.Event) {
				events.Observe(e)
				slices.Observe(e)
				drawn.Observe(e)
			}
			result, err := sim.Run(r.input, o)
			if err != nil {
				return err
			}
			r.summary = report.Summarize(result)
			drawn.Close(result)
			if r.picture, err = json.Marshal(drawn); err != nil {
				return err
			}
			if err := slices.Close(result.End); err != nil {
				return err
			}
			for _, file := range []struct {
				name  string
				write func(io.Writer) error
			}{
				{"summary.json", func(w io.Writer) error { return report.WriteSummary(w, r.summary) }},
				{"jobs.csv", func(w io.Writer) error { return report.WriteJobs(w, result) }},
				{"picture.json", func(w io.Writer) error { _, err := w.Write(r.picture); return err }},
				{"series.csv", func(w io.Writer) error { return report.WriteSeries(w, result) }},
			} {
				if err := withNew(folder, file.name, file.write); err != nil {
					return err
				}
			}
			return events.Err()
		})
	})
}

// withNew writes a new file.
func withNew(folder, name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(f)
	err = write(buffered)
	if flushed := buffered.Flush(); err == nil {
		err = flushed
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// write prints the table.
func (s *sweep) write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "load\tseed\tscheduler\tjobs\tunfinished\tJCT h\twait h\tp99 h\tallocated\tevictions\tlost GPU-h\tquota wait s\tmax s\tJain\t")
	var failed []error
	for _, r := range s.runs {
		a := r.summary
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.name(), r.err))
			fmt.Fprintf(table, "%s\t%d\t%s failed\t\n", loadOf(r.trace, r.load), r.seed, r.scheduler.Name)
			continue
		}
		mean, longest := quotaWait(a)
		partial, jain, held := "", "-", "-" // no queue has a fair share, nothing is usable
		if a.Jain != nil {
			jain = a.Jain.Text(3)
		}
		if a.Steady != nil {
			held = a.Steady.Allocated.Times(100).Text(1) + "%"
		}
		if a.Partial {
			partial = " (partial)"
		}
		fmt.Fprintf(table, "%s\t%d\t%s%s\t%d\t%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t\n",
			loadOf(r.trace, r.load), r.seed, a.Scheduler, partial, a.All.Jobs, a.All.Unfinished, hours(a.All.CompletionTime, a.All.CompletionTime.Mean), hours(a.All.Pending, a.All.Pending.Mean), hours(a.All.Pending, a.All.Pending.P99),
			held, a.Evictions, a.Waste.Lost.Text(1), mean, longest, jain)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.once {
		fmt.Fprintln(w, "\nThe seeds make no other runs: nothing of a trace that is read is left to chance without -faults or -drop.")
	}
	if err := s.writeMeans(w); err != nil {
		return err
	}
	if err := s.writeLeftOut(w); err != nil {
		return err
	}
	if s.byQueue {
		if err := s.writeQueues(w); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// writeLeftOut says what of the inputs was not run, if anything: of each load and seed
// once, as it is the same under all schedulers.
func (s *sweep) writeLeftOut(w io.Writer) error {
	for at := 0; at < len(s.runs); at += len(s.schedulers) {
		r := s.runs[at]
		if r.summary == nil || len(r.summary.LeftOut) == 0 {
			continue
		}
		var kinds []string
		for _, c := range r.summary.LeftOut {
			kinds = append(kinds, fmt.Sprintf("%d %s", c.N, c.Name))
		}
		if _, err := fmt.Fprintf(w, "\nload %d%%, seed %d: left out are %s\n", r.load, r.seed, strings.Join(kinds, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// writeQueues prints a table with a line for each queue, and three columns for each run
// of one load and seed.
func (s *sweep) writeQueues(w io.Writer) error {
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
		fmt.Fprintf(w, "\nload %d%%, seed %d: mean wait in hours, and the longest wait within quota in seconds\n", runs[0].load, runs[0].seed)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(table, "queue\tjobs\t")
		for _, r := range runs {
			fmt.Fprintf(table, "%s\tunfinished\tquota\t", r.summary.Scheduler)
		}
		fmt.Fprintln(table)
		for i := range runs[0].summary.QueueMetrics {
			q := runs[0].summary.QueueMetrics[i].Queue
			jobs := 0 // a run that was ended early knows fewer
			for _, r := range runs {
				jobs = max(jobs, jobsOf(r.summary, q).Jobs)
			}
			if jobs == 0 {
				continue
			}
			fmt.Fprintf(table, "%s\t%d\t", q, jobs)
			for _, r := range runs {
				g := jobsOf(r.summary, q)
				_, longest := owedSeconds(owedTo(r.summary, q))
				fmt.Fprintf(table, "%s\t%d\t%s\t", hours(g.Pending, g.Pending.Mean), g.Unfinished, longest)
			}
			fmt.Fprintln(table)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
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

// hours is a figure of a spread in hours, "-" where it is that of none.
func hours(s report.Spread, seconds sim.Decimal) string {
	if s.N == 0 {
		return "-"
	}
	return seconds.Over(3600).Text(2)
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
