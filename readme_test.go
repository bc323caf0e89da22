package allot_test

import (
	"bytes"
	"encoding"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// README.md is put to the test: its commands are run and must print what stands
// there, its code must be what stands in the repository, its links must lead
// somewhere, its table of policies must be true.
//
// Every fenced block has a language:
//
//	console  Lines "$ COMMAND" are run by sh in the root of the project; what
//	         follows is what they print to standard output. A line "…" stands
//	         for any number of lines.
//	others   Must be found, line by line, in a file of the project.
//
// A comment on the line above a block says more, <!-- readme: KEY VALUE -->:
//
//	from FILE       the file that holds the block; every block but console
//	                needs it
//	run-by FILE     the commands are not run here but in FILE, which has a line
//	                with all their words in this order
//	not-run REASON  the commands are not run at all

// A readmeBlock is a fenced block.
type readmeBlock struct {
	line       int // of its opening fence
	language   string
	key, value string // of the comment above it
	text       []string
}

var readmeComment = regexp.MustCompile(`^<!-- readme: ([a-z-]+) (.+) -->$`)

// readmeBlocks cuts a text into its fenced blocks.
func readmeBlocks(text string) ([]readmeBlock, error) {
	var blocks []readmeBlock
	open := false
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !open:
			open = true
			b := readmeBlock{line: i + 1, language: language}
			if i > 0 && strings.HasPrefix(lines[i-1], "<!--") {
				comment := readmeComment.FindStringSubmatch(lines[i-1])
				if comment == nil {
					return nil, fmt.Errorf("line %d: not a comment that the test understands", i)
				}
				b.key, b.value = comment[1], comment[2]
			}
			blocks = append(blocks, b)
		case fence:
			open = false
		case open:
			blocks[len(blocks)-1].text = append(blocks[len(blocks)-1].text, line)
		}
	}
	if open {
		return nil, fmt.Errorf("line %d: the block has no end", blocks[len(blocks)-1].line)
	}
	return blocks, nil
}

// check returns what is wrong with the block.
func (b readmeBlock) check() error {
	switch {
	case b.language == "console" && b.key == "":
		return b.run()
	case b.language == "console" && b.key == "run-by":
		return b.checkRunBy()
	case b.language == "console" && b.key == "not-run":
		return nil
	case b.language != "" && b.language != "console" && b.key == "from":
		return b.checkFrom()
	}
	return fmt.Errorf("a block of language %q with %q is not checked by anything", b.language, b.key)
}

// A readmeCommand is a command and what it must print.
type readmeCommand struct {
	command string
	prints  []string
}

func (b readmeBlock) commands() ([]readmeCommand, error) {
	var commands []readmeCommand
	for _, line := range b.text {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, readmeCommand{command: command})
		} else if len(commands) == 0 {
			return nil, fmt.Errorf("output before the first command: %q", line)
		} else {
			last := &commands[len(commands)-1]
			last.prints = append(last.prints, line)
		}
	}
	if len(commands) == 0 {
		return nil, fmt.Errorf("no command")
	}
	return commands, nil
}

func (b readmeBlock) run() error {
	commands, err := b.commands()
	if err != nil {
		return err
	}
	for _, c := range commands {
		got, err := c.run()
		if err != nil {
			return err
		}
		if !matchLines(c.prints, got) {
			return fmt.Errorf("$ %s prints (-README +got; -update-readme takes it over):\n%s", c.command, cmp.Diff(c.prints, got))
		}
	}
	return nil
}

// run returns the lines that the command prints to standard output.
func (c readmeCommand) run() ([]string, error) {
	command := exec.Command("sh", "-c", c.command)
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("$ %s: %w\n%s", c.command, err, &problem)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil
}

// matchLines compares lines; "…" in want stands for any number of them.
func matchLines(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] != "…" {
		return len(got) > 0 && want[0] == got[0] && matchLines(want[1:], got[1:])
	}
	for skip := range len(got) + 1 {
		if matchLines(want[1:], got[skip:]) {
			return true
		}
	}
	return false
}

