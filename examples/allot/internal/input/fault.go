package input

import (
	"fmt"
	"strings"

	"github.com/allotsched/allot"
)

// A Fault is one thing that is wrong with a file.
type Fault struct {
	// File is its name, "-" for standard input; Line is where, 0 if it is not known.
	File string
	Line int
	allot.Fault
}

// String is a line such as "jobs.yaml:12: workloads[3].podSets[0].count: must be > 0,
// is -1 (out-of-range)".
func (f Fault) String() string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Fault, f.Code)
}

// An Error is everything that is wrong with what was read.
type Error struct {
	// Faults are at least one.
	Faults []Fault
}

// Error is the faults, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap is the same as an error of the library.
func (e *Error) Unwrap() error {
	out := &allot.InvalidError{}
	for _, f := range e.Faults {
		out.Faults = append(out.Faults, f.Fault)
	}
	return out
}
