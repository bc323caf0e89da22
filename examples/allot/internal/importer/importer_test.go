package importer

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/input"
	"github.com/allotsched/allot/verify"
)

var update = flag.Bool("update", false, "write the golden files")

// samples are what other schedulers print, made here; each line is one import.
var samples = map[string][]string{
	"kai": {"kai.json"}, "kueue": {"kueue.yaml"}, "native": {"native.yaml"}, "slurm": {"slurm.txt"}, "sacct": {"sacct.txt", "sinfo.txt"},
	"runai": {"runai.json"}, "osmo": {"osmo.json"},
}

func read(t *testing.T, names ...string) []input.File {
	t.Helper()
	var files []input.File
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, input.File{Name: name, Data: data})
	}
	return files
}

// What each sample becomes, and what is said of the rest, is golden; and the state can be
// planned.
func TestSamples(t *testing.T) {
	for name, files := range samples { // each by its name: order cannot matter
		t.Run(name, func(t *testing.T) {
			r, err := Import(read(t, files...), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := allot.Solve(r.State)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify.Plan(r.State, plan); err != nil {
				t.Error(err)
			}
			text, err := input.YAML(r.State)
			if err != nil {
				t.Fatal(err)
			}
			var notes strings.Builder
			fmt.Fprintf(&notes, "# %s\n", strings.Join(r.Formats, ", "))
			for _, n := range r.Notes {
				fmt.Fprintf(&notes, "# %d× %s (%s)\n", n.Count, n.What, n.Example)
			}
			golden(t, name+".golden.yaml", notes.String()+string(text))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise (-update writes it):\n%s", path, got)
	}
}

// TestHosts: lists of nodes as Slurm writes them, however hostile.
func TestHosts(t *testing.T) {
	for list, want := range map[string]string{ // each by itself: order cannot matter
		"n1": "n1", "n[1-3]": "n1 n2 n3", "n[08-10]": "n08 n09 n10", "a1,b[1,3]-ib": "a1 b1-ib b3-ib", "": "", "(null)": "", "None assigned": "",
		"n[3-1]": "", "n[x]": "", "n[1": "n[1",
	} {
		m := &importing{notes: make(map[string]*Note)}
		if got := strings.Join(m.hosts(list), " "); got != want {
			t.Errorf("%q is %q, want %q", list, got, want)
		}
	}
	m := &importing{notes: make(map[string]*Note)}
	if got := len(m.hosts("n[0-999999999]")); got > mostHosts || len(m.notes) == 0 {
		t.Errorf("%d nodes, and %d notes", got, len(m.notes))
	}
}

// TestRefuses: what is of no format is an error, and no empty state.
func TestRefuses(t *testing.T) {
	for _, text := range []string{"", "hello", "{", "{}", "[1]", `{"kind": "Node", "metadata": 3}`, "version: 1", `{"projects": [3]}`, `{"pools": 3}`} {
		if r, err := Import([]input.File{{Name: "x", Data: []byte(text)}}, time.Time{}); err == nil {
			t.Errorf("%q is taken as %v", text, r)
		}
	}
}

// TestHostile: what is small and makes much is cut, or refused.
func TestHostile(t *testing.T) {
	in := func(text string) (*Result, error) {
		return Import([]input.File{{Name: "x", Data: []byte(text)}}, time.Time{})
	}
	if _, err := in(strings.Repeat("[", 9000) + strings.Repeat("]", 9000)); err == nil || !strings.Contains(err.Error(), "more than 4 lists") {
		t.Errorf("%v", err)
	}
	if _, err := in(`{"kind":"Node","metadata":{"name":"` + strings.Repeat("x", mostObject) + `"}}`); err == nil || !strings.Contains(err.Error(), "object of 4 MiB") {
		t.Errorf("%.100v", err)
	}
	if _, err := in(`{"projects": [` + strings.Repeat(`{"name": "x"},`, mostQueues) + `{"name": "y"}]}`); err == nil || !strings.Contains(err.Error(), "more than 50000 departments") {
		t.Errorf("%.100v", err)
	}
	if _, err := in(`{"kind": "List", "items": [` + strings.Repeat(`{"kind": "Node"},`, mostObjects+1) + `{"kind": "Node"}]}`); err == nil || !strings.Contains(err.Error(), "more than 150000 nodes and pods") {
		t.Errorf("%.100v", err)
	}
	if r, err := in(strings.Repeat("JobId=1 JobState=COMPLETED\n", 300_000)); err != nil || len(r.State.Workloads) > 0 {
		t.Errorf("%.100v", err)
	}
	r, err := in("NODELIST CPUS MEMORY GRES STATE PARTITION\n" + strings.Repeat("n[1-60000] 64 5000 gpu:a100:4 idle p\n", 2000))
	if err != nil || len(r.State.Nodes) != 60000 {
		t.Errorf("%v", err)
	}
	r, err = in("JobID|State|NodeList|NNodes\n" + strings.Repeat("1|RUNNING|n[1-99999999]|99999999\n", 5000))
	if err != nil && !strings.Contains(err.Error(), "workloads") || r != nil && len(r.Notes) == 0 {
		t.Errorf("%.200v", err)
	}
}

// TestMultiplied: what a few bytes of arrays and of lists of nodes multiply is cut, and noted.
func TestMultiplied(t *testing.T) {
	m := &importing{notes: make(map[string]*Note)}
	jobs := 0
	for i := range 1000 {
		jobs += len(m.arrayIDs(map[string]string{"JobId": fmt.Sprintf("%d_[0-99999999]", i)}))
	}
	if jobs > mostMade || len(m.notes) == 0 {
		t.Errorf("%d jobs", jobs)
	}
	n := &allot.Node{ID: "n"}
	for range mostDevices {
		m.addDevices(n, 4, allot.Device{})
	}
	if len(n.Devices) > mostDevices {
		t.Errorf("%d GPUs", len(n.Devices))
	}
}

// FuzzImport: no input makes an import panic, hang or give a state that cannot be planned.
func FuzzImport(f *testing.F) {
	for _, files := range samples { // order does not matter to a corpus
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		r, err := Import([]input.File{{Name: "x", Data: data}}, time.Time{})
		if err == nil {
			if err := allot.Check(r.State); err != nil {
				t.Fatal(err)
			}
		}
	})
}
