package allot_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// The law of snapshots where something is promised (B3) or people have reserved something (B9): as time
// passes and goes back, work ends and comes, nodes are lost and come back, people reserve and let go, and
// plans are carried out, what a snapshot decides is what Solve decides, its promises and when they could
// be otherwise included. Nearly all of these decisions are made incrementally.
func TestSnapshotLawOfPromises(t *testing.T) {
	counts := make(map[string][2]int) // decisions and those that were incremental, by what they are about
	promised := 0
	for seed := range deep.Seeds(t, 64) {
		life := &timedLife{Rand: rand.New(rand.NewPCG(seed, 37)), extra: rand.New(rand.NewPCG(seed, 38)), seed: seed}
		s := drawnTimed(seed)
		if seed%6 == 1 {
			s = life.crowd()
		}
		if err := life.live(s, 8); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, len(life.versions), err)
		}
		for what, n := range life.counts { // sums have no order
			counts[what] = [2]int{counts[what][0] + n[0], counts[what][1] + n[1]}
		}
		promised += life.promised
	}
	t.Logf("%d promises told; of decisions these were incremental: %v", promised, counts)
	for _, what := range []string{"all", "evictable", "behind", "trusted", "gathering", "gathered", "reserved", "lost", "earlier"} {
		if n := counts[what]; !testing.Short() && (n[0] < 5 || 10*n[1] < 9*n[0]) {
			t.Errorf("%s: %d decisions, %d of them incremental", what, n[0], n[1])
		}
	}
	if !testing.Short() && promised < counts["all"][0]/8 {
		t.Errorf("%d promises told", promised)
	}
}

// What a snapshot knows of time it knows of a later one too, step by step and at once (B1, B9): each of
// these states is decided at every instant in turn as Solve decides it then.
func TestSnapshotFollowsTime(t *testing.T) {
	const reserved = "nodes n1..n2 gpu=1\npolicy reserve.backfill=easy\nqueue q quota=4\nreserve r from=20h until=24h evict on n1 n2\n"
	for _, row := range []struct{ what, text string }{
		{"not before", "nodes n1 gpu=1\npolicy reserve.backfill=easy\nqueue q quota=4\nsubmit q/a gpu=1 not-before=19h for=1h limit=1h\nnow 15h"},
		{"reserved for nobody", reserved + "run q/p gpu=1 preemptible since=1h on n1[0]\nsubmit q/u gpu=1\nsubmit q/b gpu=1 for=30h limit=30h non-preemptible\nnow 15h"},
		{"overruns", "nodes n1 gpu=1\npolicy reserve.backfill=easy\nqueue q quota=4\nrun q/o gpu=1 for=5h since=14h non-preemptible on n1[0]\nsubmit q/a gpu=1 for=1h limit=1h\nnow 15h"},
	} {
		s, err := scenario.State(row.text)
		if err != nil {
			t.Fatalf("%s: %v", row.what, err)
		}
		next, decided := mustSnapshot(t, s), 0
		for _, hour := range []int{15, 18, 19, 20, 22, 24, 25} {
			next = mustWith(t, next, allot.Change{Now: s.Now.Add(time.Duration(hour-15) * time.Hour)})
			d := mustDecide(t, next)
			want, err := allot.Solve(next.State())
			if err != nil {
				t.Fatal(err)
			}
			if err := sameActions(d.Actions(), want.Actions); err != nil || fmt.Sprint(d.Reservations()) != fmt.Sprint(want.Reservations) {
				t.Errorf("%s at %d h: %v; %v and not %v", row.what, hour, err, d.Reservations(), want.Reservations)
			}
			decided += len(want.Actions)
		}
		if decided == 0 && row.what != "overruns" {
			t.Errorf("%s: nothing ever starts", row.what)
		}
	}
}

// A timedLife is the life of a cluster in which something is promised or reserved.
type timedLife struct {
	*rand.Rand            // of what happens to work
	extra      *rand.Rand // of what happens to all else
	seed       uint64
	versions   []timedVersion
	counts     map[string][2]int
	promised   int
}

// A timedVersion is a version of such a life, and its plan.
type timedVersion struct {
	*allot.Snapshot
	plan *allot.Plan
}

