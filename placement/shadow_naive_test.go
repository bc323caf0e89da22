package placement

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/allotsched/allot/quota"
)

// The reference of ShadowPrice, written from the package comment: everything from
// the nodes and the mix, each time anew, in large numbers.

// shadowTerms are what of the mix and all empty nodes ShadowPrice goes by.
type shadowTerms struct {
	worth    *worth
	targets  []shadowTarget // those that some empty node takes
	scarcity [][2]int64     // by node, in 2^-20, of devices and of the resource
	devices  int64          // how much what is free of devices counts, in 2^-20
}

type shadowTarget struct {
	Target
	size, demand int64
}

// hostedBy reports whether the node would take the target, were it empty.
func (m *scored) hostedBy(r Request, v int) bool {
	n := m.nodes[v]
	if r.Classes != nil && !slices.Contains(r.Classes, n.Class) {
		return false
	}
	for _, a := range r.Amounts {
		if n.Capacity[a.Resource] < a.Value {
			return false
		}
	}
	byModel := map[int32]int32{}
	for _, d := range n.Devices {
		if accepted(r, d) {
			byModel[d.Model]++
			if byModel[d.Model] >= r.Devices {
				return true
			}
		}
	}
	return false
}

// foreseeing is the cluster with what is foreseen behind its mix.
func (m *scored) foreseeing() *scored {
	out := *m
	out.scoring.Mix = slices.Clone(m.scoring.Mix)
	total := int64(0)
	for _, t := range m.scoring.Mix {
		total += t.Weight
	}
	if total == 0 {
		return &out
	}
	for ; 2*total <= 1<<39; total *= 2 {
		for i := range out.scoring.Mix {
			out.scoring.Mix[i].Weight *= 2
		}
	}
	for ; total > 1<<39; total /= 2 {
		for i := range out.scoring.Mix {
			out.scoring.Mix[i].Weight = (out.scoring.Mix[i].Weight + 1) / 2
		}
	}
	type whole struct {
		devices int32
		amounts string
	}
	kinds, devices, all := map[whole]Request{}, map[whole]int64{}, int64(0)
	for _, n := range m.nodes {
		r := Request{Milli: 1000, Set: -1}
		byModel := map[int32]int32{}
		for _, d := range n.Devices {
			byModel[d.Model]++
			r.Devices = max(r.Devices, byModel[d.Model])
		}
		if r.Devices == 0 {
			continue
		}
		for resource := range int32(len(n.Capacity)) {
			amount, unit := n.Capacity[resource], int64(1)
			for amount/unit >= 16 {
				unit *= 2
			}
			if amount = amount / unit * unit; amount > 0 {
				r.Amounts = append(r.Amounts, quota.Amount{Resource: resource, Value: amount})
			}
		}
		k := whole{r.Devices, fmt.Sprint(r.Amounts)}
		kinds[k], devices[k], all = r, devices[k]+int64(len(n.Devices)), all+int64(len(n.Devices))
	}
	for k, r := range kinds { // the order of targets cannot matter
		weight := new(big.Int).Mul(big.NewInt(total), big.NewInt(devices[k]))
		if weight.Quo(weight, big.NewInt(200*all)); weight.Sign() > 0 {
			out.scoring.Mix = append(out.scoring.Mix, Target{r, weight.Int64()})
		}
	}
	return &out
}

// shadowTerms are those of a mix of which the first own are its own, and the others are
// foreseen.
func (m *scored) shadowTerms(own int) *shadowTerms {
	s := &shadowTerms{}
	bySize := map[int64]int64{}
	demand := int64(0)
	for at, t := range m.scoring.Mix {
		hosted, size := false, int64(1)
		if t.Request.Devices == 0 {
			continue
		}
		for v := range m.nodes {
			hosted = hosted || m.hostedBy(t.Request, v)
			for _, d := range m.nodes[v].Devices {
				if unit := max(1, d.Memory); accepted(t.Request, d) {
					size = max(size, (part(t.Request, d)+unit-1)/unit)
				}
			}
		}
		if hosted {
			pieces := t.Weight * int64(t.Request.Devices)
			s.targets = append(s.targets, shadowTarget{t, size, pieces * size})
			demand += pieces * size
			if at < own {
				bySize[size] += pieces
			}
		}
	}
	var sizes, counts []int64
	for size := int64(1); size <= 1000; size++ {
		if bySize[size] > 0 {
			sizes, counts = append(sizes, size), append(counts, bySize[size])
		}
	}
	s.worth = priceSizes(sizes, counts, maxPivots)
	m.addScarcity(s, demand)
	m.addShortage(s, own)
	return s
}

