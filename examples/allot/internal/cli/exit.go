package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
)

// The exit codes of the program.
const (
	// OK: the question was answered, whatever the answer; to check and verify it is
	// that nothing is wrong.
	OK = 0
	// Failed: the input is malformed, cannot be read or does not name what is asked
	// about; or something is wrong with what check or verify was given.
	Failed = 1
	// Usage: the command line makes no sense.
	Usage = 2
	// Interrupted: the user ended it (Ctrl-C). What had been found is printed.
	Interrupted = 130
)

// exitCodes tells them in the help.
const exitCodes = `Exit codes: 0 answered; 1 the input is malformed (every fault is printed to standard
error, with its place), cannot be read or does not name what is asked about, or check or
verify found something wrong; 2 usage; 130 interrupted, what was found is printed.`

// A usageError is about the command line, not about what it names.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usagef is an error about the command line.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// errWrong is the error of an answer that was given and is that something is wrong.
var errWrong = errors.New("something is wrong")

// exitCode is the code for an error that a command has returned, which is printed
// unless all is said already.
func exitCode(w io.Writer, command string, err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, errWrong):
		return Failed
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "allot: interrupted")
		return Interrupted
	case errors.As(err, &usage):
		fmt.Fprintf(w, "allot: %v; %s -h shows the usage\n", err, command)
		return Usage
	}
	complain(w, err)
	return Failed
}

// complain prints an error; of a malformed input every fault, a line each, with its
// place and code.
func complain(w io.Writer, err error) {
	var faulty *input.Error
	if errors.As(err, &faulty) {
		for _, f := range faulty.Faults {
			fmt.Fprintln(w, "allot:", f)
		}
		return
	}
	var invalid *allot.InvalidError
	if errors.As(err, &invalid) {
		for _, f := range invalid.Faults {
			fmt.Fprintf(w, "allot: %s (%s)\n", f, f.Code)
		}
		return
	}
	fmt.Fprintln(w, "allot:", err)
}
