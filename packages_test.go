package allot_test

import (
	"context"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/verify"
)

func init() {
	allot.VerifyPlan = verify.Plan
	allot.AskExplain = func(d *allot.Decision, id string, arrival allot.Workload) error {
		ctx, fitter := context.Background(), explain.NewFitter(d.Snapshot())
		for q := range d.Snapshot().Queues() {
			if _, err := explain.Queue(ctx, d, q.ID); err != nil {
				return err
			}
		}
		if _, err := explain.Workload(ctx, d, id); err != nil {
			return err
		}
		if _, err := fitter.WithRoom(ctx, arrival); err != nil {
			return err
		}
		if _, err := fitter.Ever(ctx, arrival); err != nil {
			return err
		}
		if _, err := explain.WhatHelps(ctx, d, id, explain.HelpSearch{Solves: 5}); err != nil {
			return err
		}
		if _, err := explain.WhatIf(ctx, d.Snapshot(), allot.Change{Remove: allot.Removal{Workloads: []string{id}}}); err != nil {
			return err
		}
		_, err := explain.Reclaim(ctx, d, arrival)
		return err
	}
}
