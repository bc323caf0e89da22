package allot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/sim/scenario"
)

// TestStabilityCases: the states of testdata/stability once broke a promise of
// stability, and were made as small as they go. Whatever the host does, each of
// them comes to rest now.
func TestStabilityCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stability", "*.txt"))
	if err != nil || len(files) < 150 {
		t.Fatalf("%d states, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			if f := breaksInSomeWay(t, file); f != nil {
				t.Fatalf("%v\n%s", f.broken, f.scenario())
			}
		})
	}
}

// TestStabilityAmiss: the states of testdata/stability/amiss break a promise, and nobody
// has mended that. One that holds belongs to the states of TestStabilityCases.
func TestStabilityAmiss(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "stability", "amiss", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if f := breaksInSomeWay(t, file); f == nil {
			t.Errorf("%s holds now: it moves one folder up", file)
		}
	}
}

// breaksInSomeWay is how a state breaks a promise under some host, or nil.
func breaksInSomeWay(t *testing.T, file string) *failure {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.State(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for mode := range hostModes {
		for seed := range uint64(5) {
			how := schedule{mode: mode, seed: seed}
			if _, broken := rest(s, how, newStabilityStats()); broken != nil {
				return &failure{s, how, "", broken}
			}
		}
	}
	return nil
}
