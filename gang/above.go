package gang

import "slices"

// AboveMinimum says whether the gang holds more than a minimum: it would still
// be at its minimum with one task less of some set (O1, G2). A gang below its
// minimum is not above it. O(sets) where every group needs all its children,
// O(sets × (sets and groups)) elsewhere.
func (g *Gang) AboveMinimum(counts []int32) bool {
	if !g.AtMinimum(counts) {
		return false
	}
	if g.plain {
		for s := range g.sets {
			if held(counts, s) > g.sets[s].Min {
				return true
			}
		}
		return false
	}
	less := slices.Clone(counts)
	for s := range less {
		if less[s] == 0 {
			continue
		}
		less[s]--
		if g.AtMinimum(less) {
			return true
		}
		less[s]++
	}
	return false
}
