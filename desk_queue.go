package allot

import (
	"slices"

	"github.com/allotsched/allot/internal/table"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// canSet says whether a change of a queue is one of its settings alone, and of
// resources that the world was compiled with.
func (t *desk) canSet(c table.Difference[Queue]) bool {
	if rehung(c) {
		return false
	}
	p := t.world.pools[t.world.leaf[c.After.ID].pool]
	if p.policy.Queueing != queue.BestEffort { // what is impossible for ever may be otherwise
		return false
	}
	return (p.counted || !c.After.MaxWorkloads.Given()) &&
		!slices.ContainsFunc(c.After.Resources, func(r QueueResource) bool {
			return !slices.Contains(p.resources, resource{r.Resource, r.Class})
		})
}

// set gives queues other settings: their pools get new trees, with the use of the
// old ones.
func (t *desk) set(changed []table.Difference[Queue]) bool {
	w := t.world
	for _, c := range changed {
		at := w.leaf[c.After.ID]
		w.state.Queues[w.pools[at.pool].queues[at.queue]] = *c.After
		t.pools[at.pool].divided, t.pools[at.pool].orders = nil, nil
	}
	if len(changed) > 0 {
		t.closeBook() // minimum runtimes may be others
	}
	for i, q := range t.pools {
		if q.orders == nil && w.regrow(i) != nil {
			return false
		}
	}
	t.suited = w.suitsTrial()
	return w.suitsDesk()
}

// regrow makes the tree of a pool anew.
func (w *world) regrow(index int) error {
	p := w.pools[index]
	old := p.tree
	p.room = nil // it is of the old tree
	if err := p.growTree(w.state); err != nil {
		return err
	}
	for q, leaf := range p.isLeaf {
		if !leaf {
			continue
		}
		var preemptible, rest quota.Amounts
		for r := range p.resources {
			use, non := old.Use(q, r), old.NonPreemptible(q, r)
			preemptible = append(preemptible, quota.Amount{Resource: int32(r), Value: use - non})
			rest = append(rest, quota.Amount{Resource: int32(r), Value: non})
		}
		if err := p.tree.Charge(q, preemptible, false); err != nil {
			return err
		}
		if err := p.tree.Charge(q, rest, true); err != nil {
			return err
		}
	}
	return nil
}
