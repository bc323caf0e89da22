package cluster

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// UnitBudget is how many choices of pod sets are tried for a group that needs
// m of its n children (G3) before the search is cut and says so.
const UnitBudget = 256

// Choices is UnitBudget, or less of a gang of very many pod sets, each of which a choice
// names.
func (d *Definition) Choices() int {
	const sets, fewest = 1 << 16, 8
	return min(UnitBudget, max(fewest, sets/max(1, len(d.Sets))))
}

// RoomConfig adds to what the division says what the pool and its policy do.
func (w Booking) RoomConfig(index int, c preempt.Config) preempt.Config {
	p := w.Pools[index]
	c.Index, c.Now, c.Budgets, c.Lends = p.Index, w.Now, slices.Clone(w.Budgets), p.Lends
	c.Stays = func(u *preempt.Unit) bool {
		seats, _ := PartSeats(w.Room.Seats[u.Work], u.Step)
		return w.Loops[index].Stays(u, seats)
	}
	c.Moves = func(u *preempt.Unit, anew bool) (int64, bool) { return w.Loops[index].Moves(u, anew) }
	c.Behind = func(u *preempt.Unit, work int32) bool { return w.Loops[index].IsBehind(u, work) }
	if slices.ContainsFunc(p.Reserved, func(of Reserved) bool { return of.Lend }) {
		c.TakesBack = func(u *preempt.Unit, work int32) bool { return w.Loops[index].TakesBack(u, work) }
	}
	c.MarginMilli = cmp.Or(p.Policy.ReclaimMarginMilli, 1000)
	c.Straddle, c.Scope, c.Reclaim = p.Policy.Straddle, p.Policy.Preempt, p.Policy.Reclaim
	c.MaxMovedPercent = cmp.Or(p.Policy.MaxMovedPercent, 200)
	c.Effort = p.Searching()
	c.Steps = cmp.Or(p.Policy.SearchBudget, 100_000)
	c.Nodes = len(p.Nodes)
	c.Local = !p.Constrained && !p.Scored && p.Policy.Fitting == gang.AnyNodes && !p.limited() && !p.Index.ByDomains()
	return c
}

// limited says whether some queue of the pool has a limit.
func (p *Pool) limited() bool {
	for q := range p.Parent {
		for r := range p.Width {
			if p.Tree.Ceiling(q, r) != quota.Infinite {
				return true
			}
		}
	}
	return false
}

// Tell has the evaluators know all units of the table, if they do not yet.
func (w Booking) Tell() {
	b := w.Room
	if b.Told {
		return
	}
	b.Told = true
	units := make([]int, len(w.Pools))
	for i := range w.Works {
		if seats := b.Seats[i]; len(seats) > 0 {
			w.Step(int32(i))
			units[w.FormOf(&w.Works[i], w.Works[i].Current).Pool] += 1 + int(seats[len(seats)-1].Step)
		}
	}
	for i, n := range units { // about so many
		w.Pools[i].Room.Reserve(n)
	}
	for i := range w.Works {
		if len(b.Seats[i]) > 0 {
			w.Enter(int32(i))
		}
	}
	BeginBudgets(w.World)
}

// Retell tells the evaluator of a workload's units anew, if it knows any: of those that are not what
// they were. A workload that grows task by task is told of task by task.
func (w Booking) Retell(i int32) {
	if !w.Room.Told {
		return
	}
	k := &w.Works[i]
	room := w.Pools[w.FormOf(k, k.Current).Pool].Room
	w.Step(i)
	units := w.unitsOf(i)
	for id := range room.Of(i) {
		known := room.Unit(id)
		if at := int(known.Step); at < len(units) && units[at] != nil && units[at].Same(known) {
			units[at] = nil
			continue
		}
		room.Forget(id)
	}
	enter(room, units)
}

