package placement

import "math/bits"

// LeavesMore says whether on some node more is free of something than there was at the mark: of a resource,
// of a device, or of the tasks that it may have. Where that is not so a task that no node took then finds
// none that takes it now. Many changes are not looked at, and may leave more.
func (m Mark) LeavesMore(x *Index) bool {
	const many = 16
	if x.now != nil {
		x = x.now
	}
	entries := x.journal.entries[m.entries:]
	if len(entries) > many {
		return true
	}
	for i := range entries { // beside what is releasing or claimed it is not plain
		if e := &entries[i]; e.shape == burdened || e.what.releasing != 0 || e.what.claimed != 0 {
			return true
		}
	}
	for i := range entries {
		if e := &entries[i]; e.what.running < 0 && hasMore(x, entries, e) {
			return true
		}
	}
	return false
}

// hasMore says whether the node of one change has more of something that was given back by it than before all of
// the changes.
func hasMore(x *Index, entries []entry, of *entry) bool {
	v := of.place.Node
	sh, l := x.shapes[of.shape], &x.layouts[x.nodes[v].layout]
	if x.slots[v].tasks < noCap && netOf(entries, v, func(e *entry) int64 { return e.tasks() }) < 0 {
		return true
	}
	if sh.count == 0 && x.slots[v].cpuOnly < noCap && netOf(entries, v, func(e *entry) int64 {
		if x.shapes[e.shape].count > 0 {
			return 0
		}
		return e.tasks()
	}) < 0 {
		return true
	}
	for _, a := range sh.amounts {
		if netOf(entries, v, func(e *entry) int64 {
			if e.shape == of.shape {
				return e.tasks() * a.Value
			}
			return e.tasks() * x.shapes[e.shape].amounts.Of(a.Resource)
		}) < 0 {
			return true
		}
	}
	for left := of.place.Devices; left != 0; left &= left - 1 {
		d := bits.TrailingZeros64(left)
		if netOf(entries, v, func(e *entry) int64 { // of tasks that were taken together each has devices of its own
			return -signOf(e.tasks()) * int64(e.place.Devices>>d&1) * x.shapes[e.shape].units(l, d)
		}) < 0 {
			return true
		}
	}
	return false
}

// netOf is how much less is free on a node after the changes, of which each takes so much or, below 0, gives it back.
func netOf(entries []entry, v int32, takes func(*entry) int64) (sum int64) {
	for i := range entries {
		if e := &entries[i]; e.place.Node == v {
			sum += takes(e)
		}
	}
	return sum
}

// tasks is how many tasks a change has run; below 0 they have gone.
func (e *entry) tasks() int64 { return int64(e.what.running) }
