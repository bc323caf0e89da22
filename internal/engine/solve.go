package engine

import (
	"context"
	"iter"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/settling"
	"github.com/allotsched/allot/preempt"
)

// Solve is the flow of every solve, stage by stage; a reader who wants to know
// how workloads get their turns goes on in decide.go.
func Solve(ctx context.Context, w *cluster.World) (*cluster.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &cluster.Decision{World: w}
	if err := begin(w, d); err != nil {
		return nil, err
	}
	// The best waiting workload has its turn and starts, is made room for, or
	// waits, again and again, until nothing changes any more (O4, M9).
	if err := Decide(ctx, w, d); err != nil {
		return nil, err
	}
	// Who had to go, who moves, who starts and after whom (M1–M9).
	if err := difference.Close(w, d); err != nil {
		return nil, err
	}
	tellActions(w, d)
	return d, nil
}

// begin is what comes before anybody has a turn, in a solve and in a probe.
func begin(w *cluster.World, d *cluster.Decision) error {
	cluster.RenewEffort(w)
	// What runs, leaves and is claimed takes its place and is charged; what has
	// lost its place gives it up (S4, S5, S7).
	if err := settling.Settle(w, d); err != nil {
		return err
	}
	// What nodes are scored by is told where a strategy asks for it (P4), and the
	// capacity is divided down every tree of queues (F1–F8).
	return divideAnew(w)
}

// divideAnew tells what nodes are scored by, and divides the capacity.
func divideAnew(w *cluster.World) error {
	if err := division.Of(w).ScorePools(); err != nil {
		return err
	}
	return division.DivideShares(w)
}

// mostRounds is the counted stop (M5): far more rounds than a solve that comes
// to rest can need.
func mostRounds(w *cluster.World) int { return 64 + 4*len(w.Works) }

// stopsPasses is the counted stop of passes (M5): a pass may begin again for each start, but not
// after more takings than a solve that comes to rest can need.
func stopsPasses(w *cluster.World, passes int) bool {
	return passes > mostRounds(w) && len(w.Room.Takings) > mostTakings(w)
}

// mostTakings is the counted stop of passes (M5), which only go on without end where units are
// taken again and again: far more than the tasks that there are.
func mostTakings(w *cluster.World) int {
	tasks := 0
	for i := range w.Works {
		for _, n := range w.Definition(&w.Works[i], w.Works[i].Current).Counts {
			tasks += int(n)
		}
	}
	return mostRounds(w) + 16*tasks
}

// An answering is a solver as a [cluster.Loop].
type answering struct{ *Solver }

// Stays implements [cluster.Loop].
func (s answering) Stays(u *preempt.Unit, seats []cluster.Seat) bool {
	return s.reprieving().stays(u, seats)
}

// Moves implements [cluster.Loop].
func (s answering) Moves(u *preempt.Unit, anew bool) (int64, bool) {
	return s.reprieving().moves(u, anew)
}

// IsBehind implements [cluster.Loop].
func (s answering) IsBehind(u *preempt.Unit, work int32) bool { return s.behind().isBehind(u, work) }

// TakesBack implements [cluster.Loop].
func (s answering) TakesBack(u *preempt.Unit, work int32) bool { return s.behind().takesBack(u, work) }

// ComesBehind implements [cluster.Loop].
func (s answering) ComesBehind(one *cluster.Seat) bool { return s.behind().comesBehind(one) }

// StoodThere implements [cluster.Loop].
func (s answering) StoodThere(t *cluster.Taking) bool { return s.behind().stoodThere(t) }

// TellWaits implements [cluster.Loop].
func (s answering) TellWaits() { s.promising().telling().waits() }

// RenameDevices implements [cluster.Loop].
func (s answering) RenameDevices(node int32, to []int32) { s.promising().rename(node, to) }

// solverAt is the solver of a pool.
func solverAt(w *cluster.World, pool int32) *Solver { return w.Loops[pool].(answering).Solver }

// eachSolver goes through the solvers by pool.
func eachSolver(w *cluster.World) iter.Seq[*Solver] {
	return func(yield func(*Solver) bool) {
		for pool := range w.Loops {
			if !yield(solverAt(w, int32(pool))) {
				return
			}
		}
	}
}

// someSolver says whether one of them is as asked.
func someSolver(w *cluster.World, is func(*Solver) bool) bool {
	for s := range eachSolver(w) {
		if is(s) {
			return true
		}
	}
	return false
}
