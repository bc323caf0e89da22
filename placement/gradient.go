package placement

import "math/bits"

// moves remembers, by vector and devices that a task asks, the vectors that it
// can lead to.
type moves struct {
	keys   interner
	ranges []int32 // by key: where its list in to begins and ends
	to     []int32
	shapes []*shape // by part of a task
}

func (m *moves) empty() {
	m.keys.empty()
	m.ranges, m.to = m.ranges[:0], m.to[:0]
}

// prepare tells what the board's shape asks, in the terms of the mix.
func (f *fragments) prepare(x *Index, b *scoreboard) {
	for _, r := range f.asked {
		b.asks.need = append(b.asks.need, b.shape.amounts.Of(r))
	}
	b.asks.part = -1
	for i, sh := range f.moves.shapes {
		p, q := &sh.request, &b.shape.request
		if p.Devices == q.Devices && p.Milli == q.Milli && p.Memory == q.Memory && p.MinMemory == q.MinMemory &&
			equalSets(p.Models, q.Models) {
			b.asks.part = int32(i)
			return
		}
	}
	b.asks.part = int32(len(f.moves.shapes))
	f.moves.shapes = append(f.moves.shapes, b.shape)
}

// score is what FragmentationGradient gives a node that takes the task.
func (f *fragments) score(x *Index, b *scoreboard, v int32) int64 {
	cell := f.cellOf(x.freeOf(v), b.asks.need)
	if b.shape.count > 1 && !b.shape.whole {
		_, after := f.greedy(x, b.shape, v, f.least(cell))
		return f.grade(f.before[v] - after.first)
	}
	vector := f.vector[v]
	if b.shape.count == 0 {
		return f.grade(f.before[v] - f.amount(vector, cell))
	}
	least, first := int64(0), true
	for _, to := range f.leads(x, b, v) {
		if after := f.amount(to, cell); first || after < least {
			least, first = after, false
		}
	}
	return f.grade(f.before[v] - least)
}

// leads returns the vectors that the task can lead to from a node's.
func (f *fragments) leads(x *Index, b *scoreboard, v int32) []int32 {
	key, fresh := f.moves.keys.of1(int64(f.vector[v])<<32 | int64(b.asks.part))
	if fresh {
		f.lead(x, b.shape, x.nodes[v].layout, f.vector[v])
	}
	return f.moves.to[f.moves.ranges[2*key]:f.moves.ranges[2*key+1]]
}

// grade is the score of a difference of F: how many steps of the sigmoid it
// reaches, or itself.
func (f *fragments) grade(difference int64) int64 {
	if f.steps == nil {
		return difference
	}
	return reached(f.steps, difference)
}

// lead lists where a task of whole devices, or of a part of one, leads from a
// vector: of devices that are alike and have as much left, any will do.
func (f *fragments) lead(x *Index, sh *shape, layout, vector int32) {
	m, l, o := &f.moves, &x.layouts[layout], &f.layouts[layout]
	m.ranges = append(m.ranges, int32(len(m.to)))
	copy(f.from, f.vectors.tuple(vector))
	left := f.from[1:]
	for i := range o.runs {
		r := &o.runs[i]
		units := sh.units(l, r.device)
		if sh.capable[layout]&(1<<r.device) == 0 || sh.whole {
			continue
		}
		for at := r.begin; at < r.end; at++ {
			if left[at] >= units && (at == r.begin || left[at] != left[at-1]) {
				copy(f.tuple, f.from)
				f.tuple[1+at] -= units
				m.to = append(m.to, f.vectorNumber(x, layout))
			}
		}
	}
	for i := range l.groups {
		if sh.whole {
			f.leadWhole(x, sh, layout, l.groups[i].mask)
		}
	}
	m.ranges = append(m.ranges, int32(len(m.to)))
}

