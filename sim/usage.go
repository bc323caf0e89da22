package sim

import (
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
)

// A usageFeed keeps what queues have used, by queue and resource, where the policy of their
// pool goes by it, and tells the library (B12): at the first decision after each tick of the
// history, of which a period has 64. There is a decision at each tick while somebody waits
// and something runs, as what somebody may have changes with it.
type usageFeed struct {
	pools  []usagePool
	meters []usageMeter
	// byQueue are the meters of each queue, by position.
	byQueue map[string][]int
}

// A usagePool is a pool of which the history is kept. Times are in microseconds since 1970.
type usagePool struct {
	*allot.Pool
	tick, due int64
}

// A usageMeter is the history of a queue and a resource.
type usageMeter struct {
	pool     int // position among those of the feed
	queue    int // position in the state
	resource string
	// above is the position of the parent's meter, −1 where there is none.
	above          int
	held, capacity int64
	history        fairshare.History
}

const (
	usageTicks  = 64               // of a period
	usagePeriod = 7 * 24 * 60 * 60 // of a policy that gives none, in seconds
	microsecond = 1_000_000        // of a second
)

// micros is an instant of the run in the library's time.
func micros(at time.Duration) int64 { return epoch.Add(at).UnixMicro() }

func (f *usageFeed) open(e *engine) {
	s := e.library.state
	if e.ranking != nil || e.scheduler.Plan != nil {
		return
	}
	for i := range s.Pools {
		policy := &s.Pools[i].Policy
		if policy.UsageStrengthMilli == 0 {
			continue
		}
		period := int64(usagePeriod)
		if policy.UsagePeriod.Given() {
			period = policy.UsagePeriod.Amount()
		}
		f.pools = append(f.pools, usagePool{Pool: &s.Pools[i], tick: period * microsecond / usageTicks, due: micros(0)})
		f.follow(e, len(f.pools)-1, fairshare.NewHistory(policy.UsageDecay, period*microsecond, micros(0)))
	}
	f.capacities(s)
}

// follow makes the meters of a pool's queues, which have nothing in them yet: each has one of
// every resource that any of them names at some time, as what is held counts above as well.
func (f *usageFeed) follow(e *engine, pool int, empty fairshare.History) {
	if f.byQueue == nil {
		f.byQueue = make(map[string][]int)
	}
	s := e.library.state
	var resources []string
	name := func(q *allot.Queue) {
		for k := range q.Resources {
			if r := &q.Resources[k]; r.Class == "" && !slices.Contains(resources, r.Resource) {
				resources = append(resources, r.Resource)
			}
		}
	}
	own := func(q *allot.Queue) bool { return q.Pool == f.pools[pool].ID || q.Pool == "" && len(s.Pools) == 1 }
	for i := range s.Queues {
		if own(&s.Queues[i]) {
			name(&s.Queues[i])
		}
	}
	for i := range e.in.Changes {
		if q := e.in.Changes[i].Queue; q != nil && own(q) {
			name(q)
		}
	}
	for i := range s.Queues {
		if q := &s.Queues[i]; own(q) {
			for _, resource := range resources {
				f.byQueue[q.ID] = append(f.byQueue[q.ID], len(f.meters))
				f.meters = append(f.meters, usageMeter{pool: pool, queue: i, resource: resource, above: -1, history: empty})
			}
		}
	}
	for i := range f.meters {
		m := &f.meters[i]
		for _, k := range f.byQueue[s.Queues[m.queue].Parent] {
			if f.meters[k].resource == m.resource {
				m.above = k
			}
		}
	}
}

// capacities reads what there is of each resource in the pools.
func (f *usageFeed) capacities(s *allot.State) {
	for i := range f.meters {
		m := &f.meters[i]
		m.capacity = 0
		for k := range s.Nodes {
			if n := &s.Nodes[k]; !n.Lost && !n.Cordoned && f.pools[m.pool].has(n) {
				m.capacity += capacityOf(n, m.resource)
			}
		}
	}
}

