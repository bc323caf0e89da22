package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
)

func TestGolden(t *testing.T) {
	golden.Run(t, run, []golden.Case{
		{File: "team.txt", Args: []string{"testdata/team.json"}},
		{File: "team.plan.json", Args: []string{"-json", "testdata/team.json"}},
		{File: "team.decisions.txt", Args: []string{"-shares=false", "-verify=false", "testdata/team.json"}},
		{File: "reclaim.txt", Args: []string{"testdata/reclaim.json"}},
		{File: "sample.txt", Args: []string{"-"}, Stdin: sample},
		{File: "help.txt", Args: []string{"-h"}},
		{File: "bad.txt", Args: []string{"testdata/bad.json"}, Code: program.Failed},
		{File: "misread.txt", Args: []string{"-json", "testdata/misread.json"}, Code: program.Failed},
	})
}

// The JSON that is printed is a Plan that reads back, and it is the plan of
// the text.
func TestJSONIsThePlan(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-json", "testdata/team.json"}, nil, &stdout, &stderr); code != program.OK {
		t.Fatal(stderr.String())
	}
	var plan allot.Plan
	if err := plan.UnmarshalJSON(stdout.Bytes()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "team.txt", plan.String())
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		args        []string
		stdin, want string
		code        int
	}{
		{nil, "", "solve: takes one file, or - for standard input, got 0 arguments; -h tells all\n", program.Usage},
		{[]string{"a", "b"}, "", "solve: takes one file, or - for standard input, got 2 arguments; -h tells all\n", program.Usage},
		{[]string{"-yaml", "a"}, "", "solve: flag provided but not defined: -yaml; -h tells all\n", program.Usage},
		{[]string{"-"}, "", "solve: -: $: ", program.Failed},
		{[]string{"-"}, "{", "solve: -: $: ", program.Failed},
		{[]string{"-"}, "{}", "solve: -: version: ", program.Failed},
		{[]string{"testdata/absent.json"}, "", "solve: open testdata/absent.json: ", program.Failed},
	} {
		var stdout, stderr bytes.Buffer
		code := run(test.args, strings.NewReader(test.stdin), &stdout, &stderr)
		if code != test.code || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), test.want) {
			t.Errorf("%q: exit code %d, %q, %q, want %d and %q", test.args, code, &stdout, &stderr, test.code, test.want)
		}
	}
}

// All faults are printed, however many there are.
func TestEveryFaultIsPrinted(t *testing.T) {
	const faults = 200
	input := `{"version": 1, "nodes": [{"id": "a"}` + strings.Repeat(`, {"id": "a"}`, faults) + `]}`
	var stdout, stderr bytes.Buffer
	code := run([]string{"-"}, strings.NewReader(input), &stdout, &stderr)
	if n := strings.Count(stderr.String(), "(duplicate)\n"); code != program.Failed || n != faults {
		t.Errorf("exit code %d, %d faults of %d", code, n, faults)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

// What cannot be printed is no success.
func TestBrokenOutput(t *testing.T) {
	for _, form := range []string{"-json=true", "-json=false"} {
		var stderr bytes.Buffer
		code := run([]string{form, "-"}, strings.NewReader(sample), brokenWriter{}, &stderr)
		if code != program.Failed || stderr.String() != "solve: the pipe is closed\n" {
			t.Errorf("exit code %d, %q", code, &stderr)
		}
	}
}
