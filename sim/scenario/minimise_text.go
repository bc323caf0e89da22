package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// Text is [Format] that makes sure of it: the statements are read back, and the
// error says what of the state the language cannot tell, or that [allot.Check]
// does not accept it.
func Text(s *allot.State) (string, error) {
	if err := allot.Check(s); err != nil {
		return "", err
	}
	text := Format(s)
	read, err := State(text)
	if err != nil {
		return "", fmt.Errorf("scenario: the state cannot be told: %w", err)
	}
	if at := firstDifference(s, read); at != "" {
		return "", fmt.Errorf("scenario: the state cannot be told: %s is read as something else", at)
	}
	return text, nil
}

// Report is a scenario that solves the state and has what is decided, with all
// reasons, as what it must print: the report of a bug, which [Parse] reads and
// [Run] runs. The title is its first line. The error is that of [Text].
func Report(title string, s *allot.State) (string, error) {
	state, err := Text(s)
	if err != nil {
		return "", err
	}
	text := "# " + strings.Join(strings.Fields(title), " ") + "\n" + state + "solve reasons\n" + rule + "\n"
	script, err := Parse(text)
	if err != nil {
		return "", err
	}
	outputs, err := Run(script, Options{SkipLaws: true})
	if err != nil {
		return "", err
	}
	return script.Rewrite(outputs), nil
}

// firstDifference is the place in the JSON of two states where they are not
// the same, empty if nowhere.
func firstDifference(a, b *allot.State) string {
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	if errA != nil || errB != nil {
		return "text that is not UTF-8"
	}
	if string(first) == string(second) {
		return ""
	}
	x, y := decoded(first), decoded(second)
	return differencePath("state", x, y)
}

func decoded(data []byte) (v any) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	_ = d.Decode(&v) // it was written a moment ago
	return v
}

// differencePath is the first place below, by its path, where two JSON values
// differ.
func differencePath(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return path
		}
		for _, key := range slices.Compact(slices.Sorted(slices.Values(append(sortedKeys(x), sortedKeys(y)...)))) {
			if !reflect.DeepEqual(x[key], y[key]) {
				return differencePath(path+"."+key, x[key], y[key])
			}
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return path
		}
		for i := range x {
			if !reflect.DeepEqual(x[i], y[i]) {
				return differencePath(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])
			}
		}
	}
	return path
}
