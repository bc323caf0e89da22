package preempt_test

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/allotsched/allot/preempt"
)

// What is lawful, as the page of package preempt says it.

// A harmKind is a way of making room.
type harmKind int

const (
	harmConsolidate harmKind = iota
	harmByQuota
	harmByShare
	harmPreempt
	harmWithinLines // preempt, of the protected too (E7)
	harmBoth        // reclaim and preempt (R11)
)

func (k harmKind) reclaims() bool { return k == harmByQuota || k == harmByShare }

func (k harmKind) String() string {
	return [...]string{"consolidate", "reclaim by quota", "reclaim by share", "preempt", "preempt within lines", "both"}[k]
}

// A harmVariant is the order of victims, or one of those that a reclaim falls
// back on (R9).
type harmVariant int

const (
	harmInOrder harmVariant = iota
	harmUnprotected
	harmExcess
	harmOne // each by itself
	harmLargest
	harmSmallest
)

func (k harmKind) variants() []harmVariant {
	if k.reclaims() {
		return []harmVariant{harmInOrder, harmUnprotected, harmExcess, harmOne, harmLargest, harmSmallest}
	}
	if k == harmBoth {
		return nil // those of its reclaim
	}
	return []harmVariant{harmInOrder}
}

// kinds are the ways of making room that the policy has for the preemptor, in
// the order in which they are tried.
func (c *harmCase) kinds() (kinds []harmKind) {
	if c.only != nil {
		return c.only
	}
	if c.policy.consolidates && (c.withinLines(0) || c.policy.beyondShare) {
		kinds = append(kinds, harmConsolidate)
	}
	if c.policy.reclaim != preempt.NoReclaim && (c.unit.nonPreemptible || !c.policy.fixedOnly) {
		kinds = append(kinds, harmByQuota)
		if c.policy.reclaim == preempt.ByQuotaAndShare {
			kinds = append(kinds, harmByShare)
		}
	}
	if c.policy.scope != preempt.NoPreemption && !c.step {
		kinds = append(kinds, harmPreempt, harmWithinLines)
		if c.policy.scope == preempt.WithinQueue && slices.Contains(kinds, harmByQuota) {
			kinds = append(kinds, harmBoth)
		}
	}
	return kinds
}

// withinLines says whether, with units gone, the preemptor's queues stay within
// their lines at every level.
func (c *harmCase) withinLines(gone uint32) bool {
	asked := c.asked()
	for q := c.unit.leaf; q >= 0; q = c.queues[q].parent {
		line := c.queues[q].LF
		for r, own := range c.queues[q].quota {
			if !c.queues[q].leaf { // as in R1
				line[r] = max(line[r], own)
			}
		}
		if !c.within(c.use(gone).all[q].plus(asked), line, asked) {
			return false
		}
	}
	return true
}

// A harmTaking is a unit that was taken, and what was true before.
type harmTaking struct {
	unit, class int
	saturation  harmRatio // of its side
}

// A harmRun takes units one after the other.
type harmRun struct {
	*harmCase
	kind  harmKind
	order harmVariant
	place harmPlace
	// all is the whole set where it is known, as what must hold afterwards is
	// judged with all victims gone; else it is what is gone so far.
	all, gone uint32
	taken     []harmTaking
	// below and guarded are the leaves of which something was taken that was
	// not excess, or that was protected (R9).
	below, guarded uint32
	movers         uint32 // units that find other places beside the victims (M10)
	moved          int64  // GPUs, of a lawful consolidation, or beside the victims
}

// replay takes the units of a set, which stand on the place, in order and says
// whether each taking, and the whole, is lawful.
func (c *harmCase) replay(set uint32, kind harmKind, order harmVariant, place harmPlace) (*harmRun, bool) {
	if !c.starts(set) {
		return nil, false
	}
	r := &harmRun{harmCase: c, kind: kind, order: order, place: place, all: set, gone: c.base}
	for r.gone != set {
		u := r.next(set)
		if u < 0 {
			return nil, false
		}
		r.take(u)
	}
	if !r.lawful() {
		return nil, false
	}
	return r, true
}

// next is the first unit in order of those that may be taken now; −1 if there
// is none.
func (r *harmRun) next(from uint32) int {
	best := -1
	for _, u := range unitsOf(from &^ r.gone) {
		if r.may(u) && (best < 0 || r.before(u, best)) {
			best = u
		}
	}
	return best
}

