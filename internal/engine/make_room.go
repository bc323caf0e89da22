package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// roomChoices is for how many choices of pod sets (G3) room is looked for.
const roomChoices = 8

// A refusal is why no room was made for a question, and when: it stands while
// nothing changes in the pool.
type refusal struct {
	changes int64
	reasons []Verdict
	// untold: a bound refused it, and the reasons are found out when they are
	// asked for; then item is whose they are.
	untold bool
	item   queue.Item
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
	if s.placer.UsedNodes || s.phase != withinLines || !p.Policy.makesRoom() || !d.Verdict.OK || it.Stage > 0 && len(d.Ladder) > 0 {
		return false, nil
	}
	var held []int32
	if k.Live >= 0 && w.holds(k) {
		held = w.live[k.Live].held
	}
	asked := roomQuestion{question{f.Definition, f.Queue, None, at, f.NonPreemptible}, f.Priority, it.Stage > 0}
	known := s.refusals[asked]
	if held == nil && known != nil && known.changes == p.changes {
		s.decision.Work.Remembered++
		return false, nil
	}
	s.told = s.told[:0]
	s.mayBound = held == nil && !d.Unsure
	s.untold = false
	made, err := s.makeRoomForAny(k, it, at, held)
	s.mayBound = false
	if held == nil && !made && err == nil {
		it.Form = at
		s.refusals[asked] = &refusal{p.changes, slices.Clone(s.told), s.untold, it}
	}
	if held != nil && !made {
		s.ownRefusals[it.ID] = slices.Clone(s.told)
	}
	return made, err
}

// A roomQuestion is what an answer of makeRoom depends on, while nothing is
// held.
type roomQuestion struct {
	question
	priority int32
	above    bool
}

// makeRoomForAny tries the units that may start next, in order of preference.
func (s preempting) makeRoomForAny(k *Work, it queue.Item, at int16, held []int32) (bool, error) {
	d := s.world.Definition(k, at)
	if held == nil && !d.Unsure {
		return s.makeRoomFor(k, it, at, d.Unit.Add, slices.Clone(d.Asks))
	}
	units, _ := d.Gang.Units(held, roomChoices)
	for _, unit := range units {
		asks, err := s.unitAsks(d, unit, held == nil)
		if err != nil {
			return false, err
		}
		made, err := s.makeRoomFor(k, it, at, unit.Add, slices.Clone(asks))
		if made || err != nil {
			return made, err
		}
	}
	return false, nil
}

// makeRoomFor is makeRoom for one unit, in the world without what is leaving:
// if that is enough, its place is claimed, and nobody has to go (S4).
func (s preempting) makeRoomFor(k *Work, it queue.Item, at int16, add []int32, asks quota.Amounts) (bool, error) {
	p, w := s.pool, s.world
	f := w.FormOf(k, at)
	it.Form = at
	s.placer.Brief, s.briefly = true, false // it will be asked again and again
	defer func() { s.placer.Brief = false }()
	if s.beyondHelp(f, asks) || w.leavesFirst(k, it, gang.Unit{Add: add}) {
		return false, nil
	}
	b := s.beneficiary(k, it, at, slices.Clone(add), asks)
	if !b.Entitled {
		if len(s.shortfalls) == 0 { // otherwise it is not the lines that stop it
			s.diagnosis().tellLine(at, f, asks)
		}
		if s.wouldStart(b) {
			return false, nil // later, in what is free (Q4)
		}
	}
	s.decision.Work.Rooms++
	if w.Room == nil {
		if s.mayBound && s.futile(it, at, b) {
			s.untold = true
			return false, nil
		}
		if s.telling && s.silent(it, at, b) {
			return false, nil
		}
		w.booking().openBook(s.decision)
	}
	if !p.Index.Releasing() {
		proposal, err := s.propose(it, at, b)
		if s.telling {
			return proposal != nil, err
		}
		if proposal == nil || err != nil {
			return false, err
		}
		return true, s.carryOut(k, it, at, b, proposal)
	}
	// Who would have to go if what is leaving stayed?
	entitled, err := s.propose(it, at, b)
	if err != nil {
		return false, err
	}
	return s.claimOrEvict(k, it, at, b, entitled != nil)
}

