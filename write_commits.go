package allot

import (
	"cmp"
	"slices"
)

// What starts and what moves is written start by start, in the order in which they
// were decided.

// committed are the seats that some start or move has given, in the order of the
// commits: those of a commit begin at from.
func (w *world) committed() (from []int32, seats []seat) {
	var all []seat
	for _, own := range w.room.seats {
		for at := range own {
			if own[at].commit >= 0 {
				all = append(all, own[at])
			}
		}
	}
	from, of := group(len(w.room.commits), len(all), func(at int) int32 { return all[at].commit })
	seats = make([]seat, len(all))
	for i, at := range of {
		seats[i] = all[at]
	}
	return from, seats
}

// writeCommits writes what starts or moves, in the order of the commits, from what
// committed says.
func (w *world) writeCommits(d *decision, from []int32, seats []seat, wanted func(kind ActionKind, work int32) bool) {
	counts := make(map[int32][]int32) // by workload, read one by one: order cannot matter
	var moved, fresh []seat
	for c := range w.room.commits {
		moved, fresh = moved[:0], fresh[:0]
		for _, s := range seats[from[c]:from[c+1]] {
			if w.ran(&s) {
				moved = append(moved, s)
			} else {
				fresh = append(fresh, s)
			}
		}
		commit := &w.room.commits[c]
		if wanted(Move, commit.work) && len(moved) > 0 {
			w.writeSeats(d, commit, Move, moved)
		}
		if wanted(Start, commit.work) && len(fresh) > 0 {
			w.writeSeats(d, commit, w.kindOf(counts, commit, fresh), fresh)
		}
	}
}

// kindOf is what fresh tasks are to their workload: growth if what ran before,
// and has started up to here, is its minimum, else a start. It counts them.
func (w *world) kindOf(counts map[int32][]int32, c *commit, fresh []seat) ActionKind {
	d := w.definition(&w.works[c.work], c.form)
	if len(fresh) == len(w.room.seats[c.work]) && !d.elastic {
		return Start // all of it, which none follows
	}
	held := counts[c.work]
	if held == nil {
		held = make([]int32, len(d.sets))
		for _, s := range w.room.seats[c.work] {
			if s.origin >= 0 && (s.commit < 0 || !w.holdings[s.origin].fresh) {
				held[s.set]++
			}
		}
		counts[c.work] = held
	}
	kind := Start
	if d.gang.AtMinimum(held) {
		kind = Resize
	}
	for _, s := range fresh {
		held[s.set]++
	}
	return kind
}

func (w *world) writeSeats(d *decision, c *commit, kind ActionKind, seats []seat) {
	slices.SortFunc(seats, func(a, b seat) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.index, b.index))
	})
	for _, s := range seats {
		d.placed = append(d.placed, s.taskPlace)
		if kind == Move {
			d.from = append(d.from, w.holdings[s.origin].taskPlace)
		}
	}
	d.add(kind, codeOfStart(kind), &w.works[c.work], c.work, len(seats))
	a := &d.actions[len(d.actions)-1]
	a.form = c.form
	if kind == Move {
		a.moved = int32(len(d.from) - len(seats))
		if last := w.room.lastOf(c.work); last >= 0 {
			why := w.room.whyGone(last)
			a.code, a.taking = w.room.takings[why].code, int32(why)+1
		}
	}
}
