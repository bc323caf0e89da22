package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
)

// Whose end frees the place. The sets are found by [Fitter.Ends], and only what
// comes of them is solved.

// ends looks for the smallest set of workloads that hold places whose end lets the
// workload start.
func (h *helper) ends() error {
	orders := h.endingOrders()
	if len(orders[0]) == 0 {
		return nil
	}
	var best []string
	for _, order := range orders {
		ids, err := h.fitter.Ends(h.ctx, h.work, order)
		if err != nil {
			return err
		}
		if ids != nil && (best == nil || len(ids) < len(best)) {
			best = ids
		}
	}
	change := func(ids []string) allot.Change { return allot.Change{Remove: allot.Removal{Workloads: ids}} }
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
	for k := range h.base.Workloads() {
		stays := func(t allot.Task) bool { return t.Phase != allot.Terminating } // what leaves anyhow does not help
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
