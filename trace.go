package allot

import (
	"slices"

	"github.com/allotsched/allot/preempt"
)

// Why a victim was chosen is known while it is chosen. Who asks about some has the
// state decided once more, with a trace of the proposals that take them: the same
// state gives the same plan (S1), so these are the proposals of the first time.

// A trace keeps how the victims among some workloads were chosen.
type trace struct {
	works map[int32]bool
	// near is how many of the other candidates are told before and after those chosen.
	near int
	// chosen are by commit, the start that something was taken for, and by the way in
	// which it was taken.
	chosen map[chosenFor]*choice
}

// A chosenFor names a choice: what goes for one start in one way.
type chosenFor struct {
	commit int32
	mode   preempt.Mode
}

// A choice is how those of one proposal were chosen that go, or move, in one way.
type choice struct {
	beneficiary int32
	leaf        int32 // of the beneficiary
	priority    int32
	pool        int32
	mode        preempt.Mode
	nodes       []int32 // that were cleared, by position; none is anywhere (M3)
	ranking     preempt.Ranking
	units       []preempt.Unit // of ranking.Units, as they stood
}

func newTrace(works map[int32]bool, near int) *trace {
	return &trace{works: works, near: near, chosen: make(map[chosenFor]*choice)}
}

// note keeps a proposal that takes one of the workloads asked about, before it is
// carried out.
func (t *trace) note(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal) {
	if t == nil {
		return
	}
	told := make(map[preempt.Mode]bool)
	for _, c := range proposal.Justifications {
		if !told[c.Mode] && t.works[s.pool.room.Unit(c.Victim).Work] {
			told[c.Mode] = true
			t.chosen[chosenFor{int32(len(s.world.room.commits)), c.Mode}] = t.choiceOf(s, b, proposal, c.Mode)
		}
	}
}

// choiceOf tells how those of a proposal were chosen that go in one way.
func (t *trace) choiceOf(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal, mode preempt.Mode) *choice {
	room := s.pool.room
	one := &choice{
		beneficiary: b.Work, leaf: b.Leaf, priority: b.Priority, pool: s.index, mode: mode,
		ranking: room.Rank(b, proposal, mode, t.near),
	}
	if mode == proposal.Mode || mode == preempt.Consolidate { // own ones beside a reclaim go from anywhere (R11)
		one.nodes = slices.Clone(proposal.Nodes())
	}
	for i := range one.ranking.Units {
		one.units = append(one.units, *room.Unit(one.ranking.Units[i].Unit))
	}
	return one
}

// choiceFor is how the victim of an action was chosen; nil if that was not asked about,
// or there was a chain. preempted is its own priority where it was preempted.
func (w *coreWorld) choiceFor(d *decision, a *action) (c *choice, victim int32, preempted bool) {
	chain := w.chainOf(d, a)
	if len(chain) != 1 {
		return nil, 0, false
	}
	why := &w.room.takings[chain[0]]
	return w.traced.chosen[chosenFor{why.commit, why.is.Mode}], why.unit.Priority, why.code == codePreempted
}
