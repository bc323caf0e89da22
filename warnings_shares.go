package allot

import (
	"cmp"
	"strconv"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/division"
)

// shareWarnings are about what is handed down to siblings of which none that wants it may
// have it (F4): a quota above them that none of them may ever have, else what is left over
// of their division.
func (w *world) shareWarnings() (out []Fault) {
	for _, p := range w.pools {
		groups := make([][]int, len(p.queues)+1) // by parent + 1
		for q, parent := range p.Parent {
			groups[parent+1] = append(groups[parent+1], q)
		}
		for r := range p.Plain {
			for parent := range groups {
				if group := groups[parent]; p.Divided[r] && len(group) > 0 {
					out = p.shareWarning(out, w.state, parent-1, group, r)
				}
			}
		}
	}
	return out
}

func (p *pool) shareWarning(out []Fault, s *State, parent int, group []int, r int) []Fault {
	if parent >= 0 && p.forNobody(parent, group, r) {
		given := p.said(s, parent, r)
		if !given.Quota.Given() || given.Quota.Amount() == 0 {
			return out
		}
		return append(out, Fault{
			Path: queueResourcePath(p.queueID(s, parent), &given, "quota"), Code: WarnQuotaForNobody, Value: given.Quota.String(),
			Want: "should be handed down: no queue below it has a quota or a weight",
		})
	}
	asker, many := none, 0
	for _, q := range group {
		at := q*p.Width + r
		if share := p.Shares[at]; share.FairShare < share.Requestable && p.Weights[at] == 0 && p.queues[q] >= 0 {
			if many++; asker < 0 {
				asker = q
			}
		}
	}
	if asker < 0 {
		return out
	}
	left := p.leftOver(parent, group, r)
	if left <= 0 {
		return out
	}
	given, field := p.said(s, asker, r), "quota"
	given.Resource = p.resources[r].name
	bound := given.Quota
	if given.Weight.Given() && p.weighs(asker) {
		field, bound = "weight", given.Weight
	}
	text := "should be above 0: " + strconv.FormatInt(left, 10) + " are left over that no queue which wants more may have a part of"
	if many > 1 {
		text += ", as " + strconv.Itoa(many) + " queues have no weight"
	}
	return append(out, Fault{Path: queueResourcePath(p.queueID(s, asker), &given, field), Code: WarnSurplusForNobody, Value: cmp.Or(bound.String(), "absent"), Want: text})
}

// forNobody says whether the parent has a quota of which no child is guaranteed anything
// or may ever have anything ([WarnQuotaForNobody]).
func (p *pool) forNobody(parent int, group []int, r int) bool {
	if p.Policy.EqualSharesAtZeroWeight || p.Policy.Shares != fairshare.QuotaThenWeight || p.Tree.Quota(parent, r) == 0 {
		return false
	}
	for _, q := range group {
		if p.Tree.Quota(q, r) > 0 || p.Weights[q*p.Width+r] > 0 {
			return false
		}
	}
	return true
}

// leftOver is what the siblings divide and none of them has.
func (p *pool) leftOver(parent int, group []int, r int) int64 {
	if parent < 0 {
		derived, err := fairshare.Derive(division.ConfigOf(p.Pool, r), group[0])
		if err != nil {
			return 0 // it has been divided without
		}
		tiers := derived[0].Tiers
		return tiers[len(tiers)-1].Left
	}
	left := min(p.Shares[parent*p.Width+r].FairShare, max(0, p.Capacity[r]))
	for _, q := range group {
		left -= p.Shares[q*p.Width+r].FairShare
	}
	return left
}

// weighs says whether a weight that the queue gives counts (F4): not where one of its
// siblings, or it, has queues below it and the policy weighs those by quota.
func (p *pool) weighs(q int) bool {
	if !p.given.InnerWeightByQuota {
		return true
	}
	for sibling, parent := range p.Parent {
		if parent == p.Parent[q] && !p.IsLeaf[sibling] {
			return false
		}
	}
	return true
}
