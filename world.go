package allot

import (
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// none is the index of what is absent.
const none = -1

// wholeDevice is one device in milli-GPU (S2).
const wholeDevice = 1000

// maxMix bounds the shapes of a target mix (P4).
const maxMix = 1024

// A coreWorld is a State behind the compile line: strings, maps and defaults are
// gone, what is left are dense indices in the order of the IDs, so that an
// index comparison is an ID comparison and no map can reach a decision. It is decided
// upon once, or stays at a desk.
type coreWorld struct {
	now int64 // microseconds; −1 is unset

	pools    []*corePool // by ID
	nodePool []int32     // by node: index into pools, or −1 (lost, or in none)
	position []int32     // by node: position in its pool
	nodes    []nodeFacts

	works    []work // by workload ID
	live     []live // of works that hold or claim places
	holdings []holding
	solvers  []*solver // by pool, of the deciding
	room     *roomBook // nil until room has to be made
	readBook *roomBook // of a solve that made no room, to tell why not
	traced   *trace    // nil unless it is asked how victims were chosen
	journal  *journal  // nil unless the decision is undone
	// alternatives: some workload has several forms (G5).
	alternatives bool
	budgets      []int64 // by owner, see preempt.Config

	counts []int32 // arena of newCounts
}

// A corePool is a pool behind the compile line.
type corePool struct {
	policy policyKnobs
	nodes  []int32 // by position: the node; lost ones are not among them

	// Resources are GPU at 0, then the others by name (plain in all), then those of
	// classes (Q8), then the count of running workloads (Q10): width in all.
	width, plain int
	numbers      []int32 // by plain resource: its number over all pools
	classes      []boundClass
	// classCount and modelCount are how many classes of nodes and models of devices
	// the index has numbers for.
	classCount, modelCount int32
	capacity               []int64 // usable, by resource

	// By queue.
	parent   []int32 // −1 is none
	isLeaf   []bool
	nodeSet  []int32 // the set of nodes that it may use, −1 all
	runtimes []minRuntime
	created  []int64
	// By queue × width + resource: over-quota priorities (F3) and weights (F4).
	tiers    []int32
	weights  []int64
	granules []int64 // by resource (S2)
	counted  bool    // some queue caps its running workloads (Q10)
	lends    bool    // some queue keeps a part of its quota from lending (Q5)

	// topology is that of the nodes by position. It is nil where nobody asks for a
	// domain, or for whole nodes.
	topology *placement.Topology
	// constrained: some form asks for domains or islands (T2 to T4), domains: for
	// domains.
	constrained, domains bool
	// scored: some strategy scores nodes; mixed: by a target mix (P4).
	scored, mixed bool
	scoring       placement.Scoring // without a mix
	mix           mix

	tree    *quota.Tree
	room    *preempt.Evaluator
	divided []bool
	shares  []fairshare.Share // by queue × width + resource
	demand  []fairshare.Demand
	// demandTotal is the demand of the queue and those below it.
	demandTotal []int64
	placed      []placement.Node
	index       *placement.Index
	changes     int64 // units that have come or gone here in this solve
	freed       int64 // those that have gone

	works       []int32 // into coreWorld.works: those with a form in this pool
	definitions []definition
}

// A leafAt is where a queue stands: its pool and its index there.
type leafAt struct{ pool, queue int32 }

// A shape is a compiled Request: what it asks of a node and what it is charged.
type shape struct {
	placed  placement.Shape
	request placement.Request
	charge  quota.Amounts
	gpus    int32
}

// A definition is what workloads with equal pod sets, node sets and strategies
// share: a million identical workloads have one.
type definition struct {
	gang   *gang.Gang
	sets   []shape
	counts []int32
	gpu    bool
	// constrained: it asks for domains (T2, T3); its tasks are placed by them.
	constrained bool
	place       gang.Strategies
	// unit is the first unit of a workload that holds nothing, asks what it
	// adds to use, the running workload included.
	unit    gang.Unit
	verdict gang.Verdict
	asks    quota.Amounts
	// elastic: something may be left to start above the minimum (G2). unsure:
	// a failed search for places is no proof that there are none.
	elastic, unsure bool
	// ladder are the sizes of a halving workload, the largest first (L1); nil
	// for all others. lowest is the minimum that such a workload gave.
	ladder []int32
	lowest int32
	// refused is what pool.freed was, plus one, when what a workload that holds
	// nothing needs found no place: while nothing is freed it will find none
	// (O5). refusedAt is the same of pool.changes where the search was no proof:
	// while nothing changes the same search comes to the same end.
	refused, refusedAt int64
	// demand is what every submitted task asks together.
	demand quota.Amounts
}

// A form is one form of a workload in its pool (G5).
type form struct {
	pool, queue, definition int32
	priority                int32 // higher first, also under LowerFirst
	nonPreemptible          bool
	final                   bool // an eviction ends it for good (S6)
}

// A work is a workload behind the compile line.
type work struct {
	source    int32 // index into State.Workloads
	rank      int64 // see queue.Item; 0 where works are by ID
	live      int32 // index into world.live, −1 when it holds nothing
	submitted int64
	// tasks are what the state lists of it, by node, pod set and index: the order of
	// the list says nothing (S3).
	tasks []holding
	// checkpoint is when it last saved its work, partialSince since when it has run
	// below its minimum; −1 is never.
	checkpoint, partialSince int64
	owner                    int32 // whose disruption budget it is in (M7), or none
	form                     form
	others                   []form // G5
	current                  int16  // the form in use or in turn
	status                   status
	tried                    bool // had its turn and was refused
	pipelined                bool // claims places, in this solve, that others are leaving (S4)
	// bucket is where its like wait behind it, plus one; 0 is nowhere.
	bucket int32
}

// A live is what a workload holds, and what it is given in this solve.
type live struct {
	held     []int32       // per pod set: running and claimed tasks
	asks     quota.Amounts // what the unit in turn adds to use, while something is held
	from, to int32         // in world.holdings
	form     int16         // in which those stand
	claimed  int32         // how many of held are claimed
	leaving  int32         // terminating tasks that wait again (S5)
	counted  bool          // charged as a running workload (Q10)
	taken    map[[2]int32]bool
	next     []int32 // per pod set: no index below it is free; nil until asked
	// started are the tasks of a gang with constraints that this solve has started
	// before it had to make room.
	started []gang.Held
}

// status is where a workload stands in this solve.
type status uint8

const (
	waiting  status = iota // below its minimum
	complete               // at its minimum or above
	ending                 // ends for good: no part of anything
	leaving                // has terminating tasks: waits for them (S5)
	claiming               // waits for claimed places (S4)
	failed                 // was evicted in this solve and ends for good (S6)
)

func (w *coreWorld) formOf(k *work, i int16) *form {
	if i == 0 {
		return &k.form
	}
	return &k.others[i-1]
}

func (w *coreWorld) definition(k *work, i int16) *definition {
	f := w.formOf(k, i)
	return &w.pools[f.pool].definitions[f.definition]
}

// enlist adds workload i to the pools of its forms.
func (w *coreWorld) enlist(i int32) {
	k := &w.works[i]
	for f := range int16(1 + len(k.others)) {
		p := w.pools[w.formOf(k, f).pool]
		if n := len(p.works); n == 0 || p.works[n-1] != i {
			p.works = append(p.works, i)
		}
	}
}
