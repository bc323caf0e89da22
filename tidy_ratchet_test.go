package allot_test

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// Limits on the size of packages, types and surfaces. What was over a limit when
// the limit came stands in the list of its ratchet, with its figure. A list may
// only shrink: a figure above its entry is refused, and so is an entry above its
// figure: the failure gives the line to write instead. A new entry is
// never the answer: what grows beyond a limit is to be divided.

// A ratchet is a limit with the list of what is still over it.
type ratchet struct {
	name  string // what is counted, in the plural
	limit int    // the most that is allowed

	// measure counts in a package: by the package's name, or by pkg.Type.
	measure func(m *tidyModule, p *tidyPackage) map[string]int

	// excess is what is over the limit still, with its figure of today.
	excess map[string]int

	// sample is a package "quota" that measure gives the figure n.
	sample func(n int) map[string]string
}

var ratchets = []ratchet{
	{
		name:    "files of a package that are no tests",
		limit:   60,
		measure: func(_ *tidyModule, p *tidyPackage) map[string]int { return map[string]int{p.name(): len(p.files)} },
		sample: func(n int) map[string]string {
			return inFiles("_test.go", 99, inFiles(".go", n, map[string]string{}))
		},
	},
	{
		name:    "test files of a package",
		limit:   60,
		measure: func(_ *tidyModule, p *tidyPackage) map[string]int { return map[string]int{p.name(): p.tests} },
		excess:  map[string]int{"allot": 94},
		sample: func(n int) map[string]string {
			return inFiles("_test.go", n, inFiles(".go", 99, map[string]string{}))
		},
	},
	{
		// A file may be long where its matter is one. That a package is hard to read
		// shows in the figures above, which a short limit on files drives up.
		name:    "files of a package with more than 500 lines",
		limit:   3,
		measure: longFiles,
		sample: func(n int) map[string]string {
			long := inFiles("_test.go", 99, map[string]string{"quota/short.go": "package quota" + strings.Repeat("\n", 500)})
			for i := range n {
				long[fmt.Sprintf("quota/long%d.go", i)] = "package quota" + strings.Repeat("\n", 501)
			}
			return long
		},
	},
	{
		name:    "methods of a type, exported and not",
		limit:   60,
		measure: methods,
		excess: map[string]int{
			"allot.checker":     80,
			"placement.Index":   105,
			"preempt.Evaluator": 78,
			"preempt.search":    62,
			"sim.engine":        70,
			"verify.verifier":   117,
		},
		sample: func(n int) map[string]string {
			two := map[string]string{
				"quota/a.go": "package quota; type T[K any] int; type Other struct{ T[int] }\n",
				"quota/b.go": "package quota; func (Other) M() {}; func f() {}\n",
			}
			for i := range n {
				file, declaration := "quota/a.go", "func (T[K]) M%d() {}\n"
				if i%2 == 1 {
					file, declaration = "quota/b.go", "func (*T[_]) m%d() {}\n"
				}
				two[file] += fmt.Sprintf(declaration, i)
			}
			return two
		},
	},
	{
		// What a user must know of: types, functions and variables.
		name:  "exported names of a package that are no constants",
		limit: 100,
		measure: func(_ *tidyModule, p *tidyPackage) map[string]int {
			return map[string]int{p.name(): p.exported(func(o types.Object) bool { return !isConstant(o) })}
		},
		sample: func(n int) map[string]string {
			source := "package quota; const A, B, C = 1, 2, 3; var a, b int\n"
			for i := range n {
				source += fmt.Sprintf([]string{"type T%d int; func (T%[1]d) M() {}\n", "func F%d() {}\n", "var V%d int\n"}[i%3], i)
			}
			return map[string]string{"quota/a.go": source}
		},
	},
	{
		// They are looked up one by one. A new reason brings its constants, so that
		// this limit leaves room above what there is.
		name:  "exported constants of a package",
		limit: 200,
		measure: func(_ *tidyModule, p *tidyPackage) map[string]int {
			return map[string]int{p.name(): p.exported(isConstant)}
		},
		sample: func(n int) map[string]string {
			source := "package quota; const a, b = 1, 2; var A, B int\n"
			for i := range n {
				source += fmt.Sprintf("const C%d = %[1]d\n", i)
			}
			return map[string]string{"quota/a.go": source}
		},
	},
}

// TestRatchets measures every package of the module.
func TestRatchets(t *testing.T) {
	m := theModule()
	figures := make([]map[string]int, len(ratchets))
	for i := range figures {
		figures[i] = make(map[string]int)
	}
	for _, folder := range goFolders(t) {
		p, err := m.read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue // only tests
		}
		for i, r := range ratchets {
			maps.Copy(figures[i], r.measure(m, p))
		}
	}
	for i, r := range ratchets {
		for _, problem := range r.judge(figures[i], r.excess) {
			t.Error(problem)
		}
	}
}

