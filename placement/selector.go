package placement

import (
	"slices"
	"strconv"
)

// Operator relates a label to the values of an [Expression]. The zero value is
// In. Its text form is the constant's name.
type Operator uint8

const (
	// In holds where the label is there and its value is among the values.
	In Operator = iota
	// NotIn holds where the label is absent or its value is not among the
	// values.
	NotIn
	// Exists holds where the label is there.
	Exists
	// DoesNotExist holds where the label is absent.
	DoesNotExist
	// Gt holds where the label is an integer greater than the one value.
	Gt
	// Lt holds where the label is an integer less than the one value.
	Lt
)

var operatorNames = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}

// Valid reports whether o is one of the constants above.
func (o Operator) Valid() bool { return int(o) < len(operatorNames) }

// String returns the text form.
// The texts are "In", "NotIn", "Exists", "DoesNotExist", "Gt" and "Lt".
func (o Operator) String() string { return nameOf("operator", operatorNames, uint8(o)) }

// MarshalText returns the text form; a value that is not [Operator.Valid] is
// an error.
func (o Operator) MarshalText() ([]byte, error) {
	return marshalName("operator", operatorNames, uint8(o))
}

// UnmarshalText reads the text form; any other text is an error and leaves o
// as it was.
func (o *Operator) UnmarshalText(text []byte) error {
	v, err := unmarshalName("operator", operatorNames, text)
	if err == nil {
		*o = Operator(v)
	}
	return err
}

// An Expression is one condition on one label (P1's required affinity,
// with the meaning of Kubernetes).
type Expression struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	// Values are at least one for In and NotIn, none for Exists and
	// DoesNotExist, exactly one decimal int64 for Gt and Lt.
	Values []string `json:"values,omitempty"`
}

// Matches reports whether a label satisfies the expression; present says
// whether the node has the label at all. A faulty expression ([Selector.Validate])
// is satisfied by nothing that its operator cannot tell.
func (e Expression) Matches(value string, present bool) bool {
	switch e.Operator {
	case In:
		return present && slices.Contains(e.Values, value)
	case NotIn:
		return !present || !slices.Contains(e.Values, value)
	case Exists:
		return present
	case DoesNotExist:
		return !present
	case Gt, Lt:
		if !present || len(e.Values) != 1 {
			return false
		}
		have, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return false
		}
		bound, err := strconv.ParseInt(e.Values[0], 10, 64)
		if err != nil {
			return false
		}
		return e.Operator == Gt && have > bound || e.Operator == Lt && have < bound
	}
	return false
}

// A Selector is a condition on a node's labels (P1): every label and
// every expression must hold. The zero Selector, and a nil one, always holds.
type Selector struct {
	// Labels must be there with exactly these values.
	Labels map[string]string `json:"labels,omitempty"`
	// Expressions must all hold.
	Expressions []Expression `json:"expressions,omitempty"`
}

// IsZero reports whether s demands nothing; encoding/json's omitzero asks it.
func (s Selector) IsZero() bool { return len(s.Labels) == 0 && len(s.Expressions) == 0 }

// Matches reports whether the labels satisfy the selector.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return true
	}
	for key, want := range s.Labels { // all must hold: order cannot matter
		if have, present := labels[key]; !present || have != want {
			return false
		}
	}
	for _, e := range s.Expressions {
		if value, present := labels[e.Key]; !e.Matches(value, present) {
			return false
		}
	}
	return true
}
