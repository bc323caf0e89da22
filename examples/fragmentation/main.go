// Command fragmentation compares placement strategies on a GPU cluster that fills
// up: pods arrive one after the other, each is placed once, nothing leaves, and
// what counts is how much of the GPUs is allocated when a given load has arrived.
// It is the experiment of the FGD paper ('Beware of Fragmentation', USENIX ATC
// 2023), over any node list and pod lists of Alibaba's cluster-trace-gpu-v2023
// (openb). Without files it takes the shapes and counts that are compiled in.
//
// # Protocol
//
// The pods are sorted by name and shuffled by a seed. Then, until the load is that
// of -load, pods are drawn from the list again and appended, or, if there are too
// many, taken out at random. The seed's next permutation is the order of the nodes,
// which decides between equal scores. A pod that finds no place has arrived all the
// same. Nodes hold 1,001 pods at most.
//
// A cell of the table is the mean over the arrivals at which the load that has
// arrived, in percent of all GPUs, rounds to k. Fragmented is, of what is free,
// what the average pod of the target mix cannot use. The target mix are the shapes
// of the list, most frequent first, until 95% of its pods are covered.
//
// Where the workload is one of the five of the publication, the published figure
// stands beside ours. Bound is what no placement can leave less of, even one that
// knows all pods beforehand and minds neither CPU nor models nor nodes. Idle nodes
// are those of the most GPUs with all of them free: where a gang, or a pod of whole
// nodes, would find room.
//
// Standard output and the picture are the same every time, however many runs go at
// once. Timings and, on a terminal, a line of progress go to standard error.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/placement"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, time.Now))
}

// options are what the command line says.
type options struct {
	nodes    string
	pods     []string
	policies []placement.Strategy
	seeds    []int64
	load     int
	jobs     int
	picture  string
	json     bool
}

const usage = `Usage: fragmentation [flags]

Fills a GPU cluster with pods, one after the other, under several placement
strategies and prints how much of the GPUs each can allocate and how many nodes it
keeps idle, beside a bound, and the figures published with FGD where the workload
is one of theirs. Without -nodes and -pods
it takes the shapes and counts of Alibaba's openb trace that are compiled in.
Timings go to standard error.

`

const usageEnd = `
Exit codes: 0 done, 1 a file cannot be read or written, 2 usage.
`

// The bounds of the command line.
const (
	maxLoad  = 1000
	maxSeeds = 1000
	maxJobs  = 1024
)

// parse reads the command line. The error is flag.ErrHelp where help is asked
// for, and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	o := options{policies: usual, seeds: seedRange(42, 51)}
	flags := flag.NewFlagSet("fragmentation", flag.ContinueOnError)
	flags.StringVar(&o.nodes, "nodes", "", "the node list, a CSV `file`, plain or gzipped")
	flags.Func("pods", "a pod list, a CSV `file`, plain or gzipped; may be given several times", func(file string) error {
		o.pods = append(o.pods, file)
		return nil
	})
	flags.Func("policies", "the placement strategies, `names` with commas between, of any that package\nplacement has (default "+names(usual)+")", func(list string) (err error) {
		o.policies, err = parsePolicies(list)
		return err
	})
	flags.Func("seeds", "the seeds, `numbers` and ranges with commas between (default 42-51)", func(list string) (err error) {
		o.seeds, err = parseSeeds(list)
		return err
	})
	flags.IntVar(&o.load, "load", 130, "how much arrives, in `percent` of all GPUs")
	flags.IntVar(&o.jobs, "jobs", 0, "how many runs go at once, a `number`; 0 is one for each core")
	flags.StringVar(&o.picture, "svg", "", "draw a picture, an SVG `file`")
	flags.BoolVar(&o.json, "json", false, "print JSON, with parts of the GPUs in hundredths of a percent")
	if err := program.Parse(flags, args, stdout, usage, usageEnd); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("takes no argument, got %q", flags.Arg(0))
	case o.load < 1 || o.load > maxLoad:
		return nil, fmt.Errorf("-load must be from 1 to %d, is %d", maxLoad, o.load)
	case o.jobs < 0 || o.jobs > maxJobs:
		return nil, fmt.Errorf("-jobs must be from 0 to %d, is %d", maxJobs, o.jobs)
	}
	if o.jobs == 0 {
		o.jobs = runtime.GOMAXPROCS(0)
	}
	if o.pods == nil {
		o.pods = []string{""}
	}
	return &o, nil
}

func parsePolicies(list string) ([]placement.Strategy, error) {
	var out []placement.Strategy
	for name := range strings.SplitSeq(list, ",") {
		var s placement.Strategy
		if err := s.UnmarshalText([]byte(name)); err != nil || s == placement.Default {
			return nil, fmt.Errorf("no strategy is called %q", name)
		}
		if slices.Contains(out, s) {
			return nil, fmt.Errorf("%s stands there twice", name)
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSeeds(list string) ([]int64, error) {
	var out []int64
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseInt(first, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no seed", part)
		}
		to, err := strconv.ParseInt(last, 10, 32)
		if err != nil || to < from || to-from >= maxSeeds {
			return nil, fmt.Errorf("%q is no range of at most %d seeds", part, maxSeeds)
		}
		out = append(out, seedRange(from, to)...)
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) < len(out) || len(out) > maxSeeds {
		return nil, fmt.Errorf("must be at most %d seeds, each once", maxSeeds)
	}
	return out, nil
}

func seedRange(from, to int64) (out []int64) {
	for seed := from; seed <= to; seed++ {
		out = append(out, seed)
	}
	return out
}

func names(policies []placement.Strategy) string {
	list := make([]string, len(policies))
	for i, s := range policies {
		list[i] = s.String()
	}
	return strings.Join(list, ",")
}

// run is the program; now is the clock for the timings on stderr.
func run(args []string, stdout, stderr io.Writer, now func() time.Time) int {
	parsed := func() (*options, error) { return parse(args, stdout) }
	return program.Run("fragmentation", stderr, parsed, func(o *options) error {
		m := newMeter(stderr, now)
		r, err := experiment(o, m)
		if err == nil && o.picture != "" {
			err = os.WriteFile(o.picture, []byte(r.picture()), 0o666)
		}
		if err == nil {
			err = r.write(stdout, o.json)
		}
		if err == nil {
			m.summary()
		}
		return err
	})
}

// experiment reads the lists, makes all runs and reports.
func experiment(o *options, m *meter) (*report, error) {
	c, err := readCluster(o.nodes)
	if err != nil {
		return nil, err
	}
	var workloads []*workload
	for _, file := range o.pods {
		w, err := readWorkload(file)
		if err == nil {
			err = w.check(c, o.load)
		}
		if err != nil {
			return nil, err
		}
		workloads = append(workloads, w)
	}
	results, err := runAll(c, workloads, o, m)
	if err != nil {
		return nil, err
	}
	return newReport(c, workloads, o, results)
}

func (r *report) write(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.writeText(w)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
