// Command replay runs a trace through the library, under one scheduler after the
// other, and prints what each would have made of it. With -out it writes a folder of
// files for each run: summary.json, jobs.csv, series.csv, events.jsonl and
// trace.json, which ui.perfetto.dev opens; and beside them, of all runs, sweep.json,
// runs.csv, means.csv and page.html, which any browser opens without a network, with means over the seeds, their 95% confidence intervals and
// the paired differences to the first scheduler. Their columns are told in package
// sim/report, the formats of traces in package sim/trace.
//
// Without a trace it makes one, by a seed: what is asked and how long it takes as on
// Microsoft's Philly clusters, by tenants who come in bursts.
//
// Standard output is the same every time. Progress goes to standard error: on a
// terminal a line that is written over, elsewhere a line every ten seconds. An interrupt ends all runs, and what there is is written, marked as
// partial.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/sim"
)

func main() {
	debug.SetGCPercent(50) // what a run holds is most of its memory, and long-lived
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, time.Now))
}

// options are what the command line says.
type options struct {
	source
	schedulers []sim.Scheduler
	seeds      []uint64
	loads      []int64
	faults     bool
	costs      bool
	verify     sampling
	reasons    sampling
	leaveOut   bool
	byQueue    bool
	until      time.Duration
	warmUp     int
	sample     time.Duration
	out        string
	cores      int
	period     time.Duration
	latency    time.Duration
	drop       int64
	resume     bool
}

const usage = `Usage: replay [flags]

Runs a trace under several schedulers and prints what each makes of it.

`

const usageEnd = `
Exit codes: 0 done, 1 a file cannot be read or written or a plan is unlawful, 2 usage.
`

// parse reads the command line. The error is flag.ErrHelp where help is asked for,
// and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	var o options
	var policies, policyFile, seeds, loads string
	var fast bool
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	o.source.flags(flags)
	flags.StringVar(&policies, "policies", "fifo,static-partition,osmo,runai", "the schedulers, by `name`: "+schedulerNames()+", all")
	flags.StringVar(&seeds, "seeds", "1", "the `seeds` of made traces and of faults, such as 1,4 or 1-3")
	flags.StringVar(&loads, "loads", "100", "the loads in `percent`: of a trace's own, or for a made one of the cluster")
	flags.BoolVar(&o.faults, "faults", false, "nodes, GPUs and tasks fail, users give up, quotas change")
	flags.BoolVar(&o.costs, "costs", false, "starts take 40 s, stops 30 s, checkpoints 20 s every half hour, and work since then is lost;\nwithout it all of that is free")
	o.verify, o.reasons = bySize, bySize
	flags.Var(&o.verify, "verify", "verify one plan of so `many`, all or none; auto is one of as many as there are nodes and GPUs, but of 100 at least")
	flags.Var(&o.reasons, "reasons", "ask one decision of so `many` what GPUs are idle for, all, none or auto; with none no fair shares are told either")
	flags.BoolVar(&fast, "fast", false, "-verify none -reasons none")
	flags.BoolVar(&o.leaveOut, "leave-out", false, "leave out what of a trace cannot be run; without it nothing is run if there is any")
	flags.BoolVar(&o.byQueue, "by-queue", false, "tell also, for each queue, how long its jobs waited and how long it waited within its quota")
	flags.DurationVar(&o.until, "until", 0, "end the runs at this `time`; 0 is when all is done")
	flags.IntVar(&o.warmUp, "warm-up", 0, "leave the jobs of the first so many `percent` of the time of submission out of the columns but those of\nevictions, lost work and quotas")
	flags.DurationVar(&o.sample, "sample", time.Hour, "the `time` between two rows of series.csv")
	flags.StringVar(&policyFile, "policy-file", "", "one scheduler more: a JSON `file` with a policy, of the form that pools have in a state; its name is the\npolicy's, or the file's")
	flags.DurationVar(&o.period, "period", 0, "decide at multiples of this `time` only; 0 is after every event")
	flags.DurationVar(&o.latency, "latency", 0, "the `time` from a decision to when its plan comes into force")
	flags.Int64Var(&o.drop, "drop", 0, "of so `many` of 1000 actions nothing comes, by chance")
	flags.StringVar(&o.out, "out", "", "write the files of each run to a folder in this `folder`")
	flags.BoolVar(&o.resume, "resume", false, "take the runs that -out has in full from there, as far as they are of the same trace and flags")
	flags.IntVar(&o.cores, "cores", 0, "how many runs at once; 0 is all cores")
	if err := program.Parse(flags, args, stdout, usage, usageEnd); err != nil {
		return nil, err
	}
	var err error
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("takes no argument, got %q", flags.Arg(0))
	}
	if err = o.source.check(); err != nil {
		return nil, err
	}
	if o.schedulers, err = schedulersNamed(policies); err != nil {
		return nil, err
	}
	if policyFile != "" {
		if o.schedulers, err = withPolicyFile(o.schedulers, policyFile); err != nil {
			return nil, err
		}
	}
	list, err := numbers("-seeds", seeds, 0, 1<<53)
	for _, n := range list {
		o.seeds = append(o.seeds, uint64(n))
	}
	if err != nil {
		return nil, err
	}
	if o.loads, err = numbers("-loads", loads, 1, 10000); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if fast {
		o.verify, o.reasons = 0, 0
	}
	return &o, nil
}

