package cluster

import (
	"iter"
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// The table of allocations stands from the settling on: a row for every task that runs,
// is claimed, or is given a place by the solve. A solve that makes no room pays for the
// rows and for nothing else: the evaluators learn of the units when a workload first needs
// room, and lists by node are made when they are asked for.

// A Table says where every task stands, and what the solve at hand has done to that. Its
// rows are changed by the transitions in table_steps.go alone.
type Table struct {
	// Seats are what every workload holds, by index.
	Seats [][]Seat
	// Told: the evaluators know the units, and follow every transition.
	Told  bool
	tasks []preempt.Task // arena of newUnitTasks
	seats []Seat         // arena of room
	parts parts          // scratch of unitsOf

	// Commits are the starts in their order, Takings what was taken in its
	// order, Out the units that are out now.
	Commits []Commit
	Takings []Taking
	Out     []OutUnit
	// paidFor says by start whether work was taken for it that ran or claimed before; it is as
	// long as the last such start asks.
	paidFor []bool
	// Last is by workload the last of its takings, plus one.
	Last []int32
	// Touched are the workloads of which something has come or gone in the solve, in
	// that order, and isTouched says by workload whether it is one of them.
	Touched   []int32
	isTouched []bool
	// Redivide: a workload's demand has gone or come back (S6).
	Redivide bool
	Known    TableLists
}

// A Seat is a task and its place, as things stand in the solve.
type Seat struct {
	TaskPlace
	// Step is the unit that it belongs to: 0 the minimum.
	Step int32
	// Origin is the holding that it continues, −1 for what starts in this solve.
	Origin int32
	// Commit is the start that placed it here, −1 for where it was.
	Commit int32
	// Behind is the workload whose promised place it has taken, plus one; 0 is none (B6).
	Behind  int32
	Claimed bool // in the state, and not moved since
	// Pipelined: its place is claimed, and others are leaving it (S4).
	Pipelined bool
	// Anew: it starts anew though its workload ran before, as others have reclaimed in between
	// what they had a right to with that gone alone (R1).
	Anew bool
	// AtOnce: it starts on a node that nothing had left by then in this solve, so that it
	// waits for nothing. Only known of what a disruption budget counts (M7).
	AtOnce   bool
	Admitted int64
	// Until is when it is ended, of a start that was cut to fit a hole (B1); 0 is of none.
	Until int64
}

// Waits says whether the seat is a place that this solve claims and that something
// Terminating of the state is leaving.
func (s *Seat) Waits() bool { return s.Pipelined && !s.Claimed }

// Place is the place of a seat in the words of the index.
func (s *Seat) Place(w *World) placement.Place {
	return placement.Place{Node: w.Position[s.Node], Devices: s.Devices, Pipelined: s.Pipelined}
}

// A Commit is a start, or a move, of some seats.
type Commit struct {
	Work int32
	Form int16
	Kind Kind
}

// A Taking is one unit that was taken, with the justification for that.
type Taking struct {
	Unit      *preempt.Unit
	Preemptor int32 // the preemptor; −1 is none
	Code      Code
	Pool      int32
	Work      int32 // the unit's workload
	Is        preempt.Justification
	// Commit is the start that it was taken for.
	Commit int32
	// Seats are those of the unit then: it may be parted otherwise since.
	Seats []Seat
	// Next is the next taking of its workload; after the last comes the first.
	Next int32
}

// An OutUnit is a unit that was taken and has not been put back.
type OutUnit struct {
	Pool  int32
	Unit  *preempt.Unit
	Seats []Seat
	// Status and Form are the workload's before.
	Status Status
	Form   int16
	// Tried is when no start made way for it (O5).
	Tried Memo
	// Asked says whether it is asked to move for another.
	Asked bool
}

// Standing is its eviction rank (R8).
func (o OutUnit) Standing() preempt.EvictionRank { return o.Unit.EvictionRank }

// NewTable has no rows yet.
func NewTable(works int) *Table {
	return &Table{
		Seats: make([][]Seat, works), Last: make([]int32, works), isTouched: make([]bool, works),
	}
}

// IsPaidFor says whether work was taken for a start that ran or claimed before.
func (b *Table) IsPaidFor(start int32) bool { return int(start) < len(b.paidFor) && b.paidFor[start] }

// PayFor takes note that some was.
func (b *Table) PayFor(start int32) {
	for len(b.paidFor) <= int(start) {
		b.paidFor = append(b.paidFor, false)
	}
	b.paidFor[start] = true
}

// Grow has a row for one workload more.
func (b *Table) Grow() {
	b.Seats, b.Last, b.isTouched = append(b.Seats, nil), append(b.Last, 0), append(b.isTouched, false)
}

// AppendMany appends to a list of which there may be thousands: its memory doubles, where append
// would add a quarter each time and copy all five times.
func AppendMany[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(4, len(list)))
	}
	return append(list, one)
}

