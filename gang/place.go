package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// MaxOrders is how many orders of a unit's sets [Placer.Place] tries at most. Each
// order but the first moves a shape that failed to the front, and few units have as
// many shapes of which one hinders another; a unit that fails in eight costs eight
// times what it would in one.
const MaxOrders = 8

// Strategies are the placement strategies of a workload, for its tasks with
// devices and for those without (P3). The zero Strategies are the default's.
type Strategies struct{ GPU, CPUOnly placement.Strategy }

// of is the strategy for the tasks of s.
func (st Strategies) of(s *Set) placement.Strategy {
	if s.Devices > 0 {
		return st.GPU
	}
	return st.CPUOnly
}

// A Placer finds places for units. The zero Placer is ready; its buffers are
// kept from one unit to the next. It belongs to one goroutine.
type Placer struct {
	// Topology is what constraints speak of, over the nodes of the index. It must be
	// there for a gang with constraints: without it none can be kept.
	Topology *placement.Topology
	// LeastFreeFirst parts tasks among domains from the one with the least room
	// on, instead of using the fewest (T5).
	LeastFreeFirst bool
	// Fitting is how whole devices of several tasks use nodes (P8).
	Fitting Fitting
	// Brief has searches under constraints give up much sooner: for a caller that
	// makes many of them to find out one thing.
	Brief bool
	// Effort bounds what searches under constraints cost together, in places taken in
	// vain; nil does not.
	Effort *placement.Effort
	// UsedNodes keeps tasks with devices off nodes whose devices are all idle (P8);
	// without constraints all of a set go to one node then.
	UsedNodes bool

	// order are the sets of which the unit has tasks, in the order in which they are
	// placed; tried are the earlier orders, one after the other, each as long as
	// order; next is the array of the order that follows.
	order, next, tried []int32
	// begin is, by set, where its places begin: the tasks of the sets before it.
	begin []int32
	// scratch is what a search under constraints uses again. Each is good until the
	// next call of the method that fills it.
	scratch struct{ parts, nodes []part }
}

// Place finds a place for every task of the unit or for none (G1, G4). On
// success all of them are taken in x and returned, by set in listed order, then
// by task; on failure x is as it was and no place is returned. The places are
// written over dst, whose array is used as far as it reaches.
//
// The sets are placed hardest first: more devices per task, then larger
// amounts (of the first resource in which two sets differ), then as listed,
// sets of one shape together. If that fails, the shape that found no place goes
// to the front and all is tried again, at most [MaxOrders] times in all and
// never in the same order twice. A shape that fails at the front, with nothing
// of the unit before it, ends the search: no order helps it. So for a unit of
// one shape the single order is the whole search, and an exact one: how many tasks
// of a shape a node takes does not depend on the others. There are two exceptions.
// Where each task asks fractions of several devices, the strategy's choice of devices
// may leave room for fewer tasks than another choice would. So it may where islands
// overlap, for which the search is made once more, see [Placer.PlaceWithSiblings].
//
// The verdict is OK, TooFew or NoPlace. O(n) searches of the index for n tasks
// and one order.
func (p *Placer) Place(x *placement.Index, g *Gang, u Unit, st Strategies, dst []placement.Place) ([]placement.Place, Verdict) {
	return p.PlaceWithSiblings(x, g, u, Siblings{}, st, dst)
}

// PlaceWithSiblings is [Placer.Place] for a gang of which something is held already. Its
// constraints hold for what is held and what is added together: what is added joins
// what is held, in the domains in which that is (T2, T3, T6); where that is against
// a constraint itself, nothing more is placed inside it. Without constraints it does
// not matter what is held.
//
// Constraints are obeyed from the widest to the narrowest. What has a preferred level
// goes into the narrowest domain, from that level up to the required one, that takes
// all of it; of several the one in which it is parted best among domains of the preferred
// level, in the fewest or most evenly as [Mode] says, and of these the fullest. There it
// uses few domains of the narrower levels too. For tasks of one shape counting
// finds a place if there is one. Sets of several shapes are placed for real, the
// hardest first, in several orders and domains, and, if all of these fail and they
// are few, in every way; a search that ends before that says so (Cut).
//
// Under [WholeNodes] and [MixedWholeNodes] sets of whole devices go to nodes by P8
// in a gang that has no constraint of its own.
//
// Where all of a unit finds no place as tasks have the devices that T4 prefers, and islands of the kind that they
// require overlap, one with the next, it is tried once more with those that leave room for the most others
// ([placement.KeepingRoom]). If these find none either, the verdict is that of the first.
func (p *Placer) PlaceWithSiblings(x *placement.Index, g *Gang, u Unit, siblings Siblings, st Strategies, dst []placement.Place) ([]placement.Place, Verdict) {
	places, v := p.place(x, g, u, siblings, st, dst)
	if v.OK || !p.mayKeepRoom(x, g, u) {
		return places, v
	}
	again := v
	placement.KeepingRoom(x, func() { places, again = p.place(x, g, u, siblings, st, places) })
	if again.OK {
		v = again
	}
	return places, v
}

// mayKeepRoom is a sound bound: whether a unit that found no place may find some where its tasks leave room for the
// most others.
func (p *Placer) mayKeepRoom(x *placement.Index, g *Gang, u Unit) bool {
	crossed := false
	for _, s := range p.order {
		shape, need := g.sets[s].Shape, g.added(u, int(s))
		crossed = crossed || need > 1 && placement.Crossed(x, shape)
		if crossed && !placement.HasRoom(x, []placement.Need{{Shape: shape, Tasks: int64(need)}}) {
			return false
		}
	}
	return crossed
}

