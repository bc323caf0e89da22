// Command topology reads a state, as JSON or as a scenario, solves it and draws
// the cluster as it is when the plan is carried out: its domains as nested boxes,
// its devices coloured by workload, the links that gangs use, and beside them who
// started, who had to leave, and who waits for what. The picture is an SVG that
// needs nothing else, or a page that holds it. topology -h tells all.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/sim/scenario"
)

const usage = `Usage: topology [flags] FILE

Reads a state from FILE, or from standard input if FILE is -, solves it, and
prints a picture of the cluster when the plan is carried out.

`

const usageInput = `
FILE is the JSON form of allot.State if it begins with a brace, else the
statements of a scenario (go doc github.com/allotsched/allot/sim/scenario).
Beyond 200 nodes the picture is summarised: a tile is a node, a tick is a GPU.
The same input gives the same bytes.

Exit codes: 0 there is a picture, even if everything waits; 1 the input is
malformed or cannot be read, or the plan is not lawful; 2 usage.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	file, title string
	wide, page  bool
}

// parse reads the command line. The error is flag.ErrHelp where help is asked
// for, and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flag.NewFlagSet("topology", flag.ContinueOnError)
	flags.StringVar(&o.title, "title", "The cluster and the plan", "heading of the picture")
	flags.BoolVar(&o.wide, "wide", false, "put the legend beside the cluster, for screens, not below it, for phones")
	flags.BoolVar(&o.page, "html", false, "print a page that puts the legend where there is room")
	if err := program.Parse(flags, args, stdout, usage, usageInput); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 {
		return nil, fmt.Errorf("takes one file, or - for standard input, got %d arguments", flags.NArg())
	}
	if o.wide && o.page {
		return nil, errors.New("-html finds room by itself: not with -wide")
	}
	o.file = flags.Arg(0)
	return &o, nil
}

// run is the program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	parsed := func() (*options, error) { return parse(args, stdout) }
	return program.Run("topology", stderr, parsed, func(o *options) error {
		state, err := read(o.file, stdin)
		if err != nil {
			return err
		}
		s, err := newScene(state)
		if err != nil {
			return fmt.Errorf("%s: %w", o.file, err)
		}
		_, err = io.WriteString(stdout, picture(s, o))
		return err
	})
}

// read reads the state in either form.
func read(file string, stdin io.Reader) (*allot.State, error) {
	var input []byte
	var err error
	if file == "-" {
		input, err = io.ReadAll(stdin)
	} else {
		input, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(input), []byte("{")) {
		state, err := scenario.State(string(input))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return state, nil
	}
	var state allot.State
	if err := state.UnmarshalJSON(input); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &state, nil
}
