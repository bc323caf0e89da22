package allot_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The house rules (ARCHITECTURE.md, CONTRIBUTING.md) as a test over the syntax
// and types of all Go files that are no tests. The rules stand in
// tidy_rules_test.go, the limits on size in tidy_ratchet_test.go; each brings
// code that it must refuse, so that none of them can die unnoticed.

// modulePath is the import path of the root package.
const modulePath = "github.com/allotsched/allot"

// topLevel are the entries that the root of the project may have beside Go
// files, with what belongs there.
var topLevel = []string{
	".ci",     // the gates and their tools
	".git",    // a folder, or a file in a worktree
	".github", // the same gates as a workflow
	".gitignore",
	"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "RULES.md",
	"go.mod", "go.sum", "staticcheck.conf",
	"quota", "fairshare", "queue", "placement", "gang", "preempt", // the children
	"explain",  // answers about a decision
	"internal", // mechanisms that know nothing of a State
	"verify",   // a second reading of the rules
	"sim",      // what is built on the root
	"internal", // what users of the module cannot import
	"examples", // programs
	"testdata", // scenarios and fuzzing corpora
}

// A tidyPackage is a package as the rules see it.
type tidyPackage struct {
	path  string // below the module; the root's is ""
	files []*tidyFile
	tests int // how many files of the folder are tests
	types *types.Package
	info  types.Info
}

// A tidyFile is a file that is no test.
type tidyFile struct {
	name string // relative to the project's root
	text string
	*ast.File
}

// A finding is a place that breaks a rule.
type finding struct {
	file    string
	line    int
	problem string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.problem) }

// A tidyModule reads and type-checks the packages of the module.
type tidyModule struct {
	fset     *token.FileSet
	packages map[string]*tidyPackage // by path below the module
	others   types.ImporterFrom
}

// theModule is read once: the standard library from source takes a second.
var theModule = sync.OnceValue(func() *tidyModule {
	fset := token.NewFileSet()
	return &tidyModule{
		fset:     fset,
		packages: make(map[string]*tidyPackage),
		others:   importer.ForCompiler(fset, "source", nil).(types.ImporterFrom),
	}
})

// TestTidy puts every package of the module to every rule that is meant for it.
func TestTidy(t *testing.T) {
	m := theModule()
	for _, folder := range goFolders(t) {
		p, err := m.read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue // only tests, or nothing for this platform
		}
		for _, rule := range tidyRules {
			if !rule.applies(p.path) {
				continue
			}
			for _, found := range sortedFindings(rule.check(m, p)) {
				t.Errorf("%v (%s)", found, rule.name)
			}
		}
	}
	for _, core := range corePackages {
		if m.packages[core] == nil {
			t.Errorf("corePackages names %q, where no package was found", core)
		}
	}
}

// TestTopLevel: the root of the project has a place for everything, and
// nothing else lies there. What .gitignore names may lie about.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !topLevelAllows(e.Name()) && !ignored(t, e.Name()) {
			t.Errorf("%s has no place in the root: see topLevel", e.Name())
		}
	}
	for _, name := range []string{"notes.md", "util", "main.py"} {
		if topLevelAllows(name) {
			t.Errorf("%s would be allowed in the root", name)
		}
	}
}

func topLevelAllows(name string) bool {
	return slices.Contains(topLevel, name) || path.Ext(name) == ".go"
}

func ignored(t *testing.T, name string) bool {
	text, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(strings.Fields(string(text)), func(pattern string) bool {
		match, err := path.Match(strings.Trim(pattern, "/"), name)
		return match && err == nil
	})
}

// TestTidyRefuses: every rule refuses what it is there to refuse, and accepts
// the lawful way to say the same.
func TestTidyRefuses(t *testing.T) {
	m := theModule()
	for _, rule := range tidyRules {
		for i, s := range rule.samples {
			if !rule.applies(s.path) {
				t.Errorf("%s: sample %d: the rule is not for %q", rule.name, i, s.path)
			}
			name := path.Join(s.path, cmp.Or(s.file, "sample.go"))
			p, err := m.check(s.path, map[string]string{name: s.source})
			if err != nil {
				t.Errorf("%s: sample %d: %v", rule.name, i, err)
				continue
			}
			if found := rule.check(m, p); (len(found) > 0) != s.refused {
				t.Errorf("%s: sample %d: refused %v, want %v: %v\n%s", rule.name, i, !s.refused, s.refused, found, s.source)
			}
		}
		if !slices.ContainsFunc(rule.samples, func(s tidySample) bool { return s.refused }) {
			t.Errorf("%s: no sample that is refused", rule.name)
		}
	}
}

