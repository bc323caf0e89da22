// Command benchmarks measures what Allot promises about its speed and memory: it
// runs the benchmarks of every shape, and prints what they took beside the floor
// of the same run (to sort and to write, without any decision), how that grows
// with the size, what was allocated and held, and which targets were met.
// benchmarks -h tells all.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/allotsched/allot/examples/internal/program"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	shapes       *regexp.Regexp // by title or benchmark
	count        int
	short        bool
	from, to     string // files of results; "" is none
	markdown     bool
	updateReadme bool
	progress     bool // standard error is a terminal
}

const usage = `usage: go -C examples/benchmarks run . [flags]

Runs the benchmarks of all shapes, each size in a process of its own, and prints
their figures, growths and targets. All of it takes about half an hour; run it
on a machine that does nothing else.

`

const usageAfter = `
A growth n^x is the slope of log time over log n: 1 is in proportion to n, and
n·log n shows as 1.1 to 1.2. A ratio is the median of the ratios within each run.
Results are in Go's benchmark format, for benchstat as well.

  go -C examples/benchmarks run . -short -shapes Fill
  go -C examples/benchmarks run . -update-readme
`

// parse reads the command line. The error is flag.ErrHelp where help is asked
// for, and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{shapes: regexp.MustCompile("")}
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	flags.Func("shapes", "only shapes whose title or benchmark matches this `regexp`", func(text string) (err error) {
		o.shapes, err = regexp.Compile(text)
		return err
	})
	flags.IntVar(&o.count, "count", 5, "how often each benchmark is run; the medians are printed")
	flags.BoolVar(&o.short, "short", false, "without the largest size of each shape, and every benchmark once")
	flags.StringVar(&o.from, "from", "", "read results from this `file` (- is standard input) and measure nothing")
	flags.StringVar(&o.to, "to", "", "write the results to this `file` as well")
	flags.BoolVar(&o.markdown, "markdown", false, "print the form of README.md")
	flags.BoolVar(&o.updateReadme, "update-readme", false, "write the results to "+kept+" and their tables into README.md, instead of printing them")
	if err := program.Parse(flags, args, stdout, usage, usageAfter); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() != 0:
		return nil, fmt.Errorf("takes no arguments, got %d", flags.NArg())
	case o.count < 1:
		return nil, fmt.Errorf("-count is %d, must be 1 or more", o.count)
	case o.updateReadme && (o.short || o.shapes.String() != ""):
		return nil, errors.New("-update-readme takes all shapes at all sizes")
	}
	return o, nil
}

// run is the program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return program.Run("benchmarks", stderr,
		func() (*options, error) { return parse(args, stdout) },
		func(o *options) error { return report(o, stdin, stdout, stderr) })
}

// report measures, or reads what was measured, and prints it.
func report(o *options, stdin io.Reader, stdout, stderr io.Writer) error {
	chosen := choose(allShapes(), o)
	if len(chosen) == 0 {
		return fmt.Errorf("no shape matches %q", o.shapes)
	}
	raw, err := o.results(chosen, stdin, stderr)
	if o.to != "" && len(raw) > 0 { // of long work also what was done before it failed
		err = errors.Join(err, os.WriteFile(o.to, raw, 0o666))
	}
	if err != nil {
		return err
	}
	m, err := readMeasurements(raw)
	if err != nil {
		return err
	}
	text := m.text(chosen)
	if o.markdown {
		text = m.markdown(chosen)
	}
	if o.updateReadme {
		return updateReadme(raw, m.markdown(chosen))
	}
	_, err = io.WriteString(stdout, text)
	return err
}

// results are those of the file that was named, or new ones.
func (o *options) results(chosen []shape, stdin io.Reader, stderr io.Writer) ([]byte, error) {
	switch o.from {
	case "":
		if stderr == os.Stderr {
			o.progress = terminal(os.Stderr)
		}
		return measure(chosen, o, stderr)
	case "-":
		return io.ReadAll(stdin)
	}
	return os.ReadFile(o.from)
}

// terminal tells whether somebody may watch the file.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
