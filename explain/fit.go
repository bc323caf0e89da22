package explain

import (
	"bytes"
	"context"
	"math/bits"
	"strconv"
	"sync"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
	"github.com/allotsched/allot/quota"
)

// A Fitter answers, for one version of a snapshot and without changing it,
// whether workloads would fit: the questions that a host asks thousands of times,
// of what is about to be submitted or of what waits already.
//
// A workload is asked about as if it were submitted to that version and alone
// had turns: what runs, is claimed or leaves holds its place, what is lost or
// claimed in vain has given it up (S4, S5, S7), and nothing else starts, grows or
// ends. So an answer is what [allot.Snapshot.Decide] does of With(the workload) where
// nothing else waits; where something does, it may go first. What waits asks for
// its fair share all the same (F1), which decides for which work room is made. A
// workload that waits in the version is asked about in the place of itself.
//
// The first question compiles the version, in the time of a solve's beginning.
// From then on what is asked the second time in the same queue, with the same
// pod sets, priority and preemption, is remembered; another shape of task costs
// one look at every node, and another workload of known shapes a search of the
// index. A Fitter keeps the compiled version in memory, and something for every
// kind of workload it was asked about. It is safe for concurrent use, one
// question after the other; a caller that wants them side by side makes several.
type Fitter struct {
	snapshot *allot.Snapshot
	lock     sync.Mutex
	// now is the version, empty the version of which everything has ended; nil
	// until asked.
	now, empty probe
}

// A probe is what package allot shows of a version.
type probe = view.Probe[allot.Workload, allot.Reason]

// NewFitter is a [Fitter] of this version. It does nothing yet.
func NewFitter(s *allot.Snapshot) *Fitter { return &Fitter{snapshot: s} }

// A Fit is the answer to whether a workload would start.
type Fit struct {
	// OK: it would start, at least at its minimum (G1).
	OK bool `json:"ok,omitzero"`
	// Room: others would be evicted, shrunk or moved for it, or it would claim
	// the places of what leaves (S4). Only [Fitter.WithRoom] tells so.
	Room bool `json:"room,omitzero"`
	// Form is the form that would start (G5); of what would not, the first.
	Form int `json:"form,omitzero"`
	// Tasks are what would start and where, by pod set and then by index; none
	// where it takes room. They are the caller's to read, not to write. Strategies
	// that score nodes may choose other places in the end: their mix of tasks (P4)
	// is without the workload, and lots fall otherwise with every other state.
	Tasks []allot.Placement `json:"tasks,omitempty"`
	// Availability is what quotas, limits and the capacity in all say of the
	// form, whatever the nodes have room for (Q9).
	Availability quota.Availability `json:"availability,omitzero"`
}

// String is the answer for people, for example "would start: n0[0-3]", "would
// start in room that is made for it" or "would not start; by quotas and limits:
// never".
func (f Fit) String() string {
	form := ""
	if f.Form > 0 {
		form = " in form " + strconv.Itoa(f.Form)
	}
	switch {
	case !f.OK:
		return "would not start" + form + "; by quotas and limits: " + f.Availability.String()
	case f.Room:
		return "would start" + form + " in room that is made for it"
	}
	var b bytes.Buffer
	for rest := f.Tasks; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].PodSet == rest[0].PodSet {
			n++
		}
		if len(f.Tasks) > 1 || rest[0].PodSet != "" || rest[0].Index != 0 {
			b.WriteString(" " + numbered(rest[:n]))
		}
		writePlaces(&b, rest[:n])
		rest = rest[n:]
	}
	return "would start" + form + ":" + b.String()
}

// Now says whether the workload would start in what is free, with nothing
// evicted, shrunk or moved for it. One of several forms or sizes for which room
// would rather be made, and one with a beginning in what is free only thereafter,
// would not. The error is the context's, or an [*allot.InvalidError] where the workload
// has a fault, or holds places.
func (f *Fitter) Now(ctx context.Context, k allot.Workload) (Fit, error) {
	return f.fit(ctx, k, f.present, false)
}

// WithRoom is [Fitter.Now] where the policy may make room as well: a Decide on
// With(the workload) tells what has to go. A question whose answer is not
// remembered takes the time of a search for victims.
func (f *Fitter) WithRoom(ctx context.Context, k allot.Workload) (Fit, error) {
	return f.fit(ctx, k, f.present, true)
}

// Ever says whether the workload would start if everything else had ended, and
// what is cordoned or unhealthy had come back. What is lost stays lost, what
// others use of nodes (S8) stays in use. Of gangs of unlike tasks the search for
// places is greedy, and may miss some. The first such question compiles the empty
// cluster.
func (f *Fitter) Ever(ctx context.Context, k allot.Workload) (Fit, error) {
	return f.fit(ctx, k, f.deserted, false)
}

