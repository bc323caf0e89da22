package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// Quotas and limits per class (Q8) bind once a place is chosen: a GPU is charged
// to its model and to its node's class. Where they might bind, tasks are placed
// one by one, each only where its class admits it.

// placeByClass places the unit task by task, each only where the quotas and
// limits per class admit it (Q8), all or nothing. The pod sets go in their
// order; one that finds no place goes to the front, as in [gang.Placer.Place].
func (s *Solver) placeByClass(f *cluster.Form, d *cluster.Definition, unit gang.Unit, asks quota.Amounts) (quota.Amounts, bool, error) {
	var order []int
	for set, n := range unit.Add {
		if n > 0 {
			order = append(order, set)
		}
	}
	for range gang.MaxOrders {
		total, failed, err := s.placeInOrder(f, d, unit, asks, order)
		if err != nil || failed < 0 {
			return total, err == nil, err
		}
		if failed == order[0] {
			break
		}
		at := slices.Index(order, failed)
		copy(order[1:], order[:at])
		order[0] = failed
	}
	return nil, false, nil
}

// placeInOrder is placeByClass in one order of the pod sets; failed is the one
// that finds no place, −1 if all do.
func (s *Solver) placeInOrder(f *cluster.Form, d *cluster.Definition, unit gang.Unit, asks quota.Amounts, order []int) (total quota.Amounts, failed int, err error) {
	p := s.pool
	nodes, use := p.Index.Mark(), p.Tree.Mark()
	begin, tasks := make([]int32, len(unit.Add)), int32(0)
	for set, n := range unit.Add {
		begin[set] = tasks
		tasks += n
	}
	s.places = slices.Grow(s.places[:0], int(tasks))[:tasks]
	total = slices.Clone(asks)
	for _, set := range order {
		shape := &d.Sets[set]
		strategy := d.StrategyFor(shape)
		own := s.places[begin[set] : begin[set]+unit.Add[set]]
		fits, ok := fitByClass(s, f, d.Gang.Set(set), shape, strategy, own)
		for i := range own {
			if !fits {
				narrow := s.narrowed(f, shape, nil)
				own[i], ok = s.nodes().Find(narrow, strategy)
				ok = ok && p.Index.Take(narrow, own[i]) == nil
			}
			if !ok {
				p.Index.Undo(nodes)
				p.Tree.Undo(use)
				return nil, set, nil
			}
			place := own[i]
			classes := p.ChargeOf(shape, &s.world.Nodes[p.Nodes[place.Node]], place.Devices)[len(shape.Charge):]
			if err := p.Tree.Charge(int(f.Queue), classes, f.NonPreemptible); err != nil {
				return nil, -1, err
			}
			if total, err = total.AddScaled(classes, 1); err != nil {
				return nil, -1, err
			}
		}
	}
	p.Index.Commit(nodes)
	p.Tree.Undo(use) // commit charges the whole
	return total, -1, nil
}

// fitByClass places the tasks of a set by P8, which class limits do not switch off: where
// more come to a class than the queue's bounds admit, they are kept off it. fits is false
// where P8 says nothing of the set.
func fitByClass(s *Solver, f *cluster.Form, set gang.Set, shape *cluster.Shape, st placement.Strategy, dst []placement.Place) (fits, ok bool) {
	p, off, n := s.pool, make(map[int32]bool), int32(len(dst))
	for {
		m := p.Index.Mark()
		set.Shape = s.narrowed(f, shape, off)
		if fits, ok = s.placer.Fit(s.nodes(), &set, n, st, dst); !ok {
			p.Index.Commit(m)
			return fits, false
		}
		total, more := quota.Amounts(nil), false
		for _, place := range dst {
			classes := p.ChargeOf(shape, &s.world.Nodes[p.Nodes[place.Node]], place.Devices)[len(shape.Charge):]
			total, _ = total.AddScaled(classes, 1) // Check bounds every sum
		}
		beyond := false
		for _, a := range total {
			if _, admitted := p.Tree.Check(int(f.Queue), quota.Amounts{a}, f.NonPreemptible); !admitted {
				beyond, more = true, more || !off[a.Resource]
				off[a.Resource] = true
			}
		}
		if !beyond {
			p.Index.Commit(m)
			return true, true
		}
		p.Index.Undo(m)
		if !more {
			return true, false
		}
	}
}

// asSafe says whether who moves for somebody is as safe on these seats as it was: no queue of
// its path comes to use more than its quota of a class for which there are any, unless it does so
// already. A move changes no protection (M10), and in such a class it could be reclaimed for what
// its queue is guaranteed in all (Q8).
func (s reprieving) asSafe(o *cluster.OutUnit, seats []cluster.Seat) bool {
	return !o.Asked || s.pool.Room.Classed == nil ||
		!slices.ContainsFunc(s.chargeAt(o.Unit, seats), func(a quota.Amount) bool { return s.exposedIn(o.Unit, a) })
}

