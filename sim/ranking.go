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
	// order lists the jobs that have not ended, the first in rank first.
	order(e *engine) []*job
	// decided is told when tasks have their places.
	decided(e *engine)
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

func (r *byRemaining) order(e *engine) []*job {
	r.jobs = slices.DeleteFunc(r.jobs, func(j ranked) bool { return j.phase == leaving || j.phase == ended })
	for i := range r.jobs {
		j := r.jobs[i].job
		full, gpus := j.fullSpeed(), int64(1)
		if r.timesGPUs {
			gpus = j.asks
		}
		var left Sum
		left.add(max(int64(cmp.Or(j.Estimate, j.Duration))*full-j.done, 0), gpus)
		if full > 1 { // time, and not work
			left = quotientOf(left, full)
		}
		r.jobs[i].left = left
	}
	slices.SortFunc(r.jobs, func(a, b ranked) int {
		return cmp.Or(a.left.Cmp(b.left), cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.index, b.index))
	})
	r.list = r.list[:0]
	for i := range r.jobs {
		r.list = append(r.list, r.jobs[i].job)
	}
	return r.list
}

// byAttained ranks by attained service in queues, each of them in the order of
// entering (Tiresias' discretised 2D-LAS).
type byAttained struct {
	// limits are the attained GPU times at which a job goes down by a queue.
	limits []Sum
	queues [][]*job
	level  map[*job]int
	// looked says of which running jobs the next crossing is in the calendar.
	looked map[*job]bool
}

// crossingTick is what the time from a start to the next crossing is rounded up to.
const crossingTick = time.Second

func (r *byAttained) arrive(j *job) {
	r.queues[0] = append(r.queues[0], j)
	r.level[j] = 0
}

// order moves down who has crossed a limit, behind all who are there.
func (r *byAttained) order(e *engine) []*job {
	var down []*job
	for i, queue := range r.queues {
		kept := queue[:0]
		for _, j := range queue {
			switch {
			case j.phase == leaving || j.phase == ended:
				delete(r.level, j)
				delete(r.looked, j)
			case i < len(r.limits) && j.runs() && j.attained.Cmp(r.limits[i]) >= 0:
				down = append(down, j)
			default:
				kept = append(kept, j)
			}
		}
		r.queues[i] = kept
	}
	slices.SortFunc(down, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.index, b.index))
	})
	for _, j := range down {
		r.level[j]++
		delete(r.looked, j)
		r.queues[r.level[j]] = append(r.queues[r.level[j]], j)
	}
	var jobs []*job
	for _, queue := range r.queues {
		jobs = append(jobs, queue...)
	}
	return jobs
}

// decided puts those that run before those that wait in each queue, and foresees
// when those will cross a limit that have started, or gone down.
func (r *byAttained) decided(e *engine) {
	for i, queue := range r.queues {
		slices.SortStableFunc(queue, func(a, b *job) int {
			return cmp.Compare(boolean(!a.runs()), boolean(!b.runs()))
		})
		for _, j := range queue {
			if !j.runs() {
				delete(r.looked, j)
				continue
			}
			if r.looked[j] || i == len(r.limits) {
				continue
			}
			r.looked[j] = true
			left := r.limits[i]
			if left.Cmp(j.attained) > 0 && j.held > 0 {
				left.take(j.attained)
				ticks := ceilingOf(left, j.held*int64(crossingTick))
				e.wakeAt(e.now + time.Duration(ticks)*crossingTick)
			}
		}
	}
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
