package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/sim"
)

// Answer says in short under whom jobs waited least. Of several traces and loads it is the
// last, where the last load is the fullest as people name them.
func (s *Sweep) Answer() string {
	complete := 0
	for _, r := range s.runs {
		if r.err == nil && !r.summary.Partial {
			complete++
		}
	}
	if complete < len(s.runs) {
		return fmt.Sprintf("%s: %d of %s are complete", s.Title(), complete, prose.Count(len(s.runs), "run"))
	}
	means := s.Result().Means
	last := means[len(means)-1]
	var list []waited
	for i := range means {
		if m := &means[i]; m.Trace == last.Trace && m.Load == last.Load {
			e := estimateOf(m, "wait_mean_s")
			if e == nil {
				return s.Title() + ": nothing was submitted in the time that counts"
			}
			list = append(list, waited{m.Scheduler, e.Mean, estimateOf(m, "unfinished_jobs").Mean})
		}
	}
	where := s.Title()
	if len(means) > len(list) {
		where += ", of which load " + loadOf(last.Trace, last.Load)
	}
	return where + ": " + waits(list)
}

// waited is how long jobs waited under a scheduler, in seconds in the mean, and how many have
// not ended.
type waited struct {
	name             string
	wait, unfinished sim.Decimal
}

// waits tells who has the least mean wait, and who the most, among those under whom the fewest
// jobs have not ended: of the others nobody knows how long jobs would have waited.
func waits(list []waited) string {
	fewest := slices.MinFunc(list, func(a, b waited) int { return a.unfinished.Cmp(b.unfinished) }).unfinished
	var alike []waited
	var open []string
	for _, w := range list {
		if w.unfinished.Cmp(fewest) == 0 {
			alike = append(alike, w)
		}
		if w.unfinished.Cmp(sim.Decimal{}) > 0 {
			open = append(open, strings.TrimSuffix(w.unfinished.Text(1), ".0")+" under "+w.name)
		}
	}
	text := least(alike, len(list))
	if len(open) > 0 {
		text += "; jobs have not ended: " + strings.Join(open, ", ")
	}
	return text
}

// least tells who of some has the least mean wait, and who the most; all is how many there are.
func least(of []waited, all int) string {
	text := func(w waited) string { return w.wait.Over(3600).Text(2) }
	byWait := func(a, b waited) int { return a.wait.Cmp(b.wait) }
	with := func(wait string) string {
		var list []string
		for _, w := range of {
			if text(w) == wait {
				list = append(list, w.name)
			}
		}
		return strings.Join(list, ", ")
	}
	short, long := text(slices.MinFunc(of, byWait)), text(slices.MaxFunc(of, byWait))
	switch {
	case short == long && len(of) == all && all > 1:
		return fmt.Sprintf("jobs wait %s h in the mean under all %d schedulers", short, all)
	case short == long:
		return fmt.Sprintf("under %s jobs wait %s h in the mean", with(short), short)
	}
	return fmt.Sprintf("jobs wait least under %s, %s h in the mean, and longest under %s, %s h", with(short), short, with(long), long)
}
