package explain

import (
	"cmp"
	"context"
	"slices"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/view"
	"github.com/allotsched/allot/quota"
)

// A QueueExplanation says how a queue stands after the plan, and how its fair
// shares came about. Text is [QueueExplanation.String].
type QueueExplanation struct {
	Queue string `json:"queue"`
	Pool  string `json:"pool,omitzero"`
	// Path are the queues from the uppermost down to this one.
	Path []string `json:"path,omitempty"`
	// Shares are its figures, by resource and class (Q6).
	Shares []allot.Share `json:"shares,omitempty"`
	// Divisions are, by divided resource, the divisions of the sibling groups on
	// its path, from the pool's down to its own: each divides what the one
	// before gave to the queue's ancestor.
	Divisions []Division `json:"divisions,omitempty"`
	// Loans are, by resource, which of its siblings use more than their quota and which
	// less, where there are both.
	Loans []Loan `json:"loans,omitempty"`
}

// A Division is how one sibling group divided one resource (F1–F8), with all
// that is needed to do it again by hand.
type Division struct {
	Resource string `json:"resource"`
	// Parent is the queue above the group; empty is the pool.
	Parent string `json:"parent,omitzero"`
	// Method is the policy's. Granule is the unit in which the surplus is given, in
	// the resource's: the policy's, or what follows from what the members ask (F5).
	Method  fairshare.Method `json:"method"`
	Granule int64            `json:"granule"`
	// Capacity is what is divided: of the pool its usable capacity, of a queue
	// its fair share. SetAside of it is kept from lending and not requested
	// (Q5), QuotaParts is Σ min(quota, requestable) (F2), and Surplus what is
	// left of it for the tiers (F3); 0 if they sum to more.
	Capacity   int64 `json:"capacity"`
	SetAside   int64 `json:"setAside,omitzero"`
	QuotaParts int64 `json:"quotaParts,omitzero"`
	Surplus    int64 `json:"surplus,omitzero"`
	// Tiers are what each tier found and left to the next, the highest first.
	Tiers []fairshare.TierResult `json:"tiers,omitempty"`
	// Members are the siblings, by ID.
	Members []DivisionMember `json:"members,omitempty"`
}

// A DivisionMember is one queue of a sibling group.
type DivisionMember struct {
	Queue string `json:"queue"`
	// Quota is that of Q1; Kept of it is kept from lending and not requested, and
	// no part of the quota here (Q5). Demand is what runs and waits, Requestable what of
	// it limits and quotas let it use (F1).
	Quota       quota.Bound `json:"quota"`
	Kept        int64       `json:"kept,omitzero"`
	Demand      int64       `json:"demand,omitzero"`
	Requestable int64       `json:"requestable,omitzero"`
	// Counted is, where shares are in proportion to demand (F8), what counts of it: what is
	// asked within limits, on nodes in reach or not.
	Counted int64 `json:"counted,omitzero"`
	// Weight is what the surplus is divided by: where a granule goes to the lowest
	// (2·n + 1)/weight of n granules so far (F5). Under [fairshare.ByDemand] it
	// is to be multiplied by Counted (F8). Tier is its over-quota priority.
	Weight int64 `json:"weight,omitzero"`
	Tier   int32 `json:"tier,omitzero"`
	// WeightMilli is the weight over those of all siblings of its tier, AdjustedMilli what
	// usage makes of it, in thousandths (F6); 0 where it makes nothing of it.
	WeightMilli   int64 `json:"weightMilli,omitzero"`
	AdjustedMilli int64 `json:"adjustedMilli,omitzero"`
	// QuotaPart and SurplusPart are the two parts of FairShare; Granules are
	// those of SurplusPart, of which the last may be a part of one.
	QuotaPart   int64 `json:"quotaPart,omitzero"`
	SurplusPart int64 `json:"surplusPart,omitzero"`
	Granules    int64 `json:"granules,omitzero"`
	FairShare   int64 `json:"fairShare,omitzero"`
	// End is why it is not more.
	End fairshare.End `json:"end"`
}

// A Loan is what the members of a sibling group borrow and lend of a resource
// (Q5, Q6). Amounts have no name on them: which borrower uses the quota of which
// lender is not a matter of fact.
type Loan struct {
	Resource string `json:"resource"`
	// Borrowers use more than their quota, Lenders less, and others use it; the
	// most first.
	Borrowers []QueueAmount `json:"borrowers,omitempty"`
	Lenders   []QueueAmount `json:"lenders,omitempty"`
}

