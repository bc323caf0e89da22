package engine

import (
	"slices"

	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Settle settles one workload (see settle.go), adds its demand, and lets it wait
// if it does. Those with which only the loop of a solve decides are counted, and wait in no
// kind: the loop finds them itself.
func (t *Incremental) Settle(i int32) error {
	w := t.world
	k := &w.Works[i]
	q := t.pools[k.Form.Pool]
	if err := t.stand(i); err != nil {
		return err
	}
	t.unlike[i] = t.isSpecial(k)
	w.seeking.put(i, seeks(w, i))
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
func (t *Incremental) isSpecial(k *Work) bool {
	w := t.world
	d := w.Definition(k, 0)
	return k.Status == Ending || len(k.Others) > 0 || len(d.Ladder) > 0 || d.Unsure && d.Elastic ||
		k.Status == waiting && k.Live >= 0 && w.holds(k) ||
		slices.ContainsFunc(k.Tasks, func(task Holding) bool {
			return task.Phase != Running || w.Outside(k, task.Node)
		})
}

// count counts a workload n times, and so among those out of the ordinary.
func (t *Incremental) count(i int32, n int) {
	k := &t.world.Works[i]
	t.pools[k.Form.Pool].size += n * k.size()
	if t.unlike[i] {
		t.special += n
	}
	if len(k.Others) > 0 {
		t.alternatives += n
		t.world.Alternatives = t.alternatives > 0
	}
}

// addDemand adds n times what a workload asks at most.
func (t *Incremental) addDemand(k *Work, n int64) {
	if k.Status == Ending {
		return
	}
	w := t.world
	w.dividing().eachLeafDemand(k, func(f *Form, a quota.Amounts, part int64) {
		if p := w.Pools[f.Pool]; !p.capsDemand() { // it is counted in all, see rest
			p.addDemand(f, a, part, n)
		}
	})
}

// stand gives what runs and what is leaving of a workload its places, and charges it.
// What claims places is settled when it is decided upon.
func (t *Incremental) stand(i int32) error {
	w := t.world
	k := &w.Works[i]
	if len(k.Tasks) == 0 {
		return nil
	}
	d, q := w.Definition(k, k.Current), t.pools[w.FormOf(k, k.Current).Pool]
	k.Live = t.newLive(Live{held: w.settling().newCounts(len(d.Sets)), form: k.Current})
	lost := Decision{World: w}
	held, claims := w.settling().readTasks(&lost, i, nil, nil)
	if len(lost.Actions) > 0 {
		t.displaced[i] = true
	}
	if len(claims) > 0 {
		t.claiming[i] = true
		t.lives = append(t.lives, k.Live)
		k.Live = -1
		return nil
	}
	if err := w.settling().occupy(held); err != nil {
		return err
	}
	for at := range held {
		w.Holdings = append(w.Holdings, held[at])
		t.alive++
		t.touch(&held[at])
		if err := w.settling().hold(int32(len(w.Holdings) - 1)); err != nil {
			return err
		}
	}
	k.settleStatus(w)
	q.pool.changes++
	if w.holds(k) {
		q.run(w.FormOf(k, k.Current), true)
		q.used = append(q.used, w.FormOf(k, k.Current).Queue)
	}
	return nil
}

// touch tells the evaluator of a node's pool that what is free there is not as it was,
// where a task comes or goes that is of no unit of its.
func (t *Incremental) touch(h *Holding) {
	w := t.world
	if n := w.NodePool[h.Node]; n >= 0 {
		p := w.Pools[n]
		p.changes++
		if p.Room != nil {
			p.Room.Touch(w.Position[h.Node])
		}
	}
}

func runOf(f *Form) runningClass { return runningClass{f.Definition, f.Priority, f.NonPreemptible} }

func (t *Incremental) newLive(l Live) int32 {
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
func (t *Incremental) waitsAt(i int32) (at int32, it queue.Item, waits bool) {
	w := t.world
	k := &w.Works[i]
	if t.unlike[i] || !w.wants(k) {
		return 0, it, false
	}
	if it, waits = w.item(i, 0); !waits {
		return 0, it, false
	}
	q := t.pools[k.Form.Pool]
	return q.kindAt(q.keyOf(i, k, k.Status == complete)), q.solver.asOrdered(it), true
}

// Unsettle takes a workload out of its places, its charges, its demand and the
// order.
func (t *Incremental) Unsettle(i int32) error {
	w := t.world
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	q := t.pools[k.Form.Pool]
	if at, it, waits := t.waitsAt(i); waits {
		q.pull(at, it)
	}
	t.count(i, -1)
	t.unlike[i] = false
	w.seeking.put(i, false)
	delete(t.displaced, i)
	delete(t.claiming, i)
	t.addDemand(k, -1)
	if k.Live < 0 {
		return nil
	}
	if w.holds(k) {
		t.pools[f.Pool].run(f, false)
	}
	if err := t.leave(k, f); err != nil {
		return err
	}
	t.unseatAtRest(i, w.Pools[f.Pool])
	t.lives = append(t.lives, k.Live)
	if k.Live = -1; k.Status != Ending {
		k.Status = waiting
	}
	t.compact()
	return nil
}

// leave frees the places of a workload and releases what it was charged.
func (t *Incremental) leave(k *Work, f *Form) error {
	w, q := t.world, t.pools[f.Pool]
	l := &w.live[k.Live]
	d := w.Definition(k, k.Current)
	for at := l.from; at < l.to; at++ {
		h := &w.Holdings[at]
		if err := t.vacate(h); err != nil {
			return err
		}
		leaving := h.Phase == Terminating
		h.Phase = Vacant
		t.alive--
		if leaving {
			continue
		}
		charge := q.pool.chargeOf(&d.Sets[h.Set], &w.Nodes[h.Node], h.Devices)
		if l.counted {
			l.counted = false
			charge = append(slices.Clip(charge), quota.Amount{Resource: int32(q.pool.Width - 1), Value: 1})
		}
		if err := q.pool.Tree.Release(int(f.Queue), charge, f.NonPreemptible); err != nil {
			return err
		}
	}
	q.used = append(q.used, f.Queue)
	l.from, l.to = 0, 0
	return nil
}

// vacate frees the place of a task, which may stand outside its pool.
func (t *Incremental) vacate(h *Holding) error {
	w := t.world
	if w.NodePool[h.Node] < 0 {
		return nil
	}
	shape, p := w.settling().footprint(h)
	free := p.Index.Give
	if h.Phase == Terminating {
		free = p.Index.Leave
	}
	t.touch(h)
	t.pools[w.NodePool[h.Node]].free(w.Position[h.Node])
	return free(shape.Placed, h.place(w))
}

// compact moves the holdings together when most of them are nobody's.
func (t *Incremental) compact() {
	w := t.world
	if len(w.Holdings) < 2*t.alive+4096 {
		return
	}
	kept := make([]Holding, 0, t.alive)
	for i := range w.Works {
		if w.Works[i].Live < 0 {
			continue
		}
		l := &w.live[w.Works[i].Live]
		from := int32(len(kept))
		kept = append(kept, w.Holdings[l.from:l.to]...)
		for at := range w.Room.Seats[i] {
			w.Room.Seats[i][at].origin += from - l.from
		}
		l.from, l.to = from, int32(len(kept))
	}
	w.Holdings = kept
}
