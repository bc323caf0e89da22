package placement

import (
	"math"
	"math/bits"
	"slices"
)

// A freeSum is what is free in all on the nodes of a set, and of which nodes
// it consists, so that after a change only the changed nodes are read again.
type freeSum struct {
	total  Free
	counts []bool  // by kind: its nodes are in the sum
	milli  []int64 // by node
	parts  []int64 // by node × resources + resource
	read   uint64  // of Index.moved
	// huge: a sum is at the largest int64, from which nothing can be subtracted.
	huge bool
}

// Free returns what is free in all on the nodes of a set that are not
// cordoned; -1 is every node. The first time it takes time linear in nodes and
// devices, and then in the changes since.
func (x *Index) Free(set int32) Free {
	sum := sumOver(x, set)
	return Free{Milli: sum.total.Milli, Amounts: slices.Clone(sum.total.Amounts)}
}

// FreeOf is what [Index.Free] returns of one resource; 0 are GPUs, in milli.
func FreeOf(x *Index, set, res int32) int64 {
	sum := sumOver(x, set)
	if res > 0 {
		return sum.total.Amounts[res-1]
	}
	return sum.total.Milli
}

// sumOver is the sum over a set, brought up to date.
func sumOver(x *Index, set int32) *freeSum {
	sum := x.frees[set]
	if sum == nil {
		sum = &freeSum{
			huge:  true,
			milli: make([]int64, len(x.nodes)), parts: make([]int64, len(x.free)),
		}
		for i := range x.kinds {
			sum.count(&x.kinds[i], set)
		}
		x.frees[set] = sum
	}
	if sum.huge || x.moved.written-sum.read > uint64(len(x.moved.entries)) {
		x.sumAnew(sum)
	}
	for ; sum.read < x.moved.written && !sum.huge; sum.read++ {
		x.sumNode(sum, x.moved.entries[sum.read&uint64(len(x.moved.entries)-1)])
	}
	if sum.huge {
		x.sumAnew(sum)
	}
	return sum
}

// count says whether nodes of one more kind are in the sum of a set.
func (sum *freeSum) count(k *kind, set int32) {
	sum.counts = append(sum.counts, !k.cordoned && (set < 0 || k.in(set)))
}

// sumAnew reads every node.
func (x *Index) sumAnew(sum *freeSum) {
	clear(sum.milli)
	clear(sum.parts)
	sum.total, sum.huge, sum.read = Free{Amounts: make([]int64, x.resources)}, false, x.moved.written
	for v := range x.nodes {
		x.sumNode(sum, int32(v))
	}
}

// sumNode reads one node anew.
func (x *Index) sumNode(sum *freeSum, v int32) {
	nd := &x.nodes[v]
	counts, milli := sum.counts[nd.kind], int64(0) // a node that was in the sum may be out of it, see Cordon
	if counts {
		milli = x.freeMilli(nd, nd.healthy)
	}
	sum.total.Milli += milli - sum.milli[v]
	sum.milli[v] = milli
	parts := sum.parts[int(v)*x.resources:]
	for r, amount := range x.freeOf(v) {
		if amount = max(0, amount); !counts {
			amount = 0
		}
		if rest := sum.total.Amounts[r] - parts[r]; amount > math.MaxInt64-rest {
			sum.total.Amounts[r], sum.huge = math.MaxInt64, true
			amount = 0 // what is more than the largest adds nothing
		} else {
			sum.total.Amounts[r] = rest + amount
		}
		parts[r] = amount
	}
}

// MostFree is what is free on one node at most, whatever moves on it: of resource 0
// that of its devices in milli, of others the resource before that, by the numbers
// of [Free]; what is over-committed counts as nothing free. O(devices).
func (x *Index) MostFree(node, resource int32) int64 {
	if resource > 0 {
		return max(0, x.freeOf(node)[resource-1])
	}
	nd := &x.nodes[node]
	l := &x.layouts[nd.layout]
	sum := 1000 * int64(bits.OnesCount64(nd.healthy&nd.whole))
	for m := nd.healthy & nd.shared; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		sum += (max(0, x.left[int(nd.devices)+d]) + l.scale[d] - 1) / l.scale[d] // no part is lost
	}
	return sum
}