// addShortage compares what the first own of the mix ask with what the nodes have.
func (m *scored) addShortage(s *shadowTerms, own int) {
	s.devices = 1 << 20
	cpu := m.scoring.CPU
	milli, amount, most := m.inAll()
	asked, askedCPU := new(big.Rat), new(big.Rat)
	add := func(to *big.Rat, weight, each int64) {
		to.Add(to, new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(weight), big.NewInt(each))))
	}
	for _, t := range m.scoring.Mix[:own] {
		if t.Request.Devices == 0 && most >= t.Request.Amounts.Of(cpu) {
			add(askedCPU, t.Weight, t.Request.Amounts.Of(cpu))
		}
		if at := slices.IndexFunc(s.targets, func(o shadowTarget) bool { return reflect.DeepEqual(o.Target, t) }); t.Request.Devices > 0 && at >= 0 {
			add(asked, t.Weight, int64(t.Request.Devices)*s.targets[at].size)
			add(askedCPU, t.Weight, t.Request.Amounts.Of(cpu))
		}
	}
	if milli == 0 || amount == 0 || askedCPU.Sign() == 0 {
		return
	}
	asked.Quo(asked, big.NewRat(milli, 1))
	askedCPU.Quo(askedCPU, big.NewRat(amount, 1))
	part := asked.Quo(asked, askedCPU)
	part.Mul(part, big.NewRat(8, 1)).Sub(part, big.NewRat(7, 1))
	s.devices = min(max(0, floor(part.Mul(part, big.NewRat(1<<20, 1)))), 1<<20)
}

// inAll is what all nodes have, in milli of devices and of the resource that is weighed, and the
// most that one has of that.
func (m *scored) inAll() (milli, amount, most int64) {
	for _, n := range m.nodes {
		milli += 1000 * int64(len(n.Devices))
		if cpu := m.scoring.CPU; cpu >= 0 && int(cpu) < len(n.Capacity) {
			has := max(0, n.Capacity[cpu])
			amount, most = amount+has, max(most, has)
		}
	}
	return milli, amount, most
}

// freeShort is what is free on a node, in milli and 2^-20, of what runs out first.
func (m *scored) freeShort(s *shadowTerms, r Request, v int) *big.Rat {
	sum := big.NewRat(s.devices*m.gpuLeft(v), 1)
	if s.devices < 1<<20 && len(m.nodes[v].Devices) > 0 {
		cpu := m.scoring.CPU
		milli, amount, _ := m.inAll()
		left := new(big.Int).Mul(big.NewInt(max(0, m.nodes[v].Capacity[cpu]-m.used[v].amounts[cpu])), big.NewInt(milli))
		part := (1<<20 - s.devices) * left.Quo(left, big.NewInt(amount)).Int64()
		sum.Add(sum, big.NewRat(part, 1))
	}
	return sum
}

// resourceLeft is what is free of the resource that is weighed on a node with devices, in milli.
func (m *scored) resourceLeft(v int) int64 {
	cpu := m.scoring.CPU
	milli, amount, _ := m.inAll()
	if cpu < 0 || amount == 0 || len(m.nodes[v].Devices) == 0 {
		return 0
	}
	left := new(big.Int).Mul(big.NewInt(max(0, m.nodes[v].Capacity[cpu]-m.used[v].amounts[cpu])), big.NewInt(milli))
	return left.Quo(left, big.NewInt(amount)).Int64()
}

