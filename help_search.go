package allot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
)

// helpSolves is how many decisions WhatHelps makes at most where the caller does
// not say.
const helpSolves = 128

// mostAlike is how many candidates of one kind are solved for.
const mostAlike = 8

// WhatHelps finds the single changes with which the workload, if it waits after
// the decision, would start (X3). It makes at most solves decisions of the kind of
// this one, 0 for 128, and says how many, and whether it had to stop for that. The
// error is the context's, or tells of a fault of the library.
//
// A workload starts where the plan has a [Start] for it: at least its minimum, be
// it behind others that have to leave first. That it does, and that a change that
// is smaller by one unit does not, has been solved in each case: a granule of a
// quota, a unit of a limit, one GPU, task, step of priority or workload less. Where
// others wait for the same a still smaller change might do, as they start or not
// by other rules: then it is not looked for. A workload that is not in the state
// does not wait.
func (d *Decision) WhatHelps(ctx context.Context, workload string, solves int) (*Help, error) {
	h := &helper{ctx: ctx, decision: d, base: d.snapshot, most: cmp.Or(solves, helpSolves), fitter: d.snapshot.Fitter()}
	h.help.Workload = workload
	work, known := h.base.Workload(workload)
	if !known || h.starts(d) {
		return &h.help, nil
	}
	var err error
	if h.reasons, err = d.Why(workload); err != nil || len(h.reasons) == 0 {
		return &h.help, err
	}
	h.work, h.help.Waits = work, true
	if h.shares, err = d.shares(); err != nil {
		return nil, err
	}
	h.before = effectsOf(d.Actions(), workload)
	for _, look := range [...]func() error{
		h.waiting, h.constraints, h.nearness, h.smaller, h.standing, h.elsewhere, h.uncordoned, h.bounds, h.quotas, h.ends, h.machines,
	} {
		h.left = max(1, (h.most-h.help.Solves)/2) // something is left for those that come later
		if err := look(); err != nil && !errors.Is(err, errSpent) {
			return nil, err
		}
	}
	slices.SortStableFunc(h.help.Remedies, compareRemedies)
	return &h.help, nil
}

// compareRemedies is the order that [Help.Remedies] tells.
func compareRemedies(a, b Remedy) int {
	x, y := a.Effects.disturbed(), b.Effects.disturbed()
	return cmp.Or(cmp.Compare(min(x, 1), min(y, 1)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(x, y),
		cmp.Compare(a.Amount, b.Amount), cmp.Compare(len(a.Workloads), len(b.Workloads)),
		strings.Compare(a.Queue, b.Queue), strings.Compare(a.Pool, b.Pool), strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Node, b.Node), strings.Compare(a.PodSet, b.PodSet))
}

// errSpent ends the search for one kind.
var errSpent = errors.New("allot: no decisions are left")

// A helper looks for what helps one workload.
type helper struct {
	ctx      context.Context
	decision *Decision
	base     *Snapshot
	work     Workload
	reasons  []Reason
	shares   []Share
	before   effects
	help     Help
	most     int
	left     int // decisions of the kind at hand
	fitter   *Fitter
}

// starts says whether the decision has a start of the workload.
func (h *helper) starts(d *Decision) bool {
	return slices.ContainsFunc(d.Actions(), func(a Action) bool { return a.Kind == Start && a.Workload == h.help.Workload })
}

// try decides on the changed state; nil if the workload does not start in it, or
// there can be no such state. If only the workload is otherwise, and would not
// even start were it alone and the first in turn, no decision is made.
func (h *helper) try(c Change) (*Decision, error) {
	if h.hopeless(&c) {
		return nil, nil
	}
	next, err := h.base.With(c)
	if err != nil {
		return nil, nil // an odd change is none that helps
	}
	if h.help.Solves >= h.most || h.left <= 0 {
		h.help.Cut = true
		return nil, errSpent
	}
	h.help.Solves++
	h.left--
	d, err := next.DecideContext(h.ctx)
	if err != nil || !h.starts(d) {
		return nil, err
	}
	return d, nil
}

// hopeless says so of a change of the workload alone.
func (h *helper) hopeless(c *Change) bool {
	if len(c.Workloads) != 1 || c.Workloads[0].ID != h.work.ID || len(c.Workloads[0].Tasks) > 0 || len(h.work.Tasks) > 0 {
		return false
	}
	fit, err := h.fitter.WithRoom(c.Workloads[0])
	return err == nil && !fit.OK
}

