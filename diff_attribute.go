package allot

import "slices"

// A fate is what has become of a workload that something was taken for.
type fate uint8

const (
	holdsNothing fate = iota
	holdsOther        // places that it has otherwise
	staysHome         // all that it has is where it was
	holdsIt           // a place that it was taken for
)

// A tookFrom is a taking as attribute reads it: who lost to whom, and the commit that
// it was for. What moves hands nothing on.
type tookFrom struct {
	loser, gainer, commit int32
	moves                 bool
}

// attribute is the chain of takings that begins with one: of what its gainer has lost
// again the next taking is the first later one that took from it or, if the gainer is
// where it was after all, any. The chain ends with the first gainer that holds what
// was taken for it, else with the last that holds anything. of lists the takings from
// a loser, in their order; a taking for nobody is a chain of its own.
func attribute(first int32, takings func(int32) tookFrom, of func(loser int32) []int32, fated func(work, commit int32) fate) []int32 {
	chain, firm := []int32{first}, 1
	start := takings(first)
	if start.gainer < 0 {
		return chain
	}
	for at, t := first, start; ; {
		f := fated(t.gainer, t.commit)
		if f != holdsNothing {
			firm = len(chain)
		}
		if f == holdsIt {
			return chain
		}
		later := func(n int32) bool { return n > at || f == staysHome }
		next := int32(none)
		for _, n := range of(t.gainer) {
			if other := takings(n); later(n) && other.gainer >= 0 && !other.moves && !slices.Contains(chain, n) {
				next = n
				break
			}
		}
		if next == none {
			return chain[:firm]
		}
		at, t = next, takings(next)
		chain = append(chain, next)
	}
}

// chainFrom is the chain that begins with a taking.
func (w *world) chainFrom(first int32) []int32 {
	book := w.room
	return attribute(first, func(at int32) tookFrom {
		t := &book.takings[at]
		return tookFrom{t.unit.Work, t.beneficiary, t.commit, t.code == Consolidated}
	}, book.takingsOf, w.fateOf)
}

// fateOf says what the workload holds in the end of what it has started by a commit.
func (w *world) fateOf(work, commit int32) fate {
	out := holdsNothing
	for at := range w.room.seats[work] {
		switch s := &w.room.seats[work][at]; {
		case s.commit == commit:
			return holdsIt
		case s.commit >= 0:
			out = holdsOther
		case out == holdsNothing:
			out = staysHome
		}
	}
	return out
}

// chainOf is the chain by which an action is told; nil where nothing was taken.
func (w *world) chainOf(d *decision, a *action) []int32 {
	if a.taking == 0 {
		return nil
	}
	if chain := w.chainFrom(w.whyTaken(d.goneBy(a), a.taking-1)); w.room.takings[chain[0]].beneficiary >= 0 {
		return chain
	}
	return nil
}

// goneBy are the places that an action takes away.
func (d *decision) goneBy(a *action) []taskPlace {
	if a.kind == Move {
		return d.from[a.moved : a.moved+a.to-a.from]
	}
	return d.placed[a.from:a.to]
}

// A takenWork is what was taken of one workload, task by task and unit by unit.
type takenWork struct {
	// steps are by pod set and index the unit that a task was in when it went or, if
	// it has moved, is in now.
	steps map[[2]int32]int32
	// any and gone are by unit the last of its takings, and the last that was no
	// consolidation.
	any, gone map[int32]int32
}

// takenOf is what was taken of a workload. It is asked when nobody changes seats any
// more.
func (w *world) takenOf(work int32) *takenWork {
	book := w.room
	if known := book.takenWorks[work]; known != nil {
		return known
	}
	out := &takenWork{make(map[[2]int32]int32), make(map[int32]int32), make(map[int32]int32)}
	note := func(seats []seat, step func(*seat) int32) {
		for at := range seats {
			if s := &seats[at]; s.origin >= 0 {
				h := &w.holdings[s.origin]
				out.steps[[2]int32{h.set, h.index}] = step(s)
			}
		}
	}
	note(book.seats[work], func(s *seat) int32 { return s.step })
	for _, at := range book.outsOf(work) {
		note(book.out[at].seats, func(*seat) int32 { return book.out[at].unit.Step })
	}
	for _, at := range book.takingsOf(work) {
		t := &book.takings[at]
		out.any[t.unit.Step] = at
		if t.code != Consolidated {
			out.gone[t.unit.Step] = at
		}
	}
	if book.takenWorks == nil {
		book.takenWorks = make(map[int32]*takenWork)
	}
	book.takenWorks[work] = out
	return out
}

// stepOf is the unit of the workload that a task was in.
func (w *world) stepOf(work int32, g taskPlace) (step int32, known bool) {
	step, known = w.takenOf(work).steps[[2]int32{g.set, g.index}]
	return step, known
}

// outsOf are what is out of a workload in the end, in the order of out.
func (b *roomBook) outsOf(work int32) []int32 {
	if b.outOf == nil {
		b.outOf = make(map[int32][]int32)
		for at := range b.out {
			of := b.out[at].unit.Work
			b.outOf[of] = append(b.outOf[of], int32(at))
		}
	}
	return b.outOf[work]
}

// whyTaken is the last taking of the same workload and of the same kind of right
// as that at 'at' that took one of the tasks in the unit in which it went.
func (w *world) whyTaken(gone []taskPlace, at int32) int32 {
	last := &w.room.takings[at]
	steps := make(map[int32]bool)
	for _, g := range gone {
		if step, known := w.stepOf(last.unit.Work, g); known {
			steps[step] = true
		}
	}
	for _, why := range slices.Backward(w.room.takingsOf(last.unit.Work)) {
		if t := &w.room.takings[why]; (t.code == Consolidated) == (last.code == Consolidated) && steps[t.unit.Step] {
			return why
		}
	}
	return at
}
