package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
)

func TestGolden(t *testing.T) {
	golden.Run(t, run, []golden.Case{
		{File: "canned.table.txt", Args: []string{"-from", "testdata/canned.txt"}},
		{File: "canned.table.md", Args: []string{"-markdown", "-from", "testdata/canned.txt"}},
		{File: "short.table.txt", Args: []string{"-short", "-shapes", "^Fill", "-from", "testdata/canned.txt"}},
		{File: "one.table.txt", Args: []string{"-shapes", "Openb|Hopeless", "-from", "-"}, Stdin: one},
		{File: "help.txt", Args: []string{"-h"}},
		{File: "none.txt", Args: []string{"-from", "-"}, Stdin: "PASS\n", Code: program.Failed},
		{File: "nothing.txt", Args: []string{"-shapes", "no such shape", "-from", "-"}, Code: program.Failed},
		{File: "arguments.txt", Args: []string{"Fill"}, Code: program.Usage},
		{File: "part.txt", Args: []string{"-short", "-update-readme"}, Code: program.Usage},
		{File: "count.txt", Args: []string{"-count", "0"}, Code: program.Usage},
		{File: "regexp.txt", Args: []string{"-shapes", "("}, Code: program.Usage},
	})
}

// one is what go test -bench prints, of one shape and without what the program
// adds.
const one = `goos: linux
goarch: amd64
pkg: github.com/allotsched/allot
cpu: AMD EPYC
BenchmarkHopelessGang/nodes=100/floor-2   	       3	    175637 ns/op	       199.4 ns/task
BenchmarkHopelessGang/nodes=100/room-2    	       3	     59388 ns/op
BenchmarkHopelessGang/nodes=100/decide-2  	       3	   1284572 ns/op	    333696 live-B	  368200 B/op	     193 allocs/op
PASS
ok  	github.com/allotsched/allot	0.354s
`

// The tables of README.md are those of the results that are kept.
func TestReadme(t *testing.T) {
	root, err := projectRoot()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, kept))
	if err != nil {
		t.Fatal(err)
	}
	m, err := readMeasurements(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(readme)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTables(string(text), m.markdown(allShapes()))
	if err != nil {
		t.Fatal(err)
	}
	if want != string(text) {
		t.Error("README.md does not have the tables of the results that are kept: " +
			"go -C examples/benchmarks run . -from testdata/measured.txt -update-readme")
	}
}

func TestWithTables(t *testing.T) {
	text := "before\n" + beginTables + "old\n" + endTables + "after\n"
	now, err := withTables(text, "new\n")
	if want := strings.Replace(text, "old", "new", 1); now != want || err != nil {
		t.Errorf("%q, %v", now, err)
	}
	for _, text := range []string{"", beginTables, endTables, endTables + beginTables} {
		if _, err := withTables(text, ""); err == nil {
			t.Errorf("%q has marks", text)
		}
	}
}

func TestHelp(t *testing.T) {
	if _, err := parse([]string{"-h"}, &bytes.Buffer{}); err != flag.ErrHelp {
		t.Error(err)
	}
}

// Every benchmark is one job at each size, with fewer repeats where it is larger.
func TestJobs(t *testing.T) {
	two := sizes("n={n}/m={8n}", 10, 100)
	a := shape{benchmark: "A", sizes: two, times: 40}
	again := shape{benchmark: "A", sizes: two, times: 5}
	event := shape{benchmark: "E", folder: "sub", sizes: two, times: 7, event: true, once: true}
	got := jobs([]shape{a, again, event}, false)
	want := []job{
		{"", "A/n=10/m=80", 40, false}, {"", "A/n=100/m=800", 4, false},
		{"sub", "E/n=10/m=80", 7, true}, {"sub", "E/n=100/m=800", 7, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if short := jobs([]shape{a}, true); short[0].repeats != 1 {
		t.Error(short)
	}
}

// A real measurement of the shape that is fastest: the results read back, and
// each column has its figures.
func TestMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the root's tests")
	}
	results := filepath.Join(t.TempDir(), "results.txt")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-shapes", "HopelessGang", "-short", "-to", results}, nil, &stdout, &stderr); code != program.OK || stderr.Len() > 0 {
		t.Fatalf("exit code %d, %s", code, &stderr)
	}
	for _, want := range []string{"floor", "peak RSS", "MiB", "Targets: ", "n^"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &stdout)
		}
	}
	var again bytes.Buffer
	if code := run([]string{"-shapes", "HopelessGang", "-from", results, "-short"}, nil, &again, &stderr); code != program.OK {
		t.Fatal(stderr.String())
	}
	if again.String() != stdout.String() {
		t.Errorf("read back it is\n%s, not\n%s", &again, &stdout)
	}
}

// What has no such benchmark, or fails, is an error and no table.
func TestMeasureFails(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the root's tests")
	}
	none := shape{title: "none", benchmark: "NoSuch", sizes: []size{{n: 1}}, times: 1}
	if _, err := measure([]shape{none}, &options{count: 1}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no such benchmark") {
		t.Error(err)
	}
	none.folder = "no/such/folder"
	if _, err := measure([]shape{none}, &options{count: 1}, &bytes.Buffer{}); err == nil {
		t.Error("a package that is not there was measured")
	}
}
