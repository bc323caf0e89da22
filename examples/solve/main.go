// Command solve reads a state as JSON and prints the plan: what starts where,
// what waits and why, and the figures of every queue, as text or as JSON. It
// is allot.Solve for a shell, for bug reports and for hosts in other languages.
// solve -h tells all.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/verify"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are what the command line says.
type options struct {
	file                 string
	json, verify, shares bool
}

// parse reads the command line. The error is flag.ErrHelp where help is asked
// for, and has been given.
func parse(args []string, stdout io.Writer) (*options, error) {
	var o options
	flags := flag.NewFlagSet("solve", flag.ContinueOnError)
	flags.BoolVar(&o.json, "json", false, "print the plan as JSON")
	flags.BoolVar(&o.verify, "verify", true, "have verify.Plan check the plan before it is printed")
	flags.BoolVar(&o.shares, "shares", true, "print the figures of the queues")
	if err := program.Parse(flags, args, stdout, usage, usageInput+sample); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 {
		return nil, fmt.Errorf("takes one file, or - for standard input, got %d arguments", flags.NArg())
	}
	o.file = flags.Arg(0)
	return &o, nil
}

// run is the program. It fails if the input is malformed or cannot be read, or
// the plan is not lawful.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return program.OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "solve: %v; -h tells all\n", err)
		return program.Usage
	}
	plan, err := solve(o, stdin)
	if err == nil {
		err = write(stdout, plan, o.json)
	}
	if err != nil {
		complain(stderr, o.file, err)
		return program.Failed
	}
	return program.OK
}

// solve reads the state and plans it.
func solve(o *options, stdin io.Reader) (*allot.Plan, error) {
	var input []byte
	var err error
	if o.file == "-" {
		input, err = io.ReadAll(stdin)
	} else {
		input, err = os.ReadFile(o.file)
	}
	if err != nil {
		return nil, err
	}
	var state allot.State
	// Not json.Unmarshal, which would report broken syntax in its own way.
	if err := state.UnmarshalJSON(input); err != nil {
		return nil, err
	}
	plan, err := allot.Solve(&state)
	if err != nil {
		return nil, err
	}
	if o.verify {
		if err := verify.Plan(&state, plan); err != nil {
			return nil, err
		}
	}
	if !o.shares {
		plan.Shares = nil
	}
	return plan, nil
}

func write(w io.Writer, plan *allot.Plan, asJSON bool) error {
	if !asJSON {
		return plan.WriteText(w)
	}
	text, err := plan.MarshalJSON()
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", "  "); err != nil {
		return err
	}
	lines.WriteByte('\n')
	_, err = w.Write(lines.Bytes())
	return err
}

// complain prints an error; of a malformed state every fault, a line each,
// with its path and code.
func complain(w io.Writer, file string, err error) {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		fmt.Fprintln(w, "solve:", err)
		return
	}
	for _, fault := range invalid.Faults {
		fmt.Fprintf(w, "solve: %s: %s (%s)\n", file, fault, fault.Code)
	}
}
