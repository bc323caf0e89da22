package rules_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A guard is all that fails when one rule is broken.
type guard struct {
	scenarios, rows, laws, stateLaws, tests []string
	mutants                                 int
}

// any says whether something guards the rule. A mutant does not: it shows that
// something else does.
func (g *guard) any() bool {
	return g != nil && len(g.scenarios)+len(g.rows)+len(g.laws)+len(g.stateLaws)+len(g.tests) > 0
}

// String is the rule's line of the index.
func (g *guard) String() string {
	var parts []string
	for _, kind := range []struct {
		name  string
		names []string
	}{{"Scenarios", g.scenarios}, {"Rows", g.rows}, {"Laws of every scenario", g.laws}, {"Laws of drawn states (TestLaws)", g.stateLaws}, {"Tests", g.tests}} {
		if names := slices.Compact(slices.Sorted(slices.Values(kind.names))); len(names) > 0 {
			parts = append(parts, kind.name+": "+strings.Join(names, ", ")+".")
		}
	}
	if g.mutants > 0 {
		parts = append(parts, fmt.Sprintf("Mutants: %d.", g.mutants))
	}
	return strings.Join(parts, " ")
}

// published are the folders of testdata that hold the rows of published schedulers.
var published = []string{"osmo", "runai", "runai20", "determined", "any"}

// collectGuards finds the guards of every rule: the scenarios whose file is named
// for it or whose line '# rules:' names it, the laws, the tests whose name or
// comment names it, and the mutants that break it.
func collectGuards(t *testing.T) map[string]*guard {
	t.Helper()
	guards := make(map[string]*guard)
	of := func(number string) *guard {
		if guards[number] == nil {
			guards[number] = new(guard)
		}
		return guards[number]
	}
	for _, s := range readScenarios(t) {
		for _, number := range s.rules {
			if g := of(number); s.row != "" {
				g.rows = append(g.rows, s.name)
			} else {
				g.scenarios = append(g.scenarios, s.name)
			}
		}
	}
	for number, laws := range readLaws(t) { // each number has a guard of its own: order cannot matter
		of(number).laws = laws
	}
	for number, laws := range readStateLaws(t) { // each number has a guard of its own: order cannot matter
		of(number).stateLaws = laws
	}
	for _, f := range goFiles(t) {
		for name, numbers := range guardingTests(f) { // sorted in the index: order cannot matter
			for _, number := range numbers {
				of(number).tests = append(of(number).tests, name)
			}
		}
	}
	for _, line := range mutantTitles(t) {
		for _, number := range leadingNumbers.FindAllString(line.text, 1) {
			of(number).mutants++
		}
	}
	return guards
}

// A scenarioFile is a file of testdata in the scenario language.
type scenarioFile struct {
	name  string   // such as rules/Q2-ancestors
	row   string   // of a published scheduler, such as O19; else ""
	rules []string // that it guards
	lines []string
}

var (
	leadingNumbers = regexp.MustCompile(`^[A-Z]\d{1,2}\b`)
	anyNumber      = regexp.MustCompile(`\b[A-Z]\d{1,2}\b`)
)

// readScenarios reads all scenario files. The name of one begins with its row in a
// published folder and with its rule elsewhere.
func readScenarios(t *testing.T) []scenarioFile {
	t.Helper()
	files := append(scenariosBelow(t, filepath.Join(root, "testdata")), scenariosBelow(t, filepath.Join(root, "preempt", "testdata"))...)
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	return files
}

