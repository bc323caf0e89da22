package presets_test

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// A turn is a policy that differs from a preset in one knob.
type turn struct {
	// knob is the path of the field in Policy, value what it is turned to.
	knob, value string
	policy      allot.Policy
	// exact: this value must be seen. Of a number that the preset leaves at zero it
	// is enough that one of the values is.
	exact bool
}

// turnsOf are the policies that differ from the one in one knob and that Check
// takes, by reflection over the fields of Policy: a new field is turned from its
// first day. Flags are turned over, enumerations to each other value, numbers to
// their neighbours and to some others; entries of lists are taken away and turned
// field by field. Never are the knobs of which no value is legal.
func turnsOf(t *testing.T, of func() allot.Policy) (turns []turn, never []string) {
	u := &turner{t: t, of: of, legal: make(map[string]bool)}
	u.walk("", func(p *allot.Policy) reflect.Value { return reflect.ValueOf(p).Elem() })
	for knob, some := range u.legal { // each by itself: the order cannot matter
		if !some {
			never = append(never, knob)
		}
	}
	return u.turns, never
}

// A turner collects the turns of a policy.
type turner struct {
	t     *testing.T
	of    func() allot.Policy
	turns []turn
	legal map[string]bool // by knob that is one value: whether another one is
}

// A field is where a knob is in a policy.
type field func(p *allot.Policy) reflect.Value

func (u *turner) add(path, value string, exact bool, set func(p *allot.Policy)) {
	p := u.of()
	set(&p)
	if allot.Check(&allot.State{Pools: []allot.Pool{{ID: "p", Policy: p}}}) == nil {
		u.turns = append(u.turns, turn{path, value, p, exact})
	}
}

// walk turns a field, or what it consists of.
func (u *turner) walk(path string, at field) {
	p := u.of()
	now := at(&p)
	if values := otherValues(now, &p); len(values) > 0 {
		number := now.CanInt() || now.Type() == reflect.TypeFor[quota.Bound]()
		before := len(u.turns)
		for _, v := range values {
			u.add(path, textOf(v), !now.IsZero() || !number, func(p *allot.Policy) { at(p).Set(v) })
		}
		u.legal[path] = len(u.turns) > before
		return
	}
	switch now.Kind() {
	case reflect.Struct:
		u.walkFields(path, at)
		return
	case reflect.Slice:
		for i := range now.Len() {
			entry := path + "." + nameOf(now.Index(i), i)
			u.add(entry, "none", true, func(p *allot.Policy) {
				at(p).Set(reflect.AppendSlice(at(p).Slice3(0, i, i), at(p).Slice(i+1, at(p).Len())))
			})
			if now.Type().Elem().Kind() == reflect.Struct {
				u.walkFields(entry, func(p *allot.Policy) reflect.Value { return at(p).Index(i) })
			}
		}
	}
	values := samples(now.Type(), &p)
	if len(values) == 0 {
		u.t.Errorf("Policy.%s: samples must say how a %s is turned", path, now.Type())
	}
	for _, v := range values {
		u.add(path, textOf(v), false, func(p *allot.Policy) { at(p).Set(v) })
	}
}

// walkFields turns the fields of a struct; the name of an entry says which it is.
func (u *turner) walkFields(path string, at field) {
	p := u.of()
	for i := range at(&p).NumField() {
		name := at(&p).Type().Field(i).Name
		switch {
		case path == "":
			u.walk(name, func(p *allot.Policy) reflect.Value { return at(p).Field(i) })
		case name != "Name":
			u.walk(path+"."+name, func(p *allot.Policy) reflect.Value { return at(p).Field(i) })
		}
	}
}

// otherValues are the values to which a field is turned that is one value; none if
// it is not.
func otherValues(now reflect.Value, p *allot.Policy) (values []reflect.Value) {
	like := func(set func(v reflect.Value)) {
		v := reflect.New(now.Type()).Elem()
		set(v)
		if !reflect.DeepEqual(v.Interface(), now.Interface()) {
			values = append(values, v)
		}
	}
	if bound, ok := now.Interface().(quota.Bound); ok {
		for _, n := range numbers(bound.Amount(), bound.Given()) {
			like(func(v reflect.Value) { v.Set(reflect.ValueOf(quota.Of(n))) })
		}
		like(func(reflect.Value) {}) // absent
		return values
	}
	if text, ok := now.Interface().(encoding.TextMarshaler); ok && now.Kind() == reflect.Uint8 {
		for n := range 256 {
			like(func(v reflect.Value) {
				v.SetUint(uint64(n))
				if _, err := v.Interface().(encoding.TextMarshaler).MarshalText(); err != nil {
					v.Set(reflect.ValueOf(text)) // no value
				}
			})
		}
		return values
	}
	switch now.Kind() {
	case reflect.Bool:
		like(func(v reflect.Value) { v.SetBool(!now.Bool()) })
	case reflect.Int, reflect.Int32, reflect.Int64:
		for _, n := range numbers(now.Int(), now.Int() != 0) {
			like(func(v reflect.Value) { v.SetInt(n) })
		}
	case reflect.String:
		for _, text := range append([]string{"", "other"}, classNames(p)...) {
			like(func(v reflect.Value) { v.SetString(text) })
		}
	}
	return values
}

// numbers are those to which a number is turned: a given one to what is just beside
// it and to none, one that is not given to several that may mean something.
func numbers(n int64, given bool) []int64 {
	if given {
		return []int64{n - 1, n + 1, 0}
	}
	return []int64{0, 1, 2, 10, 100, 2000, 3600}
}

// samples are the values to which a list or map is turned as a whole.
func samples(of reflect.Type, p *allot.Policy) (values []reflect.Value) {
	switch of {
	case reflect.TypeFor[[]allot.Class]():
		// Another class is one that nobody names.
		return []reflect.Value{reflect.ValueOf([]allot.Class(nil))}
	case reflect.TypeFor[[]allot.ExitAction]():
		return []reflect.Value{reflect.ValueOf([]allot.ExitAction{{Code: p.PreemptedExitCode, Action: allot.Fail}})}
	case reflect.TypeFor[[]allot.MixShape]():
		request := allot.Request{GPU: allot.GPURequest{Count: 2}}
		return []reflect.Value{reflect.ValueOf([]allot.MixShape{{Request: request, Weight: 1}})}
	case reflect.TypeFor[map[string]int64]():
		return []reflect.Value{
			reflect.ValueOf(map[string]int64{allot.GPU: 500}), reflect.ValueOf(map[string]int64{allot.GPU: 2000}),
		}
	}
	return nil
}

func classNames(p *allot.Policy) (names []string) {
	for i := range p.Classes {
		names = append(names, p.Classes[i].Name)
	}
	return names
}

// nameOf is how an entry of a list is named: by its name, else by its place.
func nameOf(v reflect.Value, i int) string {
	if v.Kind() == reflect.Struct {
		if name := v.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String {
			return name.String()
		}
	}
	return strconv.Itoa(i)
}

// textOf is a value as the table has it.
func textOf(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case quota.Bound:
		if !value.Given() {
			return "none"
		}
		return strconv.FormatInt(value.Amount(), 10)
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		if err != nil {
			return err.Error()
		}
		return string(text)
	case string:
		return cmp.Or(value, "none")
	case bool:
		if value {
			return "yes"
		}
		return "no"
	}
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return "none"
	}
	return strings.ReplaceAll(fmt.Sprint(v.Interface()), " ", ",")
}
