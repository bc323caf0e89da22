package sim

import (
	"slices"
	"time"
)

// A standstill is how long a run has come no further: at how many instants jobs were stopped
// since, before anything of their work was saved.
type standstill struct {
	instants    int
	since, last time.Duration
}

// maxStandstill bounds it: a run in which jobs are stopped again and again would else have no
// end.
const maxStandstill = 10_000

// further takes note that a run comes further: a job comes or ends, the cluster changes, or
// work is saved that was not saved before. All of that there is only so much of.
func (s *standstill) further() { s.instants = 0 }

// stopped takes note that a job was stopped and nothing more of its work was saved.
func (s *standstill) stopped(now time.Duration) {
	if s.instants == 0 {
		s.since = now
	}
	if s.instants == 0 || s.last != now {
		s.instants++
	}
	s.last = now
}

// check says whether the run has come no further for too long: and none of the jobs that run has
// run all that time, which would end by itself. A run that has an end of its own (Options.Until) is
// bounded without it.
func (s *standstill) check(e *engine) error {
	if s.instants <= maxStandstill || e.options.Until > 0 || slices.ContainsFunc(e.library.jobs, func(i int) bool {
		j := e.jobs[i]
		first, has := started(e.workload(j))
		return j.runs() && has && first <= s.since
	}) {
		return nil
	}
	return e.wrong("scheduler %s comes no further: since %v it has stopped jobs at %d instants before anything of their work was saved, and nobody has come or ended (Until bounds such a run)", e.scheduler.Name, s.since, s.instants)
}
