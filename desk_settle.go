package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// settle settles one workload (see settle.go), adds its demand, and lets it wait
// if it does. Those with which only the loop of a solve decides are counted, and wait in no
// kind: the loop finds them itself.
func (t *desk) settle(i int32) error {
	w := t.world
	k := &w.works[i]
	q := t.pools[k.form.pool]
	if err := t.stand(i); err != nil {
		return err
	}
	t.unlike[i] = t.isSpecial(k)
	t.count(i, 1)
	t.addDemand(k, 1)
	t.seatAtRest(i)
	if at, it, waits := t.waitsAt(i); waits {
		q.push(at, it)
	}
	return nil
}

// isSpecial says whether a workload is one with which only the loop of a solve decides:
// it is not plainly running or waiting, has alternatives or sizes, grows by more than one
// kind of task, or has lost some of its own, may be stale, and waits for what nobody else
// does.
func (t *desk) isSpecial(k *work) bool {
	w := t.world
	d := w.definition(k, 0)
	return k.status == ending || len(k.others) > 0 || len(d.ladder) > 0 || d.unsure && d.elastic ||
		k.status == waiting && k.live >= 0 && w.holds(k) ||
		slices.ContainsFunc(k.tasks, func(task holding) bool {
			return task.phase != taskRunning || w.outside(k, task.node)
		})
}

// count counts a workload n times among those out of the ordinary.
func (t *desk) count(i int32, n int) {
	if t.unlike[i] {
		t.special += n
	}
	if len(t.world.works[i].others) > 0 {
		t.alternatives += n
		t.world.alternatives = t.alternatives > 0
	}
}

// addDemand adds n times what a workload asks at most.
func (t *desk) addDemand(k *work, n int64) {
	if k.status == ending {
		return
	}
	w := t.world
	w.eachLeafDemand(k, func(f *form, a quota.Amounts) {
		if p := w.pools[f.pool]; !p.capsDemand() { // it is counted in all, see rest
			p.addDemand(f, a, n)
		}
	})
}

// stand gives what runs and what is leaving of a workload its places, and charges it.
// What claims places is settled when it is decided upon.
func (t *desk) stand(i int32) error {
	w := t.world
	k := &w.works[i]
	if len(k.tasks) == 0 {
		return nil
	}
	d, q := w.definition(k, k.current), t.pools[w.formOf(k, k.current).pool]
	k.live = t.newLive(live{held: w.newCounts(len(d.sets)), form: k.current})
	lost := decision{world: w}
	held, claims := w.readTasks(&lost, i, nil, nil)
	if len(lost.actions) > 0 {
		t.displaced[i] = true
	}
	if len(claims) > 0 {
		t.claiming[i] = true
		t.lives = append(t.lives, k.live)
		k.live = -1
		return nil
	}
	if err := w.occupy(held, func(p *corePool) *placement.Index { return p.index }); err != nil {
		return err
	}
	for at := range held {
		w.holdings = append(w.holdings, held[at])
		t.alive++
		t.touch(&held[at])
		if err := w.hold(int32(len(w.holdings) - 1)); err != nil {
			return err
		}
	}
	k.settleStatus(w)
	q.pool.changes++
	if w.holds(k) {
		q.running[w.formOf(k, k.current).queue].add(runOf(w.formOf(k, k.current)))
		q.used = append(q.used, w.formOf(k, k.current).queue)
	}
	return nil
}

// touch tells the evaluator of a node's pool that what is free there is not as it was,
// where a task comes or goes that is of no unit of its.
func (t *desk) touch(h *holding) {
	w := t.world
	if n := w.nodePool[h.node]; n >= 0 {
		p := w.pools[n]
		p.changes++
		if p.room != nil {
			p.room.Touch(w.position[h.node])
		}
	}
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
	if t.unlike[i] || !w.wants(k) {
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
	t.count(i, -1)
	t.unlike[i] = false
	delete(t.displaced, i)
	delete(t.claiming, i)
	t.addDemand(k, -1)
	if k.live < 0 {
		return nil
	}
	if w.holds(k) {
		t.pools[f.pool].running[f.queue].remove(runOf(f))
	}
	if err := t.leave(k, f); err != nil {
		return err
	}
	t.unseatAtRest(i, w.pools[f.pool])
	t.lives = append(t.lives, k.live)
	if k.live = -1; k.status != ending {
		k.status = waiting
	}
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
		if err := t.vacate(h); err != nil {
			return err
		}
		leaving := h.phase == taskTerminating
		h.phase = taskVacant
		t.alive--
		if leaving {
			continue
		}
		charge := q.pool.chargeOf(&d.sets[h.set], &w.nodes[h.node], h.devices)
		if l.counted {
			l.counted = false
			charge = append(slices.Clip(charge), quota.Amount{Resource: int32(q.pool.width - 1), Value: 1})
		}
		if err := q.pool.tree.Release(int(f.queue), charge, f.nonPreemptible); err != nil {
			return err
		}
	}
	q.used = append(q.used, f.queue)
	l.from, l.to = 0, 0
	return nil
}

// vacate frees the place of a task, which may stand outside its pool.
func (t *desk) vacate(h *holding) error {
	w := t.world
	if w.nodePool[h.node] < 0 {
		return nil
	}
	shape, p := w.footprint(h)
	free := p.index.Give
	if h.phase == taskTerminating {
		free = p.index.Leave
	}
	t.touch(h)
	t.pools[w.nodePool[h.node]].free(w.position[h.node])
	return free(shape.placed, h.place(w))
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
		if t.book != nil && i < len(t.book.seats) {
			for at := range t.book.seats[i] {
				t.book.seats[i][at].origin += from - l.from
			}
		}
		l.from, l.to = from, int32(len(kept))
	}
	w.holdings = kept
}
