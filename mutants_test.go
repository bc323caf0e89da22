package allot

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/deep"
)

var (
	runMutants   = flag.Bool("mutants", false, "apply every mutant to a copy of the module and see that a test fails")
	chosenMutant = flag.String("mutant", "", "with -mutants, only those whose rule, killer or file contains this")
)

// A mutant breaks one rule in one place; the killer is the test that is known to
// notice, "" if the table names none.
type mutantLine struct{ rule, killer, file, old, new string }

// readMutants reads testdata/mutants.table: blocks of the rule, the test that
// notices, the file, the old text and the new.
func readMutants(t *testing.T) (mutants []mutantLine) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "mutants.table"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(data), "\n\n") {
		var m mutantLine
		var old, new []string
		for line := range strings.SplitSeq(strings.TrimRight(block, "\n"), "\n") {
			switch {
			case strings.HasPrefix(line, "# Test") && m.rule != "":
				m.killer = line[2:]
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "- "):
				old = append(old, line[2:])
			case strings.HasPrefix(line, "+ "):
				new = append(new, line[2:])
			case m.rule == "":
				m.rule = line
			default:
				m.file = line
			}
		}
		m.old, m.new = strings.Join(old, "\n"), strings.Join(new, "\n")
		if m.rule != "" {
			mutants = append(mutants, m)
		}
	}
	return mutants
}

// The table of mutants is up to date: every old text stands in its file exactly
// once, and every test that it names is there. With -mutants, every one of them is noticed by a test, or, where ALLOT_DEEP
// gives a time, as many as fit in it, from the mutant of the number ALLOT_SEED on.
func TestMutants(t *testing.T) {
	mutants := readMutants(t)
	if len(mutants) < 40 {
		t.Errorf("only %d mutants", len(mutants))
	}
	tests := testFolders(t)
	for _, m := range mutants {
		if name, _, _ := strings.Cut(m.killer, "/"); name != "" && len(tests[name]) == 0 {
			t.Errorf("%s: there is no test %s", m.rule, m.killer)
		}
		source, err := os.ReadFile(m.file)
		if err != nil {
			t.Errorf("%s: %v", m.rule, err)
			continue
		}
		if n := strings.Count(string(source), m.old); n != 1 || m.old == "" || m.old == m.new {
			t.Errorf("%s: %q stands %d times in %s", m.rule, m.old, n, m.file)
		}
	}
	if !*runMutants || t.Failed() {
		return
	}
	dir := t.TempDir()
	copyModule(t, dir)
	if out, killed := testMutant(dir, "-short", "."); killed {
		t.Fatalf("the tests fail without a mutant:\n%s", out)
	}
	mutants = slices.DeleteFunc(mutants, func(m mutantLine) bool { return !strings.Contains(m.rule+" "+m.killer+" "+m.file, *chosenMutant) })
	budget, tried := deep.New(t, 1), 0
	for tried < len(mutants) && (budget.More(tried) || !budget.Deep()) {
		m := mutants[(budget.First()+uint64(tried))%uint64(len(mutants))]
		t.Run(m.rule, func(t *testing.T) { killMutant(t, dir, m, tests) })
		tried++
	}
	t.Logf("%d of %d mutants were tried", tried, len(mutants))
}

// testFolders are the folders of all tests of the module, by name.
func testFolders(t *testing.T) map[string][]string {
	t.Helper()
	folders := make(map[string][]string)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range testDeclaration.FindAllSubmatch(source, -1) {
			folders[string(found[1])] = append(folders[string(found[1])], filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

var testDeclaration = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// copyModule copies what the tests of the library need.
func copyModule(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "examples"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, path), 0o777)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killMutant applies the mutant to the copy, sees the tests fail, and takes it
// back.
func killMutant(t *testing.T, dir string, m mutantLine, tests map[string][]string) {
	path := filepath.Join(dir, filepath.FromSlash(m.file))
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.WriteFile(path, source, 0o666); err != nil {
			t.Fatal(err)
		}
	}()
	build := exec.Command("go", "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mutant does not compile: %s", out)
	}
	begin, folder := time.Now(), filepath.Dir(m.file)
	name, _, _ := strings.Cut(m.killer, "/")
	var runs [][]string // the cheapest first
	for _, at := range tests[name] {
		runs = append(runs, []string{"-run=^" + m.killer + "$", at})
	}
	for _, run := range append(runs, []string{"-short", folder}, []string{"-short", "."}, []string{"-v=false", "."}) {
		if _, killed := testMutant(dir, run...); killed {
			t.Logf("killed after %v by go test %s", time.Since(begin).Round(time.Second/10), strings.Join(run, " "))
			return
		}
	}
	t.Error("the mutant survives")
}

// testMutant runs tests in the copy, but for those that check the repository and
// not the code. A test that does not end counts as one that fails.
func testMutant(dir string, flagsAndFolder ...string) (out string, killed bool) {
	args := []string{"test", "-failfast", "-timeout=5m", "-skip=TestMutants|TestTidy|TestMayImport|TestRatchet|TestReadme"}
	last := len(flagsAndFolder) - 1
	args = append(append(args, flagsAndFolder[:last]...), "./"+filepath.ToSlash(flagsAndFolder[last]))
	test := exec.Command("go", args...)
	test.Dir = dir
	test.Env = append(os.Environ(), "ALLOT_DEEP=", "ALLOT_SEED=") // the mutant is deep, its tests are not
	text, err := test.CombinedOutput()
	var failed *exec.ExitError
	return string(text), errors.As(err, &failed)
}
