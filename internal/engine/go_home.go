package engine

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What moves does so for nothing where its old place is free in the end, or would have
// done as well for what starts there (M3). That can be so when victims are put back, as by
// then others have been given their places, and have gone again (M9). Then it goes home,
// or they change places; as with every change of a solve the round begins again after
// that, since a place of another owner may be one that others have a right to.

// A homecoming is a look at what moves in a pool.
type homecoming struct {
	solver *Solver
	// fresh is what starts in this solve, by place: the workloads and their seats; nil
	// until asked.
	fresh map[cluster.Standing][][2]int32
}

// goHome lets the tasks of the pool that move stay where they ran if nobody stands there
// any more, or if what starts there can take their new places.
func (h homecoming) goHome() error {
	s, w := h.solver, h.solver.world
	if len(w.Room.Takings) == 0 {
		return nil
	}
	s.inStep = true
	defer func() { s.inStep = false }()
	for _, i := range slices.Clone(w.Booking().TouchedByID()) { // of all others nothing has moved
		if w.FormOf(&w.Works[i], w.Works[i].Current).Pool != s.index || w.Booking().RestartsBehindItself(i, w.Room.Seats[i]) && !h.mayRunOn(i) {
			continue
		}
		for at := range w.Room.Seats[i] {
			one := &w.Room.Seats[i][at]
			if s.pool.Policy.Fitting != gang.AnyNodes && s.pool.Index.Whole(h.shapeOf(i, one)) {
				continue // its nodes were chosen together (P8)
			}
			if one.Commit >= 0 && one.Origin < 0 {
				if _, err := h.toFreeOfGone(i, one); err != nil {
					return err
				}
				continue
			}
			if one.Commit < 0 || !w.Booking().Ran(one) || one.Where() == w.Holdings[one.Origin].Where() {
				continue
			}
			home, err := h.toFree(i, one)
			if err != nil {
				return err
			}
			if home = home || h.toItsOwn(i, one); !home {
				if home, err = h.toSharers(i, one); err != nil {
					return err
				}
			}
			if !home && !one.Waits() && !h.helped(i) {
				h.exchange(i, one)
			}
		}
	}
	return nil
}

// mayRunOn says whether a workload that leaves, and claims places again in which it ran, may run on in all of these
// instead, as what stood there by now has gone.
func (h *homecoming) mayRunOn(i int32) bool {
	w, x := h.solver.world, h.solver.pool.Index
	m := x.Mark()
	defer x.Undo(m)
	seats := w.Room.Seats[i]
	if slices.ContainsFunc(seats, func(one cluster.Seat) bool { return one.Anew }) {
		return false // others would be without their right
	}
	for at := range seats {
		_ = x.Give(h.shapeOf(i, &seats[at]), seats[at].Place(w)) // it has that
	}
	return !slices.ContainsFunc(seats, func(one cluster.Seat) bool {
		place := one.Place(w)
		place.Pipelined = place.Pipelined && w.Booking().StoodAt(i, one.Set, place, cluster.Running) == cluster.None
		return !takeIfFree(x, h.shapeOf(i, &one), place)
	})
}

// shapeOf is the shape of a task as the index of the pool knows it.
func (h *homecoming) shapeOf(i int32, one *cluster.Seat) placement.Shape {
	w := h.solver.world
	k := &w.Works[i]
	return w.Definition(k, k.Current).Sets[one.Set].Placed
}

// toFree takes a task that moves home if its old place is free, and costs no more there of any class (Q8).
func (h *homecoming) toFree(i int32, one *cluster.Seat) (home bool, err error) {
	now, there := h.costs(i, one, one.Where()), h.costs(i, one, h.solver.world.Holdings[one.Origin].Where())
	if slices.ContainsFunc(there, func(a quota.Amount) bool { return a.Value > now.Of(a.Resource) }) {
		return false, nil
	}
	if home, err = h.takeHome(i, one); !home || err != nil || slices.Equal(now, there) {
		return home, err
	}
	w, tree := h.solver.world, h.solver.pool.Tree
	f := w.FormOf(&w.Works[i], w.Works[i].Current)
	return true, cmp.Or(tree.Release(int(f.Queue), now, f.NonPreemptible), tree.Charge(int(f.Queue), there, f.NonPreemptible))
}

