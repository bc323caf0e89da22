package replay

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// A source is where the trace comes from.
type source struct {
	traces                              []string
	files                               []*traceFile // of the traces
	format, nodesFile, tenantsFile      string
	tasksFile, queuesFile, tenantColumn string
	mix                                 string
	nodes                               number
	jobs, tenants, perNode              int
	from, to                            time.Duration
	// said are the flags.
	said *flag.FlagSet
}

const formats = "native, acme, elasticflow, helios, muri, openb, pai, philly, philly-log, slurm, swf"

func (s *source) flags(flags *flag.FlagSet) {
	s.said = flags
	flags.StringVar(&s.format, "format", auto, "the `format` of the traces: "+formats+";\nauto is by how each begins, which all but pai tell")
	flags.StringVar(&s.nodesFile, "node-list", "", "the `file` with the nodes (openb; instead of -nodes pai and philly-log)")
	flags.StringVar(&s.tasksFile, "task-list", "", "the `file` with the tasks (pai)")
	flags.StringVar(&s.queuesFile, "queue-list", "", "a small CSV `file` with the queues of a trace, in place of its own: tenant, quota in GPUs,\nand as far as wanted parent, limit and weight")
	flags.StringVar(&s.tenantColumn, "tenant-column", "", "the `column` of a trace with the tenants (acme, helios, pai, philly-log, slurm; each has its own)")
	flags.StringVar(&s.tenantsFile, "tenant-list", "", "the `file` with the tenants' nodes (philly)")
	flags.StringVar(&s.mix, "mix", "philly", "what a made trace is like: "+mixNames())
	s.nodes.n = 16
	flags.Var(&s.nodes, "nodes", "the `number` of nodes, of 8 GPUs or -per-node (of a trace that does not say, and of swf\nalso of one that does)")
	flags.IntVar(&s.jobs, "jobs", 2000, "the `number` of jobs of a made trace")
	flags.IntVar(&s.tenants, "tenants", 4, "the `number` of tenants of a made trace, each with an even quota")
	flags.DurationVar(&s.from, "from", 0, "leave out jobs submitted before this `time` of a trace")
	flags.DurationVar(&s.to, "to", 0, "leave out jobs submitted at or after this `time` of a trace; 0 is none")
	flags.IntVar(&s.perNode, "per-node", 8, "the `number` of GPUs of a node (acme, helios, pai, philly-log, slurm), or of processors (swf)")
}

