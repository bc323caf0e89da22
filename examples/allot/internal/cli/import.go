package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/importer"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/allot/internal/schema"
)

func importCommand(s *Session) *cobra.Command {
	var now string
	cmd := fileArguments(&cobra.Command{
		Use:   "import FILE...",
		Short: "a state from kubectl, scontrol, sacct, sinfo, Run:ai or OSMO, and what was left out",
		Long: `Makes one state of what other schedulers tell about themselves and prints it as YAML. What
could not be taken over is listed on standard error. The files are recognised by their content:

  kubectl get nodes,pods,podgroups,queues.scheduling.run.ai -A -o json
  kubectl get nodes,pods,podgroups,queues.allotsched.github.io,pools.allotsched.github.io -A -o json
  kubectl get clusterqueues,cohorts,localqueues -A -o json
  scontrol show node; scontrol show job; scontrol show partition
  sacct -P -o JobID,JobName,Partition,State,ReqTRES,Submit,NodeList,NNodes,Priority
  sinfo -N -o "%N %c %m %G %T %P"
  the departments and projects of Run:ai's API; osmo pool list -t json`,
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names)+len(s.files) == 0 {
				return usagef("takes the files to import, or -")
			}
			var at time.Time
			if now != "" {
				var err error
				if at, err = time.Parse(time.RFC3339, now); err != nil {
					return usagef("-now must be a time such as 2026-01-31T12:00:00Z, is %q", now)
				}
			}
			files, err := s.Files(names...)
			if err != nil {
				return err
			}
			result, err := importer.Import(files, at)
			if err != nil {
				return err
			}
			page := &output.Page{}
			answer.WriteImport(page, result.State, result.Formats, notesOf(result))
			if _, err := s.Stderr.Write(page.Bytes()); err != nil {
				return err
			}
			if s.format == output.YAML || s.format == output.Text || s.format == output.Wide {
				text, err := input.YAML(result.State)
				if err != nil {
					return err
				}
				_, err = s.Stdout.Write(text)
				return err
			}
			return s.Answer(stateAnswer{result.State})
		},
	})
	cmd.Flags().StringVar(&now, "now", "", "the `time` at which it was so, as 2026-01-31T12:00:00Z; ages count from it")
	return cmd
}

// notesOf are the notes of an import as lines.
func notesOf(r *importer.Result) []answer.ImportNote {
	var out []answer.ImportNote
	for _, n := range r.Notes {
		out = append(out, answer.ImportNote{What: n.What, Count: n.Count, Example: n.Example})
	}
	return out
}

func schemaCommand(s *Session) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "the JSON Schema of a state, for editors",
		Long: `Prints the JSON Schema of a state in both of its forms. In an editor that knows it, a file
begins with

  # yaml-language-server: $schema=allot.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			text, err := schema.State()
			if err != nil {
				return err
			}
			_, err = s.Stdout.Write(append(text, '\n'))
			return err
		},
	}
}
