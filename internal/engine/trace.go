package engine

import (
	"slices"

	"github.com/allotsched/allot/preempt"
)

// Why a victim was chosen is known while it is chosen. Who asks about some has the
// state decided with a trace of the proposals that take them: the same state gives the
// same plan (S1), so these are the proposals of any other time.

// A Trace keeps how the victims among some workloads were chosen.
type Trace struct {
	works map[int32]bool
	// near is how many of the other candidates are told before and after those chosen.
	near int
	// chosen are by commit, the start that something was taken for, and by the way in
	// which it was taken.
	chosen map[chosenFor]*Choice
}

// A chosenFor names a choice: what goes for one start in one way.
type chosenFor struct {
	commit int32
	mode   preempt.Mode
}

// A Choice is how those of one proposal were chosen that go, or move, in one way.
type Choice struct {
	beneficiary int32
	Leaf        int32 // of the beneficiary
	Priority    int32
	Pool        int32
	Mode        preempt.Mode
	Nodes       []int32 // that were cleared, by position; none is anywhere (M3)
	Ranking     preempt.Ranking
	Units       []preempt.Unit // of ranking.Units, as they stood
}

// NewTrace asks how the victims among some workloads are chosen, and of how many other
// candidates before and after each it is told.
func NewTrace(works map[int32]bool, near int) *Trace {
	return &Trace{works: works, near: near, chosen: make(map[chosenFor]*Choice)}
}

// Has says whether it was asked about all of the workloads, with as many others told.
func (t *Trace) Has(works map[int32]bool, near int) bool {
	if t == nil || t.near != near {
		return false
	}
	for i := range works { // all or not: order cannot matter
		if !t.works[i] {
			return false
		}
	}
	return true
}

// note keeps a proposal that takes one of the workloads asked about, before it is
// carried out.
func (t *Trace) note(s *Solver, b *preempt.Preemptor, proposal *preempt.Proposal) {
	if t == nil {
		return
	}
	told := make(map[preempt.Mode]bool)
	for _, c := range proposal.Justifications {
		if !told[c.Mode] && t.works[s.pool.Room.Unit(c.Victim).Work] {
			told[c.Mode] = true
			t.chosen[chosenFor{int32(len(s.world.Room.commits)), c.Mode}] = t.choiceOf(s, b, proposal, c.Mode)
		}
	}
}

// choiceOf tells how those of a proposal were chosen that go in one way.
func (t *Trace) choiceOf(s *Solver, b *preempt.Preemptor, proposal *preempt.Proposal, mode preempt.Mode) *Choice {
	room := s.pool.Room
	one := &Choice{
		beneficiary: b.Work, Leaf: b.Leaf, Priority: b.Priority, Pool: s.index, Mode: mode,
		Ranking: room.Rank(b, proposal, mode, t.near),
	}
	if mode == proposal.Mode || mode == preempt.Consolidate { // own ones beside a reclaim go from anywhere (R11)
		one.Nodes = slices.Clone(proposal.Nodes())
	}
	for i := range one.Ranking.Units {
		one.Units = append(one.Units, *room.Unit(one.Ranking.Units[i].Unit))
	}
	return one
}

// ChoiceFor is how the victim of an action was chosen; nil if that was not asked about,
// or there was a chain. preempted is its own priority where it was preempted.
func (w *World) ChoiceFor(d *Decision, a *Action) (c *Choice, victim int32, preempted bool) {
	chain := w.closing().chainOf(d, a)
	if len(chain) != 1 {
		return nil, 0, false
	}
	why := &w.Room.takings[chain[0]]
	return w.Traced.chosen[chosenFor{why.commit, why.is.Mode}], why.unit.Priority, why.code == Preempted
}
