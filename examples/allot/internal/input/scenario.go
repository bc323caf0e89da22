package input

import (
	"bytes"
	"errors"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// statements are the words with which a scenario may begin.
var statements = []string{"nodes", "levels", "pool", "policy", "queue", "run", "submit", "now", "budget", "reset"}

// IsScenario says whether a text is a scenario, and no document: whether its first line
// that says anything begins with a statement, a word and a space.
func IsScenario(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(string(line[:min(len(line), 64)]), " ")
		for _, s := range statements {
			if word == s && (rest != "" || s == "reset") && !strings.HasPrefix(strings.TrimSpace(rest), ":") {
				return true
			}
		}
		return false
	}
	return false
}

// Setup is what a scenario sets up before its first question: up to the first line that
// begins with solve or check. All of a text that asks nothing is setup.
func Setup(text string) string {
	at := 0
	for line := range strings.Lines(text) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word == "solve" || word == "check" || word == "----" {
			return text[:at]
		}
		at += len(line)
	}
	return text
}

// readScenario reads the state that a scenario sets up.
func readScenario(f File, into *allot.State) []Fault {
	state, err := scenario.State(Setup(string(f.Data)))
	if err == nil {
		*into = *state
		return nil
	}
	fault := Fault{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultSyntax, Want: "must be a scenario: " + err.Error()}}
	var at *scenario.Error
	if errors.As(err, &at) {
		fault.Line = at.Line
	}
	return []Fault{fault}
}
