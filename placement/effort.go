package placement

// An Effort is what the searches of a pool may cost together, in steps: in each about a
// unit is looked at as a victim, and in three a place is taken and given back. Every search says
// what it costs, also where it finds nothing, and gives up where its part of the whole is
// used up. So many questions that are each within the bounds of a single one do not come to
// minutes together. A nil Effort bounds nothing.
//
// A question may use a quarter of what is left, and nothing of it is kept for others: the
// first of many in vain cannot leave nothing to those that follow. Where nearly all is used
// up every question still has [LeastPart] steps.
//
// Each search of a question is bounded by all that the question may cost, whatever it has
// cost by then, and the question ends after the search with which it has cost too much. So
// who carries out what was found, under the bound under which it was ([Effort.Again]), makes
// the same searches and comes to the same end.
//
// It belongs to one goroutine.
type Effort struct {
	most, spent int64
	limit       int64 // of spent, for the question at hand; 0 where there is none
	asked       int64 // what was spent when it was asked
	needed      int64 // what the dearest question needed that was not cut
	bound       int64 // of each of its searches
	cut         bool
	// Of spent: gone is what has been found out anew since, or is remembered no more, passing
	// what is spent again by who asks again.
	gone, passing int64
}

// LeastPart is how many steps every question may cost, however many came before it.
const LeastPart = 256

// NewEffort returns that of so many steps; 0 bounds nothing.
func NewEffort(most int64) *Effort { return &Effort{most: most} }

// Renew gives back all that was spent, of so many steps.
func (e *Effort) Renew(most int64) { *e = Effort{most: most} }

// Resume goes on with what was spent, of so many steps: for who remembers what was found
// out, as if it were found out again. What is counted twice by then is counted once. anew
// says that no answer is remembered, so that whoever asked spends again what was passing.
func (e *Effort) Resume(most int64, anew bool) {
	next := Effort{most: most, spent: e.spent - e.gone, passing: e.passing, needed: e.needed}
	if anew {
		next.spent, next.passing = next.spent-e.passing, 0
	}
	*e = next
}

// Gone takes note that what was found out by so many of the steps is remembered no more,
// or was found out anew by others: a [Effort.Resume] does not count them again.
func (e *Effort) Gone(steps int64) {
	if e != nil {
		e.gone += steps
	}
}

// Passing takes note that nothing is remembered of so many of the steps but the answer.
func (e *Effort) Passing(steps int64) {
	if e != nil {
		e.passing += steps
	}
}

// Spend counts steps.
func (e *Effort) Spend(steps int) {
	if e != nil {
		e.spent += int64(steps)
	}
}

// Spent is how many steps were counted.
func (e *Effort) Spent() int64 {
	if e == nil {
		return 0
	}
	return e.spent
}

// Ask begins a question, and returns what [Effort.Answered] wants at its end. A question
// inside another is a part of it.
func (e *Effort) Ask() (around int64) {
	if e == nil || e.limit > 0 {
		return -1
	}
	return e.Again(e.part())
}

// Again begins a question whose searches are bounded as those of another were, which had
// this [Effort.Bound]. A question inside another is a part of it.
func (e *Effort) Again(bound int64) (around int64) {
	if e == nil || e.limit > 0 {
		return -1
	}
	e.limit, e.bound, e.asked = e.spent+bound, bound, e.spent
	return 0
}

// Bound is what each search of the question at hand may cost, or else that of one that
// begins now.
func (e *Effort) Bound() int64 {
	switch {
	case e == nil:
		return 1 << 60
	case e.limit == 0:
		return e.part()
	}
	return e.bound
}

// Answered ends the question that [Effort.Ask] began.
func (e *Effort) Answered(around int64) {
	if e != nil && around == 0 {
		e.limit = 0
	}
}

// part is what a question may cost.
func (e *Effort) part() int64 {
	if e.most == 0 {
		return 1 << 60
	}
	return max(LeastPart, (e.most-e.spent)/4)
}

// Left is how many steps the question at hand may still cost, of one that has not begun
// what it may cost; not below 0.
func (e *Effort) Left() int64 {
	switch {
	case e == nil:
		return 1 << 60
	case e.limit == 0:
		return e.part()
	}
	return max(0, e.limit-e.spent)
}

// Narrow is a search's own bound, or less where it may not cost so many steps.
func (e *Effort) Narrow(steps int) int {
	bound := e.Bound()
	if bound >= int64(steps) {
		e.need(int64(steps))
		return steps
	}
	e.cut = true
	return int(bound)
}

// Over says whether the question at hand has cost what it may, or would with so many steps
// more: then it is cut, and [Effort.Cut] remembers that.
func (e *Effort) Over(more int) bool {
	if e == nil {
		return false
	}
	if e.Left() >= int64(more)+1 {
		e.need(int64(more) + 1)
		return false
	}
	e.cut = true
	return true
}

// Needs takes note that a question like the one at hand, were it the first, would need so many
// steps for what is remembered for it.
func (e *Effort) Needs(steps int64) {
	if e != nil {
		e.needed = max(e.needed, steps)
	}
}

// need takes note of what the question at hand needs, with so many steps more.
func (e *Effort) need(more int64) {
	if e == nil {
		return
	}
	if e.limit > 0 {
		more += e.spent - e.asked
	}
	e.needed = max(e.needed, more)
}

// Sure says that no question was cut, and that none would be if all that was found out since
// the Effort was new or renewed were found out at once, in whatever order: of what would be
// left when all is spent the dearest question needs no more than its part, and a quarter of
// what it needs is to spare, for what it was told by answers to others.
func (e *Effort) Sure() bool {
	return e == nil || !e.cut && (e.most == 0 || e.needed+e.needed/4 <= max(LeastPart, (e.most-e.spent)/4))
}

// Cut says whether some question was cut, or had its bounds narrowed, since the Effort was
// new, renewed or resumed.
func (e *Effort) Cut() bool { return e != nil && e.cut }

// Most is how many steps there are in all; 0 bounds nothing.
func (e *Effort) Most() int64 {
	if e == nil {
		return 0
	}
	return e.most
}
