package allot

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/quota"
)

func (c *checker) checkQueues(at *path) {
	queues := c.s.Queues
	list := at.field("queues")
	c.queues = c.directory(&list, len(queues), func(i int) string { return queues[i].ID })
	c.queuePool = make([]int32, len(queues))
	c.parent = make([]int32, len(queues))
	c.inner = make([]bool, len(queues))
	for i := range queues {
		below := list.at(i)
		c.queuePool[i] = c.checkQueue(&below, &queues[i])
	}
	for i := range queues {
		below := list.at(i)
		c.parent[i] = c.queueParent(&below, i)
	}
	c.queueCycles(&list)
	c.checkSiblings(at)
}

// checkQueue checks a queue by itself and returns its pool.
func (c *checker) checkQueue(at *path, q *Queue) int32 {
	c.name(at, "id", q.ID)
	pool := c.pool(at, q.Pool)
	if pool != none {
		c.hasQueues[pool] = true
	}
	c.time(at, "created", q.Created)
	c.nodeSet(at, &q.Nodes)
	c.bound(at, "maxWorkloads", q.MaxWorkloads)
	c.minRuntime(at, &q.MinRuntime)
	enum(c, at, "queueing", q.Queueing)
	checkDurations(c, at, &q.Durations)
	list := at.field("resources")
	named := make(map[[2]string]int, len(q.Resources))
	for i := range q.Resources {
		r := &q.Resources[i]
		below := list.at(i)
		c.queueResource(&below, r)
		pair := [2]string{r.Resource, r.Class}
		if first, twice := named[pair]; twice {
			there := list.at(first)
			c.fault(&below, FaultDuplicate, strconv.QuoteToASCII(r.name()), "must be of another resource or class than "+there.String())
			continue
		}
		named[pair] = i
	}
	return pool
}

func (c *checker) queueResource(at *path, r *QueueResource) {
	c.name(at, "resource", r.Resource)
	c.text(at, "class", r.Class)
	c.bound(at, "quota", r.Quota)
	c.bound(at, "limit", r.Limit)
	c.bound(at, "borrowingLimit", r.BorrowingLimit)
	c.bound(at, "lendingLimit", r.LendingLimit)
	c.bound(at, "weight", r.Weight)
	if r.Weight.IsUnlimited() {
		c.faultAt(at, "weight", FaultRange, r.Weight.String(), "must be a number")
	}
	usage := at.field("usage")
	c.within(&usage, "used", r.Usage.Used, 0, MaxAmount)
	c.within(&usage, "capacity", r.Usage.Capacity, 0, MaxAmount)
	if r.Class == "" {
		return
	}
	const want = "must not be given for a class (Q8)"
	if r.LendingLimit.Given() {
		c.faultAt(at, "lendingLimit", FaultExclusive, r.LendingLimit.String(), want)
	}
	if r.Weight.Given() {
		c.faultAt(at, "weight", FaultExclusive, r.Weight.String(), want)
	}
	if r.Usage != (fairshare.Usage{}) {
		c.faultAt(at, "usage", FaultExclusive, strconv.FormatInt(r.Usage.Used, 10), want)
	}
	if r.OverQuotaPriority != 0 {
		c.faultAt(at, "overQuotaPriority", FaultExclusive, strconv.Itoa(int(r.OverQuotaPriority)), want)
	}
}

// name is the resource and its class, if any, as in gpu@H100.
func (r *QueueResource) name() string {
	if r.Class == "" {
		return r.Resource
	}
	return r.Resource + "@" + r.Class
}

func (c *checker) bound(at *path, field string, b quota.Bound) {
	if b.Given() && !b.IsUnlimited() {
		c.within(at, field, b.Amount(), 0, MaxAmount)
	}
}

// queueParent finds the parent of queue i; none, with a fault if it is wrong.
func (c *checker) queueParent(at *path, i int) int32 {
	q := &c.s.Queues[i]
	if q.Parent == "" {
		return none
	}
	parent, ok := c.queues[q.Parent]
	if !ok {
		c.faultAt(at, "parent", FaultUnknownQueue, strconv.QuoteToASCII(q.Parent), "must name a queue")
		return none
	}
	if pool := c.queuePool[i]; pool != none && c.queuePool[parent] != none && pool != c.queuePool[parent] {
		c.faultAt(at, "parent", FaultWrongPool, strconv.QuoteToASCII(q.Parent), "must be a queue of the same pool")
		return none
	}
	c.inner[parent] = true
	return parent
}

