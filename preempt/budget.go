package preempt

// What disruption budgets leave of each owner (M7).

// withinBudget says whether the owner's budget lets the unit go (M7). What only starts
// may go as long as nothing that ran needs it. What starts of a workload lets nothing of the workload itself go: the
// unit moves to its place (M11).
func withinBudget(r *Evaluator, u *Unit) bool {
	if u.Running == 0 {
		return r.Spares(u.Owner, int(u.Starting))
	}
	return u.Owner < 0 || int64(u.Running) <= r.budgets[u.Owner]+r.starting[u.Owner]-startingOf(r, u.Work)
}

// startingOf is how many tasks of a workload start, in units that are not taken.
func startingOf(r *Evaluator, work int32) (n int64) {
	for id := range r.Of(work) {
		if !r.Taken(id) {
			n += int64(r.units[id].Starting)
		}
	}
	return n
}

// Spares says whether so many of the tasks that start of an owner may go or wait: nothing
// that ran has gone since [Evaluator.Begin], or its budget holds without them (M7).
// Nobody is −1.
func (r *Evaluator) Spares(owner int32, starting int) bool {
	return owner < 0 || starting == 0 || r.budgets[owner] >= r.undisturbed[owner] ||
		int64(starting) <= r.budgets[owner]+r.starting[owner]
}

// budget counts a unit for its owner's budget n times: once, or less once.
func budget(r *Evaluator, u *Unit, n int64) {
	if u.Owner >= 0 {
		r.budgets[u.Owner] += n * int64(u.Running)
		r.starting[u.Owner] += n * int64(u.Starting)
	}
}

// Begin takes note of what runs of each owner now. Until some of that goes or moves, what
// is started from now on is bound by no budget (M7).
func (r *Evaluator) Begin() { r.undisturbed = append(r.undisturbed[:0], r.budgets...) }
