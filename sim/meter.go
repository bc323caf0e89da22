package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A meter adds up what the metrics are made of.
type meter struct {
	// total is the GPUs of all nodes, open those that may be given away: of nodes of a pool that
	// are neither lost nor cordoned, and healthy. usable is that and what jobs still hold
	// on cordoned nodes; allocated is what jobs hold, used what working ones hold, all in
	// milli-GPU.
	total, open, usable, allocated, used int64
	// pooled says of each node, by position, whether a pool has it.
	pooled []bool
	// known is what of that which is free the last decision in force knew to be.
	known int64
	// reserved is what promises keep idle.
	reserved int64
	// queued is how many jobs wait, demand what all jobs in the system ask.
	queued  int
	demand  int64
	sojourn Sum // of those who have left
	integrals
	// wanted is what those who wait want, by what they were last told to wait for.
	wanted  [causes]int64
	queues  []*queueMeter
	byQueue map[string]*queueMeter
	// rows are the series so far; due: a further one is, when all else of the instant has
	// happened.
	rows                []Row
	due                 bool
	decisions, actions  int64
	verified, explained int64
}

// integrals are those over time. contention is that of the larger of demand and total,
// inSystem is Little's.
type integrals struct {
	allocatedTime, usableTime, usedTime, contention Sum
	inSystem, reservedTime                          Sum
	idleTime                                        [causes]Sum
	steady                                          steady
}

// steady holds the integrals over the steady window.
type steady struct {
	from, to                time.Duration
	allocated, used, usable Sum
}

func (m *meter) start(e *engine) {
	m.byQueue = make(map[string]*queueMeter)
	for i := range e.in.Cluster.Queues {
		q := &queueMeter{id: e.in.Cluster.Queues[i].ID, since: -1}
		m.byQueue[q.id] = q
		m.queues = append(m.queues, q)
	}
	if len(m.queues) == 0 {
		q := &queueMeter{since: -1}
		m.byQueue[""] = q
		m.queues = append(m.queues, q)
	}
	for i := range e.in.Cluster.Queues {
		q := m.queues[i]
		if q.above = m.byQueue[e.in.Cluster.Queues[i].Parent]; q.above != nil {
			q.above.children = append(q.above.children, q)
		}
	}
	m.quotas(e.in.Cluster.Queues)
	m.pooled = pooled(e.library.state)
	m.capacity(e)
	m.steady = steady{from: e.options.From, to: e.options.To}
	first, last := e.in.Submissions()
	if m.steady.from == 0 {
		m.steady.from = first
	}
	if m.steady.to == 0 {
		m.steady.to = last
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
		q.promised = q.promised || q.quota.IsUnlimited() || q.quota.Amount() > 0
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
	kept := m.usable - m.open
	m.total, m.open = 0, 0
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
		if m.pooled[i] && !n.Lost && !n.Cordoned {
			m.open += good
		}
	}
	m.usable = m.open + kept
}

// pooled says of each node, by position, whether a pool has it. Without any pool all nodes are one.
func pooled(s *allot.State) []bool {
	list, named := make([]bool, len(s.Nodes)), make(map[string]bool)
	all := len(s.Pools) == 0
	for i := range s.Pools {
		set := &s.Pools[i].Nodes
		all = all || len(set.IDs) == 0 && set.Selector == nil
		for _, id := range set.IDs {
			named[id] = true
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		list[i] = all || named[n.ID] || slices.ContainsFunc(s.Pools, func(p allot.Pool) bool {
			return p.Nodes.Selector != nil && p.Nodes.Selector.Matches(n.Labels)
		})
	}
	return list
}

// pass takes in the time up to an instant, in which nothing changes. It is false if
// jobs hold more than there is.
func (m *meter) pass(e *engine, to time.Duration) bool {
	d := int64(to - e.now)
	if d == 0 {
		return true
	}
	if m.allocated > m.usable || m.used > m.allocated {
		return false
	}
	m.allocatedTime.add(m.allocated, d)
	m.usableTime.add(m.usable, d)
	m.usedTime.add(m.used, d)
	m.contention.add(max(m.demand, m.total), d)
	m.inSystem.add(int64(e.alive), d)
	m.reservedTime.add(m.keptIdle(), d)
	for c, amount := range m.idle() {
		m.idleTime[c].add(amount, d)
	}
	m.known = min(m.known, m.usable-m.allocated)
	if from, until := max(e.now, m.steady.from), min(to, m.steady.to); from < until {
		m.steady.allocated.add(m.allocated, int64(until-from))
		m.steady.used.add(m.used, int64(until-from))
		m.steady.usable.add(m.usable, int64(until-from))
	}
	return true
}

// inForce takes in that a decision has been carried out, since which news has become free.
func (m *meter) inForce(news int64) { m.known = m.usable - m.allocated - news }

// fresh is what has become free since the last decision that is in force.
func (m *meter) fresh() int64 { return max(m.usable-m.allocated-m.known, 0) }

// keptIdle is what of that which is idle was promised to somebody.
func (m *meter) keptIdle() int64 { return min(m.reserved, m.usable-m.allocated) }

// arrive takes in a job that is submitted.
func (m *meter) arrive(j *job) {
	m.demand += j.asks
	j.result.contention = m.contention
}

// leave takes in that a job ends.
func (m *meter) leave(e *engine, j *job) {
	m.demand -= j.asks
	m.contended(j)
	m.sojourn.add(int64(e.now-j.Submit), 1)
	m.queueOf(j).ended++
}

// contended takes in how contended the cluster was in a job's life.
func (m *meter) contended(j *job) {
	before := j.result.contention
	j.result.contention = m.contention
	j.result.contention.take(before)
}

// end takes in that the run is over: who still waits has waited up to now.
func (m *meter) end(e *engine) {
	for _, i := range e.library.jobs {
		if j := e.jobs[i]; j.phase != leaving {
			m.contended(j)
			j.beside().Unsaved = j.unsaved
		}
	}
	for _, q := range m.queues {
		q.settle(e.now, false)
	}
}

func (m *meter) queueOf(j *job) *queueMeter {
	if q := m.byQueue[j.Workload.Queue]; q != nil {
		return q
	}
	return m.queues[0]
}

// phase takes in that a job goes from one phase to another.
func (m *meter) phase(e *engine, j *job, to phase) {
	if was, is := j.phase.waits(), to.waits(); was != is {
		m.queued += sign(is)
	}
	if j.phase == working {
		m.used -= j.busy()
	}
	if to == working {
		m.used += j.busy()
	}
	m.want(j, to, j.held)
	m.lack(e, j, to)
}

// hold takes in that a job holds something else.
func (m *meter) hold(e *engine, j *job, h holding) {
	m.allocated += h.held - j.held
	m.usable += h.kept - j.kept
	if j.phase == working {
		m.used += h.busy() - j.busy()
	}
	if h.charged != j.charged {
		m.queueOf(j).hold(h.charged - j.charged)
	}
	j.holding = h
	m.want(j, j.phase, j.held)
	m.lack(e, j, j.phase)
}

// lack takes in what a job that waits lacks of its minimum, or that it does not wait.
func (m *meter) lack(e *engine, j *job, p phase) {
	lack := int64(noLack)
	if p.waits() {
		lack = lackOf(e, j)
	}
	if lack == j.lack {
		return
	}
	q := m.queueOf(j)
	q.wait(j.lack, -1)
	q.wait(lack, 1)
	j.lack = lack
}

func (p phase) waits() bool { return p == waiting || p == partial }
