package jsonform

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// A writer makes the JSON of a value by its form. Equal values have equal
// bytes: fields in the order of the struct, maps by key, times in UTC, and
// what is absent, zero or empty is left out where the field's tag allows it.
type writer struct {
	out    []byte
	faults []Fault
	steps  Path // to the value that is being written
}

// Write is the JSON of the struct that v points to, by its form: one value, one
// sequence of bytes. The error is an [*Error] for what JSON cannot hold: text that is
// not UTF-8, an enumeration's unknown value, a year of more than four digits.
func Write(f *Form, v any) ([]byte, error) {
	w := writer{}
	w.object(f, reflect.ValueOf(v).Elem())
	if err := faulty(w.faults); err != nil {
		return nil, err
	}
	return w.out, nil
}

// Text is the JSON of one value of the form, as far as JSON can hold it.
func (f *Form) Text(v reflect.Value) string {
	var w writer
	w.value(f, v)
	return string(w.out)
}

func (w *writer) fault(code Code, value, want string) {
	w.faults = append(w.faults, Fault{Path: w.steps.String(), Code: code, Value: value, Want: want})
}

// below writes what is one step further down.
func (w *writer) below(name string, index int, f *Form, v reflect.Value) {
	w.steps = append(w.steps, Step{Name: name, Index: index})
	w.value(f, v)
	w.steps = w.steps[:len(w.steps)-1]
}

func (w *writer) value(f *Form, v reflect.Value) {
	switch f.Kind {
	case Object:
		w.object(f, v)
	case List:
		w.list(f, v)
	case Map:
		w.mapping(f, v)
	case Pointer:
		w.value(f.Elem, v.Elem())
	case Custom:
		// The schema holds that this does not fail.
		raw, _ := v.Interface().(json.Marshaler).MarshalJSON()
		w.out = append(w.out, raw...)
	case Text:
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			w.fault(UnknownName, strconv.FormatUint(v.Uint(), 10), KnownValue(f.Type))
		}
		w.text(string(text))
	case Time:
		w.time(v.Interface().(time.Time))
	case String:
		w.text(v.String())
	case Int:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case Bool:
		w.out = strconv.AppendBool(w.out, v.Bool())
	}
}

func (w *writer) object(f *Form, v reflect.Value) {
	w.out = append(w.out, '{')
	start := len(w.out)
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Index == VersionField {
			w.out = append(w.out, `"version":`+strconv.Itoa(f.version)...)
			continue
		}
		member := v.Field(field.Index)
		if field.Omit && field.Form.Absent(member) {
			continue
		}
		before := len(w.out)
		if before > start {
			w.out = append(w.out, ',')
		}
		w.out = append(w.out, '"')
		w.out = append(append(w.out, field.Name...), `":`...)
		from := len(w.out)
		w.below(field.Name, IsField, field.Form, member)
		// A struct of nothing but empty lists is as absent as a zero one.
		if field.Omit && field.Form.Kind == Object && len(w.out)-from == len("{}") {
			w.out = w.out[:before]
		}
	}
	w.out = append(w.out, '}')
}

func (w *writer) list(f *Form, v reflect.Value) {
	w.out = append(w.out, '[')
	for i := range v.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.below("", i, f.Elem, v.Index(i))
	}
	w.out = append(w.out, ']')
}

func (w *writer) mapping(f *Form, v reflect.Value) {
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
		w.below(key, IsKey, f.Elem, v.MapIndex(reflect.ValueOf(key)))
	}
	w.out = append(w.out, '}')
}

func (w *writer) time(t time.Time) {
	t = canonicalTime(t)
	if t.Year() < 0 || t.Year() > 9999 {
		w.fault(OutOfRange, t.String(), "must be a year of four digits")
		return
	}
	w.out = append(w.out, '"')
	w.out = append(t.AppendFormat(w.out, time.RFC3339Nano), '"')
}

// text writes a string with the escapes of encoding/json, so that a document
// is the same bytes by itself and inside something else.
func (w *writer) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			w.escaped(s)
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

func (w *writer) escaped(s string) {
	if !utf8.ValidString(s) {
		w.fault(BadText, strconv.Quote(s), "must be UTF-8")
		return
	}
	quoted, _ := json.Marshal(s) // a string has no error
	w.out = append(w.out, quoted...)
}
