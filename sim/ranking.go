package sim

import (
	"cmp"
	"slices"
	"time"
)

// A ranking is the order in which everything is planned anew at each decision.
type ranking interface {
	// arrive takes in a job that is submitted.
	arrive(j *job)
	// order lists the jobs that may run, the first in rank first.
	order(e *engine) ([]*job, error)
	// decided is told when tasks have their places, works when a job begins to work.
	decided(e *engine)
	works(e *engine, j *job)
	// crosses says whether it is time to decide, as a crossing event of this number says.
	crosses(j *job, number uint64) bool
}

// byRemaining ranks by the work that is left, as far as the scheduler is told.
type byRemaining struct {
	timesGPUs bool
	jobs      []ranked // in the order of the last decision, and who has come since
	list      []*job
}

// A ranked is a job with its rank.
type ranked struct {
	*job
	left Sum
}

func (r *byRemaining) arrive(j *job) { r.jobs = append(r.jobs, ranked{job: j}) }

func (r *byRemaining) decided(*engine) {}

func (r *byRemaining) works(*engine, *job) {}

func (r *byRemaining) crosses(*job, uint64) bool { return false }

func (r *byRemaining) order(e *engine) ([]*job, error) {
	r.jobs = slices.DeleteFunc(r.jobs, func(j ranked) bool { return j.phase == leaving || j.phase == ended })
	for i := range r.jobs {
		j := r.jobs[i].job
		gpus := int64(1)
		if r.timesGPUs {
			gpus = j.asks
		}
		var left Sum
		left.add(int64(j.thought(j.done, j.unit())), gpus)
		r.jobs[i].left = left
	}
	slices.SortFunc(r.jobs, func(a, b ranked) int {
		return cmp.Or(a.left.Cmp(b.left), cmp.Compare(a.sequence, b.sequence))
	})
	r.list = r.list[:0]
	for i := range r.jobs {
		r.list = append(r.list, r.jobs[i].job)
	}
	return r.list, nil
}

// byAttained ranks by attained service in queues, each of them in the order of
// entering (Tiresias' discretised 2D-LAS).
type byAttained struct {
	// limits are the GPU-seconds at which a job goes down by a queue.
	limits []int64
	queues [][]*job
	level  map[*job]int
	// foreseen says of which jobs the next crossing is in the calendar, by the number of
	// that event: one of another number never comes about.
	foreseen map[*job]uint64
	crossed  uint64
}

func (r *byAttained) arrive(j *job) {
	r.queues[0] = append(r.queues[0], j)
	r.level[j] = 0
}

// crossing is for how long a job has to run in all to go down from a queue, in whole
// seconds; false if it never does.
func (r *byAttained) crossing(j *job, level int) (time.Duration, bool) {
	if level == len(r.limits) || j.asks == 0 {
		return 0, false
	}
	seconds := (1000*r.limits[level] + j.asks - 1) / j.asks
	return time.Duration(seconds) * time.Second, true
}

// order moves down who has crossed a limit, behind all who are there.
func (r *byAttained) order(e *engine) ([]*job, error) {
	var down []*job
	for i, queue := range r.queues {
		kept := queue[:0]
		for _, j := range queue {
			at, crosses := r.crossing(j, i)
			switch {
			case j.phase == leaving || j.phase == ended:
				delete(r.level, j)
				delete(r.foreseen, j)
			case crosses && j.runs() && j.worked >= at:
				down = append(down, j)
			default:
				kept = append(kept, j)
			}
		}
		r.queues[i] = kept
	}
	slices.SortFunc(down, func(a, b *job) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, j := range down {
		r.level[j]++
		delete(r.foreseen, j)
		r.queues[r.level[j]] = append(r.queues[r.level[j]], j)
	}
	var jobs []*job
	for _, queue := range r.queues {
		jobs = append(jobs, queue...)
	}
	return jobs, nil
}

// decided puts those that run before those that wait in each queue, and foresees
// when those will cross a limit that have gone down.
func (r *byAttained) decided(e *engine) {
	for _, queue := range r.queues {
		slices.SortStableFunc(queue, func(a, b *job) int {
			return cmp.Compare(boolean(!a.runs()), boolean(!b.runs()))
		})
		for _, j := range queue {
			if j.phase == working && r.foreseen[j] == 0 {
				r.works(e, j)
			}
		}
	}
}

// works foresees when a job crosses the limit of its queue that works from now on.
func (r *byAttained) works(e *engine, j *job) {
	if at, crosses := r.crossing(j, r.level[j]); crosses {
		r.crossed++
		r.foreseen[j] = r.crossed
		e.calendar.add(event{at: after(e.now, max(at-j.worked, 0)), class: crossing, index: j.index, epoch: r.crossed})
	}
}

// crosses says whether a crossing that was foreseen comes about: the job has worked on.
func (r *byAttained) crosses(j *job, number uint64) bool {
	return j.phase == working && r.foreseen[j] == number
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
