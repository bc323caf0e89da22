package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/topology"
)

func topologyCommand(s *Session) *cobra.Command {
	var o topology.Options
	cmd := fileArguments(&cobra.Command{
		Use:   "topology [FILE...]",
		Short: "a picture of the cluster when the plan is carried out",
		Long: `A picture of the cluster when the plan is carried out, as an SVG that needs nothing
else: the topology as nested boxes, GPUs coloured by workload, the links of gangs, and
who started, waits and had to leave.

  allot topology -f state.yaml > cluster.svg

Of more than 200 nodes it is a summary, in which a cell is a node and a box a rack, or a
piece of the nodes of one kind where there are no racks. -html makes a page of it that
shows a box with every GPU when it is clicked on; -in draws one box alone.`,
		RunE: func(_ *cobra.Command, files []string) error {
			if o.Wide && o.Page {
				return usagef("-html finds room by itself: not with -wide")
			}
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			if err := solution.Verify(); err != nil {
				return err
			}
			picture, err := topology.Draw(solution.State, solution.Plan, o)
			if err != nil {
				return err
			}
			_, err = io.WriteString(s.Stdout, picture)
			return err
		},
	})
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.Title, "title", "The cluster and the plan", "the `heading` of the picture")
	flags.StringVar(&o.In, "in", "", "draw only the domain of this `path`, such as block1/rack7")
	flags.BoolVar(&o.Page, "html", false, "print a page that puts the legend where there is room")
	flags.BoolVar(&o.Wide, "wide", false, "put the legend beside the cluster, for screens, not below it, for phones")
	return cmd
}
