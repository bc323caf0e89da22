package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// Where no end is known for which a workload could wait, its pool may gather places for it
// (B8): a promise without a time, whose places are held from now on. What stands there goes
// when it goes, and nothing else comes.

// gathers says whether the pool has gathered places for somebody.
func (all *promises) gathers() bool {
	return slices.ContainsFunc(all.list, func(p *promise) bool { return p.gathers })
}

// isGathered says whether a place is gathered for another than a workload: nothing else comes there, whoever stood where
// (B8).
func (s gathering) isGathered(i int32, place placement.Place) bool {
	return slices.ContainsFunc(s.promises.list, func(p *promise) bool {
		return p.gathers && s.isOfAnother(p, i) && p.overlaps(place.Node, place.Devices)
	})
}

// mayGather says whether places may be gathered for a promise, as none are for others; why is that they would be too
// many.
func (s gathering) mayGather(p *promise) (may bool, why *cluster.Verdict) {
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	if !s.pool.Policy.Reserve.Gather || !d.GPU || s.promises.gathers() {
		return false, nil
	}
	why = s.overMost(p, p.asks.Of(0)+s.idle(s.othersThan(p)...))
	return why == nil, why
}

// gather finds places for a promise without a time: those where least stands
// now, of these where least work would be lost, in one of the domains in which the unit may be. For what is left of a
// gang and ends already, or is overdue, none are: nothing completes that at any time.
func (s gathering) gather(p *promise) bool {
	d := s.world.Definition(&s.world.Works[p.work], p.form)
	p.at, p.duration, p.gathers, p.after = max(s.world.Now, 0), cluster.Never, true, int32(len(s.world.Room.Commits))
	if p.at >= s.laying().goesBy(p) || !s.admitted(p) {
		return false
	}
	nodes := [][]int32{nil}
	if d.Gang.Constrained() {
		domains, _ := s.placer.Domains(s.nodes(), d.Gang, p.unit, s.laying().siblings(p, d))
		for i, domain := range domains {
			if i == 0 {
				nodes = nil
			}
			nodes = append(nodes, s.placer.Topology.Nodes(domain))
		}
	}
	on := s.loads(p)
	var best *gathered
	free, _ := s.promises.profile.KeepFree(cluster.Never, true, nil, func(int32) bool { return true })
	s.leave()
	for _, of := range nodes {
		if g := s.gatherIn(p, of, on); g != nil && (best == nil || g.compare(best) < 0) {
			best = g
		}
	}
	s.pool.Index.Undo(free)
	if best == nil {
		return false
	}
	p.stays = make([]placement.Stay, len(best.places))
	for i := range p.stays {
		p.stays[i].Place = best.places[i]
		p.stays[i].Place.Pipelined = false
	}
	s.window(p)
	return s.admitted(p) && (!p.entitled || s.entitledOnce(p)) && s.sparesOthers(p) // by the class of its places too
}

