package allot

import (
	"errors"
	"reflect"

	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/quota"
)

// The JSON of State, Plan and Change (V1): what the struct tags say, with "version" in
// front: 1 of a State and a Change, 2 of a Plan. A Plan of version 1 is read as well: it
// calls some fields otherwise ([planSchema]).
//
// Reading is strict and reports everything at once, each fault with its path:
// another version or none, unknown fields, names that differ in case, a key
// given twice, a fraction or exponent where a whole number belongs, unknown
// texts of enumerations, text that is not UTF-8, anything after the end. null
// for a field is the field's absence; it is nothing else's value.
//
// Writing is canonical: one document, one sequence of bytes. A round trip
// is exact but for what means the same: an empty list or map comes back as
// nil, a time in UTC at microseconds.

// How it is read and written is package jsonform's; here is what it speaks of.

// customTypes have JSON of their own: a Bound is a number or a word.
var customTypes = map[reflect.Type]string{reflect.TypeFor[quota.Bound](): `must be a whole number or "unlimited"`}

// stateSchema is that of a State and a Change, planSchema that of a Plan.
var (
	stateSchema = jsonform.Schema{Version: 1, Custom: customTypes}
	planSchema  = jsonform.Schema{Version: 2, Custom: customTypes, Before: []jsonform.Rename{
		{Type: reflect.TypeFor[Reason](), Was: "sides", Now: "subtrees"},
		{Type: reflect.TypeFor[Subtrees](), Was: "beneficiary", Now: "preemptor"},
		{Type: reflect.TypeFor[Subtree](), Was: "line", Now: "entitlement"},
	}}
)

// The forms of the documents.
var (
	stateForm  = stateSchema.Document(reflect.TypeFor[State]())
	planForm   = planSchema.Document(reflect.TypeFor[Plan]())
	changeForm = stateSchema.Document(reflect.TypeFor[Change]())
)

// jsonCodes are the codes of the faults of JSON.
var jsonCodes = [...]FaultCode{
	jsonform.Syntax:       FaultSyntax,
	jsonform.WrongVersion: FaultVersion,
	jsonform.UnknownField: FaultUnknownField,
	jsonform.DuplicateKey: FaultDuplicateKey,
	jsonform.WrongType:    FaultType,
	jsonform.BadValue:     FaultFormat,
	jsonform.UnknownName:  FaultUnknownValue,
	jsonform.BadText:      FaultText,
	jsonform.OutOfRange:   FaultRange,
	jsonform.Trailing:     FaultTrailing,
}

// readDocument reads a whole document into target, a pointer to the struct of
// the form, which is zero. The error is an *InvalidError.
func readDocument(data []byte, f *jsonform.Form, target any) error {
	return invalidJSON(jsonform.Read(data, f, target))
}

// withObjects is an error of a document whose faults have the IDs of what was read of it.
func withObjects(err error, read *State) error {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		nameObjects(invalid.Faults, read)
	}
	return err
}

// writeDocument writes a document. The error is an *InvalidError.
func writeDocument(f *jsonform.Form, v any) ([]byte, error) {
	data, err := jsonform.Write(f, v)
	return data, invalidJSON(err)
}

// invalidJSON is the error of package jsonform as an *InvalidError.
func invalidJSON(err error) error {
	var wrong *jsonform.Error
	if !errors.As(err, &wrong) {
		return err
	}
	faults := make([]Fault, len(wrong.Faults))
	for i, f := range wrong.Faults {
		faults[i] = Fault{Path: f.Path, Code: jsonCodes[f.Code], Value: f.Value, Want: f.Want}
	}
	return &InvalidError{Faults: faults}
}

// MarshalJSON is the canonical JSON of s. The error is an [*InvalidError] for
// what JSON cannot hold: text that is not UTF-8, an enumeration's unknown
// value, a year of more than four digits.
func (s State) MarshalJSON() ([]byte, error) { return writeDocument(stateForm, &s) }

// UnmarshalJSON replaces s by what data says; on an error s is as before. The
// error is an [*InvalidError] with all faults; after 10,000 of them nothing more is read.
// [encoding/json.Unmarshal] looks for faults of syntax before it calls here and reports them in its own way,
// without a path; to have them in this one, call UnmarshalJSON directly. That
// the State makes sense is for [Check] to say.
func (s *State) UnmarshalJSON(data []byte) error {
	var read State
	if err := readDocument(data, stateForm, &read); err != nil {
		return withObjects(err, &read)
	}
	*s = read
	return nil
}

// MarshalJSON is the canonical JSON of p, with the errors of
// [State.MarshalJSON].
func (p Plan) MarshalJSON() ([]byte, error) { return writeDocument(planForm, &p) }

// UnmarshalJSON replaces p by what data says, as strictly and with the errors
// of [State.UnmarshalJSON].
func (p *Plan) UnmarshalJSON(data []byte) error {
	var read Plan
	if err := readDocument(data, planForm, &read); err != nil {
		return err
	}
	*p = read
	return nil
}
