package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/preempt"
)

// Why a victim was chosen is known while it is chosen. Who asks about some has the
// state decided with a trace of the proposals that take them: the same state gives the
// same plan (S1), so these are the proposals of any other time.

// noteChoice keeps a proposal that takes one of the workloads asked about, before it is
// carried out.
func noteChoice(t *cluster.Trace, s *Solver, b *preempt.Preemptor, proposal *preempt.Proposal) {
	if t == nil {
		return
	}
	told := make(map[preempt.Mode]bool)
	for _, c := range proposal.Justifications {
		if !told[c.Mode] && t.Works[s.pool.Room.Unit(c.Victim).Work] {
			told[c.Mode] = true
			t.Chosen[cluster.ChosenFor{Commit: int32(len(s.world.Room.Commits)), Mode: c.Mode}] = choiceOf(t, s, b, proposal, c.Mode)
		}
	}
}

// choiceOf tells how those of a proposal were chosen that go in one way.
func choiceOf(t *cluster.Trace, s *Solver, b *preempt.Preemptor, proposal *preempt.Proposal, mode preempt.Mode) *cluster.Choice {
	room := s.pool.Room
	one := &cluster.Choice{
		Preemptor: b.Work, Leaf: b.Leaf, Priority: b.Priority, Pool: s.index, Mode: mode,
		Ranking: room.Rank(b, proposal, mode, t.Near),
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
func ChoiceFor(w *cluster.World, d *cluster.Decision, a *cluster.Action) (c *cluster.Choice, victim int32, preempted bool) {
	chain := difference.Of(w).ChainOf(d, a)
	if len(chain) != 1 {
		return nil, 0, false
	}
	why := &w.Room.Takings[chain[0]]
	return w.Traced.Chosen[cluster.ChosenFor{Commit: why.Commit, Mode: why.Is.Mode}], why.Unit.Priority, why.Code == cluster.Preempted
}
