// Package rules_test keeps RULES.md true: every rule that is built has a guard,
// every number that a comment, a document or a scenario cites is a rule, and the
// index of guards at the end of RULES.md is that of the repository as it is now.
//
//	go test ./internal/rules -update
//
// writes the index anew. The package imports nothing of the module, so that this
// works also while another package does not compile.
package rules_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the index of guards in RULES.md anew")

// root is the repository's root, seen from this folder.
const root = "../.."

// These mark the generated part of RULES.md.
const (
	indexBegins = "<!-- guards: written by go test ./internal/rules -update -->\n"
	indexEnds   = "<!-- end of guards -->\n"
)

// notBuilt is the section of the rules that no code obeys yet.
const notBuilt = "## Not built yet\n"

// A rulebook is what RULES.md says.
type rulebook struct {
	text string
	// numbers are those of all rules in the order of the text; built says which of
	// them the code obeys.
	numbers []string
	built   map[string]bool
}

var ruleHeading = regexp.MustCompile(`(?m)^### ([A-Z]\d{1,2}): \S`)

// readRulebook reads the headings of RULES.md: one a rule, '### Q2: …'.
func readRulebook(t *testing.T) *rulebook {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "RULES.md"))
	if err != nil {
		t.Fatal(err)
	}
	book := &rulebook{text: string(text), built: make(map[string]bool)}
	pending := strings.Index(book.text, notBuilt)
	if pending < 0 {
		t.Fatalf("RULES.md has no section %q", notBuilt)
	}
	for _, at := range ruleHeading.FindAllStringSubmatchIndex(book.text, -1) {
		number := book.text[at[2]:at[3]]
		if _, twice := book.built[number]; twice {
			t.Errorf("RULES.md has two rules %s", number)
		}
		book.numbers = append(book.numbers, number)
		book.built[number] = at[0] < pending
	}
	return book
}

// TestIndex: every rule that is built has a guard, none that is not built has one,
// and the index of guards is up to date.
func TestIndex(t *testing.T) {
	book := readRulebook(t)
	guards := collectGuards(t)
	for _, number := range book.numbers {
		switch g := guards[number]; {
		case book.built[number] && !g.any():
			t.Errorf("no scenario, row, law or test guards %s: write testdata/rules/%[1]s-<what>.txt", number)
		case !book.built[number] && g.any():
			t.Errorf("%s is not built, says RULES.md, and yet it has guards: %v", number, g)
		}
	}
	before, rest, begins := strings.Cut(book.text, indexBegins)
	_, after, ends := strings.Cut(rest, indexEnds)
	if !begins || !ends {
		t.Fatalf("RULES.md lacks %q or, after it, %q", indexBegins, indexEnds)
	}
	text := before + indexBegins + index(book, guards) + indexEnds + after
	if text == book.text {
		return
	}
	if !*update {
		t.Fatalf("the guards of RULES.md have changed: go test ./internal/rules -update\n%s", firstDifference(book.text, text))
	}
	if err := os.WriteFile(filepath.Join(root, "RULES.md"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// index lists the guards of the rules that are built, rule by rule.
func index(book *rulebook, guards map[string]*guard) string {
	var b strings.Builder
	for _, number := range book.numbers {
		if g := guards[number]; book.built[number] && g.any() {
			b.WriteString("- **" + number + "** " + g.String() + "\n")
		}
	}
	return b.String()
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(was, is string) string {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for i := range min(len(old), len(now)) {
		if old[i] != now[i] {
			return "- " + old[i] + "\n+ " + now[i]
		}
	}
	return "one is longer"
}

// TestCitations: whatever number is cited is that of a rule. Rows of the published
// schedulers have numbers of their own, some of which are also those of rules: a row
// is cited as 'row O19' or by its file, osmo/O19.
func TestCitations(t *testing.T) {
	book := readRulebook(t)
	rows := publishedRows(t)
	comments := readComments(t)
	for i, c := range comments {
		if i > 0 && comments[i-1].file == c.file && comments[i-1].line+1 == c.line {
			c.text = continued(comments[i-1].text, c.text)
		}
		for _, problem := range judge(c, book, rows) {
			t.Errorf("%s:%d: %s: %s", c.file, c.line, problem, strings.TrimSpace(c.text))
		}
	}
}

// TestJudge: what is no rule and no row is found out, and what is one is not.
func TestJudge(t *testing.T) {
	book := &rulebook{built: map[string]bool{"Q2": true, "O2": true, "B1": false}}
	rows := map[string]string{"O2": "osmo", "O19": "osmo", "D14": "determined", "R7": "runai"}
	for _, test := range []struct {
		file, text string
		want       int
	}{
		{"a.go", "quota binds (Q2), and O2 orders", 0},
		{"a.md", "not built yet: B1", 0},
		{"a.go", "by B1", 1},
		{"a.go", "see osmo/O19, row O19 and rows O2, D14 and R7", 0},
		{"a.go", "Q2-ancestors, SPEC Q2, Q2–Q2", 0},
		{"a.go", "an H100, the P99 and an L4 are no rules", 0},
		{"a.go", "Q3", 1},
		{"a.go", "as in O19, as in D14", 2},
		{"a.go", "osmo/O20, row R8", 2},
		{"a.go", "rows O2 and O20", 1},
	} {
		if found := judge(comment{test.file, 1, test.text}, book, rows); len(found) != test.want {
			t.Errorf("%q: %q, want %d problems", test.text, found, test.want)
		}
	}
}

// caseCited is a row of the table of cases that a scenario cites.
var caseCited = regexp.MustCompile(`\bCASES N(\d+)\b`)

// TestCasesOfTime: each of the cases about time, N70 to N89, is a scenario that says so.
func TestCasesOfTime(t *testing.T) {
	cited := make(map[string]bool)
	for _, s := range readScenarios(t) {
		for _, line := range s.lines {
			if !strings.HasPrefix(line, "#") {
				continue
			}
			for _, found := range caseCited.FindAllStringSubmatch(line, -1) {
				cited[found[1]] = true
			}
		}
	}
	for row := 70; row <= 89; row++ {
		if !cited[strconv.Itoa(row)] {
			t.Errorf("no scenario cites CASES N%d", row)
		}
	}
}
