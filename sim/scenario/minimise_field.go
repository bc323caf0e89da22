package scenario

import (
	"reflect"
	"slices"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

// What stands alone: every field, entry and number of a state, whatever it
// means. Going by the types, this knows what is added to them.

// A hop is a step from a value to one in it: a field, an entry of a list, or
// one of a map; what a pointer points to is the same place.
type hop struct {
	index int
	key   string // of a map, where index is isKey
}

const isKey = -1

// place finds the value at a place; not valid if it is no longer there. One in
// a map cannot be set.
func place(v reflect.Value, at []hop) reflect.Value {
	for _, h := range at {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Struct:
			v = v.Field(h.index)
		case reflect.Slice:
			if h.index >= v.Len() {
				return reflect.Value{}
			}
			v = v.Index(h.index)
		case reflect.Map:
			if v = v.MapIndex(reflect.ValueOf(h.key)); !v.IsValid() {
				return v
			}
		default:
			return reflect.Value{}
		}
	}
	return v
}

// replace puts a value at a place, if there is another one.
func replace(s *allot.State, at []hop, fresh reflect.Value) bool {
	old := place(reflect.ValueOf(s).Elem(), at)
	if !old.IsValid() || same(old, fresh) {
		return false
	}
	last := at[len(at)-1]
	if last.index == isKey {
		place(reflect.ValueOf(s).Elem(), at[:len(at)-1]).SetMapIndex(reflect.ValueOf(last.key), fresh)
		return true
	}
	if !old.CanSet() {
		return false
	}
	old.Set(fresh)
	return true
}

func same(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }

// fieldSteps are the steps that each change one thing, for a state of this
// size: the whole before its parts.
func fieldSteps(s *allot.State) []step {
	w := fieldWalk{}
	w.parts(reflect.ValueOf(s).Elem())
	return w.steps
}

type fieldWalk struct {
	steps []step
	at    []hop
}

func (w *fieldWalk) below(h hop, v reflect.Value) {
	w.at = append(w.at, h)
	w.value(v)
	w.at = w.at[:len(w.at)-1]
}

// value has what is not zero be so, and then its parts.
func (w *fieldWalk) value(v reflect.Value) {
	if v.IsZero() {
		return
	}
	at, zero := slices.Clone(w.at), reflect.Zero(v.Type())
	w.steps = append(w.steps, trying(func(s *allot.State) bool { return replace(s, at, zero) }))
	w.parts(v)
}

func (w *fieldWalk) parts(v reflect.Value) {
	at := slices.Clone(w.at)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.parts(v.Elem())
		}
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice:
		for i := v.Len() - 1; i >= 0; i-- {
			w.steps = append(w.steps, trying(func(s *allot.State) bool { return dropEntry(s, at, i) }))
		}
		for i := range v.Len() {
			if kind := v.Index(i).Kind(); kind == reflect.Struct {
				w.at = append(w.at, hop{index: i})
				w.parts(v.Index(i))
				w.at = w.at[:len(w.at)-1]
			}
		}
	case reflect.Map:
		for _, key := range sortedNames(v) {
			w.steps = append(w.steps, trying(func(s *allot.State) bool { return dropKey(s, at, key) }))
			w.below(hop{index: isKey, key: key}, v.MapIndex(reflect.ValueOf(key)))
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		w.steps = append(w.steps, lowerInt(at))
	}
}

func (w *fieldWalk) fields(v reflect.Value) {
	at := slices.Clone(w.at)
	switch x := v.Interface().(type) {
	case time.Time:
		for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
			w.steps = append(w.steps, trying(func(s *allot.State) bool {
				t := place(reflect.ValueOf(s).Elem(), at)
				return t.IsValid() && replace(s, at, reflect.ValueOf(t.Interface().(time.Time).Truncate(unit)))
			}))
		}
	case quota.Bound:
		if x.Given() && !x.IsUnlimited() {
			w.steps = append(w.steps, lowerBound(at))
		}
	default:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && name != "ID" {
				w.below(hop{index: i}, v.Field(i))
			}
		}
	}
}

func sortedNames(m reflect.Value) []string {
	var names []string
	for _, key := range m.MapKeys() { // sorted before use
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names
}

// dropEntry takes an entry out of a list.
func dropEntry(s *allot.State, at []hop, i int) bool {
	list := place(reflect.ValueOf(s).Elem(), at)
	if !list.IsValid() || i >= list.Len() {
		return false
	}
	list.Set(reflect.AppendSlice(list.Slice(0, i), list.Slice(i+1, list.Len())))
	return true
}

// dropKey takes an entry out of a map.
func dropKey(s *allot.State, at []hop, key string) bool {
	m := place(reflect.ValueOf(s).Elem(), at)
	if !m.IsValid() || !m.MapIndex(reflect.ValueOf(key)).IsValid() {
		return false
	}
	m.SetMapIndex(reflect.ValueOf(key), reflect.Value{})
	return true
}

func lowerInt(at []hop) step {
	return func(m *minimiser) bool {
		v := place(reflect.ValueOf(&m.state).Elem(), at)
		if !v.IsValid() {
			return false
		}
		return m.lower(v.Int(), func(s *allot.State, n int64) bool {
			old := place(reflect.ValueOf(s).Elem(), at)
			return old.IsValid() && replace(s, at, reflect.ValueOf(n).Convert(old.Type()))
		})
	}
}

func lowerBound(at []hop) step {
	return func(m *minimiser) bool {
		v := place(reflect.ValueOf(&m.state).Elem(), at)
		if !v.IsValid() {
			return false
		}
		b := v.Interface().(quota.Bound)
		if !b.Given() || b.IsUnlimited() {
			return false
		}
		return m.lower(b.Amount(), func(s *allot.State, n int64) bool { return replace(s, at, reflect.ValueOf(quota.Of(n))) })
	}
}

// lower makes a number nearer to 0 for as long as that is still shown.
func (m *minimiser) lower(n int64, set func(*allot.State, int64) bool) (changed bool) {
	for lowered := true; lowered && n != 0; {
		lowered = false
		for _, next := range lowerNumbers(n) {
			if m.try(func(s *allot.State) bool { return set(s, next) }) {
				n, lowered, changed = next, true, true
				break
			}
		}
	}
	return changed
}

// The units in which numbers stay round, the coarsest first: of bytes, and of
// all else.
var (
	roundBytes   = []int64{1 << 40, 1 << 30, 1 << 20}
	roundNumbers = []int64{1_000_000, 1000, 500, 100, 10, 1}
)

// lowerNumbers are the numbers that are tried in place of n, the smallest first:
// 0, one unit, rounder ones, and n less a half of it, a quarter, and so on down
// to a unit. The unit is the coarsest of which n is a multiple.
func lowerNumbers(n int64) (numbers []int64) {
	if n < 0 {
		for _, up := range lowerNumbers(-max(n, -allot.MaxAmount)) {
			numbers = append(numbers, -up)
		}
		return numbers
	}
	units := roundNumbers
	if n%(1<<20) == 0 {
		units = roundBytes
	}
	at := slices.IndexFunc(units, func(u int64) bool { return n%u == 0 })
	unit := units[at]
	numbers = []int64{0, unit}
	for _, coarser := range units[:at] {
		numbers = append(numbers, n-n%coarser)
	}
	for part := n / unit / 2; part > 0; part /= 2 {
		numbers = append(numbers, n-part*unit)
	}
	slices.Sort(numbers)
	return slices.DeleteFunc(slices.Compact(numbers), func(x int64) bool { return x >= n })
}
