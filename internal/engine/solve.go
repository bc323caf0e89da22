package engine

import "context"

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