// takeHome takes a task that moves home if its old place is free, or one of devices alike on its node: the plan gives
// these their names back, so that it is there for as long as in its old place.
func (h *homecoming) takeHome(i int32, one *cluster.Seat) (home bool, err error) {
	w, x, shape := h.solver.world, h.solver.pool.Index, h.shapeOf(i, one)
	before, from, now := *one, w.Holdings[one.Origin].Where(), one.Place(w)
	if err := h.solver.promising().layAgain(); err != nil {
		return false, err
	}
	if err := x.Give(shape, now); err != nil {
		return false, err
	}
	one.Node, one.Devices, one.Pipelined, one.Behind = from.Node, from.Devices, false, w.Holdings[one.Origin].Behind
	old := one.Place(w)
	if !w.Together(i) || !h.mayTake(i, one, shape, old) {
		alike, found := h.alikePlace(i, one, shape)
		if found = found && now.Node != old.Node && !h.solver.promising().gathering().isGathered(i, alike); found {
			one.Devices = alike.Devices
		}
		if !found || !w.Together(i) || !h.mayTake(i, one, shape, alike) {
			*one = before
			return false, x.Take(shape, now)
		}
		one.Commit = before.Commit
		h.solver.pool.Free()
		h.changed(i)
		return true, x.Take(shape, alike)
	}
	one.Commit = cluster.None
	h.solver.pool.Free()
	h.changed(i)
	return true, x.Take(shape, old)
}

// mayTake says whether a task may have the place again in which it ran, or one like it, as its seat says.
func (h *homecoming) mayTake(i int32, one *cluster.Seat, shape placement.Shape, old placement.Place) bool {
	x, holds := h.solver.pool.Index, h.solver.promising().sparing()
	m := x.Mark()
	defer x.Undo(m)
	return retake(h.solver, shape, old, one) && (len(holds.promises.list) == 0 || holds.sparesFromHome(i, []cluster.Seat{*one}))
}

// retake takes the place of a task again, whose seat has gone or is another by now, if it may
// have it. To run on is no start (M11): on a node that is short of what others are leaving,
// what runs there needs only what is free once they have left, as long as nobody has started
// in its place; which is known where the index has what the table has and no more.
func retake(s *Solver, shape placement.Shape, old placement.Place, one *cluster.Seat) bool {
	x, w := s.pool.Index, s.world
	if x.Fits(shape, old) {
		return x.Take(shape, old) == nil
	}
	node := s.pool.Nodes[old.Node]
	if !w.Booking().Ran(one) || w.Holdings[one.Origin].Where() != (cluster.Standing{Node: node, Devices: old.Devices}) {
		return false
	}
	if !x.Admits(shape, old) { // nothing starts there any more, and it goes on unless people have it go
		lack, h := x.Lacks(shape, old), &w.Holdings[one.Origin]
		goes, _ := s.pool.EvictedAt(w, &w.Works[h.Work], &one.TaskPlace)
		return goes > max(w.Now, 0) && lack.Nothing() && x.Take(shape, old) == nil
	}
	if !s.inStep || !x.Releasing() {
		return false
	}
	later := old
	later.Pipelined = true
	return x.Fits(shape, later) && !startedOn(w, node) && x.Take(shape, old) == nil
}

