package allot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// Places as P1 to P8 and the order of choice of package placement tell them:
// every node is looked at for every task.

// An oracleSpot is a node with devices for one task.
type oracleSpot struct {
	node    *Node
	devices []int
}

// taken is how much of something on a node is not free for new work: what
// runs, and the larger of what leaves and what is claimed (S4); for a claim, what
// runs and what is claimed.
func (p *oraclePool) taken(n *Node, amount func(*oracleTask) int64) int64 {
	sum := make(map[Phase]int64)
	for _, w := range p.work {
		for _, t := range w.tasks {
			if t.node == n {
				sum[t.phase] += amount(t)
			}
		}
	}
	if p.claiming {
		return sum[Running] + sum[Claimed]
	}
	return sum[Running] + max(sum[Claimed], sum[Terminating])
}

func (t *oracleTask) request() *Request { return &t.work.source.PodSets[t.set].Request }

// An oracleThing is something of a node that tasks share.
type oracleThing struct {
	usable int64
	amount func(r *Request, devices []int) int64
}

// things are what a task may ask of a node: resources, slots and devices.
func (p *oraclePool) things(n *Node) (things []oracleThing) {
	for _, name := range p.resources[1:] {
		things = append(things, oracleThing{n.Capacity[name] - n.Foreign[name],
			func(r *Request, _ []int) int64 { return r.Resources[name] }})
	}
	if n.MaxTasks > 0 {
		things = append(things, oracleThing{int64(n.MaxTasks) - int64(n.ForeignTasks),
			func(*Request, []int) int64 { return 1 }})
	}
	if most := p.policy.MaxCPUOnlyTasksPerNode; most > 0 {
		things = append(things, oracleThing{int64(most), func(r *Request, _ []int) int64 {
			if oracleDevices(r.GPU) > 0 {
				return 0
			}
			return 1
		}})
	}
	for i, d := range n.Devices {
		things = append(things, oracleThing{oracleUsable(d), func(r *Request, devices []int) int64 {
			if !slices.Contains(devices, i) {
				return 0
			}
			return oracleUnits(r, d)
		}})
	}
	return things
}

// free is what is free of a thing for new work.
func (p *oraclePool) free(n *Node, thing oracleThing) int64 {
	return thing.usable - p.taken(n, func(t *oracleTask) int64 { return thing.amount(t.request(), t.devices) })
}

// oracleUsable is a device in share units, less foreign use (S8).
func oracleUsable(d Device) int64 {
	if d.Unhealthy {
		return 0
	}
	return (1000 - d.Foreign) * max(1, d.Memory)
}

// oracleUnits is what a task takes of a device, in share units.
func oracleUnits(r *Request, d Device) int64 {
	if r.GPU.Memory > 0 {
		return 1000 * r.GPU.Memory
	}
	return cmp.Or(r.GPU.Milli, 1000) * max(1, d.Memory)
}

// accepts says whether the node is one for such a task, however full (P1).
func (p *oraclePool) accepts(q *oracleQueue, n *Node, r *Request) bool {
	for _, above := range q.path() {
		if !oracleInSet(above.source.Nodes, n) {
			return false
		}
	}
	return !n.Lost && !n.Cordoned && r.Selector.Matches(n.Labels) &&
		!slices.ContainsFunc(n.Taints, func(t placement.Taint) bool { return t.TurnsAway(r.Tolerations) })
}

// fits says whether the node takes such a task on these devices now.
func (p *oraclePool) fits(n *Node, r *Request, devices []int) bool {
	for _, thing := range p.things(n) {
		if need := thing.amount(r, devices); need > 0 && need > p.free(n, thing) {
			return false
		}
	}
	return true
}

// An oracleDevice is a device as a task that wants one sees it.
type oracleDevice struct {
	index int
	free  int64 // share units
	whole bool  // nobody uses it
	milli int64 // used, rounded up
}

