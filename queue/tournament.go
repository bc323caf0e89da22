package queue

// noQueue stands in the place of a queue where nothing waits.
const noQueue = -1

// A group is the tournament of one sibling group: a winner tree of its n
// queues. Player i stands at n+i, the winner of the places 2i and 2i+1 at i, so
// the winner of all at 1. (Where n is no power of two the places are not in the
// order of the players; under a total order the same one wins.)
type group struct {
	places []int32 // queues, or noQueue; 2n of them, the first unused
}

// winner returns the queue that goes first, or noQueue. O(1).
func (g group) winner() int32 {
	if len(g.places) == 0 {
		return noQueue
	}
	return g.places[1]
}

// replay puts queue, just weighed, on its place among its siblings and plays
// its matches again: O(log n) comparisons, and fewer where it loses early as
// before. It reports whether the group has another winner or the same one
// weighed anew; where not, nothing changed for the parent's best workload.
func (q *Queues) replay(queue int32) bool {
	places := q.groups[q.parent[queue]+1].places
	at := q.place[queue]
	if q.contenders[queue].leaf == noQueue {
		places[at] = noQueue
	} else {
		places[at] = queue
	}
	for at /= 2; at > 0; at /= 2 {
		winner := q.match(places[2*at], places[2*at+1])
		if winner == places[at] && winner != queue {
			return false
		}
		places[at] = winner
	}
	return true
}

// match returns the one of two siblings that goes first; noQueue goes after
// every queue.
func (q *Queues) match(a, b int32) int32 {
	switch {
	case a == noQueue:
		return b
	case b == noQueue:
		return a
	}
	first, _ := q.ranking.compare(&q.contenders[a], &q.contenders[b])
	if first > 0 {
		return b
	}
	return a
}

// compare returns how a stands to b, negative if a goes before b, and the index
// of the comparison that decided.
func (r *ranking) compare(a, b *contender) (int, int) {
	last := len(r.list) - 1
	for i := range last {
		if c := r.list[i].compare(a, b); c != 0 {
			return c, i
		}
	}
	return r.list[last].compare(a, b), last
}
