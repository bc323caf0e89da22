package quota

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Infinite stands for "no bound" in resolved amounts: [Tree.Quota],
// [Tree.Limit], [Tree.Ceiling] and [Figures]. No sum ever reaches it; see
// [MaxSum].
const Infinite int64 = math.MaxInt64

// MaxSum is the largest amount and the largest sum of amounts that this package
// holds. It leaves room for one addition or subtraction of two sums without
// another check; what would be larger is [ErrOverflow].
const MaxSum int64 = 1<<62 - 1

// unlimitedText is the text and JSON form of an unlimited Bound.
const unlimitedText = "unlimited"

// A Bound is a quota, a limit, a borrowing limit or a lending limit as it is
// given, in the unit of its resource: absent, an amount or unlimited. What an
// absent one means is told where it is used (Q1, Q3, Q5). The zero Bound is
// absent; a given 0 is a real 0. Bounds may be compared with ==.
type Bound struct {
	form   boundForm
	amount int64 // 0 unless form is anAmount
}

type boundForm uint8

const (
	absent boundForm = iota
	anAmount
	unlimited
)

// Of returns the Bound of n units. A negative n is kept as it is, so that
// a caller that checks its input can report it; [New] refuses it.
func Of(n int64) Bound { return Bound{form: anAmount, amount: n} }

// Unlimited returns the Bound that is given and bounds nothing.
func Unlimited() Bound { return Bound{form: unlimited} }

// Given reports whether b is not absent.
func (b Bound) Given() bool { return b.form != absent }

// IsUnlimited reports whether b is given as unlimited.
func (b Bound) IsUnlimited() bool { return b.form == unlimited }

// Amount returns what b says: 0 if absent, [Infinite] if unlimited.
func (b Bound) Amount() int64 {
	if b.form == unlimited {
		return Infinite
	}
	return b.amount
}

// String returns "" for an absent Bound, "unlimited", or the decimal amount.
func (b Bound) String() string {
	switch b.form {
	case anAmount:
		return strconv.FormatInt(b.amount, 10)
	case unlimited:
		return unlimitedText
	default:
		return ""
	}
}

// MarshalJSON writes a number, "unlimited", or null for an absent Bound; a
// field tagged omitzero is left out instead.
func (b Bound) MarshalJSON() ([]byte, error) {
	switch b.form {
	case anAmount:
		return strconv.AppendInt(nil, b.amount, 10), nil
	case unlimited:
		return strconv.AppendQuote(nil, unlimitedText), nil
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON reads what [Bound.MarshalJSON] writes. The number must be a
// whole one in plain digits within int64 (1.5, 1e3 and 2^63 are errors); a
// negative one is read, for the caller's check to report. On an error b is
// unchanged.
func (b *Bound) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch string(data) {
	case "null":
		*b = Bound{}
		return nil
	case `"` + unlimitedText + `"`:
		*b = Unlimited()
		return nil
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	// ParseInt takes a sign of +, which JSON does not have.
	if err != nil || data[0] == '+' {
		return fmt.Errorf("quota: bound %.40s is neither a whole number within int64 nor %q", data, unlimitedText)
	}
	*b = Of(n)
	return nil
}