// deviceState is how a device is used now.
func (p *oraclePool) deviceState(n *Node, i int) oracleDevice {
	d := n.Devices[i]
	used := d.Foreign*max(1, d.Memory) + p.taken(n, func(t *oracleTask) int64 {
		if !slices.Contains(t.devices, i) {
			return 0
		}
		return oracleUnits(t.request(), d)
	})
	unit := max(1, d.Memory)
	return oracleDevice{index: i, free: 1000*unit - used, whole: used == 0, milli: min(1000, (used+unit-1)/unit)}
}

// An oracleChoice are the devices of one model that a strategy would take.
type oracleChoice struct {
	devices []int
	key     []int64 // lower is better
}

// choices are the best devices of each model of the node that could serve.
func (p *oraclePool) choices(n *Node, r *Request, s placement.Strategy) (choices []oracleChoice) {
	byModel := make(map[string][]oracleDevice)
	for i, d := range n.Devices {
		state := p.deviceState(n, i)
		if d.Unhealthy {
			continue
		}
		known := r.GPU.Memory == 0 || d.Memory > 0
		accepted := len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, d.Model)
		if known && accepted && d.Memory >= r.GPU.MinMemory && oracleUnits(r, d) <= state.free {
			byModel[d.Model] = append(byModel[d.Model], state)
		}
	}
	count := oracleDevices(r.GPU)
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		list := byModel[model]
		if len(list) < count {
			continue
		}
		slices.SortFunc(list, func(a, b oracleDevice) int {
			return oracleDeviceOrder(a, b, r, n, s)
		})
		choice := oracleChoice{}
		opened, wholes, worst := int64(0), int64(0), int64(0)
		for _, d := range list {
			if d.whole {
				wholes++
			}
		}
		lowest := int64(slices.IndexFunc(n.Devices, func(d Device) bool { return d.Model == model }))
		for _, d := range list[:count] {
			choice.devices = append(choice.devices, d.index)
			if d.whole {
				opened++
			}
			worst = max(worst, d.milli)
		}
		slices.Sort(choice.devices)
		switch s {
		case placement.Spread:
			choice.key = []int64{worst, lowest}
		case placement.First:
			choice.key = []int64{lowest}
		case placement.Default, placement.BinPack:
			choice.key = []int64{opened, wholes, lowest}
		}
		choices = append(choices, choice)
	}
	return choices
}

// oracleDeviceOrder is in which order a strategy takes devices of one model.
func oracleDeviceOrder(a, b oracleDevice, r *Request, n *Node, s placement.Strategy) int {
	index := cmp.Compare(a.index, b.index)
	switch s {
	case placement.Spread:
		return cmp.Or(cmp.Compare(a.milli, b.milli), index)
	case placement.First:
		return index
	case placement.Default, placement.BinPack:
	}
	if a.whole != b.whole {
		if a.whole {
			return 1
		}
		return -1
	}
	if a.whole {
		return index
	}
	left := func(d oracleDevice) int64 { return d.free - oracleUnits(r, n.Devices[d.index]) }
	return cmp.Or(cmp.Compare(left(a), left(b)), index)
}

// find looks at every node for one task and takes the one that the strategy
// prefers (P3, P6).
func (p *oraclePool) find(q *oracleQueue, r *Request, s placement.Strategy) (best oracleSpot, ok bool) {
	var bestKey []int64
	for position, n := range p.nodes {
		choice, takes := p.findOn(q, n, r, s)
		if !takes {
			continue
		}
		key := append(p.nodeKey(n, r, choice, s), int64(position))
		if !ok || slices.Compare(key, bestKey) < 0 {
			best, bestKey, ok = oracleSpot{n, choice.devices}, key, true
		}
	}
	return best, ok
}

// findOn is the devices that a task would get on a node, and whether it fits there.
func (p *oraclePool) findOn(q *oracleQueue, n *Node, r *Request, s placement.Strategy) (choice oracleChoice, ok bool) {
	if !p.accepts(q, n, r) {
		return choice, false
	}
	if oracleDevices(r.GPU) > 0 {
		choices := p.choices(n, r, s)
		if len(choices) == 0 {
			return choice, false
		}
		choice = slices.MinFunc(choices, func(a, b oracleChoice) int { return slices.Compare(a.key, b.key) })
	}
	return choice, p.fits(n, r, choice.devices)
}