// A QueueAmount is an amount of a queue's, in the unit of the resource.
type QueueAmount struct {
	Queue  string `json:"queue"`
	Amount int64  `json:"amount"`
}

// Queue explains one queue: its figures, why its fair shares are what they
// are, which queues borrow and which lend beside it. The implicit queue of a pool
// without queues is the empty ID.
//
// The error is the context's, or wraps [allot.ErrUnknown]. Its cost is that of
// [Workload].
func Queue(ctx context.Context, d *allot.Decision, queue string) (out *QueueExplanation, err error) {
	err = d.View(ctx, view.Victims{}, func(v decision) error {
		at, known := v.Queue(queue)
		if !known {
			return unknown("queue", queue)
		}
		out, err = (&viewed{v.World(), v}).queue(at)
		return err
	})
	return out, err
}

// queue explains one queue.
func (w *viewed) queue(at cluster.Leaf) (*QueueExplanation, error) {
	p := w.Pools[at.Pool]
	out := &QueueExplanation{Queue: w.view.QueueID(at.Pool, at.Queue), Pool: w.view.PoolID(at.Pool)}
	for up := at.Queue; up >= 0; up = p.Parent[up] {
		out.Path = append(out.Path, w.view.QueueID(at.Pool, up))
	}
	slices.Reverse(out.Path)
	told := w.view.Told(at.Pool)
	out.Shares = w.view.Shares(at, told)
	for _, r := range told {
		if int(r) >= p.Plain || !p.Divided[r] {
			continue
		}
		derived, err := fairshare.Derive(division.ConfigOf(p, int(r)), int(at.Queue))
		if err != nil {
			return nil, err
		}
		for i := range derived {
			out.Divisions = append(out.Divisions, w.division(at.Pool, r, &derived[i]))
		}
		if loan, some := w.loan(at, r); some {
			out.Loans = append(out.Loans, loan)
		}
	}
	return out, nil
}

// division is the division of a sibling group in the plan's words.
func (w *viewed) division(pool, r int32, d *fairshare.Derivation) Division {
	p := w.Pools[pool]
	out := Division{
		Resource: w.view.Resource(pool, r), Method: p.Policy.Shares, Granule: d.Granule,
		Capacity: d.Capacity, SetAside: d.SetAside, QuotaParts: d.QuotaParts, Surplus: d.Surplus, Tiers: d.Tiers,
	}
	if d.Parent >= 0 {
		out.Parent = w.view.QueueID(pool, d.Parent)
	}
	for i := range d.Members {
		m := &d.Members[i]
		out.Members = append(out.Members, DivisionMember{
			Queue: w.view.QueueID(pool, m.Queue), Quota: bound(p.Tree.Quota(int(m.Queue), int(r))), Kept: m.Kept,
			Demand: m.Demand, Requestable: m.Requestable, Counted: m.Counted, Weight: m.Weight, Tier: m.Tier,
			WeightMilli: m.WeightMilli, AdjustedMilli: m.AdjustedMilli,
			QuotaPart: m.QuotaPart, SurplusPart: m.SurplusPart, Granules: m.Granules, FairShare: m.FairShare, End: m.End,
		})
	}
	return out
}

// loan is what the siblings of a queue borrow and lend, if it is one of them that
// do.
func (w *viewed) loan(at cluster.Leaf, r int32) (out Loan, some bool) {
	p := w.Pools[at.Pool]
	out.Resource = w.view.Resource(at.Pool, r)
	for sibling := range p.Parent {
		if p.Parent[sibling] != p.Parent[at.Queue] {
			continue
		}
		f := p.Tree.Figures(sibling, int(r))
		id := w.view.QueueID(at.Pool, int32(sibling))
		if f.Borrowed > 0 {
			out.Borrowers = append(out.Borrowers, QueueAmount{id, f.Borrowed})
		}
		if f.Lent > 0 {
			out.Lenders = append(out.Lenders, QueueAmount{id, f.Lent})
		}
		some = some || int32(sibling) == at.Queue && (f.Borrowed > 0 || f.Lent > 0)
	}
	most := func(a, b QueueAmount) int { return cmp.Compare(b.Amount, a.Amount) }
	slices.SortStableFunc(out.Borrowers, most)
	slices.SortStableFunc(out.Lenders, most)
	return out, some
}