// has says whether a node is one of the pool's.
func (p *usagePool) has(n *allot.Node) bool {
	set := &p.Nodes
	switch {
	case len(set.IDs) == 0 && set.Selector == nil:
		return true
	case set.Selector != nil && set.Selector.Matches(n.Labels):
		return true
	}
	return slices.Contains(set.IDs, n.ID)
}

// capacityOf is what a node has of a resource.
func capacityOf(n *allot.Node, resource string) (amount int64) {
	if resource != allot.GPU {
		return n.Capacity[resource]
	}
	for d := range n.Devices {
		if !n.Devices[d].Unhealthy {
			amount += 1000
		}
	}
	return amount
}

// hold takes in what a job holds now.
func (f *usageFeed) hold(e *engine, j *job, w *allot.Workload) {
	own := f.byQueue[j.Workload.Queue]
	if len(own) == 0 {
		return
	}
	if j.uses == nil {
		j.uses = make([]int64, len(own))
	}
	for k, first := range own {
		amount := j.charged
		if resource := f.meters[first].resource; resource != allot.GPU {
			amount = f.takes(e, w, resource)
		}
		for at := first; at >= 0; at = f.meters[at].above {
			f.meters[at].held += amount - j.uses[k]
		}
		j.uses[k] = amount
	}
}

// promise takes in what is kept idle for a job now, by resource, where its queue is charged that
// (B4).
func (f *usageFeed) promise(j *job, idle map[string]int64) {
	own := f.byQueue[j.Workload.Queue]
	if len(own) == 0 || idle == nil && j.idles == nil {
		return
	}
	if j.idles == nil {
		j.idles = make([]int64, len(own))
	}
	for k, first := range own {
		amount := idle[f.meters[first].resource]
		for at := first; at >= 0; at = f.meters[at].above {
			f.meters[at].held += amount - j.idles[k]
		}
		j.idles[k] = amount
	}
}

// takes is what a workload's tasks hold of a resource other than GPUs.
func (f *usageFeed) takes(e *engine, w *allot.Workload, resource string) (amount int64) {
	for i := range w.PodSets {
		p := &w.PodSets[i]
		for k := range w.Tasks {
			if t := &w.Tasks[k]; t.PodSet == p.Name && t.Phase != allot.Claimed && e.stands(t) {
				amount += p.Request.Resources[resource]
			}
		}
	}
	return amount
}

// pass takes in the time up to an instant, in which nothing changes.
func (f *usageFeed) pass(to time.Duration) {
	for i := range f.meters {
		m := &f.meters[i]
		m.history = m.history.Add(micros(to), m.held, m.capacity)
	}
}

// tell tells the library what was used, of the pools for which it is time.
func (f *usageFeed) tell(e *engine) {
	now := micros(e.now)
	for i := range f.pools {
		p := &f.pools[i]
		if now >= p.due {
			f.tellPool(e, i)
			p.due = (now/p.tick + 1) * p.tick
		}
		if e.wanting > 0 && e.meter.allocated > 0 {
			e.wakeAt(time.Duration(p.due-micros(0)) * time.Microsecond)
		}
	}
}

func (f *usageFeed) tellPool(e *engine, pool int) {
	for i := range f.meters {
		m := &f.meters[i]
		if m.pool != pool {
			continue
		}
		q := &e.library.state.Queues[m.queue]
		q.Resources = slices.Clone(q.Resources) // the snapshot has the other
		for k := range q.Resources {
			if r := &q.Resources[k]; r.Resource == m.resource && r.Class == "" {
				r.Usage = m.history.Usage()
			}
		}
		e.library.queues = append(e.library.queues, m.queue)
	}
}

// queueSet has the library told anew, as a queue has been replaced by one without a history.
func (f *usageFeed) queueSet() {
	for i := range f.pools {
		f.pools[i].due = 0
	}
}
