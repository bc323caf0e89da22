package allot

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// A jsonWriter makes the JSON of a value by its form. Equal values have equal
// bytes: fields in the order of the struct, maps by key, times in UTC, and
// what is absent, zero or empty is left out where the field's tag allows it.
type jsonWriter struct {
	out    []byte
	faults []Fault
	steps  []path // to the value that is being written
}

// writeDocument writes a document. The error is an *InvalidError for values
// that JSON cannot hold: text that is not UTF-8, an enumeration's unknown
// value, a year beyond 9999.
func writeDocument(f *jsonForm, v any) ([]byte, error) {
	w := jsonWriter{}
	w.object(f, reflect.ValueOf(v).Elem())
	if len(w.faults) > 0 {
		return nil, &InvalidError{Faults: w.faults}
	}
	return w.out, nil
}

func (w *jsonWriter) fault(code FaultCode, value, want string) {
	w.faults = append(w.faults, Fault{Path: pathText(w.steps), Code: code, Value: value, Want: want})
}

// below writes what is one step further down.
func (w *jsonWriter) below(name string, index int, f *jsonForm, v reflect.Value) {
	w.steps = append(w.steps, path{name: name, index: index})
	w.value(f, v)
	w.steps = w.steps[:len(w.steps)-1]
}

func (w *jsonWriter) value(f *jsonForm, v reflect.Value) {
	switch f.kind {
	case objectForm:
		w.object(f, v)
	case listForm:
		w.list(f, v)
	case mapForm:
		w.mapping(f, v)
	case pointerForm:
		w.value(f.elem, v.Elem())
	case customForm:
		// A Bound's JSON has no error.
		raw, _ := v.Interface().(json.Marshaler).MarshalJSON()
		w.out = append(w.out, raw...)
	case textForm:
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			w.fault(FaultUnknownValue, strconv.FormatUint(v.Uint(), 10), "must be a known "+f.typ.Name())
		}
		w.text(string(text))
	case timeForm:
		w.time(v.Interface().(time.Time))
	case stringForm:
		w.text(v.String())
	case intForm:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case boolForm:
		w.out = strconv.AppendBool(w.out, v.Bool())
	}
}

func (w *jsonWriter) object(f *jsonForm, v reflect.Value) {
	w.out = append(w.out, '{')
	start := len(w.out)
	for i := range f.fields {
		field := &f.fields[i]
		if field.index == versionField {
			w.out = append(w.out, `"version":`+strconv.Itoa(schemaVersion)...)
			continue
		}
		member := v.Field(field.index)
		if field.omit && absent(field.form, member) {
			continue
		}
		before := len(w.out)
		if before > start {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, '"')
		w.out = append(append(w.out, field.name...), `":`...)
		from := len(w.out)
		w.below(field.name, isField, field.form, member)
		// A struct of nothing but empty lists is as absent as a zero one.
		if field.omit && field.form.kind == objectForm && len(w.out)-from == len("{}") {
			w.out = w.out[:before]
		}
	}
	w.out = append(w.out, '}')
}

// absent reports whether a field that may be left out is.
func absent(f *jsonForm, v reflect.Value) bool {
	switch f.kind {
	case listForm, mapForm:
		return v.Len() == 0
	case timeForm:
		return canonicalTime(v.Interface().(time.Time)).IsZero()
	}
	return v.IsZero()
}

func (w *jsonWriter) list(f *jsonForm, v reflect.Value) {
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.below("", i, f.elem, v.Index(i))
	}
	w.out = append(w.out, ']')
}

func (w *jsonWriter) mapping(f *jsonForm, v reflect.Value) {
	keys := make([]string, 0, v.Len())
	for _, key := range v.MapKeys() { // sorted before use
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	w.out = append(w.out, '{')
	for i, key := range keys {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(key)
		w.out = append(w.out, ':')
		w.below(key, isKey, f.elem, v.MapIndex(reflect.ValueOf(key)))
	}
	w.out = append(w.out, '}')
}

func (w *jsonWriter) time(t time.Time) {
	t = canonicalTime(t)
	if t.Year() < 0 || t.Year() > 9999 {
		w.fault(FaultRange, t.String(), "must be a year of four digits")
		return
	}
	w.out = append(w.out, '"')
	w.out = append(t.AppendFormat(w.out, time.RFC3339Nano), '"')
}

// text writes a string with the escapes of encoding/json, so that a State is
// the same bytes by itself and inside something else.
func (w *jsonWriter) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.escaped(s)
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

func (w *jsonWriter) escaped(s string) {
	if !utf8.ValidString(s) {
		w.fault(FaultText, strconv.Quote(s), "must be UTF-8")
		return
	}
	quoted, _ := json.Marshal(s) // a string has no error
	w.out = append(w.out, quoted...)
}
