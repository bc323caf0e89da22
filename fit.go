package allot

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/allotsched/allot/quota"
)

// A Fitter answers, for one version of a snapshot and without changing it,
// whether workloads would fit: the questions that a host asks thousands of times,
// of what is about to be submitted or of what waits already.
//
// A workload is asked about as if it were submitted to that version and alone
// had turns: what runs, is claimed or leaves holds its place, what is lost or
// claimed in vain has given it up (S4, S5, S7), and nothing else starts, grows or
// ends. So an answer is what [Snapshot.Decide] does of With(the workload) where
// nothing else waits; where something does, it may go first. What waits asks for
// its fair share all the same (F1), which decides for whom room is made. A
// workload that waits in the version is asked about in the place of itself.
//
// The first question compiles the version, in the time of a solve's beginning.
// From then on what is asked the second time in the same queue, with the same
// pod sets, priority and preemption, is remembered; another shape of task costs
// one look at every node, and another workload of known shapes a search of the
// index. A Fitter keeps the compiled version in memory, and something for every
// kind of workload it was asked about. It is safe for concurrent use, one
// question after the other; who wants them side by side makes several.
type Fitter struct {
	snapshot *Snapshot
	lock     sync.Mutex
	// now is the version, empty the version of which everything has ended; nil
	// until asked.
	now, empty *fitWorld
}

// Fitter is a [Fitter] of this version. It does nothing yet.
func (s *Snapshot) Fitter() *Fitter { return &Fitter{snapshot: s.orZero()} }

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
	Tasks []Placement `json:"tasks,omitempty"`
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
	writeTasks(&b, f.Tasks, nil, false)
	return "would start" + form + ":" + b.String()
}

// Now says whether the workload would start in what is free, with nobody
// evicted, shrunk or moved for it. One of several forms or sizes for which room
// would rather be made, and one with a beginning in what is free only thereafter,
// would not. The error is the context's, or an [*InvalidError] where the workload
// has a fault, or holds places.
func (f *Fitter) Now(ctx context.Context, k Workload) (Fit, error) {
	return f.fit(ctx, k, f.present, false)
}

// WithRoom is [Fitter.Now] where the policy may make room as well: who
// has to go, a Decide on With(the workload) tells. A question whose answer is not
// remembered takes the time of a search for victims.
func (f *Fitter) WithRoom(ctx context.Context, k Workload) (Fit, error) {
	return f.fit(ctx, k, f.present, true)
}

// Ever says whether the workload would start if everything else had ended, and
// what is cordoned or unhealthy had come back. What is lost stays lost, what
// others use of nodes (S8) stays in use. Of gangs of unlike tasks the search for
// places is greedy, and may miss some. The first such question compiles the empty
// cluster.
func (f *Fitter) Ever(ctx context.Context, k Workload) (Fit, error) {
	return f.fit(ctx, k, f.deserted, false)
}

// Copies says how many workloads like k would start, one after the other, in
// what is free with nobody disturbed: the number is at most most. Each is placed
// where the ones before it leave room, in the first form that fits. It takes a
// search of the index for every task.
func (f *Fitter) Copies(ctx context.Context, k Workload, most int) (n int, err error) {
	err = f.ask(ctx, k, f.present, func(w *fitWorld) error {
		n, err = w.Copies(most)
		return err
	})
	return n, err
}

// Why are the reasons for which the workload would not start now (X1), the most
// telling first; none if it would.
func (f *Fitter) Why(ctx context.Context, k Workload) (reasons []Reason, err error) {
	if fit, err := f.WithRoom(ctx, k); err != nil || fit.OK && !fit.Room {
		return nil, err
	}
	err = f.ask(ctx, k, f.present, func(w *fitWorld) error {
		reasons, err = w.reasons()
		return err
	})
	return reasons, err
}

// fit answers by one of the worlds.
func (f *Fitter) fit(ctx context.Context, k Workload, in func() (*fitWorld, error), room bool) (fit Fit, err error) {
	err = f.ask(ctx, k, in, func(w *fitWorld) error {
		answer, err := w.Fit(room)
		fit = w.written(&answer)
		return err
	})
	return fit, err
}

// ask poses the workload, which must hold no places, in one of the worlds.
func (f *Fitter) ask(ctx context.Context, k Workload, in func() (*fitWorld, error), question func(w *fitWorld) error) error {
	known := f.snapshot.nouns.workloads.Get(k.ID)
	if n := len(k.Tasks); n > 0 || known != nil && len(known.Tasks) > 0 {
		return &InvalidError{Faults: []Fault{{
			Path: "workload.tasks", Code: FaultTooMany, Value: strconv.Itoa(max(n, 1)),
			Want: "must be none: what holds places is not asked about",
		}}}
	}
	return f.askAnew(ctx, k, in, question)
}

// askAnew is ask for a workload that may hold places: it is asked about as if it
// were to start once more, with what it holds as taken as all else.
func (f *Fitter) askAnew(ctx context.Context, k Workload, in func() (*fitWorld, error), question func(w *fitWorld) error) error {
	if k.Ending {
		return &InvalidError{Faults: []Fault{{
			Path: "workload.ending", Code: FaultTaskPhase, Value: "true", Want: "must be false: what ends does not start",
		}}}
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := in()
	if err != nil {
		return err
	}
	k.Tasks = nil
	if err := f.pose(ctx, w, k); err != nil {
		return err
	}
	defer w.Dismiss()
	if err = question(w); ctx.Err() != nil {
		f.now, f.empty = nil, nil // a search that was given up leaves nothing to go on from
	}
	return err
}

func (f *Fitter) present() (*fitWorld, error) {
	var err error
	if f.now == nil {
		f.now, err = newFitWorld(f.snapshot.nouns.state())
	}
	return f.now, err
}

func (f *Fitter) deserted() (*fitWorld, error) {
	var err error
	if f.empty == nil {
		f.empty, err = newFitWorld(f.snapshot.nouns.deserted())
	}
	return f.empty, err
}

// deserted is the state with nothing running and nothing out of order.
func (n *nouns) deserted() *State {
	s := n.state()
	s.Workloads = nil
	for i := range s.Nodes {
		s.Nodes[i].Cordoned = false
		s.Nodes[i].Devices = slices.Clone(s.Nodes[i].Devices)
		for d := range s.Nodes[i].Devices {
			s.Nodes[i].Devices[d].Unhealthy = false
		}
	}
	return s
}

// pose checks the workload and puts it where the world has a place for it.
func (f *Fitter) pose(ctx context.Context, w *fitWorld, k Workload) error {
	with, err := f.snapshot.With(Change{Workloads: []Workload{k}})
	if err != nil {
		return err
	}
	asked := with.nouns.workloads.Get(k.ID)
	if !w.knows(asked) {
		// A world has numbers for the resources that it was compiled with only.
		if err := w.learn(asked); err != nil {
			return err
		}
	}
	return w.pose(ctx, asked)
}
