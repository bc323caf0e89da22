package explain

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
)

// A Span is from when to when a workload is predicted to run (B1).
type Span struct {
	// Workload is the one that runs, Queue and Pool where it is charged.
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	Pool     string `json:"pool,omitzero"`
	// Promised is when it is promised to start (B4); zero is that it runs, or starts now.
	Promised time.Time `json:"promised,omitzero"`
	// End is when the last of its tasks ends; zero is not known.
	End time.Time `json:"end,omitzero"`
}

// Timeline says from when to when what runs after a decision, and what it promises to start, is
// predicted to do so, for the pools that make promises ([allot.ReservePolicy]), as ends are
// predicted only there: by pool, first what runs, by its end, then what is promised, by its start, and
// by ID where those are the same. The error is the context's. It costs nothing beside the decision
// in full.
func Timeline(ctx context.Context, d *allot.Decision) ([]Span, error) {
	var out []Span
	err := d.View(ctx, view.Victims{}, func(v decision) error {
		w := v.World()
		add := func(i int32, form int16, promised time.Time, end int64) {
			f := w.FormOf(&w.Works[i], form)
			s := Span{Workload: v.WorkloadID(i), Queue: v.QueueID(f.Pool, f.Queue), Pool: v.PoolID(f.Pool), Promised: promised}
			if end < cluster.Never {
				s.End = v.Instant(end)
			}
			out = append(out, s)
		}
		for i := range w.Works {
			k := &w.Works[i]
			if end := engine.EndOf(v.Outcome(), int32(i)); end >= 0 && w.Pools[w.FormOf(k, k.Current).Pool].Policy.Reserve.Depth > 0 {
				add(int32(i), k.Current, time.Time{}, end)
			}
		}
		for _, r := range d.Reservations() {
			i, known := v.Workload(r.Workload)
			if !known || r.Change == allot.PromiseWithdrawn || r.Promise.At.IsZero() {
				continue
			}
			form, at := int16(r.Promise.Form), r.Promise.At.UnixMicro()
			long := w.Definition(&w.Works[i], form).Times.Lasts(int32(len(r.Promise.Tasks)))
			add(i, form, r.Promise.At, at+min(long, cluster.Never-at))
		}
		return nil
	})
	slices.SortFunc(out, func(a, b Span) int {
		return cmp.Or(
			strings.Compare(a.Pool, b.Pool), a.Promised.Compare(b.Promised),
			compareEnds(a.End, b.End), strings.Compare(a.Workload, b.Workload),
		)
	})
	return out, err
}

// compareEnds compares ends, of which the zero one is the last.
func compareEnds(a, b time.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return a.Compare(b)
	case a.IsZero():
		return 1
	}
	return -1
}
