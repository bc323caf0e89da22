package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A Cause says why GPUs are idle.
type Cause uint8

const (
	// NoDemand: nobody waits for them.
	NoDemand Cause = iota
	// TooFew: who waits asks more than is free in all.
	TooFew
	// Pieces: enough is free in all, but not where the one who waits could use it.
	Pieces
	// ByRule: who waits is held back by a quota, a limit, or the order of turns.
	ByRule
	// UntilFree: who waits has claimed them, or waits for what is leaving.
	UntilFree
	// Impossible: who waits can never start on this cluster.
	Impossible
	causes
)

var causeNames = [...]string{"no-demand", "too-few", "pieces", "by-rule", "until-free", "impossible"}

// String is the text form, such as "pieces".
func (c Cause) String() string { return causeNames[c] }

// Causes are all of them, in their order.
func Causes() []Cause { return []Cause{NoDemand, TooFew, Pieces, ByRule, UntilFree, Impossible} }

// A meter adds up what the metrics are made of.
type meter struct {
	// total is the GPUs of all nodes, usable those that are not lost, cordoned or
	// unhealthy; allocated is what jobs hold, used what working ones hold, all in
	// milli-GPU.
	total, usable, allocated, used int64
	// queued is how many jobs wait, demand what all jobs in the system ask.
	queued int
	demand int64
	// The integrals over time. contention is that of the larger of demand and
	// total; inSystem is Little's.
	allocatedTime, usableTime, usedTime, contention Sum
	inSystem, sojourn                               Sum
	steady                                          steady
	// idle splits what is idle by cause, at the last decision.
	idle     [causes]int64
	idleTime [causes]Sum
	queues   []*queueMeter
	byQueue  map[string]*queueMeter
	// rows are the series so far.
	rows      []Row
	decisions int64
	actions   int64
}

// steady holds the integrals over the steady window.
type steady struct {
	from, to                time.Duration
	allocated, used, usable Sum
}

func (m *meter) open(e *engine) {
	m.byQueue = make(map[string]*queueMeter)
	for i := range e.in.Cluster.Queues {
		q := &queueMeter{id: e.in.Cluster.Queues[i].ID, parent: -1, since: -1}
		m.byQueue[q.id] = q
		m.queues = append(m.queues, q)
	}
	if len(m.queues) == 0 {
		q := &queueMeter{parent: -1, since: -1}
		m.byQueue[""] = q
		m.queues = append(m.queues, q)
	}
	for i := range e.in.Cluster.Queues {
		m.queues[i].parent = slices.IndexFunc(m.queues, func(q *queueMeter) bool { return q.id == e.in.Cluster.Queues[i].Parent })
	}
	m.quotas(e.in.Cluster.Queues)
	m.capacity(e)
	m.steady = steady{from: e.options.From, to: e.options.To}
	if m.steady.to == 0 {
		for i := range e.in.Jobs {
			m.steady.to = max(m.steady.to, e.in.Jobs[i].Submit)
		}
	}
	if e.options.Sample > 0 {
		e.calendar.add(event{at: 0, class: sample})
	}
}

// quotas reads the queues' quotas of GPUs.
func (m *meter) quotas(queues []allot.Queue) {
	for i := range queues {
		q := m.byQueue[queues[i].ID]
		q.quota = quota.Bound{}
		for _, r := range queues[i].Resources {
			if r.Resource == allot.GPU && r.Class == "" {
				q.quota = r.Quota
			}
		}
		q.dirty = true
	}
}

// requota takes note of a queue that has been changed.
func (m *meter) requota(q *allot.Queue) {
	m.quotas([]allot.Queue{*q})
	for _, other := range m.queues {
		other.dirty = true
	}
}

// capacity reads what the nodes have. A node's devices are counted, or what it
// has of [Slots].
func (m *meter) capacity(e *engine) {
	m.total, m.usable = 0, 0
	for i := range e.library.state.Nodes {
		n := &e.library.state.Nodes[i]
		all := int64(len(n.Devices))*1000 + n.Capacity[Slots]
		good := all
		for d := range n.Devices {
			if n.Devices[d].Unhealthy {
				good -= 1000
			} else {
				good -= n.Devices[d].Foreign
			}
		}
		m.total += all
		if !n.Lost && !n.Cordoned {
			m.usable += good
		}
	}
}

