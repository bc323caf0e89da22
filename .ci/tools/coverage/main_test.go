package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/.ci/tools/internal/project"
)

func TestJudge(t *testing.T) {
	const line = "ok  \ta.org/m/quota\t1.984s\tcoverage: %% of statements\n"
	at := func(percent string) string { return strings.Replace(line, "%%", percent+"%", 1) }
	for _, s := range []struct {
		printed string
		entry   int // 0 is none
		want    string
	}{
		{at("85.0"), 0, ""},
		{at("100.0"), 0, ""},
		{strings.Replace(at("98.7"), "1.984s", "(cached)", 1), 0, ""},
		{"ok  \ta.org/m/quota\t1.251s\tcoverage: [no statements]\n", 0, ""},
		{at("84.9"), 0, "reach 84%, and 85% is the floor"},
		{strings.ReplaceAll(at("99.0"), "quota", "queue"), 0, "reach 0%"},
		{"\ta.org/m/quota\t\tcoverage: 0.0% of statements\n", 0, "reach 0%"},
		{"?   \ta.org/m/quota\t[no test files]\n", 0, "reach 0%"},
		{"", 0, "reach 0%"},
		{at("60.0"), 60, ""},
		{at("61.9"), 60, ""}, // what tests draw
		{at("59.9"), 60, "reach 59%, less than its entry 60%"},
		{at("62.0"), 60, `raise its entry to "quota": 62`},
		{at("85.0"), 84, "remove its entry"},
	} {
		listed := map[string]int{}
		if s.entry > 0 {
			listed["quota"] = s.entry
		}
		got := strings.Join(judge("a.org/m", []string{"a.org/m/quota"}, s.printed, listed), "\n")
		if (got == "") != (s.want == "") || !strings.Contains(got, s.want) {
			t.Errorf("%q with entry %d: %q, want %q", s.printed, s.entry, got, s.want)
		}
	}
	got := judge("a.org/m", []string{"a.org/m/quota"}, at("90.0"), map[string]int{"gone": 3})
	if len(got) != 1 || !strings.HasPrefix(got[0], "there is no gone") {
		t.Errorf("an entry for no package: %q", got)
	}
}

// TestGate: what go test prints today is understood, and only packages that must
// stand on their own tests are measured.
func TestGate(t *testing.T) {
	p := project.New(t)
	p.Write("go.mod", "module a.org/m\n\ngo 1.26\n")
	p.Write("m.go", "package m\n\nfunc F() int { return 1 }\n")
	p.Write("sim/sim.go", "package sim\n\nfunc F() int { return 1 }\n")
	p.Write("examples/openb/main.go", "package main\n\nfunc main() {}\n")
	p.Write("quota/quota.go", "package quota\n\nfunc F() int { return 1 }\n\nfunc G() int { return 1 }\n")
	p.Write("quota/quota_test.go", "package quota\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { F() }\n")
	p.Write("internal/table/table.go", "package table\n\nfunc F() int { return 1 }\n")
	p.Write("internal/rules/rules_test.go", "package rules\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n")
	check := func(listed map[string]int, want ...string) {
		t.Helper()
		got, err := gate(io.Discard, p.Folder, listed)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check(nil, "internal/table reach 0%, and", "quota reach 50%, and")
	check(map[string]int{"internal/table": 0, "quota": 50})
	p.Write("quota/quota_test.go", "package quota\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { F(); G() }\n")
	check(map[string]int{"internal/table": 0, "quota": 50}, "quota reach 100%: remove")
	p.Write("quota/quota_test.go", "package quota\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { t.Fatal() }\n")
	if got, err := gate(io.Discard, p.Folder, nil); err == nil {
		t.Errorf("tests that fail: %q", got)
	}
}
