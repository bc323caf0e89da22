package verify

import "math/big"

// weighByUsage puts in the place of the weights of a tier what usage makes of them (F6):
// max(0, w + k·(w − u)), for w over the sum of the weights. Where none of those that want
// more has any, the weights hold as they are given.
func weighByUsage(tier []verifiedClaim, key verifiedKey, strengthMilli int64) {
	sum := new(big.Int)
	for i := range tier {
		sum.Add(sum, big.NewInt(tier[i].own))
	}
	if strengthMilli == 0 || sum.Sign() == 0 {
		return
	}
	adjusted, common := make([]*big.Rat, len(tier)), big.NewInt(1)
	some, k := false, big.NewRat(strengthMilli, 1000)
	for i := range tier {
		w, u := new(big.Rat).SetFrac(big.NewInt(tier[i].own), sum), new(big.Rat)
		if said := tier[i].queue.given[key].Usage; said.Capacity > 0 {
			u.SetFrac64(said.Used, said.Capacity)
		}
		u.Sub(w, u).Mul(u, k).Add(u, w)
		if u.Sign() < 0 {
			u.SetInt64(0)
		}
		adjusted[i] = u
		some = some || u.Sign() > 0 && tier[i].requestable > tier[i].part
		common.Mul(common, new(big.Int).Div(u.Denom(), new(big.Int).GCD(nil, nil, common, u.Denom())))
	}
	if !some {
		return
	}
	divisor, whole := new(big.Int), make([]*big.Int, len(tier))
	for i, u := range adjusted {
		whole[i] = new(big.Int).Mul(u.Num(), new(big.Int).Div(common, u.Denom()))
		divisor.GCD(nil, nil, divisor, whole[i])
	}
	longest := 0
	for _, n := range whole {
		longest = max(longest, n.Div(n, divisor).BitLen())
	}
	const most = 62 // bits that such a weight has at most, rounded down
	for i, n := range whole {
		tier[i].own = n.Rsh(n, uint(max(0, longest-most))).Int64()
		if adjusted[i].Sign() > 0 {
			tier[i].own = max(1, tier[i].own)
		}
	}
}