// pass takes in the time up to an instant, in which nothing changes.
func (m *meter) pass(e *engine, to time.Duration) {
	d := int64(to - e.now)
	if d == 0 {
		return
	}
	m.allocatedTime.add(m.allocated, d)
	m.usableTime.add(m.usable, d)
	m.usedTime.add(m.used, d)
	m.contention.add(max(m.demand, m.total), d)
	m.inSystem.add(int64(e.alive), d)
	for c, amount := range m.idle {
		m.idleTime[c].add(amount, d)
	}
	if from, until := max(e.now, m.steady.from), min(to, m.steady.to); from < until {
		m.steady.allocated.add(m.allocated, int64(until-from))
		m.steady.used.add(m.used, int64(until-from))
		m.steady.usable.add(m.usable, int64(until-from))
	}
}

// arrive takes in a job that is submitted.
func (m *meter) arrive(j *job) {
	m.demand += j.asks
	j.result.contention = m.contention
}

// leave takes in that a job ends.
func (m *meter) leave(e *engine, j *job) {
	m.demand -= j.asks
	before := j.result.contention
	j.result.contention = m.contention
	j.result.contention.take(before)
	m.sojourn.add(int64(e.now-j.result.Submit), 1)
	m.queueOf(j).ended++
}

func (m *meter) queueOf(j *job) *queueMeter {
	if q := m.byQueue[j.Workload.Queue]; q != nil {
		return q
	}
	return m.queues[0]
}

// phase takes in that a job goes from one phase to another.
func (m *meter) phase(j *job, to phase) {
	q := m.queueOf(j)
	if was, is := j.phase.waits(), to.waits(); was != is {
		n := sign(is)
		m.queued += n
		q.wait(j.asks, n)
	}
	if j.phase == working {
		m.used -= j.held
	}
	if to == working {
		m.used += j.held
	}
}

// hold takes in that a job holds another amount.
func (m *meter) hold(j *job, held int64) {
	m.allocated += held - j.held
	if j.phase == working {
		m.used += held - j.held
	}
	q := m.queueOf(j)
	q.held += held - j.held
	q.dirty = true
	j.held = held
}

func (p phase) waits() bool { return p == waiting || p == partial }

// plan takes in what a plan says of who waits.
func (m *meter) plan(e *engine, p *allot.Plan) {
	m.actions += int64(len(p.Actions))
	for i := range p.Shares {
		if s := &p.Shares[i]; s.Resource == allot.GPU && s.Class == "" {
			if q := m.byQueue[s.Queue]; q != nil {
				q.share, q.divided = s.FairShare, s.Divided
			}
		}
	}
	var wanted [causes]int64
	for i := range p.Pending {
		w := &p.Pending[i]
		if len(w.Reasons) > 0 {
			wanted[causeOf(w.Reasons[0].Code)] += e.jobs[e.byID[w.Workload]].asks
		}
	}
	if !e.options.NoReasons {
		m.split(wanted)
	}
}

// split says what the idle GPUs are idle for: those for which somebody waits who
// could use them if they were in one piece come first.
func (m *meter) split(wanted [causes]int64) {
	free := max(m.usable-m.allocated, 0)
	for _, c := range []Cause{Pieces, UntilFree, ByRule, TooFew, Impossible} {
		m.idle[c] = min(free, wanted[c])
		free -= m.idle[c]
	}
	m.idle[NoDemand] = free
}

func causeOf(c allot.Code) Cause {
	switch c {
	case allot.ImpossibleNode, allot.ImpossibleGang, allot.ImpossibleQuota, allot.ImpossibleLimit:
		return Impossible
	case allot.NoCapacity:
		return TooFew
	case allot.NoNode, allot.GangShort:
		return Pieces
	case allot.WaitsForLeaving, allot.ClaimHeld, allot.Leaving:
		return UntilFree
	}
	return ByRule
}

// instant is called when everything of an instant has happened.
func (m *meter) instant(e *engine) {
	for _, q := range m.queues {
		if q.dirty {
			q.dirty = false
			m.watch(e, q)
		}
	}
}
