package preempt

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/quota"
)

// An ask is one question: a preemptor and a way to make room for it.
type ask struct {
	*Preemptor
	mode  Mode
	short []int32
	kind  orderKind
	// excessOnly: whatever the order, a reclaim takes excess only (R11).
	excessOnly bool
	// withinLines: protected or not, whoever is of lower priority may go, as long as
	// the preemptor's queues are within their lines afterwards (E7).
	withinLines bool
	// place are the nodes that are cleared, none is anywhere; tried counts the units
	// that were tried each by itself.
	place []int32
	tried int
	// inStanding: the candidates at hand are listed by standing, the best first.
	inStanding bool
	// beyond: more than the place decides whether it serves, and for whom.
	beyond bool
	// allGone: a preemption by counting was tried in vain with all candidates gone.
	allGone bool
	// listed is the search whose candidates are marked in Evaluator.seen.
	listed *search
	relocation
}

// readShort asks what the preemptor is short of; by share classes are nothing (Q8).
func (a *ask) readShort(r *Evaluator) {
	a.short = a.Short()
	if a.byShare() {
		a.short = slices.DeleteFunc(slices.Clone(a.short), func(res int32) bool { return !r.divides(res) })
	}
}

// asks is what the preemptor asks of a resource, or of a class.
func (b *Preemptor) asks(res int32) int64 { return max(b.Asks.Of(res), b.Classes.Of(res)) }

// claims are what it asks, of classes too where these count.
func (a *ask) claims() quota.Amounts {
	if a.mode != ReclaimByQuota {
		return a.Asks
	}
	return slices.Concat(a.Asks, a.Classes)
}

func (a *ask) reclaims() bool { return a.mode == ReclaimByQuota || a.mode == ReclaimByShare }
func (a *ask) byShare() bool  { return a.mode == ReclaimByShare }

// A verdict says whether a unit may be taken now.
type verdict uint8

const (
	lawful   verdict = iota
	unlawful         // and will stay so while others are taken
	notYet           // the preemptor's own side is too full now (R1)
	turns            // R5 stands against it alone
)

// prepare marks the preemptor's path, from which sides are read.
func (r *Evaluator) prepare(a *ask) {
	clear(r.path)
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		r.path[q] = true
	}
	for i := range r.side {
		r.side[i] = -2
		r.down[i] = r.down[i][:0]
	}
	clear(r.ratioKnown)
}

// sides are the two queues just below the one where the paths of the leaf and
// of the preemptor part.
func (r *Evaluator) sides(a *ask, leaf int32) (victim, own int32) {
	if r.side[leaf] != -2 {
		return r.side[leaf], r.sideB[leaf]
	}
	victim = leaf
	for up := r.parent(victim); up >= 0 && !r.path[up]; up = r.parent(up) {
		victim = up
	}
	own = a.Leaf
	for up := r.parent(own); up != r.parent(victim); up = r.parent(up) {
		own = up
	}
	r.side[leaf], r.sideB[leaf] = victim, own
	return victim, own
}

// class is R3's: 0 over fair share, 1 over quota, 2 within, for what the victim
// holds of what the preemptor is short of.
func (r *Evaluator) class(a *ask, q int32, u *Unit) int8 { return classBy(r, a, q, u, r.quota) }

// classBy is class, within being by the line given.
func classBy(r *Evaluator, a *ask, q int32, u *Unit, within func(q, res int32) int64) int8 {
	class := int8(2)
	for _, res := range a.short {
		if u.Charge.Of(res) == 0 {
			continue
		}
		if use := r.use(q, res); use > within(q, res) {
			if use > r.share(q, res) {
				return 0
			}
			class = 1
		}
	}
	return class
}

// classOf is the highest class from the victim's side down to its leaf.
func (r *Evaluator) classOf(a *ask, u *Unit) int8 {
	if !a.reclaims() {
		return 0
	}
	side, _ := r.sides(a, u.Leaf)
	class := r.class(a, side, u)
	for q := u.Leaf; q != side; q = r.parent(q) {
		class = max(class, classBy(r, a, q, u, func(q, res int32) int64 { return uncut(r, q, res) }))
	}
	return class
}

