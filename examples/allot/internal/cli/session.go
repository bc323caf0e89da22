package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/verify"
)

// A Session is one run of the program: where it reads, where it answers, and the
// flags that all commands have.
type Session struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Colour says that answers may have colours, Progress that somebody watches
	// standard error.
	Colour, Progress bool

	// ctx ends when the user does.
	ctx context.Context

	files   []string
	format  output.Format
	verbose bool
}

// newSession is the session of a run: colours are for terminals only, and NO_COLOR, set
// to anything, is the user's no.
func newSession(stdin io.Reader, stdout, stderr io.Writer) *Session {
	s := &Session{Stdin: stdin, Stdout: stdout, Stderr: stderr, format: output.Text}
	s.Colour = isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	s.Progress = isTerminal(stderr)
	return s
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// StateVariable is the variable of the environment that names the state where no flag
// does.
const StateVariable = "ALLOT_STATE"

// Files are the files that the state is read from: those of the flag and of the
// arguments, else what [StateVariable] names.
func (s *Session) Files(arguments ...string) ([]input.File, error) {
	var names []string
	for _, name := range append(s.files[:len(s.files):len(s.files)], arguments...) {
		if name == "-" || !slices.Contains(names, name) { // a file that is named twice is read once
			names = append(names, name)
		}
	}
	if len(names) == 0 && os.Getenv(StateVariable) != "" {
		names = []string{os.Getenv(StateVariable)}
	}
	if len(names) == 0 {
		return nil, usagef("which state? name its files with -f FILE, or in %s", StateVariable)
	}
	stdin := 0
	for _, name := range names {
		if name == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return nil, usagef("standard input can be read once only")
	}
	return input.Open(names, s.Stdin)
}

// one is the file or folder that a command is about which reads it itself.
func (s *Session) one(arguments []string) (string, error) {
	names := append(s.files[:len(s.files):len(s.files)], arguments...)
	if len(names) == 0 && os.Getenv(StateVariable) != "" {
		names = []string{os.Getenv(StateVariable)}
	}
	switch {
	case len(names) == 0:
		return "", usagef("which state? name its file, or a folder of them, or name it in %s", StateVariable)
	case len(names) > 1:
		return "", usagef("takes one file, or a folder, of which each file is a state")
	case names[0] == "-":
		return "", usagef("takes a file or a folder, which it reads anew, and no standard input")
	}
	return names[0], nil
}

// Document is the state that the command is about, checked.
func (s *Session) Document(arguments ...string) (*input.Document, error) {
	files, err := s.Files(arguments...)
	if err != nil {
		return nil, err
	}
	return input.State(files)
}

// A Solution is a state with what is decided of it.
type Solution struct {
	*input.Document
	Snapshot *allot.Snapshot
	Decision *allot.Decision
	Plan     *allot.Plan
}

// Solve reads the state and plans it. The plan is verified where the command says so:
// what is explained should be worth it.
func (s *Session) Solve(arguments ...string) (*Solution, error) {
	d, err := s.Document(arguments...)
	if err != nil {
		return nil, err
	}
	out := &Solution{Document: d}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if out.Snapshot, err = allot.NewSnapshot(d.State); err != nil {
		return nil, d.Locate(err)
	}
	if out.Decision, err = out.Snapshot.DecideContext(s.ctx); err != nil {
		return nil, err
	}
	if out.Plan, err = out.Decision.Plan(); err != nil {
		return nil, err
	}
	return out, nil
}

// Verify checks the plan from the rules alone.
func (s *Solution) Verify() error {
	if err := verify.Plan(s.State, s.Plan); err != nil {
		return fmt.Errorf("the plan is not lawful, which is a bug of Allot: %w", err)
	}
	return nil
}

// Answer writes what a command found out, in the form that was asked for.
func (s *Session) Answer(a output.Answer) error {
	form := output.Form{Format: s.format, Colour: s.Colour, Verbose: s.verbose}
	return form.Write(s.Stdout, a)
}

// Tell shows how far a long command is, where somebody watches.
func (s *Session) Tell(format string, args ...any) {
	if s.Progress {
		fmt.Fprintf(s.Stderr, "\r\x1b[K"+format, args...)
	}
}

// TellNothing takes the line of [Session.Tell] away.
func (s *Session) TellNothing() {
	if s.Progress {
		fmt.Fprint(s.Stderr, "\r\x1b[K")
	}
}

// fileArguments is the rule for arguments that are files of the state, of any number.
func fileArguments(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	return cmd
}
