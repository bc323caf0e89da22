package fairshare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// End says why a fair share is no larger.
type End uint8

const (
	// Satisfied: it is all that the queue can request (F1).
	Satisfied End = iota
	// NoSurplus: nothing was left for its tier, after the quota parts and the
	// tiers above (F2, F3).
	NoSurplus
	// NoWeight: a weight of 0 gets no surplus (F4).
	NoWeight
	// Outbid: the surplus of its tier ended before its next granule had its turn
	// (F5).
	Outbid
)

// A TierResult is what one tier of a group found and left (F3).
type TierResult struct {
	Tier int32 `json:"tier"`
	// Surplus is what was left for the tier, Left what it left for the next.
	Surplus int64 `json:"surplus"`
	Left    int64 `json:"left,omitzero"`
}

// A Derivation is the division of one sibling group, told so that a reader can
// do it again by hand: the quota parts first, then the surplus tier by tier, a
// granule at a time to the lowest (2·granules so far + 1)/weight.
type Derivation struct {
	// Parent is the queue above the group, −1 the pool.
	Parent int32
	// Granule is the unit in which the surplus is given (F5, [Granules]).
	Granule int64
	// Capacity is what is divided; SetAside of it is kept from lending and not
	// requested, which the pool's division takes off alone (Q5).
	// QuotaParts is their sum, Surplus what is left for the tiers.
	Capacity, SetAside, QuotaParts, Surplus int64
	// Tiers are those of the members, the highest first; under [ByDemand] there
	// is one.
	Tiers []TierResult
	// Members are the siblings, by index.
	Members []Part
}

// A Part is what one member of a group was given.
type Part struct {
	// Queue is its index. Kept is what of its quota is kept from lending, at it or
	// below it, and not requested: that is no part of its quota here (Q5).
	Queue int32
	Kept  int64
	Share
	// Weight is the weight by which its tier was divided: as usage changes it (F6), on a scale
	// of the tier's own; 1 where [Options.EqualAtZeroWeight] says so. Under [ByDemand] the
	// surplus goes by Weight × Counted (F8), where Counted is what is asked within limits, in
	// reach or not, and Tier is 0; under the other methods Counted is 0.
	Weight, Counted int64
	Tier            int32
	// SurplusPart is FairShare less QuotaPart, Granules is the number of granules in it, of
	// which the last may be a part of one.
	SurplusPart, Granules int64
	// End is why the share is no larger.
	End End
}

// Derive divides as [DivideTree] does and tells how the share of a queue came
// about: the divisions of the groups on its path, from the top down to its own.
// The errors are those of DivideTree, or an *[InputError] for a queue that is
// not there.
func Derive(c TreeConfig, queue int) ([]Derivation, error) {
	t, shares, keptIdle, err := asked(nil, &c)
	if err != nil {
		return nil, err
	}
	if uint(queue) >= uint(len(c.Queues)) {
		return nil, &InputError{Index: -1, Field: "queue", Value: int64(queue), Fault: NoSuchParent}
	}
	t.divide(shares, keptIdle, &c)
	granules := t.granules(shares, &c)
	var out []Derivation
	for up := c.Queues[queue].Parent; ; up = c.Queues[up].Parent {
		out = append(out, t.derive(shares, keptIdle, up, c.optionsOf(granules, up), &c))
		if up < 0 {
			slices.Reverse(out)
			return out, nil
		}
	}
}

