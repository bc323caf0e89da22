package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/.ci/tools/internal/project"
)

// module is a library with a state of one number, and a plan of what body makes
// of it.
const module = `package allot

import "errors"

type State struct{ N int }

type Plan struct {
	Version             int TAG
	Beneficiary, Number int
}

var errOdd = errors.New("odd")

func Solve(s *State) (*Plan, error) { BODY }
`

const tag = "`json:\"version\"`"

// commit makes one of the module with a body of Solve.
func commit(p project.Project, body string) string {
	p.Write("go.mod", "module github.com/allotsched/allot\n\ngo 1.26\n")
	p.Write("allot.go", strings.NewReplacer("BODY", body, "TAG", tag).Replace(module))
	p.Commit()
	return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
}

// TestCompare: plans, errors and panics count, and what differs is told.
func TestCompare(t *testing.T) {
	const plain = `if s.N%2 > 0 { return nil, errOdd }; return &Plan{Number: s.N}, nil`
	p := project.New(t)
	base := commit(p, plain)
	corpus := filepath.Join(p.Folder, "corpus")
	p.Write("corpus", "{\"N\":1}\n{\"N\":2}\n{\"N\":4}\n")
	for _, c := range []struct {
		name, body string
		differing  int
		told       string
	}{
		{"another way to the same plan", `p := Plan{2, 0, s.N}; if s.N&1 != 0 { return nil, errOdd }; return &p, nil`, 0, "3 states, 0 plans differ"},
		{"another plan", `if s.N%2 > 0 { return nil, errOdd }; return &Plan{Number: min(s.N, 3)}, nil`, 1, "line 3 of the corpus: the plans differ\n3 states, 1 plans differ\n{\"N\":4}"},
		{"no error", `return &Plan{Number: s.N}, nil`, 1, "line 1 of the corpus"},
		{"a panic", `if s.N == 2 { panic(errOdd) }; if s.N%2 > 0 { return nil, errOdd }; return &Plan{Number: s.N}, nil`, 1, "line 2 of the corpus"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			differing, err := (&comparison{repo: p.Folder, base: base, head: commit(p, c.body), corpus: corpus}).run(&out)
			if err != nil || differing != c.differing || !strings.Contains(out.String(), c.told) {
				t.Errorf("%d differ, error %v, told %q; want %d and %q", differing, err, out.String(), c.differing, c.told)
			}
		})
	}
}

// TestRename: a renamed word of the JSON form is no difference where it is named.
func TestRename(t *testing.T) {
	p := project.New(t)
	base := commit(p, `return &Plan{Number: s.N}, nil`)
	p.Write("corpus", "{\"N\":1}\n")
	p.Write("go.mod", "module github.com/allotsched/allot\n\ngo 1.26\n")
	p.Write("allot.go", strings.NewReplacer("BODY", `return &Plan{Number: s.N}, nil`, "TAG", tag, "Beneficiary", "Preemptor").Replace(module))
	p.Commit()
	c := comparison{repo: p.Folder, base: base, head: "HEAD", corpus: filepath.Join(p.Folder, "corpus")}
	for _, named := range []bool{false, true} {
		if named {
			if err := c.renames.Set("Beneficiary=Preemptor"); err != nil {
				t.Fatal(err)
			}
		}
		differing, err := c.run(&bytes.Buffer{})
		if want := 1; err != nil || (differing == want) == named {
			t.Errorf("renamed %v: %d differ, error %v", named, differing, err)
		}
	}
	if c.renames.Set("word") == nil {
		t.Error("a word without = is taken")
	}
}