// Step tells the seats of a workload which unit they belong to: the minimum, or
// the steps above it in the order in which it would have grown to what it is. What people
// have reserved, so that it goes, is above what stays where that is a minimum without it (B9).
func (w Booking) Step(i int32) {
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	seats := w.Room.Seats[i]
	if len(seats) == 1 && !d.Elastic {
		return // one is in order, and the minimum
	}
	goes := w.goesAlone(k, d, seats)
	order := func(a, b *Seat) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(goes(a), goes(b)), w.compareRuns(a, b), cmp.Compare(a.Index, b.Index))
	}
	for at := 1; at < len(seats); at++ {
		if order(&seats[at-1], &seats[at]) > 0 { // seldom, as what starts is in order
			slices.SortFunc(seats, func(a, b Seat) int { return order(&a, &b) })
			break
		}
	}
	if !d.Elastic {
		return // all is the minimum
	}
	held, stays, ran := make([]int32, len(d.Sets)), make([]int32, len(d.Sets)), make([]int32, len(d.Sets))
	for at := range seats {
		set, stay := seats[at].Set, 1-goes(&seats[at])
		held[set]++
		stays[set] += stay
		if runsNext(w.World, &seats[at]) {
			ran[set] += stay
		}
	}
	d.GiveSteps(seats, ran, stays, held)
}

// WasClaimed says whether the seat was a claim in the state.
func (w Booking) WasClaimed(s *Seat) bool {
	return s.Claimed || s.Origin >= 0 && w.Holdings[s.Origin].Fresh
}

// Ran says whether the seat is of a task that ran in the state, wherever it is
// now.
func (w Booking) Ran(s *Seat) bool {
	return s.Origin >= 0 && w.Holdings[s.Origin].Phase == Running && !w.Holdings[s.Origin].Fresh
}

// runsNext says whether the seat is of a task that runs in the next state, by which the
// next solve knows its steps: what ran, and what starts now, be it a claim whose place came free.
func runsNext(w *World, s *Seat) bool {
	return w.Booking().Ran(s) || !s.Claimed && !s.Pipelined
}

