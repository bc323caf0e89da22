package placement

import (
	"math"
	"math/bits"
	"slices"
)

// The constants of ShadowPrice. The weights and the quantum were chosen on two of the
// five published workloads (see examples/fragmentation).
const (
	// usableParts of fragmentParts is the weight of what is usable beside what is
	// fragmented.
	usableParts, fragmentParts = 3, 20
	// freeParts of one is the weight of what is free on the node after the task of what runs out first.
	freeParts = 100
	// lossBits are the bits behind the point of a loss in milli.
	lossBits = 10
	// mostLimits is how many numbers about stocks are remembered before all of them are
	// forgotten: two megabytes.
	mostLimits = 1 << 18
)

// shadows is what ShadowPrice knows beyond fragments: what the free devices of a
// node are worth (V), how scarce they are (S), and how much of them the mix can use
// with what is free beside them (W). V follows from the vector, W from the
// vector and what exactly is free of other amounts, a stock, and S from what is free in all.
type shadows struct {
	*fragments
	worth    *worth
	wanted   []want
	sizes    []int64 // by part: what it takes of a device, in milli
	scarcity scarcity
	shortage shortage

	value  []int64 // by vector
	pieces []int64 // by vector × parts: milli that whole parts make up
	stocks interner
	limits []int64 // by stock × wanted: milli for which there is enough

	standing []standing // by node
	stock    []int64    // scratch
}

// A want is a target that some node would take, were it empty.
type want struct {
	part   int32
	weight int64
	milli  int64   // of its devices together
	need   []int64 // by resource of the mix
}

// A standing is what a node has before a task: V and what of F and W decides.
type standing struct{ value, fragment int64 }

func (x *Index) newShadows() *shadows {
	mix, foreseen := foresee(x)
	return shadowsOf(x, mix, foreseen)
}

// shadowsOf is what is known of a mix whose targets from foreseen on are foreseen.
func shadowsOf(x *Index, mix []Target, foreseen int) *shadows {
	s := &shadows{fragments: x.newFragments(mix, true), standing: make([]standing, len(x.nodes))}
	s.stocks, s.stock = newInterner(len(s.asked)), make([]int64, len(s.asked))
	s.readMix(x, mix, foreseen)
	s.lookAll(x)
	return s
}

// readMix computes prices and scarcity from the targets that some node would take. Those
// from foreseen on have no part in the prices.
func (s *shadows) readMix(x *Index, mix []Target, foreseen int) {
	for i := range s.parts {
		s.sizes = append(s.sizes, s.sizeOf(x, &s.parts[i].shape))
	}
	counts := make([]int64, 1001)
	var demands []int64
	var taken []bool // by target
	at := 0
	for i := range mix {
		m := &mix[i]
		if m.Request.Devices == 0 {
			continue
		}
		t := &s.targets[at]
		at++
		if taken = append(taken, s.acceptedBy(x, t) > 0); !taken[at-1] {
			demands = append(demands, 0)
			continue
		}
		size := s.sizes[t.part]
		w := want{part: t.part, weight: t.weight, milli: size * int64(m.Request.Devices)}
		for _, r := range s.asked {
			w.need = append(w.need, m.Request.Amounts.Of(r))
		}
		s.wanted = append(s.wanted, w)
		if i < foreseen {
			counts[size] += t.weight * int64(m.Request.Devices)
		}
		demands = append(demands, t.weight*w.milli)
	}
	var sizes []int64
	for size, n := range counts {
		if n > 0 {
			sizes = append(sizes, int64(size))
		}
	}
	counts = slices.DeleteFunc(counts, func(n int64) bool { return n == 0 })
	s.worth = priceSizes(sizes, counts, maxPivots)
	s.readShortage(x, mix[:foreseen], taken)
	s.readScarcity(x, demands, s.resourceAsked(x, mix, taken))
}

// sizeOf is what a target takes of one device in milli: of memory what it is of the
// smallest that it accepts, rounded up.
func (s *shadows) sizeOf(x *Index, sh *shape) int64 {
	if sh.memory == 0 {
		return sh.milli
	}
	size := int64(1)
	for i := range x.layouts {
		for m := sh.capable[i]; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			size = max(size, ceilDiv(sh.units(&x.layouts[i], d), x.layouts[i].scale[d]))
		}
	}
	return size
}

// hosts returns the devices that a target accepts on an empty node of the body; none
// if it would not fit there.
func (s *shadows) hosts(x *Index, t *target, b *body) uint64 {
	p := &s.parts[t.part]
	if p.classes != nil && !slices.Contains(p.classes, b.class) {
		return 0
	}
	for k, rank := range t.ranks {
		if s.cells.tuple(b.cell)[k] < rank {
			return 0
		}
	}
	capable := p.shape.capable[b.layout]
	for _, g := range x.layouts[b.layout].groups {
		if bits.OnesCount64(capable&g.mask) >= p.shape.count {
			return capable
		}
	}
	return 0
}

// acceptedBy counts the devices on the nodes that would take the target.
func (s *shadows) acceptedBy(x *Index, t *target) (n int64) {
	for i := range s.bodies {
		n += s.bodies[i].nodes * int64(bits.OnesCount64(s.hosts(x, t, &s.bodies[i])))
	}
	return n
}

// limit keeps memory flat, as that of fragments does.
func (s *shadows) limit(x *Index) {
	if s.stocks.count*(len(s.asked)+len(s.wanted)) > mostLimits {
		s.stocks.empty()
		s.limits = s.limits[:0]
	}
	if s.fragments.limit(x) {
		s.value, s.pieces = s.value[:0], s.pieces[:0]
		s.lookAll(x)
	}
}

