package allot

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// The core tells why in codes and indices. What they are called, and what a caller is
// told, is for write_reason.go alone (X1).

// A code says what kind of verdict it is: each has the value of its exported [Code],
// where what it says is told.
type code uint8

const (
	codeNodeLost code = iota + 1
	codeDeviceLost
	codePlaceLost
	codeClaimBroken
	codeReclaimedByQuota
	codeReclaimedByShare
	codePreempted
	codeConsolidated
	codeStaleGang
	codeGrown
	codeImpossibleNode
	codeImpossibleGang
	codeImpossibleDomain
	codeImpossibleQuota
	codeImpossibleLimit
	codeNotSubmitted
	codeLeaving
	codeClaimHeld
	codeMaxWorkloads
	codeOverLimit
	codeOverBorrowingLimit
	codeNoQuota
	codeKeptFromLending
	codeNoCapacity
	codeNoNode
	codeGangShort
	codeNoDomain
	codeWaitsForLeaving
	codeExposes
	codeOverLine
	codeProtectedUntil
	codeBudgetSpent
	codeSaturationTurns
	codeLargerThanShare
	codeVictimsShort
	codeOutranked
	codeSearchCut
)

// An actionKind says what an action does: each has the value of its exported
// [ActionKind].
type actionKind uint8

const (
	kindStart actionKind = iota + 1
	kindResize
	kindDisplace
	kindUnclaim
	kindEvict
	kindShrink
	kindMove
)

// A verdict is why a workload waits or an action was needed, in the core's terms.
// Every one begins with [newVerdict], as an index that is not told is none and not 0.
type verdict struct {
	// Code is the kind; 0 is that there is nothing to tell.
	Code code
	Form int16
	// Pool is the one of the queue, the resource, the definition and the positions.
	Pool            int32
	Queue, Resource int32
	// Set is a pod set of the form that Definition defines.
	Definition, Set int32
	Workload        int32
	Node            int32 // by State.Nodes
	Have, Need      int64
	// Counts are nodes by predicate, Nearest is the one that lacks least and Pieces
	// how what is free lies; placement's resources and positions are meant. Counts and
	// Pieces are shared: nobody writes to them.
	Counts  []placement.Count
	Nearest placement.Miss
	Pieces  *placement.Pieces
	// Best are the best domains by level, the preferred level first.
	Best []gang.Best
	// Until is when the first of the protections ends, in microseconds; negative or
	// MaxInt64 is never.
	Until int64
	// Reclaim has the subtrees of a reclaim; nil is none.
	Reclaim *preempt.Justification
	// Chain is who took the places one from the other, where they are more than one.
	Chain []taker
}

// A taker is one of a chain of workloads that took places from each other.
type taker struct {
	Workload int32
	Code     code
	// Reclaim has the subtrees of a reclaim in Pool; nil is none.
	Pool    int32
	Reclaim *preempt.Justification
}

// newVerdict is one that tells of no more than a form in a pool.
func newVerdict(c code, form int16, pool int32) verdict {
	return verdict{
		Code: c, Form: form, Pool: pool, Queue: none, Resource: none, Definition: none, Set: none,
		Workload: none, Node: none, Nearest: placement.Miss{Node: none, Resource: none}, Until: none,
	}
}

// counting is the verdict with two counts.
func (v verdict) counting(have, need int64) verdict {
	v.Have, v.Need = have, need
	return v
}

// ofSet is the verdict about a pod set of a definition.
func (v verdict) ofSet(definition int32, set int) verdict {
	v.Definition, v.Set = definition, int32(set)
	return v
}

// tellActions adds to the actions what is known when all is decided: why they are
// needed, and what becomes of who is evicted.
func (w *coreWorld) tellActions(d *decision) {
	for i := range d.actions {
		a := &d.actions[i]
		if a.kind == kindEvict { // what was cut starts again in this plan
			a.final = w.formOf(&w.works[a.work], a.form).final && !a.cut
		}
		if a.code != 0 || a.taking != 0 {
			why := w.verdictOf(d, a)
			a.why = &why
		}
	}
}

// verdictOf is why an action is needed; one of code 0 for a start.
func (w *coreWorld) verdictOf(d *decision, a *action) verdict {
	v := newVerdict(a.code, a.form, w.formOf(&w.works[a.work], a.form).pool)
	switch a.code {
	case 0, codeClaimBroken: // which may be on many nodes
		return v
	case codeNodeLost, codeDeviceLost, codePlaceLost:
		v.Node = d.placed[a.from].node
		return v
	case codeGrown:
		v.Workload = a.replaces - 1
		return v
	}
	return w.takenBy(d, a, v)
}

// tell keeps why a way to make room led nowhere.
func (s *solver) tell(at int16, mode preempt.Mode, refusal *preempt.Refusal) {
	add := func(c code, n int, until int64) {
		v := newVerdict(c, at, s.index).counting(0, int64(n))
		v.Until = until
		same := slices.IndexFunc(s.told, func(t verdict) bool { return t.Code == c })
		if same < 0 {
			s.told = append(s.told, v)
		} else if s.told[same].Need < v.Need {
			s.told[same] = v
		}
	}
	if refusal.Protected > 0 {
		add(codeProtectedUntil, refusal.Protected, refusal.Until)
	}
	if refusal.Budgeted > 0 {
		add(codeBudgetSpent, refusal.Budgeted, none)
	}
	if refusal.Capped > 0 {
		add(codeBudgetSpent, refusal.Capped, none)
	}
	if refusal.Turning > 0 {
		add(codeSaturationTurns, refusal.Turning, none)
	}
	unprotected := refusal.Protected+refusal.Budgeted+refusal.Turning+refusal.Capped == 0
	if line := refusal.Beyond; line != nil {
		s.told = append(s.told, overLine(s.index, codeLargerThanShare, at, line.Queue, line.Resource, line.Entitlement-line.Use, line.Asks))
	}
	switch reclaims := mode == preempt.ReclaimByQuota || mode == preempt.ReclaimByShare; {
	case refusal.Cut:
		add(codeSearchCut, refusal.Steps, none)
	case unprotected && refusal.Beyond == nil && (refusal.Takeable > 0 || reclaims && refusal.Units > 0):
		add(codeVictimsShort, refusal.Takeable, none)
	}
}

// tellLine says which line the unit would cross (R1), the lowest queue first.
func (s *solver) tellLine(at int16, f *form, asks quota.Amounts) {
	p := s.pool
	for q := f.queue; q >= 0; q = p.parent[q] {
		for _, a := range asks {
			line, divided := p.room.Entitlement(q, a.Resource, q == f.queue)
			if use := p.tree.Use(int(q), int(a.Resource)); divided && use+a.Value > line {
				s.told = append(s.told, overLine(s.index, codeOverLine, at, q, a.Resource, line-use, a.Value))
				return
			}
		}
	}
}

// overLine is a verdict about a line that leaves so much.
func overLine(pool int32, c code, at int16, q, resource int32, left, need int64) verdict {
	v := newVerdict(c, at, pool).counting(max(0, left), need)
	v.Queue, v.Resource = q, resource
	return v
}
