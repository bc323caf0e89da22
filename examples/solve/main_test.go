package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s (-update writes it):\n%s", path, got)
	}
}

// Each golden file has what is printed to standard output and then what is
// printed to standard error; one of them is empty.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		file, stdin string
		args        []string
		code        int
	}{
		{"team.txt", "", []string{"testdata/team.json"}, exitOK},
		{"team.plan.json", "", []string{"-json", "testdata/team.json"}, exitOK},
		{"team.decisions.txt", "", []string{"-shares=false", "-verify=false", "testdata/team.json"}, exitOK},
		{"sample.txt", sample, []string{"-"}, exitOK},
		{"help.txt", "", []string{"-h"}, exitOK},
		{"bad.txt", "", []string{"testdata/bad.json"}, exitFailed},
		{"misread.txt", "", []string{"-json", "testdata/misread.json"}, exitFailed},
	} {
		t.Run(test.file, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.args, strings.NewReader(test.stdin), &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if (stdout.Len() == 0) != (test.code != exitOK) || (stderr.Len() == 0) != (test.code == exitOK) {
				t.Errorf("exit code %d with standard output %q and standard error %q", test.code, &stdout, &stderr)
			}
			golden(t, test.file, stdout.String()+stderr.String())
		})
	}
}

// The JSON that is printed is a Plan that reads back, and it is the plan of
// the text.
func TestJSONIsThePlan(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-json", "testdata/team.json"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatal(stderr.String())
	}
	var plan allot.Plan
	if err := plan.UnmarshalJSON(stdout.Bytes()); err != nil {
		t.Fatal(err)
	}
	golden(t, "team.txt", plan.Text())
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		args        []string
		stdin, want string
		code        int
	}{
		{nil, "", "solve: takes one file, or - for standard input, got 0 arguments; -h tells all\n", exitUsage},
		{[]string{"a", "b"}, "", "solve: takes one file, or - for standard input, got 2 arguments; -h tells all\n", exitUsage},
		{[]string{"-yaml", "a"}, "", "solve: flag provided but not defined: -yaml; -h tells all\n", exitUsage},
		{[]string{"-"}, "", "solve: -: $: ", exitFailed},
		{[]string{"-"}, "{", "solve: -: $: ", exitFailed},
		{[]string{"-"}, "{}", "solve: -: version: ", exitFailed},
		{[]string{"testdata/absent.json"}, "", "solve: open testdata/absent.json: ", exitFailed},
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
	if n := strings.Count(stderr.String(), "(duplicate)\n"); code != exitFailed || n != faults {
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
		if code != exitFailed || stderr.String() != "solve: the pipe is closed\n" {
			t.Errorf("exit code %d, %q", code, &stderr)
		}
	}
}
