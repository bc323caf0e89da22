package explain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// What is foretold is held against what comes: drawn clusters play on from where they are. Nobody else comes, and all
// take as long as they say. Of gangs some run already, some of these in part: with fewer tasks than their minimum,
// which waits to be completed (G1), or elastic and at their minimum or above it, to grow when there is room (G2).

// A kind of cluster says what is drawn.
type kind struct {
	policy allot.Policy
	// alike: all ask one GPU. queues: there are several, with quotas. racks: nodes stand in them, and some gangs ask
	// for one. priorities: there are several.
	alike, queues, racks, priorities bool
}

// A cluster that plays on.
type playing struct {
	*rand.Rand
	kind
	state *allot.State
	free  []allot.Task // of no workload yet
}

// drawPlaying draws one.
func drawPlaying(seed uint64, k kind) *playing {
	p := &playing{Rand: rand.New(rand.NewPCG(seed, 10)), kind: k}
	k.policy.NoConsolidation = true
	p.state = &allot.State{Now: time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC), Pools: []allot.Pool{{ID: "p", Policy: k.policy}}}
	if k.racks {
		p.state.Levels = []allot.Level{{Name: "rack"}}
	}
	for n := range 2 + p.IntN(4) {
		node := allot.Node{ID: fmt.Sprint("n", n), Devices: make([]allot.Device, 1+p.IntN(4))}
		if k.racks {
			node.Domains = map[string]string{"rack": fmt.Sprint("r", n/2)}
		}
		for i := range node.Devices {
			p.free = append(p.free, allot.Task{Node: node.ID, Devices: []int{i}, Phase: allot.Running})
		}
		p.state.Nodes = append(p.state.Nodes, node)
	}
	p.Shuffle(len(p.free), func(i, j int) { p.free[i], p.free[j] = p.free[j], p.free[i] })
	for q := 0; k.queues && q < 1+p.IntN(3); q++ {
		gpus := allot.QueueResource{Resource: allot.GPU, Quota: quota.Of(int64(p.IntN(6)) * 1000)}
		if p.IntN(4) == 0 {
			gpus.Limit = quota.Of(int64(2+p.IntN(6)) * 1000)
		}
		p.state.Queues = append(p.state.Queues, allot.Queue{ID: fmt.Sprint("q", q), Resources: []allot.QueueResource{gpus}})
	}
	for i := range 3 + p.IntN(9) {
		p.state.Workloads = append(p.state.Workloads, p.draw(i))
	}
	return p
}

// draw draws a workload, one of the first of which may run already.
func (p *playing) draw(i int) allot.Workload {
	count, hours := 1+p.IntN(4), 1+p.IntN(9)
	w := allot.Workload{
		ID: fmt.Sprintf("w%02d", i), Submitted: p.state.Now.Add(time.Duration(i-100) * time.Second), Preemption: allot.NonPreemptible,
		Duration: quota.Of(int64(hours) * 3600), TimeLimit: quota.Of(int64(hours) * 3600),
		PodSets: []allot.PodSet{{Count: count, Request: allot.Request{GPU: allot.GPURequest{Count: 1 + p.IntN(2)}}}},
	}
	set := &w.PodSets[0]
	switch {
	case p.alike:
		set.Count, set.Request.GPU.Count = 1, 1
	case p.IntN(3) == 0:
		set.Min = 1 + p.IntN(count)
		if p.IntN(2) == 0 { // the more of it run, the sooner it ends
			w.Duration, w.TimeLimit, w.FixedWork = quota.Bound{}, quota.Bound{}, int64(hours*count)*3600
		}
	}
	if p.queues {
		w.Queue = p.state.Queues[p.IntN(len(p.state.Queues))].ID
	}
	if p.priorities {
		w.Priority = int32(1 + p.IntN(3))
	}
	if i < 6 && p.IntN(3) > 0 {
		set.Request.GPU.Count = 1
		w.Submitted = p.state.Now.Add(-time.Duration(p.IntN(hours)) * time.Hour)
		for n := range min(1+p.IntN(set.Count), len(p.free)) {
			t := p.free[0]
			t.Index, t.Since = n, w.Submitted
			w.Tasks, p.free = append(w.Tasks, t), p.free[1:]
		}
	} else if p.racks && p.IntN(3) == 0 {
		w.Topology.Required = "rack"
	}
	return w
}

