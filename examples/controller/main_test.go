package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
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
		file string
		args []string
		code int
	}{
		{"story.txt", nil, exitOK},
		{"help.txt", []string{"-h"}, exitOK},
		{"flag.txt", []string{"-nodes", "3"}, exitUsage},
		{"argument.txt", []string{"7"}, exitUsage},
	} {
		t.Run(test.file, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.args, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if (stdout.Len() == 0) != (test.code == exitUsage) || (stderr.Len() == 0) != (test.code != exitUsage) {
				t.Errorf("standard output %q and standard error %q", &stdout, &stderr)
			}
			golden(t, test.file, stdout.String()+stderr.String())
		})
	}
}

// One seed, one story, and another seed another one.
func TestSeedIsTheStory(t *testing.T) {
	var first, again, other bytes.Buffer
	for i, out := range []*bytes.Buffer{&first, &again, &other} {
		seed := []string{"5", "5", "6"}[i]
		if code := run([]string{"-seed", seed, "-seconds", "60"}, out, out); code != exitOK {
			t.Fatal(out.String())
		}
	}
	if first.String() != again.String() || first.String() == other.String() {
		t.Error("the seed does not decide the story")
	}
}
