package placement

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// pricesOf is what one part of each size is worth, in twelfths where those are whole.
func pricesOf(w *worth, sizes []int64) (out []string) {
	for _, s := range sizes {
		out = append(out, new(big.Rat).SetFrac64(w.value[s], w.unit).RatString())
	}
	return out
}

// The prices of small mixes, by hand.
func TestPricesGolden(t *testing.T) {
	for _, row := range []struct {
		why           string
		sizes, counts []int64
		want          string
	}{
		{"nothing is asked", nil, nil, "[]"},
		{"whole devices alone", []int64{1000}, []int64{7}, "[1]"},
		{"three to a device", []int64{300}, []int64{7}, "[1/3]"},
		{"few small ones find room beside the large", []int64{400, 600}, []int64{5, 9}, "[0 1]"},
		{"few large ones do beside many small", []int64{400, 600}, []int64{9, 2}, "[1/2 1/2]"},
		{"a half more than the large have room for", []int64{300, 600}, []int64{9, 4}, "[1/3 2/3]"},
		{"tiny ones go anywhere", []int64{1, 500, 510}, []int64{50, 9, 9}, "[0 1/2 1]"},
	} {
		if got := fmt.Sprint(pricesOf(priceSizes(row.sizes, row.counts, maxPivots), row.sizes)); got != row.want {
			t.Errorf("P4 %s: %s, want %s", row.why, got, row.want)
		}
	}
}

// Of more sizes than have prices, those count that ask the most.
func TestPricesOfTheMostAsked(t *testing.T) {
	var sizes, counts []int64
	for i := range int64(maxSizes) {
		sizes, counts = append(sizes, 960+i), append(counts, 1)
	}
	worth, unit, ok := DeviceWorth(append([]int64{500}, sizes...), append([]int64{400}, counts...))
	if !ok || 2*worth[500] != unit || worth[961] != unit || worth[960] >= unit || worth[499] != 0 {
		t.Errorf("P4: 0.5 is worth %d, 0.96 %d of %d", worth[500], worth[960], unit)
	}
	worth, unit, ok = DeviceWorth(append([]int64{500}, sizes...), append([]int64{1}, counts...))
	if !ok || worth[959] != 0 || worth[960] != unit {
		t.Errorf("P4: what is asked the least is worth %d of %d", worth[959], unit)
	}
	for _, bad := range [][2][]int64{{{1}, nil}, {{0}, {1}}, {{1001}, {1}}, {{5, 5}, {1, 1}}, {{6, 5}, {1, 1}}, {{5}, {0}}, {{5}, {maxWeight*MaxDevices + 1}}} {
		if _, _, ok := DeviceWorth(bad[0], bad[1]); ok {
			t.Errorf("there is an answer to %v", bad)
		}
	}
}

// maximal are the patterns to which no further part can be added.
func maximal(sizes []int64) (patterns [][]int64) {
	var extend func(i int, room int64, pattern []int64)
	extend = func(i int, room int64, pattern []int64) {
		if i == len(sizes) {
			if slices.Min(sizes) > room {
				patterns = append(patterns, slices.Clone(pattern))
			}
			return
		}
		for n := int64(0); n*sizes[i] <= room; n++ {
			extend(i+1, room-n*sizes[i], append(pattern, n))
		}
	}
	extend(0, 1000, nil)
	return patterns
}

// solve solves square equations by elimination; nil where there is not one solution.
func solve(rows [][]int64, right []int64) []*big.Rat {
	n := len(rows)
	m := make([][]*big.Rat, n)
	for i := range rows {
		for _, a := range append(slices.Clone(rows[i]), right[i]) {
			m[i] = append(m[i], big.NewRat(a, 1))
		}
	}
	for k := range n {
		at := slices.IndexFunc(m[k:], func(row []*big.Rat) bool { return row[k].Sign() != 0 })
		if at < 0 {
			return nil
		}
		m[k], m[k+at] = m[k+at], m[k]
		for i := range n {
			if i == k || m[i][k].Sign() == 0 {
				continue
			}
			f := new(big.Rat).Quo(m[i][k], m[k][k])
			for j := k; j <= n; j++ {
				m[i][j].Sub(m[i][j], new(big.Rat).Mul(f, m[k][j]))
			}
		}
	}
	out := make([]*big.Rat, n)
	for i := range out {
		out[i] = new(big.Rat).Quo(m[i][n], m[i][i])
	}
	return out
}

// dearest is the most that lawful prices can make of the counts: every vertex of the
// lawful prices is tried.
func dearest(sizes, counts []int64) *big.Rat {
	patterns := maximal(sizes)
	n := len(sizes)
	rows, right := slices.Clone(patterns), make([]int64, len(patterns), len(patterns)+n)
	for i := range right {
		right[i] = 1
	}
	for i := range sizes {
		unit := make([]int64, n)
		unit[i] = 1
		rows, right = append(rows, unit), append(right, 0)
	}
	best := new(big.Rat)
	var choose func(from int, chosen []int)
	choose = func(from int, chosen []int) {
		if len(chosen) < n {
			for i := from; i < len(rows); i++ {
				choose(i+1, append(chosen, i))
			}
			return
		}
		var a [][]int64
		var b []int64
		for _, i := range chosen {
			a, b = append(a, rows[i]), append(b, right[i])
		}
		prices := solve(a, b)
		if prices == nil || slices.ContainsFunc(prices, func(p *big.Rat) bool { return p.Sign() < 0 }) {
			return
		}
		for _, pattern := range patterns {
			if cost(pattern, prices).Cmp(big.NewRat(1, 1)) > 0 {
				return
			}
		}
		if sum := cost(counts, prices); sum.Cmp(best) > 0 {
			best = sum
		}
	}
	choose(0, nil)
	return best
}

