package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// helpSolves is how many decisions WhatHelps makes at most where the caller does
// not say.
const helpSolves = 128

// mostAlike is how many candidates of one kind are solved for.
const mostAlike = 8

// fewSolves is how many decisions are so few that a search parts them among the kinds.
const fewSolves = 32

// A HelpSearch says how far [WhatHelps] looks. The zero HelpSearch is enough for
// most.
type HelpSearch struct {
	// Solves is how many decisions are made at most; 0 is 128. Fewer than 32 are parted
	// evenly among kinds of changes, and those go first that are likely by what the
	// workload waits for.
	Solves int
}

// WhatHelps finds the changes with which a workload that waits after the
// decision would start (X3), each by itself: more quota, more GPUs, others that end, a constraint
// less, another priority, a smaller minimum, another queue. Each is found by
// deciding: the change is made to the snapshot, and the workload starts, beside
// whatever else starts, and goes, in the decision on that; or stays, if the
// decision without the change evicts it.
//
// A workload starts where the plan has an [allot.Start] for it: at least its minimum, be
// it behind others that have to leave first. To one that this plan evicts it helps
// as well not to be evicted. That it starts or stays, and that a change that is
// smaller by one unit does not, has been decided in each case: a unit of the resource
// of a quota or limit (one thousandth of a GPU, one byte), one GPU, task, step of
// priority or workload less. Where others wait for the same a still smaller change
// might do, as they start or not by other rules: then it is not looked for.
//
// Where no quota by itself is enough, those of the workload's queue and of all above it
// are raised together. Where nothing is, two changes are: at most 6 first ones are
// followed, those after which the workload waits for other reasons, with at most 16
// decisions each, and at most 4 pairs are told. All [Remedy.Together] are minimal: one
// unit less of any of them does not help.
//
// The error is the context's, wraps [allot.ErrUnknown], or tells of a fault of the
// library. If the context ends after the search has begun, Help is what was found by then;
// of any other error it is nil. Help says how many decisions it took, and whether that was
// the bound.
func WhatHelps(ctx context.Context, d *allot.Decision, workload string, search HelpSearch) (*Help, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := &helper{ctx: ctx, base: d.Snapshot(), most: cmp.Or(search.Solves, helpSolves), fitter: NewFitter(d.Snapshot())}
	h.help.Workload, h.few = workload, h.most < fewSolves
	work, known := h.base.Workload(workload)
	if !known {
		return nil, fmt.Errorf("%w: workload %q", allot.ErrUnknown, workload)
	}
	if h.starts(d) {
		return &h.help, nil
	}
	var err error
	if h.reasons, err = d.Why(ctx, workload); err != nil {
		return nil, err
	}
	if len(h.reasons) == 0 {
		return &h.help, nil
	}
	h.work, h.help.Waits, h.help.Evicted = work, true, hasAction(d, allot.Evict, h.help.Workload)
	for s, err := range d.Shares() {
		if err != nil {
			return nil, err
		}
		h.shares = append(h.shares, s)
	}
	h.look()
	h.before = effectsOf(d.Actions(), workload)
	err = h.search()
	slices.SortStableFunc(h.help.Remedies, compareRemedies)
	if err != nil && ctx.Err() != nil {
		h.help.Cut = true
		return &h.help, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &h.help, nil
}

// A look is the search for changes of some kinds.
type look struct {
	kinds []RemedyKind
	find  func() error
}

// looks are all of them, in the order of the kinds.
func (h *helper) looks() []look {
	return []look{
		{[]RemedyKind{WaitUntil, WaitForLeaving}, h.waiting},
		{[]RemedyKind{Tolerate, DropSelector, AcceptModel, DropMinMemory}, h.constraints},
		{[]RemedyKind{WiderDomain}, h.nearness},
		{[]RemedyKind{SubmitTasks, LessMinimum, LessGroupMinimum}, h.smaller},
		{[]RemedyKind{OtherPriority, OtherClass, BePreemptible}, h.standing},
		{[]RemedyKind{OtherQueue, OtherPool}, h.elsewhere},
		{[]RemedyKind{Uncordon}, h.uncordoned},
		{[]RemedyKind{MoreWorkloads, MoreLimit, MoreBorrowing, MoreLending}, h.bounds},
		{[]RemedyKind{MoreQuota}, h.quotas},
		{[]RemedyKind{EndOf}, h.ends},
		{[]RemedyKind{MoreGPUs, MoreNodes}, h.machines},
	}
}

// search looks for all kinds of changes, and for two together where none helps.
func (h *helper) search() error {
	looks := h.looks()
	if h.few {
		likely := EndOf // and new nodes, where nodes are what is short
		if slices.ContainsFunc(h.reasons, func(r allot.Reason) bool { return bindsQueue(r.Code) }) {
			likely = MoreWorkloads // and quotas
		}
		slices.SortStableFunc(looks, func(a, b look) int {
			rank := func(l look) int {
				switch first := l.kinds[0]; {
				case first == MoreGPUs && likely == EndOf:
					return 0
				case first >= MoreWorkloads && (first >= EndOf) == (likely == EndOf):
					return 1
				}
				return 2
			}
			return cmp.Compare(rank(a), rank(b))
		})
	}
	for i, l := range looks {
		h.left = max(1, (h.most-h.help.Solves)/2) // something is left for those that come later
		if h.few {
			const usual = 5 // so many kinds there are to be looked at, as a rule
			h.left = max(1, (h.most-h.help.Solves)/min(usual, len(looks)-i))
		}
		switch err := l.find(); {
		case errors.Is(err, errSpent):
			h.help.Unlooked = append(h.help.Unlooked, l.kinds...)
		case err != nil:
			for _, rest := range looks[i:] {
				h.help.Unlooked = append(h.help.Unlooked, rest.kinds...)
			}
			slices.Sort(h.help.Unlooked)
			return err
		}
	}
	slices.Sort(h.help.Unlooked)
	if len(h.help.Remedies) == 0 {
		return h.pairs()
	}
	return nil
}

// bindsQueue says whether a reason is of a bound of a queue.
func bindsQueue(c allot.Code) bool {
	switch c {
	case allot.MaxWorkloads, allot.OverLimit, allot.ImpossibleLimit, allot.OverBorrowingLimit, allot.KeptFromLending, allot.NoQuota, allot.ImpossibleQuota:
		return true
	}
	return false
}

// compareRemedies is the order that [Help.Remedies] tells.
func compareRemedies(a, b Remedy) int {
	x, y := a.Effects.disturbed(), b.Effects.disturbed()
	return cmp.Or(cmp.Compare(min(x, 1), min(y, 1)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(x, y),
		cmp.Compare(len(a.Together), len(b.Together)), cmp.Compare(a.Amount, b.Amount), cmp.Compare(len(a.Workloads), len(b.Workloads)),
		strings.Compare(a.Queue, b.Queue), strings.Compare(a.Pool, b.Pool), strings.Compare(a.Resource, b.Resource),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Node, b.Node), strings.Compare(a.PodSet, b.PodSet))
}

// errSpent ends the search for one kind.
var errSpent = errors.New("allot: no decisions are left")

// A helper looks for what helps one workload.
type helper struct {
	ctx     context.Context
	base    *allot.Snapshot
	work    allot.Workload
	reasons []allot.Reason
	shares  []allot.Share
	// The state's pools and queues, the queues by ID, and how many workloads it has.
	pools     []allot.Pool
	queues    []allot.Queue
	queue     map[string]*allot.Queue
	workloads int64
	before    effects
	help      Help
	most      int
	left      int  // decisions of the kind at hand
	few       bool // the decisions are few
	fitter    *Fitter
	// failed are the changes that do not help by themselves.
	failed [][]candidate
	// While the second of two changes is looked for: where the first one found goes,
	// and whether only changes that have an amount are looked at.
	second  *[]candidate
	amounts bool
}

// look reads what the state has few of.
func (h *helper) look() {
	h.pools, h.queues = slices.Collect(h.base.Pools()), slices.Collect(h.base.Queues())
	h.queue = make(map[string]*allot.Queue, len(h.queues))
	for i := range h.queues {
		h.queue[h.queues[i].ID] = &h.queues[i]
	}
	for range h.base.Workloads() {
		h.workloads++
	}
}

// hasAction says whether the decision has an action of the kind for the workload.
func hasAction(d *allot.Decision, kind allot.ActionKind, workload string) bool {
	return slices.ContainsFunc(d.Actions(), func(a allot.Action) bool { return a.Kind == kind && a.Workload == workload })
}

// starts says whether the decision starts the workload, or lets it stay that the
// decision to begin with evicts.
func (h *helper) starts(d *allot.Decision) bool {
	return hasAction(d, allot.Start, h.help.Workload) || h.help.Evicted && !hasAction(d, allot.Evict, h.help.Workload)
}

// try decides on the changed state; nil if the workload does not start in it, or
// there can be no such state. If only the workload is otherwise, and would not
// even start were it alone and the first in turn, no decision is made.
func (h *helper) try(c allot.Change) (*allot.Decision, error) {
	if h.hopeless(&c) {
		return nil, nil
	}
	return h.decide(c)
}

// decide is try without a guess.
func (h *helper) decide(c allot.Change) (*allot.Decision, error) {
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

// hopeless says so of a change of the workload alone. Where the plan ends a stale gang
// (G1) a Fitter cannot tell: to it, that stays.
func (h *helper) hopeless(c *allot.Change) bool {
	if h.before.stale {
		return false
	}
	if len(c.Workloads) != 1 || c.Workloads[0].ID != h.work.ID || len(c.Workloads[0].Tasks) > 0 || len(h.work.Tasks) > 0 {
		return false
	}
	fit, err := h.fitter.WithRoom(h.ctx, c.Workloads[0])
	return err == nil && !fit.OK
}

// offer keeps the remedy if its change helps, and says so.
func (h *helper) offer(r Remedy) (bool, error) {
	if h.amounts {
		return false, nil
	}
	d, err := h.try(r.Change)
	if d == nil || err != nil {
		if err == nil {
			h.failed = append(h.failed, []candidate{constant(r)})
		}
		return false, err
	}
	if h.second != nil {
		*h.second = []candidate{constant(r)}
		return true, errFound
	}
	h.keep(r, d)
	return true, nil
}

func (h *helper) keep(r Remedy, d *allot.Decision) {
	r.Effects = effectsOf(d.Actions(), h.help.Workload).beyond(&h.before, r.Workloads)
	h.help.Remedies = append(h.help.Remedies, r)
}

// least finds an amount n, 0 < n ≤ most, of which the remedy helps and of one less
// does not, and keeps it; nothing where most does not help. likely are amounts to look
// at, those that stand before the first that is not more than 0 before any other. It need not be the least of all where more does not always help
// more: what is known of n and of n−1 has been solved, as long as there were
// solves. A change that is not possible is one that does not help.
func (h *helper) least(most int64, likely []int64, remedy func(n int64) (Remedy, bool)) error {
	low, high := int64(0), int64(0)
	var best Remedy
	var found *allot.Decision
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
	this := []candidate{{most, likely, remedy}}
	helps := false
	for i := 0; h.second == nil && !helps && i < len(likely) && likely[i] > 0; i++ {
		if likely[i] <= low || likely[i] >= most {
			continue
		}
		var err error
		if helps, err = attempt(likely[i]); err != nil {
			return err
		}
	}
	if !helps {
		if helps, err := attempt(most); !helps || err != nil {
			if err == nil {
				h.failed = append(h.failed, this)
			}
			return err
		}
	}
	if h.second != nil {
		*h.second = this
		return errFound
	}
	err := h.narrow(&low, &high, likely, attempt)
	for err == nil && high > 1 && len(h.before.starts) > 0 {
		r, possible := remedy(high - 1)
		if !possible || !h.hopeless(&r.Change) {
			break // it has been decided
		}
		// What else starts may put a queue beyond its line, so that there is more to
		// take than a Fitter knows.
		d, wrong := h.decide(r.Change)
		if err = wrong; d == nil {
			break
		}
		high, best, found = high-1, r, d
	}
	h.keep(best, found)
	return err
}

// narrow brings low, which does not help, up to just below high, which does: by
// what is likely, and one less of that, then by steps from below, each twice as large as
// the one before, as less changes less, and then by halves.
func (h *helper) narrow(low, high *int64, likely []int64, attempt func(n int64) (bool, error)) error {
	exact := slices.Contains(likely, *high)
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
			exact = true
			break
		}
	}
	if exact && *high-*low > 1 { // what was likely is mostly exact
		if _, err := attempt(*high - 1); err != nil {
			return err
		}
	}
	step := max(0, *low)
	for *high-*low > 1 {
		half := (*high - *low) / 2
		stepping := step > 0 && step < half
		if stepping {
			half = step
		}
		helps, err := attempt(*low + half)
		if err != nil {
			return err
		}
		if step *= 2; helps || !stepping {
			step = 0
		}
	}
	return nil
}

