package input

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
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
	setup := Setup(string(f.Data))
	if size := scenarioSize(setup); size > maxScenario {
		return []Fault{{f.Name, 0, allot.Fault{Path: "$", Code: allot.FaultTooMany, Want: "must make at most " + strconv.Itoa(maxScenario) + " nodes, devices and workloads"}}}
	}
	state, err := scenario.State(setup)
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

// maxScenario is how many nodes, devices and workloads a scenario may make: a line of it
// may make millions.
const maxScenario = 1 << 20

var (
	nameRange = regexp.MustCompile(`(\d+)\.\.[^\d\s,]*(\d+)`)
	perNode   = regexp.MustCompile(`\b(?:gpu=|devices=|,)(\d+)`)
)

// scenarioSize is how much the statements of a scenario make at most, roughly: of each
// the ranges of its names, times the devices of each.
func scenarioSize(text string) (size int) {
	for _, statement := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '|' }) {
		names := 0
		for _, m := range nameRange.FindAllStringSubmatch(statement, -1) {
			from, err := strconv.Atoi(m[1])
			to, err2 := strconv.Atoi(m[2])
			if err != nil || err2 != nil {
				return maxScenario + 1
			}
			names += max(0, to-from) + 1
			if names > maxScenario {
				return names
			}
		}
		devices := 0
		if strings.HasPrefix(strings.TrimSpace(statement), "nodes") {
			for _, m := range perNode.FindAllStringSubmatch(statement, -1) {
				n, err := strconv.Atoi(m[1])
				if err != nil || n > maxScenario {
					return maxScenario + 1
				}
				devices += n
			}
		}
		if size += max(1, names) * max(1, devices); size > maxScenario {
			return size
		}
	}
	return size
}
