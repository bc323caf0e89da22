package engine

import (
	"cmp"
	"math"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A gang that waits for many places while its queue gives them to younger work one by one
// is not seen to wait for that: each start is right by itself (O4), and so it is told.

// An overtaking looks for who has overtaken gangs.
type overtaking struct{ *cluster.World }

// add adds to the reasons of a gang that has its turn how many younger ones of
// its queue hold places.
func (w overtaking) add(i int32, told []cluster.Verdict) []cluster.Verdict {
	k := &w.Works[i]
	f := w.FormOf(k, ShownForm(w.World, k))
	d := &w.Pools[f.Pool].Definitions[f.Definition]
	if len(told) == 0 || d.Unit.Tasks() < 2 || told[0].Code <= cluster.NotSubmitted && told[0].Code >= cluster.ImpossibleNode {
		return told
	}
	younger := int64(0)
	for _, other := range w.holdersOf(solverOf(w.World, k, ShownForm(w.World, k)), f.Queue) {
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
	v := cluster.NewVerdict(cluster.Overtaken, ShownForm(w.World, k), f.Pool).Counting(0, younger)
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
				return cmp.Or(cmp.Compare(w.Works[b].Submitted, w.Works[a].Submitted), w.CompareIDs(a, b))
			})
		}
	}
	return s.byQueue[leaf]
}

// Who is protected from a workload that found no room is looked for when it is asked why:
// most are never asked.

func newShieldQuestion(p *cluster.Pool, b *preempt.Preemptor, mode preempt.Mode, refusal *preempt.Refusal) *cluster.ShieldQuestion {
	q := &cluster.ShieldQuestion{Preemptor: *b, Mode: mode, Short: refusal.Short, Takeable: refusal.Takeable}
	if q.Preemptor.Relocations = 0; mode != preempt.Preempt || refusal.Takeable > 0 { // else nobody of lower priority is there
		q.Preemptor.Relocations = relocations(p)
	}
	q.Preemptor.Start, q.Preemptor.Short, q.Preemptor.Gang, q.Preemptor.Domains, q.Preemptor.Cap = nil, nil, nil, nil, nil
	return q
}

// shielded adds to the reasons of a refusal who is protected. Where it is protection that
// leaves too little, that is said in place of too little being there.
func shielded(s *Solver, told []cluster.Verdict) (out []cluster.Verdict) {
	if !isShielded(told) {
		return told
	}
	for _, v := range told {
		q := v.Shield
		if v.Shield = nil; q == nil {
			out = append(out, v)
			continue
		}
		list, cause := preempt.Shields(s.pool.Room, &q.Preemptor, q.Mode, q.Short)
		switch {
		case v.Code == cluster.ProtectedUntil:
			v.Shields = only(list, preempt.MinRuntimeHolds)
		case v.Code == cluster.BudgetSpent:
			v.Shields = only(list, preempt.BudgetHolds)
		case cause:
			v.Code, v.Have, v.Need, v.Shields = cluster.VictimsProtected, int64(q.Takeable), 0, list
			for _, one := range list {
				v.Need += int64(one.Units)
			}
		case q.Mode == preempt.Preempt && q.Takeable == 0:
			continue // nobody of lower priority is there
		}
		out = append(out, v)
	}
	return mostTelling(out)
}

func isShielded(told []cluster.Verdict) bool {
	for i := range told { // which are large
		if told[i].Shield != nil || told[i].Code == cluster.VictimsProtected {
			return true
		}
	}
	return false
}