func (r *harmRun) take(u int) {
	v := &r.units[u]
	t := harmTaking{unit: u}
	if r.kind.reclaims() {
		side, _ := r.sides(v.leaf)
		t.class, t.saturation = r.class(u), r.saturation(r.use(r.gone), side)
		if !r.excess(u) {
			r.below |= 1 << v.leaf
		}
		if r.guards(u) {
			r.guarded |= 1 << v.leaf
		}
	}
	r.taken = append(r.taken, t)
	r.gone |= 1 << u
}

// may says whether a unit may be taken now.
func (r *harmRun) may(u int) bool {
	v := &r.units[u]
	if v.nonPreemptible || v.work == r.unit.work || r.above[u]&^r.gone != 0 || !r.withinBudgets(r.gone|1<<u) ||
		r.movers != 0 && r.guards(u) {
		return false
	}
	switch r.kind {
	case harmConsolidate:
		return v.still
	case harmPreempt, harmWithinLines:
		return v.still && r.mayPreempt(u)
	case harmByQuota, harmByShare, harmBoth:
	}
	return v.free && r.mayReclaim(u)
}

// after is the set to judge by what must hold afterwards.
func (r *harmRun) after(u int) uint32 { return r.all | r.gone | 1<<u }

// mayPreempt is E1 and E7.
func (r *harmRun) mayPreempt(u int) bool {
	v := &r.units[u]
	if v.priority >= r.unit.priority || v.leaf != r.unit.leaf && r.policy.scope != preempt.WithinPool {
		return false
	}
	return r.kind == harmWithinLines || r.respects(1<<u, r.after(u))
}

// respects is E7 for a set of victims.
func (r *harmRun) respects(victims, gone uint32) bool {
	if victims&(r.quotaSafe|r.shareSafe) == 0 {
		return true
	}
	_, _, own := r.protection(gone, true)
	return (victims&r.quotaSafe == 0 || own == 2) && own > 0
}

// mayReclaim is R1, R2, R4, R5 and R9 for one taking.
func (r *harmRun) mayReclaim(u int) bool {
	v := &r.units[u]
	if v.leaf == r.unit.leaf {
		return false
	}
	side, own := r.sides(v.leaf)
	if r.over(side, u) < r.needed() {
		return false
	}
	if r.policy.straddle == preempt.Spare && !r.staysAtLine(side, u) || r.passesOn(u) || r.comesBack(u) {
		return false
	}
	excess := r.excess(u)
	leaf := uint32(1) << v.leaf
	switch {
	case r.guards(u) && (!excess || r.below&leaf != 0 || r.guarded&leaf != 0 && !r.lasts(u)),
		!r.guards(u) && !excess && r.guarded&leaf != 0,
		r.order == harmUnprotected && r.guards(u),
		(r.order == harmExcess || r.onlyExcess) && !excess:
		return false
	}
	return r.entitled(own, r.after(u)) && r.marginHolds(r.saturation(r.use(r.gone), side), own, r.after(u))
}

// passesOn says whether a unit could take what it loses from lower priority of its leaf
// that a minimum runtime (M1) or R4's 'spare' keeps from the reclaim (R6).
func (r *harmRun) passesOn(u int) bool {
	if r.policy.scope == preempt.NoPreemption {
		return false
	}
	v := &r.units[u]
	side, _ := r.sides(v.leaf)
	var left harmAmounts
	some := false
	first := *r // as things stand before anything is taken
	first.gone = r.base
	for x := range r.units {
		w := &r.units[x]
		spared := r.policy.straddle == preempt.Spare && !first.staysAtLine(side, x)
		if w.leaf == v.leaf && w.priority < v.priority && !w.nonPreemptible && w.still && r.base&(1<<x) == 0 && (!w.free || spared) {
			left, some = left.plus(w.amount), true
		}
	}
	asked := r.asked()
	for i := range left {
		if r.short[i] && left[i] < min(v.amount[i], asked[i]) {
			return false
		}
	}
	return some
}

// sides are the side of a leaf and that of the preemptor.
func (c *harmCase) sides(leaf int) (victim, own int) {
	victims, owns := c.path(leaf), c.path(c.unit.leaf)
	for len(victims) > 1 && len(owns) > 1 && victims[len(victims)-1] == owns[len(owns)-1] {
		victims, owns = victims[:len(victims)-1], owns[:len(owns)-1]
	}
	return victims[len(victims)-1], owns[len(owns)-1]
}

// needed is how far over its lines a side must be: 1 over quota, 2 over fair
// share.
func (r *harmRun) needed() int {
	if r.kind == harmByQuota {
		return 1
	}
	return 2
}

