package division

import (
	"cmp"
	"slices"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
)

// ScorePools tells the indices of the pools whose strategies score nodes what
// they score them by. The target mix is of the work that is there, so it is told
// again when a workload's demand has gone or come back (S6).
func (w Dividing) ScorePools() error {
	for i, p := range w.Pools {
		if !p.Scored {
			continue
		}
		scoring := p.Scoring
		if p.Mixed {
			scoring.Mix = TargetsOf(w.World, int32(i))
		}
		if err := p.Index.SetScoring(scoring); err != nil {
			return err
		}
	}
	return nil
}

// TargetsOf is the target mix of a pool, in the order of its shapes.
func TargetsOf(w *cluster.World, index int32) (out []placement.Target) {
	m := &w.Pools[index].Mix
	weights := Of(w).tallyTasks(index)
	cover(weights, m.Coverage)
	for i, target := range m.Targets {
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
		if kept < cluster.MaxMix && 100*sum < percent*all {
			sum += weights[i]
		} else {
			weights[i] = 0
		}
	}
}

// tallyTasks counts the tasks of the pool that the source names, by shape.
func (w Dividing) tallyTasks(index int32) []int64 {
	p := w.Pools[index]
	counts := make([]int64, len(p.Mix.Targets))
	if p.Mix.From == cluster.MixGiven {
		return counts
	}
	for _, i := range p.Works {
		k := &w.Works[i]
		if k.Status == cluster.Ending || k.Status == cluster.Failed {
			continue
		}
		at, held := w.mixForm(k, p.Mix.From)
		f := w.FormOf(k, at)
		if f.Pool != index {
			continue
		}
		d := &p.Definitions[f.Definition]
		for set, shape := range p.Mix.Shapes[f.Definition] {
			submitted, holds := int64(d.Gang.Set(set).Submitted), int64(0)
			if held != nil {
				holds = int64(held[set])
			}
			switch p.Mix.From {
			case cluster.MixBoth:
				counts[shape] += submitted
			case cluster.MixPending:
				counts[shape] += max(0, submitted-holds)
			case cluster.MixRunning:
				counts[shape] += holds
			}
		}
	}
	return counts
}

// mixForm is the form with which a workload counts, and what it holds of that.
func (w Dividing) mixForm(k *cluster.Work, from cluster.MixSource) (form int16, held []int32) {
	if from == cluster.MixBoth || !w.Holds(k) {
		return 0, nil
	}
	return k.Current, w.Live[k.Live].Held
}