// mostTelling has of what several ways told one each, of the way by which the most may go:
// that protection leaves too little, else that too little is there.
func mostTelling(told []cluster.Verdict) []cluster.Verdict {
	short, protected := -1, -1
	for i := range told {
		switch {
		case told[i].Code == cluster.VictimsShort && (short < 0 || told[i].Need > told[short].Need):
			short = i
		case told[i].Code == cluster.VictimsProtected && (protected < 0 || told[i].Have > told[protected].Have):
			protected = i
		}
	}
	var out []cluster.Verdict
	for i, v := range told {
		if v.Code == cluster.VictimsShort && (i != short || protected >= 0) || v.Code == cluster.VictimsProtected && i != protected {
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
func (s telling) addReasons(i int32, f int16, reasons []cluster.Verdict) []cluster.Verdict {
	own := s.reasons(i, f)
	if held := s.heldTooMuch(i, f); held != nil {
		own = append(own, *held)
	}
	if len(own) == 0 {
		return reasons
	}
	out := append(own, reasons...)
	slices.SortStableFunc(out, byCode)
	return out
}

// reasons are why a workload waits that has been promised something, or is kept off what is
// promised to others.
func (s telling) reasons(i int32, f int16) []cluster.Verdict {
	if len(s.promises.list) == 0 {
		return nil
	}
	if p := s.of(i); p != nil {
		v := cluster.NewVerdict(cluster.WaitsForReservation, p.form, s.index)
		if v.Until = p.at; p.gathers {
			v.Until = cluster.Never
		}
		if list := s.waits()[i]; len(list) > 0 && !p.gathers {
			v.Workload = list[0]
		}
		return []cluster.Verdict{v}
	}
	by, until := s.keptOffBy(i, f)
	if by == nil {
		return nil
	}
	reserved := cluster.NewVerdict(cluster.ReservedForOther, f, s.index)
	reserved.Workload, reserved.Until = by.work, by.at
	if by.gathers {
		reserved.Until = cluster.Never
		return []cluster.Verdict{reserved}
	}
	late := cluster.NewVerdict(cluster.TooLateToBackfill, f, s.index)
	late.Workload, late.Until = by.work, by.at
	if until == cluster.Never {
		late.Code = cluster.DurationUnknown
	} else {
		late.Need = (until - by.at + cluster.Second - 1) / cluster.Second
	}
	return []cluster.Verdict{reserved, late}
}

// heldTooMuch is why a workload is promised nothing that would be, if too much were not idle then or for too long
// (B4); nil is nothing.
func (s telling) heldTooMuch(i int32, f int16) *cluster.Verdict {
	w, r := s.world, &s.pool.Policy.Reserve
	k := &w.Works[i]
	bounded := r.MaxHeld != math.MaxInt64 || r.MaxHold != math.MaxInt64
	if !reserves(s.pool) || !bounded || s.of(i) != nil || !s.wasTried(i, f) || !s.laying().isOfThose(k, f) || !s.laying().hasWaited(k) {
		return nil
	}
	it := wholeItem(w, i, f)
	not, err := s.laying().mayNotYet(it)
	if err != nil || s.layAgain() != nil { // nobody asks any more
		return nil
	}
	s.promises.from = not.from
	defer func() { s.promises.from = 0 }()
	for _, entitled := range [...]bool{true, false} {
		if !s.laying().hasRoom(&promise{work: i, form: f, entitled: entitled}, s.laying().yields) {
			continue
		}
		p, lifted, found := s.layNew(it, entitled)
		s.layBack(lifted, nil)
		if found || p.cause != nil {
			return p.cause
		}
	}
	return nil
}

// keptOffBy is the first promise that keeps a workload off places that it would find without
// any, and until when the workload would be there; nil is that there are no such places.
func (s telling) keptOffBy(i int32, f int16) (*promise, int64) {
	w := s.world
	k := &w.Works[i]
	form, d := w.FormOf(k, f), w.Definition(k, f)
	held := w.CountsOf(k)
	unit, verdict := d.Gang.First(held)
	if !verdict.OK {
		return nil, 0
	}
	unit = gang.Unit{Add: slices.Clone(unit.Add)}
	r := s.reaches(i, d, unit.Tasks())
	if held == nil && d.Times.Least > 0 { // it would do with a hole of this length
		r = r.cutTo(cluster.TimeAfter(max(w.Now, 0), d.Times.Least))
	}
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