// queueCycles reports the queues that are their own ancestors and takes them
// out of their pool, so that what follows finds a forest.
func (c *checker) queueCycles(list *path) {
	for _, i := range cycles(c.parent) {
		below := list.at(int(i))
		c.faultAt(&below, "parent", FaultCycle, strconv.QuoteToASCII(c.s.Queues[i].Parent), "must not lead back to the queue")
		c.parent[i], c.queuePool[i] = none, none
	}
}

// cycles lists all that lie on a cycle of parents.
func cycles(parent []int32) []int32 {
	var found []int32
	walk := make([]int32, len(parent)) // the walk that came by first, from 1
	for i := range parent {
		at := int32(i)
		for at != none && walk[at] == 0 {
			walk[at] = int32(i) + 1
			at = parent[at]
		}
		if at == none || walk[at] != int32(i)+1 {
			continue
		}
		// This walk has met itself: at is on a new cycle.
		for next := at; ; {
			found = append(found, next)
			if next = parent[next]; next == at {
				break
			}
		}
	}
	return found
}

// siblings are queues side by side, below a queue or directly in a pool.
type siblings struct {
	parent int32 // or none
	pool   int32
	queues []int32
}

// siblingGroups lists the groups with at least one queue.
func (c *checker) siblingGroups() []siblings {
	order := make([]int32, 0, len(c.parent))
	for i := range c.parent {
		if c.queuePool[i] != none {
			order = append(order, int32(i))
		}
	}
	compare := func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.parent[a], c.parent[b]), cmp.Compare(c.queuePool[a], c.queuePool[b]))
	}
	slices.SortStableFunc(order, compare)
	var groups []siblings
	for len(order) > 0 {
		n := 1
		for n < len(order) && compare(order[0], order[n]) == 0 {
			n++
		}
		groups = append(groups, siblings{c.parent[order[0]], c.queuePool[order[0]], order[:n]})
		order = order[n:]
	}
	return groups
}

// checkSiblings checks what siblings must agree on: weights for all or none
// (F4), and sums of weights and quotas.
func (c *checker) checkSiblings(at *path) {
	groups := c.siblingGroups()
	for i := range groups {
		c.checkWeights(at, &groups[i])
	}
	c.checkQuotaSums(at, groups)
}

func (c *checker) checkWeights(at *path, g *siblings) {
	var weights sums
	giving := make(map[string]int)
	for _, i := range g.queues {
		for _, r := range c.s.Queues[i].Resources {
			if r.Class == "" && r.Weight.Given() {
				giving[r.Resource]++
				weights.of(r.Resource).add(r.Weight.Amount(), 1)
			}
		}
	}
	if len(giving) == 0 {
		return
	}
	place, parent := at.field("queues"), path{}
	if g.parent != none {
		parent = place
		place = parent.at(int(g.parent))
	}
	c.checkSums(&place, &weights, "give its queues weights of")
	list := at.field("queues")
	for name, n := range giving { // the faults are sorted in the end
		if n == len(g.queues) {
			continue
		}
		for _, i := range g.queues {
			below := list.at(int(i))
			c.checkWeight(&below, &c.s.Queues[i], name)
		}
	}
}

// checkWeight reports a queue without a weight where a sibling has one.
func (c *checker) checkWeight(at *path, q *Queue, resource string) {
	want := "must give a weight for " + strconv.QuoteToASCII(resource) + " as its siblings do, or none must (F4)"
	list := at.field("resources")
	for i := range q.Resources {
		if r := &q.Resources[i]; r.Class == "" && r.Resource == resource {
			if !r.Weight.Given() {
				below := list.at(i)
				c.faultAt(&below, "weight", FaultMixedWeights, "absent", want)
			}
			return
		}
	}
	c.fault(&list, FaultMixedWeights, "absent", want)
}

// checkQuotaSums adds up the quotas of siblings, where an absent quota of an
// inner queue is the sum below it (Q1).
func (c *checker) checkQuotaSums(at *path, groups []siblings) {
	below := make([]*sums, len(c.parent)) // by queue
	slices.SortFunc(groups, func(a, b siblings) int { return cmp.Compare(a.parent, b.parent) })
	for _, i := range c.bottomUp(groups) {
		g := &groups[i]
		sum := new(sums)
		for _, q := range g.queues {
			addQuotas(sum, &c.s.Queues[q], below[q])
		}
		place, list := at.field("queues"), path{}
		if g.parent != none {
			list = place
			place = list.at(int(g.parent))
			below[g.parent] = sum
		}
		c.checkSums(&place, sum, "give its queues quotas of")
	}
}