func (b readmeBlock) checkRunBy() error {
	commands, err := b.commands()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(b.value)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if len(c.prints) > 0 {
			return fmt.Errorf("nothing compares the output of %q", c.command)
		}
		words := strings.Fields(c.command)
		if !slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
			rest := words
			for _, word := range strings.Fields(line) {
				if len(rest) > 0 && word == rest[0] {
					rest = rest[1:]
				}
			}
			return len(rest) == 0
		}) {
			return fmt.Errorf("%s does not run %q", b.value, c.command)
		}
	}
	return nil
}

func (b readmeBlock) checkFrom() error {
	text, err := os.ReadFile(b.value)
	if err != nil {
		return err
	}
	if len(b.text) == 0 || !strings.Contains("\n"+string(text), "\n"+strings.Join(b.text, "\n")+"\n") {
		return fmt.Errorf("the block does not stand in %s (-README +file):\n%s", b.value, cmp.Diff(strings.Join(b.text, "\n")+"\n", string(text)))
	}
	return nil
}

// readmeProblems lists all that is wrong with the text of a page in a folder.
func readmeProblems(folder, text string) (problems []string) {
	blocks, err := readmeBlocks(text)
	if err != nil {
		return []string{err.Error()}
	}
	for _, b := range blocks {
		if err := b.check(); err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", b.line, err))
		}
	}
	for _, link := range readmeLink.FindAllStringSubmatch(text, -1) {
		target, _, _ := strings.Cut(link[1], "#")
		if strings.Contains(target, "://") || target == "" {
			continue
		}
		if _, err := fs.Stat(os.DirFS("."), path.Join(folder, target)); err != nil {
			problems = append(problems, fmt.Sprintf("the link to %s leads nowhere", target))
		}
	}
	return problems
}

var readmeLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

var updateReadme = flag.Bool("update-readme", false, "take what README's commands print over into README.md, where nothing is cut")

// updated is the text with what its commands print now. Blocks with a cut are
// left as they are.
func updated(text string) (string, error) {
	blocks, err := readmeBlocks(text)
	if err != nil {
		return "", err
	}
	lines := strings.Split(text, "\n")
	for _, b := range slices.Backward(blocks) {
		if b.language != "console" || b.key != "" || slices.Contains(b.text, "…") {
			continue
		}
		commands, err := b.commands()
		if err != nil {
			return "", err
		}
		var now []string
		for _, c := range commands {
			got, err := c.run()
			if err != nil {
				return "", err
			}
			now = append(append(now, "$ "+c.command), got...)
		}
		lines = slices.Replace(lines, b.line, b.line+len(b.text), now...)
	}
	return strings.Join(lines, "\n"), nil
}

// readmePages are the pages that TestReadme looks at. The other programs' pages
// are put to tests of their own.
var readmePages = []string{
	"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "RULES.md",
	"examples/openb/README.md", "examples/benchmarks/README.md",
}

