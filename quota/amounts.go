package quota

import (
	"math"
	"math/bits"
)

// An Amount is a quantity of one resource, in the resource's unit.
type Amount struct {
	Resource int32 // index into [Config.Capacity]
	Value    int64 // positive
}

// Amounts are what a request asks or a charge takes: sorted by Resource, each
// at most once, all positive and at most [MaxSum]. Nil asks nothing.
type Amounts []Amount

// Validate reports whether a is as [Amounts] must be, with resources below the
// number given. The error is an [*Error] of [ErrMalformed] or [ErrOverflow].
func (a Amounts) Validate(resources int) error {
	last := int32(-1)
	for _, x := range a {
		switch {
		case x.Resource <= last || int(x.Resource) >= resources || x.Value <= 0:
			return &Error{Err: ErrMalformed, Queue: -1, Resource: int(x.Resource), Value: x.Value}
		case x.Value > MaxSum:
			return &Error{Err: ErrOverflow, Queue: -1, Resource: int(x.Resource), Value: x.Value}
		}
		last = x.Resource
	}
	return nil
}

// valid is Validate for the hot paths: it says no instead of why.
func (a Amounts) valid(resources int) bool {
	last := int32(-1)
	for _, x := range a {
		if x.Resource <= last || int(x.Resource) >= resources || x.Value <= 0 || x.Value > MaxSum {
			return false
		}
		last = x.Resource
	}
	return true
}

// Of returns the amount of a resource, 0 if a does not name it.
func (a Amounts) Of(resource int32) int64 {
	for _, x := range a {
		if x.Resource == resource {
			return x.Value
		}
	}
	return 0
}

// AddScaled adds n times b to a and returns the sum. Like append it uses a's
// memory where that suffices, so a must not be used any more; on an error a is
// unchanged. It allocates only to grow. The error is an [*Error] of
// [ErrOverflow], or of [ErrMalformed] for a negative n or malformed amounts.
func (a Amounts) AddScaled(b Amounts, n int64) (Amounts, error) {
	if n == 0 || len(b) == 0 {
		return a, nil
	}
	fresh, err := a.checkAddScaled(b, n)
	if err != nil {
		return a, err
	}
	// Merge from the back, so that nothing is overwritten before it is read.
	i, j := len(a)-1, len(b)-1
	for range fresh {
		a = append(a, Amount{})
	}
	for k := len(a) - 1; j >= 0; k-- {
		switch {
		case i >= 0 && a[i].Resource > b[j].Resource:
			a[k] = a[i]
			i--
		case i >= 0 && a[i].Resource == b[j].Resource:
			a[k] = Amount{Resource: b[j].Resource, Value: a[i].Value + n*b[j].Value}
			i--
			j--
		default:
			a[k] = Amount{Resource: b[j].Resource, Value: n * b[j].Value}
			j--
		}
	}
	return a, nil
}

// checkAddScaled reports whether a + n·b stays within MaxSum, and how many
// resources of b are not in a.
func (a Amounts) checkAddScaled(b Amounts, n int64) (fresh int, err error) {
	if n < 0 {
		return 0, &Error{Err: ErrMalformed, Queue: -1, Resource: -1, Value: n}
	}
	// The merge relies on the order of both.
	if err := a.Validate(math.MaxInt32); err != nil {
		return 0, err
	}
	if err := b.Validate(math.MaxInt32); err != nil {
		return 0, err
	}
	i := 0
	for _, y := range b {
		for i < len(a) && a[i].Resource < y.Resource {
			i++
		}
		have := int64(0)
		if i < len(a) && a[i].Resource == y.Resource {
			have = a[i].Value
		} else {
			fresh++
		}
		high, low := bits.Mul64(uint64(n), uint64(y.Value))
		if high != 0 || low > uint64(MaxSum-have) {
			return 0, &Error{Err: ErrOverflow, Queue: -1, Resource: int(y.Resource), Value: y.Value}
		}
	}
	return fresh, nil
}

// Max returns the larger of a and b resource by resource, in memory of its own.
func Max(a, b Amounts) Amounts {
	out := make(Amounts, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Resource < b[0].Resource:
			out, a = append(out, a[0]), a[1:]
		case a[0].Resource > b[0].Resource:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, Amount{Resource: a[0].Resource, Value: max(a[0].Value, b[0].Value)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}
