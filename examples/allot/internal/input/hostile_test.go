package input

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
)

// hostile are files of 14 MiB that are small in bytes and large in what they make: by their
// name a unit that is repeated, between what stands before and after.
var hostile = map[string][3]string{
	"objects.json":    {`{"version":1,"workloads":[`, "{},", "{}]}"},
	"same.json":       {`{"version":1,"nodes":[`, `{"id":"n", "capacity":{}},`, `{"id":"n"}]}`},
	"numbers.json":    {`{"version":1,"nodes":[`, "1,", "1]}"},
	"keys.json":       {`{"version":1`, `,"k":1`, "}"},
	"lists.yaml":      {"workloads: [", "[],", "]"},
	"keys.yaml":       {"", "nodes: []\n", ""},
	"entries.yaml":    {"nodes:\n", "- {id: n}\n", ""},
	"dashes.yaml":     {"nodes:\n", "- - - - - - - -\n", ""},
	"aliases.yaml":    {"x: &x {id: a}\nnodes:\n", "- *x\n", ""},
	"merges.yaml":     {"x: &x {id: a}\nnodes:\n", "- {<<: *x}\n", ""},
	"deep.yaml":       {"", "[", ""},
	"comments.yaml":   {"nodes:\n", "# x\n", "- {id: a}\n"},
	"lines.yaml":      {"workloads:\n- id: |\n", "    x\n", ""},
	"devices.yaml":    {"nodes:\n", "- {id: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn, devices: 64}\n", ""},
	"text.yaml":       {`workloads: [{id: "`, "x", `"}]`},
	"anchors.yaml":    {"nodes:\n", "- &a {id: n}\n", ""},
	"documents.yaml":  {"", "---\nnodes: []\n", ""},
	"whitespace.json": {`{"version":1`, " ", "}"},
}

// TestHostile: whatever is in a file of 14 MiB, it is read or refused in seconds and within
// the memory that the page of the package says, and few of its faults are told.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 250 MiB")
	}
	const size, memory = 14 << 20, 2 << 30
	for name, parts := range hostile { // each by itself: order cannot matter
		t.Run(name, func(t *testing.T) {
			text := parts[0] + strings.Repeat(parts[1], size/len(parts[1])) + parts[2]
			runtime.GC()
			began := time.Now()
			_, err := State([]File{{name, []byte(text)}})
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			t.Logf("%v, %d MiB from the system: %.120v", time.Since(began).Round(time.Millisecond), m.Sys>>20, err)
			if m.Sys > memory {
				t.Errorf("takes %d MiB", m.Sys>>20)
			}
			if name == "devices.yaml" && !strings.Contains(err.Error(), "must not unfold") {
				t.Errorf("17 million devices are read: %.200v", err)
			}
			var faulty *Error
			if errors.As(err, &faulty) && len(faulty.Faults) > mostFaults+1 {
				t.Errorf("%d faults", len(faulty.Faults))
			}
		})
	}
}

// TestManyFaults: of more faults than anybody reads the first are told, with their lines, and
// how many more there are.
func TestManyFaults(t *testing.T) {
	text := "nodes:\n" + strings.Repeat("- {id: n}\n", mostFaults+5)
	_, err := State([]File{{"a.yaml", []byte("now: 2026-01-01T00:00:00Z\n")}, {"b.yaml", []byte(text)}})
	var faulty *Error
	if !errors.As(err, &faulty) || len(faulty.Faults) != mostFaults+1 {
		t.Fatalf("%.200v", err)
	}
	if f := faulty.Faults[mostFaults-1]; f.File != "b.yaml" || f.Line != mostFaults+2 || f.Code != allot.FaultDuplicate {
		t.Errorf("%s", f)
	}
	if f := faulty.Faults[mostFaults]; !strings.Contains(f.String(), "has 4 more faults") {
		t.Errorf("%s", f)
	}
}
