package engine

import (
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/queue"
)

// Of its forms a workload has one in its turn at a time, in order of preference (G5): the next one once the one before
// is refused, or a head keeps it back (O4).

// stopped lets the next form of a workload have its turn that another stops. If it was the
// last, the workload stops others in its turn (O4), where the first does not stop all these.
func (s *Solver) stopped(it queue.Item) error {
	w := s.world
	handed, err := handOn(w, it.ID)
	own := s.pool.Queueing[w.FormOf(&w.Works[it.ID], it.Form).Queue].Own
	if handed || err != nil || it.Stage > 0 || !own && !s.pool.Policy.BlockAlikeOnly {
		return err
	}
	return blockAll(s.world, it)
}

// nextForm is the first form from f on that has a unit to start; the last form
// if none has.
func nextForm(w *cluster.World, k *cluster.Work, f int16) int16 {
	for int(f) < len(k.Others) && !w.Definition(k, f).Verdict.OK {
		f++
	}
	return f
}

// isTied says whether the workload cannot change its form (G5): some task of it runs or is
// claimed in the one it has. A claim that it has lost does not tie it, nor does what leaves and
// waits again: behind that it may claim a place in any form (S5).
func isTied(w *cluster.World, k *cluster.Work) bool { return w.Holds(k) }

// noteTried notes that the form had its turn and was refused.
func (s *Solver) noteTried(i int32, f int16) {
	if k := &s.world.Works[i]; len(k.Others) == 0 {
		k.Tried = true
	} else {
		s.tried[[2]int32{i, int32(f)}] = true
	}
}

func (s *Solver) wasTried(i int32, f int16) bool {
	if k := &s.world.Works[i]; len(k.Others) == 0 {
		return k.Tried
	}
	return s.tried[[2]int32{i, int32(f)}]
}

// handOn makes the workload's next form the one in turn (G5), if there is one.
// If that has come up before and was put off, its turn is now; it stood before
// all that has been decided since.
func handOn(w *cluster.World, i int32) (bool, error) {
	k := &w.Works[i]
	f := nextForm(w, k, k.Current+1)
	if int(k.Current) >= len(k.Others) || isTied(w, k) || !w.Definition(k, f).Verdict.OK {
		return false, nil
	}
	w.Journal.Keep(w, i)
	k.Current = f
	s := solverOf(w, k, f)
	key := [2]int32{i, int32(f)}
	it, ok := s.deferred[key]
	if !ok {
		return true, nil
	}
	delete(s.deferred, key)
	return true, s.turn(s.orderOf(w.Definition(k, f)), int(w.FormOf(k, f).Queue), it)
}

// handOver hands on every form that a block keeps back (O4); it says whether
// there was one.
func handOver(w *cluster.World) (bool, error) {
	some := false
	for i := 0; i < len(w.Works) && w.Alternatives; i++ {
		k := &w.Works[i]
		if len(k.Others) == 0 || k.Status != cluster.Waiting && !mayClaimAgain(w, int32(i)) || !keptBack(w, int32(i)) {
			continue
		}
		handed, err := handOn(w, int32(i))
		if err != nil {
			return some, err
		}
		some = some || handed
	}
	return some, nil
}

// keptBack says whether the form in turn of workload i never gets its turn,
// because another workload blocks its queue or pool.
func keptBack(w *cluster.World, i int32) bool {
	k := &w.Works[i]
	s := solverOf(w, k, k.Current)
	if s.wasTried(i, k.Current) || s.orderOf(w.Definition(k, k.Current)) != s.main {
		return false
	}
	return s.enqueuing().dropped(w.FormOf(k, k.Current).Queue) || s.enqueuing().stopsPool()
}

// passOver lets the pool's best workload wait until its preferred form, in a
// pool that waits too, is decided.
func (s enqueuing) passOver() {
	for _, order := range [...]*queue.Queues{s.apart, s.main} {
		if order == nil {
			continue
		}
		if leaf, it, ok := order.Best(); ok {
			s.putOff(order, leaf, it)
			return
		}
	}
}

func (s enqueuing) putOff(order *queue.Queues, leaf int, it queue.Item) {
	order.Remove(leaf, it)
	s.deferred[[2]int32{it.ID, int32(it.Form)}] = it
}

// withdraw takes the other forms of a workload that starts out of the orders,
// where they would stand before work that still waits.
func withdraw(w *cluster.World, k *cluster.Work, started queue.Item) {
	for f := range int16(1 + len(k.Others)) {
		if f == started.Form {
			continue
		}
		s, form := solverOf(w, k, f), w.FormOf(k, f)
		it := s.asOrdered(wholeItem(w, started.ID, f))
		s.orderOf(w.Definition(k, f)).Remove(int(form.Queue), it)
		delete(s.deferred, [2]int32{it.ID, int32(f)})
	}
}
