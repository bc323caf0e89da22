package allot

import (
	"math"
	"slices"
	"time"

	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// tell keeps why a way to make room led nowhere.
func (s *solver) tell(at int16, mode preempt.Mode, refusal *preempt.Refusal) {
	add := func(r Reason, n int) {
		r.Form, r.Need = int(at), int64(n)
		same := slices.IndexFunc(s.told, func(t Reason) bool { return t.Code == r.Code })
		if same < 0 {
			s.told = append(s.told, r)
		} else if s.told[same].Need < r.Need {
			s.told[same] = r
		}
	}
	if refusal.Protected > 0 {
		add(Reason{Code: ProtectedUntil, Until: timeOf(refusal.Until)}, refusal.Protected)
	}
	if refusal.Budgeted > 0 {
		add(Reason{Code: BudgetSpent}, refusal.Budgeted)
	}
	if refusal.Capped > 0 {
		add(Reason{Code: BudgetSpent}, refusal.Capped)
	}
	if refusal.Turning > 0 {
		add(Reason{Code: SaturationTurns}, refusal.Turning)
	}
	none := refusal.Protected+refusal.Budgeted+refusal.Turning+refusal.Capped == 0
	if line := refusal.Beyond; line != nil {
		s.told = append(s.told, s.pool.overLine(s.world.state, LargerThanShare, at, line.Queue, line.Resource, line.Entitlement-line.Use, line.Asks))
	}
	switch reclaims := mode == preempt.ReclaimByQuota || mode == preempt.ReclaimByShare; {
	case refusal.Cut:
		add(Reason{Code: SearchCut}, refusal.Steps)
	case none && refusal.Beyond == nil && (refusal.Takeable > 0 || reclaims && refusal.Units > 0):
		add(Reason{Code: VictimsShort}, refusal.Takeable)
	}
}

// tellLine says which line the unit would cross (R1), the lowest queue first.
func (s *solver) tellLine(at int16, f *form, asks quota.Amounts) {
	p := s.pool
	for q := f.queue; q >= 0; q = p.parent[q] {
		for _, a := range asks {
			line, divided := p.room.Entitlement(q, a.Resource, q == f.queue)
			if use := p.tree.Use(int(q), int(a.Resource)); divided && use+a.Value > line {
				s.told = append(s.told, p.overLine(s.world.state, OverLine, at, q, a.Resource, line-use, a.Value))
				return
			}
		}
	}
}

// overLine is a reason about a line that leaves so much.
func (p *pool) overLine(s *State, code Code, at int16, q, resource int32, left, need int64) Reason {
	return Reason{
		Code: code, Form: int(at), Queue: p.queueID(s, int(q)),
		Resource: p.resources[resource].name, Have: max(0, left), Need: need,
	}
}

// timeOf is the instant of so many microseconds; zero where there is none, as
// for what is protected for ever.
func timeOf(micros int64) time.Time {
	if micros < 0 || micros == math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
