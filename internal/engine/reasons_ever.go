package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
)

// What the empty cluster would take, for what is impossible (X1).

// impossible says why the form could not start even on the empty cluster with
// no use in any queue; nothing if it could.
func (s diagnosis) impossible(f *Form, at int16) ([]Verdict, error) {
	asked := question{f.Definition, f.Queue, None, at, f.NonPreemptible}
	if known, ok := s.hopeless[asked]; ok {
		return known, nil
	}
	reasons, err := s.everImpossible(asked, nil)
	if err == nil {
		s.hopeless[asked] = reasons
	}
	return reasons, err
}

// everImpossible looks at every choice of pod sets: as long as one of them is
// possible, or not looked at, it is not impossible. Told is why the first is.
func (s diagnosis) everImpossible(asked question, held []int32) ([]Verdict, error) {
	d := &s.pool.Definitions[asked.definition]
	if held == nil && !d.Unsure && len(d.Ladder) == 0 && d.Verdict.OK { // there is one choice
		return s.unitImpossible(asked, d, d.Unit, held)
	}
	units, cut := d.Gang.Units(held, d.choices())
	var told []Verdict
	for _, unit := range units {
		reasons, err := s.unitImpossible(asked, d, unit, held)
		if err != nil || len(reasons) == 0 {
			return nil, err
		}
		if told == nil {
			told = reasons
		}
	}
	if cut {
		return nil, nil
	}
	return told, nil
}

// unitImpossible is why the empty cluster with no use in any queue would not take the unit.
func (s diagnosis) unitImpossible(asked question, d *Definition, unit gang.Unit, held []int32) ([]Verdict, error) {
	out, err := s.pool.bare.refuses(asked, d, unit)
	if err != nil {
		return nil, err
	}
	asks, err := s.unitAsks(d, unit, held == nil)
	if err != nil {
		return nil, err
	}
	return append(out, s.neverAdmitted(asked, asks)...), nil
}

// neverAdmitted are the bounds of queues that refuse the amounts with nothing in
// use, resource by resource.
func (s diagnosis) neverAdmitted(asked question, asks quota.Amounts) (out []Verdict) {
	p := s.pool
	if _, ok := p.Tree.Never(int(asked.queue), asks, asked.nonPreemptible); ok {
		return nil
	}
	for i := range asks { // one by one: each resource has a word
		one := asks[i : i+1]
		short, ok := p.Tree.Never(int(asked.queue), one, asked.nonPreemptible)
		if ok {
			continue
		}
		if short.Kind == quota.OverBorrowing { // told as what is left now, as always
			now := p.Tree.Shortfalls(nil, int(asked.queue), one, asked.nonPreemptible)
			short = now[slices.IndexFunc(now, func(s quota.Shortfall) bool { return s.Kind == quota.OverBorrowing })]
		}
		v := s.shortfall(asked, short)
		switch v.Code {
		case NoQuota:
			v.Code = ImpossibleQuota
		case OverLimit:
			v.Code = ImpossibleLimit
		}
		out = append(out, v)
	}
	return out
}