// nodeKey is what a strategy compares nodes by, lower first.
func (p *oraclePool) nodeKey(n *Node, r *Request, c oracleChoice, s placement.Strategy) []int64 {
	if oracleDevices(r.GPU) == 0 {
		return p.cpuKey(n, r, s)
	}
	var wholes, healthy, used, opens int64
	for i, d := range n.Devices {
		if d.Unhealthy {
			continue
		}
		state := p.deviceState(n, i)
		healthy++
		used += state.milli
		if state.whole {
			wholes++
			if slices.Contains(c.devices, i) {
				opens = 1
			}
		}
	}
	switch s {
	case placement.Spread:
		return []int64{oracleLevel(used, 1000*healthy)}
	case placement.First:
		return nil
	case placement.Default, placement.BinPack:
	}
	if r.GPU.Memory == 0 && cmp.Or(r.GPU.Milli, 1000) == 1000 {
		opens = 0 // a whole device is opened everywhere
	}
	idle := int64(0)
	if wholes == healthy {
		idle = 1
	}
	return []int64{opens, idle, wholes}
}

// cpuKey is nodeKey for tasks without GPUs.
func (p *oraclePool) cpuKey(n *Node, r *Request, s placement.Strategy) []int64 {
	withGPUs := int64(0)
	if len(n.Devices) > 0 {
		withGPUs = 1
	}
	level := int64(0)
	for _, name := range p.resources[1:] {
		if r.Resources[name] > 0 {
			capacity := n.Capacity[name] - n.Foreign[name]
			used := p.taken(n, func(t *oracleTask) int64 { return t.request().Resources[name] })
			level = oracleLevel(used, capacity)
			break
		}
	}
	switch s {
	case placement.Spread:
	case placement.First:
		level = 0
	case placement.Default, placement.BinPack:
		level = -level
	}
	return []int64{withGPUs, level}
}

// oracleLevel is a load in 63 steps, rounded up.
func oracleLevel(used, capacity int64) int64 {
	if capacity <= 0 {
		return 63
	}
	return min(63, (63*used+capacity-1)/capacity)
}

// An oracleStart is a unit that started in this solve.
type oracleStart struct {
	action int
	work   *oracleWork
	unit   []int
	tasks  []*oracleTask
}

// startReplacing starts the first unit within the lines that fits if at most three
// starts of this solve are placed anew: fewer first, then the later (M9).
func (p *oraclePool) startReplacing(w *oracleWork) bool {
	if !p.within {
		return false
	}
	kind, units := Resize, w.extras()
	if w.stage() == queue.BelowMinimum {
		kind, units = Start, [][]int{w.unit()}
	}
	for _, unit := range units {
		if !p.admits(w, unit) || !p.withinLines(w, unit) {
			continue
		}
		for size := 1; size <= 3; size++ {
			if p.replaceSome(w, unit, kind, nil, len(p.starts)-1, size) {
				return true
			}
		}
	}
	return false
}

// replaceSome tries the sets with so many more of the starts up to last.
func (p *oraclePool) replaceSome(w *oracleWork, unit []int, kind ActionKind, set []*oracleStart, last, more int) bool {
	if more == 0 {
		largest := slices.Clone(set)
		slices.SortStableFunc(largest, func(a, b *oracleStart) int {
			return cmp.Compare(p.unitCharge(b.work, b.unit, GPU), p.unitCharge(a.work, a.unit, GPU))
		})
		return p.replaceThese(w, unit, kind, set) || p.replaceThese(w, unit, kind, largest)
	}
	for at := last; at >= 0; at-- {
		if one := p.starts[at]; one.work != w && p.replaceSome(w, unit, kind, append([]*oracleStart{one}, set...), at-1, more-1) {
			return true
		}
	}
	return false
}

