package preempt

import (
	"slices"

	"github.com/allotsched/allot/quota"
)

// Reclaim and preemption together (R11): a queue that is within its line, and would be
// beyond it with one workload more, gives up lower priority of its own for that, and
// takes the rest from what others have beyond their lines.

// mostRuns is how many runs of own victims a reclaim is looked for with.
const mostRuns = 64

// A joint is such a question under way.
type joint struct {
	*taking // of the preemptor's own leaf, lowest priority first, then newest
	run     []UnitID
	refusal Refusal
}

// findBoth finds the shortest run of own victims with which a reclaim serves, and
// spares of them whom it can.
func (a *ask) findBoth(r *Evaluator) (out Proposal, refusal Refusal, found bool) {
	if r.Reclaim == NoReclaim || r.Scope != WithinQueue || r.Infeasible(a.Preemptor, a.mode, nil) {
		return Proposal{}, Refusal{}, false
	}
	r.opened = true
	own := &ask{Preemptor: a.Preemptor, mode: Preempt}
	j := &joint{taking: &taking{room: r, ask: own, fit: &fit{room: r, ask: own, focus: -1}}}
	defer func() {
		for _, id := range slices.Backward(j.run) {
			j.restore(id)
		}
	}()
	if own.relocates() {
		r.protect(a.Leaf)
	}
	tries := 0
	looked := 1 + len(r.byLeaf[a.Leaf])/lookedAt
	r.Effort.Spend(looked)
	r.Effort.Passing(int64(looked))
	for _, id := range slices.Backward(slices.Clone(lowerThan(r, r.inLeaf(a.Leaf), a.Priority))) {
		if tries == mostRuns || j.refusal.Steps >= r.Steps || r.Effort.Over(0) {
			j.refusal.Cut = true
			break
		}
		if !j.mayGo(id) || !j.vacate(id) {
			continue
		}
		j.run = append(j.run, id)
		if !r.entitled(&ask{Preemptor: a.Preemptor, mode: j.widest()}, a.Leaf) {
			continue
		}
		if tries++; j.fit.ok() {
			break // then preemption alone would do
		}
		if _, ok := j.reclaim(); ok {
			out, found = j.spared()
			break
		}
	}
	return out, Refusal{Steps: j.refusal.Steps, Cut: j.refusal.Cut && !found}, found
}

// widest is the reclaim that allows most.
func (j *joint) widest() Mode {
	if j.room.Reclaim == ByQuota {
		return ReclaimByQuota
	}
	return ReclaimByShare
}

// mayGo says whether a unit of the preemptor's leaf may be preempted, with all above
// it in its workload gone already: beside moves nothing that is protected (M10).
func (j *joint) mayGo(id UnitID) bool {
	r := j.room
	var ignored Refusal
	if !r.fixed(j.ask, id, &ignored) || j.ask.relocates() && r.state[id].protection != none {
		return false
	}
	for other := range r.Of(r.units[id].Work) {
		if r.units[other].Step > r.units[id].Step && !r.state[other].taken {
			return false
		}
	}
	return true
}

// reclaim looks for a reclaim of what is beyond the lines of others, with the run gone:
// by quota, else by share.
func (j *joint) reclaim() (Proposal, bool) {
	b := *j.ask.Preemptor
	if !j.capped(&b) {
		return Proposal{}, false
	}
	for _, mode := range [...]Mode{ReclaimByQuota, ReclaimByShare} {
		if mode == ReclaimByShare && j.room.Reclaim == ByQuota {
			break
		}
		a := &ask{Preemptor: &b, mode: mode, excessOnly: true}
		s := &search{room: j.room, ask: a}
		found := find(s)
		j.refusal.Steps += 1 + s.refusal.Steps
		j.refusal.Cut = j.refusal.Cut || s.refusal.Cut
		if found {
			return s.proposed, true
		}
	}
	return Proposal{}, false
}

// capped counts the run for the preemptor's cap, and says whether it is kept (M7).
func (j *joint) capped(b *Preemptor) bool {
	if b.Cap == nil {
		return true
	}
	works := (&search{room: j.room, ask: j.ask}).capped(j.run)
	cap := &Cap{Left: b.Cap.Left - len(works), Disturbed: make(map[int32]bool, len(b.Cap.Disturbed)+len(works))}
	for work := range b.Cap.Disturbed { // into a map: order cannot matter
		cap.Disturbed[work] = true
	}
	for _, work := range works {
		cap.Disturbed[work] = true
	}
	b.Cap = cap
	return cap.Left >= 0
}

// spared puts back of the run, best standing first, whom the rest serves without, and
// tells who goes, unless the leaf gains nothing by it.
func (j *joint) spared() (Proposal, bool) {
	r := j.room
	for _, id := range slices.Backward(slices.Clone(j.run[:len(j.run)-1])) {
		if j.refusal.Steps >= r.Steps || r.Effort.Over(0) {
			j.refusal.Cut = true
			break
		}
		if r.stepsOut(id) || !j.restore(id) {
			continue
		}
		if _, ok := j.reclaim(); !ok {
			j.vacate(id)
		}
	}
	j.run = slices.DeleteFunc(j.run, func(id UnitID) bool { return !r.state[id].taken })
	out, ok := j.reclaim()
	if !ok || !j.gains() {
		return Proposal{}, false
	}
	var cases []Justification
	for _, id := range j.run {
		cases = append(cases, r.caseOf(j.ask, id))
	}
	out.Justifications = append(cases, out.Justifications...)
	return out, true
}

// gains says whether the run releases less than the preemptor starts, in something that
// it is short of, and more in nothing of that.
func (j *joint) gains() bool {
	var released quota.Amounts
	for _, id := range j.run {
		sum, err := released.AddScaled(j.room.charged(id), 1)
		if err != nil {
			return false
		}
		released = sum
	}
	less := false
	for _, res := range j.ask.Short() {
		switch gone, asks := released.Of(res), j.ask.asks(res); {
		case gone > asks:
			return false
		case gone < asks:
			less = true
		}
	}
	return less
}
