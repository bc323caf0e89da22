package placement

import (
	"cmp"
	"slices"
)

// fragments is what FragmentationGradient knows: the mix, and F, the expected
// fragmentation of a node, in weight × milli.
//
// F is the sum over the targets of weight × what is free that the target cannot
// use. Nodes whose devices have the same left over, in any order, use devices
// alike: such a state is a number, a vector. What is free of other amounts only
// says which targets find enough: that is a number too, a cell. With use the milli
// of a vector that each part of the mix can use and weights the weight, in a
// cell, of each part's targets, F is weight·free − Σ weights·use.
type fragments struct {
	weight  int64   // of the whole mix
	steps   []int64 // the sigmoid's; nil for Exact
	targets []target
	parts   []mixPart
	bounds  [][]int64 // by resource of the mix: the distinct amounts, ascending
	asked   []int32   // the resources of the mix

	layouts []order // by layout
	bodies  []body
	body    []int32 // by node
	vectors interner
	free    []int64 // by vector: milli in all
	use     []int64 // by vector × parts
	cells   interner
	weights []int64 // by cell × parts
	moves   moves

	vector []int32 // by node
	before []int64 // by node: F
	// Scratch: a cell, a vector, the vector that it comes from, and sums over it.
	cell, tuple, from, sums []int64
}

// A target is one of the mix that asks devices.
type target struct {
	part   int32
	weight int64
	ranks  []int64 // by resource of the mix: how many of its bounds must be free
}

// A mixPart is devices that targets ask.
type mixPart struct {
	shape   shape // no more of it than devices need
	classes []int32
}

// A body is what nodes have in common whose vectors mean the same. Their vectors
// begin with its number.
type body struct {
	layout int32
	class  int32 // 0 where no target minds
	cell   int32 // of the empty node, where capacities are told apart; else 0
	nodes  int64
}

// newFragments reads the mix and all nodes; apart tells nodes of different
// capacity apart, as far as it decides which targets an empty one takes.
func (x *Index) newFragments(mix []Target, apart bool) *fragments {
	f := &fragments{vector: make([]int32, len(x.nodes))}
	for i := range mix {
		f.weight += mix[i].Weight
		for _, a := range mix[i].Request.Amounts {
			f.asked = append(f.asked, a.Resource)
		}
	}
	if !x.scoring.Exact {
		f.steps = sigmoidSteps(cmp.Or(x.scoring.Scale, 1000), max(1, f.weight), cmp.Or(x.scoring.Steps, 100))
	}
	slices.Sort(f.asked)
	f.asked = slices.Compact(f.asked)
	for _, r := range f.asked {
		var bounds []int64
		for i := range mix {
			if amount := mix[i].Request.Amounts.Of(r); amount > 0 {
				bounds = append(bounds, amount)
			}
		}
		slices.Sort(bounds)
		f.bounds = append(f.bounds, slices.Compact(bounds))
	}
	f.newTargets(x, mix)
	length := 1
	for i := range x.layouts {
		length = max(length, 1+len(x.layouts[i].scale))
		f.layouts = append(f.layouts, f.newOrder(&x.layouts[i], i))
	}
	f.vectors, f.cells = newInterner(length), newInterner(len(f.asked))
	f.cell, f.tuple = make([]int64, len(f.asked)), make([]int64, length)
	f.from, f.sums = make([]int64, length), make([]int64, length)
	f.moves.keys = newInterner(1)
	if len(f.asked) == 1 {
		for i := range len(f.bounds[0]) + 1 { // so that a cell's number is its tuple
			f.cell[0] = int64(i)
			f.cellNumber()
		}
	}
	f.newBodies(x, apart)
	return f
}

// newTargets sorts the mix by part. Targets without devices use no device
// wherever they are, so that only their weight counts.
func (f *fragments) newTargets(x *Index, mix []Target) {
	for i := range mix {
		m := &mix[i]
		if m.Request.Devices == 0 {
			continue
		}
		t := target{weight: m.Weight, part: f.partOf(x, &m.Request)}
		for k, r := range f.asked {
			rank, found := slices.BinarySearch(f.bounds[k], m.Request.Amounts.Of(r))
			if found {
				rank++
			}
			t.ranks = append(t.ranks, int64(rank))
		}
		f.targets = append(f.targets, t)
	}
}