// replaceThese starts the unit if the starts then find places too, in their order.
func (p *oraclePool) replaceThese(w *oracleWork, unit []int, kind ActionKind, set []*oracleStart) bool {
	before := make(map[*oracleWork][]*oracleTask)
	for _, one := range append([]*oracleStart{{work: w}}, set...) {
		if _, known := before[one.work]; !known {
			before[one.work] = slices.Clone(one.work.tasks)
		}
		one.work.tasks = slices.DeleteFunc(slices.Clone(one.work.tasks), func(t *oracleTask) bool { return slices.Contains(one.tasks, t) })
	}
	p.claiming = w.leaving()
	added := p.place(w, unit)
	p.claiming = false
	if w.leaving() {
		p.claimTogether(w, added)
	}
	fits := added != nil
	anew := make([][]*oracleTask, len(set))
	for i, one := range set {
		if fits {
			anew[i] = p.placeAgain(one)
			fits = anew[i] != nil
		}
	}
	if !fits {
		for work, tasks := range before { // each is put back by itself
			work.tasks = tasks
		}
		return false
	}
	for i, one := range set {
		all := p.actions
		p.actions = nil
		p.act(all[one.action].Kind, one.work, anew[i])
		all[one.action] = p.actions[0]
		p.actions, one.tasks = all, anew[i]
	}
	p.begin(kind, w, unit, added)
	p.features["replaced"] = true
	return true
}

// placeAgain places a start anew; what claimed may claim again.
func (p *oraclePool) placeAgain(one *oracleStart) []*oracleTask {
	if !slices.ContainsFunc(one.tasks, func(t *oracleTask) bool { return t.phase == Claimed }) {
		return p.place(one.work, one.unit)
	}
	p.claiming = true
	added := p.place(one.work, one.unit)
	p.claiming = false
	p.claimTogether(one.work, added)
	return added
}

// begin notes a start.
func (p *oraclePool) begin(kind ActionKind, w *oracleWork, unit []int, added []*oracleTask) {
	p.act(kind, w, added)
	p.starts = append(p.starts, &oracleStart{len(p.actions) - 1, w, unit, added})
}

// P8 as it is told: what fits one node goes to one, and what is larger to whole idle nodes
// of one size, the largest that divides it.

// An oracleFit is a node with how many tasks of a set it takes, and whether so many
// fill it while nothing else is on its devices.
type oracleFit struct {
	node  *Node
	takes int
	idle  bool
}

// fitted says whether P8 says where n tasks go.
func (p *oraclePool) fitted(r *Request, n int) bool {
	return p.policy.Fitting != gang.AnyNodes && n > 1 && oracleDevices(r.GPU) > 0 && r.GPU.Memory == 0 && cmp.Or(r.GPU.Milli, 1000) == 1000
}

// hold gives the next task of a set a place.
func (w *oracleWork) hold(set int, spot oracleSpot) *oracleTask {
	t := &oracleTask{work: w, set: set, index: w.freeIndex(set), node: spot.node, devices: spot.devices}
	w.tasks = append(w.tasks, t)
	return t
}

// fit places n tasks of a set by P8, or none.
func (p *oraclePool) fit(w *oracleWork, set, n int, s placement.Strategy) (added []*oracleTask) {
	for _, one := range oracleChosen(p.fitsOf(w, set, n, s), n, s, p.policy.Fitting) {
		added = append(added, p.fill(w, set, one.node, min(n-len(added), one.takes), s)...)
	}
	return added
}

// fitsOf is how many of n tasks of a set, or more, each node takes.
func (p *oraclePool) fitsOf(w *oracleWork, set, n int, s placement.Strategy) (fits []oracleFit) {
	for _, node := range p.nodes {
		tasks := p.fill(w, set, node, n+64, s)
		w.tasks = w.tasks[:len(w.tasks)-len(tasks)]
		idle := len(tasks) > 0 && p.fills(node, len(tasks)*oracleDevices(w.source.PodSets[set].Request.GPU))
		fits = append(fits, oracleFit{node, len(tasks), idle})
	}
	return fits
}

