package engine

import (
	"cmp"
	"slices"
)

// A gang that waits for many places while its queue gives them to younger work one by one
// is not seen to wait for that: each start is right by itself (O4), and so it is told.

// An overtaking looks for who has overtaken gangs.
type overtaking struct{ *World }

// add adds to the reasons of a gang that has its turn how many younger ones of
// its queue hold places.
func (w overtaking) add(i int32, told []Verdict) []Verdict {
	k := &w.Works[i]
	f := w.FormOf(k, w.Shown(k))
	d := &w.Pools[f.Pool].Definitions[f.Definition]
	if len(told) == 0 || d.Unit.Tasks() < 2 || told[0].Code <= NotSubmitted && told[0].Code >= ImpossibleNode {
		return told
	}
	younger := int64(0)
	for _, other := range w.holdersOf(w.solverOf(k, w.Shown(k)), f.Queue) {
		o := &w.Works[other]
		if o.Submitted <= k.Submitted {
			break // the youngest come first
		}
		if other != i && w.FormOf(o, o.Current).Priority <= f.Priority {
			younger++
		}
	}
	if younger == 0 {
		return told
	}
	v := newVerdict(Overtaken, w.Shown(k), f.Pool).counting(0, younger)
	v.Queue = f.Queue
	at, _ := slices.BinarySearchFunc(told, v, byCode)
	return slices.Insert(slices.Clone(told), at, v) // others share the list
}

// holdersOf are the workloads of a leaf that hold places after the plan, the youngest
// first.
func (w overtaking) holdersOf(s *Solver, leaf int32) []int32 {
	if s.byQueue == nil {
		s.byQueue = make([][]int32, len(s.pool.Parent))
		for _, i := range s.pool.Works {
			k := &w.Works[i]
			if f := w.FormOf(k, k.Current); f.Pool == s.index && len(w.Room.Seats[i]) > 0 {
				s.byQueue[f.Queue] = append(s.byQueue[f.Queue], i)
			}
		}
		for _, list := range s.byQueue {
			slices.SortFunc(list, func(a, b int32) int {
				return cmp.Or(cmp.Compare(w.Works[b].Submitted, w.Works[a].Submitted), w.dividing().compareIDs(a, b))
			})
		}
	}
	return s.byQueue[leaf]
}
