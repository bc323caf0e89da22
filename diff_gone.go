package allot

import (
	"cmp"
	"slices"
)

// writeGone writes what has lost its seat, in the order in which it was taken.
func (w *world) writeGone(d *decision) {
	book := w.room
	written := make([]bool, len(book.last))
	for i := range book.takings {
		work := book.takings[i].unit.Work
		if at := book.last[work]; at > 0 && !written[work] { // a workload at a time
			written[work] = true
			w.writeGoneOf(d, work, int(at)-1)
		}
	}
}

// writeGoneOf writes what one workload has lost, for the last of its takings.
func (w *world) writeGoneOf(d *decision, i int32, at int) {
	k := &w.works[i]
	if k.live < 0 {
		return // it started in this solve
	}
	l := &w.live[k.live]
	kept, some := make([]bool, l.to-l.from), false
	for _, s := range w.room.seats[i] {
		if s.origin >= 0 {
			kept[s.origin-l.from], some = true, true
		}
	}
	var claims, gone []holding
	for h := l.from; h < l.to; h++ {
		switch {
		case kept[h-l.from] || w.holdings[h].phase == Terminating:
		case w.holdings[h].phase == Claimed || w.holdings[h].fresh:
			claims = append(claims, w.holdings[h])
		default:
			gone = append(gone, w.holdings[h])
		}
	}
	if len(claims) > 0 {
		w.writeTaken(d, Unclaim, claims, w.room.whyGone(at))
	}
	parts := w.partsOf(gone, at)
	for n, part := range parts {
		kind := Shrink // what is above the minimum goes first (M6)
		if !some && n == len(parts)-1 {
			kind = Evict
		}
		w.writeTaken(d, kind, part.tasks, part.why)
	}
}

// writeTaken writes that tasks of one workload have gone, for one reason.
func (w *world) writeTaken(d *decision, kind ActionKind, tasks []holding, why int) {
	slices.SortFunc(tasks, func(a, b holding) int { return compareTasks(a.taskPlace, b.taskPlace) })
	d.giveUp(kind, tasks, w.room.takings[why].code)
	d.actions[len(d.actions)-1].taking = int32(why) + 1
}

// A takenPart is what has gone of a workload by one chain.
type takenPart struct {
	tasks   []holding
	why     int
	minimum bool // of it
	chain   []int32
}

// partsOf parts what has gone by its chains (X2), in the order in which it was taken,
// the minimum last.
func (w *world) partsOf(gone []holding, at int) (parts []takenPart) {
	chains := make(map[int][]int32) // by taking
	for _, h := range gone {
		one := takenPart{tasks: []holding{h}, why: w.room.whyGone(at)}
		if step, known := w.stepOf(h.work, h.taskPlace); known {
			one.minimum = step == 0
			if last, some := w.takenOf(h.work).gone[step]; some {
				one.why = int(last)
			}
		}
		known := false
		if one.chain, known = chains[one.why]; !known {
			one.chain = w.chainFrom(int32(one.why))
			chains[one.why] = one.chain
		}
		same := slices.IndexFunc(parts, func(p takenPart) bool { return w.sameChain(p.chain, one.chain) })
		if same < 0 {
			parts = append(parts, one)
			continue
		}
		p := &parts[same]
		p.tasks, p.why, p.minimum = append(p.tasks, h), max(p.why, one.why), p.minimum || one.minimum
	}
	slices.SortStableFunc(parts, func(a, b takenPart) int {
		if a.minimum != b.minimum {
			if a.minimum {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.why, b.why)
	})
	lastFirst(parts)
	return parts
}

// sameChain says whether two chains are of the same workloads by the same rights.
func (w *world) sameChain(a, b []int32) bool {
	return slices.EqualFunc(a, b, func(x, y int32) bool {
		t, u := &w.room.takings[x], &w.room.takings[y]
		return t.beneficiary == u.beneficiary && t.code == u.code
	})
}

// lastFirst has of each pod set, whose tasks are alike, the last go first (M6).
func lastFirst(parts []takenPart) {
	if len(parts) < 2 {
		return
	}
	bySet := make(map[int32][]holding) // the first last; read one by one: order cannot matter
	for i := range parts {
		for _, h := range parts[i].tasks {
			bySet[h.set] = append(bySet[h.set], h)
		}
	}
	for _, list := range bySet { // each for itself: order cannot matter
		slices.SortFunc(list, func(a, b holding) int { return cmp.Compare(a.index, b.index) })
	}
	for i := range parts {
		for t := range parts[i].tasks {
			list := bySet[parts[i].tasks[t].set]
			parts[i].tasks[t] = list[len(list)-1]
			bySet[parts[i].tasks[t].set] = list[:len(list)-1]
		}
	}
}

// whyGone is the last taking of the workload, up to this one, that was no
// consolidation: that moves, and what is gone was taken otherwise.
func (b *roomBook) whyGone(at int) int {
	for _, why := range slices.Backward(b.takingsOf(b.takings[at].unit.Work)) {
		if int(why) <= at && b.takings[why].code != Consolidated {
			return int(why)
		}
	}
	return at
}

// lastOf is the last taking of the workload, −1 if there is none.
func (b *roomBook) lastOf(work int32) int {
	if list := b.takingsOf(work); len(list) > 0 {
		return int(list[len(list)-1])
	}
	return -1
}
