package allot

import "github.com/allotsched/allot/queue"

// Heads that cannot start block what the policy of their pool says (O4).

// unblock forgets who blocks what.
func (s *solver) unblock() {
	s.blocker = none
	if s.blockers == nil {
		s.blockers = make([]int32, len(s.pool.queues))
	}
	for q := range s.blockers {
		s.blockers[q] = none
	}
}

// block lets the refused form of workload i block what the policy of its pool
// says (O4).
func (s *solver) block(i int32, at int16) error {
	leaf, err := s.blocks(i, at)
	if leaf != none {
		s.main.Drop(int(leaf))
	}
	return err
}

// blocks notes what the refused form of workload i blocks, and returns the queue
// that takes no part any more, or none. What a rule of its own queue refuses
// blocks that queue only.
func (s *solver) blocks(i int32, at int16) (leaf int32, err error) {
	w, policy := s.world, s.pool.policy.Queueing
	k := &w.works[i]
	f, d := w.formOf(k, at), w.definition(k, at)
	if policy == queue.BestEffort || s.orderOf(d) != s.main || !d.verdict.OK {
		return none, nil
	}
	impossible, err := s.impossible(f, at)
	if err != nil || len(impossible) > 0 {
		return none, err
	}
	_, admitted := s.pool.tree.Check(int(f.queue), w.asks(k, at), f.nonPreemptible)
	switch {
	case policy == queue.StrictQueue || policy == queue.StrictPool && !admitted:
		if s.blockers[f.queue] != none {
			return none, nil
		}
		s.blockers[f.queue], leaf = i, f.queue
	case admitted && s.blocker == none:
		s.blocker, leaf = i, none
	default:
		return none, nil
	}
	s.decision.blocked = true
	return leaf, nil
}

// mayPass says whether a form may start past the workload that blocks the pool
// (O4, P8).
func (s *solver) mayPass(f *form) bool {
	if s.pool.policy.Queueing != queue.BackfillSingles {
		return !f.nonPreemptible
	}
	d := &s.pool.definitions[f.definition]
	return len(d.sets) == 1 && d.sets[0].gpus <= 1 && d.unit.Tasks() <= 1
}

// keptOff says whether idle nodes are kept from a workload for the one that blocks
// the pool (P8).
func (s *solver) keptOff(i int32, f int16) bool {
	return s.blocker != none && s.pool.policy.Queueing == queue.BackfillSingles &&
		s.orderOf(s.world.definition(&s.world.works[i], f)) == s.main
}
