package allot

import (
	"context"

	"github.com/allotsched/allot/internal/engine"
)

// Solve decides what to do in the state s: what starts where, what waits and
// why, and the fair shares behind it. It depends on nothing but s and modifies
// nothing of it; the same state gives the same plan, bit for bit (S1).
//
// The error is an [*InvalidError] that names every fault of the state, or any other,
// which tells of a fault of the library; a full cluster is no error. A nil state is the
// zero State.
//
// It is [NewSnapshot], [Snapshot.Decide] and [Decision.Plan] in one, from scratch:
// the same rules by the same code, and nothing is kept. A host that solves again and again
// keeps a [Snapshot].
//
// For n nodes, q queues and t tasks the cost is about O(t·(log q·depth + log
// n)) and the checking and sorting of the state, and more where room is made, where a topology
// constrains what starts or grows, and where much is promised ahead.
func Solve(s *State) (*Plan, error) {
	return SolveContext(context.Background(), s)
}

// SolveContext is [Solve] that gives up when the context ends: the error is the
// context's then, and there is no plan. Time never shapes a plan.
func SolveContext(ctx context.Context, s *State) (*Plan, error) {
	w, err := newWorld(s)
	if err != nil {
		return nil, err
	}
	d, err := engine.Solve(ctx, w.World)
	if err != nil {
		return nil, err
	}
	return w.write(d)
}

// newWorld checks the state (V1) and compiles it: names and maps become dense
// indices in the order of the IDs.
func newWorld(s *State) (*world, error) {
	if s == nil {
		s = new(State)
	}
	kinds, err := checkForms(s)
	if err != nil {
		return nil, err
	}
	return compileChecked(s, kinds)
}
