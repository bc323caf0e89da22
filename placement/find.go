package placement

import (
	"math/bits"
	"slices"
)

// A finder is the searches of one shape and strategy, tried in turn, or the contest
// where there are domains, or what a strategy has that scores.
type finder struct {
	searches []search
	contest  *contest // where domains decide between nodes that are alike
	board    *scoreboard
	lottery  *lottery
}

// Find returns the place that the strategy prefers for one task of the shape,
// and whether there is any; P3 to P5 and the package comment give the order of
// choice. [Default] is BinPack, and so is a strategy that there is not. An
// unknown shape has no place. The place is not taken yet.
//
// Of [Index.AfterRelease] it is the place that the strategy prefers once all that is
// releasing has left; it is [Place.Pipelined] where it is not free now.
//
// The first call for a shape and strategy takes time and memory linear in the
// nodes; later ones do not allocate. A node that was tested and did not fit is
// tested again only after a Give or Undo there.
func (x *Index) Find(s Shape, st Strategy) (Place, bool) {
	p, ok := x.find(s, st)
	p.Pipelined = ok && x.now != nil && !x.now.Fits(s, p)
	return p, ok
}

func (x *Index) find(s Shape, st Strategy) (Place, bool) {
	sh := x.shape(s)
	if sh == nil || !sh.ever {
		return Place{Node: -1}, false
	}
	if sh.preferred >= 0 {
		if p, ok := x.find(sh.preferred, st); ok {
			return p, true
		}
	}
	if st == Default || !st.Valid() {
		st = BinPack
	}
	f := sh.finders[st]
	if f == nil {
		f = x.newFinder(sh, st)
		sh.finders[st] = f
	}
	switch {
	case f.lottery != nil:
		return f.lottery.place(x)
	case f.board != nil:
		return x.bestScored(f.board)
	case f.contest != nil:
		v := f.contest.best(x)
		if v < 0 {
			return Place{Node: -1}, false
		}
		return Place{Node: v, Devices: x.choose(sh, v, st)}, true
	}
	for i := range f.searches {
		if v := x.best(&f.searches[i]); v >= 0 {
			return Place{Node: v, Devices: x.choose(sh, v, st)}, true
		}
	}
	return Place{Node: -1}, false
}

// bestScored returns the place of the best score.
func (x *Index) bestScored(b *scoreboard) (Place, bool) {
	v := b.best(x)
	switch {
	case v < 0:
		return Place{Node: -1}, false
	case b.strategy == FragmentationGradient:
		return Place{Node: v, Devices: x.scorer.fragments.choose(x, b, v)}, true
	case b.strategy == ShadowPrice:
		return Place{Node: v, Devices: x.scorer.shadows.choose(x, b, v)}, true
	}
	return Place{Node: v, Devices: x.choose(b.shape, v, BinPack)}, true
}

// newFinder builds what Find needs for a shape and strategy.
func (x *Index) newFinder(sh *shape, st Strategy) *finder {
	everything := [2]uint64{^uint64(0), ^uint64(0)}
	switch {
	case st == Random:
		return &finder{lottery: x.newLottery(sh)}
	case st.Scores():
		return &finder{board: x.newScoreboard(sh, st)}
	case x.domains != nil && st != First && (sh.count > 0 || len(sh.amounts) > 0):
		return &finder{contest: newContest(x, sh, st)}
	case sh.count == 0 && (st == First || len(sh.amounts) == 0):
		return &finder{searches: []search{x.newSearch(sh, x.plainRanking(), everything)}}
	case sh.count == 0:
		q := x.newSearch(sh, x.loadRanking(sh.amounts[0].Resource), everything)
		q.descending = st == BinPack
		return &finder{searches: []search{q}}
	case st == First:
		return &finder{searches: []search{x.newSearch(sh, x.plainRanking(), everything)}}
	case st == Spread:
		return &finder{searches: []search{x.newSearch(sh, x.spreadRanking(), everything)}}
	case sh.whole:
		// A node with n whole devices is on level n, an idle one on n-1.
		within := [2]uint64{^lowest(sh.count), ^lowest(sh.count - 1)}
		return &finder{searches: []search{x.newSearch(sh, x.packRanking(), within)}}
	}
	shared := x.newSearch(sh, x.sharedRanking(), everything)
	shared.sharedOnly, shared.revived, shared.revival = true, &x.opened, x.opened.written
	// What shared devices cannot take opens a whole one.
	return &finder{searches: []search{shared, x.newSearch(sh, x.packRanking(), [2]uint64{^lowest(1), ^lowest(sh.count - 1)})}}
}

