package preempt

import (
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
	// heldBack: a preemption had room at the place before E8 let it start. fromAnywhere: what more goes for E8
	// goes from wherever its order begins.
	heldBack, fromAnywhere bool
	// allGone: a preemption by counting was tried in vain with all candidates gone.
	allGone bool
	// admission is admits, once it was asked.
	admission admission
	// listed is the search that has marked its candidates.
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

// admission says whether quotas and limits admit a preemptor.
type admission uint8

const (
	unasked admission = iota
	admitted
	refused
)

// admits says whether quotas and limits admit the preemptor as things stand when a trial begins, which is the same for
// all trials of a question: each takes back what it has taken.
func (a *ask) admits(r *Evaluator) bool {
	if a.admission == unasked {
		a.admission = refused
		if _, ok := r.Tree.Check(int(a.Leaf), a.Asks, a.NonPreemptible); ok {
			a.admission = admitted
		}
	}
	return a.admission == admitted
}

func (a *ask) reclaims() bool { return a.mode == ReclaimByQuota || a.mode == ReclaimByShare }
func (a *ask) byShare() bool  { return a.mode == ReclaimByShare }

// A verdict says whether a unit may be taken now.
type verdict uint8

const (
	lawful   verdict = iota
	unlawful         // and will stay so while others are taken
	notYet           // the preemptor's own side is too full now (R1), or what is above a minimum is to go first (R9)
	turns            // R5 stands against it alone
)

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
	case r.TakesBack != nil && a.mode != Due && a.mode != Consolidate && r.TakesBack(r.units[id], a.Work):
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
			left[i] = addUpTo(left[i], r.charged(other).Of(res))
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
	side, _ := r.sides(a, r.state[id].leaf)
	return !r.staysOver(a, side, r.charged(id))
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

// judge says whether a unit may be taken now: R1, R2, R4, R5 and R9 for a
// reclaim.
func (r *Evaluator) judge(a *ask, id UnitID) verdict {
	u := &r.state[id]
	if u.bars&budgeted != 0 && !withinBudget(r, r.units[id]) || a.relocates() && r.protectionOf(a, id) != none {
		return unlawful
	}
	if !a.reclaims() {
		p := u.protection
		if a.kind == looseOnly && p != none || a.kind == notQuota && p == byQuota {
			return unlawful
		}
		return lawful
	}
	side, own := r.sides(a, u.leaf)
	class := r.class(a, side, r.charged(id))
	if class == 2 || a.byShare() && class > 0 {
		return unlawful
	}
	if !r.mayTake(a, id) || r.Straddle == Spare && !r.staysOver(a, side, r.charged(id)) {
		return unlawful
	}
	if !r.entitled(a, own) || comesBack(r, a, id) {
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
	leaf := r.state[id].leaf
	excess := a.excess(r, leaf, r.charged(id))
	switch {
	case r.protectionOf(a, id) != none:
		return excess && a.kind != looseOnly && !r.looseTaken[leaf] && excessInClasses(r, id) &&
			(!r.protectedTaken[leaf] || a.lasts(r, r.units[id]))
	case excess:
		return true
	case a.kind == excessOnly || a.excessOnly:
		return false
	}
	return !r.protectedTaken[leaf]
}

// lasts says whether the leaf keeps its LQ once a protected unit is gone by share after others,
// though these preempt what of lower priority is left of it. Where that is larger than they are, the
// leaf would come below LQ, and who is still out would reclaim by quota what a reclaim by share has
// taken (M5).
func (a *ask) lasts(r *Evaluator, u *Unit) bool {
	if !a.byShare() || r.Scope == NoPreemption {
		return true
	}
	units := r.inLeaf(u.Leaf)
	for _, res := range a.short {
		n := u.Charge.Of(res)
		if n == 0 || r.use(u.Leaf, res)-n < r.lineOf(u.Leaf, res, true) {
			continue
		}
		least := n // of those that are out
		for _, id := range units {
			if !r.state[id].taken {
				continue
			}
			if out := r.charged(id).Of(res); out > 0 {
				least = min(least, out)
			}
		}
		left := r.use(u.Leaf, res) - n
		for _, id := range lowerThan(r, units, u.Priority) {
			if !r.state[id].taken {
				left -= max(0, r.charged(id).Of(res)-least)
			}
		}
		if left >= r.lineOf(u.Leaf, res, false) {
			return true
		}
	}
	return false
}

// comesBack says whether a unit that went by share, or work of lower priority that it then preempts, would reclaim by
// quota what the reclaim by share has taken (M5). So would work that goes with what is above its minimum, and is within
// LQ without; and who is protected by quota, and preempts for one resource while its leaf is below LQ in another (R11).
func comesBack(r *Evaluator, a *ask, id UnitID) bool {
	u := &r.state[id]
	if r.Scope == NoPreemption || !a.byShare() {
		return false
	}
	below := u.protection == byQuota && slices.ContainsFunc(r.charged(id), func(held quota.Amount) bool {
		return r.divides(held.Resource) && held.Value > 0 && r.use(u.leaf, held.Resource)-held.Value < r.lineOf(u.leaf, held.Resource, false)
	})
	return (below || r.stepsIn[u.leaf] > 0) && slices.ContainsFunc(lowerThan(r, r.inLeaf(u.leaf), u.priority), func(other UnitID) bool {
		return !r.state[other].taken && holdsShort(r, a, other) && (below || r.units[other].Step == 0 && fitsWithoutSteps(r, other))
	})
}

// fitsWithoutSteps says whether the leaf of a minimum would be within LQ, in all that is charged to this, if nothing
// above it ran. Where nothing does it comes back to what it was.
func fitsWithoutSteps(r *Evaluator, minimum UnitID) bool {
	u := r.units[minimum]
	above := slices.DeleteFunc(r.withAbove(minimum), func(id UnitID) bool { return id == minimum })
	return len(above) > 0 && !slices.ContainsFunc(u.Charge, func(held quota.Amount) bool {
		use := r.use(u.Leaf, held.Resource)
		for _, id := range above {
			use -= r.charged(id).Of(held.Resource)
		}
		return r.divides(held.Resource) && use > r.lineOf(u.Leaf, held.Resource, false)
	})
}

// excessInClasses says whether a unit that is protected by quota is excess in its classes too,
// where it is within what its leaf is guaranteed of these: whatever is reclaimed, what a class
// guarantees stands beside what the total does (R9, Q8).
func excessInClasses(r *Evaluator, id UnitID) bool {
	if !r.state[id].inClass || r.state[id].protection != byQuota {
		return true
	}
	u := r.units[id]
	return !slices.ContainsFunc(u.Charge, func(held quota.Amount) bool {
		line, some := classLine(r, u.Leaf, held.Resource)
		return some && held.Value > 0 && r.use(u.Leaf, held.Resource)-held.Value < line
	})
}

// excess says whether a leaf is still at or above its line once a unit that holds some amounts is
// gone, in something that the preemptor is short of and the unit holds (R9).
func (a *ask) excess(r *Evaluator, leaf int32, held quota.Amounts) bool {
	for _, res := range a.short {
		if n := held.Of(res); n > 0 && r.use(leaf, res)-n >= r.lineOf(leaf, res, a.byShare()) {
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
	leaf := r.state[id].leaf
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
func (r *Evaluator) staysOver(a *ask, side int32, held quota.Amounts) bool {
	return slices.ContainsFunc(a.short, func(res int32) bool { return staysOverIn(r, a, side, held, res) })
}

func staysOverIn(r *Evaluator, a *ask, side int32, held quota.Amounts, res int32) bool {
	line := r.quota(side, res)
	if a.byShare() {
		line = max(line, r.share(side, res))
	}
	n := held.Of(res)
	return n > 0 && r.use(side, res) > line && r.use(side, res)-n >= line
}

// caseOf is why the unit goes, as things stand before it does.
func (r *Evaluator) caseOf(a *ask, id UnitID) Justification {
	c := Justification{Victim: id, Mode: a.mode, Subtree: -1, PreemptorSubtree: -1}
	if !a.reclaims() {
		return c
	}
	held := r.charged(id)
	c.Subtree, c.PreemptorSubtree = r.sides(a, r.state[id].leaf)
	c.Resource = -1
	line := func(q, res int32) int64 {
		if a.byShare() {
			return r.share(q, res)
		}
		return r.quota(q, res)
	}
	for _, res := range a.short {
		n := held.Of(res)
		if n == 0 || c.Resource >= 0 || r.use(c.Subtree, res) <= line(c.Subtree, res) || r.use(c.Subtree, res) <= r.quota(c.Subtree, res) {
			continue
		}
		if r.Straddle == Spare && !staysOverIn(r, a, c.Subtree, held, res) {
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
