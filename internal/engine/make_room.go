package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// roomChoices is for how many choices of pod sets (G3) room is looked for.
const roomChoices = 8

// A refusal is why no room was made for a question, and when: it stands while
// nothing changes in the pool.
type refusal struct {
	cluster.Memo
	// untold: a bound refused it, and the reasons are found out when they are
	// asked for; then item is whose they are. silent: there are no others, as long as
	// it stands.
	untold, silent bool
	// searched: it was looked for, beside what was promised then, or not yet, as it is patient; made is how many
	// promises there had been made.
	searched bool
	// patient: it makes no room as it will start in what is free, which others may take (Q4). Whom that is
	// said of is known to one decision alone, so that the next one asks again.
	patient bool
	made    int32
	reasons []cluster.Verdict
	item    queue.Item
	// of is the number of the decision that came to it last: no other tells it, as it may never have come to that (X1).
	of int64
}

// stands says whether the refusal still does. What is promised leaves no more room, but a search that takes the first
// that serves may find some by another choice, and who was patient may have its place promised to another: it is made
// again in the next pass.
func (r *refusal) stands(s *Solver) bool {
	return r.Memo.Stands(s.pool) && (!r.searched || r.made >= s.promises.madeBefore)
}

// makeRoom makes room for the next unit of a form that finds no place, by the
// first way of the policy that can: consolidation, reclaim, preemption, the last two at
// once.
// It reports whether the unit has started. Nobody is touched otherwise
// (M2).
func (s preempting) makeRoom(it queue.Item, at int16) (bool, error) {
	w, p := s.world, s.pool
	k := &w.Works[it.ID]
	f, d := w.FormOf(k, at), w.Definition(k, at)
	if s.kept != nil || s.placer.UsedNodes || s.phase != withinLines || !makesRoom(&p.Policy) || !d.Verdict.OK || it.Stage > 0 && len(d.Ladder) > 0 || s.promising().ratherWaits(it.ID) {
		return false, nil
	}
	held := w.CountsOf(k)
	asked := questionOf(f, at)
	asked.above = it.Stage > 0
	if known := s.refusals[asked]; held == nil && known.stands(s.Solver) {
		s.decision.Work.Remembered++
		if known.of != s.decision.Number {
			known.of = s.decision.Number
			s.refusals[asked] = known
		}
		return false, nil
	}
	s.told, s.ownAlone = s.told[:0], false
	s.mayBound = held == nil && !d.Unsure
	s.untold = false
	steps := s.decision.Work.Candidates
	made, err := s.makeRoomForAny(k, it, at, held)
	s.mayBound = false
	patient := s.patient[it.ID]
	searched := !made && (s.decision.Work.Candidates > steps || patient)
	s.promises.sought = s.promises.sought || searched
	if held == nil && !made && err == nil {
		it.Form = at
		until := p.UntilChanged()
		if s.ownAlone {
			until = cluster.Memo{} // others that ask the same may be helped
		}
		s.refusals[asked] = refusal{
			Memo: until, reasons: s.diagnosis().shared(f.Queue, s.told), untold: s.untold, silent: s.untold && s.mute, item: it,
			searched: searched, made: s.promises.made, patient: patient, of: s.decision.Number,
		}
	}
	if held != nil && !made {
		s.ownRefusals[it.ID] = slices.Clone(s.told)
	}
	return made, err
}

// makeRoomForAny tries the units that may start next, in order of preference.
func (s preempting) makeRoomForAny(k *cluster.Work, it queue.Item, at int16, held []int32) (bool, error) {
	return s.anyUnit(s.world.Definition(k, at), held, func(add []int32, asks quota.Amounts) (bool, error) {
		return s.makeRoomFor(k, it, at, add, asks)
	})
}

