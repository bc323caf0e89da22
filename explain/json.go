package explain

import (
	"errors"
	"reflect"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/quota"
)

// The JSON of Difference and Consequences: as strict as that of a State, and with the
// same faults.

// schema is that of the documents. A Bound is a number or a word, by its own methods;
// version 1 calls some fields otherwise.
var schema = jsonform.Schema{
	Version: 2,
	Before: []jsonform.Rename{
		{Type: reflect.TypeFor[Alteration](), Was: "noun", Now: "object"},
		{Type: reflect.TypeFor[allot.Reason](), Was: "sides", Now: "subtrees"},
		{Type: reflect.TypeFor[allot.Subtrees](), Was: "beneficiary", Now: "preemptor"},
		{Type: reflect.TypeFor[allot.Subtree](), Was: "line", Now: "entitlement"},
	},
	Custom: map[reflect.Type]string{reflect.TypeFor[quota.Bound](): `must be a whole number or "unlimited"`},
}

// The forms of the documents.
var (
	differenceForm   = schema.Document(reflect.TypeFor[Difference]())
	consequencesForm = schema.Document(reflect.TypeFor[Consequences]())
)

// jsonCodes are the codes of the faults of JSON.
var jsonCodes = [...]allot.FaultCode{
	jsonform.Syntax:       allot.FaultSyntax,
	jsonform.WrongVersion: allot.FaultVersion,
	jsonform.UnknownField: allot.FaultUnknownField,
	jsonform.DuplicateKey: allot.FaultDuplicateKey,
	jsonform.WrongType:    allot.FaultType,
	jsonform.BadValue:     allot.FaultFormat,
	jsonform.UnknownName:  allot.FaultUnknownValue,
	jsonform.BadText:      allot.FaultText,
	jsonform.OutOfRange:   allot.FaultRange,
	jsonform.Trailing:     allot.FaultTrailing,
}

// readDocument reads a whole document into target, a pointer to the struct of
// the form, which is zero. The error is an *allot.InvalidError.
func readDocument(data []byte, f *jsonform.Form, target any) error {
	return invalidJSON(jsonform.Read(data, f, target))
}

// writeDocument writes a document. The error is an *allot.InvalidError.
func writeDocument(f *jsonform.Form, v any) ([]byte, error) {
	data, err := jsonform.Write(f, v)
	return data, invalidJSON(err)
}

// invalidJSON is the error of package jsonform as an *allot.InvalidError.
func invalidJSON(err error) error {
	var wrong *jsonform.Error
	if !errors.As(err, &wrong) {
		return err
	}
	faults := make([]allot.Fault, len(wrong.Faults))
	for i, f := range wrong.Faults {
		faults[i] = allot.Fault{Path: f.Path, Code: jsonCodes[f.Code], Value: f.Value, Want: f.Want}
	}
	return &allot.InvalidError{Faults: faults}
}

// MarshalJSON is the canonical JSON of d, with the errors of
// [allot.State.MarshalJSON].
func (d Difference) MarshalJSON() ([]byte, error) { return writeDocument(differenceForm, &d) }

// UnmarshalJSON replaces d by what data says, as strictly and with the errors
// of [allot.State.UnmarshalJSON].
func (d *Difference) UnmarshalJSON(data []byte) error {
	var read Difference
	if err := readDocument(data, differenceForm, &read); err != nil {
		return err
	}
	*d = read
	return nil
}

// MarshalJSON is the canonical JSON of c, with the errors of
// [allot.State.MarshalJSON].
func (c Consequences) MarshalJSON() ([]byte, error) { return writeDocument(consequencesForm, &c) }

// UnmarshalJSON replaces c by what data says, as strictly and with the errors
// of [allot.State.UnmarshalJSON].
func (c *Consequences) UnmarshalJSON(data []byte) error {
	var read Consequences
	if err := readDocument(data, consequencesForm, &read); err != nil {
		return err
	}
	*c = read
	return nil
}
