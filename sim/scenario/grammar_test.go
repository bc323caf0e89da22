package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGrammarIsRegular: no production leads back to itself, so that drawing a text
// ends, and a reader needs no stack.
func TestGrammarIsRegular(t *testing.T) {
	const open, done = 1, 2
	state := map[*grammarNode]int{}
	var visit func(n *grammarNode)
	visit = func(n *grammarNode) {
		switch state[n] {
		case open:
			t.Fatalf("%s leads back to itself", n.name)
		case done:
			return
		}
		state[n] = open
		for _, kid := range n.kids {
			visit(kid)
		}
		state[n] = done
	}
	visit(theGrammar(t).productions["Text"])
}

// TestGrammarIsExplained: every production stands below a comment, or right below
// one that does.
func TestGrammarIsExplained(t *testing.T) {
	for part := range strings.SplitSeq(Grammar(), "\n\n") {
		if !strings.HasPrefix(part, "// ") {
			t.Errorf("nothing is said of\n%s", part)
		}
	}
}

// scenarioFiles are the scenarios of this module that are files.
func scenarioFiles(t testing.TB) map[string]string {
	files := map[string]string{}
	for _, pattern := range []string{"testdata/*.txt", "../../testdata/*/*.txt"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
	return files
}

// TestFilesConform: every scenario that is a file is a text of the grammar, with
// what it expects, and no production is for nothing.
func TestFilesConform(t *testing.T) {
	g := theGrammar(t)
	used := map[string]int{}
	files := scenarioFiles(t)
	for _, name := range sortedKeys(files) {
		r := newRecogniser(files[name])
		if !r.matches(g.productions["Text"]) {
			t.Errorf("%s: %s", name, r.where())
			continue
		}
		r.derive(g.productions["Text"], 0, len(r.text))
		for production := range r.used {
			used[production]++
		}
	}
	for _, production := range sortedKeys(g.productions) {
		if used[production] == 0 {
			t.Errorf("no scenario uses %s", production)
		}
	}
}

// where is how far the text is one of the grammar.
func (r *recogniser) where() string {
	line := 1 + strings.Count(r.text[:r.furthest], "\n")
	from := strings.LastIndex(r.text[:r.furthest], "\n") + 1
	return "line " + formatInteger(int64(line)) + " ends with " + r.text[from:r.furthest] + "␣" + strings.SplitN(r.text[r.furthest:], "\n", 2)[0]
}

// TestLanguage: the scenarios of the package are what they say.
func TestLanguage(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		outputs, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		expected := make([]string, len(outputs))
		for i := range s.Blocks {
			expected[i] = s.Blocks[i].Expected
		}
		if !slices.Equal(outputs, expected) {
			t.Errorf("%s prints\n%s", name, s.Rewrite(outputs))
		}
	}
}
