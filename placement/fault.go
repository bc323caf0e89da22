package placement

import (
	"strconv"
)

// FaultKind says what is wrong with a selector, taint, toleration or scoring. Its
// text form is stable. There is no zero FaultKind.
type FaultKind uint8

const (
	// EmptyKey: a label, taint or toleration needs a key and has none.
	EmptyKey FaultKind = iota + 1
	// UnknownOperator: the operator is none of the constants.
	UnknownOperator
	// UnknownEffect: the effect is none of the constants.
	UnknownEffect
	// MissingValue: In and NotIn need a value, Gt and Lt exactly one.
	MissingValue
	// UnexpectedValue: there is a value where the operator takes none, or a
	// second one where it takes one.
	UnexpectedValue
	// NotAnInteger: the value of Gt or Lt is not a decimal int64.
	NotAnInteger
	// Negative: the number must not be below zero.
	Negative
	// NotPositive: the number must be above zero.
	NotPositive
	// TooLarge: the number is above its bound.
	TooLarge
	// UnknownAmounts: the amounts are malformed or of a resource that there is not.
	UnknownAmounts
	// UnknownResource: there is no such resource.
	UnknownResource
	// UnknownTieOrder: the tie order is none of the constants.
	UnknownTieOrder
)

var faultKindNames = []string{
	"", "empty-key", "unknown-operator", "unknown-effect", "missing-value", "unexpected-value", "not-an-integer",
	"negative", "not-positive", "too-large", "unknown-amounts", "unknown-resource", "unknown-tie-order",
}

// String returns the text form.
func (k FaultKind) String() string { return nameOf("fault", faultKindNames, uint8(k)) }

// A Fault is one thing wrong with a selector, taint, toleration or scoring
// (V1).
type Fault struct {
	// Path leads from the value that was validated to the fault, in the
	// spelling of its JSON form, such as "expressions[1].values[0]".
	Path string
	Kind FaultKind
	// Value is what stands there, as text.
	Value string
}

// Validate returns every fault of the selector, in the order of the labels'
// keys, then of the expressions. A nil selector has none.
func (s *Selector) Validate() []Fault {
	if s == nil {
		return nil
	}
	var faults []Fault
	if value, present := s.Labels[""]; present {
		faults = append(faults, Fault{`labels[""]`, EmptyKey, value})
	}
	for i, e := range s.Expressions {
		faults = append(faults, e.validate("expressions["+strconv.Itoa(i)+"].")...)
	}
	return faults
}

func (e Expression) validate(path string) []Fault {
	var faults []Fault
	if e.Key == "" {
		faults = append(faults, Fault{path + "key", EmptyKey, ""})
	}
	least, most := 0, 0
	switch e.Operator {
	case In, NotIn:
		least, most = 1, len(e.Values)
	case Exists, DoesNotExist:
	case Gt, Lt:
		least, most = 1, 1
	default:
		return append(faults, Fault{path + "operator", UnknownOperator, e.Operator.String()})
	}
	if len(e.Values) < least {
		faults = append(faults, Fault{path + "values", MissingValue, ""})
	}
	for i, value := range e.Values {
		at := path + "values[" + strconv.Itoa(i) + "]"
		if i >= most {
			faults = append(faults, Fault{at, UnexpectedValue, value})
		} else if _, err := strconv.ParseInt(value, 10, 64); err != nil && (e.Operator == Gt || e.Operator == Lt) {
			faults = append(faults, Fault{at, NotAnInteger, value})
		}
	}
	return faults
}

// Validate returns every fault of the taint.
func (t Taint) Validate() []Fault {
	var faults []Fault
	if t.Key == "" {
		faults = append(faults, Fault{"key", EmptyKey, ""})
	}
	if !t.Effect.Valid() {
		faults = append(faults, Fault{"effect", UnknownEffect, t.Effect.String()})
	}
	return faults
}

// Validate returns every fault of the toleration.
func (t Toleration) Validate() []Fault {
	var faults []Fault
	if t.Key == "" && t.Operator == TolerationEqual {
		faults = append(faults, Fault{"key", EmptyKey, ""})
	}
	if !t.Operator.Valid() {
		faults = append(faults, Fault{"operator", UnknownOperator, t.Operator.String()})
	}
	if t.Operator == TolerationExists && t.Value != "" {
		faults = append(faults, Fault{"value", UnexpectedValue, t.Value})
	}
	if !t.Effect.Valid() {
		faults = append(faults, Fault{"effect", UnknownEffect, t.Effect.String()})
	}
	return faults
}
