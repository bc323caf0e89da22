package allot_test

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The borders between packages: what mayImport may grant at all.

// layers are the packages of ARCHITECTURE.md from the ground up, with the folders below
// them. A package may import those of lower layers and what is in its own folder:
// so no child imports the root, and nothing that decides imports verify, explain
// or what is built on them.
var layers = [][]string{
	{"quota", "fairshare", "internal/table", "internal/jsonform", "internal/prose", "internal/radix", "internal/deep"},
	{"placement", "queue"},
	{"gang"},
	{"preempt"},
	{"internal/cluster"},
	{"internal/settling", "internal/division", "internal/difference"},
	{"internal/engine"},
	{"internal/view"},
	{""},
	{"verify", "explain"},
	{"sim"},
	{"examples"},
}

// TestMayImport: the table grants what layers allows and nothing that nobody
// uses, so that it shrinks with the imports.
func TestMayImport(t *testing.T) {
	for _, key := range slices.Sorted(maps.Keys(mayImport)) {
		if layer, _ := layerOf(key); layer < 0 {
			t.Errorf("mayImport: %q stands in no layer", key)
		}
		for _, upward := range upwards(key, mayImport[key].own) {
			t.Errorf("mayImport: %q must not import %q: see layers", key, upward)
		}
	}
	for _, s := range []struct {
		key, imported string
		upward        bool
	}{
		{"queue", "quota", false},
		{"", "preempt", false},
		{"explain", "", false},
		{"sim/scenario", "sim", false},
		{"sim", "sim/trace", false},
		{"examples/openb", "verify", false},
		{"quota", "fairshare", true},
		{"internal/prose", "quota", true},
		{"preempt", "", true},
		{"internal/engine", "preempt", false},
		{"internal/engine", "internal/difference", false},
		{"internal/difference", "internal/cluster", false},
		{"internal/difference", "internal/engine", true},
		{"internal/difference", "internal/division", true},
		{"internal/cluster", "internal/settling", true},
		{"", "internal/engine", false},
		{"internal/engine", "", true},
		{"explain", "internal/view", false},
		{"internal/view", "", true},
		{"internal/engine", "internal/view", true},
		{"preempt", "internal/engine", true},
		{"preempt", "verify", true},
		{"", "verify", true},
		{"", "explain", true},
		{"", "sim/scenario", true},
		{"verify", "explain", true},
		{"explain", "verify", true},
		{"sim", "examples/internal/golden", true},
		{"quota", "nowhere", true},
		{"nowhere", "quota", true},
	} {
		if got := len(upwards(s.key, []string{s.imported})) > 0; got != s.upward {
			t.Errorf("%q imports %q: upward %v, want %v", s.key, s.imported, got, s.upward)
		}
	}
}

// upwards lists the imports that the package at path must not have.
func upwards(at string, imports []string) []string {
	layer, from := layerOf(at)
	return slices.DeleteFunc(slices.Clone(imports), func(imported string) bool {
		other, of := layerOf(imported)
		return layer >= 0 && other >= 0 && (other < layer || of == from)
	})
}

// TestMayImportIsUsed: the table may only shrink to what is imported.
func TestMayImportIsUsed(t *testing.T) {
	m := theModule()
	used := make(map[string][]string) // by key of mayImport
	for _, folder := range goFolders(t) {
		p, err := m.read(folder)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue // only tests
		}
		key, _ := mayImportKey(p.path)
		for _, imported := range p.types.Imports() {
			used[key] = append(used[key], imported.Path())
		}
	}
	for _, key := range slices.Sorted(maps.Keys(mayImport)) {
		for _, unused := range unusedImports(mayImport[key].own, mayImport[key].others, used[key]) {
			t.Errorf("mayImport: %q imports no %q any more: remove it", key, unused)
		}
	}
	found := unusedImports([]string{"", "sim"}, []string{"a.org/b"}, []string{modulePath + "/sim/trace", "a.org/b/c"})
	if want := []string{"", "a.org/b"}; !slices.Equal(found, want) {
		t.Errorf("unused are %q, want %q", found, want)
	}
}

// Whether CI is green must not depend on luck: where properties are written with rapid,
// deep.Main gives them a seed. The deep run draws others.
func TestRapidHasASeed(t *testing.T) {
	for _, folder := range goFolders(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		rapid, seeded := false, false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rapid = rapid || bytes.Contains(text, []byte("\"pgregory.net/rapid\"\n"))
			seeded = seeded || bytes.Contains(text, []byte("{ deep.Main(m"))
		}
		if rapid != seeded {
			t.Errorf("%s: tests with rapid: %v, deep.Main gives them a seed: %v", folder, rapid, seeded)
		}
	}
}

// unusedImports lists what of own packages and others is not imported.
func unusedImports(own, others, imported []string) (unused []string) {
	for _, one := range own {
		if !slices.ContainsFunc(imported, func(name string) bool {
			at, ours := ownPath(name)
			return ours && below(at, one)
		}) {
			unused = append(unused, one)
		}
	}
	for _, one := range others {
		if !slices.Contains(imported, one) {
			unused = append(unused, one)
		}
	}
	return unused
}

// layerOf is the layer of the package at path, with the package of it that path
// is in; -1 if it has none.
func layerOf(at string) (layer int, in string) {
	for i, packages := range layers {
		for _, one := range packages {
			if below(at, one) {
				return i, one
			}
		}
	}
	return -1, ""
}

// below says whether the package at path is that one or in a folder below it.
// Below the root's folder is everything, so that for the root only itself is.
func below(at, one string) bool {
	return at == one || one != "" && strings.HasPrefix(at, one+"/")
}

// mayImportKey is the key of mayImport that covers the package at path.
func mayImportKey(at string) (key string, ok bool) {
	for key = at; key != "."; key = path.Dir(key) {
		if _, ok := mayImport[key]; ok {
			return key, true
		}
	}
	return "", false
}

// ownPath is the path below the module of what is imported under the name, if it
// is a package of this module.
func ownPath(name string) (at string, own bool) {
	at, own = strings.CutPrefix(name, modulePath)
	if own && at != "" && at[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(at, "/"), own
}
