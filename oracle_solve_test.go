package allot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// The decision as the rules S, Q, O and G tell it: note what is lost, start the
// claims that can, then one turn after the other until nobody wants one.

// oracleSolve decides every pool of the state.
func oracleSolve(s *State) []*oraclePool {
	pools := oraclePools(s)
	for _, p := range pools {
		p.displace()
		p.startClaims()
		p.divide()
		p.drawLines()
		for started := -1; started < len(p.actions); {
			started = len(p.actions)
			p.within = true
			for before := -1; before < len(p.actions); {
				before = len(p.actions)
				p.pass()
			}
			p.within = false
			p.pass()
		}
	}
	return pools
}

// pass gives everybody a turn. It is repeated until it changes nothing; what is
// beyond its lines has its turn when nothing within them changes any more, but
// for strict orders, in which nobody waits for those behind (M9).
func (p *oraclePool) pass() {
	for _, w := range p.work {
		w.gaveUp = false
	}
	if p.policy.CPUOnlyApart {
		p.turnsApart()
		p.turns(func(w *oracleWork) bool { return !w.cpuOnly() })
		return
	}
	p.turns(func(*oracleWork) bool { return true })
}

// displace takes away what lost its place: what was on lost nodes and devices
// (S7), then, the first by O1 keeping theirs, the claims whose place can no
// longer take them (S4).
func (p *oraclePool) displace() {
	for _, w := range p.work {
		for _, t := range slices.Clone(w.tasks) {
			switch {
			case t.lost() && t.phase == Claimed:
				p.giveUp(Unclaim, t)
			case t.lost():
				p.giveUp(Displace, t)
			}
		}
	}
	var kept []*oracleTask
	for _, w := range p.byAge() {
		for _, t := range slices.Clone(w.tasks) {
			if t.phase != Claimed {
				continue
			}
			kept = append(kept, t)
			if !p.accepts(w.queue, t.node, t.request()) || !oracleAccepted(t) || p.overbooked(t, kept) {
				kept = kept[:len(kept)-1]
				p.giveUp(Unclaim, t)
			}
		}
	}
	for _, w := range p.work {
		claims := w.claims()
		if w.stage() == queue.BelowMinimum {
			for _, t := range claims {
				p.giveUp(Unclaim, t) // the others would wait for nothing
			}
		}
	}
}

// claims are the workload's claimed tasks.
func (w *oracleWork) claims() (claims []*oracleTask) {
	for _, t := range w.tasks {
		if t.phase == Claimed {
			claims = append(claims, t)
		}
	}
	return claims
}

// giveUp takes a task's place away.
func (p *oraclePool) giveUp(kind ActionKind, lost *oracleTask) {
	w := lost.work
	p.act(kind, w, []*oracleTask{lost})
	w.tasks = slices.DeleteFunc(w.tasks, func(t *oracleTask) bool { return t == lost })
}

// byAge are the workloads by O1, whatever they hold.
func (p *oraclePool) byAge() []*oracleWork {
	work := slices.Clone(p.work)
	slices.SortFunc(work, func(a, b *oracleWork) int { return cmp.Or(cmp.Compare(b.priority, a.priority), a.age(b)) })
	return work
}

// lost says that a task's node or device is gone.
func (t *oracleTask) lost() bool {
	return t.node.Lost ||
		slices.ContainsFunc(t.devices, func(d int) bool { return t.node.Devices[d].Unhealthy })
}

// act notes an action. Its tasks come by pod set, then by index.
func (p *oraclePool) act(kind ActionKind, w *oracleWork, tasks []*oracleTask) {
	a := Action{Kind: kind, Workload: w.source.ID, Queue: w.queue.id}
	slices.SortFunc(tasks, func(a, b *oracleTask) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.index, b.index))
	})
	for _, t := range tasks {
		a.Tasks = append(a.Tasks, Placement{
			PodSet: w.source.PodSets[t.set].Name, Index: t.index, Node: t.node.ID, Devices: t.devices,
		})
	}
	p.actions = append(p.actions, a)
}

// startClaims starts the claims whose places are free, a gang's only where
// they make it whole (S4, G1).
func (p *oraclePool) startClaims() {
	for _, w := range p.byAge() {
		var free []*oracleTask
		for _, t := range w.tasks {
			if t.phase == Claimed && !w.leaving() && p.placeFree(t) {
				t.phase = Running
				free = append(free, t)
			}
		}
		if len(free) == 0 {
			continue
		}
		if !w.runsMinimum() {
			for _, t := range free {
				t.phase = Claimed
			}
			continue
		}
		p.act(Start, w, free)
		p.features["claim started"] = true
	}
}