// anyUnit tries the units that may start next, in order of preference, until room is
// made for one.
func (s preempting) anyUnit(d *cluster.Definition, held []int32, try func(add []int32, asks quota.Amounts) (bool, error)) (bool, error) {
	if held == nil && d.HasOneStart() {
		return try(d.Unit.Add, slices.Clip(d.Asks))
	}
	for _, unit := range unitsOf(d, held) {
		asks, err := s.unitAsks(d, unit, held == nil)
		if err != nil {
			return false, err
		}
		if made, err := try(unit.Add, slices.Clone(asks)); made || err != nil {
			return made, err
		}
	}
	return false, nil
}

// A way is how room is made for a unit.
type way struct {
	preemptor *preempt.Preemptor
	// proposal is whom to take; nil is that it starts in what is free once all that is
	// releasing has left. claims: it may claim that.
	proposal *preempt.Proposal
	claims   bool
}

// makeRoomFor is makeRoom for one unit.
func (s preempting) makeRoomFor(k *cluster.Work, it queue.Item, at int16, add []int32, asks quota.Amounts) (bool, error) {
	it.Form = at
	s.placer.Brief, s.briefly = true, false // it will be asked again and again
	serves := s.promises.serves
	defer func() {
		s.placer.Brief, s.promises.making, s.begins, s.promises.serves = false, false, triedStart{}, serves
	}()
	if err := s.promising().makesRoom(); err != nil {
		return false, err
	}
	s.promises.serves = it.ID + 1
	found, err := s.wayFor(k, it, at, add, asks)
	if found == nil || err != nil || s.telling {
		return found != nil, err
	}
	if found.proposal != nil {
		if found, err = s.withoutCompletions(k, it, at, found); found == nil || err != nil {
			return false, err
		}
	}
	return s.goesThat(found, k, it, at)
}

// goesThat makes room by the way that was found.
func (s preempting) goesThat(found *way, k *cluster.Work, it queue.Item, at int16) (bool, error) {
	if found.claims {
		defer letClaim(s.Solver, found.preemptor)()
	}
	if found.proposal == nil {
		defer s.promising().whileIntact()()
		return s.begun(k, it, at, found.preemptor)
	}
	return true, s.carryOut(k, it, at, found.preemptor, found.proposal)
}

// wayFor finds how room is made for one unit, and leaves the world as it was: in the world
// without what is leaving. If that is enough, its place is claimed, and nobody has to go
// (S4). It is nil where there is no way.
func (s preempting) wayFor(k *cluster.Work, it queue.Item, at int16, add []int32, asks quota.Amounts) (*way, error) {
	p, w := s.pool, s.world
	f := w.FormOf(k, at)
	if s.beyondHelp(f, asks) {
		return nil, nil
	}
	b := s.likeLast(k, it, at, add, asks)
	if !b.Entitled {
		if s.due != 0 && s.phase == withinLines && !s.enqueuing().strict(f.Queue) {
			return nil, nil // when nobody else moves (M9)
		}
		if len(s.shortfalls) == 0 { // otherwise it is not the lines that stop it
			s.diagnosis().tellLine(at, f, asks)
		}
		if s.undone(func() bool { return s.startFor(at, f, w.Definition(k, at), b) }) {
			s.decision.Unsure = true // somebody may start there before
			s.patient[it.ID] = true
			return nil, nil // later, in what is free (Q4)
		}
	}
	if outgrows(w, k, it, add) {
		s.ownAlone = true
		return nil, nil
	}
	if s.due != 0 && s.behind().findsPlaceBeside(f, b) {
		return nil, nil
	}
	s.decision.Work.Rooms++
	if !w.Room.Told { // a bound is the cheaper way
		modes := s.modes(it, at, b)
		switch futile := !s.telling && s.futile(modes, b); {
		case futile && s.mayBound:
			s.untold, s.mute = true, s.silent(modes, b)
			return nil, nil
		case (futile || s.telling) && s.silent(modes, b):
			return nil, nil
		}
		w.Booking().Tell()
	}
	// Who would have to go if what is leaving stayed?
	proposal, err := s.propose(it, at, b)
	switch {
	case err != nil || proposal == nil && !p.Index.Releasing():
		return nil, err
	case !p.Index.Releasing():
		s.found = way{preemptor: b, proposal: proposal}
		return &s.found, nil
	}
	return s.claimOrEvict(it, at, b, proposal != nil)
}