// claimOrEvict makes the room in what is free once all that is releasing has left:
// if that is enough nobody has to go, and who would have had a right to evict claims
// the place. Others wait for it.
func (s preempting) claimOrEvict(k *Work, it queue.Item, at int16, b *preempt.Preemptor, entitled bool) (bool, error) {
	defer letClaim(s.Solver, b)()
	if s.wouldStart(b) {
		if !entitled {
			return false, nil
		}
		return s.begun(k, it, at, b)
	}
	proposal, err := s.propose(it, at, b)
	if proposal == nil || err != nil {
		return false, err
	}
	return true, s.carryOut(k, it, at, b, proposal)
}

// propose finds whom to take for the unit by the first way that can, or nobody.
func (s preempting) propose(it queue.Item, at int16, b *preempt.Preemptor) (*preempt.Proposal, error) {
	s.told = slices.DeleteFunc(s.told, func(v Verdict) bool { return v.Code != OverLine && v.Code != GuaranteeCut })
	b.Cap = s.capOf()
	modes, passes := s.modes(it, at, b), []int{0}
	if k := s.pool.Policy.relocations(); k > 0 && len(s.pool.Nodes) > 1 {
		passes = append(passes, k) // the same once more, with moves (M10)
	}
	for _, b.Relocations = range passes {
		var again []preempt.Mode // where somebody might go, but that is not enough
		for _, mode := range modes {
			proposal, refusal, found := s.pool.Room.Find(b, mode)
			s.decision.Work.Candidates += int64(refusal.Steps)
			if refusal.Cut || s.briefly && !found && refusal.Steps > 0 {
				refusal.Cut = true
				s.decision.Work.Cut++
			}
			if found {
				return &proposal, nil
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

// relocations is how many units the policy lets move beside victims (M10).
func (p *Policy) relocations() int {
	const standard = 2
	switch {
	case p.NoConsolidation:
		return 0
	case p.MaxRelocations.Given():
		return int(p.MaxRelocations.Amount())
	}
	return standard
}

// modes are the ways that the policy lets be tried, in their order.
func (s preempting) modes(it queue.Item, at int16, b *preempt.Preemptor) []preempt.Mode {
	policy, f := &s.pool.Policy, s.world.FormOf(&s.world.Works[it.ID], at)
	var modes []preempt.Mode
	_, admitted := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible)
	if !policy.NoConsolidation && admitted && (b.Entitled || policy.ConsolidateBeyondShare) {
		modes = append(modes, preempt.Consolidate)
	}
	reclaims := policy.Reclaim != preempt.NoReclaim && (f.NonPreemptible || !policy.ReclaimNonPreemptibleOnly)
	if reclaims {
		modes = append(modes, s.pool.Room.Rights(b, policy.Reclaim == preempt.ByQuotaAndShare)...)
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
func (s preempting) beyondHelp(f *Form, asks quota.Amounts) bool {
	if _, ok := s.pool.Tree.Never(int(f.Queue), asks, f.NonPreemptible); !ok {
		return true
	}
	s.shortfalls = s.pool.Tree.Shortfalls(s.shortfalls[:0], int(f.Queue), asks, f.NonPreemptible)
	return slices.ContainsFunc(s.shortfalls, func(short quota.Shortfall) bool { return short.Kind == quota.OverQuota })
}

// beneficiary describes the unit to the room.
func (s preempting) beneficiary(k *Work, it queue.Item, at int16, add []int32, asks quota.Amounts) *preempt.Preemptor {
	p, f, d := s.pool, s.world.FormOf(k, at), s.world.Definition(k, at)
	b := &preempt.Preemptor{
		EvictionRank: preempt.EvictionRank{
			NonPreemptible: f.NonPreemptible, Priority: f.Priority, Step: int32(min(it.Stage, 1)),
			Admitted: s.world.Now, Submitted: k.Submitted, Rank: k.Rank, Work: it.ID,
		},
		Leaf: f.Queue, Asks: asks, Gang: d.Gang, Set: p.NodeSet[f.Queue],
		Exact: !p.Classed(), Entitled: p.Room.Entitled(f.Queue, asks), Equivalence: -1, Still: !p.Index.Releasing(),
	}
	if k.Live < 0 || !s.world.holds(k) {
		b.Equivalence = f.Definition
	}
	b.Add.Add = add
	need := make([]int64, p.Plain)
	first := placement.Shape(-1)
	for set, n := range add {
		shape := &d.Sets[set]
		b.Shapes = append(b.Shapes, shape.Placed)
		if n == 0 {
			continue
		}
		b.GPUs += int64(n) * shape.Charge.Of(0)
		if first >= 0 && first != shape.Placed {
			b.Exact = false
		}
		first = shape.Placed
		r := &shape.Request
		b.Exact = b.Exact && (r.Devices <= 1 || r.Memory == 0 && r.Milli == WholeDevice)
		addNeed(need, shape, int64(n))
	}
	b.Need = needed(need)
	b.Start = func() bool { return s.startFor(f, d, b) }
	b.Exact = b.Exact && !s.reprieving().fitted(d, b.Add)
	if d.Gang.Constrained() {
		s.reprieving().keepTogether(b, d)
	}
	b.Short = func() []int32 { return s.shortOf(d, b) }
	return b
}

// needed are the amounts, by resource, that are more than none.
func needed(need []int64) (amounts quota.Amounts) {
	for r, n := range need {
		if n > 0 {
			amounts = append(amounts, quota.Amount{Resource: int32(r), Value: n})
		}
	}
	return amounts
}

// addNeed adds what nodes must give for n tasks; device memory is not told, as
// it is a different part of different devices.
func addNeed(need []int64, shape *Shape, n int64) {
	for _, a := range shape.Request.Amounts {
		need[a.Resource+1] += n * a.Value
	}
	if shape.Request.Memory == 0 {
		need[0] += n * shape.Charge.Of(0)
	}
}

// startFor starts the unit in the journals only.
func (s preempting) startFor(f *Form, d *Definition, b *preempt.Preemptor) bool {
	before := s.trial
	s.trial = true
	defer func() { s.trial = before }()
	if _, ok := s.pool.Tree.Check(int(f.Queue), b.Asks, f.NonPreemptible); !ok {
		return false
	}
	charge, found, err := s.placeUnit(f, d, b.Add, s.reprieving().beside(b.Work, d, b.Add), b.Asks)
	return found && err == nil && s.pool.Tree.Charge(int(f.Queue), charge, f.NonPreemptible) == nil
}

// wouldStart says whether the unit starts as things stand.
func (s preempting) wouldStart(b *preempt.Preemptor) bool {
	nodes, use := s.pool.Index.Mark(), s.pool.Tree.Mark()
	ok := b.Start()
	s.pool.Index.Undo(nodes)
	s.pool.Tree.Undo(use)
	return ok
}

// shortOf lists the divided resources that the nodes would not give even if
// the unit asked for one alone; if there is none, all that it asks.
func (s preempting) shortOf(d *Definition, b *preempt.Preemptor) []int32 {
	var asked, short []int32
	for _, a := range b.Asks {
		if int(a.Resource) < len(s.pool.Divided) && s.pool.Divided[a.Resource] {
			asked = append(asked, a.Resource)
		}
	}
	if len(asked) < 2 {
		return asked
	}
	for _, r := range asked {
		if !s.placesAlone(d, b, r) {
			short = append(short, r)
		}
	}
	if len(short) == 0 {
		return asked
	}
	return short
}

// placesAlone says whether the unit finds places if it asks for r alone.
func (s preempting) placesAlone(d *Definition, b *preempt.Preemptor, r int32) bool {
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
	if most == 0 || s.world.Room == nil {
		return nil
	}
	disturbed := s.world.disturbed(s.index)
	return &preempt.Cap{Left: max(0, most-len(disturbed)), Disturbed: disturbed}
}

// disturbed are the workloads of which something that ran is out or elsewhere.
func (w *World) disturbed(pool int32) map[int32]bool {
	out := make(map[int32]bool)
	for i := range w.Room.out {
		if o := &w.Room.out[i]; o.pool == pool && o.unit.Running > 0 {
			out[o.unit.Work] = true
		}
	}
	for i, seats := range w.Room.Seats {
		for _, s := range seats {
			if s.origin >= 0 && s.commit >= 0 && w.NodePool[s.Node] == pool {
				out[int32(i)] = true
			}
		}
	}
	return out
}
