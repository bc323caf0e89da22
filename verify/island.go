package verify

import (
	"math/bits"

	"github.com/allotsched/allot/placement"
)

// Islands are the sets of devices of a node of which every two are joined so tightly (T4).
// The largest among some devices is found by branch and bound, once for each set of them
// that is asked about: of what is joined to all that were chosen no more can be added than
// it takes groups of which no two are joined.

// An islandQuestion is how large an island the devices have.
type islandQuestion struct {
	need    placement.Island
	devices uint64
}

// A islandMap is what is known of the islands of a node.
type islandMap struct {
	near    [placement.NVLinkIsland + 1][]uint64 // by need and device: those that it is joined to
	largest map[islandQuestion]int
}

// hasIsland says whether so many of the devices are in one island.
func (n *verifiedNode) hasIsland(devices []int, need placement.Island, count int) bool {
	asked := islandQuestion{need: need}
	for _, d := range devices {
		asked.devices |= 1 << d
	}
	if n.islands.largest == nil {
		n.islands.largest = make(map[islandQuestion]int)
	}
	size, known := n.islands.largest[asked]
	if !known {
		s := islandSearch{near: n.near(need)}
		s.grow(asked.devices, 0)
		size = s.largest
		n.islands.largest[asked] = size
	}
	return size >= count
}

// near says by device to which others it is joined so tightly.
func (n *verifiedNode) near(need placement.Island) []uint64 {
	if n.islands.near[need] == nil {
		near := make([]uint64, len(n.source.Devices))
		links := n.links()
		for a := range near {
			for b := range a {
				if n.joinedBy(a, b, links[[2]int{b, a}]) >= need {
					near[a] |= 1 << b
					near[b] |= 1 << a
				}
			}
		}
		n.islands.near[need] = near
	}
	return n.islands.near[need]
}

// An islandSearch looks for the largest set of devices of which every two are near.
type islandSearch struct {
	near    []uint64
	largest int
}

// grow adds to so many devices some of those that are near all of them.
func (s *islandSearch) grow(from uint64, chosen int) {
	s.largest = max(s.largest, chosen)
	order, bound := s.groups(from)
	for i := len(order) - 1; i >= 0; i-- {
		if chosen+bound[i] <= s.largest {
			return
		}
		d := order[i]
		s.grow(from&s.near[d], chosen+1)
		from &^= 1 << d
	}
}

// groups parts devices into groups of which no two are near, and lists them group by group;
// bound is how many groups there are up to each: no more of them can be in one island.
func (s *islandSearch) groups(from uint64) (order, bound []int) {
	for group := 1; from != 0; group++ {
		for rest := from; rest != 0; {
			d := bits.TrailingZeros64(rest)
			from &^= 1 << d
			rest &^= 1<<d | s.near[d]
			order, bound = append(order, d), append(bound, group)
		}
	}
	return order, bound
}
