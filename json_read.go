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
	isObject := r.next() == '{'
	r.value(f, reflect.ValueOf(target).Elem())
	if r.next(); !r.failed && r.pos < len(data) {
		r.fault(FaultTrailing, "more at offset "+strconv.Itoa(r.pos), "must end after the object")
	}
	if !r.failed && isObject && r.version != schemaVersion {
		r.wrongVersion()
	}
	return invalid(r.faults)
}

// wrongVersion speaks of the version alone where another one is given: its
// form may well be another one too.
func (r *jsonReader) wrongVersion() {
	value := ""
	if r.version != 0 {
		r.faults, value = nil, strconv.Itoa(r.version)
	}
	r.enter("version", isField)
	r.fault(FaultVersion, value, "must be "+strconv.Itoa(schemaVersion))
}

// value reads the value that comes next into v.
func (r *jsonReader) value(f *jsonForm, v reflect.Value) {
	c := r.next()
	switch f.kind {
	case objectForm:
		r.object(f, v, c)
	case listForm:
		r.list(f, v, c)
	case mapForm:
		r.mapping(f, v, c)
	case pointerForm:
		target := reflect.New(f.elem.typ)
		r.value(f.elem, target.Elem())
		v.Set(target)
	case customForm:
		raw := r.skip(0)
		if !r.failed && v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) != nil {
			r.fault(FaultFormat, clip(raw), `must be a whole number or "unlimited"`)
		}
	case boolForm:
		r.boolean(v, c)
	case intForm:
		r.integer(v, c)
	default:
		r.words(f, v, c)
	}
}

// unwanted skips the value that comes next and reports it.
func (r *jsonReader) unwanted(code FaultCode, want string) {
	if raw := r.skip(0); !r.failed {
		r.fault(code, clip(raw), want)
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

func (r *jsonReader) object(f *jsonForm, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(FaultType, "must be an object")
		return
	}
	r.pos++
	var seen uint64 // by field; no struct of the surface has 64
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
		field := &f.fields[i]
		r.enter(field.name, isField)
		if seen&(1<<i) != 0 {
			r.unwanted(FaultDuplicateKey, "must be there once")
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
func (r *jsonReader) unknownField(name []byte) {
	kind := isField
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			kind = isKey
		}
	}
	if len(name) == 0 {
		kind = isKey
	}
	r.enter(string(name), kind)
	r.unwanted(FaultUnknownField, "must not be there: no such field")
	r.leave()
}

// member reads a field of the struct v. null is as good as nothing.
func (r *jsonReader) member(field *jsonField, v reflect.Value) {
	target := reflect.ValueOf(&r.version).Elem()
	if field.index != versionField {
		target = v.Field(field.index)
	}
	if r.next() == 'n' {
		r.word("null")
		return
	}
	r.value(field.form, target)
}

// list reads a list; an empty one is left nil.
func (r *jsonReader) list(f *jsonForm, v reflect.Value, c byte) {
	if c != '[' {
		r.unwanted(FaultType, "must be a list")
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
		r.value(f.elem, v.Index(i))
		r.leave()
	})
}

// mapping reads a map; an empty one is left nil.
func (r *jsonReader) mapping(f *jsonForm, v reflect.Value, c byte) {
	if c != '{' {
		r.unwanted(FaultType, "must be an object")
		return
	}
	r.pos++
	elem := reflect.New(f.elem.typ).Elem()
	r.entries('}', func(int) {
		name := string(r.name())
		if r.failed {
			return
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(f.typ))
		}
		r.enter(name, isKey)
		if key := reflect.ValueOf(name); v.MapIndex(key).IsValid() {
			r.unwanted(FaultDuplicateKey, "must be there once")
		} else {
			elem.SetZero()
			r.value(f.elem, elem)
			v.SetMapIndex(key, elem)
		}
		r.leave()
	})
}

func (r *jsonReader) boolean(v reflect.Value, c byte) {
	switch c {
	case 't':
		v.SetBool(r.word("true"))
	case 'f':
		r.word("false")
	default:
		r.unwanted(FaultType, "must be true or false")
	}
}

func (r *jsonReader) integer(v reflect.Value, c byte) {
	if c != '-' && (c < '0' || c > '9') {
		r.unwanted(FaultType, "must be a whole number")
		return
	}
	literal, whole := r.number()
	if r.failed {
		return
	}
	if !whole {
		r.fault(FaultType, clip(literal), "must be a whole number, without fraction or exponent")
		return
	}
	n, err := strconv.ParseInt(string(literal), 10, 64)
	if err != nil || v.OverflowInt(n) {
		r.fault(FaultFormat, clip(literal), "must fit "+strconv.Itoa(v.Type().Bits())+" bits")
		return
	}
	v.SetInt(n)
}

// words reads what JSON writes as a string: names, times and enumerations.
func (r *jsonReader) words(f *jsonForm, v reflect.Value, c byte) {
	if c != '"' {
		r.unwanted(FaultType, "must be a string")
		return
	}
	text := r.text()
	if r.failed {
		return
	}
	switch f.kind {
	case stringForm:
		v.SetString(string(text))
	case timeForm:
		t := v.Addr().Interface().(*time.Time)
		if t.UnmarshalText(text) != nil {
			r.fault(FaultFormat, strconv.Quote(string(text)), "must be a time such as 2026-01-31T12:00:00Z")
			return
		}
		*t = canonicalTime(*t)
	default:
		if v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text) != nil {
			r.fault(FaultUnknownValue, strconv.Quote(string(text)), "must be a known "+f.typ.Name())
		}
	}
}

// canonicalTime is the instant in UTC at the precision that counts.
func canonicalTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
