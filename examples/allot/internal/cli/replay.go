package cli

import (
	"errors"
	"flag"
	"math"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/examples/internal/replay"
)

func replayCommand(s *Session) *cobra.Command {
	said := flag.NewFlagSet("replay", flag.ContinueOnError)
	o := replay.NewOptions(said)
	var policies []string
	cmd := fileArguments(&cobra.Command{
		Use:   "replay [TRACE...]",
		Short: "what schedulers would have made of the jobs of months, from a trace",
		Long: `Runs traces through a simulator under one scheduler after the other, and tells how long jobs
waited, what was in use and who was evicted: under the presets and policies of the library and
under simpler schedulers beside them. A trace is a file of one of the formats, plain or
gzipped; without any, one is made. -page writes a page for a browser, -out all there is of
each run. Ctrl-C ends the runs and tells what there is of them.`,
		Example: `  allot replay -loads 80,100,120 -seeds 1-3 -policies fifo,runai
  sacct -aPX -o JobID,Account,State,Submit,End,ElapsedRaw,TimelimitRaw,NNodes,ReqTRES,AllocTRES > jobs.txt
  allot replay -format slurm -nodes 64 -queue-list quotas.csv -leave-out -page runs.html jobs.txt`,
		RunE: func(cmd *cobra.Command, names []string) error {
			for _, name := range policies {
				f, err := s.open(name)
				if err != nil {
					return err
				}
				policy, err := input.Policy(f)
				if err != nil {
					return err
				}
				if err := o.Add(policy, name); err != nil {
					return &usageError{err}
				}
			}
			if err := o.Check(append(s.files[:len(s.files):len(s.files)], names...)); err != nil {
				return &usageError{err}
			}
			o.ListAll = s.verbose
			// What a run holds is most of its memory, long-lived, and may be more than plenty.
			defer debug.SetGCPercent(debug.SetGCPercent(30))
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
			sweep, err := replay.NewSweep(o)
			if err != nil {
				return err
			}
			meter := replay.NewMeter(s.Stderr, s.Progress, time.Now, sweep.Runs())
			sweep.CarryOut(cmd.Context(), meter)
			meter.End()
			if err := errors.Join(sweep.WriteFiles(), s.Answer(answer.Replay(sweep)), sweep.Failed()); err != nil {
				return err
			}
			return cmd.Context().Err()
		},
	})
	cmd.Flags().StringArrayVar(&policies, "policy-file", nil, "one scheduler more: a `file` with a policy, as pools have one in a state; its name is the policy's,\nor the file's")
	said.VisitAll(func(f *flag.Flag) { cmd.Flags().AddGoFlag(f) })
	return cmd
}
