package placement

import (
	"math"
	"math/bits"
	"slices"
)

const (
	// mostTried is the most devices of which every subset of a size is tried: 16 have
	// at most 12,870 of them, which are looked at once for a choice.
	mostTried = 16
	// mostPicks is how many choices a mesh remembers before it forgets all of them:
	// about a megabyte.
	mostPicks = 1 << 14
)

// A choice is what a picker is asked: so many more devices beside the fixed ones,
// and which of them are whole, so that it matters what is left.
type choice struct {
	fixed, from, whole uint64
	count              int
}

// A picker chooses devices of a mesh (T4) and remembers what it chose.
type picker struct {
	mesh  *mesh
	known map[choice]uint64

	asked  choice  // the one that is being looked for
	found  bool    // best is a choice
	best   uint64  // devices: the best choice so far
	left   []int32 // of best: pairs of whole devices left, by tier
	inside int32   // of best: NVLinks
	// levels are scratch: by how many devices are chosen, the pairs left by tier.
	levels [mostTried + 1][]int32
}

func newPicker(m *mesh) picker {
	p, n := picker{mesh: m, known: map[choice]uint64{}}, len(m.tiers)
	pairs := make([]int32, (mostTried+2)*n)
	p.left, pairs = pairs[:n:n], pairs[n:]
	for i := range p.levels {
		p.levels[i], pairs = pairs[:n:n], pairs[n:]
	}
	return p
}

// pick returns the fixed devices and count of the others that are, in this order,
//
//  1. in the tightest common island: the pair that is least near is as near as can
//     be;
//  2. such that the whole devices left are least broken: they have the most of the
//     nearest pairs, then of the next nearest, and so on to those that are joined
//     least;
//  3. joined by the most NVLinks;
//  4. the lowest.
//
// It is exact where an island has up to mostTried devices to choose from, and all
// islands are known. Where one has more, it takes one device after the other, each
// time that which leaves the rest least broken.
func (p *picker) pick(fixed, from, whole uint64, count int) uint64 {
	if n := bits.OnesCount64(from); count <= 0 || n <= count {
		return fixed | lowestOf(from, max(0, min(n, count)))
	}
	asked := choice{fixed, from, whole, count}
	if best, known := p.known[asked]; known {
		return best
	}
	p.asked, p.found = asked, false
	for i := 0; !p.found; i++ {
		for _, island := range p.mesh.tiers[i].islands {
			switch n := bits.OnesCount64(island & from); {
			case fixed&^island != 0 || n < count:
			case n > mostTried:
				p.grow(island & from)
			default:
				p.count(whole &^ fixed)
				p.try(0, fixed, whole&^fixed, island&from, count)
			}
		}
	}
	if len(p.known) >= mostPicks {
		clear(p.known)
	}
	p.known[asked] = p.best
	return p.best
}

// count finds the pairs of some whole devices by tier, for no device chosen.
func (p *picker) count(rest uint64) {
	for i := range p.mesh.tiers {
		p.levels[0][i] = p.mesh.tiers[i].pairs(rest)
	}
}

// try considers every way to choose count more devices, of which so many are chosen, and
// so many whole ones left. Of the pairs it counts no more than each device takes away.
func (p *picker) try(level int, chosen, rest, from uint64, count int) {
	if count == 0 {
		p.consider(chosen, p.levels[level])
		return
	}
	for ; bits.OnesCount64(from) >= count; from &= from - 1 {
		device := from & -from
		for i, n := range p.levels[level] {
			p.levels[level+1][i] = n - int32(p.mesh.tiers[i].loses(device, rest))
		}
		p.try(level+1, chosen|device, rest&^device, from&(from-1), count-1)
	}
}

// grow considers one way, that of the least harm at each step.
func (p *picker) grow(from uint64) {
	chosen := p.asked.fixed
	for range p.asked.count {
		whole, best := p.asked.whole&^chosen, uint64(0)
		for m := from &^ chosen; m != 0; m &= m - 1 {
			if best == 0 || p.breaks(m&-m, best, whole) < 0 {
				best = m & -m
			}
		}
		chosen |= best
	}
	p.count(p.asked.whole &^ chosen)
	p.consider(chosen, p.levels[0])
}

