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
}

// writeDocument writes a document. The error is an *InvalidError for values
// that JSON cannot hold: text that is not UTF-8, an enumeration's unknown
// value, a year beyond 9999.
func writeDocument(f *jsonForm, v any) ([]byte, error) {
	w := jsonWriter{}
	at := root()
	w.object(&at, f, reflect.ValueOf(v).Elem())
	if len(w.faults) > 0 {
		return nil, &InvalidError{Faults: w.faults}
	}
	return w.out, nil
}

func (w *jsonWriter) fault(at *path, code FaultCode, value, want string) {
	w.faults = append(w.faults, Fault{Path: at.String(), Code: code, Value: value, Want: want})
}

func (w *jsonWriter) value(at *path, f *jsonForm, v reflect.Value) {
	switch f.kind {
	case objectForm:
		w.object(at, f, v)
	case listForm:
		w.list(at, f, v)
	case mapForm:
		w.mapping(at, f, v)
	case pointerForm:
		w.value(at, f.elem, v.Elem())
	case customForm:
		// A Bound's JSON has no error.
		raw, _ := v.Interface().(json.Marshaler).MarshalJSON()
		w.out = append(w.out, raw...)
	case textForm:
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			w.fault(at, FaultUnknownValue, strconv.FormatUint(v.Uint(), 10), "must be a known "+f.typ.Name())
		}
		w.text(at, string(text))
	case timeForm:
		w.time(at, v.Interface().(time.Time))
	case stringForm:
		w.text(at, v.String())
	case intForm:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case boolForm:
		w.out = strconv.AppendBool(w.out, v.Bool())
	}
}

func (w *jsonWriter) object(at *path, f *jsonForm, v reflect.Value) {
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
		below := at.field(field.name)
		from := len(w.out)
		w.value(&below, field.form, member)
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

func (w *jsonWriter) list(at *path, f *jsonForm, v reflect.Value) {
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		below := at.at(i)
		w.value(&below, f.elem, v.Index(i))
	}
	w.out = append(w.out, ']')
}

func (w *jsonWriter) mapping(at *path, f *jsonForm, v reflect.Value) {
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
		below := at.key(key)
		w.text(&below, key)
		w.out = append(w.out, ':')
		w.value(&below, f.elem, v.MapIndex(reflect.ValueOf(key)))
	}
	w.out = append(w.out, '}')
}

func (w *jsonWriter) time(at *path, t time.Time) {
	t = canonicalTime(t)
	if t.Year() < 0 || t.Year() > 9999 {
		w.fault(at, FaultRange, t.String(), "must be a year of four digits")
		return
	}
	w.out = append(w.out, '"')
	w.out = append(t.AppendFormat(w.out, time.RFC3339Nano), '"')
}

// text writes a string with the escapes of encoding/json, so that a State is
// the same bytes by itself and inside something else.
func (w *jsonWriter) text(at *path, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.escaped(at, s)
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

func (w *jsonWriter) escaped(at *path, s string) {
	if !utf8.ValidString(s) {
		w.fault(at, FaultText, strconv.Quote(s), "must be UTF-8")
		return
	}
	quoted, _ := json.Marshal(s) // a string has no error
	w.out = append(w.out, quoted...)
}
