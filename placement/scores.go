package placement

import "math/bits"

// An ask is what a shape asks, as the scores count it.
type ask struct {
	cpu   int64   // of the resource that is weighed
	need  []int64 // of each resource that the mix asks
	part  int32   // the devices that it asks, see fragments.moves
	takes both    // where that counts, see shadows.takes
}

// prepare sets the board up for its strategy.
func (s *scorer) prepare(x *Index, b *scoreboard) {
	if s.cpu >= 0 {
		b.asks.cpu = b.shape.amounts.Of(s.cpu)
	}
	switch b.strategy {
	case FragmentationGradient:
		if s.fragments == nil {
			s.fragments = x.newFragments(x.scoring.Mix, false)
			s.fragments.lookAll(x)
		}
		s.fragments.prepare(x, b)
	case ShadowPrice:
		if s.shadows == nil {
			s.shadows = x.newShadows()
		}
		s.shadows.prepare(x, b)
		b.asks.takes = both{s.shadows.takes(x, b.shape), s.shadows.shortage.inMilli(b.asks.cpu)}
	}
}

// score scores a node that the shape is allowed on; nowhere if it does not take
// the task now.
func (s *scorer) score(x *Index, b *scoreboard, v int32) (score, tie int64) {
	if !x.takes(b.shape, v, false) {
		return nowhere, 0
	}
	if b.strategy == ShadowPrice {
		r := s.shadows.score(x, b, v)
		return -r.first, r.second
	}
	left := s.gpu[v]
	devices, rest := uint64(0), left-int64(b.shape.count)*b.shape.milli
	switch {
	case b.strategy != FragmentationGradient:
		devices = x.choose(b.shape, v, BinPack)
		rest = x.milliAfter(b.shape, v, devices, left)
	case b.tie != nil && b.shape.memory > 0:
		// How many milli so many bytes are depends on the device.
		rest = x.milliAfter(b.shape, v, s.fragments.choose(x, b, v), left)
	}
	switch b.strategy {
	case FragmentationGradient:
		score = s.fragments.score(x, b, v)
	case DotProduct:
		score = s.dot.dotProduct(s.cpuLeft(x, v), b.asks.cpu, left, left-rest)
	case GPUPacking:
		score = x.packingScore(b.shape, v, devices)
	case GPUClustering:
		score = x.clusteringScore(b.shape, v, left, s.mostGPU)
	case BestFit:
		score = s.fit.bestFit(s.cpuLeft(x, v)-b.asks.cpu, rest)
	}
	switch x.scoring.Ties {
	case LeastGPULeft:
		tie = rest
	case LeastCPULeft:
		tie = s.cpuLeft(x, v) // the task takes the same of it everywhere
	}
	return score, tie
}

// milliAfter is what is left of a node's free milli once the task has devices.
func (x *Index) milliAfter(sh *shape, v int32, devices uint64, left int64) int64 {
	nd := &x.nodes[v]
	l := &x.layouts[nd.layout]
	for m := devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		at := x.left[int(nd.devices)+d]
		left -= min(1000, at/l.scale[d]) - min(1000, (at-sh.units(l, d))/l.scale[d])
	}
	return left
}

// A weighing is a node's amounts as parts of the largest node's, exact as long as
// the products below fit 63 bits: else the CPU is counted in the smallest power
// of two with which they do.
type weighing struct {
	cpu, gpu uint64 // the largest node's, at least 1
	shift    int
	power    int
}

// newWeighing returns a weighing of which the largest amounts, each multiplied by
// itself to the power given, have a product below 2^63.
func newWeighing(mostCPU, mostGPU int64, power int) weighing {
	w := weighing{cpu: uint64(max(1, mostCPU)), gpu: uint64(max(1, mostGPU)), power: power}
	for {
		if _, fits := w.product(); fits {
			return w
		}
		w.cpu = max(1, w.cpu>>1)
		w.shift++
	}
}