// entitledOnce says whether a promise without a time is within its lines once what it waits for has left: what
// stands on its places, and what must have ended for its queues to let it in, the first to go first.
func (s gathering) entitledOnce(p *promise) (entitled bool) {
	f := s.world.FormOf(&s.world.Works[p.work], p.form)
	tree := s.pool.Tree
	s.during(p.at, func(other *promise) bool { return other != p }, func() {
		stands := slices.DeleteFunc(s.use(), func(one ended) bool {
			goes := one.node != cluster.None && s.world.NodePool[one.node] == s.index && p.overlaps(s.world.Position[one.node], one.devices)
			if goes = goes && one.work != p.work; goes {
				_ = tree.Release(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
			}
			return goes || one.work == p.work
		})
		s.letIn(p, stands)
		entitled = s.pool.Room.Entitled(f.Queue, p.asks)
	})
	return entitled
}

// admittedOnce says whether its queues let a promise without a time in, beside all that is promised to others, once
// all has ended that stands: whatever of that must have, it waits for (B8).
func (s admitting) admittedOnce(p *promise, charge quota.Amounts) bool {
	tree, f := s.pool.Tree, s.world.FormOf(&s.world.Works[p.work], p.form)
	m := tree.Mark()
	defer tree.Undo(m)
	gone := letGo{outs: s.behind().outs()}
	for _, one := range s.use() {
		if one.work != p.work && !gone.has(&one) {
			_ = tree.Release(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
		}
	}
	for _, other := range s.promises.list {
		if other != p && len(s.promises.profile.Held(other.work)) > 0 {
			of := s.world.FormOf(&s.world.Works[other.work], other.form)
			_ = tree.Charge(int(of.Queue), s.chargeOf(other), of.NonPreemptible) // Check bounds every sum
		}
	}
	_, ok := tree.Check(int(f.Queue), charge, f.NonPreemptible)
	return ok
}

// letIn has of what stands so much be gone that its queues let a promise in, the first to go first.
func (s gathering) letIn(p *promise, stands []ended) {
	tree, f, charge := s.pool.Tree, s.world.FormOf(&s.world.Works[p.work], p.form), s.chargeOf(p)
	slices.SortStableFunc(stands, func(a, b ended) int {
		return cmp.Or(cmp.Compare(a.until, b.until), s.world.CompareIDs(a.work, b.work))
	})
	for some := true; some; {
		some = false
		stands = slices.DeleteFunc(stands, func(one ended) bool {
			short, ok := tree.Check(int(f.Queue), charge, f.NonPreemptible)
			helps := !ok && one.charge.Of(int32(short.Resource)) > 0 &&
				(short.Kind == quota.Kept || under(s.pool, one.leaf, int32(short.Queue)) && (short.Kind != quota.OverQuota || one.nonPreemptible))
			if helps {
				_ = tree.Release(int(one.leaf), one.charge, one.nonPreemptible) // it was charged
			}
			some = some || helps
			return helps
		})
	}
}

// sparesOthers says whether all that is promised stands as it did once the places are held, and their queues count
// what is promised there.
func (s gathering) sparesOthers(p *promise) bool {
	if s.of(p.work) == nil {
		s.promises.add(p)
		defer s.promises.remove(p)
	}
	behind := s.promises.profile.Behinds(p.work)
	s.hold(p)
	leaves := !slices.ContainsFunc(s.promises.list, func(other *promise) bool {
		return other.work != p.work && len(s.promises.profile.Held(other.work)) > 0 && !s.sparing().standsStill(other)
	})
	s.promises.profile.Release(p.work)
	p.tellWay(s.promises.profile, behind)
	return leaves
}

// leave has everything that is leaving be gone from the index, until the mark is undone.
func (s gathering) leave() {
	if !s.pool.Index.Releasing() {
		return
	}
	w := s.world
	for i := range w.Holdings {
		if h := &w.Holdings[i]; h.Phase == cluster.Terminating && w.NodePool[h.Node] == s.index {
			shape, _ := w.Footprint(h)
			_ = s.pool.Index.Leave(shape.Placed, h.Place(w)) // it is leaving, by its phase
		}
	}
}

// knowTime has a promise be one with a time: who is only waited for is there again, and who stands behind it
// goes when that comes (B6).
func (s gathering) knowTime(p *promise) {
	p.gathers, p.duration = false, s.world.Definition(&s.world.Works[p.work], p.form).Times.Lasts(p.tasks())
	s.promises.tellsOf(p, s.makesWay(p))
}

// gatherAgain has a promise without a time have other places, as some of its own are lost or have
// been given to another.
func (s gathering) gatherAgain(p *promise) bool {
	s.knowTime(p)
	if may, _ := s.mayGather(p); !may || !s.gather(p) {
		return false
	}
	s.promises.made, s.promises.ranks = s.promises.made+1, s.promises.ranks+1
	p.lost, p.order, p.rank = false, s.promises.made, s.promises.ranks // it is another, though its places may be the same again
	return true
}

// A gathered is a set of places, what of their devices is in use, in milli, and what work would be
// lost that is done there, in device-seconds.
type gathered struct {
	places     []placement.Place
	busy, lost int64
}

func (g *gathered) compare(other *gathered) int {
	return cmp.Or(cmp.Compare(g.busy, other.busy), cmp.Compare(g.lost, other.lost))
}

// A load is a task that stands on a node.
type load struct {
	stay       placement.Stay
	busy, lost int64
}

// loads are the tasks of the pool, by node, but for what is left of a gang for which places are gathered.
func (s gathering) loads(p *promise) map[int32][]load {
	w, on := s.world, make(map[int32][]load)
	for i, one := range s.behind().standing() {
		if i == p.work {
			continue
		}
		k := &w.Works[i]
		set := &w.Definition(k, k.Current).Sets[one.Set]
		out := load{stay: placement.Stay{Shape: set.Placed, Place: one.Place(w)}}
		out.busy = s.pool.ChargeOf(set, &w.Nodes[one.Node], one.Devices).Of(0)
		out.lost = out.busy * ((max(w.Now, 0) - max(one.Admitted, k.Checkpoint, 0)) / cluster.Second) / cluster.WholeDevice
		on[out.stay.Place.Node] = append(on[out.stay.Place.Node], out)
	}
	return on
}

// gatherIn finds places on some nodes, all where it is told none, once what stands on the fewest of
// them has left: those with the least on them first.
func (s gathering) gatherIn(p *promise, nodes []int32, on map[int32][]load) *gathered {
	x := s.pool.Index
	if nodes == nil {
		for v := range s.pool.Nodes {
			nodes = append(nodes, int32(v))
		}
	}
	nodes = slices.Clone(nodes)
	sum := func(v int32) (g gathered) {
		for _, one := range on[v] {
			g.busy, g.lost = g.busy+one.busy, g.lost+one.lost
		}
		return g
	}
	slices.SortStableFunc(nodes, func(a, b int32) int {
		first, second := sum(a), sum(b)
		return cmp.Or(first.compare(&second), cmp.Compare(a, b))
	})
	var found []placement.Place
	fits := func(n int) bool {
		m := x.Mark()
		defer x.Undo(m)
		for _, v := range nodes[:n] {
			for _, one := range on[v] {
				_ = x.Give(one.stay.Shape, one.stay.Place) // it stands there
			}
		}
		if !s.placeHeld(p, p.at) {
			return false
		}
		found = slices.Clone(s.places)
		return true
	}
	low, high := 0, len(nodes)
	if !fits(high) {
		return nil
	}
	for low < high {
		if middle := (low + high) / 2; fits(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	out := &gathered{places: found}
	for _, place := range found {
		for _, one := range on[place.Node] {
			if one.stay.Place.Devices&place.Devices != 0 {
				out.busy, out.lost = out.busy+one.busy, out.lost+one.lost
			}
		}
	}
	return out
}

// stands says whether the places that are gathered would take the tasks still once all that stands on
// their nodes has left, beside what is promised to others at any time.
func (s gathering) stands(p *promise) bool {
	x, on := s.pool.Index, s.loads(p)
	m, _ := s.promises.profile.KeepFree(cluster.Never, true, nil, func(holder int32) bool { return holder != p.work })
	defer x.Undo(m)
	s.leave()
	empty := make(map[int32]bool, len(p.stays))
	for i := range p.stays {
		v := p.stays[i].Place.Node
		for _, one := range on[v] {
			if !empty[v] {
				_ = x.Give(one.stay.Shape, one.stay.Place) // it stands there
			}
		}
		empty[v] = true
	}
	return !slices.ContainsFunc(p.stays, func(own placement.Stay) bool {
		return !takeIfFree(x, own.Shape, own.Place)
	})
}

// waitedFor are the tasks that stood on devices when these were gathered, and could not stay there beside
// what is gathered and promised. As much as they have is nobody's once they have left but of whom the places are
// gathered for. What stands behind that one is of these.
func (s gathering) waitedFor(p *promise) (stays []placement.Stay) {
	over, ends := s.overfull(p), endings{World: s.world}
	for i, one := range s.behind().standing() {
		place := one.Place(s.world)
		if i != p.work && one.Commit < p.after && over[place.Node]&place.Devices != 0 || s.behind().stepsAside(one, i, p) {
			stays = append(stays, s.stayOf(&ends, i, one))
		}
	}
	return stays
}

// overfull are the devices that are gathered, by node, that have not enough for all that stands there, is
// promised and is gathered.
func (s gathering) overfull(p *promise) map[int32]uint64 {
	x, over := s.pool.Index, make(map[int32]uint64)
	m := x.Mark()
	defer x.Undo(m)
	s.leave()
	take := func(p *promise) {
		for i := range p.stays {
			_ = x.Take(p.stays[i].Shape, p.stays[i].Place) // it may go below what is free
		}
	}
	for _, other := range s.promises.list {
		if other != p && !other.lost {
			take(other)
		}
	}
	take(p)
	for i := range p.stays {
		own := &p.stays[i]
		if own.Place.Node == cluster.None { // it is lost
			continue
		}
		_ = x.Give(own.Shape, own.Place) // it was taken
		over[own.Place.Node] |= x.Lacks(own.Shape, own.Place).Devices
		_ = x.Take(own.Shape, own.Place)
	}
	return over
}

// letsGo is when a gathering lets its places go, having held them for some time; Never is not.
func (s gathering) letsGo(p *promise) int64 {
	since := max(s.world.Now, 0)
	if p.was != nil && p.was.Gathers {
		since = p.was.HeldSince
	}
	return cluster.TimeAfter(since, max(s.pool.Policy.Reserve.MaxHold, 1))
}

// placeOffGathered takes places for a unit that nobody who is named has gathered.
func (s gathering) placeOffGathered(r reach, f *cluster.Form, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, asks quota.Amounts, bound func(*promise) bool) (quota.Amounts, bool, error) {
	free := s.pool.Index.Mark()
	_, some := s.promises.profile.KeepFree(r.until, false, s.lookedAt(d, unit), func(holder int32) bool {
		p := s.of(holder)
		return p != nil && p.gathers && bound(p)
	})
	if !some {
		s.pool.Index.Undo(free)
		return s.placeAnywhere(f, d, unit, beside, asks)
	}
	tried := s.tries()
	charge, found, err := s.placeAnywhere(f, d, unit, beside, asks)
	tried()
	s.pool.Index.Undo(free)
	if found && err == nil {
		err = s.takeAll(d, unit)
	}
	return charge, found, err
}

// letGoIdle withdraws the last promise of this solve that keeps more idle than it may, or for longer, as what stood
// there when it was made has made way since; it says whether there was one.
func (s gathering) letGoIdle() bool {
	for _, p := range slices.Backward(s.promises.list) {
		if p.was == nil && !p.gathers && s.overHeld(p) != nil {
			s.withdraw(p, nil)
			return true
		}
	}
	return false
}

// overHeld is why a promise may not be held, in that it would keep places idle for longer than the policy lets it, or
// keep more idle than it lets all of them; nil is that it may.
func (s promising) overHeld(p *promise) *cluster.Verdict {
	r := &s.pool.Policy.Reserve
	if r.MaxHeld == math.MaxInt64 && r.MaxHold == math.MaxInt64 {
		return nil
	}
	if s.idle(p) == 0 {
		return nil
	}
	if cluster.TimeAfter(s.world.Now, r.MaxHold) < p.at {
		v := cluster.NewVerdict(cluster.OverHeld, p.form, s.index)
		v = v.Counting(r.MaxHold/cluster.Second, (p.at-s.world.Now+cluster.Second-1)/cluster.Second)
		return &v
	}
	return s.gathering().overMost(p, s.idle(append(s.gathering().othersThan(p), p)...))
}

// overMost is why so much may not be idle for a promise and all others, in milli of devices; nil is that it may.
func (s gathering) overMost(p *promise, idle int64) *cluster.Verdict {
	most := s.pool.Policy.Reserve.MaxHeld
	if idle <= most {
		return nil
	}
	v := cluster.NewVerdict(cluster.OverHeld, p.form, s.index).Counting(most, idle)
	v.Resource = 0
	return &v
}

// othersThan are all promises but one.
func (s gathering) othersThan(p *promise) []*promise {
	return slices.DeleteFunc(slices.Clone(s.promises.list), func(other *promise) bool { return other == p })
}

// idle is how much of the places of some promises, in milli of devices, nobody uses now, or once what is
// leaving has left: when that is decides nothing. What several have is idle once, for the first that begins.
func (s promising) idle(list ...*promise) (milli int64) {
	slices.SortFunc(list, func(a, b *promise) int { return cmp.Or(cmp.Compare(a.at, b.at), s.world.CompareIDs(a.work, b.work)) })
	m := s.pool.Index.Mark()
	s.gathering().leave()
	for _, p := range list {
		d := s.world.Definition(&s.world.Works[p.work], p.form)
		for task, set := range cluster.TasksOf(p.unit) {
			if one := &p.stays[task]; takeIfFree(s.pool.Index, one.Shape, one.Place) {
				milli += d.Sets[set].Charge.Of(0)
			}
		}
	}
	s.pool.Index.Undo(m)
	return milli
}
