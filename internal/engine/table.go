package engine

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// The table of allocations stands from the settling on: a row for every task that runs,
// is claimed, or is given a place by the solve. A solve that makes no room pays for the
// rows and for nothing else: the evaluators learn of the units when the first who needs
// room asks them, and lists by node are made when they are asked for.

// A Table says where everybody stands, and what the solve at hand has done to that. Its
// rows are changed by the transitions in table_steps.go alone.
type Table struct {
	// Seats are what every workload holds, by index.
	Seats [][]Seat
	// told: the evaluators know the units, and follow every transition.
	told  bool
	tasks []preempt.Task // arena of newUnitTasks
	seats []Seat         // arena of newSeats

	// commits are the starts in their order, takings what was taken in its
	// order, out the units that are out now.
	commits []commit
	takings []taking
	out     []outUnit
	// paidFor says by start whether somebody was taken for it who ran or claimed before, as far as
	// anybody was.
	paidFor []bool
	// last is by workload the last of its takings, plus one.
	last []int32
	// touched are the workloads of which something has come or gone in the solve, in
	// that order, and isTouched says by workload whether it is one of them.
	touched   []int32
	isTouched []bool
	// redivide: a workload's demand has gone or come back (S6).
	redivide bool
	known    tableLists
}

// tableLists are lists of what a table has, each made when it is first asked for.
type tableLists struct {
	// outOf are where in out a workload is, once reasons are asked for.
	outOf      map[int32][]int32
	onNode     [][]int32            // the holdings by node
	takenWorks map[int32]*takenWork // by workload, see takenOf
	gains      map[gain][]int64     // see gainsOf
	chain      []int32              // scratch of chainOf
	rights     tableRights
}

// A Seat is a task and its place, as things stand in the solve.
type Seat struct {
	TaskPlace
	// step is the unit that it belongs to: 0 the minimum.
	step int32
	// origin is the holding that it continues, −1 for what starts in this solve.
	origin int32
	// commit is the start that placed it here, −1 for where it was.
	commit int32
	// behind is the workload whose promised place it has taken, plus one; 0 is nobody (B6).
	behind  int32
	claimed bool // in the state, and not moved since
	// pipelined: its place is claimed, and others are leaving it (S4).
	pipelined bool
	// atOnce: it starts on a node that nobody had left by then in this solve, so that it
	// waits for nobody. Only known of what a disruption budget counts (M7).
	atOnce   bool
	Admitted int64
	// until is when it is ended, of a start that was cut to fit a hole (B1); 0 is of none.
	until int64
}

// waits says whether the seat is a place that this solve claims and that something
// Terminating of the state is leaving.
func (s *Seat) waits() bool { return s.pipelined && !s.claimed }

// place is the place of a seat in the words of the index.
func (s *Seat) place(w *World) placement.Place {
	return placement.Place{Node: w.Position[s.Node], Devices: s.Devices, Pipelined: s.pipelined}
}

// A commit is a start, or a move, of some seats.
type commit struct {
	work int32
	form int16
	kind Kind
}

// A taking is the case of one unit that was taken.
type taking struct {
	unit        *preempt.Unit
	beneficiary int32 // workload, −1 nobody
	code        Code
	pool        int32
	is          preempt.Justification
	// commit is the start that it was taken for.
	commit int32
	// seats are those of the unit then: it may be parted otherwise since.
	seats []Seat
	// next is the next taking of its workload; after the last comes the first.
	next int32
}

// An outUnit is a unit that was taken and has not been put back.
type outUnit struct {
	pool  int32
	unit  *preempt.Unit
	seats []Seat
	// status and form are the workload's before.
	status Status
	form   int16
	// tried is when no start made way for it (O5).
	tried memo
	// asked says whether it is asked to move for somebody.
	asked bool
}

// standing is its eviction rank (R8).
func (o outUnit) standing() preempt.EvictionRank { return o.unit.EvictionRank }

// newTable has no rows yet.
func newTable(works int) *Table {
	return &Table{
		Seats: make([][]Seat, works), last: make([]int32, works), isTouched: make([]bool, works),
	}
}

