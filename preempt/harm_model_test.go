package preempt_test

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// The oracle of least harm (M3): one decision of making room, for one
// preemptor in one state, by brute force and from the page of package preempt
// alone. It was written without looking at the solver. It knows no State and no
// Evaluator: harm_read_test.go reads the one, harm_room_test.go the other. Everything
// is counted anew from the units for every set of victims that is looked at.

// Sizes of the arrays; the instances are smaller.
const (
	harmNodes, harmDevices = 6, 16
	harmQueues             = 16
	harmResources          = 2 // GPU and one more
)

type harmAmounts [harmResources]int64

// A harmPolicy is what a policy says about making room.
type harmPolicy struct {
	consolidates, beyondShare bool // C4, C5
	reclaim                   preempt.Reclaim
	fixedOnly                 bool // only the non-preemptible reclaim
	scope                     preempt.Scope
	straddle                  preempt.Straddle
	margin, moved             int64 // R5 in thousandths, C3 in percent
	cap                       int   // workloads that may be disturbed (M7)
	overQuota                 bool  // Q2 is off
}

// A harmWork is a workload.
type harmWork struct {
	name                  string
	leaf                  int
	priority              int64
	nonPreemptible, holds bool
	owner                 string
}

// A harmQueue is a queue with its lines (R8).
type harmQueue struct {
	name                           string
	parent                         int
	leaf                           bool
	created                        int64
	quota, limit, share, LQ, LF    harmAmounts
	whole                          harmAmounts // the quota before it was cut (F2)
	fixed                          harmAmounts // the quota that holds the non-preemptible (Q2)
	requestable                    harmAmounts // F1
	kept                           harmAmounts // what a lending limit keeps at most (Q5), −1 if none
	most                           int64       // MaxWorkloads (Q10)
	parts                          []int64     // what those who can use anything ask of each device (F5)
	reclaimRuntime, preemptRuntime int64       // M1, in microseconds
}

// A harmShape is what a task asks.
type harmShape struct {
	devices int
	milli   int64 // of each device
	cpu     int64
	accepts [harmNodes]bool
	// strategy is where its tasks go (P3).
	strategy placement.Strategy
}

// A harmTask is a task in its place.
type harmTask struct {
	shape   *harmShape
	node    int
	devices []int
	name    taskName
}

// A harmUnit is what goes at once: a workload's minimum, or one step above it.
type harmUnit struct {
	work                int // by ID
	step                int // 0 is the minimum
	leaf                int
	tasks               []harmTask
	amount              harmAmounts
	priority            int64
	nonPreemptible      bool
	admitted, submitted int64
	lost                int64 // GPU × time since checkpoint or start
	nodes               uint32
	free, still         bool // its minimum runtime is over for reclaim; for preemption and moves
}

// A harmWant is a number of tasks alike.
type harmWant struct {
	shape *harmShape
	n     int
}

// A harmCase is one decision: who waits, and what runs before it.
type harmCase struct {
	policy    harmPolicy
	only      []harmKind // the ways to make room that are asked for; nil is by policy
	works     []harmWork
	nodeNames []string
	granule   harmAmounts
	divided   [harmResources]bool
	governed  [harmResources]bool
	capacity  harmAmounts
	queues    []harmQueue
	units     []harmUnit // by standing, the best first
	above     []uint32   // of each, the later steps, which go first (M6)
	empty     harmFree
	want      []harmWant
	unit      harmUnit // the preemptor, as it will run
	step      bool     // it is one task above a minimum (G2)
	short     [harmResources]bool
	quotaSafe uint32 // quota-protected units (R8)
	shareSafe uint32 // share-protected ones
	places    []harmPlace
	// base is gone throughout, and then a reclaim takes excess only (R11).
	base       uint32
	onlyExcess bool
	budgets    []harmBudget
	uses       map[uint32]*harmUse
	starting   map[uint32]bool
	staying    bool // victims of a consolidation may stay before the others look for places
	searched   bool // places are searched for as package gang does, not exactly
}

// A harmUse is what the queues use with some units gone.
type harmUse struct {
	all, fixed [harmQueues]harmAmounts // fixed is of non-preemptible work
	works      [harmQueues]int64
}

