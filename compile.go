package allot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// A world is a compiled State: the core's world, and the names of what is in it.
type world struct {
	*cluster.World
	// state need not have the workloads: workloads are those of the works.
	state     *State
	workloads []*Workload
	// foresees: it is of a forecast (B10), in which every pool knows of durations, and of what waits for its
	// time what it asks for then.
	foresees bool
	pools    []*pool // by ID
	poolID   map[string]int32
	nodeID   map[string]int32
	leaf     map[string]cluster.Leaf
	forms    []formCompiler             // by pool
	levels   map[string]placement.Level // by name, that of the nodes included
	owners   map[string]int32
	// classNumbers and resourceNumbers number the names of classes and of resources
	// over all pools.
	classNumbers, resourceNumbers map[string]int32
	kinds                         *kinds            // of the forms, while a whole state is read
	defined                       []defined         // by kind
	tasks                         []cluster.Holding // arena of newTasks
	rare                          []cluster.Rare    // arena of newRare
	timed                         map[int32]bool    // works that have a NotBefore (B1)
	// promised are the works to which something is promised, behinds those of which something stands
	// behind others (B6), closing those to which what is closed depends on what time it is (B9).
	promised, behinds map[int32]bool
	closing           map[int32]spell
	closed            spell // in which what is closed to all of them is what it is
	// landings are by class the nodes of it (Q8); nil before it is asked for.
	landings map[string]landings
	// reserved are the nodes that people have reserved, by State.Reservations, chosen ones too;
	// unmet warns of amounts that are not met (B9).
	reserved [][]ReservedNode
	unmet    []Fault
	// slots are the works by ID, once these change; nil before.
	slots map[string]int32
}

// A pool is a compiled pool, and the names of what is in it.
type pool struct {
	*cluster.Pool
	id     string
	given  *Policy
	models map[string]int32
	class  map[string]int32

	// resources are GPU at 0, then the others by name, then the pairs of
	// resource and class (Q8), then the count of running workloads (Q10).
	resources []resource
	byName    map[string]int32
	// smallestMemory is that of the pool's devices that tell it, lost or not, 0
	// if none does; requests for device memory are charged by it (F1).
	smallestMemory int64

	reserved []reservedPart // by Reserved (B9)

	queues    []int32                     // by queue: index into State.Queues, −1 the implicit
	durations []durations                 // by queue
	sets      [][]bool                    // by set, then position
	links     map[string][]placement.Link // by hardware

	setNames [][]string                // of pod sets, by definition
	interned map[string]int32          // definition by its encoding
	timeless map[string]int32          // likewise the first of those that ask the same for whatever time
	requests map[string]*cluster.Shape // shape by its encoding
}

// A resource is a resource's name and, for Q8, a class of it.
type resource struct{ name, class string }

// setNames are the names of the pod sets of a form.
func (w *world) setNames(k *cluster.Work, i int16) []string {
	f := w.FormOf(k, i)
	return w.pools[f.Pool].setNames[f.Definition]
}

func (w *world) source(k *cluster.Work) *Workload { return w.workloads[k.Source] }

// micros is a time as the engine has it, in microseconds; unset is before all others.
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
func compile(s *State) (*world, error) { return compileChecked(s, new(kinds)) }

// compileChecked is compile where the check has told of what kinds the forms are.
func compileChecked(s *State, kinds *kinds) (*world, error) {
	works, own := pointers(s.Workloads), slices.Clone(kinds.own)
	for i, at := range byID(s.Workloads, func(k *Workload) string { return k.ID }) {
		if works[i] = &s.Workloads[at]; own != nil {
			own[i] = kinds.own[at]
		}
	}
	kinds.own = own
	return compileKinds(s, works, kinds, false)
}

// compileWith is compile of a state with these workloads, by ID, or with foresees for a
// forecast (B10).
func compileWith(s *State, works []*Workload, foresees bool) (*world, error) {
	return compileKinds(s, works, new(kinds), foresees)
}

// compileKinds is compileWith where it may be known of what kinds the workloads are.
func compileKinds(s *State, works []*Workload, kinds *kinds, foresees bool) (*world, error) {
	w := &world{
		kinds: kinds,
		World: &cluster.World{Now: micros(s.Now)}, state: s, workloads: works, foresees: foresees, owners: make(map[string]int32, len(s.Budgets)),
		classNumbers: make(map[string]int32), resourceNumbers: make(map[string]int32),
	}
	compileBudgets(w)
	w.levels = levelNumbers(s.Levels)
	w.compilePools()
	w.compileQueues()
	w.leaf = make(map[string]cluster.Leaf)
	for i, p := range w.pools {
		for q, source := range p.queues {
			if source >= 0 {
				w.leaf[s.Queues[source].ID] = cluster.Leaf{Pool: int32(i), Queue: int32(q)}
			}
		}
	}
	w.compileResources()
	w.compileFacts()
	w.compileAmounts()
	for _, p := range w.pools {
		p.compileReserved(w)
		if err := p.compileTree(w); err != nil {
			return nil, err
		}
		if err := p.compileNodes(s); err != nil {
			return nil, err
		}
		p.compileHeld()
	}
	if err := w.compileWorkloads(); err != nil {
		return nil, err
	}
	w.compileMixes()
	return w, nil
}

