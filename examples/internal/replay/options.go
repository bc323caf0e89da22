package replay

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// Options are what the command line says: the flags of [NewOptions] put it in, and
// [Options.Check] reads it.
type Options struct {
	source
	schedulers []sim.Scheduler
	seeds      []uint64
	loads      []int64
	// said are the flags that are lists, as they were said.
	said struct{ policies, seeds, loads string }
	fast bool
	// added are schedulers beside those that the flags name.
	added     []sim.Scheduler
	faults    bool
	costs     bool
	verify    sampling
	reasons   sampling
	leaveOut  bool
	byQueue   bool
	until     time.Duration
	warmUp    int
	sample    time.Duration
	out, page string
	cores     int
	period    time.Duration
	latency   time.Duration
	drop      int64
	resume    bool
	// estimates is the kind of them that jobs are given; empty leaves them their own.
	estimates string
	// large is how many GPUs a job asks at the least that has priority 1; 0 leaves jobs their own.
	large int64
	// ListAll: of a trace that is refused all that cannot be run is listed, and not the first of it.
	ListAll bool
}

// NewOptions are options that the flags, which it defines, will set.
func NewOptions(flags *flag.FlagSet) *Options {
	o := &Options{}
	o.source.flags(flags)
	flags.StringVar(&o.said.policies, "policies", "fifo,static-partition,osmo,runai", "the schedulers, by `name`: "+schedulerNames()+", all")
	flags.StringVar(&o.said.seeds, "seeds", "1", "the `seeds` of made traces and of faults, such as 1,4 or 1-3")
	flags.StringVar(&o.said.loads, "loads", "100", "the loads in `percent`: of a trace's own, or for a made one of the cluster")
	flags.StringVar(&o.estimates, "estimates", "", "what jobs are thought to take, instead of what a trace says, of `kind` "+strings.Join(trace.EstimateKinds(), ", ")+":\nthe truth, twice as long, or as users say it, drawn by the seed")
	flags.Int64Var(&o.large, "large", 0, "jobs of so `many` GPUs or more have priority 1, for a -policy-file that heeds it; 0 leaves all as they are")
	flags.BoolVar(&o.faults, "faults", false, "nodes, GPUs and tasks fail, users give up, quotas change")
	flags.BoolVar(&o.costs, "costs", false, "starts take 40 s, stops 30 s, checkpoints 20 s every half hour, and work since then is lost;\nwithout it all of that is free")
	o.verify, o.reasons = bySize, bySize
	flags.Var(&o.verify, "verify", "verify one plan of so `many`, all or none; auto is one of as many as there are nodes and GPUs, but of 100 at least")
	flags.Var(&o.reasons, "reasons", "ask one decision of so `many` what GPUs are idle for, all, none or auto; with none no fair shares are told either")
	flags.BoolVar(&o.fast, "fast", false, "-verify none -reasons none")
	flags.BoolVar(&o.leaveOut, "leave-out", false, "leave out what of a trace cannot be run; without it nothing is run if there is any")
	flags.BoolVar(&o.byQueue, "by-queue", false, "tell also, for each queue, how long its jobs waited and how long it waited within its quota")
	flags.DurationVar(&o.until, "until", 0, "end the runs at this `time`; 0 is when all is done")
	flags.IntVar(&o.warmUp, "warm-up", 0, "leave the jobs of the first so many `percent` of the time of submission out of the columns but those of\nevictions, lost work and quotas")
	flags.DurationVar(&o.sample, "sample", time.Hour, "the `time` between two rows of series.csv")
	flags.DurationVar(&o.period, "period", 0, "decide at multiples of this `time` only; 0 is after every event")
	flags.DurationVar(&o.latency, "latency", 0, "the `time` from a decision to when its plan comes into force")
	flags.Int64Var(&o.drop, "drop", 0, "of so `many` of 1000 actions nothing comes, by chance")
	flags.StringVar(&o.page, "page", "", "write a page of all runs for a browser to this `file`")
	flags.StringVar(&o.out, "out", "", "write the files of each run, and the page, to a folder in this `folder`")
	flags.BoolVar(&o.resume, "resume", false, "take the runs that -out has in full from there, as far as they are of the same trace and flags")
	flags.IntVar(&o.cores, "cores", 0, "how many runs at once; 0 is all cores")
	return o
}

// Check takes in the traces, none where one is made, and reads what the flags said. The
// error is about the command line.
func (o *Options) Check(traces []string) (err error) {
	o.traces = traces
	if err := o.source.check(); err != nil {
		return err
	}
	if o.schedulers, err = schedulersNamed(o.said.policies); err != nil {
		return err
	}
	o.schedulers = append(o.schedulers, o.added...)
	list, err := numbers("-seeds", o.said.seeds, 0, 1<<53)
	for _, n := range list {
		o.seeds = append(o.seeds, uint64(n))
	}
	if err != nil {
		return err
	}
	if o.loads, err = numbers("-loads", o.said.loads, 1, 10000); err != nil {
		return err
	}
	if o.fast {
		o.verify, o.reasons = 0, 0
	}
	return o.check()
}

// check finds fault with numbers that are out of range.
func (o *Options) check() error {
	if o.warmUp < 0 || o.warmUp > 99 {
		return fmt.Errorf("-warm-up must be from 0 to 99, is %d", o.warmUp)
	}
	const shortest = time.Second
	if o.until < 0 || o.sample < shortest || o.cores < 0 {
		return fmt.Errorf("-until and -cores must not be negative, and -sample must be %v at least", shortest)
	}
	if o.estimates != "" && !slices.Contains(trace.EstimateKinds(), o.estimates) {
		return fmt.Errorf("-estimates must be one of %s, is %q", strings.Join(trace.EstimateKinds(), ", "), o.estimates)
	}
	if o.large < 0 {
		return fmt.Errorf("-large must not be negative, is %d", o.large)
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

// Add adds a scheduler that goes by a policy; file is the name of where it is from.
func (o *Options) Add(policy allot.Policy, file string) error {
	plain := strings.NewReplacer("/", "-", "\\", "-")
	name := plain.Replace(cmp.Or(policy.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))))
	known := append(sim.Schedulers(), o.added...)
	taken := func(s sim.Scheduler) bool { return s.Name == name }
	if slices.ContainsFunc(known, taken) {
		name = "file-" + name
	}
	if slices.ContainsFunc(known, taken) {
		return fmt.Errorf("two policies are named %s", name)
	}
	o.added = append(o.added, sim.Scheduler{Name: name, Policy: &policy})
	return nil
}