// begun is when a task began to run.
func begun(t *allot.Task) time.Time {
	if t.Started.IsZero() {
		return t.Since
	}
	return t.Started
}

// endOf is when a task of a workload ends: after as long as is said, or when all of them have done together what is to be done.
func endOf(w *allot.Workload, t *allot.Task) time.Time {
	if w.FixedWork == 0 {
		return begun(t).Add(time.Duration(w.Duration.Amount()) * time.Second)
	}
	tasks, first := time.Duration(len(w.Tasks)), begun(&w.Tasks[0])
	work := time.Duration(w.FixedWork) * time.Second
	for i := range w.Tasks {
		work += begun(&w.Tasks[i]).Sub(first)
	}
	return first.Add((work + tasks - 1) / tasks).Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// pass lets time pass to an instant, or to when the next task ends if that is earlier; what has ended has left, and its
// gang is so much smaller. Where nothing runs any more, nor is there an instant, time stands still, and it is over.
func (p *playing) pass(to time.Time) (goesOn bool) {
	over := func(w *allot.Workload) func(allot.Task) bool {
		now := *w
		now.Tasks = slices.Clone(w.Tasks)
		return func(t allot.Task) bool { return !endOf(&now, &t).After(to) }
	}
	for i := range p.state.Workloads {
		w := &p.state.Workloads[i]
		for k := range w.Tasks {
			if end := endOf(w, &w.Tasks[k]); to.IsZero() || end.Before(to) {
				to = end
			}
		}
	}
	if to.IsZero() {
		return false
	}
	p.state.Now = to
	p.state.Workloads = slices.DeleteFunc(p.state.Workloads, func(w allot.Workload) bool {
		ran, set := len(w.Tasks), w.PodSets[0]
		w.Tasks = slices.DeleteFunc(slices.Clone(w.Tasks), over(&w))
		return ran > 0 && (len(w.Tasks) == 0 || set.Count == ran-len(w.Tasks))
	})
	for i := range p.state.Workloads {
		w := &p.state.Workloads[i]
		ran, set := len(w.Tasks), &w.PodSets[0]
		if w.Tasks = slices.DeleteFunc(w.Tasks, over(w)); len(w.Tasks) == ran {
			continue
		}
		if set.Count -= ran - len(w.Tasks); set.Min > 0 {
			set.Min = max(1, set.Min-ran+len(w.Tasks))
		}
		for k := range w.Tasks {
			w.Tasks[k].Index = k
		}
	}
	return true
}

// A foretold is what was told, and of what.
type foretold struct {
	Forecast
	partial bool // of a gang that ran in part
	state   string
}

// A tally counts what came of what was told.
type tally struct {
	exact, sameplace, early, late, neverTold, partial, grown int
}

// play plays a cluster on to the end, tells at each decision what is foreseen of everybody who waits, and hands each of
// that, once it has come, to came, with the action by which it starts; without one it has not started by the end.
func (p *playing) play(t *testing.T, came func(f *foretold, a *allot.Action), plans func(*allot.Plan)) {
	told := make(map[string][]foretold)
	for goesOn := true; goesOn; {
		d := decide(t, p.state)
		plan := must(d.Plan())
		plans(plan)
		text := scenario.Format(p.state)
		for _, f := range must(Forecasts(t.Context(), d, 100)) {
			at := slices.IndexFunc(p.state.Workloads, func(w allot.Workload) bool { return w.ID == f.Workload })
			told[f.Workload] = append(told[f.Workload], foretold{f, len(p.state.Workloads[at].Tasks) > 0, text})
		}
		for i := range plan.Actions {
			if a := &plan.Actions[i]; a.Kind == allot.Start {
				for k := range told[a.Workload] {
					came(&told[a.Workload][k], a)
				}
				delete(told, a.Workload)
			}
		}
		p.state = must(allot.Apply(p.state, plan))
		goesOn = p.pass(plan.NextAt)
	}
	for _, left := range told { // each of them is one that fails: order cannot matter
		for i := range left {
			came(&left[i], nil)
		}
	}
}

// B10, B13: a forecast comes true. With true durations, and where nobody comes or makes room, who is promised its places
// starts when it was told, or earlier, also what completes a gang of which some runs already, and beside gangs that
// grow: where all are promised theirs, or where nobody passes another, everybody; under EASY the first. Where all are
// alike each starts at the very time and place.
func TestForecastsComeTrue(t *testing.T) {
	conservative := allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.Conservative, Depth: 100}}
	for name, one := range map[string]struct {
		kind
		holds func(*foretold) bool // what is told has to come true
		exact bool
	}{
		"all are promised theirs": {kind: kind{policy: conservative}},
		"of several queues":       {kind: kind{policy: conservative, queues: true}},
		"in racks":                {kind: kind{policy: conservative, racks: true}},
		"the first is promised its": {
			kind:  kind{policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.EASY}}},
			holds: func(f *foretold) bool { return f.Promised },
		},
		"nobody passes":          {kind: kind{policy: allot.Policy{Queueing: queue.StrictPool}}},
		"nobody passes in racks": {kind: kind{policy: allot.Policy{Queueing: queue.StrictPool}, racks: true}},
		"all alike":              {kind: kind{alike: true}, exact: true},
	} {
		t.Run(name, func(t *testing.T) {
			var n tally
			for seed := range deep.Seeds(t, 150) {
				p := drawPlaying(seed, one.kind)
				p.play(t, func(f *foretold, a *allot.Action) {
					if one.holds == nil || one.holds(f) {
						n.count(f, a, p.state.Now)
					}
					if n.late > 0 || one.exact && n.early > 0 {
						t.Fatalf("seed %d: %v, and at %v it is %v\n%s", seed, f, p.state.Now, a, f.state)
					}
				}, func(plan *allot.Plan) { n.grown += growths(plan) })
			}
			t.Logf("%+v", n)
			if all := n.exact + n.early; !testing.Short() && (n.exact*5 < all*4 || n.sameplace*10 < n.exact*7) || one.exact && n.sameplace < n.exact {
				t.Errorf("of %d forecasts %d came true to the instant, and %d also in place", all, n.exact, n.sameplace)
			}
			if !one.alike && !testing.Short() && (n.partial == 0 || n.grown == 0) {
				t.Errorf("%d were of gangs that run in part, and %d have grown", n.partial, n.grown)
			}
		})
	}
}

