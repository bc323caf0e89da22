package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Admits says whether the node would take a task of what is in the slot if it were
// empty: one with devices, if there are such.
func (f *Probe) Admits(n int32) bool {
	w := f.world
	k := &w.Works[f.Slot]
	for at := range int16(1 + len(k.Others)) {
		g, d := w.FormOf(k, at), w.Definition(k, at)
		if g.Pool != w.NodePool[n] {
			continue
		}
		for i := range d.Sets {
			if (d.Sets[i].GPUs > 0 || !d.GPU) && w.Pools[g.Pool].Index.Admissible(d.Sets[i].Placed, w.Position[n]) {
				return true
			}
		}
	}
	return false
}

// EndsFor are some of the workloads, of which none can be left out, whose end lets
// what is in the slot start; nil if not even all of them are enough. It goes by
// the first in order that are enough, and then spares those that come last first.
func (f *Probe) EndsFor(all []int32) []int32 {
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
func (f *Probe) first(all []int32) []int32 {
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
func (f *Probe) enough(works []int32) bool {
	w := f.world
	index, tree := make([]placement.Mark, len(w.Pools)), make([]quota.Mark, len(w.Pools))
	for i, p := range w.Pools {
		index[i], tree[i] = p.Index.Mark(), p.Tree.Mark()
	}
	for _, at := range works {
		f.end(at)
	}
	k := &w.Works[f.Slot]
	fit, err := f.free(k, beyondLines)
	for at := int16(0); int(at) <= len(k.Others) && !fit.Ok && err == nil; at++ {
		fit, err = f.smaller(k, at, beyondLines, false) // or at a smaller size (L2)
	}
	for i, p := range w.Pools {
		p.Index.Undo(index[i])
		p.Tree.Undo(tree[i])
	}
	return err == nil && fit.Ok
}

// end takes what a workload holds out of the journals; what is leaving already, it
// leaves to the solve.
func (f *Probe) end(at int32) {
	w := f.world
	if w.Works[at].Live < 0 {
		return
	}
	k := &w.Works[at]
	l := &w.Live[k.Live]
	for i := l.From; i < l.To; i++ {
		h := &w.Holdings[i]
		if h.Phase == cluster.Terminating {
			continue
		}
		g := w.FormOf(k, k.Current)
		own := w.Pools[g.Pool]
		charge := own.ChargeOf(&own.Definitions[g.Definition].Sets[h.Set], &w.Nodes[h.Node], h.Devices)
		if w.NodePool[h.Node] < 0 { // it has a place in no index, and is its queue's use
			_ = own.Tree.Release(int(g.Queue), charge, g.NonPreemptible)
			continue
		}
		shape, p := w.Footprint(h)
		if p.Index.Give(shape.Placed, h.Place(w)) == nil {
			_ = own.Tree.Release(int(g.Queue), charge, g.NonPreemptible) // it was charged when it was settled
		}
	}
	if own := w.Pools[w.FormOf(k, k.Current).Pool]; own.Counted && l.Counted {
		one := quota.Amounts{{Resource: int32(own.Width - 1), Value: 1}}
		_ = own.Tree.Release(int(w.FormOf(k, k.Current).Queue), one, w.FormOf(k, k.Current).NonPreemptible)
	}
}
