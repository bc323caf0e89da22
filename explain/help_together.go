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
var errFound = errors.New("explain: found")

// The bounds of the search for two changes together: how many first ones are followed,
// how many decisions are made for each, and how many pairs are told.
const (
	mostFirst   = 6
	firstSolves = 16
	mostPairs   = 4
)

// A joint is several changes that are made one after the other, each by its amount;
// those by 0 are left out.
type joint struct {
	*helper
	parts []candidate
	by    []int64
	// What helps, as far as is known, and the decision on it.
	best  Remedy
	found *allot.Decision
}

// newJoint has all parts at their most.
func newJoint(h *helper, parts []candidate) *joint {
	j := &joint{helper: h, parts: parts}
	for i := range parts {
		j.by = append(j.by, parts[i].most)
	}
	return j
}

// remedy is that by all parts.
func (j *joint) remedy() (whole Remedy, possible bool) {
	base := j.base
	defer func() { j.base = base }()
	var change allot.Change
	var all []Remedy
	for i := range j.parts {
		if j.by[i] == 0 {
			continue
		}
		r, possible := j.parts[i].remedy(j.by[i])
		if !possible {
			return Remedy{}, false
		}
		next, err := j.base.With(r.Change)
		if err != nil {
			return Remedy{}, false
		}
		j.base, change = next, merged(change, r.Change)
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

// helps says whether the parts help with part i by n, and leaves it so then.
func (j *joint) helps(i int, n int64) (bool, error) {
	was := j.by[i]
	j.by[i] = n
	r, possible := j.remedy()
	if !possible {
		j.by[i] = was
		return false, nil
	}
	d, err := j.decide(r.Change)
	if d == nil || err != nil {
		j.by[i] = was
		return false, err
	}
	j.best, j.found = r, d
	return true, nil
}

// lower makes part i less, until one less does not do.
func (j *joint) lower(i int, likely []int64, none bool) error {
	low, high := int64(0), j.by[i]
	if none { // it may not be needed
		low = -1
	}
	return j.narrow(&low, &high, likely, func(n int64) (bool, error) {
		helps, err := j.helps(i, n)
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

// known says whether the same changes together have been kept.
func (j *joint) known() bool {
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
	r, possible := j.remedy()
	if !possible {
		return true
	}
	these := sort(append([]Remedy{r}, r.Together...))
	return slices.ContainsFunc(j.help.Remedies, func(k Remedy) bool {
		return reflect.DeepEqual(sort(append([]Remedy{k}, k.Together...)), these)
	})
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
// amount of which one less does not do while the others are what they are. Optional
// says that some may not be needed even beside the most of the others. It says whether
// they help.
func (h *helper) leastTogether(parts []candidate, optional bool) (bool, error) {
	j := newJoint(h, parts)
	helps, err := j.helps(0, j.by[0])
	if !helps || err != nil {
		return false, err
	}
	if h.second != nil {
		*h.second = parts
		return true, errFound
	}
	for pass := 0; err == nil; pass++ {
		before := slices.Clone(j.by)
		for i := 0; err == nil && i < len(parts); i++ {
			var likely []int64
			if pass == 0 {
				likely = parts[i].likely
				if optional {
					likely = append([]int64{0}, likely...)
				}
			}
			err = j.lower(i, likely, optional || pass > 0) // what the others are now may do
		}
		if slices.Equal(before, j.by) {
			break
		}
	}
	h.keep(j.best, j.found)
	return true, err
}

// pairs looks for two changes that help together. A first one that leaves the reasons
// what they were is not followed; to others the search takes one second change of each
// sort.
func (h search) pairs() error {
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
		if h.other(err) != nil {
			return err
		}
		for _, second := range seconds {
			both := slices.Concat(first, second)
			if len(h.help.Remedies) >= mostPairs || newJoint(h.helper, both).known() {
				continue
			}
			h.left = firstSolves
			if _, err := h.leastTogether(both, false); h.other(err) != nil {
				return err
			}
		}
	}
	return nil
}

// other is the error, unless it is that no decision was left, which is kept in mind.
func (h search) other(err error) error {
	if errors.Is(err, errSpent) {
		h.help.Cut = true
		return nil
	}
	return err
}

// secondsTo looks for what helps beside the first change at its most: of each sort the
// first that it comes to.
func (h *helper) secondsTo(first []candidate) (seconds [][]candidate, follows bool, err error) {
	r, possible := newJoint(h, first).remedy()
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
	d, err := h.solve(h.base)
	if err != nil {
		return nil, false, err
	}
	reasons, err := d.Why(h.ctx, h.help.Workload)
	if err != nil || len(reasons) == 0 || reflect.DeepEqual(reasons, h.reasons) {
		return nil, false, err
	}
	h.reasons, h.fitter, h.shares = reasons, NewFitter(h.base), nil
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
