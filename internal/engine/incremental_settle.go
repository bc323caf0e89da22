package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/settling"
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
	w.Seeking.Put(i, cluster.Seeks(w, i))
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
func (t *Incremental) isSpecial(k *cluster.Work) bool {
	w := t.world
	d := w.Definition(k, 0)
	return k.Status == cluster.Ending || len(k.Others) > 0 || len(d.Ladder) > 0 || d.Unsure && d.Elastic ||
		k.Status == cluster.Waiting && w.Holds(k) ||
		slices.ContainsFunc(k.Tasks, func(task cluster.Holding) bool {
			return task.Phase != cluster.Running || w.Outside(k, task.Node)
		})
}

// count counts a workload n times, and so among those out of the ordinary.
func (t *Incremental) count(i int32, n int) {
	k := &t.world.Works[i]
	t.pools[k.Form.Pool].size += n * k.Size()
	if t.unlike[i] {
		t.special += n
	}
	if len(k.Others) > 0 {
		t.alternatives += n
		t.world.Alternatives = t.alternatives > 0
	}
}

// addDemand adds n times what a workload asks at most.
func (t *Incremental) addDemand(k *cluster.Work, n int64) {
	if k.Status == cluster.Ending {
		return
	}
	w := t.world
	division.Of(w).EachLeafDemand(k, func(f *cluster.Form, a quota.Amounts, part int64) {
		if p := w.Pools[f.Pool]; !division.CapsDemand(p) { // it is counted in all, see rest
			division.AddDemand(p, f, a, part, n)
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
	k.Live = t.newLive(cluster.Live{Held: w.NewCounts(len(d.Sets)), Form: k.Current})
	lost := cluster.Decision{World: w}
	held, claims := settling.Of(w).ReadTasks(&lost, i, nil, nil)
	if len(lost.Actions) > 0 {
		t.displaced[i] = true
	}
	if len(claims) > 0 {
		t.claiming[i] = true
		t.lives = append(t.lives, k.Live)
		k.Live = -1
		return nil
	}
	if err := w.Occupy(held); err != nil {
		return err
	}
	for at := range held {
		w.Holdings = append(w.Holdings, held[at])
		t.alive++
		t.touch(&held[at])
		if err := settling.Of(w).Hold(int32(len(w.Holdings) - 1)); err != nil {
			return err
		}
	}
	k.SettleStatus(w)
	q.pool.Changes++
	if w.Holds(k) {
		q.run(w.FormOf(k, k.Current), true)
		q.used = append(q.used, w.FormOf(k, k.Current).Queue)
	}
	return nil
}

// touch tells the evaluator of a node's pool that what is free there is not as it was,
// where a task comes or goes that is of no unit of its.
func (t *Incremental) touch(h *cluster.Holding) {
	w := t.world
	if n := w.NodePool[h.Node]; n >= 0 {
		p := w.Pools[n]
		p.Changes++
		if p.Room != nil {
			p.Room.Touch(w.Position[h.Node])
		}
	}
}

func runOf(f *cluster.Form) runningClass {
	return runningClass{f.Definition, f.Priority, f.NonPreemptible}
}

func (t *Incremental) newLive(l cluster.Live) int32 {
	w := t.world
	if last := len(t.lives) - 1; last >= 0 {
		at := t.lives[last]
		t.lives = t.lives[:last]
		w.Live[at] = l
		return at
	}
	w.Live = append(w.Live, l)
	return int32(len(w.Live) - 1)
}

// waitsAt is where a workload waits, if it does.
func (t *Incremental) waitsAt(i int32) (at int32, it queue.Item, waits bool) {
	w := t.world
	k := &w.Works[i]
	if t.unlike[i] || !wantsMore(w, k) {
		return 0, it, false
	}
	if it, waits = itemOf(w, i, 0); !waits {
		return 0, it, false
	}
	q := t.pools[k.Form.Pool]
	return q.kindAt(q.keyOf(i, k, k.Status == cluster.Complete)), q.solver.asOrdered(it), true
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
	w.Seeking.Put(i, false)
	delete(t.displaced, i)
	delete(t.claiming, i)
	t.addDemand(k, -1)
	if k.Live < 0 {
		return nil
	}
	if w.Holds(k) {
		t.pools[f.Pool].run(f, false)
	}
	if err := t.leave(k, f); err != nil {
		return err
	}
	t.unseatAtRest(i, w.Pools[f.Pool])
	t.lives = append(t.lives, k.Live)
	if k.Live = -1; k.Status != cluster.Ending {
		k.Status = cluster.Waiting
	}
	t.compact()
	return nil
}

// leave frees the places of a workload and releases what it was charged.
func (t *Incremental) leave(k *cluster.Work, f *cluster.Form) error {
	w, q := t.world, t.pools[f.Pool]
	l := &w.Live[k.Live]
	d := w.Definition(k, k.Current)
	for at := l.From; at < l.To; at++ {
		h := &w.Holdings[at]
		if err := t.vacate(h); err != nil {
			return err
		}
		leaving := h.Phase == cluster.Terminating
		h.Phase = cluster.Vacant
		t.alive--
		if leaving {
			continue
		}
		charge := q.pool.ChargeOf(&d.Sets[h.Set], &w.Nodes[h.Node], h.Devices)
		if l.Counted {
			l.Counted = false
			charge = append(slices.Clip(charge), quota.Amount{Resource: int32(q.pool.Width - 1), Value: 1})
		}
		if err := q.pool.Tree.Release(int(f.Queue), charge, f.NonPreemptible); err != nil {
			return err
		}
	}
	q.pool.Changes++ // what its queue uses is less, be it outside the pool
	q.used = append(q.used, f.Queue)
	l.From, l.To = 0, 0
	return nil
}

// vacate frees the place of a task, which may stand outside its pool.
func (t *Incremental) vacate(h *cluster.Holding) error {
	w := t.world
	if w.NodePool[h.Node] < 0 {
		return nil
	}
	shape, p := w.Footprint(h)
	free := p.Index.Give
	if h.Phase == cluster.Terminating {
		free = p.Index.Leave
	}
	t.touch(h)
	t.pools[w.NodePool[h.Node]].free(w.Position[h.Node])
	return free(shape.Placed, h.Place(w))
}

// compact moves the holdings together when most of them are nobody's.
func (t *Incremental) compact() {
	w := t.world
	if len(w.Holdings) < 2*t.alive+4096 {
		return
	}
	kept := make([]cluster.Holding, 0, t.alive)
	for i := range w.Works {
		if w.Works[i].Live < 0 {
			continue
		}
		l := &w.Live[w.Works[i].Live]
		from := int32(len(kept))
		kept = append(kept, w.Holdings[l.From:l.To]...)
		for at := range w.Room.Seats[i] {
			w.Room.Seats[i][at].Origin += from - l.From
		}
		l.From, l.To = from, int32(len(kept))
	}
	w.Holdings = kept
}
