package placement

import (
	"math/bits"
	"slices"
)

// How near two devices are to each other: perNVLink for each NVLink between them,
// and less than one NVLink for what they share of PCIe, which so decides only
// between pairs with as many NVLinks. 0 is that nothing is known to join them.
const (
	sameSocket = 1
	sameSwitch = 2
	perNVLink  = 3
)

// leastNear is how near, by island, every two devices of it are at least.
var leastNear = [...]uint8{AnyIsland: 0, SocketIsland: sameSocket, SwitchIsland: sameSwitch, NVLinkIsland: perNVLink}

// Bounds on the search for islands: how many of a tier are kept, and how many steps
// are made to find them. A node of up to 16 devices has at most 324 islands of a tier,
// found in far fewer steps, so there all of them are known; with more devices the
// search still ends soon, with the islands that it has found.
const (
	mostIslands = 512
	mostSteps   = 1 << 13
)

// A mesh is how the devices of a layout are joined. What it says never changes; it is
// written to only to remember answers.
type mesh struct {
	// links are the NVLinks by device × devices + device, the same both ways, 0 of a
	// device with itself.
	links []int32
	// tiers are by how near, the nearest first; the last is of all devices.
	tiers []tier
	// tierOf is, by Island, the last of the tiers whose islands are such, −1 if no two
	// devices are so near.
	tierOf [len(leastNear)]int
	count  int // devices, at most MaxDevices

	picker picker        // remembers at most mostPicks choices
	packs  map[pack]int8 // answers of pack, at most mostPacks
	// besides are answers of pickBeside, at most mostPicks.
	besides map[pack]uint64
}

// A tier is the islands in which every two devices are at least so near. Islands are
// as large as can be: none is in another. They may overlap.
type tier struct {
	near    uint8    // of the pair that is least near
	exactly []uint64 // by device: the devices that are just so near to it
	islands []uint64 // sets of devices, at most mostIslands
	apart   bool     // no two islands have a device in common
}

// readNear fills in, by device × devices + device, how near the devices of a node
// are to each other, and reports whether anything is known of that.
func readNear(n *Node, near []uint8) bool {
	count, known := len(n.Devices), false
	for a := range n.Devices {
		d := &n.Devices[a]
		for b := range a {
			e, value := &n.Devices[b], uint8(0)
			switch {
			case d.Switch != 0 && d.Switch == e.Switch:
				value = sameSwitch
			case d.Socket != 0 && d.Socket == e.Socket:
				value = sameSocket
			}
			near[a*count+b], near[b*count+a] = value, value
			known = known || value != 0
		}
		near[a*count+a] = 0
	}
	for _, l := range n.Links {
		a, b := int(l.A), int(l.B)
		near[a*count+b] += uint8(perNVLink * l.NVLinks)
		near[b*count+a] = near[a*count+b]
		known = known || l.NVLinks != 0
	}
	return known
}

// newMesh reads what readNear filled in.
func newMesh(count int, near []uint8) *mesh {
	m := &mesh{count: count, links: make([]int32, count*count), packs: map[pack]int8{}, besides: map[pack]uint64{}}
	values := slices.Clone(near)
	for i, value := range near {
		m.links[i] = int32(value / perNVLink)
	}
	slices.Sort(values)
	values = slices.Compact(values)
	slices.Reverse(values)
	joined := make([]uint64, count)
	for _, value := range values {
		if value == 0 {
			break
		}
		t := tier{near: value, exactly: make([]uint64, count)}
		for i, v := range near {
			if v == value {
				t.exactly[i/count] |= 1 << (i % count)
			}
		}
		for d := range joined {
			joined[d] |= t.exactly[d]
		}
		t.islands = islandsOf(joined)
		t.apart = disjoint(t.islands)
		m.tiers = append(m.tiers, t)
	}
	m.tiers = append(m.tiers, tier{exactly: make([]uint64, count), islands: []uint64{lowest(count)}, apart: true})
	for island, least := range leastNear {
		m.tierOf[island] = -1
		for i := range m.tiers {
			if m.tiers[i].near >= least {
				m.tierOf[island] = i
			}
		}
	}
	m.picker = newPicker(m)
	return m
}

