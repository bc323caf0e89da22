package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/examples/allot/internal/edit"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// The commands about what might be: whatif and fit.

// editFlag is a flag that says an edit; edits keep the order in which they are said.
type editFlag struct {
	kind edit.Kind
	to   *[]edit.Edit
}

func (f *editFlag) String() string { return "" }
func (f *editFlag) Type() string   { return f.kind.Argument }
func (f *editFlag) Set(text string) error {
	*f.to = append(*f.to, edit.Edit{Kind: f.kind.Name, Argument: text})
	return nil
}

// orFlag begins the next variant.
type orFlag struct{ editFlag }

func (f *orFlag) Set(string) error {
	*f.to = append(*f.to, edit.Edit{})
	return nil
}
func (f *orFlag) Type() string     { return "bool" }
func (f *orFlag) IsBoolFlag() bool { return true }

func whatifCommand(s *Session) *cobra.Command {
	var edits []edit.Edit
	cmd := fileArguments(&cobra.Command{
		Use:   "whatif EDITS [FILE...]",
		Short: "what a change would do: who starts, waits or leaves then",
		Long: `Decides on the state as it is and as it would be with the edits, and tells the difference.
-or begins another variant: several stand side by side in one table. A file for -change is

  merge: {queues: [{id: vision, resources: [{resource: gpu, quota: 12}]}]}
  add: {queues: [{id: guests, resources: [{resource: gpu, quota: 2}]}]}
  remove: {workloads: [sweep-1]}

where what stands under merge keeps all that it does not say, and what stands under add is new;
what stands beside them replaces nodes, queues, pools and jobs in full.`,
		Example: "  allot whatif -quota vision=12 -or -add 2xh1 -or -end sweep-1 -f state.yaml",
		RunE: func(cmd *cobra.Command, files []string) error {
			return s.whatIf(cmd, edits, files)
		},
	})
	for _, k := range edit.Kinds() {
		cmd.Flags().VarP(&editFlag{k, &edits}, k.Name, "", k.About)
	}
	or := &orFlag{editFlag{edit.Kind{}, &edits}}
	cmd.Flags().AddFlag(&pflag.Flag{Name: "or", Usage: "what follows is another variant", Value: or, NoOptDefVal: "true"})
	cmd.Flags().SortFlags = false
	s.completeEdits(cmd)
	return cmd
}

func (s *Session) whatIf(cmd *cobra.Command, edits []edit.Edit, files []string) error {
	variants := variantsOf(edits)
	if len(variants) == 0 {
		return usagef("takes at least one edit, such as -quota vision=12")
	}
	solution, err := s.Solve(files...)
	if err != nil {
		return err
	}
	var out []answer.Variant
	for i, one := range variants {
		s.Tell("variant %d of %d", i+1, len(variants))
		change, err := edit.Change(solution.State, one, s.open)
		if err != nil {
			return err
		}
		v, err := variant(cmd, solution, change)
		if err != nil {
			return fmt.Errorf("%s: %w", titleOf(one), err)
		}
		v.Title = titleOf(one)
		out = append(out, v)
	}
	s.TellNothing()
	return s.Answer(answer.WhatIf(solution.State, solution.Plan, out))
}

// variant decides on the state with a change.
func variant(cmd *cobra.Command, solution *Solution, change allot.Change) (answer.Variant, error) {
	var v answer.Variant
	with, err := solution.Snapshot.With(change)
	if err != nil {
		return v, err
	}
	decision, err := with.DecideContext(cmd.Context())
	if err != nil {
		return v, err
	}
	if v.Consequences, err = explain.Compare(solution.Decision, decision); err != nil {
		return v, err
	}
	v.Changed = make(map[string]*allot.Workload)
	for i := range change.Workloads {
		v.Changed[change.Workloads[i].ID] = &change.Workloads[i]
	}
	v.Plan, err = decision.Plan()
	return v, err
}

