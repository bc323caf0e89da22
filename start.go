package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// An outcome is what became of a unit.
type outcome uint8

const (
	started    outcome = iota
	byRules            // quota or a limit
	byCapacity         // no place
)

// turn tries to start the next unit of the workload that is best in order.
func (s *solver) turn(order *queue.Queues, leaf int, it queue.Item) error {
	w, d := s.world, s.decision
	k := &w.works[it.ID]
	order.Remove(leaf, it)
	f := w.formOf(k, it.Form)
	if s.blocker != none && f.nonPreemptible && order == s.main {
		return nil // only preemptible work backfills; explained as outranked
	}
	result, err := s.start(k, it, f)
	if err != nil {
		return err
	}
	if result != started {
		return s.refuse(it)
	}
	d.again = d.again || d.blocked || d.unsure
	s.main.Touch(leaf)
	if s.apart != nil {
		s.apart.Touch(leaf)
	}
	if !w.definition(k, it.Form).elastic {
		return nil
	}
	if next, ok := w.item(it.ID, it.Form); ok {
		order.Push(leaf, s.asOrdered(next))
	}
	return nil
}

// refuse lets the workload wait, or its next form have its turn, and makes it
// block what the policy says (O4). Tasks above the minimum block nothing, and
// neither does what can never start.
func (s *solver) refuse(it queue.Item) error {
	w := s.world
	k := &w.works[it.ID]
	if it.Stage > 0 {
		return nil
	}
	k.tried = true
	if w.definition(k, it.Form).unsure {
		s.decision.unsure = true
	}
	if next := w.nextForm(k, it.Form+1); int(it.Form) < len(k.others) && !w.tied(k) && w.definition(k, next).verdict.OK {
		return w.takeForm(it.ID, next)
	}
	for i := range it.Form + 1 { // all forms are refused by now
		if i == it.Form || !w.tied(k) {
			if err := w.solverOf(k, i).block(it.ID, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeForm makes f the form in turn of workload i. If f has come up before and
// was put off, its turn is now; it stood before all that has been decided since.
func (w *world) takeForm(i int32, f int16) error {
	k := &w.works[i]
	k.current = f
	s := w.solverOf(k, f)
	key := [2]int32{i, int32(f)}
	it, ok := s.deferred[key]
	if !ok {
		return nil
	}
	delete(s.deferred, key)
	return s.turn(s.orderOf(w.definition(k, f)), int(w.formOf(k, f).queue), it)
}

// block lets the refused form of workload i block what the policy of its pool
// says (O4). What a rule of its own queue refuses blocks that queue only.
func (s *solver) block(i int32, at int16) error {
	w, policy := s.world, s.pool.policy.Queueing
	k := &w.works[i]
	f, d := w.formOf(k, at), w.definition(k, at)
	if policy == queue.BestEffort || s.orderOf(d) != s.main || !d.verdict.OK {
		return nil
	}
	impossible, err := s.impossible(f, at)
	if err != nil || len(impossible) > 0 {
		return err
	}
	_, admitted := s.pool.tree.Check(int(f.queue), w.asks(k, at), f.nonPreemptible)
	switch {
	case policy == queue.StrictQueue || policy == queue.StrictPool && !admitted:
		if s.blockers[f.queue] != none {
			return nil
		}
		s.blockers[f.queue] = i
		s.main.Drop(int(f.queue))
	case admitted && s.blocker == none:
		s.blocker = i
	default:
		return nil
	}
	s.decision.blocked = true
	return nil
}

// start looks for the first unit of the item's workload that the rules admit
// and that finds a place, and commits it.
func (s *solver) start(k *work, it queue.Item, f *form) (outcome, error) {
	w, p := s.world, s.pool
	d := &p.definitions[f.definition]
	if k.live >= 0 && w.holds(k) {
		result, _, err := s.tryUnits(k, it, f, w.live[k.live].held)
		return result, err
	}
	if d.refused || d.refusedAt == p.starts+1 {
		s.decision.work.Remembered++
		return byCapacity, nil
	}
	if !d.unsure {
		result, err := s.tryUnit(k, it, f, d.unit, d.asks)
		d.refused = result == byCapacity
		return result, err
	}
	result, everywhere, err := s.tryUnits(k, it, f, nil)
	if everywhere && !p.classed() {
		d.refusedAt = p.starts + 1
	}
	return result, err
}

// tryUnits tries the units that may start next, in order of preference, until
// one starts. everywhere says that all were refused for want of a place, which
// is so for every queue.
func (s *solver) tryUnits(k *work, it queue.Item, f *form, held []int32) (result outcome, everywhere bool, err error) {
	d := &s.pool.definitions[f.definition]
	result, everywhere = byRules, true
	for s.walk.Reset(d.gang, held, unitBudget); ; {
		unit, ok := s.walk.Next()
		if !ok {
			return result, everywhere, nil
		}
		asks, err := s.unitAsks(d, unit, held == nil)
		if err != nil {
			return result, false, err
		}
		tried, err := s.tryUnit(k, it, f, unit, asks)
		if tried == started || err != nil {
			return tried, false, err
		}
		result = max(result, tried)
		everywhere = everywhere && tried == byCapacity
	}
}

// unitAsks is what the unit adds to use before the classes of its places are
// known.
func (s *solver) unitAsks(d *definition, unit gang.Unit, fresh bool) (quota.Amounts, error) {
	asks, err := d.gang.Amounts(s.asks, unit)
	if err == nil && fresh && s.pool.counted {
		asks = append(asks, quota.Amount{Resource: int32(len(s.pool.resources) - 1), Value: 1})
	}
	s.asks = asks
	return asks, err
}

func (s *solver) tryUnit(k *work, it queue.Item, f *form, unit gang.Unit, asks quota.Amounts) (outcome, error) {
	p := s.pool
	if _, ok := p.tree.Check(int(f.queue), asks, f.nonPreemptible); !ok {
		return byRules, nil
	}
	d := &p.definitions[f.definition]
	for set, n := range unit.Add {
		if n > 0 && s.isRefused(d.sets[set].placed) {
			s.decision.work.Remembered++
			return byCapacity, nil
		}
	}
	s.decision.work.Searches++
	if len(s.classShortfalls(f, d, unit)) > 0 {
		charge, found, err := s.placeByClass(f, d, unit, asks)
		if !found || err != nil {
			return byCapacity, err
		}
		return started, s.commit(k, it, f, unit, charge)
	}
	var verdict gang.Verdict
	s.places, verdict = s.placer.Place(p.index, d.gang, unit, d.place, s.places[:0])
	if !verdict.OK {
		if verdict.Placed == 0 && verdict.Have == 0 {
			s.refuseShape(d.sets[verdict.Set].placed)
		}
		return byCapacity, nil
	}
	charge, err := s.withClasses(d, unit, asks)
	if err != nil {
		return byCapacity, err
	}
	return started, s.commit(k, it, f, unit, charge)
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
			node := &s.world.state.Nodes[s.pool.nodes[s.places[next].Node]]
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
	for r := p.plain; p.classed() && r < len(p.resources); r++ {
		if p.resources[r].class == "" {
			continue
		}
		total := int64(0)
		for set, n := range unit.Add {
			total += int64(n) * d.sets[set].charge.Of(p.byName[p.resources[r].name])
		}
		if total > 0 {
			one := quota.Amounts{{Resource: int32(r), Value: total}}
			out = p.tree.Shortfalls(out, int(f.queue), one, f.nonPreemptible)
		}
	}
	return out
}

// isRefused and refuseShape remember the shapes of which no node takes one
// (O5): while nothing is freed, none ever will.
func (s *solver) isRefused(shape placement.Shape) bool {
	return int(shape) < len(s.refused) && s.refused[shape]
}

func (s *solver) refuseShape(shape placement.Shape) {
	if int(shape) >= len(s.refused) {
		s.refused = append(s.refused, make([]bool, int(shape)+1-len(s.refused))...)
	}
	s.refused[shape] = true
}

// commit charges the unit whose places were found and writes its action.
func (s *solver) commit(k *work, it queue.Item, f *form, unit gang.Unit, charge quota.Amounts) error {
	w, p, out := s.world, s.pool, s.decision
	p.starts++
	if err := p.tree.Charge(int(f.queue), charge, f.nonPreemptible); err != nil {
		return err
	}
	d := &p.definitions[f.definition]
	kind := Resize
	if k.status == waiting {
		kind = Start
		w.withdraw(k, it)
	}
	k.current, k.status = it.Form, complete
	if k.live < 0 && d.elastic {
		k.live = int32(len(w.live))
		w.live = append(w.live, live{})
	}
	var l *live
	if k.live >= 0 {
		l = &w.live[k.live]
		if len(l.held) != len(d.sets) || kind == Start && !w.holds(k) {
			*l = live{held: w.newCounts(len(d.sets))}
		}
	}
	next := 0
	for set, n := range unit.Add {
		for i := range n {
			index := i
			if l != nil {
				index = w.nextIndex(l, int32(set))
				l.held[set]++
			}
			place := s.places[next]
			next++
			out.placed = append(out.placed, taskPlace{
				set: int32(set), index: index, node: p.nodes[place.Node], devices: place.Devices,
			})
		}
	}
	out.add(kind, 0, k, it.ID, next)
	out.work.Placed += int64(next)
	return nil
}

// withdraw takes the other forms of a workload that starts out of the orders,
// where they would stand before work that still waits.
func (w *world) withdraw(k *work, started queue.Item) {
	for f := range int16(1 + len(k.others)) {
		if f == started.Form {
			continue
		}
		s, form := w.solverOf(k, f), w.formOf(k, f)
		it := s.asOrdered(queue.Item{Priority: form.priority, Submitted: k.submitted, ID: started.ID, Form: f})
		s.orderOf(w.definition(k, f)).Remove(int(form.queue), it)
		delete(s.deferred, [2]int32{it.ID, int32(f)})
	}
}

// classed says whether some queue bounds a class (Q8).
func (p *pool) classed() bool {
	return len(p.resources) > p.plain && p.resources[p.plain].class != ""
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
		for i := range unit.Add[set] {
			narrow := s.narrowed(f, shape)
			place, ok := p.index.Find(narrow, strategy)
			if !ok || p.index.Take(narrow, place) != nil {
				p.index.Undo(nodes)
				p.tree.Undo(use)
				return nil, set, nil
			}
			s.places[begin[set]+i] = place
			classes := p.chargeOf(shape, &s.world.state.Nodes[p.nodes[place.Node]], place.Devices)[len(shape.charge):]
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

// narrowed is the shape kept off the classes and models that the queue's
// bounds admit no further task of.
func (s *solver) narrowed(f *form, shape *shape) placement.Shape {
	p := s.pool
	var classes, models []int32
	for r := p.plain; r < len(p.resources); r++ {
		known := p.resources[r]
		value := shape.charge.Of(p.byName[known.name])
		if known.class == "" || value == 0 {
			continue
		}
		one := quota.Amounts{{Resource: int32(r), Value: value}}
		if _, ok := p.tree.Check(int(f.queue), one, f.nonPreemptible); ok {
			continue
		}
		if n, ok := p.class[known.class]; ok {
			classes = append(classes, n)
		}
		if n, ok := p.models[known.class]; ok && known.name == GPU {
			models = append(models, n)
		}
	}
	if len(classes)+len(models) == 0 {
		return shape.placed
	}
	request := shape.request
	if len(classes) > 0 {
		request.Classes = without(request.Classes, len(p.class), classes)
	}
	if len(models) > 0 {
		request.Models = without(request.Models, len(p.models), models)
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