// exposedIn says whether with so much of a class the unit, which is not charged now, could be
// reclaimed by that, and could not where it was.
func (s reprieving) exposedIn(u *preempt.Unit, a quota.Amount) bool {
	p, r := s.pool, a.Resource
	if int(r) >= len(p.Room.Classed) || !p.Room.Classed[r] || a.Value <= u.Charge.Of(r) {
		return false
	}
	for q := u.Leaf; q >= 0; q = p.Parent[q] {
		if a.Value > p.LineFor(cluster.ReclaimedByQuota, q, r)-p.Tree.Use(int(q), int(r)) {
			return true
		}
	}
	return false
}

// safeGround is the definition kept off the classes in which the unit could be reclaimed with one
// task, and could not where it was.
func (s reprieving) safeGround(o *cluster.OutUnit, d *cluster.Definition) *cluster.Definition {
	p, off := s.pool, make(map[int32]bool)
	k := &s.world.Works[o.Unit.Work]
	for i, c := range p.Classes {
		for set := range d.Sets {
			one := quota.Amount{Resource: int32(p.Plain + i), Value: d.Sets[set].Charge.Of(c.Plain)}
			if one.Value > 0 && s.exposedIn(o.Unit, one) {
				off[one.Resource] = true
			}
		}
	}
	if len(off) == 0 {
		return d
	}
	again := *d
	again.Sets = slices.Clone(d.Sets)
	for set := range again.Sets {
		again.Sets[set].Placed = s.narrowed(s.world.FormOf(k, k.Current), &d.Sets[set], off)
	}
	again.Gang = d.Gang.Reshaped(func(set int) placement.Shape { return again.Sets[set].Placed })
	return &again
}

// narrowed is the shape kept off the classes and models that the queue's
// bounds admit no further task of, and off those resources of classes.
func (s *Solver) narrowed(f *cluster.Form, shape *cluster.Shape, off map[int32]bool) placement.Shape {
	p := s.pool
	var classes, models []int32
	for i, c := range p.Classes {
		r, value := int32(p.Plain+i), shape.Charge.Of(c.Plain)
		if value == 0 {
			continue
		}
		one := quota.Amounts{{Resource: r, Value: value}}
		if _, ok := p.Tree.Check(int(f.Queue), one, f.NonPreemptible); ok && !off[r] {
			continue
		}
		if c.OfNodes >= 0 {
			classes = append(classes, c.OfNodes)
		}
		if c.OfDevices >= 0 && c.Plain == 0 {
			models = append(models, c.OfDevices)
		}
	}
	if len(classes)+len(models) == 0 {
		return shape.Placed
	}
	request := shape.Request
	if len(classes) > 0 {
		request.Classes = without(request.Classes, int(p.ClassCount), classes)
	}
	if len(models) > 0 {
		request.Models = without(request.Models, int(p.ModelCount), models)
	}
	return p.Index.Shape(request)
}

// without removes numbers from a list in which nil stands for all below n. The
// result is never nil, as nothing left must not become all.
func without(list []int32, n int, remove []int32) []int32 {
	out := []int32{}
	if list == nil {
		for i := range int32(n) {
			out = append(out, i)
		}
	} else {
		out = append(out, list...)
	}
	return slices.DeleteFunc(out, func(m int32) bool { return slices.Contains(remove, m) })
}

// withClasses adds to what the unit asks what places of it are charged per class
// (Q8).
func (s *Solver) withClasses(d *cluster.Definition, unit gang.Unit, asks quota.Amounts, places []placement.Place) (quota.Amounts, error) {
	if !s.pool.Classed() {
		return asks, nil
	}
	total := slices.Clone(asks)
	for task, set := range cluster.TasksOf(unit) {
		shape, place := &d.Sets[set], &places[task]
		classes := s.pool.ChargeOf(shape, &s.world.Nodes[s.pool.Nodes[place.Node]], place.Devices)[len(shape.Charge):]
		var err error
		if total, err = total.AddScaled(classes, 1); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// classShortfalls are the bounds per class that the unit would meet if all of
// it landed in the class (Q8).
func (s *Solver) classShortfalls(f *cluster.Form, d *cluster.Definition, unit gang.Unit) []quota.Shortfall {
	p := s.pool
	var out []quota.Shortfall
	for i, c := range p.Classes {
		total := int64(0)
		for set, n := range unit.Add {
			total += int64(n) * d.Sets[set].Charge.Of(c.Plain)
		}
		if total > 0 {
			one := quota.Amounts{{Resource: int32(p.Plain + i), Value: total}}
			out = p.Tree.Shortfalls(out, int(f.Queue), one, f.NonPreemptible)
		}
	}
	return out
}