// product is that of the largest amounts, each to the power, if below 2^63.
func (w *weighing) product() (uint64, bool) {
	all := uint64(1)
	for range w.power {
		for _, factor := range [...]uint64{w.cpu, w.gpu} {
			high, low := bits.Mul64(all, factor)
			if high != 0 || low >= 1<<63 {
				return 0, false
			}
			all = low
		}
	}
	return all, true
}

// parts returns an amount of the resource as the weighing counts it.
func (w *weighing) parts(cpu int64) uint64 {
	return min(uint64(max(0, cpu))>>w.shift, w.cpu)
}

// weighed returns 100·(1 − a/(2·all)), rounded down, for 0 ≤ a ≤ 2·all.
func weighed(a, all uint64) int64 {
	high, low := bits.Mul64(a, 50)
	quotient, rest := bits.Div64(high, low, all)
	if rest != 0 {
		quotient++
	}
	return 100 - int64(quotient)
}

// dotProduct is 100·(1 − (cpuLeft·cpu/mostCPU² + gpuLeft·gpu/mostGPU²)/2), rounded
// down.
func (w *weighing) dotProduct(cpuLeft, cpu, gpuLeft, gpu int64) int64 {
	a := w.parts(cpuLeft) * w.parts(cpu) * w.gpu * w.gpu
	b := uint64(gpuLeft) * uint64(gpu) * w.cpu * w.cpu
	return weighed(a+b, w.cpu*w.cpu*w.gpu*w.gpu)
}

// bestFit is 100·(1 − (cpuRest/mostCPU + gpuRest/mostGPU)/2), rounded down. The
// published run spreads the scores of the nodes that take the task over 0 to 100
// then, and rounds down again; as there are at most 101 of them, no two become
// one, and the order is the same.
func (w *weighing) bestFit(cpuRest, gpuRest int64) int64 {
	return weighed(w.parts(cpuRest)*w.gpu+uint64(gpuRest)*w.cpu, w.cpu*w.gpu)
}

// packingScore: a task that shared devices take, 100 less a tenth of what is free
// of those in percent, at least 50; one that opens devices of a used node, 50
// less their number, at least 33; on an idle node, 33 less its devices.
func (x *Index) packingScore(sh *shape, v int32, devices uint64) int64 {
	nd := &x.nodes[v]
	if devices == 0 {
		return 0
	}
	if nd.whole == nd.healthy {
		return max(0, 33-int64(bits.OnesCount64(nd.whole)))
	}
	if opened := devices & nd.whole; opened != 0 {
		return max(33, 50-int64(bits.OnesCount64(opened)))
	}
	l, percent := &x.layouts[nd.layout], int64(0)
	for m := devices; m != 0; m &= m - 1 {
		d := bits.TrailingZeros64(m)
		percent += x.left[int(nd.devices)+d] / l.scale[d] / 10
	}
	return max(50, 100-percent/10)
}

// A team is the tasks that ask as many devices, either whole or in part.
type team struct {
	devices int
	whole   bool
	tasks   []int32 // by node
}

// teamOf returns the team of a shape, −1 for one that takes no devices.
func (x *Index) teamOf(sh *shape) int32 {
	if sh.count <= 0 || sh.senseless {
		return -1
	}
	for i := range x.teams {
		if t := &x.teams[i]; t.devices == sh.count && t.whole == sh.whole {
			return int32(i)
		}
	}
	x.teams = append(x.teams, team{sh.count, sh.whole, make([]int32, len(x.nodes))})
	return int32(len(x.teams) - 1)
}

// clusteringScore: 75 on a node where the shape's team is alone, 50 where it is
// among others, 25 where nobody is, 0 where only others are, and up to 25 more
// for what is used of the largest node's devices.
func (x *Index) clusteringScore(sh *shape, v int32, left, most int64) int64 {
	if sh.team < 0 {
		return 0
	}
	others, ours := false, false
	for i := range x.teams {
		if x.teams[i].tasks[v] > 0 {
			ours = ours || int32(i) == sh.team
			others = others || int32(i) != sh.team
		}
	}
	base := int64(0)
	switch {
	case ours && !others:
		base = 75
	case ours:
		base = 50
	case !others:
		base = 25
	}
	return base + 25*(most-left)/most
}
