package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allotsched/allot/.ci/tools/internal/history"
	"github.com/allotsched/allot/.ci/tools/internal/project"
)

// results are six runs of a benchmark around a time, a percent apart.
func results(name string, nanoseconds, allocations int) (text string) {
	for run := range 6 {
		text += fmt.Sprintf("Benchmark%s-2 10 %d ns/op 100 B/op %d allocs/op 7 other/op\n",
			name, nanoseconds*(100+run)/100, allocations)
	}
	return text
}

const header = "goos: linux\npkg: example.com/m\ncpu: a, b\n"

func TestCompare(t *testing.T) {
	base := header + results("A/n=1", 1000, 10) + results("B", 1000, 10) + results("C", 1000, 10) +
		results("D", 1000, 0) + results("Gone", 1000, 10) + results("E", 1000, 10)
	head := header + results("A/n=1", 1300, 10) + results("B", 1100, 10) + results("C", 600, 10) +
		results("D", 1000, 5) + results("New", 9000, 10) + results("E", 1000, 13)
	table, slower, err := compare([]byte(base), []byte(head), 15)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(slower), "[A/n=1 takes 30% more sec/op D takes +Inf% more allocs/op E takes 30% more allocs/op]"; got != want {
		t.Errorf("slower are %s, want %s", got, want)
	}
	if !strings.Contains(table, "vs base") || strings.Contains(table, "other/op") {
		t.Errorf("the table is\n%s", table)
	}
	// Half of the runs are slower: by the medians a lot, but not significantly.
	mixed := header + results("A/n=1", 1000, 10)
	for _, ns := range []int{900, 950, 980, 3000, 3000, 3000} {
		mixed += fmt.Sprintf("BenchmarkB-2 10 %d ns/op\n", ns)
	}
	if _, slower, err := compare([]byte(base), []byte(mixed), 15); len(slower) > 0 || err != nil {
		t.Errorf("%v, %v", slower, err)
	}
}

func TestRepeated(t *testing.T) {
	first := []slowdown{{"A", "sec/op", 20}, {"B", "sec/op", 20}, {"C", "B/op", 20}}
	again := []slowdown{{"B", "sec/op", 90}, {"C", "sec/op", 20}, {"D", "sec/op", 20}}
	if got := repeated(again, first); fmt.Sprint(got) != "[B takes 90% more sec/op]" {
		t.Error(got)
	}
}

