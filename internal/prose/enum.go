package prose

import (
	"fmt"
	"strconv"
)

// Known reports whether an enumeration has the value, that is, whether the list of
// its names has a text for it.
func Known[E ~uint8](names []string, value E) bool {
	return int(value) < len(names) && names[value] != ""
}

// Name is the text of an enumeration's value. One that is not known is told by the
// type and its number: "Phase(7)".
func Name[E ~uint8](kind string, names []string, value E) string {
	if !Known(names, value) {
		return kind + "(" + strconv.Itoa(int(value)) + ")"
	}
	return names[value]
}

// MarshalName is the text of an enumeration's value, for a MarshalText; one that
// is not known is an error.
func MarshalName[E ~uint8](kind string, names []string, value E) ([]byte, error) {
	if !Known(names, value) {
		return nil, fmt.Errorf("allot: no %s %d", kind, value)
	}
	return []byte(names[value]), nil
}

// mostListed is how many texts of an enumeration an error lists.
const mostListed = 16

// UnmarshalName finds the value of an enumeration by exactly its text, for an
// UnmarshalText. Another text is an error that lists those that there are, and the value
// stays as it is.
func UnmarshalName[E ~uint8](kind string, names []string, value *E, text []byte) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*value = E(i)
			return nil
		}
	}
	var known []string
	for _, name := range names {
		if name != "" {
			known = append(known, name)
		}
	}
	return fmt.Errorf("allot: no %s %q: there is %s", kind, text, Some(known, ", ", mostListed))
}
