package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// A trial is what is remembered of a list that was tried and does not serve. It would
// be tried with the same end as long as none of the nodes that it came to changes, and
// none that changes takes what was to move before the first that found no place.
type trial struct {
	like    int32 // the preemptors for which it was tried
	touched int   // what of Evaluator.touched it knows
	nodes   []int32
	shapes  []placement.Shape
	cost    int64
	// kinds are those of who is to move, the best standing first, if with a preemptor that is like kindsFor on
	// their node that takes none of them any more; else there are none.
	kinds    []int32
	kindsFor int32
}

// note remembers that the list was tried just now, by so many steps.
func (t *trial) note(s *search, steps int64) {
	tried := &s.room.scratch
	remember(s.room, &t.cost, steps)
	t.like, t.touched = s.ask.Equivalence, len(s.room.touched)
	t.nodes, t.shapes = append(t.nodes[:0], tried.nodesTried...), append(t.shapes[:0], tried.shapesTried...)
}

// stillFails says whether the list would be tried in vain again.
func (t *trial) stillFails(s *search) bool {
	r := s.room
	if t.touched < 0 || t.like != s.ask.Equivalence {
		return false
	}
	news := newsSince(r, t.touched)
	if t.touched = len(r.touched); news == nil {
		return true
	}
	if slices.ContainsFunc(news.nodes, func(n int32) bool { return slices.Contains(t.nodes, n) }) ||
		slices.ContainsFunc(t.shapes, func(shape placement.Shape) bool { return news.takerOf(r, shape) >= 0 }) {
		t.touched = -1
		return false
	}
	return true
}

// forgetTrials forgets what was tried of the lists of a node.
func (at *nodePlans) forgetTrials(r *Evaluator) {
	for i := range at.lists {
		if t := at.lists[i].trial; t != nil {
			remember(r, &t.cost, 0)
		}
	}
}

// giveTrials has lists remember in vain trials, where what comes of a trial depends on
// nothing but nodes: alone says that all who stand on the node have one task, which is all
// of their workloads.
func giveTrials(lists []list, alone bool) {
	if !alone {
		return
	}
	trials := make([]trial, len(lists))
	for i := range lists {
		trials[i].touched, lists[i].trial = -1, &trials[i]
	}
}

// Many lists are of the same kinds: where two move from one node, of which only one finds a place, so do two
// like them from all other nodes. So what has been tried from one node tells of others (M8).

// A kindsKey is some kinds of units, the best standing first, and 0 behind the last.
type kindsKey [4]int32

// A deadEnd is what came of units of some kinds that looked for places one after the other, as the node that they
// left took none of them: the last found none once the others had theirs.
type deadEnd struct {
	nodes  []int32           // those that the others came to
	shapes []placement.Shape // what they and the last ask
	steps  int               // that it took to look for places
}

// deadEnds are those that were found since something changed on a node the last time.
type deadEnds struct {
	touched int // what of Evaluator.touched was read
	of      map[kindsKey]deadEnd
	// order are the units of the list that is tried, the best standing first, from when the preemptor stands on
	// their node. at is which of them no node took, −1 is none, and steps what it took to look for places until then.
	order []UnitID
	at    int
	steps int64
}

// begins takes note, once the preemptor stands where units have left their node, of what of these decides where they go.
func (d *deadEnds) begins(t *taking, order []UnitID) {
	r := t.room
	d.order, d.at, d.steps = order, -1, r.Effort.Spent()
	t.trial.kinds, t.trial.kindsFor = t.trial.kinds[:0], t.ask.Equivalence
	for _, id := range order {
		u := r.units[id]
		if u.Like == 0 || r.Index.RoomOn(r.state[id].shape, r.state[id].node) > 0 {
			t.trial.kinds = t.trial.kinds[:0]
			return
		}
		t.trial.kinds = append(t.trial.kinds, u.Like)
	}
}

// ends takes note of the first that finds no place, if that is so for want of a node.
func (d *deadEnds) ends(t *taking, at int) {
	r := t.room
	if _, ok := r.Index.Find(r.state[d.order[at]].shape, placement.Default); !ok && at < len(t.trial.kinds) {
		d.at, d.steps = at, r.Effort.Spent()-d.steps
	}
}

// keep keeps what came of the list that was tried last, which stood on a node: for others, where as things stand that
// node takes none of who would move, so that they do not go there.
func (d *deadEnds) keep(r *Evaluator, l *list) {
	at, key := d.at, kindsKey{}
	if d.at = -1; at < 0 || at >= len(key) || slices.ContainsFunc(d.order[:at+1], func(id UnitID) bool {
		return r.Index.RoomOn(r.state[id].shape, l.nodes[0]) > 0
	}) {
		return
	}
	if d.touched != len(r.touched) || d.of == nil {
		d.of, d.touched = make(map[kindsKey]deadEnd), len(r.touched)
	}
	copy(key[:], l.trial.kinds[:at+1])
	out := deadEnd{shapes: slices.Clone(r.scratch.shapesTried), steps: int(d.steps)}
	for _, n := range r.scratch.nodesTried {
		if n != l.nodes[0] {
			out.nodes = append(out.nodes, n)
		}
	}
	d.of[key] = out
}

// comesTo says whether it is known that a list comes to a dead end, and counts what it would cost to try it: to take
// who would move and put them back, to place the preemptor, and to look for places.
func (d *deadEnds) comesTo(s *search, l *list) bool {
	r, t := s.room, l.trial
	if t == nil || len(t.kinds) == 0 || t.kindsFor != s.ask.Equivalence || d.touched != len(r.touched) {
		return false
	}
	key := kindsKey{}
	for at := range min(len(key), len(t.kinds)) {
		key[at] = t.kinds[at]
		if end, ok := d.of[key]; ok && !slices.Contains(end.nodes, l.nodes[0]) {
			r.Effort.Spend(2*len(l.ids) + placingOf(r, s.ask.Preemptor) + end.steps)
			r.scratch.nodesTried = append(append(r.scratch.nodesTried[:0], end.nodes...), l.nodes[0])
			r.scratch.shapesTried = append(r.scratch.shapesTried[:0], end.shapes...)
			return true
		}
	}
	return false
}
