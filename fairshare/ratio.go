package fairshare

import (
	"cmp"
	"math/bits"
	"strconv"
)

// A Ratio is use over share, the saturation of a queue in one resource (F9).
// Both parts are ≥ 0; a negative part counts as 0. 0/0 is 0, so the zero value
// is 0; n/0 with n > 0 is infinite, and all infinities are equal: the next
// comparison of an order decides between them.
type Ratio struct {
	Num int64 `json:"num,omitzero"` // use, in the resource's unit
	Den int64 `json:"den,omitzero"` // share, in the same unit
}

// Cmp compares two ratios exactly, in 128 bits: −1 if r < other, 0 if they
// are equal, 1 if r > other (F9). It is a weak order: 1/2 and 2/4 are equal.
func (r Ratio) Cmp(other Ratio) int {
	num, den := r.parts()
	otherNum, otherDen := other.parts()
	leftHi, leftLo := bits.Mul64(num, otherDen)
	rightHi, rightLo := bits.Mul64(otherNum, den)
	return wide{leftHi, leftLo}.cmp(wide{rightHi, rightLo})
}

// Infinite tells whether r is use over no share (F9).
func (r Ratio) Infinite() bool { return r.Num > 0 && r.Den <= 0 }

// parts returns numerator and denominator with the special values brought to
// a form that cross-multiplication orders rightly: 0 is 0/1, ∞ is 1/0. Two
// infinities then compare 1·0 with 1·0.
func (r Ratio) parts() (num, den uint64) {
	switch {
	case r.Num <= 0:
		return 0, 1
	case r.Den <= 0:
		return 1, 0
	}
	return uint64(r.Num), uint64(r.Den)
}

// String returns "num/den" as given, not reduced, so that a reader sees use
// and share; "0" for 0/0 and "∞" for an infinite ratio.
func (r Ratio) String() string {
	num, den := r.parts()
	switch {
	case den == 0:
		return "∞"
	case num == 0 && r.Den <= 0:
		return "0"
	case num == 0:
		den = uint64(r.Den)
	}
	return strconv.FormatUint(num, 10) + "/" + strconv.FormatUint(den, 10)
}

// Dominant returns the largest of the ratios, the first of equals: a queue's
// saturation over its resources (F9). Without ratios it is 0.
func Dominant(ratios ...Ratio) Ratio {
	var largest Ratio
	for i, r := range ratios {
		if i == 0 || r.Cmp(largest) > 0 {
			largest = r
		}
	}
	return largest
}

// Exceeds tells whether r is above milli thousandths of other, exactly, in 192
// bits; so two infinities do not exceed one another (R5). A negative milli
// counts as 0.
func (r Ratio) Exceeds(other Ratio, milli int64) bool {
	num, den := r.parts()
	otherNum, otherDen := other.parts()
	a, b, c := product(num, otherDen).times(1000)
	x, y, z := product(otherNum, den).times(uint64(max(milli, 0)))
	return cmp.Or(cmp.Compare(a, x), cmp.Compare(b, y), cmp.Compare(c, z)) > 0
}
