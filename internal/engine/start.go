package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// An outcome is what became of a unit.
type outcome uint8

const (
	started    outcome = iota
	byRules            // quota, a limit, or its lines for now (M9)
	byCapacity         // no place
)

// turn tries to start the next unit of the workload that is best in order.
func (s *Solver) turn(order *queue.Queues, leaf int, it queue.Item) error {
	w := s.world
	k := &w.Works[it.ID]
	s.enqueuing().leave(order, leaf, it)
	if growsLater(w, k) {
		s.enqueuing().wait(order, leaf, it)
		return nil
	}
	f := w.FormOf(k, it.Form)
	defer func() { s.placer.UsedNodes = false }()
	if s.enqueuing().stoppedBy(it.ID, it.Form) != cluster.None {
		return s.stopped(it)
	}
	s.placer.UsedNodes = s.enqueuing().keptOff(it.ID, it.Form) != cluster.None
	result := byCapacity
	err := s.promising().laying().askAnew(it)
	switch {
	case err != nil || s.kept != nil && s.kept.plainlyRefused(k, it):
	case k.Status == cluster.WaitsForLeavers && w.Live[k.Live].Claimed > 0:
		result = byRules // it moves, and is completed once it has (G1)
	case k.Status == cluster.WaitsForLeavers:
		result, err = s.claimWhile(k, it, f)
	default:
		result, err = s.promising().startOrCut(k, it, f)
	}
	if err != nil {
		return err
	}
	replaced := false
	if result == byCapacity {
		replaced, err = freeStarts{s}.startReplacing(k, it, f)
	}
	if err != nil {
		return err
	}
	if result != started && !replaced {
		return s.refuse(order, leaf, it)
	}
	s.goOn(order, leaf, it)
	return nil
}

// goOn is what follows a start: the next of its like has its turn, and the
// workload itself asks for its next task (G2).
func (s *Solver) goOn(order *queue.Queues, leaf int, it queue.Item) {
	w, d := s.world, s.decision
	k := &w.Works[it.ID]
	d.Started, d.Changed, d.Again = true, true, d.Again || d.Unsure
	s.touch(leaf)
	if s.kept != nil {
		s.kept.started(order, it)
		return
	}
	if k.Bucket > 0 {
		s.enqueuing().nextOf(order, leaf, k)
	}
	if definition := w.Definition(k, it.Form); definition.Elastic && wantsMore(w, k) {
		if next, ok := itemOf(w, it.ID, it.Form); ok {
			order.Push(leaf, s.asOrdered(next))
		}
	}
}

// refuse makes room for the workload if it can. Otherwise it lets it
// wait, or its next form have its turn, and makes it block what the policy says
// (O4). Tasks above the minimum block nothing, and neither does what can never
// start.
func (s *Solver) refuse(order *queue.Queues, leaf int, it queue.Item) error {
	w := s.world
	k := &w.Works[it.ID]
	if w.Definition(k, it.Form).Unsure || s.pool.Lends {
		s.decision.Unsure = true
	}
	if it.Stage > 0 {
		if claimed, err := s.claimLeaving(it, it.Form); claimed || err != nil {
			s.goOn(order, leaf, it)
			return err
		}
		made, err := s.behind().take(it, it.Form)
		if !made && err == nil {
			made, err = s.preempting().makeRoom(it, it.Form)
		}
		if made {
			s.goOn(order, leaf, it)
			s.madeRoom()
		} else {
			s.enqueuing().wait(order, leaf, it)
		}
		return err
	}
	s.noteTried(it.ID, it.Form)
	if handed, err := handOn(w, it.ID); handed || err != nil {
		return err
	}
	for i := range it.Form + 1 { // all forms are refused by now
		if i != it.Form && isTied(w, k) || k.Status == cluster.WaitsForLeavers {
			continue
		}
		at := solverOf(w, k, i)
		if claimed, err := at.claimLeaving(it, i); claimed || err != nil {
			it.Form = i
			at.goOn(at.orderOf(w.Definition(k, i)), int(w.FormOf(k, i).Queue), it)
			return err
		}
	}
	for i := range it.Form + 1 {
		if i != it.Form && isTied(w, k) || k.Status == cluster.WaitsForLeavers {
			continue
		}
		if made, err := solverOf(w, k, i).helped(it, i); made || err != nil {
			return err
		}
	}
	s.enqueuing().wait(order, leaf, it)
	if err := s.promising().promise(order, leaf, it); err != nil {
		return err
	}
	return blockAll(w, it)
}

