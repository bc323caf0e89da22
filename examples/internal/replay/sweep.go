package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/report"
	"github.com/allotsched/allot/sim/trace"
)

// A Sweep is all runs, in the order in which they are told: by load, seed and
// scheduler.
type Sweep struct {
	*Options
	runs []*oneRun
	// once: seeds were left out, with which the runs would have been the same.
	once bool
}

// A oneRun is one of them.
type oneRun struct {
	trace     string
	of        *sharedInput
	scheduler sim.Scheduler
	seed      uint64
	load      int64
	summary   *report.Summary
	picture   json.RawMessage // nil where no page is written
	err       error
}

// A sharedInput is the input that the runs of a load and a seed share. It is made and checked once, when the first of
// them needs it, and let go with the last: of a long sweep there are never many.
type sharedInput struct {
	make   func() (*sim.Input, error) // nil once it was
	quotas bool                       // some queue has one of GPUs
	mutex  sync.Mutex
	in     *sim.Input
	err    error // for which there is no input
	left   int   // runs that have not ended
}

// take is for a run that begins.
func (i *sharedInput) take() (in *sim.Input, err error) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.make != nil {
		i.in, i.err = i.make()
		i.make = nil // the trace as well
	}
	return i.in, i.err
}

// done is for a run that has ended.
func (i *sharedInput) done() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	if i.left--; i.left == 0 {
		i.in = nil
	}
}

// name is that of the run's folder.
func (r *oneRun) name() string {
	name := fmt.Sprintf("%s-%d-%d", r.scheduler.Name, r.load, r.seed)
	if r.trace != "" {
		name = r.trace + "-" + name
	}
	return name
}

