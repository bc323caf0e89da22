package placement

import (
	"math"
	"math/bits"
)

// A scorer is what the strategies that score have in common: what of each node
// their scores need, kept up from the changes that the index notes.
type scorer struct {
	read uint64   // of Index.moved
	last []uint64 // by node: one more than its latest place in moved that was read
	gpu  []int64  // by node: free milli of its healthy devices
	// mostCPU and mostGPU are the largest node's, by which amounts are divided.
	mostCPU, mostGPU int64
	cpu              int32 // the resource, or −1
	dot, fit         weighing
	fragments        *fragments // nil until FragmentationGradient is asked for
	shadows          *shadows   // nil until ShadowPrice is
	chance           *chance    // nil until Random is
}

func (x *Index) newScorer() *scorer {
	s := &scorer{
		read: x.moved.written, last: make([]uint64, len(x.nodes)), gpu: make([]int64, len(x.nodes)),
		cpu: x.scoring.CPU, mostGPU: 1000 * int64(x.mostDevice),
	}
	if x.resources == 0 {
		s.cpu = -1
	}
	for v := range x.nodes {
		if s.cpu >= 0 {
			s.mostCPU = max(s.mostCPU, x.capacityOf(int32(v))[s.cpu])
		}
		s.gpu[v] = x.freeMilli(&x.nodes[v], x.nodes[v].healthy)
	}
	s.dot, s.fit = newWeighing(s.mostCPU, s.mostGPU, 2), newWeighing(s.mostCPU, s.mostGPU, 1)
	return s
}

// catchUp reads what has changed since the last time.
func (s *scorer) catchUp(x *Index) {
	if s.fragments != nil && s.fragments.limit(x) {
		s.fragments.lookAll(x)
	}
	if s.shadows != nil {
		s.shadows.limit(x)
	}
	if x.moved.lost(s.read) {
		for v := range x.nodes {
			s.look(x, int32(v))
		}
		s.read = x.moved.written
		return
	}
	for ; s.read < x.moved.written; s.read++ {
		v := x.moved.at(s.read)
		s.look(x, v)
		s.last[v] = s.read + 1
	}
}

// look reads one node.
func (s *scorer) look(x *Index, v int32) {
	nd := &x.nodes[v]
	s.gpu[v] = x.freeMilli(nd, nd.healthy)
	if s.fragments != nil {
		s.fragments.look(x, v)
	}
	if s.shadows != nil {
		s.shadows.look(x, v)
	}
	if s.chance != nil {
		s.chance.look(x, v)
	}
}

// cpuLeft is what is free of the resource that is weighed, at least 0.
func (s *scorer) cpuLeft(x *Index, v int32) int64 {
	if s.cpu < 0 {
		return 0
	}
	return max(0, x.freeOf(v)[s.cpu])
}

// nowhere is the score of a node that does not take the task.
const nowhere = math.MinInt64

// A scoreboard holds, for one shape and strategy, each node's score and the node
// that wins.
type scoreboard struct {
	shape    *shape
	strategy Strategy
	read     uint64  // of Index.moved
	score    []int64 // by node, higher first
	tie      []int64 // by node, lower first; nil for none
	asks     ask
	// brackets are one of all nodes or, of ShadowPrice, one for each ground.
	brackets []bracketOf
}

// A bracketOf is a tournament tree over the positions of some nodes, of which a change plays
// the matches on one path again.
type bracketOf struct {
	nodes  []int32 // ascending; nil is all of them
	winner []int32 // by match: 1 is the final, 2i and 2i+1 lead to i; −1 is nobody
}

func newBracketOf(nodes []int32, n int) bracketOf {
	return bracketOf{nodes, make([]int32, 1<<bits.Len(uint(max(1, n-1))))}
}