// offer keeps the remedy if its change helps, and says so.
func (h *helper) offer(r Remedy) (bool, error) {
	d, err := h.try(r.Change)
	if d == nil || err != nil {
		return false, err
	}
	h.keep(r, d)
	return true, nil
}

func (h *helper) keep(r Remedy, d *Decision) {
	r.Effects = effectsOf(d.Actions(), h.help.Workload).beyond(&h.before, r.Workloads)
	h.help.Remedies = append(h.help.Remedies, r)
}

// least finds an amount n, 0 < n ≤ most, of which the remedy helps and of one less
// does not, and keeps it; nothing where most does not help. likely are amounts to
// look at first. It need not be the least of all where more does not always help
// more: what is known of n and of n−1 has been solved, as long as there were
// solves. A change that is not possible is one that does not help.
func (h *helper) least(most int64, likely []int64, remedy func(n int64) (Remedy, bool)) error {
	low, high := int64(0), int64(0)
	var best Remedy
	var found *Decision
	attempt := func(n int64) (bool, error) {
		r, possible := remedy(n)
		if possible {
			d, err := h.try(r.Change)
			if err != nil {
				return false, err
			}
			if possible = d != nil; possible {
				high, best, found = n, r, d
			}
		}
		if !possible {
			low = n
		}
		return possible, nil
	}
	if most <= 0 {
		return nil
	}
	if helps, err := attempt(most); !helps || err != nil {
		return err
	}
	low = 0
	err := h.narrow(&low, &high, likely, attempt)
	h.keep(best, found)
	return err
}

// narrow brings low, which does not help, up to just below high, which does: by
// what is likely, and one less of that, then by halves.
func (h *helper) narrow(low, high *int64, likely []int64, attempt func(n int64) (bool, error)) error {
	likely = slices.Sorted(slices.Values(likely))
	for _, n := range slices.Compact(likely) {
		if n <= *low || n >= *high {
			continue
		}
		helps, err := attempt(n)
		if err != nil {
			return err
		}
		if helps {
			break
		}
	}
	if *high-*low > 1 { // what was likely is mostly exact
		if _, err := attempt(*high - 1); err != nil {
			return err
		}
	}
	for *high-*low > 1 {
		if _, err := attempt(*low + (*high-*low)/2); err != nil {
			return err
		}
	}
	return nil
}

// effects are what a plan does, by ID.
type effects struct {
	starts, evicted, moved []string
	after                  []string
}

// effectsOf sums a plan up; after is whom the workload waits for.
func effectsOf(actions []Action, workload string) (out effects) {
	for i := range actions {
		a := &actions[i]
		switch a.Kind {
		case Start:
			if a.Workload == workload {
				out.after = append(out.after, a.After...)
			} else {
				out.starts = append(out.starts, a.Workload)
			}
		case Evict, Shrink:
			out.evicted = append(out.evicted, a.Workload)
		case Move:
			out.moved = append(out.moved, a.Workload)
		}
	}
	for _, list := range [...]*[]string{&out.starts, &out.evicted, &out.moved, &out.after} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// beyond is what a plan does that another one does not. Who is gone is not
// delayed.
func (e effects) beyond(before *effects, gone []string) Effects {
	return Effects{
		Starts: lacking(e.starts, before.starts), Evicted: lacking(e.evicted, before.evicted),
		Moved: lacking(e.moved, before.moved), Delayed: lacking(lacking(before.starts, e.starts), gone),
		After: e.after,
	}
}

// lacking are the strings of a that are not in b, both sorted.
func lacking(a, b []string) (out []string) {
	for _, s := range a {
		if _, in := slices.BinarySearch(b, s); !in {
			out = append(out, s)
		}
	}
	return out
}

// with is the change that puts the workload as it is after edit.
func (h *helper) with(edit func(k *Workload)) Change {
	k := cloneWorkload(h.work)
	edit(&k)
	return Change{Workloads: []Workload{k}}
}

// eachSet calls edit for all pod sets of all forms.
func eachSet(k *Workload, edit func(s *PodSet)) {
	for i := range k.PodSets {
		edit(&k.PodSets[i])
	}
	for a := range k.Alternatives {
		for i := range k.Alternatives[a].PodSets {
			edit(&k.Alternatives[a].PodSets[i])
		}
	}
}

// firstOf is how many of n that are alike are looked at.
func (h *helper) firstOf(n int) int {
	if n > mostAlike {
		h.help.Cut = true
		return mostAlike
	}
	return n
}
