package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/allotsched/allot"
)

// The fake cluster: nodes that run tasks, reached by requests that come late,
// come twice, get lost or fail. It has a clock of whole seconds.

// began is when the cluster's clock is 0.
var began = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func instant(second int) time.Time { return began.Add(time.Duration(second) * time.Second) }

// health is how a node stands.
type health uint8

const (
	ready health = iota
	// silent nodes do not answer. What runs there may go on.
	silent
	// down nodes are switched off for sure: nothing runs there any more.
	down
)

// status is how an attempt stands. It only ever rises.
type status uint8

const (
	unknown status = iota
	running
	stopping
	ended
)

// exit is how an attempt ended.
type exit uint8

const (
	done    exit = iota + 1 // its work
	failed                  // to start, or later
	stopped                 // as it was asked to
	never                   // stopped before it started: it will not start any more
	lost                    // with its node
)

var (
	healthNames = [...]string{ready: "ready", silent: "silent", down: "down"}
	exitNames   = [...]string{done: "done", failed: "failed", stopped: "stopped", never: "never started", lost: "lost"}
)

// A report is what the cluster tells.
type report struct {
	// At is when it was true.
	At       time.Time
	Nodes    []nodeReport
	Attempts map[int64]attemptReport
}

type nodeReport struct {
	ID     string
	Health health
}

type attemptReport struct {
	Status status
	Exit   exit
	// Saved is up to when the work of the attempt is saved; zero is not at all.
	Saved time.Time
}

// errSilent says that the cluster gave no answer.
var errSilent = errors.New("the cluster does not answer")

// faults are what goes wrong, in percent and seconds.
type faults struct {
	lost, twice, fails, unanswered int // percent
	delay, lag, slow               int // seconds: of requests, of reports, of what stops
}

type cluster struct {
	faults
	chance *rand.Rand
	second int
	nodes  []*machine
	// work is for how many seconds the tasks of a workload run.
	work map[string]int
	// attempts are all that were ever heard of. That one is over is never
	// forgotten, as requests for it may be under way: a real cluster may once
	// they have expired.
	attempts map[int64]*process
	live     []*process // those of which there is something to do or to tell
	underWay []message
	sent     int  // requests, ever
	frozen   bool // nothing ends by itself any more
	// print is told what happens, broken collects what never should.
	print  func(format string, args ...any)
	broken []string
}

// A machine is a node of the cluster.
type machine struct {
	allot.Node
	health health
	told   history[health]
}

// A process is an attempt at its place.
type process struct {
	attempt
	needs   allot.Request
	machine *machine
	status  status
	exit    exit
	from    int // when it started
	until   int // when it ends by itself, or has stopped
	told    history[attemptReport]
}

// A message is a request under way: it arrives at the given second.
type message struct {
	at    int
	start bool
	attempt
	needs allot.Request
}

// A history is what was told, and when, so that reports can be old.
type history[T any] []struct {
	at   int
	told T
}

func (h *history[T]) tell(at int, value T) {
	*h = append(*h, struct {
		at   int
		told T
	}{at, value})
}

// at is what had been told at that second.
func (h history[T]) at(second int) (value T) {
	for _, entry := range h {
		if entry.at <= second {
			value = entry.told
		}
	}
	return value
}

// Start sends a request to start.
func (c *cluster) Start(a attempt, needs allot.Request) error {
	c.send(message{start: true, attempt: a, needs: needs})
	return nil
}

// Stop sends a request to stop.
func (c *cluster) Stop(a attempt) error {
	c.send(message{attempt: a})
	return nil
}

// percent is true so often.
func (c *cluster) percent(n int) bool { return c.chance.IntN(100) < n }

func (c *cluster) send(m message) {
	c.sent++
	for again := true; again; again = c.percent(c.twice) {
		if !c.percent(c.lost) {
			m.at = c.second + c.chance.IntN(c.delay+1)
			c.underWay = append(c.underWay, m)
		}
	}
}

// Report tells how things stood up to the lag ago.
func (c *cluster) Report(attempts []int64) (report, error) {
	if c.percent(c.unanswered) {
		return report{}, errSilent
	}
	at := max(0, c.second-c.chance.IntN(c.lag+1))
	r := report{At: instant(at), Attempts: make(map[int64]attemptReport)}
	for _, m := range c.nodes {
		r.Nodes = append(r.Nodes, nodeReport{m.ID, m.told.at(at)})
	}
	for _, number := range attempts {
		if p := c.attempts[number]; p != nil {
			r.Attempts[number] = p.told.at(at)
		}
	}
	return r, nil
}

