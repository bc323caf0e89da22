package gang

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// What runs counts where tasks are parted among domains (T2, T6).

// countHeld tells the parts how many tasks of the set they hold already, and says
// whether some do.
func (w *search) countHeld(s int32, parts []part, level placement.Level) (some bool) {
	if w.siblings.Standing == nil && len(w.siblings.Held) == 0 {
		return false
	}
	first := make(map[placement.Domain]int, len(parts)) // of several parts of a domain
	for p := range parts {
		at := w.domainAt(parts[p].domain, level)
		if _, known := first[at]; at >= 0 && !known {
			first[at] = p
			parts[p].had += int64(w.siblings.Standing.in(s, level, at))
			some = some || parts[p].had > 0
		}
	}
	for i := range w.siblings.Held {
		h := &w.siblings.Held[i]
		if h.Node < 0 || h.Set != s {
			continue
		}
		if p, in := first[w.t.Of(h.Node, level)]; in {
			parts[p].had++
			some = true
		}
	}
	return some
}

// shareWithHeld gives n tasks, in units of so many, to parts of which some hold tasks
// of the set already (T6): packing goes to those first, and equal parts count what
// is held.
func shareWithHeld(parts []part, n, unit int64, mode Mode) bool {
	order := byRoom(parts)
	slices.SortStableFunc(order, func(a, b *part) int { return cmp.Compare(min(b.had, 1), min(a.had, 1)) })
	used, room := 0, int64(0)
	for used < len(order) && (room < n || mode == Spread) {
		room += order[used].takes
		used++
	}
	if room < n {
		return false
	}
	if mode == Pack {
		for _, p := range order[:used] {
			p.n = min(n, p.takes)
			n -= p.n
		}
		return true
	}
	for ; n > 0; n -= unit {
		var least *part
		for _, p := range order[:used] {
			if p.n+unit <= p.takes && (least == nil || p.had+p.n < least.had+least.n) {
				least = p
			}
		}
		least.n += unit
	}
	return true
}