func (x *Index) newSearch(sh *shape, r *ranking, within [2]uint64) search {
	q := search{
		shape: sh, ranking: r, within: within, alive: sh.allowed.clone(),
		revived: &x.grown, revival: x.grown.written, cursors: make([]cursor, len(r.levels)),
	}
	for i := range q.cursors {
		q.cursors[i].arrivals = r.levels[i].arrivals.written
	}
	return q
}

func (x *Index) packRanking() *ranking {
	if x.rankings.pack == nil {
		used := lowest(x.mostDevice)
		x.rankings.pack = x.newRanking([2]uint64{used, used}, func(v int32) uint8 { return x.nodes[v].packLevel() })
	}
	return x.rankings.pack
}

func (x *Index) sharedRanking() *ranking {
	if x.rankings.shared == nil {
		x.rankings.shared = x.newRanking([2]uint64{lowest(x.mostDevice), 0}, func(v int32) uint8 { return x.nodes[v].sharedLevel() })
	}
	return x.rankings.shared
}

func (x *Index) spreadRanking() *ranking {
	if x.rankings.spread == nil {
		x.rankings.spread = x.newRanking([2]uint64{^uint64(0), 0}, x.spreadLevel)
	}
	return x.rankings.spread
}

func (x *Index) loadRanking(resource int32) *ranking {
	if x.rankings.load[resource] == nil {
		x.rankings.load[resource] = x.newRanking([2]uint64{^uint64(0), ^uint64(0)}, func(v int32) uint8 {
			return x.loadLevel(v, resource)
		})
	}
	return x.rankings.load[resource]
}

func (x *Index) plainRanking() *ranking {
	if x.rankings.plain == nil {
		x.rankings.plain = x.newRanking([2]uint64{1, 1}, x.plainLevel)
	}
	return x.rankings.plain
}

// choose returns the devices of a node that takes the shape. Where several
// models could, the strategy prefers one, at last the one with the lowest
// device.
func (x *Index) choose(sh *shape, v int32, st Strategy) uint64 {
	if sh.count == 0 {
		return 0
	}
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	capable := sh.capable[nd.layout] & nd.healthy
	var best uint64
	var least [2]int64
	for i := range l.groups {
		devices := capable & l.groups[i].mask
		if x.room(sh, nd, devices, false) < sh.count ||
			sh.island != AnyIsland && !x.roomInIsland(sh, nd, devices, false) {
			continue
		}
		chosen, cost := x.chooseAmong(sh, nd, devices, st)
		if best == 0 || cost[0] < least[0] || cost[0] == least[0] && cost[1] < least[1] {
			best, least = chosen, cost
		}
	}
	return best
}

