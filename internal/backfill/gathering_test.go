package backfill

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// A spot is a node of one device in the book's eyes: who stands there, since when, and until when at the latest.
// The zero end is not known. It is behind another that it stands there, of that name.
type spot struct {
	id, rack, by, behind string
	since, end           time.Time
}

// A gatherer is the book of one decision (B8): it goes through those that wait in the order in which they came,
// again from the first after each that starts. Who starts is its own to say; where among nodes that are alike
// is the plan's, and only looked at.
type gatherer struct {
	plan    *allot.Plan
	state   *allot.State
	policy  allot.ReservePolicy
	now     time.Time
	spots   []spot
	waits   []*allot.Workload
	holder  *allot.Workload
	held    []int     // the spots that are gathered; nil where a time is known
	at      time.Time // that time
	chosen  bool      // they have been gathered in this decision
	taken   int       // how often somebody who came before has taken of them
	behind  int       // how many started there behind whom they are gathered for
	quota   int       // of all that are not preemptible; 0 is none
	started map[string]bool
	gone    map[string]bool // who goes for whom they stood behind
}

// inUse is how much of the quota is in use.
func (g *gatherer) inUse() (n int) {
	for _, one := range g.spots {
		if one.by != "" && !g.gone[one.by] {
			n++
		}
	}
	return n
}

// letsIn says whether the quota lets so many in beside some.
func (g *gatherer) letsIn(size, beside int) bool { return g.quota == 0 || size+beside <= g.quota }

// isLoose says whether a workload may be evicted, and passes on what is gathered (B6).
func (g *gatherer) isLoose(w *allot.Workload) bool {
	return g.policy.Evictable && w.Preemption == allot.Preemptible
}

// mayHave are the spots that are free for a workload or where others stand behind it.
func (g *gatherer) mayHave(w *allot.Workload) (list []int) {
	for i, one := range g.spots {
		if one.by == "" || one.behind == w.ID {
			list = append(list, i)
		}
	}
	return list
}

// free are the spots that nobody is on, but for some.
func (g *gatherer) free(but []int) (list []int) {
	for i, one := range g.spots {
		if one.by == "" && !slices.Contains(but, i) {
			list = append(list, i)
		}
	}
	return list
}

// most is how many of some spots one may use, as it stays within a rack or not.
func (g *gatherer) most(w *allot.Workload, list []int) (most int) {
	if w.Topology.Required == "" {
		return len(list)
	}
	racks := make(map[string]int)
	for _, i := range list {
		racks[g.spots[i].rack]++
		most = max(most, racks[g.spots[i].rack])
	}
	return most
}

// inTurn orders workloads as they came.
func inTurn(a, b *allot.Workload) int { return a.Submitted.Compare(b.Submitted) }

// goes says whether the plan has one go for another, behind which it stood.
func (g *gatherer) goes(id, by string) bool {
	return slices.ContainsFunc(g.plan.Actions, func(a allot.Action) bool {
		return a.Kind == allot.Evict && a.Workload == id && a.Reason.Code == allot.Behind && a.Reason.Workload == by
	})
}

// before says whether one has come before the other.
func before(a, b *allot.Workload) bool { return a.Submitted.Before(b.Submitted) }

// freeAt is how many spots are free at a time, as far as ends are known.
func (g *gatherer) freeAt(at time.Time) (n int) {
	for _, one := range g.spots {
		if one.by == "" || !one.end.IsZero() && !one.end.After(at) {
			n++
		}
	}
	return n
}

// knows is the time at which enough is free for a workload; zero is that nobody knows. Racks are in no life with
// ends.
func (g *gatherer) knows(w *allot.Workload) (first time.Time) {
	if g.most(w, g.mayHave(w)) >= w.PodSets[0].Count && g.letsIn(w.PodSets[0].Count, g.inUse()) {
		return g.now
	}
	for _, one := range g.spots {
		if !one.end.IsZero() && (first.IsZero() || one.end.Before(first)) && g.freeAt(one.end) >= w.PodSets[0].Count {
			first = one.end
		}
	}
	return first
}