// counts says whether a resource makes a unit a victim: the preemptor is short
// of it and the unit holds it.
func (c *harmCase) counts(u, resource int) bool {
	return c.short[resource] && c.units[u].amount[resource] > 0
}

// over is how far a queue is over its lines now, for a unit.
func (r *harmRun) over(q, u int) (over int) {
	use := r.use(r.gone).all[q]
	for i := range use {
		switch h := &r.queues[q]; {
		case !r.counts(u, i) || use[i] <= h.quota[i]:
		case use[i] > h.share[i]:
			return 2
		default:
			over = 1
		}
	}
	return over
}

// staysAtLine is R4's knob: the side is afterwards still at or above its line in
// a resource in which it was over it.
func (r *harmRun) staysAtLine(side, u int) bool {
	use := r.use(r.gone).all[side]
	for i := range use {
		line := r.queues[side].quota[i]
		if r.kind == harmByShare {
			line = max(line, r.queues[side].share[i])
		}
		if r.counts(u, i) && use[i] > line && use[i]-r.units[u].amount[i] >= line {
			return true
		}
	}
	return false
}

// excess says whether a taking leaves the leaf at or above its line (R9).
func (r *harmRun) excess(u int) bool {
	v := &r.units[u]
	line := r.queues[v.leaf].LQ
	if r.kind == harmByShare {
		line = r.queues[v.leaf].LF
	}
	use := r.use(r.gone).all[v.leaf]
	for i := range use {
		if r.counts(u, i) && use[i]-v.amount[i] >= line[i] {
			return true
		}
	}
	return false
}

// lasts says whether, once a protected unit has gone by share after others, the leaf would keep its
// LQ if each preemptible unit of lower priority that is left were as small as the smallest that went.
func (r *harmRun) lasts(u int) bool {
	if r.kind != harmByShare || r.policy.scope == preempt.NoPreemption {
		return true
	}
	v, of := &r.units[u], &r.queues[r.units[u].leaf]
	use := r.use(r.gone).all[v.leaf]
	for i := range use {
		left, least := use[i]-v.amount[i], v.amount[i]
		if !r.counts(u, i) || left < of.LF[i] {
			continue
		}
		for _, x := range unitsOf(r.gone) {
			if w := &r.units[x]; w.leaf == v.leaf && w.amount[i] > 0 {
				least = min(least, w.amount[i])
			}
		}
		for x := range r.units {
			if w := &r.units[x]; w.leaf == v.leaf && w.priority < v.priority && !w.nonPreemptible && r.gone&(1<<x) == 0 {
				left -= max(0, w.amount[i]-least)
			}
		}
		if left >= of.LQ[i] {
			return true
		}
	}
	return false
}

// comesBack says whether by share a unit goes while work of lower priority of its leaf is left that has steps above its
// minimum, and would be within LQ with the minimum alone; or any, where the unit is protected by quota, and
// its leaf below LQ in something without it (R9).
func (r *harmRun) comesBack(u int) bool {
	if r.kind != harmByShare || r.policy.scope == preempt.NoPreemption {
		return false
	}
	v, of := &r.units[u], &r.queues[r.units[u].leaf]
	held, below := r.use(r.gone).all[v.leaf], false
	for i := range held {
		below = below || r.quotaSafe&(1<<u) != 0 && v.amount[i] > 0 && held[i]-v.amount[i] < of.LQ[i]
	}
	for x := range r.units {
		w := &r.units[x]
		if w.leaf != v.leaf || w.priority >= v.priority || w.nonPreemptible || r.gone&(1<<x) != 0 {
			continue
		}
		steps, use, asked, within := unitsOf(r.above[x]&^r.gone), held, false, true
		for i := range use {
			for _, step := range steps {
				use[i] -= r.units[step].amount[i]
			}
			asked = asked || r.counts(x, i)
			within = within && (w.amount[i] == 0 || use[i] <= of.LQ[i])
		}
		if asked && (below || within && w.step == 0 && len(steps) > 0) {
			return true
		}
	}
	return false
}

// guards says whether a unit is protected from this reclaim (R8).
func (r *harmRun) guards(u int) bool {
	safe := r.quotaSafe
	if r.kind == harmByShare || r.kind == harmPreempt {
		safe |= r.shareSafe
	}
	return safe&(1<<u) != 0
}

