package explain

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"github.com/allotsched/allot"
)

// Changes that help only together (X3): the quotas along the way of a workload, and
// two changes of any kinds where no single one does.

// A candidate is a change of one kind by an amount up to most. Its remedy is made for
// the state that the helper has at that moment.
type candidate struct {
	most   int64
	likely []int64
	remedy func(n int64) (Remedy, bool)
}

// constant is a candidate that has no amount.
func constant(r Remedy) candidate {
	return candidate{most: 1, remedy: func(int64) (Remedy, bool) { return r, true }}
}

// errFound ends the search for the second of two changes.
var errFound = errors.New("allot: found")

// The bounds of the search for two changes together: how many first ones are followed,
// how many decisions are made for each, and how many pairs are told.
const (
	mostFirst   = 6
	firstSolves = 16
	mostPairs   = 4
)

// combined is the remedy by several candidates at once, each by its amount, one after
// the other; those by 0 are left out.
func (h *helper) combined(parts []candidate, by []int64) (whole Remedy, possible bool) {
	base := h.base
	defer func() { h.base = base }()
	var change allot.Change
	var all []Remedy
	for i := range parts {
		if by[i] == 0 {
			continue
		}
		r, possible := parts[i].remedy(by[i])
		if !possible {
			return Remedy{}, false
		}
		next, err := h.base.With(r.Change)
		if err != nil {
			return Remedy{}, false
		}
		h.base, change = next, merged(change, r.Change)
		r.Change = allot.Change{}
		all = append(all, r)
	}
	if len(all) == 0 {
		return Remedy{}, false
	}
	slices.SortStableFunc(all, func(a, b Remedy) int { return cmp.Compare(a.Kind, b.Kind) })
	whole = all[0]
	whole.Together, whole.Change = all[1:], change
	return whole, true
}

// merged is the second change after the first: what both have is as in the second.
func merged(a, b allot.Change) allot.Change {
	out := b
	if out.Now.IsZero() {
		out.Now = a.Now
	}
	out.Nodes = over(a.Nodes, b.Nodes, func(n *allot.Node) string { return n.ID })
	out.Pools = over(a.Pools, b.Pools, func(p *allot.Pool) string { return p.ID })
	out.Queues = over(a.Queues, b.Queues, func(q *allot.Queue) string { return q.ID })
	out.Remove.Workloads = append(slices.Clone(a.Remove.Workloads), b.Remove.Workloads...)
	out.Workloads = slices.DeleteFunc(over(a.Workloads, b.Workloads, func(k *allot.Workload) string { return k.ID }),
		func(k allot.Workload) bool { return slices.Contains(out.Remove.Workloads, k.ID) })
	return out
}

// over are the entries of both lists, those of the second in place of those of the
// first with their IDs.
func over[T any](a, b []T, id func(*T) string) (out []T) {
	for i := range a {
		if !slices.ContainsFunc(b, func(e T) bool { return id(&e) == id(&a[i]) }) {
			out = append(out, a[i])
		}
	}
	return append(out, b...)
}

// leastTogether keeps the candidates together, if they help by their most, each by an
// amount of which one less does not do while the others are what they are. Those that
// may be 0 are left out if they need not be. It says whether they help.
func (h *helper) leastTogether(parts []candidate, optional bool) (bool, error) {
	by := make([]int64, len(parts))
	for i := range parts {
		by[i] = parts[i].most
	}
	var best Remedy
	var found *allot.Decision
	attempt := func(i int, n int64) (bool, error) {
		was := by[i]
		by[i] = n
		if r, possible := h.combined(parts, by); possible {
			d, err := h.decide(r.Change)
			if err == nil && d != nil {
				best, found = r, d
				return true, nil
			}
			if err != nil {
				by[i] = was
				return false, err
			}
		}
		by[i] = was
		return false, nil
	}
	helps, err := attempt(0, by[0])
	if !helps || err != nil {
		return false, err
	}
	if h.second != nil {
		*h.second = parts
		return true, errFound
	}
	for pass := 0; err == nil; pass++ {
		before := slices.Clone(by)
		for i := 0; err == nil && i < len(parts); i++ {
			low, high := int64(0), by[i]
			var likely []int64
			if pass == 0 {
				likely = parts[i].likely
			}
			if pass == 0 && optional {
				likely = append([]int64{0}, likely...)
			}
			if pass > 0 || optional {
				low = -1 // what the others are now may do without it
			}
			err = h.narrow(&low, &high, likely, func(n int64) (bool, error) {
				helps, err := attempt(i, n)
				switch {
				case err != nil:
				case helps:
					high = n
				default:
					low = n
				}
				return helps, err
			})
		}
		if slices.Equal(before, by) {
			break
		}
	}
	h.keep(best, found)
	return true, err
}