// promise has the first that may hold what it asks be the one for whom places are kept (B3, B8): by the time at which
// enough is free or, where there is none, of the places those that are best.
func (g *gatherer) promise(w *allot.Workload) error {
	if g.at = g.knows(w); !g.at.IsZero() {
		g.holder, g.held = w, nil
		return nil
	}
	if !g.letsIn(w.PodSets[0].Count, 0) { // it asks more than there ever is
		g.holder = nil
		return nil
	}
	if most := g.policy.MaxHeldPercent; most.Given() && int64(100*w.PodSets[0].Count) > most.Amount()*int64(len(g.spots)) {
		g.holder = nil
		return nil
	}
	g.holder, g.chosen = w, true
	var busy, lost int
	g.held, busy, lost = g.best(w)
	i := slices.IndexFunc(g.plan.Reservations, func(r allot.PlannedReservation) bool {
		return r.Workload == w.ID && r.Change != allot.PromiseWithdrawn && r.Promise.Rule == allot.ByGathering
	})
	if i < 0 {
		return nil // it starts, or a time is known for it, before the decision is over
	}
	theirs := g.places(g.plan.Reservations[i].Promise.Tasks)
	if b, l := g.cost(theirs); (b != busy || l != lost) && len(g.gone) == 0 || // who goes at first may stay in the end
		len(theirs) != len(g.held) || g.most(w, theirs) != len(theirs) {
		return fmt.Errorf("%v is gathered for %s, %d busy and %d s lost, where %v has %d busy and %d s lost", theirs, w.ID, b, l, g.held, busy, lost)
	}
	g.held = theirs
	return nil
}

