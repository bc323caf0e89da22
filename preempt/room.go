package preempt

import (
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Config is what an Evaluator needs to know of a pool. Queues, resources and nodes
// are the indices of Tree and Index; lists by queue and resource are laid out
// queue × resources + resource.
type Config struct {
	Tree  *quota.Tree
	Index *placement.Index
	// Divided says by resource whether it is divided into fair shares.
	Divided []bool
	// Classed says by resource whether it is one of a class: of these there are quotas
	// and what they guarantee, and no shares (Q8). Nil is none.
	Classed []bool
	// Quotas are up to what use is within quota: after Q1's defaults, less what had to be
	// cut (F2, F13), 0 where the method of division knows none; Shares are the fair shares.
	Quotas, Shares []int64
	// Uncut are the quotas before anything was cut, by which queues below the level where
	// paths part are spared as within their quota (R3); nil are Quotas.
	Uncut        []int64
	Entitlements Entitlements
	// Now is the time that minimum runtimes are judged by.
	Now int64
	// MarginMilli is R5's margin in thousandths, 1000 at least.
	MarginMilli int64
	Straddle    Straddle
	Scope       Scope
	// Reclaim is by what reclaim and preemption together may reclaim (R11).
	Reclaim Reclaim
	// MaxMovedPercent is C3's factor in percent.
	MaxMovedPercent int64
	// Steps bounds the sets of victims that are tried for one question.
	Steps int
	// Effort bounds what all questions may cost together; nil does not.
	Effort *placement.Effort
	// Lends: some queue keeps a part of its quota from lending (Q5), the more the
	// less runs in it.
	Lends bool
	// Budgets are, by owner, how many more running tasks may be disturbed (M7)
	// once every unit has been added: they start at −MinRunning.
	Budgets []int64
	// Nodes is the number of nodes.
	Nodes int
	// Local: where a single task is placed depends on nothing but the nodes that take it,
	// each by itself, and no queue has a limit.
	Local bool
	// Stays starts a unit that was taken where it was, in the journals of Tree and
	// Index, if it may.
	Stays func(*Unit) bool
	// Moves starts a unit that was taken elsewhere, in the journals of Tree and
	// Index, and returns the GPUs that move, in milli; or it changes nothing (C1).
	// Tasks whose old place is free stay there, unless anew.
	Moves func(u *Unit, anew bool) (int64, bool)
	// Behind says whether a unit has its place behind a workload that waits, which has the
	// first right to it: it goes for that one, and by that right for nobody else (B9). Nil
	// is that none has.
	Behind func(u *Unit, work int32) bool
	// TakesBack says whether whose a unit is has the first right to what a workload holds: it goes for
	// none from whom it would take that at once (B9, M2). Nil is that none has.
	TakesBack func(u *Unit, work int32) bool
}

// An Evaluator knows what runs in a pool, and finds out who may be evicted or moved
// for whom. It is not safe for concurrent use.
type Evaluator struct {
	Config
	roster
	law int64 // counts what may make lawful what was not
	// steps are the units that came and went since the first of so many marks.
	steps  []unitStep
	marks  int
	timed  []UnitID // those with a minimum runtime, and some that are no more
	caches map[cacheKey]*cache
	plans  map[placement.Shape]*plans
	offers map[offersKey]*offers
	rooms  map[placement.Shape]*shapeRooms
	firsts map[firstsKey]*keptFirsts
	takers []taker // by shape
	// takersFor is who asked about them while something was releasing; news are those that
	// were asked for.
	takersFor *search
	news      []news
	deadEnds  deadEnds
	shared    int // how often a workload got a unit beside another
	// remembered are the steps by which all was found out that is remembered, see remember.
	remembered int64
	walked     []bool // by queue: protection is known
	whole      []bool // by queue: every unit of the leaf is marked as quota-protected
	// By owner: budgets are how many more running tasks may be disturbed, undisturbed what
	// that was before any was, and starting what starts and waits for nobody (M7).
	budgets, undisturbed, starting []int64

	width int    // resources
	climb []int  // by queue: steps that it takes to change the use of all above it
	inner []bool // by queue: it has queues below it, and no units

	path  []bool  // by queue: on the preemptor's path to the root
	side  []int32 // by leaf: the victim's side; −1 where there is none
	sideB []int32 // by leaf: the preemptor's side
	// down are by leaf the queues up to its side, ratios by queue the saturations,
	// as far as they have been asked for since the question began or uses changed.
	down       [][]int32
	ratios     []fairshare.Ratio
	ratioKnown []bool
	// onNodes are the nodes, ofWorks the workloads, that a bound has counted, ofUnits the units that a list has;
	// tooMuch are the numbers of charges, see admitAll.
	onNodes, ofWorks, ofUnits, tooMuch marks
	// protectedTaken and looseTaken say by leaf what the search at hand took of it
	// (R9); takenLeaves are those of which it took something.
	protectedTaken, looseTaken []bool
	takenLeaves                []int32
	scratch                    scratch
	question                   question
}

// A unitState is what is asked of many units for one that is taken, side by side in
// memory: at most 64 bytes, which are read at once, so that nothing is asked elsewhere of a unit of one task that is
// weighed and stays.
type unitState struct {
	next                 UnitID // of the same workload
	leaf, priority, work int32
	node                 int32 // on which all of it stands, where that is one task; else −1
	charge               int32 // the number of what it is charged, the same of all that share it; 0 is that it is nothing
	number               int32 // by standing among those of its leaf with a number; 0 is none
	shape                placement.Shape
	holds                uint64 // resources below 64 that it is charged
	devices              uint64 // with shape and pipelined: where it stands, as node
	bars                 bars
	pipelined            bool
	costless             bool // moving it moves no GPUs, and no work is lost with it
	alive                bool
	taken                bool // in the search at hand
	moving               bool // in the trial at hand, see Moving
	counted              bool // while it is taken: see fit.counted
	started              bool // see Unit.Started
	single               bool // it is all of its workload
	protection           protection
	byClass              bool // protected by quota where those of classes count (Q8)
	inClass              bool // within what its leaf is guaranteed of its classes
}

// bars are what stands against taking a unit in itself, in some of the ways.
type bars uint8

const (
	nonPreemptible bars = 1 << iota
	rooted
	preemptedEarly // its minimum runtime is not over (M1)
	reclaimedEarly
	budgeted // somebody's disruption budget counts it (M7)
	wide     // it has several tasks, which may stand on several nodes
)

// scratch is memory that is used again from one trial to the next.
type scratch struct {
	picker  picker
	taking  taking
	before  []int64
	ids     []UnitID // slabs that lists are cut from
	classes []int8
	nodes   []int32
	cases   []Justification
	// nodesTried are those on which the last trials of moves placed something, shapesTried
	// what they looked for places for.
	nodesTried  []int32
	shapesTried []placement.Shape
	homeless    []placement.Shape // see taking.homeless
	held        heldByLeaf        // of takesTooLittle
	plainly     []UnitID          // of clearPlainly
	oneClass    []int8            // of listOf
	ranked      []UnitID          // of sortMoverSets, as is
	ranks       []int32           // by unit: where it stands among these
}

// protection is how a unit is protected (R8).
type protection uint8

const (
	none protection = iota
	byShare
	byQuota
)

// NewEvaluator returns an evaluator without units. Nothing of c is modified but
// Budgets, which it keeps, and the journals of Tree and Index.
func NewEvaluator(c Config) *Evaluator {
	queues := c.Tree.Queues()
	inner := make([]bool, queues)
	for q := range queues {
		if parent := c.Tree.Parent(q); parent >= 0 {
			inner[parent] = true
		}
	}
	return &Evaluator{
		Config: c,
		roster: roster{
			byLeaf: make([][]UnitID, queues), byNode: make([][]UnitID, c.Nodes),
			nodeSorted: make([]bool, c.Nodes), sorted: make([]bool, queues),
			stretches: make([][]stretch, queues), stretched: make([]bool, queues), stepsIn: make([]int32, queues), amounts: make([]quota.Amounts, 1),
		},
		caches: make(map[cacheKey]*cache),
		plans:  make(map[placement.Shape]*plans),
		offers: make(map[offersKey]*offers),
		rooms:  make(map[placement.Shape]*shapeRooms),
		firsts: make(map[firstsKey]*keptFirsts),
		walked: make([]bool, queues), whole: make([]bool, queues),
		budgets: c.Budgets, undisturbed: slices.Clone(c.Budgets), starting: make([]int64, len(c.Budgets)),
		width: c.Tree.Resources(), inner: inner, climb: climbs(&c),
		down: make([][]int32, queues), ratios: make([]fairshare.Ratio, queues), ratioKnown: make([]bool, queues),
		protectedTaken: make([]bool, queues), looseTaken: make([]bool, queues),
		path: make([]bool, queues), side: make([]int32, queues), sideB: make([]int32, queues),
	}
}

// climbs says of every queue what it costs to change its use and that of all above it.
func climbs(c *Config) []int {
	const levels = 2 // that are changed in the time of a step
	depth := make([]int, c.Tree.Queues())
	var path []int
	for q := range depth {
		for path = path[:0]; q >= 0 && depth[q] == 0; q = c.Tree.Parent(q) {
			path = append(path, q)
		}
		above := 0
		if q >= 0 {
			above = depth[q]
		}
		for _, at := range slices.Backward(path) {
			above++
			depth[at] = above
		}
	}
	for q := range depth {
		depth[q] /= levels
	}
	return depth
}

// Mode is a way to make room.
type Mode uint8

const (
	// Consolidate: victims only move.
	Consolidate Mode = iota
	// ReclaimByQuota and ReclaimByShare: a queue takes from others.
	ReclaimByQuota
	ReclaimByShare
	// Preempt: lower priority gives way.
	Preempt
	// ReclaimAndPreempt: lower priority of its own leaf gives way, and with that gone a
	// reclaim takes from others what is beyond their lines (R11).
	ReclaimAndPreempt
	// Due: whoever has its place behind the preemptor makes way, of whatever queue and
	// priority (B9), see [Config.Behind].
	Due
)

// A Preemptor is a unit that waits.
type Preemptor struct {
	// EvictionRank is what it would have if it started now.
	EvictionRank
	Leaf int32
	// Asks is what it adds to use, Need what of that nodes must give (an upper
	// bound is sound only where the amount is exact, so others are left out).
	Asks, Need quota.Amounts
	// Classes is what it asks of each class that it could land in and that its leaf
	// gives a quota for (Q8).
	Classes quota.Amounts
	Gang    *gang.Gang
	Add     gang.Unit
	// Shapes are what one task of each set asks; Exact says that counting the
	// room on nodes is a proof: there is one shape, and no bound per class.
	Shapes []placement.Shape
	Exact  bool
	// Domains are lists of nodes, by position, of which one has to hold the tasks
	// that its constraints keep together (T7); nil where none does. With Exact
	// that is all of them, and nothing else is asked of a domain but room.
	Domains [][]int32
	// GPUs are what it requests, in milli.
	GPUs int64
	// Set is the set of nodes that it may use, −1 all.
	Set int32
	// AfterRelease: it may claim places that others are leaving (S4), so that what is
	// free is what is free once they have left.
	AfterRelease bool
	// Still: nothing is leaving the pool, so that nodes change only with their units.
	Still bool
	// Entitled: it stays within its lines at every level (R8).
	Entitled bool
	// Relocations is how many units that run may find other places beside the victims of
	// a reclaim or a preemption (M10); 0 is none.
	Relocations int
	// Equivalence is the same for preemptors that ask the same, −1 where it is like
	// no other: what was found out for one is used for the next.
	Equivalence int32
	// Cap bounds how many workloads may be disturbed (M7); nil does not.
	Cap *Cap
	// MayMove is a sound bound: whether any task of a unit finds another place as things stand; nil
	// knows nothing.
	MayMove func(u *Unit) bool
	// Start starts it in the journals of Tree and Index, or changes nothing.
	Start func() bool
	// Short lists the divided resources that it is short of, and then those of Classes.
	Short func() []int32
}

// A Cap is how many workloads may be disturbed, besides those that are already.
type Cap struct {
	Left      int
	Disturbed map[int32]bool
}

// A Justification is why one victim goes (X2).
type Justification struct {
	Victim UnitID
	// Moves: it does not go, but finds another place once the preemptor has started.
	Moves bool
	// Mode is the way in which it goes: of what goes by reclaim and preemption
	// together Preempt or the reclaim's.
	Mode Mode
	// Subtree and PreemptorSubtree are the queues just below the one where the
	// paths part, −1 where it is no reclaim; Resource decided it. Before and
	// After are the uses before and after the change, Entitlement the quota or share; the own ones
	// are of the preemptor's side, as it stands with all victims gone (R1).
	Subtree, PreemptorSubtree           int32
	Resource                            int32
	Before, After, Entitlement          int64
	OwnBefore, OwnAfter, OwnEntitlement int64
}

// A Proposal is whom to take for the preemptor, in this order; what goes by reclaim
// and preemption together has the mode of the reclaim, and the preempted first. Those
// that move, which are the last and for Consolidate all, find another place once it has
// started, the best standing first; with Staying those stay, before the others look for places,
// whose old place is free, and with Anew every task is placed anew.
type Proposal struct {
	Mode           Mode
	Justifications []Justification
	Staying, Anew  bool
	list           list // see Nodes and Evaluator.Rank
	// Bound is that of the searches by which it was found: under it the preemptor and what
	// moves find the same places again (placement.Effort.Again).
	Bound int64
}

// Nodes are the place that the victims clear, by position; none is anywhere.
func (p *Proposal) Nodes() []int32 { return p.list.nodes }

// WithinLines says whether some of the victims are protected more than the preemptor will be, and go because it stays
// within the lines of its queues (E7).
func (p *Proposal) WithinLines() bool { return p.list.withinLines }

// A Refusal is why no room can be made. Units that might be taken and those
// that may not, by cause, are counted.
type Refusal struct {
	// Units are those that were looked at, Takeable those of them that the rules
	// allow to be taken at first.
	Units, Takeable int
	// Protected units have a minimum runtime that ends at Until at the
	// earliest (M1), Budgeted ones a disruption budget that is spent (M7),
	// Turning ones would be less saturated than the preemptor's side (R5).
	// Capped is how many victims the least of them were that the cap did not let
	// go together (M7).
	Protected, Budgeted, Turning, Capped int
	Until                                int64
	// Beyond is the line that the preemptor would cross even with all gone that it
	// might preempt, protected or not (E7); else nil.
	Beyond *Right
	// Steps are the sets of victims that were tried; Cut says that there were
	// more than the bound.
	Steps int
	Cut   bool
	// Short is what a reclaim found the preemptor to be short of.
	Short []int32
}

// nodes is what is free for the preemptor.
func (b *Preemptor) nodes(x *placement.Index) *placement.Index {
	if b.AfterRelease {
		return x.AfterRelease()
	}
	return x
}

func (r *Evaluator) quota(q, res int32) int64 { return r.Quotas[int(q)*r.width+int(res)] }
func uncut(r *Evaluator, q, res int32) int64 {
	if r.Uncut == nil {
		return r.quota(q, res)
	}
	return r.Uncut[int(q)*r.width+int(res)]
}
func (r *Evaluator) share(q, res int32) int64 { return r.Shares[int(q)*r.width+int(res)] }
func (r *Evaluator) use(q, res int32) int64   { return r.Tree.Use(int(q), int(res)) }
func (r *Evaluator) parent(q int32) int32     { return int32(r.Tree.Parent(int(q))) }

// lineOf is LQ, or LF for share.
func (r *Evaluator) lineOf(q, res int32, byShare bool) int64 {
	if byShare {
		return r.Entitlements.Fair[int(q)*r.width+int(res)]
	}
	return r.Entitlements.Guaranteed[int(q)*r.width+int(res)]
}

// saturation is the largest use/fair share of a queue (F9), with more counted
// in.
func (r *Evaluator) saturation(q int32, more quota.Amounts) fairshare.Ratio {
	var largest fairshare.Ratio
	for res, divided := range r.Divided {
		if !divided {
			continue
		}
		ratio := fairshare.Ratio{
			Num: r.use(q, int32(res)) + more.Of(int32(res)),
			Den: r.share(q, int32(res)),
		}
		if ratio.Cmp(largest) > 0 {
			largest = ratio
		}
	}
	return largest
}

// ratio is the saturation of a queue as things stand in the search at hand.
func (r *Evaluator) ratio(q int32) fairshare.Ratio {
	if !r.ratioKnown[q] {
		r.ratios[q], r.ratioKnown[q] = r.saturation(q, nil), true
	}
	return r.ratios[q]
}

// used takes note that the use of a leaf, and of the queues above it, changes.
func (r *Evaluator) used(leaf int32) {
	for q := leaf; q >= 0; q = r.parent(q) {
		r.ratioKnown[q] = false
	}
}

// Entitled says whether a queue's path stays within its lines at every level with
// more in use (R8): its own LF, and above it the larger of quota and fair share.
func (r *Evaluator) Entitled(leaf int32, asks quota.Amounts) bool {
	for _, a := range asks {
		if !r.divides(a.Resource) {
			continue
		}
		for q := leaf; q >= 0; q = r.parent(q) {
			if line, _ := r.Entitlement(q, a.Resource, q == leaf); r.use(q, a.Resource)+a.Value > line {
				return false
			}
		}
	}
	return true
}

// Entitlement is up to where a queue may use a resource with a right to (R8): LF of a
// leaf, the larger of quota and fair share of the others; and whether the
// resource is divided at all.
func (r *Evaluator) Entitlement(q, res int32, leaf bool) (line int64, divided bool) {
	if !r.divides(res) {
		return 0, false
	}
	if leaf {
		return r.lineOf(q, res, true), true
	}
	return max(r.quota(q, res), r.share(q, res)), true
}

func (r *Evaluator) divides(res int32) bool { return int(res) < len(r.Divided) && r.Divided[res] }

// Redraw replaces what changes when the capacity is divided anew: Quotas, Uncut,
// Shares, Entitlements, Divided and Classed. The rest of c is ignored. It says whether any of
// them is another.
func (r *Evaluator) Redraw(c Config) bool {
	if slices.Equal(r.Quotas, c.Quotas) && slices.Equal(r.Uncut, c.Uncut) && slices.Equal(r.Shares, c.Shares) &&
		slices.Equal(r.Divided, c.Divided) && slices.Equal(r.Classed, c.Classed) &&
		slices.Equal(r.Entitlements.Guaranteed, c.Entitlements.Guaranteed) && slices.Equal(r.Entitlements.Fair, c.Entitlements.Fair) {
		return false
	}
	r.Quotas, r.Uncut, r.Shares, r.Entitlements, r.Divided, r.Classed = c.Quotas, c.Uncut, c.Shares, c.Entitlements, c.Divided, c.Classed
	clear(r.walked)
	r.law++
	return true
}

// Rights lists the ways in which the preemptor's leaf may reclaim for it
// (R1), as things stand: by quota, and, unless its whole path is within quota, so
// that share would bring nothing more, by share.
func (r *Evaluator) Rights(b *Preemptor, share bool) []Mode { return AppendRights(nil, r, b, share) }

// AppendRights appends what [Evaluator.Rights] lists to some modes.
func AppendRights(modes []Mode, r *Evaluator, b *Preemptor, share bool) []Mode {
	top := r.top(b.Leaf)
	quota, byShare := &ask{Preemptor: b, mode: ReclaimByQuota}, &ask{Preemptor: b, mode: ReclaimByShare}
	if r.entitled(quota, b.Leaf) {
		modes = append(modes, ReclaimByQuota)
	}
	if share && r.entitled(byShare, b.Leaf) && !r.entitled(quota, top) {
		modes = append(modes, ReclaimByShare)
	}
	return modes
}

// top is the uppermost queue of the leaf's path.
func (r *Evaluator) top(leaf int32) int32 {
	for up := r.parent(leaf); up >= 0; up = r.parent(up) {
		leaf = up
	}
	return leaf
}