// partOf returns the number of a request's devices.
func (f *fragments) partOf(x *Index, r *Request) int32 {
	at := slices.IndexFunc(f.parts, func(p mixPart) bool {
		q := &p.shape.request
		return q.Devices == r.Devices && q.Milli == r.Milli && q.Memory == r.Memory && q.MinMemory == r.MinMemory &&
			equalSets(q.Models, r.Models) && equalSets(p.classes, r.Classes)
	})
	if at >= 0 {
		return int32(at)
	}
	p := mixPart{shape: shape{request: *r, count: int(r.Devices), memory: r.Memory, milli: r.Milli}, classes: r.Classes}
	p.shape.whole = r.Memory == 0 && r.Milli == 1000
	for i := range x.layouts {
		p.shape.capable = append(p.shape.capable, p.shape.accepted(&x.layouts[i]))
	}
	f.parts = append(f.parts, p)
	return int32(len(f.parts) - 1)
}

// equalSets tells nil (any) from empty (none).
func equalSets(a, b []int32) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

// newBodies numbers the layouts, with the classes where a target minds them.
func (f *fragments) newBodies(x *Index, apart bool) {
	minds := slices.ContainsFunc(f.parts, func(p mixPart) bool { return p.classes != nil })
	known := newInterner(3)
	f.body = make([]int32, len(x.nodes))
	for v := range x.nodes {
		b := body{layout: x.nodes[v].layout}
		if minds {
			b.class = x.kinds[x.nodes[v].kind].class
		}
		if apart {
			b.cell = f.cellOf(x.capacityOf(int32(v)), nil)
		}
		number, fresh := known.of([]int64{int64(b.layout), int64(b.class), int64(b.cell)})
		if fresh {
			f.bodies = append(f.bodies, b)
		}
		f.bodies[number].nodes++
		f.body[v] = number
	}
}

// limit keeps memory flat: when far more vectors or cells are known than there
// are nodes, all are forgotten. Their numbers are in no result. It reports whether
// every node has to be read anew.
func (f *fragments) limit(x *Index) bool {
	most := 8192 + 4*len(x.nodes)
	if f.cells.count > most && len(f.asked) > 1 {
		f.cells.empty()
		f.weights = f.weights[:0]
	}
	if f.vectors.count > most || f.moves.keys.count > 16*most {
		f.vectors.empty()
		f.free, f.use = f.free[:0], f.use[:0]
		f.moves.empty()
		return true
	}
	return false
}

func (f *fragments) lookAll(x *Index) {
	f.before = slices.Grow(f.before[:0], len(x.nodes))[:len(x.nodes)]
	for v := range x.nodes {
		f.look(x, int32(v))
	}
}

// look reads one node anew.
func (f *fragments) look(x *Index, v int32) {
	f.vector[v] = f.vectorOf(x, v, 0, nil)
	f.before[v] = f.amount(f.vector[v], f.cellOf(x.freeOf(v), nil))
}

// cellOf returns the cell of free amounts less needs.
func (f *fragments) cellOf(free, need []int64) int32 {
	for k, r := range f.asked {
		amount := free[r]
		if need != nil {
			amount -= need[k]
		}
		// How many of the bounds are free.
		bounds := f.bounds[k]
		low, high := 0, len(bounds)
		for low < high {
			if middle := (low + high) / 2; bounds[middle] <= amount {
				low = middle + 1
			} else {
				high = middle
			}
		}
		f.cell[k] = int64(low)
	}
	if len(f.asked) == 1 {
		return int32(f.cell[0]) // see newFragments
	}
	return f.cellNumber()
}

// cellNumber returns the number of the cell in f.cell.
func (f *fragments) cellNumber() int32 {
	cell, fresh := f.cells.of(f.cell)
	if !fresh {
		return cell
	}
	at := len(f.weights)
	for range f.parts {
		f.weights = append(f.weights, 0)
	}
	for i := range f.targets {
		t := &f.targets[i]
		enough := true
		for k, rank := range t.ranks {
			enough = enough && f.cell[k] >= rank
		}
		if enough {
			f.weights[at+int(t.part)] += t.weight
		}
	}
	return cell
}

// amount is F of a vector in a cell.
func (f *fragments) amount(vector, cell int32) int64 {
	n := len(f.parts)
	use, weights := f.use[int(vector)*n:][:n], f.weights[int(cell)*n:][:n]
	sum := f.weight * f.free[vector]
	for i, u := range use {
		sum -= u * weights[i]
	}
	return sum
}
