package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Exit codes.
const (
	// OK: it did what was asked, which includes to tell its usage.
	OK = 0
	// Failed: the input is no good, or something is not as it should be.
	Failed = 1
	// Usage: the command line makes no sense.
	Usage = 2
)

// Parse reads a command line. Where it asks for help Parse prints before, the
// flags and after to stdout and returns [flag.ErrHelp]. Any other error is the
// caller's to print: the flags print nothing themselves.
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer, before, after string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, before)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprint(stdout, after)
	}
	return err
}

// Run is the frame of a program: it exits with [Usage] where parse refuses the
// command line and with [Failed] where do fails, and tells why on stderr.
func Run[Options any](name string, stderr io.Writer, parse func() (Options, error), do func(Options) error) int {
	o, err := parse()
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v; -h shows the usage\n", name, err)
		return Usage
	}
	if err := do(o); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return Failed
	}
	return OK
}