func (s *shadows) lookAll(x *Index) {
	for v := range x.nodes {
		s.look(x, int32(v))
	}
}

// look reads one node anew.
func (s *shadows) look(x *Index, v int32) {
	vector, free := s.vectorOf(x, v, 0, nil), x.freeOf(v)
	s.vector[v] = vector
	s.scarcity.look(v, both{s.free[vector], s.shortage.freeOn(x, v, free)})
	s.standing[v] = s.of(vector, s.cellOf(free, nil), s.stockOf(free, nil))
}

// of is V and 20·F − 3·W of a vector, a cell and a stock.
func (s *shadows) of(vector, cell, stock int32) standing {
	for len(s.value) <= int(vector) {
		s.learn(int32(len(s.value)))
	}
	n := len(s.wanted)
	pieces, limits := s.pieces[int(vector)*len(s.parts):][:len(s.parts)], s.limits[int(stock)*n:][:n]
	usable := int64(0)
	for i := range s.wanted {
		w := &s.wanted[i]
		usable += w.weight * min(pieces[w.part], limits[i])
	}
	return standing{s.value[vector], fragmentParts*s.amount(vector, cell) - usableParts*usable}
}

// learn computes what follows from a vector, the next that is not known.
func (s *shadows) learn(vector int32) {
	tuple := s.vectors.tuple(vector)
	b, left := tuple[0], tuple[1:]
	body := &s.bodies[b]
	o := &s.layouts[body.layout]
	value := int64(0)
	for at := range o.devices {
		value += s.worth.value[left[at]/o.scale[at]]
	}
	s.value = append(s.value, value)
	for i := range s.parts {
		// Of memory whole parts can make up more than is free: their size is rounded up,
		// and that of the smallest device.
		pieces := s.use[int(vector)*len(s.parts)+i]
		if n := s.piecesOf(o, left, i); n <= pieces/s.sizes[i] {
			pieces = n * s.sizes[i]
		}
		s.pieces = append(s.pieces, pieces)
	}
}

// piecesOf counts the parts of a target's that fit on the devices.
func (s *shadows) piecesOf(o *order, left []int64, part int) (n int64) {
	for k, r := range o.runs {
		need := o.need[k*len(s.parts)+part]
		for _, units := range left[r.begin:r.end] {
			n += units / need
		}
	}
	return n
}

// stockOf returns the number of free amounts less needs.
func (s *shadows) stockOf(free, need []int64) int32 {
	for k, r := range s.asked {
		s.stock[k] = max(0, free[r])
		if need != nil {
			s.stock[k] = max(0, free[r]-need[k])
		}
	}
	stock, fresh := s.stocks.of(s.stock)
	if !fresh {
		return stock
	}
	for i := range s.wanted {
		w, limit := &s.wanted[i], int64(math.MaxInt64)
		for k, need := range w.need {
			if need > 0 {
				limit = min(limit, timesOver(s.stock[k], w.milli, need))
			}
		}
		s.limits = append(s.limits, limit)
	}
	return stock
}

// timesOver returns a·b/c, rounded down, or the largest int64.
func timesOver(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(min(quotient, math.MaxInt64))
}

// rate is the key of a node's task that leads to a vector, lower first: V lost; then
// what else is lost but for S, which is the same however the node takes it.
func (s *shadows) rate(v, vector int32, left remainder) rating {
	before, after := &s.standing[v], s.of(vector, left.cell, left.stock)
	spared := floorShifted(before.fragment-after.fragment, fragmentParts*max(1, s.weight))
	free := (s.shortage.devices*s.free[vector] + left.short) >> (shortageBits - lossBits) / freeParts
	return rating{before.value - after.value, free - spared}
}

// floorShifted returns a·2^lossBits/b rounded down, for b > |a|/2^17.
func floorShifted(a, b int64) int64 {
	size := uint64(max(a, -a))
	quotient, rest := bits.Div64(size>>(64-lossBits), size<<lossBits, uint64(b))
	if a >= 0 {
		return int64(quotient)
	}
	if rest > 0 {
		quotient++
	}
	return -int64(quotient)
}

// score is the least rating of the ways in which a node can take the task.
func (s *shadows) score(x *Index, b *scoreboard, v int32) rating {
	sh, left := b.shape, s.leaves(x, b, v)
	if sh.count == 0 {
		return s.rate(v, s.vector[v], left)
	}
	if sh.count > 1 && !sh.whole {
		_, r := s.greedy(x, sh, v, func(to int32) rating { return s.rate(v, to, left) })
		return r
	}
	var least rating
	for i, to := range s.leads(x, b, v) {
		if r := s.rate(v, to, left); i == 0 || r.less(least) {
			least = r
		}
	}
	return least
}

// choose returns the devices of a node that takes the task: those of the least
// rating, of several the device with the most free, then the first.
func (s *shadows) choose(x *Index, b *scoreboard, v int32) uint64 {
	sh := b.shape
	if sh.count == 0 {
		return 0
	}
	left := s.leaves(x, b, v)
	if sh.count > 1 && !sh.whole {
		devices, _ := s.greedy(x, sh, v, func(to int32) rating { return s.rate(v, to, left) })
		return devices
	}
	var least rating
	chosen, most := uint64(0), int64(0)
	nd := &x.nodes[v]
	s.options(x, sh, v, func(devices uint64) {
		r := s.rate(v, s.vectorOf(x, v, devices, sh), left)
		room := int64(0)
		if !sh.whole {
			room = x.freeMilli(nd, devices)
		}
		if chosen == 0 || r.less(least) || r == least && room > most {
			least, chosen, most = r, devices, room
		}
	})
	return x.joinedLike(sh, v, chosen)
}