// oracleAccepted says whether the task may have such devices (P1).
func oracleAccepted(t *oracleTask) bool {
	g := t.request().GPU
	return !slices.ContainsFunc(t.devices, func(i int) bool {
		d := t.node.Devices[i]
		return len(g.Models) > 0 && !slices.Contains(g.Models, d.Model) || d.Memory < g.MinMemory
	})
}

// overbooked says that what runs in a claim's place and the claims that are kept
// do not fit.
func (p *oraclePool) overbooked(claim *oracleTask, kept []*oracleTask) bool {
	return p.beyond(claim, func(t *oracleTask) bool { return t.phase == Running || slices.Contains(kept, t) })
}

// placeFree says whether a claim's place has come free: with it, what runs and
// what leaves fit (S4).
func (p *oraclePool) placeFree(claim *oracleTask) bool {
	return !p.beyond(claim, func(t *oracleTask) bool { return t.phase != Claimed || t == claim })
}

// beyond says whether the counted tasks take more than there is of something
// that the task asks in its place.
func (p *oraclePool) beyond(task *oracleTask, counted func(*oracleTask) bool) bool {
	for _, thing := range p.things(task.node) {
		free := thing.usable
		for _, w := range p.work {
			for _, t := range w.tasks {
				if t.node == task.node && counted(t) {
					free -= thing.amount(t.request(), t.devices)
				}
			}
		}
		if thing.amount(task.request(), task.devices) > 0 && free < 0 {
			return true
		}
	}
	return false
}

// runsMinimum says whether what runs is the minimum or more.
func (w *oracleWork) runsMinimum() bool {
	for set := range w.source.PodSets {
		running := 0
		for _, t := range w.tasks {
			if t.set == set && t.phase == Running {
				running++
			}
		}
		if running < w.minimum(set) {
			return false
		}
	}
	return true
}

// turns gives turns by O2 to the workloads that take part, until none wants
// one more.
func (p *oraclePool) turns(part func(*oracleWork) bool) {
	p.takeTurns(true, part, func(waits func(*oracleWork) bool) *oracleWork { return p.next(nil, waits) })
}

// turnsApart gives turns to the workloads without GPUs: first in, first out,
// or by priority where the order is by priority (P7).
func (p *oraclePool) turnsApart() {
	p.takeTurns(false, (*oracleWork).cpuOnly, func(waits func(*oracleWork) bool) *oracleWork {
		var best *oracleWork
		for _, w := range p.work {
			if waits(w) && (best == nil || p.beforeApart(w, best)) {
				best = w
			}
		}
		return best
	})
}

func (p *oraclePool) beforeApart(w, x *oracleWork) bool {
	if p.policy.Order == queue.PriorityFirst || p.policy.Order == queue.Global {
		return w.before(x)
	}
	return cmp.Or(cmp.Compare(w.stage(), x.stage()), w.age(x)) < 0
}

// takeTurns gives one turn after the other. What cannot start blocks those
// behind it as the policy says (O4): all of them where it finds no place, those
// of its queue where a bound of its queue refuses it, and nobody where it is
// impossible, not yet submitted or leaving.
func (p *oraclePool) takeTurns(strict bool, part func(*oracleWork) bool, next func(func(*oracleWork) bool) *oracleWork) {
	var stops []oracleStop
	for {
		w := next(func(w *oracleWork) bool { return part(w) && !w.gaveUp && w.wants() })
		if w == nil {
			return
		}
		stopped, inQueue := p.stopped(stops, w)
		if !stopped && (!w.leaving() && (p.start(w) || p.startReplacing(w)) || (w.leaving() || p.policy.ClaimLeaving) && p.claim(w) || w.leaving() && p.startReplacing(w)) {
			continue
		}
		w.gaveUp = true
		how, own := p.queueing(w.queue)
		if !strict || w.runsMinimum() || p.impossible(w) || how == queue.BestEffort {
			continue
		}
		p.features["blocked head"] = true
		refused := !p.admits(w, w.unit())
		one := oracleStop{work: w, how: how}
		if own || how == queue.StrictQueue || refused || inQueue {
			one.queue = w.queue
		}
		if own || !refused || p.strict(w.queue) {
			stops = append(stops, one)
		}
	}
}

// An oracleStop is who cannot start, and where nobody may pass it: in a queue, or, with
// none, in the pool.
type oracleStop struct {
	work  *oracleWork
	queue *oracleQueue
	how   queue.Queueing
}