// crowd is a cluster on which gangs are promised what others would take behind them (B6).
func (l *timedLife) crowd() *allot.State {
	s := &allot.State{
		Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{Reserve: allot.ReservePolicy{
			Backfill: queue.Conservative, Depth: 1 + l.extra.IntN(4), Evictable: true, TrustDurations: l.extra.IntN(3) == 0, Gather: l.extra.IntN(3) == 0,
		}}}},
		Queues: []allot.Queue{{ID: "q", Pool: "p"}},
	}
	for n := range 2 + l.extra.IntN(3) {
		s.Nodes = append(s.Nodes, allot.Node{ID: fmt.Sprintf("n%d", n), Devices: make([]allot.Device, 2)})
	}
	for i := range 14 {
		w := allot.Workload{
			ID: fmt.Sprintf("w%d", i), Queue: "q", Submitted: s.Now.Add(time.Duration(i-20) * time.Minute), Preemption: allot.Preemptible,
			PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}},
		}
		switch {
		case i < 3: // they run first
			w.Duration = quota.Of(int64(600 * (1 + i)))
		case i < 6:
			w.PodSets[0].Count, w.Priority = 2+l.extra.IntN(3), 1
			w.Duration = quota.Of(int64(600 * (1 + l.extra.IntN(4))))
		}
		s.Workloads = append(s.Workloads, w)
	}
	return s
}

func (l *timedLife) live(s *allot.State, steps int) error {
	l.counts = make(map[string][2]int)
	if l.seed%5 == 0 { // people reserve where nothing is promised
		for i := range s.Pools {
			s.Pools[i].Policy.Reserve.Backfill = queue.NoBackfill
		}
	}
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		return err
	}
	for step := range steps {
		s := snapshot.State()
		plan, err := allot.Solve(s)
		if err != nil {
			return err
		}
		l.promised += len(plan.Reservations)
		decision, err := l.decide(snapshot, plan)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, tellPromises(s, plan))
		}
		l.versions = append(l.versions, timedVersion{snapshot, plan})
		if at := l.extra.IntN(3 * len(l.versions)); at < len(l.versions) {
			l.count("earlier", true)
			if _, err := l.decide(l.versions[at].Snapshot, l.versions[at].plan); err != nil {
				return fmt.Errorf("that of step %d again: %w", at, err)
			}
		}
		after, err := allot.Apply(s, plan)
		if err != nil {
			return err
		}
		if snapshot, err = decision.Apply(); err != nil {
			return err
		}
		after = passTime(l.Rand, after, plan, step)
		l.happen(after, step)
		if snapshot, err = snapshot.With(changeTo(snapshot.State(), after)); err != nil {
			return err
		}
	}
	return nil
}

// decide decides upon a version, which is to come to a plan.
func (l *timedLife) decide(s *allot.Snapshot, plan *allot.Plan) (*allot.Decision, error) {
	decision, err := s.Decide()
	if err != nil {
		return nil, err
	}
	l.count("all", decision.Incremental())
	for what, is := range timedFeatures(s.State()) { // sums have no order
		if is {
			l.count(what, decision.Incremental())
		}
	}
	if err := sameActions(decision.Actions(), plan.Actions); err != nil {
		return nil, err
	}
	if got := decision.Reservations(); len(got)+len(plan.Reservations) > 0 && !reflect.DeepEqual(got, plan.Reservations) {
		return nil, fmt.Errorf("promises %+v", got)
	}
	if got := decision.NextAt(); !got.Equal(plan.NextAt) {
		return nil, fmt.Errorf("until %v, not %v", got, plan.NextAt)
	}
	return decision, nil
}

func (l *timedLife) count(what string, incremental bool) {
	n := l.counts[what]
	if n[0]++; incremental {
		n[1]++
	}
	l.counts[what] = n
}

// timedFeatures is what a state has of which the promises depend on more than on what stands.
func timedFeatures(s *allot.State) map[string]bool {
	out := map[string]bool{"reserved": len(s.Reservations) > 0}
	for i := range s.Pools {
		r := &s.Pools[i].Policy.Reserve
		promises := r.Backfill != queue.NoBackfill
		out["evictable"] = out["evictable"] || promises && r.Evictable
		out["trusted"] = out["trusted"] || promises && r.TrustDurations
		out["gathering"] = out["gathering"] || promises && r.Gather
	}
	for i := range s.Nodes {
		out["lost"] = out["lost"] || s.Nodes[i].Lost
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		out["gathered"] = out["gathered"] || w.Reserved != nil && w.Reserved.Rule == allot.ByGathering
		out["behind"] = out["behind"] || slices.ContainsFunc(w.Tasks, func(t allot.Task) bool { return t.Behind != "" })
	}
	return out
}

