package placement

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// scored is the reference of the strategies that score: what the naive model
// does not know, and the answers, written from PROTOCOL.md's words and the package
// comment, in rational numbers and floats.
type scored struct {
	*naive
	scoring Scoring
	// teams counts the tasks by node, then by devices and whether they are whole.
	teams []map[[2]int32]int
}

func teamKey(r Request) [2]int32 {
	if r.Memory == 0 && (r.Milli == 0 || r.Milli == 1000) {
		return [2]int32{r.Devices, 1}
	}
	return [2]int32{r.Devices, 0}
}

func floor(a *big.Rat) int64 {
	q, m := new(big.Int).DivMod(a.Num(), a.Denom(), new(big.Int))
	_ = m // DivMod is Euclidean: the quotient is the floor as denominators are positive
	return q.Int64()
}

func (m *scored) milli(v, i int) int64 {
	if m.nodes[v].Devices[i].Unhealthy {
		return 0
	}
	return min(1000, max(0, m.left(v, i)/max(1, m.nodes[v].Devices[i].Memory)))
}

func (m *scored) gpuLeft(v int) (sum int64) {
	for i := range m.nodes[v].Devices {
		sum += m.milli(v, i)
	}
	return sum
}

func (m *scored) cpuLeft(v int) int64 {
	if m.scoring.CPU < 0 {
		return 0
	}
	return max(0, m.nodes[v].Capacity[m.scoring.CPU]-m.used[v].amounts[m.scoring.CPU])
}

func (m *scored) largest() (cpu, gpu int64) {
	for _, n := range m.nodes {
		if m.scoring.CPU >= 0 {
			cpu = max(cpu, n.Capacity[m.scoring.CPU])
		}
		healthy := int64(0)
		for _, d := range n.Devices {
			if !d.Unhealthy {
				healthy++
			}
		}
		gpu = max(gpu, 1000*healthy)
	}
	return max(1, cpu), max(1, gpu)
}

// after is the model with the task in place.
func (m *scored) after(r Request, p Place) *scored {
	c := *m
	c.naive = &naive{nodes: m.nodes, used: slices.Clone(m.used)}
	u := &c.used[p.Node]
	u.amounts, u.devices = slices.Clone(u.amounts), slices.Clone(u.devices)
	c.take(r, p, 1)
	return &c
}

// fragments is F of a node, times the weight of the mix.
func (m *scored) fragments(v int) (sum int64) {
	all := m.gpuLeft(v)
	for _, t := range m.scoring.Mix {
		r, lost := t.Request, int64(0)
		short := r.Devices == 0 || r.Classes != nil && !slices.Contains(r.Classes, m.nodes[v].Class)
		for _, a := range r.Amounts {
			short = short || m.nodes[v].Capacity[a.Resource]-m.used[v].amounts[a.Resource] < a.Value
		}
		fitting := map[int32]int32{}
		for i, d := range m.nodes[v].Devices {
			if !d.Unhealthy && accepted(r, d) && m.left(v, i) >= part(r, d) {
				fitting[d.Model]++
			} else {
				lost += m.milli(v, i)
			}
		}
		enough := false
		for _, n := range fitting { // any: order cannot matter
			enough = enough || n >= r.Devices
		}
		if short || !enough {
			lost = all
		}
		sum += t.Weight * lost
	}
	return sum
}

// grade is steps × the sigmoid of the difference, rounded down.
func (m *scored) grade(difference int64) int64 {
	if m.scoring.Exact {
		return difference
	}
	scale, steps, weight := float64(m.scoring.Scale), float64(m.scoring.Steps), int64(0)
	if scale == 0 {
		scale = 1000
	}
	if steps == 0 {
		steps = 100
	}
	for _, t := range m.scoring.Mix {
		weight += t.Weight
	}
	if difference == 0 {
		return int64(steps) / 2
	}
	s := steps / (1 + math.Exp(-float64(difference)/float64(weight)/scale))
	return int64(math.Min(s, steps-1)) // the float may have reached 1
}

