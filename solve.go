package allot

import "context"

// Solve decides what to do in the state s: what starts where, what waits and
// why, and the fair shares behind it. It depends on nothing but s and modifies
// nothing of it; the same state gives the same plan, bit for bit (S1).
//
// The error is an [*InvalidError] that names every fault of the state; a full
// cluster is no error. A nil state is the zero State.
//
// It is [NewSnapshot], [Snapshot.Decide] and [Decision.Plan] in one, from scratch:
// the same rules by the same code, and nothing is kept. A host that solves again and again
// keeps a [Snapshot].
//
// For n nodes, q queues and t tasks the cost is about O(t·(log q·depth + log
// n)) and the checking and sorting of the state.
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
	d, err := w.solve(ctx)
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
	if err := Check(s); err != nil {
		return nil, err
	}
	return compile(s)
}

// solve is the flow of every solve, stage by stage; a reader who wants to know
// how workloads get their turns goes on in decide.go.
func (w *world) solve(ctx context.Context) (*decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &decision{world: w}
	// What runs, leaves and is claimed takes its place and is charged; what has
	// lost its place gives it up (S4, S5, S7).
	if err := w.settle(d); err != nil {
		return nil, err
	}
	// What nodes are scored by is told where a strategy asks for it (P4).
	if err := w.scorePools(); err != nil {
		return nil, err
	}
	// The capacity is divided down every tree of queues (F1–F8).
	if err := w.divideShares(); err != nil {
		return nil, err
	}
	// The best waiting workload has its turn and starts, is made room for, or
	// waits, again and again, until nothing changes any more (O4, M9).
	if err := w.decide(ctx, d); err != nil {
		return nil, err
	}
	// Who had to go, who moves, who starts and after whom (M1–M9).
	if err := w.close(d); err != nil {
		return nil, err
	}
	w.tellActions(d)
	return d, nil
}
