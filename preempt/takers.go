package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// Whether some node takes a task is asked again and again as units come and go. Nodes
// change only where they are touched, so of those alone it is asked again.

// A news is what the nodes take that were touched since some time.
type news struct {
	since, until int // of Evaluator.touched
	nodes        []int32
	takers       []int32 // by shape: a node that takes one, plus two; 1 is none, 0 not asked yet
}

// mostNews is how many of them are kept: questions that were asked before at as many
// times.
const mostNews = 8

// newsSince are those since so much was touched, nil if nothing was.
func newsSince(r *Evaluator, since int) *news {
	now := len(r.touched)
	if since == now {
		return nil
	}
	if len(r.news) > 0 && r.news[0].until != now || len(r.news) == mostNews {
		r.news = r.news[:0]
	}
	for i := range r.news {
		if r.news[i].since == since {
			return &r.news[i]
		}
	}
	n := len(r.news)
	r.news = slices.Grow(r.news, 1)[:n+1]
	out := &r.news[n]
	out.since, out.until, out.takers = since, now, out.takers[:0]
	out.nodes = append(out.nodes[:0], r.touched[since:]...)
	slices.Sort(out.nodes)
	out.nodes = slices.Compact(out.nodes)
	return out
}

// takerOf is a node of them that takes a task of the shape, −1 if none does.
func (n *news) takerOf(r *Evaluator, shape placement.Shape) int32 {
	if more := int(shape) + 1 - len(n.takers); more > 0 {
		n.takers = append(n.takers, make([]int32, more)...)
	}
	if n.takers[shape] == 0 {
		n.takers[shape] = 1
		if at := slices.IndexFunc(n.nodes, func(node int32) bool { return r.Index.RoomOn(shape, node) > 0 }); at >= 0 {
			n.takers[shape] = n.nodes[at] + 2
		}
	}
	return n.takers[shape] - 2
}

// A taker is what is known of a shape: a node that took one when so much was touched.
type taker struct {
	touched int   // of Evaluator.touched, plus one; 0 is that it was never asked
	node    int32 // −1 is none
}

// findsPlace says whether some node takes a task of the shape as things stand.
func (s *search) findsPlace(shape placement.Shape) bool {
	r := s.room
	if !s.ask.Still && r.takersFor != s { // something is leaving, which may count or not
		clear(r.takers)
		r.takersFor = s
	}
	if more := int(shape) + 1 - len(r.takers); more > 0 {
		r.takers = append(r.takers, make([]taker, more)...)
	}
	t, now := &r.takers[shape], len(r.touched)
	x := s.ask.nodes(r.Index)
	switch {
	case t.touched == now+1:
		return t.node >= 0
	case t.touched > 0 && t.node >= 0 && x.RoomOn(shape, t.node) > 0:
	case t.touched > 0 && t.node < 0 && s.ask.Still:
		t.node = newsSince(r, t.touched-1).takerOf(r, shape)
	default:
		t.node = -1
		if place, ok := x.Find(shape, placement.Default); ok {
			t.node = place.Node
		}
	}
	t.touched = now + 1
	return t.node >= 0
}

// marks say of the numbers below some bound whether they have been marked since the marks began; to begin
// anew takes no time in how many there are.
type marks struct {
	at   []int32 // by number: the turn in which it was marked
	turn int32
}

// begin has none of the numbers below n be marked.
func (m *marks) begin(n int) {
	if m.turn++; len(m.at) < n || m.turn < 0 {
		m.at, m.turn = make([]int32, n+n/4), 1 // units and workloads come one by one
	}
}

// mark marks a number, and says whether it was not.
func (m *marks) mark(i int32) (fresh bool) {
	fresh = m.at[i] != m.turn
	m.at[i] = m.turn
	return fresh
}

// has says whether a number is marked.
func (m *marks) has(i int32) bool { return m.at[i] == m.turn }
