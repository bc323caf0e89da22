package engine

import (
	"slices"

	"github.com/allotsched/allot/preempt"
)

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
