package verify

import "math/bits"

// names are workloads that promises wait for, by their numbers.
type names []uint64

func (n names) has(number int) bool {
	return number > 0 && number/64 < len(n) && n[number/64]>>(number%64)&1 != 0
}

func (n *names) add(number int) {
	for len(*n) <= number/64 {
		*n = append(*n, 0)
	}
	(*n)[number/64] |= 1 << (number % 64)
}

// each calls f with each number.
func (n names) each(f func(number int)) {
	for i, some := range n {
		for ; some != 0; some &= some - 1 {
			f(64*i + bits.TrailingZeros64(some))
		}
	}
}

func (n *names) addAll(others names) {
	for len(*n) < len(others) {
		*n = append(*n, 0)
	}
	for i, some := range others {
		(*n)[i] |= some
	}
}