// startedOn says whether something has been given a place on a node that it has at once.
func startedOn(w *cluster.World, node int32) bool {
	return slices.ContainsFunc(w.Room.Touched, func(i int32) bool { // of all others nothing has a commit
		return slices.ContainsFunc(w.Room.Seats[i], func(s cluster.Seat) bool {
			home := w.Booking().Ran(&s) && s.Where() == w.Holdings[s.Origin].Where()
			return s.Node == node && s.Commit >= 0 && !s.Pipelined && !home
		})
	})
}

// alikePlace is a place on the node of a seat, of devices that nothing tells apart from its
// own: who stands on these may as well stand there.
func (h *homecoming) alikePlace(i int32, one *cluster.Seat, shape placement.Shape) (placement.Place, bool) {
	s := h.solver
	w := s.world
	node := w.Position[one.Node]
	class := cluster.AlikeDevices(&s.pool.Placed[node])
	classes := func(devices uint64) (list []int32) {
		for d := range class {
			if devices&(1<<d) != 0 {
				list = append(list, class[d])
			}
		}
		slices.Sort(list)
		return list
	}
	d := w.Definition(&w.Works[i], w.Works[i].Current)
	place, found := s.pool.Index.PlaceOn(shape, node, d.Place.GPU)
	return place, found && one.Devices != 0 && !place.Pipelined && slices.Equal(classes(place.Devices), classes(one.Devices))
}

// toItsOwn has a task that moves stay where it ran, if what its workload starts anew or moves too has that place: they
// are alike, and change places. The plan would tell it so (M11), and promises go by the end of the task that stays (B4).
func (h *homecoming) toItsOwn(i int32, one *cluster.Seat) (home bool) {
	w := h.solver.world
	atHome := func(s *cluster.Seat) bool { return s.Origin >= 0 && s.Where() == w.Holdings[s.Origin].Where() }
	from := w.Holdings[one.Origin].Where()
	for at := range w.Room.Seats[i] {
		other := &w.Room.Seats[i][at]
		if other.Set != one.Set || other.Where() != from || other.Origin >= 0 && (!w.Booking().Ran(other) || atHome(other)) {
			continue
		}
		before, there := *one, *other
		one.Exchange(other)
		if !w.Together(i) {
			*one, *other = before, there
			continue
		}
		one.Commit, one.Behind, other.Behind = cluster.None, w.Holdings[one.Origin].Behind, one.Behind // each as its place is
		if atHome(other) {
			other.Commit, other.Behind = cluster.None, w.Holdings[other.Origin].Behind
		}
		h.changed(i)
		return true
	}
	return false
}

// toFreeOfGone has a task that starts stay at the free place of one of its pod set that has
// gone, and one that claims a place again be what claimed it to go on there (B1), from then on: they are alike.
func (h *homecoming) toFreeOfGone(i int32, one *cluster.Seat) (home bool, err error) {
	w := h.solver.world
	k := &w.Works[i]
	if w.Room.Last[i] == 0 || k.Live < 0 || w.Live[k.Live].Form != k.Current {
		return false, nil
	}
	l := &w.Live[k.Live]
	for at := l.From; at < l.To; at++ {
		gone := &w.Holdings[at]
		named := slices.IndexFunc(w.Room.Seats[i], func(s cluster.Seat) bool { return s.Set == gone.Set && s.Index == gone.Index })
		claims := gone.Phase == cluster.Claimed && gone.Begun && gone.Where() == one.Where()
		if gone.Phase != cluster.Running && !claims || gone.Fresh || gone.Set != one.Set || named >= 0 && w.Room.Seats[i][named].Origin >= 0 {
			continue
		}
		before := *one
		if named >= 0 { // it starts as well, and may have any name
			w.Room.Seats[i][named].Index = before.Index
		}
		one.Origin, one.Index, one.Admitted = at, gone.Index, gone.Since
		if claims {
			h.changed(i)
			return true, nil
		}
		if home, err = h.toFree(i, one); home || err != nil {
			return home, err
		}
		*one = before
		if named >= 0 {
			w.Room.Seats[i][named].Index = gone.Index
		}
	}
	return false, nil
}

