package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
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
	fresh map[standing][][2]int32
}

// goHome lets the tasks of the pool that move stay where they ran if nobody stands there
// any more, or if what starts there can take their new places.
func (h homecoming) goHome() error {
	s, w := h.solver, h.solver.world
	if len(w.Room.takings) == 0 || s.pool.Policy.Fitting != gang.AnyNodes {
		return nil
	}
	s.inStep = true
	defer func() { s.inStep = false }()
	for _, i := range slices.Clone(w.booking().turned()) { // of all others nothing has moved
		if w.FormOf(&w.Works[i], w.Works[i].Current).Pool != s.index {
			continue
		}
		for at := range w.Room.Seats[i] {
			one := &w.Room.Seats[i][at]
			if one.commit >= 0 && one.origin < 0 {
				if _, err := h.toFreeOfGone(i, one); err != nil {
					return err
				}
				continue
			}
			if one.commit < 0 || !w.booking().ran(one) || one.where() == w.Holdings[one.origin].where() {
				continue
			}
			home, err := h.toFree(i, one)
			if !home && err == nil {
				home, err = h.toFreeOfAnother(i, one)
			}
			if err != nil {
				return err
			}
			if !home && !one.waits() && !h.helped(i) {
				h.exchange(i, one)
			}
		}
	}
	return nil
}

// shapeOf is the shape of a task as the index of the pool knows it.
func (h *homecoming) shapeOf(i int32, one *Seat) placement.Shape {
	w := h.solver.world
	k := &w.Works[i]
	return w.Definition(k, k.Current).Sets[one.Set].Placed
}

// toFree takes a task that moves home if its old place is free.
func (h *homecoming) toFree(i int32, one *Seat) (home bool, err error) {
	w, x, shape := h.solver.world, h.solver.pool.Index, h.shapeOf(i, one)
	before, from, now := *one, w.Holdings[one.origin].where(), one.place(w)
	if !h.costsTheSame(i, one, from) {
		return false, nil
	}
	holds := h.solver.promising().sparing()
	if err := holds.layAgain(); err != nil {
		return false, err
	}
	if err := x.Give(shape, now); err != nil {
		return false, err
	}
	one.Node, one.Devices, one.pipelined, one.behind = from.node, from.devices, false, w.Holdings[one.origin].Behind
	old := one.place(w)
	mayStand := func(place placement.Place) bool {
		until := one.endsForSure(w)
		if place.Node == now.Node { // of which it takes nothing more
			return !holds.isPromised(i, until, place.Node, place.Devices)
		}
		return holds.mayStand(i, until, []placement.Stay{{Shape: shape, Place: place}})
	}
	if !w.together(i) || !h.mayTake(i, one, shape, old) {
		alike, found := h.alikePlace(i, one, shape)
		found = found && mayStand(alike)
		if found = found && now.Node != old.Node; found {
			one.Devices = alike.Devices
		}
		if !found || !w.together(i) {
			*one = before
			return false, x.Take(shape, now)
		}
		one.commit = before.commit // the plan gives alike devices their names back
		h.solver.pool.freed++
		h.changed(i)
		return true, x.Take(shape, alike)
	}
	one.commit = None
	h.solver.pool.freed++
	h.changed(i)
	return true, x.Take(shape, old)
}

// mayTake says whether a task may have the place again in which it ran, as its seat says.
func (h *homecoming) mayTake(i int32, one *Seat, shape placement.Shape, old placement.Place) bool {
	x, holds := h.solver.pool.Index, h.solver.promising().sparing()
	m := x.Mark()
	defer x.Undo(m)
	return retake(h.solver, shape, old, one) && (len(holds.promises.list) == 0 || holds.sparesFromHome(i, []Seat{*one}))
}

