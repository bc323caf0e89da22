package quota

import (
	"errors"
	"strconv"
)

// What an [Error] of this package is about, which names the package before it; test with
// [errors.Is].
var (
	// ErrOverflow: an amount or a sum would exceed [MaxSum].
	ErrOverflow = errors.New("overflow")
	// ErrUnderflow: more is released than is charged.
	ErrUnderflow = errors.New("more released than charged")
	// ErrNegative: a bound or an amount is negative.
	ErrNegative = errors.New("negative")
	// ErrMalformed: amounts that are not sorted, not positive or of unknown
	// resources; or an unknown queue.
	ErrMalformed = errors.New("malformed")
	// ErrInnerQueue: use is charged to leaf queues only.
	ErrInnerQueue = errors.New("not a leaf queue")
	// ErrParent: a parent that is no queue.
	ErrParent = errors.New("unknown parent")
	// ErrCycle: a queue that is its own ancestor.
	ErrCycle = errors.New("cycle")
	// ErrCapOnly: a quota for a resource that has none by configuration.
	ErrCapOnly = errors.New("quota of a resource that has limits only")
)

// An Error says which queue and resource it happened at. Where a field does
// not apply it is −1.
type Error struct {
	// Err is one of the Err… variables.
	Err error
	// Queue and Resource are indices into the [Config].
	Queue, Resource int
	// Value is the amount at fault: the change of use, or the bound; 0 where
	// no amount is at fault.
	Value int64
}

// Error names queue, resource and value.
func (e *Error) Error() string {
	b := []byte("quota: ")
	if e.Queue >= 0 {
		b = append(strconv.AppendInt(append(b, "queue "...), int64(e.Queue), 10), ": "...)
	}
	if e.Resource >= 0 {
		b = append(strconv.AppendInt(append(b, "resource "...), int64(e.Resource), 10), ": "...)
	}
	b = append(b, e.Err.Error()...)
	if e.Value != 0 {
		b = append(strconv.AppendInt(append(b, " ("...), e.Value, 10), ')')
	}
	return string(b)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