// breaks compares what is broken of the whole devices by the loss of a and of b.
func (p *picker) breaks(a, b, whole uint64) int {
	for i := range p.mesh.tiers {
		if c := p.mesh.tiers[i].loses(a, whole) - p.mesh.tiers[i].loses(b, whole); c != 0 {
			return c
		}
	}
	return 0
}

// loses is how many just so near pairs the whole devices lose with a device.
func (t *tier) loses(device, whole uint64) int {
	if device&whole == 0 {
		return 0
	}
	return bits.OnesCount64(t.exactly[bits.TrailingZeros64(device)] & whole)
}

// consider keeps the devices, which leave these pairs, if they are better than the best so
// far of an island of the same tier.
func (p *picker) consider(chosen uint64, pairs []int32) {
	inside := int32(-1) // not asked yet
	if p.found {
		c := slices.Compare(p.left, pairs)
		if c == 0 {
			inside = p.mesh.inside(chosen)
			c = int(p.inside - inside)
		}
		if c > 0 || c == 0 && !before(chosen, p.best) {
			return
		}
	}
	if inside < 0 {
		inside = p.mesh.inside(chosen)
	}
	p.found, p.best, p.inside = true, chosen, inside
	copy(p.left, pairs)
}

// pairs counts the pairs of the devices that are just so near.
func (t *tier) pairs(devices uint64) (n int32) {
	for m := devices; m != 0; m &= m - 1 {
		n += int32(bits.OnesCount64(t.exactly[bits.TrailingZeros64(m)] & m))
	}
	return n
}

// before reports whether the lowest device that is in one of two sets only is in
// the first.
func before(a, b uint64) bool {
	different := a ^ b
	return a&(different&-different) != 0
}

// before reports whether T4 prefers the devices a to as many others, as pick says.
func (m *mesh) before(a, b, whole uint64) bool {
	for i := range m.tiers {
		if inA, inB := m.joins(i, a), m.joins(i, b); inA || inB {
			if inA != inB {
				return inA
			}
			break
		}
	}
	for i := range m.tiers {
		if c := m.tiers[i].pairs(whole&^a) - m.tiers[i].pairs(whole&^b); c != 0 {
			return c > 0
		}
	}
	if c := m.inside(a) - m.inside(b); c != 0 {
		return c > 0
	}
	return before(a, b)
}

// A pack is a question how often a task has its devices.
type pack struct {
	devices uint64
	count   int8
	tier    int8
}

// mostPacks is how many answers about packs a mesh remembers before it forgets all
// of them: about two megabytes.
const mostPacks = 1 << 16

const (
	// mostPackings is how many steps a pack of more than mostTried devices takes, at most.
	mostPackings = 2000
	// mostBeside is how many choices are tried beside which as many others are packed as can be, of more than mostTried
	// devices.
	mostBeside = 64
)

// pack returns how many tasks of count devices find an island of the tier each, of which none has a device in common
// with another. It is exact where no islands overlap, and where no more than mostTried devices are in islands that do,
// one with the next, or they overlap so little that it is found in mostPackings steps; else it is as many as are found in
// turn.
func (m *mesh) pack(devices uint64, count, at int) (sum int) {
	t := &m.tiers[at]
	if t.apart {
		for _, island := range t.islands {
			sum += bits.OnesCount64(island&devices) / count
		}
		return sum
	}
	if len(m.packs) >= mostPacks {
		clear(m.packs)
	}
	asked := pack{devices, int8(count), int8(at)}
	if n, known := m.packs[asked]; known {
		return int(n)
	}
	for _, part := range t.connected(devices, count) {
		one := pack{part, asked.count, asked.tier}
		if bits.OnesCount64(part) <= mostTried {
			sum += m.packExactly(one, m.packs, nil)
			continue
		}
		steps := mostPackings // with answers of its own, as what is known already must not decide what is found
		n := m.packExactly(one, make(map[pack]int8), &steps)
		if steps < 0 {
			n = m.packInTurn(one)
		}
		sum += n
	}
	m.packs[asked] = int8(sum)
	return sum
}

// connected returns the devices that are in islands which have so many of them, those together of which the islands
// overlap, one with the next.
func (t *tier) connected(devices uint64, count int) (parts []uint64) {
	for _, island := range t.islands {
		part := island & devices
		if bits.OnesCount64(part) < count {
			continue
		}
		parts = slices.DeleteFunc(parts, func(other uint64) bool {
			meets := other&part != 0
			if meets {
				part |= other
			}
			return meets
		})
		parts = append(parts, part)
	}
	return parts
}

