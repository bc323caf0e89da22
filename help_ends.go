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
	for k := range h.base.nouns.workloads.all() {
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
	w := f.world
	index, tree := make([]placement.Mark, len(w.pools)), make([]quota.Mark, len(w.pools))
	enough := func(ids []string) bool {
		for i, p := range w.pools {
			index[i], tree[i] = p.index.Mark(), p.tree.Mark()
		}
		for _, id := range ids {
			f.end(id)
		}
		fit, err := f.free(&w.works[f.slot], beyondLines)
		for i, p := range w.pools {
			p.index.Undo(index[i])
			p.tree.Undo(tree[i])
		}
		return err == nil && fit.OK
	}
	if !enough(order) {
		return nil
	}
	for _, id := range order { // one is as few as can be
		if enough([]string{id}) {
			return []string{id}
		}
	}
	low, high := 0, len(order)
	for high-low > 1 {
		if middle := low + (high-low)/2; enough(order[:middle]) {
			high = middle
		} else {
			low = middle
		}
	}
	ids := slices.Clone(order[:high])
	for size := (len(ids) + 1) / 2; size > 0; size /= 2 {
		for to := len(ids); to > 0; to -= size {
			from := max(0, to-size)
			if rest := slices.Delete(slices.Clone(ids), min(from, len(ids)), min(to, len(ids))); len(rest) > 0 && enough(rest) {
				ids = rest
			}
		}
	}
	return ids
}

// end takes what a workload holds out of the journals; what is leaving already, it
// leaves to the solve.
func (f *fitWorld) end(id string) {
	w := f.world
	at, known := slices.BinarySearchFunc(w.works[:f.slot], id, func(other work, id string) int {
		return strings.Compare(w.source(&other).ID, id)
	})
	if !known || w.works[at].live < 0 {
		return
	}
	k := &w.works[at]
	l := &w.live[k.live]
	for i := l.from; i < l.to; i++ {
		h := &w.holdings[i]
		if h.phase == Terminating || w.nodePool[h.node] < 0 {
			continue
		}
		g := w.formOf(k, k.current)
		shape, p := w.ledgers.footprint(h)
		own := w.pools[g.pool]
		charge := own.chargeOf(&own.definitions[g.definition].sets[h.set], &w.state.Nodes[h.node], h.devices)
		if p.index.Give(shape.placed, placement.Place{Node: w.position[h.node], Devices: h.devices}) == nil {
			_ = own.tree.Release(int(g.queue), charge, g.nonPreemptible) // it was charged when it was settled
		}
	}
	if own := w.pools[w.formOf(k, k.current).pool]; own.counted && l.counted {
		one := quota.Amounts{{Resource: int32(len(own.resources) - 1), Value: 1}}
		_ = own.tree.Release(int(w.formOf(k, k.current).queue), one, w.formOf(k, k.current).nonPreemptible)
	}
}
