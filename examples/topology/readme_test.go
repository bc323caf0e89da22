package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
)

// TestReadme: the commands of README.md write the files that they name, its links
// lead somewhere, and what it says of workloads is what is drawn.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(string(text)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ go run ./examples/topology ")
		if !ok {
			continue
		}
		commands++
		args, file, ok := strings.Cut(strings.ReplaceAll(command, "examples/topology/", ""), " > ")
		if !ok {
			t.Errorf("%q writes no file", line)
			continue
		}
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), nil, &stdout, &stderr); code != program.OK {
			t.Errorf("%q: exit code %d: %s", line, code, &stderr)
		}
		golden.Check(t, filepath.Base(file), stdout.String())
	}
	if commands == 0 {
		t.Error("no commands")
	}
	for _, link := range regexp.MustCompile(`(?:\]\(|src=\"|srcset=\")([^)\"]+)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.FromSlash(link[1])); err != nil {
			t.Error(err)
		}
	}
	s, _ := drawn(t, sampleState(t, sample), &options{})
	for _, told := range regexp.MustCompile(`\*\*([A-Z])\*\*, ([a-z]+):`).FindAllStringSubmatch(string(text), -1) {
		if w := s.byID[told[2]]; w == nil || w.key != told[1] {
			t.Errorf("%s is not the letter of %s", told[1], told[2])
		}
	}
}