// queueing is what heads of a queue do (O4), and whether a queue itself says it.
func (p *oraclePool) queueing(q *oracleQueue) (how queue.Queueing, own bool) {
	for _, above := range q.path() {
		if how, said := above.source.Queueing.Queueing(); said {
			return how, true
		}
	}
	return p.policy.Queueing, false
}

func (p *oraclePool) strict(q *oracleQueue) bool {
	how, _ := p.queueing(q)
	return how == queue.StrictQueue || how == queue.StrictPool
}

// stopped says whether somebody may not be passed by the workload, and whether that holds
// in its queue only.
func (p *oraclePool) stopped(stops []oracleStop, w *oracleWork) (stopped, inQueue bool) {
	for _, s := range stops {
		if p.stops(s, w) {
			inQueue = s.queue != nil && (inQueue || !stopped)
			stopped = true
		}
	}
	return stopped, inQueue
}

// stops says whether a workload may not pass another.
func (p *oraclePool) stops(s oracleStop, w *oracleWork) bool {
	if s.work == w || s.queue != nil && s.queue != w.queue || p.policy.BlockAlikeOnly && !p.alike(s.work, w) {
		return false
	}
	return s.how != queue.BackfillPreemptible || w.nonPreemptible && w.priority < s.work.priority
}

// alike says whether some task of the one and some of the other could use the same
// device or, where one of them asks for none, the same node.
func (p *oraclePool) alike(a, b *oracleWork) bool {
	for i := range p.nodes {
		for x := range a.source.PodSets {
			for y := range b.source.PodSets {
				r, s := &a.source.PodSets[x].Request, &b.source.PodSets[y].Request
				here, could := p.servesOn(a.queue, p.nodes[i], r)
				there, also := p.servesOn(b.queue, p.nodes[i], s)
				both := oracleDevices(r.GPU) > 0 && oracleDevices(s.GPU) > 0
				if could && also && (!both || slices.ContainsFunc(here, func(d int) bool { return slices.Contains(there, d) })) {
					return true
				}
			}
		}
	}
	return false
}

// servesOn are the devices that a task could use were the node empty, and whether it
// could stand there.
func (p *oraclePool) servesOn(q *oracleQueue, n *Node, r *Request) (devices []int, could bool) {
	if !p.accepts(q, n, r) {
		return nil, false
	}
	for name, amount := range r.Resources { // all of them: order cannot matter
		if amount > n.Capacity[name]-n.Foreign[name] {
			return nil, false
		}
	}
	if n.MaxTasks > 0 && n.ForeignTasks >= n.MaxTasks {
		return nil, false
	}
	byModel := make(map[string]int)
	for _, d := range n.Devices {
		if oracleServes(d, r.GPU) {
			byModel[d.Model]++
		}
	}
	need := oracleDevices(r.GPU)
	for i, d := range n.Devices {
		if need > 0 && oracleServes(d, r.GPU) && byModel[d.Model] >= need {
			devices = append(devices, i)
		}
	}
	return devices, need == 0 || len(devices) > 0
}

// oracleServes says whether a device would do, were it empty.
func oracleServes(d Device, g GPURequest) bool {
	if d.Unhealthy || len(g.Models) > 0 && !slices.Contains(g.Models, d.Model) || d.Memory < max(g.MinMemory, g.Memory) {
		return false
	}
	if g.Memory > 0 {
		return 1000*g.Memory <= oracleUsable(d)
	}
	return cmp.Or(g.Milli, 1000) <= 1000-d.Foreign
}

// wants says whether the workload takes turns: something of it is pending, and
// it waits neither for tasks to be submitted (G1) nor for its claims (S4); what
// runs at its minimum does not while tasks of its own leave (S5).
func (w *oracleWork) wants() bool {
	if w.source.Ending || w.shortOfTasks() || w.unit() == nil || len(w.claims()) > 0 {
		return false
	}
	if w.runsMinimum() {
		return !w.leaving()
	}
	return w.leaving() || w.stage() == queue.BelowMinimum
}

// impossible says that the workload can never run (X1): it finds no place, or a bound is
// below what must start together.
func (p *oraclePool) impossible(w *oracleWork) bool {
	if w.placeless() {
		return true
	}
	whole := make([]int, len(w.source.PodSets))
	for set := range whole {
		whole[set] = w.minimum(set)
	}
	for _, q := range w.queue.path() {
		for _, r := range p.resources {
			need := p.unitCharge(w, whole, r)
			if need > 0 && (need > p.limit(q, r) || p.needsQuota(w, r) && need > q.quota(r)) {
				return true
			}
		}
		if oracleBound(q.source.MaxWorkloads, oracleNone) < 1 {
			return true
		}
	}
	return false
}

