package preempt

import "slices"

// prices are what clearing each of many nodes costs, of which the least is asked again and again while what
// queues use changes. Where all who would go are of one leaf and hold the same, whatever happens goes for all
// of these: which of their nodes costs less stays as it is, so that they are a heap and stay one. Between
// leaves, and between sizes, every start may turn the order: of each heap the least is compared anew. Lists of
// several leaves or sizes are the first heap, which is made anew for each question.
type prices struct {
	leastFirst[cacheEntry] // that at hand, whose items are those of all
	heaps                  [][]int32
	at                     int // of heaps
	of                     map[alikeVictims]int
	known                  alikeVictims // whose heap was asked for last
	heapOf                 int
}

// alikeVictims are those of a leaf that hold the same; of a preemption, which asks for no use, all are alike.
type alikeVictims struct{ leaf, charge int32 }

// begin has the prices be these, and none else.
func (p *prices) begin(s *search, items []cacheEntry) {
	if p.of == nil {
		p.of = make(map[alikeVictims]int)
		p.compare = func(s *search, x, y *cacheEntry) int { return s.compareLists(&x.list, &y.list) }
	}
	clear(p.of)
	p.use(0)
	for i := range p.heaps {
		p.heaps[i] = p.heaps[i][:0]
	}
	p.search, p.items, p.free, p.heap = s, items, p.free[:0], p.heap[:0]
	p.heaps, p.at, p.known, p.heapOf = p.heaps[:min(len(p.heaps), 1)], 0, alikeVictims{}, 0
	for i := range items {
		p.use(p.heapFor(&items[i].list))
		p.heap = append(p.heap, int32(i))
	}
	for i := range p.heaps {
		p.use(i)
		p.order()
	}
}

// use has another heap be at hand.
func (p *prices) use(i int) {
	if len(p.heaps) == 0 {
		p.heaps = append(p.heaps, p.heap)
	}
	p.heaps[p.at] = p.heap
	p.at, p.heap = i, p.heaps[i]
}

// heapFor is the heap in which a list belongs.
func (p *prices) heapFor(l *list) int {
	r, of := p.search.room, alikeVictims{-1, -1}
	if p.search.ask.reclaims() {
		first := &r.state[l.ids[0]]
		of = alikeVictims{first.leaf, first.charge}
		for _, id := range l.ids[1:] {
			if u := &r.state[id]; u.leaf != of.leaf || u.charge != of.charge {
				of.charge = 0
			}
		}
		if of.charge == 0 {
			return 0
		}
	}
	if of == p.known {
		return p.heapOf
	}
	at, known := p.of[of]
	if !known {
		at = len(p.heaps)
		p.heaps = slices.Grow(p.heaps, 1)[:at+1] // in the memory of the last time
		p.heaps[at], p.of[of] = p.heaps[at][:0], at
	}
	p.known, p.heapOf = of, at
	return at
}

// add adds a price.
func (p *prices) add(e cacheEntry) {
	p.use(p.heapFor(&e.list))
	p.push(e)
}

// again has what changes with every use be in order.
func (p *prices) again(s *search) {
	p.search = s
	p.use(0)
	p.order()
}

// least is the least price of which nothing newer is known, nil if there is none. Its heap is at hand then.
func (p *prices) least(version []int32) *cacheEntry {
	best := -1
	for i := range p.heaps {
		p.use(i)
		for len(p.heap) > 0 && p.top().version != version[p.top().node] {
			p.pop()
		}
		if len(p.heap) > 0 && (best < 0 || p.compare(p.search, p.top(), &p.items[p.heaps[best][0]]) < 0) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	p.use(best)
	return p.top()
}
