package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
)

// keyFile is the last file of a run's folder: it says of what the run is.
const keyFile = "key"

// key tells runs apart that may be unlike: it is of the trace and of every flag that has
// a say in it.
func (s *sweep) key(r *oneRun) string {
	policy, err := json.Marshal(r.scheduler.Policy)
	if err != nil {
		policy = []byte(err.Error())
	}
	const version = 1 // of what is written of a run
	text := fmt.Sprintln(version, r.input.Hash(), r.scheduler.Name, string(policy), r.seed, s.costs, s.verify.of(r.input), s.reasons.of(r.input),
		s.leaveOut, s.until, s.warmUp, s.sample, s.period, s.latency, s.drop)
	return fmt.Sprintf("%x\n", sha256.Sum256([]byte(text)))
}

// takeFrom takes the summary of a run that has been carried out before in full, and of
// the same trace and flags. It reports whether there is one.
func (s *sweep) takeFrom(folder string, r *oneRun) bool {
	const largest = 1 << 26
	read := func(name string) []byte {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			return nil
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, largest))
		if err != nil {
			return nil
		}
		return text
	}
	var summary report.Summary
	if string(read(keyFile)) != s.key(r) || json.Unmarshal(read("summary.json"), &summary) != nil || summary.Input == "" {
		return false
	}
	if r.picture = read("picture.json"); !json.Valid(r.picture) {
		return false
	}
	r.summary = &summary
	return true
}

// results are the runs as they are told.
func (s *sweep) results() []report.Run {
	runs := make([]report.Run, len(s.runs))
	for i, r := range s.runs {
		runs[i] = report.Run{Trace: r.trace, Load: r.load, Seed: r.seed, Scheduler: r.scheduler.Name, Summary: r.summary}
		if r.err != nil {
			runs[i].Summary, runs[i].Fault = nil, r.err.Error()
		}
	}
	return runs
}

// writeSweep writes what comes of all runs together, if files are wanted.
func (s *sweep) writeSweep() error {
	if s.out == "" {
		return nil
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	result := report.Compare(s.results())
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"sweep.json", func(w io.Writer) error { return report.WriteSweep(w, result) }},
		{"runs.csv", func(w io.Writer) error { return report.WriteSweepRuns(w, result.Runs) }},
		{"page.html", func(w io.Writer) error { return report.WritePage(w, s.title(), result, s.pictures()) }},
		{"means.csv", func(w io.Writer) error { return report.WriteSweepMeans(w, result) }},
	} {
		if err := withNew(s.out, file.name, file.write); err != nil {
			return err
		}
	}
	return nil
}

// title is that of the page.
func (s *sweep) title() string {
	if s.jobsFile == "" {
		return fmt.Sprintf("%d jobs like those of %s on %d nodes", s.jobs, s.mix, s.nodes)
	}
	return "Runs of " + s.jobsFile
}

// pictures are those of the runs, nil for one that failed.
func (s *sweep) pictures() []json.RawMessage {
	out := make([]json.RawMessage, len(s.runs))
	for i, r := range s.runs {
		out[i] = r.picture
	}
	return out
}

// byChance says whether runs of other seeds are other runs.
func (o *options) byChance() bool { return o.jobsFile == "" || o.faults || o.drop > 0 }

// writeMeans prints the means over the seeds and the paired differences, where there are
// several.
func (s *sweep) writeMeans(w io.Writer) error {
	if len(s.seeds) < 2 {
		return nil
	}
	result := report.Compare(s.results())
	if err := s.writeEstimates(w, "means over the seeds, with their 95% confidence intervals", result.Means); err != nil || len(result.Differences) == 0 {
		return err
	}
	return s.writeEstimates(w, "what each has more than "+s.schedulers[0].Name+", seed by seed", result.Differences)
}

// told are the measures that the text has a column for, with what makes a shorter number of
// them.
var told = []struct {
	name, title string
	times, over int64
	digits      int
}{
	{"completion_mean_s", "JCT h", 1, 3600, 2}, {"wait_mean_s", "wait h", 1, 3600, 2}, {"wait_p99_s", "p99 h", 1, 3600, 2},
	{"allocated_part", "allocated %", 100, 1, 1}, {"evictions", "evictions", 1, 1, 1}, {"longest_quota_wait_s", "max quota wait s", 1, 1, 0},
}

// writeEstimates prints a table of means.
func (s *sweep) writeEstimates(w io.Writer, title string, list []report.Means) error {
	fmt.Fprintf(w, "\n%s\n", title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "load\tscheduler\tseeds\t")
	for _, m := range told {
		fmt.Fprintf(table, "%s\t", m.title)
	}
	fmt.Fprintln(table)
	for _, means := range list {
		fmt.Fprintf(table, "%s\t%s\t", loadOf(means.Trace, means.Load), means.Scheduler)
		seeds := 0
		for _, e := range means.Estimates {
			seeds = max(seeds, e.Runs)
		}
		fmt.Fprintf(table, "%d\t", seeds)
		for _, m := range told {
			cell := "-"
			if at := slices.IndexFunc(means.Estimates, func(e report.Estimate) bool { return e.Measure == m.name }); at >= 0 {
				e := means.Estimates[at]
				text := func(d sim.Decimal) string { return d.Times(m.times).Over(m.over).Text(m.digits) }
				if cell = text(e.Mean); e.Low != nil {
					cell += " (" + text(*e.Low) + " to " + text(*e.High) + ")"
				}
			}
			fmt.Fprintf(table, "%s\t", cell)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// loadOf is a load, with the trace before it if there are several.
func loadOf(trace string, load int64) string {
	if trace == "" {
		return fmt.Sprintf("%d%%", load)
	}
	return fmt.Sprintf("%s %d%%", trace, load)
}
