package sim

import (
	"math/big"
	"math/bits"
	"time"
)

// A Sum is an exact sum of products up to 2^128, such as of milli-GPUs and
// nanoseconds: those of a large cluster pass 2^64 within a day. The zero Sum is 0.
type Sum struct{ high, low uint64 }

// SumOf is n, which is not negative.
func SumOf(n int64) Sum { return Sum{low: uint64(n)} }

// add adds a × b; neither is negative.
func (s *Sum) add(a, b int64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	s.sum(Sum{high, low})
}

func (s *Sum) sum(o Sum) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, o.low, 0)
	s.high, _ = bits.Add64(s.high, o.high, carry)
}

// Cmp is −1, 0 or 1 as s is less than, equal to or greater than o.
func (s Sum) Cmp(o Sum) int {
	switch {
	case s == o:
		return 0
	case s.high < o.high || s.high == o.high && s.low < o.low:
		return -1
	}
	return 1
}

// Plus is s + o.
func (s Sum) Plus(o Sum) Sum {
	s.sum(o)
	return s
}

// Over is s / o, and 0 where o is 0.
func (s Sum) Over(o Sum) Decimal { return over(s, o.big(), big.NewInt(1)) }

// GPUHours is s in GPU-hours, where it is in milli-GPU × nanoseconds.
func (s Sum) GPUHours() Decimal { return over(s, big.NewInt(1000), big.NewInt(int64(time.Hour))) }

// GPUSeconds is s in GPU-seconds, where it is in milli-GPU × nanoseconds.
func (s Sum) GPUSeconds() Decimal { return over(s, big.NewInt(1000), big.NewInt(int64(time.Second))) }

func (s Sum) big() *big.Int {
	x := new(big.Int).SetUint64(s.high)
	return x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(s.low))
}

// over is a / (b × unit), and 0 where that is not defined.
func over(a Sum, b, unit *big.Int) Decimal {
	var d Decimal
	if below := new(big.Int).Mul(b, unit); below.Sign() != 0 {
		d.rat.SetFrac(a.big(), below)
	}
	return d
}

// take subtracts o, which is not larger.
func (s *Sum) take(o Sum) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, o.low, 0)
	s.high, _ = bits.Sub64(s.high, o.high, borrow)
}
