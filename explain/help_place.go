package explain

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// standing gives the workload another standing: priority, class, preemption.
func (h *helper) standing() error {
	policy := h.policy()
	if err := h.priority(policy); err != nil {
		return err
	}
	own := cmp.Or(h.work.Class, policy.DefaultClass)
	for i := range policy.Classes[:h.firstOf(len(policy.Classes))] {
		if name := policy.Classes[i].Name; name != own {
			r := Remedy{Kind: OtherClass, Name: name, Change: h.with(func(k *allot.Workload) { k.Class = name })}
			if _, err := h.offer(r); err != nil {
				return err
			}
		}
	}
	if _, fixed := policy.Standing(h.work); !fixed {
		return nil
	}
	_, err := h.offer(Remedy{Kind: BePreemptible, Change: h.with(func(k *allot.Workload) { k.Preemption = allot.Preemptible })})
	return err
}

// pool is the ID of the pool of the workload's own form.
func (h *helper) pool() string {
	if q := h.queue[h.work.Queue]; q != nil {
		return h.poolOf(q)
	}
	return h.poolNamed(h.work.Pool)
}

// poolNamed is the pool's ID where it may be left away.
func (h *helper) poolNamed(id string) string {
	if id == "" && len(h.pools) > 0 {
		return h.pools[0].ID
	}
	return id
}

func (h *helper) poolOf(q *allot.Queue) string { return h.poolNamed(q.Pool) }

// policy is that of the pool of the workload's own form.
func (h *helper) policy() *allot.Policy {
	return h.policyOf(h.pool())
}

func (h *helper) policyOf(pool string) *allot.Policy {
	for i := range h.pools {
		if h.pools[i].ID == pool {
			return &h.pools[i].Policy
		}
	}
	return new(allot.Policy)
}

// priority raises the number of the workload, or lowers it where the lower goes
// first.
func (h *helper) priority(policy *allot.Policy) error {
	if policy.ClassBeatsPriority && h.work.Class != "" {
		return nil
	}
	own, _ := policy.Standing(h.work)
	sign := int64(1)
	if policy.LowerFirst {
		sign = -1
	}
	pool, highest := h.pool(), int64(own)
	var likely []int64
	for k := range h.base.Workloads() {
		if q := h.queue[k.Queue]; k.ID == h.work.ID || q != nil && h.poolOf(q) != pool {
			continue
		}
		if other, _ := policy.Standing(k); other >= own {
			likely = append(likely, int64(other)-int64(own), int64(other)-int64(own)+1)
			highest = max(highest, int64(other))
		}
	}
	slices.Sort(likely)
	likely = slices.DeleteFunc(slices.Compact(likely), func(n int64) bool { return n == 0 })
	most := highest - int64(own) + 1
	if len(likely) > 8 { // of many levels the search finds its own way
		likely = likely[:1]
	}
	if len(likely) > 0 {
		likely = slices.Insert(likely, 1, 0)
	}
	return h.least(most, likely, func(n int64) (Remedy, bool) {
		to := sign * (int64(own) + n)
		if to == 0 || to > math.MaxInt32 || to < math.MinInt32 { // 0 says that there is none
			return Remedy{}, false
		}
		return Remedy{Kind: OtherPriority, Amount: n, From: sign * int64(own), To: to, Change: h.with(func(k *allot.Workload) { k.Priority = int32(to) })}, true
	})
}

