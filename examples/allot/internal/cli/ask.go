package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/allotsched/allot/examples/allot/internal/answer"
	"github.com/allotsched/allot/explain"
)

// The commands about what is: list, order, shares, why and helps.

func listCommand(s *Session) *cobra.Command {
	filter := answer.ListFilter{Forecast: 20}
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "list [FILE...]",
		Short: "all jobs: what becomes of each, its place in the queue, its first reason",
		Long: `Lists the jobs with what the plan makes of each: it waits, starts, runs, is evicted. Turn is
its place among those of its queue that wait. Where the state says how long work takes, it says
when those would start that wait. -o wide has the reason in words.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if filter.Sort != "" && !slices.Contains(answer.SortKeys(), filter.Sort) {
				return usagef("-sort must be one of %s, is %q", strings.Join(answer.SortKeys(), ", "), filter.Sort)
			}
			if filter.Status != "" && !slices.Contains(answer.Statuses(), filter.Status) {
				return usagef("-status must be one of %s, is %q", strings.Join(answer.Statuses(), ", "), filter.Status)
			}
			if filter.Code != "" && !slices.Contains(answer.Codes(), filter.Code) {
				return usagef("-reason must be one of %s, is %q", strings.Join(answer.Codes(), ", "), filter.Code)
			}
			if filter.Forecast < 0 {
				return usagef("-forecast must be 0 or more, is %d", filter.Forecast)
			}
			return s.watching(cmd.Context(), watch, func() error {
				solution, err := s.Solve(files...)
				if err != nil {
					return err
				}
				if filter.Queue != "" {
					if _, err := answer.FindQueue(solution.State, filter.Queue); err != nil {
						return err
					}
				}
				a, err := answer.List(cmd.Context(), solution.State, solution.Decision, solution.Plan, filter)
				if err != nil {
					return err
				}
				return s.Answer(a)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Status, "status", "", "only those of a `state`: "+strings.Join(answer.Statuses(), ", "))
	flags.StringVar(&filter.Queue, "queue", "", "only those of a `queue` and of queues below it")
	flags.StringVar(&filter.Code, "reason", "", "only those whose first reason has the `code`, such as no-quota")
	flags.StringVar(&filter.Text, "match", "", "only those whose ID has the `text`")
	flags.StringVar(&filter.Sort, "sort", "", "the `key`: "+strings.Join(answer.SortKeys(), ", ")+" (default status)")
	flags.IntVar(&filter.Forecast, "forecast", filter.Forecast, "say of so many `workloads` of a pool when they would start; 0 of none")
	flags.DurationVar(&watch, "watch", 0, "read the files again after each `time`, such as 5s, until Ctrl-C")
	choices(cmd, "sort", answer.SortKeys())
	choices(cmd, "status", answer.Statuses())
	choices(cmd, "reason", answer.Codes())
	s.completeQueues(cmd, asFiles)
	return fileArguments(cmd)
}

// watching does something once, or again and again where a time is given, until the
// user ends it.
func (s *Session) watching(ctx context.Context, every time.Duration, do func() error) error {
	if every <= 0 {
		return do()
	}
	for {
		if s.Colour {
			if _, err := s.Stdout.Write([]byte("\x1b[H\x1b[2J")); err != nil {
				return err
			}
		}
		if err := do(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(every, 100*time.Millisecond)):
		}
	}
}

func orderCommand(s *Session) *cobra.Command {
	return fileArguments(&cobra.Command{
		Use:   "order [FILE...]",
		Short: "in which order everything waits, and what the order goes by",
		Long: `Tells whose turn comes when, were nobody to start: class, priority and age order a queue,
use against quota and fair share order the queues.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			a, err := answer.Order(cmd.Context(), solution.Decision, solution.Plan)
			if err != nil {
				return err
			}
			return s.Answer(a)
		},
	})
}