// happen has nodes be lost, closed or back, and people reserve some of them or let go.
func (l *timedLife) happen(s *allot.State, step int) {
	if len(s.Nodes) == 0 {
		return
	}
	node := func() *allot.Node { return &s.Nodes[l.extra.IntN(len(s.Nodes))] }
	if l.extra.IntN(4) == 0 {
		n := node()
		n.Lost = !n.Lost
	}
	if l.extra.IntN(6) == 0 {
		n := node()
		n.Cordoned = !n.Cordoned
	}
	if l.extra.IntN(6) == 0 { // somebody who waits, and may have been promised something, is withdrawn
		if at := l.extra.IntN(len(s.Workloads) + 1); at < len(s.Workloads) && len(s.Workloads[at].Tasks) == 0 {
			s.Workloads = slices.Delete(slices.Clone(s.Workloads), at, at+1)
		}
	}
	if l.seed%3 > 0 && l.seed%5 > 0 {
		return
	}
	switch l.extra.IntN(4) {
	case 0, 2:
		s.Reservations = append(s.Reservations, l.reservation(s, node(), fmt.Sprintf("r%d", step)))
	case 1:
		if n := len(s.Reservations); n > 0 {
			at := l.extra.IntN(n)
			s.Reservations = slices.Delete(slices.Clone(s.Reservations), at, at+1)
		}
	}
}

// reservation is one that people make of a node, for a queue, for somebody, or for nobody.
func (l *timedLife) reservation(s *allot.State, node *allot.Node, id string) allot.Reservation {
	minutes := func(n int) time.Duration { return time.Duration(l.extra.IntN(n)) * time.Minute }
	r := allot.Reservation{
		ID: id, Nodes: []allot.ReservedNode{{Node: node.ID}},
		Evict: l.extra.IntN(2) > 0,
	}
	if n := len(node.Devices); n > 0 && l.extra.IntN(3) == 0 {
		r.Nodes[0].Devices = []int{l.extra.IntN(n)}
	}
	if l.seed%2 == 0 && len(r.Nodes[0].Devices) > 0 {
		r.Nodes, r.Domains = nil, []allot.ReservedDomain{{Level: allot.NodeLevel, Devices: 1}}
	}
	r.Drain = r.Evict && l.extra.IntN(3) == 0
	if l.extra.IntN(4) > 0 {
		r.From = s.Now.Add(minutes(30))
		r.Until = r.From.Add(time.Minute + minutes(30))
	}
	switch l.extra.IntN(3) {
	case 0:
		if len(s.Queues) > 0 {
			r.Queue = s.Queues[l.extra.IntN(len(s.Queues))].ID
		}
	case 1:
		if len(s.Workloads) > 0 {
			r.Workloads = []string{s.Workloads[l.extra.IntN(len(s.Workloads))].ID}
		}
	}
	r.Lend = (r.Queue != "" || len(r.Workloads) > 0) && l.extra.IntN(2) > 0
	return r
}

// changeTo is what differs of nodes, work, what is reserved and the time.
func changeTo(before, after *allot.State) (c allot.Change) {
	c.Now = after.Now
	for i := range after.Nodes {
		if at := slices.IndexFunc(before.Nodes, func(n allot.Node) bool { return n.ID == after.Nodes[i].ID }); !reflect.DeepEqual(before.Nodes[at], after.Nodes[i]) {
			c.Nodes = append(c.Nodes, after.Nodes[i])
		}
	}
	for i := range after.Workloads {
		w := &after.Workloads[i]
		at := slices.IndexFunc(before.Workloads, func(one allot.Workload) bool { return one.ID == w.ID })
		if at < 0 || !reflect.DeepEqual(before.Workloads[at], *w) {
			c.Workloads = append(c.Workloads, *w)
		}
	}
	for i := range before.Workloads {
		id := before.Workloads[i].ID
		if !slices.ContainsFunc(after.Workloads, func(w allot.Workload) bool { return w.ID == id }) {
			c.Remove.Workloads = append(c.Remove.Workloads, id)
		}
	}
	for i := range before.Reservations {
		id := before.Reservations[i].ID
		if !slices.ContainsFunc(after.Reservations, func(r allot.Reservation) bool { return r.ID == id }) {
			c.Remove.Reservations = append(c.Remove.Reservations, id)
		}
	}
	c.Reservations = after.Reservations
	return c
}