// check finds fault with numbers that are out of range.
func (o *options) check() error {
	if o.warmUp < 0 || o.warmUp > 99 {
		return fmt.Errorf("-warm-up must be from 0 to 99, is %d", o.warmUp)
	}
	const shortest = time.Second
	if o.until < 0 || o.sample < shortest || o.cores < 0 {
		return fmt.Errorf("-until and -cores must not be negative, and -sample must be %v at least", shortest)
	}
	if o.resume && o.out == "" {
		return fmt.Errorf("-resume needs -out")
	}
	if o.period < 0 || o.latency < 0 || o.drop < 0 || o.drop > 1000 {
		return fmt.Errorf("-period and -latency must not be negative, and -drop must be from 0 to 1000")
	}
	return nil
}

func schedulerNames() string {
	var names []string
	for _, s := range sim.Schedulers() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

func schedulersNamed(list string) (out []sim.Scheduler, err error) {
	if list == "all" {
		return sim.Schedulers(), nil
	}
	known := make(map[string]sim.Scheduler)
	for _, s := range sim.Schedulers() {
		known[s.Name] = s
	}
	for name := range strings.SplitSeq(list, ",") {
		s, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("-policies: %q is none of %s", name, schedulerNames())
		}
		if slices.ContainsFunc(out, func(other sim.Scheduler) bool { return other.Name == name }) {
			return nil, fmt.Errorf("-policies names %s twice", name)
		}
		out = append(out, s)
	}
	return out, nil
}

// maxPolicy is the largest file with a policy that is read.
const maxPolicy = 1 << 20

// withPolicyFile adds a scheduler that goes by the policy of a file.
func withPolicyFile(schedulers []sim.Scheduler, name string) ([]sim.Scheduler, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-policy-file: %w", err)
	}
	defer f.Close()
	var policy allot.Policy
	decoder := json.NewDecoder(io.LimitReader(f, maxPolicy))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&policy)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more than one value")
		}
	}
	if err == nil {
		err = allot.Check(&allot.State{Pools: []allot.Pool{{ID: "pool", Policy: policy}}})
	}
	if err != nil {
		return nil, fmt.Errorf("-policy-file %s: %w", name, err)
	}
	added := sim.Scheduler{Name: cmp.Or(policy.Name, strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))), Policy: &policy}
	if slices.ContainsFunc(sim.Schedulers(), func(s sim.Scheduler) bool { return s.Name == added.Name }) || strings.ContainsAny(added.Name, "/\\") {
		added.Name = "file-" + strings.NewReplacer("/", "-", "\\", "-").Replace(added.Name)
	}
	return append(schedulers, added), nil
}

// run is the program; now is the clock for the progress on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, now func() time.Time) int {
	parsed := func() (*options, error) { return parse(args, stdout) }
	return program.Run("replay", stderr, parsed, func(o *options) error {
		s, err := newSweep(o)
		if err != nil {
			return err
		}
		m := newMeter(stderr, now, len(s.runs))
		s.carryOut(ctx, m)
		m.end()
		return errors.Join(s.write(stdout), s.writeSweep())
	})
}
