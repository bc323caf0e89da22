package main

import (
	"math/big"

	"github.com/allotsched/allot/placement"
)

// bound is what any placement of the pods can allocate at most when the load that
// has arrived rounds to the percentage, in hundredths of a percent of all GPUs,
// rounded up. It knows of GPUs alone: every CPU, model and node is left out of
// account, and the whole list is known beforehand.
//
// The proof is the duality of linear programming. Let a part of a GPU be worth a
// price such that no parts that fit one GPU are worth more than its whole, and let a
// whole be worth λ milli. Then the pods that are placed are worth λ for each GPU at
// most; and each milli of them is paid for by its worth, but for what a part asks
// beyond its worth. So no more is placed than λ for each GPU and, for each part that
// is asked, what it asks beyond its worth. That holds for any prices and λ; the best
// λ is one at which some part is worth what it asks.
func bound(c *cluster, pods []pod, percent int) int64 {
	counts := make([]int64, 1001)
	arrived := int64(0)
	for i := range pods {
		arrived += pods[i].milli()
		if halfToEven(arrived*100, c.milli) > int64(percent) {
			arrived -= pods[i].milli()
			break
		}
		counts[pods[i].gpuMilli] += int64(pods[i].gpus)
	}
	var sizes, asked []int64
	for size, n := range counts {
		if size > 0 && n > 0 {
			sizes, asked = append(sizes, int64(size)), append(asked, n)
		}
	}
	least := big.NewRat(min(arrived, c.milli), 1)
	worth, unit, ok := placement.DeviceWorth(sizes, asked)
	for _, size := range sizes {
		if !ok || worth[size] == 0 {
			continue
		}
		whole := new(big.Rat).Mul(big.NewRat(size, worth[size]), big.NewRat(unit, 1)) // λ
		sum := new(big.Rat).Mul(whole, big.NewRat(c.milli/1000, 1))
		for i, s := range sizes {
			beyond := new(big.Rat).Sub(big.NewRat(s, 1), new(big.Rat).Mul(whole, big.NewRat(worth[s], unit)))
			if beyond.Sign() > 0 {
				sum.Add(sum, beyond.Mul(beyond, big.NewRat(asked[i], 1)))
			}
		}
		if sum.Cmp(least) < 0 {
			least = sum
		}
	}
	least.Mul(least, big.NewRat(10_000, c.milli))
	up := new(big.Int).Add(least.Num(), new(big.Int).Sub(least.Denom(), big.NewInt(1)))
	return up.Div(up, least.Denom()).Int64()
}
