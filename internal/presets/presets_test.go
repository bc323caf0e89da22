// Package presets_test holds the rows of the published schedulers to their purpose:
// for every knob of a preset there is a row that fails when the knob is turned. Which
// rows those are is a table, testdata/presets.table, which
//
//	go test ./internal/presets -update
//
// writes anew. A knob of which no row sees anything must be excused, with the reason,
// in unseen_test.go.
package presets_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

var update = flag.Bool("update", false, "write testdata/presets.table anew")

// testdata is the folder of the scenarios, seen from this one.
const testdata = "../../testdata"

// A preset is a published scheduler, with the folder of its rows.
type preset struct {
	name, folder string
	policy       func() allot.Policy
}

var presets = []preset{
	{"osmo", "osmo", allot.OSMO},
	{"runai", "runai", allot.RunAI},
	{"runai20", "runai20", allot.RunAI20},
	{"determined-fair-share", "determined", allot.DeterminedFairShare},
	{"determined-priority", "determined", allot.DeterminedPriority},
}

// A row is a scenario of a preset.
type row struct{ name, text string }

// rowsOf are the scenarios of the folder that are about the preset.
func rowsOf(t *testing.T, p preset) (rows []row) {
	files, err := filepath.Glob(filepath.Join(testdata, p.folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if p.statement().Match(text) {
			rows = append(rows, row{strings.TrimSuffix(filepath.Base(file), ".txt"), string(text)})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", p.name)
	}
	slices.SortFunc(rows, func(a, b row) int { return compareRows(a.name, b.name) })
	return rows
}

// statement matches the beginning of a statement that chooses the preset.
func (p preset) statement() *regexp.Regexp {
	return regexp.MustCompile(`(?m)\bpolicy( pool=\S+)? preset=` + regexp.QuoteMeta(p.name) + `\b(?:$| )`)
}

// under is the row with another policy in the place of the preset. What the row
// itself says of knobs stands behind it, and so holds.
func (p preset) under(r row, knobs string) string {
	return p.statement().ReplaceAllString(r.text, "policy$1 preset=none "+strings.ReplaceAll(knobs, "$", "$$")+" | policy$1 ")
}

// knobsOf says a policy in the words of scenarios, and makes sure that they mean it.
func knobsOf(t *testing.T, policy allot.Policy) (knobs string) {
	s := &allot.State{Pools: []allot.Pool{{ID: "p", Policy: policy}}}
	text := scenario.Format(s)
	again, err := scenario.State(text)
	if err != nil || len(again.Pools) != 1 || !reflect.DeepEqual(again.Pools[0].Policy, policy) {
		t.Errorf("the language of scenarios does not know this policy (%v):\n%s%+v", err, text, policy)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "policy pool=p "); ok {
			knobs = strings.TrimSpace(rest)
		}
	}
	return knobs
}

// fails says whether the row prints something else than it must.
func fails(text string) bool {
	script, err := scenario.Parse(text)
	if err != nil {
		return true
	}
	outputs, err := scenario.Run(script, scenario.Options{SkipLaws: true})
	if err != nil {
		return true
	}
	for i, block := range script.Blocks {
		if block.Checked && outputs[i] != block.Expected {
			return true
		}
	}
	return false
}

// TestEveryKnobHasARow turns each knob of each preset: a row fails, or it is said
// why none can. The table of them is up to date.
func TestEveryKnobHasARow(t *testing.T) {
	if testing.Short() {
		t.Skip("some ten thousand solves")
	}
	sections := make([]string, len(presets))
	t.Run("presets", func(t *testing.T) {
		for i, p := range presets {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				sections[i] = section(t, p)
			})
		}
	})
	table := head + strings.Join(sections, "\n")
	file := filepath.Join(testdata, "presets.table")
	if *update {
		if err := os.WriteFile(file, []byte(table), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) != table {
		t.Errorf("which row sees which knob has changed: go test ./internal/presets -update\n%s", firstDifference(string(was), table))
	}
	for i := range unseen {
		if !unseen[i].used {
			t.Errorf("a row sees what unseen excuses: take away %s=%s: %s", unseen[i].knob, unseen[i].value, unseen[i].why)
		}
	}
}

const head = `# Which rows of a preset fail when one of its knobs is turned, and why no row does where
# none can. Written by go test ./internal/presets -update.

`

// section is the part of the table for a preset: a line for each value of a knob and
// the rows that see it; values that the same rows see share a line.
func section(t *testing.T, p preset) string {
	rows := rowsOf(t, p)
	knobs := knobsOf(t, p.policy())
	for _, r := range rows {
		if fails(p.under(r, knobs)) {
			t.Fatalf("%s fails though no knob is turned", r.name)
		}
	}
	var b strings.Builder
	b.WriteString(p.name + "\n")
	turns, never := turnsOf(t, p.policy)
	for _, knob := range never { // each by itself: the order cannot matter
		t.Errorf("no value that %s of %s is turned to is legal: say others in turn_test.go", knob, p.name)
	}
	for len(turns) > 0 {
		n := 1
		for n < len(turns) && turns[n].knob == turns[0].knob {
			n++
		}
		b.WriteString(p.knob(t, rows, turns[:n]))
		turns = turns[n:]
	}
	return b.String()
}

// knob turns one knob to its values and gives its lines.
func (p preset) knob(t *testing.T, rows []row, turns []turn) string {
	type line struct {
		values []string
		text   string
	}
	var lines []line
	note := func(value, text string) {
		for i := range lines {
			if lines[i].text == text {
				lines[i].values = append(lines[i].values, value)
				return
			}
		}
		lines = append(lines, line{[]string{value}, text})
	}
	seen, silent := false, []turn(nil)
	for _, one := range turns {
		if seen && !one.exact {
			continue // another number was seen
		}
		knobs := knobsOf(t, one.policy)
		var failing []string
		for _, r := range rows {
			if fails(p.under(r, knobs)) {
				failing = append(failing, r.name)
			}
		}
		if len(failing) == 0 {
			silent = append(silent, one)
			continue
		}
		seen = true
		note(one.value, strings.Join(failing, " "))
	}
	var missing []string
	for _, one := range silent {
		if seen && !one.exact {
			continue // a later number was seen
		}
		why := excuse(p.name, one)
		if why == "" {
			missing = append(missing, one.value)
		}
		note(one.value, "– "+why)
	}
	if len(missing) > 0 {
		t.Errorf("no row in testdata/%s fails when %s of %s is turned to %s: write one, by hand and from its source, or say in unseen_test.go why none can",
			p.folder, turns[0].knob, p.name, strings.Join(missing, ", "))
	}
	var b strings.Builder
	for _, l := range lines {
		if len(l.values) == len(turns) && !seen { // whatever it is turned to
			fmt.Fprintf(&b, "  %s: %s\n", turns[0].knob, l.text)
			continue
		}
		fmt.Fprintf(&b, "  %s=%s: %s\n", turns[0].knob, strings.Join(l.values, "|"), l.text)
	}
	return b.String()
}

var rowNumber = regexp.MustCompile(`^([A-Z])(\d+)(.*)$`)

// compareRows sorts row O2 before row O10.
func compareRows(a, b string) int {
	x, y := rowNumber.FindStringSubmatch(a), rowNumber.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] != y[1] || len(x[2]) == len(y[2]) {
		return strings.Compare(a, b)
	}
	return len(x[2]) - len(y[2])
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
