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
	// workload waits for. What one kind leaves over goes to the others.
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
func WhatHelps(ctx context.Context, d *allot.Decision, workload string, bounds HelpSearch) (*Help, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := &helper{ctx: ctx, base: d.Snapshot(), most: cmp.Or(bounds.Solves, helpSolves), fitter: NewFitter(d.Snapshot())}
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
	err = search{h}.run()
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
	// made are the decisions that it has asked for, if it has not come to its end: when it
	// begins again it asks for the same first.
	made []*allot.Decision
	// What it has found, and what it has tried in vain.
	remedies []Remedy
	failed   [][]candidate
}

// A search divides the decisions of a helper among the kinds of changes.
type search struct{ *helper }

// looks are all of them, in the order of the kinds.
func (h search) looks() []*look {
	var looks []*look
	for _, l := range [...]look{
		{kinds: []RemedyKind{WaitUntil, WaitForLeaving}, find: h.waiting},
		{kinds: []RemedyKind{Tolerate, DropSelector, AcceptModel, DropMinMemory}, find: h.constraints},
		{kinds: []RemedyKind{WiderDomain}, find: h.nearness},
		{kinds: []RemedyKind{SubmitTasks, LessMinimum, LessGroupMinimum}, find: h.smaller},
		{kinds: []RemedyKind{ShorterDuration}, find: h.shorter},
		{kinds: []RemedyKind{OtherPriority, OtherClass, BePreemptible}, find: h.standing},
		{kinds: []RemedyKind{OtherQueue, OtherPool}, find: h.elsewhere},
		{kinds: []RemedyKind{Uncordon}, find: h.uncordoned},
		{kinds: []RemedyKind{MoreWorkloads, MoreLimit, MoreBorrowing, MoreLending}, find: h.bounds},
		{kinds: []RemedyKind{MoreQuota}, find: h.quotas},
		{kinds: []RemedyKind{EndOf}, find: h.ends},
		{kinds: []RemedyKind{MoreGPUs, MoreNodes}, find: h.machines},
	} {
		looks = append(looks, &l)
	}
	return looks
}

// take takes a look, from where it ended before, and says whether it came to its end.
func (h search) take(l *look) (ended bool, err error) {
	h.looking, h.again, h.help.Remedies, h.failed = l, l.made, nil, nil
	err = l.find()
	l.remedies, l.failed = h.help.Remedies, h.failed
	h.looking, h.again = nil, nil
	if errors.Is(err, errSpent) {
		return false, nil
	}
	l.made = nil
	return err == nil, err
}

// run looks for all kinds of changes, and for two together where none helps. Each kind
// has its part of the decisions; those that come to their end leave what is over to those
// that do not, which then go on.
func (h search) run() error {
	looks := h.looks()
	if h.few {
		h.likelyFirst(looks)
	}
	open, err := h.round(looks, h.part)
	for err == nil && len(open) > 0 && h.help.Solves < h.most {
		open, err = h.round(open, func(left int) int { return h.unspent() / left })
	}
	h.help.Remedies, h.failed = nil, nil
	slices.SortStableFunc(looks, func(a, b *look) int { return cmp.Compare(a.kinds[0], b.kinds[0]) })
	for _, l := range looks {
		h.help.Remedies, h.failed = append(h.help.Remedies, l.remedies...), append(h.failed, l.failed...)
	}
	for _, l := range open {
		h.help.Unlooked = append(h.help.Unlooked, l.kinds...)
	}
	slices.Sort(h.help.Unlooked)
	h.help.Cut = h.help.Cut || len(open) > 0
	if err == nil && len(h.help.Remedies) == 0 {
		return h.pairs()
	}
	return err
}

// round takes each look, with so many decisions as part says where some are left to be
// taken, and returns those that did not come to their end: after an error, all that follow.
func (h search) round(looks []*look, part func(left int) int) (open []*look, err error) {
	for i, l := range looks {
		h.left = max(1, part(len(looks)-i))
		ended, err := h.take(l)
		if err != nil {
			return append(open, looks[i:]...), err
		}
		if !ended {
			open = append(open, l)
		}
	}
	return open, nil
}

// unspent is how many decisions may still be made.
func (h *helper) unspent() int { return h.most - h.help.Solves }

// part is how many decisions a look has at first: something is left for those that come
// later.
func (h search) part(left int) int {
	if h.few {
		const usual = 5 // so many kinds there are to be looked at, as a rule
		return h.unspent() / min(usual, left)
	}
	return h.unspent() / 2
}

// likelyFirst puts those looks first that are likely to find something.
func (h search) likelyFirst(looks []*look) {
	likely := EndOf // and new nodes, where nodes are what is short
	if slices.ContainsFunc(h.reasons, func(r allot.Reason) bool { return bindsQueue(r.Code) }) {
		likely = MoreWorkloads // and quotas
	}
	slices.SortStableFunc(looks, func(a, b *look) int {
		rank := func(l *look) int {
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
