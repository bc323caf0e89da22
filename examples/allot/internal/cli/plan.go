package cli

import (
	"github.com/spf13/cobra"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/output"
)

func planCommand(s *Session) *cobra.Command {
	return fileArguments(&cobra.Command{
		Use:   "plan [FILE...]",
		Short: "what to start, move and evict now, and what waits",
		RunE: func(_ *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			if err := solution.Verify(); err != nil {
				return err
			}
			return s.Answer(&planAnswer{solution.Plan})
		},
	})
}

// A planAnswer is a plan.
type planAnswer struct{ plan *allot.Plan }

func (a *planAnswer) Data() any { return a.plan }

func (a *planAnswer) Write(p *output.Page) { p.Text(a.plan.String()) }
