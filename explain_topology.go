package allot

import (
	"slices"
	"strings"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// noDomain says why constraints leave the unit no place now (T7): level by level
// what the best domain would take.
func (s *solver) noDomain(asked question, d *definition, unit gang.Unit, beside gang.Siblings, verdict gang.Verdict) []Reason {
	out := s.noCapacity(asked, d, unit)
	best := s.placer.Best(s.pool.index, d.gang, unit, beside, d.place)
	some := slices.ContainsFunc(best, func(b gang.Best) bool { return b.Tasks > 0 })
	if len(out) == 0 && !some && verdict.Placed == 0 {
		for set, n := range unit.Add {
			shape := d.sets[set].placed
			if n > 0 && !slices.ContainsFunc(s.pool.index.Rooms(shape), func(room int32) bool { return room > 0 }) {
				return append(out, s.noNode(NoNode, asked, d, set, s.rejection(shape)))
			}
		}
	}
	out = append(out, s.keptApart(NoDomain, asked, best, verdict))
	if verdict.Cut {
		out = append(out, Reason{Code: SearchCut, Form: int(asked.form), Need: gang.MostWasted})
	}
	return out
}

// bestNode is the node that takes the most of a set of several tasks that P8 puts on
// one node or on whole ones; nil where that is not what stands in the way.
func (s *solver) bestNode(d *definition, unit gang.Unit, verdict gang.Verdict) []gang.Best {
	if s.pool.policy.Fitting == gang.AnyNodes || d.gang.Constrained() || verdict.Kind != gang.NoPlace ||
		unit.Add[verdict.Set] < 2 || d.sets[verdict.Set].gpus == 0 {
		return nil
	}
	best := gang.Best{Domain: -1, Needed: unit.Add[verdict.Set], Set: verdict.Set}
	node := int32(-1)
	for v, room := range s.pool.index.Rooms(d.sets[verdict.Set].placed) {
		if room > best.Tasks {
			best.Tasks, node = room, int32(v)
		}
	}
	if node < 0 {
		return nil
	}
	t := s.pool.topology
	best.Level, best.Domain = t.NodeLevel(), t.Of(node, t.NodeLevel())
	return []gang.Best{best}
}

// keptApart is the reason that the constraints leave no place. What it counts is what
// the first constraint keeps together that stands in the way alone.
func (s *solver) keptApart(code Code, asked question, best []gang.Best, verdict gang.Verdict) Reason {
	r := Reason{Code: code, Form: int(asked.form), Have: int64(verdict.Placed), Need: int64(verdict.Needed)}
	if len(best) > 0 {
		widest := best[len(best)-1]
		r.Have, r.Need = int64(widest.Tasks), int64(widest.Needed)
		r.Domains = s.pool.domainRooms(s.world.state, best)
	}
	return r
}

// domainRooms names the best domains.
func (p *pool) domainRooms(s *State, best []gang.Best) (out []DomainRoom) {
	for _, b := range best {
		one := DomainRoom{Level: NodeLevel, Have: int64(b.Tasks), Need: int64(b.Needed)}
		if int(b.Level) <= len(s.Levels) {
			one.Level = s.Levels[b.Level-1].Name
		}
		if b.Domain >= 0 {
			one.Domain = p.domainName(s, b.Domain)
		}
		out = append(out, one)
	}
	return out
}

// domainName is the path of a domain from the widest level on, or the node's ID.
func (p *pool) domainName(s *State, d placement.Domain) string {
	t := p.topology
	if t.LevelOf(d) == t.NodeLevel() {
		return s.Nodes[p.nodes[t.Nodes(d)[0]]].ID
	}
	var path []string
	for ; d > 0; d = t.Parent(d) {
		path = append(path, t.Name(d))
	}
	slices.Reverse(path)
	return strings.Join(path, "/")
}

// everDomain says whether the constraints leave the unit no place even on the empty
// cluster with nothing cordoned or unhealthy; then why.
func (s *solver) everDomain(asked question, d *definition, unit gang.Unit) ([]Reason, error) {
	if !d.gang.Constrained() && s.pool.policy.Fitting == gang.AnyNodes {
		return nil, nil
	}
	if s.empty == nil {
		nodes, err := s.pool.emptyIndex()
		if err != nil {
			return nil, err
		}
		s.empty = nodes
	}
	again := d.gang.Reshaped(func(set int) placement.Shape { return s.empty.Shape(d.sets[set].request) })
	m := s.empty.Mark()
	_, verdict := s.placer.PlaceWithSiblings(s.empty, again, unit, gang.Siblings{}, d.place, nil)
	s.empty.Undo(m)
	if verdict.OK || verdict.Cut {
		return nil, nil
	}
	best := s.placer.Best(s.empty, again, unit, gang.Siblings{}, d.place)
	if !d.gang.Constrained() && !slices.ContainsFunc(unit.Add, func(n int32) bool { return n > 1 }) {
		return nil, nil // that is no question of whole nodes
	}
	return []Reason{s.keptApart(ImpossibleDomain, asked, best, verdict)}, nil
}
