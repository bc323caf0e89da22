package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/preempt"
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

// Who is protected from a workload that found no room is looked for when it is asked why:
// most are never asked.

// A shieldQuestion is what that depends on: the preemptor without what starts it, the way
// that was refused, and what it was short of.
type shieldQuestion struct {
	preemptor preempt.Preemptor
	mode      preempt.Mode
	short     []int32
	takeable  int
}

func newShieldQuestion(p *Policy, b *preempt.Preemptor, mode preempt.Mode, refusal *preempt.Refusal) *shieldQuestion {
	q := &shieldQuestion{*b, mode, refusal.Short, refusal.Takeable}
	if q.preemptor.Relocations = 0; mode != preempt.Preempt || refusal.Takeable > 0 { // else nobody of lower priority is there
		q.preemptor.Relocations = p.relocations()
	}
	q.preemptor.Start, q.preemptor.Short, q.preemptor.Gang, q.preemptor.Domains, q.preemptor.Cap = nil, nil, nil, nil, nil
	return q
}

// shielded adds to the reasons of a refusal who is protected. Where it is protection that
// leaves too little, that is said in place of too little being there.
func shielded(s *Solver, told []Verdict) (out []Verdict) {
	if !isShielded(told) {
		return told
	}
	for _, v := range told {
		q := v.shield
		if v.shield = nil; q == nil {
			out = append(out, v)
			continue
		}
		list, cause := preempt.Shields(s.pool.Room, &q.preemptor, q.mode, q.short)
		switch {
		case v.Code == ProtectedUntil:
			v.Shields = only(list, preempt.MinRuntimeHolds)
		case v.Code == BudgetSpent:
			v.Shields = only(list, preempt.BudgetHolds)
		case cause:
			v.Code, v.Have, v.Need, v.Shields = VictimsProtected, int64(q.takeable), 0, list
			for _, one := range list {
				v.Need += int64(one.Units)
			}
		case q.mode == preempt.Preempt && q.takeable == 0:
			continue // nobody of lower priority is there
		}
		out = append(out, v)
	}
	return mostTelling(out)
}

func isShielded(told []Verdict) bool {
	for i := range told { // which are large
		if told[i].shield != nil || told[i].Code == VictimsProtected {
			return true
		}
	}
	return false
}

// mostTelling has of what several ways told one each, of the way by which the most may go:
// that protection leaves too little, else that too little is there.
func mostTelling(told []Verdict) []Verdict {
	short, protected := -1, -1
	for i := range told {
		switch {
		case told[i].Code == VictimsShort && (short < 0 || told[i].Need > told[short].Need):
			short = i
		case told[i].Code == VictimsProtected && (protected < 0 || told[i].Have > told[protected].Have):
			protected = i
		}
	}
	var out []Verdict
	for i, v := range told {
		if v.Code == VictimsShort && (i != short || protected >= 0) || v.Code == VictimsProtected && i != protected {
			continue
		}
		out = append(out, v)
	}
	return out
}

// only are the shields of one fate.
func only(list []preempt.Shield, fate preempt.Fate) []preempt.Shield {
	return slices.DeleteFunc(list, func(one preempt.Shield) bool { return one.Fate != fate })
}