// claimOrEvict finds the room in what is free once all that is releasing has left:
// if that is enough nobody has to go, and who would have had a right to evict claims
// the place. Others wait for it.
func (s preempting) claimOrEvict(it queue.Item, at int16, b *preempt.Preemptor, entitled bool) (*way, error) {
	defer letClaim(s.Solver, b)()
	end := s.promising().whileIntact()
	starts := s.wouldStart(b)
	if end(); starts {
		if !entitled {
			return nil, nil
		}
		return &way{preemptor: b, claims: true}, nil
	}
	proposal, err := s.propose(it, at, b)
	if proposal == nil || err != nil {
		return nil, err
	}
	return &way{preemptor: b, proposal: proposal, claims: true}, nil
}

// propose finds whom to take for the unit by the first way that can, or nobody.
func (s preempting) propose(it queue.Item, at int16, b *preempt.Preemptor) (*preempt.Proposal, error) {
	s.told = slices.DeleteFunc(s.told, func(v cluster.Verdict) bool { return v.Code != cluster.OverLine })
	b.Cap = s.capOf()
	modes, passes := s.modes(it, at, b), [2]int{0, relocations(s.pool)}
	for pass := range passes {
		if pass > 0 && passes[pass] <= 0 {
			break // else the same once more, with moves (M10)
		}
		b.Relocations = passes[pass]
		var again []preempt.Mode // where somebody might go, but that is not enough
		for _, mode := range modes {
			best, refusal, found := s.pool.Room.Find(b, mode)
			s.decision.Work.Candidates += int64(refusal.Steps)
			if mode == preempt.Due {
				if !found {
					continue
				}
				best.Justifications = slices.Clone(best.Justifications) // others are asked for too
				exposed, err := exposing(s).exposesWhenDue(it, b, best.Justifications)
				if err != nil {
					return nil, err
				}
				if !exposed {
					return s.keep(best), nil
				}
				s.behind().stay(b.Work, best.Justifications)
				continue
			}
			if refusal.Cut || s.briefly && !found && refusal.Steps > 0 {
				refusal.Cut = true
				s.decision.Work.Cut++
			}
			if found {
				proposal := s.keep(best)
				lasts, err := s.lasts(b, proposal, s.endsForGood)
				if lasts && err == nil && best.WithinLines() {
					proposal.Justifications = slices.Clone(best.Justifications) // others are asked for too
					var by int32
					by, lasts, err = exposing(s).takesBack(it, b, proposal.Justifications)
					if by != cluster.None {
						s.diagnosis().tellTakenBack(at, by)
						lasts = false
					}
				}
				if err != nil {
					return nil, err
				}
				if lasts {
					return proposal, nil
				}
				continue
			}
			if mode != preempt.Consolidate && b.Relocations == 0 || refusal.Cut {
				s.diagnosis().tell(at, b, mode, &refusal)
			}
			if mode != preempt.Consolidate && refusal.Takeable > 0 {
				again = append(again, mode)
			}
		}
		modes = again
	}
	return nil, s.ctx.Err()
}

// keep keeps a proposal until the next one.
func (s preempting) keep(p preempt.Proposal) *preempt.Proposal {
	s.proposed = p
	return &s.proposed
}

// relocations is how many units the policy lets move beside victims (M10).
func relocations(p *cluster.Pool) int {
	const standard = 2
	switch {
	case p.Policy.NoConsolidation:
		return 0
	case p.Policy.MaxRelocations.Given():
		return int(p.Policy.MaxRelocations.Amount())
	}
	return standard
}

