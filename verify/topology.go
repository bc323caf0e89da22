package verify

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// A verifiedScope is what a constraint is about: a pod set, a group or the whole of
// a form (T2), or the slices of one size of a pod set (T3).
type verifiedScope struct {
	what  string
	level string
	sets  []int // pod sets inside
	size  int   // of a slice; 0 where all tasks share a domain
}

// A sharedDomain says which tasks of a workload must share a domain: those of a
// scope or, of slices, those of the slice of that number.
type sharedDomain struct{ scope, slice int }

// A domainTaken is the domain of a node, in which tasks that share one are since an
// action; −1 is since before the plan.
type domainTaken struct {
	node *verifiedNode
	by   int
}

// scopes are what the form asks of the topology.
func (f *verifiedForm) scopes() []verifiedScope {
	if f.scoped == nil {
		f.scoped = f.readScopes()
	}
	return f.scoped
}

// readScopes lists what the form asks of the topology.
func (f *verifiedForm) readScopes() (list []verifiedScope) {
	add := func(what, level string, size int, sets ...int) {
		if level != "" {
			list = append(list, verifiedScope{what, level, sets, size})
		}
	}
	inside := make(map[string][]int) // pod sets by group; those of the whole by ""
	parents := make(map[string]string, len(f.Groups))
	for _, g := range f.Groups {
		parents[g.Name] = g.Parent
	}
	for i := range f.PodSets {
		ps := &f.PodSets[i]
		add("pod set "+ps.Name, ps.Topology.Required, 0, i)
		for _, slice := range ps.Topology.Slices {
			add("a slice of pod set "+ps.Name, slice.Level, slice.Size, i)
		}
		for group := ps.Group; group != ""; group = parents[group] {
			inside[group] = append(inside[group], i)
		}
		inside[""] = append(inside[""], i)
	}
	for _, g := range f.Groups {
		add("group "+g.Name, g.Topology.Required, 0, inside[g.Name]...)
	}
	add("the workload", f.Topology.Required, 0, inside[""]...)
	return list
}

// asksTogether says whether anything below could be wrong with the form's places.
func (f *verifiedForm) asksTogether() bool {
	return f.Topology.Required != "" || f.queue.pool.policy.Fitting != gang.AnyNodes ||
		slices.ContainsFunc(f.Groups, func(g allot.Group) bool { return g.Topology.Required != "" }) ||
		slices.ContainsFunc(f.PodSets, func(ps allot.PodSet) bool {
			return ps.Topology.Required != "" || len(ps.Topology.Slices) > 0 || ps.Request.GPU.Island != placement.AnyIsland
		})
}

// together checks, after an action has given tasks places, that those are lawful
// by what the workload asks of the topology. What had its place before is only
// what they have to join (T6): what was wrong with it alone stays untold.
func (v *verifier) together(i int, a *allot.Action) {
	w := v.workloads[a.Workload]
	switch a.Kind { // what has left others need not join any more
	case allot.Move:
		clear(v.domains) // all that move leave with the first
	case allot.Evict, allot.Shrink, allot.Displace, allot.Unclaim:
		delete(v.domains, w)
	case allot.Start, allot.Resize:
	}
	if w == nil || w.places == 0 || w.form != a.Form || !w.forms[w.form].asksTogether() {
		return
	}
	fresh := v.newlyPlaced(i, a, w)
	if len(fresh) == 0 {
		return
	}
	f := &w.forms[w.form]
	if v.domains[w] == nil {
		v.domains[w] = make(map[sharedDomain]domainTaken)
	}
	isNew, sets := make(map[taskName]bool, len(fresh)), make([]int, len(fresh))
	for k, t := range fresh {
		v.inIsland(t)
		isNew[t.name], sets[k] = true, f.set(t.name.podSet)
	}
	if a.Kind != allot.Move || !w.inUnits(a) { // units that move in one action were each placed alone
		v.wholeNodes(spot{i, -1}, w, fresh)
	}
	for k, scope := range f.scopes() {
		for n, t := range fresh {
			if slices.Contains(scope.sets, sets[n]) {
				shared := sharedDomain{scope: k}
				if scope.size > 0 {
					shared.slice = t.name.index / scope.size
				}
				v.joins(w, t, &scope, shared, isNew)
			}
		}
	}
}

// newlyPlaced are the tasks that the action has given a place that they did not
// have or claim before.
func (v *verifier) newlyPlaced(i int, a *allot.Action, w *verifiedWorkload) (fresh []plannedTask) {
	if a.Kind != allot.Start && a.Kind != allot.Resize && a.Kind != allot.Move {
		return nil
	}
	claims := make(map[taskName]verifiedTask)
	if a.Kind == allot.Start {
		for _, t := range w.source.Tasks {
			if t.Phase != allot.Claimed {
				continue
			}
			claims[taskName{a.Workload, t.PodSet, t.Index}] = verifiedTask{t.Phase, t.Node, t.Devices}
		}
	}
	f := &w.forms[w.form]
	for k, place := range a.Tasks {
		name := taskName{a.Workload, place.PodSet, place.Index}
		has, claim := v.tasks[name], claims[name]
		set := f.set(place.PodSet)
		switch {
		case set < 0 || has.node == "" || has.node != place.Node || !sameDevices(has.devices, place.Devices):
		case claim.node == place.Node && sameDevices(claim.devices, place.Devices):
		default:
			fresh = append(fresh, plannedTask{spot{i, k}, name, &f.PodSets[set].Request, v.nodes[place.Node], place})
		}
	}
	return fresh
}