// elsewhere puts the workload into other queues, those first in which it would
// fit now.
func (h *helper) elsewhere() error {
	type home struct {
		remedy Remedy
		class  int
	}
	var homes []home
	own := h.pool()
	add := func(r Remedy, fit Fit, err error) {
		switch {
		case err != nil: // not a place for it
		case fit.OK && !fit.Room:
			homes = append(homes, home{r, 0})
		case fit.OK:
			homes = append(homes, home{r, 1})
		}
	}
	parents, queued := make(map[string]bool), make(map[string]bool)
	for i := range h.queues {
		q := &h.queues[i]
		parents[q.Parent] = true
		queued[h.poolOf(q)] = true
	}
	for i := range h.queues {
		q := &h.queues[i]
		if parents[q.ID] || q.ID == h.work.Queue {
			continue
		}
		r := Remedy{Kind: OtherQueue, Queue: q.ID, Change: h.with(func(k *allot.Workload) { k.Queue, k.Pool = q.ID, "" })}
		if pool := h.poolOf(q); pool != own {
			r.Kind, r.Pool = OtherPool, pool
		}
		fit, err := h.fits(&r)
		add(r, fit, err)
	}
	for i := range h.pools {
		p := &h.pools[i]
		if p.ID != own && !queued[p.ID] {
			r := Remedy{Kind: OtherPool, Pool: p.ID, Change: h.with(func(k *allot.Workload) { k.Queue, k.Pool = "", p.ID })}
			fit, err := h.fits(&r)
			add(r, fit, err)
		}
	}
	slices.SortStableFunc(homes, func(a, b home) int { return cmp.Compare(a.class, b.class) })
	for i := range homes[:h.firstOf(len(homes))] {
		if _, err := h.offer(homes[i].remedy); err != nil {
			return err
		}
	}
	return nil
}

func (h *helper) fits(r *Remedy) (Fit, error) {
	k := r.Change.Workloads[0]
	if len(k.Tasks) > 0 {
		return Fit{}, nil // what holds places stays where it is
	}
	return h.fitter.WithRoom(h.ctx, k)
}

// uncordoned opens nodes, one at a time.
func (h *helper) uncordoned() error {
	var closed []string
	for n := range h.base.Nodes() {
		if n.Cordoned && !n.Lost {
			closed = append(closed, n.ID)
		}
	}
	for _, id := range closed[:h.firstOf(len(closed))] {
		open, _ := h.base.Node(id)
		open.Cordoned = false
		if _, err := h.offer(Remedy{Kind: Uncordon, Node: id, Change: allot.Change{Nodes: []allot.Node{open}}}); err != nil {
			return err
		}
	}
	return nil
}

// mostMakes is how many makes of nodes are looked at.
const mostMakes = 3

// machines adds new nodes like those that would take the tasks.
func (h *helper) machines() error {
	templates, err := h.templates()
	if err != nil {
		return err
	}
	h.bestFirst(templates)
	if len(templates) > mostMakes {
		templates, h.help.Cut = templates[:mostMakes], true
	}
	for i := range templates {
		if err := h.more(&templates[i]); err != nil {
			return err
		}
	}
	return nil
}

// asksGPUs says whether some task of the workload asks for devices.
func asksGPUs(k *allot.Workload) (some bool) {
	eachSet(k, func(s *allot.PodSet) { some = some || devicesOf(s) > 0 })
	return some
}

// templates are nodes, the first of each make, that would take a task of some pod
// set if they were empty: one with devices, if any task asks for them.
func (h *helper) templates() (out []allot.Node, err error) {
	admit, err := h.fitter.Nodes(h.ctx, h.work)
	if err != nil {
		return nil, err
	}
	makes := make(map[string]bool)
	gpus := asksGPUs(&h.work)
	for _, id := range admit {
		n, _ := h.base.Node(id)
		if gpus && len(n.Devices) == 0 {
			continue
		}
		_, domain := h.domainOf(&n)
		if made := makeOf(&n) + strconv.Quote(domain); !makes[made] {
			makes[made] = true
			out = append(out, n)
		}
	}
	return out, nil
}

// makeOf says what a node is made of.
func makeOf(n *allot.Node) string {
	var b strings.Builder
	for _, name := range amountNames(n.Capacity) {
		b.WriteString(strconv.Quote(name) + "=" + prose.Decimal(n.Capacity[name]) + " ")
	}
	b.WriteString("/ " + strconv.Quote(n.Class) + " ")
	for i := range n.Devices {
		b.WriteString(strconv.Quote(n.Devices[i].Model) + prose.Decimal(n.Devices[i].Memory) + " ")
	}
	for _, t := range n.Taints {
		b.WriteString(strconv.Quote(t.Key) + strconv.Quote(t.Value) + t.Effect.String() + " ")
	}
	return b.String()
}