// bottomUp orders groups, sorted by parent, so that a group comes after those
// below its queues.
func (c *checker) bottomUp(groups []siblings) []int {
	depth := make([]int, len(c.parent)) // of a queue, from 1; 0 is not known yet
	var chain []int32
	for q := range c.parent {
		for at := int32(q); at != none && depth[at] == 0; at = c.parent[at] {
			chain = append(chain, at)
		}
		for ; len(chain) > 0; chain = chain[:len(chain)-1] {
			last := chain[len(chain)-1]
			depth[last] = 1
			if above := c.parent[last]; above != none {
				depth[last] = depth[above] + 1
			}
		}
	}
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(depth[groups[b].queues[0]], depth[groups[a].queues[0]])
	})
	return order
}

// addQuotas adds the quotas of a queue: those given, else those below. An
// unlimited one is no part of a sum.
func addQuotas(sum *sums, q *Queue, below *sums) {
	given := make(map[string]bool, len(q.Resources))
	for i := range q.Resources {
		r := &q.Resources[i]
		if !r.Quota.Given() {
			continue
		}
		given[r.name()] = true
		if !r.Quota.IsUnlimited() {
			sum.of(r.name()).add(r.Quota.Amount(), 1)
		}
	}
	if below == nil {
		return
	}
	for _, of := range below.list {
		if !given[of.name] {
			sum.of(of.name).add(int64(of.total), 1)
		}
	}
}

// mostFigures is how many pairs of a queue and a resource there may be, of so many queues that give
// so many resources.
func mostFigures(queues, given int) int { return max(maxFigures, figuresOfEach*(queues+given)) }

// checkFigures checks that there are not many more pairs of a queue and a resource than the state has
// of either: the plan tells figures of each.
func checkFigures(c *checker, at *path) {
	queues, given := c.s.Queues, 0
	for i := range queues {
		given += len(queues[i].Resources)
	}
	most := mostFigures(len(queues), given)
	if len(queues)*(1+distinctlyGiven(queues)+len(c.capacity.list)+len(c.requested.list)) <= most {
		return // in one pool, even if each is another
	}
	resources, figures := resourcesOf(c), 0
	for _, pool := range c.queuePool {
		if pool != none {
			figures += len(resources[pool])
		}
	}
	if figures > most {
		c.faultAt(at, "queues", FaultTooMany, strconv.Itoa(figures)+" pairs of a queue and a resource",
			"must come to at most "+strconv.Itoa(most)+" of these")
	}
}

// distinctlyGiven is how many resources there are that queues give, each by itself and by class.
func distinctlyGiven(queues []Queue) int {
	given := make(map[resource]bool)
	for i := range queues {
		for _, r := range queues[i].Resources {
			given[resource{name: r.Resource}], given[resource{r.Resource, r.Class}] = true, true
		}
	}
	return len(given)
}

// resourcesOf are by pool what its nodes have, its queues give and its workloads request.
func resourcesOf(c *checker) []map[resource]bool {
	out := make([]map[resource]bool, max(1, len(c.s.Pools)))
	for i := range out {
		out[i] = map[resource]bool{{name: GPU}: true}
	}
	note := func(pool int32, amounts map[string]int64) {
		for name := range amounts { // into a set: order cannot matter
			if known := (resource{name: name}); !out[pool][known] {
				out[pool][known] = true
			}
		}
	}
	find := newNodeFinder(c.s.Nodes, c.nodes)
	for i := range out {
		set := new(NodeSet)
		if len(c.s.Pools) > 0 {
			set = &c.s.Pools[i].Nodes
		}
		for _, n := range find.of(set) {
			note(int32(i), c.s.Nodes[n].Capacity)
		}
	}
	for i, pool := range c.queuePool {
		for _, r := range c.s.Queues[i].Resources {
			if pool != none {
				out[pool][resource{name: r.Resource}] = true
				out[pool][resource{r.Resource, r.Class}] = true
			}
		}
	}
	form := func(queue string, sets []PodSet) {
		if i, known := c.queues[queue]; known && c.queuePool[i] != none {
			for s := range sets {
				note(c.queuePool[i], sets[s].Request.Resources)
			}
		}
	}
	for _, k := range c.workloads {
		form(k.Queue, k.PodSets)
		for a := range k.Alternatives {
			form(cmp.Or(k.Alternatives[a].Queue, k.Queue), k.Alternatives[a].PodSets)
		}
	}
	return out
}