// retake takes the place of a task again, whose seat has gone or is another by now, if it may
// have it. To run on is no start (M11): on a node that is short of what others are leaving,
// what runs there needs only what is free once they have left, as long as nobody has started
// in its place; which is known where the index has what the table has and no more.
func retake(s *Solver, shape placement.Shape, old placement.Place, one *Seat) bool {
	x, w := s.pool.Index, s.world
	if x.Fits(shape, old) {
		return x.Take(shape, old) == nil
	}
	node := s.pool.Nodes[old.Node]
	if !w.booking().ran(one) || w.Holdings[one.origin].where() != (standing{node, old.Devices}) {
		return false
	}
	if !x.Admits(shape, old) { // nothing starts there any more, and it goes on unless people have it go
		lack, h := x.Lacks(shape, old), &w.Holdings[one.origin]
		goes, _ := s.pool.evictedAt(w, &w.Works[h.Work], &one.TaskPlace)
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
func startedOn(w *World, node int32) bool {
	return slices.ContainsFunc(w.Room.touched, func(i int32) bool { // of all others nothing has a commit
		return slices.ContainsFunc(w.Room.Seats[i], func(s Seat) bool {
			home := w.booking().ran(&s) && s.where() == w.Holdings[s.origin].where()
			return s.Node == node && s.commit >= 0 && !s.pipelined && !home
		})
	})
}

// alikePlace is a place on the node of a seat, of devices that nothing tells apart from its
// own: who stands on these may as well stand there.
func (h *homecoming) alikePlace(i int32, one *Seat, shape placement.Shape) (placement.Place, bool) {
	s := h.solver
	w := s.world
	node := w.Position[one.Node]
	class := alikeDevices(&s.pool.Placed[node])
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

// toFreeOfAnother takes a task that moves to the free old place of another of its pod set
// that moves, which it is from then on: they are alike.
func (h *homecoming) toFreeOfAnother(i int32, one *Seat) (home bool, err error) {
	w := h.solver.world
	onItsNode := func(s *Seat) bool { return s.Node == w.Holdings[s.origin].Node }
	if onItsNode(one) {
		return false, nil
	}
	for at := range w.Room.Seats[i] {
		other := &w.Room.Seats[i][at]
		// Whoever is on its own node keeps it: so each exchange brings one more home.
		if other == one || other.Set != one.Set || other.commit < 0 || !w.booking().ran(other) || onItsNode(other) {
			continue
		}
		exchangeNames(one, other)
		if home, err = h.toFree(i, one); home || err != nil {
			return home, err
		}
		exchangeNames(one, other)
	}
	return false, nil
}

// toFreeOfGone has a task that starts stay at the free place of one of its pod set that has
// gone, and is that from then on: they are alike.
func (h *homecoming) toFreeOfGone(i int32, one *Seat) (home bool, err error) {
	w := h.solver.world
	k := &w.Works[i]
	if w.Room.last[i] == 0 || k.Live < 0 || w.live[k.Live].form != k.Current {
		return false, nil
	}
	l := &w.live[k.Live]
	for at := l.from; at < l.to; at++ {
		gone := &w.Holdings[at]
		if gone.Phase != Running || gone.fresh || gone.Set != one.Set || slices.ContainsFunc(w.Room.Seats[i], func(s Seat) bool {
			return s.origin == at || s.Set == gone.Set && s.Index == gone.Index
		}) {
			continue
		}
		before := *one
		one.origin, one.Index, one.Admitted = at, gone.Index, gone.Since
		if home, err = h.toFree(i, one); home || err != nil {
			return home, err
		}
		*one = before
	}
	return false, nil
}

// exchangeNames has two seats of a pod set continue what the other did.
func exchangeNames(a, b *Seat) {
	a.origin, b.origin = b.origin, a.origin
	a.Index, b.Index = b.Index, a.Index
	a.Admitted, b.Admitted = b.Admitted, a.Admitted
}

// helped says whether somebody went for the workload: then its new place is what that
// was good for.
func (h *homecoming) helped(i int32) bool {
	takings := h.solver.world.Room.takings
	for at := range takings {
		if takings[at].beneficiary == i {
			return true
		}
	}
	return false
}

// starts lists what starts in this solve, in the order of the workloads.
func (h *homecoming) starts() map[standing][][2]int32 {
	if h.fresh != nil {
		return h.fresh
	}
	w := h.solver.world
	h.fresh = make(map[standing][][2]int32)
	for i, seats := range w.Room.Seats {
		if w.FormOf(&w.Works[i], w.Works[i].Current).Pool != h.solver.index {
			continue
		}
		for at := range seats {
			if one := &seats[at]; one.origin < 0 && !one.waits() {
				h.fresh[one.where()] = append(h.fresh[one.where()], [2]int32{int32(i), int32(at)})
			}
		}
	}
	return h.fresh
}

// exchange looks for a start of the same shape at the old place of a task that moves, and
// has the two change places.
func (h *homecoming) exchange(i int32, one *Seat) {
	w := h.solver.world
	from, to := w.Holdings[one.origin].where(), one.where()
	for _, at := range h.starts()[from] {
		j, other := at[0], &w.Room.Seats[at[0]][at[1]]
		if j == i || other.origin >= 0 || other.atOnce || other.where() != from || h.shapeOf(i, one) != h.shapeOf(j, other) ||
			!h.costsTheSame(i, one, from) || !h.costsTheSame(j, other, to) || h.endUnlike(i, one, j, other) {
			continue
		}
		other.Node, other.Devices, one.Node, one.Devices = to.node, to.devices, from.node, from.devices
		if !w.together(i) || !w.together(j) {
			other.Node, other.Devices, one.Node, one.Devices = from.node, from.devices, to.node, to.devices
			continue
		}
		one.commit, one.behind, other.behind = None, w.Holdings[one.origin].Behind, one.behind // each as its place is
		h.changed(j)
		h.changed(i)
		return
	}
}

// costsTheSame says whether a task would be charged at another place what it is at its own: the
// quotas and limits of classes, by which it was given that, are as they were then (Q8).
func (h *homecoming) costsTheSame(i int32, one *Seat, there standing) bool {
	p, w := h.solver.pool, h.solver.world
	if !p.Classed() {
		return true
	}
	k := &w.Works[i]
	shape := &w.Definition(k, k.Current).Sets[one.Set]
	return slices.Equal(p.chargeOf(shape, &w.Nodes[one.Node], one.Devices), p.chargeOf(shape, &w.Nodes[there.node], there.devices))
}

// endUnlike says whether two tasks end at unlike times, and something is promised on the node of one of
// them that begins before that: it may stand only while the one is there, and not the other (B5).
func (h *homecoming) endUnlike(i int32, one *Seat, j int32, other *Seat) bool {
	w, holds := h.solver.world, h.solver.promising().sparing()
	a, b := one.endsIn(w, &w.Works[i]), other.endsIn(w, &w.Works[j])
	c, d := one.endsForSure(w), other.endsForSure(w)
	last, anybody := max(a, b, c, d), int32(None)
	return (a != b || c != d) && (holds.isPromised(anybody, last, w.Position[one.Node], 0) || holds.isPromised(anybody, last, w.Position[other.Node], 0))
}

// changed tells the pool that tasks of a workload stand elsewhere.
func (h *homecoming) changed(i int32) {
	h.solver.world.reenter(i)
	h.fresh = nil
	h.solver.pool.changes++
	h.solver.decision.changed = true
}

// runsOnAtHome has tasks of an evicted workload that would claim the places in which they ran
// run on there, as nothing leaves these; it reports whether they can beside what has been
// given places behind them since.
func runsOnAtHome(s *Solver, k *Work, d *Definition, unit gang.Unit) (bool, error) {
	w, x := s.world, s.pool.Index
	if !s.claims || !k.evicted(w) || k.Current != w.live[k.Live].form {
		return true, nil
	}
	l := &w.live[k.Live]
	next := 0
	for set, n := range unit.Add {
		for range n {
			place := &s.places[next]
			next++
			if !place.Pipelined || !slices.ContainsFunc(w.Holdings[l.from:l.to], func(h Holding) bool {
				return h.Phase == Running && !h.fresh && h.Set == int32(set) && w.Position[h.Node] == place.Node && h.Devices == place.Devices
			}) {
				continue
			}
			now, shape := *place, d.Sets[set].Placed
			if now.Pipelined = false; x.Give(shape, *place) != nil {
				return false, errUnsound
			}
			if !x.Fits(shape, now) {
				return false, x.Take(shape, *place)
			}
			if *place = now; x.Take(shape, now) != nil {
				return false, errUnsound
			}
		}
	}
	return true, nil
}
