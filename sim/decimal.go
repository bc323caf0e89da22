package sim

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// A Decimal is an exact quotient, to be printed with up to a thousand digits.
// The zero Decimal is 0.
type Decimal struct{ rat big.Rat }

// Quotient is a / b, and 0 where b is 0.
func Quotient(a, b int64) Decimal {
	var d Decimal
	if b != 0 {
		d.rat.SetFrac64(a, b)
	}
	return d
}

// Seconds is t in seconds.
func Seconds(t time.Duration) Decimal { return Quotient(int64(t), int64(time.Second)) }

// mostDigits is how many digits after the point are told: each costs time and memory.
const mostDigits = 1000

// Text has the given number of digits after the point, rounded half away from 0: of fewer
// than none it has none, and a thousand of more.
func (d Decimal) Text(digits int) string { return d.rat.FloatString(min(max(digits, 0), mostDigits)) }

// String has six digits after the point.
func (d Decimal) String() string { return d.Text(6) }

// MarshalJSON is a number with six digits after the point.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.Text(6)), nil }

// UnmarshalJSON reads a number of digits and a point, as [Decimal.MarshalJSON] writes it.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	const longest = 64
	if len(text) > longest || strings.ContainsAny(string(text), "eE/_xX\"") {
		return fmt.Errorf("sim: %.64q is no decimal number", text)
	}
	if _, ok := d.rat.SetString(string(text)); !ok {
		return fmt.Errorf("sim: %.64q is no decimal number", text)
	}
	return nil
}

// Cmp is −1, 0 or 1 as d is less than, equal to or greater than o.
func (d Decimal) Cmp(o Decimal) int { return d.rat.Cmp(&o.rat) }

// nano is how many parts of one [Decimal.Billionths] and Jain count.
const nano = 1_000_000_000

// Billionths is d in billionths, rounded towards 0, as far as an int64 reaches: for
// sorting and adding up many.
func (d Decimal) Billionths() int64 {
	x := d.nano()
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func (d Decimal) nano() *big.Int {
	x := new(big.Int).Mul(d.rat.Num(), big.NewInt(nano))
	return x.Quo(x, d.rat.Denom())
}

// Jain is Jain's index of fairness, the square of the sum over n times the sum of the
// squares: 1 where all are alike, 1/n where one has all. Of none it is 0. It counts
// nine digits of each.
func Jain(list []Decimal) Decimal {
	sum, squares := new(big.Int), new(big.Int)
	for i := range list {
		x := list[i].nano()
		sum.Add(sum, x)
		squares.Add(squares, x.Mul(x, x))
	}
	var d Decimal
	if squares.Sign() > 0 {
		d.rat.SetFrac(sum.Mul(sum, sum), squares.Mul(squares, big.NewInt(int64(len(list)))))
	}
	return d
}

// Times is d × n.
func (d Decimal) Times(n int64) Decimal {
	var out Decimal
	out.rat.Mul(&d.rat, new(big.Rat).SetInt64(n))
	return out
}

// Over is d / n, and 0 where n is 0.
func (d Decimal) Over(n int64) Decimal {
	var out Decimal
	if n != 0 {
		out.rat.Quo(&d.rat, new(big.Rat).SetInt64(n))
	}
	return out
}
