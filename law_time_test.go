package allot

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Laws of what time alone changes.

// stillUntilNext: once a plan is applied nothing is done or promised otherwise before NextAt, if nothing
// but time passes (B10). Where something leaves or is claimed nothing can be told: it is as if claims began
// now, and what is past its limit ended soon, whenever that is.
func stillUntilNext(j *Judged) error {
	if mayBeCut(j.State, j.Plan) || evictsWithChoice(j.State, j.Plan) {
		return nil
	}
	after, err := j.After()
	if err != nil {
		return err
	}
	plan, err := Solve(after)
	if err != nil || after.Now.IsZero() || len(plan.Actions) > 0 || slices.ContainsFunc(after.Workloads, func(w Workload) bool { return endsByNow(&w, after.Now) }) {
		return err
	}
	for _, at := range instantsBefore(after.Now, plan.NextAt) {
		then := *after
		then.Now = at
		later, err := Solve(&then)
		if err != nil {
			return err
		}
		if len(later.Actions) > 0 {
			return fmt.Errorf("next at %v, and at %v\n%s", plan.NextAt, at, later.String())
		}
		if was, is := promisesOf(plan), promisesOf(later); !reflect.DeepEqual(was, is) {
			return fmt.Errorf("next at %v, and at %v is promised %+v, before %+v", plan.NextAt, at, is, was)
		}
	}
	return nil
}

// endsByNow says whether when some task of a workload is predicted to end depends on what time it is, at
// any time.
func endsByNow(w *Workload, now time.Time) bool {
	return slices.ContainsFunc(w.Tasks, func(t Task) bool {
		begun := t.began()
		limit := w.TimeLimit
		past := !t.Until.IsZero() && !t.Until.After(now) ||
			limit.Given() && !limit.IsUnlimited() && begun.Unix()+limit.Amount() <= now.Unix()
		return t.Phase != Running || past
	})
}

// instantsBefore are some instants from one up to another, which may be none.
func instantsBefore(now, next time.Time) []time.Time {
	if next.IsZero() {
		return []time.Time{now.Add(time.Hour), now.Add(1000 * time.Hour)}
	}
	return []time.Time{now.Add(next.Sub(now) / 2).Truncate(time.Microsecond), next.Add(-time.Microsecond)}
}

// promisesOf are the promises that stand after a plan, by workload.
func promisesOf(p *Plan) map[string]Promise {
	out := make(map[string]Promise)
	for i := range p.Reservations {
		if r := &p.Reservations[i]; r.Change != PromiseWithdrawn {
			out[r.Workload] = r.Promise
		}
	}
	return out
}