// islandsOf lists the largest sets of which every two devices are joined, by the
// algorithm of Bron and Kerbosch with pivots; where there are very many, some.
func islandsOf(joined []uint64) []uint64 {
	var islands []uint64
	steps := 0
	var grow func(island, could, seen uint64)
	grow = func(island, could, seen uint64) {
		if steps++; steps > mostSteps || len(islands) >= mostIslands {
			return
		}
		if could == 0 {
			if seen == 0 {
				islands = append(islands, island)
			}
			return
		}
		// What is joined to the pivot is found by way of the pivot.
		var pivot uint64
		for m := could | seen; m != 0; m &= m - 1 {
			if all := joined[bits.TrailingZeros64(m)] & could; bits.OnesCount64(all) > bits.OnesCount64(pivot) {
				pivot = all
			}
		}
		for m := could &^ pivot; m != 0; m &= m - 1 {
			d := bits.TrailingZeros64(m)
			grow(island|1<<d, could&joined[d], seen&joined[d])
			could &^= 1 << d
			seen |= 1 << d
		}
	}
	grow(0, lowest(len(joined)), 0)
	return islands
}

// disjoint reports whether no two of the sets have a device in common.
func disjoint(sets []uint64) bool {
	var all uint64
	for _, set := range sets {
		if all&set != 0 {
			return false
		}
		all |= set
	}
	return true
}

// joins reports whether every two of the devices are as near as the tier says.
func (m *mesh) joins(at int, devices uint64) bool {
	if m.tiers[at].near == 0 {
		return true
	}
	for rest := devices; rest != 0; rest &= rest - 1 {
		d := bits.TrailingZeros64(rest)
		others := devices &^ (1 << d)
		for i := range m.tiers[:at+1] {
			others &^= m.tiers[i].exactly[d]
		}
		if others != 0 {
			return false
		}
	}
	return true
}

// inside is the number of NVLinks between the devices.
func (m *mesh) inside(devices uint64) (sum int32) {
	for rest := devices; rest != 0; rest &= rest - 1 {
		row := m.links[bits.TrailingZeros64(rest)*m.count:]
		for others := rest & (rest - 1); others != 0; others &= others - 1 {
			sum += row[bits.TrailingZeros64(others)]
		}
	}
	return sum
}

// largest is how many of the devices one island of the kind has at most.
func (l *layout) largest(island Island, devices uint64) int {
	if devices == 0 {
		return 0
	}
	if island == AnyIsland {
		return bits.OnesCount64(devices)
	}
	if l.mesh == nil || l.mesh.tierOf[island] < 0 {
		return 1 // a device is with itself everywhere
	}
	most := 1
	for _, set := range l.mesh.tiers[l.mesh.tierOf[island]].islands {
		most = max(most, bits.OnesCount64(set&devices))
	}
	return most
}

// holds reports whether enough of the devices, which have room, are in one island
// of the kind that the shape requires.
func (sh *shape) holds(l *layout, room uint64) bool {
	if sh.island == AnyIsland {
		return bits.OnesCount64(room) >= sh.count
	}
	if l.mesh == nil || l.mesh.tierOf[sh.island] < 0 {
		return false // which several devices are in none of
	}
	for _, set := range l.mesh.tiers[l.mesh.tierOf[sh.island]].islands {
		if bits.OnesCount64(set&room) >= sh.count {
			return true
		}
	}
	return false
}

// within returns those of the devices with room that a task of the shape can have
// beside the chosen: with each of them an island of the kind required has enough.
func (sh *shape) within(l *layout, room, chosen uint64) uint64 {
	if sh.island == AnyIsland {
		return room
	}
	if l.mesh == nil || l.mesh.tierOf[sh.island] < 0 {
		return 0
	}
	var all uint64
	for _, set := range l.mesh.tiers[l.mesh.tierOf[sh.island]].islands {
		if chosen&^set == 0 && bits.OnesCount64(set&room) >= sh.count {
			all |= set & room
		}
	}
	return all
}

// admits reports whether the devices are in one island of the kind required.
func (sh *shape) admits(l *layout, devices uint64) bool {
	return sh.island == AnyIsland ||
		l.mesh != nil && l.mesh.tierOf[sh.island] >= 0 && l.mesh.joins(l.mesh.tierOf[sh.island], devices)
}
