package jsonform

import (
	"reflect"
	"slices"
	"testing"
)

// An enumeration has its texts in the order of its values, and nothing else has any.
func TestValues(t *testing.T) {
	if got := Values(reflect.TypeFor[binding]()); !slices.Equal(got, []string{"paper", "cloth"}) {
		t.Errorf("got %q", got)
	}
	for _, other := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[uint8]()} {
		if got := Values(other); got != nil {
			t.Errorf("%v has %q", other, got)
		}
	}
	if got := KnownValue(reflect.TypeFor[uint8]()); got != "must be a known uint8" {
		t.Errorf("got %q", got)
	}
}
