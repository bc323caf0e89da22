package input

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
)

// everyState are the states of all files of the project that are states, and those that its scenarios set
// up, as their JSON has them: a scenario may say times to the nanosecond.
func everyState(t *testing.T) map[string]*allot.State {
	t.Helper()
	found := make(map[string]*allot.State)
	root := filepath.Join("..", "..", "..", "..")
	for _, pattern := range []string{"examples/*/testdata/*.json", "testdata/*/*.json", "examples/allot/internal/*/testdata/*.json",
		"examples/allot/testdata/*.yaml", "testdata/*/*.txt"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			d, err := State([]File{{name, data}})
			if err != nil {
				continue // it is no state
			}
			text, err := d.State.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			found[name] = new(allot.State)
			if err := found[name].UnmarshalJSON(text); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	if len(found) < 500 {
		t.Fatalf("only %d states found", len(found))
	}
	return found
}

// A state written as YAML is the same state when it is read, exactly.
func TestRoundTrip(t *testing.T) {
	for name, s := range everyState(t) {
		text, err := YAML(s)
		if err != nil {
			t.Fatal(name, err)
		}
		back, err := State([]File{{"state.yaml", text}})
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if d := cmp.Diff(s, back.State, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%s comes back otherwise: %s", name, d)
		}
	}
}
