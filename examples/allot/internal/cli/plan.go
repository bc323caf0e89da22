package cli

import (
	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/answer"
)

func planCommand(s *Session) *cobra.Command {
	return fileArguments(&cobra.Command{
		Use:   "plan [FILE...]",
		Short: "what to start, move and evict now, and what waits",
		Long: `Plans the state: what starts where, what is moved or evicted for it, and what waits with
its first reason. More than twenty of a kind are told in groups. With -v it is the whole plan
in the library's own text, with all reasons and the figures of the queues; with -o json the
plan for a program. The plan is checked against the rules before it is printed.`,
		RunE: func(_ *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			if err := solution.Verify(); err != nil {
				return err
			}
			return s.Answer(answer.Plan(solution.State, solution.Plan))
		},
	})
}