// tick lets a second pass.
func (c *cluster) tick() {
	c.second++
	var later []message
	for _, m := range c.underWay {
		switch {
		case m.at > c.second:
			later = append(later, m)
		case m.start:
			c.start(m)
		default:
			c.stop(m)
		}
	}
	c.underWay = later
	c.live = slices.DeleteFunc(c.live, func(p *process) bool {
		c.advance(p)
		return p.status == ended && p.told.at(c.second).Status == ended
	})
}

// advance ends a process whose time has come and has its node tell of it, if
// anybody hears the node.
func (c *cluster) advance(p *process) {
	if p.status == running && p.until <= c.second && !c.frozen {
		c.end(p, done)
	}
	if p.status == stopping && p.until <= c.second {
		c.end(p, stopped)
	}
	if p.machine.health == ready {
		c.tell(p)
	}
}

// tell has it known how a process stands.
func (c *cluster) tell(p *process) {
	now := attemptReport{Status: p.status, Exit: p.exit, Saved: p.told.at(c.second).Saved}
	const every = 20 // seconds
	switch {
	case p.status == running && (c.second-p.from)%every == 0 && c.second > p.from:
		now.Saved = instant(c.second)
	case p.exit == stopped && p.Ending.Checkpoint:
		now.Saved = instant(p.until)
	}
	if now != p.told.at(c.second) {
		p.told.tell(c.second, now)
	}
}

func (c *cluster) end(p *process, how exit) {
	p.status, p.exit = ended, how
	c.print("%v %s", p.attempt, exitNames[how])
}

// enter takes note of an attempt that was never heard of before.
func (c *cluster) enter(m message) *process {
	p := &process{attempt: m.attempt, needs: m.needs, machine: c.machine(m.Node), from: c.second}
	c.attempts[m.Number] = p
	c.live = append(c.live, p)
	return p
}

// start is the arrival of a request to start.
func (c *cluster) start(m message) {
	if c.attempts[m.Number] != nil {
		return // it came twice, or the request to stop it came before
	}
	switch at := c.machine(m.Node); {
	case at.health == silent:
		return // nobody hears it
	case at.health == down || c.percent(c.fails):
		c.end(c.enter(m), failed)
		c.tell(c.attempts[m.Number])
	default:
		p := c.enter(m)
		p.status = running
		p.until = c.second + c.work[m.Workload]
		c.print("%v runs on %s%v", p.attempt, p.Node, p.Devices)
		c.inspect(p)
	}
}

// stop is the arrival of a request to stop. One that is not known is marked as
// over, so that a request to start it that comes late does nothing.
func (c *cluster) stop(m message) {
	p := c.attempts[m.Number]
	switch {
	case p == nil:
		p = c.enter(m)
		c.end(p, never)
		c.tell(p)
	case p.machine.health == down:
		c.tell(p) // it is sure to be over
	case p.machine.health == ready && p.status == running:
		p.Ending = m.Ending
		p.status, p.until = stopping, c.second+c.chance.IntN(c.slow+1)
		c.print("%v stops %s", p.attempt, endingText(m.Ending))
	}
}

// turn changes how a node stands.
func (c *cluster) turn(m *machine, to health) {
	m.health = to
	m.told.tell(c.second, to)
	c.print("node %s is %s", m.ID, healthNames[to])
	for _, p := range c.live {
		if to == down && p.machine == m && p.status != ended {
			c.end(p, lost)
		}
	}
}

func (c *cluster) machine(id string) *machine {
	i := slices.IndexFunc(c.nodes, func(m *machine) bool { return m.ID == id })
	return c.nodes[i]
}

// inspect looks for what must never happen: a task that runs twice, or more on
// a node than it has.
func (c *cluster) inspect(p *process) {
	used := make([]int64, len(p.machine.Devices))
	var cpu int64
	for _, other := range c.live {
		if other.status != running && other.status != stopping {
			continue
		}
		if other != p && other.taskName == p.taskName {
			c.broken = append(c.broken, fmt.Sprintf("%v and %v run at once", p.attempt, other.attempt))
		}
		if other.machine != p.machine {
			continue
		}
		cpu += other.needs.Resources[allot.CPU]
		for _, d := range other.Devices {
			milli := other.needs.GPU.Milli
			if milli == 0 {
				milli = 1000
			}
			used[d] += milli
		}
	}
	if cpu > p.machine.Capacity[allot.CPU] || slices.ContainsFunc(used, func(n int64) bool { return n > 1000 }) {
		c.broken = append(c.broken, fmt.Sprintf("%v overbooks %s", p.attempt, p.Node))
	}
}

// String is workload/podset[index]#number.
func (a attempt) String() string {
	return fmt.Sprintf("%s[%d]#%d", a.Workload+a.PodSet, a.Index, a.Number)
}

func endingText(e allot.Ending) string {
	text := ""
	if e.Checkpoint {
		text += "once its work is saved "
	}
	if e.Status != "" {
		text += fmt.Sprintf("%s %d", e.Status, e.ExitCode)
	}
	return text
}
