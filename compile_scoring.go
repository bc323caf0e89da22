package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// covered is what a target mix covers where the policy does not say, in percent
// of the tasks, as published (P4).
const covered = 95

// follow notes that something in the pool is placed by the strategy.
func (p *pool) follow(s placement.Strategy) {
	p.Scored = p.Scored || s.Scores()
	p.Drawn = p.Drawn || s == placement.Random
	p.Mixed = p.Mixed || s == placement.FragmentationGradient || s == placement.ShadowPrice
}

// compileMixes lists, for the pools whose strategies score by a target mix, the shapes
// that it may have and which tasks count for which.
func (w *world) compileMixes() {
	for i, p := range w.pools {
		given := &p.given.Scoring
		p.Scoring = placement.Scoring{
			Scale: given.Scale, Steps: given.Steps, Exact: given.Exact,
			Ties: given.Ties, Seed: uint64(given.Seed), CPU: -1,
		}
		if r, ok := p.byName[CPU]; ok {
			p.Scoring.CPU = r - 1 // placement counts no GPU: its indices are one lower
		}
		if p.Mixed {
			p.Mix = w.mixOf(int32(i))
		}
	}
}

// A mixCompiler gathers shapes. Their keys are made of names, so that their order does
// not depend on what else is in the state.
type mixCompiler struct {
	formCompiler
	keys    []string
	targets map[string]placement.Target
}

// shapeOf is the key of the shape of a request.
func (c *mixCompiler) shapeOf(r *Request) string {
	c.key = c.encodeAsked(c.key[:0], r)
	key := string(c.key)
	if _, known := c.targets[key]; !known {
		c.targets[key] = placement.Target{Request: c.asked(r)}
		c.keys = append(c.keys, key)
	}
	return key
}

// mixOf is what the target mix of a pool is made of (P4).
func (w *world) mixOf(index int32) cluster.Mix {
	p := w.pools[index]
	given := &p.given.Scoring
	c := mixCompiler{formCompiler: formCompiler{world: w, pool: p, index: index}, targets: make(map[string]placement.Target)}
	out := cluster.Mix{From: cluster.MixSource(given.MixFrom), Coverage: cmp.Or(given.Coverage, covered), Shapes: make([][]int32, len(p.Definitions))}
	sets := make([][]string, len(p.Definitions))
	for _, i := range p.Works {
		k := &w.Works[i]
		for at := range int16(1 + len(k.Others)) {
			f := w.FormOf(k, at)
			if f.Pool != index || sets[f.Definition] != nil {
				continue
			}
			for _, set := range formOf(w.source(k), int(at)).PodSets {
				sets[f.Definition] = append(sets[f.Definition], c.shapeOf(&set.Request))
			}
		}
	}
	var expected []string
	for i := range given.Mix {
		expected = append(expected, c.shapeOf(&given.Mix[i].Request))
	}
	slices.Sort(c.keys)
	number := make(map[string]int32, len(c.keys))
	for i, key := range c.keys {
		number[key] = int32(i)
		out.Targets = append(out.Targets, c.targets[key])
	}
	for d := range sets {
		for _, key := range sets[d] {
			out.Shapes[d] = append(out.Shapes[d], number[key])
		}
	}
	for i, key := range expected {
		out.Targets[number[key]].Weight += given.Mix[i].Weight
	}
	return out
}

// mixWarnings are about target mixes that no strategy uses, and about those that
// are missing.
func (w *world) mixWarnings() []Fault {
	var found []Fault
	for _, p := range w.pools {
		scoring := &p.given.Scoring
		at := root()
		list := at.field("pools")
		entry := list.key(p.id)
		policy := entry.field("policy")
		place := policy.field("scoring")
		mix := place.field("mix")
		switch {
		case len(scoring.Mix) > 0 && !p.Mixed:
			found = append(found, Fault{Path: mix.String(), Code: WarnMixUnused, Value: "", Want: "should stand beside a strategy that asks for it"})
		case len(scoring.Mix) == 0 && p.Mixed && scoring.MixFrom == MixGiven:
			found = append(found, Fault{Path: mix.String(), Code: WarnMixEmpty, Value: "[]", Want: "should have a shape, as the strategy knows no other"})
		}
	}
	return found
}