// effects are what a plan does, by ID.
type effects struct {
	starts, evicted, moved []string
	after                  []string
	stale                  bool // a gang ends that has lost a part of itself
}

// effectsOf sums a plan up; after is whom the workload waits for.
func effectsOf(actions []allot.Action, workload string) (out effects) {
	for i := range actions {
		a := &actions[i]
		switch a.Kind {
		case allot.Start:
			if a.Workload == workload {
				out.after = append(out.after, a.After...)
			} else {
				out.starts = append(out.starts, a.Workload)
			}
		case allot.Evict, allot.Shrink:
			out.evicted = append(out.evicted, a.Workload)
			out.stale = out.stale || a.Reason.Code == allot.StaleGang
		case allot.Move:
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
func (h *helper) with(edit func(k *allot.Workload)) allot.Change {
	k, _ := h.base.Workload(h.work.ID)
	edit(&k)
	return allot.Change{Workloads: []allot.Workload{k}}
}

// eachSet calls edit for all pod sets of all forms.
func eachSet(k *allot.Workload, edit func(s *allot.PodSet)) {
	for i := range k.PodSets {
		edit(&k.PodSets[i])
	}
	for a := range k.Alternatives {
		for i := range k.Alternatives[a].PodSets {
			edit(&k.Alternatives[a].PodSets[i])
		}
	}
}

// wholeGPU is one GPU in the unit of [allot.GPU].
const wholeGPU = 1000

// devicesOf is how many devices a task of the pod set asks for: one where it asks
// for a part of one.
func devicesOf(s *allot.PodSet) int64 {
	g := &s.Request.GPU
	if g.Count == 0 && (g.Milli != 0 || g.Memory != 0) {
		return 1
	}
	return int64(g.Count)
}

// firstOf is how many of n that are alike are looked at.
func (h *helper) firstOf(n int) int {
	if n > mostAlike {
		h.help.Cut = true
		return mostAlike
	}
	return n
}