func scenariosBelow(t *testing.T, base string) (files []scenarioFile) {
	t.Helper()
	err := filepath.WalkDir(base, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "fuzz":
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(file) != ".txt":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(base, file)
		s := scenarioFile{name: strings.TrimSuffix(filepath.ToSlash(below), ".txt"), lines: strings.Split(string(text), "\n")}
		number := leadingNumbers.FindString(path.Base(s.name))
		if slices.Contains(published, path.Dir(s.name)) {
			s.row = number
		} else if number != "" {
			s.rules = append(s.rules, number)
		}
		for _, line := range s.lines {
			if named, ok := strings.CutPrefix(line, "# rules:"); ok {
				s.rules = append(s.rules, anyNumber.FindAllString(named, -1)...)
			}
		}
		files = append(files, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// publishedRows gives every row the folder that it is in.
func publishedRows(t *testing.T) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	for _, s := range readScenarios(t) {
		if s.row != "" {
			rows[s.row] = path.Dir(s.name)
		}
	}
	return rows
}

var lawLine = regexp.MustCompile(`\{"([A-Z]\d{1,2}): ([^"]+)", \(\*trial\)`)

// readLaws finds the laws to which every solve of every scenario is put.
func readLaws(t *testing.T) map[string][]string {
	t.Helper()
	laws := make(map[string][]string)
	files, err := filepath.Glob(filepath.Join(root, "sim", "scenario", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lawLine.FindAllStringSubmatch(string(text), -1) {
			laws[m[1]] = append(laws[m[1]], "'"+m[2]+"'")
		}
	}
	if len(laws) == 0 {
		t.Fatal("no laws found in sim/scenario")
	}
	return laws
}

var stateLawLine = regexp.MustCompile(`\{(?:Rule: )?"([A-Z]\d{1,2}(?:, [A-Z]\d{1,2})*)", (?:What: )?"([^"]+)"`)

// readStateLaws finds the laws that TestLaws puts to states that are drawn.
func readStateLaws(t *testing.T) map[string][]string {
	t.Helper()
	laws := make(map[string][]string)
	for _, file := range []string{"law_export_test.go", "law_test.go"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range stateLawLine.FindAllStringSubmatch(string(text), -1) {
			for _, number := range anyNumber.FindAllString(m[1], -1) {
				laws[number] = append(laws[number], "'"+m[2]+"'")
			}
		}
	}
	if len(laws) == 0 {
		t.Fatal("no laws found in law_export_test.go")
	}
	return laws
}

var (
	testName = regexp.MustCompile(`^(?:Test|Fuzz)(?:([A-Z]\d{1,2})(?:\D|$))?`)
	// A comment may also cite rows, and say from where to where rules go.
	rowsCited = regexp.MustCompile(`\brows? [A-Z]\d{1,2}\b(?:(?:,? and |, |–| to )[A-Z]\d{1,2}\b)*|/[A-Z]\d{1,2}\b`)
)

// guardingTests are the tests and fuzz targets of a file that name rules, with
// these. A test's name stands behind its package's path, but for the root's.
func guardingTests(f *goFile) map[string][]string {
	tests := make(map[string][]string)
	if !strings.HasSuffix(f.name, "_test.go") || path.Dir(f.name) == "internal/rules" {
		return tests
	}
	for _, d := range f.syntax.Decls {
		d, ok := d.(*ast.FuncDecl)
		if !ok || d.Recv != nil {
			continue
		}
		m := testName.FindStringSubmatch(d.Name.Name)
		if m == nil {
			continue
		}
		numbers := anyNumber.FindAllString(rowsCited.ReplaceAllString(strings.ReplaceAll(d.Doc.Text(), "\n", " "), ""), -1)
		if m[1] != "" {
			numbers = append(numbers, m[1])
		}
		if len(numbers) > 0 {
			tests[strings.TrimPrefix(path.Dir(f.name)+".", "..")+d.Name.Name] = slices.Compact(slices.Sorted(slices.Values(numbers)))
		}
	}
	return tests
}

// mutantTitles are the lines of the table of mutants that say what is broken.
func mutantTitles(t *testing.T) []comment {
	t.Helper()
	const name = "testdata/mutants.table"
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	var titles []comment
	blank := true
	for i, line := range strings.Split(string(text), "\n") {
		if blank && line != "" && line[0] != '#' {
			titles = append(titles, comment{name, i + 1, line})
		}
		blank = line == "" || blank && line[0] == '#'
	}
	return titles
}
