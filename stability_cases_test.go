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
	if err != nil || len(files) < 82 {
		t.Fatalf("%d states, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
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
						t.Fatalf("%v\n%s", broken, (&failure{s, how, "", broken}).scenario())
					}
				}
			}
		})
	}
}
