package fairshare

import "fmt"

// A Fault says what is wrong with an argument.
type Fault uint8

const (
	// Negative: the value must be ≥ 0.
	Negative Fault = iota + 1
	// Overflow: the sum of the group does not fit into 63 bits; Value is the
	// summand that went beyond.
	Overflow
	// NoSuchParent: Value is no index of a queue and not −1.
	NoSuchParent
	// Cycle: the queue has no path to the top level.
	Cycle
	// NotALeaf: demand is given at a queue that has children.
	NotALeaf
	// UnknownMethod: Value is no [Method].
	UnknownMethod
)

// faultTexts complete "field value …".
var faultTexts = [...]string{
	Negative:      "is negative",
	Overflow:      "overflows the sum",
	NoSuchParent:  "is no queue",
	Cycle:         "is on a cycle",
	NotALeaf:      "is given at a queue with children",
	UnknownMethod: "is unknown",
}

// An InputError is the only error of this package's divisions: an argument
// that no division is defined for. It names the first such argument.
type InputError struct {
	// Index is the claim or queue; −1 is the configuration itself.
	Index int
	// Field is the Go name of the field, such as "Weight".
	Field string
	// Value is what it holds.
	Value int64
	Fault Fault
}

// Error returns a text such as "fairshare: [2].Weight -1 is negative".
func (e *InputError) Error() string {
	what := "is faulty"
	if int(e.Fault) < len(faultTexts) && e.Fault > 0 {
		what = faultTexts[e.Fault]
	}
	if e.Index < 0 {
		return fmt.Sprintf("fairshare: %s %d %s", e.Field, e.Value, what)
	}
	return fmt.Sprintf("fairshare: [%d].%s %d %s", e.Index, e.Field, e.Value, what)
}

// A field is a named value that must not be negative.
type field struct {
	name  string
	value int64
}

// firstNegative returns an error that names the first negative field.
func firstNegative(index int, fields ...field) error {
	for _, f := range fields {
		if f.value < 0 {
			return &InputError{Index: index, Field: f.name, Value: f.value, Fault: Negative}
		}
	}
	return nil
}
