package replay

import (
	"fmt"
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
	var names []string
	var of []sim.Decimal
	for i := range means {
		if m := &means[i]; m.Trace == last.Trace && m.Load == last.Load {
			e := estimateOf(m, "wait_mean_s")
			if e == nil {
				return s.Title() + ": nothing was submitted in the time that counts"
			}
			names, of = append(names, m.Scheduler), append(of, e.Mean)
		}
	}
	where := s.Title()
	if len(means) > len(names) {
		where += ", of which load " + loadOf(last.Trace, last.Load)
	}
	return where + ": " + waits(names, of)
}

// waits tells who has the least mean wait, in seconds, and who the most.
func waits(names []string, of []sim.Decimal) string {
	text := func(seconds sim.Decimal) string { return seconds.Over(3600).Text(2) }
	least, most := of[0], of[0]
	for _, d := range of {
		if d.Cmp(least) < 0 {
			least = d
		}
		if d.Cmp(most) > 0 {
			most = d
		}
	}
	with := func(wait string) string {
		var list []string
		for i := range names {
			if text(of[i]) == wait {
				list = append(list, names[i])
			}
		}
		return strings.Join(list, ", ")
	}
	short, long := text(least), text(most)
	switch {
	case len(names) == 1:
		return fmt.Sprintf("under %s jobs wait %s h in the mean", names[0], short)
	case short == long:
		return fmt.Sprintf("jobs wait %s h in the mean under all %d schedulers", short, len(names))
	}
	return fmt.Sprintf("jobs wait least under %s, %s h in the mean, and longest under %s, %s h", with(short), short, with(long), long)
}
