package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// settle settles one workload (see settle.go), adds its demand, and lets it wait
// if it does. What is odd about it is left where it is: while anybody is odd,
// nothing is decided here.
func (t *desk) settle(i int32) error {
	w := t.world
	k := &w.works[i]
	q := t.pools[k.form.pool]
	if err := t.stand(i); err != nil {
		return err
	}
	if t.oddities[i] = t.isOdd(k); t.oddities[i] {
		t.odd++
	}
	if k.status != ending {
		q.pool.addDemand(&k.form, w.definition(k, 0).demand, 1)
	}
	if at, it, waits := t.waitsAt(i); waits {
		q.push(at, it)
	}
	return nil
}

// isOdd says whether a workload is one with which a desk does not decide: it is
// not plainly running or waiting, it grows by more than one kind of task, or a
// gang has lost some of its own, may be stale, and waits for what nobody else does.
func (t *desk) isOdd(k *work) bool {
	w := t.world
	source, d := w.source(k), w.definition(k, 0)
	return source.Ending || len(k.others) > 0 || len(d.ladder) > 0 ||
		d.unsure && d.elastic || k.status == waiting && k.live >= 0 && w.holds(k) ||
		slices.ContainsFunc(source.Tasks, func(task Task) bool {
			return task.Phase != Running || w.nodePool[w.nodeID[task.Node]] != k.form.pool
		})
}

// stand gives what runs of a workload its places and charges it.
func (t *desk) stand(i int32) error {
	w := t.world
	k := &w.works[i]
	if len(w.source(k).Tasks) == 0 {
		return nil
	}
	d, q := w.definition(k, k.current), t.pools[w.formOf(k, k.current).pool]
	k.live = t.newLive(live{held: w.newCounts(len(d.sets)), form: k.current})
	lost := decision{world: w}
	held, _ := w.readTasks(&lost, i, nil, nil)
	if len(lost.actions) > 0 {
		t.displaced[i] = true
	}
	for _, h := range held {
		if h.phase != Running || w.nodePool[h.node] != w.formOf(k, k.current).pool {
			continue
		}
		w.holdings = append(w.holdings, h)
		t.alive++
		place := placement.Place{Node: w.position[h.node], Devices: h.devices}
		if err := q.pool.index.Take(d.sets[h.set].placed, place); err != nil {
			return err
		}
		if err := w.hold(int32(len(w.holdings) - 1)); err != nil {
			return err
		}
	}
	k.settleStatus(w)
	q.pool.changes++
	if w.holds(k) {
		q.running[w.formOf(k, k.current).queue].add(runOf(&k.form))
		q.used = append(q.used, w.formOf(k, k.current).queue)
	}
	return nil
}

func runOf(f *form) deskRun { return deskRun{f.definition, f.priority, f.nonPreemptible} }

func (t *desk) newLive(l live) int32 {
	w := t.world
	if last := len(t.lives) - 1; last >= 0 {
		at := t.lives[last]
		t.lives = t.lives[:last]
		w.live[at] = l
		return at
	}
	w.live = append(w.live, l)
	return int32(len(w.live) - 1)
}

// waitsAt is where a workload waits, if it does.
func (t *desk) waitsAt(i int32) (at int32, it queue.Item, waits bool) {
	w := t.world
	k := &w.works[i]
	if t.oddities[i] || !w.wants(k) {
		return 0, it, false
	}
	if it, waits = w.item(i, 0); !waits {
		return 0, it, false
	}
	q := t.pools[k.form.pool]
	return q.kindAt(q.keyOf(i, k, k.status == complete)), q.solver.asOrdered(it), true
}

// unsettle takes a workload out of its places, its charges, its demand and the
// order.
func (t *desk) unsettle(i int32) error {
	w := t.world
	k := &w.works[i]
	f := w.formOf(k, k.current)
	q := t.pools[k.form.pool]
	if at, it, waits := t.waitsAt(i); waits {
		q.pull(at, it)
	}
	if t.oddities[i] {
		t.oddities[i] = false
		t.odd--
	}
	delete(t.displaced, i)
	if k.status != ending {
		q.pool.addDemand(&k.form, w.definition(k, 0).demand, -1)
	}
	if k.live < 0 {
		return nil
	}
	if w.holds(k) {
		t.pools[f.pool].running[f.queue].remove(runOf(&k.form))
	}
	if err := t.leave(k, f); err != nil {
		return err
	}
	t.lives = append(t.lives, k.live)
	k.live, k.status = -1, waiting
	t.compact()
	return nil
}

// leave frees the places of a workload and releases what it was charged.
func (t *desk) leave(k *work, f *form) error {
	w, q := t.world, t.pools[f.pool]
	l := &w.live[k.live]
	d := w.definition(k, k.current)
	for at := l.from; at < l.to; at++ {
		h := &w.holdings[at]
		place := placement.Place{Node: w.position[h.node], Devices: h.devices}
		if err := q.pool.index.Give(d.sets[h.set].placed, place); err != nil {
			return err
		}
		charge := q.pool.chargeOf(&d.sets[h.set], &w.state.Nodes[h.node], h.devices)
		if at == l.from && l.counted {
			charge = append(slices.Clip(charge), quota.Amount{Resource: int32(len(q.pool.resources) - 1), Value: 1})
		}
		if err := q.pool.tree.Release(int(f.queue), charge, f.nonPreemptible); err != nil {
			return err
		}
		q.free(w.position[h.node])
		t.alive--
	}
	q.used = append(q.used, f.queue)
	l.from, l.to = 0, 0
	return nil
}

// compact moves the holdings together when most of them are nobody's.
func (t *desk) compact() {
	w := t.world
	if len(w.holdings) < 2*t.alive+4096 {
		return
	}
	kept := make([]holding, 0, t.alive)
	for i := range w.works {
		if w.works[i].live < 0 {
			continue
		}
		l := &w.live[w.works[i].live]
		from := int32(len(kept))
		kept = append(kept, w.holdings[l.from:l.to]...)
		l.from, l.to = from, int32(len(kept))
	}
	w.holdings = kept
}
