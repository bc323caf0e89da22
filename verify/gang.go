package verify

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

// A before is what a workload held before an action.
type before struct {
	counts []verifiedCounts
	active int
}

// snapshot remembers what w holds of a form.
func (w *verifiedWorkload) snapshot(form int) before {
	b := before{counts: make([]verifiedCounts, len(w.forms[form].PodSets)), active: w.active}
	if w.places > 0 {
		copy(b.counts, w.counts)
	}
	return b
}

// runningTasks and heldTasks say which tasks count towards a minimum.
func runningTasks(c verifiedCounts) int { return c.running }
func heldTasks(c verifiedCounts) int    { return c.running + c.claimed }

// A gangNode is a pod set, a group or, at the root, the whole of a form.
type gangNode struct {
	set      int // pod set, −1 in a group
	need     int // tasks, or children at their minimum (G3)
	ladder   []int
	children []*gangNode
}

// ladderOf are the numbers of tasks that a pod set may hold where it halves,
// ascending (L1); nil where it goes by one. Half of what it may have and half
// of what is submitted both count.
func ladderOf(ps *allot.PodSet) (ladder []int) {
	if ps.Step != gang.Halving {
		return nil
	}
	submitted := ps.Count - ps.Missing
	for _, all := range [...]int{ps.Count, submitted} {
		for n := all; n > 0 && n >= cmp.Or(ps.Min, ps.Count); n /= 2 {
			if n <= submitted {
				ladder = append(ladder, n)
			}
		}
	}
	slices.Sort(ladder)
	return slices.Compact(ladder)
}

// lowestOf is the least that a pod set starts with: its minimum or the lowest of
// the ladder that all its tasks make.
func lowestOf(ps *allot.PodSet) int {
	all := *ps
	all.Missing = 0
	if ladder := ladderOf(&all); len(ladder) > 0 {
		return ladder[0]
	}
	return cmp.Or(ps.Min, ps.Count)
}

// belowLadder says whether w holds its minimum and less than the lowest of its
// ladder: it has lost tasks since it started. It may wait for them, or do
// without (L1 leaves it open).
func (w *verifiedWorkload) belowLadder() bool {
	if w.places == 0 {
		return false
	}
	ps := &w.forms[w.form].PodSets[0]
	return ps.Step == gang.Halving && heldTasks(w.counts[0]) >= cmp.Or(ps.Min, ps.Count) && w.counts[0].running < lowestOf(ps)
}

// tree is the tree of the form's groups.
func (f *verifiedForm) tree() *gangNode {
	if f.root == nil {
		f.root = f.readTree()
	}
	return f.root
}

// readTree reads the groups of a form; groups on a cycle would not be in it.
func (f *verifiedForm) readTree() *gangNode {
	nodes := make([]gangNode, 1+len(f.PodSets)) // the root, then the pod sets
	root := &nodes[0]
	root.set, root.children = -1, make([]*gangNode, 0, len(f.PodSets))
	groups := make(map[string]*gangNode, len(f.Groups))
	for _, g := range f.Groups {
		groups[g.Name] = &gangNode{set: -1, need: g.Min}
	}
	around := func(name string) *gangNode {
		if g := groups[name]; name != "" && g != nil {
			return g
		}
		return root
	}
	for i, ps := range f.PodSets {
		parent := around(ps.Group)
		nodes[1+i] = gangNode{set: i, need: cmp.Or(ps.Min, ps.Count), ladder: ladderOf(&ps)}
		parent.children = append(parent.children, &nodes[1+i])
	}
	for _, g := range f.Groups {
		parent := around(g.Parent)
		parent.children = append(parent.children, groups[g.Name])
	}
	for _, g := range f.Groups {
		node := groups[g.Name]
		node.need = cmp.Or(node.need, len(node.children))
	}
	root.need = len(root.children)
	return root
}

// reached says whether the node is at its minimum with the counts (G1, G3).
func (n *gangNode) reached(counts []verifiedCounts, of func(verifiedCounts) int) bool {
	if n.set >= 0 {
		return of(counts[n.set]) >= n.need
	}
	have := 0
	for _, child := range n.children {
		if child.reached(counts, of) {
			have++
		}
	}
	return have >= n.need
}

// inUnits says whether each child of the node, as far down as it goes, is at its minimum or holds
// nothing: a part of a child stands no more than a part of a minimum (G3, M6).
func (n *gangNode) inUnits(counts []verifiedCounts) bool {
	if !n.reached(counts, heldTasks) {
		return !n.grew(make([]verifiedCounts, len(counts)), counts)
	}
	return !slices.ContainsFunc(n.children, func(child *gangNode) bool { return !child.inUnits(counts) })
}

// waitsToStart says whether nothing of a workload has a place after the plan, or less than its minimum does, which waits
// for what completes it (G1).
func (w *verifiedWorkload) waitsToStart() bool { return w.active == 0 || !w.atMinimum(heldTasks) }

// atMinimum says whether those tasks of w are at the minimum of its form.
func (w *verifiedWorkload) atMinimum(of func(verifiedCounts) int) bool {
	if w.places == 0 {
		return w.forms[0].tree().reached(make([]verifiedCounts, len(w.forms[0].PodSets)), of)
	}
	return w.forms[w.form].tree().reached(w.counts, of)
}

