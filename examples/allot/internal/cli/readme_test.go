package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/allot/internal/input"
)

// README.md is put to the test: its console blocks hold commands and what they print, on
// standard output and then on standard error; a line "…" stands for any number of
// lines. With -update what is not cut is written anew. The YAML on the page is sound.
func TestReadme(t *testing.T) {
	t.Setenv(StateVariable, "")
	t.Chdir(filepath.Join("..", ".."))
	made := t.TempDir() // for files that commands write
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	blocks := strings.Split(string(text), "```")
	if len(blocks) < 3 {
		t.Fatal("there are no blocks")
	}
	shown := make(map[string]bool)
	for i, block := range blocks {
		if body, ok := strings.CutPrefix(block, "console\n"); ok && i%2 == 1 {
			block = "console\n" + checkCommands(t, body, made, shown)
		}
		if body, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
			if _, err := input.State([]input.File{{Name: "README.md", Data: []byte(body)}}); err != nil {
				t.Error(err)
			}
		}
		out = append(out, block)
	}
	for _, c := range rootCommand(&Session{}).Commands() {
		if name := c.Name(); !shown[name] && name != "help" && name != "completion" {
			t.Errorf("README.md does not show %s", name)
		}
	}
	if got := strings.Join(out, "```"); got != string(text) {
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile("README.md", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("README.md is not what the commands print (-update writes it)")
	}
}

// checkCommands runs the commands of a block and returns it as it should be.
func checkCommands(t *testing.T, block, made string, shown map[string]bool) string {
	var out strings.Builder
	for command := range strings.SplitSeq(strings.TrimPrefix(block, "$ "), "\n$ ") {
		line, prints, _ := strings.Cut(strings.TrimSuffix(command, "\n"), "\n")
		out.WriteString("$ " + line + "\n")
		rest, ok := strings.CutPrefix(line, "allot ")
		if !ok {
			t.Fatalf("%q is no command of this program", line)
		}
		args, file, redirected := strings.Cut(rest, " > ")
		fields := strings.Fields(args)
		shown[fields[0]] = true
		for i, f := range fields {
			if path := filepath.Join(made, f); !strings.Contains(f, "/") && fileExists(path) {
				fields[i] = path
			}
		}
		var stdout, stderr bytes.Buffer
		plainly(fields, strings.NewReader(""), &stdout, &stderr)
		if redirected {
			if err := os.WriteFile(filepath.Join(made, file), stdout.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			stdout.Reset()
		}
		got := stdout.String() + stderr.String()
		if !strings.Contains(prints+"\n", "…\n") {
			out.WriteString(got)
			continue
		}
		if !matchesCut(strings.Split(prints, "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")) {
			t.Errorf("%s prints\n%s", line, got)
		}
		out.WriteString(prints + "\n")
	}
	return out.String()
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
