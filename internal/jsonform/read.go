package jsonform

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// A reader fills Go values from JSON by their forms and collects every fault
// on the way. What it cannot read it skips.
type reader struct {
	scanner
	version int // the document's, as far as it has been read
}

// Read reads a whole document into target, a pointer to the zero struct of the
// form, which [Schema.Document] made. What is not given is left zero, an empty list
// or map as nil, and null for a field is the field's absence.
//
// The error is an [*Error] with all faults; target then holds what could be read.
// After a fault of syntax, or 10,000 others, nothing more is read. The version before is read by its own
// names, if the schema has them. Of a document of another version the version is the
// only fault: its form may well be another one too.
func Read(data []byte, f *Form, target any) error {
	v := reflect.ValueOf(target).Elem()
	r := readWhole(data, f, v)
	// The version may stand anywhere in a document, so that which names it goes by
	// shows only in the end. That a document is old is rare, and is worth a second pass.
	if f.before != nil && r.version == f.before.version {
		v.SetZero()
		r = readWhole(data, f.before, v)
	}
	return faulty(r.faults)
}

// readWhole reads a document of the form's version into v, which is zero.
func readWhole(data []byte, f *Form, v reflect.Value) *reader {
	r := &reader{scanner: scanner{data: data}}
	isObject := r.next() == '{'
	r.value(f, v)
	if r.next(); !r.failed && r.pos < len(data) {
		r.fault(Trailing, "more at offset "+strconv.Itoa(r.pos), "must end after the object")
	}
	if !r.failed && isObject && r.version != f.version {
		r.wrongVersion(f)
	}
	return r
}

// wrongVersion speaks of the version alone where another one is given.
func (r *reader) wrongVersion(f *Form) {
	value, want := "", "must be "+strconv.Itoa(f.version)
	if f.before != nil {
		want += " or " + strconv.Itoa(f.before.version)
	}
	if r.version != 0 {
		r.faults, value = nil, strconv.Itoa(r.version)
	}
	r.enter("version", IsField)
	r.fault(WrongVersion, value, want)
}

// value reads the value that comes next into v.
func (r *reader) value(f *Form, v reflect.Value) {
	c := r.next()
	switch f.Kind {
	case Object:
		r.object(f, v, c)
	case List:
		r.list(f, v, c)
	case Map:
		r.mapping(f, v, c)
	case Pointer:
		target := reflect.New(f.Elem.Type)
		r.value(f.Elem, target.Elem())
		v.Set(target)
	case Custom:
		raw := r.skip(0)
		if !r.failed && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) != nil {
			r.fault(BadValue, clip(raw), f.want)
		}
	case Bool:
		r.boolean(v, c)
	case Int:
		r.integer(v, c)
	default:
		r.words(f, v, c)
	}
}

// unwanted skips the value that comes next and reports it.
func (r *reader) unwanted(code Code, want string) {
	if raw := r.skip(0); !r.failed {
		r.fault(code, clip(raw), want)
	}
}

// mostTold is how many bytes of a value a fault tells: a line of a terminal has room
// for them beside the path and what would be right.
const mostTold = 40

// clip bounds the text of a value in a fault: enough to find it by, on one line.
func clip(raw []byte) string {
	if len(raw) > mostTold {
		return strconv.QuoteToASCII(string(raw[:mostTold])) + "…"
	}
	for _, c := range raw {
		if c < ' ' || c > '~' {
			return strconv.QuoteToASCII(string(raw))
		}
	}
	return string(raw)
}

// quoted is a text in quotes, as clip bounds it.
func quoted(text []byte) string {
	if len(text) > mostTold {
		return strconv.QuoteToASCII(string(text[:mostTold])) + "…"
	}
	return strconv.Quote(string(text))
}

func (r *reader) object(f *Form, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(WrongType, "must be an object")
		return
	}
	r.pos++
	var seen uint64 // by field, of which there are at most maxFields
	hint := 0
	r.entries('}', func(int) {
		name := r.name()
		if r.failed {
			return
		}
		i := f.field(name, hint)
		if i < 0 {
			r.unknownField(name)
			return
		}
		field := &f.Fields[i]
		r.enter(field.Name, IsField)
		if seen&(1<<i) != 0 {
			r.unwanted(DuplicateKey, "must be there once")
		} else {
			r.member(field, v)
		}
		r.leave()
		seen |= 1 << i
		hint = i + 1
	})
}