// compare is the order of victims (M3) as things stand: negative if x goes
// first.
func (r *Evaluator) compare(a *ask, x, y *Unit) int {
	if !a.reclaims() {
		return y.EvictionRank.compare(&x.EvictionRank)
	}
	if c := cmp.Compare(r.classOf(a, x), r.classOf(a, y)); c != 0 {
		return c
	}
	if x.Leaf != y.Leaf {
		if c := r.comparePaths(a, x.Leaf, y.Leaf); c != 0 {
			return c
		}
	}
	return compareWithin(r, a, x, y)
}

// compareWithin is compare of whom class and saturations do not tell apart.
func compareWithin(r *Evaluator, a *ask, x, y *Unit) int {
	if c := cmp.Compare(x.Priority, y.Priority); c != 0 {
		return c
	}
	if c := compareBools(a.excess(r, y), a.excess(r, x)); c != 0 {
		return c
	}
	return y.EvictionRank.compare(&x.EvictionRank)
}

// comparePaths compares the saturations of two leaves' sides, then of the
// queues below them, the more saturated first.
func (r *Evaluator) comparePaths(a *ask, x, y int32) int {
	up, other := r.descent(a, x), r.descent(a, y)
	for i := len(up) - 1; i >= 0; i-- {
		j := len(other) - (len(up) - i)
		if j < 0 {
			break
		}
		if up[i] == other[j] {
			continue
		}
		if c := r.ratio(other[j]).Cmp(r.ratio(up[i])); c != 0 {
			return c
		}
	}
	return 0
}

// descent lists the queues from the leaf up to its side.
func (r *Evaluator) descent(a *ask, leaf int32) []int32 {
	if path := r.down[leaf]; len(path) > 0 {
		return path
	}
	side, _ := r.sides(a, leaf)
	path := append(r.down[leaf], leaf)
	for q := leaf; q != side; {
		q = r.parent(q)
		path = append(path, q)
	}
	r.down[leaf] = path
	return path
}

// fixed says what stands against a unit whatever else is taken.
func (r *Evaluator) fixed(a *ask, id UnitID, refusal *Refusal) bool {
	u := &r.state[id]
	switch {
	case u.bars&nonPreemptible != 0 || u.work == a.Work || a.mode == Consolidate && u.bars&rooted != 0:
		return false
	case a.mode == Preempt && (u.priority >= a.Priority || u.leaf != a.Leaf && r.Scope != WithinPool):
		return false
	case a.reclaims() && (u.leaf == a.Leaf || !holdsShort(r, a, id)):
		return false
	}
	return mayGoNow(r, a, id, refusal) && (!a.reclaims() || !wouldPassOn(r, a, id, refusal))
}

// mayGoNow says whether neither a minimum runtime (M1) nor a budget (M7) keeps a unit.
func mayGoNow(r *Evaluator, a *ask, id UnitID, refusal *Refusal) bool {
	u := &r.state[id]
	early := preemptedEarly
	if a.mode == Due {
		early = 0 // it knew (B9)
	}
	if a.reclaims() {
		early = reclaimedEarly
	}
	if u.bars&early != 0 {
		from := r.units[id].PreemptFrom
		if a.reclaims() {
			from = r.units[id].ReclaimFrom
		}
		if refusal.Protected == 0 || from < refusal.Until {
			refusal.Until = from
		}
		refusal.Protected++
		return false
	}
	if u.bars&budgeted != 0 && !withinBudget(r, r.units[id]) {
		refusal.Budgeted++
		return false
	}
	return true
}

