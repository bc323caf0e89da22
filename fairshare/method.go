package fairshare

import (
	"fmt"
	"strings"
)

// A Method says how the members of a sibling group divide what there is. It
// is a knob of the policy; its text form is what JSON shows.
type Method uint8

const (
	// QuotaThenWeight gives each member its quota first and divides the surplus
	// by weight, tier by tier (F2–F5). It is the zero value.
	QuotaThenWeight Method = iota
	// ByDemand divides in proportion to demand × weight, without quotas (F8,
	// Determined's published text). It can be gamed: a queue that reports more demand
	// gets more.
	ByDemand
	// MaxMin divides by weight alone, weighted max-min without quotas (the
	// knob of F8, what Determined's code does).
	MaxMin
)

// methodTexts are the text forms, by Method.
var methodTexts = [...]string{
	QuotaThenWeight: "quota-then-weight",
	ByDemand:        "by-demand",
	MaxMin:          "max-min",
}

// Valid tells whether m is one of the methods declared here.
func (m Method) Valid() bool { return int(m) < len(methodTexts) }

// String returns the text form: "quota-then-weight", "by-demand" or
// "max-min"; for an invalid value "Method(n)".
func (m Method) String() string {
	if !m.Valid() {
		return fmt.Sprintf("Method(%d)", uint8(m))
	}
	return methodTexts[m]
}

// MarshalText returns the text form of [Method.String]; an invalid value is an
// error.
func (m Method) MarshalText() ([]byte, error) {
	if !m.Valid() {
		return nil, fmt.Errorf("fairshare: %v is not a method", m)
	}
	return []byte(methodTexts[m]), nil
}

// UnmarshalText reads exactly what [Method.MarshalText] writes; anything else
// is an error and leaves m as it was.
func (m *Method) UnmarshalText(text []byte) error {
	for i, known := range methodTexts {
		if string(text) == known {
			*m = Method(i)
			return nil
		}
	}
	return fmt.Errorf("fairshare: unknown method %q: there is %s", text, strings.Join(methodTexts[:], ", "))
}
