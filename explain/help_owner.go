package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// What the owner of a workload can do about it, or wait for.

// waiting looks at what time alone would bring.
func (h *helper) waiting() error {
	if err := h.until(); err != nil {
		return err
	}
	return h.leaving()
}

// until waits for the ends of protections, one after the other (M1), and for the time before
// which the workload may not start (B1).
func (h *helper) until() error {
	now := h.base.Now()
	if now.IsZero() {
		return nil
	}
	reasons := h.reasons
	var likely []int64
	for range 2 * mostAlike {
		i := slices.IndexFunc(reasons, func(r allot.Reason) bool {
			return (r.Code == allot.ProtectedUntil || r.Code == allot.NotBefore) && !r.Until.IsZero()
		})
		if i < 0 || len(likely) > 0 && reasons[i].Until.Sub(now).Microseconds() <= likely[len(likely)-1] {
			break
		}
		likely = append(likely, reasons[i].Until.Sub(now).Microseconds())
		next, err := h.base.With(allot.Change{Now: reasons[i].Until})
		if err != nil {
			break
		}
		d, err := h.solve(next)
		if err != nil {
			return err
		}
		if h.starts(d) {
			break
		}
		if reasons, err = d.Why(h.ctx, h.help.Workload); err != nil {
			return err
		}
	}
	if len(likely) == 0 {
		return nil
	}
	return h.least(likely[len(likely)-1], likely, func(n int64) (Remedy, bool) {
		return Remedy{Kind: WaitUntil, Amount: n, Change: allot.Change{Now: time.UnixMicro(now.UnixMicro() + n).UTC()}}, true
	})
}

// leaving waits for what is terminating.
func (h *helper) leaving() error {
	var leaves []string
	for k := range h.base.Workloads() {
		if slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating }) {
			leaves = append(leaves, k.ID)
		}
	}
	_, err := h.fewest(WaitForLeaving, leaves, func(ids []string) (c allot.Change) {
		for _, id := range ids {
			k, _ := h.base.Workload(id)
			if k.Tasks = slices.DeleteFunc(k.Tasks, func(t allot.Task) bool { return t.Phase == allot.Terminating }); k.Ending {
				c.Remove.Workloads = append(c.Remove.Workloads, id)
			} else {
				c.Workloads = append(c.Workloads, k)
			}
		}
		return c
	})
	return err
}

// fewest keeps a remedy by as few of the workloads as none of which can be left
// out, if all of them together help, and says whether they do.
func (h *helper) fewest(kind RemedyKind, ids []string, change func(ids []string) allot.Change) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	d, err := h.try(change(ids))
	if d == nil || err != nil {
		return false, err
	}
	ids, d, err = h.spare(ids, d, change)
	ids = slices.Sorted(slices.Values(ids))
	r := Remedy{Kind: kind, Workloads: ids, Amount: int64(len(ids)), Change: change(ids)}
	if h.second != nil && err == nil {
		*h.second = []candidate{constant(r)}
		return true, errFound
	}
	h.keep(r, d)
	return true, err
}

// spare leaves out each of the workloads that it can, the last first, until a whole
// pass finds none.
func (h *helper) spare(ids []string, d *allot.Decision, change func(ids []string) allot.Change) ([]string, *allot.Decision, error) {
	for again := true; again && len(ids) > 1; {
		again = false
		for at := len(ids) - 1; at >= 0 && len(ids) > 1; at-- {
			rest := slices.Delete(slices.Clone(ids), at, at+1)
			less, err := h.try(change(rest))
			if err != nil {
				return ids, d, err
			}
			if less != nil {
				ids, d, again = rest, less, true
			}
		}
	}
	return ids, d, nil
}

