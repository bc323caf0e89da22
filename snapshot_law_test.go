package allot_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
)

// The law of snapshots: whatever happened to a state, and whatever was asked of
// it and of its earlier versions before, what its snapshot decides is what Solve
// decides on it from scratch, bit for bit.

// snapshotChanges is how many changes of hosts there are after which snapshots
// are asked.
const snapshotChanges = 6000

var snapshotLife = flag.Int("snapshot.life", 0, "steps of one host; 0 is as many as its kind has")

// A lawHost is a cluster to which things happen.
type lawHost interface {
	chance
	state() *allot.State
	become(*allot.State)
	// happen has something happen from outside, and says what.
	happen() string
}

// A tightHost is a host of the stability tests: little room, much conflict.
type tightHost struct{ *stabilityHost }

func (h tightHost) state() *allot.State   { return h.s }
func (h tightHost) become(s *allot.State) { h.s = s }
func (h tightHost) happen() string        { return h.change() }

// newTightHost is one on which nothing runs yet, or much by whatever right.
func newTightHost(c chance) lawHost {
	h := newStabilityHost(c)
	if h.IntN(3) == 0 {
		dense := &denseHost{h, make(map[string]*[3]int64)}
		for i := range h.s.Workloads {
			if h.IntN(3) > 0 {
				dense.run(&h.s.Workloads[i])
			}
		}
	}
	return tightHost{h}
}

// A hostKind is a kind of host and how its lives are.
type hostKind struct {
	name    string
	percent int // of all changes
	steps   int // of one life
	make    func(chance) lawHost
}

var hostKinds = []hostKind{
	{"tight", 60, 40, newTightHost},
	{"calm", 22, 120, func(c chance) lawHost { return newCalmHost(c) }},
	{"tree", 4, 60, func(c chance) lawHost { return newTreeHost(c) }},
	{"busy", 14, 100, newBusyHost},
	{"few", 50, 40, newFewHost},
}

// TestSnapshotLaw lets many clusters of each kind live.
func TestSnapshotLaw(t *testing.T) {
	for _, kind := range hostKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			total := liveMany(t, kind, snapshotChanges*kind.percent/100)
			total.log(t)
			if !t.Failed() && *snapshotLife == 0 && total.counts["changes"] >= 5000 { // few need not have met all
				total.check(t, kind.name)
			}
		})
	}
}

// liveMany runs lives until there were enough changes.
func liveMany(t *testing.T, kind hostKind, changes int) *lawStats {
	budget, total := deep.New(t, changes), newLawStats()
	var guard sync.Mutex
	var workers sync.WaitGroup
	next, broken := budget.First(), 0
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				guard.Lock()
				seed, done := next, !budget.More(total.counts["changes"]) || broken >= 3
				next++
				guard.Unlock()
				if done {
					return
				}
				l := newLawLife(kind, seed)
				err := l.live(kind)
				account := ""
				if err != nil {
					account = l.account(err)
				}
				guard.Lock()
				total.add(l.stats)
				if err != nil {
					broken++
					t.Errorf("%s host, seed %d, step %d: %s", kind.name, seed, len(l.log), account)
				}
				guard.Unlock()
			}
		})
	}
	workers.Wait()
	return total
}

// A lawVersion is a snapshot in a life, and what is known of it.
type lawVersion struct {
	snapshot *allot.Snapshot
	step     *traceStep
	plan     *allot.Plan // Solve's, without its Work; nil before it was asked
}

// A lawLife is the life of one host.
type lawLife struct {
	lawHost
	versions []lawVersion
	at       int // the version that is the host's state
	log      []string
	trace    trace
	stats    *lawStats
}

func newLawLife(kind hostKind, seed uint64) *lawLife {
	return &lawLife{lawHost: kind.make(rand.New(rand.NewPCG(seed, 14))), stats: newLawStats()}
}

// live goes on for the steps of the kind, or until the law is broken.
func (l *lawLife) live(kind hostKind) error {
	first, err := allot.NewSnapshot(l.state())
	if err != nil {
		return fmt.Errorf("NewSnapshot: %w", err)
	}
	l.made(first)
	if err := sameState(first.State(), l.state()); err != nil {
		return err
	}
	steps := kind.steps
	if *snapshotLife > 0 {
		steps = *snapshotLife
	}
	for range steps {
		if err := l.step(); err != nil {
			return err
		}
	}
	return nil
}

