package sim

import (
	"math/big"
	"time"
)

// A Decimal is an exact quotient, to be printed with as many digits as one likes.
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

// Text has the given number of digits after the point, rounded half away from 0.
func (d Decimal) Text(digits int) string { return d.rat.FloatString(digits) }

// String has six digits after the point.
func (d Decimal) String() string { return d.Text(6) }

// MarshalJSON is a number with six digits after the point.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.Text(6)), nil }

// Cmp is −1, 0 or 1 as d is less than, equal to or greater than o.
func (d Decimal) Cmp(o Decimal) int { return d.rat.Cmp(&o.rat) }
