package allot_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The rules on what code may depend on and do.

// mayImport is who imports whom, within layers. The key covers the folders below it as
// well. Only what stands here may be imported: a new line is a decision.
var mayImport = map[string]struct {
	own      []string // packages of this module
	others   []string // other modules
	standard []string // beside pureStandard; "*" is anything
}{
	"quota":     {},
	"fairshare": {standard: []string{"math/big"}},
	"queue":     {own: []string{"quota", "fairshare", "internal/radix"}, others: []string{"github.com/google/btree"}},
	// math/big: the prices of ShadowPrice are fractions, found once per mix.
	"placement": {own: []string{"quota"}, standard: []string{"math/big"}},
	"gang":      {own: []string{"placement", "quota"}},
	"preempt":   {own: []string{"gang", "placement", "quota", "fairshare", "internal/radix"}},
	// The mechanisms know nothing of a State and stand on the standard library.
	// Forms are made by reflection. Tables of text are aligned (text/tabwriter), and instants told.
	"internal/table":    {},
	"internal/radix":    {},
	"internal/jsonform": {standard: []string{"encoding", "encoding/json", "reflect", "time", "unicode/utf16", "unicode/utf8"}},
	"internal/prose":    {standard: []string{"text/tabwriter", "time", "unicode/utf8"}},
	// The engine decides on numbers, and knows nothing of a State; the cluster are those numbers.
	"internal/cluster":        {own: []string{"quota", "fairshare", "queue", "placement", "gang", "preempt"}},
	"internal/cluster/sample": {own: []string{"quota", "placement", "gang", "internal/cluster"}},
	"internal/settling":       {own: []string{"quota", "placement", "internal/cluster"}},
	"internal/division":       {own: []string{"quota", "fairshare", "queue", "placement", "preempt", "internal/cluster"}},
	"internal/difference":     {own: []string{"fairshare", "placement", "preempt", "internal/cluster"}},
	"internal/engine":         {own: []string{"quota", "fairshare", "queue", "placement", "gang", "preempt", "internal/cluster", "internal/settling", "internal/division", "internal/difference"}, standard: []string{"context"}},
	// A view speaks of the engine's numbers, and of instants as the root tells them.
	"internal/view": {own: []string{"internal/cluster", "internal/engine"}, standard: []string{"context", "time"}},
	"": {
		own:      []string{"quota", "fairshare", "queue", "placement", "gang", "preempt", "internal/cluster", "internal/division", "internal/engine", "internal/view", "internal/table", "internal/jsonform", "internal/prose"},
		standard: rootStandard,
	},
	// verify reads the rules anew: it shares the objects of the root, and of the
	// children what those have as fields (see verifyCalls). Instants of the State become numbers in its times.go alone.
	"verify": {
		own:      []string{"", "quota", "fairshare", "queue", "placement", "gang", "preempt"},
		standard: []string{"math/big", "time"},
	},
	// explain asks the root like any user, and what only the engine knows by a view of it:
	// to read, and to propose. The children are there for the types of the root's fields
	// and of what the engine says.
	"explain": {
		own:      []string{"", "fairshare", "placement", "preempt", "quota", "internal/cluster", "internal/division", "internal/engine", "internal/view", "internal/jsonform", "internal/prose"},
		standard: rootStandard,
	},
	// sim stands on the root alone; the children are there for the types of
	// the root's fields.
	// sim has its calendar on btree, hashes what happened, sums exactly (math/big),
	// and draws by seeds alone (rand, in fault injectors and generators).
	"sim": {
		own:      []string{"", "verify", "quota", "fairshare", "queue", "placement", "preempt"},
		others:   []string{"github.com/google/btree"},
		standard: append([]string{"crypto/sha256", "encoding", "encoding/hex", "encoding/json", "hash", "math/big", "math/rand/v2"}, rootStandard...),
	},
	// The grammar is a file that the package carries.
	"sim/scenario": {
		own:      []string{"", "verify", "quota", "fairshare", "placement", "internal/prose"},
		standard: append([]string{"embed", "encoding", "encoding/json"}, rootStandard...),
	},
	// The readers of traces read CSV and gzip.
	"sim/trace": {
		own:      []string{"", "sim", "quota"},
		standard: append([]string{"bufio", "compress/gzip", "encoding/csv", "encoding/json", "math/big", "math/rand/v2"}, rootStandard...),
	},
	// The page of pictures is a file that the package carries.
	"sim/report": {
		own:      []string{"", "sim"},
		standard: append([]string{"bufio", "embed", "encoding/csv", "encoding/json", "math/big"}, rootStandard...),
	},
	// Only tests import it: their budget is a variable of the environment.
	"internal/deep": {standard: append([]string{"flag", "os", "sync/atomic", "testing"}, rootStandard...)},
	"examples": {
		own:      []string{"", "verify", "sim", "examples", "quota", "placement", "internal/prose"},
		standard: []string{"*"},
	},
}

// pureStandard is what of the standard library every package may use: nothing
// in it knows a clock, a file, another goroutine or chance.
var pureStandard = []string{
	"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "strconv", "strings",
}

// rootStandard is what the root uses beside: context for SolveContext, time for
// the instants of a State (but see the rule on clocks), sync for what the
// decisions of a Snapshot find out when asked, whoever asks, the rest for text. Files, logs
// and chance would have to be added here, with why.
var rootStandard = []string{
	"context", "io", "reflect", "sync", "time", "unicode", "unicode/utf8",
}

func checkImports(m *tidyModule, p *tidyPackage) (found []finding) {
	key, ok := mayImportKey(p.path)
	allowed := mayImport[key]
	if !ok {
		return []finding{m.at(p.files[0], p.files[0].Package, "the package has no line in mayImport")}
	}
	for _, f := range p.files {
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			at, own := ownPath(name)
			switch {
			case err != nil:
			case own:
				ok = slices.ContainsFunc(allowed.own, func(one string) bool { return below(at, one) })
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

// verifyCalls are the functions of the root that package verify may call: those
// that say whether a state is well formed, and nothing that decides.
var verifyCalls = []string{modulePath + ".Check"}

// checkVerify: of the root and the children package verify uses types, fields and
// constants, what makes and reads a quota.Bound and what hardware is known for.
func checkVerify(m *tidyModule, p *tidyPackage) (found []finding) {
	p.each(func(f *tidyFile, n ast.Node) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return
		}
		function, ok := p.info.Uses[id].(*types.Func)
		if !ok || function.Pkg() == nil || function.Pkg() == p.types || !strings.HasPrefix(function.Pkg().Path(), modulePath) {
			return
		}
		if !slices.Contains(verifyCalls, function.FullName()) && !isData(function.Signature()) {
			found = append(found, m.at(f, id.Pos(), "it may be the solver that decides with %s", function.FullName()))
		}
	})
	return found
}

// isData says whether a function is about what is only data, though it computes:
// a method of it, or what makes it.
func isData(s *types.Signature) bool {
	data := func(t types.Type) bool {
		return slices.Contains([]string{modulePath + "/quota.Bound", modulePath + "/placement.Hardware"}, t.String())
	}
	return s.Recv() != nil && data(s.Recv().Type()) || s.Recv() == nil && s.Results().Len() > 0 && data(s.Results().At(0).Type())
}
