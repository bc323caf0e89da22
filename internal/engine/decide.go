package engine

import (
	"context"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/queue"
	"github.com/allotsched/allot/quota"
)

// UnitBudget is how many choices of pod sets are tried for a group that needs
// m of its n children (G3) before the search is cut and says so.
const UnitBudget = 256

// choices is UnitBudget, or less of a gang of very many pod sets, each of which a choice
// names.
func (d *Definition) choices() int {
	const sets, fewest = 1 << 16, 8
	return min(UnitBudget, max(fewest, sets/max(1, len(d.Sets))))
}

// cancelTurns is after how many turns a solve looks whether it was cancelled.
const cancelTurns = 256

// An Effort counts what a solve did: it is a [Work] before it is written out, field by
// field.
type Effort struct {
	Turns                      int64
	Searches, Remembered       int64
	Placed                     int64
	Rooms, Candidates, Evicted int64
	Cut                        int64
	Stopped                    bool
}

// A Decision is what was decided, in dense terms, in the order in which it can
// be carried out.
type Decision struct {
	World   *World
	Actions []Action
	Placed  []TaskPlace
	From    []TaskPlace // where moved tasks were, see action.moved
	Work    Effort

	Settled int // actions of the settling that the plan keeps

	// Of the pass at hand: something started; a policy let a workload block
	// others; a refusal was not a proof; something started after such a refusal,
	// or room was made; the orders have to be filled anew.
	started, blocked, unsure, again, restart bool
	// changed: anything changed in the round at hand (M9). redivided: the capacity was
	// divided anew (S6).
	changed, redivided bool
	// settled is the epoch in which the last pass within the lines began, see repeats.
	settled int64
	// promised and nextEnd are what Reservations and NextEnd tell once the world does not know it
	// any more, as kept says.
	promised []Reservation
	nextEnd  int64
	kept     bool
	// unplain: by the orders that an Incremental keeps it does not tell what is decided.
	unplain bool
}

// An Action is an Action before it is written out; its tasks are
// decision.placed[from:to].
type Action struct {
	Kind     Kind
	code     Code
	Form     int16
	Work     int32
	From, To int32
	// Of a solve that made room: taking is whose case it is, plus one; after
	// are workloads that have to leave first; moved is where decision.from
	// begins for a Move.
	taking, Moved int32
	After         []int32
	// Of what grows: commit is the start that it is, plus one, and replaces the
	// workload whose place it takes, plus one.
	commit, replaces int32
	// cut: it moves in a circle, which begins by its leaving first (M11).
	cut bool
	// Until is when what starts is ended, which was cut to fit a hole (B1); 0 is of all else.
	Until int64
	// Behind is the workload whose promised places what starts or moves has taken (B6), none if it
	// has taken nobody's.
	Behind int32
	// final: who is evicted does not wait again (S6).
	Final bool
	// why is told when all is decided; nil where there is nothing to tell.
	Why *Verdict
}

// add adds an action upon the last of what is placed.
func (d *Decision) add(kind Kind, code Code, k *Work, i int32, tasks int) {
	to := int32(len(d.Placed))
	d.Actions = appendMany(d.Actions, Action{Kind: kind, code: code, Form: k.Current, Work: i, From: to - int32(tasks), To: to})
}

// giveUp notes that tasks of one workload lost their place or claim.
func (d *Decision) giveUp(kind Kind, tasks []Holding, code Code) {
	d.addHoldings(kind, tasks, code)
}

// startClaimed notes that claimed tasks of one workload start (S4).
func (d *Decision) startClaimed(tasks []Holding) {
	d.addHoldings(Start, tasks, 0)
}