// toSharers takes a task that moves within its node, and has a part of a device, to the device of most of those with
// whom it shared its own, if that is like its own: the plan gives alike devices their names back, and so it has stayed.
func (h *homecoming) toSharers(i int32, one *cluster.Seat) (home bool, err error) {
	s, w, x, shape := h.solver, h.solver.world, h.solver.pool.Index, h.shapeOf(i, one)
	now, from := one.Place(w), w.Holdings[one.Origin].Where()
	if one.Node != from.Node || bits.OnesCount64(one.Devices) != 1 || bits.OnesCount64(from.Devices) != 1 || x.Whole(shape) {
		return false, nil
	}
	own, ran := bits.TrailingZeros64(one.Devices), bits.TrailingZeros64(from.Devices)
	sharers, alike, to := h.sharersOf(one), cluster.AlikeDevices(&s.pool.Placed[now.Node]), own
	for d := range alike {
		if sharers[d] > sharers[to] && alike[d] == alike[ran] {
			to = d
		}
	}
	if to == own || !h.costsTheSame(i, one, cluster.Standing{Node: one.Node, Devices: 1 << to}) {
		return false, nil
	}
	if err := x.Give(shape, now); err != nil {
		return false, err
	}
	one.Devices = 1 << to
	place := one.Place(w)
	if !x.Fits(shape, place) || !w.Together(i) || s.promising().sparing().isPromised(i, endsForSure(one, w), place.Node, place.Devices) {
		one.Devices = 1 << own
		return false, x.Take(shape, now)
	}
	s.pool.Free()
	h.changed(i)
	return true, x.Take(shape, place)
}

// sharersOf counts, by the device of its node on which they are now, the others who ran where a task ran.
func (h *homecoming) sharersOf(one *cluster.Seat) (sharers [64]int) {
	w := h.solver.world
	for _, j := range w.Booking().TouchedByID() { // of all others nothing has moved
		for at := range w.Room.Seats[j] {
			if other := &w.Room.Seats[j][at]; other != one && other.Node == one.Node && bits.OnesCount64(other.Devices) == 1 &&
				w.Booking().Ran(other) && w.Holdings[other.Origin].Where() == w.Holdings[one.Origin].Where() {
				sharers[bits.TrailingZeros64(other.Devices)]++
			}
		}
	}
	return sharers
}

// helped says whether somebody went for the workload: then its new place is what that
// was good for.
func (h *homecoming) helped(i int32) bool {
	takings := h.solver.world.Room.Takings
	for at := range takings {
		if takings[at].Preemptor == i {
			return true
		}
	}
	return false
}

// starts lists what starts in this solve, in the order of the workloads.
func (h *homecoming) starts() map[cluster.Standing][][2]int32 {
	if h.fresh != nil {
		return h.fresh
	}
	w := h.solver.world
	h.fresh = make(map[cluster.Standing][][2]int32)
	for i, seats := range w.Room.Seats {
		if w.FormOf(&w.Works[i], w.Works[i].Current).Pool != h.solver.index {
			continue
		}
		for at := range seats {
			if one := &seats[at]; one.Origin < 0 && !one.Waits() {
				h.fresh[one.Where()] = append(h.fresh[one.Where()], [2]int32{int32(i), int32(at)})
			}
		}
	}
	return h.fresh
}

