package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// chosen is the source of the package that says which mutant runs.
const chosen = `// Package mutant says which mutant runs: 0 is none.
package mutant

import (
	"os"
	"strconv"
)

// ID is its number.
var ID, _ = strconv.Atoi(os.Getenv("MUTANT"))
`

// weave writes the overlay in which all mutants are, one beside the other, and has those
// that do not compile so built by themselves.
func (r *run) weave() error {
	for {
		files := map[string]string{filepath.Join(r.repo, "internal", "mutant", "mutant.go"): r.file("mutant.go", chosen)}
		byFile := make(map[string][]*mutant)
		for _, m := range r.table {
			if !m.alone {
				byFile[m.file] = append(byFile[m.file], m)
			}
		}
		for file, list := range byFile {
			source, err := os.ReadFile(filepath.Join(r.repo, file))
			if err != nil {
				return err
			}
			files[filepath.Join(r.repo, file)] = r.file(strings.ReplaceAll(file, "/", "-"), weaveFile(string(source), list))
		}
		if err := r.overlay("woven.json", files); err != nil {
			return err
		}
		out, err := r.goTool("build", "-gcflags=-e", "-overlay="+filepath.Join(r.work, "woven.json"), "./...")
		if err == nil {
			return nil
		}
		if !r.setApart(out) {
			return fmt.Errorf("the mutants do not compile: %s", out)
		}
	}
}

// file writes a file of the overlay; one that cannot be written is missed by the compiler.
func (r *run) file(name, text string) string {
	path := filepath.Join(r.work, name)
	_ = os.WriteFile(path, []byte(text), 0o666)
	return path
}

func (r *run) overlay(name string, files map[string]string) error {
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.work, name), text, 0o666)
}

func (r *run) goTool(args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = r.repo
	out, err := c.CombinedOutput()
	return string(out), err
}

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)

// setApart has those built by themselves of which the compiler complains, and says whether
// there are any more.
func (r *run) setApart(out string) (more bool) {
	for _, found := range complaint.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(found[2])
		for _, m := range r.table {
			name := strings.ReplaceAll(m.file, "/", "-")
			same := strings.HasSuffix(found[1], "/"+name) || strings.TrimPrefix(found[1], "./") == m.file
			if !m.alone && same && m.lines[0] <= line && line < m.lines[1] {
				m.alone, more = true, true
			}
		}
	}
	return more
}

// weaveFile is the source with each function that a mutant breaks there once more for each
// of them.
func weaveFile(source string, list []*mutant) string {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, 0)
	if err != nil {
		return source
	}
	byFunction := make(map[*ast.FuncDecl][]*mutant)
	for _, m := range list {
		at := strings.Index(source, m.old)
		f := enclosing(set, parsed, at, at+len(m.old))
		if m.alone = at < 0 || strings.Count(source, m.old) != 1 || f == nil; !m.alone {
			byFunction[f] = append(byFunction[f], m)
		}
	}
	if len(byFunction) == 0 {
		return source
	}
	var changed []byte
	last, tail := 0, new(strings.Builder)
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	for _, d := range parsed.Decls {
		f, is := d.(*ast.FuncDecl)
		mutants := byFunction[f]
		if !is || len(mutants) == 0 {
			continue
		}
		name := offset(f.Name.Pos())
		changed = append(append(changed, source[last:name]...), "m0_"+f.Name.Name...)
		last = name + len(f.Name.Name)
		begin, end := offset(f.Pos()), offset(f.End())
		for _, m := range mutants {
			at := strings.Index(source, m.old)
			body := source[begin:at] + m.new + source[at+len(m.old):end]
			own := name - begin
			fmt.Fprintf(tail, "//mutant %d\n%sm%d_%s\n//mutant 0\n", m.number, body[:own], m.number, body[own:])
		}
		tail.WriteString(dispatcher(source, set, f, mutants))
	}
	changed = append(append(changed, source[last:]...), tail.String()...)
	text := insertImport(changed, offset(parsed.Name.End()))
	for _, m := range list {
		m.lines = linesOf(text, m.number)
	}
	return text
}

func insertImport(source []byte, at int) string {
	return string(source[:at]) + "; import mutantID \"github.com/allotsched/allot/internal/mutant\"" + string(source[at:])
}

// linesOf are the first line of a mutant's function and the one behind it.
func linesOf(text string, number int) (lines [2]int) {
	before, after, there := strings.Cut(text, fmt.Sprintf("//mutant %d\n", number))
	if !there {
		return lines
	}
	inside, _, _ := strings.Cut(after, "//mutant 0\n")
	first := strings.Count(before, "\n") + 2
	return [2]int{first, first + strings.Count(inside, "\n") + 1}
}

// enclosing is the function whose body has the text, nil where none has.
func enclosing(set *token.FileSet, file *ast.File, begin, end int) *ast.FuncDecl {
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if is && f.Body != nil && f.Name.Name != "init" && f.Name.Name != "main" &&
			set.Position(f.Body.Pos()).Offset <= begin && end <= set.Position(f.End()).Offset {
			return f
		}
	}
	return nil
}

// dispatcher is the function under its old name: it calls the one that is chosen.
func dispatcher(source string, set *token.FileSet, f *ast.FuncDecl, mutants []*mutant) string {
	text := func(n ast.Node) string {
		return source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]
	}
	var parameters, arguments []string
	for _, field := range f.Type.Params.List {
		names := max(1, len(field.Names))
		_, rest := field.Type.(*ast.Ellipsis)
		for range names {
			name := fmt.Sprintf("p%d_", len(arguments))
			parameters = append(parameters, name+" "+text(field.Type))
			if rest {
				name += "..."
			}
			arguments = append(arguments, name)
		}
	}
	receiver, call, kinds := "", "", ""
	if f.Recv != nil {
		receiver, call = "(r_ "+text(f.Recv.List[0].Type)+") ", "r_."
	}
	generic := ""
	if f.Type.TypeParams != nil {
		kinds = text(f.Type.TypeParams)
		var names []string
		for _, field := range f.Type.TypeParams.List {
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
		}
		generic = "[" + strings.Join(names, ", ") + "]"
	}
	results, give := "", ""
	if f.Type.Results != nil {
		results, give = "("+unnamed(text, f.Type.Results)+")", "return "
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nfunc %s%s%s(%s) %s {\n\tswitch mutantID.ID {\n", receiver, f.Name.Name, kinds, strings.Join(parameters, ", "), results)
	for _, m := range slices.Concat(mutants, []*mutant{{}}) {
		label := fmt.Sprintf("case %d:", m.number)
		if m.number == 0 {
			label = "default:"
		}
		fmt.Fprintf(&b, "\t%s\n\t\t%s%sm%d_%s%s(%s)\n", label, give, call, m.number, f.Name.Name, generic, strings.Join(arguments, ", "))
	}
	b.WriteString("\t}\n}\n")
	return b.String()
}

func unnamed(text func(ast.Node) string, results *ast.FieldList) string {
	var list []string
	for _, field := range results.List {
		for range max(1, len(field.Names)) {
			list = append(list, text(field.Type))
		}
	}
	return strings.Join(list, ", ")
}
