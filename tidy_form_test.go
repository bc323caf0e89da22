package allot_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
)

// The rules on how code is laid out and documented.

const functionLines = 70

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