// variantsOf parts edits where -or stands.
func variantsOf(edits []edit.Edit) [][]edit.Edit {
	var out [][]edit.Edit
	var one []edit.Edit
	for _, e := range append(edits[:len(edits):len(edits)], edit.Edit{}) {
		if e.Kind != "" {
			one = append(one, e)
		} else if len(one) > 0 {
			out, one = append(out, one), nil
		}
	}
	return out
}

func titleOf(edits []edit.Edit) string {
	var parts []string
	for _, e := range edits {
		parts = append(parts, e.String())
	}
	return strings.Join(parts, ", ")
}

// open reads a file that an edit names.
func (s *Session) open(name string) (input.File, error) {
	files, err := input.Open([]string{name}, s.Stdin)
	if err != nil {
		return input.File{}, err
	}
	if len(files) != 1 {
		return input.File{}, fmt.Errorf("%s: must be one file", name)
	}
	return files[0], nil
}

func fitCommand(s *Session) *cobra.Command {
	var gpus string
	var queue string
	var count int
	cmd := &cobra.Command{
		Use:     "fit [JOB-FILE] [FILE...]",
		Short:   "whether a job would start if it were submitted, how many like it, who would pay",
		Long:    `The job is in a file, or said by -gpus, -tasks and -queue. The files after it are the state's.`,
		Example: "  allot fit job.yaml -f state.yaml\n  allot fit -gpus 4 -tasks 2 -queue vision -f state.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, rest, err := s.asked(gpus, queue, count, args)
			if err != nil {
				return err
			}
			solution, err := s.Solve(rest...)
			if err != nil {
				return err
			}
			if job.Queue != "" {
				if _, err := answer.FindQueue(solution.State, job.Queue); err != nil {
					return err
				}
			}
			if job.Submitted.IsZero() {
				job.Submitted = solution.State.Now
			}
			a, err := answer.Fit(cmd.Context(), solution.Snapshot, solution.Decision, job)
			if needsQueue(err) {
				return usagef("which queue? say -queue, or queue: in the job's file; there are %s", prose.Some(answer.LeafQueues(solution.State), ", ", 5))
			}
			if err != nil {
				return err
			}
			return s.Answer(a)
		},
	}
	cmd.Flags().StringVar(&gpus, "gpus", "", "what each task asks of GPUs: an `amount` such as 4, 0.5 or 40Gi")
	cmd.Flags().IntVar(&count, "tasks", 1, "how many tasks start together")
	cmd.Flags().StringVar(&queue, "queue", "", "the `queue` of the job")
	s.completeQueues(cmd, func(args []string) []string {
		if gpus == "" {
			return butFirst(args)
		}
		return args
	})
	return cmd
}

// needsQueue says whether an error is that a job names no queue where it must.
func needsQueue(err error) bool {
	var invalid *allot.InvalidError
	return errors.As(err, &invalid) && len(invalid.Faults) == 1 && invalid.Faults[0].Code == allot.FaultQueueRequired
}

// asked is the job that fit is about, and the arguments that are the state's.
func (s *Session) asked(gpus, queue string, count int, args []string) (*allot.Workload, []string, error) {
	file := input.File{Name: "-gpus", Data: fmt.Appendf(nil, "{id: new-job, queue: %q, podSets: [{count: %d, request: {gpu: %s}}]}", queue, count, gpus)}
	switch {
	case gpus != "" && strings.ContainsAny(gpus, "{}[]#&*!|>'\",\n"):
		return nil, nil, usagef("-gpus must be an amount, is %q", gpus)
	case gpus == "" && len(args) == 0:
		return nil, nil, usagef("which job? name its file, or say -gpus")
	case gpus == "":
		f, err := s.open(args[0])
		if err != nil {
			return nil, nil, err
		}
		file, args = f, args[1:]
	}
	jobs, err := input.Workloads(file)
	if err != nil {
		return nil, nil, err
	}
	if len(jobs) != 1 {
		return nil, nil, fmt.Errorf("%s: must be one job, has %d", file.Name, len(jobs))
	}
	if queue != "" {
		jobs[0].Queue = queue
	}
	return &jobs[0], args, nil
}