// goesOn says whether an action starts all that has begun of what w claims, and nothing else: what is left of a gang
// goes on where it moves, whatever else is claimed to complete it (M10).
func goesOn(v *verifier, w *verifiedWorkload, a *allot.Action) bool {
	return !slices.ContainsFunc(w.source.Tasks, func(t allot.Task) bool {
		if t.Phase != allot.Claimed {
			return false
		}
		starts := slices.ContainsFunc(a.Tasks, func(p allot.Placement) bool { return p.PodSet == t.PodSet && p.Index == t.Index })
		waits := v.tasks[taskName{w.source.ID, t.PodSet, t.Index}].phase == allot.Claimed
		return starts && !hasBegun(&t) || waits && hasBegun(&t)
	})
}

// whole checks that a Start or Resize took a lawful number of new tasks: for a
// Start exactly what was missing to the minimum, for a Resize one unit. What
// runs afterwards is at its minimum either way.
func (v *verifier) whole(at spot, a *allot.Action, w *verifiedWorkload, before before, fresh int) {
	f := &w.forms[a.Form]
	root, rule, unit := f.tree(), ruleGang, ruleUnit
	if ladderOf(&f.PodSets[0]) != nil {
		unit = ruleLadder
	}
	if len(f.Groups) > 0 {
		rule = ruleGroup
	}
	if !root.reached(w.counts, runningTasks) && (fresh > 0 || !goesOn(v, w, a)) {
		v.failAt(at, rule, "%q runs below its minimum", a.Workload)
		return
	}
	atMinimum := root.reached(before.counts, heldTasks)
	switch {
	case a.Kind == allot.Resize && !atMinimum:
		v.failAt(at, ruleUnit, "%q is resized while below its minimum", a.Workload)
	case a.Kind == allot.Resize && fresh < len(a.Tasks):
		v.failAt(at, ruleUnit, "claims start, they do not resize")
	case v.restarts[a.Workload] && a.Kind == allot.Resize && atMinimum:
		// What left comes back: it may have stood between two rungs, or in parts of groups.
	case a.Kind == allot.Resize && !v.moved[a.Workload] && !root.oneUnit(before.counts, w.counts):
		v.failAt(at, unit, "%q grows by more than one unit", a.Workload)
	case a.Kind == allot.Start && atMinimum && root.startsBesideClaims(before.counts, w.counts):
		// Some claims may be left of it: those that start with it are a part of its minimum.
	case a.Kind == allot.Start && fresh > 0 && atMinimum && !root.belowLadder(before.counts):
		v.failAt(at, ruleUnit, "%q is at its minimum and would be resized, not started", a.Workload)
	case a.Kind == allot.Start && fresh > 0 && atMinimum && !root.oneUnit(before.counts, w.counts):
		v.failAt(at, unit, "%q grows by more than one unit", a.Workload)
	case a.Kind == allot.Start && fresh > 0 && !atMinimum && !root.noMore(before.counts, w.counts):
		v.failAt(at, unit, "%q takes more than is missing to its minimum", a.Workload)
	}
}

// belowLadder is verifiedWorkload.belowLadder for what was held before.
func (n *gangNode) belowLadder(before []verifiedCounts) bool {
	ladder := n.children[0].ladder
	return len(ladder) > 0 && heldTasks(before[0]) < ladder[0]
}

// startsBesideClaims says whether what ran nothing before runs exactly a minimum, whatever
// it still claims.
func (n *gangNode) startsBesideClaims(before, after []verifiedCounts) bool {
	none, run := make([]verifiedCounts, len(before)), make([]verifiedCounts, len(before))
	for set := range before {
		if before[set].running > 0 {
			return false
		}
		run[set].running = after[set].running
	}
	return n.noMore(none, run)
}

// grew says whether anything of the node holds more than before.
func (n *gangNode) grew(before, after []verifiedCounts) bool {
	if n.set >= 0 {
		return heldTasks(after[n.set]) > heldTasks(before[n.set])
	}
	for _, child := range n.children {
		if child.grew(before, after) {
			return true
		}
	}
	return false
}

// noMore says whether the node, where it grew, took exactly what was missing
// to its minimum: a pod set its number, or any of its ladder (L2), a group as
// many children as it needs.
func (n *gangNode) noMore(before, after []verifiedCounts) bool {
	switch {
	case !n.grew(before, after):
		return true
	case n.reached(before, heldTasks):
		return false
	case n.set >= 0 && n.ladder != nil:
		return slices.Contains(n.ladder, heldTasks(after[n.set]))
	case n.set >= 0:
		return heldTasks(after[n.set]) == n.need
	}
	have := 0
	for _, child := range n.children {
		if !child.noMore(before, after) {
			return false
		}
		if child.reached(after, heldTasks) {
			have++
		} else if child.grew(before, after) {
			return false
		}
	}
	return have == n.need
}

// oneUnit says whether the node, at its minimum before, grew by one unit: one
// task of one pod set, or to the next of its ladder (L3), or one child brought
// to its minimum (G2, G3).
func (n *gangNode) oneUnit(before, after []verifiedCounts) bool {
	if n.set >= 0 && n.ladder != nil {
		k := slices.Index(n.ladder, heldTasks(after[n.set]))
		return k >= 0 && (k == 0 || n.ladder[k-1] <= heldTasks(before[n.set]))
	}
	if n.set >= 0 {
		return heldTasks(after[n.set]) == heldTasks(before[n.set])+1
	}
	var grown *gangNode
	for _, child := range n.children {
		if child.grew(before, after) {
			if grown != nil {
				return false
			}
			grown = child
		}
	}
	switch {
	case grown == nil:
		return false
	case grown.reached(before, heldTasks):
		return grown.oneUnit(before, after)
	default:
		return grown.reached(after, heldTasks) && grown.noMore(before, after)
	}
}
