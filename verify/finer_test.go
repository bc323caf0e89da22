package verify_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
	"github.com/allotsched/allot/verify"
)

// TestFinerDigits: digits of the times of a state that are finer than a microsecond are dropped: the plan of the
// state without them is lawful with them, and so is that of the state with them.
func TestFinerDigits(t *testing.T) {
	for _, s := range solvedStates(t) {
		p, err := allot.Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		finer(reflect.ValueOf(s).Elem(), new(time.Duration))
		if err := verify.Plan(s, p); err != nil {
			t.Errorf("without: %v\n%s", err, scenario.Format(s))
		}
		if p, err = allot.Solve(s); err != nil {
			t.Fatal(err)
		}
		if err := verify.Plan(s, p); err != nil {
			t.Errorf("with: %v\n%s", err, scenario.Format(s))
		}
	}
}

// finer adds to every time that is set less than a microsecond, to each another.
func finer(v reflect.Value, last *time.Duration) {
	const step, most = 317 * time.Nanosecond, time.Microsecond
	if at, is := v.Interface().(time.Time); is {
		if *last = (*last + step) % most; !at.IsZero() {
			v.Set(reflect.ValueOf(at.Truncate(most).Add(*last)))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				finer(v.Field(i), last)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			finer(v.Index(i), last)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			finer(v.Elem(), last)
		}
	}
}