// isPlaceless says that the empty nodes, with nothing in foreign use, take too few of the
// tasks alike that the workload must start together, or of all of them: it asks nothing (F1).
func (p *oraclePool) isPlaceless(w *oracleWork) bool {
	whole := make([]int, len(w.source.PodSets))
	alike := make(map[string]int)
	for set := range whole {
		whole[set] = w.minimum(set)
		alike[oracleRequestText(&w.source.PodSets[set].Request)] += whole[set]
	}
	for set := range whole {
		r := &w.source.PodSets[set].Request
		most := 0
		for _, n := range p.nodes {
			most += p.mostOn(w.queue, oracleBare(n), r)
		}
		if most < alike[oracleRequestText(r)] {
			return true
		}
	}
	if p.policy.Fitting != gang.AnyNodes && slices.ContainsFunc(whole, func(n int) bool { return n > 1 }) && p.fitsNowhere(w, whole) {
		return true
	}
	return p.togetherTooMuch(w, whole)
}

// oracleBare is the node with nothing in the way.
func oracleBare(n *Node) *Node {
	bare := *n
	bare.Cordoned, bare.Foreign, bare.ForeignTasks, bare.Devices = false, nil, 0, slices.Clone(n.Devices)
	for i := range bare.Devices {
		bare.Devices[i].Unhealthy, bare.Devices[i].Foreign = false, 0
	}
	return &bare
}

// togetherTooMuch says whether the sets ask more of something than all nodes have, with
// nothing on them, that would take a task of any of them; or those that could only go
// where one of them could, than is there.
func (p *oraclePool) togetherTooMuch(w *oracleWork, whole []int) bool {
	scopes := make([]map[string]int64, len(whole)) // by set and thing of a node: how much
	union := make(map[string]int64)
	for set, n := range whole {
		scopes[set] = make(map[string]int64)
		for _, node := range p.nodes {
			node = oracleBare(node)
			if n > 0 && p.mostOn(w.queue, node, &w.source.PodSets[set].Request) > 0 {
				p.addVacant(scopes[set], node, &w.source.PodSets[set].Request)
			}
		}
		for thing, amount := range scopes[set] { // into a map: order cannot matter
			union[thing] = amount
		}
	}
	for _, bound := range append(slices.Clone(scopes), union) {
		for _, resource := range p.resources {
			have, need := int64(0), int64(0)
			for thing, amount := range bound { // a sum has no order
				if strings.HasPrefix(thing, resource+"/") {
					have += amount
				}
			}
			for set, n := range whole {
				inside := true
				for thing := range scopes[set] { // all or not: order cannot matter
					_, there := bound[thing]
					inside = inside && (there || resource != GPU && strings.HasPrefix(thing, GPU+"/"))
				}
				if r := &w.source.PodSets[set].Request; inside && (resource != GPU || r.GPU.Memory == 0) {
					need += int64(n) * p.charge(r, resource)
				}
			}
			if len(bound) > 0 && need > have {
				return true
			}
		}
	}
	return false
}

// addVacant adds what an empty node has for tasks of the request: its resources, and the
// devices that would do.
func (p *oraclePool) addVacant(sum map[string]int64, n *Node, r *Request) {
	for _, name := range p.resources[1:] {
		sum[name+"/"+n.ID] = max(0, n.Capacity[name]-n.Foreign[name])
	}
	for i, d := range n.Devices {
		d.Unhealthy = false
		if oracleDevices(r.GPU) == 0 || r.GPU.Memory > 0 && d.Memory == 0 || d.Memory < r.GPU.MinMemory || oracleUsable(d) < oracleUnits(r, d) ||
			len(r.GPU.Models) > 0 && !slices.Contains(r.GPU.Models, d.Model) {
			continue
		}
		sum[GPU+"/"+n.ID+"/"+strconv.Itoa(i)] = 1000 - d.Foreign
	}
}

// needsQuota says whether Q2 holds for the workload.
func (p *oraclePool) needsQuota(w *oracleWork, resource string) bool {
	return w.nonPreemptible && !p.policy.NonPreemptibleOverQuota && p.governed(resource)
}