// fill places up to n tasks of a set on a node.
func (p *oraclePool) fill(w *oracleWork, set int, node *Node, n int, s placement.Strategy) (tasks []*oracleTask) {
	for len(tasks) < n {
		choice, ok := p.findOn(w.queue, node, &w.source.PodSets[set].Request, s)
		if !ok {
			break
		}
		tasks = append(tasks, w.hold(set, oracleSpot{node, choice.devices}))
	}
	return tasks
}

// fills says whether nobody uses the node's devices, of which there are so many.
func (p *oraclePool) fills(n *Node, devices int) bool {
	healthy := 0
	for i, d := range n.Devices {
		if d.Unhealthy {
			continue
		}
		healthy++
		if !p.deviceState(n, i).whole {
			return false
		}
	}
	return healthy == devices
}

// oracleChosen are the nodes that n tasks go to: one that takes all, the fullest, the
// emptiest or the first; else idle ones of one size, else of several if nothing remains.
func oracleChosen(fits []oracleFit, n int, s placement.Strategy, fitting gang.Fitting) []oracleFit {
	var single, idle []oracleFit
	for _, one := range fits {
		if one.takes >= n {
			single = append(single, one)
		}
		if one.idle {
			idle = append(idle, one)
		}
	}
	largestFirst := func(a, b oracleFit) int { return cmp.Compare(b.takes, a.takes) }
	if len(single) > 0 {
		switch s {
		case placement.Spread:
			slices.SortStableFunc(single, largestFirst)
		case placement.First:
		default:
			slices.SortStableFunc(single, func(a, b oracleFit) int { return cmp.Compare(a.takes, b.takes) })
		}
		return single[:1]
	}
	for size := n; size > 0; size-- {
		alike := slices.DeleteFunc(slices.Clone(idle), func(one oracleFit) bool { return one.takes != size })
		if n%size == 0 && len(alike) >= n/size {
			return alike[:n/size]
		}
	}
	if fitting != gang.MixedWholeNodes {
		return nil
	}
	var chosen []oracleFit
	slices.SortStableFunc(idle, largestFirst)
	for _, one := range idle {
		if one.takes <= n {
			chosen = append(chosen, one)
			n -= one.takes
		}
	}
	if n > 0 {
		return nil
	}
	return chosen
}

// fitsNowhere says that P8 finds no nodes for a unit where all are empty, neither with the
// devices that are unhealthy now nor without.
func (p *oraclePool) fitsNowhere(w *oracleWork, unit []int) bool {
	for _, mended := range []bool{true, false} {
		empty := &oraclePool{policy: p.policy, resources: p.resources, features: make(map[string]bool)}
		for _, n := range p.nodes {
			bare := oracleBare(n)
			for i := range bare.Devices {
				bare.Devices[i].Unhealthy = n.Devices[i].Unhealthy && !mended
			}
			empty.nodes = append(empty.nodes, bare)
		}
		alone := &oracleWork{source: w.source, queue: w.queue}
		empty.work = []*oracleWork{alone}
		if empty.place(alone, unit) != nil || empty.fitsBeside(alone, unit) {
			return false
		}
	}
	return true
}

// fitsBeside says whether each set for which P8 speaks would fill some of the empty
// nodes, all others in use: every choice of nodes is tried.
func (p *oraclePool) fitsBeside(w *oracleWork, unit []int) (beside bool) {
	for set, n := range unit {
		r := &w.source.PodSets[set].Request
		if p.policy.Fitting != gang.MixedWholeNodes || !p.fitted(r, n) {
			continue
		}
		fits, fills := p.fitsOf(w, set, n, placement.First), false
		for chosen := range 1 << len(p.nodes) {
			sum := 0
			for i := range p.nodes {
				if chosen>>i&1 == 1 && fits[i].idle {
					sum += fits[i].takes
				}
			}
			fills = fills || sum == n
		}
		if !fills && !slices.ContainsFunc(fits, func(one oracleFit) bool { return one.takes >= n }) {
			return false
		}
		beside = true
	}
	return beside
}
