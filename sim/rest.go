package sim

import (
	"slices"

	"github.com/allotsched/allot"
)

// A rest is what was made of everything planned anew, as long as it stands: a decision
// that would change nothing is not asked for.
type rest struct {
	// number counts the rests; 0 is that there is none.
	number uint64
	last   uint64
	// front are the jobs up to the last in rank that holds something. Who is behind them
	// was passed over.
	front []*job
	// actions is how many the plan has.
	actions int64
}

// comeToRest takes note of what has been carried out. There is no rest where somebody in
// front may run with more or fewer tasks, as others come before those that it need not have;
// nor under an algorithm of one's own, of whose policy nothing is known.
func (e *replanner) comeToRest(order []*job) {
	r, n := &e.rest, len(order)
	for n > 0 && len(e.workload(order[n-1]).Tasks) == 0 {
		n--
	}
	if r.number = 0; e.scheduler.Rank != nil || slices.ContainsFunc(order[:n], func(j *job) bool { return !j.needsAll() }) {
		return
	}
	r.last++
	r.number, r.actions = r.last, int64(len(e.starts))
	r.front = append(r.front[:0], order[:n]...)
	for _, j := range order[n:] {
		j.passedOver = r.number
	}
}

// rests says whether everything planned anew would come out as it is: the same jobs stand
// in front in the same order, nothing else of the cluster has changed, and who has come
// behind them asks for more than they leave. A baseline takes one after the other and
// whoever fits, so that those who were passed over are again, whoever of them has gone.
func (e *replanner) rests(order []*job) bool {
	r := &e.rest
	if r.number == 0 || len(e.library.nodes)+len(e.library.queues) > 0 || e.look() != (look{}) {
		return false
	}
	if len(order) < len(r.front) || !slices.Equal(order[:len(r.front)], r.front) {
		return false
	}
	left := e.meter.usable - e.meter.allocated
	for _, j := range order[len(r.front):] {
		if j.passedOver == r.number {
			continue
		}
		if !j.needsAll() || j.asks <= left {
			return false
		}
		j.passedOver = r.number
	}
	return true
}

// needsAll says whether a job cannot start but with all that it asks: it runs with all its
// tasks or none, and what they take is the same on all nodes.
func (j *job) needsAll() bool {
	return !j.elastic() && !slices.ContainsFunc(j.Workload.PodSets, func(p allot.PodSet) bool { return p.Request.GPU.Memory > 0 })
}