// joins checks that a new task is in the domain of those that it must share one
// with: those that had their places before, else the first of the new ones.
func (v *verifier) joins(w *verifiedWorkload, t plannedTask, scope *verifiedScope, shared sharedDomain, isNew map[taskName]bool) {
	if !hasLevel(t.node, scope.level) {
		v.failAt(t.at, scope.rule(), "node %q is in no %s, of which %s asks one", t.node.source.ID, scope.level, scope.what)
		return
	}
	domain, known := v.domains[w][shared]
	if !known {
		first, one := v.survivors(w, scope, shared, isNew)
		if !one {
			v.failAt(t.at, ruleSurvivors, "what runs of %s is in no common %s already", scope.what, scope.level)
			return
		}
		domain = domainTaken{cmp.Or(first, t.node), t.at.action}
		if first != nil {
			domain.by = -1
		}
		v.domains[w][shared] = domain
	}
	if v.sameDomain(domain.node, t.node, scope.level) {
		return
	}
	rule := scope.rule()
	if domain.by != t.at.action {
		rule = ruleSurvivors
	}
	v.failAt(t.at, rule, "node %q is not in the %s of node %q, as %s asks",
		t.node.source.ID, scope.level, domain.node.source.ID, scope.what)
}

func (s *verifiedScope) rule() string {
	if s.size > 0 {
		return ruleSlice
	}
	return ruleTopology
}

// survivors is a node of the tasks that share a domain and are not new, nil if
// there are none; false if they do not share one.
func (v *verifier) survivors(w *verifiedWorkload, scope *verifiedScope, shared sharedDomain, isNew map[taskName]bool) (first *verifiedNode, one bool) {
	for _, set := range scope.sets {
		ps := &w.forms[w.form].PodSets[set]
		from, to := 0, ps.Count
		if scope.size > 0 {
			from, to = shared.slice*scope.size, min(to, (shared.slice+1)*scope.size)
		}
		for index := from; index < to; index++ {
			name := taskName{w.source.ID, ps.Name, index}
			task, held := v.tasks[name]
			node := v.nodes[task.node]
			if !held || isNew[name] || node.pool != w.forms[w.form].queue.pool { // which pins nothing (S7)
				continue
			}
			if first == nil {
				first = node
			}
			if !hasLevel(node, scope.level) || !v.sameDomain(first, node, scope.level) {
				return first, false
			}
		}
	}
	return first, true
}

// hasLevel says whether the node is in a domain of the level: one that lacks it
// is in none, not even in one with others that lack it (T1).
func hasLevel(n *verifiedNode, level string) bool {
	return level == allot.NodeLevel || n.source.Domains[level] != ""
}

// sameDomain says whether two nodes are in one domain of a level: they have it,
// and its name and those of all wider levels are the same, or lacking in both.
func (v *verifier) sameDomain(a, b *verifiedNode, level string) bool {
	if level == allot.NodeLevel {
		return a == b
	}
	for _, l := range v.state.Levels {
		name := a.source.Domains[l.Name]
		if name != b.source.Domains[l.Name] {
			return false
		}
		if l.Name == level {
			return name != ""
		}
	}
	return false
}

// wholeNodes checks, where the policy fits gangs to nodes (P8), that the new tasks
// of a pod set stand on one node, or on nodes that they fill, of one size unless
// sizes may be mixed; alone or with all of the set that it has already.
// Of tasks that share devices or have none it says nothing.
func (v *verifier) wholeNodes(at spot, w *verifiedWorkload, fresh []plannedTask) {
	for len(fresh) > 0 {
		set, n := fresh[0].name.podSet, 1 // an action's tasks are by pod set
		for n < len(fresh) && fresh[n].name.podSet == set {
			n++
		}
		v.wholeNodesOf(at, w, fresh[:n])
		fresh = fresh[n:]
	}
}

// hasTopology says whether the form has a constraint of its own, by which it goes
// instead of by P8.
func (f *verifiedForm) hasTopology() bool {
	some := func(t *allot.Topology) bool { return t.Preferred != "" || t.Required != "" || len(t.Slices) > 0 }
	return some(&f.Topology) || slices.ContainsFunc(f.Groups, func(g allot.Group) bool { return some(&g.Topology) }) ||
		slices.ContainsFunc(f.PodSets, func(ps allot.PodSet) bool { return some(&ps.Topology) })
}

