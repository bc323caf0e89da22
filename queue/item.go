package queue

import "cmp"

// Stage says where a workload stands between its minimum and its maximum (O1,
// G2).
type Stage uint8

const (
	// BelowMinimum: the workload waits to start. It is the zero value.
	BelowMinimum Stage = iota
	// AtMinimum: it runs at its minimum and would take its first task more.
	AtMinimum
	// AboveMinimum: it runs above its minimum and would take more.
	AboveMinimum
)

// An Item is one waiting workload, or one form of it (G5), as the order sees
// it: everything that O1 compares and nothing else. Items are values; two that
// are equal are the same item.
type Item struct {
	// Submitted is the submit time in the caller's unit; lower is earlier.
	Submitted int64
	// Due is how urgent it is: the lower goes first among equals of Priority and Stage (B11).
	// 0 is not at all, so that what is has a negative one.
	Due int64
	// Rank stands before ID where the caller numbers workloads otherwise than in
	// the order of their IDs; the lower goes first. A caller that numbers them in that
	// order leaves it 0.
	Rank int64
	// ID is the workload's number: its index among all workloads sorted by ID, or
	// any other where Rank tells their order.
	ID int32
	// Priority: the higher goes first.
	Priority int32
	// Form is the index of the form that would start, 0 the preferred one.
	Form int16
	// Stage: the lower goes first among equals of Priority.
	Stage Stage
}

// Compare is O1: negative if a goes before b, positive if b goes before a, and
// 0 only if a == b. In order of evaluation: higher Priority, lower Stage, lower Due,
// earlier Submitted, lower Rank, lower ID,
// lower Form.
func (a Item) Compare(b Item) int {
	switch {
	case a.Priority != b.Priority:
		return cmp.Compare(b.Priority, a.Priority)
	case a.Stage != b.Stage:
		return cmp.Compare(a.Stage, b.Stage)
	case a.Due != b.Due:
		return cmp.Compare(a.Due, b.Due)
	default:
		return a.compareAge(b)
	}
}

// compareAge is O1 from the submit time on.
func (a Item) compareAge(b Item) int {
	switch {
	case a.Submitted != b.Submitted:
		return cmp.Compare(a.Submitted, b.Submitted)
	case a.Rank != b.Rank:
		return cmp.Compare(a.Rank, b.Rank)
	case a.ID != b.ID:
		return cmp.Compare(a.ID, b.ID)
	default:
		return cmp.Compare(a.Form, b.Form)
	}
}

// before is Compare as a strict less-than.
func before(a, b Item) bool { return a.Compare(b) < 0 }
