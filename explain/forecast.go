package explain

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/internal/view"
	"github.com/allotsched/allot/quota"
)

// A Forecast is when a workload that waits is expected to start (B10).
type Forecast struct {
	// Workload is the one that waits, Queue where it is charged.
	Workload string `json:"workload"`
	Queue    string `json:"queue,omitzero"`
	// Start is when at the earliest; zero is never, as far as is known: only work of which no
	// end is known, or the user's own doing, would help.
	Start time.Time `json:"start,omitzero"`
	// Form is the form that starts then (G5), Tasks are its places: of one that never starts, as far as is known,
	// those that it would have if everything ended, that of which no end is known after all else, and first what
	// began first.
	Form  int               `json:"form,omitzero"`
	Tasks []allot.Placement `json:"tasks,omitempty"`
	// WaitsFor are the workloads, by ID, without whose end it could not start then: those that have its places, or
	// what its queue may use, now or from the start that is foreseen for them. What these wait for in turn is not
	// told again. It is empty where no end would help: of a workload that is impossible, asks more than a quota or
	// limit, or waits for room to be made.
	WaitsFor []string `json:"waitsFor,omitempty"`
	// Held: it claims its places already, and starts when they are free. Promised: the policy
	// keeps the places for it (B4), for one that has no Start as they are gathered (B8). Neither is what durations
	// lead one to expect.
	Held     bool `json:"held,omitzero"`
	Promised bool `json:"promised,omitzero"`
	// Unlooked: no more workloads were looked at before it came.
	Unlooked bool `json:"unlooked,omitzero"`
}

// ErrForecast is that less than one workload is to be looked at.
var ErrForecast = errors.New("explain: a forecast looks at one workload or more")

