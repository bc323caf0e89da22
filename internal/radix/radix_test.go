package radix_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/radix"
)

// TestSort: it comes to what a sort by comparison comes to, of few and of many numbers, near each other and far
// apart.
func TestSort(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 511, 512, 513, 5000} {
		for _, bits := range []int{0, 1, 11, 12, 38, 64} {
			for _, low := range []int{0, 13, 20} {
				numbers := make([]uint64, n)
				for i := range numbers {
					numbers[i] = draw.Uint64()>>(64-bits)<<low | uint64(i)&(1<<low-1)
				}
				want := slices.Sorted(slices.Values(numbers))
				if radix.Sort(numbers, low); !slices.Equal(numbers, want) {
					t.Fatalf("%d numbers of %d bits, sorted from bit %d on, are out of order", n, bits, low)
				}
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	const n = 32_000
	draw := rand.New(rand.NewPCG(1, 2))
	numbers, own := make([]uint64, n), make([]uint64, n)
	for i := range numbers {
		numbers[i] = draw.Uint64()>>26<<15 | uint64(i)
	}
	for b.Loop() {
		copy(own, numbers)
		radix.Sort(own, 15)
	}
}
