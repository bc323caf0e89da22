package allot

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// A jsonReader fills Go values from JSON by their forms and collects every fault
// on the way. What it cannot read it skips.
type jsonReader struct {
	jsonScanner
	version int
}

// readDocument reads a whole document into target, a pointer to the struct of
// the form, which is zero. The error is an *InvalidError.
func readDocument(data []byte, f *jsonForm, target any) error {
	r := jsonReader{jsonScanner: jsonScanner{data: data}}
	at := root()
	isObject := r.next() == '{'
	r.value(&at, f, reflect.ValueOf(target).Elem())
	if r.next(); !r.failed && r.pos < len(data) {
		r.fault(&at, FaultTrailing, "more at offset "+strconv.Itoa(r.pos), "must end after the object")
	}
	if !r.failed && isObject && r.version != schemaVersion {
		r.wrongVersion(&at)
	}
	return invalid(r.faults)
}

// wrongVersion speaks of the version alone where another one is given: its
// form may well be another one too.
func (r *jsonReader) wrongVersion(at *path) {
	version, value := at.field("version"), ""
	if r.version != 0 {
		r.faults, value = nil, strconv.Itoa(r.version)
	}
	r.fault(&version, FaultVersion, value, "must be "+strconv.Itoa(schemaVersion))
}

// value reads the value that comes next into v.
func (r *jsonReader) value(at *path, f *jsonForm, v reflect.Value) {
	c := r.next()
	switch f.kind {
	case objectForm:
		r.object(at, f, v, c)
	case listForm:
		r.list(at, f, v, c)
	case mapForm:
		r.mapping(at, f, v, c)
	case pointerForm:
		target := reflect.New(f.elem.typ)
		r.value(at, f.elem, target.Elem())
		v.Set(target)
	case customForm:
		raw := r.skip(at, 0)
		if !r.failed && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) != nil {
			r.fault(at, FaultFormat, clip(raw), `must be a whole number or "unlimited"`)
		}
	case boolForm:
		r.boolean(at, v, c)
	case intForm:
		r.integer(at, v, c)
	default:
		r.words(at, f, v, c)
	}
}

// unwanted skips the value that comes next and reports it.
func (r *jsonReader) unwanted(at *path, code FaultCode, want string) {
	if raw := r.skip(at, 0); !r.failed {
		r.fault(at, code, clip(raw), want)
	}
}

// clip bounds the text of a value in a fault.
func clip(raw []byte) string {
	const most = 40
	if len(raw) > most {
		return strconv.QuoteToASCII(string(raw[:most])) + "…"
	}
	for _, c := range raw {
		if c < ' ' || c > '~' {
			return strconv.QuoteToASCII(string(raw))
		}
	}
	return string(raw)
}

func (r *jsonReader) object(at *path, f *jsonForm, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(at, FaultType, "must be an object")
		return
	}
	r.pos++
	var seen uint64 // by field; no struct of the surface has 64
	hint := 0
	r.entries(at, '}', func(int) {
		name := r.name(at)
		if r.failed {
			return
		}
		i := f.field(name, hint)
		if i < 0 {
			unknown := at.field(clip(name))
			r.unwanted(&unknown, FaultUnknownField, "must not be there: no such field")
			return
		}
		field := &f.fields[i]
		below := at.field(field.name)
		if seen&(1<<i) != 0 {
			r.unwanted(&below, FaultDuplicateKey, "must be there once")
			return
		}
		seen |= 1 << i
		hint = i + 1
		r.member(&below, field, v)
	})
}

// member reads a field of the struct v. null is as good as nothing.
func (r *jsonReader) member(at *path, field *jsonField, v reflect.Value) {
	target := reflect.ValueOf(&r.version).Elem()
	if field.index != versionField {
		target = v.Field(field.index)
	}
	if r.next() == 'n' {
		r.word(at, "null")
		return
	}
	r.value(at, field.form, target)
}

// list reads a list; an empty one is left nil.
func (r *jsonReader) list(at *path, f *jsonForm, v reflect.Value, c byte) {
	if c != '[' {
		r.unwanted(at, FaultType, "must be a list")
		return
	}
	r.pos++
	r.entries(at, ']', func(i int) {
		if i >= v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero()
		below := at.at(i)
		r.value(&below, f.elem, v.Index(i))
	})
}

// mapping reads a map; an empty one is left nil.
func (r *jsonReader) mapping(at *path, f *jsonForm, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(at, FaultType, "must be an object")
		return
	}
	r.pos++
	elem := reflect.New(f.elem.typ).Elem()
	r.entries(at, '}', func(int) {
		name := string(r.name(at))
		if r.failed {
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(f.typ))
		}
		below := at.key(name)
		key := reflect.ValueOf(name)
		if v.MapIndex(key).IsValid() {
			r.unwanted(&below, FaultDuplicateKey, "must be there once")
			return
		}
		elem.SetZero()
		r.value(&below, f.elem, elem)
		v.SetMapIndex(key, elem)
	})
}

func (r *jsonReader) boolean(at *path, v reflect.Value, c byte) {
	switch c {
	case 't':
		v.SetBool(r.word(at, "true"))
	case 'f':
		r.word(at, "false")
	default:
		r.unwanted(at, FaultType, "must be true or false")
	}
}

func (r *jsonReader) integer(at *path, v reflect.Value, c byte) {
	if c != '-' && (c < '0' || c > '9') {
		r.unwanted(at, FaultType, "must be a whole number")
		return
	}
	literal, whole := r.number(at)
	if r.failed {
		return
	}
	if !whole {
		r.fault(at, FaultType, clip(literal), "must be a whole number, without fraction or exponent")
		return
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil || v.OverflowInt(n) {
		r.fault(at, FaultFormat, clip(literal), "must fit "+strconv.Itoa(v.Type().Bits())+" bits")
		return
	}
	v.SetInt(n)
}

// words reads what JSON writes as a string: names, times and enumerations.
func (r *jsonReader) words(at *path, f *jsonForm, v reflect.Value, c byte) {
	if c != '"' {
		r.unwanted(at, FaultType, "must be a string")
		return
	}
	text := r.text(at)
	if r.failed {
		return
	}
	switch f.kind {
	case stringForm:
		v.SetString(string(text))
	case timeForm:
		t := v.Addr().Interface().(*time.Time)
		if t.UnmarshalText(text) != nil {
			r.fault(at, FaultFormat, strconv.Quote(string(text)), "must be a time such as 2026-01-31T12:00:00Z")
			return
		}
		*t = canonicalTime(*t)
	default:
		if v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil {
			r.fault(at, FaultUnknownValue, strconv.Quote(string(text)), "must be a known "+f.typ.Name())
		}
	}
}

// canonicalTime is the instant in UTC at the precision that counts.
func canonicalTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
