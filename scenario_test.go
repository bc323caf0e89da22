package allot_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/sim/scenario"
)

var (
	updateScenarios = flag.Bool("update", false, "rewrite the expected output of scenarios that are not rows of a published scheduler")
	skipLaws        = flag.Bool("skip-laws", false, "run the scenarios without the laws")
)

// published are the folders of testdata whose expectations were written by
// hand from the rules: they are right, and it is the code that changes.
var published = []string{"osmo", "runai", "runai20", "determined", "any"}

// TestScenarios runs every scenario under testdata, each solve with the laws.
func TestScenarios(t *testing.T) {
	for _, file := range scenarioFiles(t) {
		name := strings.TrimSuffix(filepath.ToSlash(file), ".txt")
		t.Run(strings.TrimPrefix(name, "testdata/"), func(t *testing.T) {
			t.Parallel()
			runScenario(t, file)
		})
	}
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "fuzz" {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".txt" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, error %v", len(files), err)
	}
	return files
}

func runScenario(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, err := scenario.Parse(string(text))
	if err != nil {
		t.Fatalf("%s:%v", file, err)
	}
	row, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txt"), "-")
	if !strings.HasPrefix(script.Title, row+": ") {
		t.Errorf("%s: the first comment must begin with %q, is %q", file, row+": ", script.Title)
	}
	outputs, err := scenario.Run(script, scenario.Options{SkipLaws: *skipLaws})
	if err != nil {
		t.Fatalf("%s:%v", file, err)
	}
	if rewritten := script.Rewrite(outputs); *updateScenarios && rewritten != string(text) && !isPublished(file) {
		if err := os.WriteFile(file, []byte(rewritten), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, block := range script.Blocks {
		if !block.Checked && outputs[i] != "" {
			t.Errorf("%s:%d: prints without ----:\n%s", file, block.Line, outputs[i])
		}
		if difference := cmp.Diff(block.Expected, outputs[i]); block.Checked && difference != "" {
			t.Errorf("%s:%d: -want +got\n%s", file, block.Line, difference)
		}
	}
}

func isPublished(file string) bool {
	folder := strings.Split(filepath.ToSlash(file), "/")[1]
	return slices.Contains(published, folder)
}
