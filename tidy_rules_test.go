package allot_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A tidyRule is a house rule: for which packages, what it looks for, and code
// that it must refuse or accept.
type tidyRule struct {
	name    string
	applies func(path string) bool
	check   func(m *tidyModule, p *tidyPackage) []finding
	samples []tidySample
}

// A tidySample is a file of the package at path, named sample.go unless said.
type tidySample struct {
	refused      bool
	path, source string
	file         string
}

// corePackages decide: they are pure functions of what they are given.
var corePackages = []string{"", "quota", "fairshare", "queue", "placement", "gang", "preempt"}

func isCore(path string) bool { return slices.Contains(corePackages, path) }

// isLibrary: what a user can import, that is, everything but programs.
func isLibrary(path string) bool { return path != "examples" && !strings.HasPrefix(path, "examples/") }

func isAny(string) bool { return true }

var tidyRules = []tidyRule{
	{
		name:    "imports: the borders of DESIGN §2, and only what is pure",
		applies: isAny,
		check:   checkImports,
		samples: []tidySample{
			{refused: false, path: "queue", source: `package queue; import (_ "slices"; _ "` + modulePath + `/quota")`},
			{refused: true, path: "quota", source: `package quota; import _ "` + modulePath + `/fairshare"`},
			{refused: true, path: "gang", source: `package gang; import _ "` + modulePath + `/queue"`},
			{refused: true, path: "placement", source: `package placement; import _ "` + modulePath + `"`},
			{refused: true, path: "fairshare", source: `package fairshare; import _ "github.com/google/btree"`},
			{refused: true, path: "", source: `package allot; import _ "` + modulePath + `/sim/scenario"`},
			{refused: true, path: "sim/trace", source: `package trace; import _ "net"`},
			{refused: true, path: "", source: `package allot; import _ "log"`},
			{refused: true, path: "", source: `package allot; import _ "os"`},
			{refused: true, path: "", source: `package allot; import _ "sync"`},
			{refused: true, path: "queue", source: `package queue; import _ "math/rand"`},
			{refused: true, path: "queue", source: `package queue; import _ "time"`},
			{refused: true, path: "queue", source: `package queue; import _ "unsafe"`},
		},
	},
	{
		name:    "no clock: an instant is part of the state (S1)",
		applies: isLibrary,
		check:   checkClock,
		samples: []tidySample{
			{refused: false, path: "", source: `package allot; import "time"; var epoch = time.Unix(0, 0)`},
			{refused: true, path: "", source: `package allot; import "time"; func f() any { return time.Now() }`},
			{refused: true, path: "sim", source: `package sim; import t "time"; var wait = t.Sleep`},
			{refused: true, path: "", source: `package allot; import "time"; func f(a time.Time) any { return time.Since(a) }`},
		},
	},
	{
		name:    "no floats in decisions (S2)",
		applies: isCore,
		check:   checkFloats,
		samples: []tidySample{
			{refused: false, path: "quota", source: `package quota; const n = 1 << 53; var m int64 = n / 2`},
			{refused: true, path: "quota", source: `package quota; var m int64 = 1e6`},
			{refused: true, path: "quota", source: `package quota; type T struct{ share float64 }`},
			{refused: true, path: "fairshare", source: `package fairshare; import "math"; func f(n int64) bool { return math.Sqrt(2) > 1 }`},
			{refused: true, path: "", source: `package allot; func f(n int64) int64 { return int64(float32(n)) }`},
		},
	},
	{
		name:    "maps: where one is ranged over, a comment says why order cannot matter",
		applies: isLibrary,
		check:   checkMapRanges,
		samples: []tidySample{
			{refused: false, path: "", source: "package allot\nfunc f(m map[string]int) (n int) {\n\tfor _, v := range m { // a sum: order cannot matter\n\t\tn += v\n\t}\n\t// sorted below\n\tfor range m {\n\t}\n\tfor range []int{} {\n\t}\n\treturn n\n}"},
			{refused: false, path: "", source: "package allot\nimport (\"maps\"; \"slices\")\nfunc f(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }"},
			{refused: true, path: "", source: "package allot\nfunc f(m map[string]int) {\n\tfor range m {\n\t}\n}"},
			{refused: true, path: "", source: "package allot\nfunc f(m map[string]int) {\n\tfor range m { // all of them\n\t}\n}"},
			{refused: true, path: "", source: "package allot\n// order cannot matter\n\ntype set map[string]bool\nfunc f(m struct{ set }) {\n\tfor range m.set {\n\t}\n}"},
			{refused: true, path: "", source: "package allot\nfunc f[M ~map[string]int](m M) {\n\tfor range m {\n\t}\n}"},
			{refused: true, path: "", source: "package allot\nimport (\"maps\"; \"slices\")\nfunc f(m map[string]int) []string { return slices.Collect(maps.Keys(m)) }"},
			{refused: true, path: "", source: "package allot\nimport \"reflect\"\nfunc f(v reflect.Value) any { return v.MapKeys() }"},
		},
	},
	{
		name:    "no state beside the arguments: no goroutine, no init, no package variable that changes",
		applies: isLibrary,
		check:   checkState,
		samples: []tidySample{
			{refused: false, path: "", source: `package allot; var names = []string{"a"}; func f() string { names := names; names = nil; _ = names; return "" }`},
			{refused: true, path: "", source: `package allot; func f() { go f() }`},
			{refused: true, path: "", source: `package allot; func init() {}`},
			{refused: true, path: "", source: `package allot; var n int; func f() { n++ }`},
			{refused: true, path: "", source: `package allot; var known = map[string]int{}; func f() { known["a"] = 1 }`},
			{refused: true, path: "", source: `package allot; var s struct{ list []int }; func f() *[]int { return &s.list }`},
		},
	},
	{
		name:    "functions under 70 lines",
		applies: isAny,
		check:   checkFunctions,
		samples: []tidySample{
			{refused: false, path: "", source: "package allot\nfunc f() {" + strings.Repeat("\n", 68) + "}\n"},
			{refused: true, path: "", source: "package allot\nfunc f() {" + strings.Repeat("\n", 69) + "}\n"},
			{refused: true, path: "", source: "package allot\nvar f = func() {" + strings.Repeat("\n", 69) + "}\n"},
		},
	},
	{
		name:    "files under 500 lines",
		applies: isAny,
		check:   checkFiles,
		samples: []tidySample{
			{refused: false, path: "", source: "package allot" + strings.Repeat("\n", 499)},
			{refused: true, path: "", source: "package allot" + strings.Repeat("\n", 500)},
		},
	},
	{
		name:    "every exported identifier has a doc comment",
		applies: isLibrary,
		check:   checkDocs,
		samples: []tidySample{
			{refused: false, path: "", source: "package allot\n\n// T is.\ntype T struct {\n\t// A and B are.\n\tA int\n\tB int\n\n\tC int // is\n}\n\n// M does.\nfunc (T) M() {}\n\nfunc (t) M() {}\n\ntype t int\n\n// They are.\nconst (\n\tX = 1\n\tY = 2\n)\n"},
			{refused: true, path: "", source: "package allot\nfunc F() {}"},
			{refused: true, path: "", source: "package allot\ntype T int"},
			{refused: true, path: "", source: "package allot\n// T is.\ntype T int\nfunc (*T) M() {}"},
			{refused: true, path: "", source: "package allot\nvar V int"},
			{refused: true, path: "", source: "package allot\nconst (\n\tX = 1 // is\n\n\tY = 2\n)"},
			{refused: true, path: "", source: "package allot\n// T is.\ntype T struct {\n\tA int\n\n\tB int\n}"},
		},
	},
	{
		name:    "nothing unfinished",
		applies: isAny,
		check:   checkWords,
		samples: []tidySample{
			{refused: false, path: "", source: "package allot // todos, hacker"},
			{refused: true, path: "", source: "package allot // TO" + "DO: more"},
			{refused: true, path: "", source: "package allot // FIX" + "ME"},
			{refused: true, path: "", source: "package allot // XX" + "X"},
			{refused: true, path: "", source: "package allot // HA" + "CK"},
			{refused: true, path: "", source: "package allot; const s = \"not impl" + "emented\""},
		},
	},
	{
		name:    "packages are named for what they do",
		applies: isAny,
		check:   checkPackageName,
		samples: []tidySample{
			{refused: false, path: "quota", source: "package quota"},
			{refused: true, path: "internal/util", source: "package util"},
			{refused: true, path: "common", source: "package common"},
			{refused: true, path: "sim/helpers", source: "package helpers"},
		},
	},
	{
		name:    "every package has a page: doc.go, or main.go of a program",
		applies: isAny,
		check:   checkPage,
		samples: []tidySample{
			{refused: false, path: "quota", file: "doc.go", source: "// Package quota keeps.\npackage quota"},
			{refused: false, path: "examples/solve", file: "main.go", source: "// Solve reads.\npackage main"},
			{refused: true, path: "quota", file: "doc.go", source: "package quota"},
			{refused: true, path: "quota", file: "tree.go", source: "// Package quota keeps.\npackage quota"},
			{refused: true, path: "quota", file: "doc.go", source: "// This package keeps.\npackage quota"},
			{refused: true, path: "examples/solve", file: "main.go", source: "package main"},
		},
	},
	{
		name:    "no linkname",
		applies: isAny,
		check:   checkLinkname,
		samples: []tidySample{
			{refused: true, path: "", source: "package allot\n\n//go:link" + "name nanotime runtime.nanotime\n"},
		},
	},
}

