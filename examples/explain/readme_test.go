package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// README.md is put to the test: its console blocks hold commands and what they
// print; a line "…" stands for any number of lines. With -update what is not cut
// is written anew.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	blocks := strings.Split(string(text), "```")
	if len(blocks) < 3 {
		t.Fatal("there are no blocks")
	}
	for i, block := range blocks {
		if body, ok := strings.CutPrefix(block, "console\n"); ok && i%2 == 1 {
			block = "console\n" + checkCommands(t, body)
		}
		out = append(out, block)
	}
	if got := strings.Join(out, "```"); got != string(text) {
		if updating() {
			if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("README.md is not what the commands print (-update writes it)")
	}
}

// checkCommands runs the commands of a block and returns it as it should be.
func checkCommands(t *testing.T, block string) string {
	var out strings.Builder
	for command := range strings.SplitSeq(strings.TrimPrefix(block, "$ "), "\n$ ") {
		line, prints, _ := strings.Cut(command, "\n")
		out.WriteString("$ " + line + "\n")
		rest, ok := strings.CutPrefix(line, "go run ./examples/explain ")
		if !ok {
			t.Fatalf("%q is no command of this program", line)
		}
		args, _, redirected := strings.Cut(rest, " > ")
		got := answer(t, "", strings.Fields(strings.ReplaceAll(args, "examples/explain/testdata/", "testdata/"))...)
		// Files are named as they are from the root of the project.
		got = strings.ReplaceAll(got, "testdata/", "examples/explain/testdata/")
		switch {
		case redirected:
		case strings.Contains(prints, "…\n"):
			if !matchesCut(strings.Split(strings.TrimSuffix(prints, "\n"), "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")) {
				t.Errorf("%s prints\n%s", line, got)
			}
			out.WriteString(strings.TrimSuffix(prints, "\n") + "\n")
		default:
			out.WriteString(got)
		}
	}
	return out.String()
}

// matchesCut says whether the lines are those wanted, of which "…" is any number.
func matchesCut(want, got []string) bool {
	for len(want) > 0 {
		if want[0] == "…" {
			for from := range len(got) + 1 {
				if matchesCut(want[1:], got[from:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || want[0] != got[0] {
			return false
		}
		want, got = want[1:], got[1:]
	}
	return len(got) == 0
}

// updating says whether the goldens are to be written.
func updating() bool { return flag.Lookup("update").Value.String() == "true" }
