package allot

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/placement"
)

// A mixSource says of which tasks of a pool the target mix is made (P4).
type mixSource uint8

const (
	mixBoth mixSource = iota
	mixPending
	mixRunning
	mixGiven
)

// A mix is what the target mix of a pool is made of (P4).
type mix struct {
	from mixSource
	// coverage is how much of the tasks it covers at least, in percent.
	coverage int64
	// targets are all its shapes, with the weights that the policy gives; shapes are
	// by definition those of its pod sets.
	targets []placement.Target
	shapes  [][]int32
}

// knows says whether the shapes of a definition are in the mix.
func (m *mix) knows(definition int32) bool {
	return int(definition) < len(m.shapes) && m.shapes[definition] != nil
}

// scorePools tells the indices of the pools whose strategies score nodes what
// they score them by. The target mix is of the work that is there, so it is told
// again when a workload's demand has gone or come back (S6).
func (w *coreWorld) scorePools() error {
	for i, p := range w.pools {
		if !p.scored {
			continue
		}
		scoring := p.scoring
		if p.mixed {
			scoring.Mix = w.targetsOf(int32(i))
		}
		if err := p.index.SetScoring(scoring); err != nil {
			return err
		}
	}
	return nil
}

// targetsOf is the target mix of a pool, in the order of its shapes.
func (w *coreWorld) targetsOf(index int32) (out []placement.Target) {
	m := &w.pools[index].mix
	weights := w.tallyTasks(index)
	cover(weights, m.coverage)
	for i, target := range m.targets {
		if target.Weight += weights[i]; target.Weight > 0 {
			out = append(out, target)
		}
	}
	return out
}

// cover drops the rarest shapes beyond those that cover the part of the tasks,
// in percent.
func cover(weights []int64, percent int64) {
	order, all := make([]int, 0, len(weights)), int64(0)
	for i, n := range weights {
		if all += n; n > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weights[b], weights[a]) })
	sum := int64(0)
	for kept, i := range order {
		if kept < maxMix && 100*sum < percent*all {
			sum += weights[i]
		} else {
			weights[i] = 0
		}
	}
}

// tallyTasks counts the tasks of the pool that the source names, by shape.
func (w *coreWorld) tallyTasks(index int32) []int64 {
	p := w.pools[index]
	counts := make([]int64, len(p.mix.targets))
	if p.mix.from == mixGiven {
		return counts
	}
	for _, i := range p.works {
		k := &w.works[i]
		if k.status == ending || k.status == failed {
			continue
		}
		at, held := w.mixForm(k, p.mix.from)
		f := w.formOf(k, at)
		if f.pool != index {
			continue
		}
		d := &p.definitions[f.definition]
		for set, shape := range p.mix.shapes[f.definition] {
			submitted, holds := int64(d.gang.Set(set).Submitted), int64(0)
			if held != nil {
				holds = int64(held[set])
			}
			switch p.mix.from {
			case mixBoth:
				counts[shape] += submitted
			case mixPending:
				counts[shape] += max(0, submitted-holds)
			case mixRunning:
				counts[shape] += holds
			}
		}
	}
	return counts
}

// mixForm is the form with which a workload counts, and what it holds of that.
func (w *coreWorld) mixForm(k *work, from mixSource) (form int16, held []int32) {
	if from == mixBoth || k.live < 0 || !w.holds(k) {
		return 0, nil
	}
	return k.current, w.live[k.live].held
}
