package engine

import (
	"context"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// cancelTurns is after how many turns a solve looks whether it was cancelled.
const cancelTurns = 256

// A attempt is a part of a round (M9).
type attempt uint8

const (
	withinLines attempt = iota // start within the lines, and make room
	beyondLines                // start what is free beyond them (Q4)
	growing                    // halving workloads grow into what nobody wants (L3)
)

// Decide goes round until a whole round changes nothing (M9). What this solve has
// started has cost nothing yet, so it makes way before anybody waits or goes. In
// the order of O2, for each workload that waits:
//
//  1. It starts if it fits within its lines at every level (start).
//  2. Else, if it is within its lines, at most a few starts of this solve
//     (Policy.MaxReplacedStarts) are placed anew so that it fits, sets of fewer
//     first, by a counted budget (startReplacing).
//  3. Else room is made by consolidation, reclaim or preemption (makeRoom). Starts
//     of this solve that stand beyond their lines are units like others there: they
//     were admitted now, and so they go before what ran of their priority.
//
// When nothing of that changes, in this order, and any change begins again at 1:
//
//  4. In each queue a workload that waits and stands in O1 before one alike that this
//     solve started takes its place (exchange); who was evicted moves there.
//  5. Victims come back, the best standing first: to the old place, which is no
//     eviction, also by placing anew what this solve has started there; else to
//     another place, which is a move (putBackAll).
//  6. What waits starts beyond the lines, completions of gangs that have lost a part
//     among it (Q4). A start is not made if with it somebody who was refused at 1 to 3
//     could reclaim what ran before this solve (exposes). That can only be where the
//     subtree of the start is beyond its lines with it, so that nothing is asked of
//     other starts; and it is the whole of what a start can do to those before it,
//     as it takes only what none of them could use. So all of them start in one pass.
//  7. Halving workloads grow (L3), under the condition of 6.
//  8. What is left of one stale gang is given up (G1).
//  9. Promises of those whom a head stops are withdrawn (O4); every other is tried earlier,
//     and put back no later (B7).
//
// Who is refused in a pool that promises (B3) is promised a time and places in its turn, in 1
// if it is within its lines then and in 6 if not, and nothing is placed from then on that is
// in its way (B5).
//
// In strict orders a head beyond its lines starts at 1, as it stops those behind it.
// Nothing is remembered that forbids a change which the next solve would make; a
// refusal is kept while nothing changes in its pool (O5).
func Decide(ctx context.Context, w *cluster.World, d *cluster.Decision) error {
	newSolvers(ctx, w, d)
	err := rounds(w, d)
	for s := range eachSolver(w) {
		s.like = nil // it is large
	}
	return err
}

// rounds goes round with the solvers that there are.
func rounds(w *cluster.World, d *cluster.Decision) error {
	if err := evacuate((cluster.Reserving{World: w}), d); err != nil {
		return err
	}
	d.Restart = true
	for s := range eachSolver(w) {
		if err := s.promising().keep(); err != nil {
			return err
		}
	}
	for rounds := 0; ; rounds++ {
		d.Changed = false
		if err := round(w, d); err != nil || !d.Changed || d.Unplain {
			return err
		}
		if d.Work.Stopped || rounds > mostRounds(w) {
			d.Work.Stopped = true
			return nil
		}
	}
}

// newSolvers gives every pool its solver.
func newSolvers(ctx context.Context, w *cluster.World, d *cluster.Decision) {
	w.Loops = make([]cluster.Loop, len(w.Pools))
	for i := range w.Pools {
		w.Loops[i] = answering{newSolver(ctx, w, d, int32(i))}
	}
}

// newSolver is that of a pool.
func newSolver(ctx context.Context, w *cluster.World, d *cluster.Decision, index int32) *Solver {
	p := w.Pools[index]
	return &Solver{
		ctx: ctx, world: w, decision: d, pool: p, index: index,
		answers: make(map[question][]cluster.Verdict), composed: make([]composition, len(p.Parent)), toldLast: make([][]cluster.Verdict, len(p.Parent)),
		hopeless: make(map[question][]cluster.Verdict), nodeAnswers: newNodeAnswers(),
		refusals: make(map[question]refusal), stayed: make(map[question]cluster.Memo), served: make(map[servedBy]bool), patient: make(map[int32]bool), ownRefusals: make(map[int32][]cluster.Verdict),
		placer: p.CountedPlacer(),
	}
}

// round is one round of decide.
func round(w *cluster.World, d *cluster.Decision) error {
	for s := range eachSolver(w) {
		s.phase = withinLines // who stands in an order again stands in that of its next pass
		startWhatClaims(s)
	}
	if err := runPhase(w, d, withinLines); err != nil || d.Unplain {
		return err
	}
	before := d.Changed
	d.Changed = false
	for _, after := range [...]func(*Solver) error{
		func(s *Solver) error { return (homecoming{solver: s}).goHome() },
		func(s *Solver) error { return freeStarts{s}.exchange() },
		func(s *Solver) error { return s.reprieving().putBackAll() },
	} {
		for s := range eachSolver(w) {
			if err := after(s); err != nil {
				return err
			}
		}
		if d.Changed {
			return nil
		}
	}
	if err := runPhase(w, d, beyondLines); err != nil || d.Changed || d.Unplain {
		return err
	}
	if err := runPhase(w, d, growing); err != nil || d.Changed {
		return err
	}
	if err := endStale(w, d); err != nil {
		return err
	}
	d.Changed = d.Changed || before && !repeats(w, d) && slices.ContainsFunc(w.Pools, func(p *cluster.Pool) bool { return makesRoom(&p.Policy) })
	for s := range eachSolver(w) {
		s.promising().laying().withdrawStopped()
		if _, err := s.promising().improve(); err != nil {
			return err
		}
		if s.promising().laying().readLines() {
			d.Changed = true
		}
	}
	return nil
}

// repeats says whether another round would be what this one was from the last pass within
// the lines on, and come to the same end: nothing has changed since that began.
func repeats(w *cluster.World, d *cluster.Decision) bool {
	return d.SettledAt == epoch(w) && !d.Restart && !someSolver(w, func(s *Solver) bool {
		return s.pool.Index.Releasing() || len(s.promises.list) > 0
	})
}

// epoch counts what has changed in all pools.
func epoch(w *cluster.World) (n int64) {
	for _, p := range w.Pools {
		n += p.Changes
	}
	return n + int64(len(w.Room.Commits)+len(w.Room.Takings))
}

// runPhase gives every waiting workload its turn, and begins again as long as a
// pass may have been decided by what has changed since. Most refusals stand:
// while nothing is evicted, capacity and what the rules leave only shrink, and a
// place for one task is found if there is one. Four do not. A gang of unlike
// tasks may fit where its greedy search has failed before. What queues keep from
// lending (Q5) binds nobody any more once they use it. Who has made room has
// changed what others may do. And where heads block, who is reached before a
// block depends on the order, which every start changes: the last pass of a
// strict pool starts nothing.
func runPhase(w *cluster.World, d *cluster.Decision, now attempt) error {
	for s := range eachSolver(w) {
		if now == beyondLines {
			exposing{s}.noteClaimants()
		}
	}
	taken := len(w.Room.Takings)
	for passes := 0; ; passes++ {
		if stopsPasses(w, passes) {
			d.Work.Stopped = true
			return nil
		}
		d.Started, d.Blocked, d.Unsure, d.Again = false, false, false, false
		full := d.Restart
		d.Restart = false
		for s := range eachSolver(w) {
			s.phase = now
			s.promises.passed, s.promises.madeBefore = false, s.promises.made
			clear(s.promises.hadTurn)
			s.enqueuing().lineUp(full)
		}
		if now == withinLines {
			d.SettledAt = epoch(w)
		}
		if err := runPass(w, d); err != nil {
			return err
		}
		if d.Unplain || now == beyondLines && len(w.Room.Takings) > taken {
			return nil
		}
		if !(d.Blocked && d.Started) && !d.Again && !d.Restart {
			return nil
		}
	}
}

// runPass gives every waiting workload its turn, all pools together: a pool
// whose next workload prefers a form in another pool waits for that one. A form
// that a block keeps back hands on to the next. Where pools wait for each other, the first by ID passes its workload
// over until the preferred form is decided.
func runPass(w *cluster.World, d *cluster.Decision) error {
	for !d.Restart {
		progress := false
		var stuck *Solver
		for s := range eachSolver(w) {
			turns, paused, err := s.run()
			if err != nil {
				return err
			}
			progress = progress || turns > 0
			if paused && stuck == nil {
				stuck = s
			}
		}
		if !progress {
			var err error
			if progress, err = handOver(w); err != nil {
				return err
			}
		}
		switch {
		case progress:
		case stuck != nil:
			stuck.enqueuing().passOver()
		default:
			return nil
		}
	}
	return nil
}

// A Solver is the loop of one pool: it takes the best pending workload, tries
// to start its next unit, commits or leaves everything as it was.
type Solver struct {
	ctx      context.Context
	world    *cluster.World
	decision *cluster.Decision
	pool     *cluster.Pool
	index    int32

	// apart is the order of workloads without GPUs where the policy decides
	// them first and by themselves (P7), nil elsewhere; main is all others.
	apart, main *queue.Queues

	blocking
	promises promises

	// answers are the reasons by question, hopeless those that never end.
	answers  map[question][]cluster.Verdict
	hopeless map[question][]cluster.Verdict
	// gathered is scratch of them, slab their memory. By queue composed are those that were
	// composed last, toldLast why room was refused last.
	gathered []cluster.Verdict
	composed []composition
	toldLast [][]cluster.Verdict
	slab     verdictSlab
	// byQueue are those that hold places after the plan, by queue; nil until asked for.
	byQueue [][]int32
	// What the index says of shapes after the last action: queues that ask the same share it.
	nodeAnswers

	phase attempt
	// kept is who waits in the orders that an Incremental keeps; nil where they were filled
	// for this solve. sure: it stops with ErrCut once its searches are near their bound, where a
	// solve from scratch might decide otherwise.
	kept *keptLine
	sure bool
	// waits are the items that were refused; like are the workloads that wait
	// behind one of their like (O5), evicted where of it those are that were evicted last, plus
	// one.
	waits   []waitingItem
	like    []bucket
	evicted map[kind]int32

	// refusals are why no room was made, by question, and of workloads that
	// hold something; told collects them.
	bounding
	refusals    map[question]refusal
	stayed      map[question]cluster.Memo // when nobody made way who stands behind it
	served      map[servedBy]bool         // who has been served by that right, and by whom
	ownRefusals map[int32][]cluster.Verdict
	told        []cluster.Verdict
	shortfalls  []quota.Shortfall
	asking
	// claims: the start at hand may claim places that others are leaving. leftover: who went
	// left more than was needed. trial: what is tried is not as it is. briefly: a
	// search for places was cut since room was asked for.
	// waitsForItself: it claims whatever it finds, as tasks of its own are leaving.
	// inStep: the index has the places that the table has, and no other.
	claims, leftover, trial, briefly, inStep bool
	// seated are the units that have got places again since a preemptor was last started for a
	// trial, or since what it proposes is carried out.
	seated []seatedUnit
	// begins is what that preemptor would start, as long as it has no rows; it is known while room is made beside
	// promises.
	begins triedStart
	// passes is the workload whose promised places were found for the unit at hand, plus one (B6);
	// 0 is nobody.
	passes int32
	// due is the form, plus one, for which those are to make way who stand behind it; 0 is none. rest is
	// what they leave that did not stand behind it.
	due  int16
	rest []leftPlace
	// cut is when the start at hand is ended, which is cut to fit a hole (B1); 0 is of none.
	cut int64
	// replacements are the sets of starts that were tried to make way, unreplaced is
	// by definition when none did (M9, O5).
	replacements int
	unreplaced   map[int32]cluster.Memo
	// replaced: some start was placed anew.
	replaced bool
	// startedByMemory: something that asks device memory has started. startedToClaim:
	// something claims what is leaving.
	startedByMemory, startedToClaim bool
	// claimants were refused within the lines, exposures are the starts beyond them
	// that would give them what ran, ran says by topmost queue whether anything did. patient
	// are those of the claimants who make no room as they will start in what is free.
	claimants      []queue.Item
	patient        map[int32]bool
	exposures      []exposure
	ran            []bool
	waitsForItself bool
	refused        []cluster.Memo // by placement.Shape: when no node took one (O5)
	walk           gang.Walk
	placer         gang.Placer
	places         []placement.Place
	asks           quota.Amounts
	need           []int64   // scratch of needOf
	rooms          [][]int32 // scratch of lookedAt
	closed         []int32   // and closedKey are scratch of open
	closedKey      []byte
	lastOpen       opened // what open has said last
	// By workload and form, of workloads with alternatives: deferred are forms
	// that wait for an earlier one, tried those that were refused.
	deferred map[[2]int32]queue.Item
	tried    map[[2]int32]bool
}

// begin lines up everything that waits, and what runs and wants more tasks.
func (s *Solver) begin() {
	p, w := s.pool, s.world
	s.enqueuing().unblock()
	s.deferred = make(map[[2]int32]queue.Item)
	s.tried = make(map[[2]int32]bool)
	s.waits, s.leftover = s.waits[:0], false
	s.main = division.NewOrder(p, w, p.Policy.Order)
	if p.Policy.CPUOnlyApart {
		s.apart = division.NewOrder(p, w, queue.Global)
	}
	s.fill()
}

// run gives workloads their turns until none is left or the pool has to wait
// for another.
func (s *Solver) run() (turns int, paused bool, err error) {
	for _, order := range [...]*queue.Queues{s.apart, s.main} {
		if order == nil {
			continue
		}
		s.enqueuing().look(order)
		for s.enqueuing().someMayStart() {
			leaf, it, ok := order.Best()
			if !ok || order == s.main && s.enqueuing().stopsPool() {
				break
			}
			if err := goesOn(s); err != nil {
				return turns, false, err
			}
			k := &s.world.Works[it.ID]
			if it.Form > k.Current && (k.Status == cluster.Waiting || k.Status == cluster.WaitsForLeavers) {
				if s.world.FormOf(k, k.Current).Pool != s.index {
					return turns, true, nil
				}
				s.enqueuing().putOff(order, leaf, it)
				continue
			}
			turns++
			s.decision.Work.Turns++
			if err := s.turn(order, leaf, it); err != nil {
				return turns, false, err
			}
		}
		if s.kept != nil {
			s.kept.pass(order)
		}
	}
	return turns, false, nil
}

// goesOn is nil as long as what is decided is still wanted.
func goesOn(s *Solver) error {
	switch {
	case s.sure && !s.pool.Searching().Sure():
		return ErrCut
	case s.decision.Work.Turns%cancelTurns == 0:
		return s.ctx.Err()
	}
	return nil
}
