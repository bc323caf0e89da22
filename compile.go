package allot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A world is a State behind the compile line: strings, maps and defaults are
// gone, what is left are dense indices in the order of the IDs, so that an
// index comparison is an ID comparison and no map can reach a decision. One
// world is compiled, decided upon once, and written out as a Plan.
type world struct {
	state *State
	now   int64 // microseconds; see micros

	pools    []*pool // by ID
	nodePool []int32 // by State.Nodes: index into pools, or −1 (lost, or in none)
	position []int32 // by State.Nodes: position in its pool
	nodeID   map[string]int32
	leaf     map[string]leafAt
	forms    []formCompiler // by pool

	levels map[string]placement.Level // by name, that of the nodes included

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
	owners       map[string]int32
	budgets      []int64 // by owner, see preempt.Config

	counts  []int32   // arena of newCounts
	scratch []holding // of sortedTasks
}

// A leafAt is where a queue stands: its pool and its index there.
type leafAt struct{ pool, queue int32 }

// A pool is a pool behind the compile line.
type pool struct {
	id     string
	policy *Policy

	nodes  []int32 // by position: index into State.Nodes; lost ones are not among them
	models map[string]int32
	class  map[string]int32

	// resources are GPU at 0, then the others by name, then the pairs of
	// resource and class (Q8), then the count of running workloads (Q10).
	resources []resource
	plain     int // resources[:plain] have no class
	byName    map[string]int32
	capacity  []int64 // usable, by resource
	// smallestMemory is that of the pool's devices that tell it, lost or not, 0
	// if none does; requests for device memory are charged by it (F1).
	smallestMemory int64

	queues  []int32 // by queue index: index into State.Queues, −1 the implicit
	parent  []int32
	isLeaf  []bool
	nodeSet []int32  // by queue index: set of nodes it may use, −1 all
	sets    [][]bool // by set, then position
	counted bool     // some queue caps its running workloads (Q10)
	lends   bool     // some queue keeps a part of its quota from lending (Q5)

	// topology is that of the nodes by position. It is nil where no node is in a domain
	// and no form asks for one.
	topology *placement.Topology
	links    map[string][]placement.Link // by hardware
	// constrained: some form asks for domains or islands (T2 to T4), domains: for
	// domains.
	constrained, domains bool
	// scored: some strategy scores nodes; mixed: by a target mix (P4).
	scored, mixed bool

	tree    *quota.Tree
	room    *preempt.Evaluator
	divided []bool
	shares  []fairshare.Share // by queue × resources + resource
	demand  []fairshare.Demand
	// demandTotal is the demand of the queue and those below it.
	demandTotal []int64
	placed      []placement.Node
	index       *placement.Index
	changes     int64 // units that have come or gone here in this solve
	freed       int64 // those that have gone

	works       []int32 // into world.works: those with a form in this pool
	definitions []definition
	interned    map[string]int32 // definition by its encoding
	requests    map[string]shape // shape by its encoding
}

// A resource is a resource's name and, for Q8, a class of it.
type resource struct{ name, class string }

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
	names  []string
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
}

// A work is a workload behind the compile line.
type work struct {
	source    int32 // index into State.Workloads
	rank      int64 // see queue.Item; 0 where works are by ID
	live      int32 // index into world.live, −1 when it holds nothing
	submitted int64
	form      form
	others    []form // G5
	current   int16  // the form in use or in turn
	status    status
	tried     bool // had its turn and was refused
	pipelined bool // claims places, in this solve, that others are leaving (S4)
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

func (w *world) formOf(k *work, i int16) *form {
	if i == 0 {
		return &k.form
	}
	return &k.others[i-1]
}

func (w *world) definition(k *work, i int16) *definition {
	f := w.formOf(k, i)
	return &w.pools[f.pool].definitions[f.definition]
}

func (w *world) source(k *work) *Workload { return &w.state.Workloads[k.source] }

// micros is the time line behind the compile line; unset is before all others.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMicro()
}

