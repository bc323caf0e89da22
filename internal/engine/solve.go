package engine

import (
	"context"
	"iter"

	"github.com/allotsched/allot/preempt"
)

// Solve is the flow of every solve, stage by stage; a reader who wants to know
// how workloads get their turns goes on in decide.go.
func (w *World) Solve(ctx context.Context) (*Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &Decision{World: w}
	if err := w.begin(d); err != nil {
		return nil, err
	}
	// The best waiting workload has its turn and starts, is made room for, or
	// waits, again and again, until nothing changes any more (O4, M9).
	if err := w.Decide(ctx, d); err != nil {
		return nil, err
	}
	// Who had to go, who moves, who starts and after whom (M1–M9).
	if err := w.Close(d); err != nil {
		return nil, err
	}
	w.tellActions(d)
	return d, nil
}

// begin is what comes before anybody has a turn, in a solve and in a probe.
func (w *World) begin(d *Decision) error {
	renewEffort(w)
	// What runs, leaves and is claimed takes its place and is charged; what has
	// lost its place gives it up (S4, S5, S7).
	if err := w.Settle(d); err != nil {
		return err
	}
	// What nodes are scored by is told where a strategy asks for it (P4), and the
	// capacity is divided down every tree of queues (F1–F8).
	return w.divideAnew()
}

// divideAnew tells what nodes are scored by, and divides the capacity.
func (w *World) divideAnew() error {
	if err := w.dividing().scorePools(); err != nil {
		return err
	}
	return w.DivideShares()
}

// mostRounds is the counted stop (M5): far more rounds than a solve that comes
// to rest can need.
func mostRounds(w *World) int { return 64 + 4*len(w.Works) }

// stopsPasses is the counted stop of passes (M5): a pass may begin again for each start, but not
// after more takings than a solve that comes to rest can need.
func stopsPasses(w *World, passes int) bool {
	return passes > mostRounds(w) && len(w.Room.takings) > mostTakings(w)
}

// mostTakings is the counted stop of passes (M5), which only go on without end where units are
// taken again and again: far more than the tasks that there are.
func mostTakings(w *World) int {
	tasks := 0
	for i := range w.Works {
		for _, n := range w.Definition(&w.Works[i], w.Works[i].Current).Counts {
			tasks += int(n)
		}
	}
	return mostRounds(w) + 16*tasks
}

// An answering is a solver as a [Loop].
type answering struct{ *Solver }

// Stays implements [Loop].
func (s answering) Stays(u *preempt.Unit, seats []Seat) bool { return s.reprieving().stays(u, seats) }

// Moves implements [Loop].
func (s answering) Moves(u *preempt.Unit, anew bool) (int64, bool) {
	return s.reprieving().moves(u, anew)
}

// IsBehind implements [Loop].
func (s answering) IsBehind(u *preempt.Unit, work int32) bool { return s.behind().isBehind(u, work) }

// ComesBehind implements [Loop].
func (s answering) ComesBehind(one *Seat) bool { return s.behind().comesBehind(one) }

// StoodThere implements [Loop].
func (s answering) StoodThere(t *taking) bool { return s.behind().stoodThere(t) }

// TellWaits implements [Loop].
func (s answering) TellWaits() { s.promising().telling().waits() }

// RenameDevices implements [Loop].
func (s answering) RenameDevices(node int32, to []int32) { s.promising().rename(node, to) }

// solverAt is the solver of a pool.
func solverAt(w *World, pool int32) *Solver { return w.Loops[pool].(answering).Solver }

// eachSolver goes through the solvers by pool.
func eachSolver(w *World) iter.Seq[*Solver] {
	return func(yield func(*Solver) bool) {
		for pool := range w.Loops {
			if !yield(solverAt(w, int32(pool))) {
				return
			}
		}
	}
}

// someSolver says whether one of them is as asked.
func someSolver(w *World, is func(*Solver) bool) bool {
	for s := range eachSolver(w) {
		if is(s) {
			return true
		}
	}
	return false
}