// NewSweep reads the traces, and checks of each that each scheduler can run it, or of what is made, at the first load
// and with the first seed. The others are made and checked as their runs begin, and what cannot be run fails these. What
// one of the schedulers cannot run is left out for all, or refused; and so is a page or a folder that cannot be written.
func NewSweep(o *Options) (*Sweep, error) {
	s, err := newSweep(o)
	if err == nil {
		err = o.writable()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// writable is why what the runs are to write cannot be written, which they may take hours to come to.
func (o *Options) writable() error {
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	if o.page == "" {
		return nil
	}
	f, err := os.OpenFile(o.page, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

func newSweep(o *Options) (*Sweep, error) {
	s := &Sweep{Options: o}
	if len(o.seeds) > 1 && !o.byChance() {
		o.seeds, s.once = o.seeds[:1], true
	}
	if len(o.traces) == 0 {
		return s, s.add("", nil)
	}
	defer o.closeTraces()
	for _, file := range o.files {
		own, err := o.read(file)
		if err != nil {
			return nil, err
		}
		name := "" // of one trace it goes without saying
		if len(o.traces) > 1 {
			name = strings.TrimSuffix(filepath.Base(file.name), ".gz")
			name = strings.TrimSuffix(name, filepath.Ext(name))
		}
		if err := s.add(name, own); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	return s, nil
}

// add adds the runs of a trace; nil is one that is made.
func (s *Sweep) add(name string, own *sim.Input) error {
	if slices.ContainsFunc(s.runs, func(r *oneRun) bool { return r.trace == name }) {
		return fmt.Errorf("two traces are named %q", name)
	}
	first := len(s.runs)
	for _, load := range s.loads {
		for _, seed := range s.seeds {
			of := &sharedInput{make: func() (*sim.Input, error) { return s.whole(own, seed, load) }, left: len(s.schedulers)}
			for _, scheduler := range s.schedulers {
				s.runs = append(s.runs, &oneRun{trace: name, of: of, scheduler: scheduler, seed: seed, load: load})
			}
		}
	}
	in, err := s.runs[first].of.take()
	if err != nil {
		return err
	}
	for _, r := range s.runs[first:] { // all are of one cluster
		r.of.quotas = hasQuotas(in)
	}
	return nil
}

// whole is input, with an error where something of it is left out that is not to be, or where of a trace that
// is read nothing is left.
func (s *Sweep) whole(own *sim.Input, seed uint64, load int64) (*sim.Input, error) {
	in, err := s.input(own, seed, load)
	if err != nil {
		return nil, err
	}
	bad := &sim.BadInputError{List: in.LeftOut}
	if s.ListAll {
		bad.Printed = len(bad.List)
	}
	switch none := own != nil && len(in.Jobs) == 0; {
	case none && len(in.LeftOut) == 0:
		return nil, errors.New("there are no jobs to run: it has no jobs")
	case none:
		return nil, fmt.Errorf("there are no jobs to run: %w", bad)
	case len(in.LeftOut) > 0 && !s.leaveOut:
		return nil, fmt.Errorf("%w\n\t-leave-out runs the rest", bad)
	}
	return in, nil
}

// input is the trace of a seed and a load, as all schedulers can run it.
func (o *Options) input(own *sim.Input, seed uint64, load int64) (in *sim.Input, err error) {
	if own != nil {
		in, err = trace.Scale(own, load)
	} else {
		in, err = o.made(seed, load)
	}
	if err == nil && o.estimates != "" {
		in, err = trace.Estimated(in, o.estimates, seed)
	}
	if err == nil && o.large > 0 {
		in = withLarge(in, o.large)
	}
	if err == nil && o.faults {
		in, err = withFaults(in, seed)
	}
	if err != nil {
		return nil, err
	}
	var all []sim.Options
	for _, scheduler := range o.schedulers {
		all = append(all, o.settings(scheduler, seed))
	}
	return sim.Sound(in, all...)
}

// withLarge is an input in which the jobs of so many GPUs or more have priority 1.
func withLarge(in *sim.Input, gpus int64) *sim.Input {
	out := *in
	out.Jobs = slices.Clone(in.Jobs)
	for i := range out.Jobs {
		w, asks := &out.Jobs[i].Workload, int64(0)
		for k := range w.PodSets {
			p := &w.PodSets[k]
			asks += int64(min(max(p.Count, 0), math.MaxInt32)) * int64(min(max(p.Request.GPU.Count, 0), 64))
		}
		if asks >= gpus {
			w.Priority = 1
		}
	}
	return &out
}

// settings are what the flags say of a run, whatever its input.
func (o *Options) settings(scheduler sim.Scheduler, seed uint64) sim.Options {
	settings := sim.Options{
		Scheduler: scheduler, Seed: seed, Until: o.until, Sample: o.sample,
		Period: o.period, Latency: o.latency, Drop: o.drop, LeaveOut: o.leaveOut,
	}
	if o.costs {
		settings.Costs = typical()
	}
	return settings
}

// Runs is how many there are.
func (s *Sweep) Runs() int { return len(s.runs) }

// CarryOut carries out the runs, some at once, until the context ends. Each is on its
// own, so it does not matter which ends first.
func (s *Sweep) CarryOut(ctx context.Context, m *Meter) {
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
func (s *Sweep) one(ctx context.Context, r *oneRun, progress func(sim.Progress)) error {
	defer r.of.done()
	in, err := r.of.take()
	if err != nil {
		return err
	}
	o := s.settings(r.scheduler, r.seed)
	o.NoVerify, o.VerifyEvery = s.verify == 0, s.verify.of(in)
	o.NoReasons, o.ReasonsEvery = s.reasons == 0, s.reasons.of(in)
	o.Progress = func(p sim.Progress) bool {
		progress(p)
		return ctx.Err() == nil
	}
	first, last := in.Submissions()
	o.From = first + (last-first)/100*time.Duration(s.warmUp)
	if s.out == "" {
		return s.oneWithoutFiles(r, in, o)
	}
	folder := filepath.Join(s.out, r.name())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if s.resume && s.takeFrom(folder, r, in) {
		return nil
	}
	key := filepath.Join(folder, keyFile)
	if err := os.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFiles(folder, r, in, o); err != nil || r.summary.Partial {
		return err
	}
	return os.WriteFile(key, []byte(s.key(r, in)), 0o666)
}

// oneWithoutFiles carries out a run of which no files are wanted but perhaps the page.
func (s *Sweep) oneWithoutFiles(r *oneRun, in *sim.Input, o sim.Options) error {
	drawn := report.NewPicture(&in.Cluster)
	if s.page != "" {
		o.Observe = drawn.Observe
	}
	result, err := sim.Run(in, o)
	if err != nil {
		return err
	}
	r.summary = report.Summarize(result)
	if s.page != "" {
		drawn.Close(result)
		r.picture, err = json.Marshal(drawn)
	}
	return err
}

// writeFiles carries out a run and writes its files as it goes, and at its end.
func writeFiles(folder string, r *oneRun, in *sim.Input, o sim.Options) error {
	return withNew(folder, "events.jsonl", func(lines io.Writer) error {
		return withNew(folder, "trace.json", func(picture io.Writer) error {
			events := report.NewEventWriter(lines)
			slices := report.NewChromeWriter(picture, &in.Cluster)
			drawn := report.NewPicture(&in.Cluster)
			o.Observe = func(e sim.Event) {
				events.Observe(e)
				slices.Observe(e)
				drawn.Observe(e)
			}
			result, err := sim.Run(in, o)
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
				{"left-out.csv", func(w io.Writer) error { return report.WriteLeftOut(w, result) }},
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
