package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/quota"
)

// What the empty cluster would take, for what is impossible (X1).

// impossible says why the form could not start even on the empty cluster with
// no use in any queue; nothing if it could.
func (s diagnosis) impossible(f *cluster.Form, at int16) ([]cluster.Verdict, error) {
	asked := questionOf(f, at)
	asked.priority = 0 // it has no say in what could never be
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
func (s diagnosis) everImpossible(asked question, held []int32) ([]cluster.Verdict, error) {
	d := &s.pool.Definitions[asked.definition]
	if hasOneChoice(d, held) {
		if s.pool.Bare.KnownPossible(asked.definition) { // for whatever queue
			return s.neverAdmitted(asked, d.Asks), nil
		}
		return s.unitImpossible(asked, d, d.Unit, held)
	}
	units, cut := d.Gang.Units(held, d.Choices())
	var told []cluster.Verdict
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

// hasOneChoice says that there are no others than the unit of the definition.
func hasOneChoice(d *cluster.Definition, held []int32) bool {
	return held == nil && !d.Unsure && len(d.Ladder) == 0 && d.Verdict.OK
}

// unitImpossible is why the empty cluster with no use in any queue would not take the unit.
func (s diagnosis) unitImpossible(asked question, d *cluster.Definition, unit gang.Unit, held []int32) ([]cluster.Verdict, error) {
	out, err := s.pool.Bare.Refuses(asked.definition, asked.form, d, unit)
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
func (s diagnosis) neverAdmitted(asked question, asks quota.Amounts) (out []cluster.Verdict) {
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
			now, queue := p.Tree.Shortfalls(nil, int(asked.queue), one, asked.nonPreemptible), short.Queue
			short = now[slices.IndexFunc(now, func(s quota.Shortfall) bool { return s.Kind == quota.OverBorrowing && s.Queue == queue })]
		}
		v := s.shortfall(asked, short)
		switch v.Code {
		case cluster.NoQuota:
			v.Code = cluster.ImpossibleQuota
		case cluster.OverLimit:
			v.Code = cluster.ImpossibleLimit
		}
		out = append(out, v)
	}
	return out
}

// noDomain says why constraints leave the unit no place now (T7): level by level
// what the best domain would take.
func (s diagnosis) noDomain(asked question, d *cluster.Definition, unit gang.Unit, beside gang.Siblings, verdict gang.Verdict) []cluster.Verdict {
	out := s.noCapacity(asked, d, unit)
	best := s.placer.Best(s.pool.Index, d.Gang, unit, beside, d.Place)
	some := slices.ContainsFunc(best, func(b gang.Best) bool { return b.Tasks > 0 })
	if len(out) == 0 && !some && verdict.Placed == 0 {
		for set, n := range unit.Add {
			shape := d.Sets[set].Placed
			if n > 0 && !slices.ContainsFunc(s.pool.Index.Rooms(shape), func(room int32) bool { return room > 0 }) {
				return append(out, s.noNode(cluster.NoNode, asked, set, s.rejection(shape)))
			}
		}
	}
	out = append(out, cluster.TellKeptApart(cluster.NewVerdict(cluster.NoDomain, asked.form, s.index), best, verdict))
	if verdict.Cut {
		out = append(out, cluster.NewVerdict(cluster.SearchCut, asked.form, s.index).Counting(0, gang.MostWasted))
	}
	return out
}

// bestNode is the node that takes the most of a set of several tasks that P8 puts on
// one node or on whole ones; nil where that is not what stands in the way.
func (s diagnosis) bestNode(d *cluster.Definition, unit gang.Unit, verdict gang.Verdict) []gang.Best {
	if s.pool.Policy.Fitting == gang.AnyNodes || d.Gang.Constrained() || verdict.Kind != gang.NoPlace ||
		unit.Add[verdict.Set] < 2 || d.Sets[verdict.Set].GPUs == 0 {
		return nil
	}
	best := gang.Best{Domain: -1, Needed: unit.Add[verdict.Set], Set: verdict.Set}
	node := int32(-1)
	for v, room := range s.pool.Index.Rooms(d.Sets[verdict.Set].Placed) {
		if room > best.Tasks {
			best.Tasks, node = room, int32(v)
		}
	}
	if node < 0 {
		return nil
	}
	t := s.pool.Topology
	best.Level, best.Domain = t.NodeLevel(), t.Of(node, t.NodeLevel())
	return []gang.Best{best}
}