// goesAlong says whether a unit goes with one that it builds on, though a reclaim has nothing
// of it: what is above a minimum cannot stay without it (M6), and no right is asked for what
// holds nothing that the preemptor is short of.
func goesAlong(r *Evaluator, a *ask, id UnitID) bool {
	var ignored Refusal
	return a.reclaims() && r.state[id].bars&nonPreemptible == 0 && !holdsShort(r, a, id) && mayGoNow(r, a, id, &ignored)
}

// wouldPassOn says whether the unit, reclaimed, might take back what it has lost from
// units of lower priority of its leaf that the reclaim has to leave alone: because their
// minimum runtime is not over (M1), or because they straddle the line and are spared
// (R4). They would be reclaimed by way of it.
func wouldPassOn(r *Evaluator, a *ask, id UnitID, refusal *Refusal) bool {
	if r.Scope == NoPreemption || len(r.timed) == 0 && r.Straddle != Spare {
		return false
	}
	u := r.units[id]
	until, some := int64(0), false
	left := make([]int64, len(a.short))
	for _, other := range r.byLeaf[u.Leaf] {
		v := &r.state[other]
		early := v.bars&reclaimedEarly != 0
		if v.priority >= u.Priority || v.taken || v.bars&(nonPreemptible|preemptedEarly) != 0 || !early && !spares(r, a, other) {
			continue
		}
		for i, res := range a.short {
			left[i] = addUpTo(left[i], r.units[other].Charge.Of(res))
		}
		if some = true; early && (until == 0 || r.units[other].ReclaimFrom < until) {
			until = r.units[other].ReclaimFrom
		}
	}
	for i, res := range a.short {
		if !some || left[i] < min(u.Charge.Of(res), a.asks(res)) {
			return false
		}
	}
	if until != 0 {
		if refusal.Protected == 0 || until < refusal.Until {
			refusal.Until = until
		}
		refusal.Protected++
	}
	return true
}

// spares says whether the policy spares a unit that straddles the line (R4).
func spares(r *Evaluator, a *ask, id UnitID) bool {
	if r.Straddle != Spare {
		return false
	}
	u := r.units[id]
	side, _ := r.sides(a, u.Leaf)
	return !r.staysOver(a, side, u)
}

// isBehind says whether a unit has its place behind the preemptor, where that is what the
// mode asks (B9). What builds on one that has goes with it.
func (a *ask) isBehind(r *Evaluator, id UnitID) bool {
	return a.mode != Due || r.Behind != nil && r.Behind(r.units[id], a.Work)
}

func holdsShort(r *Evaluator, a *ask, id UnitID) bool {
	for _, res := range a.short {
		if r.holds(id, res) {
			return true
		}
	}
	return false
}

// withinBudget says whether the owner's budget lets the unit go (M7). What only starts
// may go as long as nothing that ran needs it.
func withinBudget(r *Evaluator, u *Unit) bool {
	if u.Running == 0 {
		return r.Spares(u.Owner, int(u.Starting))
	}
	return u.Owner < 0 || int64(u.Running+u.Starting) <= r.budgets[u.Owner]+r.starting[u.Owner]
}

// Spares says whether so many of the tasks that start of an owner may go or wait: nothing
// that ran has gone since [Evaluator.Begin], or its budget holds without them (M7).
// Nobody is −1.
func (r *Evaluator) Spares(owner int32, starting int) bool {
	return owner < 0 || starting == 0 || r.budgets[owner] >= r.undisturbed[owner] ||
		int64(starting) <= r.budgets[owner]+r.starting[owner]
}

// budget counts a unit for its owner's budget n times: once, or less once.
func budget(r *Evaluator, u *Unit, n int64) {
	if u.Owner >= 0 {
		r.budgets[u.Owner] += n * int64(u.Running)
		r.starting[u.Owner] += n * int64(u.Starting)
	}
}

// Begin takes note of what runs of each owner now. Until some of that goes or moves, what
// is started from now on is bound by no budget (M7).
func (r *Evaluator) Begin() { r.undisturbed = append(r.undisturbed[:0], r.budgets...) }