func (v *verifier) wholeNodesOf(at spot, w *verifiedWorkload, fresh []plannedTask) {
	f := &w.forms[w.form]
	fitting := f.queue.pool.policy.Fitting
	if fitting == gang.AnyNodes || f.hasTopology() || slices.ContainsFunc(fresh, func(t plannedTask) bool { return !t.wholeDevices() }) {
		return
	}
	problem := notWhole(fresh, fitting)
	if problem != "" { // a workload that gets what it lacked may have been placed anew with the rest, which came to where it was
		problem = notWhole(allOfSet(v, w, &fresh[0]), fitting)
	}
	if problem != "" {
		v.failAt(at, ruleFitting, "%q takes %s", w.source.ID, problem)
	}
}

// wholeDevices says whether the task has devices, and shares none.
func (t *plannedTask) wholeDevices() bool {
	g := t.request.GPU
	return deviceCount(g) != 0 && g.Memory == 0 && cmp.Or(g.Milli, milliPerDevice) == milliPerDevice
}

// allOfSet are the tasks of a pod set that hold or claim a place now, one of which is told.
func allOfSet(v *verifier, w *verifiedWorkload, one *plannedTask) (all []plannedTask) {
	for index := range w.forms[w.form].PodSets[w.forms[w.form].set(one.name.podSet)].Count {
		name := taskName{one.name.workload, one.name.podSet, index}
		if has := v.tasks[name]; has.node != "" {
			all = append(all, plannedTask{one.at, name, one.request, v.nodes[has.node],
				allot.Placement{PodSet: one.name.podSet, Index: index, Node: has.node, Devices: has.devices}})
		}
	}
	return all
}

// notWhole says what is wrong with where tasks of whole devices are, if they are on several
// nodes.
func notWhole(tasks []plannedTask, fitting gang.Fitting) (problem string) {
	uses := make(map[*verifiedNode]int)
	var nodes []*verifiedNode
	for _, t := range tasks {
		if uses[t.node] == 0 {
			nodes = append(nodes, t.node)
		}
		uses[t.node] += len(t.place.Devices)
	}
	if len(nodes) < 2 {
		return ""
	}
	first := nodes[0].size()
	for _, n := range nodes {
		switch size := n.size(); {
		case uses[n] != size:
			return fmt.Sprintf("%d of the %d devices of node %q and more elsewhere", uses[n], size, n.source.ID)
		case size != first && fitting == gang.WholeNodes:
			return fmt.Sprintf("nodes of %d and of %d devices", first, size)
		}
	}
	return ""
}

// size is how many devices of the node can be used.
func (n *verifiedNode) size() (size int) {
	for i := range n.source.Devices {
		if !n.source.Devices[i].Unhealthy {
			size++
		}
	}
	return size
}

// inIsland checks that every two devices of a task are joined as tightly as it
// requires (T4).
func (v *verifier) inIsland(t plannedTask) {
	if a, b, apart := t.node.apart(t.request, t.place.Devices); apart {
		v.failAt(t.at, ruleIsland, "devices %d and %d of node %q are joined by %v, %v required",
			min(a, b), max(a, b), t.node.source.ID, t.node.joined(a, b), t.request.GPU.Island)
	}
}

// apart finds two devices of a task that are not joined as tightly as it requires,
// if there are any.
func (n *verifiedNode) apart(r *allot.Request, devices []int) (a, b int, some bool) {
	for i, a := range devices {
		for _, b := range devices[:i] {
			if r.GPU.Island != placement.AnyIsland && n.near(r.GPU.Island)[a]&(1<<b) == 0 {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

// joined is the tightest island that two devices of the node have in common: by
// what the node says of them, else by what its hardware is known for.
func (n *verifiedNode) joined(a, b int) placement.Island {
	return n.joinedBy(a, b, n.links()[[2]int{min(a, b), max(a, b)}])
}

// links are what the node says of the NVLinks of pairs of devices, the lower first, plus
// one.
func (n *verifiedNode) links() map[[2]int]int {
	said := make(map[[2]int]int, len(n.source.Links))
	for _, l := range n.source.Links {
		said[[2]int{min(l.A, l.B), max(l.A, l.B)}] = l.NVLinks + 1
	}
	return said
}

// joinedBy is joined by what the node says of their links, plus one; 0 where it says nothing.
func (n *verifiedNode) joinedBy(a, b, said int) placement.Island {
	hardware, _ := placement.HardwareNamed(n.source.Hardware)
	links := int(hardware.NVLinks(a, b))
	if said > 0 {
		links = said - 1
	}
	x, y := &n.source.Devices[a], &n.source.Devices[b]
	same := func(x, y int, ofX, ofY int32) bool {
		x, y = cmp.Or(x, int(ofX)), cmp.Or(y, int(ofY))
		return x != 0 && x == y
	}
	switch {
	case links > 0:
		return placement.NVLinkIsland
	case same(x.Switch, y.Switch, hardware.Switch(a), hardware.Switch(b)):
		return placement.SwitchIsland
	case same(x.Socket, y.Socket, hardware.Socket(a), hardware.Socket(b)):
		return placement.SocketIsland
	}
	return placement.AnyIsland
}
