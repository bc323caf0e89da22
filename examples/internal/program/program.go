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
