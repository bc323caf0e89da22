package sim

import "github.com/allotsched/allot"

// A Cause says why GPUs are idle.
type Cause uint8

const (
	// NoDemand: nobody waits for them.
	NoDemand Cause = iota
	// TooFew: who waits asks more than is free in all.
	TooFew
	// Pieces: enough is free in all, but not where the one who waits could use it.
	Pieces
	// ByRule: who waits is held back by a quota, a limit, or the order of turns.
	ByRule
	// UntilFree: who waits has claimed them, or waits for what is leaving.
	UntilFree
	// Impossible: who waits can never start on this cluster.
	Impossible
	// Untold: nobody has said yet what the one who waits is held up by, or that he cannot have
	// what has become free. The decision is still to come or on its way, or was not asked for
	// reasons (see [Options]).
	Untold
	causes
)

var causeNames = [...]string{"no-demand", "too-few", "pieces", "by-rule", "until-free", "impossible", "untold"}

// String is the text form, such as "pieces".
func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return ""
}

// Causes are all of them, in their order.
func Causes() []Cause {
	return []Cause{NoDemand, TooFew, Pieces, ByRule, UntilFree, Impossible, Untold}
}

// want takes in what a job that waits wants, or that it no longer does.
func (m *meter) want(j *job, p phase, held int64) {
	wants := int64(0)
	switch p {
	case waiting:
		wants = j.asks
	case partial:
		wants = max(j.asks-held, 0)
	default:
		m.wanted[j.cause] -= j.wanted
		j.cause, j.wanted = Untold, 0
		return
	}
	m.wanted[j.cause] += wants - j.wanted
	j.wanted = wants
}

// told takes in what a job waits for.
func (m *meter) told(j *job, c Cause) {
	m.wanted[j.cause] -= j.wanted
	j.cause = c
	m.wanted[j.cause] += j.wanted
}

// explain takes in what a plan says of who waits.
func (m *meter) explain(e *engine, p *allot.Plan) {
	m.explained++
	for i := range p.Shares {
		m.divide(&p.Shares[i])
	}
	for i := range p.Pending {
		w := &p.Pending[i]
		if j := e.byID[w.Workload]; j != nil && j.phase.waits() && len(w.Reasons) > 0 {
			m.told(j, causeOf(w.Reasons[0].Code))
		}
	}
}

// divide takes in a fair share.
func (m *meter) divide(s *allot.Share) {
	if q := m.byQueue[s.Queue]; q != nil && s.Resource == allot.GPU && s.Class == "" {
		q.share, q.divided = s.FairShare, s.Divided
	}
}

// idle splits what is idle by cause: those for which somebody waits who could use them
// if they were in one piece come first. Of what has become free since the last decision nobody
// has been told yet, but who can never start.
func (m *meter) idle() (idle [causes]int64) {
	wanted := int64(0)
	for _, amount := range m.wanted {
		wanted += amount
	}
	free := min(m.usable-m.allocated, wanted)
	idle[NoDemand] = m.usable - m.allocated - free
	idle[Untold] = min(free, m.fresh(), wanted-m.wanted[Impossible])
	free -= idle[Untold]
	for _, c := range []Cause{Pieces, UntilFree, ByRule, Untold, TooFew, Impossible} {
		part := min(free, m.wanted[c])
		idle[c] += part
		free -= part
	}
	return idle
}

func causeOf(c allot.Code) Cause {
	switch c {
	case allot.ImpossibleNode, allot.ImpossibleGang, allot.ImpossibleDomain, allot.ImpossibleQuota, allot.ImpossibleLimit:
		return Impossible
	case allot.NoCapacity:
		return TooFew
	case allot.NoNode, allot.GangShort, allot.NoDomain:
		return Pieces
	case allot.WaitsForLeaving, allot.ClaimHeld, allot.Leaving:
		return UntilFree
	}
	return ByRule
}