// Forecasts says of every workload that waits after a decision when it would start if
// nothing else came, in the order of the plan's Pending (B10). It is the plan, played on: what that promises
// stands, and each other workload is laid at its earliest time in its turn, as by conservative backfill; in a
// pool that makes promises so that by its limit it has left before what is promised to another. A workload that
// the plan has refused does not start before something changes, one that may not pass the head of a queue not
// before that head does (O4), and one that waits for its NotBefore not before that. Each workload finds taken what
// has been foreseen for those before it. Nothing is promised by that. At most so many workloads of a pool are looked at;
// the others are told as Unlooked. It is as sure as the durations are (B1): starts
// that room will be made for may come earlier, and what comes and stands before it makes
// them later. So do an elastic gang of a higher priority that grows (G2), a workload whose NotBefore comes and that
// stands before it then, and whoever passes it where it is promised nothing. Without these nobody starts later who is
// promised its places, though perhaps at other places that are as good then; and whom nobody may pass starts later only
// where one before it has started earlier, at other places than were foreseen, as a gang of fixed work has been completed and
// ended the sooner.
//
// The error is the context's, or ErrForecast. It costs as much as so many
// promises, each beside all before it, and of each all nodes are read once at its time: with as many
// nodes as gangs that is the square of how many are looked at, which is what most bounds. On 1,000 full nodes
// all of 1,000 gangs take less than a second. Where some never start, as far as is known, it costs as much again to tell
// what they wait for.
func Forecasts(ctx context.Context, d *allot.Decision, most int) ([]Forecast, error) {
	if most < 1 {
		return nil, ErrForecast
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begun, err := d.Begin()
	if err != nil {
		return nil, err
	}
	f := forecasting{ctx: ctx, begun: begun, most: most}
	if f.foreseen, err = f.foresee(begun); err != nil {
		return nil, err
	}
	out, err := f.all(d)
	if err != nil || !slices.ContainsFunc(out, never) {
		return out, err
	}
	return out, f.nameAwaited(out)
}

// never says whether no start is known for a workload that was looked at, nor where it would be.
func never(f Forecast) bool { return f.Start.IsZero() && !f.Unlooked && !f.Promised }

// foresee lays each workload that waits in a version at its earliest time, by workload.
func (f *forecasting) foresee(s *allot.Snapshot) (map[string]*allot.PlannedReservation, error) {
	list, err := s.Foresee(f.ctx, view.Ahead{Most: f.most})
	foreseen := make(map[string]*allot.PlannedReservation, len(list))
	for i := range list {
		if r := &list[i]; r.Change != allot.PromiseWithdrawn {
			foreseen[r.Workload] = r
		}
	}
	return foreseen, err
}

// endAll is the change by which everything has an end, that of which none is known after so long.
func endAll(s *allot.Snapshot, atLast quota.Bound) allot.Change {
	var c allot.Change
	for p := range s.Pools() {
		c.Pools = append(c.Pools, p)
	}
	if len(c.Pools) == 0 {
		c.Pools = []allot.Pool{{ID: "all"}}
	}
	for i := range c.Pools {
		if d := &c.Pools[i].Policy.Durations; !d.Default.Given() || d.Default.IsUnlimited() {
			d.Default = atLast
		}
	}
	for k := range s.Workloads() {
		if k.Duration.IsUnlimited() {
			k.Duration = atLast
			c.Workloads = append(c.Workloads, k)
		}
	}
	for q := range s.Queues() {
		if q.Durations.Default.IsUnlimited() {
			q.Durations.Default = atLast
			c.Queues = append(c.Queues, q)
		}
	}
	return c
}

// century is a duration that ends after all of which an end is known, in seconds.
const century = 100 * 365 * 24 * 3600

// longest is a century, or as much of it as is left of the years that there are; zero is less than a second.
func longest(now time.Time) int64 {
	return max(0, min(century, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()-now.Unix()-1))
}

// nameAwaited tells of a workload that never starts, as far as is known, where it would if everything ended, and
// what it waits for then. Where no end would help nothing is told.
func (f *forecasting) nameAwaited(out []Forecast) error {
	left := longest(f.begun.Now())
	if left == 0 {
		return nil // nothing ends any more
	}
	ended, err := f.begun.With(endAll(f.begun, quota.Of(left)))
	if err != nil {
		return err
	}
	foreseen, err := f.foresee(ended)
	if err != nil {
		return err
	}
	for i := range out {
		if r := foreseen[out[i].Workload]; r != nil && never(out[i]) {
			out[i].Form, out[i].Tasks, out[i].WaitsFor = r.Promise.Form, r.Promise.Tasks, r.Promise.WaitsFor
		}
	}
	return nil
}

// A forecasting is what is known of a decision once its plan is begun and has been played on.
type forecasting struct {
	ctx      context.Context
	begun    *allot.Snapshot
	foreseen map[string]*allot.PlannedReservation // by workload
	most     int
}

// all are the forecasts of what waits after the decision.
func (f *forecasting) all(d *allot.Decision) (out []Forecast, err error) {
	leaving := f.leaving()
	for waiting, err := range d.Pending() {
		if err = errors.Join(err, f.ctx.Err()); err != nil {
			return nil, err
		}
		k, _ := f.begun.Workload(waiting.Workload)
		one := Forecast{Workload: waiting.Workload, Queue: k.Queue}
		switch r := f.foreseen[k.ID]; {
		case f.held(&one, &k, leaving):
		case r != nil:
			one.Start, one.Form, one.Tasks, one.WaitsFor = r.Promise.At, r.Promise.Form, r.Promise.Tasks, r.Promise.WaitsFor
			one.Promised = k.Reserved != nil
		default:
			one.Unlooked = len(f.foreseen) >= f.most
		}
		out = append(out, one)
	}
	return out, nil
}

// A leaver is a task that is leaving its place, and whose it is.
type leaver struct {
	workload string
	task     allot.Task
}

// leaving are the tasks that are leaving, by node.
func (f *forecasting) leaving() map[string][]leaver {
	out := make(map[string][]leaver)
	for k := range f.begun.Workloads() {
		for i := range k.Tasks {
			if t := &k.Tasks[i]; t.Phase == allot.Terminating {
				out[t.Node] = append(out[t.Node], leaver{k.ID, *t})
			}
		}
	}
	return out
}

// held tells of a workload that claims places: it waits for those that are leaving them.
func (f *forecasting) held(one *Forecast, k *allot.Workload, leaving map[string][]leaver) bool {
	for i := range k.Tasks {
		t := &k.Tasks[i]
		if t.Phase != allot.Claimed {
			continue
		}
		one.Held, one.Start, one.Form = true, f.begun.Now(), k.Form
		one.Tasks = append(one.Tasks, allot.Placement{PodSet: t.PodSet, Index: t.Index, Node: t.Node, Devices: t.Devices})
		for _, l := range leaving[t.Node] {
			shared := slices.ContainsFunc(l.task.Devices, func(d int) bool { return slices.Contains(t.Devices, d) })
			if shared || len(l.task.Devices) == 0 || len(t.Devices) == 0 {
				one.WaitsFor = append(one.WaitsFor, l.workload)
			}
		}
	}
	slices.Sort(one.WaitsFor)
	one.WaitsFor = slices.Compact(one.WaitsFor)
	return one.Held
}

// String is a line: when, where, behind whose ends and how sure that is.
func (f Forecast) String() string {
	var b bytes.Buffer
	b.WriteString(prose.Member(f.Queue, f.Workload))
	switch {
	case f.Unlooked:
		b.WriteString(": not looked at")
	case f.Start.IsZero():
		b.WriteString(": never, as far as is known")
	case f.Held:
		b.WriteString(": when its places are free, from " + prose.Instant(f.Start))
	default:
		b.WriteString(": " + prose.Instant(f.Start))
	}
	if len(f.Tasks) > 0 {
		b.WriteString(" on")
		writePlaces(&b, f.Tasks)
	}
	if len(f.WaitsFor) > 0 {
		b.WriteString(" after " + strings.Join(prose.Each(f.WaitsFor), ", "))
	}
	if f.Promised {
		b.WriteString(", promised")
	}
	return b.String()
}
