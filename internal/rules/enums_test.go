package rules_test

import (
	"encoding"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/quota"
)

// enumerations are all types of the documents that are in JSON a text of a few.
func enumerations() []reflect.Type {
	schema := jsonform.Schema{Version: 1, Custom: map[reflect.Type]string{reflect.TypeFor[quota.Bound](): ""}}
	var found []reflect.Type
	seen := make(map[reflect.Type]bool)
	var walk func(f *jsonform.Form)
	walk = func(f *jsonform.Form) {
		for f.Elem != nil {
			f = f.Elem
		}
		if seen[f.Type] {
			return
		}
		seen[f.Type] = true
		if f.Kind == jsonform.Text {
			found = append(found, f.Type)
		}
		for _, field := range f.Fields {
			walk(field.Form)
		}
	}
	for _, t := range []reflect.Type{reflect.TypeFor[allot.State](), reflect.TypeFor[allot.Change](), reflect.TypeFor[allot.Plan]()} {
		walk(schema.Document(t))
	}
	return found
}

// V1: who says a value that an enumeration does not have is told those that it has, by the
// error and by the documentation of the type.
func TestEnumerationsListTheirValues(t *testing.T) {
	types := enumerations()
	if len(types) < 20 {
		t.Fatalf("only %d enumerations", len(types))
	}
	for _, typ := range types {
		texts := jsonform.Values(typ)
		err := reflect.New(typ).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte("no such value"))
		if err == nil {
			t.Errorf("%v takes anything", typ)
			continue
		}
		doc := docOf(t, typ)
		for _, text := range texts {
			if len(texts) <= 16 && !strings.Contains(err.Error(), text) {
				t.Errorf("%v: %v does not list %q", typ, err, text)
			}
			if len(texts) <= 16 && !strings.Contains(doc, text) {
				t.Errorf("%v: its documentation does not have %q", typ, text)
			}
		}
	}
}

// docOf is what is said of a type at the type, at its String and at its constants.
func docOf(t *testing.T, typ reflect.Type) string {
	t.Helper()
	folder := strings.TrimPrefix(strings.TrimPrefix(typ.PkgPath(), "github.com/allotsched/allot"), "/")
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var doc strings.Builder
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.Name == typ.Name() {
						doc.WriteString(d.Doc.Text())
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || d.Name.Name != "String" {
					continue
				}
				if of, ok := d.Recv.List[0].Type.(*ast.Ident); ok && of.Name == typ.Name() {
					doc.WriteString(d.Doc.Text())
				}
			}
		}
	}
	return strings.Join(strings.Fields(doc.String()), " ")
}