// touch takes note that something of a workload comes or goes.
func (b *Table) touch(i int32) {
	if !b.isTouched[i] {
		b.isTouched[i] = true
		b.Touched = append(b.Touched, i)
	}
}

// TouchedByID are the workloads of which something has come or gone, by ID.
func (w Booking) TouchedByID() []int32 {
	b := w.Room
	const few = 16 // it is cheaper to sort one in so many than to look at all
	if len(b.Touched) > len(b.isTouched)/few {
		b.Touched = b.Touched[:0]
		for i, is := range b.isTouched {
			if is {
				b.Touched = append(b.Touched, int32(i))
			}
		}
	}
	if byID := w.CompareIDs; !slices.IsSortedFunc(b.Touched, byID) {
		slices.SortFunc(b.Touched, byID)
	}
	return b.Touched
}

// Rest has the table know nothing any more of the solve at hand, whose rows have been
// brought back by the journal. It takes time in what that has done.
func (b *Table) Rest() {
	for _, i := range b.Touched {
		b.isTouched[i], b.Last[i] = false, 0
	}
	clear(b.Takings)
	clear(b.Out)
	b.Touched, b.Commits, b.Takings, b.Out, b.paidFor = b.Touched[:0], b.Commits[:0], b.Takings[:0], b.Out[:0], b.paidFor[:0]
	b.Redivide, b.Known = false, TableLists{}
}

// HoldingsOn lists the holdings on a node, ascending.
func (w Booking) HoldingsOn(node int32) []int32 {
	book := w.Room
	if book.Known.onNode == nil {
		from, of := Group(len(w.Nodes), len(w.Holdings), func(at int) int32 { return w.Holdings[at].Node })
		book.Known.onNode = make([][]int32, len(w.Nodes))
		for n := range book.Known.onNode {
			book.Known.onNode[n] = of[from[n]:from[n+1]]
		}
	}
	return book.Known.onNode[node]
}

// TakingsOf names the takings of a workload in their order.
func (b *Table) TakingsOf(work int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		last := b.LastOf(work)
		for at := last; at >= 0; {
			if at = b.Takings[at].Next; !yield(at) || at == last {
				return
			}
		}
	}
}

// LastOf is the last taking of a workload, −1 if there is none.
func (b *Table) LastOf(work int32) int32 { return b.Last[work] - 1 }

// AddTaking notes a taking as the last of its workload.
func (b *Table) AddTaking(t Taking) {
	now, work := int32(len(b.Takings)), t.Unit.Work
	t.Work, t.Next = work, now
	if last := b.LastOf(work); last >= 0 {
		t.Next, b.Takings[last].Next = b.Takings[last].Next, now
	}
	b.Takings, b.Last[work] = AppendMany(b.Takings, t), now+1
}

// Group lists the numbers below n by their key, below keys, ascending: those of a
// key are of[from[key]:from[key+1]].
func Group(keys, n int, key func(int) int32) (from, of []int32) {
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
