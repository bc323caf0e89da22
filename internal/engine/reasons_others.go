package engine

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
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

func newShieldQuestion(p *Pool, b *preempt.Preemptor, mode preempt.Mode, refusal *preempt.Refusal) *shieldQuestion {
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

// addReasons adds to why a workload waits what is promised, to it or to others.
func (s telling) addReasons(i int32, f int16, reasons []Verdict) []Verdict {
	if len(s.promises.list) == 0 {
		return reasons
	}
	own := s.reasons(i, f)
	if len(own) == 0 {
		return reasons
	}
	out := append(own, reasons...)
	slices.SortStableFunc(out, byCode)
	return out
}

// reasons are why a workload waits that has been promised something, or is kept off what is
// promised to others.
func (s telling) reasons(i int32, f int16) []Verdict {
	if p := s.of(i); p != nil {
		v := newVerdict(WaitsForReservation, p.form, s.index)
		if v.Until = p.at; p.gathers {
			v.Until = Never
		}
		if list := s.waits()[i]; len(list) > 0 && !p.gathers {
			v.Workload = list[0]
		}
		return []Verdict{v}
	}
	by, until := s.keptOffBy(i, f)
	if by == nil {
		return nil
	}
	reserved := newVerdict(ReservedForOther, f, s.index)
	reserved.Workload, reserved.Until = by.work, by.at
	if by.gathers {
		reserved.Until = Never
		return []Verdict{reserved}
	}
	late := newVerdict(TooLateToBackfill, f, s.index)
	late.Workload, late.Until = by.work, by.at
	if until == Never {
		late.Code = DurationUnknown
	} else {
		const second = 1_000_000
		late.Need = (until - by.at + second - 1) / second
	}
	return []Verdict{reserved, late}
}

// keptOffBy is the first promise that keeps a workload off places that it would find without
// any, and until when the workload would be there; nil is that there are no such places.
func (s telling) keptOffBy(i int32, f int16) (*promise, int64) {
	w := s.world
	k := &w.Works[i]
	form, d := w.FormOf(k, f), w.Definition(k, f)
	r := s.reaches(i, d)
	var held []int32
	if k.Live >= 0 && w.holds(k) {
		held = w.live[k.Live].held
	} else if d.Times.Least > 0 { // it would do with a hole of this length
		r = r.cutTo(later(max(w.Now, 0), d.Times.Least))
	}
	unit, verdict := d.Gang.First(held)
	if !verdict.OK {
		return nil, 0
	}
	unit = gang.Unit{Add: slices.Clone(unit.Add)}
	asks, err := s.unitAsks(d, unit, held == nil)
	if err != nil {
		return nil, 0
	}
	asks = slices.Clone(asks)
	if _, ok := s.pool.Tree.Check(int(form.Queue), asks, form.NonPreemptible); !ok {
		return nil, 0
	}
	if _, fits := s.diagnosis().wouldPlace(d, unit, s.reprieving().beside(i, d, unit)); !fits {
		return nil, 0
	}
	entitled := s.pool.Room.Entitled(form.Queue, quota.Amounts(asks))
	var by *promise
	for _, p := range s.promises.list {
		if p.at < r.until && !s.yieldsToStart(p, i, form, entitled) && (by == nil || p.at < by.at) {
			by = p
		}
	}
	return by, r.until
}