// mayImport is DESIGN §2. The key covers the folders below it as well. Only
// what stands here may be imported: a new line is a decision.
var mayImport = map[string]struct {
	own      []string // packages of this module
	others   []string // other modules
	standard []string // beside pureStandard; "*" is anything
}{
	"quota":     {},
	"fairshare": {},
	"queue":     {own: []string{"quota", "fairshare"}, others: []string{"github.com/google/btree"}},
	"placement": {own: []string{"quota"}, others: []string{"github.com/google/btree"}},
	"gang":      {own: []string{"placement", "quota"}},
	"preempt":   {own: []string{"gang", "placement", "quota", "fairshare"}},
	"": {
		own:      []string{"quota", "fairshare", "queue", "placement", "gang", "preempt"},
		standard: rootStandard,
	},
	// sim stands on the root alone; the children are there for the types of
	// the root's fields.
	"sim": {
		own:      []string{"", "sim", "quota", "fairshare", "queue", "placement"},
		standard: rootStandard,
	},
	"examples": {
		own:      []string{"", "sim", "quota", "fairshare", "queue", "placement"},
		standard: []string{"*"},
	},
}

// pureStandard is what of the standard library every package may use: nothing
// in it knows a clock, a file, another goroutine or chance.
var pureStandard = []string{
	"bytes", "cmp", "encoding/binary", "errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "strconv", "strings",
}

