package placement

import (
	"math"
	"math/bits"
	"slices"
)

// An order is how a layout's vectors list the devices: in runs that are alike in
// model and memory, sorted by what is left. Where the devices of one model differ
// in memory, their index says which one a task gets; then each is a run.
type order struct {
	devices []uint8 // in that order
	at      []uint8 // by device: its place
	scale   []int64 // in that order: share units in a milli
	runs    []run
	need    []int64 // by run × parts of the mix: the units that it takes of a device, or the largest int64
}

// A run is a stretch of an order; device is its first, and first says that it is
// the first of its model.
type run struct {
	begin, end, device int
	first              bool
}

func (f *fragments) newOrder(l *layout, layout int) order {
	o := order{at: make([]uint8, len(l.scale))}
	for _, g := range l.groups {
		first := bits.TrailingZeros64(g.mask)
		alike := true
		for m := g.mask; m != 0; m &= m - 1 {
			alike = alike && l.memory[bits.TrailingZeros64(m)] == l.memory[first]
		}
		for m := g.mask; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			if n := len(o.devices); d == first || !alike {
				o.runs = append(o.runs, run{n, n, d, d == first})
			}
			o.at[d] = uint8(len(o.devices))
			o.devices = append(o.devices, uint8(d))
			o.scale = append(o.scale, l.scale[d])
			o.runs[len(o.runs)-1].end = len(o.devices)
		}
	}
	for _, r := range o.runs {
		for i := range f.parts {
			sh, need := &f.parts[i].shape, int64(math.MaxInt64)
			if sh.capable[layout]&(1<<r.device) != 0 {
				need = sh.units(l, r.device)
			}
			o.need = append(o.need, need)
		}
	}
	return o
}

// vectorOf returns the vector of a node once a task has the devices that are
// taken.
func (f *fragments) vectorOf(x *Index, v int32, taken uint64, sh *shape) int32 {
	nd := &x.nodes[v]
	l, left := &x.layouts[nd.layout], x.left[nd.devices:]
	clear(f.tuple)
	f.tuple[0] = int64(f.body[v])
	for i, d := range f.layouts[nd.layout].devices {
		if nd.healthy&(1<<d) == 0 {
			continue // as one on which nothing is left
		}
		amount := left[d]
		if taken&(1<<d) != 0 {
			amount -= sh.units(l, int(d))
		}
		f.tuple[1+i] = min(max(0, amount), l.total(int(d)))
	}
	return f.vectorNumber(x, nd.layout)
}

// vectorNumber returns the number of the vector in f.tuple, whatever the order of
// its runs.
func (f *fragments) vectorNumber(x *Index, layout int32) int32 {
	l, o := &x.layouts[layout], &f.layouts[layout]
	for _, r := range o.runs {
		left := f.tuple[1+r.begin : 1+r.end]
		for i := 1; i < len(left); i++ {
			for k := i; k > 0 && left[k] < left[k-1]; k-- {
				left[k], left[k-1] = left[k-1], left[k]
			}
		}
	}
	vector, fresh := f.vectors.of(f.tuple)
	if !fresh {
		return vector
	}
	// The milli of each device and of all that come before it.
	for i, d := range o.devices {
		f.sums[1+i] = f.sums[i] + f.tuple[1+i]/l.scale[d]
	}
	f.free = append(f.free, f.sums[len(o.devices)])
	class := f.bodies[f.tuple[0]].class
	for i := range f.parts {
		use := int64(0)
		if p := &f.parts[i]; p.classes == nil || slices.Contains(p.classes, class) {
			use = f.usable(o, i)
		}
		f.use = append(f.use, use)
	}
	return vector
}

// usable is the milli of the devices of the vector in f.tuple that can take their
// part of a task, if one model has enough of them.
func (f *fragments) usable(o *order, part int) int64 {
	milli, count, enough := int64(0), 0, false
	for k, r := range o.runs {
		need, at := o.need[k*len(f.parts)+part], r.begin
		for at < r.end && f.tuple[1+at] < need {
			at++
		}
		milli += f.sums[r.end] - f.sums[at]
		if r.first {
			count = 0
		}
		count += r.end - at
		enough = enough || count >= f.parts[part].shape.count
	}
	if !enough {
		return 0
	}
	return milli
}
