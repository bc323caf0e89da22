package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Quotas and limits per class (Q8) bind once a place is chosen: a GPU is charged
// to its model and to its node's class. Where they might bind, tasks are placed
// one by one, each only where its class admits it.

// classed says whether some queue bounds a class (Q8).
func (p *corePool) classed() bool {
	return len(p.classes) > 0
}

// placeByClass places the unit task by task, each only where the quotas and
// limits per class admit it (Q8), all or nothing. The pod sets go in their
// order; one that finds no place goes to the front, as in [gang.Placer.Place].
func (s *solver) placeByClass(f *form, d *definition, unit gang.Unit, asks quota.Amounts) (quota.Amounts, bool, error) {
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
func (s *solver) placeInOrder(f *form, d *definition, unit gang.Unit, asks quota.Amounts, order []int) (total quota.Amounts, failed int, err error) {
	p := s.pool
	nodes, use := p.index.Mark(), p.tree.Mark()
	begin, tasks := make([]int32, len(unit.Add)), int32(0)
	for set, n := range unit.Add {
		begin[set] = tasks
		tasks += n
	}
	s.places = slices.Grow(s.places[:0], int(tasks))[:tasks]
	total = slices.Clone(asks)
	for _, set := range order {
		shape, strategy := &d.sets[set], d.place.CPUOnly
		if shape.gpus > 0 {
			strategy = d.place.GPU
		}
		own := s.places[begin[set] : begin[set]+unit.Add[set]]
		fits, ok := fitByClass(s, f, d.gang.Set(set), shape, strategy, own)
		for i := range own {
			if !fits {
				narrow := s.narrowed(f, shape, nil)
				own[i], ok = s.nodes().Find(narrow, strategy)
				ok = ok && p.index.Take(narrow, own[i]) == nil
			}
			if !ok {
				p.index.Undo(nodes)
				p.tree.Undo(use)
				return nil, set, nil
			}
			place := own[i]
			classes := p.chargeOf(shape, &s.world.nodes[p.nodes[place.Node]], place.Devices)[len(shape.charge):]
			if err := p.tree.Charge(int(f.queue), classes, f.nonPreemptible); err != nil {
				return nil, -1, err
			}
			if total, err = total.AddScaled(classes, 1); err != nil {
				return nil, -1, err
			}
		}
	}
	p.index.Commit(nodes)
	p.tree.Undo(use) // commit charges the whole
	return total, -1, nil
}

// fitByClass places the tasks of a set by P8, which class limits do not switch off: where
// more come to a class than the queue's bounds admit, they are kept off it. fits is false
// where P8 says nothing of the set.
func fitByClass(s *solver, f *form, set gang.Set, shape *shape, st placement.Strategy, dst []placement.Place) (fits, ok bool) {
	p, off, n := s.pool, make(map[int32]bool), int32(len(dst))
	for {
		m := p.index.Mark()
		set.Shape = s.narrowed(f, shape, off)
		if fits, ok = s.placer.Fit(s.nodes(), &set, n, st, dst); !ok {
			p.index.Commit(m)
			return fits, false
		}
		total, more := quota.Amounts(nil), false
		for _, place := range dst {
			classes := p.chargeOf(shape, &s.world.nodes[p.nodes[place.Node]], place.Devices)[len(shape.charge):]
			total, _ = total.AddScaled(classes, 1) // Check bounds every sum
		}
		beyond := false
		for _, a := range total {
			if _, admitted := p.tree.Check(int(f.queue), quota.Amounts{a}, f.nonPreemptible); !admitted {
				beyond, more = true, more || !off[a.Resource]
				off[a.Resource] = true
			}
		}
		if !beyond {
			p.index.Commit(m)
			return true, true
		}
		p.index.Undo(m)
		if !more {
			return true, false
		}
	}
}

// narrowed is the shape kept off the classes and models that the queue's
// bounds admit no further task of, and off those resources of classes.
func (s *solver) narrowed(f *form, shape *shape, off map[int32]bool) placement.Shape {
	p := s.pool
	var classes, models []int32
	for i, c := range p.classes {
		r, value := int32(p.plain+i), shape.charge.Of(c.plain)
		if value == 0 {
			continue
		}
		one := quota.Amounts{{Resource: r, Value: value}}
		if _, ok := p.tree.Check(int(f.queue), one, f.nonPreemptible); ok && !off[r] {
			continue
		}
		if c.ofNodes >= 0 {
			classes = append(classes, c.ofNodes)
		}
		if c.ofDevices >= 0 && c.plain == 0 {
			models = append(models, c.ofDevices)
		}
	}
	if len(classes)+len(models) == 0 {
		return shape.placed
	}
	request := shape.request
	if len(classes) > 0 {
		request.Classes = without(request.Classes, int(p.classCount), classes)
	}
	if len(models) > 0 {
		request.Models = without(request.Models, int(p.modelCount), models)
	}
	return p.index.Shape(request)
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

// withClasses adds to what the unit asks what its places are charged per class
// (Q8).
func (s *solver) withClasses(d *definition, unit gang.Unit, asks quota.Amounts) (quota.Amounts, error) {
	if !s.pool.classed() {
		return asks, nil
	}
	total, next := slices.Clone(asks), 0
	for set, n := range unit.Add {
		shape := &d.sets[set]
		for range n {
			node := &s.world.nodes[s.pool.nodes[s.places[next].Node]]
			classes := s.pool.chargeOf(shape, node, s.places[next].Devices)[len(shape.charge):]
			next++
			var err error
			if total, err = total.AddScaled(classes, 1); err != nil {
				return nil, err
			}
		}
	}
	return total, nil
}

// classShortfalls are the bounds per class that the unit would meet if all of
// it landed in the class (Q8).
func (s *solver) classShortfalls(f *form, d *definition, unit gang.Unit) []quota.Shortfall {
	p := s.pool
	var out []quota.Shortfall
	for i, c := range p.classes {
		total := int64(0)
		for set, n := range unit.Add {
			total += int64(n) * d.sets[set].charge.Of(c.plain)
		}
		if total > 0 {
			one := quota.Amounts{{Resource: int32(p.plain + i), Value: total}}
			out = p.tree.Shortfalls(out, int(f.queue), one, f.nonPreemptible)
		}
	}
	return out
}