// The prices are lawful, and none that are make more of the mix.
func TestPricesAreTheDearestLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "sizes")
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(240, 1000), n, n, rapid.ID[int64]).Draw(t, "sizes")
		slices.Sort(sizes)
		counts := rapid.SliceOfN(rapid.Int64Range(1, 60), n, n).Draw(t, "counts")
		w := priceSizes(sizes, counts, maxPivots)
		var prices []*big.Rat
		for _, s := range sizes {
			prices = append(prices, big.NewRat(w.value[s], w.unit))
		}
		for _, pattern := range maximal(sizes) {
			if sum := cost(pattern, prices); sum.Cmp(big.NewRat(1, 1)) > 0 {
				t.Fatalf("P4 %v of %v: %v cost %v", counts, sizes, pattern, sum)
			}
		}
		if got, want := cost(counts, prices), dearest(sizes, counts); got.Cmp(want) != 0 {
			t.Fatalf("P4 %v of %v: %v make %v, the dearest %v", counts, sizes, prices, got, want)
		}
	})
}

// Whatever is asked and wherever the search ends, prices are lawful: nothing is worth
// more in two pieces than whole, and nothing more than a device.
func TestPricesOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1000), 1, 300, rapid.ID[int64]).Draw(t, "sizes")
		slices.Sort(sizes)
		most := rapid.SampledFrom([]int64{1, 100, maxWeight * MaxDevices}).Draw(t, "most")
		counts := rapid.SliceOfN(rapid.Int64Range(1, most), len(sizes), len(sizes)).Draw(t, "counts")
		w := priceSizes(sizes, counts, rapid.SampledFrom([]int{0, 1, 2, 5, maxPivots}).Draw(t, "pivots"))
		if w.unit < 1 || w.value[0] != 0 || w.value[1000] > w.unit {
			t.Fatalf("a device is worth %d of %d", w.value[1000], w.unit)
		}
		for a := rapid.IntRange(0, 10).Draw(t, "from"); a < 1000; a += 11 {
			for b := range w.value[:1001-a] {
				if w.value[a]+w.value[b] > w.value[a+b] {
					t.Fatalf("%d are worth %d, %d and %d apart %d and %d", a+b, w.value[a+b], a, b, w.value[a], w.value[b])
				}
			}
		}
	})
}

// Of many small sizes there is no unit in which their prices are whole: parts cost
// their size then.
func TestPricesOfManySmallSizes(t *testing.T) {
	var sizes, counts []int64
	for i := range int64(maxSizes) {
		sizes, counts = append(sizes, 1+i), append(counts, 1+i)
	}
	worth, unit, ok := DeviceWorth(sizes, counts)
	for free, got := range worth {
		if !ok || got*1000 != int64(free)*unit {
			t.Fatalf("P4: %d are worth %d of %d", free, got, unit)
		}
	}
}

// Of more sizes the mix costs no less than by prices that are known to be lawful:
// ⌊k·size⌋/k for any k. Nor does it take long to find out.
func TestPricesOfMoreSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]int64{1, 10, 20}).Draw(t, "step")
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(100/step, 1000/step), 4, 16, rapid.ID[int64]).Draw(t, "sizes")
		slices.Sort(sizes)
		for i := range sizes {
			sizes[i] *= step
		}
		counts := rapid.SliceOfN(rapid.Int64Range(1, 1<<40), len(sizes), len(sizes)).Draw(t, "counts")
		w := priceSizes(sizes, counts, maxPivots)
		var prices []*big.Rat
		for _, s := range sizes {
			prices = append(prices, big.NewRat(w.value[s], w.unit))
		}
		for k := int64(1); k <= 12; k++ {
			var known []*big.Rat
			for _, s := range sizes {
				known = append(known, big.NewRat(k*s/1000, k))
			}
			if got, want := cost(counts, prices), cost(counts, known); got.Cmp(want) < 0 {
				t.Fatalf("P4 %v of %v: %v make %v, by %v/%d %v", counts, sizes, prices, got, known, k, want)
			}
		}
	})
}

// cost is the sum of the products.
func cost(counts []int64, prices []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for i, n := range counts {
		sum.Add(sum, new(big.Rat).Mul(big.NewRat(n, 1), prices[i]))
	}
	return sum
}

// BenchmarkPrices is what a SetScoring costs the first Find of ShadowPrice.
func BenchmarkPrices(b *testing.B) {
	for _, n := range []int{1, 12, 32, 300} {
		b.Run(fmt.Sprint("sizes=", n), func(b *testing.B) {
			random := uint64(1)
			draw := func(below int) int64 {
				random = random*6364136223846793005 + 1442695040888963407
				return int64(random>>33) % int64(below)
			}
			taken := make(map[int64]bool)
			var sizes, counts []int64
			for len(sizes) < n {
				if s := 1 + draw(1000); !taken[s] {
					taken[s] = true
					sizes, counts = append(sizes, s), append(counts, 1+draw(5000))
				}
			}
			slices.Sort(sizes)
			for b.Loop() {
				priceSizes(sizes, counts, maxPivots)
			}
		})
	}
}
