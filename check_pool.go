package allot

import (
	"math"
	"strconv"
	"strings"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

func (c *checker) checkPools(at *path) {
	pools := c.s.Pools
	list := at.field("pools")
	c.pools = c.directory(&list, len(pools), func(i int) string { return pools[i].ID })
	c.classes = make([]map[string]bool, max(1, len(pools)))
	c.hasQueues = make([]bool, max(1, len(pools)))
	for i := range pools {
		below := list.at(i)
		c.name(&below, "id", pools[i].ID)
		c.nodeSet(&below, &pools[i].Nodes)
		policy := below.field("policy")
		c.classes[i] = c.policy(&policy, &pools[i].Policy)
		c.within(&below, "maxTasks", int64(pools[i].MaxTasks), 0, maxTasks)
		c.within(&below, "maxTasksPerWorkload", int64(pools[i].MaxTasksPerWorkload), 0, maxTasks)
	}
	c.overlaps(at)
}

// toldPools is how many of the pools that a node is in are told.
const toldPools = 4

// overlaps reports the nodes that are in two pools or more, each once.
func (c *checker) overlaps(at *path) {
	pools := c.s.Pools
	if len(pools) < 2 {
		return
	}
	first, count := make([]int32, len(c.s.Nodes)), make([]int32, len(c.s.Nodes)) // first is pool + 1
	told := make(map[int32][]string)                                             // of a node in several pools
	find := newNodeFinder(c.s.Nodes, c.nodes)
	for i := range pools {
		for _, n := range find.of(&pools[i].Nodes) {
			switch count[n]++; {
			case count[n] == 1:
				first[n] = int32(i) + 1
			case count[n] == 2:
				told[n] = []string{strconv.QuoteToASCII(pools[first[n]-1].ID), strconv.QuoteToASCII(pools[i].ID)}
			case count[n] <= toldPools:
				told[n] = append(told[n], strconv.QuoteToASCII(pools[i].ID))
			}
		}
	}
	list := at.field("nodes")
	for n, in := range count {
		if in < 2 {
			continue
		}
		names := told[int32(n)]
		if in > toldPools {
			names = append(names[:toldPools-1], strconv.Itoa(int(in)-toldPools+1)+" more")
		}
		last := len(names) - 1
		below := list.at(n)
		c.fault(&below, FaultNodeInTwoPools, "in "+strings.Join(names[:last], ", ")+" and "+names[last], "must be in one pool")
	}
}

// nodeSet checks the field "nodes" of a pool or queue.
func (c *checker) nodeSet(at *path, set *NodeSet) {
	if set.all() {
		return
	}
	below := at.field("nodes")
	ids := below.field("ids")
	named := make(map[string]int, len(set.IDs))
	for i, id := range set.IDs {
		here := ids.at(i)
		if _, ok := c.nodes[id]; !ok {
			c.fault(&here, FaultUnknownNode, strconv.QuoteToASCII(id), "must name a node")
			continue
		}
		if first, twice := named[id]; twice {
			there := ids.at(first)
			c.fault(&here, FaultDuplicate, strconv.QuoteToASCII(id), "must differ from "+there.String())
			continue
		}
		named[id] = i
	}
	selector := below.field("selector")
	c.selector(&selector, set.Selector)
}

// policy checks a policy and returns the names of its classes.
func (c *checker) policy(at *path, p *Policy) map[string]bool {
	c.text(at, "name", p.Name)
	list := at.field("classes")
	classes := make(map[string]bool, len(p.Classes))
	for i := range p.Classes {
		class := &p.Classes[i]
		below := list.at(i)
		c.name(&below, "name", class.Name)
		c.priority(&below, "priority", class.Priority)
		if classes[class.Name] {
			c.faultAt(&below, "name", FaultDuplicate, strconv.QuoteToASCII(class.Name), "must be the only class of this name")
		}
		classes[class.Name] = true
	}
	if p.DefaultClass != "" && !classes[p.DefaultClass] {
		c.faultAt(at, "defaultClass", FaultUnknownClass, strconv.QuoteToASCII(p.DefaultClass), "must name a class of the policy")
	}
	c.priority(at, "nonPreemptibleFrom", p.NonPreemptibleFrom)
	enum(c, at, "order", p.Order)
	enum(c, at, "queueing", p.Queueing)
	enum(c, at, "shares", p.Shares)
	enum(c, at, "gpuStrategy", p.GPUStrategy)
	enum(c, at, "cpuStrategy", p.CPUStrategy)
	c.scoring(at, &p.Scoring)
	enum(c, at, "fitting", p.Fitting)
	c.within(at, "maxCPUOnlyTasksPerNode", int64(p.MaxCPUOnlyTasksPerNode), 0, maxCount)
	granules := at.field("granules")
	for name, n := range p.Granules { // the faults are sorted in the end
		c.key(&granules, name)
		if n < 1 || n > MaxAmount {
			below := granules.key(name)
			c.outOfRange(&below, n, 1, MaxAmount)
		}
	}
	c.roomPolicy(at, p)
	checkTimePolicy(c, at, p)
	return classes
}

// scoring checks the field "scoring".
func (c *checker) scoring(at *path, s *Scoring) {
	below := at.field("scoring")
	if !prose.Known(mixNames[:], s.MixFrom) {
		unknownValue(c, &below, "mixFrom", s.MixFrom)
	}
	c.within(&below, "coverage", s.Coverage, 0, 100)
	c.mix(&below, s.Mix)
	c.within(&below, "scale", s.Scale, 0, placement.MaxScale)
	c.within(&below, "steps", int64(s.Steps), 0, placement.MaxSteps)
	if s.Exact && (s.Scale != 0 || s.Steps != 0) {
		c.faultAt(&below, "exact", FaultExclusive, "true", "must not be given together with scale or steps")
	}
	enum(c, &below, "ties", s.Ties)
	c.within(&below, "seed", s.Seed, 0, MaxAmount)
}

// mix checks the field "mix".
func (c *checker) mix(at *path, mix []MixShape) {
	list := at.field("mix")
	if len(mix) > cluster.MaxMix {
		c.fault(&list, FaultTooMany, strconv.Itoa(len(mix)), "must be at most "+strconv.Itoa(cluster.MaxMix))
	}
	var weights total
	for i := range mix {
		below := list.at(i)
		request := below.field("request")
		c.checkRequest(&request, &mix[i].Request)
		if c.within(&below, "weight", mix[i].Weight, 1, maxMixWeight) {
			weights.add(mix[i].Weight, 1)
		}
	}
	if weights > maxMixWeight {
		c.fault(&list, FaultSum, strconv.FormatInt(int64(weights), 10), "must have weights below 2^39 in all")
	}
}

// priority checks a priority: it can be negated (Policy.LowerFirst).
func (c *checker) priority(at *path, field string, n int32) {
	c.within(at, field, int64(n), -math.MaxInt32, math.MaxInt32)
}

// pool finds the pool that something says it is in; none, with a fault, if it
// does not say which.
func (c *checker) pool(at *path, id string) int32 {
	if id == "" {
		if len(c.s.Pools) > 1 {
			c.faultAt(at, "pool", FaultPoolRequired, `""`, "must say which of the pools")
			return none
		}
		return 0
	}
	i, ok := c.pools[id]
	if !ok {
		c.faultAt(at, "pool", FaultUnknownPool, strconv.QuoteToASCII(id), "must name a pool")
		return none
	}
	return i
}

// smallestMemory is the least device memory of a pool, by which requests for
// device memory are charged (F1); 0 if no device tells any.
func (c *checker) smallestMemory(pool int32) int64 {
	if c.leastMemory == nil {
		c.leastMemory = make([]int64, max(1, len(c.s.Pools)))
		find := newNodeFinder(c.s.Nodes, c.nodes)
		if len(c.s.Pools) == 0 {
			c.leastMemory[0] = leastMemory(c.s.Nodes, find.of(new(NodeSet)))
		}
		for i := range c.s.Pools {
			c.leastMemory[i] = leastMemory(c.s.Nodes, find.of(&c.s.Pools[i].Nodes))
		}
	}
	return c.leastMemory[pool]
}

// leastMemory is the least device memory of the nodes at those indices.
func leastMemory(nodes []Node, members []int32) int64 {
	least := int64(0)
	for _, n := range members {
		for _, d := range nodes[n].Devices {
			if d.Memory > 0 && (least == 0 || d.Memory < least) {
				least = d.Memory
			}
		}
	}
	return least
}

// What says how room is made is checked here.

// roomPolicy checks the knobs of a policy about making room.
func (c *checker) roomPolicy(at *path, p *Policy) {
	c.within(at, "maxMovedPercent", p.MaxMovedPercent, 0, maxMoved)
	if p.MaxRelocations.Given() {
		c.within(at, "maxRelocations", p.MaxRelocations.Amount(), 0, mostRelocations)
	}
	enum(c, at, "reclaim", p.Reclaim)
	if p.ReclaimMarginMilli != 0 {
		c.within(at, "reclaimMarginMilli", p.ReclaimMarginMilli, leastMargin, maxMargin)
	}
	enum(c, at, "straddle", p.Straddle)
	enum(c, at, "preempt", p.Preempt)
	if p.Preempt == preempt.WithinPool && p.Reclaim != preempt.NoReclaim {
		// Between queues either entitlement or priority decides (R6): with both,
		// each would undo what the other has done.
		c.faultAt(at, "preempt", FaultExclusive, p.Preempt.String(), `must be "queue" or "off" unless reclaim is "off"`)
	}
	c.minRuntime(at, &p.MinRuntime)
	c.within(at, "maxEvictions", int64(p.MaxEvictions), 0, maxCount)
	c.within(at, "searchBudget", int64(p.SearchBudget), 0, maxCount)
	if p.MaxReplacedStarts.Given() {
		c.within(at, "maxReplacedStarts", p.MaxReplacedStarts.Amount(), 0, maxCount)
	}
	c.bound(at, "staleGangGrace", p.StaleGangGrace)
	c.text(at, "preemptedStatus", p.PreemptedStatus)
	c.exitCode(at, "preemptedExitCode", p.PreemptedExitCode)
	c.exitActions(at, p.ExitActions)
}

// minRuntime checks the field "minRuntime". Unlimited protects for ever.
func (c *checker) minRuntime(at *path, m *MinRuntime) {
	below := at.field("minRuntime")
	c.bound(&below, "preempt", m.Preempt)
	c.bound(&below, "reclaim", m.Reclaim)
}

// exitActions checks the field "exitActions": one action per code.
func (c *checker) exitActions(at *path, actions []ExitAction) {
	if len(actions) == 0 {
		return
	}
	list := at.field("exitActions")
	named := make(map[int]int, len(actions))
	for i, a := range actions {
		below := list.at(i)
		c.exitCode(&below, "code", a.Code)
		if !prose.Known(exitNames[:], a.Action) {
			unknownValue(c, &below, "action", a.Action)
		}
		if first, twice := named[a.Code]; twice {
			c.duplicateValue(&list, i, "code", strconv.Itoa(a.Code), first)
			continue
		}
		named[a.Code] = i
	}
}

// exitCode checks an exit code: 32 bits, as every system has them.
func (c *checker) exitCode(at *path, field string, code int) {
	c.within(at, field, int64(code), math.MinInt32, math.MaxInt32)
}

// checkBudgets checks the disruption budgets (M7). An owner needs none.
func (c *checker) checkBudgets(at *path) {
	budgets := c.s.Budgets
	list := at.field("budgets")
	owners := make(map[string]int, len(budgets))
	for i := range budgets {
		b := &budgets[i]
		below := list.at(i)
		c.name(&below, "owner", b.Owner)
		c.within(&below, "minRunning", int64(b.MinRunning), 0, maxCount)
		if first, twice := owners[b.Owner]; twice && b.Owner != "" {
			c.duplicate(&list, i, "owner", b.Owner, first)
			continue
		}
		owners[b.Owner] = i
	}
}