// chooseAmong returns the devices of one model, which have room, and what they
// cost, the lower the better: for BinPack the whole devices that are opened,
// then those there are; for Spread the highest load among the chosen.
func (x *Index) chooseAmong(sh *shape, nd *node, devices uint64, st Strategy) (chosen uint64, cost [2]int64) {
	l := &x.layouts[nd.layout]
	switch {
	case l.mesh != nil && !sh.whole:
		return x.choosePartsIn(l, sh, nd, devices, st)
	case st == Spread && !sh.whole:
		return x.leastLoaded(sh, nd, devices)
	case st == BinPack && !sh.whole:
		chosen = x.tightest(sh, nd, devices&nd.shared)
		whole := devices & nd.whole
		opened := lowestOf(whole, sh.count-bits.OnesCount64(chosen))
		return chosen | opened, [2]int64{int64(bits.OnesCount64(opened)), int64(bits.OnesCount64(whole))}
	case st == BinPack:
		whole := devices & nd.whole
		return pickWhole(x, l, sh, whole), [2]int64{int64(sh.count), int64(bits.OnesCount64(whole))}
	case sh.whole:
		return pickWhole(x, l, sh, devices&nd.whole), cost
	}
	return lowestOf(x.withRoom(sh, nd, devices), sh.count), cost
}

// pickWhole chooses among whole devices of one model: by T4 where it is known how
// they are joined, else the lowest.
func pickWhole(x *Index, l *layout, sh *shape, whole uint64) uint64 {
	switch {
	case l.mesh == nil:
		return lowestOf(whole, sh.count)
	case x.keepsRoom && sh.island != AnyIsland:
		return l.mesh.pickBeside(whole, sh.count, l.mesh.tierOf[sh.island])
	}
	return l.mesh.picker.pick(0, whole, whole, sh.count)
}

// KeepingRoom calls do while Find gives a task that requires an island of whole devices those that T4 prefers of the ones
// beside which the most others of its shape find theirs: where islands overlap, one with the next, T4 alone
// may leave room for fewer.
func KeepingRoom(x *Index, do func()) {
	before := x.keepsRoom
	x.keepsRoom = true
	defer func() { x.keepsRoom = before }()
	do()
}

// Crossed says whether islands overlap, one with the next, on some node, of the kind that a task of the shape
// requires, of whole devices.
func Crossed(x *Index, s Shape) bool {
	sh := x.shape(s)
	if sh == nil || !sh.whole || sh.island == AnyIsland {
		return false
	}
	return slices.ContainsFunc(x.layouts, func(l layout) bool {
		return l.mesh != nil && l.mesh.tierOf[sh.island] >= 0 && !l.mesh.tiers[l.mesh.tierOf[sh.island]].apart
	})
}

// withRoom returns those of the devices that take their part of the task.
func (x *Index) withRoom(sh *shape, nd *node, devices uint64) uint64 {
	room := devices & nd.whole
	if sh.whole {
		return room
	}
	l := &x.layouts[nd.layout]
	for m := devices & nd.shared; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		if x.left[int(nd.devices)+d] >= sh.units(l, d) {
			room |= 1 << d
		}
	}
	return room
}

// lowestOf returns the n lowest bits of the devices.
func lowestOf(devices uint64, n int) uint64 {
	rest := devices
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return devices &^ rest
}

// tightest returns up to the shape's count of the shared devices that have
// room: those on which the least is left over, then the lowest.
func (x *Index) tightest(sh *shape, nd *node, shared uint64) uint64 {
	l := &x.layouts[nd.layout]
	var chosen uint64
	for range sh.count {
		best, least := -1, int64(0)
		for m := shared &^ chosen; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			over := x.left[int(nd.devices)+d] - sh.units(l, d)
			if over >= 0 && (best < 0 || over < least) {
				best, least = d, over
			}
		}
		if best < 0 {
			break
		}
		chosen |= 1 << best
	}
	return chosen
}

// leastLoaded returns the shape's count of devices with room: the least loaded,
// in milli rounded up, then the lowest. The cost is the highest load.
func (x *Index) leastLoaded(sh *shape, nd *node, devices uint64) (chosen uint64, cost [2]int64) {
	room := x.withRoom(sh, nd, devices)
	for range sh.count {
		best, least := 0, int64(-1)
		for m := room &^ chosen; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			if load := x.deviceLoad(nd, d); least < 0 || load < least {
				best, least = d, load
			}
		}
		chosen |= 1 << best
		cost[0] = max(cost[0], least)
	}
	return chosen, cost
}