// pairs looks for two changes that help together. A first one that leaves the reasons
// what they were is not followed; to others the search takes one second change of each
// sort.
func (h *helper) pairs() error {
	followed := 0
	for _, first := range h.failed {
		if followed >= mostFirst || len(h.help.Remedies) >= mostPairs {
			h.help.Cut = true
			return nil
		}
		h.left = firstSolves
		seconds, follows, err := h.secondsTo(first)
		if follows {
			followed++
		}
		if err != nil && !errors.Is(err, errSpent) {
			return err
		}
		for _, second := range seconds {
			if len(h.help.Remedies) >= mostPairs || h.known(first, second) {
				continue
			}
			h.left = firstSolves
			if _, err := h.leastTogether(slices.Concat(first, second), false); err != nil && !errors.Is(err, errSpent) {
				return err
			}
		}
	}
	return nil
}

// secondsTo looks for what helps beside the first change at its most: of each sort the
// first that it comes to.
func (h *helper) secondsTo(first []candidate) (seconds [][]candidate, follows bool, err error) {
	by := make([]int64, len(first))
	for i := range first {
		by[i] = first[i].most
	}
	r, possible := h.combined(first, by)
	if !possible {
		return nil, false, nil
	}
	outer := *h
	defer func() {
		solves, cut := h.help.Solves, h.help.Cut
		*h = outer
		h.help.Solves, h.help.Cut = solves, cut
	}()
	if h.base, err = h.base.With(r.Change); err != nil {
		return nil, false, nil
	}
	if h.help.Solves >= h.most {
		h.help.Cut = true
		return nil, false, errSpent
	}
	h.help.Solves++
	d, err := h.base.DecideContext(h.ctx)
	if err != nil {
		return nil, false, err
	}
	reasons, err := d.Why(h.ctx, h.help.Workload)
	if err != nil || len(reasons) == 0 || reflect.DeepEqual(reasons, h.reasons) {
		return nil, false, err
	}
	h.reasons, h.fitter, h.shares = reasons, h.base.Fitter(), nil
	for s, err := range d.Shares() {
		if err != nil {
			return nil, true, err
		}
		h.shares = append(h.shares, s)
	}
	h.work, _ = h.base.Workload(h.help.Workload)
	h.failed = nil
	h.look()
	// What has no amount is made for this state: it comes as a first change only, if
	// that has one.
	h.amounts = slices.ContainsFunc(first, func(c candidate) bool { return c.most > 1 })
	var second []candidate
	h.second = &second
	for _, look := range [...]func() error{
		h.constraints, h.nearness, h.smaller, h.standing, h.uncordoned, h.bounds, h.quotas, h.ends, h.machines,
	} {
		switch err := look(); {
		case errors.Is(err, errFound):
			seconds = append(seconds, second)
		case err != nil:
			return seconds, true, err
		}
	}
	return seconds, true, nil
}

// known says whether a pair of the same two changes has been kept.
func (h *helper) known(first, second []candidate) bool {
	sort := func(parts []Remedy) []Remedy {
		parts = slices.Clone(parts)
		for i := range parts { // what they are about, not by how much
			parts[i] = Remedy{
				Kind: parts[i].Kind, Queue: parts[i].Queue, Resource: parts[i].Resource, Class: parts[i].Class,
				PodSet: parts[i].PodSet, Node: parts[i].Node, Name: parts[i].Name, Form: parts[i].Form,
			}
		}
		slices.SortFunc(parts, compareRemedies)
		return parts
	}
	all := slices.Concat(first, second)
	by := make([]int64, len(all))
	for i := range all {
		by[i] = all[i].most
	}
	r, possible := h.combined(all, by)
	if !possible {
		return true
	}
	these := sort(append([]Remedy{r}, r.Together...))
	return slices.ContainsFunc(h.help.Remedies, func(k Remedy) bool {
		return reflect.DeepEqual(sort(append([]Remedy{k}, k.Together...)), these)
	})
}
