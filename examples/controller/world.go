package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A world is a cluster, its users, and a controller that is killed now and
// then. What happens in it is drawn from a seed.
type world struct {
	cluster *cluster
	store   store
	users   users
	chance  *rand.Rand
	print   func(format string, args ...any)

	// A controller dies at a crossing: on its way to a call of the world, or
	// back. That is every difference that its death can make.
	kills     int // percent of the rounds that light the fuse
	fuse      int // crossings until the controller dies; < 0 is not lit
	crossings int // so far
	asleep    int // seconds until the controller is started again
	solve     func(*allot.State) (*allot.Plan, error)
	verify    bool

	policy    allot.Policy
	submitted []string // the workloads
	ended     map[string]bool
	plans     int // that began, or would have had the controller not been killed
	actions   int // of these plans
	deaths    int
}

// users are the inbox: what was asked for stays, whoever has read it.
type users struct{ requests []request }

func (u *users) After(n int) ([]request, error) { return u.requests[n:], nil }

var queues = []string{"vision", "speech", "guests"}

// newWorld has four nodes of four GPUs and three queues, and nothing to do.
func newWorld(seed uint64, policy allot.Policy, f faults, out io.Writer) *world {
	w := &world{
		store: new(memory), chance: rand.New(rand.NewPCG(seed, 0)),
		kills: 10, fuse: -1, solve: allot.Solve, verify: true, policy: policy, ended: make(map[string]bool),
	}
	w.print = func(format string, args ...any) {
		fmt.Fprintf(out, "%4ds  "+format+"\n", append([]any{w.cluster.second}, args...)...)
	}
	w.cluster = &cluster{
		faults: f, chance: w.chance, work: make(map[string]int), attempts: make(map[int64]*process), print: w.print,
	}
	s := &allot.State{Pools: []allot.Pool{{ID: "main", Policy: policy}}}
	for i := range 4 {
		n := allot.Node{ID: fmt.Sprint("n", i), Devices: make([]allot.Device, 4), Capacity: map[string]int64{allot.CPU: 32000}}
		s.Nodes = append(s.Nodes, n)
		m := &machine{Node: n}
		m.told.tell(0, ready)
		w.cluster.nodes = append(w.cluster.nodes, m)
	}
	for i, gpus := range []int64{8, 6, 0} {
		s.Queues = append(s.Queues, allot.Queue{
			ID:        queues[i],
			Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(gpus * 1000), Weight: quota.Of(gpus + 1)}},
		})
	}
	if err := w.store.Write(&record{State: s}); err != nil {
		panic(err) // it is the store's first record
	}
	return w
}

// step lets a second pass, with a round of the controller if it is time.
func (w *world) step() {
	w.cluster.tick()
	const pace = 3 // seconds between two rounds, on average
	switch {
	case w.asleep > 0:
		if w.asleep--; w.asleep == 0 {
			w.print("the controller is started again")
		}
	case w.chance.IntN(pace) == 0:
		w.round()
	}
}

// round is a round of the controller, which it may not survive.
func (w *world) round() {
	if w.chance.IntN(100) < w.kills && w.fuse < 0 {
		w.fuse = w.chance.IntN(20)
	}
	l := &life{world: w}
	err := w.controller(l).round()
	switch {
	case errors.Is(err, errKilled):
		w.deaths++
		w.asleep = 1 + w.chance.IntN(10)
		w.print("the controller is killed %s", l.where)
	case err != nil:
		w.print("the round is given up: %v", err)
		if !expected(err) {
			w.cluster.broken = append(w.cluster.broken, err.Error())
		}
	}
}

// expected says whether an error of a round is of those that the next round makes
// good. Any other is a bug, such as a plan that is not lawful.
func expected(err error) bool {
	return errors.Is(err, errKilled) || errors.Is(err, errSilent) || errors.Is(err, errConflict)
}

// controller is one that lives that life.
func (w *world) controller(l *life) *controller {
	return &controller{
		store: l, cluster: l, requests: l,
		clock: func() time.Time { return instant(w.cluster.second) },
		solve: w.solve, planned: w.planned, verify: w.verify,
	}
}

// planned prints what was decided.
func (w *world) planned(p *allot.Plan) {
	w.plans++
	w.actions += len(p.Actions)
	for line := range strings.Lines((&allot.Plan{Actions: p.Actions}).String()) {
		w.print("plan: %s", strings.TrimSuffix(line, "\n"))
	}
}

// errKilled is what a killed controller sees of the world.
var errKilled = errors.New("killed")

// A life is all that connects a controller with the world. It ends before or
// after one of the calls; a dead controller reaches nobody any more.
type life struct {
	*world
	where string // it died; empty is not yet
}

// crosses says whether the controller lives on, on its way to or from a call.
func (l *life) crosses(when, what string) bool {
	if l.where != "" {
		return false
	}
	if l.fuse == 0 {
		l.where = when + " it " + what
	}
	l.fuse = max(-1, l.fuse-1)
	l.crossings++
	return l.where == ""
}

// call makes a call of the controller's.
func call[T any](l *life, what string, f func() (T, error)) (value T, err error) {
	if !l.crosses("before", what) {
		return value, errKilled
	}
	value, err = f()
	if !l.crosses("after", what) {
		return value, errKilled
	}
	return value, err
}

func (l *life) Read() (*record, error) { return call(l, "reads its record", l.store.Read) }

func (l *life) Write(r *record) error {
	_, err := call(l, "writes its record", func() (any, error) { return nil, l.store.Write(r) })
	return err
}

func (l *life) Report(attempts []int64) (report, error) {
	return call(l, "hears from the cluster", func() (report, error) { return l.cluster.Report(attempts) })
}

func (l *life) After(n int) ([]request, error) {
	return call(l, "reads the requests", func() ([]request, error) { return l.users.After(n) })
}

func (l *life) Start(a attempt, needs allot.Request) error {
	_, err := call(l, "asks to start "+a.String(), func() (any, error) { return nil, l.cluster.Start(a, needs) })
	return err
}

func (l *life) Stop(a attempt) error {
	_, err := call(l, "asks to stop "+a.String(), func() (any, error) { return nil, l.cluster.Stop(a) })
	return err
}

// calm ends all faults, has what runs run on, and waits until nothing happens
// any more. It says whether it came to that.
func (w *world) calm(seconds int) bool {
	w.print("from here on nothing goes wrong, and nothing ends by itself")
	w.cluster.faults = faults{slow: w.cluster.slow}
	w.kills, w.fuse, w.asleep, w.cluster.frozen = 0, -1, 0, true
	for _, m := range w.cluster.nodes {
		if m.health != ready {
			w.cluster.turn(m, ready)
		}
	}
	for second, still := 0, 0; second < seconds; second++ {
		before := w.pulse()
		w.step()
		if still++; w.pulse() != before {
			still = 0
		}
		if still == stillness {
			return true
		}
	}
	return false
}

// stillness is after how many seconds without anything nothing will happen any
// more: longer than a broken gang's grace and the next solve.
const stillness = 100

// pulse changes with everything that is planned, sent or happens.
func (w *world) pulse() [3]int {
	sum := 0
	for _, p := range w.cluster.live {
		sum += int(p.status)
	}
	return [3]int{w.actions, w.cluster.sent, sum}
}