// byID returns the indices of list in the order of id; IDs are unique.
func byID[T any](list []T, id func(*T) string) []int32 {
	order := make([]int32, len(list))
	sorted := true
	for i := range list {
		order[i] = int32(i)
		sorted = sorted && (i == 0 || id(&list[i-1]) < id(&list[i]))
	}
	if !sorted {
		slices.SortFunc(order, func(a, b int32) int {
			return strings.Compare(id(&list[a]), id(&list[b]))
		})
	}
	return order
}

// compile turns a State that Check has passed into a world.
func compile(s *State) (*world, error) {
	w := &world{state: s, now: micros(s.Now), owners: make(map[string]int32, len(s.Budgets))}
	compileBudgets(w)
	w.levels = levelNumbers(s.Levels)
	w.compilePools()
	for _, p := range w.pools {
		p.compileQueues(s)
	}
	w.leaf = make(map[string]leafAt)
	for i, p := range w.pools {
		for q, source := range p.queues {
			if source >= 0 {
				w.leaf[s.Queues[source].ID] = leafAt{int32(i), int32(q)}
			}
		}
	}
	w.compileResources()
	for _, p := range w.pools {
		if err := p.compileTree(s); err != nil {
			return nil, err
		}
		if err := p.compileNodes(s); err != nil {
			return nil, err
		}
	}
	return w, w.compileWorkloads()
}

// compileBudgets reads the disruption budgets (M7).
func compileBudgets(w *world) {
	w.budgets = w.budgets[:0]
	for i := range w.state.Budgets {
		w.owners[w.state.Budgets[i].Owner] = int32(i)
		w.budgets = append(w.budgets, -int64(w.state.Budgets[i].MinRunning))
	}
}

// compilePools lists the pools by ID and gives each its nodes by position.
func (w *world) compilePools() {
	s := w.state
	w.nodePool = make([]int32, len(s.Nodes))
	w.position = make([]int32, len(s.Nodes))
	w.nodeID = make(map[string]int32, len(s.Nodes))
	for i := range s.Nodes {
		w.nodePool[i], w.position[i] = -1, -1
		w.nodeID[s.Nodes[i].ID] = int32(i)
	}
	if len(s.Pools) == 0 {
		w.addPool("", new(Policy), new(NodeSet))
	}
	for _, i := range byID(s.Pools, func(p *Pool) string { return p.ID }) {
		w.addPool(s.Pools[i].ID, &s.Pools[i].Policy, &s.Pools[i].Nodes)
	}
}

// addPool adds the pool behind the others, with its nodes in their positions.
func (w *world) addPool(id string, policy *Policy, set *NodeSet) {
	nodes, members := w.state.Nodes, set.members(w.state.Nodes)
	p := &pool{id: id, policy: policy, smallestMemory: leastMemory(nodes, members)}
	for n, in := range members {
		if in && !nodes[n].Lost {
			w.nodePool[n] = int32(len(w.pools))
			p.nodes = append(p.nodes, int32(n))
		}
	}
	slices.SortFunc(p.nodes, func(a, b int32) int {
		x, y := &nodes[a], &nodes[b]
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), strings.Compare(x.ID, y.ID))
	})
	for at, n := range p.nodes {
		w.position[n] = int32(at)
	}
	p.follow(policy.GPUStrategy)
	p.follow(policy.CPUStrategy)
	w.pools = append(w.pools, p)
}

// all says whether the set is all nodes of its surroundings.
func (n *NodeSet) all() bool { return len(n.IDs) == 0 && n.Selector == nil }

// members says of each node whether it belongs to the set.
func (n *NodeSet) members(nodes []Node) []bool {
	in := make([]bool, len(nodes))
	named := make(map[string]bool, len(n.IDs))
	for _, id := range n.IDs {
		named[id] = true
	}
	for i := range nodes {
		in[i] = n.all() || named[nodes[i].ID] ||
			n.Selector != nil && n.Selector.Matches(nodes[i].Labels)
	}
	return in
}