// place is PlaceWithSiblings with the devices that are chosen as the index is told.
func (p *Placer) place(x *placement.Index, g *Gang, u Unit, siblings Siblings, st Strategies, dst []placement.Place) ([]placement.Place, Verdict) {
	needed := p.begins(g, u)
	if refusal := p.bound(x, g, u); !refusal.OK {
		refusal.Needed = needed
		return dst[:0], refusal
	}
	dst = slices.Grow(dst[:0], int(needed))[:needed]
	if g.bounds != nil {
		v := p.within(x, g, u, siblings, st, dst)
		v.Needed = needed
		if !v.OK {
			return dst[:0], v
		}
		return dst, v
	}
	best := Verdict{Placed: -1}
	for orders := int32(1); ; orders++ {
		v := p.try(x, g, u, st, dst)
		v.Needed, v.Orders = needed, orders
		if v.OK {
			return dst, v
		}
		failed := v.Set
		if v.Placed > best.Placed {
			best = v
		}
		best.Orders = orders
		if orders == MaxOrders || !p.reorder(g, failed) {
			return dst[:0], best
		}
	}
}

// begins sets out the order of the unit's sets and where their places begin,
// and counts the unit's tasks.
func (p *Placer) begins(g *Gang, u Unit) int32 {
	p.begin, p.order, p.tried = p.begin[:0], p.order[:0], p.tried[:0]
	needed := int32(0)
	for s := range g.sets {
		p.begin = append(p.begin, needed)
		needed += g.added(u, s)
	}
	for _, s := range g.hardest {
		if g.added(u, int(s)) > 0 {
			p.order = append(p.order, s)
		}
	}
	return needed
}

// bound refuses a unit of which a shape has more tasks than the nodes could
// take if nothing ran on them.
func (p *Placer) bound(x *placement.Index, g *Gang, u Unit) Verdict {
	for i := 0; i < len(p.order); {
		first, shape := p.order[i], g.sets[p.order[i]].Shape
		need := int32(0)
		for ; i < len(p.order) && g.sets[p.order[i]].Shape == shape; i++ {
			need += g.added(u, int(p.order[i]))
		}
		if most := x.Candidates(shape); most < int(need) {
			return Verdict{Kind: TooFew, Set: first, Have: int32(most), Need: need}
		}
	}
	return Verdict{OK: true, Set: -1}
}

// try places the sets in the order at hand, all or nothing.
func (p *Placer) try(x *placement.Index, g *Gang, u Unit, st Strategies, dst []placement.Place) Verdict {
	mark := x.Mark()
	placed := int32(0)
	for _, s := range p.order {
		set, need := &g.sets[s], g.added(u, int(s))
		strategy := st.of(set)
		if p.fits(x, set, need) {
			n := p.fit(x, set, need, strategy, dst[p.begin[s]:])
			placed += n
			if n < need {
				x.Undo(mark)
				return Verdict{Kind: NoPlace, Set: s, Have: n, Need: need, Placed: placed}
			}
			continue
		}
		for i := range need {
			place, ok := x.Find(set.Shape, strategy)
			if !ok || x.Take(set.Shape, place) != nil {
				x.Undo(mark)
				return Verdict{Kind: NoPlace, Set: s, Have: i, Need: need, Placed: placed}
			}
			dst[p.begin[s]+i] = place
			placed++
		}
	}
	x.Commit(mark)
	return Verdict{OK: true, Set: -1, Placed: placed}
}

// reorder moves the sets of the failed one's shape to the front. It returns
// false if they stand there already or if the new order was tried before.
func (p *Placer) reorder(g *Gang, failed int32) bool {
	shape := g.sets[failed].Shape
	if g.sets[p.order[0]].Shape == shape {
		return false
	}
	p.tried = append(p.tried, p.order...)
	p.next = p.next[:0]
	for _, front := range [...]bool{true, false} {
		for _, s := range p.order {
			if (g.sets[s].Shape == shape) == front {
				p.next = append(p.next, s)
			}
		}
	}
	p.order, p.next = p.next, p.order
	for earlier := range slices.Chunk(p.tried, len(p.order)) {
		if slices.Equal(earlier, p.order) {
			return false
		}
	}
	return true
}

// hardestFirst is the order in which sets are placed, see [Placer.Place].
func hardestFirst(sets []Set) []int32 {
	order := make([]int32, len(sets))
	// first is the first set of the same shape.
	first := make([]int32, len(sets))
	seen := make(map[placement.Shape]int32)
	for i := range sets {
		order[i], first[i] = int32(i), int32(i)
		if s, ok := seen[sets[i].Shape]; ok {
			first[i] = s
		} else {
			seen[sets[i].Shape] = int32(i)
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(sets[b].Devices, sets[a].Devices),
			largerFirst(sets[a].Amounts, sets[b].Amounts),
			cmp.Compare(first[a], first[b]),
			cmp.Compare(a, b))
	})
	return order
}

// largerFirst compares amounts by the first resource in which they differ: what
// has more of it, or has it at all, comes first.
func largerFirst(a, b quota.Amounts) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if c := cmp.Or(cmp.Compare(a[i].Resource, b[i].Resource),
			cmp.Compare(b[i].Value, a[i].Value)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(b), len(a))
}
