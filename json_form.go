package allot

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// A jsonForm is what the JSON of a Go type looks like. The jsonReader, the jsonWriter and
// the order of faults all go by it, so the struct tags are the one place that
// says what the JSON is. Forms are made once and never changed.
type jsonForm struct {
	kind   jsonKind
	typ    reflect.Type
	elem   *jsonForm   // of a list, map or pointer
	fields []jsonField // of an object, in the order of the struct
}

type jsonField struct {
	name  string
	index int // in the struct; versionField for the version of a document
	omit  bool
	form  *jsonForm
}

type jsonKind uint8

const (
	objectForm jsonKind = iota
	listForm
	mapForm
	pointerForm
	textForm   // a type with text methods: an enumeration
	customForm // a type with JSON methods of its own: a Bound
	timeForm
	stringForm
	intForm
	boolForm
)

// versionField stands for "version", which documents have and structs do not.
const versionField = -1

// schemaVersion is the version of the JSON forms of State, Plan and Change.
const schemaVersion = 1

// The forms of the documents.
var (
	stateForm  = documentForm(reflect.TypeFor[State]())
	planForm   = documentForm(reflect.TypeFor[Plan]())
	changeForm = documentForm(reflect.TypeFor[Change]())
)

// documentForm is the form of a struct with the version in front.
func documentForm(t reflect.Type) *jsonForm {
	document := structForm(t)
	version := jsonField{name: "version", index: versionField, form: jsonFormOf(reflect.TypeFor[int]())}
	document.fields = append([]jsonField{version}, document.fields...)
	return document
}

func jsonFormOf(t reflect.Type) *jsonForm {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &jsonForm{kind: timeForm, typ: t}
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &jsonForm{kind: customForm, typ: t}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonForm{kind: textForm, typ: t}
	}
	switch t.Kind() {
	case reflect.Struct:
		return structForm(t)
	case reflect.Slice:
		return &jsonForm{kind: listForm, typ: t, elem: jsonFormOf(t.Elem())}
	case reflect.Map:
		return &jsonForm{kind: mapForm, typ: t, elem: jsonFormOf(t.Elem())}
	case reflect.Pointer:
		return &jsonForm{kind: pointerForm, typ: t, elem: jsonFormOf(t.Elem())}
	case reflect.String:
		return &jsonForm{kind: stringForm, typ: t}
	case reflect.Bool:
		return &jsonForm{kind: boolForm, typ: t}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return &jsonForm{kind: intForm, typ: t}
	}
	// Only a new field of the surface can come here, and no test would pass.
	panic("allot: no JSON form for " + t.String())
}

func structForm(t reflect.Type) *jsonForm {
	f := &jsonForm{kind: objectForm, typ: t}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		f.fields = append(f.fields, jsonField{
			name: name, index: i, omit: options != "", form: jsonFormOf(t.Field(i).Type),
		})
	}
	return f
}

// field finds a field by name, trying the one at the hint first: fields mostly
// come in order. It returns -1 for a name that the object does not have.
func (f *jsonForm) field(name []byte, hint int) int {
	if hint < len(f.fields) && f.fields[hint].name == string(name) {
		return hint
	}
	for i := range f.fields {
		if f.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}