// exchange looks for a start of the same shape at the old place of a task that moves, and
// has the two change places.
func (h *homecoming) exchange(i int32, one *cluster.Seat) {
	w := h.solver.world
	from, to := w.Holdings[one.Origin].Where(), one.Where()
	for _, at := range h.starts()[from] {
		j, other := at[0], &w.Room.Seats[at[0]][at[1]]
		if j == i || other.Origin >= 0 || other.AtOnce || other.Where() != from || h.shapeOf(i, one) != h.shapeOf(j, other) ||
			!h.costsTheSame(i, one, from) || !h.costsTheSame(j, other, to) || h.endUnlike(i, one, j, other) {
			continue
		}
		other.Node, other.Devices, one.Node, one.Devices = to.Node, to.Devices, from.Node, from.Devices
		if !w.Together(i) || !w.Together(j) {
			other.Node, other.Devices, one.Node, one.Devices = from.Node, from.Devices, to.Node, to.Devices
			continue
		}
		one.Commit, one.Behind, other.Behind = cluster.None, w.Holdings[one.Origin].Behind, one.Behind // each as its place is
		h.changed(j)
		h.changed(i)
		return
	}
}

// costsTheSame says whether a task would be charged at another place what it is at its own: the
// quotas and limits of classes, by which it was given that, are as they were then (Q8).
func (h *homecoming) costsTheSame(i int32, one *cluster.Seat, there cluster.Standing) bool {
	return slices.Equal(h.costs(i, one, one.Where()), h.costs(i, one, there))
}

// costs is what a task is charged at a place; nothing where that is the same at all.
func (h *homecoming) costs(i int32, one *cluster.Seat, at cluster.Standing) quota.Amounts {
	p, w := h.solver.pool, h.solver.world
	if !p.Classed() {
		return nil
	}
	k := &w.Works[i]
	return p.ChargeOf(&w.Definition(k, k.Current).Sets[one.Set], &w.Nodes[at.Node], at.Devices)
}

// endUnlike says whether two tasks end at unlike times, and something is promised on the node of one of
// them that begins before that: it may stand only while the one is there, and not the other (B5).
func (h *homecoming) endUnlike(i int32, one *cluster.Seat, j int32, other *cluster.Seat) bool {
	w, holds := h.solver.world, h.solver.promising().sparing()
	ends := endings{World: w}
	a, b := ends.endsIn(i, one), ends.endsIn(j, other)
	c, d := endsForSure(one, w), endsForSure(other, w)
	last, anybody := max(a, b, c, d), int32(cluster.None)
	return (a != b || c != d) && (holds.isPromised(anybody, last, w.Position[one.Node], 0) || holds.isPromised(anybody, last, w.Position[other.Node], 0))
}

// changed tells the pool that tasks of a workload stand elsewhere.
func (h *homecoming) changed(i int32) {
	reenter(h.solver.world, i)
	h.fresh = nil
	h.solver.pool.Changes++
	h.solver.decision.Changed = true
}

// runsOnAtHome has tasks of an evicted workload that would claim the places in which they ran
// run on there, as nothing leaves these. Where one cannot, beside what has been given places behind it since,
// all claim their places behind themselves (S5).
func runsOnAtHome(s *Solver, k *cluster.Work, d *cluster.Definition, unit gang.Unit) error {
	w, x := s.world, s.pool.Index
	if !s.claims || !wasEvicted(k, w) || k.Current != w.Live[k.Live].Form {
		return nil
	}
	l := &w.Live[k.Live]
	homes := slices.Clone(w.Holdings[l.From:l.To]) // each of one task
	claims, m := slices.Clone(s.places), x.Mark()
	for task, set := range cluster.TasksOf(unit) {
		place := &s.places[task]
		if !place.Pipelined {
			continue
		}
		home := slices.IndexFunc(homes, func(h cluster.Holding) bool {
			return h.Phase == cluster.Running && !h.Fresh && h.Set == int32(set) && w.Position[h.Node] == place.Node && h.Devices == place.Devices
		})
		if home < 0 {
			continue
		}
		homes = slices.Delete(homes, home, home+1)
		now, shape := *place, d.Sets[set].Placed
		if now.Pipelined = false; x.Give(shape, *place) != nil {
			return errUnsound
		}
		if !takeIfFree(x, shape, now) {
			x.Undo(m)
			s.places = append(s.places[:0], claims...)
			return nil
		}
		*place = now
	}
	x.Commit(m)
	return nil
}