// TestExamples: every package has runnable examples, with their output, and the
// root one for every function that it exports.
func TestExamples(t *testing.T) {
	m := theModule()
	for _, folder := range goFolders(t) {
		p, err := m.read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil || !isLibrary(p.path) {
			continue
		}
		examples := examplesOf(t, folder)
		if len(examples) == 0 {
			t.Errorf("%s has no example with an output", folder)
		}
		for _, name := range p.types.Scope().Names() {
			_, function := p.types.Scope().Lookup(name).(*types.Func)
			if p.path == "" && function && token.IsExported(name) && !slices.Contains(examples, name) {
				t.Errorf("%s has no Example%s with an output", cmp.Or(p.path, "the root"), name)
			}
		}
	}
}

// examplesOf lists what the runnable examples of the folder are of.
func examplesOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(file) {
			if e.Output != "" || e.EmptyOutput {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

func sortedFindings(found []finding) []finding {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.problem, b.problem))
	})
	return found
}

// goFolders lists the folders of the module's own packages. Nested modules
// are modules of their own.
func goFolders(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if at != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || exists(filepath.Join(at, "go.mod"))) {
			return fs.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join(at, "*.go")); len(files) > 0 {
			folders = append(folders, filepath.ToSlash(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// read parses and checks the package in the folder; nil if it has none.
func (m *tidyModule) read(folder string) (*tidyPackage, error) {
	below := strings.TrimPrefix(folder, ".")
	if p, ok := m.packages[below]; ok {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	sources, tests := make(map[string]string), 0
	for _, name := range names {
		fits, err := build.Default.MatchFile(folder, filepath.Base(name))
		if err != nil {
			return nil, err
		}
		if !fits {
			continue
		}
		if isTest(name) {
			tests++
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources[filepath.ToSlash(name)] = string(text)
	}
	if len(sources) == tests {
		return nil, nil
	}
	p, err := m.check(below, sources)
	m.packages[below] = p
	return p, err
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// check parses and type-checks sources by file name as one package. Tests are
// counted only.
func (m *tidyModule) check(below string, sources map[string]string) (*tidyPackage, error) {
	p := &tidyPackage{path: below}
	var files []*ast.File
	for name, text := range sources { // sorted below
		if isTest(name) {
			p.tests++
			continue
		}
		file, err := parser.ParseFile(m.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &tidyFile{name, text, file})
	}
	slices.SortFunc(p.files, func(a, b *tidyFile) int { return cmp.Compare(a.name, b.name) })
	for _, f := range p.files {
		files = append(files, f.File)
	}
	p.info = types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue),
		Defs:  make(map[*ast.Ident]types.Object),
		Uses:  make(map[*ast.Ident]types.Object),
	}
	config := types.Config{Importer: m}
	var err error
	p.types, err = config.Check(path.Join(modulePath, below), m.fset, files, &p.info)
	return p, err
}

// Import implements [types.Importer].
func (m *tidyModule) Import(importPath string) (*types.Package, error) {
	below, ours := strings.CutPrefix(importPath, modulePath)
	if !ours || below != "" && below[0] != '/' {
		return m.others.ImportFrom(importPath, ".", 0)
	}
	p, err := m.read(cmp.Or(strings.TrimPrefix(below, "/"), "."))
	if err == nil && p == nil {
		err = fmt.Errorf("no package %s", importPath)
	}
	if err != nil {
		return nil, err
	}
	return p.types, nil
}

// at makes a finding at a node of the file.
func (m *tidyModule) at(f *tidyFile, pos token.Pos, format string, args ...any) finding {
	return finding{f.name, m.fset.Position(pos).Line, fmt.Sprintf(format, args...)}
}

// each calls visit for every node of the package, file by file.
func (p *tidyPackage) each(visit func(f *tidyFile, n ast.Node)) {
	for _, f := range p.files {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if n != nil {
				visit(f, n)
			}
			return true
		})
	}
}
