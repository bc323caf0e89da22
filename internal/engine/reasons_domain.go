package engine

import (
	"slices"

	"github.com/allotsched/allot/gang"
)

// noDomain says why constraints leave the unit no place now (T7): level by level
// what the best domain would take.
func (s diagnosis) noDomain(asked question, d *Definition, unit gang.Unit, beside gang.Siblings, verdict gang.Verdict) []Verdict {
	out := s.noCapacity(asked, d, unit)
	best := s.placer.Best(s.pool.Index, d.Gang, unit, beside, d.Place)
	some := slices.ContainsFunc(best, func(b gang.Best) bool { return b.Tasks > 0 })
	if len(out) == 0 && !some && verdict.Placed == 0 {
		for set, n := range unit.Add {
			shape := d.Sets[set].Placed
			if n > 0 && !slices.ContainsFunc(s.pool.Index.Rooms(shape), func(room int32) bool { return room > 0 }) {
				return append(out, s.noNode(NoNode, asked, set, s.rejection(shape)))
			}
		}
	}
	out = append(out, keptApart(newVerdict(NoDomain, asked.form, s.index), best, verdict))
	if verdict.Cut {
		out = append(out, newVerdict(SearchCut, asked.form, s.index).counting(0, gang.MostWasted))
	}
	return out
}

// bestNode is the node that takes the most of a set of several tasks that P8 puts on
// one node or on whole ones; nil where that is not what stands in the way.
func (s diagnosis) bestNode(d *Definition, unit gang.Unit, verdict gang.Verdict) []gang.Best {
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

// keptApart has the verdict be that the constraints leave no place. What it counts is what
// the first constraint keeps together that stands in the way alone.
func keptApart(v Verdict, best []gang.Best, found gang.Verdict) Verdict {
	v = v.counting(int64(found.Placed), int64(found.Needed))
	if v.Best = best; len(best) > 0 {
		widest := best[len(best)-1]
		v.Have, v.Need = int64(widest.Tasks), int64(widest.Needed)
	}
	return v
}
