package replay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

// keyFile is the last file of a run's folder, and the first to go where the run is carried out
// again: it says of what the run is, and that it is complete.
const keyFile = "key"

// key tells runs apart that may be unlike: it is of the trace and of every flag that has
// a say in it.
func (s *Sweep) key(r *oneRun, in *sim.Input) string {
	policy, err := json.Marshal(r.scheduler.Policy)
	if err != nil {
		policy = []byte(err.Error())
	}
	leftOut, err := json.Marshal(in.LeftOut)
	if err != nil {
		leftOut = []byte(err.Error())
	}
	const version = 5 // of what is written of a run
	text := fmt.Sprintln(version, in.Hash(), r.scheduler.Name, string(policy), r.seed, s.costs, s.verify.of(in), s.reasons.of(in),
		s.leaveOut, string(leftOut), s.until, s.warmUp, s.sample, s.period, s.latency, s.drop)
	return fmt.Sprintf("%x\n", sha256.Sum256([]byte(text)))
}

// takeFrom takes the summary of a run that has been carried out before in full, and of
// the same trace and flags, with all its files. It reports whether there is one.
func (s *Sweep) takeFrom(folder string, r *oneRun, in *sim.Input) bool {
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
	if string(read(keyFile)) != s.key(r, in) || json.Unmarshal(read("summary.json"), &summary) != nil || summary.Input == "" || summary.Partial {
		return false
	}
	for _, name := range []string{"events.jsonl", "trace.json", "jobs.csv", "left-out.csv", "series.csv"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	var drawn struct{ Rows json.RawMessage }
	if r.picture = read("picture.json"); json.Unmarshal(r.picture, &drawn) != nil || drawn.Rows == nil {
		return false
	}
	r.summary = &summary
	return true
}

// results are the runs as they are told.
func (s *Sweep) results() []report.Run {
	runs := make([]report.Run, len(s.runs))
	for i, r := range s.runs {
		runs[i] = report.Run{Trace: r.trace, Load: r.load, Seed: r.seed, Scheduler: r.scheduler.Name, Summary: r.summary}
		if r.err != nil {
			runs[i].Summary, runs[i].Fault = nil, r.err.Error()
		}
	}
	return runs
}

// Result is what comes of all runs together.
func (s *Sweep) Result() *report.Sweep { return report.Compare(s.results()) }

// WriteFiles writes what comes of all runs together, as far as files are wanted.
func (s *Sweep) WriteFiles() error {
	if s.out == "" && s.page == "" {
		return nil
	}
	result := s.Result()
	page := func(w io.Writer) error { return report.WritePage(w, s.Title(), result, s.pictures()) }
	if s.page != "" {
		if err := withNew(filepath.Dir(s.page), filepath.Base(s.page), page); err != nil || s.out == "" {
			return err
		}
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"sweep.json", func(w io.Writer) error { return report.WriteSweep(w, result) }},
		{"runs.csv", func(w io.Writer) error { return report.WriteSweepRuns(w, result.Runs) }},
		{"page.html", page},
		{"means.csv", func(w io.Writer) error { return report.WriteSweepMeans(w, result) }},
	} {
		if err := withNew(s.out, file.name, file.write); err != nil {
			return err
		}
	}
	return nil
}

// Title says what was run.
func (s *Sweep) Title() string {
	if len(s.traces) == 0 {
		return fmt.Sprintf("%s like those of %s on %s", prose.Count(s.jobs, "job"), s.mix, prose.Count(s.nodes.n, "node"))
	}
	return "Runs of " + strings.Join(prose.Each(s.traces), ", ")
}

// pictures are those of the runs, nil for one that failed.
func (s *Sweep) pictures() []json.RawMessage {
	out := make([]json.RawMessage, len(s.runs))
	for i, r := range s.runs {
		out[i] = r.picture
	}
	return out
}

// byChance says whether runs of other seeds are other runs.
func (o *Options) byChance() bool {
	return len(o.traces) == 0 || o.faults || o.drop > 0 || o.estimates == trace.UserEstimates
}
