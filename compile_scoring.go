package allot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allotsched/allot/placement"
)

// covered is what a target mix covers where the policy does not say, in percent
// of the tasks, as published (P4).
const covered = 95

// follow notes that something in the pool is placed by the strategy.
func (p *pool) follow(s placement.Strategy) {
	p.scored = p.scored || s.Scores()
	p.mixed = p.mixed || s == placement.FragmentationGradient || s == placement.ShadowPrice
}

// scorePools tells the indices of the pools whose strategies score nodes what
// they score them by. The target mix is of the work that is there, so it is told
// again when a workload's demand has gone or come back (S6).
func (w *world) scorePools() error {
	for i, p := range w.pools {
		if !p.scored {
			continue
		}
		given := &p.given.Scoring
		scoring := placement.Scoring{
			Scale: given.Scale, Steps: given.Steps, Exact: given.Exact,
			Ties: given.Ties, Seed: uint64(given.Seed), CPU: -1,
		}
		if r, ok := p.byName[CPU]; ok {
			scoring.CPU = r - 1 // placement counts no GPU: its indices are one lower
		}
		if p.mixed {
			scoring.Mix = w.mixOf(int32(i))
		}
		if err := p.index.SetScoring(scoring); err != nil {
			return err
		}
	}
	return nil
}

// A tally counts tasks by what they ask.
type tally struct {
	compiler formCompiler
	counts   []tallied
	known    map[string]int // into counts, by key
}

// A tallied is one shape; its key is made of names, so that it does not depend
// on what else is in the state.
type tallied struct {
	key string
	placement.Target
}

func (t *tally) add(r *Request, n int64) {
	if n <= 0 {
		return
	}
	c := &t.compiler
	c.key = c.encodeAsked(c.key[:0], r)
	at, ok := t.known[string(c.key)]
	if !ok {
		at = len(t.counts)
		t.counts = append(t.counts, tallied{key: string(c.key)})
		t.counts[at].Request = c.asked(r)
		t.known[t.counts[at].key] = at
	}
	t.counts[at].Weight += n
}

// cover drops the rarest shapes beyond those that cover the part of the tasks,
// in percent.
func (t *tally) cover(percent int64) {
	slices.SortFunc(t.counts, func(a, b tallied) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(a.key, b.key))
	})
	all := int64(0)
	for i := range t.counts {
		all += t.counts[i].Weight
	}
	kept, sum := 0, int64(0)
	for kept < len(t.counts) && kept < maxMix && 100*sum < percent*all {
		sum += t.counts[kept].Weight
		kept++
	}
	clear(t.known)
	t.counts = t.counts[:kept]
	for i := range t.counts {
		t.known[t.counts[i].key] = i
	}
}

// mixOf is the target mix of a pool (P4), by the encoding of its shapes.
func (w *world) mixOf(index int32) []placement.Target {
	p := w.pools[index]
	given := &p.given.Scoring
	t := tally{compiler: formCompiler{world: w, pool: p, index: index}, known: make(map[string]int)}
	w.tallyTasks(&t, given.MixFrom)
	t.cover(cmp.Or(given.Coverage, covered))
	for i := range given.Mix {
		t.add(&given.Mix[i].Request, given.Mix[i].Weight)
	}
	slices.SortFunc(t.counts, func(a, b tallied) int { return strings.Compare(a.key, b.key) })
	mix := make([]placement.Target, len(t.counts))
	for i := range t.counts {
		mix[i] = t.counts[i].Target
	}
	return mix
}

// tallyTasks counts the tasks of the pool that the source names.
func (w *world) tallyTasks(t *tally, from MixSource) {
	if from == MixGiven {
		return
	}
	// Workloads of one definition ask the same: their tasks are added up first.
	type counted struct {
		sets  []PodSet
		tasks []int64
	}
	byDefinition := make([]counted, len(t.compiler.pool.definitions))
	for _, i := range t.compiler.pool.works {
		k := &w.works[i]
		if k.status == ending || k.status == failed {
			continue
		}
		at, held := w.mixForm(k, from)
		f := w.formOf(k, at)
		if f.pool != t.compiler.index {
			continue
		}
		sets := formOf(w.source(k), int(at)).PodSets
		c := &byDefinition[f.definition]
		if c.tasks == nil {
			*c = counted{sets, make([]int64, len(sets))}
		}
		for s := range sets {
			submitted, holds := int64(sets[s].Count-sets[s].Missing), int64(0)
			if held != nil {
				holds = int64(held[s])
			}
			switch from {
			case MixBoth:
				c.tasks[s] += submitted
			case MixPending:
				c.tasks[s] += max(0, submitted-holds)
			case MixRunning:
				c.tasks[s] += holds
			}
		}
	}
	for i := range byDefinition {
		for s, n := range byDefinition[i].tasks {
			t.add(&byDefinition[i].sets[s].Request, n)
		}
	}
}

// mixForm is the form with which a workload counts, and what it holds of that.
func (w *world) mixForm(k *work, from MixSource) (form int16, held []int32) {
	if from == MixBoth || k.live < 0 || !w.holds(k) {
		return 0, nil
	}
	l := &w.live[k.live]
	return k.current, l.held
}

// mixWarnings are about target mixes that nobody asks for, and about those that
// are not there.
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
		case len(scoring.Mix) > 0 && !p.mixed:
			found = append(found, Fault{mix.String(), WarnMixUnused, "", "should stand beside a strategy that asks for it"})
		case len(scoring.Mix) == 0 && p.mixed && scoring.MixFrom == MixGiven:
			found = append(found, Fault{mix.String(), WarnMixEmpty, "[]", "should have a shape, as the strategy knows no other"})
		}
	}
	return found
}
