package allot

import (
	"strconv"

	"github.com/allotsched/allot/internal/cluster"
)

// What is said of until when work is of use (B11).

// timesInFirst are the duration and the limit of a workload in its first form.
func (w *world) timesInFirst(k *Workload) cluster.Times {
	form := formOf(k, 0)
	return w.timesOf(k, &form, w.policyInFirst(k))
}

// policyInFirst is the policy of the pool of a workload's first form.
func (w *world) policyInFirst(k *Workload) *Policy {
	policy := new(Policy)
	if at, ok := w.leaf[k.Queue]; ok {
		policy = w.pools[at.Pool].given
	} else {
		for _, p := range w.pools {
			if len(w.pools) == 1 || p.id == k.Pool {
				policy = p.given
			}
		}
	}
	return policy
}

// latestStart is when a workload must start to meet its deadline, as far as it is known how
// long it takes; Never without one.
func (w *world) latestStart(k *Workload) int64 {
	latest := int64(cluster.Never)
	if !k.Deadline.Start.IsZero() {
		latest = micros(k.Deadline.Start)
	}
	if !k.Deadline.End.IsZero() {
		end := micros(k.Deadline.End)
		if times := w.timesInFirst(k); times.Duration != cluster.Never {
			end -= times.Duration
		}
		latest = min(latest, end)
	}
	return latest
}

// deadlineWarnings tell of workloads that wait after the plan and can no longer meet their deadlines by how
// much: if they started now they would start, or end, so much too late.
func (w *world) deadlineWarnings() (found []Fault) {
	for i := range w.Works {
		k := w.source(&w.Works[i])
		if k.Deadline == (Deadline{}) || len(w.Room.Seats[i]) > 0 || k.Ending {
			continue
		}
		now := max(w.Now, micros(k.NotBefore), 0)
		if late := now - w.latestStart(k); late > 0 {
			seconds := (late + cluster.Second - 1) / cluster.Second
			found = append(found, Fault{Path: workloadPath(k.ID, "deadline"), Code: WarnDeadlineMissed,
				Value: strconv.FormatInt(seconds, 10) + " s too late", Want: "can no longer be met, even by a start now"})
		}
	}
	return found
}