func mixNames() string {
	var names []string
	for _, m := range trace.Mixes() {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func (s *source) check() error {
	const most = 1 << 24
	switch {
	case s.format != auto && !strings.Contains(", "+formats+",", ", "+s.format+","):
		return fmt.Errorf("-format must be one of auto, %s, is %q", formats, s.format)
	case len(s.traces) == 0 && s.format != auto:
		return fmt.Errorf("-format %s needs a trace", s.format)
	case s.from < 0 || s.to < 0 || s.to > 0 && s.to <= s.from:
		return errors.New("-from and -to must be times, -to the later one")
	case s.nodes.n < 1 || s.nodes.n > most || s.jobs < 0 || s.jobs > most || s.tenants < 0 || s.tenants > 99 || s.perNode < 1 || s.perNode > 64:
		return errors.New("-nodes, -jobs, -tenants or -per-node is out of range")
	case !slices.ContainsFunc(trace.Mixes(), func(m trace.Mix) bool { return m.Name == s.mix }):
		return fmt.Errorf("-mix must be one of %s, is %q", mixNames(), s.mix)
	}
	return s.checkUses()
}

// A number is one that may have been said, or is what goes without saying.
type number struct {
	n    int
	said bool
}

// String is the text form.
func (n *number) String() string { return strconv.Itoa(n.n) }

// Set reads the text form.
func (n *number) Set(text string) (err error) {
	if n.n, err = strconv.Atoi(text); err != nil {
		return errors.New("must be a whole number")
	}
	n.said = true
	return nil
}

// made stands among formats for a trace that is made.
const made = "made"

// uses says of which formats a flag says something: a list, or any that is read.
var uses = []struct{ flag, formats string }{
	{"queue-list", formats}, {"from", formats}, {"to", formats},
	{"node-list", "openb, pai, philly-log"}, {"task-list", "pai"}, {"tenant-list", "philly"},
	{"tenant-column", "acme, helios, pai, philly-log, slurm"}, {"per-node", "acme, helios, pai, philly-log, slurm, swf"},
	{"nodes", "made, acme, elasticflow, helios, muri, pai, philly-log, slurm, swf"},
	{"jobs", made}, {"tenants", made}, {"mix", made},
}

// checkUses refuses flags that say nothing of any of the traces.
func (s *source) checkUses() error {
	of := []string{made}
	if len(s.traces) > 0 {
		of = nil
	}
	s.closeTraces()
	for _, name := range s.traces {
		s.files = append(s.files, openTrace(name, s.format))
	}
	for _, file := range s.files {
		if file.err != nil && s.format == auto {
			return nil // whoever reads it says what is wrong
		}
		of = append(of, file.format)
	}
	for _, use := range uses {
		if f := s.said.Lookup(use.flag); f.Value.String() == f.DefValue {
			continue
		}
		if !slices.ContainsFunc(of, func(format string) bool { return s.uses(use.flag, use.formats, format) }) {
			return fmt.Errorf("-%s says nothing of a trace that is %s: only of %s", use.flag, strings.Join(of, ", "), use.formats)
		}
	}
	return nil
}

// closeTraces closes and forgets the traces that have been opened.
func (s *source) closeTraces() {
	for _, file := range s.files {
		if file.file != nil {
			file.file.Close() // it was only read
		}
	}
	s.files = nil
}

// uses says whether a flag says something of a trace of a format. A list of nodes says how many
// there are.
func (s *source) uses(flag, list, format string) bool {
	if flag == "nodes" && s.nodesFile != "" && (format == "pai" || format == "philly-log") {
		return false
	}
	return slices.Contains(strings.Split(list, ", "), format)
}

// needs is an error where a trace of a format needs a file that is not named.
func (s *source) needs(format string) error {
	switch {
	case format == "openb" && s.nodesFile == "":
		return errors.New("a trace of format openb needs -node-list")
	case format == "pai" && s.tasksFile == "":
		return errors.New("a trace of format pai needs -task-list")
	case format == "philly" && s.tenantsFile == "":
		return errors.New("a trace of format philly needs -tenant-list")
	}
	return nil
}

// read reads the trace, as it is.
func (s *source) read(file *traceFile) (in *sim.Input, err error) {
	if file.err != nil {
		return nil, file.err
	}
	if err := s.needs(file.format); err != nil {
		return nil, fmt.Errorf("%s: %w", file.name, err)
	}
	if in, err = s.readJobs(file.format, file.text); err != nil {
		return nil, fmt.Errorf("%s: %w", file.name, err)
	}
	if s.queuesFile != "" {
		var queues []allot.Queue
		err := withFile(s.queuesFile, func(f io.Reader) (err error) {
			queues, err = trace.Tenants(f)
			return err
		})
		var bad *sim.BadInputError
		if errors.As(err, &bad) {
			in.LeftOut = append(in.LeftOut, bad.List...)
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", s.queuesFile, err)
		}
		in = trace.WithTenants(in, queues)
	}
	if s.from > 0 || s.to > 0 {
		in = trace.Between(in, s.from, s.to)
	}
	return in, nil
}

// readJobs reads a trace of a format.
func (s *source) readJobs(format string, jobs io.Reader) (in *sim.Input, err error) {
	site := trace.Site{Nodes: s.nodes.n, PerNode: s.perNode, Tenant: s.tenantColumn}
	if s.nodesFile != "" && (format == "pai" || format == "philly-log") {
		nodes, err := os.Open(s.nodesFile)
		if err != nil {
			return nil, err
		}
		defer nodes.Close()
		site.List = nodes
	}
	switch format {
	case "native":
		in, err = trace.Read(jobs)
	case "elasticflow":
		in, err = trace.ElasticFlow(jobs, s.nodes.n)
	case "muri":
		in, err = trace.Muri(jobs, s.nodes.n)
	case "swf":
		o := trace.SWFOptions{PerNode: s.perNode, Queues: true}
		if s.nodes.said {
			o.Processors = s.nodes.n * s.perNode
		}
		in, err = trace.SWF(jobs, o)
	case "philly":
		err = withFile(s.tenantsFile, func(f io.Reader) (err error) {
			in, err = trace.Philly(jobs, f)
			return err
		})
	case "philly-log":
		in, err = trace.PhillyLog(jobs, site)
	case "helios":
		in, err = trace.Helios(jobs, site)
	case "acme":
		in, err = trace.Acme(jobs, site)
	case "slurm":
		in, err = trace.Slurm(jobs, site)
	case "pai":
		err = withFile(s.tasksFile, func(f io.Reader) (err error) {
			in, err = trace.PAI(jobs, f, site)
			return err
		})
	case "openb":
		err = withFile(s.nodesFile, func(f io.Reader) (err error) {
			in, err = trace.Openb(f, jobs)
			return err
		})
	}
	return in, err
}

func withFile(name string, do func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

// made makes a trace.
func (s *source) made(seed uint64, load int64) (*sim.Input, error) {
	const burst = 20
	for _, m := range trace.Mixes() {
		if m.Name == s.mix {
			return trace.Generate(m, trace.Load{Seed: seed, Nodes: s.nodes.n, Jobs: s.jobs, Percent: load, Tenants: s.tenants, Burst: burst})
		}
	}
	return nil, fmt.Errorf("no mix %q", s.mix)
}

// withFaults adds faults, to the time of the last submission and a day; of jobs that come in
// more than some years the run may say that they cannot be run.
func withFaults(in *sim.Input, seed uint64) (*sim.Input, error) {
	const day = 24 * time.Hour
	const years = 50 * 365 * day
	until := day
	for i := range in.Jobs {
		if at := in.Jobs[i].Submit; at <= years {
			until = max(until, at+day)
		}
	}
	return trace.FaultsOf(in, trace.Faults{
		Seed: seed, Until: until, NodeLost: 30 * day, NodeBack: 2 * time.Hour,
		DeviceLost: 200 * day, DeviceBack: 4 * time.Hour, Cordon: 60 * day, Uncordon: 3 * time.Hour,
		TaskFails: 60 * day, QueueSet: 7 * day, CancelPercent: 2,
	})
}

// typical are costs as they are common.
func typical() sim.Costs {
	return sim.Costs{
		Start: 40 * time.Second, Grace: 30 * time.Second, Loses: true,
		Checkpoint: 30 * time.Minute, Save: 20 * time.Second, Restore: time.Minute,
	}
}

// numbers reads a list such as 1,4 or 1-3.
func numbers(name, list string, least, most int64) (out []int64, err error) {
	const longest = 1000
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, first := strconv.ParseInt(from, 10, 64)
		b, last := strconv.ParseInt(to, 10, 64)
		if first != nil || last != nil || a < least || b > most || a > b || b-a >= longest || len(out) >= longest {
			return nil, fmt.Errorf("%s must be numbers from %d to %d such as 1,4 or 1-3, is %q", name, least, most, list)
		}
		for n := a; n <= b; n++ {
			if slices.Contains(out, n) {
				return nil, fmt.Errorf("%s has %d twice", name, n)
			}
			out = append(out, n)
		}
	}
	return out, nil
}