// isPaidFor says whether somebody was taken for a start who ran or claimed before.
func (b *Table) isPaidFor(start int32) bool { return int(start) < len(b.paidFor) && b.paidFor[start] }

// payFor takes note that somebody was.
func (b *Table) payFor(start int32) {
	for len(b.paidFor) <= int(start) {
		b.paidFor = append(b.paidFor, false)
	}
	b.paidFor[start] = true
}

// grow has a row for one workload more.
func (b *Table) grow() {
	b.Seats, b.last, b.isTouched = append(b.Seats, nil), append(b.last, 0), append(b.isTouched, false)
}

// appendMany appends to a list of which there may be thousands: its memory doubles, where append
// would add a quarter each time and copy all five times.
func appendMany[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(4, len(list)))
	}
	return append(list, one)
}

// touch takes note that something of a workload comes or goes.
func (b *Table) touch(i int32) {
	if !b.isTouched[i] {
		b.isTouched[i] = true
		b.touched = append(b.touched, i)
	}
}

// turned are the workloads of which something has come or gone, by ID.
func (w booking) turned() []int32 {
	b := w.Room
	const few = 16 // it is cheaper to sort one in so many than to look at all
	if len(b.touched) > len(b.isTouched)/few {
		b.touched = b.touched[:0]
		for i, is := range b.isTouched {
			if is {
				b.touched = append(b.touched, int32(i))
			}
		}
	}
	if byID := w.dividing().compareIDs; !slices.IsSortedFunc(b.touched, byID) {
		slices.SortFunc(b.touched, byID)
	}
	return b.touched
}

// rest has the table know nothing any more of the solve at hand, whose rows have been
// brought back by the journal. It takes time in what that has done.
func (b *Table) rest() {
	for _, i := range b.touched {
		b.isTouched[i], b.last[i] = false, 0
	}
	clear(b.takings)
	clear(b.out)
	b.touched, b.commits, b.takings, b.out, b.paidFor = b.touched[:0], b.commits[:0], b.takings[:0], b.out[:0], b.paidFor[:0]
	b.redivide, b.known = false, tableLists{}
}

// holdingsOn lists the holdings on a node, ascending.
func (w booking) holdingsOn(node int32) []int32 {
	book := w.Room
	if book.known.onNode == nil {
		from, of := group(len(w.Nodes), len(w.Holdings), func(at int) int32 { return w.Holdings[at].Node })
		book.known.onNode = make([][]int32, len(w.Nodes))
		for n := range book.known.onNode {
			book.known.onNode[n] = of[from[n]:from[n+1]]
		}
	}
	return book.known.onNode[node]
}

// takingsOf names the takings of a workload in their order.
func (b *Table) takingsOf(work int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		last := b.lastOf(work)
		for at := last; at >= 0; {
			if at = b.takings[at].next; !yield(at) || at == last {
				return
			}
		}
	}
}

// lastOf is the last taking of a workload, −1 if there is none.
func (b *Table) lastOf(work int32) int32 { return b.last[work] - 1 }

// tookOf notes a taking as the last of its workload.
func (b *Table) tookOf(t taking) {
	now, work := int32(len(b.takings)), t.unit.Work
	t.next = now
	if last := b.lastOf(work); last >= 0 {
		t.next, b.takings[last].next = b.takings[last].next, now
	}
	b.takings, b.last[work] = appendMany(b.takings, t), now+1
}

// group lists the numbers below n by their key, below keys, ascending: those of a
// key are of[from[key]:from[key+1]].
func group(keys, n int, key func(int) int32) (from, of []int32) {
	from, of = make([]int32, keys+1), make([]int32, n)
	for i := range n {
		from[key(i)]++
	}
	for i := 1; i < len(from); i++ {
		from[i] += from[i-1]
	}
	for i := n - 1; i >= 0; i-- {
		from[key(i)]--
		of[from[key(i)]] = int32(i)
	}
	return from, of
}