// unknownField reports and skips a field. A name that is not a plain one is
// quoted in the path.
func (r *reader) unknownField(name []byte) {
	kind := IsField
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			kind = IsKey
		}
	}
	if len(name) == 0 {
		kind = IsKey
	}
	r.enter(string(name), kind)
	r.unwanted(UnknownField, "must not be there: no such field")
	r.leave()
}

// member reads a field of the struct v. null is as good as nothing.
func (r *reader) member(field *Field, v reflect.Value) {
	target := reflect.ValueOf(&r.version).Elem()
	if field.Index != VersionField {
		target = v.Field(field.Index)
	}
	if r.next() == 'n' {
		r.word("null")
		return
	}
	r.value(field.Form, target)
}

// list reads a list; an empty one is left nil.
func (r *reader) list(f *Form, v reflect.Value, c byte) {
	if c != '[' {
		r.unwanted(WrongType, "must be a list")
		return
	}
	r.pos++
	r.entries(']', func(i int) {
		if i >= v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		r.enter("", i)
		r.value(f.Elem, v.Index(i))
		r.leave()
	})
}

// mapping reads a map; an empty one is left nil.
func (r *reader) mapping(f *Form, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(WrongType, "must be an object")
		return
	}
	r.pos++
	elem := reflect.New(f.Elem.Type).Elem()
	r.entries('}', func(int) {
		name := string(r.name())
		if r.failed {
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(f.Type))
		}
		r.enter(name, IsKey)
		if key := reflect.ValueOf(name); v.MapIndex(key).IsValid() {
			r.unwanted(DuplicateKey, "must be there once")
		} else {
			elem.SetZero()
			r.value(f.Elem, elem)
			v.SetMapIndex(key, elem)
		}
		r.leave()
	})
}

func (r *reader) boolean(v reflect.Value, c byte) {
	switch c {
	case 't':
		v.SetBool(r.word("true"))
	case 'f':
		r.word("false")
	default:
		r.unwanted(WrongType, "must be true or false")
	}
}

func (r *reader) integer(v reflect.Value, c byte) {
	if c != '-' && (c < '0' || c > '9') {
		r.unwanted(WrongType, "must be a whole number")
		return
	}
	literal, whole := r.number()
	if r.failed {
		return
	}
	if !whole {
		r.fault(WrongType, clip(literal), "must be a whole number, without fraction or exponent")
		return
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil || v.OverflowInt(n) {
		r.fault(BadValue, clip(literal), "must fit "+strconv.Itoa(v.Type().Bits())+" bits")
		return
	}
	v.SetInt(n)
}

// words reads what JSON writes as a string: names, times and enumerations.
func (r *reader) words(f *Form, v reflect.Value, c byte) {
	if c != '"' {
		r.unwanted(WrongType, "must be a string")
		return
	}
	text := r.text()
	if r.failed {
		return
	}
	switch f.Kind {
	case String:
		v.SetString(string(text))
	case Time:
		t := v.Addr().Interface().(*time.Time)
		if !isTime(text) || t.UnmarshalText(text) != nil {
			r.fault(BadValue, quoted(text), "must be a time such as 2026-01-31T12:00:00Z")
			return
		}
		*t = canonicalTime(*t)
	default:
		if v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil {
			r.fault(UnknownName, quoted(text), KnownValue(f.Type))
		}
	}
}

// isTime says that the text has the shape of a time as of RFC 3339. Package time
// also takes hours of one digit, a comma before the fraction and zones of a day and
// more.
func isTime(text []byte) bool {
	const shape = "0000-00-00T00:00:00"
	if len(text) <= len(shape) || text[len("0000-00-00T00")] != ':' || bytes.IndexByte(text, ',') >= 0 {
		return false
	}
	if zone := text[max(0, len(text)-len("+00:00")):]; zone[0] == '+' || zone[0] == '-' {
		return string(zone[1:3]) < "24" && string(zone[4:]) < "60"
	}
	return true
}

// canonicalTime is the instant in UTC, to the microsecond.
func canonicalTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
