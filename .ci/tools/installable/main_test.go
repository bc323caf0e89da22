package main

import (
	"strings"
	"testing"

	"github.com/allotsched/allot/.ci/tools/internal/project"
)

// A library, and a program that says what try wants to hear of the version it was
// built from.
const (
	library = "module example.org/library\n\ngo 1.26\n"
	program = "module example.org/library/examples/allot\n\ngo 1.26\n\nrequire example.org/library v0.3.0\n"
	code    = `package main

import (
	_ "embed"
	"fmt"
	"runtime/debug"

	"example.org/library"
)

//go:embed plan.txt
var plan string

func main() {
	info, _ := debug.ReadBuildInfo()
	fmt.Printf("allot %s, library %s\n", info.Main.Version, info.Deps[0].Version)
	fmt.Printf(library.Plan, plan)
}
`
)

// What can be installed is, and what cannot is refused for what is wrong with it.
func TestProve(t *testing.T) {
	for _, c := range []struct {
		name, file, content string // what is written over a project that is fine
		told, refused       string
	}{
		{name: "fine", told: "allot can be installed at v0.3.0, and runs"},
		{name: "replaced", file: "examples/allot/go.mod", content: program + "replace example.org/library => ../..\n",
			refused: "has replace or exclude directives"},
		{name: "nothing required", file: "examples/allot/go.mod", content: "module example.org/library/examples/allot\n",
			refused: "does not require example.org/library"},
		{name: "not packed", file: "examples/allot/plan.txt/go.mod", content: "module example.org/plan\n",
			refused: "plan.txt"},
		{name: "no such name", file: "examples/allot/what?.txt",
			refused: "cannot be packed"},
		{name: "another program", file: "examples/allot/main.go", content: "package main\n\nfunc main() {}\n",
			refused: "says (<nil>)"},
		{name: "a library", file: "examples/allot/main.go", content: "package allot\n",
			refused: "is not a main package"},
		{name: "more than is here", file: "go.mod", content: library + "require example.org/other v1.2.3\n",
			told: "nothing is proved: the module cache lacks example.org/other/@v/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := project.New(t)
			p.Write("go.mod", library)
			p.Write("library.go", "package library\n\nconst Plan = \"%s\"\n")
			p.Write("examples/allot/go.mod", program)
			p.Write("examples/allot/main.go", code)
			if c.name == "more than is here" {
				p.Write("other.go", "package library\n\nimport _ \"example.org/other\"\n")
			}
			if c.name != "not packed" {
				p.Write("examples/allot/plan.txt", start+"\n")
			}
			if c.file != "" {
				p.Write(c.file, c.content)
			}
			var out strings.Builder
			err := prove(&out, p.Folder, t.TempDir())
			if c.refused == "" && err != nil || !strings.Contains(out.String(), c.told) {
				t.Errorf("it tells %q (%v), not %q", out.String(), err, c.told)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("refused is %v, not for %q", err, c.refused)
			}
		})
	}
}
