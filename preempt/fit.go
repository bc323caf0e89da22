package preempt

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// A fit says whether the preemptor would start as things stand.
type fit struct {
	room  *Evaluator
	ask   *ask
	need  int
	rooms []int32 // by node: tasks that fit, at most need
	total int
	// counts: a task of the shape that leaves a node makes room for one there, whoever else
	// does; gone are by node those that have left and are still in the index.
	counts bool
	gone   []int32
	// domain is by node the one of the ask's that it is in, −1 none, nil where
	// there are none; focus is the only one in which room counts, −1 all.
	domain []int32
	focus  int32
	places []placement.Place // scratch of needed
}

func (r *Evaluator) newFit(a *ask) *fit {
	f := &fit{room: r, ask: a, need: int(a.Add.Tasks()), focus: -1}
	r.Effort.Spend(r.Nodes / lookedAt)
	if a.Domains != nil {
		f.domain = slices.Repeat([]int32{-1}, r.Nodes)
		for d, nodes := range a.Domains {
			for _, n := range nodes {
				f.domain[n] = int32(d)
			}
		}
	}
	if a.Exact {
		f.rooms, f.counts = make([]int32, r.Nodes), r.Index.Plain(f.shape())
		kept := f.keptRooms()
		for n := range f.rooms {
			if kept == nil {
				f.rooms[n] = f.roomOn(int32(n))
			} else {
				f.rooms[n] = f.counting(int32(n), kept[n])
			}
			f.total += int(f.rooms[n])
		}
	}
	return f
}

// shapeRooms are how many tasks of a shape each node takes, as far as they are kept.
type shapeRooms struct {
	touched int // what of Evaluator.touched is read
	rooms   []int32
}

// keptRooms are how many tasks of the shape each node takes as things stand, nil where
// more than its units changes a node, or some are taken already (R11): of all who ask for
// the shape only the nodes on which units came or went are looked at again.
func (f *fit) keptRooms() []int32 {
	r := f.room
	if !f.ask.Still || f.ask.AfterRelease || f.ask.excessOnly {
		return nil
	}
	shape := f.shape()
	kept := r.rooms[shape]
	if kept == nil {
		kept = &shapeRooms{touched: len(r.touched), rooms: make([]int32, r.Nodes)}
		for n := range kept.rooms {
			kept.rooms[n] = int32(r.Index.RoomOn(shape, int32(n)))
		}
		r.rooms[shape] = kept
	}
	r.onNodes.begin(r.Nodes)
	for _, n := range r.touched[kept.touched:] {
		if r.onNodes.mark(n) { // once, as thousands start on the same few
			kept.rooms[n] = int32(r.Index.RoomOn(shape, n))
		}
	}
	kept.touched = len(r.touched)
	return kept.rooms
}

func (f *fit) roomOn(n int32) int32 { return f.counting(n, f.allOn(n)) }

// allOn is all the room on a node, whether it counts or not.
func (f *fit) allOn(n int32) int32 {
	room := int32(f.ask.nodes(f.room.Index).RoomOn(f.shape(), n))
	if f.gone != nil {
		room += f.gone[n]
	}
	return room
}

// counting is what counts of the room on a node.
func (f *fit) counting(n, room int32) int32 {
	if f.domain != nil && (f.domain[n] < 0 || f.focus >= 0 && f.domain[n] != f.focus) {
		return 0
	}
	return min(int32(f.need), room)
}

// focusOn has only the room in one domain count from now on; −1 is all of them.
func (f *fit) focusOn(d int32) {
	before := f.focus
	f.focus = d
	if f.rooms == nil || before == d {
		return
	}
	f.total = 0
	for at, nodes := range f.ask.Domains {
		if before >= 0 && d >= 0 && at != int(before) && at != int(d) {
			continue // it does not count, and did not
		}
		for _, n := range nodes {
			f.rooms[n] = f.roomOn(n)
			f.total += int(f.rooms[n])
		}
	}
}

// changed takes note that a unit came or went, on the only node that is meant or, with
// −1, on all.
func (f *fit) changed(u *Unit, only int32) {
	switch {
	case f.rooms == nil:
	case only >= 0:
		f.read(only)
	default:
		for i := range u.Tasks {
			f.read(u.Tasks[i].Place.Node)
		}
	}
}

// counted says whether of a unit, once it has gone, no more need be known than how many tasks it has
// on which nodes: they ask what the preemptor's do.
func (f *fit) counted(u *Unit) bool {
	if !f.counts || f.ask.AfterRelease || f.ask.relocates() || f.ask.mode == Consolidate {
		return false
	}
	for i := range u.Tasks {
		if t := &u.Tasks[i]; t.Shape != f.shape() || !placement.MakesRoom(f.room.Index, t.Shape, t.Shape, t.Place) {
			return false
		}
	}
	return true
}

// count has so many tasks more, or fewer, have left a node.
func (f *fit) count(n, more int32) {
	if f.gone == nil {
		f.gone = make([]int32, len(f.rooms))
	}
	f.gone[n] += more
	before := f.rooms[n]
	if f.domain != nil || before >= int32(f.need) {
		f.read(n)
		return
	}
	f.rooms[n] = min(int32(f.need), before+more)
	f.total += int(f.rooms[n] - before)
}

// takesRoom says whether with a unit back that was counted there would not be enough.
func (f *fit) takesRoom(r *Evaluator, id UnitID) bool {
	return r.state[id].counted && f.total == f.need && f.domain == nil &&
		slices.ContainsFunc(r.units[id].Tasks, func(t Task) bool { return f.rooms[t.Place.Node] < int32(f.need) })
}

// read reads the room on a node.
func (f *fit) read(n int32) {
	room := f.roomOn(n)
	f.total += int(room - f.rooms[n])
	f.rooms[n] = room
}

// missingOn is how many tasks a node has to take for the preemptor to start, where no other
// takes more than it does.
func (f *fit) missingOn(n int32) int64 {
	if f.rooms == nil {
		return 0
	}
	return int64(f.need) - int64(f.total) + int64(f.rooms[n])
}

// shape is that of the preemptor's only set with tasks.
func (f *fit) shape() placement.Shape { return f.ask.Shapes[firstSet(f.ask.Add.Add)] }

func firstSet(add []int32) int {
	return max(0, slices.IndexFunc(add, func(n int32) bool { return n > 0 }))
}

// ok says whether it starts.
func (f *fit) ok() bool {
	r, b := f.room, f.ask.Preemptor
	if _, ok := r.Tree.Check(int(b.Leaf), b.Asks, b.NonPreemptible); !ok {
		return false
	}
	if f.rooms != nil {
		return f.total >= f.need
	}
	r.Effort.Spend(placingOf(r, b))
	nodes, use := r.Index.Mark(), r.Tree.Mark()
	ok := b.Start()
	r.Index.Undo(nodes)
	r.Tree.Undo(use)
	return ok
}
