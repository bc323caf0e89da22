package explain

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/internal/view"
)

// A Turn is a workload that waits, and where it stands among those that do.
type Turn struct {
	// Workload, Pool and Queue are where it stands, those of its first form.
	Workload string `json:"workload"`
	Pool     string `json:"pool,omitzero"`
	Queue    string `json:"queue,omitzero"`
	// InQueue is its place among those of its queue that wait, from 1 (O1); its place in the
	// pool is that in the list of the pool's turns (O2).
	InQueue int `json:"inQueue"`
	// Priority, NonPreemptible and Submitted are what the order inside a queue goes by,
	// as in an [Explanation].
	Priority       int32     `json:"priority,omitzero"`
	NonPreemptible bool      `json:"nonPreemptible,omitzero"`
	Submitted      time.Time `json:"submitted,omitzero"`
}

// String is a line: which workload, its place in its queue, and what the order there goes by.
func (t Turn) String() string {
	text := prose.Member(t.Queue, t.Workload) + ": place " + prose.Decimal(t.InQueue)
	if t.Queue != "" {
		text += " of queue " + prose.Word(t.Queue)
	}
	if t.Pool != "" {
		text += " in pool " + prose.Word(t.Pool)
	}
	return text + ", " + strings.Join(standsAs(t.Priority, t.NonPreemptible, t.Submitted), ", ")
}

// Turns are the workloads that have a turn after the decision, by pool and in the order in
// which their turns would come, were the order gone through once without a start
// (O1, O2). What waits for its own tasks only, or for more of them to be
// submitted, has none. A pool's own order of queues follows from the figures of
// [allot.Plan.Shares], which stand as they are after the plan.
//
// The error is the context's. It costs what the first question about a decision costs,
// and one time through what waits.
func Turns(ctx context.Context, d *allot.Decision) ([]Turn, error) {
	var out []Turn
	err := d.View(ctx, view.Victims{}, func(v decision) error {
		w := &viewed{v.World(), v}
		for pool := range w.Pools {
			out = append(out, w.turns(int32(pool))...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		source, _ := d.Snapshot().Workload(out[i].Workload)
		out[i].Submitted = source.Submitted
	}
	return out, nil
}

// turns are those of a pool.
func (w *viewed) turns(pool int32) []Turn {
	order := w.view.Turns(pool)
	out := make([]Turn, len(order))
	before := make([]int, len(w.Pools[pool].Parent))
	for at, i := range slices.All(order) {
		k := &w.Works[i]
		f := w.FormOf(k, engine.ShownForm(w.World, k))
		for form := int16(0); f.Pool != pool; form++ { // it has a turn here by one of them
			f = w.FormOf(k, form)
		}
		before[f.Queue]++
		out[at] = Turn{
			Workload: w.view.WorkloadID(i), Pool: w.view.PoolID(f.Pool), Queue: w.view.QueueID(f.Pool, f.Queue), InQueue: before[f.Queue],
			Priority: w.priority(f.Pool, f.Priority), NonPreemptible: f.NonPreemptible,
		}
	}
	return out
}
