package placement

import (
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

// pack returns how many tasks of count devices find an island of the tier each, of which none has a device in common
// with another. It is exact where no islands overlap, and where no more than mostTried devices are in islands that do,
// one with the next; else it is as many as are found in turn.
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
		if bits.OnesCount64(part) > mostTried {
			sum = m.packInTurn(asked)
			break
		}
		sum += m.packExactly(pack{part, asked.count, asked.tier})
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
// can be. It is exact as pack is, where an island has up to mostTried devices to choose from.
func (m *mesh) pickBeside(whole uint64, count, at int) (best uint64) {
	t, most := &m.tiers[at], m.pack(whole, count, at)
	for _, island := range t.islands {
		if from := island & whole; t.apart || bits.OnesCount64(from) > mostTried {
			return m.picker.pick(0, whole, whole, count)
		}
	}
	var try func(chosen, from uint64, count int)
	for _, island := range t.islands {
		try = func(chosen, from uint64, more int) {
			switch {
			case more > 0:
				for ; bits.OnesCount64(from) >= more; from &= from - 1 {
					try(chosen|from&-from, from&(from-1), more-1)
				}
			case m.pack(whole&^chosen, count, at)+1 >= most && (best == 0 || m.before(chosen, best, whole)):
				best = chosen
			}
		}
		try(0, island&whole, count)
	}
	return best
}

// packExactly tries, for the lowest device, every island that it can be in, and to
// leave it out.
func (m *mesh) packExactly(p pack) int {
	most := bits.OnesCount64(p.devices) / int(p.count)
	if most == 0 {
		return 0
	}
	if n, known := m.packs[p]; known {
		return int(n)
	}
	device, best := p.devices&-p.devices, 0
	others := p.devices &^ device
	for _, island := range m.tiers[p.tier].islands {
		if island&device != 0 && best < most {
			best = max(best, m.packBeside(p, others, device, others&island, int(p.count)-1, most))
		}
	}
	if best < most {
		best = max(best, m.packExactly(pack{others, p.count, p.tier}))
	}
	m.packs[p] = int8(best)
	return best
}

// packBeside tries every way to give a task count more devices, until most fit.
func (m *mesh) packBeside(p pack, others, chosen, from uint64, count, most int) (best int) {
	if count == 0 {
		return 1 + m.packExactly(pack{others &^ chosen, p.count, p.tier})
	}
	for ; bits.OnesCount64(from) >= count && best < most; from &= from - 1 {
		best = max(best, m.packBeside(p, others, chosen|from&-from, from&(from-1), count-1, most))
	}
	return best
}
