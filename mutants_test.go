package allot

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
// once, and every test that it names is there.
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
