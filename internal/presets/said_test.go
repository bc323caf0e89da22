package presets_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
)

// TestRowsNeedWhatTheySay: a knob that rows turn themselves, as their source offers it,
// matters to one of them: with any other value in its place, or without it, a row
// fails.
func TestRowsNeedWhatTheySay(t *testing.T) {
	others := otherWords(t)
	for _, folder := range []string{"osmo", "runai", "runai20", "determined", "any"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			said := make(map[string][]string) // the rows that say a word
			for _, text := range textsOf(t, folder) {
				for _, word := range saidIn(text) {
					if !slices.Contains(said[word], text) {
						said[word] = append(said[word], text)
					}
				}
			}
			for word, texts := range said { // each by itself: the order cannot matter
				if word == "exit=1:fail" {
					continue // row O14: what is said of another code says nothing
				}
				key, _, _ := strings.Cut(word, "=")
				for _, other := range append([]string{""}, others[key]...) {
					if other == word {
						continue
					}
					if !slices.ContainsFunc(texts, func(text string) bool { return fails(withOther(text, word, other)) }) {
						t.Errorf("no row in testdata/%s that says %q fails with %q in its place", folder, word, other)
					}
				}
			}
		})
	}
}

func textsOf(t *testing.T, folder string) (texts []string) {
	files, err := filepath.Glob(filepath.Join(testdata, folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

var policyStatement = regexp.MustCompile(`(?m)(?:^|\| )policy( [^|\n#]*)`)

// saidIn are the words by which the policy statements of a row turn knobs.
func saidIn(text string) (words []string) {
	for _, statement := range policyStatement.FindAllStringSubmatch(text, -1) {
		for _, word := range strings.Fields(statement[1]) {
			if !strings.HasPrefix(word, "pool=") && !strings.HasPrefix(word, "preset=") && !strings.HasPrefix(word, "class=") {
				words = append(words, word)
			}
		}
	}
	return words
}

// withOther is the row with another word in the place of one in its policy statements.
func withOther(text, word, other string) string {
	if other != "" {
		other = " " + other
	}
	return policyStatement.ReplaceAllStringFunc(text, func(statement string) string {
		return strings.ReplaceAll(statement+" ", " "+word+" ", other+" ")
	})
}

// otherWords are the words by which each enumeration is turned, by their key.
func otherWords(t *testing.T) map[string][]string {
	words := make(map[string][]string)
	turns, _ := turnsOf(t, func() allot.Policy { return allot.Policy{} })
	for _, one := range turns {
		key, value, _ := strings.Cut(knobsOf(t, one.policy), "=")
		if value == one.value && one.exact && value != "yes" && key != "default-class" && key != "preempted-status" && key != "name" {
			words[key] = append(words[key], key+"="+value)
		}
	}
	return words
}