// compileBudgets reads the disruption budgets (M7).
func compileBudgets(w *world) {
	w.Budgets = w.Budgets[:0]
	for i := range w.state.Budgets {
		w.owners[w.state.Budgets[i].Owner] = int32(i)
		w.Budgets = append(w.Budgets, -int64(w.state.Budgets[i].MinRunning))
	}
}

// compilePools lists the pools by ID and gives each its nodes by position.
func (w *world) compilePools() {
	s := w.state
	w.NodePool = make([]int32, len(s.Nodes))
	w.Position = make([]int32, len(s.Nodes))
	w.poolID, w.nodeID = make(map[string]int32, len(s.Pools)), nodeIDs(s.Nodes)
	for i := range s.Nodes {
		w.NodePool[i], w.Position[i] = -1, -1
	}
	find := newNodeFinder(s.Nodes, w.nodeID)
	if len(s.Pools) == 0 {
		w.addPool("", new(Policy), find.of(new(NodeSet)))
	}
	for _, i := range byID(s.Pools, func(p *Pool) string { return p.ID }) {
		w.addPool(s.Pools[i].ID, &s.Pools[i].Policy, find.of(&s.Pools[i].Nodes))
	}
}

// addPool adds the pool behind the others, with its nodes in their positions.
func (w *world) addPool(id string, policy *Policy, members []int32) {
	nodes := w.state.Nodes
	p := &pool{Pool: &cluster.Pool{Policy: policy.knobs()}, id: id, given: policy, smallestMemory: leastMemory(nodes, members)}
	for _, n := range members {
		if !nodes[n].Lost {
			w.NodePool[n] = int32(len(w.pools))
			p.Nodes = append(p.Nodes, n)
		}
	}
	slices.SortFunc(p.Nodes, func(a, b int32) int {
		x, y := &nodes[a], &nodes[b]
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), strings.Compare(x.ID, y.ID))
	})
	for at, n := range p.Nodes {
		w.Position[n] = int32(at)
	}
	p.follow(policy.GPUStrategy)
	p.follow(policy.CPUStrategy)
	w.poolID[id] = int32(len(w.pools))
	w.pools = append(w.pools, p)
	w.World.Pools = append(w.World.Pools, p.Pool)
}

// knobs are those that the solve reads.
func (p *Policy) knobs() cluster.Policy {
	return cluster.Policy{
		Order:                     p.Order,
		Queueing:                  p.Queueing,
		BlockAlikeOnly:            p.BlockAlikeOnly,
		CPUOnlyApart:              p.CPUOnlyApart,
		NonPreemptibleOverQuota:   p.NonPreemptibleOverQuota,
		Shares:                    p.Shares,
		EqualSharesAtZeroWeight:   p.EqualSharesAtZeroWeight,
		ScaleGuarantees:           p.ScaleGuarantees,
		Fitting:                   p.Fitting,
		LeastFreeDomainsFirst:     p.LeastFreeDomainsFirst,
		ClaimLeaving:              p.ClaimLeaving,
		NoConsolidation:           p.NoConsolidation,
		MaxMovedPercent:           p.MaxMovedPercent,
		ConsolidateBeyondShare:    p.ConsolidateBeyondShare,
		MaxRelocations:            p.MaxRelocations,
		Reclaim:                   p.Reclaim,
		ReclaimNonPreemptibleOnly: p.ReclaimNonPreemptibleOnly,
		ReclaimMarginMilli:        p.ReclaimMarginMilli,
		Straddle:                  p.Straddle,
		Preempt:                   p.Preempt,
		MaxEvictions:              p.MaxEvictions,
		SearchBudget:              p.SearchBudget,
		MaxReplacedStarts:         p.MaxReplacedStarts,
		StaleGangGrace:            p.StaleGangGrace,
		CheckpointOnEviction:      p.CheckpointOnEviction,
		Reserve:                   p.Reserve.knobs(p),
		UsageStrengthMilli:        p.UsageStrengthMilli,
		DeadlinesFirst:            p.DeadlinesFirst,
	}
}