// tightest is the set of devices that BinPack takes of a node.
func (m *scored) tightest(r Request, v int) uint64 {
	return slices.MinFunc(m.sets(r, v), func(a, b uint64) int {
		return slices.Compare(m.deviceKey(r, v, BinPack, a), m.deviceKey(r, v, BinPack, b))
	})
}

// gradient is the score of FragmentationGradient and the devices.
func (m *scored) gradient(r Request, v int) (score int64, devices uint64) {
	before := m.fragments(v)
	value := func(set uint64) int64 { return before - m.after(r, Place{Node: int32(v), Devices: set}).fragments(v) }
	switch sets := m.sets(anywhere(r), v); {
	case r.Devices == 0:
		return m.grade(value(0)), 0
	case r.Devices > 1 && teamKey(r)[1] == 0:
		value, devices := m.oneByOne(r, v, before)
		return m.grade(value), devices
	default:
		// Whole: the lowest devices of each model, the models by their first. Parts of
		// one: each device, by index.
		slices.SortFunc(sets, func(a, b uint64) int {
			ma, mb := m.firstOfModel(v, a), m.firstOfModel(v, b)
			if ma != mb && teamKey(r)[1] == 1 {
				return ma - mb
			}
			return slices.Compare(indices(a), indices(b))
		})
		whole, seen, chosen, first := teamKey(r)[1] == 1, map[int32]bool{}, int64(0), true
		for _, set := range sets {
			model := m.nodes[v].Devices[bits.TrailingZeros64(set)].Model
			if whole && seen[model] {
				continue
			}
			seen[model] = true
			s := m.grade(value(set))
			if first || s > score {
				score, first = s, false
			}
			// The score minds no island, the choice of devices does.
			if s, is := s, !whole || m.wholeOfModel(r, v, set) != 0; is && (devices == 0 || s > chosen) {
				chosen, devices = s, set
			}
		}
		if whole {
			devices = m.wholeOfModel(r, v, devices)
		}
	}
	return score, devices
}

// oneByOne takes parts of several devices of one model, each time the one after
// which F is least.
func (m *scored) oneByOne(r Request, v int, before int64) (value int64, devices uint64) {
	one, none := r, r
	one.Devices, one.Amounts = 1, nil
	none.Devices, none.Milli, none.Memory = 0, 0, 0
	models := []int32{}
	for _, d := range m.nodes[v].Devices {
		if !slices.Contains(models, d.Model) {
			models = append(models, d.Model)
		}
	}
	for _, model := range models {
		now, chosen, f := m.after(none, Place{Node: int32(v), Devices: 0}), uint64(0), int64(0)
		room := func(i int) bool {
			d := m.nodes[v].Devices[i]
			return d.Model == model && !d.Unhealthy && accepted(r, d) && m.left(v, i) >= part(r, d)
		}
		for range r.Devices {
			best := -1
			for i := range m.nodes[v].Devices {
				if chosen>>i&1 == 1 || !room(i) || !m.canBecome(r, v, chosen|1<<i) {
					continue
				}
				if g := now.after(one, Place{Node: int32(v), Devices: 1 << i}).fragments(v); best < 0 || g < f {
					best, f = i, g
				}
			}
			if best < 0 {
				chosen = 0
				break
			}
			chosen |= 1 << best
			now = now.after(one, Place{Node: int32(v), Devices: 1 << best})
		}
		if chosen != 0 && bits.OnesCount64(chosen) == int(r.Devices) && (devices == 0 || before-f > value) {
			devices, value = chosen, before-f
		}
	}
	return value, devices
}

func indices(set uint64) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}

func (m *scored) firstOfModel(v int, set uint64) int {
	model := m.nodes[v].Devices[bits.TrailingZeros64(set)].Model
	return slices.IndexFunc(m.nodes[v].Devices, func(d Device) bool { return d.Model == model })
}

