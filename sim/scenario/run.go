package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// Options say how [Run] runs. The zero value runs the laws.
type Options struct {
	// SkipLaws leaves out the laws that each solve is put to; what is printed
	// is the same unless one is broken. It saves nine tenths of the time or more.
	SkipLaws bool
}

// Run carries out a script from an empty state and returns what each of its
// blocks prints. An error is an [*Error]: a statement that makes no sense
// where it stands. A State that [allot.Check] refuses is none: solve and check
// print its faults.
func Run(s *Script, o Options) ([]string, error) {
	w := newWorld(o)
	var outputs []string
	for _, b := range s.Blocks {
		w.out.Reset()
		for _, st := range b.statements {
			if err := command(st.command.text)(w, st); err != nil {
				return nil, err
			}
		}
		outputs = append(outputs, w.out.String())
	}
	return outputs, nil
}

// State is the state that the statements of a scenario leave behind. An error
// is an [*Error].
func State(text string) (*allot.State, error) {
	s, err := Parse(text)
	if err != nil {
		return nil, err
	}
	w := newWorld(Options{SkipLaws: true})
	for _, b := range s.Blocks {
		for _, st := range b.statements {
			if err := command(st.command.text)(w, st); err != nil {
				return nil, err
			}
		}
	}
	return &w.state, nil
}

// print writes a line of output.
func (w *world) print(line string) { w.out.WriteString(line + "\n") }

// runSolve decides the state and prints the actions, then what its arguments
// ask for, then the laws that do not hold.
func (w *world) runSolve(st statement) error {
	asked, err := readParts(st)
	if err != nil {
		return err
	}
	var before allot.State
	if !w.options.SkipLaws {
		before = deepCopy(w.state)
	}
	plan, err := allot.Solve(&w.state)
	if err != nil {
		w.plan = nil
		w.printFaults(err)
		return nil
	}
	w.plan = plan
	if !asked.quiet {
		w.printActions()
	}
	for _, print := range asked.prints {
		print(w)
	}
	if !w.options.SkipLaws {
		t := &trial{before: before, state: &w.state, plan: plan}
		for _, broken := range t.broken() {
			w.print("law broken: " + broken)
		}
	}
	return nil
}

// parts are what the arguments of a solve ask for.
type parts struct {
	quiet  bool
	prints []func(*world) // in the order of the arguments
}

// readParts reads the arguments of a solve, before it is known whether there is a
// plan to print parts of.
func readParts(st statement) (parts, error) {
	var asked parts
	args, err := arguments(st.args)
	if err != nil {
		return asked, err
	}
	var f filter
	if args, err = f.take(args); err != nil {
		return asked, err
	}
	add := func(print func(*world)) { asked.prints = append(asked.prints, print) }
	for _, a := range args {
		switch {
		case a.key == "shares":
			var columns []string
			if a.given {
				if columns, err = columnsOf(a, a.value); err != nil {
					return asked, err
				}
			}
			add(func(w *world) { w.printShares(f, columns) })
		case a.given:
			return asked, a.unknown(st.command.text)
		case a.key == "quiet":
			asked.quiet = true
		case a.key == "waits":
			add(func(w *world) { w.printWaits(f, false) })
		case a.key == "reasons":
			add(func(w *world) { w.printWaits(f, true) })
		case a.key == "warnings":
			add((*world).printWarnings)
		case a.key == "promises":
			add(func(w *world) { w.printPromises(f) })
		case a.key == "next":
			add((*world).printNext)
		default:
			return asked, a.unknown(st.command.text)
		}
	}
	return asked, nil
}

func (w *world) printWarnings() {
	for _, fault := range w.plan.Warnings {
		w.print("warning " + fault.String())
	}
}

// runReport prints parts of the last plan: waits, reasons, promises, next, and shares,
// whose arguments are its columns.
func (w *world) runReport(st statement) error {
	if w.plan == nil {
		return st.command.errorf("%s needs a solve before it", st.command.text)
	}
	args, err := arguments(st.args)
	if err != nil {
		return err
	}
	var f filter
	if args, err = f.take(args); err != nil {
		return err
	}
	if st.command.text == "shares" {
		var columns []string
		for _, a := range args {
			more, err := columnsOf(a, a.text)
			if err != nil {
				return err
			}
			columns = append(columns, more...)
		}
		w.printShares(f, columns)
		return nil
	}
	if len(args) > 0 {
		return args[0].unknown(st.command.text)
	}
	switch st.command.text {
	case "promises":
		w.printPromises(f)
	case "next":
		w.printNext()
	default:
		w.printWaits(f, st.command.text == "reasons")
	}
	return nil
}

// A filter says which queues and resources are printed; empty is all.
type filter struct{ queues, resources []string }

// take reads queue= and resource= and returns the other arguments.
func (f *filter) take(args []arg) ([]arg, error) {
	var others []arg
	for _, a := range args {
		var err error
		switch a.key {
		case "queue":
			err = set(&f.queues, a, unquoteAll)
		case "resource":
			err = set(&f.resources, a, unquoteAll)
		default:
			others = append(others, a)
		}
		if err != nil {
			return nil, err
		}
	}
	return others, nil
}

func admits(names []string, name string) bool {
	return len(names) == 0 || slices.Contains(names, name)
}

// runApply carries out the last plan, or with begin sets it going; skip leaves
// actions out, as if they had failed.
func (w *world) runApply(st statement) error {
	if w.plan == nil {
		return st.command.errorf("%s needs a solve before it", st.command.text)
	}
	skipped, err := w.skippedActions(st)
	if err != nil {
		return err
	}
	keep := func(i int, _ allot.Action) bool { return !slices.Contains(skipped, i) }
	carry := allot.ApplySome
	if st.command.text == "begin" {
		carry = allot.BeginSome
	}
	next, err := carry(&w.state, w.plan, keep)
	if err != nil {
		return st.command.errorf("%s: %v", st.command.text, err)
	}
	w.state = deepCopy(*next) // ours to change
	return nil
}

// skippedActions reads skip=N,N: the actions of the last plan, counted from 0,
// that are not carried out.
func (w *world) skippedActions(st statement) ([]int, error) {
	args, err := arguments(st.args)
	if err != nil {
		return nil, err
	}
	var skipped []int
	for _, a := range args {
		if a.key != "skip" {
			return nil, a.unknown(st.command.text)
		}
		if err := set(&skipped, a, numbers); err != nil {
			return nil, err
		}
		for _, n := range skipped {
			if n >= len(w.plan.Actions) {
				return nil, a.errorf("the plan has no action %d", n)
			}
		}
	}
	return skipped, nil
}

// runCheck prints the faults of the state, or that it has none.
func (w *world) runCheck(st statement) error {
	if len(st.args) > 0 {
		return newArg(st.args[0]).unknown("check")
	}
	if err := allot.Check(&w.state); err != nil {
		w.printFaults(err)
	} else {
		w.print("valid")
	}
	return nil
}

func (w *world) printFaults(err error) {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		w.print("error " + err.Error())
		return
	}
	for _, f := range invalid.Faults {
		w.print(fmt.Sprintf("fault %s %s", f.Code, f))
	}
}

// runState prints the state as statements.
func (w *world) runState(st statement) error {
	if len(st.args) > 0 {
		return newArg(st.args[0]).unknown("state")
	}
	for line := range strings.Lines(Format(&w.state)) {
		w.out.WriteString(line)
	}
	return nil
}
