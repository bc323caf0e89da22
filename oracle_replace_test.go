package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/queue"
)

// An oracleStart is a unit that started in this solve.
type oracleStart struct {
	action int
	work   *oracleWork
	unit   []int
	tasks  []*oracleTask
}

// startReplacing starts the first unit within the lines that fits if at most three
// starts of this solve are placed anew: fewer first, then the later (M9).
func (p *oraclePool) startReplacing(w *oracleWork) bool {
	if !p.within && p.policy.Queueing != queue.StrictQueue && p.policy.Queueing != queue.StrictPool {
		return false
	}
	kind, units := Resize, w.extras()
	if w.stage() == queue.BelowMinimum {
		kind, units = Start, [][]int{w.unit()}
	}
	for _, unit := range units {
		if !p.admits(w, unit) || !p.withinLines(w, unit) {
			continue
		}
		for size := 1; size <= 3; size++ {
			if p.replaceSome(w, unit, kind, nil, len(p.starts)-1, size) {
				return true
			}
		}
	}
	return false
}

// replaceSome tries the sets with so many more of the starts up to last.
func (p *oraclePool) replaceSome(w *oracleWork, unit []int, kind ActionKind, set []*oracleStart, last, more int) bool {
	if more == 0 {
		largest := slices.Clone(set)
		slices.SortStableFunc(largest, func(a, b *oracleStart) int {
			return cmp.Compare(p.unitCharge(b.work, b.unit, GPU), p.unitCharge(a.work, a.unit, GPU))
		})
		return p.replaceThese(w, unit, kind, set) || p.replaceThese(w, unit, kind, largest)
	}
	for at := last; at >= 0; at-- {
		if one := p.starts[at]; one.work != w && p.replaceSome(w, unit, kind, append([]*oracleStart{one}, set...), at-1, more-1) {
			return true
		}
	}
	return false
}

// replaceThese starts the unit if the starts then find places too, in their order.
func (p *oraclePool) replaceThese(w *oracleWork, unit []int, kind ActionKind, set []*oracleStart) bool {
	before := make(map[*oracleWork][]*oracleTask)
	for _, one := range append([]*oracleStart{{work: w}}, set...) {
		if _, known := before[one.work]; !known {
			before[one.work] = slices.Clone(one.work.tasks)
		}
		one.work.tasks = slices.DeleteFunc(slices.Clone(one.work.tasks), func(t *oracleTask) bool { return slices.Contains(one.tasks, t) })
	}
	added := p.place(w, unit)
	fits := added != nil
	anew := make([][]*oracleTask, len(set))
	for i, one := range set {
		if fits {
			anew[i] = p.place(one.work, one.unit)
			fits = anew[i] != nil
		}
	}
	if !fits {
		for work, tasks := range before { // each is put back by itself
			work.tasks = tasks
		}
		return false
	}
	for i, one := range set {
		all := p.actions
		p.actions = nil
		p.act(all[one.action].Kind, one.work, anew[i])
		all[one.action] = p.actions[0]
		p.actions, one.tasks = all, anew[i]
	}
	p.begin(kind, w, unit, added)
	p.features["replaced"] = true
	return true
}

// begin notes a start.
func (p *oraclePool) begin(kind ActionKind, w *oracleWork, unit []int, added []*oracleTask) {
	p.act(kind, w, added)
	p.starts = append(p.starts, &oracleStart{len(p.actions) - 1, w, unit, added})
}
