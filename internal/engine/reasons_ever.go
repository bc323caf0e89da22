package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
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
	units, cut := d.Gang.Units(held, UnitBudget)
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

func (s diagnosis) unitImpossible(asked question, d *Definition, unit gang.Unit, held []int32) ([]Verdict, error) {
	p := s.pool
	var out []Verdict
	var together map[placement.Shape]int64 // pod sets of one shape share the nodes
	if len(unit.Add) > 1 {
		together = make(map[placement.Shape]int64)
	}
	for set, n := range unit.Add {
		if together != nil {
			together[d.Sets[set].Placed] += int64(n)
		}
	}
	for set, n := range unit.Add {
		if n == 0 {
			continue
		}
		best, err := s.everTakes(&d.Sets[set])
		if err != nil {
			return nil, err
		}
		shape := d.Sets[set].Placed
		if !best.one {
			rejection := p.Index.Reject(shape)
			out = append(out, s.noNode(ImpossibleNode, asked, set, &rejection))
			continue
		}
		need := int64(n)
		if together != nil {
			need = together[shape]
			delete(together, shape) // told once
		}
		if most := int64(best.all); most < need {
			out = append(out, newVerdict(ImpossibleGang, asked.form, s.index).counting(most, need).ofSet(asked.definition, set))
		}
	}
	if len(out) == 0 {
		apart, err := s.everDomain(asked, d, unit)
		if err != nil {
			return nil, err
		}
		out = append(out, apart...)
	}
	if len(out) == 0 {
		together, err := togetherness(s).tooMuch(asked, d, unit)
		if err != nil {
			return nil, err
		}
		out = append(out, together...)
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

// everTakes says whether some node would take a task of the shape if it were
// empty, and how many all of them would. What is cordoned or unhealthy may come
// back, and so is counted as if it had.
func (s diagnosis) everTakes(shape *Shape) (atBest, error) {
	if known, ok := s.ever[shape.Placed]; ok {
		return known, nil
	}
	if s.sound == nil {
		var err error
		if s.sound, err = s.pool.soundIndex(); err != nil {
			return atBest{}, err
		}
	}
	mended := s.sound.Shape(shape.Request)
	best := atBest{s.sound.Reject(mended).Ever, s.sound.Candidates(mended)}
	s.ever[shape.Placed] = best
	return best, nil
}

// atBest is whether one empty node would take a task, and how many all would.
type atBest struct {
	one bool
	all int
}

// impaired says whether a node is cordoned or a device unhealthy.
func (p *Pool) impaired() bool {
	return slices.ContainsFunc(p.Placed, func(n placement.Node) bool {
		return n.Cordoned || slices.ContainsFunc(n.Devices, func(d placement.Device) bool { return d.Unhealthy })
	})
}

// soundIndex is the pool with nothing cordoned and all devices healthy, for
// questions about empty nodes: the pool's own index where nothing is impaired.
func (p *Pool) soundIndex() (*placement.Index, error) {
	if !p.impaired() {
		return p.Index, nil
	}
	return p.emptyIndex()
}

// emptyIndex is the pool with nothing running, nothing cordoned and all devices
// healthy.
func (p *Pool) emptyIndex() (*placement.Index, error) {
	nodes := slices.Clone(p.Placed)
	for i := range nodes {
		nodes[i].Cordoned = false
		nodes[i].Devices = slices.Clone(nodes[i].Devices)
		for d := range nodes[i].Devices {
			nodes[i].Devices[d].Unhealthy = false
		}
	}
	return placement.NewIndex(nodes, p.Plain-1)
}
