package jsonform

import (
	"encoding"
	"math"
	"reflect"
	"strings"
)

// Values are the texts of an enumeration in the order of its values: all that a Text form
// takes but for the empty one, which is the field's absence. Another type has none.
func Values(t reflect.Type) []string {
	if t.Kind() != reflect.Uint8 {
		return nil
	}
	var texts []string
	for n := range math.MaxUint8 + 1 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(n))
		value, ok := v.Interface().(encoding.TextMarshaler)
		if !ok {
			return nil
		}
		if text, err := value.MarshalText(); err == nil && len(text) > 0 {
			texts = append(texts, string(text))
		}
	}
	return texts
}

// mostListed is how many values an error lists; a reader of more is better served by
// their documentation.
const mostListed = 16

// KnownValue is what a value of an enumeration must be, as the end of a sentence: one of
// a few that are listed, or a known one of many.
func KnownValue(t reflect.Type) string {
	texts := Values(t)
	if len(texts) == 0 || len(texts) > mostListed {
		return "must be a known " + t.Name()
	}
	last := len(texts) - 1
	if last == 0 {
		return "must be " + texts[0]
	}
	return "must be " + strings.Join(texts[:last], ", ") + " or " + texts[last]
}