// drawLines is R8's lines of the children of a queue, or of the top, and below.
func (c *harmCase) drawLines(parent int) {
	var group []int
	for q := range c.queues {
		if c.queues[q].parent == parent {
			group = append(group, q)
		}
	}
	for r := range c.divided {
		if !c.divided[r] {
			continue
		}
		own, sum := make([]int64, len(group)), int64(0)
		for i, q := range group {
			own[i] = min(c.queues[q].quota[r], c.queues[q].requestable[r])
			sum += own[i]
		}
		part := own
		if parent >= 0 && sum > c.queues[parent].LQ[r] {
			part = c.byQuota(group, own, r, c.queues[parent].LQ[r])
		}
		over := make([]int64, len(group))
		for i, q := range group {
			over[i] = c.queues[q].share[r]
		}
		if parent >= 0 && sum > c.queues[parent].LF[r] {
			over = c.byQuota(group, own, r, c.queues[parent].LF[r])
		}
		for i, q := range group {
			h := &c.queues[q]
			h.LQ[r] = part[i]
			h.LF[r] = max(part[i], over[i])
		}
	}
	for _, q := range group {
		if !c.queues[q].leaf {
			c.drawLines(q)
		}
	}
}

// byQuota divides an amount by F5 in proportion to quota, nobody above its own:
// granule by granule to the lowest (2·so far + g)/weight, then the larger weight,
// the older, the ID.
func (c *harmCase) byQuota(group []int, own []int64, r int, amount int64) []int64 {
	parts, granule := make([]int64, len(group)), c.granuleOf(group, r)
	before := func(i, j int) bool {
		x, y := &c.queues[group[i]], &c.queues[group[j]]
		return cmp.Or(
			cmp.Compare((2*parts[i]+granule)*y.quota[r], (2*parts[j]+granule)*x.quota[r]),
			cmp.Compare(y.quota[r], x.quota[r]), cmp.Compare(x.created, y.created), cmp.Compare(i, j)) < 0
	}
	for amount > 0 {
		next := -1
		for i := range group {
			if parts[i] < own[i] && (next < 0 || before(i, next)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		given := min(granule, amount, own[next]-parts[next])
		parts[next], amount = parts[next]+given, amount-given
	}
	return parts
}

// granuleOf is F5's of a group: as given, else of GPUs a whole one where somebody asks
// whole ones only, else the largest that divides it and all that is asked.
func (c *harmCase) granuleOf(group []int, r int) int64 {
	granule := c.granule[r]
	if granule > 0 {
		return granule
	}
	for granule = 1000; ; granule-- {
		fits := 1000%granule == 0
		for _, q := range group {
			other := func(n int64) bool { return n%granule != 0 }
			if parts := c.queues[q].parts; granule == 1000 && len(parts) > 0 && !slices.ContainsFunc(parts, other) {
				return granule
			} else if slices.ContainsFunc(parts, other) {
				fits = false
			}
		}
		if fits {
			return granule
		}
	}
}

// finishUnits sorts the units by standing and says what goes before what.
func (c *harmCase) finishUnits() {
	slices.SortFunc(c.units, func(a, b harmUnit) int { return a.standing(&b) })
	c.above = make([]uint32, len(c.units))
	for i := range c.units {
		for j := range c.units {
			if c.units[i].work == c.units[j].work && c.units[j].step > c.units[i].step {
				c.above[i] |= 1 << j
			}
		}
	}
}

// prepare finds out what every question asks.
func (c *harmCase) prepare() {
	var all uint32
	for i := range c.units {
		all |= c.units[i].nodes
	}
	c.readPlaces(all)
	c.quotaSafe, c.shareSafe, _ = c.protection(0, false)
	c.readShortage()
}

// asked is what the start adds to the use.
func (c *harmCase) asked() (sum harmAmounts) {
	for _, w := range c.want {
		for range w.n {
			sum = sum.plus(c.charge(w.shape))
		}
	}
	return sum
}

func (c *harmCase) charge(s *harmShape) harmAmounts {
	return harmAmounts{int64(s.devices) * s.milli, s.cpu}
}

func (a harmAmounts) plus(b harmAmounts) harmAmounts {
	for r := range a {
		a[r] += b[r]
	}
	return a
}

func (u *harmUnit) add(c *harmCase, t harmTask) {
	u.tasks = append(u.tasks, t)
	u.amount = u.amount.plus(c.charge(t.shape))
	u.nodes |= 1 << t.node
}

// standing is R8's order of units.
func (u *harmUnit) standing(v *harmUnit) int {
	first := func(a, b bool) int { // who is a goes first
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(first(u.nonPreemptible, v.nonPreemptible), cmp.Compare(v.priority, u.priority),
		first(u.step == 0, v.step == 0), cmp.Compare(u.admitted, v.admitted),
		cmp.Compare(u.submitted, v.submitted), cmp.Compare(u.work, v.work),
		cmp.Compare(u.step, v.step))
}

// A harmPlace is a set of nodes and the units that stand there.
type harmPlace struct{ nodes, units uint32 }

// anywhere is every node, with every unit.
func (c *harmCase) anywhere() harmPlace { return harmPlace{1<<c.empty.nodes - 1, 1<<len(c.units) - 1} }

// readPlaces lists, for every set of nodes, the units that stand on it: those
// with a task there. Sets on which the same tasks stand are one.
func (c *harmCase) readPlaces(all uint32) {
	for place := uint32(1); place < 1<<c.empty.nodes; place++ {
		var there uint32
		for i := range c.units {
			if c.units[i].nodes&place != 0 {
				there |= 1 << i
			}
		}
		if place&^all == 0 && there != 0 {
			c.places = append(c.places, harmPlace{place, there})
		}
	}
}

// path is the leaf and every queue above it.
func (c *harmCase) path(q int) (path []int) {
	for ; q >= 0; q = c.queues[q].parent {
		path = append(path, q)
	}
	return path
}

// use is what the queues use when the units are gone.
func (c *harmCase) use(gone uint32) *harmUse {
	if known := c.uses[gone]; known != nil {
		return known
	}
	use := &harmUse{}
	var works []int
	for i := range c.units {
		u := &c.units[i]
		if gone&(1<<i) != 0 {
			continue
		}
		fresh := !slices.Contains(works, u.work)
		works = append(works, u.work)
		for q := u.leaf; q >= 0; q = c.queues[q].parent {
			use.all[q] = use.all[q].plus(u.amount)
			if u.nonPreemptible {
				use.fixed[q] = use.fixed[q].plus(u.amount)
			}
			if fresh {
				use.works[q]++
			}
		}
	}
	c.uses[gone] = use
	return use
}

// protection walks a leaf after the other in standing (R8): the units that are
// quota-protected, those that are share-protected, and, where the preemptor is
// counted in, whether it is: 2 by quota, 1 by share, 0 not.
func (c *harmCase) protection(gone uint32, started bool) (byQuota, byShare uint32, own int) {
	for leaf := range c.queues {
		if !c.queues[leaf].leaf {
			continue
		}
		walk := c.walk(leaf, gone, started)
		sum, safe := harmAmounts{}, make([]bool, len(walk))
		for pass, line := range []harmAmounts{c.queues[leaf].LQ, c.queues[leaf].LF} {
			for i, u := range walk {
				with := sum.plus(c.at(u).amount)
				if safe[i] || !c.within(with, line, c.at(u).amount) {
					continue
				}
				safe[i], sum = true, with
				switch {
				case u < 0:
					own = 2 - pass
				case pass == 0:
					byQuota |= 1 << u
				default:
					byShare |= 1 << u
				}
			}
		}
	}
	return byQuota, byShare, own
}

// walk lists the units of a leaf by standing; −1 is the preemptor, whose
// unit stands for what of it runs already.
func (c *harmCase) walk(leaf int, gone uint32, started bool) (walk []int) {
	for i := range c.units {
		replaced := started && c.units[i].work == c.unit.work && c.units[i].step == c.unit.step
		if c.units[i].leaf == leaf && gone&(1<<i) == 0 && !replaced {
			walk = append(walk, i)
		}
	}
	if started && c.unit.leaf == leaf {
		at := slices.IndexFunc(walk, func(i int) bool { return c.unit.standing(&c.units[i]) < 0 })
		if at < 0 {
			at = len(walk)
		}
		walk = slices.Insert(walk, at, -1)
	}
	return walk
}

// at is a unit of a walk.
func (c *harmCase) at(u int) *harmUnit {
	if u < 0 {
		return &c.unit
	}
	return &c.units[u]
}

// within says whether amounts are within a line in what is divided and asked.
func (c *harmCase) within(sum, line, asked harmAmounts) bool {
	for r := range sum {
		if c.divided[r] && asked[r] > 0 && sum[r] > line[r] {
			return false
		}
	}
	return true
}

// admitted is Q2, Q3, Q5 and Q10 for the preemptor with units gone.
func (c *harmCase) admitted(gone uint32) bool {
	return c.admits(c.use(gone), &c.unit, c.asked(), !c.holds())
}

// holds says whether something of the preemptor runs.
func (c *harmCase) holds() bool {
	return slices.ContainsFunc(c.units, func(u harmUnit) bool { return u.work == c.unit.work })
}

func (c *harmCase) admits(use *harmUse, u *harmUnit, asked harmAmounts, fresh bool) bool {
	for q := u.leaf; q >= 0; q = c.queues[q].parent {
		if fresh && use.works[q]+1 > c.queues[q].most {
			return false
		}
		for r, need := range asked {
			bound := u.nonPreemptible && !c.policy.overQuota && c.governed[r]
			if need > 0 && (use.all[q][r]+need > c.queues[q].limit[r] ||
				bound && use.fixed[q][r]+need > c.queues[q].fixed[r]) {
				return false
			}
		}
	}
	for r, need := range asked {
		if need > 0 && c.governed[r] && !c.leavesKept(use, u.leaf, r, need) {
			return false
		}
	}
	return true
}

// leavesKept is Q5.
func (c *harmCase) leavesKept(use *harmUse, leaf, r int, need int64) bool {
	free, all, others := c.capacity[r], int64(0), int64(0)
	path := c.path(leaf)
	for q := range c.queues {
		kept := c.kept(use, q, r)
		if c.queues[q].parent < 0 {
			free -= use.all[q][r]
			all += kept
		}
		onPath := slices.Contains(path, q)
		if !onPath && (c.queues[q].parent < 0 || slices.Contains(path, c.queues[q].parent)) {
			others += kept
		}
	}
	return others == 0 || need <= max(free, all)-others
}

func (c *harmCase) kept(use *harmUse, q, r int) (sum int64) {
	for child := range c.queues {
		if c.queues[child].parent == q {
			sum += c.kept(use, child, r)
		}
	}
	return max(sum, c.queues[q].kept[r]-use.all[q][r])
}

// starts says whether the preemptor is admitted and finds its places.
func (c *harmCase) starts(gone uint32) bool {
	if c.searched {
		_, found := c.place(c.free(gone), c.want)
		return found && c.admitted(gone)
	}
	known, ok := c.starting[gone]
	if !ok {
		known = c.admitted(gone) && c.free(gone).takes(c.want)
		c.starting[gone] = known
	}
	return known
}

// placesFound says whether the preemptor finds its places as package gang looks
// for them, which proves nothing for unlike tasks where it fails.
func (c *harmCase) placesFound() bool {
	_, found := c.place(c.free(0), c.want)
	return found
}

// readShortage says what the preemptor is short of: what the nodes would not
// take if its tasks asked for that alone; if there is none, all that it asks.
func (c *harmCase) readShortage() {
	free, any := c.free(c.base), false
	c.short = [harmResources]bool{}
	asked := c.asked()
	for r := range asked {
		if asked[r] == 0 || !c.divided[r] {
			continue
		}
		var alone []harmWant
		for _, w := range c.want {
			shape := *w.shape
			if r == 0 {
				shape.cpu = 0
			} else {
				shape.devices = 0
			}
			alone = append(alone, harmWant{&shape, w.n})
		}
		c.short[r] = !free.takes(alone)
		any = any || c.short[r]
	}
	for r := range asked {
		c.short[r] = c.short[r] || !any && asked[r] > 0 && c.divided[r]
	}
}

// unitsOf are the units of a set, the best standing first.
func unitsOf(set uint32) (units []int) {
	for ; set != 0; set &= set - 1 {
		units = append(units, bits.TrailingZeros32(set))
	}
	return units
}
