package allot

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allotsched/allot/internal/cluster"
)

// What is said of until when work is of use (B11).

// timesInFirst are the duration and the limit of a workload in its first form.
func (w *world) timesInFirst(k *Workload) cluster.Times {
	form, at := formOf(k, 0), w.leafOf(k, k.Queue)
	return w.pools[at.Pool].timesOf(k, &form, at.Queue)
}

// latestStart is when what takes so long must start to meet a deadline, as far as it is known how
// long that is; Never without one.
func (d *Deadline) latestStart(times cluster.Times) int64 {
	latest := int64(cluster.Never)
	if !d.Start.IsZero() {
		latest = micros(d.Start)
	}
	if !d.End.IsZero() {
		end := micros(d.End)
		if times.Duration != cluster.Never {
			end -= times.Duration
		}
		latest = min(latest, end)
	}
	return latest
}

// deadlineWarnings tell of workloads that wait after the plan and miss their deadlines by how much: if they
// started now, or when the plan promises it to them, they would start, or end, so much too late.
func (w *world) deadlineWarnings(promised []PlannedReservation) (found []Fault) {
	for i := range w.Works {
		k := w.source(&w.Works[i])
		if k.Deadline == (Deadline{}) || len(w.Room.Seats[i]) > 0 || k.Ending {
			continue
		}
		want := "can no longer be met, even by a start now"
		late := max(w.Now, micros(k.NotBefore), 0) - k.Deadline.latestStart(w.timesInFirst(k))
		if p := datedPromise(promised, k.ID); late <= 0 && p != nil {
			want = "would be missed by the start that is promised"
			times := w.Definition(&w.Works[i], int16(p.Form)).Times
			times.Duration = times.Lasts(int32(len(p.Tasks)))
			late = micros(p.At) - k.Deadline.latestStart(times)
		}
		if late > 0 {
			seconds := (late + cluster.Second - 1) / cluster.Second
			found = append(found, Fault{Path: workloadPath(k.ID, "deadline"), Code: WarnDeadlineMissed,
				Value: strconv.FormatInt(seconds, 10) + " s too late", Want: want})
		}
	}
	return found
}

// datedPromise is what a workload is promised at a known time, of what a plan promises in the order of the IDs; or nil.
func datedPromise(promised []PlannedReservation, id string) *Promise {
	at, some := slices.BinarySearchFunc(promised, id, func(r PlannedReservation, id string) int { return cmp.Compare(r.Workload, id) })
	if !some || promised[at].Change == PromiseWithdrawn || promised[at].Promise.Rule != ByBackfill {
		return nil
	}
	return &promised[at].Promise
}
