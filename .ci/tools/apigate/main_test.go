package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/.ci/tools/internal/history"
	"github.com/allotsched/allot/.ci/tools/internal/project"
)

// shared has read the standard library once for all tests.
var shared = newLoader()

// A gated is a repository that a test puts to the gate.
type gated struct{ project.Project }

func newProject(t *testing.T) gated { return gated{project.New(t)} }

// expect runs the gate; every one of the messages must be in what it prints.
func (p gated) expect(unnamed int, messages ...string) {
	p.Helper()
	var out strings.Builder
	got, err := gate(&out, shared, p.Folder)
	if err != nil {
		p.Fatal(err)
	}
	if got != unnamed {
		p.Errorf("%d unnamed breaks, want %d\n%s", got, unnamed, &out)
	}
	for _, m := range messages {
		if !strings.Contains(out.String(), m) {
			p.Errorf("does not say %q:\n%s", m, &out)
		}
	}
}

const (
	moduleFile = "module example.com/m\n\ngo 1.26\n"
	library    = `package lib

import "time"

type Size int64

const (
	Small Size = iota
	Large
)

type Box struct {
	Height, Width Size
	Since time.Time
}

func (b *Box) Fill(n int) error { return nil }

type Filler interface{ Fill(n int) error }

func New(s Size) *Box { return nil }
`
	emptyLog = "# Changelog\n\n## Unreleased\n"
)

// standard is a project with one promised commit.
func standard(t *testing.T) gated {
	p := newProject(t)
	p.Write("go.mod", moduleFile)
	p.Write("root.go", "package m\n\nfunc Run() {}\n")
	p.Write("lib/lib.go", library)
	p.Write("lib/lib_test.go", "package lib\n\nfunc ForTests() {}\n")
	p.Write("cmd/main.go", "package main\n\nfunc Exported() {}\n\nfunc main() {}\n")
	p.Write(history.ChangeLog, emptyLog)
	p.Commit()
	return p
}

func TestBreaks(t *testing.T) {
	tests := []struct {
		why      string
		old, new string // in the library
		name     string // what the change log must name; none: compatible
	}{
		{"a body is no API", "return nil }", "panic(1) }", ""},
		{"a new function", "func New(", "func More() {}\n\nfunc New(", ""},
		{"a new field", "Height, Width Size", "Height, Width, Depth Size", ""},
		{"a function removed", "func New(", "func newBox(", "lib.New"},
		{"another signature", "New(s Size)", "New(s int64)", "lib.New"},
		{"a field removed", "Height, Width Size", "Height Size", "lib.Box.Width"},
		{"another type of a field", "Since time.Time", "Since time.Duration", "lib.Box.Since"},
		{"a method removed", "func (b *Box) Fill(n int) error { return nil }", "", "lib.Box.Fill"},
		{"one more method to implement", "interface{ Fill", "interface{ Empty(); Fill", "lib.Filler.Empty"},
		{"a constant moved", "\tLarge", "\tMedium\n\tLarge", "lib.Large"},
		{"a constant moved, named by its type", "\tLarge", "\tMedium\n\tLarge", "lib.Size"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			p := standard(t)
			if strings.Count(library, tt.old) == 0 {
				t.Fatalf("the library has no %q", tt.old)
			}
			p.Write("lib/lib.go", strings.Replace(library, tt.old, tt.new, 1))
			if tt.name == "" {
				p.expect(0)
				return
			}
			var out strings.Builder
			if unnamed, err := gate(&out, shared, p.Folder); unnamed == 0 || err != nil {
				t.Fatalf("%d unnamed breaks, error %v", unnamed, err)
			}
			p.Write(history.ChangeLog, emptyLog+"\n- Broken: `"+tt.name+"x` and "+tt.name+".\n")
			if unnamed, _ := gate(&out, shared, p.Folder); unnamed == 0 {
				t.Error("another name, or one without backquotes, will do")
			}
			p.Write(history.ChangeLog, emptyLog+"\n- Broken: `"+tt.name+"`.\n")
			unnamed, err := gate(&out, shared, p.Folder)
			if method := tt.name == "lib.Box.Fill" || tt.name == "lib.Filler.Empty"; method {
				unnamed = strings.Count(out.String(), "does not name `"+tt.name+"`") - 2
			}
			if unnamed != 0 || err != nil {
				t.Errorf("named: %d unnamed breaks, error %v\n%s", unnamed, err, &out)
			}
		})
	}
}

