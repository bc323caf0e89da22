package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// admits says whether the node would take a task of what is in the slot if it were
// empty: one with devices, if there are such.
func (f *probe) admits(n int32) bool {
	w := f.world
	k := &w.works[f.slot]
	for at := range int16(1 + len(k.others)) {
		g, d := w.formOf(k, at), w.definition(k, at)
		if g.pool != w.nodePool[n] {
			continue
		}
		for i := range d.sets {
			if (d.sets[i].gpus > 0 || !d.gpu) && w.pools[g.pool].index.Admissible(d.sets[i].placed, w.position[n]) {
				return true
			}
		}
	}
	return false
}

// endsFor are some of the workloads, of which none can be left out, whose end lets
// what is in the slot start; nil if not even all of them are enough. It goes by
// the first in order that are enough, and then spares those that come last first.
func (f *probe) endsFor(all []int32) []int32 {
	if !f.enough(all) {
		return nil
	}
	if f.enough(nil) {
		return []int32{}
	}
	few := f.first(all)
	for size := (len(few) + 1) / 2; size > 0; size /= 2 {
		for to := len(few); to > 0; to -= size {
			from := max(0, to-size)
			if rest := slices.Delete(slices.Clone(few), from, to); len(rest) > 0 && f.enough(rest) {
				few = rest
			}
		}
	}
	return few
}

// first are the first one that is enough, or else the fewest from the beginning.
func (f *probe) first(all []int32) []int32 {
	for i := range all {
		if f.enough(all[i : i+1]) {
			return all[i : i+1]
		}
	}
	low, high := 0, len(all)
	for high-low > 1 {
		if middle := low + (high-low)/2; f.enough(all[:middle]) {
			high = middle
		} else {
			low = middle
		}
	}
	return all[:high]
}

// enough says whether what is in the slot would start in what is free if the works
// ended.
func (f *probe) enough(works []int32) bool {
	w := f.world
	index, tree := make([]placement.Mark, len(w.pools)), make([]quota.Mark, len(w.pools))
	for i, p := range w.pools {
		index[i], tree[i] = p.index.Mark(), p.tree.Mark()
	}
	for _, at := range works {
		f.end(at)
	}
	k := &w.works[f.slot]
	fit, err := f.free(k, beyondLines)
	for at := int16(0); int(at) <= len(k.others) && !fit.ok && err == nil; at++ {
		fit, err = f.smaller(k, at, beyondLines, false) // or at a smaller size (L2)
	}
	for i, p := range w.pools {
		p.index.Undo(index[i])
		p.tree.Undo(tree[i])
	}
	return err == nil && fit.ok
}

// end takes what a workload holds out of the journals; what is leaving already, it
// leaves to the solve.
func (f *probe) end(at int32) {
	w := f.world
	if w.works[at].live < 0 {
		return
	}
	k := &w.works[at]
	l := &w.live[k.live]
	for i := l.from; i < l.to; i++ {
		h := &w.holdings[i]
		if h.phase == taskTerminating {
			continue
		}
		g := w.formOf(k, k.current)
		own := w.pools[g.pool]
		charge := own.chargeOf(&own.definitions[g.definition].sets[h.set], &w.nodes[h.node], h.devices)
		if w.nodePool[h.node] < 0 { // it has a place in no index, and is its queue's use
			_ = own.tree.Release(int(g.queue), charge, g.nonPreemptible)
			continue
		}
		shape, p := w.footprint(h)
		if p.index.Give(shape.placed, h.place(w)) == nil {
			_ = own.tree.Release(int(g.queue), charge, g.nonPreemptible) // it was charged when it was settled
		}
	}
	if own := w.pools[w.formOf(k, k.current).pool]; own.counted && l.counted {
		one := quota.Amounts{{Resource: int32(own.width - 1), Value: 1}}
		_ = own.tree.Release(int(w.formOf(k, k.current).queue), one, w.formOf(k, k.current).nonPreemptible)
	}
}
