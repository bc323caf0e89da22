package gang

import (
	"math"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// MaxTasks is how many tasks the sets of one gang may count together, so that
// every sum of tasks fits an int32 with room to spare and a gang that asks
// next to nothing per task still ends.
const MaxTasks = 1 << 24

// A Set is a number of identical tasks of a workload's form (G1).
type Set struct {
	// Shape is what each task asks of a node, as the placement index interned
	// it.
	Shape placement.Shape
	// Devices is how many GPUs each task asks; 0 is a CPU-only task. It picks
	// the strategy (P3) and comes first in the order in which sets are placed.
	Devices int32
	// Amounts is what each task is charged; nil is nothing.
	Amounts quota.Amounts
	// Count is how many tasks the set has at most; it must be positive.
	Count int32
	// Min is how many must run together, 0 to Count. At 0 every task of the
	// set is elastic: the set is at its minimum with nothing.
	Min int32
	// Submitted is how many of the Count tasks exist so far, 0 to Count (G1).
	Submitted int32
	// Parent is the group that the set belongs to; -1 is the workload.
	Parent int32
	// Constraint is the set's, within those of the groups around it.
	Constraint Constraint
}

// A Group holds pod sets and groups of which a number must be at their minimum
// (G3).
type Group struct {
	// Parent is the group around it; -1 is the workload.
	Parent int32
	// Min is how many of the group's children must be at their minimum; 0 is
	// all of them.
	Min int32
	// Constraint is the group's, without Slices.
	Constraint Constraint
}

// A Gang is a workload's form as a tree of groups and sets: the workload
// itself is the root, which needs all its children. It is immutable and safe
// for concurrent use; identical definitions may share one.
type Gang struct {
	sets []Set
	tree []node // depth first, the root at 0
	// leaf is the node of each set: tree[leaf[s]].set == s.
	leaf []int32
	// bounds are the constraints by node of the tree; nil where there are none. A
	// Required without a Preferred is both.
	bounds []Constraint
	// plain: every group needs all its children, so that the minimum is that
	// of every set and there is nothing to choose.
	plain bool
	// hardest are all sets in the order in which they are placed (hardestFirst).
	hardest []int32
	// one is zeros around a single 1: the unit of one task of set s is a
	// window of it (see single).
	one []int32
	// start is the preferred unit while nothing is held, nil if there is none, and
	// verdict says why; neither is ever written to again.
	start   []int32
	verdict Verdict
}

// New builds the gang of sets in groups (G3). The order of the sets is the
// order of preference wherever something is to be chosen; a group stands where
// the first of its sets stands, so that the order of the groups says nothing.
// Neither argument is kept. The error is a [*DefinitionError], of the first
// thing found wrong. O(s log s + g) for s sets and g groups.
func New(sets []Set, groups []Group) (*Gang, error) {
	return NewWithin(Constraint{}, sets, groups)
}

// NewWithin is [New] with a constraint on the whole workload, without Slices (T2).
func NewWithin(whole Constraint, sets []Set, groups []Group) (*Gang, error) {
	if err := checkSets(sets, len(groups)); err != nil {
		return nil, err
	}
	if !whole.valid(false) {
		return nil, &DefinitionError{Fault: BadConstraint, Set: -1, Group: -1}
	}
	for i := range groups {
		if !groups[i].Constraint.valid(false) {
			return nil, &DefinitionError{Fault: BadConstraint, Set: -1, Group: int32(i)}
		}
	}
	tree, err := newTree(sets, groups)
	if err != nil {
		return nil, err
	}
	g := &Gang{
		sets:  slices.Clone(sets),
		tree:  tree,
		leaf:  make([]int32, len(sets)),
		plain: true,
		one:   make([]int32, 2*len(sets)-1),

		hardest: hardestFirst(sets),
	}
	for i := range g.sets {
		g.sets[i].Amounts = slices.Clone(sets[i].Amounts)
		g.sets[i].Constraint.Slices = slices.Clone(sets[i].Constraint.Slices)
	}
	for i, n := range g.tree {
		if n.set >= 0 {
			g.leaf[n.set] = int32(i)
		} else if n.need < n.children {
			g.plain = false
		}
	}
	g.one[len(sets)-1] = 1
	g.bounds = constraints(whole, g.sets, groups, g.tree)
	if !g.plain {
		markTwins(g.sets, g.tree, g.bounds)
	}
	var w Walk
	g.verdict = w.Reset(g, nil, 1)
	if unit, ok := w.Next(); ok {
		g.start = unit.Add
	}
	return g, nil
}

// checkSets looks at each set alone.
func checkSets(sets []Set, groups int) error {
	if len(sets) == 0 {
		return &DefinitionError{Fault: NoSets, Set: -1, Group: -1}
	}
	total := int64(0)
	for i, s := range sets {
		fault := Fault(0)
		total += int64(s.Count)
		switch {
		case s.Count <= 0 || total > MaxTasks:
			fault = BadCount
		case s.Min < 0 || s.Min > s.Count:
			fault = BadMin
		case s.Submitted < 0 || s.Submitted > s.Count:
			fault = BadSubmitted
		case s.Devices < 0:
			fault = BadDevices
		case s.Amounts.Validate(math.MaxInt32) != nil:
			fault = BadAmounts
		case s.Parent < -1 || int(s.Parent) >= groups:
			fault = BadParent
		case !s.Constraint.valid(true):
			fault = BadConstraint
		default:
			continue
		}
		return &DefinitionError{Fault: fault, Set: int32(i), Group: -1}
	}
	return nil
}

// Reshaped is the same gang over another index, in which its sets have other
// shapes.
func (g *Gang) Reshaped(shape func(set int) placement.Shape) *Gang {
	again := *g
	again.sets = slices.Clone(g.sets)
	for i := range again.sets {
		again.sets[i].Shape = shape(i)
	}
	again.hardest = hardestFirst(again.sets)
	return &again
}

// Len is the number of sets.
func (g *Gang) Len() int { return len(g.sets) }

// Set returns set i, 0 ≤ i < Len. Its Amounts must not be modified.
func (g *Gang) Set(i int) Set { return g.sets[i] }

// single is the unit of one task of set s. It shares one array among all sets.
func (g *Gang) single(s int) Unit {
	n := len(g.sets)
	return Unit{Add: g.one[n-1-s : 2*n-1-s : 2*n-1-s]}
}

// held reads how many tasks of set s are held; what a caller leaves out, or a
// negative count, is none.
func held(counts []int32, s int) int32 {
	if s < len(counts) {
		return max(0, counts[s])
	}
	return 0
}

// room is how many tasks of the set exist and are not held.
func (s *Set) room(held int32) int32 {
	return max(0, s.Submitted-held)
}

// AtMinimum says whether what is held, the running and claimed tasks per set,
// is the gang's minimum or more (G1, G3). Sets that held leaves out hold
// nothing. A gang whose minimum is no task at all is always at it. O(sets and
// groups); no allocation where every group needs all its children, nor in
// trees of up to 64 nodes.
func (g *Gang) AtMinimum(counts []int32) bool {
	if g.plain {
		for s := range g.sets {
			if held(counts, s) < g.sets[s].Min {
				return false
			}
		}
		return true
	}
	var buffer [64]status
	state := g.buffer(buffer[:])
	g.assess(state, counts)
	return state[0].atMin
}

// buffer is a status per node, in the array of small if it is large enough.
func (g *Gang) buffer(small []status) []status {
	if len(g.tree) <= len(small) {
		return small[:len(g.tree)]
	}
	return make([]status, len(g.tree))
}
