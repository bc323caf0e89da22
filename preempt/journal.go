package preempt

import "slices"

// A Mark is a state of an Evaluator's units to come back to.
type Mark struct{ units, steps int }

// A unitStep is one unit that was entered or dropped since the first mark.
type unitStep struct {
	id      UnitID
	before  UnitID // the unit of its workload before it in the chain, −1 if it was the first
	dropped bool
}

// Mark begins, or goes on with, taking note of the units that come and go, so that
// [Evaluator.Undo] comes back to how they are now. Marks are undone in reverse order.
// The prices of nodes are forgotten, so that what is answered after a mark does not
// depend on what was asked before it.
func (r *Evaluator) Mark() Mark {
	r.marks++
	r.law++
	return Mark{len(r.units), len(r.steps)}
}

// Undo brings the units back to a mark. Index and Tree have been brought back by
// their owner. What was found out since about who may go for whom is forgotten, as
// prices may have fallen again; nodes are weighed anew where units came or went.
func (r *Evaluator) Undo(m Mark) {
	r.marks--
	if len(r.steps) > m.steps {
		r.law++
	}
	for _, step := range slices.Backward(r.steps[m.steps:]) {
		if step.dropped {
			r.restore(step)
		} else if r.state[step.id].alive {
			r.unlist(step.id)
			r.forgetProtection(r.units[step.id].Leaf)
		}
	}
	r.steps = r.steps[:m.steps]
	r.units, r.state = r.units[:m.units], r.state[:m.units]
}

// record takes note of a step while there are marks.
func (r *Evaluator) record(step unitStep) {
	if r.marks > 0 {
		r.steps = append(r.steps, step)
	}
}

// restore enters a unit again that was dropped, where it was.
func (r *Evaluator) restore(step unitStep) {
	id := step.id
	u, state := r.units[id], &r.state[id]
	state.alive, state.taken = true, false
	r.priorities.count(u.Priority, 1)
	r.insert(id)
	r.standOnNodes(id)
	if step.before < 0 {
		state.next, r.byWork[u.Work] = r.byWork[u.Work], id
	} else {
		state.next, r.state[step.before].next = r.state[step.before].next, id
	}
	r.loosen(u.Work)
	r.forgetProtection(u.Leaf)
	budget(r, u, 1)
}

// forgetProtection has the protection of a leaf's units be walked anew.
func (r *Evaluator) forgetProtection(leaf int32) { r.walked[leaf], r.whole[leaf] = false, false }

// Size is how much the evaluator has gathered of units that came and went, in units.
func (r *Evaluator) Size() int { return len(r.units) + len(r.touched) }

// Touch takes note that what is free on a node has changed otherwise than by the
// units on it.
func (r *Evaluator) Touch(node int32) { r.touch(node, otherwise) }