// places are the spots of some tasks, ascending.
func (g *gatherer) places(tasks []allot.Placement) (list []int) {
	for _, t := range tasks {
		list = append(list, slices.IndexFunc(g.spots, func(one spot) bool { return one.id == t.Node }))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// cost is on how many spots somebody stands, and for how long they have, in seconds.
func (g *gatherer) cost(list []int) (busy, lost int) {
	for _, i := range list {
		if g.spots[i].by != "" {
			busy, lost = busy+1, lost+int(g.now.Sub(g.spots[i].since)/time.Second)
		}
	}
	return busy, lost
}

// best are the spots on which the least stands and, of these, is lost.
func (g *gatherer) best(w *allot.Workload) (found []int, busy, lost int) {
	for _, rack := range []string{"r0", "r1", "r2"} {
		var list []int
		for i, one := range g.spots {
			if w.Topology.Required == "" || one.rack == rack {
				list = append(list, i)
			}
		}
		if len(list) < w.PodSets[0].Count {
			continue
		}
		slices.SortStableFunc(list, func(a, b int) int {
			busyA, lostA := g.cost([]int{a})
			busyB, lostB := g.cost([]int{b})
			return cmp.Or(cmp.Compare(busyA, busyB), cmp.Compare(lostA, lostB))
		})
		list = list[:w.PodSets[0].Count]
		if b, l := g.cost(list); found == nil || b < busy || b == busy && l < lost {
			found, busy, lost = list, b, l
		}
	}
	slices.Sort(found)
	return found, busy, lost
}

// start has a workload stand where the plan starts it, on so many free spots as it asks, of those that are gathered
// for another none but where it came before that one.
func (g *gatherer) start(w *allot.Workload) error {
	size := w.PodSets[0].Count
	i := slices.IndexFunc(g.plan.Actions, func(a allot.Action) bool { return a.Kind == allot.Start && a.Workload == w.ID })
	if i < 0 {
		return fmt.Errorf("%s could start", w.ID)
	}
	list, taken := g.places(g.plan.Actions[i].Tasks), false
	for _, k := range list {
		one := &g.spots[k]
		if one.by != "" && one.behind == w.ID && g.goes(one.by, w.ID) {
			g.gone[one.by] = true
			g.waits = append(g.waits, named(g.state, one.by))
			slices.SortFunc(g.waits, inTurn)
		} else if one.by != "" {
			return fmt.Errorf("%s starts on %s, where %s stands", w.ID, one.id, one.by)
		} else if behind := g.plan.Actions[i].Behind; behind != "" && (g.holder == nil || behind != g.holder.ID || !g.isLoose(w) || !slices.Contains(g.held, k)) {
			return fmt.Errorf("%s starts on %s behind %s", w.ID, one.id, behind)
		}
		taken = taken || w != g.holder && slices.Contains(g.held, k)
		*one = spot{id: one.id, rack: one.rack, by: w.ID, behind: g.plan.Actions[i].Behind, since: g.now}
		if w.TimeLimit.Given() {
			one.end = g.now.Add(time.Duration(w.TimeLimit.Amount()) * time.Second)
		}
	}
	passes := g.plan.Actions[i].Behind != ""
	if len(list) != size || g.most(w, list) != size || taken && !passes && !before(w, g.holder) || passes && (!taken || before(w, g.holder)) {
		return fmt.Errorf("%s starts on %v, where %v is gathered", w.ID, list, g.held)
	}
	g.started[w.ID] = true
	g.waits = slices.DeleteFunc(g.waits, func(one *allot.Workload) bool { return one == w })
	if w == g.holder {
		g.holder, g.held = nil, nil
	}
	switch {
	case passes:
		g.behind++
	case taken: // the same are kept, and it waits for this one too
		g.taken++
	}
	return nil
}

// may says whether one that waits may start now.
func (g *gatherer) may(w *allot.Workload) bool {
	size := w.PodSets[0].Count
	switch {
	case w == g.holder:
		return g.most(w, g.mayHave(w)) >= size && g.letsIn(size, g.inUse())
	case g.most(w, g.free(nil)) < size || !g.letsIn(size, g.inUse()):
		return false
	case g.holder == nil || before(w, g.holder):
		return true
	case g.held != nil && g.isLoose(w):
		return true
	case g.held != nil:
		return g.most(w, g.free(g.held)) >= size && g.letsIn(size, g.inUse()+g.holder.PodSets[0].Count)
	}
	end := g.now.Add(time.Duration(w.TimeLimit.Amount()) * time.Second)
	return w.TimeLimit.Given() && !end.After(g.at) || size <= g.freeAt(g.at)-g.holder.PodSets[0].Count
}

// decide is the decision by the book.
func (g *gatherer) decide() error {
	for turn := 0; turn < len(g.waits); {
		// A time that is known takes the place of what was gathered, and the other way round.
		if g.holder != nil && (g.held == nil || !g.knows(g.holder).IsZero()) {
			if err := g.promise(g.holder); err != nil {
				return err
			}
		}
		switch w := g.waits[turn]; {
		case g.may(w):
			if err := g.start(w); err != nil {
				return err
			}
			turn = 0
			continue
		case g.holder == nil:
			if err := g.promise(w); err != nil {
				return err
			}
		}
		turn++
	}
	return nil
}

// A gatheringLife is a plain load in which nobody knows of most when they end.
type gatheringLife struct {
	state *allot.State
	ends  map[string]time.Time
	quota int
	seen  map[string]int
}

// book is the state in the book's eyes. Who has held places for as long as may be lets them go, and waits as
// long from now on (B8).
func (l *gatheringLife) book(plan *allot.Plan) *gatherer {
	s := l.state
	g := &gatherer{plan: plan, state: s, policy: s.Pools[0].Policy.Reserve, now: s.Now, quota: l.quota, started: make(map[string]bool), gone: make(map[string]bool)}
	for _, n := range s.Nodes {
		g.spots = append(g.spots, spot{id: n.ID, rack: n.Domains["rack"]})
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		for _, t := range w.Tasks {
			k := slices.IndexFunc(g.spots, func(one spot) bool { return one.id == t.Node })
			g.spots[k].by, g.spots[k].behind, g.spots[k].since = w.ID, t.Behind, t.Since
			if w.TimeLimit.Given() {
				g.spots[k].end = t.Since.Add(time.Duration(w.TimeLimit.Amount()) * time.Second)
			}
		}
		hold := g.policy.MaxHold
		over := hold.Given() && !w.HeldSince.IsZero() && s.Now.Sub(w.HeldSince) >= time.Duration(hold.Amount())*time.Second
		switch {
		case len(w.Tasks) > 0:
		case over:
			l.seen["let go"]++
		case !w.NotBefore.After(s.Now):
			g.waits = append(g.waits, w)
			if w.Reserved != nil {
				g.holder, g.at = w, w.Reserved.At
				if w.Reserved.Rule == allot.ByGathering {
					g.held = g.places(w.Reserved.Tasks)
				}
			}
		}
	}
	for k := range g.spots { // where places are let go nobody is behind anybody
		if one := &g.spots[k]; g.holder == nil || one.behind != g.holder.ID || !slices.Contains(g.held, k) {
			one.behind = ""
		}
	}
	slices.SortFunc(g.waits, inTurn)
	return g
}

// decide solves, holds the plan against the book, and carries it out.
func (l *gatheringLife) decide() error {
	s := l.state
	plan, err := allot.Solve(s)
	if err != nil {
		return err
	}
	g := l.book(plan)
	if err := g.decide(); err != nil {
		return fmt.Errorf("%w\n%v", err, plan)
	}
	if err := g.agrees(); err != nil {
		return fmt.Errorf("%w\n%v", err, plan)
	}
	for id := range g.started { // each by itself: order cannot matter
		w := named(s, id)
		l.ends[id] = s.Now.Add(time.Duration(1+len(l.ends)*7%11) * time.Second)
		if w.TimeLimit.Given() {
			l.ends[id] = s.Now.Add(time.Duration(max(1, w.TimeLimit.Amount()-int64(len(l.ends)%3))) * time.Second)
		}
	}
	switch {
	case g.holder == nil:
	case g.held == nil:
		l.seen["told a time"]++
	case g.chosen:
		l.seen["gathers"]++
	default:
		l.seen["kept"]++
	}
	l.seen["taken"] += g.taken
	l.seen["behind"] += g.behind
	l.seen["gone"] += len(g.gone)
	if g.held != nil && !g.letsIn(g.holder.PodSets[0].Count, g.inUse()) {
		l.seen["waits for the quota"]++
	}
	since, let := make(map[string]time.Time), make(map[string]time.Time)
	for _, w := range s.Workloads {
		since[w.ID] = w.HeldSince
		if len(w.Tasks) == 0 && !w.HeldSince.IsZero() && !slices.Contains(g.waits, named(s, w.ID)) && !g.started[w.ID] {
			let[w.ID] = s.Now.Add(s.Now.Sub(w.HeldSince))
		}
	}
	if l.state, err = allot.Apply(s, plan); err != nil {
		return err
	}
	return g.remembers(l.state, since, let)
}

// agrees says where the plan is other than the book.
func (g *gatherer) agrees() error {
	for _, a := range g.plan.Actions {
		if g.gone[a.Workload] && a.Kind == allot.Evict {
			continue
		}
		if a.Kind != allot.Start || !g.started[a.Workload] {
			return fmt.Errorf("%v %s, which may not be", a.Kind, a.Workload)
		}
	}
	for _, r := range g.plan.Reservations {
		switch {
		case r.Change == allot.PromiseWithdrawn:
		case g.holder == nil || r.Workload != g.holder.ID:
			return fmt.Errorf("%s has a promise, by the book %v", r.Workload, g.holder)
		case (r.Promise.Rule == allot.ByGathering) != (g.held != nil) || !r.Promise.At.Equal(g.at):
			return fmt.Errorf("%s is promised %v, by the book %v", r.Workload, r.Promise.At, g.at)
		case g.held != nil && !slices.Equal(g.places(r.Promise.Tasks), g.held):
			return fmt.Errorf("%s has %v gathered, by the book %v", r.Workload, g.places(r.Promise.Tasks), g.held)
		default:
			return nil
		}
	}
	if g.holder != nil {
		return fmt.Errorf("%s is promised nothing", g.holder.ID)
	}
	return nil
}

// remembers looks at what the next decision goes by: since when places are held, and who let them go, until when.
func (g *gatherer) remembers(s *allot.State, since, let map[string]time.Time) error {
	for _, w := range s.Workloads {
		var expected time.Time
		if w.HeldSince.IsZero() != (g.held == nil || g.holder.ID != w.ID) {
			return fmt.Errorf("%s holds since %v", w.ID, w.HeldSince)
		}
		if !w.HeldSince.IsZero() {
			if expected = since[w.ID]; expected.IsZero() {
				expected = s.Now
			}
		}
		if at := let[w.ID]; !w.HeldSince.Equal(expected) || !at.IsZero() && !w.NotBefore.Equal(at) {
			return fmt.Errorf("%s holds since %v, by the book %v, and asks from %v on, by the book %v", w.ID, w.HeldSince, expected, w.NotBefore, at)
		}
	}
	return nil
}

// isBeyond says whether somebody has been promised something beyond its lines.
func (l *gatheringLife) isBeyond() bool {
	return slices.ContainsFunc(l.state.Workloads, func(w allot.Workload) bool { return w.Reserved != nil && !w.Reserved.Entitled })
}

// tell is the life before the decision.
func (l *gatheringLife) tell() string {
	s := l.state
	second := func(at time.Time) int { return int(at.Sub(epoch) / time.Second) }
	text := fmt.Sprintf("now %d, %+v\n", second(s.Now), s.Pools[0].Policy.Reserve)
	for _, n := range s.Nodes {
		text += n.ID + n.Domains["rack"] + " "
	}
	for _, w := range s.Workloads {
		text += fmt.Sprintf("\n%s size %d %s limit %v", w.ID, w.PodSets[0].Count, w.Topology.Required, w.TimeLimit)
		for _, t := range w.Tasks {
			text += fmt.Sprintf(", on %s since %d", t.Node, second(t.Since))
		}
		if w.Reserved != nil {
			text += fmt.Sprintf(", promised %d %v entitled %v, held since %d", second(w.Reserved.At), w.Reserved.Tasks, w.Reserved.Entitled, second(w.HeldSince))
		}
		if !w.NotBefore.IsZero() {
			text += fmt.Sprintf(", from %d on", second(w.NotBefore))
		}
	}
	return text
}

// drawGathering draws a life: nodes, a policy, and what is known of its jobs, which is when some end, or else that some
// stay in a rack, and what may be held.
func drawGathering(d *rand.Rand) (l *gatheringLife, ends, racks bool) {
	l = &gatheringLife{ends: make(map[string]time.Time), seen: make(map[string]int), state: &allot.State{
		Now: epoch,
		Pools: []allot.Pool{{ID: "p", Policy: allot.Policy{
			NoConsolidation: true, Reclaim: preempt.NoReclaim, Reserve: allot.ReservePolicy{Backfill: queue.EASY, Gather: true},
		}}},
	}}
	r := &l.state.Pools[0].Policy.Reserve
	if ends = d.IntN(3) == 0; !ends {
		racks = d.IntN(3) == 0
		if d.IntN(2) == 0 {
			r.MaxHold = quota.Of(int64(1 + d.IntN(8)))
		}
		if d.IntN(3) == 0 {
			r.MaxHeldPercent = quota.Of(int64(30 + d.IntN(70)))
		}
	}
	if racks {
		l.state.Levels = []allot.Level{{Name: "rack"}}
	}
	for i := range 2 + d.IntN(6) {
		n := allot.Node{ID: fmt.Sprintf("n%02d", i), Devices: make([]allot.Device, 1)}
		if racks {
			n.Domains = map[string]string{"rack": fmt.Sprintf("r%d", d.IntN(3))}
		}
		l.state.Nodes = append(l.state.Nodes, n)
	}
	if !ends && !racks && d.IntN(2) == 0 {
		if r.Evictable = d.IntN(2) == 0; !r.Evictable {
			l.quota = 1 + d.IntN(len(l.state.Nodes))
			l.state.Queues = []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(1000 * l.quota))}}}}
			return l, ends, racks
		}
		l.state.Queues = []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1_000_000)}}}}
		return l, ends, racks
	}
	if d.IntN(2) == 0 { // all are within its lines once others have left (B4)
		l.state.Queues = []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(1000 * len(l.state.Nodes)))}}}}
	}
	return l, ends, racks
}

