package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A Incremental decides again and again on a world that stays settled and follows the versions
// of a state. A decision is taken back when it has been written down, so that it
// is at rest again.
//
// It decides by the loop of a solve from scratch: first with the orders that it keeps and
// the bound that goes with them (Incremental.decide). Where that does not tell what is
// decided, as room may have to be made, claims are in flight or forms are to be chosen
// between, it fills the orders anew (Incremental.solve).
type Incremental struct {
	world *cluster.World
	spare []int32 // works that nobody is
	lives []int32 // and what they would hold
	pools []*incrementalPool

	// special counts workloads with which only the loop of a solve decides, displaced
	// are those that have lost tasks with a node. Those that claim places are settled
	// when that is decided upon, as it depends on all others.
	special      int
	alternatives int     // workloads with several forms
	all          []int32 // works
	suited       bool    // to the orders that are kept, see suitsTrial
	unlike       []bool  // by work: it is one of the special
	claiming     map[int32]bool
	displaced    map[int32]bool
	built        int   // Incremental.Gathered when it was built
	alive        int   // holdings that are somebody's
	decided      int64 // decisions that were begun

	// standing is the decision that the world stays at, if it does, see Stay.
	standing *standing
	// journal is that of the decision at hand; both are kept for their memory.
	journal    cluster.Journal
	spareMoves []orderMove
}

// RankGap is how far apart the ranks of neighbours are at first: 32 times there
// is one more between two of them, however IDs come.
const RankGap = 1 << 32

// NewIncremental settles a compiled world; nil if its policies are not for one.
func NewIncremental(w *cluster.World) *Incremental {
	if !suits(w) {
		return nil
	}
	t := &Incremental{
		world: w, displaced: make(map[int32]bool), claiming: make(map[int32]bool),
		unlike: make([]bool, len(w.Works)), suited: suitsTrial(w),
	}
	w.Seeking = &cluster.Seekers{At: make([]int32, len(w.Works))}
	w.BareNodes()
	w.Room = cluster.NewTable(len(w.Works))
	newSolvers(context.Background(), w, &cluster.Decision{World: w})
	if division.Of(w).ScorePools() != nil {
		return nil
	}
	for i := range w.Works {
		t.all = append(t.all, int32(i))
	}
	for i, p := range w.Pools {
		p.Works = t.all
		t.pools = append(t.pools, newDeskPool(p, solverAt(w, int32(i))))
		p.Demand = division.NewDemands(p)
	}
	t.reserve()
	for i := range w.Works {
		w.Works[i].Rank = int64(i) * RankGap
		if t.Settle(int32(i)) != nil {
			return nil
		}
	}
	if t.built = t.Gathered(); !t.Rest() {
		return nil
	}
	return t
}

// reserve has memory for what the workloads hold.
func (t *Incremental) reserve() {
	w, lives, holdings := t.world, 0, 0
	for i := range w.Works {
		if n := len(w.Works[i].Tasks); n > 0 {
			lives, holdings = lives+1, holdings+n
		}
	}
	w.Live, w.Holdings = slices.Grow(w.Live, lives), slices.Grow(w.Holdings, holdings)
}

// Suits says whether the policies are still such that it can decide by them.
func (t *Incremental) Suits() bool {
	t.suited = suitsTrial(t.world)
	return suits(t.world)
}

// Add gives a workload that nobody is a rank. fresh says that there was none before.
func (t *Incremental) Add(rank int64) (i int32, fresh bool) {
	w := t.world
	i = int32(len(w.Works))
	if last := len(t.spare) - 1; last >= 0 {
		i, t.spare = t.spare[last], t.spare[:last]
	} else {
		fresh = true
		w.Works = append(w.Works, cluster.Work{Rare: cluster.Nothing})
		w.Room.Grow()
		t.unlike = append(t.unlike, false)
		t.all = append(t.all, i)
		for _, p := range w.Pools {
			p.Works = t.all
		}
	}
	w.Works[i] = cluster.Work{Rare: cluster.Nothing, Live: -1, Rank: rank, Status: cluster.Ending}
	return i, fresh
}

// Drop lets nobody be a workload that is not settled any more.
func (t *Incremental) Drop(i int32) {
	t.world.Works[i] = cluster.Work{Rare: cluster.Nothing, Live: -1, Status: cluster.Ending}
	t.spare = append(t.spare, i)
}

// Use takes a node into use or out of it, which gives the pool or takes from it some
// amounts; false where the index cannot follow.
func (t *Incremental) Use(n int32, is bool, amounts []int64) bool {
	w := t.world
	q := t.pools[w.NodePool[n]]
	p, position := q.pool, w.Position[n]
	if !p.Index.Cordon(position, !is) {
		return false
	}
	p.Placed[position].Cordoned = !is
	for r, n := range amounts {
		if !is {
			n = -n
		}
		p.Capacity[r] += n
		for i := range p.Reaches {
			if !p.Reaches[i].In[position] {
				p.Reaches[i].Out[r] += n
			}
		}
	}
	p.Changes++
	if p.Room != nil {
		p.Room.Touch(position)
	}
	if is {
		q.free(position)
	}
	return true
}

// Follow has what is known of the empty nodes follow a node that was cordoned or lost, or is
// no longer. Lost says that it is the latter that has changed: then what waited may have
// become impossible, and ask nothing, or the other way round (F1).
func (t *Incremental) Follow(n int32, lost bool) {
	p := t.world.Pools[t.world.NodePool[n]]
	if p.Bare.Follow(t.world.Position[n]); lost && p.Bare.Again() {
		t.pools[t.world.NodePool[n]].recount = true
	}
}