// rootStandard is what the root uses beside: context for SolveContext, time for
// the instants of a State (but see the rule on clocks), the rest for JSON and
// text. Locks, files, logs and chance would have to be added here, with why.
var rootStandard = []string{
	"context", "encoding", "encoding/json", "io", "reflect", "text/tabwriter", "time", "unicode", "unicode/utf16", "unicode/utf8",
}

func checkImports(m *tidyModule, p *tidyPackage) (found []finding) {
	key := p.path
	allowed, ok := mayImport[key]
	for ; !ok && key != "."; allowed, ok = mayImport[key] {
		key = path.Dir(key)
	}
	if !ok {
		return []finding{m.at(p.files[0], p.files[0].Package, "the package has no line in mayImport")}
	}
	for _, f := range p.files {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			below, own := strings.CutPrefix(name, modulePath)
			below = strings.TrimPrefix(below, "/")
			switch {
			case err != nil:
			case own:
				top, _, _ := strings.Cut(below, "/")
				ok = slices.Contains(allowed.own, top)
			case strings.Contains(strings.Split(name, "/")[0], "."):
				ok = slices.Contains(allowed.others, name)
			default:
				ok = slices.Contains(pureStandard, name) || slices.Contains(allowed.standard, name) || slices.Contains(allowed.standard, "*")
			}
			if err != nil || !ok {
				found = append(found, m.at(f, spec.Pos(), "may not import %s", spec.Path.Value))
			}
		}
	}
	return found
}

// clocks are the functions of package time that read the clock or wait.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

func checkClock(m *tidyModule, p *tidyPackage) (found []finding) {
	p.each(func(f *tidyFile, n ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		if used, ok := p.info.Uses[id].(*types.Func); ok && used.Pkg() != nil && used.Pkg().Path() == "time" &&
			used.Signature().Recv() == nil && slices.Contains(clocks, used.Name()) {
			found = append(found, m.at(f, id.Pos(), "reads the clock: time.%s", used.Name()))
		}
	})
	return found
}

func checkFloats(m *tidyModule, p *tidyPackage) (found []finding) {
	p.each(func(f *tidyFile, n ast.Node) {
		e, ok := n.(ast.Expr)
		if !ok {
			return
		}
		if literal, ok := e.(*ast.BasicLit); ok && (literal.Kind == token.FLOAT || literal.Kind == token.IMAG) {
			found = append(found, m.at(f, e.Pos(), "float literal %s", literal.Value))
			return
		}
		known, ok := p.info.Types[e]
		if !ok || known.Type == nil {
			return
		}
		if basic, ok := known.Type.Underlying().(*types.Basic); ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0 {
			found = append(found, m.at(f, e.Pos(), "an expression of type %s", known.Type))
		}
	})
	return found
}