// judge says whether a unit may be taken now: R1, R2, R4, R5 and R9 for a
// reclaim.
func (r *Evaluator) judge(a *ask, id UnitID) verdict {
	u := r.units[id]
	if r.state[id].bars&budgeted != 0 && !withinBudget(r, u) || a.relocates() && r.protectionOf(a, id) != none {
		return unlawful
	}
	if !a.reclaims() {
		p := r.state[id].protection
		if a.kind == looseOnly && p != none || a.kind == notQuota && p == byQuota {
			return unlawful
		}
		return lawful
	}
	side, own := r.sides(a, u.Leaf)
	class := r.class(a, side, u)
	if class == 2 || a.byShare() && class > 0 {
		return unlawful
	}
	if !r.mayTake(a, id) || r.Straddle == Spare && !r.staysOver(a, side, u) {
		return unlawful
	}
	if !r.entitled(a, own) {
		return notYet
	}
	if a.byShare() && !r.ratio(side).Exceeds(r.saturation(own, a.Asks), r.MarginMilli) {
		return turns
	}
	return lawful
}

// protectionOf is how the unit was protected before the search took anything.
func (r *Evaluator) protectionOf(a *ask, id UnitID) protection {
	p := r.state[id].protection
	switch {
	case a.mode == ReclaimByQuota && len(a.Classes) > 0:
		if r.state[id].byClass {
			return byQuota
		}
		return none
	case a.mode == ReclaimByQuota && p == byShare:
		return none // not protected from a reclaim by quota
	}
	return p
}

// mayTake is the either-or of R9, under the order that is tried.
func (r *Evaluator) mayTake(a *ask, id UnitID) bool {
	u := r.units[id]
	excess := a.excess(r, u)
	switch {
	case a.kind == excessOnly || a.excessOnly:
		return excess
	case excess && r.protectionOf(a, id) == none:
		return true
	case r.protectionOf(a, id) != none:
		return excess && a.kind != looseOnly && !r.looseTaken[u.Leaf]
	}
	return !r.protectedTaken[u.Leaf]
}

// excess says whether the leaf is still at or above its line once the unit is
// gone, in something that the preemptor is short of and the unit holds (R9).
func (a *ask) excess(r *Evaluator, u *Unit) bool {
	for _, res := range a.short {
		if n := u.Charge.Of(res); n > 0 && r.use(u.Leaf, res)-n >= r.lineOf(u.Leaf, res, a.byShare()) {
			return true
		}
	}
	return false
}

// exceeds says whether a leaf is above its line in something that the preemptor
// is short of: otherwise nothing of it is excess.
func (a *ask) exceeds(r *Evaluator, leaf int32) bool {
	for _, res := range a.short {
		if r.use(leaf, res) > r.lineOf(leaf, res, a.byShare()) {
			return true
		}
	}
	return false
}

// note remembers what R9 asks about what was taken.
func (r *Evaluator) note(a *ask, id UnitID) {
	if !a.reclaims() || !holdsShort(r, a, id) {
		return
	}
	leaf := r.units[id].Leaf
	r.takenLeaves = append(r.takenLeaves, leaf)
	if r.protectionOf(a, id) != none {
		r.protectedTaken[leaf] = true
		return
	}
	for _, res := range a.short { // below the line, protected units are off limits
		if r.use(leaf, res) >= r.lineOf(leaf, res, a.byShare()) {
			return
		}
	}
	r.looseTaken[leaf] = true
}

// staysOver is R4's 'spare': afterwards the side is still at its line in
// something in which it was over it.
func (r *Evaluator) staysOver(a *ask, side int32, u *Unit) bool {
	return slices.ContainsFunc(a.short, func(res int32) bool { return staysOverIn(r, a, side, u, res) })
}

func staysOverIn(r *Evaluator, a *ask, side int32, u *Unit, res int32) bool {
	line := r.quota(side, res)
	if a.byShare() {
		line = max(line, r.share(side, res))
	}
	n := u.Charge.Of(res)
	return n > 0 && r.use(side, res) > line && r.use(side, res)-n >= line
}