func TestExcused(t *testing.T) {
	for text, want := range map[string]bool{
		"`BenchmarkFill`":                                 true,
		"`BenchmarkFill/nodes=1000`":                      true,
		"- slower: `BenchmarkFill/nodes=1000/decide`, as": true,
		"BenchmarkFill":                                   false,
		"`BenchmarkFill/nodes=100`":                       false,
		"`BenchmarkFil`":                                  false,
		"`Fill`":                                          false,
		"":                                                false,
	} {
		if got := excused(text, "Fill/nodes=1000/decide"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What the small project does is to allocate, as that is the same however busy
// the machine is.
const (
	code      = "package m\n\nvar Kept []byte\n\nfunc Work() {\n\tfor range 10 {\n\t\tKept = make([]byte, 1000)\n\t}\n}\n"
	benchCode = "package m\n\nimport \"testing\"\n\nfunc BenchmarkWork(b *testing.B) {\n\tfor range b.N {\n\t\tWork()\n\t}\n}\n"
)

var (
	slowCode   = strings.Replace(code, "10", "30", 1)
	slowerCode = strings.Replace(code, "10", "90", 1)
)

var workSet = []benchmark{{"", "Work", 1000}}

// measured is a repository with one commit that can be measured.
func measured(t *testing.T) project.Project {
	p := project.New(t)
	p.Write("go.mod", "module example.com/m\n\ngo 1.26\n")
	p.Write("m.go", code)
	p.Write("m_test.go", benchCode)
	p.Commit()
	return p
}

// expect puts the repository to the gate.
func expect(t *testing.T, g gate, set []benchmark, refused bool, message string) {
	t.Helper()
	var out strings.Builder
	g.out, g.threshold = &out, 50
	if g.rounds == 0 {
		g.rounds = 6
	}
	got, err := g.run(set)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if (got > 0) != refused || !strings.Contains(out.String(), message) {
		t.Errorf("%d refused, want any %v and %q:\n%s", got, refused, message, &out)
	}
}

// The whole gate on a small project: what takes three times as much is refused,
// committed or not, unless the change log names it.
func TestGate(t *testing.T) {
	p := measured(t)
	expect(t, gate{repo: p.Folder}, workSet, false, "there is no earlier commit")
	p.Write("m.go", slowCode)
	expect(t, gate{repo: p.Folder}, workSet, true, "does not name `BenchmarkWork`")
	p.Commit()
	expect(t, gate{repo: p.Folder}, workSet, true, "more allocs/op, twice")
	p.Write(history.ChangeLog, "- slower: `BenchmarkWork`\n")
	expect(t, gate{repo: p.Folder, base: "HEAD~1"}, workSet, false, "which "+history.ChangeLog+" names")
	p.Commit()
	expect(t, gate{repo: p.Folder}, workSet, false, "nothing is slower")
	// An old line excuses nothing new.
	p.Write("m.go", slowerCode)
	expect(t, gate{repo: p.Folder}, workSet, true, "does not name")
}

// What takes more in one measurement only is not refused: here it does for six
// runs, as a file in its folder counts.
func TestOnlyOnce(t *testing.T) {
	p := measured(t)
	p.Write("m.go", `package m

import "os"

var (
	Kept []byte
	many = 10
)

func init() {
	data, _ := os.ReadFile("count")
	os.WriteFile("count", append(data, 'x'), 0o666)
	if len(data) < 6 {
		many = 30
	}
}

func Work() {
	for range many {
		Kept = make([]byte, 1000)
	}
}
`)
	expect(t, gate{repo: p.Folder}, workSet, false, "seem slower and are measured again")
}

// What there is nothing to compare with passes, and says so; what the set names
// and is gone does not pass in silence.
func TestNothingToCompare(t *testing.T) {
	p := measured(t)
	p.Write("sub/sub.go", "package sub\n")
	p.Write("sub/sub_test.go", strings.NewReplacer("package m", "package sub", "Work()", "_ = b").Replace(benchCode))
	p.Git("add", "-A")
	expect(t, gate{repo: p.Folder, rounds: 1}, []benchmark{{"sub", "Work", 1}}, false, "./sub is not compared")
	p.Write("m_test.go", strings.Replace(benchCode, "BenchmarkWork", "BenchmarkOther", 1))
	expect(t, gate{repo: p.Folder, rounds: 1}, []benchmark{{"", "Other", 1}}, false, "nothing is slower")
	g := gate{repo: p.Folder, rounds: 1, out: &strings.Builder{}}
	if _, err := g.run(workSet); err == nil || !strings.Contains(err.Error(), "no BenchmarkWork") {
		t.Error(err)
	}
	p.Write("m.go", "package m\n\nfunc Work( {}\n")
	if _, err := g.run(workSet); err == nil {
		t.Error("what does not build passes")
	}
}

func TestFindBase(t *testing.T) {
	p := measured(t)
	at := func(name string) string { return strings.TrimSpace(p.Git("rev-parse", name)) }
	expect := func(why, want string) {
		t.Helper()
		if got, err := findBase(p.Folder); got != want || err != nil {
			t.Errorf("%s: %.10s, %v, want %.10s", why, got, err, want)
		}
	}
	expect("one commit", "")
	p.Write("m.go", slowCode)
	expect("not committed yet", at("HEAD"))
	p.Commit()
	expect("on main", at("HEAD~1"))
	p.Git("checkout", "-q", "-b", "work")
	p.Commit()
	p.Commit()
	expect("on a branch", at("main"))
	p.Git("checkout", "-q", "main")
	p.Commit()
	p.Git("checkout", "-q", "work")
	p.Git("merge", "-q", "--no-ff", "main")
	expect("on a branch into which main was merged", at("main"))
	p.Git("checkout", "-q", "main")
	p.Git("merge", "-q", "--no-ff", "work")
	expect("a branch merged into main", at("HEAD~1"))
}