func amountNames(amounts map[string]int64) []string {
	names := make([]string, 0, len(amounts))
	for name := range amounts { // sorted below
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mostNodes is how many nodes more are looked at.
const mostNodes = 1024

// more looks for the least number of devices, or of nodes, like those of n. Others
// may take some of them first: where what the workload needs is not enough, as
// much is tried as all ask that wait.
func (h *helper) more(n *allot.Node) error {
	tasks, whole := int64(1), int64(max(1, len(n.Devices)))
	var likely, one []int64
	for form := range 1 + len(h.work.Alternatives) {
		sets, _ := formIn(&h.work, form)
		all := int64(0)
		for i := range sets {
			need := int64(cmp.Or(sets[i].Min, sets[i].Count))
			if each := devicesOf(&sets[i]); each > 0 && each <= whole {
				likely, one = append(likely, need/(whole/each)*whole+need%(whole/each)*each), append(one, each)
			}
			all += need
		}
		tasks = max(tasks, all)
	}
	likely = append(append(likely, 0), one...)
	before := len(h.help.Remedies)
	if err := h.least(min(tasks, mostNodes)*whole, likely, h.moreOf(n)); err != nil || len(h.help.Remedies) > before {
		return err
	}
	all := tasks + h.waitingNodes(n)
	if all > mostNodes {
		h.help.Cut = true
		return nil
	}
	return h.least(all*whole, nil, h.moreOf(n))
}

// waitingNodes is how many nodes like n would hold at most what waits in the pool.
func (h *helper) waitingNodes(n *allot.Node) (nodes int64) {
	pool, waits := h.pool(), make(map[string]int64)
	for i := range h.shares {
		s := &h.shares[i]
		q := h.queue[s.Queue]
		each := n.Capacity[s.Resource]
		if s.Resource == allot.GPU {
			each = int64(len(n.Devices)) * wholeGPU
		}
		if s.Class != "" || h.poolNamed(s.Pool) != pool || q != nil && q.Parent != "" || each == 0 {
			continue
		}
		waits[s.Resource] += max(0, s.Demand-s.Used)
		nodes = max(nodes, min(waits[s.Resource]/each+1, mostNodes))
	}
	return nodes
}

// moreOf is the remedy by so many devices, or nodes, more.
func (h *helper) moreOf(n *allot.Node) func(more int64) (Remedy, bool) {
	kind, whole := MoreGPUs, int64(max(1, len(n.Devices)))
	if len(n.Devices) == 0 {
		kind = MoreNodes
	}
	return func(more int64) (Remedy, bool) {
		r := Remedy{Kind: kind, Node: n.ID, Amount: more}
		r.Level, r.Domain = h.domainOf(n)
		for left := more; left > 0; left -= whole {
			r.Change.Nodes = append(r.Change.Nodes, newNode(h.base, n, len(r.Change.Nodes), int(min(left, whole))))
		}
		r.Nodes = len(r.Change.Nodes)
		h.enroll(n.ID, &r.Change)
		return r, true
	}
}

// newNode is the i-th new node like n, empty, with some of its devices.
func newNode(s *allot.Snapshot, n *allot.Node, i, devices int) allot.Node {
	node, _ := s.Node(n.ID)
	node.ID = n.ID + "+" + strconv.Itoa(i+1)
	for _, used := s.Node(node.ID); used; _, used = s.Node(node.ID) {
		node.ID += "+"
	}
	node.Foreign, node.ForeignTasks, node.Cordoned = nil, 0, false
	if devices < len(node.Devices) { // it is not of that hardware then
		node.Devices, node.Hardware, node.Links = node.Devices[:devices], "", nil
	}
	for d := range node.Devices {
		node.Devices[d].Unhealthy, node.Devices[d].Foreign = false, 0
	}
	return node
}

// enroll puts the new nodes wherever the old one is named.
func (h *helper) enroll(like string, c *allot.Change) {
	more := func(set *allot.NodeSet) bool {
		if !slices.Contains(set.IDs, like) {
			return false
		}
		for i := range c.Nodes {
			set.IDs = append(set.IDs, c.Nodes[i].ID)
		}
		return true
	}
	for i := range h.pools {
		if pool, _ := h.base.Pool(h.pools[i].ID); more(&pool.Nodes) {
			c.Pools = append(c.Pools, pool)
		}
	}
	for i := range h.queues {
		if queue, _ := h.base.Queue(h.queues[i].ID); more(&queue.Nodes) {
			c.Queues = append(c.Queues, queue)
		}
	}
}