func (l *lawLife) step() error {
	switch n := l.IntN(20); {
	case n < 10:
		return l.events()
	case n < 12:
		if leave(l, l.state()) {
			return l.move("some leave")
		}
		return l.events()
	case n < 19:
		return l.carryOut()
	default:
		return l.travel()
	}
}

// events have one thing happen, or several before anybody decides.
func (l *lawLife) events() error {
	what := l.happen()
	for l.IntN(4) == 0 {
		if l.IntN(3) > 0 { // a version in between on which nobody decides
			if err := l.with(what); err != nil {
				return err
			}
			l.stats.counts["versions skipped"]++
			what = ""
		}
		what = strings.TrimPrefix(what+", "+l.happen(), ", ")
	}
	return l.move(what)
}

// move makes the version that the host has become, and mostly decides on it.
func (l *lawLife) move(what string) error {
	if err := l.with(what); err != nil {
		return err
	}
	if l.IntN(4) == 0 {
		l.stats.counts["versions skipped"]++
		return nil
	}
	_, err := l.decide(l.at)
	return err
}

// with makes the host's state the next version, by one change or several.
func (l *lawLife) with(what string) error {
	before := l.versions[l.at].snapshot
	state := l.state()
	if l.IntN(6) == 0 {
		state.Revision = fmt.Sprint("r", len(l.versions))
	}
	changes := []allot.Change{changeOf(before.State(), state)}
	if l.IntN(6) == 0 {
		changes = l.parted(changes[0])
		l.stats.counts["changes in parts"]++
	}
	l.log = append(l.log, what)
	l.stats.counts["changes"]++
	next, err := before.With(changes...)
	if err != nil {
		return fmt.Errorf("With: %w", err)
	}
	l.made(next)
	return sameState(next.State(), state)
}

// made notes a new version and goes on from it.
func (l *lawLife) made(s *allot.Snapshot) {
	step := &traceStep{state: s.State()}
	if len(l.versions) > 0 {
		step.from = l.versions[l.at].step
	}
	l.trace = append(l.trace, step)
	l.versions = append(l.versions, lawVersion{snapshot: s, step: step})
	l.at = len(l.versions) - 1
}

// parted is a change as several of which not each by itself need make sense.
func (l *lawLife) parted(c allot.Change) []allot.Change {
	parts := make([]allot.Change, 2)
	parts[0].Now, parts[1].Revision = c.Now, c.Revision
	// What is put may be put twice, the last time right.
	for i := range c.Workloads {
		if l.IntN(2) == 0 {
			early := c.Workloads[i]
			early.Queue = "nowhere"
			parts[0].Workloads = append(parts[0].Workloads, early)
		}
	}
	parts[1].Workloads, parts[1].Remove = c.Workloads, c.Remove
	parts[l.IntN(2)].Levels = c.Levels
	parts[l.IntN(2)].Nodes = c.Nodes
	parts[l.IntN(2)].Pools = c.Pools
	parts[l.IntN(2)].Queues = c.Queues
	parts[l.IntN(2)].Budgets = c.Budgets
	return parts
}

// carryOut carries a plan out in some way, and sees that the snapshot comes to
// what the functions on states come to.
func (l *lawLife) carryOut() error {
	p, err := l.decide(l.at)
	if err != nil {
		return err
	}
	if len(p.Actions) == 0 {
		return l.events()
	}
	kept := make([]bool, len(p.Actions))
	part := l.IntN(3)
	for i := range kept {
		kept[i] = part > 0 || l.IntN(2) > 0 // mostly nothing that can be carried out
	}
	if part == 1 {
		kept = (&resting{chance: l}).part(p)
	}
	keep := func(i int, _ allot.Action) bool { return kept[i] }
	if part == 2 {
		keep = nil
	}
	before := l.versions[l.at].snapshot
	name, plain, fast := "apply", allot.ApplySome, before.ApplySome
	if l.IntN(2) == 0 {
		name, plain, fast = "begin", allot.BeginSome, before.BeginSome
	}
	want, wrong := plain(before.State(), p, keep)
	got, err := fast(p, keep)
	if wrong != nil || err != nil {
		l.stats.counts["parts refused"]++
		if fmt.Sprint(wrong) != fmt.Sprint(err) {
			return fmt.Errorf("%s %v: %v, not %v", name, kept, err, wrong)
		}
		return nil
	}
	if err := sameState(got.State(), want); err != nil {
		return fmt.Errorf("%s %v: %w", name, kept, err)
	}
	l.stats.counts[name]++
	if slices.Contains(kept, false) {
		l.stats.counts["part"]++
	}
	listed := len(want.Workloads)
	sweepEnded(want)
	l.become(want)
	if listed != len(want.Workloads) || l.IntN(2) == 0 {
		return l.move(name)
	}
	l.log = append(l.log, name)
	l.stats.counts["changes"]++
	l.made(got)
	_, err = l.decide(l.at)
	return err
}