// addScarcity says how dear a milli is of each node: of each target that it serves its part of what is
// asked times what is free of the nodes that do not serve it over what is free of those that do. It is of
// devices or of the resource by what of the two runs out first for those targets.
func (m *scored) addScarcity(s *shadowTerms, demand int64) {
	s.scarcity = make([][2]int64, len(m.nodes))
	milli, amount, most := m.inAll()
	of := func(r Request) *big.Int {
		if amount == 0 {
			return new(big.Int)
		}
		return big.NewInt(r.Amounts.Of(m.scoring.CPU))
	}
	resource := new(big.Int)
	for _, t := range m.scoring.Mix {
		asks := of(t.Request)
		if t.Request.Devices == 0 && asks.Cmp(big.NewInt(most)) <= 0 {
			resource.Add(resource, asks.Mul(asks, big.NewInt(t.Weight)))
		}
	}
	for _, t := range s.targets {
		asks := of(t.Request)
		resource.Add(resource, asks.Mul(asks, big.NewInt(t.Weight)))
	}
	part := func(asks, all *big.Int) int64 {
		if all.Sign() == 0 {
			return 0
		}
		share := new(big.Int).Lsh(asks, 20)
		return share.Quo(share, all).Int64()
	}
	type claim struct{ devices, resource, milli, amount *big.Int }
	shares := map[string]*claim{} // of targets that the same nodes serve
	for _, t := range s.targets {
		on := make([]byte, len(m.nodes))
		for v, n := range m.nodes {
			if on[v] = '-'; m.hostedBy(t.Request, v) || len(n.Devices) == 0 {
				on[v] = '+'
			}
		}
		times := int64(1)
		if t.Request.Models != nil || t.Request.Classes != nil {
			times = 3
		}
		c := shares[string(on)]
		if c == nil {
			c = &claim{new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
			shares[string(on)] = c
		}
		asks := of(t.Request)
		asks.Mul(asks, big.NewInt(t.Weight))
		c.devices.Add(c.devices, big.NewInt(times*part(big.NewInt(t.demand), big.NewInt(demand))))
		c.resource.Add(c.resource, big.NewInt(5*part(asks, resource)))
		c.milli.Add(c.milli, big.NewInt(t.demand))
		c.amount.Add(c.amount, asks)
	}
	for on, c := range shares {
		elsewhere, free := [2]int64{}, [2]int64{}
		for v := range m.nodes {
			left := [2]int64{m.gpuLeft(v), m.resourceLeft(v)}
			for k := range left {
				if on[v] == '+' {
					free[k] += left[k]
				} else {
					elsewhere[k] += left[k]
				}
			}
		}
		if free[0] == 0 {
			continue
		}
		// 8 u − 7, of which u is what is asked of both over what is free of both.
		devices := int64(1 << 20)
		if c.amount.Sign() > 0 {
			ratio := new(big.Int).Mul(c.milli, big.NewInt(amount))
			ratio.Lsh(ratio, 20).Quo(ratio, new(big.Int).Mul(c.amount, big.NewInt(milli)))
			ratio.Mul(ratio, big.NewInt(free[1])).Quo(ratio, big.NewInt(free[0]))
			ratio.Mul(ratio, big.NewInt(8)).Sub(ratio, big.NewInt(7<<20))
			if ratio.Cmp(big.NewInt(1<<20)) < 0 {
				devices = max(0, ratio.Int64())
			}
		}
		for k, share := range []*big.Int{c.devices, c.resource} {
			if free[k] == 0 {
				continue
			}
			price := new(big.Int).Mul(share, big.NewInt(elsewhere[k]))
			price.Quo(price, big.NewInt(free[k])).Mul(price, big.NewInt([]int64{devices, 1<<20 - devices}[k])).Rsh(price, 20)
			for v := range m.nodes {
				if on[v] == '+' && len(m.nodes[v].Devices) > 0 {
					s.scarcity[v][k] += price.Int64()
				}
			}
		}
	}
}

// dear is S of a request in 2^-10 milli.
func (m *scored) dear(s *shadowTerms, r Request, v int) (sum int64) {
	takes := [2]int64{m.takes(r)}
	if milli, amount, _ := m.inAll(); amount > 0 {
		asks := new(big.Int).Mul(big.NewInt(r.Amounts.Of(m.scoring.CPU)), big.NewInt(milli))
		takes[1] = asks.Quo(asks, big.NewInt(amount)).Int64()
	}
	for k := range takes {
		taken := new(big.Int).Mul(big.NewInt(takes[k]), big.NewInt(s.scarcity[v][k]))
		sum += taken.Rsh(taken, 10).Int64()
	}
	return sum
}

// takes is what a request takes in milli, of memory what its part is of the smallest device that it accepts.
func (m *scored) takes(r Request) int64 {
	size := int64(1)
	for v := range m.nodes {
		for _, d := range m.nodes[v].Devices {
			if unit := max(1, d.Memory); accepted(r, d) {
				size = max(size, (part(r, d)+unit-1)/unit)
			}
		}
	}
	return min(size, 1000) * int64(r.Devices)
}

// shadowNode is V and 20 F − 3 W of a node.
func (m *scored) shadowNode(s *shadowTerms, v int) (value int64, rest *big.Int) {
	for i := range m.nodes[v].Devices {
		value += s.worth.value[m.milli(v, i)]
	}
	rest = big.NewInt(20 * m.fragments(v))
	for _, t := range s.targets {
		pieces, room, byModel, enough := int64(0), int64(0), map[int32]int32{}, false
		for i, d := range m.nodes[v].Devices {
			if d.Unhealthy || !accepted(t.Request, d) || m.left(v, i) < part(t.Request, d) {
				continue
			}
			left := min(m.left(v, i), 1000*max(1, d.Memory))
			pieces += left / part(t.Request, d)
			room += m.milli(v, i)
			byModel[d.Model]++
			enough = enough || byModel[d.Model] >= t.Request.Devices
		}
		if !enough || t.Request.Classes != nil && !slices.Contains(t.Request.Classes, m.nodes[v].Class) {
			continue
		}
		usable := new(big.Int).Mul(big.NewInt(pieces), big.NewInt(t.size))
		if free := big.NewInt(room); free.Cmp(usable) < 0 {
			usable = free
		}
		for _, a := range t.Request.Amounts {
			free := max(0, m.nodes[v].Capacity[a.Resource]-m.used[v].amounts[a.Resource])
			limit := new(big.Int).Mul(big.NewInt(free), big.NewInt(t.size*int64(t.Request.Devices)))
			if limit.Quo(limit, big.NewInt(a.Value)); limit.Cmp(usable) < 0 {
				usable = limit
			}
		}
		rest.Sub(rest, usable.Mul(usable, big.NewInt(3*t.Weight)))
	}
	return value, rest
}

// shadowKey is what a task in its place is chosen by, lower first.
func (m *scored) shadowKey(s *shadowTerms, r Request, p Place) []int64 {
	v := int(p.Node)
	then := m.after(r, p)
	value, rest := m.shadowNode(s, v)
	valueThen, restThen := then.shadowNode(s, v)
	weight := int64(0)
	for _, t := range m.scoring.Mix {
		weight += t.Weight
	}
	spared := new(big.Rat).SetFrac(rest.Sub(rest, restThen), big.NewInt(20*max(1, weight)))
	spared.Mul(spared, big.NewRat(1024, 1))
	free := then.freeShort(s, r, v)
	free.Mul(free, big.NewRat(1024, 100<<20))
	return []int64{value - valueThen, m.dear(s, r, v) - floor(spared) + floor(free)}
}

// shadow is the key of a node and the devices.
func (m *scored) shadow(s *shadowTerms, r Request, v int) (key []int64, devices uint64) {
	whole := teamKey(r)[1] == 1
	switch {
	case r.Devices == 0:
		return m.shadowKey(s, r, Place{Node: int32(v), Devices: 0}), 0
	case r.Devices > 1 && !whole:
		return m.shadowOneByOne(s, r, v)
	}
	sets := m.sets(anywhere(r), v)
	slices.SortFunc(sets, func(a, b uint64) int {
		if ma, mb := m.firstOfModel(v, a), m.firstOfModel(v, b); whole && ma != mb {
			return ma - mb
		}
		return slices.Compare(indices(a), indices(b))
	})
	seen, most, least := map[int32]bool{}, int64(0), []int64(nil)
	for _, set := range sets {
		first := indices(set)[0]
		if model := m.nodes[v].Devices[first].Model; whole && seen[model] {
			continue
		} else {
			seen[model] = true
		}
		order := 1
		k := m.shadowKey(s, r, Place{Node: int32(v), Devices: set})
		// The key minds no island, the choice of devices does.
		if least == nil || slices.Compare(k, least) < 0 {
			least = k
		}
		if whole && m.wholeOfModel(r, v, set) == 0 {
			continue
		}
		if devices != 0 {
			order = slices.Compare(key, k)
		}
		if order > 0 || order == 0 && !whole && m.milli(v, first) > most {
			key, devices, most = k, set, m.milli(v, first)
		}
	}
	if whole {
		devices = m.wholeOfModel(r, v, devices)
	}
	return least, devices
}

// shadowOneByOne takes parts of several devices of one model, each time the one that
// makes the key least.
func (m *scored) shadowOneByOne(s *shadowTerms, r Request, v int) (key []int64, devices uint64) {
	models := map[int32]bool{}
	for _, d := range m.nodes[v].Devices {
		if models[d.Model] {
			continue
		}
		models[d.Model] = true
		chosen, reached := uint64(0), []int64(nil)
		for n := int32(1); n <= r.Devices; n++ {
			some := r
			some.Devices = n
			next := uint64(0)
			for i, o := range m.nodes[v].Devices {
				if chosen>>i&1 == 1 || o.Model != d.Model || o.Unhealthy || !accepted(r, o) || m.left(v, i) < part(r, o) ||
					!m.canBecome(r, v, chosen|1<<i) {
					continue
				}
				if k := m.shadowKey(s, some, Place{Node: int32(v), Devices: chosen | 1<<i}); next == 0 || slices.Compare(k, reached) < 0 {
					next, reached = 1<<i, k
				}
			}
			if next == 0 {
				chosen = 0
				break
			}
			chosen |= next
		}
		if chosen != 0 && (devices == 0 || slices.Compare(reached, key) < 0) {
			devices, key = chosen, reached
		}
	}
	return key, devices
}
