package allot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Whose end frees the place. The sets are found in a compiled world, where the end
// of a workload is a few steps of the journals, and only what comes of that is
// solved.

// ends looks for the smallest set of workloads that hold places whose end lets the
// workload start.
func (h *helper) ends() error {
	orders := h.endingOrders()
	if len(orders[0]) == 0 {
		return nil
	}
	f := h.fitter
	f.lock.Lock()
	var best []string
	err := f.posed(h.work, func(w *fitWorld) error {
		for _, order := range orders {
			if ids := w.endsFor(order); ids != nil && (best == nil || len(ids) < len(best)) {
				best = ids
			}
		}
		return nil
	})
	f.lock.Unlock()
	if err != nil {
		return err
	}
	change := func(ids []string) Change { return Change{Remove: Removal{Workloads: ids}} }
	if best != nil {
		if helps, err := h.fewest(EndOf, best, change); helps || err != nil {
			return err
		}
	}
	// Others take what becomes free: more have to end.
	for n := max(1, 2*len(best)); ; n *= 2 {
		if n > mostEnds {
			h.help.Cut = true
			return nil
		}
		helps, err := h.fewest(EndOf, orders[0][:min(n, len(orders[0]))], change)
		if helps || err != nil || n >= len(orders[0]) {
			return err
		}
	}
}

// mostEnds is how many workloads are looked at whose ends help only together, and
// not by what they free alone.
const mostEnds = 64

// endingOrders are the workloads that hold places: the earliest started first, and
// those of the most tasks first.
func (h *helper) endingOrders() [2][]string {
	type holder struct {
		id    string
		since time.Time
		tasks int
	}
	var holders []holder
	for k := range h.base.nouns.workloads.All() {
		stays := func(t Task) bool { return t.Phase != Terminating } // what leaves anyhow does not help
		if k.ID == h.work.ID || !slices.ContainsFunc(k.Tasks, stays) {
			continue
		}
		one := holder{k.ID, k.Tasks[0].Since, len(k.Tasks)}
		for i := range k.Tasks {
			if k.Tasks[i].Since.Before(one.since) {
				one.since = k.Tasks[i].Since
			}
		}
		holders = append(holders, one)
	}
	var orders [2][]string
	earliest := func(a, b holder) int { return cmp.Or(a.since.Compare(b.since), strings.Compare(a.id, b.id)) }
	slices.SortFunc(holders, earliest)
	for _, one := range holders {
		orders[0] = append(orders[0], one.id)
	}
	slices.SortFunc(holders, func(a, b holder) int { return cmp.Or(cmp.Compare(b.tasks, a.tasks), earliest(a, b)) })
	for _, one := range holders {
		orders[1] = append(orders[1], one.id)
	}
	return orders
}

// posed calls ask while the workload is in the slot of the world. The lock is held.
func (f *Fitter) posed(k Workload, ask func(w *fitWorld) error) error {
	k.Tasks = nil
	w, err := f.present()
	if err != nil {
		return err
	}
	if err := w.pose(&k); err != nil {
		return err
	}
	defer w.dismiss()
	return ask(w)
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
	fit, err := f.free(&w.works[f.slot], beyondLines)
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
		charge := own.chargeOf(&own.definitions[g.definition].sets[h.set], &w.state.Nodes[h.node], h.devices)
		if w.nodePool[h.node] < 0 { // it has a place in no index, and is its queue's use
			_ = own.tree.Release(int(g.queue), charge, g.nonPreemptible)
			continue
		}
		shape, p := w.ledgers.footprint(h)
		if p.index.Give(shape.placed, placement.Place{Node: w.position[h.node], Devices: h.devices}) == nil {
			_ = own.tree.Release(int(g.queue), charge, g.nonPreemptible) // it was charged when it was settled
		}
	}
	if own := w.pools[w.formOf(k, k.current).pool]; own.counted && l.counted {
		one := quota.Amounts{{Resource: int32(len(own.resources) - 1), Value: 1}}
		_ = own.tree.Release(int(w.formOf(k, k.current).queue), one, w.formOf(k, k.current).nonPreemptible)
	}
}