func (x *Index) newScoreboard(sh *shape, st Strategy) *scoreboard {
	if x.scorer == nil {
		x.scorer = x.newScorer()
	}
	n := len(x.nodes)
	b := &scoreboard{shape: sh, strategy: st, score: make([]int64, n)}
	if x.scoring.Ties != ByPosition || st == ShadowPrice {
		b.tie = make([]int64, n)
	}
	x.scorer.prepare(x, b)
	if st != ShadowPrice {
		b.brackets = []bracketOf{newBracketOf(nil, n)}
	} else {
		for _, g := range x.scorer.shadows.scarcity.grounds {
			b.brackets = append(b.brackets, newBracketOf(g.nodes, len(g.nodes)))
		}
	}
	x.scorer.catchUp(x)
	b.anew(x)
	return b
}

// best returns the node of the best score, or −1.
func (b *scoreboard) best(x *Index) int32 {
	x.scorer.catchUp(x)
	switch moved := &x.moved; {
	case moved.lost(b.read):
		b.anew(x)
	default:
		for ; b.read < moved.written; b.read++ {
			// A node that changed several times is looked at once.
			if v := moved.at(b.read); x.scorer.last[v] == b.read+1 {
				if b.look(x, v) {
					b.play(x, v)
				}
			}
		}
	}
	if b.strategy == ShadowPrice {
		return b.cheapest(&x.scorer.shadows.scarcity)
	}
	return b.brackets[0].winner[1]
}

// cheapest is the best of those that win on the grounds, each with what its ground is scarce.
func (b *scoreboard) cheapest(c *scarcity) int32 {
	c.price()
	best, least := int32(-1), int64(0)
	for g := range b.brackets {
		v := b.brackets[g].winner[1]
		if v < 0 {
			continue
		}
		tie := b.tie[v] + c.dear(g, b.asks.takes)
		if best < 0 || b.score[v] > b.score[best] || b.score[v] == b.score[best] && (tie < least || tie == least && v < best) {
			best, least = v, tie
		}
	}
	return best
}

// anew scores every node.
func (b *scoreboard) anew(x *Index) {
	for v := range b.score {
		b.look(x, int32(v))
	}
	for i := range b.brackets {
		t := &b.brackets[i]
		for at := len(t.winner) - 1; at > 0; at-- {
			t.winner[at] = b.match(t, at)
		}
	}
	b.read = x.moved.written
}

// look scores one node and reports whether anything has changed.
func (b *scoreboard) look(x *Index, v int32) bool {
	score, tie := int64(nowhere), int64(0)
	if b.shape.allowed.has(v) {
		score, tie = x.scorer.score(x, b, v)
	}
	if b.tie != nil {
		if score == b.score[v] && tie == b.tie[v] {
			return false
		}
		b.tie[v] = tie
	} else if score == b.score[v] {
		return false
	}
	b.score[v] = score
	return true
}

// play plays the matches of node v again, as far as their outcome can change.
func (b *scoreboard) play(x *Index, v int32) {
	t, at := &b.brackets[0], v
	if b.strategy == ShadowPrice {
		c := &x.scorer.shadows.scarcity
		t, at = &b.brackets[c.of[v]], c.slot[v]
	}
	for i := (int(at) + len(t.winner)) / 2; i > 0; i /= 2 {
		w := b.match(t, i)
		if w == t.winner[i] && w != v {
			return
		}
		t.winner[i] = w
	}
}

// match returns the node that wins match i; the lower position, if both are as good.
func (b *scoreboard) match(t *bracketOf, i int) int32 {
	l, r := b.side(t, 2*i), b.side(t, 2*i+1)
	switch {
	case r < 0 || b.score[r] == nowhere:
		if l >= 0 && b.score[l] == nowhere {
			return -1
		}
		return l
	case l < 0 || b.score[l] < b.score[r]:
		return r
	case b.score[l] == b.score[r] && b.tie != nil && b.tie[r] < b.tie[l]:
		return r
	}
	return l
}

// side returns the node that comes to a match from i, or −1.
func (b *scoreboard) side(t *bracketOf, i int) int32 {
	switch at := i - len(t.winner); {
	case at < 0:
		return t.winner[i]
	case t.nodes != nil && at < len(t.nodes):
		return t.nodes[at]
	case t.nodes == nil && at < len(b.score):
		return int32(at)
	}
	return -1
}