// modes are the ways that the policy lets be tried, in their order.
func (s preempting) modes(it queue.Item, at int16, b *preempt.Preemptor) []preempt.Mode {
	policy, f := &s.pool.Policy, s.world.FormOf(&s.world.Works[it.ID], at)
	modes := s.modesAtHand[:0]
	if s.due != 0 {
		return append(modes, preempt.Due)
	}
	_, admitted := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible)
	if !policy.NoConsolidation && admitted && (b.Entitled || policy.ConsolidateBeyondShare) {
		modes = append(modes, preempt.Consolidate)
	}
	reclaims := policy.Reclaim != preempt.NoReclaim && (f.NonPreemptible || !policy.ReclaimNonPreemptibleOnly)
	if reclaims {
		modes = preempt.AppendRights(modes, s.pool.Room, b, policy.Reclaim == preempt.ByQuotaAndShare)
	}
	if s.mayPreempt(it) {
		modes = append(modes, preempt.Preempt)
		if reclaims && policy.Preempt == preempt.WithinQueue {
			modes = append(modes, preempt.ReclaimAndPreempt)
		}
	}
	return modes
}

// mayPreempt: units above a minimum never do (G2).
func (s preempting) mayPreempt(it queue.Item) bool {
	return s.pool.Policy.Preempt != preempt.NoPreemption && it.Stage == 0
}

// beyondHelp is a first bound (M8): what no eviction mends. Non-preemptible use
// never goes (Q2), and the bounds of a queue may be beyond reach in themselves.
func (s preempting) beyondHelp(f *cluster.Form, asks quota.Amounts) bool {
	if _, ok := s.pool.Tree.Never(int(f.Queue), asks, f.NonPreemptible); !ok {
		return true
	}
	s.shortfalls = s.pool.Tree.Shortfalls(s.shortfalls[:0], int(f.Queue), asks, f.NonPreemptible)
	return slices.ContainsFunc(s.shortfalls, func(short quota.Shortfall) bool { return short.Kind == quota.OverQuota })
}

// placeDue takes places for the unit for which room is made: of what others leave for it by its first right, what
// stood behind it alone (B6, B9).
func (s preempting) placeDue(f *cluster.Form, d *cluster.Definition, b *preempt.Preemptor) (charge quota.Amounts, found bool, err error) {
	err = s.behind().besideRest(b.Work, func() (err error) {
		charge, found, err = s.placeUnit(s.reaches(b.Work, d, b.Add.Tasks()), f, d, b.Add, s.reprieving().beside(b.Work, d, b.Add), b.Asks)
		return err
	})
	return charge, found && err == nil, err
}

// startFor starts the unit in the journals only.
func (s preempting) startFor(at int16, f *cluster.Form, d *cluster.Definition, b *preempt.Preemptor) bool {
	defer s.tries()()
	if _, ok := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible); !ok {
		return false
	}
	charge, found, err := s.placeDue(f, d, b)
	if found && err == nil {
		err = runsOnAtHome(s.Solver, &s.world.Works[b.Work], d, b.Add)
	}
	if !found || err != nil || s.pool.Tree.Charge(int(f.Queue), charge, f.NonPreemptible) != nil {
		return false
	}
	if s.promises.making { // only then anybody asks how long it would stay
		s.begins = s.triesToStart(at, b)
	}
	return true
}

// A triedStart is what would start of a workload in the trial at hand: it has its places in the journals, and no rows.
type triedStart struct {
	work  int32 // plus one
	form  int16
	seats []cluster.Seat
}

// triesToStart is what would start of a preemptor at the places that were found.
func (s preempting) triesToStart(form int16, b *preempt.Preemptor) triedStart {
	seats := make([]cluster.Seat, 0, len(s.places))
	for task, set := range cluster.TasksOf(b.Add) {
		one := cluster.Seat{TaskPlace: cluster.TaskPlace{Set: int32(set)}, Origin: cluster.None, Commit: int32(len(s.world.Room.Commits)), Until: s.cut}
		one.Sit(s.pool.Nodes, s.places[task])
		seats = append(seats, one)
	}
	return triedStart{b.Work + 1, form, seats}
}

// wouldStart says whether the unit starts as things stand.
func (s preempting) wouldStart(b *preempt.Preemptor) bool { return s.undone(b.Start) }

