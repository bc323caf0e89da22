package allot

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/internal/prose"
	"github.com/allotsched/allot/quota"
)

// V1: on any bytes there is an answer: faults that all have a path and a code,
// or a state whose JSON comes back the same.
func FuzzStateJSON(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "json", "state.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	for _, row := range jsonRows {
		f.Add([]byte(row.data))
	}
	for _, row := range faultRows {
		s := sound()
		row.spoil(s)
		if data, err := s.MarshalJSON(); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if err := s.UnmarshalJSON(data); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		if err := Check(&s); err != nil {
			wantPlacedFaults(t, err)
			return
		}
		roundTrip(t, &s)
		if tasksOf(&s) <= 10_000 { // a few bytes may ask for millions: lawful, and slow
			solveLawfully(t, &s)
		}
	})
}

// solveLawfully fails unless the state gets a plan that Verify passes, within
// the budget, and the state after it is at rest.
func solveLawfully(t fataler, s *State) {
	p, err := Solve(s)
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	j := &Judged{State: s, Plan: p}
	for _, broken := range []error{VerifyPlan(s, p), withinBudget(j), atRest(j)} {
		if broken != nil {
			t.Fatalf("%v", broken)
		}
	}
}

func wantPlacedFaults(t *testing.T, err error) {
	t.Helper()
	var all *InvalidError
	if !errors.As(err, &all) || len(all.Faults) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	for _, f := range all.Faults {
		if f.Path == "" || f.Want == "" || !prose.Known(faultNames[:], f.Code) {
			t.Fatalf("bare fault %#v", f)
		}
	}
}

// An extreme is a place of a state, and how to put something there.
type extreme struct {
	path string
	put  func(what int) bool // false where there are no so many extremes of its type
}

// extremesOf lists every value of a state that Solve reads, with its path in the JSON form.
func extremesOf(v reflect.Value, path string) (out []extreme) {
	add := func(values ...any) {
		out = append(out, extreme{path, func(what int) bool {
			if what >= len(values) {
				return false
			}
			v.Set(reflect.ValueOf(values[what]).Convert(v.Type()))
			return true
		}})
	}
	switch v.Interface().(type) {
	case time.Time:
		add(time.Time{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MinInt64, 0), time.Date(1970, 1, 1, 0, 0, 0, 1, time.UTC))
		return out
	case quota.Bound:
		add(quota.Bound{}, quota.Of(0), quota.Of(1), quota.Of(-1), quota.Of(math.MaxInt64), quota.Of(math.MinInt64), quota.Of(1<<53-1), quota.Of(1<<53), quota.Unlimited())
		return out
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name == "" {
					name = f.Name
				}
				out = append(out, extremesOf(v.Field(i), strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, extremesOf(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		out = append(out, extreme{path, func(what int) bool {
			switch {
			case what == 0 && v.Len() > 0: // twice
				v.Set(reflect.Append(v, v.Index(v.Len()-1)))
			case what == 1:
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			case what == 2:
				v.Set(reflect.Zero(v.Type()))
			}
			return what < 3
		}})
	case reflect.Map:
		out = append(out, extreme{path, func(what int) bool {
			keys := []string{"", "gpu", "cpu", "nobody", "gpu", "cpu", "cpu", "cpu", "nvidia.com/gpu", "\xff"}
			amounts := []int64{1, -1, -1, math.MaxInt64, math.MaxInt64, 1<<53 - 1, 1 << 53, math.MinInt64, 0, 1}
			if what >= len(keys) {
				return false
			}
			m := reflect.MakeMap(v.Type())
			for _, k := range v.MapKeys() {
				m.SetMapIndex(k, v.MapIndex(k))
			}
			one := reflect.New(v.Type().Elem()).Elem()
			switch one.Kind() {
			case reflect.Int64:
				one.SetInt(amounts[what])
			case reflect.String:
				one.SetString("\xff")
			}
			m.SetMapIndex(reflect.ValueOf(keys[what]).Convert(v.Type().Key()), one)
			v.Set(m)
			return true
		}})
	case reflect.Int, reflect.Int64:
		add(int64(0), int64(1), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<53-1), int64(1<<53), int64(1<<31), int64(65))
	case reflect.Int32:
		add(int32(0), int32(-1), int32(math.MaxInt32), int32(math.MinInt32))
	case reflect.Uint8:
		add(uint8(0), uint8(1), uint8(2), uint8(7), uint8(255))
	case reflect.String:
		add("", "n0", "q0", "w0", "nobody", "\xff", "a\nb", strings.Repeat("x", 5000))
	case reflect.Bool:
		add(true, false)
	case reflect.Pointer:
		if !v.IsNil() {
			out = append(out, extremesOf(v.Elem(), path)...)
		}
		out = append(out, extreme{path, func(what int) bool {
			if what == 0 {
				v.Set(reflect.New(v.Type().Elem()))
			} else if what == 1 {
				v.Set(reflect.Zero(v.Type()))
			}
			return what < 2
		}})
	default:
		panic(path + ": " + v.Type().String())
	}
	return out
}

// TestExtremes sets fields of drawn states to every extreme of its type: Solve gives
// a plan that is lawful, or faults of which each says where it is, and what would be right.
func TestExtremes(t *testing.T) {
	for seed := range deep.Seeds(t, 16) {
		family := Families[[]int{0, 3, 4, 5}[seed%4]]
		count := len(extremesOf(reflect.ValueOf(family.Draw(seed)).Elem(), ""))
		for at := int(seed) % 16; at < count; at += 16 {
			for what := 0; ; what++ {
				s := family.Draw(seed)
				one := extremesOf(reflect.ValueOf(s).Elem(), "")[at]
				if !one.put(what) {
					break
				}
				if err := judgeExtreme(s); err != nil {
					t.Errorf("%s, seed %d, %s, extreme %d: %v", family.Name, seed, one.path, what, err)
				}
			}
		}
	}
}

func judgeExtreme(s *State) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	began := time.Now()
	plan, err := Solve(s)
	if took := time.Since(began); took > 2*time.Second {
		return fmt.Errorf("took %v", took)
	}
	if err == nil {
		return VerifyPlan(s, plan)
	}
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		return fmt.Errorf("no fault with a path: %w", err)
	}
	for _, f := range invalid.Faults {
		if f.Path == "" || f.Code == 0 || !strings.HasPrefix(f.Want, "must ") {
			return fmt.Errorf("a fault without path or code, or that does not say what must be: %+v", f)
		}
	}
	return nil
}