// score is a node's score and the devices.
func (m *scored) score(r Request, v int, st Strategy) (score int64, devices uint64) {
	if st == FragmentationGradient {
		return m.gradient(r, v)
	}
	devices = m.tightest(r, v)
	mostCPU, mostGPU := m.largest()
	then := m.after(r, Place{Node: int32(v), Devices: devices})
	ratio := func(a, b int64) *big.Rat { return big.NewRat(a, b) }
	// 100·(1 − (a + b)/2)
	half := func(a, b *big.Rat) int64 {
		sum := new(big.Rat).Add(a, b)
		sum.Mul(sum, ratio(50, 1))
		return floor(sum.Sub(ratio(100, 1), sum))
	}
	switch st {
	case DotProduct:
		cpu := new(big.Rat).Mul(ratio(m.cpuLeft(v), mostCPU), ratio(m.cpuLeft(v)-then.cpuLeft(v), mostCPU))
		gpu := new(big.Rat).Mul(ratio(m.gpuLeft(v), mostGPU), ratio(m.gpuLeft(v)-then.gpuLeft(v), mostGPU))
		score = half(cpu, gpu)
	case BestFit:
		score = half(ratio(then.cpuLeft(v), mostCPU), ratio(then.gpuLeft(v), mostGPU))
	case GPUPacking:
		score = m.packing(r, v, devices)
	case GPUClustering:
		score = m.clustering(r, v, mostGPU)
	}
	return score, devices
}

func (m *scored) packing(r Request, v int, devices uint64) int64 {
	if r.Devices == 0 {
		return 0
	}
	idle, healthy, opened, percent := true, int64(0), int64(0), int64(0)
	for i, d := range m.nodes[v].Devices {
		if d.Unhealthy {
			continue
		}
		healthy++
		idle = idle && m.whole(v, i)
		if devices>>i&1 == 1 {
			percent += m.milli(v, i) * 100 / 1000
			if m.whole(v, i) {
				opened++
			}
		}
	}
	switch {
	case idle:
		return max(0, 33-healthy)
	case opened > 0:
		return max(33, 50-opened)
	}
	return max(50, 100-percent/10)
}

func (m *scored) clustering(r Request, v int, most int64) int64 {
	if r.Devices == 0 {
		return 0
	}
	others := 0
	for key, n := range m.teams[v] { // a count: order cannot matter
		if n > 0 && key != teamKey(r) {
			others++
		}
	}
	base := int64(0)
	switch same := m.teams[v][teamKey(r)] > 0; {
	case same && others == 0:
		base = 75
	case same:
		base = 50
	case others == 0:
		base = 25
	}
	return base + 25*(most-m.gpuLeft(v))/most
}

// find looks at every node.
func (m *scored) find(r Request, st Strategy) (Place, bool) {
	if closer := r; r.PreferIsland > r.Island && r.Devices > 1 {
		closer.Island, closer.PreferIsland = r.PreferIsland, AnyIsland
		if p, ok := m.find(closer, st); ok {
			return p, true
		}
	}
	best, found := Place{Node: -1}, false
	var bestKey []int64
	var terms *shadowTerms
	if st == ShadowPrice {
		own := len(m.scoring.Mix)
		m = m.foreseeing()
		terms = m.shadowTerms(own)
	}
	for v := range m.nodes {
		if m.miss(r, v).Predicate != 0 {
			continue
		}
		if st == ShadowPrice {
			if key, devices := m.shadow(terms, r, v); !found || slices.Compare(key, bestKey) < 0 {
				best, bestKey, found = Place{Node: int32(v), Devices: devices}, key, true
			}
			continue
		}
		score, devices := m.score(r, v, st)
		then, tie := m.after(r, Place{Node: int32(v), Devices: devices}), int64(0)
		switch m.scoring.Ties {
		case LeastGPULeft:
			tie = then.gpuLeft(v)
		case LeastCPULeft:
			tie = then.cpuLeft(v)
		}
		if key := []int64{-score, tie}; !found || slices.Compare(key, bestKey) < 0 {
			best, bestKey, found = Place{Node: int32(v), Devices: devices}, key, true
		}
	}
	return best, found
}