// travel decides on an earlier version once more, or goes on from it.
func (l *lawLife) travel() error {
	old := l.IntN(len(l.versions))
	if len(l.versions) > 10 && l.IntN(2) == 0 {
		old = len(l.versions) - 1 - l.IntN(10)
	}
	l.log = append(l.log, fmt.Sprint("look at version ", old))
	l.stats.counts["old versions"]++
	if _, err := l.decide(old); err != nil {
		return err
	}
	if l.IntN(2) == 0 {
		l.stats.counts["branches"]++
		l.at = old
		l.become(l.versions[old].snapshot.State())
		l.log = append(l.log, "and go on from it")
	}
	return nil
}

// decide has a version decide, and returns what Solve does.
func (l *lawLife) decide(version int) (*allot.Plan, error) {
	v := &l.versions[version]
	l.stats.counts["decided"]++
	step := &traceStep{decides: v.step}
	l.trace = append(l.trace, step)
	d, err := v.snapshot.Decide()
	if err != nil {
		return nil, fmt.Errorf("Decide: %w", err)
	}
	if d.Incremental() {
		l.stats.counts["incremental"]++
		if len(d.Actions()) > 0 {
			l.stats.counts["incremental, with actions"]++
		}
	}
	if v.plan == nil {
		if err := v.solve(); err != nil {
			return nil, err
		}
		l.stats.features(l.lawHost, v)
	}
	if err := sameActions(d.Actions(), v.plan.Actions); err != nil {
		return nil, err
	}
	if l.IntN(3) == 0 {
		l.stats.counts["plans"]++
		step.asked = true
		return v.plan, l.ask(d, v.plan)
	}
	return v.plan, nil
}

func (v *lawVersion) solve() error {
	p, err := allot.Solve(v.snapshot.State())
	if err != nil {
		return fmt.Errorf("Solve: %w", err)
	}
	p.Work = allot.Work{}
	v.plan = p
	return nil
}

// ask asks a decision for all it knows, or for parts of it.
func (l *lawLife) ask(d *allot.Decision, want *allot.Plan) error {
	if l.IntN(2) == 0 {
		if err := l.askParts(d, want); err != nil {
			return err
		}
	}
	got, err := d.Plan()
	if err != nil {
		return fmt.Errorf("Plan: %w", err)
	}
	got.Work = allot.Work{}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the plan is\n%s\nnot\n%s", planJSON(got), planJSON(want))
	}
	return nil
}

func (l *lawLife) askParts(d *allot.Decision, want *allot.Plan) error {
	for i := range min(len(want.Pending), 3) {
		p := want.Pending[(l.IntN(3)+i)%len(want.Pending)]
		if got, err := d.Why(context.Background(), p.Workload); err != nil || !reflect.DeepEqual(got, p.Reasons) {
			return fmt.Errorf("Why %q: %v (%v), not %v", p.Workload, got, err, p.Reasons)
		}
	}
	got := &allot.Plan{Revision: want.Revision, Actions: d.Actions(), NextAt: d.NextAt(), Warnings: want.Warnings}
	for s, err := range d.Shares() {
		if err != nil {
			return err
		}
		got.Shares = append(got.Shares, s)
	}
	for p, err := range d.Pending() {
		if err != nil {
			return err
		}
		got.Pending = append(got.Pending, p)
	}
	if planJSON(got) != planJSON(want) {
		return fmt.Errorf("what is told in parts is\n%s\nnot\n%s", planJSON(got), planJSON(want))
	}
	return nil
}

func sameActions(got, want []allot.Action) error {
	if len(got)+len(want) == 0 || reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("the actions are\n%s\nnot\n%s", planJSON(&allot.Plan{Actions: got}), planJSON(&allot.Plan{Actions: want}))
}
