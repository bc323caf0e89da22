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
	most  int // of the candidates before and after each that goes, how many are told
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
	pool           int32
	mode           preempt.Mode
	leaf, priority int32   // the preemptor's
	nodes          []int32 // the place that was cleared, by position; none is anywhere
	ranking        preempt.Ranking
	units          []preempt.Unit // those of the ranking, as they were
}

// note keeps a proposal that takes one of the workloads asked about, before it is
// carried out.
func (t *trace) note(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal) {
	told := make(map[preempt.Mode]bool)
	for _, c := range proposal.Justifications {
		if !told[c.Mode] && t.works[s.pool.room.Unit(c.Victim).Work] {
			told[c.Mode] = true
			t.chosen[chosenFor{int32(len(s.world.room.commits)), c.Mode}] = t.choiceOf(s, b, proposal, c.Mode)
		}
	}
}

// choiceOf keeps how those of a proposal were chosen that go in one way.
func (t *trace) choiceOf(s *solver, b *preempt.Preemptor, proposal *preempt.Proposal, mode preempt.Mode) *choice {
	room := s.pool.room
	one := &choice{pool: s.index, mode: mode, leaf: b.Leaf, priority: b.Priority, ranking: room.Rank(b, proposal, mode, t.most)}
	if mode == proposal.Mode || mode == preempt.Consolidate { // own ones beside a reclaim go from anywhere (R11)
		one.nodes = slices.Clone(proposal.Nodes())
	}
	for _, r := range one.ranking.Units {
		one.units = append(one.units, *room.Unit(r.Unit))
	}
	return one
}