// compareRuns has what runs be lower than what is only claimed, also where that starts now:
// the last goes first (M6).
func (w Booking) compareRuns(a, b *Seat) int {
	runs := func(s *Seat) bool { return runsNext(w.World, s) && !w.WasClaimed(s) }
	switch x, y := runs(a), runs(b); {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// growth are the units in which a workload would have grown to what it holds by stages, of which
// the last is all: its minimum, or all if it is below that, and then step by step. The first stage
// that is at the minimum has it.
func (d *Definition) growth(stages ...[]int32) []gang.Unit {
	held := stages[len(stages)-1]
	if !d.Gang.AtMinimum(held) {
		return []gang.Unit{{Add: held}}
	}
	if len(d.Ladder) > 0 {
		return d.rungs(held[0])
	}
	var units []gang.Unit
	counts := make([]int32, len(held))
	for _, stage := range stages[:len(stages)-1] {
		if !d.Gang.AtMinimum(stage) {
			continue
		}
		if units = d.grow(units, counts, stage); units == nil { // like others, that the walk tells first
			units = append(units, gang.Unit{Add: slices.Clone(stage)})
			copy(counts, stage)
		}
	}
	units = d.grow(units, counts, held)
	for set := range held { // parts of groups that are not whole
		for ; counts[set] < held[set]; counts[set]++ {
			one := gang.Unit{Add: make([]int32, len(held))}
			one.Add[set] = 1
			units = append(units, one)
		}
	}
	return units
}

// grow adds the units in which the counts grow to what is held, and counts them.
func (d *Definition) grow(units []gang.Unit, counts, held []int32) []gang.Unit {
	var walk gang.Walk
	for {
		walk.Reset(d.Gang, counts, d.Choices())
		unit, ok := walk.Next()
		for ok && !within(counts, unit.Add, held) {
			unit, ok = walk.Next()
		}
		if !ok {
			return units
		}
		units = append(units, gang.Unit{Add: slices.Clone(unit.Add)})
		for set, n := range unit.Add {
			counts[set] += n
		}
	}
}

func within(counts, add, held []int32) bool {
	for set, n := range add {
		if counts[set]+n > held[set] {
			return false
		}
	}
	return true
}

// rungs are the units of a halving workload that holds n tasks.
func (d *Definition) rungs(n int32) []gang.Unit {
	var units []gang.Unit
	last := int32(0)
	for _, rung := range slices.Backward(d.Ladder) {
		if rung <= n {
			units = append(units, gang.Unit{Add: []int32{rung - last}})
			last = rung
		}
	}
	if last < n { // lost tasks have left it between two rungs
		units = append(units, gang.Unit{Add: []int32{n - last}})
	}
	return units
}

// Enter tells the room of the workload's units.
func (w Booking) Enter(i int32) {
	k := &w.Works[i]
	enter(w.Pools[w.FormOf(k, k.Current).Pool].Room, w.unitsOf(i))
}

// enter tells the room of units, but for those that are nil.
func enter(room *preempt.Evaluator, units []*preempt.Unit) {
	for _, u := range units {
		if u != nil {
			room.Add(*u)
		}
	}
}

// parts is memory in which a workload is described by its units, which the next one has.
type parts struct {
	first, next, byStep []int32
	units               []preempt.Unit
	told                []*preempt.Unit
}

// grouped lists the rows of a workload by their step: those of one are byStep[first[step]:first[step+1]].
func (m *parts) grouped(seats []Seat) {
	if len(seats) == 1 && seats[0].Step == 0 { // as of most
		m.first, m.byStep = append(m.first[:0], 0, 1), append(m.byStep[:0], 0)
		m.units, m.told = sized(m.units, 1), sized(m.told, 1)
		return
	}
	steps := 0
	for at := range seats {
		steps = max(steps, int(seats[at].Step)+1)
	}
	m.first, m.byStep = sized(m.first, steps+1), sized(m.byStep, len(seats))
	m.units, m.told = sized(m.units, steps), sized(m.told, steps)
	for step := range m.first {
		m.first[step] = 0
	}
	for at := range seats {
		m.first[seats[at].Step+1]++
	}
	for step := range steps {
		m.first[step+1] += m.first[step]
	}
	m.next = append(m.next[:0], m.first...)
	for at := range seats {
		step := seats[at].Step
		m.byStep[m.next[step]] = int32(at)
		m.next[step]++
	}
}

// sized is a list of so many, which may have anything in it, in the memory of another.
func sized[T any](list []T, n int) []T {
	if n > cap(list) {
		list = slices.Grow(list[:0], n)
	}
	return list[:n]
}

// unitsOf describes the units of a workload by its seats, by step; nil where a step has none. They are in
// memory that the next call uses again.
func (w Booking) unitsOf(i int32) []*preempt.Unit {
	seats, m, k := w.Room.Seats[i], &w.Room.parts, &w.Works[i]
	m.grouped(seats)
	oldest, outside := int64(math.MaxInt64), int32(-1) // the last step with a seat outside the pool
	for at := range seats {
		s := &seats[at]
		oldest = min(oldest, s.Admitted)
		if w.Outside(k, s.Node) {
			outside = max(outside, s.Step)
		}
	}
	waits, p := MinimumWaits(w.World, i), w.Pools[w.FormOf(k, k.Current).Pool]
	for step := range int32(len(m.units)) {
		own := m.byStep[m.first[step]:m.first[step+1]]
		if len(own) == 0 {
			m.told[step] = nil
			continue
		}
		u := &m.units[step]
		w.describe(u, i, step, own)
		if step == 0 { // a minimum is as old as its oldest task
			u.Admitted = oldest
		}
		u.NonPreemptible = u.NonPreemptible || step <= outside // nor is what it builds on taken (M6)
		if waits {
			u.Starting = 0
		}
		runtime := &p.Runtimes[u.Leaf]
		u.PreemptFrom, u.ReclaimFrom = TimeAfterSeconds(u.Admitted, runtime.Preempt), TimeAfterSeconds(u.Admitted, runtime.Reclaim)
		m.told[step] = u
	}
	return m.told
}

// describe describes the unit of some seats of a workload, by itself.
func (w Booking) describe(u *preempt.Unit, i, step int32, own []int32) {
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	p := w.Pools[f.Pool]
	d := &p.Definitions[f.Definition]
	seats := w.Room.Seats[i]
	*u = preempt.Unit{} // in its place: there are as many as tasks that run
	u.NonPreemptible, u.Priority, u.Step = f.NonPreemptible, f.Priority, step
	u.Admitted, u.Submitted, u.Rank, u.Work = math.MaxInt64, k.Submitted, k.Rank, i
	u.Leaf, u.Owner, u.Rooted = f.Queue, k.Owner, k.IsLeaving(w.World)
	u.Tasks = w.newUnitTasks(len(own))
	if len(p.Reserved) == 0 && len(d.Sets) == 1 { // else what is open to it depends on whose it is (B9), or on which task it is
		u.Like = f.Definition + 1
	}
	u.Started = true
	for n, at := range own {
		s := &seats[at]
		u.Started = u.Started && s.Origin < 0
		u.Admitted = min(u.Admitted, s.Admitted)
		shape, outside := &d.Sets[s.Set], w.Outside(k, s.Node)
		charge := p.ChargeOf(shape, &w.Nodes[s.Node], s.Devices)
		if !outside {
			u.Tasks = append(u.Tasks, preempt.Task{Shape: shape.Placed, Place: s.Place(w.World), Charge: charge})
		}
		u.Charge = Plus(u.Charge, charge, n+1)
		gpus := shape.Charge.Of(0)
		u.GPUs += gpus
		if StartsAtOnce(w.World, s) {
			u.Starting++
		}
		if w.WasClaimed(s) {
			continue // no work is lost with it
		}
		if s.Commit < 0 {
			u.Running++
		}
		if !p.Policy.CheckpointOnEviction && !outside {
			t := &u.Tasks[len(u.Tasks)-1]
			t.Milli, t.Since = gpus, max(s.Admitted, k.Checkpoint)
		}
	}
	if step == 0 && p.Counted {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(p.Width - 1), Value: 1})
	}
}

