package play

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func ask(t testing.TB, d *Desk, q Question) Answer {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var a Answer
	if err := json.Unmarshal([]byte(d.Ask(string(text))), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// Every view has an answer to the example that the playground begins with.
func TestBegin(t *testing.T) {
	text, err := os.ReadFile("../../playground/begin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := &Desk{}
	for _, test := range []struct {
		q    Question
		want string
	}{
		{Question{View: "plan"}, "language/pretrain"},
		{Question{View: "why", Workload: "robotics/teleop"}, "robotics/teleop"},
		{Question{View: "why"}, "language/pretrain"},
		{Question{View: "shares"}, "robotics"},
		{Question{View: "shares", Queue: "vision"}, "vision"},
		{Question{View: "report"}, "What waits, and why"},
		{Question{View: "topology"}, "The cluster and the plan"},
		{Question{View: "what if", Edits: "uncordon a2"}, "a2"},
	} {
		test.q.Text = string(text)
		a := ask(t, d, test.q)
		if a.Problem != "" || !strings.Contains(a.Text+a.HTML, test.want) {
			t.Errorf("%s: %s, without %q:\n%.1500s", test.q.View, a.Problem, test.want, a.Text+a.HTML)
		}
		if len(a.Workloads) != 4 || len(a.Queues) != 3 {
			t.Errorf("%s: %q %q", test.q.View, a.Workloads, a.Queues)
		}
	}
	for _, test := range []struct{ q, want Question }{
		{Question{Text: "nodes n0 gpus=8\n", View: "plan"}, Question{Text: "line:1"}},
		{Question{Text: "nodes: {", View: "plan"}, Question{Text: "must be YAML"}},
		{Question{Text: string(text), View: "scenario"}, Question{Text: "for scenarios"}},
		{Question{Text: string(text), View: "why", Workload: "tele"}, Question{Text: "there is no workload"}},
		{Question{Text: string(text), View: "what if"}, Question{Text: "say what"}},
		{Question{Text: "nodes n1..n3000 gpu=8\n", View: "plan"}, Question{Text: "room for 2000 nodes"}},
		{Question{Text: strings.Repeat(" ", MaxText+1), View: "plan"}, Question{Text: "may have"}},
		{Question{View: "guess"}, Question{Text: "there is no view"}},
	} {
		if a := ask(t, d, test.q); !strings.Contains(a.Problem, test.want.Text) {
			t.Errorf("%.40q %s: %q, want %q", test.q.Text, test.q.View, a.Problem, test.want.Text)
		}
	}
}

// Every example of the rules can be opened in every view, and prints what it should.
func TestRules(t *testing.T) {
	paths, err := filepath.Glob("../../../../testdata/rules/*.txt")
	if err != nil || len(paths) < 100 {
		t.Fatal(len(paths), err)
	}
	d := &Desk{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if a := ask(t, d, Question{Text: string(text), View: "scenario"}); a.Problem != "" || !strings.HasPrefix(a.Text, "# It prints what it should.") {
			t.Errorf("%s: %s\n%.500s", path, a.Problem, a.Text)
		}
		if a := ask(t, d, Question{Text: string(text), View: "plan"}); a.Problem != "" && !strings.Contains(a.Problem, "line") {
			t.Errorf("%s: %s", path, a.Problem)
		}
	}
}

// FuzzAsk: whatever is asked, there is an answer that is JSON, and no bug.
func FuzzAsk(f *testing.F) {
	f.Add("nodes n0 gpu=4\nqueue q quota=2\nsubmit q/a gpu=8\nsolve\n", "why", "a", "add 3xn0")
	f.Add("nodes n0..n99 gpu=64\nsubmit a gpu=0.001 tasks=20000\n", "plan", "", "")
	f.Add("policy: runai\nnodes: &a [{id: x, devices: 4}]\nqueues: *a\n", "report", "", "")
	f.Add("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n", "shares", "", "")
	f.Add("nodes n0 gpu=1000000000\n", "topology", "", "")
	f.Add("{\"version\":1}", "what if", "", "cordon n0")
	f.Fuzz(func(t *testing.T, text, view, whom, edits string) {
		d := &Desk{}
		var a Answer
		q, err := json.Marshal(Question{Text: text, View: view, Workload: whom, Queue: whom, Edits: edits})
		if err != nil {
			return
		}
		if err := json.Unmarshal([]byte(d.Ask(string(q))), &a); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(a.Problem, "bug of Allot") {
			t.Error(a.Problem)
		}
	})
}