func TestPackageRemoved(t *testing.T) {
	p := standard(t)
	p.Git("rm", "-q", "-r", "lib")
	p.expect(1, "`package lib`")
	p.Write(history.ChangeLog, emptyLog+"`package lib` is gone\n")
	p.expect(0)
}

// What only programs or tests see is no API.
func TestNoAPI(t *testing.T) {
	p := standard(t)
	p.Write("cmd/main.go", "package main\n\nfunc main() {}\n")
	p.Write("lib/lib_test.go", "package lib\n")
	p.expect(0)
}

// No promise, nothing to break: neither with no commit that has a change log
// nor with the first one.
func TestFirstCommit(t *testing.T) {
	p := newProject(t)
	p.Write("go.mod", moduleFile)
	p.Write("root.go", "package m\n\nfunc Run() {}\n")
	p.Commit()
	p.Write("root.go", "package m\n\nfunc Go() {}\n")
	p.expect(0, "no earlier commit")
	p.Write(history.ChangeLog, emptyLog)
	p.Commit()
	p.expect(0, "1 earlier state")
}

// A break is found however it came: not committed, just committed, or further
// back; a later commit that does not touch the API hides nothing.
func TestHistory(t *testing.T) {
	p := standard(t)
	p.Write("root.go", "package m\n\nfunc Run() error { return nil }\n")
	p.expect(1, "m.Run", "(0 back)")
	p.Commit()
	p.expect(1, "(1 back)")
	for range 4 {
		p.Commit()
		p.expect(1, "m.Run")
	}
	p.Write(history.ChangeLog, emptyLog+"- `m.Run` returns an error\n")
	p.expect(0)
	p.Commit()
	p.expect(0)
}

// After a release the names stand in the section of the release; for a later
// base that section is old, and a second break must be named anew.
func TestRelease(t *testing.T) {
	p := standard(t)
	p.Write("root.go", "package m\n\nfunc Run() error { return nil }\n")
	released := "# Changelog\n\n## Unreleased\n\n## v0.2.0\n\n- `m.Run` returns an error\n"
	p.Write(history.ChangeLog, released)
	p.Commit()
	p.expect(0)
	p.Write("root.go", "package m\n\nfunc Run() string { return \"\" }\n")
	p.expect(1, "m.Run", "(0 back)")
}

// What stood on a branch alone was never promised.
func TestBranch(t *testing.T) {
	p := standard(t)
	p.Git("checkout", "-q", "-b", "work")
	p.Write("root.go", "package m\n\nfunc Run() {}\n\nfunc Trial() {}\n")
	p.Commit()
	p.Write("root.go", "package m\n\nfunc Run() {}\n")
	p.Commit()
	p.expect(0)
	p.Write("root.go", "package m\n")
	p.expect(1, "m.Run", "(2 back)")
}

// The gate works on the project itself: with one exported function of quota
// renamed in a copy it fails, until the change log names it.
func TestThisModule(t *testing.T) {
	p := newProject(t)
	root := filepath.Join("..", "..", "..")
	if err := os.CopyFS(p.Folder, goFiles{os.DirFS(root)}); err != nil {
		t.Fatal(err)
	}
	p.Write(history.ChangeLog, emptyLog)
	p.Commit()
	p.expect(0)
	file, name := exportedFunction(t, filepath.Join(p.Folder, "quota"))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "\nfunc "+name+"(", "\nfunc Renamed"+name+"(", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	p.expect(1, "`quota."+name+"`")
	p.Write(history.ChangeLog, emptyLog+"`quota."+name+"` has another name\n")
	p.expect(0)
}

func exportedFunction(t *testing.T, folder string) (file, name string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && f.Name.IsExported() && !strings.HasSuffix(file, "_test.go") {
				return file, f.Name.Name
			}
		}
	}
	t.Fatal("quota exports no function")
	return "", ""
}
