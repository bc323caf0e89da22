package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/verify"
)

// An inputError says which file an error is about.
type inputError struct {
	file string
	err  error
}

func (e *inputError) Error() string { return e.file + ": " + e.err.Error() }

func (e *inputError) Unwrap() error { return e.err }

// within takes what stands before the paths of faults away, as far as it matches:
// a file that holds a part of something has paths of its own.
func within(prefix *regexp.Regexp, err error) error {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	out := *invalid
	out.Faults = slices.Clone(invalid.Faults)
	for i := range out.Faults {
		f := &out.Faults[i]
		if path := prefix.ReplaceAllString(f.Path, ""); !strings.HasPrefix(path, "workloads[") && path != f.Path {
			f.Path, f.ID = path, "" // the noun is the file's only one
		} else {
			f.Path = path
		}
	}
	return &out
}

// readFile reads a file, or standard input where its name is "-".
func (q *asked) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(q.stdin)
	}
	return os.ReadFile(name)
}

// readState reads and checks the state that is the first argument.
func (q *asked) readState() (*allot.State, error) {
	input, err := q.readFile(q.args[0])
	if err != nil {
		return nil, err
	}
	var state allot.State
	// Not json.Unmarshal, which would report broken syntax in its own way.
	if err := state.UnmarshalJSON(input); err != nil {
		return nil, &inputError{q.args[0], err}
	}
	if err := allot.Check(&state); err != nil {
		return nil, &inputError{q.args[0], err}
	}
	return &state, nil
}

// A solution is a state with what is decided of it.
type solution struct {
	state    *allot.State
	snapshot *allot.Snapshot
	decision *allot.Decision
	plan     *allot.Plan
}

// solve reads the state and plans it. The plan is verified: what is explained
// here should be worth it.
func (q *asked) solve() (*solution, error) {
	state, err := q.readState()
	if err != nil {
		return nil, err
	}
	s := &solution{state: state}
	if s.snapshot, err = allot.NewSnapshot(state); err != nil {
		return nil, &inputError{q.args[0], err}
	}
	if s.decision, err = s.snapshot.Decide(); err != nil {
		return nil, &inputError{q.args[0], err}
	}
	if s.plan, err = s.decision.Plan(); err != nil {
		return nil, &inputError{q.args[0], err}
	}
	if err := verify.Plan(state, s.plan); err != nil {
		return nil, fmt.Errorf("%s: the plan is not lawful, which is a bug of Allot: %w", q.args[0], err)
	}
	return s, nil
}