// Copies says how many workloads like k would start, one after the other, in
// what is free with nothing disturbed: the number is at most most. Each is placed
// where the ones before it leave room, in the first form that fits; Solve may place those
// before it anew so that more start ([allot.Policy.MaxReplacedStarts]). It takes a search of
// the index for every task.
func (f *Fitter) Copies(ctx context.Context, k allot.Workload, most int) (n int, err error) {
	err = f.ask(ctx, k, f.present, func(p probe) error {
		n, err = p.Asked().Copies(most)
		return err
	})
	return n, err
}

// Why are the reasons for which the workload would not start now (X1), the most
// telling first; none if it would.
func (f *Fitter) Why(ctx context.Context, k allot.Workload) (reasons []allot.Reason, err error) {
	if fit, err := f.WithRoom(ctx, k); err != nil || fit.OK && !fit.Room {
		return nil, err
	}
	err = f.ask(ctx, k, f.present, func(p probe) error {
		reasons, err = p.Reasons()
		return err
	})
	return reasons, err
}

// fit answers by one of the worlds.
func (f *Fitter) fit(ctx context.Context, k allot.Workload, in func() (probe, error), room bool) (fit Fit, err error) {
	err = f.ask(ctx, k, in, func(p probe) error {
		answer, err := p.Asked().Fit(room)
		fit = fitOf(p, &answer)
		return err
	})
	return fit, err
}

// ask poses the workload, which must hold no places, in one of the worlds.
func (f *Fitter) ask(ctx context.Context, k allot.Workload, in func() (probe, error), question func(p probe) error) error {
	known, _ := f.snapshot.Workload(k.ID)
	if n := len(k.Tasks); n > 0 || len(known.Tasks) > 0 {
		return &allot.InvalidError{Faults: []allot.Fault{{
			Path: "workload.tasks", Code: allot.FaultTooMany, Value: strconv.Itoa(max(n, 1)),
			Want: "must be none: what holds places is not asked about",
		}}}
	}
	return f.askAnew(ctx, k, in, question)
}

// askAnew is ask for a workload that may hold places: it is asked about as if it
// were to start once more, with what it holds as taken as all else.
func (f *Fitter) askAnew(ctx context.Context, k allot.Workload, in func() (probe, error), question func(p probe) error) error {
	if k.Ending {
		return &allot.InvalidError{Faults: []allot.Fault{{
			Path: "workload.ending", Code: allot.FaultTaskPhase, Value: "true", Want: "must be false: what ends does not start",
		}}}
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := in()
	if err != nil {
		return err
	}
	k.Tasks = nil
	if err := p.Pose(ctx, k); err != nil {
		return err
	}
	defer func() { p.Asked().Dismiss() }()
	if err = question(p); ctx.Err() != nil {
		f.now, f.empty = nil, nil // a search that was given up leaves nothing to go on from
	}
	return err
}

func (f *Fitter) present() (probe, error) { return f.probe(&f.now, false) }

func (f *Fitter) deserted() (probe, error) { return f.probe(&f.empty, true) }

// probe is the one that is known, or a new one.
func (f *Fitter) probe(known *probe, deserted bool) (p probe, err error) {
	if *known == nil {
		if p, err = f.snapshot.Probe(deserted); err != nil {
			return nil, err
		}
		*known = p
	}
	return *known, nil
}

// fitOf is an answer in the words of a plan.
func fitOf(p probe, answer *engine.Answer) Fit {
	out := Fit{OK: answer.Ok, Room: answer.Room, Form: int(answer.Form), Availability: answer.Availability}
	if answer.Unit.Add == nil {
		return out
	}
	w := p.World()
	form := w.FormOf(&w.Works[p.Asked().Slot], answer.Form)
	nodes, names := w.Pools[form.Pool].Nodes, p.PodSets(form.Pool, form.Definition)
	out.Tasks = make([]allot.Placement, 0, len(answer.Places))
	next := 0
	for set, n := range answer.Unit.Add {
		for i := range n {
			place := answer.Places[next]
			one := allot.Placement{PodSet: names[set], Index: int(i), Node: p.NodeID(nodes[place.Node])}
			for rest := place.Devices; rest != 0; rest &= rest - 1 {
				one.Devices = append(one.Devices, bits.TrailingZeros64(rest))
			}
			out.Tasks = append(out.Tasks, one)
			next++
		}
	}
	return out
}
