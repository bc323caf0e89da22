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
	item                   []int32 // by node: its item, plus one
}

// noHeap is where a node is of which nothing is known that could be taken.
const noHeap int32 = -1

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
	p.item = append(p.item[:0], make([]int32, s.room.Nodes)...)
	p.place = slices.Grow(p.place[:0], 1+len(items))[:len(items)]
	p.worth = slices.Grow(p.worth[:0], 1+len(items))
	for i := range items {
		p.worth = append(p.worth, worthOf(s, &items[i].list))
		at := p.heapFor(&items[i].list)
		items[i].heap, p.item[items[i].node] = int32(at), int32(i)+1
		p.use(at)
		p.place[i] = int32(len(p.heap))
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

// set has what a node costs be a list, and says whether that is any. A node stays the item that it is, and moves from
// where it is in its heap, as it mostly is in the same one again and costs but a little more.
func (p *prices) set(n int32, l list) bool {
	at := noHeap
	if len(l.ids) > 0 {
		at = int32(p.heapFor(&l))
	}
	if p.item[n] == 0 {
		if at == noHeap {
			return false
		}
		p.use(int(at))
		p.worth = append(p.worth, worthOf(p.search, &l))
		p.push(cacheEntry{n, at, l})
		p.item[n] = int32(len(p.items))
		return true
	}
	i := p.item[n] - 1
	e := &p.items[i]
	was := e.heap
	if e.heap = at; was == at && at != noHeap {
		e.list = l
		p.worth[i] = worthOf(p.search, &e.list)
		p.use(int(at))
		p.moved(i)
		return true
	}
	if was != noHeap {
		p.use(int(was))
		p.remove(i)
	}
	if at == noHeap {
		return false
	}
	e.list = l
	p.worth[i] = worthOf(p.search, &e.list)
	p.use(int(at))
	p.enter(i)
	return true
}

// again has what changes with every use be in order.
func (p *prices) again(s *search) {
	p.search = s
	p.use(0)
	p.order()
}

// least is the least price, nil if there is none. Its heap is at hand then.
func (p *prices) least() *cacheEntry {
	best := -1
	for i := range p.heaps {
		p.use(i)
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
