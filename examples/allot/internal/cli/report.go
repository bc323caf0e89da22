package cli

import (
	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/report"
)

func reportCommand(s *Session) *cobra.Command {
	var o report.Options
	cmd := fileArguments(&cobra.Command{
		Use:   "report [FILE...]",
		Short: "a page in HTML of the state and its plan, for managers and engineers",
		Long: `A page in HTML of the state and its plan, for managers and engineers: shares against
quotas, who runs where, what leaves, starts and waits, and why. It is one file that needs
no network:

  allot report -f state.yaml > report.html

A large cluster is told by model and rack, and by kinds of the same shape; nodes, queues
and workloads can be searched for, and tables sorted.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			if err := solution.Verify(); err != nil {
				return err
			}
			s.Tell("finding out what would help")
			page, err := report.Page(cmd.Context(), solution.Decision, o)
			s.TellNothing()
			if err != nil {
				return err
			}
			_, err = s.Stdout.Write(page)
			return err
		},
	})
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVar(&o.Helps, "helps", -1, "for how `many` of what waits to tell what would help, each some seconds on a large\ncluster; -1 is 3 of each kind of up to 48 nodes, and beyond the first of the 2 largest")
	flags.IntVar(&o.Solves, "solves", 0, "how many `decisions` to try for each of them; 0 is 48, and beyond 48 nodes 16")
	return cmd
}
