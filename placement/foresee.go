package placement

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/quota"
)

// What ShadowPrice foresees beyond the mix: that somebody asks for a whole node. Few do,
// and a mix that is drawn from what waits and runs need not know one of them; but where
// the only nodes that they can have are broken into, they wait.
const (
	// foreseenPart: of so many in the mix there is one more for a whole node.
	foreseenPart = 200
	// foreseenBits are the leading bits by which amounts of nodes are told apart: what is
	// nearly the same is one kind.
	foreseenBits = 4
	// maxForeseen is how many kinds of nodes are foreseen: those of the most devices.
	maxForeseen = 32
	// mixedWeight is the most that the weights of the mix come to together with those.
	mixedWeight = maxWeight / 2
)

// foresee returns the mix and, from the index on that it returns, what is foreseen: for
// every kind of node one target for all devices of the model of which it has the most,
// and what it has of all amounts, also of those that the mix knows nothing of; of a weight by the
// devices of the kind.
func foresee(x *Index) (mix []Target, at int) {
	total := int64(0)
	for i := range x.scoring.Mix {
		total += x.scoring.Mix[i].Weight
	}
	mix = slices.Clone(x.scoring.Mix)
	if total == 0 {
		return mix, len(mix)
	}
	// Weights as large as can be, so that small parts of them are not rounded away.
	scale := 0
	for ; total <= mixedWeight>>1; total <<= 1 {
		scale++
	}
	for i := range mix {
		mix[i].Weight <<= scale
	}
	for ; total > mixedWeight; total >>= 1 {
		for i := range mix {
			mix[i].Weight = (mix[i].Weight + 1) / 2
		}
	}
	return append(mix, wholeNodes(x, total)...), len(mix)
}

// wholeNodes are the targets that are foreseen, by their devices and then by what they ask.
func wholeNodes(x *Index, total int64) []Target {
	kinds := newInterner(1 + x.resources)
	var devices []int64 // by kind
	var list []Target
	all, kind := int64(0), make([]int64, 1+x.resources)
	for v := range x.nodes {
		layout := &x.layouts[x.nodes[v].layout]
		if len(layout.scale) == 0 {
			continue
		}
		most := 0
		for _, g := range layout.groups {
			most = max(most, bits.OnesCount64(g.mask))
		}
		kind[0] = int64(most)
		for r, amount := range x.capacityOf(int32(v)) {
			kind[1+r] = leading(amount)
		}
		number, fresh := kinds.of(kind)
		if fresh {
			t := Target{Request: Request{Devices: int32(most), Milli: 1000, Set: -1}}
			for r := range x.resources {
				if kind[1+r] > 0 {
					t.Request.Amounts = append(t.Request.Amounts, quota.Amount{Resource: int32(r), Value: kind[1+r]})
				}
			}
			list, devices = append(list, t), append(devices, 0)
		}
		devices[number] += int64(len(layout.scale))
		all += int64(len(layout.scale))
	}
	for i := range list {
		high, low := bits.Mul64(uint64(total), uint64(devices[i]))
		weight, _ := bits.Div64(high, low, uint64(foreseenPart*all))
		list[i].Weight = int64(weight)
	}
	slices.SortFunc(list, func(a, b Target) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Request.Devices, a.Request.Devices),
			slices.CompareFunc(a.Request.Amounts, b.Request.Amounts, func(a, b quota.Amount) int {
				return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Value, a.Value))
			}))
	})
	list = list[:min(len(list), maxForeseen)]
	return slices.DeleteFunc(list, func(t Target) bool { return t.Weight == 0 })
}

// leading is an amount with no more than its leading bits.
func leading(amount int64) int64 {
	if amount <= 0 {
		return 0
	}
	cut := max(0, bits.Len64(uint64(amount))-foreseenBits)
	return amount >> cut << cut
}