// constraints relaxes what the tasks ask of nodes, one thing at a time (P1, P2).
func (h *helper) constraints() error {
	for _, look := range [...]func() error{h.tolerations, h.labels, h.expressions, h.models, h.memory} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

func (h *helper) tolerations() error {
	var taints []placement.Taint
	for n := range h.base.Nodes() {
		for _, taint := range n.Taints {
			if !n.Lost && !slices.Contains(taints, taint) && turnsAway(&h.work, taint) {
				taints = append(taints, taint)
			}
		}
	}
	slices.SortFunc(taints, func(a, b placement.Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
	for _, taint := range taints[:h.firstOf(len(taints))] {
		r := Remedy{Kind: Tolerate, Taint: &taint, Name: taint.Key, Change: h.with(func(k *allot.Workload) {
			eachSet(k, func(s *allot.PodSet) {
				s.Request.Tolerations = append(s.Request.Tolerations,
					placement.Toleration{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
			})
		})}
		if _, err := h.offer(r); err != nil {
			return err
		}
	}
	return nil
}

// turnsAway says whether the taint keeps some task of the workload off.
func turnsAway(k *allot.Workload, taint placement.Taint) (some bool) {
	eachSet(k, func(s *allot.PodSet) { some = some || taint.TurnsAway(s.Request.Tolerations) })
	return some
}

func (h *helper) labels() error {
	asked := make(map[string]bool)
	eachSet(&h.work, func(s *allot.PodSet) {
		for key := range s.Request.Selector.Labels { // sorted below
			asked[key] = true
		}
	})
	keys := slices.Sorted(maps.Keys(asked))
	for _, key := range keys[:h.firstOf(len(keys))] {
		r := Remedy{Kind: DropSelector, Name: key, Change: h.with(func(k *allot.Workload) {
			eachSet(k, func(s *allot.PodSet) { delete(s.Request.Selector.Labels, key) })
		})}
		if _, err := h.offer(r); err != nil {
			return err
		}
	}
	return nil
}

func (h *helper) expressions() error {
	var asked []placement.Expression
	same := func(a placement.Expression) func(placement.Expression) bool {
		return func(b placement.Expression) bool {
			return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
		}
	}
	eachSet(&h.work, func(s *allot.PodSet) {
		for _, e := range s.Request.Selector.Expressions {
			if !slices.ContainsFunc(asked, same(e)) {
				asked = append(asked, e)
			}
		}
	})
	for _, e := range asked[:h.firstOf(len(asked))] {
		r := Remedy{Kind: DropSelector, Name: e.Key, Expression: &e, Change: h.with(func(k *allot.Workload) {
			eachSet(k, func(s *allot.PodSet) {
				s.Request.Selector.Expressions = slices.DeleteFunc(s.Request.Selector.Expressions, same(e))
			})
		})}
		if _, err := h.offer(r); err != nil {
			return err
		}
	}
	return nil
}

func (h *helper) models() error {
	have := make(map[string]bool)
	for n := range h.base.Nodes() {
		for i := range n.Devices {
			have[n.Devices[i].Model] = true
		}
	}
	limited := false
	eachSet(&h.work, func(s *allot.PodSet) { limited = limited || len(s.Request.GPU.Models) > 0 })
	names := slices.Sorted(maps.Keys(have))
	if !limited {
		return nil
	}
	for _, name := range names[:h.firstOf(len(names))] {
		added := false
		r := Remedy{Kind: AcceptModel, Name: name, Change: h.with(func(k *allot.Workload) {
			eachSet(k, func(s *allot.PodSet) {
				if g := &s.Request.GPU; len(g.Models) > 0 && !slices.Contains(g.Models, name) {
					g.Models = append(g.Models, name)
					added = true
				}
			})
		})}
		if !added {
			continue
		}
		if _, err := h.offer(r); err != nil {
			return err
		}
	}
	return nil
}

func (h *helper) memory() error {
	asked := false
	r := Remedy{Kind: DropMinMemory, Change: h.with(func(k *allot.Workload) {
		eachSet(k, func(s *allot.PodSet) {
			asked = asked || s.Request.GPU.MinMemory > 0
			s.Request.GPU.MinMemory = 0
		})
	})}
	if !asked {
		return nil
	}
	_, err := h.offer(r)
	return err
}

// formIn is a form of the workload, to be changed.
func formIn(k *allot.Workload, at int) (sets []allot.PodSet, groups []allot.Group) {
	if at == 0 {
		return k.PodSets, k.Groups
	}
	return k.Alternatives[at-1].PodSets, k.Alternatives[at-1].Groups
}

// smaller lets the workload start with less, or with what has not been submitted.
func (h *helper) smaller() error {
	for form := range 1 + len(h.work.Alternatives) {
		sets, groups := formIn(&h.work, form)
		for i := range sets[:h.firstOf(len(sets))] {
			if err := h.smallerSet(form, i, &sets[i]); err != nil {
				return err
			}
		}
		for i := range groups[:h.firstOf(len(groups))] {
			if err := h.smallerGroup(form, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *helper) smallerSet(form, i int, set *allot.PodSet) error {
	if missing := int64(set.Missing); missing > 0 {
		short := max(1, int64(cmp.Or(set.Min, set.Count))-int64(set.Count)+missing)
		err := h.least(missing, []int64{short}, func(n int64) (Remedy, bool) {
			return Remedy{Kind: SubmitTasks, PodSet: set.Name, Form: form, Amount: n, From: missing, To: missing - n, Change: h.with(func(k *allot.Workload) {
				sets, _ := formIn(k, form)
				sets[i].Missing -= int(n)
			})}, true
		})
		if err != nil {
			return err
		}
	}
	least := int64(cmp.Or(set.Min, set.Count))
	return h.least(least-1, nil, func(n int64) (Remedy, bool) {
		return Remedy{Kind: LessMinimum, PodSet: set.Name, Form: form, Amount: n, From: least, To: least - n, Change: h.with(func(k *allot.Workload) {
			sets, _ := formIn(k, form)
			sets[i].Min = int(least - n)
		})}, true
	})
}

func (h *helper) smallerGroup(form, i int) error {
	sets, groups := formIn(&h.work, form)
	name, children := groups[i].Name, 0
	for at := range sets {
		if sets[at].Group == name {
			children++
		}
	}
	for at := range groups {
		if groups[at].Parent == name {
			children++
		}
	}
	least := int64(cmp.Or(groups[i].Min, children))
	return h.least(least-1, nil, func(n int64) (Remedy, bool) {
		return Remedy{Kind: LessGroupMinimum, Name: name, Form: form, Amount: n, From: least, To: least - n, Change: h.with(func(k *allot.Workload) {
			_, groups := formIn(k, form)
			groups[i].Min = int(least - n)
		})}, true
	})
}

// shorter has the workload say that it takes less time, or how long at most, where it would end too late to pass what
// is promised to another, or is not known to end before that (B5).
func (h *helper) shorter() error {
	at := slices.IndexFunc(h.reasons, func(r allot.Reason) bool {
		return r.Code == allot.TooLateToBackfill || r.Code == allot.DurationUnknown
	})
	if at < 0 || h.work.FixedWork > 0 { // that is as long as it is
		return nil
	}
	reason := &h.reasons[at]
	hole := (reason.Until.UnixMicro() - h.base.Now().UnixMicro()) / time.Second.Microseconds()
	over := max(1, reason.Need)
	return h.least(hole+over-1, []int64{over}, func(n int64) (Remedy, bool) {
		r := Remedy{Kind: ShorterDuration, To: hole + over - n}
		if reason.Code == allot.TooLateToBackfill {
			r.From, r.Amount = hole+over, n
		}
		r.Change = h.with(func(k *allot.Workload) { endBy(k, r.To, h.policy().Reserve.TrustDurations) })
		return r, true
	})
}

// endBy has a workload take so many seconds at most, by what its pool goes by: durations where it trusts them.
func endBy(k *allot.Workload, most int64, trusts bool) {
	lower := func(b *quota.Bound) {
		if !b.Given() || b.IsUnlimited() || b.Amount() > most {
			*b = quota.Of(most)
		}
	}
	lower(&k.Duration)
	if k.TimeLimit.Given() || !trusts {
		lower(&k.TimeLimit)
	}
	k.MinDuration = min(k.MinDuration, most)
}