func (d *Decision) addHoldings(kind Kind, tasks []Holding, code Code) {
	for i := range tasks {
		d.Placed = append(d.Placed, tasks[i].TaskPlace)
	}
	k := &d.World.Works[tasks[0].Work]
	d.add(kind, code, k, tasks[0].Work, len(tasks))
	d.Actions[len(d.Actions)-1].Form = tasks[0].Form
}

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
//  9. Every promise is tried earlier, and put back no later (B7).
//
// Who is refused in a pool that promises (B3) is promised a time and places in its turn, in 1
// if it is within its lines then and in 6 if not, and nothing is placed from then on that is
// in its way (B5).
//
// In strict orders a head beyond its lines starts at 1, as it stops those behind it.
// Nothing is remembered that forbids a change which the next solve would make; a
// refusal is kept while nothing changes in its pool (O5).
func (w *World) Decide(ctx context.Context, d *Decision) error {
	w.newSolvers(ctx, d)
	err := w.rounds(d)
	for s := range eachSolver(w) {
		s.like = nil // it is large
	}
	return err
}

// rounds goes round with the solvers that there are.
func (w *World) rounds(d *Decision) error {
	if err := (reserving{w}).evacuate(d); err != nil {
		return err
	}
	d.restart = true
	for s := range eachSolver(w) {
		if err := s.promising().keep(); err != nil {
			return err
		}
	}
	for rounds := 0; ; rounds++ {
		d.changed = false
		if err := w.round(d); err != nil || !d.changed || d.unplain {
			return err
		}
		if d.Work.Stopped || rounds > mostRounds(w) {
			d.Work.Stopped = true
			return nil
		}
	}
}

// newSolvers gives every pool its solver.
func (w *World) newSolvers(ctx context.Context, d *Decision) {
	w.Loops = make([]Loop, len(w.Pools))
	for i := range w.Pools {
		w.Loops[i] = answering{newSolver(ctx, w, d, int32(i))}
	}
}

// newSolver is that of a pool.
func newSolver(ctx context.Context, w *World, d *Decision, index int32) *Solver {
	p := w.Pools[index]
	return &Solver{
		ctx: ctx, world: w, decision: d, pool: p, index: index,
		answers: make(map[answered][]Verdict), composed: make([]composition, len(p.Parent)), toldLast: make([][]Verdict, len(p.Parent)),
		hopeless: make(map[question][]Verdict), nodeAnswers: newNodeAnswers(),
		refusals: make(map[roomQuestion]*refusal), stayed: make(map[roomQuestion]memo), served: make(map[turnOf]bool), patient: make(map[int32]bool), ownRefusals: make(map[int32][]Verdict),
		placer: p.counted(),
	}
}

// round is one round of decide.
func (w *World) round(d *Decision) error {
	for s := range eachSolver(w) {
		s.phase = withinLines // who stands in an order again stands in that of its next pass
		startWhatClaims(s)
	}
	if err := w.runPhase(d, withinLines); err != nil || d.unplain {
		return err
	}
	before := d.changed
	d.changed = false
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
		if d.changed {
			return nil
		}
	}
	if err := w.runPhase(d, beyondLines); err != nil || d.changed || d.unplain {
		return err
	}
	if err := w.runPhase(d, growing); err != nil || d.changed {
		return err
	}
	if err := w.endStale(d); err != nil {
		return err
	}
	d.changed = d.changed || before && !repeats(w, d) && slices.ContainsFunc(w.Pools, func(p *Pool) bool { return p.Policy.makesRoom() })
	for s := range eachSolver(w) {
		if _, err := s.promising().improve(); err != nil {
			return err
		}
	}
	return nil
}

// repeats says whether another round would be what this one was from the last pass within
// the lines on, and come to the same end: nothing has changed since that began.
func repeats(w *World, d *Decision) bool {
	return d.settled == epoch(w) && !d.restart && !someSolver(w, func(s *Solver) bool {
		return s.pool.Index.Releasing() || len(s.promises.list) > 0
	})
}

