package placement

import (
	"cmp"
	"math/bits"
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
	weight  int64   // of the whole mix, at least 1
	steps   []int64 // the sigmoid's; nil for Exact
	targets []target
	parts   []mixPart
	bounds  [][]int64 // by resource of the mix: the distinct amounts, ascending
	asked   []int32   // the resources of the mix

	layouts []runs  // by layout
	bodies  []int64 // by kind: what its vectors begin with
	vectors interner
	free    []int64 // by vector: milli in all
	use     []int64 // by vector × parts
	cells   interner
	weights []int64 // by cell × parts
	moves   moves

	vector []int32 // by node
	before []int64 // by node: F
	// Scratch: a vector, a cell, and the same for the one after.
	tuple, cell []int64
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

func (x *Index) newFragments() *fragments {
	f := &fragments{vector: make([]int32, len(x.nodes)), before: make([]int64, len(x.nodes))}
	mix := x.scoring.Mix
	for i := range mix {
		f.weight += mix[i].Weight
		for _, a := range mix[i].Request.Amounts {
			f.asked = append(f.asked, a.Resource)
		}
	}
	f.weight = max(1, f.weight)
	if !x.scoring.Exact {
		f.steps = sigmoidSteps(cmp.Or(x.scoring.Scale, 1000), f.weight, cmp.Or(x.scoring.Steps, 100))
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
	f.newTargets(x)
	length := 1
	for i := range x.layouts {
		length = max(length, 1+len(x.layouts[i].scale))
		f.layouts = append(f.layouts, newRuns(&x.layouts[i]))
	}
	f.newBodies(x)
	f.vectors, f.cells = newInterner(length), newInterner(len(f.asked))
	f.tuple, f.cell = make([]int64, length), make([]int64, len(f.asked))
	f.moves.keys = newInterner(1)
	for v := range x.nodes {
		f.look(x, int32(v))
	}
	return f
}

// newTargets sorts the mix by part. Targets without devices use no device
// wherever they are, so that only their weight counts.
func (f *fragments) newTargets(x *Index) {
	for i := range x.scoring.Mix {
		m := &x.scoring.Mix[i]
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

// newBodies numbers the layouts, and the classes where a target minds them.
func (f *fragments) newBodies(x *Index) {
	minds := slices.ContainsFunc(f.parts, func(p mixPart) bool { return p.classes != nil })
	for i := range x.kinds {
		body := int64(x.kinds[i].layout)
		if minds {
			body |= int64(x.kinds[i].class) << 32
		}
		f.bodies = append(f.bodies, body)
	}
}

// limit keeps memory flat: when far more vectors or cells are known than there
// are nodes, all are forgotten. Their numbers are in no result.
func (f *fragments) limit(x *Index) {
	most := 8192 + 4*len(x.nodes)
	if f.cells.count > most {
		f.cells.empty()
		f.weights = f.weights[:0]
	}
	if f.vectors.count > most || f.moves.keys.count > 16*most {
		f.vectors.empty()
		f.free, f.use = f.free[:0], f.use[:0]
		f.moves.empty()
		for v := range x.nodes {
			f.look(x, int32(v))
		}
	}
}

// look reads one node anew.
func (f *fragments) look(x *Index, v int32) {
	f.vector[v] = f.vectorOf(x, v, x.left[x.nodes[v].devices:], 0, nil)
	f.before[v] = f.amount(f.vector[v], f.cellOf(x.freeOf(v), nil))
}

// cellOf returns the cell of free amounts less needs.
func (f *fragments) cellOf(free, need []int64) int32 {
	if len(f.asked) == 0 {
		return f.cellNumber()
	}
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

// vectorOf returns the vector of a node of which the devices have left over what
// left says, less the units that a task takes of those in taken.
func (f *fragments) vectorOf(x *Index, v int32, left []int64, taken uint64, sh *shape) int32 {
	nd := &x.nodes[v]
	l, order := &x.layouts[nd.layout], &f.layouts[nd.layout]
	clear(f.tuple)
	f.tuple[0] = f.bodies[nd.kind]
	for i, d := range order.devices {
		if nd.healthy&(1<<d) == 0 {
			continue
		}
		amount := min(left[d], l.total(int(d)))
		if taken&(1<<d) != 0 {
			amount -= sh.units(l, int(d))
		}
		f.tuple[1+i] = max(0, amount)
	}
	f.sortRuns(order, f.tuple)
	return f.vectorNumber(x, nd.layout, f.tuple)
}

// vectorNumber returns the number of a vector, its runs sorted.
func (f *fragments) vectorNumber(x *Index, layout int32, tuple []int64) int32 {
	vector, fresh := f.vectors.of(tuple)
	if !fresh {
		return vector
	}
	l, order := &x.layouts[layout], &f.layouts[layout]
	free := int64(0)
	for i, d := range order.devices {
		free += tuple[1+i] / l.scale[d]
	}
	f.free = append(f.free, free)
	class := int32(tuple[0] >> 32)
	for i := range f.parts {
		p := &f.parts[i]
		use := int64(0)
		if p.classes == nil || slices.Contains(p.classes, class) {
			use = order.usable(&p.shape, l, layout, tuple[1:])
		}
		f.use = append(f.use, use)
	}
	return vector
}

// usable is the milli of the devices that can take their part of a task, if one
// model has enough of them.
func (r *runs) usable(sh *shape, l *layout, layout int32, left []int64) int64 {
	capable, milli, enough := sh.capable[layout], int64(0), false
	for i := range l.groups {
		devices := capable & l.groups[i].mask
		count := 0
		for m := devices; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			if at := left[r.at[d]]; at >= sh.units(l, d) {
				milli += at / l.scale[d]
				count++
			}
		}
		enough = enough || count >= sh.count
	}
	if !enough {
		return 0
	}
	return milli
}

// runs is the order in which a layout's vectors list the devices: those of equal
// model and memory side by side, sorted by what is left, as they are alike. Where
// the devices of one model differ in memory, the index says which one a task
// gets; then each stands for itself.
type runs struct {
	devices []uint8 // in that order
	at      []uint8 // by device: its place
	ends    []int   // of the runs
}

func newRuns(l *layout) runs {
	r := runs{at: make([]uint8, len(l.scale))}
	for _, g := range l.groups {
		memory := l.memory[bits.TrailingZeros64(g.mask)]
		alike := true
		for m := g.mask; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			alike = alike && l.memory[d] == memory
		}
		for m := g.mask; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			r.at[d] = uint8(len(r.devices))
			r.devices = append(r.devices, uint8(d))
			if !alike || m&(m-1) == 0 {
				r.ends = append(r.ends, len(r.devices))
			}
		}
	}
	return r
}

// sortRuns sorts what is left inside each run of a vector.
func (f *fragments) sortRuns(r *runs, tuple []int64) {
	begin := 0
	for _, end := range r.ends {
		run := tuple[1+begin : 1+end]
		for i := 1; i < len(run); i++ {
			for k := i; k > 0 && run[k] < run[k-1]; k-- {
				run[k], run[k-1] = run[k-1], run[k]
			}
		}
		begin = end
	}
}