// entitled is R1, for victims that stand beside the queue own of the
// preemptor's path.
func (r *harmRun) entitled(own int, gone uint32) bool {
	asked := r.asked()
	use := r.use(gone)
	for q := r.unit.leaf; ; q = r.queues[q].parent {
		line := r.queues[q].quota
		switch {
		case q == r.unit.leaf && r.kind == harmByQuota:
			line = r.queues[q].LQ
		case q == r.unit.leaf:
			line = r.queues[q].LF
		case r.kind == harmByShare:
			line = r.queues[q].share
		}
		if !r.within(use.all[q].plus(asked), line, asked) {
			return false
		}
		if q == own {
			return true
		}
	}
}

// marginHolds is R5: the side's saturation before, against margin × that of the
// preemptor's side afterwards.
func (r *harmRun) marginHolds(before harmRatio, own int, gone uint32) bool {
	if r.kind != harmByShare {
		return true
	}
	use := *r.use(gone)
	use.all[own] = use.all[own].plus(r.asked())
	after := r.saturation(&use, own)
	if after.value != nil {
		after.value = new(big.Rat).Mul(after.value, big.NewRat(r.policy.margin, 1000))
	}
	return before.compare(after) > 0
}

// saturation is F9's.
func (c *harmCase) saturation(use *harmUse, q int) harmRatio {
	most := harmRatio{new(big.Rat)}
	for i, amount := range use.all[q] {
		if !c.divided[i] {
			continue
		}
		if ratio := newHarmRatio(amount, c.queues[q].share[i]); ratio.compare(most) > 0 {
			most = ratio
		}
	}
	return most
}

// class is R3's of a victim: the highest of its side's and of those below.
func (r *harmRun) class(u int) (class int) {
	side, _ := r.sides(r.units[u].leaf)
	for q := r.units[u].leaf; ; q = r.queues[q].parent {
		class = max(class, 2-r.over(q, u))
		if q == side {
			return class
		}
	}
}

// before is the order of victims (M3), or with the largest or smallest first.
func (r *harmRun) before(u, v int) bool {
	if !r.kind.reclaims() {
		return u > v
	}
	here, everywhere := r.place.nodes, r.anywhere().nodes
	switch c := cmp.Or(cmp.Compare(r.size(u, here), r.size(v, here)), cmp.Compare(r.size(u, everywhere), r.size(v, everywhere))); {
	case c != 0 && r.order == harmLargest:
		return c > 0
	case c != 0 && r.order == harmSmallest:
		return c < 0
	}
	if x, y := r.class(u), r.class(v); x != y {
		return x < y
	}
	for i := 0; r.sideAt(u, i) >= 0 && r.sideAt(v, i) >= 0; i++ {
		x, y := r.saturation(r.use(r.gone), r.sideAt(u, i)), r.saturation(r.use(r.gone), r.sideAt(v, i))
		if c := x.compare(y); c != 0 {
			return c > 0
		}
	}
	if x, y := r.units[u].priority, r.units[v].priority; x != y {
		return x < y
	}
	if x, y := r.excess(u), r.excess(v); x != y {
		return x
	}
	return u > v
}

// size is what a unit holds, of the first that is short, on these nodes.
func (r *harmRun) size(u int, nodes uint32) int64 {
	v := &r.units[u]
	for i := range v.amount {
		if !r.counts(u, i) {
			continue
		}
		held := int64(0)
		for _, t := range v.tasks {
			if nodes&(1<<t.node) != 0 {
				held += r.charge(t.shape)[i]
			}
		}
		return held
	}
	return v.amount[0]
}

// sideAt is the queue i levels below a unit's side on the way to its leaf; −1 if
// there is none.
func (c *harmCase) sideAt(u, i int) int {
	side, _ := c.sides(c.units[u].leaf)
	path := c.path(c.units[u].leaf)
	if at := slices.Index(path, side) - i; at >= 0 {
		return path[at]
	}
	return -1
}

// lawful says whether the preemptor starts with what is gone and all that
// must hold afterwards does.
func (r *harmRun) lawful() bool {
	if r.gone == r.base || r.movers == 0 && !r.starts(r.gone) || r.movers != 0 && !r.movesBeside() {
		return false
	}
	switch r.kind {
	case harmByQuota, harmByShare:
		for _, t := range r.taken {
			_, own := r.sides(r.units[t.unit].leaf)
			if !r.entitled(own, r.gone) || !r.marginHolds(t.saturation, own, r.gone) {
				return false
			}
		}
		return true
	case harmPreempt:
		return r.respects(r.gone, r.gone) && r.raisesNothing()
	case harmWithinLines:
		return r.withinLines(r.gone)
	case harmConsolidate, harmBoth:
	}
	return r.relocates(r.gone, 0)
}

