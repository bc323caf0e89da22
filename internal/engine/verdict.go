package engine

import (
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/difference"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// tellActions adds to the actions what is known when all is decided: why they are
// needed, and what becomes of who is evicted.
func tellActions(w *cluster.World, d *cluster.Decision) {
	needsWhy := func(a *cluster.Action) bool { return a.Code != 0 || a.Taking != 0 }
	some := 0
	for i := range d.Actions {
		if needsWhy(&d.Actions[i]) {
			some++
		}
	}
	whys := make([]cluster.Verdict, 0, some) // there may be very many
	for i := range d.Actions {
		a := &d.Actions[i]
		a.Behind = promiseTakenBy(d, a)
		if a.Kind == cluster.Evict { // what was cut starts again in this plan
			a.Final = w.FormOf(&w.Works[a.Work], a.Form).Final && !a.Cut && !startsAgain(w, a.Work) // in this plan
		}
		if needsWhy(a) {
			whys = append(whys, cluster.NewVerdict(a.Code, a.Form, w.FormOf(&w.Works[a.Work], a.Form).Pool))
			a.Why = &whys[len(whys)-1]
			tellWhy(w, d, a)
		}
	}
}

// startsAgain says whether a workload of which all that ran has gone holds something in the
// end: then it waits no more, and does not end.
func startsAgain(w *cluster.World, i int32) bool { return len(w.Room.Seats[i]) > 0 }

// tellWhy tells the verdict of an action more than its code, which is 0 for a start.
func tellWhy(w *cluster.World, d *cluster.Decision, a *cluster.Action) {
	switch a.Code {
	case 0, cluster.ClaimBroken: // which may be on many nodes
	case cluster.NodeLost, cluster.DeviceLost, cluster.PlaceLost:
		a.Why.Node = d.Placed[a.From].Node
	case cluster.Grown:
		a.Why.Workload = a.Replaces - 1
	default:
		difference.Of(w).TellTaken(d, a, a.Why)
	}
}

// tell keeps why a way to make room led nowhere.
func (s diagnosis) tell(at int16, b *preempt.Preemptor, mode preempt.Mode, refusal *preempt.Refusal) {
	add := func(c cluster.Code, n int, until int64) {
		v := cluster.NewVerdict(c, at, s.index).Counting(0, int64(n))
		v.Until = until
		if c == cluster.ProtectedUntil || c == cluster.BudgetSpent || c == cluster.VictimsShort {
			v.Shield = newShieldQuestion(s.pool, b, mode, refusal)
		}
		same := slices.IndexFunc(s.told, func(t cluster.Verdict) bool {
			return t.Code == c && (c != cluster.VictimsShort || t.Shield.Mode == mode) // who is protected from one way may be the cause
		})
		if same < 0 {
			s.told = append(s.told, v)
		} else if s.told[same].Need < v.Need {
			s.told[same] = v
		}
	}
	if refusal.Protected > 0 {
		add(cluster.ProtectedUntil, refusal.Protected, refusal.Until)
	}
	if refusal.Budgeted > 0 {
		add(cluster.BudgetSpent, refusal.Budgeted, cluster.None)
	}
	if refusal.Capped > 0 {
		add(cluster.BudgetSpent, refusal.Capped, cluster.None)
	}
	if refusal.Turning > 0 {
		add(cluster.SaturationTurns, refusal.Turning, cluster.None)
	}
	unprotected := refusal.Protected+refusal.Budgeted+refusal.Turning+refusal.Capped == 0
	if line := refusal.Beyond; line != nil {
		s.told = append(s.told, cluster.NewOverLine(s.index, cluster.LargerThanShare, at, line.Queue, line.Resource, line.Entitlement-line.Use, line.Asks))
	}
	switch reclaims := mode == preempt.ReclaimByQuota || mode == preempt.ReclaimByShare; {
	case refusal.Cut:
		add(cluster.SearchCut, max(1, refusal.Steps), cluster.None)
	case unprotected && refusal.Beyond == nil && (refusal.Takeable > 0 || (reclaims || mode == preempt.Preempt) && refusal.Units > 0):
		add(cluster.VictimsShort, refusal.Takeable, cluster.None)
	}
}

// tellTakenBack keeps who would take back at once what the unit would have by preempting protected work (E7).
func (s diagnosis) tellTakenBack(at int16, by int32) {
	v := cluster.NewVerdict(cluster.TakenBack, at, s.index)
	v.Workload = by
	if !slices.ContainsFunc(s.told, func(t cluster.Verdict) bool { return t.Code == v.Code }) {
		s.told = append(s.told, v)
	}
}

// tellLine says which line the unit would cross (R1), the lowest queue first.
func (s diagnosis) tellLine(at int16, f *cluster.Form, asks quota.Amounts) {
	p := s.pool
	for q := f.Queue; q >= 0; q = p.Parent[q] {
		for _, a := range asks {
			line, divided := p.Room.Entitlement(q, a.Resource, q == f.Queue)
			if use := p.Tree.Use(int(q), int(a.Resource)); divided && use+a.Value > line {
				s.told = append(s.told, cluster.NewOverLine(s.index, cluster.OverLine, at, q, a.Resource, line-use, a.Value))
				return
			}
		}
	}
}

// addCuts adds to the reasons what is left of the guarantees beyond whose lines a workload would be, where
// those were cut. That follows what others ask, on which no refusal rests: so it is told last, and
// not kept with one (O5).
func (s diagnosis) addCuts(reasons, why []cluster.Verdict) []cluster.Verdict {
	p, told := s.pool, false
	for i := range why {
		of := &why[i]
		if of.Code != cluster.OverLine && (of.Code != cluster.LargerThanShare || told) {
			continue
		}
		q, resource := int(of.Queue), int(of.Resource)
		cut := p.Cut(q, resource)
		if !p.Divided[resource] || cut <= 0 {
			continue
		}
		left, quoted := p.Shares[q*p.Width+resource].Guaranteed, p.Tree.Quota(q, resource)
		if quoted == quota.Infinite {
			quoted = left + cut
		}
		v := cluster.NewVerdict(cluster.GuaranteeCut, of.Form, s.index).Counting(left, quoted)
		v.Queue, v.Resource = of.Queue, of.Resource
		reasons, told = append(reasons, v), true
	}
	return reasons
}

// A verdictSlab is memory from which lists of verdicts are cut, as there are very many
// short ones.
type verdictSlab struct{ free []cluster.Verdict }

// cut is a copy of a list; of one without verdicts it is not nil.
func (b *verdictSlab) cut(list []cluster.Verdict) []cluster.Verdict {
	const size = 64
	if len(b.free) < len(list) {
		b.free = make([]cluster.Verdict, max(len(list), size))
	}
	out := b.free[:len(list):len(list)]
	b.free = b.free[len(list):]
	copy(out, list)
	return out
}
