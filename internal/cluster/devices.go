package cluster

import (
	"math/bits"
	"slices"

	"github.com/allotsched/allot/placement"
)

// Renamed are the devices by their new names.
func Renamed(devices uint64, to []int32) (out uint64) {
	for rest := devices; rest != 0; rest &= rest - 1 {
		out |= 1 << to[bits.TrailingZeros64(rest)]
	}
	return out
}

// AlikeDevices are the classes of a node's devices: those of a class differ in
// nothing that a rule knows, and are joined alike to all others.
func AlikeDevices(n *placement.Node) []int32 {
	links := make(map[[2]int32]int32, 2*len(n.Links))
	for _, l := range n.Links {
		links[[2]int32{l.A, l.B}], links[[2]int32{l.B, l.A}] = l.NVLinks, l.NVLinks
	}
	out := make([]int32, len(n.Devices))
	for d := range out {
		out[d] = int32(d)
		for first := range d {
			if out[first] == int32(first) && n.Devices[first] == n.Devices[d] && !parted(n, first, d) && joinedAlike(links, int32(first), int32(d), int32(len(out))) {
				out[d] = int32(first)
				break
			}
		}
	}
	return out
}

// parted says whether one of two devices is set aside and the other is not (B9).
func parted(n *placement.Node, a, b int) bool {
	return slices.ContainsFunc(n.Parts, func(p placement.Part) bool { return p.Devices>>a&1 != p.Devices>>b&1 })
}

// joinedAlike says whether two of n devices are joined to every other by as many links.
func joinedAlike(links map[[2]int32]int32, a, b, n int32) bool {
	for d := range n {
		if d != a && d != b && links[[2]int32{a, d}] != links[[2]int32{b, d}] {
			return false
		}
	}
	return true
}
