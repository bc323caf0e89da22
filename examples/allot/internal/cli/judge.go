package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// The commands that judge and report: check, verify, minimise and convert.

func checkCommand(s *Session) *cobra.Command {
	return fileArguments(&cobra.Command{
		Use:   "check [FILE...]",
		Short: "whether a state is sound: every fault with file and line, and what is odd",
		RunE: func(_ *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			var faulty *input.Error
			if errors.As(err, &faulty) && (s.format == output.JSON || s.format == output.YAML) {
				return errors.Join(s.Answer(answer.Faulty(faultsOf(faulty))), errWrong)
			}
			if err != nil {
				return err
			}
			return s.Answer(answer.Check(solution.State, solution.Plan.Warnings))
		},
	})
}

// faultsOf are the faults of files for programs.
func faultsOf(e *input.Error) []answer.FileFault {
	var out []answer.FileFault
	for _, f := range e.Faults {
		out = append(out, answer.FileFault{File: f.File, Line: f.Line, Fault: f.Fault})
	}
	return out
}

func verifyCommand(s *Session) *cobra.Command {
	return &cobra.Command{
		Use:   "verify PLAN [FILE...]",
		Short: "whether a plan (plan -o json) is lawful for the state, from the rules alone",
		Args:  needs("which plan? name its file before those of the state"),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := s.Document(args[1:]...)
			if err != nil {
				return err
			}
			f, err := s.open(args[0])
			if err != nil {
				return err
			}
			var plan allot.Plan
			if err := plan.UnmarshalJSON(f.Data); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			var problems []string
			if err := verify.Plan(d.State, &plan); err != nil {
				problems = strings.Split(err.Error(), "\n")
			}
			if err := s.Answer(answer.Verified(problems)); err != nil {
				return err
			}
			if len(problems) > 0 {
				return errWrong
			}
			return nil
		},
	}
}

func minimiseCommand(s *Session) *cobra.Command {
	var solves int
	var code string
	cmd := &cobra.Command{
		Use:   "minimise JOB [FILE...]",
		Short: "the smallest state that still shows it: the form of a bug report",
		Long: `Takes away from the state whatever can go while the job still waits for the reason -reason,
or for its first one; or, if the plan takes something from it, while it still does. What is
left is printed as a scenario with what is decided, with -o json or yaml as a state. Ctrl-C
ends it and prints what is left by then.`,
		Args:              needs("which job? name it before the files, such as allot minimise JOB"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			solution, id, err := s.job(args)
			if err != nil {
				return err
			}
			shows, title, err := surprise(solution.Plan, id, code)
			if err != nil {
				return err
			}
			return s.minimise(cmd.Context(), solution.State, shows, title, solves)
		},
	}
	cmd.Flags().IntVar(&solves, "solves", 0, "how many `solves` to spend; 0 is 20,000")
	cmd.Flags().StringVar(&code, "reason", "", "the `code` of the reason, such as no-capacity")
	choices(cmd, "reason", answer.Codes())
	return cmd
}

// surprise is what is to be shown of a job, and its title.
func surprise(plan *allot.Plan, id, code string) (scenario.Predicate, string, error) {
	if code != "" {
		var c allot.Code
		if err := c.UnmarshalText([]byte(code)); err != nil {
			return nil, "", usagef("there is no reason %q; why JOB shows those of a job", code)
		}
		return scenario.WaitsFor(id, c), id + " waits: " + code, nil
	}
	if scenario.Loses(id)(nil, plan) {
		return scenario.Loses(id), "The plan takes something from " + id, nil
	}
	for i := range plan.Pending {
		if p := &plan.Pending[i]; p.Workload == id {
			c := p.Reasons[0].Code
			return scenario.WaitsFor(id, c), id + " waits: " + c.String(), nil
		}
	}
	return nil, "", fmt.Errorf("job %s neither waits nor loses anything by the plan, so there is nothing to show", id)
}

// minimise takes away until nothing more can go, or the user ends it.
func (s *Session) minimise(ctx context.Context, state *allot.State, shows scenario.Predicate, title string, solves int) error {
	type result struct {
		minimal *scenario.Minimal
		err     error
	}
	var smallest atomic.Pointer[allot.State] // the last that showed it
	done := make(chan result, 1)
	progress := make(chan int) // solves; who waits here tells of them
	tried := 0
	noting := func(st *allot.State, plan *allot.Plan) bool {
		ok := shows(st, plan)
		if tried++; tried%10 == 0 {
			select {
			case progress <- tried:
			case <-ctx.Done():
			}
		}
		if ok && st != nil {
			smallest.Store(copyOf(st))
		}
		return ok
	}
	go func() {
		m, err := scenario.Minimise(state, noting, solves)
		done <- result{m, err}
	}()
	defer s.TellNothing()
	var left *allot.State
	note := ""
	var ended error
	for left == nil {
		select {
		case solves := <-progress:
			s.Tell("%d solves; Ctrl-C prints what is left", solves)
		case r := <-done:
			if errors.Is(r.err, scenario.ErrNotShown) {
				return errors.New("the job does not wait for that reason")
			}
			if r.err != nil {
				return r.err
			}
			left = r.minimal.State
			if r.minimal.Cut {
				note = fmt.Sprintf("\n# %d solves were all that might be spent: something may be left to take away.\n", r.minimal.Solves)
			}
		case <-ctx.Done():
			if ended = ctx.Err(); smallest.Load() == nil {
				return ended
			}
			left = smallest.Load()
			note = "\n# It was ended: something may be left to take away.\n"
		}
	}
	text, err := scenario.Report(title, left)
	if err != nil {
		return err
	}
	if err := s.Answer(&minimalAnswer{text + note, left}); err != nil {
		return err
	}
	return ended
}

// copyOf is a state that nobody else has.
func copyOf(st *allot.State) *allot.State {
	snapshot, err := allot.NewSnapshot(st)
	if err != nil {
		return st
	}
	return snapshot.State()
}

// A minimalAnswer is what is left of a state.
type minimalAnswer struct {
	text  string
	state *allot.State
}

func (a *minimalAnswer) Data() any            { return a.state }
func (a *minimalAnswer) Write(p *output.Page) { p.Verbatim(a.text) }

func convertCommand(s *Session) *cobra.Command {
	return fileArguments(&cobra.Command{
		Use:   "convert [FILE...]",
		Short: "the state in the form for people, as YAML, or with -o json in the exact form",
		RunE: func(_ *cobra.Command, files []string) error {
			d, err := s.Document(files...)
			if err != nil {
				return err
			}
			return s.Answer(stateAnswer{d.State})
		},
	})
}

// A stateAnswer is a state: YAML for people, JSON for programs.
type stateAnswer struct{ state *allot.State }

func (a stateAnswer) Data() any { return a.state }

func (a stateAnswer) Write(p *output.Page) {
	text, err := input.YAML(a.state)
	if err != nil {
		text, _ = json.Marshal(a.state) // a checked state has JSON
	}
	p.Verbatim(string(text))
}