// derive tells the division of the children of a queue, or of the top level.
func (t *tree) derive(shares []Share, keptIdle []int64, parent int32, o Options, c *TreeConfig) Derivation {
	d := Derivation{Parent: parent, Granule: o.Granule}
	group := t.order[:t.top]
	if parent >= 0 {
		group = t.order[t.first[parent]:][:t.children[parent]]
		d.Capacity = shares[parent].FairShare
	} else {
		d.Capacity = max(c.Capacity, 0)
		for _, i := range group {
			d.SetAside = saturatingAdd(d.SetAside, keptIdle[i])
		}
		d.SetAside = min(d.SetAside, d.Capacity)
	}
	d.Surplus = d.Capacity - d.SetAside
	for _, i := range group {
		d.QuotaParts = saturatingAdd(d.QuotaParts, shares[i].QuotaPart)
		d.Surplus -= min(d.Surplus, shares[i].QuotaPart)
		d.Members = append(d.Members, t.part(shares, keptIdle, i, o.Granule, c))
	}
	if c.usesHistory() {
		for at, weight := range adjustGroup(shares, t.queues, group, c) {
			d.Members[at].Weight = weight
		}
	}
	slices.SortFunc(d.Members, func(a, b Part) int { return cmp.Compare(a.Queue, b.Queue) })
	d.divideTiers(c)
	return d
}

// part is what is known of a member by itself.
func (t *tree) part(shares []Share, keptIdle []int64, i int32, granule int64, c *TreeConfig) Part {
	q, s := &t.queues[i], shares[i]
	out := Part{Queue: i, Kept: keptIdle[i], Share: s, Weight: q.Weight, Tier: q.Tier, SurplusPart: s.FairShare - s.QuotaPart}
	if c.Method == ByDemand {
		out.Tier, out.Counted = 0, t.asked[i]
	}
	if out.Granules = out.SurplusPart / granule; out.SurplusPart%granule > 0 {
		out.Granules++
	}
	return out
}

// divideTiers tells what each tier found, and by it why no share is larger.
func (d *Derivation) divideTiers(c *TreeConfig) {
	byTier := slices.Clone(d.Members)
	slices.SortStableFunc(byTier, func(a, b Part) int { return cmp.Compare(b.Tier, a.Tier) })
	left := d.Surplus
	for len(byTier) > 0 {
		tier := TierResult{Tier: byTier[0].Tier, Surplus: left}
		weightless := true
		for len(byTier) > 0 && byTier[0].Tier == tier.Tier {
			left -= byTier[0].SurplusPart
			// Of a tier only the members that can take surplus count, but the weights of all do (F4).
			weightless = weightless && byTier[0].Weight == 0
			byTier = byTier[1:]
		}
		tier.Left = left
		d.Tiers = append(d.Tiers, tier)
		for i := range d.Members {
			if m := &d.Members[i]; m.Tier == tier.Tier {
				if weightless && c.EqualAtZeroWeight {
					m.Weight = 1
				}
				m.End = m.endIn(&tier)
			}
		}
	}
}

func (p *Part) endIn(tier *TierResult) End {
	switch {
	case p.FairShare >= p.Requestable:
		return Satisfied
	case tier.Surplus == 0:
		return NoSurplus
	case p.Weight == 0:
		return NoWeight
	}
	return Outbid
}

var endNames = [...]string{
	Satisfied: "satisfied",
	NoSurplus: "no-surplus",
	NoWeight:  "no-weight",
	Outbid:    "outbid",
}

// Valid reports whether e is one of the constants.
func (e End) Valid() bool { return int(e) < len(endNames) }

// String returns "satisfied", "no-surplus", "no-weight" or "outbid".
func (e End) String() string {
	if !e.Valid() {
		return fmt.Sprintf("End(%d)", uint8(e))
	}
	return endNames[e]
}

// MarshalText returns the text form of [End.String]; an invalid value is an
// error.
func (e End) MarshalText() ([]byte, error) {
	if !e.Valid() {
		return nil, fmt.Errorf("fairshare: no end %d", uint8(e))
	}
	return []byte(e.String()), nil
}

// UnmarshalText reads exactly what [End.MarshalText] writes; anything else is an
// error and leaves e unchanged.
func (e *End) UnmarshalText(text []byte) error {
	if i := slices.Index(endNames[:], string(text)); i >= 0 {
		*e = End(i)
		return nil
	}
	return fmt.Errorf("fairshare: no end %q: there is %s", text, strings.Join(endNames[:], ", "))
}
