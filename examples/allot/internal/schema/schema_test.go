package schema

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/allotsched/allot/examples/allot/internal/input"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := State()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("state.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("state.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accepts(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// Whatever the program reads the schema takes: all states of the project and of its scenarios, in the
// exact form and in that for people.
func TestAcceptsStates(t *testing.T) {
	s := compiled(t)
	root := filepath.Join("..", "..", "..", "..")
	found := 0
	for _, pattern := range []string{"examples/*/testdata/*.json", "testdata/*/*.json", "examples/allot/testdata/*.yaml", "testdata/*/*.txt"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			read, err := input.State([]input.File{{Name: name, Data: data}})
			if err != nil {
				continue // it is no state
			}
			found++
			if filepath.Ext(name) == ".yaml" {
				if err := accepts(t, s, asJSON(t, data)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			exact, err := read.State.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if err := accepts(t, s, exact); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			people, err := input.YAML(read.State)
			if err != nil {
				t.Fatal(err)
			}
			if err := accepts(t, s, asJSON(t, people)); err != nil {
				t.Errorf("%s for people: %v\n%s", name, err, people)
			}
		}
	}
	if found < 400 {
		t.Errorf("only %d states found", found)
	}
}

// TestShorthands: what people may write beside the fields.
func TestShorthands(t *testing.T) {
	s := compiled(t)
	for _, text := range []string{
		`{}`, `{"policy": "runai"}`, `{"policy": {"preset": "osmo", "order": "global"}}`, `{"pools": [{"id": "a", "policy": "none"}]}`,
		`{"nodes": [{"id": "n", "devices": 8, "capacity": {"cpu": "64 cores", "memory": "256Gi"}}]}`,
		`{"nodes": [{"id": "n", "devices": [{"count": 8, "model": "H100", "memory": "80Gi"}]}]}`,
		`{"queues": [{"id": "q", "resources": [{"resource": "gpu", "quota": "4 GPUs", "limit": "unlimited"}]}]}`,
		`{"workloads": [{"id": "w", "podSets": [{"count": 1, "request": {"gpu": 0.5}}]}]}`,
		`{"workloads": [{"id": "w", "podSets": [{"count": 1, "request": {"gpu": "40Gi"}}]}]}`,
	} {
		if err := accepts(t, s, []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRefuses: each kind of fault that a schema can see.
func TestRefuses(t *testing.T) {
	s := compiled(t)
	for _, test := range []struct{ why, text string }{
		{"an unknown field", `{"jobs": []}`},
		{"an unknown field below", `{"nodes": [{"id": "n", "gpus": 8}]}`},
		{"another version", `{"version": 3}`},
		{"a wrong type", `{"nodes": {}}`},
		{"a text for a number", `{"nodes": [{"id": "n", "maxTasks": "many"}]}`},
		{"a number for a name", `{"nodes": [{"id": 1}]}`},
		{"an unknown value", `{"workloads": [{"id": "w", "preemption": "never"}]}`},
		{"an unknown value of a policy", `{"policy": {"order": "random"}}`},
		{"an unknown preset", `{"policy": "slurm"}`},
		{"no name", `{"queues": [{}]}`},
		{"no count", `{"workloads": [{"id": "w", "podSets": [{}]}]}`},
		{"a negative amount", `{"nodes": [{"id": "n", "capacity": {"cpu": -1}}]}`},
		{"no amount", `{"nodes": [{"id": "n", "capacity": {"memory": "lots"}}]}`},
		{"too many devices", `{"nodes": [{"id": "n", "devices": 65}]}`},
		{"no unit of GPUs", `{"workloads": [{"id": "w", "podSets": [{"count": 1, "request": {"gpu": "4 cores"}}]}]}`},
		{"half a count", `{"workloads": [{"id": "w", "podSets": [{"count": 1.5}]}]}`},
	} {
		if accepts(t, s, []byte(test.text)) == nil {
			t.Errorf("%s is taken: %s", test.why, test.text)
		}
	}
}

// asJSON is YAML as JSON.
func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	value, err := input.Plain(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