// aboutOrder is what a comment must say to be one on order.
var aboutOrder = regexp.MustCompile(`(?i)order|sort`)

func checkMapRanges(m *tidyModule, p *tidyPackage) (found []finding) {
	sorted := make(map[ast.Expr]bool) // arguments of a sorting function
	report := func(f *tidyFile, pos token.Pos, what string) {
		if !m.hasOrderComment(f, pos) {
			found = append(found, m.at(f, pos, "%s without a comment, here or on the line above, why order cannot matter", what))
		}
	}
	p.each(func(f *tidyFile, n ast.Node) {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if isMap(p.info.Types[n.X].Type) {
				report(f, n.Pos(), "ranges over a map")
			}
		case *ast.CallExpr:
			switch called := p.called(n); called {
			case "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc":
				sorted[n.Args[0]] = true
			case "maps.Keys", "maps.Values", "maps.All", "reflect.MapKeys", "reflect.MapRange", "reflect.Seq", "reflect.Seq2":
				if !sorted[n] {
					report(f, n.Pos(), called)
				}
			}
		}
	})
	return found
}

// isMap says whether the type, or any type of a type parameter, is a map.
func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	constraint, ok := t.Underlying().(*types.Interface)
	if !ok {
		_, ok := t.Underlying().(*types.Map)
		return ok
	}
	for embedded := range constraint.EmbeddedTypes() {
		union, ok := embedded.(*types.Union)
		if !ok {
			if isMap(embedded) {
				return true
			}
			continue
		}
		for term := range union.Terms() {
			if isMap(term.Type()) {
				return true
			}
		}
	}
	return false
}

// called is the package and name of the function or method that is called.
func (p *tidyPackage) called(call *ast.CallExpr) string {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := p.info.Uses[selector.Sel].(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	return f.Pkg().Path() + "." + f.Name()
}

func (m *tidyModule) hasOrderComment(f *tidyFile, pos token.Pos) bool {
	line := m.fset.Position(pos).Line
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		from, to := m.fset.Position(c.Pos()).Line, m.fset.Position(c.End()).Line
		return (from == line || to == line-1) && aboutOrder.MatchString(c.Text())
	})
}

func checkState(m *tidyModule, p *tidyPackage) (found []finding) {
	changed := func(f *tidyFile, e ast.Expr) {
		if id := base(e); id != nil {
			if v, ok := p.info.Uses[id].(*types.Var); ok && v.Parent() == p.types.Scope() {
				found = append(found, m.at(f, e.Pos(), "changes the package variable %s, or lets it be changed", id.Name))
			}
		}
	}
	p.each(func(f *tidyFile, n ast.Node) {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, m.at(f, n.Pos(), "starts a goroutine"))
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				found = append(found, m.at(f, n.Pos(), "has an init function"))
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				changed(f, left)
			}
		case *ast.IncDecStmt:
			changed(f, n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				changed(f, n.X)
			}
		}
	})
	return found
}

// base is the identifier that an expression such as a.b[c] begins with.
func base(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return base(e.X)
	case *ast.IndexExpr:
		return base(e.X)
	case *ast.StarExpr:
		return base(e.X)
	case *ast.ParenExpr:
		return base(e.X)
	}
	return nil
}

const functionLines, fileLines = 70, 500

func checkFunctions(m *tidyModule, p *tidyPackage) (found []finding) {
	p.each(func(f *tidyFile, n ast.Node) {
		name := "a function"
		switch n := n.(type) {
		case *ast.FuncDecl:
			name = n.Name.Name
		case *ast.FuncLit:
		default:
			return
		}
		if lines := m.fset.Position(n.End()).Line - m.fset.Position(n.Pos()).Line + 1; lines >= functionLines {
			found = append(found, m.at(f, n.Pos(), "%s has %d lines", name, lines))
		}
	})
	return found
}

func checkFiles(m *tidyModule, p *tidyPackage) (found []finding) {
	for _, f := range p.files {
		if lines := strings.Count(f.text, "\n"); lines >= fileLines {
			found = append(found, m.at(f, f.Package, "the file has %d lines", lines))
		}
	}
	return found
}