func forecastCommand(s *Session) *cobra.Command {
	most := 100
	cmd := fileArguments(&cobra.Command{
		Use:   "forecast [FILE...]",
		Short: "when what waits would start if nothing else came",
		Long: `Tells of everything that waits when it would start, behind whose ends, and how sure that is:
it claims its places already, the policy has promised them, or it is what durations lead one to
expect. -most bounds how many of a pool are looked at. -o wide has the places.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if most < 1 {
				return usagef("-most must be 1 or more, is %d", most)
			}
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			a, err := answer.Forecasts(cmd.Context(), solution.Decision, most)
			if err != nil {
				return err
			}
			return s.Answer(a)
		},
	})
	cmd.Flags().IntVar(&most, "most", most, "look at so many `workloads` of a pool")
	return cmd
}

func sharesCommand(s *Session) *cobra.Command {
	var queue string
	cmd := fileArguments(&cobra.Command{
		Use:   "shares [FILE...]",
		Short: "who is guaranteed what, who uses what, who borrows",
		Long: `Tells for each resource what the queues are guaranteed (quota), what they use after the plan,
what of that is borrowed, their fair share and what they want. -queue tells of one queue how
its fair share came about, with all the sums.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			solution, err := s.Solve(files...)
			if err != nil {
				return err
			}
			if queue == "" {
				return s.Answer(answer.Shares(solution.State, solution.Plan))
			}
			if _, err := answer.FindQueue(solution.State, queue); err != nil {
				return err
			}
			e, err := explain.Queue(cmd.Context(), solution.Decision, queue)
			if err != nil {
				return err
			}
			return s.Answer(answer.Queue(e))
		},
	})
	cmd.Flags().StringVar(&queue, "queue", "", "why the fair share of this `queue` is what it is")
	s.completeQueues(cmd, asFiles)
	return cmd
}

func whyCommand(s *Session) *cobra.Command {
	return &cobra.Command{
		Use:   "why JOB [FILE...]",
		Short: "why a job waits, runs or goes, and against whom",
		Long: `Tells what the plan does with the job; if it waits every reason, who waits before it and who
holds what it needs; if it must leave, for whom and why it and nobody else. A job is named by
its ID, or as queue/ID. -v tells all figures.`,
		Args:              needs("which job? name it before the files, such as allot why JOB"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := s.Document(args[1:]...)
			if err != nil {
				return err
			}
			id, err := answer.FindWorkload(d.State, args[0])
			if err != nil {
				return err
			}
			e, err := explain.WorkloadIn(cmd.Context(), d.State, id)
			if err != nil {
				return d.Locate(err)
			}
			return s.Answer(answer.Why(e))
		},
	}
}

// needs is the rule for arguments of which there is one at least; text asks for it.
func needs(text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(text)
		}
		return nil
	}
}

// job solves the state and finds the job that the first argument names.
func (s *Session) job(args []string) (*Solution, string, error) {
	solution, err := s.Solve(args[1:]...)
	if err != nil {
		return nil, "", err
	}
	id, err := answer.FindWorkload(solution.State, args[0])
	return solution, id, err
}

func helpsCommand(s *Session) *cobra.Command {
	var solves int
	cmd := &cobra.Command{
		Use:   "helps JOB [FILE...]",
		Short: "which changes would start a job that waits, each tried",
		Long: `Looks for the smallest changes, each of which alone would start the job: a constraint less,
another priority or queue, more quota, the end of others, more nodes. Each is found by solving
the changed state. In large states that takes time: a few are tried, by what the job waits for,
and the answer says what was not looked at; -solves 128 goes on. Ctrl-C ends the search and
prints what has been found.`,
		Args:              needs("which job? name it before the files, such as allot helps JOB"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if solves < 0 {
				return usagef("-solves must not be negative, is %d", solves)
			}
			solution, id, err := s.job(args)
			if err != nil {
				return err
			}
			most := cmp.Or(solves, usualSolves(len(solution.State.Workloads)))
			s.Tell("looking for what helps, by %d solves at most; Ctrl-C prints what was found", most)
			help, err := explain.WhatHelps(cmd.Context(), solution.Decision, id, explain.HelpSearch{Solves: most})
			s.TellNothing()
			if help == nil {
				return err
			}
			w, _ := solution.Snapshot.Workload(id)
			return errors.Join(s.Answer(answer.Helps(w.Queue, help)), err)
		},
	}
	cmd.Flags().IntVar(&solves, "solves", 0, "how many `solves` to spend; 0 is 128, and in large states as few as take about a second")
	return cmd
}

// usualSolves is how far a search goes where nothing is said: as far as the library's
// own, and in large states as far as takes about a second, for each solve takes time in
// the state.
func usualSolves(workloads int) int { return max(3, min(128, 25_000/max(workloads, 1))) }
