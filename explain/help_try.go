package explain

import (
	"context"
	"errors"
	"slices"

	"github.com/allotsched/allot"
)

// errSpent ends the search for one kind.
var errSpent = errors.New("explain: no decisions are left")

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
	// stoodBehind: other work stands where the workload has been promised places (B6).
	stoodBehind bool
	// looking is the look at hand, again the decisions that it has still to ask for again.
	looking *look
	again   []*allot.Decision
	fitter  *Fitter
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
	for k := range h.base.Workloads() {
		h.workloads++
		h.stoodBehind = h.stoodBehind || slices.ContainsFunc(k.Tasks, func(t allot.Task) bool { return t.Behind == h.work.ID })
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
	d, err := h.solve(next)
	if err != nil || !h.starts(d) {
		return nil, err
	}
	return d, nil
}

// solve makes a decision, as long as there is one left. What the look at hand has decided
// before it is not decided again.
func (h *helper) solve(s *allot.Snapshot) (*allot.Decision, error) {
	if len(h.again) > 0 {
		d := h.again[0]
		h.again = h.again[1:]
		return d, nil
	}
	if h.unspent() <= 0 || h.left <= 0 {
		return nil, errSpent
	}
	h.help.Solves++
	h.left--
	d, err := s.DecideContext(h.ctx)
	if h.looking != nil && err == nil {
		h.looking.made = append(h.looking.made, d)
	}
	return d, err
}

// hopeless says so of a change of the workload alone. Where the plan ends a stale gang
// (G1) a Fitter cannot tell: to it, that stays. Neither does it know what goes for the
// workload because it stands behind it (B6).
func (h *helper) hopeless(c *allot.Change) bool {
	if h.before.stale || h.stoodBehind {
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