func checkDocs(m *tidyModule, p *tidyPackage) (found []finding) {
	for _, f := range p.files {
		for _, declaration := range f.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || base(receiver(d)).IsExported()) {
					found = append(found, m.at(f, d.Pos(), "%s has no doc comment", d.Name.Name))
				}
			case *ast.GenDecl:
				found = append(found, m.undocumented(f, d)...)
			}
		}
	}
	return found
}

// receiver is the receiver's type without type parameters.
func receiver(d *ast.FuncDecl) ast.Expr {
	t := d.Recv.List[0].Type
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	if generic, ok := t.(*ast.IndexListExpr); ok {
		t = generic.X
	}
	return t
}

// undocumented looks at types, their fields, constants and variables. Those
// that follow a documented one without a blank line are documented with it.
func (m *tidyModule) undocumented(f *tidyFile, d *ast.GenDecl) (found []finding) {
	told := run{m: m, documented: d.Doc != nil, end: m.fset.Position(d.Pos()).Line}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			if s.Doc == nil && d.Doc == nil {
				found = append(found, m.at(f, s.Pos(), "%s has no doc comment", s.Name.Name))
			}
			if structure, ok := s.Type.(*ast.StructType); ok {
				found = append(found, m.undocumentedFields(f, s.Name.Name, structure)...)
			}
		case *ast.ValueSpec:
			if !told.continues(s, s.Doc, s.Comment) && slices.ContainsFunc(s.Names, (*ast.Ident).IsExported) {
				found = append(found, m.at(f, s.Pos(), "%s has no doc comment", s.Names[0].Name))
			}
		}
	}
	return found
}

// undocumentedFields: those at the head of the struct stand under the comment
// of the type.
func (m *tidyModule) undocumentedFields(f *tidyFile, name string, s *ast.StructType) (found []finding) {
	told := run{m: m, documented: true, end: m.fset.Position(s.Pos()).Line}
	for _, field := range s.Fields.List {
		if !told.continues(field, field.Doc, field.Comment) && slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			found = append(found, m.at(f, field.Pos(), "%s.%s has no doc comment", name, field.Names[0].Name))
		}
	}
	return found
}

// A run is a list of declarations without a blank line.
type run struct {
	m          *tidyModule
	documented bool
	end        int // line of the last one
}

// continues takes in one more and says whether it is documented.
func (r *run) continues(n ast.Node, doc, comment *ast.CommentGroup) bool {
	from := n.Pos()
	if doc != nil {
		from = doc.Pos()
	}
	if r.m.fset.Position(from).Line > r.end+1 {
		r.documented = false
	}
	r.end = r.m.fset.Position(n.End()).Line
	r.documented = r.documented || doc != nil || comment != nil
	return r.documented
}

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b|(?i:not |un)impl` + `emented`)

func checkWords(m *tidyModule, p *tidyPackage) (found []finding) {
	for _, f := range p.files {
		for i, line := range strings.Split(f.text, "\n") {
			if word := unfinished.FindString(line); word != "" {
				found = append(found, finding{f.name, i + 1, "says " + word})
			}
		}
	}
	return found
}

var nameless = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "core"}

func checkPackageName(m *tidyModule, p *tidyPackage) (found []finding) {
	for _, part := range strings.Split(p.path, "/") {
		if slices.Contains(nameless, part) {
			found = append(found, m.at(p.files[0], p.files[0].Package, "%q says nothing about what is in it", part))
		}
	}
	return found
}

func checkPage(m *tidyModule, p *tidyPackage) (found []finding) {
	page, begin := "doc.go", "Package "+p.types.Name()+" "
	if p.types.Name() == "main" {
		page, begin = "main.go", ""
	}
	missing := true
	for _, f := range p.files {
		if path.Base(f.name) == page {
			missing = f.Doc == nil || !strings.HasPrefix(f.Doc.Text(), begin)
		} else if f.Doc != nil {
			found = append(found, m.at(f, f.Doc.Pos(), "the package comment stands in %s alone", page))
		}
	}
	if missing {
		found = append(found, m.at(p.files[0], p.files[0].Package, "no %s that begins with %q", page, "// "+begin))
	}
	return found
}

func checkLinkname(m *tidyModule, p *tidyPackage) (found []finding) {
	for _, f := range p.files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:link"+"name") {
					found = append(found, m.at(f, c.Pos(), "takes what is not its own"))
				}
			}
		}
	}
	return found
}
