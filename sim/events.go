package sim

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/btree"
)

// A class is the second key of the order of events. At one instant what ends
// comes before what changes, that before what arrives, and plans are carried out
// when all of that is known.
type class uint8

const (
	timer    class = iota // of a job: its phase is over
	joined                // tasks that have come to a run of a job have started
	left                  // tasks of a job are gone
	change                // a Change of the input
	arrival               // of a job
	cancel                // a job's user has waited long enough
	carry                 // a plan that was decided earlier is carried out
	wake                  // it is time to decide
	crossing              // a job has worked for as long as its rank lasts
	sample                // a row of the series is due
)

// ofJob says whether an event of the class is one of a job.
func (c class) ofJob() bool {
	switch c {
	case timer, joined, left, arrival, cancel, crossing:
		return true
	}
	return false
}

// tells says whether an event of the class is more than a time to look what there is to do: what
// is done then tells by itself.
func (c class) tells() bool {
	switch c {
	case carry, wake, crossing, sample:
		return false
	}
	return true
}

// An event is something that will happen.
type event struct {
	at       time.Duration
	class    class
	sequence uint64
	// index is a job, or a change, by position in the input.
	index int
	// epoch is the job's when the event was made: an older one has been overtaken.
	epoch uint64
}

// before is the one total order of events.
func before(a, b event) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.class != b.class {
		return a.class < b.class
	}
	return a.sequence < b.sequence
}

// A calendar holds what will happen.
type calendar struct {
	tree     *btree.BTreeG[event]
	sequence uint64
	// arrivals are the jobs that are still to come, by position in the input, in the order of
	// submission, and of those that come at once of their IDs (O1): there may be a million.
	arrivals []int32
	jobs     []Job
}

const calendarDegree = 32

// newCalendar has the arrivals of the jobs in it.
func newCalendar(jobs []Job) calendar {
	c := calendar{tree: btree.NewG(calendarDegree, before), jobs: jobs, arrivals: make([]int32, len(jobs))}
	for i := range c.arrivals {
		c.arrivals[i] = int32(i)
	}
	slices.SortStableFunc(c.arrivals, func(a, b int32) int {
		return cmp.Or(cmp.Compare(jobs[a].Submit, jobs[b].Submit), strings.Compare(jobs[a].Workload.ID, jobs[b].Workload.ID))
	})
	return c
}

// horizon is the last instant of a run, 146 years after its zero.
const horizon = time.Duration(1 << 62)

// after is the instant so long after another, or beyond the horizon where a clock
// cannot count it.
func after(at, d time.Duration) time.Duration {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// add notes an event. Those of one instant and class happen in the order in which
// they were noted.
func (c *calendar) add(e event) {
	c.sequence++
	e.sequence = c.sequence
	c.tree.ReplaceOrInsert(e)
}

// next is the time of the next event.
func (c *calendar) next() (time.Duration, bool) {
	e, ok := c.tree.Min()
	if len(c.arrivals) > 0 {
		if at := c.jobs[c.arrivals[0]].Submit; !ok || at < e.at {
			return at, true
		}
	}
	return e.at, ok
}

// pop takes the next event of the instant.
func (c *calendar) pop(at time.Duration) (event, bool) {
	e, ok := c.tree.Min()
	ok = ok && e.at == at
	if len(c.arrivals) > 0 && !(ok && e.class < arrival) {
		if i := c.arrivals[0]; c.jobs[i].Submit == at {
			c.arrivals = c.arrivals[1:]
			return event{at: at, class: arrival, index: int(i)}, true
		}
	}
	if !ok {
		return event{}, false
	}
	return c.tree.DeleteMin()
}

// drop takes out what was foreseen and is no event any more, so that no run lasts for it: of
// what comes next, and where that is a row of a series in which nobody holds anything and
// none is to arrive, all.
func (c *calendar) drop(void func(*event) bool, empty bool) {
	next, some := c.tree.Min()
	for ; some && void(&next); next, some = c.tree.Min() {
		c.tree.DeleteMin()
	}
	if !empty || len(c.arrivals) > 0 || next.class != sample {
		return
	}
	var list []event
	c.tree.Ascend(func(e event) bool {
		if void(&e) {
			list = append(list, e)
		}
		return true
	})
	for _, e := range list {
		c.tree.Delete(e)
	}
}

// foresees says whether anything is to come that happens by itself, and not only a time to look what
// there is to do.
func (c *calendar) foresees(void func(*event) bool) bool {
	something := len(c.arrivals) > 0
	c.tree.Ascend(func(e event) bool {
		something = something || e.class.tells() && !void(&e)
		return !something
	})
	return something
}

// left is how many events are still to come.
func (c *calendar) left() int { return c.tree.Len() + len(c.arrivals) }
