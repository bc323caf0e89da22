package report

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

// A timeline is what runs in a pool that makes promises, until when, and what it promises to
// start, from when.
type timeline struct {
	Pool, Title string
	Rows        []timelineRow
	// Ticks are times along the bars, Left says what has no bar.
	Ticks []timelineTick
	Left  string
}

// A timelineRow is a bar from From to From + Width, in percent. Open: nobody knows when it
// ends, and the bar goes on beyond.
type timelineRow struct {
	ID, Workload  string
	Promised      bool
	Open          bool
	From, Width   string
	Label, Figure string
	After         string
}

// A timelineTick is a time so long from now, at a place in percent.
type timelineTick struct{ At, Text string }

// shownSpans is how many workloads of a kind, that run or are promised a start, have a bar.
const shownSpans = 12

// timelines are those of the pools that make promises and run anything, or promise it.
func (d *drawing) timelines() ([]timeline, error) {
	spans, err := explain.Timeline(d.ctx, d.decision)
	if err != nil {
		return nil, err
	}
	after := make(map[string][]string) // who waits for whose ends
	awaited := make(map[string]bool)
	for i := range d.plan.Reservations {
		r := &d.plan.Reservations[i]
		after[r.Workload] = r.Promise.WaitsFor
		for _, id := range r.Promise.WaitsFor {
			awaited[id] = true
		}
	}
	var out []timeline
	for len(spans) > 0 {
		n := slices.IndexFunc(spans, func(s explain.Span) bool { return s.Pool != spans[0].Pool })
		if n < 0 {
			n = len(spans)
		}
		out = append(out, d.timeline(spans[:n:n], after, awaited))
		spans = spans[n:]
	}
	return out, nil
}

// timeline is that of a pool. Of what runs it shows first what promises wait for, and then what
// ends first.
func (d *drawing) timeline(spans []explain.Span, after map[string][]string, awaited map[string]bool) timeline {
	var runs, promised []explain.Span
	for _, s := range spans {
		if s.Promised.IsZero() {
			runs = append(runs, s)
		} else {
			promised = append(promised, s)
		}
	}
	t := timeline{Pool: spans[0].Pool, Title: prose.Count(len(runs), "workload") + " run, " + prose.Count(len(promised), "promise")}
	shown := slices.Clone(runs)
	slices.SortStableFunc(shown, func(a, b explain.Span) int { return first(awaited[a.Workload], awaited[b.Workload]) })
	shown = shown[:min(len(shown), shownSpans)]
	slices.SortStableFunc(shown, func(a, b explain.Span) int {
		return slices.Index(runs, a) - slices.Index(runs, b)
	})
	more := len(promised) - min(len(promised), shownSpans)
	if left := len(runs) - len(shown); left > 0 || more > 0 {
		t.Left = strconv.Itoa(left) + " more run, and " + prose.Count(more, "more promise") + "."
	}
	shown = append(shown, promised[:len(promised)-more]...)
	now := d.state.Now
	span := time.Second
	for _, s := range shown {
		for _, at := range []time.Time{s.Promised, s.End} {
			if !at.IsZero() {
				span = max(span, at.Sub(now))
			}
		}
	}
	for _, s := range shown {
		t.Rows = append(t.Rows, d.timelineRow(&s, span, after[s.Workload]))
	}
	for k := range int64(5) {
		at := span / 4 * time.Duration(k)
		text := "now"
		if k > 0 {
			text = words.Age(now.Add(at), now)
		}
		t.Ticks = append(t.Ticks, timelineTick{strconv.FormatInt(k*25, 10), text})
	}
	return t
}

// first puts what is true first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func (d *drawing) timelineRow(s *explain.Span, span time.Duration, after []string) timelineRow {
	now := d.state.Now
	row := timelineRow{ID: s.Workload, Workload: words.WorkName(s.Queue, s.Workload), Promised: !s.Promised.IsZero(), Open: s.End.IsZero(), From: "0"}
	whole, parts := int64(span/time.Second), []string(nil)
	from, to := int64(0), whole
	if row.Promised {
		from = int64(s.Promised.Sub(now) / time.Second)
		row.From = position(whole, from)
		parts = append(parts, "starts by "+words.Instant(s.Promised)+", in "+words.Age(s.Promised, now))
		if len(after) > 0 {
			row.After = "after " + prose.Some(after, ", ", 3)
		}
	}
	if row.Open {
		parts = append(parts, "nobody knows when it ends")
	} else {
		to = int64(s.End.Sub(now) / time.Second)
		parts = append(parts, "ends in "+words.Age(s.End, now))
	}
	row.Width, row.Figure = position(whole, max(to-from, whole/500)), strings.Join(parts, ", ") // something to see
	row.Label = row.Workload + ": " + row.Figure
	return row
}
