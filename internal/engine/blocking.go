package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
)

// Heads that cannot start block what their queue or the policy of their pool says (O4).

// A stop is a form of a workload that cannot start and that others may not pass.
type stop struct {
	work, priority int32
	how            queue.Queueing
	could          *cluster.Definition // as enqueuing.could
	until          int64               // in a forecast, when the last begins whom it speaks for
}

// stops says whether a form may not pass it.
func (one *stop) stops(f *cluster.Form, d *cluster.Definition) bool {
	switch one.how {
	case queue.BackfillPreemptible:
		return f.NonPreemptible && f.Priority < one.priority
	case queue.BackfillSingles:
		return len(d.Sets) != 1 || d.Sets[0].GPUs > 1 || d.Unit.Tasks() > 1
	}
	return true
}

// blocking is what a solver knows of it.
type blocking struct {
	// stops are those of the whole pool, and then those of each queue.
	stops [][]stop
	// uses are what definitions could use, by definition, nil until asked for.
	uses map[*cluster.Definition]*uses
}

// strict says whether a head of the queue that cannot start stops those behind it: then
// it does not wait for those within their lines, and every workload counts by itself.
func (s enqueuing) strict(leaf int32) bool {
	how := s.pool.Queueing[leaf].How
	return how == queue.StrictQueue || how == queue.StrictPool
}

// unblock forgets who blocks what.
func (s enqueuing) unblock() {
	if s.stops == nil {
		s.stops = make([][]stop, 1+len(s.pool.Parent))
	}
	for q := range s.stops {
		s.stops[q] = s.stops[q][:0]
	}
}

// block lets the refused form of workload i block what its queue or pool says (O4).
func (s enqueuing) block(i int32, at int16) error {
	leaf, err := s.blocks(i, at)
	switch {
	case leaf == cluster.None:
	case s.kept != nil:
		s.kept.block(leaf)
	default:
		s.main.Drop(int(leaf))
	}
	return err
}

// blocks notes what the refused form of workload i blocks, and returns the queue
// that takes no part any more, or none. What a rule of its own queue refuses
// blocks that queue only, and so do those whom it stops.
func (s enqueuing) blocks(i int32, at int16) (leaf int32, err error) {
	stopped, one, stops, err := s.stopOf(i, at)
	if err != nil || !stops || !s.note(stopped, one) {
		return cluster.None, err
	}
	s.decision.Blocked = true
	if leaf = s.world.FormOf(&s.world.Works[i], at).Queue; s.strict(leaf) && stopped != cluster.None && !s.pool.Policy.BlockAlikeOnly {
		return leaf, nil
	}
	return cluster.None, nil
}

// stopOf is what a form of workload i stops where it cannot start: its queue, or with none the pool.
func (s enqueuing) stopOf(i int32, at int16) (leaf int, one stop, stops bool, err error) {
	w := s.world
	k := &w.Works[i]
	f, d := w.FormOf(k, at), w.Definition(k, at)
	own := s.pool.Queueing[f.Queue]
	if own.How == queue.BestEffort || s.orderOf(d) != s.main || !d.Verdict.OK {
		return cluster.None, stop{}, false, nil
	}
	impossible, err := s.diagnosis().impossible(f, at)
	if err != nil || len(impossible) > 0 {
		return cluster.None, stop{}, false, err
	}
	_, admitted := s.pool.Tree.Check(int(f.Queue), w.Asks(k, at), f.NonPreemptible)
	strict, leaf := s.strict(f.Queue), cluster.None
	switch {
	case own.Own || own.How == queue.StrictQueue || strict && (!admitted || s.stoppedInQueue(i, at)):
		leaf = int(f.Queue)
	case !admitted:
		return cluster.None, stop{}, false, nil
	}
	return leaf, stop{work: i, priority: f.Priority, how: own.How, could: s.could(i, at)}, true, nil
}

// note keeps who stops a queue, or with none the pool. One is enough of those that stop
// the same; where priority matters, the one with the highest. It says whether anything
// is stopped that was not.
func (s enqueuing) note(leaf int, one stop) bool {
	list := &s.stops[1+leaf]
	for at := range *list {
		known := &(*list)[at]
		if s.pool.Policy.BlockAlikeOnly && known.could != one.could {
			continue
		}
		if one.how != queue.BackfillPreemptible || one.priority <= known.priority {
			return false
		}
		*known = one
		return true
	}
	*list = append(*list, one)
	return true
}

// stopsPool says whether nobody more has a turn in the pool.
func (s enqueuing) stopsPool() bool {
	return len(s.stops[0]) > 0 && s.pool.Policy.Queueing == queue.StrictPool && !s.pool.Policy.BlockAlikeOnly
}