// TestReadme: all that these pages say that can be checked.
func TestReadme(t *testing.T) {
	openExamples(t)
	for _, name := range readmePages {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if *updateReadme {
			now, err := updated(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(now), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, problem := range readmeProblems(path.Dir(name), string(text)) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// openExamples reads what the programs are built from: the go command takes
// over an earlier result of a test while the files that the test itself opened
// are the same.
func openExamples(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), "examples", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadmeRefuses: the test above fails where a text is wrong.
func TestReadmeRefuses(t *testing.T) {
	const fence = "```"
	tests := []struct {
		why, text string
		right     bool
	}{
		{"right output", fence + "console\n$ echo a; echo b\na\nb\n$ true\n" + fence, true},
		{"cut output", fence + "console\n$ echo a; echo b; echo c\na\n…\n" + fence, true},
		{"nothing where the cut is", fence + "console\n$ echo a\n…\na\n…\n" + fence, true},
		{"wrong output", fence + "console\n$ echo a\nb\n" + fence, false},
		{"missing output", fence + "console\n$ echo a\n" + fence, false},
		{"output that is not there", fence + "console\n$ echo a\na\nb\n" + fence, false},
		{"wrong after the cut", fence + "console\n$ echo a; echo b\n…\na\n" + fence, false},
		{"a command that fails", fence + "console\n$ false\n" + fence, false},
		{"no command", fence + "console\na\n" + fence, false},
		{"an empty block", fence + "console\n" + fence, false},
		{"code that stands in its file", "<!-- readme: from solve.go -->\n" + fence + "go\npackage allot\n" + fence, true},
		{"code that does not", "<!-- readme: from solve.go -->\n" + fence + "go\npackage allo\n" + fence, false},
		{"code of no file", fence + "go\npackage allot\n" + fence, false},
		{"a file that is not there", "<!-- readme: from none.go -->\n" + fence + "go\npackage allot\n" + fence, false},
		{"no language", fence + "\n$ true\n" + fence, false},
		{"no end", fence + "console\n$ true\n", false},
		{"a comment of another kind", "<!-- readme: see below -->\n" + fence + "go\n" + fence, false},
		{"a comment with a slip", "<!-- readme:from solve.go -->\n" + fence + "go\npackage allot\n" + fence, false},
		{"run elsewhere", "<!-- readme: run-by .ci/run -->\n" + fence + "console\n$ go test ./...\n" + fence, true},
		{"not run there", "<!-- readme: run-by .ci/run -->\n" + fence + "console\n$ go test ./nothing\n" + fence, false},
		{"output from elsewhere", "<!-- readme: run-by .ci/run -->\n" + fence + "console\n$ go test ./...\nok\n" + fence, false},
		{"a link", "[here](.ci/run) and [there](https://example.com) and [above](#top)", true},
		{"a link to nowhere", "[here](none.md)", false},
	}
	for _, tt := range tests {
		if problems := readmeProblems(".", tt.text); (len(problems) == 0) != tt.right {
			t.Errorf("%s: right %v, want %v: %q", tt.why, !tt.right, tt.right, problems)
		}
	}
}

// TestReadmeUpdate: what -update-readme writes is right, and what is right or
// cut stays as it is.
func TestReadmeUpdate(t *testing.T) {
	const text = "a\n```console\n$ echo a; echo b\nb\n$ true\nc\n```\n\n```console\n$ echo a\n…\nb\n```\n"
	const want = "a\n```console\n$ echo a; echo b\na\nb\n$ true\n```\n\n```console\n$ echo a\n…\nb\n```\n"
	for _, before := range []string{text, want} {
		if got, err := updated(before); got != want || err != nil {
			t.Errorf("updated(%q) = %q, error %v", before, got, err)
		}
	}
}

// TestPolicyTable: the table preset × knob on the page of [allot.Policy] is true
// of the presets.
func TestPolicyTable(t *testing.T) {
	text, err := os.ReadFile("policy.go")
	if err != nil {
		t.Fatal(err)
	}
	presets := []allot.Policy{allot.OSMO(), allot.RunAI(), allot.RunAI20(), allot.DeterminedFairShare(), allot.DeterminedPriority()}
	if table := policyTable(presets); !strings.Contains(string(text), table) {
		t.Errorf("policy.go does not have this table:\n%s", table)
	}
	presets[1].InnerWeightByQuota = !presets[1].InnerWeightByQuota
	if table := policyTable(presets); strings.Contains(string(text), table) {
		t.Error("policy.go has the table of other presets")
	}
}

// policyTable is a comment with a line for every knob of [allot.Policy] that some
// preset turns, by its field's name. "–" is the zero value.
func policyTable(presets []allot.Policy) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "//\tknob")
	for _, p := range presets {
		fmt.Fprint(w, "\t", strings.Replace(p.Name, "determined", "det.", 1))
	}
	fmt.Fprintln(w)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[allot.Policy]()) {
		if field.Name == "Name" || field.Name == "Classes" {
			continue
		}
		turned := false
		line := "//\t" + field.Name
		for _, p := range presets {
			value := reflect.ValueOf(p).FieldByIndex(field.Index)
			turned = turned || !value.IsZero()
			line += "\t" + knob(value)
		}
		if turned {
			fmt.Fprintln(w, line)
		}
	}
	w.Flush()
	return strings.ReplaceAll(b.String(), "//  ", "//\t")
}

// knob is the text of a knob's value.
func knob(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case placement.Strategy:
		if value == 0 {
			return placement.BinPack.String()
		}
	case bool:
		if value {
			return "yes"
		}
		return "–"
	}
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		out, err := text.MarshalText()
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	if v.IsZero() {
		return "–"
	}
	return fmt.Sprint(v.Interface())
}