// blockAll lets a workload of which no form starts block what policies say (O4).
func blockAll(w *cluster.World, it queue.Item) error {
	k := &w.Works[it.ID]
	for i := range it.Form + 1 {
		if i == it.Form || !isTied(w, k) {
			if err := solverOf(w, k, i).enqueuing().block(it.ID, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimLeaving has a form that was refused claim places that others are leaving, if
// it would start once they have left, and the policy lets it without a right to evict
// (S4) or this plan evicts it (S5).
func (s *Solver) claimLeaving(it queue.Item, at int16) (bool, error) {
	w := s.world
	k := &w.Works[it.ID]
	if !mayClaim(s.pool, s.phase) && !(wasEvicted(k, w) && s.pool.Index.Releasing()) || !w.Definition(k, at).Verdict.OK {
		return false, nil
	}
	it.Form = at
	result, err := s.claimWhile(k, it, w.FormOf(k, at))
	return result == started && err == nil, err
}

// claimWhile starts the next unit of the workload in what is free once all that is
// releasing has left.
func (s *Solver) claimWhile(k *cluster.Work, it queue.Item, f *cluster.Form) (outcome, error) {
	s.claims, s.waitsForItself = true, k.Status == cluster.WaitsForLeavers
	defer func() { s.claims, s.waitsForItself = false, false }()
	return s.start(k, it, f)
}

// mayClaim says whether who waits may claim what others are leaving by itself. What
// grows into spare resources waits until they are spare (L3).
func mayClaim(p *cluster.Pool, now attempt) bool {
	return p.Policy.ClaimLeaving && now != growing && p.Index.Releasing()
}

// helped makes room for a form that was refused, or for a smaller size of it
// (L2), and goes on from there.
func (s *Solver) helped(it queue.Item, at int16) (bool, error) {
	k := &s.world.Works[it.ID]
	f, d := s.world.FormOf(k, at), s.world.Definition(k, at)
	made, err := s.behind().take(it, at)
	if !made && err == nil {
		made, err = s.preempting().makeRoom(it, at)
	}
	room := made
	fresh := !s.world.Holds(k)
	for i := 1; i < len(d.Ladder) && !made && err == nil && fresh; i++ {
		made, room, err = s.startSmaller(k, it, at, d.Ladder[i:i+1])
	}
	if !made || err != nil {
		return made, err
	}
	it.Form = at
	s.goOn(s.orderOf(d), int(f.Queue), it)
	if room {
		s.madeRoom()
	}
	return true, nil
}

// startSmaller starts a halving workload at a smaller size, in free space or in
// room made for it.
func (s *Solver) startSmaller(k *cluster.Work, it queue.Item, at int16, add []int32) (starts, room bool, err error) {
	f, d := s.world.FormOf(k, at), s.world.Definition(k, at)
	unit := gang.Unit{Add: add}
	asks, err := s.unitAsks(d, unit, true)
	if err != nil {
		return false, false, err
	}
	asks = slices.Clone(asks)
	it.Form = at
	result, err := s.tryUnit(k, it, f, unit, asks)
	if result == byCapacity && err == nil {
		result, err = startInHole(s.promising(), k, it, unit.Tasks(), func() (outcome, error) { return s.tryUnit(k, it, f, unit, asks) })
	}
	if result != started && err == nil && mayClaim(s.pool, s.phase) {
		s.claims = true
		result, err = s.tryUnit(k, it, f, unit, asks)
		s.claims = false
	}
	if result == started || err != nil {
		return result == started && err == nil, false, err
	}
	if s.phase != withinLines || !makesRoom(&s.pool.Policy) {
		return false, false, nil
	}
	made, err := s.preempting().makeRoomFor(k, it, at, add, asks)
	return made, made, err
}

// madeRoom takes note that somebody had to go: what was refused before may be
// possible now. Beyond the lines the round begins again with what is within them (M9).
func (s *Solver) madeRoom() {
	s.decision.Again, s.decision.Restart = true, s.decision.Restart || s.phase == beyondLines
	if s.leftover {
		s.leftover = false
		s.enqueuing().rearm()
	}
}

// start looks for the first unit of the item's workload that the rules admit
// and that finds a place, and commits it.
func (s *Solver) start(k *cluster.Work, it queue.Item, f *cluster.Form) (outcome, error) {
	w, p := s.world, s.pool
	d := &p.Definitions[f.Definition]
	if held := w.CountsOf(k); held != nil {
		if len(d.Ladder) > 0 {
			return s.tryNext(k, it, f, held)
		}
		result, _, err := s.tryUnits(k, it, f, held)
		return result, err
	}
	used := s.placer.UsedNodes || s.claims || len(s.promises.list) > 0 // is remembered of other places than these
	if !used && d.Refused.Stands(p) {
		s.decision.Work.Remembered++
		return byCapacity, nil
	}
	if !d.Unsure || len(d.Ladder) > 0 { // as asked (L2)
		result, err := s.tryUnit(k, it, f, d.Unit, d.Asks)
		if result == byCapacity && !used && !d.Unsure {
			d.Refused = p.UntilRoom()
		}
		return result, err
	}
	result, everywhere, err := s.tryUnits(k, it, f, nil)
	if everywhere && !p.Classed() && !used {
		d.Refused = p.UntilChanged()
	}
	return result, err
}

// tryNext tries the one unit that a halving workload grows by.
func (s *Solver) tryNext(k *cluster.Work, it queue.Item, f *cluster.Form, held []int32) (outcome, error) {
	d := &s.pool.Definitions[f.Definition]
	unit, verdict := NextUnit(d, held)
	if !verdict.OK {
		return byRules, nil
	}
	asks, err := s.unitAsks(d, unit, false)
	if err != nil {
		return byRules, err
	}
	return s.tryUnit(k, it, f, unit, asks)
}

// tryUnits tries the units that may start next, in order of preference, until
// one starts. everywhere says that all were refused for want of a place, which
// is so for every queue.
func (s *Solver) tryUnits(k *cluster.Work, it queue.Item, f *cluster.Form, held []int32) (result outcome, everywhere bool, err error) {
	d := &s.pool.Definitions[f.Definition]
	if held == nil && d.HasOneStart() {
		result, err = s.tryUnit(k, it, f, d.Unit, d.Asks)
		return result, result == byCapacity, err
	}
	result, everywhere = byRules, true
	for s.walk.Reset(d.Gang, held, d.Choices()); ; {
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
func (s *Solver) unitAsks(d *cluster.Definition, unit gang.Unit, fresh bool) (quota.Amounts, error) {
	asks, err := d.Gang.Amounts(s.asks, unit)
	if err == nil && fresh && s.pool.Counted {
		asks = append(asks, quota.Amount{Resource: int32(s.pool.Width - 1), Value: 1})
	}
	s.asks = asks
	return asks, err
}

// tryUnit starts the unit if the rules admit it and it finds its places.
func (s *Solver) tryUnit(k *cluster.Work, it queue.Item, f *cluster.Form, unit gang.Unit, asks quota.Amounts) (outcome, error) {
	p := s.pool
	if _, ok := p.Tree.Check(int(f.Queue), asks, f.NonPreemptible); !ok {
		return byRules, nil
	}
	if s.phase == withinLines && !s.enqueuing().strict(f.Queue) && !p.Room.Entitled(f.Queue, asks) {
		return byRules, nil // beyond them only when nobody else moves (M9)
	}
	d := &p.Definitions[f.Definition]
	r := s.reaches(it.ID, d, unit.Tasks())
	if s.cut > 0 {
		d, r = s.promising().open(it.ID, it.Form, max(s.world.Now, 0), s.cut), r.cutTo(s.cut)
	}
	for set, n := range unit.Add {
		if n > 0 && !s.claims && s.isRefused(d.Sets[set].Placed) {
			s.decision.Work.Remembered++
			return byCapacity, nil
		}
	}
	s.decision.Work.Searches++
	charge, found, err := s.placeUnit(r, f, d, unit, s.reprieving().beside(it.ID, d, unit), asks)
	if err != nil || !found {
		return byCapacity, err
	}
	passes := s.passes
	if exposed, err := (exposing{s}).exposes(it, f, unit, charge); exposed || err != nil {
		return byRules, cmp.Or(err, exposing{s}.giveBack(d, unit))
	}
	if err := runsOnAtHome(s, k, d, unit); err != nil {
		return byCapacity, err
	}
	s.passes = passes // which others have asked about since
	return started, s.commit(k, it, f, unit, charge, s.reprieving().mayNotRunOn(k, it, f, charge))
}

// outgrows says whether a workload with a ladder was evicted in this solve and would start
// with more than ran of it: what ran goes on, and to grow it makes no room (L1).
func outgrows(w *cluster.World, k *cluster.Work, it queue.Item, add []int32) bool {
	if !wasEvicted(k, w) || it.Form != w.Live[k.Live].Form || len(w.Definition(k, it.Form).Ladder) == 0 {
		return false
	}
	l, ran := &w.Live[k.Live], int32(0)
	for at := l.From; at < l.To; at++ {
		if h := &w.Holdings[at]; h.Phase == cluster.Running && !h.Fresh {
			ran++
		}
	}
	return add[0] > ran
}

// wasEvicted says whether all that ran of the workload has gone in this solve.
func wasEvicted(k *cluster.Work, w *cluster.World) bool {
	if k.Live < 0 || w.Holds(k) {
		return false
	}
	l := &w.Live[k.Live]
	return slices.ContainsFunc(w.Holdings[l.From:l.To], func(h cluster.Holding) bool { return h.Phase == cluster.Running && !h.Fresh })
}

// placeUnit takes places for the unit, which are in s.places then, and returns
// what it is charged there; or takes none. It keeps what is promised to others.
func (s *Solver) placeUnit(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts) (quota.Amounts, bool, error) {
	if s.passes = 0; len(s.promises.list) > 0 {
		return s.promising().placeBeside(r, f, d, unit, beside, asks)
	}
	return s.placeAnywhere(f, d, unit, beside, asks)
}

// placeAnywhere is placeUnit without a look at what is promised.
func (s *Solver) placeAnywhere(f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts) (quota.Amounts, bool, error) {
	charge, found, err := s.findPlaces(f, d, unit, beside, asks)
	if found && err == nil && s.claims {
		err = s.claimTogether(d, unit)
	}
	return charge, found, err
}

func (s *Solver) findPlaces(f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts) (quota.Amounts, bool, error) {
	tight := len(s.classShortfalls(f, d, unit)) > 0
	if tight && !d.Gang.Constrained() {
		return s.placeByClass(f, d, unit, asks)
	}
	var m placement.Mark
	if tight {
		m = s.pool.Index.Mark()
	}
	var verdict gang.Verdict
	s.places, verdict = s.placer.PlaceWithSiblings(s.nodes(), d.Gang, unit, beside, d.Place, s.places[:0])
	s.briefly = s.briefly || verdict.Cut
	if !verdict.OK {
		if tight {
			s.pool.Index.Commit(m)
		}
		if verdict.Kind != gang.NoDomain && !s.reprieving().fitted(d, unit) && verdict.Placed == 0 && verdict.Have == 0 {
			s.refuseShape(d.Sets[verdict.Set].Placed)
		}
		return nil, false, nil
	}
	charge, err := s.withClasses(d, unit, asks, s.places)
	if tight { // which domain it is in, its constraints decide, not its class
		if _, ok := s.pool.Tree.Check(int(f.Queue), charge, f.NonPreemptible); !ok || err != nil {
			s.pool.Index.Undo(m)
			return nil, false, err
		}
		s.pool.Index.Commit(m)
	}
	return charge, err == nil, err
}

// isRefused and refuseShape remember the shapes of which no node takes one
// (O5): while nothing is freed, none ever will. A trial with something put
// aside remembers nothing.
func (s *Solver) isRefused(shape placement.Shape) bool {
	return int(shape) < len(s.refused) && s.refused[shape].Stands(s.pool)
}

func (s *Solver) refuseShape(shape placement.Shape) {
	if s.trial || s.placer.UsedNodes {
		return
	}
	if int(shape) >= len(s.refused) {
		s.refused = append(s.refused, make([]cluster.Memo, int(shape)+1-len(s.refused))...)
	}
	s.refused[shape] = s.pool.UntilFreed()
}

// commit charges the unit whose places were found and writes its action. It may start anew whatever ran of its workload.
func (s *Solver) commit(k *cluster.Work, it queue.Item, f *cluster.Form, unit gang.Unit, charge quota.Amounts, anew bool) error {
	w, p := s.world, s.pool
	w.Journal.Keep(w, it.ID)
	p.Changes++
	s.promising().fulfil(it.ID)
	d := &p.Definitions[f.Definition]
	noteStarted(s, d)
	if err := p.Tree.Charge(int(f.Queue), charge, f.NonPreemptible); err != nil {
		return err
	}
	kind := cluster.Resize
	if k.Status == cluster.Waiting || k.Status == cluster.WaitsForLeavers {
		kind = cluster.Start
		withdraw(w, k, it)
	}
	k.Current, k.Status = it.Form, cluster.Complete
	if k.Live < 0 && d.Elastic {
		k.Live = int32(len(w.Live))
		w.Live = append(w.Live, cluster.Live{})
	}
	if k.Live >= 0 {
		l := &w.Live[k.Live]
		if len(l.Held) != len(d.Sets) || kind == cluster.Start && !isTied(w, k) {
			*l = cluster.Live{Held: w.NewCounts(len(d.Sets)), From: l.From, To: l.To, Form: l.Form, Leaving: l.Leaving}
		}
	}
	w.Booking().Start(it.ID, kind, unit, s.places, s.cut, s.passes, anew)
	s.promising().started(it.ID, len(s.places))
	w.Booking().Retell(it.ID)
	s.decision.Work.Placed += int64(len(s.places))
	return nil
}