// dropped says whether nobody more has a turn in the queue.
func (s enqueuing) dropped(leaf int32) bool {
	return len(s.stops[1+leaf]) > 0 && s.strict(leaf) && !s.pool.Policy.BlockAlikeOnly
}

// stoppedBy is the first workload that a form of workload i may not pass, or none (O4).
func (s enqueuing) stoppedBy(i int32, at int16) int32 {
	return s.inTheWay(i, at, (*stop).stops)
}

// stoppedInQueue says whether others of its queue stop a form of workload i, and nobody
// who stops the pool.
func (s enqueuing) stoppedInQueue(i int32, at int16) bool {
	one := s.inTheWay(i, at, func(one *stop, _ *cluster.Form, _ *cluster.Definition) bool { return one.how == queue.StrictPool })
	return one != cluster.None && !slices.ContainsFunc(s.stops[0], func(other stop) bool {
		return other.work != i && (!s.pool.Policy.BlockAlikeOnly || s.alike(s.could(i, at), other.could))
	})
}

// keptOff is the workload for which idle nodes are kept from another (P8), or none.
func (s enqueuing) keptOff(i int32, at int16) int32 {
	return s.inTheWay(i, at, func(one *stop, _ *cluster.Form, _ *cluster.Definition) bool { return one.how == queue.BackfillSingles })
}

// inTheWay is the first workload that stands before a form of another in the way asked
// about, in its queue or in the pool.
func (s enqueuing) inTheWay(i int32, at int16, does func(*stop, *cluster.Form, *cluster.Definition) bool) int32 {
	if !s.pool.Blocks {
		return cluster.None
	}
	k := &s.world.Works[i]
	f, d := s.world.FormOf(k, at), s.world.Definition(k, at)
	if s.orderOf(d) != s.main {
		return cluster.None
	}
	for _, list := range [...][]stop{s.stops[1+f.Queue], s.stops[0]} {
		for n := range list {
			one := &list[n]
			if one.work != i && does(one, f, d) && (!s.pool.Policy.BlockAlikeOnly || s.alike(s.could(i, at), one.could)) {
				return one.work
			}
		}
	}
	return cluster.None
}

// mixesQueueing says whether a trial does not know what heads of the pool stop.
func mixesQueueing(p *cluster.Pool) bool {
	if !p.Blocks {
		return false
	}
	return p.Policy.BlockAlikeOnly || slices.ContainsFunc(p.Queueing, func(q cluster.Queueing) bool {
		return q.Own || q.How == queue.BackfillSingles
	})
}

// uses are what the tasks of a definition's sets could use were the nodes empty.
type uses struct {
	sets []use
}

// A use is what a task could use: of a task with GPUs the devices of each node, of any
// other the nodes.
type use struct {
	gpus    bool
	takes   []bool
	devices []uint64
}

// could is the definition of a form by what is open to it, what is lent among it (B9): of what is content with less
// than its limit for as long as that (B1).
func (s enqueuing) could(i int32, at int16) *cluster.Definition {
	d := s.world.Definition(&s.world.Works[i], at)
	if d.Times.Least == 0 || len(d.Stranger) == 0 || !s.pool.Policy.BlockAlikeOnly {
		return d
	}
	now := max(s.world.Now, 0)
	return openTo(s.promising(), i, at, true, now, cluster.TimeAfter(now, d.Times.Least))
}

// alike says whether two definitions could use a device or, where one asks for none, a
// node in common.
func (s enqueuing) alike(a, b *cluster.Definition) bool {
	if a == b {
		return true
	}
	for _, one := range s.usesOf(a).sets {
		for _, other := range s.usesOf(b).sets {
			if one.meets(&other) {
				return true
			}
		}
	}
	return false
}

func (u *use) meets(other *use) bool {
	for v := range u.takes {
		if u.takes[v] && other.takes[v] && (!u.gpus || !other.gpus || u.devices[v]&other.devices[v] != 0) {
			return true
		}
	}
	return false
}

// usesOf is what a definition could use.
func (s enqueuing) usesOf(d *cluster.Definition) *uses {
	if known := s.uses[d]; known != nil {
		return known
	}
	out := &uses{}
	for set := range d.Sets {
		one := use{d.Sets[set].GPUs > 0, make([]bool, len(s.pool.Nodes)), make([]uint64, len(s.pool.Nodes))}
		for v, vacant := range placement.Vacancies(s.pool.Index, d.Sets[set].Placed) {
			one.takes[v], one.devices[v] = vacant.Tasks > 0, vacant.Devices
		}
		out.sets = append(out.sets, one)
	}
	if s.uses == nil {
		s.uses = make(map[*cluster.Definition]*uses)
	}
	s.uses[d] = out
	return out
}
