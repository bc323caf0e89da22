package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// marshalName returns the name of an enumeration's value; a value without a
// name is an error.
func marshalName(kind string, names []string, value uint8) ([]byte, error) {
	if int(value) >= len(names) {
		return nil, fmt.Errorf("placement: no %s has the number %d", kind, value)
	}
	return []byte(names[value]), nil
}

// unmarshalName finds a value by its exact name.
func unmarshalName(kind string, names []string, text []byte) (uint8, error) {
	for i, name := range names {
		if name == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("placement: unknown %s %q: there is %s", kind, text, strings.TrimPrefix(strings.Join(names, ", "), ", "))
}

// nameOf is for String: it never fails.
func nameOf(kind string, names []string, value uint8) string {
	if int(value) < len(names) {
		return names[value]
	}
	return kind + "(" + strconv.Itoa(int(value)) + ")"
}
