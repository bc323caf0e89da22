package verify

import (
	"slices"

	"github.com/allotsched/allot"
)

// Whether a promise that is told to be later, or gone, as something has changed could not be kept as it was is judged
// here (B7): as far as that can be seen of what it was, beside all that has a place and is promised after the plan.

// changed judges those of which that is told.
func (v *promising) changed() {
	for i := range v.plan.Reservations {
		r := &v.plan.Reservations[i]
		if r.Cause.Code != allot.PromiseChanged || r.Change != allot.PromiseLater && r.Change != allot.PromiseWithdrawn {
			continue
		}
		if w := v.workloads[r.Workload]; w != nil && w.source.Reserved != nil && v.couldBeKept(w) {
			v.fail(listPath("reservations", i), ruleKept, "what %q was promised could be kept as it was", r.Workload)
		}
	}
}

// couldBeKept says whether what the state has promised to a workload could be kept.
func (v *promising) couldBeKept(w *verifiedWorkload) bool {
	was := *w.source.Reserved
	if was.Form < 0 || was.Form >= len(w.forms) || was.Rule == allot.ByGathering {
		return false // what is gathered goes with what it is gathered of
	}
	f := w.forms[was.Form]
	if !f.queue.pool.promises() || v.wereTooMany(f.queue) {
		return false
	}
	was.At = instant(max(micros(was.At), v.at))
	p := v.promisedBy("", &allot.PlannedReservation{Workload: w.source.ID, Change: allot.PromiseMoved, Promise: was}, w, f)
	return !v.objects(func() {
		if v.names(p); p.unsettled {
			return
		}
		v.places(p)
		v.together(p)
		p.readPlaces()
		defer v.instead(p)()
		v.fits(p)
	})
}

// wereTooMany says whether the state has more promises than the policy makes, in the pool or to a queue.
func (v *promising) wereTooMany(of *verifiedQueue) bool {
	all, own, r := 0, 0, &of.pool.policy.Reserve
	for _, w := range v.workOrder {
		if was := w.source.Reserved; was != nil && was.Form >= 0 && was.Form < len(w.forms) && w.forms[was.Form].queue.pool == of.pool {
			all++
			if w.forms[was.Form].queue == of {
				own++
			}
		}
	}
	return all > depthOf(r) || r.MaxPromises > 0 && own > r.MaxPromises
}

// objects says whether anything fails in what is judged, of which nothing is told.
func (v *promising) objects(judge func()) bool {
	before := v.found
	v.found = nil
	judge()
	some := len(v.found) > 0
	v.found = before
	return some
}

// instead has a promise stand for what is promised to its workload after the plan, on its nodes, and returns what ends that.
func (v *promising) instead(p *promised) (end func()) {
	before := make([][]*promised, len(p.nodes))
	for k, n := range p.nodes {
		before[k] = v.on[n]
		v.on[n] = append(slices.DeleteFunc(slices.Clone(v.on[n]), func(other *promised) bool { return other.workload == p.workload }), p)
	}
	return func() {
		for k, n := range p.nodes {
			v.on[n] = before[k]
		}
	}
}
