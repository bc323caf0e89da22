package jsonform

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// A Form is what the JSON of a Go type looks like. Reading, writing and the order
// of faults all go by it, so the struct tags are the one place that says what the
// JSON is. Forms are made once, by a [Schema], and never changed; many goroutines
// may use one.
type Form struct {
	// Kind says which of the other fields mean something. Type is the Go type.
	Kind Kind
	Type reflect.Type
	// Elem is the form of what is in a List, Map or Pointer, nil for others.
	Elem *Form
	// Fields are an Object's, in the order of the struct, at most 64. A document
	// has the field of its version before them.
	Fields []Field
	// version is a document's, 0 for all that is part of one, and before the form of
	// the version before it, nil if only this one is read; want is what a Custom value
	// must be.
	version int
	before  *Form
	want    string
}

// A Field is a field of an Object.
type Field struct {
	// Name is the one in JSON.
	Name string
	// Index is the field's in the struct, or VersionField.
	Index int
	// Omit says that the field is left out where it is [Form.Absent].
	Omit bool
	// Form is that of the field's value.
	Form *Form
}

// VersionField is the index of "version", which documents have and structs do not.
const VersionField = -1

// A Kind is a kind of form.
type Kind uint8

// The kinds of forms, by the Go types that have them.
const (
	// Object is a struct, in JSON an object with known names.
	Object Kind = iota
	// List is a slice, Map a map with string keys; an empty one is absent.
	List
	Map
	// Pointer is a pointer: the JSON of what it points to, absent if nil.
	Pointer
	// Text is a type with text methods, whose underlying type is an unsigned
	// integer: an enumeration, in JSON a string.
	Text
	// Custom is a type with JSON methods of its own that the schema names.
	Custom
	// Time is a time.Time: a string as of RFC 3339, in UTC, to the microsecond.
	Time
	// String, Int and Bool are strings, whole numbers and true or false. The Go
	// type of an Int is int, int32 or int64.
	String
	Int
	Bool
)

// maxFields is how many fields an Object has at most: what of them has been read
// is kept in the bits of a word.
const maxFields = 64

// A Schema makes the forms of documents. The zero Schema makes those of version 0
// without types that have JSON methods of their own.
type Schema struct {
	// Version is what documents have as "version", in front: the one that is
	// written.
	Version int
	// Before are the fields that version Version-1 calls otherwise. With any of them
	// that version is read too, as strictly as this one and by its own names alone;
	// with none only Version is read.
	Before []Rename
	// Custom are the types whose own JSON methods count, each with what a value
	// must be, as the end of a sentence: `must be a number or "many"`. Their
	// MarshalJSON must not fail. Other types that have such methods are read and
	// written by their structure, so that a document may be part of another one.
	Custom map[reflect.Type]string
}

// A Rename is a field of the struct Type that the version before called Was in JSON
// and that its tag calls Now.
type Rename struct {
	Type     reflect.Type
	Was, Now string
}

// Document is the form of a struct with the version in front.
//
// Document panics for a type that has no form, which is a mistake in the struct:
// a field without a name in its json tag, more than 64 of them, or a type that is
// none of those at [Kind]. No type may hold itself.
func (s Schema) Document(t reflect.Type) *Form {
	before := s.Before
	s.Before = nil // the names of this version are those of the tags
	document := s.document(t)
	if len(before) > 0 {
		document.before = Schema{Version: s.Version - 1, Before: before, Custom: s.Custom}.document(t)
	}
	return document
}

// document is the form of a struct with the version in front, by the names of Before.
func (s Schema) document(t reflect.Type) *Form {
	document := s.object(t)
	if len(document.Fields) == maxFields {
		panic("jsonform: no room for the version among the fields of " + t.String())
	}
	document.version = s.Version
	version := Field{Name: "version", Index: VersionField, Form: s.form(reflect.TypeFor[int]())}
	document.Fields = append([]Field{version}, document.Fields...)
	return document
}

// Object is the form of a struct without a version, by the names of its tags. It
// panics as [Schema.Document] does.
func (s Schema) Object(t reflect.Type) *Form {
	s.Before = nil
	return s.object(t)
}

// object is the form of a struct by the names of Before.
func (s Schema) object(t reflect.Type) *Form {
	f := &Form{Kind: Object, Type: t}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || !t.Field(i).IsExported() || i == maxFields {
			panic("jsonform: no JSON for field " + t.Field(i).Name + " of " + t.String())
		}
		for _, r := range s.Before {
			if r.Type == t && r.Now == name {
				name = r.Was
				break
			}
		}
		f.Fields = append(f.Fields, Field{Name: name, Index: i, Omit: options != "", Form: s.form(t.Field(i).Type)})
	}
	return f
}

func (s Schema) form(t reflect.Type) *Form {
	p := reflect.PointerTo(t)
	want, custom := s.Custom[t]
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &Form{Kind: Time, Type: t}
	case custom:
		if p.Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return &Form{Kind: Custom, Type: t, want: want}
		}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && t.Kind() == reflect.Uint8 {
			return &Form{Kind: Text, Type: t}
		}
	default:
		return s.structure(t)
	}
	panic("jsonform: the methods of " + t.String() + " are not those of its kind")
}

// structure is the form of a type that has no methods for it.
func (s Schema) structure(t reflect.Type) *Form {
	switch t.Kind() {
	case reflect.Struct:
		return s.object(t)
	case reflect.Slice:
		return &Form{Kind: List, Type: t, Elem: s.form(t.Elem())}
	case reflect.Map:
		if t.Key() == reflect.TypeFor[string]() {
			return &Form{Kind: Map, Type: t, Elem: s.form(t.Elem())}
		}
	case reflect.Pointer:
		return &Form{Kind: Pointer, Type: t, Elem: s.form(t.Elem())}
	case reflect.String:
		return &Form{Kind: String, Type: t}
	case reflect.Bool:
		return &Form{Kind: Bool, Type: t}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &Form{Kind: Int, Type: t}
	}
	panic("jsonform: no JSON for " + t.String())
}

// field finds a field by name, trying the one at the hint first: fields mostly
// come in order. It returns -1 for a name that the object does not have.
func (f *Form) field(name []byte, hint int) int {
	if hint < len(f.Fields) && f.Fields[hint].Name == string(name) {
		return hint
	}
	for i := range f.Fields {
		if f.Fields[i].Name == string(name) {
			return i
		}
	}
	return -1
}

// Absent reports whether a value of the form says nothing, so that a field of it
// may be left out: a list or map without entries, a nil pointer, the zero value of
// anything else.
func (f *Form) Absent(v reflect.Value) bool {
	switch f.Kind {
	case List, Map:
		return v.Len() == 0
	case Time:
		return canonicalTime(v.Interface().(time.Time)).IsZero()
	}
	return v.IsZero()
}
