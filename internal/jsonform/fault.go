package jsonform

import "strings"

// A Code says what is wrong at a place of a document. The zero Code is no fault.
type Code uint8

// The codes of faults.
const (
	// Syntax: the bytes are no JSON. Nothing behind it is read.
	Syntax Code = iota + 1
	// WrongVersion: the document is of another version than the schema's, or of
	// none.
	WrongVersion
	// UnknownField: an object has a name that its form does not have.
	UnknownField
	// DuplicateKey: an object has a name twice.
	DuplicateKey
	// WrongType: a value is of another JSON type than its form; a number with a
	// fraction or an exponent is none that is whole.
	WrongType
	// BadValue: a text or number is of the right type and says nothing that the Go
	// type can hold.
	BadValue
	// UnknownName: an enumeration has no such text, or no text for such a value.
	UnknownName
	// BadText: a text is not UTF-8.
	BadText
	// OutOfRange: a time has a year that RFC 3339 cannot write.
	OutOfRange
	// Trailing: something follows the document.
	Trailing
)

// A Fault is one thing that is wrong with a document.
type Fault struct {
	// Path is where, as the text of [Path.String].
	Path string
	Code Code
	// Value is the text of what stands there, cut where it is long; empty where
	// nothing does.
	Value string
	// Want is what would be right, as the end of a sentence: "must be a string".
	Want string
}

// String is a line such as "nodes[3].rank: must be a whole number, is true".
func (f Fault) String() string {
	text := f.Path + ": " + f.Want
	if f.Value != "" {
		text += ", is " + f.Value
	}
	return text
}

// An Error is everything that is wrong with a document.
type Error struct {
	// Faults are at least one, in the order in which they were met.
	Faults []Fault
}

// Error is the faults, one per line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return "jsonform: " + strings.Join(lines, "\n\t")
}

// faulty is the error for the faults, nil if there are none.
func faulty(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{Faults: faults}
}