// entitled is R1 as things stand, from the leaf up to the preemptor's side; by quota in
// classes, too (Q8).
func (r *Evaluator) entitled(a *ask, own int32) bool {
	if a.mode == ReclaimByQuota && !guaranteed(r, a, own) {
		return false
	}
	for _, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		if r.use(a.Leaf, asks.Resource)+asks.Value > r.lineOf(a.Leaf, asks.Resource, a.byShare()) {
			return false
		}
		for q := a.Leaf; q != own; {
			q = r.parent(q)
			line := r.quota(q, asks.Resource)
			if a.byShare() {
				line = r.share(q, asks.Resource)
			}
			if r.use(q, asks.Resource)+asks.Value > line {
				return false
			}
		}
	}
	return true
}

// guaranteed is R1 of classes.
func guaranteed(r *Evaluator, a *ask, own int32) bool {
	for _, asks := range a.Classes {
		line := r.lineOf(a.Leaf, asks.Resource, false)
		for q := a.Leaf; ; q = r.parent(q) {
			if line-r.use(q, asks.Resource) < asks.Value {
				return false
			}
			if q == own {
				break
			}
			line = r.quota(r.parent(q), asks.Resource)
		}
	}
	return true
}

// caseOf is why the unit goes, as things stand before it does.
func (r *Evaluator) caseOf(a *ask, id UnitID) Justification {
	c := Justification{Victim: id, Mode: a.mode, Subtree: -1, PreemptorSubtree: -1}
	if !a.reclaims() {
		return c
	}
	u := r.units[id]
	c.Subtree, c.PreemptorSubtree = r.sides(a, u.Leaf)
	c.Resource = -1
	line := func(q, res int32) int64 {
		if a.byShare() {
			return r.share(q, res)
		}
		return r.quota(q, res)
	}
	for _, res := range a.short {
		n := u.Charge.Of(res)
		if n == 0 || c.Resource >= 0 || r.use(c.Subtree, res) <= line(c.Subtree, res) || r.use(c.Subtree, res) <= r.quota(c.Subtree, res) {
			continue
		}
		if r.Straddle == Spare && !staysOverIn(r, a, c.Subtree, u, res) {
			continue // it is another resource by which it may go (R4)
		}
		c.Resource = res
		c.Before, c.Entitlement = r.use(c.Subtree, res), line(c.Subtree, res)
		c.After = c.Before - n
		c.OwnBefore, c.OwnEntitlement = r.use(c.PreemptorSubtree, res), line(c.PreemptorSubtree, res)
		c.OwnAfter = c.OwnBefore + a.asks(res)
	}
	return c
}

// bounded is E8: with the preemptor started no queue of its path uses more
// than the largest of its quota, its fair share and what it used before. Where the
// protected may go too, none uses more than its line (E7).
func (r *Evaluator) bounded(a *ask, before []int64) bool {
	if a.withinLines {
		return r.Entitled(a.Leaf, a.Asks)
	}
	for i, asks := range a.Asks {
		if !r.divides(asks.Resource) {
			continue
		}
		at := i
		for q := a.Leaf; q >= 0; q = r.parent(q) {
			most := max(r.quota(q, asks.Resource), r.share(q, asks.Resource), before[at])
			if r.use(q, asks.Resource)+asks.Value > most {
				return false
			}
			at += len(a.Asks)
		}
	}
	return true
}

// usesBefore are the uses of the preemptor's path in what it asks, level by
// level.
func (r *Evaluator) usesBefore(a *ask) []int64 {
	if a.mode != Preempt {
		return nil // E8 binds nothing else
	}
	before := r.scratch.before[:0]
	for q := a.Leaf; q >= 0; q = r.parent(q) {
		for _, asks := range a.Asks {
			before = append(before, r.use(q, asks.Resource))
		}
	}
	r.scratch.before = before
	return before
}
