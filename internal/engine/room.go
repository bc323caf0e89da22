package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// Where a workload finds no place, room is made. The first who needs it has every unit of
// the table, the tasks that go as one, be told to its pool's preempt.Evaluator.

// roomConfig adds to what the division says what the pool and its policy do.
func (w booking) roomConfig(index int, c preempt.Config) preempt.Config {
	p := w.Pools[index]
	c.Index, c.Now, c.Budgets, c.Lends = p.Index, w.Now, slices.Clone(w.Budgets), p.Lends
	c.Stays = func(u *preempt.Unit) bool {
		seats, _ := partSeats(w.Room.Seats[u.Work], u.Step)
		return w.Loops[index].Stays(u, seats)
	}
	c.Moves = func(u *preempt.Unit, anew bool) (int64, bool) { return w.Loops[index].Moves(u, anew) }
	c.Behind = func(u *preempt.Unit, work int32) bool { return w.Loops[index].IsBehind(u, work) }
	c.MarginMilli = cmp.Or(p.Policy.ReclaimMarginMilli, 1000)
	c.Straddle, c.Scope, c.Reclaim = p.Policy.Straddle, p.Policy.Preempt, p.Policy.Reclaim
	c.MaxMovedPercent = cmp.Or(p.Policy.MaxMovedPercent, 200)
	c.Effort = p.effort()
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

// makesRoom says whether the policy ever makes room.
func (p *Policy) makesRoom() bool {
	return !p.NoConsolidation || p.Reclaim != preempt.NoReclaim || p.Preempt != preempt.NoPreemption
}

// tell has the evaluators know all units of the table, if they do not yet.
func (w booking) tell() {
	b := w.Room
	if b.told {
		return
	}
	b.told = true
	units := make([]int, len(w.Pools))
	for i := range w.Works {
		if seats := b.Seats[i]; len(seats) > 0 {
			w.step(int32(i))
			units[w.FormOf(&w.Works[i], w.Works[i].Current).Pool] += 1 + int(seats[len(seats)-1].step)
		}
	}
	for i, n := range units { // about so many
		w.Pools[i].Room.Reserve(n)
	}
	for i := range w.Works {
		if len(b.Seats[i]) > 0 {
			w.enter(int32(i), 0)
		}
	}
	beginBudgets(w.World)
}

// retell tells the evaluator of a workload's units anew, if it knows any.
func (w booking) retell(i int32) {
	if !w.Room.told {
		return
	}
	k := &w.Works[i]
	room := w.Pools[w.FormOf(k, k.Current).Pool].Room
	for id := range room.Of(i) {
		room.Forget(id)
	}
	w.step(i)
	w.enter(i, 0)
}

// step tells the seats of a workload which unit they belong to: the minimum, or
// the steps above it in the order in which it would have grown to what it is. What people
// have reserved, so that it goes, is above what stays where that is a minimum without it (B9).
func (w booking) step(i int32) {
	k := &w.Works[i]
	d := w.Definition(k, k.Current)
	seats := w.Room.Seats[i]
	goes := w.goesAlone(k, d, seats)
	if len(seats) > 1 {
		slices.SortFunc(seats, func(a, b Seat) int {
			return cmp.Or(cmp.Compare(a.Set, b.Set), cmp.Compare(goes(&a), goes(&b)), w.compareRuns(&a, &b), cmp.Compare(a.Index, b.Index))
		})
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
	d.giveSteps(seats, ran, stays, held)
}

// giveSteps gives seats, in the order of their pod sets, the units of the growth by stages, and
// says how many there are.
func (d *Definition) giveSteps(seats []Seat, stages ...[]int32) (steps int32) {
	next := make([]int, len(d.Sets)) // by set: where its next seat is
	for at := len(seats) - 1; at >= 0; at-- {
		next[seats[at].Set] = at
	}
	units := d.growth(stages...)
	for n, unit := range units {
		for set, count := range unit.Add {
			for range count {
				seats[next[set]].step = int32(n)
				next[set]++
			}
		}
	}
	return int32(len(units))
}

// wasClaimed says whether the seat was a claim in the state.
func (w booking) wasClaimed(s *Seat) bool {
	return s.claimed || s.origin >= 0 && w.Holdings[s.origin].fresh
}

// ran says whether the seat is of a task that ran in the state, wherever it is
// now.
func (w booking) ran(s *Seat) bool {
	return s.origin >= 0 && w.Holdings[s.origin].Phase == Running && !w.Holdings[s.origin].fresh
}

// runsNext says whether the seat is of a task that runs in the next state, by which the
// next solve knows its steps: what ran, and what starts now, be it a claim whose place came free.
func runsNext(w *World, s *Seat) bool {
	return w.booking().ran(s) || !s.claimed && !s.pipelined
}

// compareRuns has what runs be lower than what is only claimed, also where that starts now:
// the last goes first (M6).
func (w booking) compareRuns(a, b *Seat) int {
	runs := func(s *Seat) bool { return runsNext(w.World, s) && !w.wasClaimed(s) }
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
		walk.Reset(d.Gang, counts, d.choices())
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

// enter tells the room of the workload's units from a step on.
func (w booking) enter(i, from int32) {
	seats := w.Room.Seats[i]
	steps := int32(0)
	for _, s := range seats {
		steps = max(steps, s.step+1)
	}
	k := &w.Works[i]
	for step := from; step < steps; step++ {
		if u, some := w.unitOf(i, step); some {
			w.Pools[w.FormOf(k, k.Current).Pool].Room.Add(u)
		}
	}
}

// unitOf describes one unit of a workload by its seats.
func (w booking) unitOf(i, step int32) (u preempt.Unit, some bool) {
	k := &w.Works[i]
	f := w.FormOf(k, k.Current)
	p, d := w.Pools[f.Pool], w.Definition(k, k.Current)
	seats, charged := w.Room.Seats[i], 0
	u = preempt.Unit{
		EvictionRank: preempt.EvictionRank{
			NonPreemptible: f.NonPreemptible, Priority: f.Priority, Step: step,
			Admitted: math.MaxInt64, Submitted: k.Submitted, Rank: k.Rank, Work: i,
		},
		Leaf: f.Queue, Owner: k.Owner, Rooted: k.Live >= 0 && w.live[k.Live].leaving > 0,
		Tasks: w.newUnitTasks(countSeats(seats, step)),
	}
	u.Started = true
	for at := range seats {
		s := &seats[at]
		u.Started = u.Started && (s.step != step || s.origin < 0)
		if w.Outside(k, s.Node) && s.step >= step { // nor is what it builds on taken (M6)
			u.NonPreemptible = true
		}
		if step == 0 || s.step == step { // a minimum is as old as its oldest task
			u.Admitted = min(u.Admitted, s.Admitted)
		}
		if s.step != step {
			continue
		}
		some = true
		shape := &d.Sets[s.Set]
		charged++
		charge := p.chargeOf(shape, &w.Nodes[s.Node], s.Devices)
		if !w.Outside(k, s.Node) {
			u.Tasks = append(u.Tasks, preempt.Task{
				Shape: shape.Placed, Place: s.place(w.World), Charge: charge,
			})
		}
		u.Charge = plus(u.Charge, charge, charged)
		gpus := shape.Charge.Of(0)
		u.GPUs += gpus
		if startsAtOnce(w.World, s) {
			u.Starting++
		}
		if w.wasClaimed(s) {
			continue // no work is lost with it
		}
		if s.commit < 0 {
			u.Running++
		}
		if !p.Policy.CheckpointOnEviction && !w.Outside(k, s.Node) {
			t := &u.Tasks[len(u.Tasks)-1]
			t.Milli, t.Since = gpus, max(s.Admitted, k.Checkpoint)
		}
	}
	if u.Starting > 0 && minimumWaits(w.World, i) {
		u.Starting = 0
	}
	if step == 0 && p.Counted {
		u.Charge = append(slices.Clip(u.Charge), quota.Amount{Resource: int32(p.Width - 1), Value: 1})
	}
	runtime := &p.Runtimes[f.Queue]
	u.PreemptFrom, u.ReclaimFrom = laterBy(u.Admitted, runtime.Preempt), laterBy(u.Admitted, runtime.Reclaim)
	return u, some
}

// plus adds what the n-th task of a unit is charged. The charge of a lone task is
// shared with its like.
func plus(sum, charge quota.Amounts, n int) quota.Amounts {
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

func countSeats(seats []Seat, step int32) (n int) {
	for at := range seats {
		if seats[at].step == step {
			n++
		}
	}
	return n
}

// newUnitTasks cuts room for n tasks from an arena.
func (w booking) newUnitTasks(n int) []preempt.Task {
	book := w.Room
	if len(book.tasks) < n {
		book.tasks = make([]preempt.Task, max(n, min(len(w.Holdings), 4096)))
	}
	out := book.tasks[:0:n]
	book.tasks = book.tasks[n:]
	return out
}

// laterBy is the time so many seconds after another; unlimited is never.
func laterBy(from int64, seconds quota.Bound) int64 {
	const second = 1_000_000
	if !seconds.Given() || seconds.Amount() == 0 {
		return math.MinInt64
	}
	if seconds.IsUnlimited() || seconds.Amount() > (math.MaxInt64-max(from, 0))/second {
		return math.MaxInt64
	}
	return from + seconds.Amount()*second
}

// asking is what a solver keeps from one question for room to the next: thousands that ask the same follow
// each other.
type asking struct {
	// asked is who asked last, nil where it was like no other; found, proposed and modesAtHand are memory
	// for the question at hand.
	asked       *preempt.Preemptor
	found       way
	proposed    preempt.Proposal
	modesAtHand [5]preempt.Mode
	freed       quota.Amounts // scratch of carryOut, as are victims
	victims     []int32
}

// likeLast is the beneficiary of a question. Where the last one asked the same and nothing but who asks is
// another, it is that one again.
func (s preempting) likeLast(k *Work, it queue.Item, at int16, add []int32, asks quota.Amounts) *preempt.Preemptor {
	p, f, b := s.pool, s.world.FormOf(k, at), s.asked
	if b == nil || f.Definition != b.Equivalence || it.Stage > 0 || b.Leaf != f.Queue || b.NonPreemptible != f.NonPreemptible || b.Priority != f.Priority ||
		!s.asksAlone(k, at, add) || b.Still == p.Index.Releasing() {
		b = s.beneficiary(k, it, at, slices.Clone(add), slices.Clone(asks))
		if s.asked = nil; b.Equivalence >= 0 && it.Stage <= 0 && s.asksAlone(k, at, add) {
			s.asked = b
		}
		return b
	}
	b.Submitted, b.Rank, b.Work, b.Entitled = k.Submitted, k.Rank, it.ID, p.Room.Entitled(f.Queue, asks)
	return b
}

// asksAlone says whether what a workload asks of the evaluator, but for who it is, depends on nothing but what
// defines it.
func (s preempting) asksAlone(k *Work, at int16, add []int32) bool {
	d := s.world.Definition(k, at)
	return (k.Live < 0 || !s.world.holds(k)) && len(s.promises.list) == 0 && s.due == 0 && len(d.Stranger) == 0 && !d.Gang.Constrained() &&
		!s.pool.Classed() && slices.Equal(add, d.Unit.Add)
}

// beneficiary describes the unit to the room.
func (s preempting) beneficiary(k *Work, it queue.Item, at int16, add []int32, asks quota.Amounts) *preempt.Preemptor {
	p, f, d := s.pool, s.world.FormOf(k, at), s.ownGround(it.ID, at)
	b := &preempt.Preemptor{
		EvictionRank: preempt.EvictionRank{
			NonPreemptible: f.NonPreemptible, Priority: f.Priority, Step: int32(min(it.Stage, 1)),
			Admitted: s.world.Now, Submitted: k.Submitted, Rank: k.Rank, Work: it.ID,
		},
		Leaf: f.Queue, Asks: asks, Gang: d.Gang, Set: p.NodeSet[f.Queue],
		Exact: !p.Classed() && len(s.promises.list) == 0, Entitled: p.Room.Entitled(f.Queue, asks), Equivalence: -1, Still: !p.Index.Releasing(),
	}
	b.Classes = p.guaranteedTo(f.Queue, d, gang.Unit{Add: add})
	if (k.Live < 0 || !s.world.holds(k)) && len(s.promises.list) == 0 && s.due == 0 {
		b.Equivalence = f.Definition
	}
	b.Add.Add = add
	need := make([]int64, p.Plain)
	first := placement.Shape(-1)
	for set, n := range add {
		shape := &d.Sets[set]
		b.Shapes = append(b.Shapes, shape.Placed)
		if n == 0 {
			continue
		}
		b.GPUs += int64(n) * shape.Charge.Of(0)
		if first >= 0 && first != shape.Placed {
			b.Exact = false
		}
		first = shape.Placed
		r := &shape.Request
		b.Exact = b.Exact && (r.Devices <= 1 || r.Memory == 0 && r.Milli == WholeDevice)
		addNeed(need, shape, int64(n))
	}
	b.Need = needed(need)
	b.Start = func() bool { return s.startFor(f, d, b) }
	b.Exact = b.Exact && !s.reprieving().fitted(d, b.Add)
	if d.Gang.Constrained() {
		s.reprieving().keepTogether(b, d)
	}
	b.Short = func() []int32 { return s.shortOf(d, b) }
	if len(s.promises.list) > 0 {
		b.MayMove = s.promising().sparing().mayMove()
	}
	return b
}

// needed are the amounts, by resource, that are more than none.
func needed(need []int64) (amounts quota.Amounts) {
	for r, n := range need {
		if n > 0 {
			amounts = append(amounts, quota.Amount{Resource: int32(r), Value: n})
		}
	}
	return amounts
}

// addNeed adds what nodes must give for n tasks; device memory is not told, as
// it is a different part of different devices.
func addNeed(need []int64, shape *Shape, n int64) {
	for _, a := range shape.Request.Amounts {
		need[a.Resource+1] += n * a.Value
	}
	if shape.Request.Memory == 0 {
		need[0] += n * shape.Charge.Of(0)
	}
}
