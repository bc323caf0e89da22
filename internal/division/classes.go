package division

import (
	"math"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/preempt"
)

// guarantee draws what the queues may defend of each class (R8): by quota like a
// resource of its own, and by share nothing binds (Q8).
func guarantee(p *cluster.Pool, config *preempt.Config) error {
	config.Classed = make([]bool, p.Width)
	for i, c := range p.Classes {
		r := p.Plain + i
		if !p.Tree.Governed(r) || p.Policy.Shares != fairshare.QuotaThenWeight {
			continue
		}
		config.Classed[r] = true
		lines, err := fairshare.DivideTree(nil, classDivision(p, int(c.Plain), r))
		if err != nil {
			return err
		}
		for q := range lines {
			at := q*p.Width + r
			config.Quotas[at], config.Uncut[at], config.Shares[at] = p.Tree.Quota(q, r), p.Tree.Quota(q, r), math.MaxInt64
			config.Entitlements.Guaranteed[at], config.Entitlements.Fair[at] = lines[q].Guaranteed, math.MaxInt64
		}
	}
	return nil
}

// classDivision is the division of the quotas of class resource r, of a plain one: there is
// no surplus of it, and at the top the quotas stand.
func classDivision(p *cluster.Pool, plain, r int) fairshare.TreeConfig {
	config := ConfigOf(p, plain)
	config.Capacity, config.ScaleGuarantees = math.MaxInt64, false
	for q := range config.Queues {
		of := &config.Queues[q]
		of.Quota, of.Limit, of.Weight, of.Keep, of.OutOfReach = p.Tree.Quota(q, r), p.Tree.Ceiling(q, r), 0, 0, 0
		if p.IsLeaf[q] {
			unit := of.Demand.Unit
			of.Demand = p.Demand.Asked[q*p.Width+r]
			of.Demand.RunningNonPreemptible, of.Demand.Unit = p.Tree.NonPreemptible(q, r), unit
		}
	}
	return config
}