// mostOn is how many such tasks a node would take if nothing ran on it and
// nothing were cordoned or unhealthy: at most what each thing of it allows.
func (p *oraclePool) mostOn(q *oracleQueue, n *Node, r *Request) int {
	mended := *n
	mended.Cordoned = false
	if !p.accepts(q, &mended, r) {
		return 0
	}
	most := math.MaxInt32
	for _, thing := range p.things(n) {
		if need := thing.amount(r, nil); need > 0 {
			most = min(most, int(max(0, thing.usable)/need))
		}
	}
	if oracleDevices(r.GPU) == 0 {
		return most
	}
	byModel := make(map[string][]int)
	for _, d := range n.Devices {
		d.Unhealthy = false
		if r.GPU.Memory > 0 && d.Memory == 0 || d.Memory < r.GPU.MinMemory ||
			len(r.GPU.Models) > 0 && !slices.Contains(r.GPU.Models, d.Model) {
			continue
		}
		byModel[d.Model] = append(byModel[d.Model], int(oracleUsable(d)/oracleUnits(r, d)))
	}
	sum := 0
	for _, room := range byModel { // a sum has no order
		sum += oracleSpread(room, oracleDevices(r.GPU))
	}
	return min(most, sum)
}

// oracleSpread is how many tasks of so many different devices each there is room
// for on devices with room for so many each.
func oracleSpread(room []int, devices int) (tasks int) {
	for {
		places := 0
		for _, n := range room {
			places += min(n, tasks+1)
		}
		if places < devices*(tasks+1) {
			return tasks
		}
		tasks++
	}
}

// start starts the first unit of the workload that rules admit and nodes take.
func (p *oraclePool) start(w *oracleWork) bool {
	kind, units := Resize, w.extras()
	if w.stage() == queue.BelowMinimum {
		kind, units = Start, [][]int{w.unit()}
	}
	for _, unit := range units {
		if !p.admits(w, unit) || p.within && !p.strict(w.queue) && !p.withinLines(w, unit) {
			continue
		}
		if added := p.place(w, unit); added != nil {
			p.begin(kind, w, unit, added)
			return true
		}
	}
	return false
}

// claim starts the first unit that fits once all that is Terminating has left: its
// tasks claim their places, unless all of them fit beside it and nothing of the
// workload is leaving (S4, S5).
func (p *oraclePool) claim(w *oracleWork) bool {
	before := slices.Clone(w.tasks)
	p.claiming = true
	started := p.start(w)
	p.claiming = false
	if !started {
		return false
	}
	added := slices.DeleteFunc(slices.Clone(w.tasks), func(t *oracleTask) bool { return slices.Contains(before, t) })
	p.claimTogether(w, added)
	return true
}

// claimTogether has what has been added claim its places if any of it has to.
func (p *oraclePool) claimTogether(w *oracleWork, added []*oracleTask) {
	if w.leaving() || slices.ContainsFunc(added, func(t *oracleTask) bool { return !p.placeFree(t) }) {
		p.features["claimed what leaves"] = true
		for _, t := range added {
			t.phase = Claimed
		}
	}
}

// admits is Q2, Q3, Q5 and Q10 for a unit.
func (p *oraclePool) admits(w *oracleWork, unit []int) bool {
	for _, q := range w.queue.path() {
		if !w.holds() && q.runs()+1 > oracleBound(q.source.MaxWorkloads, oracleNone) {
			return false
		}
	}
	for _, r := range p.resources {
		need := p.unitCharge(w, unit, r)
		if need == 0 {
			continue
		}
		for _, q := range w.queue.path() {
			if most := p.limit(q, r); most != oracleNone && p.use(q, r, false)+need > most {
				return false
			}
			if own := q.quota(r); p.needsQuota(w, r) && own != oracleNone && p.use(q, r, true)+need > own {
				return false
			}
		}
		if !p.leavesKept(w.queue, r, need) {
			return false
		}
	}
	return true
}

// leavesKept is Q5: what the queues beside the path keep stays free, except
// that a queue may use what its own path keeps where more is kept than there is.
func (p *oraclePool) leavesKept(q *oracleQueue, resource string, need int64) bool {
	if !p.governed(resource) {
		return true
	}
	free, all, others := p.capacity(resource), int64(0), int64(0)
	for _, top := range p.siblings(nil) {
		free -= p.use(top, resource, false)
		all += p.kept(top, resource)
	}
	for _, on := range q.path() {
		for _, beside := range p.siblings(on.parent) {
			if beside != on {
				others += p.kept(beside, resource)
			}
		}
	}
	return others == 0 || need <= max(free, all)-others
}