// Plus adds what the n-th task of a unit is charged. The charge of a lone task is
// shared with its like.
func Plus(sum, charge quota.Amounts, n int) quota.Amounts {
	var err error
	switch n {
	case 1:
		return charge
	case 2:
		charge, err = slices.Clone(sum).AddScaled(charge, 1)
	default:
		charge, err = sum.AddScaled(charge, 1)
	}
	if err != nil {
		return sum // Check bounds every sum
	}
	return charge
}

// newUnitTasks cuts room for n tasks from an arena.
func (w Booking) newUnitTasks(n int) []preempt.Task {
	book := w.Room
	if len(book.tasks) < n {
		book.tasks = make([]preempt.Task, max(n, min(len(w.Holdings), 4096)))
	}
	out := book.tasks[:0:n]
	book.tasks = book.tasks[n:]
	return out
}

// Second is one in the unit of all times, which are microseconds.
const Second = 1_000_000

// TimeAfterSeconds is the time so many seconds after another; unlimited is never.
func TimeAfterSeconds(from int64, seconds quota.Bound) int64 {
	if !seconds.Given() || seconds.Amount() == 0 {
		return math.MinInt64
	}
	if seconds.IsUnlimited() || seconds.Amount() > (math.MaxInt64-max(from, 0))/Second {
		return math.MaxInt64
	}
	return from + seconds.Amount()*Second
}