// epoch counts what has changed in all pools.
func epoch(w *World) (n int64) {
	for _, p := range w.Pools {
		n += p.changes
	}
	return n + int64(len(w.Room.commits)+len(w.Room.takings))
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
func (w *World) runPhase(d *Decision, now attempt) error {
	for s := range eachSolver(w) {
		if now == beyondLines {
			exposing{s}.noteClaimants()
		}
	}
	for passes := 0; ; passes++ {
		if stopsPasses(w, passes) {
			d.Work.Stopped = true
			return nil
		}
		d.started, d.blocked, d.unsure, d.again = false, false, false, false
		full := d.restart
		d.restart = false
		for s := range eachSolver(w) {
			s.phase = now
			s.promises.passed, s.promises.madeBefore = false, s.promises.made
			s.enqueuing().lineUp(full)
		}
		if now == withinLines {
			d.settled = epoch(w)
		}
		if err := w.runPass(d); err != nil {
			return err
		}
		if d.unplain {
			return nil
		}
		if !(d.blocked && d.started) && !d.again && !d.restart {
			return nil
		}
	}
}

// runPass gives every waiting workload its turn, all pools together: a pool
// whose next workload prefers a form in another pool waits for that one. A form
// that a block keeps back hands on to the next. Where pools wait for each other, the first by ID passes its workload over until
// the preferred form is decided.
func (w *World) runPass(d *Decision) error {
	for !d.restart {
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
			if progress, err = w.handOver(); err != nil {
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
	world    *World
	decision *Decision
	pool     *Pool
	index    int32

	// apart is the order of workloads without GPUs where the policy decides
	// them first and by themselves (P7), nil elsewhere; main is all others.
	apart, main *queue.Queues

	blocking
	promises promises

	// answers are the reasons by question, hopeless those that never end.
	answers  map[answered][]Verdict
	hopeless map[question][]Verdict
	// gathered is scratch of them, slab their memory. By queue composed are those that were
	// composed last, toldLast why room was refused last.
	gathered []Verdict
	composed []composition
	toldLast [][]Verdict
	slab     verdictSlab
	// byQueue are those that hold places after the plan, by queue; nil until asked for.
	byQueue [][]int32
	// What the index says of shapes after the last action: queues that ask the same share it.
	nodeAnswers

	phase attempt
	// kept is who waits in the orders that an Incremental keeps; nil where they were filled
	// for this solve.
	kept *keptLine
	// waits are the items that were refused; like are the workloads that wait
	// behind one of their like (O5), evicted where of it those are that were evicted last, plus
	// one.
	waits   []waitingItem
	like    []bucket
	evicted map[kind]int32

	// refusals are why no room was made, by question, and of workloads that
	// hold something; told collects them.
	bounding
	refusals    map[roomQuestion]*refusal
	stayed      map[roomQuestion]memo // when nobody made way who stands behind it
	served      map[turnOf]bool       // who has been served by that right
	ownRefusals map[int32][]Verdict
	told        []Verdict
	shortfalls  []quota.Shortfall
	asking
	// claims: the start at hand may claim places that others are leaving. leftover: who went
	// left more than was needed. trial: what is tried is not as it is. briefly: a
	// search for places was cut since room was asked for.
	// waitsForItself: it claims whatever it finds, as tasks of its own are leaving.
	// inStep: the index has the places that the table has, and no other.
	claims, leftover, trial, briefly, inStep bool
	// passes is the workload whose promised places were found for the unit at hand, plus one (B6);
	// 0 is nobody.
	passes int32
	// due is the form, plus one, for which those are to make way who stand behind it; 0 is none.
	due int16
	// cut is when the start at hand is ended, which is cut to fit a hole (B1); 0 is of none.
	cut int64
	// replacements are the sets of starts that were tried to make way, unreplaced is
	// by definition when none did (M9, O5).
	replacements int
	unreplaced   map[int32]memo
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
	refused        []memo // by placement.Shape: when no node took one (O5)
	walk           gang.Walk
	placer         gang.Placer
	places         []placement.Place
	asks           quota.Amounts
	need           []int64   // scratch of needOf
	rooms          [][]int32 // scratch of lookedAt
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
	s.main = p.newOrder(w, p.Policy.Order)
	if p.Policy.CPUOnlyApart {
		s.apart = p.newOrder(w, queue.Global)
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
			if s.decision.Work.Turns%cancelTurns == 0 && s.ctx.Err() != nil {
				return turns, false, s.ctx.Err()
			}
			k := &s.world.Works[it.ID]
			if it.Form > k.Current && (k.Status == waiting || k.Status == leaving) {
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
