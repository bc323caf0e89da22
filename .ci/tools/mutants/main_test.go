package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const table = `# What stands above the first row is for people.

A1 more is less
a/a.go
- return n + 1
+ return n - 1
# TestMore

B2 a constant is another
a/a.go
- const most = 3
+ const most = 4
`

const source = `package a

const most = 3

// More is more.
func (c *counter[T]) More(n, _ int, rest ...string) (sum int, err error) {
	return n + 1
}
`

// A function that a row breaks stands there whole, broken, and as the one that chooses;
// what is outside of functions is built by itself.
func TestWeave(t *testing.T) {
	rows := choose(parse(table), []string{""})
	if len(rows) != 2 || rows[0].killer != "TestMore" || rows[1].number != 2 {
		t.Fatalf("%d rows, %+v", len(rows), rows)
	}
	woven := weaveFile(source, rows)
	if rows[0].alone || !rows[1].alone {
		t.Errorf("built by itself: %v and %v", rows[0].alone, rows[1].alone)
	}
	for _, want := range []string{
		"func (c *counter[T]) m0_More(n, _ int, rest ...string) (sum int, err error) {\n\treturn n + 1",
		"func (c *counter[T]) m1_More(n, _ int, rest ...string) (sum int, err error) {\n\treturn n - 1",
		"func (r_ *counter[T]) More(p0_ int, p1_ int, p2_ ...string) (int, error) {",
		"return r_.m1_More(p0_, p1_, p2_...)", "return r_.m0_More(p0_, p1_, p2_...)",
	} {
		if !strings.Contains(woven, want) {
			t.Errorf("there is no %q in\n%s", want, woven)
		}
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", woven, 0); err != nil {
		t.Error(err)
	}
	lines := strings.Split(woven, "\n")
	if at := rows[0].lines; !strings.Contains(lines[at[0]-1], "m1_More") || lines[at[1]-1] != "//mutant 0" {
		t.Errorf("lines %v of\n%s", at, woven)
	}
}

// Rows are chosen by what their rule, killer or file contains, and subtests by their names.
func TestChoose(t *testing.T) {
	if got := choose(parse(table), []string{"TestMore", "none"}); len(got) != 1 || got[0].rule != "A1 more is less" {
		t.Errorf("%+v", got)
	}
	if got := exactly("TestA/b/c"); got != "^TestA$/^b$/^c$" {
		t.Error(got)
	}
	if got := turned(choose(parse(table), []string{""}), 3); got[0].number != 2 || got[1].number != 1 {
		t.Errorf("from the second on: %+v", got)
	}
}

// The table of mutants is up to date: every old text stands in its file exactly
// once, and every test that it names is there.
func TestTable(t *testing.T) {
	repo := filepath.Join("..", "..", "..")
	data, err := os.ReadFile(filepath.Join(repo, "testdata", "mutants.table"))
	if err != nil {
		t.Fatal(err)
	}
	mutants := parse(string(data))
	if len(mutants) < 40 {
		t.Errorf("only %d mutants", len(mutants))
	}
	folders, err := testFolders(repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if name, _, _ := strings.Cut(m.killer, "/"); name != "" && len(folders[name]) == 0 {
			t.Errorf("%s: there is no test %s", m.rule, m.killer)
		}
		source, err := os.ReadFile(filepath.Join(repo, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.rule, err)
			continue
		}
		if n := strings.Count(string(source), m.old); n != 1 || m.old == "" || m.old == m.new {
			t.Errorf("%s: %q stands %d times in %s", m.rule, m.old, n, m.file)
		}
	}
}