// count counts what has come of a forecast: a start by an action, or none by now.
func (n *tally) count(f *foretold, a *allot.Action, now time.Time) {
	if f.partial && !f.Start.IsZero() {
		n.partial++
	}
	switch {
	case f.Start.IsZero():
		n.neverTold++
	case a == nil || now.After(f.Start):
		n.late++
	case now.Before(f.Start):
		n.early++
	default:
		if n.exact++; cmp.Equal(f.Tasks, a.Tasks) {
			n.sameplace++
		}
	}
}

// growths is how many gangs a plan has grow beyond their minimum.
func growths(plan *allot.Plan) (n int) {
	for i := range plan.Actions {
		if plan.Actions[i].Kind == allot.Resize {
			n++
		}
	}
	return n
}

// B4, B7, G2: with true durations nobody overruns. Where there are priorities a promise is later only as it gives way to who
// stands before it: a gang of a higher priority that grows before the minimum of a lower one, or one that is completed.
func TestTrueDurationsOverrunNothing(t *testing.T) {
	later := 0
	for seed := range deep.Seeds(t, 60) {
		p := drawPlaying(seed, kind{policy: allot.Policy{Reserve: allot.ReservePolicy{Backfill: queue.Conservative, Depth: 100}}, priorities: true})
		p.play(t, func(*foretold, *allot.Action) {}, func(plan *allot.Plan) {
			for i := range plan.Reservations {
				r := &plan.Reservations[i]
				if r.Change != allot.PromiseLater && r.Change != allot.PromiseWithdrawn {
					continue
				}
				later++
				if r.Cause.Code != allot.Yields || !p.standsBefore(r.Cause.Workload, r.Workload) {
					t.Fatalf("seed %d: the promise of %s is %v: %v\n%s\n%v", seed, r.Workload, r.Change, r.Cause, scenario.Format(p.state), plan)
				}
			}
		})
	}
	if later == 0 && !testing.Short() {
		t.Error("no promise was later")
	}
}

// standsBefore says whether one workload stands before another (O1).
func (p *playing) standsBefore(one, other string) bool {
	of := func(id string) *allot.Workload {
		return &p.state.Workloads[slices.IndexFunc(p.state.Workloads, func(w allot.Workload) bool { return w.ID == id })]
	}
	a, b := of(one), of(other)
	return a.Priority > b.Priority || a.Priority == b.Priority && a.Submitted.Before(b.Submitted)
}