// Unrest has a pool be divided and ordered anew, as settings of its queues are others.
func (t *Incremental) Unrest(pool int32) { t.pools[pool].divided, t.pools[pool].orders = nil, nil }

// Unordered says whether a pool waits to be divided and ordered anew.
func (t *Incremental) Unordered(pool int) bool { return t.pools[pool].orders == nil }

// Replant has a pool go on with a new tree of queues, which takes over the use of the
// old one.
func (t *Incremental) Replant(index int, grow func() error) error {
	p := t.world.Pools[index]
	old := p.Tree
	p.Room = nil // it is of the old tree
	if err := grow(); err != nil {
		return err
	}
	for q, leaf := range p.IsLeaf {
		if !leaf {
			continue
		}
		var preemptible, rest quota.Amounts
		for r := range p.Width {
			use, non := old.Use(q, r), old.NonPreemptible(q, r)
			preemptible = append(preemptible, quota.Amount{Resource: int32(r), Value: use - non})
			rest = append(rest, quota.Amount{Resource: int32(r), Value: non})
		}
		if err := p.Tree.Charge(q, preemptible, false); err != nil {
			return err
		}
		if err := p.Tree.Charge(q, rest, true); err != nil {
			return err
		}
	}
	return nil
}

// suits says whether the policies of all pools are such that an Incremental can
// decide by them.
func suits(w *cluster.World) bool {
	return !slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool {
		return p.Policy.DeadlinesFirst || p.Mixed || p.Domains && p.Topology == nil // the topology is compiled with all else
	})
}

// suitsTrial says whether they are such that it is enough to try those who may
// plainly start.
func suitsTrial(w *cluster.World) bool {
	return !slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool {
		return looksAhead(p) || p.Lends || p.Scored || p.Constrained || p.Policy.Fitting != gang.AnyNodes || mixesQueueing(p) ||
			division.CapsDemand(p)
	})
}

// SortedKeys are the members of a set, ascending.
func SortedKeys(set map[int32]bool) []int32 {
	keys := make([]int32, 0, len(set))
	for key := range set { // sorted below
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Stale says whether it has gathered so much of what is no longer there
// that it is time for a new one.
func (t *Incremental) Stale() bool { return t.Gathered() > 2*t.built+4096 }

// Gathered is how many definitions and kinds there are, be it of nobody.
func (t *Incremental) Gathered() (n int) {
	for _, q := range t.pools {
		n += len(q.pool.Definitions) + len(q.kinds)
	}
	return n
}

// Rest divides the capacity anew where that has become necessary, and tells the
// orders what the queues use.
func (t *Incremental) Rest() bool {
	for i, q := range t.pools {
		if division.CapsDemand(q.pool) || q.recount {
			division.CountDemand(t.world, int32(i))
			q.recount = false
		}
		if in := q.inputs(); !slices.Equal(in, q.divided) {
			q.divided, q.spare = in, q.divided
			if division.Of(t.world).DividePool(i) != nil {
				return false
			}
			q.readLines()
			shares, guaranteed := q.pool.FairShares(), division.OrderLines(q.pool)
			if !slices.Equal(shares, q.shares) || !slices.Equal(guaranteed, q.guaranteed) {
				q.shares, q.guaranteed = shares, guaranteed
				for _, order := range q.orders {
					order.Redraw(shares, guaranteed)
				}
			}
		}
		if q.orders == nil {
			clear(q.quiet) // settings are others
			q.newOrders(t.world)
		}
		slices.Sort(q.used) // of a world that is new, everybody has changed it
		for _, leaf := range slices.Compact(q.used) {
			q.touch(leaf)
		}
		q.used = q.used[:0]
	}
	return true
}

// ErrCut says that an Incremental came near the bound of what its searches may cost: who
// remembers what was found out cannot tell where a solve from scratch is cut.
var ErrCut = errors.New("allot: the searches of an incremental decision cost too much")

// resumeEffort counts what is remembered as if it were found out in the decision that
// follows, of as many steps as a solve from scratch has. What has been found out anew since
// counts once where that is known (preempt's plans), and else again each time, so that all is
// forgotten where half is used up: seldom, as to find all out is what a solve from scratch
// costs.
func (t *Incremental) resumeEffort() {
	for _, q := range t.pools {
		p, most := q.pool, q.mostEffort()
		if q.renewed = p.Searching().Spent() > most/2 || !p.Searching().Sure(); q.renewed {
			q.forget()
		} else {
			p.Searching().Resume(most, p.Changes != q.resumed) // what was refused stands until then
			q.renewed = p.Searching().Spent() == 0             // nothing is remembered that costs
		}
		q.resumed = p.Changes
	}
}

// mostEffort is as many steps as a solve from scratch has for the pool's searches.
func (q *incrementalPool) mostEffort() int64 { return cluster.EffortOf(len(q.pool.Nodes) + q.size) }

// forget has a pool find out anew what its searches have found out.
func (q *incrementalPool) forget() {
	p := q.pool
	p.Searching().Renew(q.mostEffort())
	p.Changes++
	p.Free()
	preempt.ForgetAnswers(p.Room)
}

// cut says whether some search was, or would perhaps be in a solve from scratch, which asks
// in another order.
func (t *Incremental) cut() bool {
	return slices.ContainsFunc(t.pools, func(q *incrementalPool) bool { return !q.pool.Searching().Sure() })
}

// tooDear says whether what the searches of a pool cost in the decision is too much by itself, and
// not beside what was remembered.
func (t *Incremental) tooDear() bool {
	return slices.ContainsFunc(t.pools, func(q *incrementalPool) bool { return q.renewed && !q.pool.Searching().Sure() })
}
