package cluster

import (
	"slices"

	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/quota"
)

// Classed says whether some queue bounds a class (Q8).
func (p *Pool) Classed() bool {
	return len(p.Classes) > 0
}

// AddClasses adds to amounts what the unit asks in every class that it could land in (Q8).
func (d *Definition) AddClasses(amounts quota.Amounts, unit gang.Unit) (quota.Amounts, error) {
	for set, n := range unit.Add {
		if n == 0 || len(d.Sets[set].Classes) == 0 {
			continue
		}
		var err error
		if amounts, err = slices.Clone(amounts).AddScaled(d.Sets[set].Classes, int64(n)); err != nil {
			return nil, err
		}
	}
	return amounts, nil
}

// GuaranteedTo is what a unit asks in the classes for which its leaf gives a quota: these
// it may reclaim like resources of their own (Q8).
func (p *Pool) GuaranteedTo(leaf int32, d *Definition, unit gang.Unit) quota.Amounts {
	return p.guaranteedTo(d, unit, func(class int) bool { return p.guarantees(int(leaf), class) })
}

// GuaranteedToSome is what a unit asks in the classes for which some queue gives a quota.
func (p *Pool) GuaranteedToSome(d *Definition, unit gang.Unit) quota.Amounts {
	return p.guaranteedTo(d, unit, func(class int) bool {
		for q := range p.Parent {
			if p.guarantees(q, class) {
				return true
			}
		}
		return false
	})
}

// guarantees says whether a queue gives a quota for a class.
func (p *Pool) guarantees(queue, class int) bool { return p.Guarantees[queue*len(p.Classes)+class] }

// guaranteedTo is what a unit asks in those classes of which guaranteed says so.
func (p *Pool) guaranteedTo(d *Definition, unit gang.Unit, guaranteed func(class int) bool) (out quota.Amounts) {
	if !p.Classed() || p.Policy.Shares != fairshare.QuotaThenWeight {
		return nil
	}
	asks, _ := d.AddClasses(nil, unit) // Check bounds every sum
	for _, a := range asks {
		if guaranteed(int(a.Resource) - p.Plain) {
			out = append(out, a)
		}
	}
	return out
}
