// Command openb plans the load of a real GPU cluster: 1,213 nodes with 6,212
// GPUs and the 8,152 pods that arrived there, as one state. It prints what was
// placed, what waits and why, and what is left of the GPUs.
//
// The cluster and its load are Alibaba's cluster-trace-gpu-v2023 (openb),
// published with the FGD paper (USENIX ATC 2023, Apache-2.0). What is compiled
// in are facts of it: the shapes of nodes and pods and how often each occurs,
// mixed evenly into an order of arrival. With -nodes and -pods it reads the
// original files instead and takes the names and the order from there.
//
// Standard output is the same every time. Timings, memory and, on a terminal,
// a line of progress go to standard error.
//
// The trace names no tenants. Here a pod's quality of service is its queue:
//
//	qos         queue                         quota  preemptible
//	LS          production/latency-sensitive  60%    no
//	Guaranteed  production/guaranteed          1%    no
//	Burstable   batch/burstable                4%    yes
//	BE          batch/best-effort             25%    yes
//
// Quotas are in percent of all GPUs, rounded down to whole ones; the rest
// belongs to nobody, and Determined's presets know no quotas. Under a preset
// with classes a pod has the class of its quality of service that is nearest
// in meaning.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/verify"
)

// maxLoad is the most that -load takes, in percent.
const maxLoad = 1000

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, time.Now))
}

// options are what the command line says.
type options struct {
	nodes, pods  string
	preset       string
	strategy     placement.Strategy
	load         int
	json, verify bool
}

const usage = `Usage: openb [flags]

Plans the load of a real GPU cluster (Alibaba's openb trace) and prints what
was placed, what waits and why. Without -nodes and -pods it takes the shapes
and counts that are compiled in. Timings go to standard error.

`

const usageEnd = `
Exit codes: 0 done, 1 a file cannot be read or the plan is unlawful, 2 usage.
`

// parse reads the command line. The error is flag.ErrHelp where help is asked
// for, and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flag.NewFlagSet("openb", flag.ContinueOnError)
	flags.StringVar(&o.nodes, "nodes", "", "the trace's node list, a CSV `file`, plain or gzipped")
	flags.StringVar(&o.pods, "pods", "", "the trace's pod list, a CSV `file`, plain or gzipped")
	flags.StringVar(&o.preset, "preset", "runai", "the policy, a preset by `name`: "+presetNames())
	flags.TextVar(&o.strategy, "strategy", placement.BinPack, "the placement `strategy`: bin-pack, spread, first")
	flags.IntVar(&o.load, "load", 100, "how much of the load arrives, in `percent`: its first pods, or over 100\nall of them and then the same again")
	flags.BoolVar(&o.json, "json", false, "print JSON, with amounts of GPU in milli")
	flags.BoolVar(&o.verify, "verify", true, "have verify.Plan check the plan")
	if err := program.Parse(flags, args, stdout, usage, usageEnd); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("takes no argument, got %q", flags.Arg(0))
	case presetOf(o.preset) == nil:
		return nil, fmt.Errorf("-preset must be one of %s, is %q", presetNames(), o.preset)
	case o.load < 0 || o.load > maxLoad:
		return nil, fmt.Errorf("-load must be from 0 to %d, is %d", maxLoad, o.load)
	}
	return &o, nil
}

// run is the program; now is the clock for the timings on stderr.
func run(args []string, stdout, stderr io.Writer, now func() time.Time) int {
	parsed := func() (*options, error) { return parse(args, stdout) }
	return program.Run("openb", stderr, parsed, func(o *options) error {
		m := newMeter(stderr, now)
		r, err := plan(o, m)
		if err == nil {
			err = r.write(stdout, o.json)
		}
		m.end()
		if err == nil {
			m.summary(r.Arrived.Pods)
		}
		return err
	})
}

// plan reads, solves, verifies and reports.
func plan(o *options, m *meter) (*report, error) {
	m.begin("read")
	t, err := readTrace(o.nodes, o.pods)
	if err != nil {
		return nil, err
	}
	p := presetOf(o.preset)
	policy := p.policy()
	policy.GPUStrategy, policy.CPUStrategy = o.strategy, o.strategy
	pods := t.arriving(o.load)
	state := buildState(t.machines, pods, p, policy)
	m.begin("solve")
	plan, err := allot.Solve(state)
	if err != nil {
		return nil, err
	}
	if o.verify {
		m.begin("verify")
		if err := verify.Plan(state, plan); err != nil {
			return nil, err
		}
	}
	m.begin("report")
	r := newReport(t, pods, plan)
	r.NodeSource = cmp.Or(o.nodes, "openb's node shapes")
	r.PodSource = cmp.Or(o.pods, "pod shapes")
	r.Preset, r.Strategy = o.preset, o.strategy.String()
	r.LoadPercent, r.Verified = o.load, o.verify
	return r, nil
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
