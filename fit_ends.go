package allot

import (
	"context"
	"slices"
	"strings"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What of the cluster would have to be otherwise for a workload to start: who
// would have to end, and which nodes would take it if they were empty.

// Ends returns workloads of those named of which none can be left out, and whose
// end would let the workload start in what is free; nil if not even the end of all
// of them does, and empty if nobody has to end. It goes by the first in the given order that are enough, and
// spares of these the last first. A workload that holds places is asked about as
// if it were to start once more. The end of a workload is a few steps of a journal
// here, and not a decision: what else would start in its place is not looked at.
//
// The error is that of [Fitter.Now], or wraps [ErrUnknown].
func (f *Fitter) Ends(ctx context.Context, k Workload, among []string) (ends []string, err error) {
	err = f.askAnew(ctx, k, f.present, func(w *fitWorld) error {
		for _, id := range among {
			if _, known := w.find(id); !known {
				return unknown("workload", id)
			}
		}
		ends = w.endsFor(among)
		return nil
	})
	return ends, err
}

// Nodes returns the IDs of the nodes, in their order, that would take a task of the
// workload if they were empty; where it has tasks with devices, one of these. Of a
// workload that holds places the same is true as in [Fitter.Ends].
func (f *Fitter) Nodes(ctx context.Context, k Workload) (nodes []string, err error) {
	err = f.askAnew(ctx, k, f.present, func(w *fitWorld) error {
		for n := range f.snapshot.nouns.nodes.All() {
			if w.admits(n.ID) {
				nodes = append(nodes, n.ID)
			}
		}
		return nil
	})
	return nodes, err
}

// admits says whether the node would take a task of what is in the slot if it were
// empty: one with devices, if there are such.
func (f *fitWorld) admits(node string) bool {
	w := f.world
	k, n := &w.works[f.slot], w.nodeID[node]
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
func (f *fitWorld) endsFor(order []string) []string {
	all := make([]int32, 0, len(order))
	for _, id := range order {
		if at, known := f.find(id); known {
			all = append(all, at)
		}
	}
	if !f.enough(all) {
		return nil
	}
	if f.enough(nil) {
		return []string{}
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
	ids := make([]string, len(few))
	for i, at := range few {
		ids[i] = f.world.source(&f.world.works[at]).ID
	}
	return ids
}

// first are the first one that is enough, or else the fewest from the beginning.
func (f *fitWorld) first(all []int32) []int32 {
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
func (f *fitWorld) enough(works []int32) bool {
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
	for at := int16(0); int(at) <= len(k.others) && !fit.OK && err == nil; at++ {
		fit, err = f.smaller(k, at, beyondLines, false) // or at a smaller size (L2)
	}
	for i, p := range w.pools {
		p.index.Undo(index[i])
		p.tree.Undo(tree[i])
	}
	return err == nil && fit.OK
}

// find is the work of an ID.
func (f *fitWorld) find(id string) (int32, bool) {
	w := f.world
	at, known := slices.BinarySearchFunc(w.works[:f.slot], id, func(other work, id string) int {
		return strings.Compare(w.source(&other).ID, id)
	})
	return int32(at), known
}

// end takes what a workload holds out of the journals; what is leaving already, it
// leaves to the solve.
func (f *fitWorld) end(at int32) {
	w := f.world
	if w.works[at].live < 0 {
		return
	}
	k := &w.works[at]
	l := &w.live[k.live]
	for i := l.from; i < l.to; i++ {
		h := &w.holdings[i]
		if h.phase == Terminating {
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
		one := quota.Amounts{{Resource: int32(len(own.resources) - 1), Value: 1}}
		_ = own.tree.Release(int(w.formOf(k, k.current).queue), one, w.formOf(k, k.current).nonPreemptible)
	}
}