// TestRatchetsRefuse: every ratchet counts what it says, accepts code at its
// limit and refuses code above it.
func TestRatchetsRefuse(t *testing.T) {
	m := theModule()
	for _, r := range ratchets {
		for _, n := range []int{r.limit, r.limit + 1} {
			p, err := m.check("quota", r.sample(n))
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			figures := r.measure(m, p)
			if largest := slices.Max(slices.Collect(maps.Values(figures))); largest != n {
				t.Errorf("%s: measures %v where there are %d", r.name, figures, n)
			}
			if problems := r.judge(figures, nil); (len(problems) > 0) != (n > r.limit) {
				t.Errorf("%s: with %d: %v", r.name, n, problems)
			}
		}
	}
}

// TestRatchetShrinks: an entry holds its figure exactly, and goes once it is
// within the limit.
func TestRatchetShrinks(t *testing.T) {
	r := ratchet{name: "files", limit: 60}
	for _, s := range []struct {
		figure, entry int // 0 is none
		want          string
	}{
		{60, 0, ""},
		{61, 61, ""},
		{61, 0, "files: quota has 61, and 60 are allowed: divide it"},
		{62, 61, "files: quota has 62, above its entry 61: the list may only shrink"},
		{61, 62, `files: quota has 61: lower its entry to "quota": 61`},
		{60, 61, "files: quota has 60, and 60 are allowed: remove its entry"},
		{0, 61, "files: quota has 0, and 60 are allowed: remove its entry"},
	} {
		figures, excess := make(map[string]int), make(map[string]int)
		if s.figure > 0 {
			figures["quota"] = s.figure
		}
		if s.entry > 0 {
			excess["quota"] = s.entry
		}
		if got := strings.Join(r.judge(figures, excess), "\n"); got != s.want {
			t.Errorf("figure %d, entry %d: %q, want %q", s.figure, s.entry, got, s.want)
		}
	}
}

// judge says what is wrong with the figures or with the list.
func (r ratchet) judge(figures, excess map[string]int) (problems []string) {
	what := slices.AppendSeq(slices.Collect(maps.Keys(figures)), maps.Keys(excess))
	slices.Sort(what)
	for _, name := range slices.Compact(what) {
		figure := figures[name]
		entry, listed := excess[name]
		switch say := fmt.Sprintf("%s: %s has %d", r.name, name, figure); {
		case figure <= r.limit && listed:
			problems = append(problems, fmt.Sprintf("%s, and %d are allowed: remove its entry", say, r.limit))
		case figure <= r.limit:
		case !listed:
			problems = append(problems, fmt.Sprintf("%s, and %d are allowed: divide it", say, r.limit))
		case figure > entry:
			problems = append(problems, fmt.Sprintf("%s, above its entry %d: the list may only shrink", say, entry))
		case figure < entry:
			problems = append(problems, fmt.Sprintf("%s: lower its entry to %q: %d", say, name, figure))
		}
	}
	return problems
}

// name is what the lists call the package: its path, or allot for the root.
func (p *tidyPackage) name() string { return cmp.Or(p.path, path.Base(modulePath)) }

// exported counts the package's exported names that are counted.
func (p *tidyPackage) exported(counted func(types.Object) bool) (n int) {
	for _, name := range p.types.Scope().Names() {
		if token.IsExported(name) && counted(p.types.Scope().Lookup(name)) {
			n++
		}
	}
	return n
}

func isConstant(o types.Object) bool {
	_, ok := o.(*types.Const)
	return ok
}

func longFiles(_ *tidyModule, p *tidyPackage) map[string]int {
	n := 0
	for _, f := range p.files {
		if strings.Count(f.text, "\n") > 500 {
			n++
		}
	}
	return map[string]int{p.name(): n}
}

// methods counts what is declared on each type, not what it has by embedding.
func methods(_ *tidyModule, p *tidyPackage) map[string]int {
	figures := make(map[string]int)
	for _, name := range p.types.Scope().Names() {
		declared, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || declared.IsAlias() {
			continue
		}
		figures[p.name()+"."+name] = declared.Type().(*types.Named).NumMethods()
	}
	return figures
}

// inFiles adds n files of package quota whose names end so.
func inFiles(end string, n int, sources map[string]string) map[string]string {
	for i := range n {
		sources[fmt.Sprintf("quota/f%d%s", i, end)] = "package quota"
	}
	return sources
}