// undone says whether something starts, and takes it back.
func (s preempting) undone(start func() bool) bool {
	nodes, use, begins := s.pool.Index.Mark(), s.pool.Tree.Mark(), s.begins
	ok := start()
	s.begins = begins
	s.pool.Index.Undo(nodes)
	s.pool.Tree.Undo(use)
	return ok
}

// shortOf lists the divided resources that the nodes would not give even if
// the unit asked for one alone; if there is none, all that it asks. Behind them are the
// classes of these that it may reclaim. Who is short of nothing but a resource that is guaranteed to others
// by class alone is short of nothing that it has a right to (Q8).
func (s preempting) shortOf(d *cluster.Definition, b *preempt.Preemptor) []int32 {
	p := s.pool
	guaranteed := p.GuaranteedToSome(d, b.Add)
	classed := func(r int32) bool {
		return slices.ContainsFunc(guaranteed, func(a quota.Amount) bool { return p.Classes[int(a.Resource)-p.Plain].Plain == r })
	}
	short := make([]int32, 0, len(b.Asks)+len(b.Classes))
	for _, a := range b.Asks {
		if int(a.Resource) < p.Plain && (p.Divided[a.Resource] || classed(a.Resource)) {
			short = append(short, a.Resource)
		}
	}
	if len(short) > 1 {
		found := slices.DeleteFunc(slices.Clone(short), func(r int32) bool { return s.placesAlone(d, b, r) })
		if len(found) > 0 {
			short = found
		}
	}
	var classes []int32
	for _, a := range b.Classes {
		if slices.Contains(short, p.Classes[int(a.Resource)-p.Plain].Plain) {
			classes = append(classes, a.Resource)
		}
	}
	return append(slices.DeleteFunc(short, func(r int32) bool { return !p.Divided[r] }), classes...)
}

// placesAlone says whether the unit finds places if it asks for r alone.
func (s preempting) placesAlone(d *cluster.Definition, b *preempt.Preemptor, r int32) bool {
	m := s.pool.Index.Mark()
	defer s.pool.Index.Undo(m)
	for set, n := range b.Add.Add {
		if n == 0 {
			continue
		}
		request := d.Sets[set].Request
		strategy := d.Place.GPU
		if r == 0 {
			request.Amounts = nil
		} else {
			value := request.Amounts.Of(r - 1)
			request.Devices, request.Milli, request.Memory, request.MinMemory, request.Models = 0, 0, 0, 0, nil
			if request.Amounts = nil; value > 0 {
				request.Amounts = quota.Amounts{{Resource: r - 1, Value: value}}
			}
			strategy = d.Place.CPUOnly
		}
		shape := s.pool.Index.Shape(request)
		for range n {
			place, ok := s.pool.Index.Find(shape, strategy)
			if !ok || s.pool.Index.Take(shape, place) != nil {
				return false
			}
		}
	}
	return true
}

// capOf is how many workloads more the policy lets one solve disturb (M7).
func (s preempting) capOf() *preempt.Cap {
	most := s.pool.Policy.MaxEvictions
	if most == 0 {
		return nil
	}
	disturbed := disturbed(s.world, s.index)
	return &preempt.Cap{Left: max(0, most-len(disturbed)), Disturbed: disturbed}
}

// disturbed are the workloads of which something that ran is out or elsewhere. What has lost its place for nobody is
// among them: where it finds another, it may be taken from that for somebody.
func disturbed(w *cluster.World, pool int32) map[int32]bool {
	out := make(map[int32]bool)
	for _, i := range w.Room.Touched {
		k := &w.Works[i]
		if k.Live < 0 || w.FormOf(k, w.Live[k.Live].Form).Pool != pool {
			continue
		}
		left := 0
		for _, h := range w.Holdings[w.Live[k.Live].From:w.Live[k.Live].To] {
			if h.Phase == cluster.Running && !h.Fresh {
				left++
			}
		}
		for at := range w.Room.Seats[i] {
			if one := &w.Room.Seats[i][at]; one.Commit < 0 && w.Booking().Ran(one) {
				left--
			}
		}
		if left > 0 {
			out[i] = true
		}
	}
	return out
}
