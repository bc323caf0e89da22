package allot_test

import (
	"slices"
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
var corePackages = []string{"", "quota", "fairshare", "queue", "placement", "gang", "preempt", "internal/cluster", "internal/settling", "internal/division", "internal/difference", "internal/engine", "internal/view", "verify", "internal/table", "internal/jsonform", "internal/prose"}

func isCore(path string) bool { return slices.Contains(corePackages, path) }

// isLibrary: what a user can import, that is, everything but programs.
func isLibrary(path string) bool { return path != "examples" && !strings.HasPrefix(path, "examples/") }

func isAny(string) bool { return true }

var tidyRules = []tidyRule{
	{
		name:    "imports: the borders between packages, and only what is pure",
		applies: isAny,
		check:   checkImports,
		samples: []tidySample{
			{refused: false, path: "queue", source: `package queue; import (_ "slices"; _ "` + modulePath + `/quota")`},
			{refused: true, path: "quota", source: `package quota; import _ "` + modulePath + `/fairshare"`},
			{refused: true, path: "gang", source: `package gang; import _ "` + modulePath + `/queue"`},
			{refused: true, path: "placement", source: `package placement; import _ "` + modulePath + `"`},
			{refused: true, path: "fairshare", source: `package fairshare; import _ "github.com/google/btree"`},
			{refused: false, path: "", source: `package allot; import _ "` + modulePath + `/internal/table"`},
			{refused: true, path: "internal/table", source: `package table; import _ "` + modulePath + `/quota"`},
			{refused: true, path: "internal/table", source: `package table; import _ "github.com/google/btree"`},
			{refused: true, path: "quota", source: `package quota; import _ "` + modulePath + `/internal/table"`},
			{refused: true, path: "", source: `package allot; import _ "` + modulePath + `/sim/scenario"`},
			{refused: true, path: "sim/trace", source: `package trace; import _ "net/url"`},
			{refused: true, path: "", source: `package allot; import _ "log"`},
			{refused: true, path: "", source: `package allot; import _ "os"`},
			{refused: true, path: "queue", source: `package queue; import _ "sync"`},
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
			{refused: false, path: "examples/openb", file: "main.go", source: "// Openb plans.\npackage main"},
			{refused: true, path: "quota", file: "doc.go", source: "package quota"},
			{refused: true, path: "quota", file: "tree.go", source: "// Package quota keeps.\npackage quota"},
			{refused: true, path: "quota", file: "doc.go", source: "// This package keeps.\npackage quota"},
			{refused: true, path: "examples/openb", file: "main.go", source: "package main"},
		},
	},
	{
		name:    "package verify shares no code with the solver",
		applies: func(path string) bool { return path == "verify" },
		check:   checkVerify,
		samples: []tidySample{
			{refused: false, path: "verify", source: `package verify; import "` + modulePath + `/quota"; func f(b quota.Bound) int64 { return b.Amount() }`},
			{refused: false, path: "verify", source: `package verify; import "` + modulePath + `"; func f(s *allot.State) error { return allot.Check(s) }`},
			{refused: true, path: "verify", source: `package verify; import "` + modulePath + `"; var f = allot.Solve`},
			{refused: true, path: "verify", source: `package verify; import "` + modulePath + `"; func f(s *allot.Snapshot) { _, _ = s.Decide() }`},
			{refused: true, path: "verify", source: `package verify; import "` + modulePath + `/quota"; func f() { _, _ = quota.New(quota.Config{}) }`},
			{refused: true, path: "verify", source: `package verify; import "` + modulePath + `/quota"; func f(t *quota.Tree) int64 { return t.Use(0, 0) }`},
			{refused: true, path: "verify", source: `package verify; import "` + modulePath + `/fairshare"; var f = fairshare.Divide`},
			{refused: true, path: "verify", source: `package verify; import ("` + modulePath + `/placement"); func f(s *placement.Selector) bool { return s.Matches(nil) }`},
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
