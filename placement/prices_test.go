package placement

import (
	"fmt"
	"testing"
)

func TestTmpPrices(t *testing.T) {
	random := uint64(42)
	draw := func(below int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % below
	}
	_ = draw
	sizes := []int64{160, 220, 230, 320, 370, 460, 470, 550, 590, 650, 810, 1000}
	counts := []int64{10, 220, 130, 320, 370, 460, 170, 550, 590, 650, 2810, 5000}
	w := priceSizes(sizes, counts)
	for _, s := range sizes {
		fmt.Print(s, ":", w.value[s], " ")
	}
	fmt.Println(w.unit)
}

func BenchmarkPrices(b *testing.B) {
	random := uint64(42)
	draw := func(below int) int {
		random = random*6364136223846793005 + 1442695040888963407
		return int(random>>33) % below
	}
	for _, n := range []int{1, 4, 8, 12, 16, 24, 32, 100} {
		for trial := range 3 {
			var in [1001]bool
			var sizes, counts []int64
			for k := 0; k < n; {
				s := 1 + draw(1000)
				if !in[s] {
					in[s] = true
					k++
				}
			}
			for s := range in {
				if in[s] {
					sizes = append(sizes, int64(s))
					counts = append(counts, int64(1+draw(1<<30)))
				}
			}
			b.Run(fmt.Sprint(n, "/", trial), func(b *testing.B) {
				b.ReportAllocs()
				var w *worth
				for range b.N {
					w = priceSizes(sizes, counts)
				}
				b.ReportMetric(float64(w.unit), "unit")
			})
		}
	}
}
