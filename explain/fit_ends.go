package explain

import (
	"context"

	"github.com/allotsched/allot"
)

// What of the cluster would have to be otherwise for a workload to start: which work
// would have to end, and which nodes would take it if they were empty.

// Ends returns workloads of those named of which none can be left out, and whose
// end would let the workload start in what is free; nil if not even the end of all
// of them does, and empty if none has to end. It takes the first in the given order
// that are enough, and spares of these the last first. A workload that holds places is asked about as
// if it were to start once more. The end of a workload is a few steps of a journal
// here, and not a decision: what else would start in its place is not looked at.
//
// The error is that of [Fitter.Now], or wraps [allot.ErrUnknown].
func (f *Fitter) Ends(ctx context.Context, k allot.Workload, among []string) (ends []string, err error) {
	err = f.askAnew(ctx, k, f.present, func(p probe) error {
		works := make([]int32, len(among))
		for i, id := range among {
			at, known := p.Workload(id)
			if !known {
				return unknown("workload", id)
			}
			works[i] = at
		}
		few := p.Asked().EndsFor(works)
		if few != nil {
			ends = make([]string, len(few))
		}
		for i, at := range few {
			ends[i] = p.WorkloadID(at)
		}
		return nil
	})
	return ends, err
}

// Nodes returns the IDs of the nodes, in their order, that would take a task of the
// workload if they were empty; where it has tasks with devices, one of these. Of a
// workload that holds places the same is true as in [Fitter.Ends].
func (f *Fitter) Nodes(ctx context.Context, k allot.Workload) (nodes []string, err error) {
	err = f.askAnew(ctx, k, f.present, func(p probe) error {
		for n := range p.World().Nodes {
			if p.Asked().Admits(int32(n)) {
				nodes = append(nodes, p.NodeID(int32(n)))
			}
		}
		return nil
	})
	return nodes, err
}