// leadWhole is lead for whole devices of one model, the lowest that are free.
func (f *fragments) leadWhole(x *Index, sh *shape, layout int32, model uint64) {
	l, o, missing := &x.layouts[layout], &f.layouts[layout], sh.count
	copy(f.tuple, f.from)
	for m := sh.capable[layout] & model; m != 0 && missing > 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		if at := 1 + int(o.at[d]); f.tuple[at] == l.total(d) {
			f.tuple[at] = 0
			missing--
		}
	}
	if missing == 0 {
		f.moves.to = append(f.moves.to, f.vectorNumber(x, layout))
	}
}

// options names the devices between which a task has a choice: for a part of one,
// each with room, by index; for whole ones the lowest of each model that can have the
// island required.
func (f *fragments) options(x *Index, sh *shape, v int32, option func(devices uint64)) {
	nd := &x.nodes[v]
	capable := sh.capable[nd.layout] & nd.healthy
	if sh.whole {
		l := &x.layouts[nd.layout]
		for i := range l.groups {
			if free := capable & l.groups[i].mask & nd.whole; sh.holds(l, free) {
				option(lowestOf(free, sh.count))
			}
		}
		return
	}
	for m := x.withRoom(sh, nd, capable); m != 0; m &= m - 1 {
		option(m & -m)
	}
}

// choose returns the devices of a node that takes the task: the option of the best
// score, the first of several.
func (f *fragments) choose(x *Index, b *scoreboard, v int32) uint64 {
	if b.shape.count == 0 {
		return 0
	}
	cell := f.cellOf(x.freeOf(v), b.asks.need)
	if b.shape.count > 1 && !b.shape.whole {
		devices, _ := f.greedy(x, b.shape, v, f.least(cell))
		return devices
	}
	best, chosen := int64(0), uint64(0)
	f.options(x, b.shape, v, func(devices uint64) {
		to := f.vectorOf(x, v, devices, b.shape)
		if score := f.grade(f.before[v] - f.amount(to, cell)); chosen == 0 || score > best {
			best, chosen = score, devices
		}
	})
	return x.joinedLike(b.shape, v, chosen)
}

// joinedLike returns, instead of the lowest whole devices of a model, those of it that
// T4 chooses.
func (x *Index) joinedLike(sh *shape, v int32, devices uint64) uint64 {
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	if l.mesh == nil || !sh.whole {
		return devices
	}
	for i := range l.groups {
		if model := l.groups[i].mask; devices&model != 0 {
			return pickWhole(x, l, sh, sh.capable[nd.layout]&nd.healthy&nd.whole&model)
		}
	}
	return devices
}

// A rating is how bad a vector is to be led to: less is better, the first number
// before the second.
type rating struct{ first, second int64 }

func (r rating) less(o rating) bool {
	return r.first < o.first || r.first == o.first && r.second < o.second
}

// least rates by F in a cell.
func (f *fragments) least(cell int32) func(vector int32) rating {
	return func(vector int32) rating { return rating{first: f.amount(vector, cell)} }
}

// greedy chooses parts of several devices of one model, one after the other: each
// time the device after which the rating is least, the first of several. It
// returns them and the rating in the end; of several models that of the least, the
// first.
func (f *fragments) greedy(x *Index, sh *shape, v int32, rate func(vector int32) rating) (best uint64, after rating) {
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	for i := range l.groups {
		room := x.withRoom(sh, nd, sh.capable[nd.layout]&nd.healthy&l.groups[i].mask)
		if !sh.holds(l, room) {
			continue
		}
		chosen, reached := uint64(0), rating{}
		for range sh.count {
			next := uint64(0)
			for m := sh.within(l, room, chosen) &^ chosen; m != 0; m &= m - 1 {
				r := rate(f.vectorOf(x, v, chosen|m&-m, sh))
				if next == 0 || r.less(reached) {
					next, reached = m&-m, r
				}
			}
			chosen |= next
		}
		if best == 0 || reached.less(after) {
			best, after = chosen, reached
		}
	}
	return best, after
}
