package fairshare_test

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/fairshare"
)

// wrong are divisions that somebody might write, each with the laws that it
// breaks, by the beginnings of their names. They show that every law can fail.
var wrong = []struct {
	name   string
	divide division
	breaks []string
}{
	{"floor and largest remainder", largestRemainder, []string{"F7: more capacity", "F7: a leaving", "F5:"}},
	{"quotas cut to the capacity", cutQuotas, []string{"F7: share ≥", "F7: Σ"}},
	{"whole granules only, rounded down", roundedDown, []string{"F7: Σ"}},
	{"whole granules only, rounded up", roundedUp, []string{"F7: share ≤", "F7: Σ"}},
	{"the light first", lightFirst, []string{"F7: raising", "F7: no envy"}},
	{"weights not read", unweighted, []string{"F7: no envy", "F5:"}},
	{"by demand", byDemand, []string{"F7: reporting", "F7: no envy"}},
	{"ties by position", tiesByPosition, []string{"F7: order", "F5:"}},
	{"the surplus to the largest claim", toTheLargest, []string{"F7: reporting", "F7: no envy"}},
}

// TestF7LawsHaveTeeth runs the laws on wrong divisions.
func TestF7LawsHaveTeeth(t *testing.T) {
	caught := make(map[string]bool)
	for _, w := range wrong {
		for _, beginning := range w.breaks {
			i := slices.IndexFunc(laws, func(l law) bool { return strings.HasPrefix(l.name, beginning) })
			pick := fastPicker(7)
			found := false
			for try := 0; try < 20_000 && !found; try++ {
				found = laws[i].check(w.divide, pickLawful(pick), pick) != ""
			}
			if !found {
				t.Errorf("%s: %q does not turn it down", w.name, laws[i].name)
			}
			caught[laws[i].name] = true
		}
	}
	for _, l := range laws {
		if !caught[l.name] {
			t.Errorf("no wrong division breaks %q", l.name)
		}
	}
}

// largestRemainder gives everybody the floor of the exact weighted max-min
// share and the rest to the largest remainders, in units of 1 and one tier.
func largestRemainder(g group) []int64 {
	shares := make([]int64, len(g.claims))
	left := new(big.Int).SetInt64(g.capacity)
	var open []int
	for i, c := range g.claims {
		shares[i] = quotaPart(c)
		left.Sub(left, big.NewInt(shares[i]))
		open = append(open, i)
	}
	if left.Sign() <= 0 {
		return shares
	}
	for len(open) > 0 {
		weights := new(big.Int)
		for _, i := range open {
			weights.Add(weights, big.NewInt(g.claims[i].Weight))
		}
		exact := func(i int) *big.Rat {
			return new(big.Rat).SetFrac(new(big.Int).Mul(left, big.NewInt(g.claims[i].Weight)), weights)
		}
		full := slices.IndexFunc(open, func(i int) bool {
			room := big.NewInt(g.claims[i].Requestable - shares[i])
			return exact(i).Cmp(new(big.Rat).SetInt(room)) >= 0
		})
		if full < 0 {
			return shareRemainders(g, shares, open, left, exact)
		}
		i := open[full]
		left.Sub(left, big.NewInt(g.claims[i].Requestable-shares[i]))
		shares[i] = g.claims[i].Requestable
		open = slices.Delete(open, full, full+1)
	}
	return shares
}

// shareRemainders gives the open claims the floor of their exact shares and
// one more to those with the largest remainders.
func shareRemainders(g group, shares []int64, open []int, left *big.Int, exact func(int) *big.Rat) []int64 {
	rest := new(big.Int).Set(left)
	remainder := make([]*big.Rat, len(shares))
	for _, i := range open {
		x := exact(i)
		floor := new(big.Int).Quo(x.Num(), x.Denom())
		remainder[i] = x.Sub(x, new(big.Rat).SetInt(floor))
		shares[i] += floor.Int64()
		rest.Sub(rest, floor)
	}
	slices.SortStableFunc(open, func(i, j int) int {
		return cmp.Or(remainder[j].Cmp(remainder[i]), cmp.Compare(g.claims[i].Created, g.claims[j].Created))
	})
	for _, i := range open[:rest.Int64()] {
		shares[i]++
	}
	return shares
}

func cutQuotas(g group) []int64 {
	shares, left := divide(g), g.capacity
	for i := range shares {
		shares[i] = min(shares[i], left)
		left -= shares[i]
	}
	return shares
}

func roundedDown(g group) []int64 {
	shares := divide(g)
	for i, c := range g.claims {
		shares[i] -= (shares[i] - quotaPart(c)) % g.granule()
	}
	return shares
}

func roundedUp(g group) []int64 {
	shares := divide(g)
	for i, c := range g.claims {
		if part := (shares[i] - quotaPart(c)) % g.granule(); part > 0 {
			shares[i] += g.granule() - part
		}
	}
	return shares
}

// changed divides the group with every claim changed.
func changed(g group, change func(c *fairshare.Claim)) []int64 {
	g.claims = slices.Clone(g.claims)
	for i := range g.claims {
		change(&g.claims[i])
	}
	return divide(g)
}

func lightFirst(g group) []int64 {
	return changed(g, func(c *fairshare.Claim) { c.Weight = 2*largest + 1 - c.Weight })
}

func unweighted(g group) []int64 {
	return changed(g, func(c *fairshare.Claim) { c.Weight = 1 })
}

func byDemand(g group) []int64 {
	return changed(g, func(c *fairshare.Claim) { c.Weight = c.Requestable })
}

func tiesByPosition(g group) []int64 {
	return changed(g, func(c *fairshare.Claim) { c.Created = 0 })
}

func toTheLargest(g group) []int64 {
	return changed(g, func(c *fairshare.Claim) { c.Tier = int32(min(c.Requestable, 1<<30)) })
}