// come has a job come.
func (l *gatheringLife) come(d *rand.Rand, i int, ends, racks bool) {
	s := l.state
	w := allot.Workload{ID: fmt.Sprintf("j%02d", i), Submitted: epoch.Add(time.Duration(i-100) * time.Second), Preemption: allot.NonPreemptible}
	w.PodSets = []allot.PodSet{{Count: 1 + d.IntN(len(s.Nodes)), Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}
	if ends && d.IntN(2) == 0 {
		w.TimeLimit = quota.Of(int64(1 + d.IntN(12)))
		w.Duration = w.TimeLimit
	}
	if racks && d.IntN(2) == 0 {
		sizes := make(map[string]int)
		for _, n := range s.Nodes {
			sizes[n.Domains["rack"]]++
			w.PodSets[0].Count = min(w.PodSets[0].Count, sizes[n.Domains["rack"]])
		}
		w.Topology.Required = "rack"
	}
	switch {
	case len(s.Queues) == 0:
	case l.quota > 0:
		w.Queue = "q"
	case s.Pools[0].Policy.Reserve.Evictable:
		if w.Queue = "q"; d.IntN(2) == 0 {
			w.Preemption, w.PodSets[0].Count = allot.Preemptible, 1
		}
	default:
		w.Queue, w.Preemption = "q", allot.Preemptible
	}
	s.Workloads = append(s.Workloads, w)
}

// Gathering without durations, decision by decision, by the letter of B8: places are kept for the first that is refused
// and may have them, those on which the least stands and is lost; what else becomes free is open to others, and what is
// kept to those alone that came before; it starts when it fits, anywhere, has a time as soon as one is known, and lets go
// after as long as may be.
func TestGathering(t *testing.T) {
	seen := make(map[string]int)
	lives := 1500
	if testing.Short() { // they are small, and rare is what they are for
		lives *= deep.Short
	}
	for seed := range deep.Seeds(t, lives) {
		d := rand.New(rand.NewPCG(seed, 6))
		l, ends, racks := drawGathering(d)
		for i := range 6 + d.IntN(10) {
			s := l.state
			s.Now = s.Now.Add(time.Duration(d.IntN(5)) * time.Second)
			s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return len(w.Tasks) > 0 && !l.ends[w.ID].After(s.Now) })
			if l.come(d, i, ends, racks); s.Pools[0].Policy.Reserve.Evictable && l.isBeyond() {
				l.seen["beyond"]++ // who comes first by their lines the book does not know
				break
			}
			if err := l.decide(); err != nil {
				t.Fatalf("seed %d: %v\n%s\n%s", seed, err, l.tell(), scenario.Format(l.state))
			}
		}
		for what, n := range l.seen { // each by itself: order cannot matter
			seen[what] += n
		}
	}
	t.Logf("%v", seen)
	if min(seen["gathers"], seen["kept"], seen["told a time"], seen["let go"], seen["waits for the quota"]) < 100 ||
		min(seen["behind"], 10*seen["taken"]) < 10 || seen["gone"] == 0 || seen["beyond"] > lives/20 {
		t.Errorf("%v", seen)
	}
}