// relocates says whether movers find other places beside what is gone for good, in
// any of the ways in which they are looked for, for few enough GPUs.
func (r *harmRun) relocates(movers, gone uint32) (found bool) {
	ways := []harmMoving{harmAnew, harmOldFirst}
	if r.staying {
		ways = append(ways, harmStaying)
	}
	for _, how := range ways {
		moved, ok := r.replaces(movers, gone, how)
		if ok && r.movedWithin(moved) && (!found || moved < r.moved) {
			r.moved, found = moved, true
		}
	}
	return found
}

// raisesNothing is E8.
func (r *harmRun) raisesNothing() bool {
	before, after, asked := r.use(0), r.use(r.gone), r.asked()
	for q := r.unit.leaf; q >= 0; q = r.queues[q].parent {
		for i, need := range asked {
			h := &r.queues[q]
			if need > 0 && r.divided[i] && after.all[q][i]+need > max(h.quota[i], h.share[i], before.all[q][i]) {
				return false
			}
		}
	}
	return true
}

// movedWithin is C3.
func (c *harmCase) movedWithin(moved int64) bool {
	return moved*100 <= c.asked()[0]*c.policy.moved
}

// A harmMoving is a way in which victims find places: every task anew, each in
// its old place if that is free in its turn, or whoever may keep all of its places
// before the others.
type harmMoving int

const (
	harmAnew harmMoving = iota
	harmOldFirst
	harmStaying
)

// replaces is C1: once the preemptor has started every mover finds a place beside what
// is gone for good, the best standing first. It returns the GPUs of the tasks that move.
func (c *harmCase) replaces(movers, gone uint32, how harmMoving) (moved int64, ok bool) {
	f := c.free(movers | gone)
	if _, ok := c.place(f, c.want); !ok {
		return 0, false
	}
	use := *c.use(movers | gone)
	charge := func(u *harmUnit, amount harmAmounts, fresh bool) {
		for q := u.leaf; q >= 0; q = c.queues[q].parent {
			use.all[q] = use.all[q].plus(amount)
			if u.nonPreemptible {
				use.fixed[q] = use.fixed[q].plus(amount)
			}
			if fresh {
				use.works[q]++
			}
		}
	}
	charge(&c.unit, c.asked(), !c.holds())
	for _, u := range unitsOf(movers) {
		if unit := &c.units[u]; how == harmStaying && f.takesBack(unit.tasks) {
			charge(unit, unit.amount, unit.step == 0)
			movers &^= 1 << u
		}
	}
	for _, u := range unitsOf(movers) {
		unit := &c.units[u]
		gpus, ok := c.replace(f, unit, how != harmAnew)
		if !ok || !c.admits(&use, unit, unit.amount, unit.step == 0) {
			return 0, false
		}
		moved += gpus
		charge(unit, unit.amount, unit.step == 0)
	}
	return moved, true
}

// replace places a unit anew and returns the GPUs of its tasks that move.
func (c *harmCase) replace(f *harmFree, unit *harmUnit, oldFirst bool) (moved int64, ok bool) {
	var wants []harmWant
	var left []harmTask // the old places that no task was put back into
	for _, t := range unit.tasks {
		if oldFirst && f.holds(t) {
			f.take(t, 1)
			continue
		}
		left = append(left, t)
		if n := len(wants); n > 0 && wants[n-1].shape == t.shape {
			wants[n-1].n++
			continue
		}
		wants = append(wants, harmWant{t.shape, 1})
	}
	if len(wants) == 0 {
		return 0, true
	}
	placed, ok := c.place(f, wants)
	for _, t := range placed {
		same := slices.IndexFunc(left, func(old harmTask) bool {
			return old.shape == t.shape && old.node == t.node && slices.Equal(old.devices, t.devices)
		})
		if same >= 0 {
			left = slices.Delete(left, same, same+1)
			continue
		}
		moved += int64(t.shape.devices) * t.shape.milli
	}
	return moved, ok
}

// A harmRatio is exact; nil is without end (F9).
type harmRatio struct{ value *big.Rat }

func newHarmRatio(use, share int64) harmRatio {
	switch {
	case use == 0 && share == 0:
		return harmRatio{new(big.Rat)}
	case share == 0:
		return harmRatio{}
	}
	return harmRatio{big.NewRat(use, share)}
}

func (a harmRatio) compare(b harmRatio) int {
	switch {
	case a.value == nil && b.value == nil:
		return 0
	case a.value == nil:
		return 1
	case b.value == nil:
		return -1
	}
	return a.value.Cmp(b.value)
}