// kept is what of the queue's reserve is not in use; an inner queue keeps at
// least what those below it keep (Q5).
func (p *oraclePool) kept(q *oracleQueue, resource string) (sum int64) {
	for _, c := range q.children {
		sum += p.kept(c, resource)
	}
	lend := q.given(resource).LendingLimit
	if !lend.Given() {
		return sum
	}
	own := q.quota(resource)
	if own == oracleNone {
		own = max(0, p.capacity(resource))
	}
	return max(sum, max(0, own-lend.Amount())-p.use(q, resource, false))
}

// place finds a place for every task of the unit or for none (G1, G4). Tasks
// are placed hardest first, kinds of tasks alike together; a kind that finds
// no place goes to the front, until the same order would come again.
func (p *oraclePool) place(w *oracleWork, unit []int) []*oracleTask {
	order := p.placingOrder(w, unit)
	seen := make(map[string]bool)
	for range 8 {
		seen[fmt.Sprint(order)] = true
		added, failed := p.placeInOrder(w, unit, order)
		if failed < 0 {
			return added
		}
		if failed == 0 {
			return nil
		}
		kind := order[failed]
		order = slices.Insert(slices.Delete(slices.Clone(order), failed, failed+1), 0, kind)
		if seen[fmt.Sprint(order)] {
			return nil
		}
	}
	return nil
}

// placingOrder groups the sets of a unit by what their tasks ask, hardest
// first: more devices, then larger amounts of the first resource in which two
// differ, then as listed.
func (p *oraclePool) placingOrder(w *oracleWork, unit []int) (kinds [][]int) {
	sets := w.source.PodSets
	var order []int
	for set, n := range unit {
		if n > 0 {
			order = append(order, set)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := cmp.Compare(oracleDevices(sets[b].Request.GPU), oracleDevices(sets[a].Request.GPU)); c != 0 {
			return c
		}
		for _, r := range p.resources {
			if c := cmp.Compare(p.setCharge(w, b, r), p.setCharge(w, a, r)); c != 0 {
				return c
			}
		}
		return 0
	})
	byText := make(map[string]int)
	for _, set := range order {
		text := oracleRequestText(&sets[set].Request)
		if i, ok := byText[text]; ok {
			kinds[i] = append(kinds[i], set)
			continue
		}
		byText[text] = len(kinds)
		kinds = append(kinds, []int{set})
	}
	return kinds
}

// oracleRequestText is the same for requests that ask the same.
func oracleRequestText(r *Request) string {
	g := r.GPU
	g.Count = oracleDevices(g)
	if g.Milli == 1000 {
		g.Milli = 0
	}
	models := slices.Clone(g.Models)
	slices.Sort(models)
	g.Models = models
	return fmt.Sprint(g, r.Resources, r.Selector, r.Tolerations) // fmt sorts the keys of maps
}

// placeInOrder places kind by kind; failed is the kind that found no place.
func (p *oraclePool) placeInOrder(w *oracleWork, unit []int, kinds [][]int) (added []*oracleTask, failed int) {
	before := slices.Clone(w.tasks)
	for i, kind := range kinds {
		for _, set := range kind {
			if r := &w.source.PodSets[set].Request; p.fitted(r, unit[set]) {
				all := p.fit(w, set, unit[set], p.strategy(w, r))
				if all == nil {
					w.tasks = before
					return nil, i
				}
				added = append(added, all...)
				continue
			}
			for range unit[set] {
				r := &w.source.PodSets[set].Request
				spot, ok := p.find(w.queue, r, p.strategy(w, r))
				if !ok {
					w.tasks = before
					return nil, i
				}
				added = append(added, w.hold(set, spot))
			}
		}
	}
	return added, -1
}

// freeIndex is the lowest index of a set that holds no place, or is leaving it.
func (w *oracleWork) freeIndex(set int) int {
	for index := 0; ; index++ {
		if !slices.ContainsFunc(w.tasks, func(t *oracleTask) bool { return t.set == set && t.index == index && t.phase != Terminating }) {
			return index
		}
	}
}

// strategy is the workload's own, else the policy's for such tasks (P3).
func (p *oraclePool) strategy(w *oracleWork, r *Request) placement.Strategy {
	if w.source.Strategy != placement.Default {
		return w.source.Strategy
	}
	if oracleDevices(r.GPU) > 0 {
		return p.policy.GPUStrategy
	}
	return p.policy.CPUStrategy
}
