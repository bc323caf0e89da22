package main

import (
	"encoding/json"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// Every scene of the project's own scenarios can be reported and explained: forms,
// fractions, claims, lost nodes, moves, several pools, and whatever comes to them.
func TestScenes(t *testing.T) {
	scenes := 0
	err := filepath.WalkDir("../../testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// What is set up before the first question is a state.
		before, _, found := strings.Cut(string(text), "\nsolve")
		state, err := scenario.State(before + "\n")
		if !found || err != nil || len(state.Workloads) > listedLines {
			return nil
		}
		scenes++
		input, err := json.Marshal(state)
		if err != nil {
			return err
		}
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			plan, err := allot.Solve(state)
			if err != nil {
				t.Fatal(err)
			}
			tellsAll(t, plan, html.UnescapeString(answer(t, string(input), "report", "-", "-helps", "0")))
			answer(t, string(input), "shares", "-")
			for i := range state.Workloads {
				if i < 2 {
					answer(t, string(input), "explain", "-", state.Workloads[i].ID, "-solves", "1")
				}
			}
			if len(state.Queues) > 0 {
				answer(t, string(input), "queue", "-", state.Queues[0].ID)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scenes < 100 {
		t.Errorf("only %d scenes", scenes)
	}
}

// tellsAll: the report has an end, and before it all that the plan does and why
// the rest waits.
func tellsAll(t *testing.T, plan *allot.Plan, page string) {
	t.Helper()
	if !strings.HasSuffix(page, "</html>\n") {
		t.Error("the report has no end")
	}
	want := func(text string) {
		t.Helper()
		if !strings.Contains(page, text) {
			t.Errorf("the report lacks %q", text)
		}
	}
	for i := range plan.Actions {
		a := &plan.Actions[i]
		want(workName(a.Queue, a.Workload) + "</b>")
		if a.Reason.Code != 0 && a.Kind != allot.Resize {
			want(upperFirst(a.Reason.String()))
		}
	}
	for i := range plan.Pending {
		p := &plan.Pending[i]
		want(workName(p.Queue, p.Workload) + "</b>")
		for _, r := range p.Reasons {
			want(upperFirst(r.String()))
		}
	}
	for _, f := range plan.Warnings {
		want(upperFirst(f.String()))
	}
}