// loosest is the device that is in the fewest islands which have so many of the devices, the lowest of such.
func (t *tier) loosest(devices uint64, count int) (loosest uint64) {
	var in [64]int
	for _, island := range t.islands {
		if part := island & devices; bits.OnesCount64(part) >= count {
			for ; part != 0; part &= part - 1 {
				in[bits.TrailingZeros64(part)]++
			}
		}
	}
	least := math.MaxInt
	for m := devices; m != 0; m &= m - 1 {
		if n := in[bits.TrailingZeros64(m)]; n < least {
			least, loosest = n, m&-m
		}
	}
	return loosest
}

// packInTurn gives one task after the other its devices, as Find does.
func (m *mesh) packInTurn(p pack) (sum int) {
	holds := func(island uint64) bool { return bits.OnesCount64(island&p.devices) >= int(p.count) }
	for slices.ContainsFunc(m.tiers[p.tier].islands, holds) {
		p.devices &^= m.picker.pick(0, p.devices, p.devices, int(p.count))
		sum++
	}
	return sum
}

// pickBeside returns the devices of a task that T4 prefers of those beside which as many others are packed as there
// can be. It is exact as pack is; where more than mostTried devices are in islands that overlap, one with the next, and
// there are more than mostBeside ways to choose, it is what T4 prefers.
func (m *mesh) pickBeside(whole uint64, count, at int) (best uint64) {
	t, asked := &m.tiers[at], pack{whole, int8(count), int8(at)}
	if t.apart {
		return m.picker.pick(0, whole, whole, count)
	}
	if best, known := m.besides[asked]; known {
		return best
	}
	if len(m.besides) >= mostPicks {
		clear(m.besides)
	}
	most, ways := m.pack(whole, count, at), mostBeside
	large := slices.ContainsFunc(t.connected(whole, count), func(part uint64) bool { return bits.OnesCount64(part) > mostTried })
	var try func(chosen, from uint64, more int)
	try = func(chosen, from uint64, more int) {
		if more > 0 {
			for ; bits.OnesCount64(from) >= more && ways >= 0; from &= from - 1 {
				try(chosen|from&-from, from&(from-1), more-1)
			}
			return
		}
		if large {
			ways--
		}
		if m.pack(whole&^chosen, count, at)+1 >= most && (best == 0 || m.before(chosen, best, whole)) {
			best = chosen
		}
	}
	for _, island := range t.islands {
		try(0, island&whole, count)
	}
	if ways < 0 {
		best = m.picker.pick(0, whole, whole, count)
	}
	m.besides[asked] = best
	return best
}

// packExactly tries, for one device, every island that it can be in, and to
// leave it out. It keeps its answers, and with steps gives up once they are used up: these are negative then.
func (m *mesh) packExactly(p pack, known map[pack]int8, steps *int) int {
	most := bits.OnesCount64(p.devices) / int(p.count)
	if most == 0 {
		return 0
	}
	if n, is := known[p]; is {
		return int(n)
	}
	if steps != nil {
		if *steps--; *steps < 0 {
			return 0
		}
	}
	device, best := p.devices&-p.devices, 0
	if steps != nil {
		device = m.tiers[p.tier].loosest(p.devices, int(p.count))
	}
	others := p.devices &^ device
	var beside func(chosen, from uint64, count int)
	beside = func(chosen, from uint64, count int) { // every way to give the task so many more devices, until most fit
		if count == 0 {
			best = max(best, 1+m.packExactly(pack{others &^ chosen, p.count, p.tier}, known, steps))
			return
		}
		for ; bits.OnesCount64(from) >= count && best < most; from &= from - 1 {
			beside(chosen|from&-from, from&(from-1), count-1)
		}
	}
	for _, island := range m.tiers[p.tier].islands {
		if island&device != 0 && best < most {
			beside(device, others&island, int(p.count)-1)
		}
	}
	if best < most {
		best = max(best, m.packExactly(pack{others, p.count, p.tier}, known, steps))
	}
	known[p] = int8(best)
	return best
}
