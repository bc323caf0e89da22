package cluster

import (
	"cmp"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// None is the index of what is absent.
const None = -1

// WholeDevice is one device in milli-GPU (S2).
const WholeDevice = 1000

// MaxMix bounds the shapes of a target mix (P4).
const MaxMix = 1024

// A World is a compiled state: strings, maps and defaults are gone, what is left
// are dense indices in the order of the IDs, so that an index comparison is an ID
// comparison and no map can reach a decision. It is decided upon once, or stays in
// an engine.Incremental.
type World struct {
	Now int64 // microseconds; −1 is unset

	Pools    []*Pool // by ID
	NodePool []int32 // by node: index into pools, or −1 (lost, or in none)
	Position []int32 // by node: position in its pool
	Nodes    []Node

	Works    []Work // by workload ID
	Live     []Live // of works that hold or claim places
	Holdings []Holding
	Loops    []Loop   // by pool, of the deciding
	Room     *Table   // the places of all tasks, once all is settled
	Traced   *Trace   // nil unless it is asked how victims were chosen
	Journal  *Journal // nil unless the decision is undone
	Seeking  *Seekers // nil unless it is kept
	// SomeBehind: some task says in the state that it is behind a promise (B6).
	SomeBehind bool
	// Alternatives: some workload has several forms (G5).
	Alternatives bool
	Budgets      []int64 // by owner, see preempt.Config

	counts []int32 // arena of NewCounts
}

// A Loop is the deciding of a pool, as the table and the plan ask it: which units may stay or go
// elsewhere, and which places are promised.
type Loop interface {
	// Stays starts and charges a unit that was taken where it was, with these seats, and Moves
	// elsewhere, in the journals only; Moves returns the GPUs that move.
	Stays(u *preempt.Unit, seats []Seat) bool
	Moves(u *preempt.Unit, anew bool) (int64, bool)
	// IsBehind says whether a unit stands behind a workload (B6).
	IsBehind(u *preempt.Unit, work int32) bool
	// TakesBack says whether whose a unit is has the first right to what a workload holds (B9).
	TakesBack(u *preempt.Unit, work int32) bool
	// ComesBehind says whether a seat comes to stand behind a workload, StoodThere whether what a
	// taking took stood on what was promised.
	ComesBehind(one *Seat) bool
	StoodThere(t *Taking) bool
	// TellWaits finds out what each promise waits for, by the names of devices that the
	// index has; RenameDevices has it be told by those that a node's devices go by in the plan.
	TellWaits()
	RenameDevices(node int32, to []int32)
}

// A Pool is a compiled pool.
type Pool struct {
	Policy Policy
	Nodes  []int32 // by position: the node; lost ones are not among them

	// Resources are GPU at 0, then the others by name (Plain in all), then those of
	// classes (Q8), then the count of running workloads (Q10): Width in all.
	Width, Plain int
	Numbers      []int32 // by plain resource: its number over all pools
	Classes      []BoundClass
	// Guarantees says by queue × Classes + class whether the queue gives a quota for it.
	Guarantees []bool
	// ClassCount and ModelCount are how many classes of nodes and models of devices
	// the index has numbers for.
	ClassCount, ModelCount int32
	Capacity               []int64 // usable, by resource

	// By queue.
	Parent   []int32 // −1 is none
	IsLeaf   []bool
	NodeSet  []int32 // the set of nodes that it may use, −1 all
	Reach    []int32 // of Reaches: the nodes that it, or some queue below it, may use; −1 all
	Runtimes []MinRuntime
	Queueing []Queueing
	Blocks   bool // some queue does not let all pass (O4)
	Created  []int64
	// By queue × Width + resource: over-quota priorities (F3) and weights (F4).
	Tiers    []int32
	Weights  []int64
	Granules []int64 // by resource (S2)
	// Usage is by queue × Width + resource what was used (F6); nil where nothing is known.
	Usage   []fairshare.Usage
	Counted bool // some queue caps its running workloads (Q10)
	Lends   bool // some queue keeps a part of its quota from lending (Q5)

	// Reaches are the sets of nodes that queues may use which may not use all.
	Reaches []Reach

	// Topology is that of the nodes by position. It is nil where no node is in a domain
	// and nothing asks for one, or for whole nodes.
	Topology *placement.Topology
	// Constrained: some form asks for domains or islands (T2 to T4), Domains: for
	// domains.
	Constrained, Domains bool
	// Scored: some strategy scores nodes; Mixed: by a target mix (P4); Drawn: some draws by the
	// state of all nodes (P5).
	Scored, Mixed, Drawn bool
	Scoring              placement.Scoring // without a mix
	Mix                  Mix

	Tree    *quota.Tree        // use, quotas and limits
	Room    *preempt.Evaluator // which work may go for which; nil until the pool is divided
	Divided []bool             // by resource: some queue has a fair share of it
	Shares  []fairshare.Share  // by queue × Width + resource
	Demand  Demands
	// DemandTotal is the demand of the queue and those below it.
	DemandTotal []int64
	// ToDivide and Row are among whom a resource is divided and what they come to, for their
	// memory: a world that is kept is divided at nearly every event.
	ToDivide []fairshare.Queue
	Row      []fairshare.Share
	Placed   []placement.Node
	// Unused are the nodes as Placed has them, with nothing of them in foreign use; nil where
	// nothing is.
	Unused  []placement.Node
	Index   *placement.Index
	Bare    *bareNodes
	Changes int64 // units that have come or gone here in this solve
	Freed   int64 // those that have gone
	// Stayed is what Freed was when something was freed last that was not taken again at once, see Refilled.
	Stayed int64

	// searches is what searches for places and for room cost together, see [Pool.Searching].
	searches *placement.Effort

	// Reserved is what people have reserved here that has not passed (B9).
	Reserved []Reserved

	Works       []int32 // into World.Works: those with a form in this pool
	Definitions []Definition
}

// A Reach is a set of nodes that queues may use.
type Reach struct {
	In  []bool  // by position
	Out []int64 // what of the capacity is elsewhere, by resource
}

// A Leaf is where a queue stands: its pool and its index there.
type Leaf struct{ Pool, Queue int32 }

// Compare orders leaves by pool, then by queue.
func (l Leaf) Compare(other Leaf) int {
	return cmp.Or(cmp.Compare(l.Pool, other.Pool), cmp.Compare(l.Queue, other.Queue))
}

// A Shape is a compiled Request: what it asks of a node and what it is charged.
type Shape struct {
	Placed  placement.Shape
	Request placement.Request
	Charge  quota.Amounts
	GPUs    int32
	// Classes is what a task asks of every class that it could land in (Q8).
	Classes quota.Amounts
}

// A Definition is what workloads with equal pod sets, node sets and strategies
// share: a million identical workloads have one.
type Definition struct {
	Gang   *gang.Gang
	Sets   []Shape
	Counts []int32
	GPU    bool
	// Constrained: it asks for domains (T2, T3); its tasks are placed by them.
	Constrained bool
	Place       gang.Strategies
	// Unit is the first unit of a workload that holds nothing, Asks what it
	// adds to use, the running workload included.
	Unit    gang.Unit
	Verdict gang.Verdict
	Asks    quota.Amounts
	// Elastic: something may be left to start above the minimum (G2). Unsure:
	// a failed search for places is no proof that there are none.
	Elastic, Unsure bool
	// Ladder are the sizes of a halving workload, the largest first (L1); nil
	// for all others. Lowest is the minimum that such a workload gave.
	Ladder []int32
	Lowest int32
	// Times are how long it takes, where the pool promises anything or people have reserved
	// something.
	Times Times
	// Stranger is of what of Pool.Reserved it is no member (B9).
	Stranger []int32
	// Refused is when what a workload that holds nothing needs found no place (O5).
	Refused Memo
	// Demand is what every submitted task asks together, in each class that it could land
	// in, too; Part what the parts of devices come in that they ask, 0 where they ask none
	// or nothing is divided by it (F5).
	Demand quota.Amounts
	Part   int64
}

// StrategyFor is how a node is chosen for a task of one of its pod sets.
func (d *Definition) StrategyFor(set *Shape) placement.Strategy {
	if set.GPUs > 0 {
		return d.Place.GPU
	}
	return d.Place.CPUOnly
}

// HasOneStart says whether there is one unit alone by which a workload that holds nothing starts: there is no choice,
// or it halves, and starts as it asks before it is content with less (L2).
func (d *Definition) HasOneStart() bool { return !d.Unsure || len(d.Ladder) > 0 }

// Lasting is what asks the same and takes other times.
func (d *Definition) Lasting(t Times) Definition {
	out := *d
	out.Times, out.Refused = t, Memo{}
	return out
}

// A Form is one form of a workload in its pool (G5).
type Form struct {
	Pool, Queue, Definition int32
	Priority                int32 // higher first, also under LowerFirst
	NonPreemptible          bool
	Final                   bool // an eviction ends it for good (S6)
}

// A Work is a compiled workload. There may be millions, most of which
// wait and have nothing but a form: what few have lies apart.
type Work struct {
	Rank      int64 // see queue.Item; 0 where works are by ID
	Submitted int64
	*Rare
	Form   Form
	Source int32 // the host's own index
	Live   int32 // index into World.Live, −1 when it holds nothing
	// Bucket is where its like wait behind it, plus one; 0 is nowhere. Where it waits behind one
	// itself that was evicted, as it was, it is less than 0.
	Bucket    int32
	Current   int16 // the form in use or in turn
	Status    Status
	Tried     bool // had its turn and was refused
	Pipelined bool // claims places, in this solve, that others are leaving (S4)
}

// A Rare is what few workloads have. It is shared, and not written to once it is set.
type Rare struct {
	// Tasks are what the state lists of it, by node, pod set and index: the order of
	// the list says nothing (S3).
	Tasks  []Holding
	Others []Form // G5
	// Checkpoint is when it last saved its work, PartialSince since when it has run
	// below its minimum; −1 is never.
	Checkpoint, PartialSince int64
	Owner                    int32 // whose disruption budget it is in (M7), or none
	// NotBefore is the earliest start of one that holds nothing and is Early, as of which no
	// task is submitted yet (B1); −1 of all others.
	NotBefore int64
	// Due is how urgent a deadline makes it, as in a [queue.Item] (B11); 0 of most.
	Due int64
	// WaitingSince is since when it waits; −1 is since it was submitted. Reserved is what it
	// has been promised.
	WaitingSince int64
	Reserved     *Promise
}

// Nothing is what those have that have nothing of it.
var Nothing = &Rare{Checkpoint: -1, PartialSince: -1, Owner: None, NotBefore: -1, WaitingSince: -1}

// A Live is what a workload holds, and what it is given in this solve.
type Live struct {
	Held     []int32       // per pod set: running and claimed tasks
	Asks     quota.Amounts // what the unit in turn adds to use, while something is held
	From, To int32         // in world.holdings
	Form     int16         // in which those stand
	Claimed  int32         // how many of held are claimed
	Leaving  int32         // terminating tasks that wait again (S5)
	Counted  bool          // charged as a running workload (Q10)
	growth   *growth       // nil unless it has come to have more than one row, one after the other
}

// A growth is what is known of a workload of which rows come one after the other.
type growth struct {
	// dense is per pod set how many tasks there are where they are numbered without a
	// gap, and none where they are not; nil until asked.
	dense []int32
	// standing is where all of it stands, of what has grown under constraints since it was last
	// changed otherwise; nil of all else.
	standing *gang.Standing
}

// Status is where a workload stands in this solve.
type Status uint8

const (
	Waiting  Status = iota // below its minimum
	Complete               // at its minimum or above
	// Ending: it ends for good, and is no part of anything.
	Ending
	WaitsForLeavers // has terminating tasks: waits for them (S5)
	Claiming        // waits for claimed places (S4)
	// Failed: it was evicted in this solve and ends for good (S6).
	Failed
)

// FormOf is a form of a workload.
func (w *World) FormOf(k *Work, i int16) *Form {
	if i == 0 {
		return &k.Form
	}
	return &k.Others[i-1]
}

// Definition is what a form of a workload has in common with others.
func (w *World) Definition(k *Work, i int16) *Definition {
	f := w.FormOf(k, i)
	return &w.Pools[f.Pool].Definitions[f.Definition]
}

// Due is how urgent a form of a workload is where the policy looks at deadlines (B11).
func (w *World) Due(k *Work, f *Form) int64 {
	if !w.Pools[f.Pool].Policy.DeadlinesFirst {
		return 0
	}
	return k.Due
}

// Enlist adds workload i to the pools of its forms.
func (w *World) Enlist(i int32) {
	k := &w.Works[i]
	for f := range int16(1 + len(k.Others)) {
		p := w.Pools[w.FormOf(k, f).Pool]
		if n := len(p.Works); n == 0 || p.Works[n-1] != i {
			p.Works = append(p.Works, i)
		}
	}
}

// Booking keeps the table: which task stands where, in which unit. Its transitions are in
// table_steps.go.
type Booking struct{ *World }

// Booking is the world as its table is kept.
func (w *World) Booking() Booking { return Booking{w} }
