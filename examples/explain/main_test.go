package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/explain"
	"github.com/allotsched/allot/internal/prose"
)

const research = "testdata/research.json"

// plainly runs the program without colours.
func plainly(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(args, stdin, stdout, stderr, false)
}

// answer runs the program, which must succeed.
func answer(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := plainly(args, strings.NewReader(stdin), &stdout, &stderr); code != program.OK {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

func TestGolden(t *testing.T) {
	golden.Run(t, plainly, []golden.Case{
		{File: "help.txt", Args: []string{"-h"}},
		{File: "shares.txt", Args: []string{"shares", research}},
		{File: "shares.json", Args: []string{"shares", "-json", research}},
		{File: "shares.help.txt", Args: []string{"shares", "-h"}},
		{File: "explain.waits.txt", Args: []string{"explain", research, "serve-vision"}},
		{File: "explain.leaves.txt", Args: []string{"explain", research, "vision/sweep-2"}},
		{File: "explain.starts.txt", Args: []string{"explain", research, "pretrain-13b"}},
		{File: "explain.help.txt", Args: []string{"explain", "-h"}},
		{File: "queue.txt", Args: []string{"queue", research, "language/pretrain"}},
		{File: "queue.ask.txt", Args: []string{"queue", research, "robotics", "-ask", "1"}},
		{File: "queue.help.txt", Args: []string{"queue", "-h"}},
		{File: "whatif.txt", Args: []string{"whatif", research, "testdata/change.json"}},
		{File: "whatif.help.txt", Args: []string{"whatif", "-h"}},
		{File: "minimise.txt", Args: []string{"minimise", research, "teleop"}},
		{File: "minimise.loses.txt", Args: []string{"minimise", research, "sweep-2", "-solves", "30"}},
		{File: "minimise.json", Args: []string{"minimise", research, "sweep-1", "over-line", "-json"}},
		{File: "minimise.help.txt", Args: []string{"minimise", "-h"}},
		{File: "fit.txt", Args: []string{"fit", research, "testdata/eval.json"}},
		{File: "fit.help.txt", Args: []string{"fit", "-h"}},
		{File: "research.html", Args: []string{"report", research}},
		{File: "report.help.txt", Args: []string{"report", "-h"}},
		{File: "bad.txt", Args: []string{"shares", "testdata/bad.json"}, Code: program.Failed},
	})
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		args        []string
		stdin, want string
		code        int
	}{
		{nil, "", "explain: takes a command; explain -h lists the commands\n", program.Usage},
		{[]string{"guess"}, "", "explain: there is no command \"guess\"; explain -h lists the commands\n", program.Usage},
		{[]string{"shares"}, "", "explain shares: takes STATE, got 0 arguments; explain shares -h shows the usage\n", program.Usage},
		{[]string{"shares", "a", "b"}, "", "explain shares: takes STATE, got 2 arguments; explain shares -h shows the usage\n", program.Usage},
		{[]string{"shares", "a", "-yaml"}, "", "explain shares: flag provided but not defined: -yaml; explain shares -h shows the usage\n", program.Usage},
		{[]string{"report", "-json", "a"}, "", "explain report: flag provided but not defined: -json; explain report -h shows the usage\n", program.Usage},
		{[]string{"explain", research}, "", "explain explain: takes STATE WORKLOAD, got 1 argument; explain explain -h shows the usage\n", program.Usage},
		{[]string{"explain", research, "sweep-"}, "", "explain: " + research + ": there is no workload \"sweep-\"; there is vision/sweep-1, vision/sweep-2\n", program.Failed},
		{[]string{"queue", research, "sound"}, "", "explain: " + research + ": there is no queue \"sound\"; there is language, language/chat, language/pretrain, robotics, vision\n", program.Failed},
		{[]string{"queue", research, "language", "-ask", "2"}, "", "explain: " + research + ": ", program.Failed},
		{[]string{"queue", research, "vision", "-ask", "-2"}, "", "explain queue: ", program.Usage},
		{[]string{"minimise", research, "teleop", "never"}, "", "explain: there is no reason \"never\"", program.Failed},
		{[]string{"minimise", research, "teleop", "outranked"}, "", "explain: " + research + ": the workload teleop does not wait for the reason outranked\n", program.Failed},
		{[]string{"minimise", research, "grasp"}, "", "explain: workload grasp neither waits nor loses anything", program.Failed},
		{[]string{"whatif", research, "-"}, `{"version": 1, "quota": 3}`, "explain: -: quota: must not be there: no such field, is 3 (json-unknown-field)\n", program.Failed},
		{[]string{"whatif", research, "-"}, `{"version": 1, "remove": {"workloads": ["none"]}}`, "explain: -: remove.workloads[0]: must be there, is \"none\" (unknown-workload)\n", program.Failed},
		{[]string{"whatif", research, "testdata/absent.json"}, "", "explain: open testdata/absent.json: ", program.Failed},
		{[]string{"fit", research, "-"}, `{"id": "a", "queue": "vision", "podSets": [{"count": 0}]}`, "explain: -: podSets[0].count: must be > 0, is 0 (out-of-range)\n", program.Failed},
		{[]string{"fit", research, "-"}, `{"id": "a"}, {"id": "b"}`, "explain: -: must be one workload, as a JSON object\n", program.Failed},
		{[]string{"fit", "-", "-"}, `{"version": 1}`, "explain fit: standard input can be read once only", program.Usage},
		{[]string{"shares", "testdata/absent.json"}, "", "explain: open testdata/absent.json: ", program.Failed},
		{[]string{"shares", "-"}, "{", "explain: -: $: ", program.Failed},
		{[]string{"report", "-"}, "{}", "explain: -: version: ", program.Failed},
	} {
		var stdout, stderr bytes.Buffer
		code := plainly(test.args, strings.NewReader(test.stdin), &stdout, &stderr)
		if code != test.code || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), test.want) {
			t.Errorf("%q: exit code %d, %q, %q, want %d and %q", test.args, code, &stdout, &stderr, test.code, test.want)
		}
	}
}

// The JSON is the library's own answer.
func TestJSON(t *testing.T) {
	state := readResearch(t)
	work := allot.Workload{ID: "more", Queue: "robotics", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}}
	asked, err := json.Marshal(work)
	if err != nil {
		t.Fatal(err)
	}
	var explained struct {
		Explanation, Help json.RawMessage
	}
	var fitted struct {
		Now, WithRoom, Ever, Plan json.RawMessage
		Copies                    int
	}
	decode := func(text string, to any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	decode(answer(t, "", "explain", research, "teleop", "-json"), &explained)
	decode(answer(t, string(asked), "fit", research, "-", "-json"), &fitted)
	snapshot, err := allot.NewSnapshot(state)
	if err != nil {
		t.Fatal(err)
	}
	fitter := explain.NewFitter(snapshot)
	check := func(name string, got json.RawMessage, want any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var a, b bytes.Buffer
		if err := errors.Join(json.Compact(&a, got), json.Compact(&b, text)); err != nil || a.String() != b.String() {
			t.Errorf("%s: %v\n%s\nis not the library's\n%s", name, err, &a, &b)
		}
	}
	decision, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	explanation, err := explain.Workload(t.Context(), decision, "teleop")
	check("explanation", explained.Explanation, explanation, err)
	help, err := explain.WhatHelps(t.Context(), decision, "teleop", explain.HelpSearch{})
	check("help", explained.Help, help, err)
	queue, err := explain.Queue(t.Context(), decision, "vision")
	check("queue", json.RawMessage(answer(t, "", "queue", research, "vision", "-json")), queue, err)
	reclaim, err := explain.Reclaim(t.Context(), decision, work)
	check("plan", fitted.Plan, reclaim, err)
	now, err := fitter.Now(t.Context(), work)
	check("now", fitted.Now, now, err)
	room, err := fitter.WithRoom(t.Context(), work)
	check("with room", fitted.WithRoom, room, err)
	ever, err := fitter.Ever(t.Context(), work)
	check("ever", fitted.Ever, ever, err)
	if copies, err := fitter.Copies(t.Context(), work, mostCopies); err != nil || copies != fitted.Copies {
		t.Errorf("%d copies and not %d, %v", fitted.Copies, copies, err)
	}
	consequences, err := explain.WhatIf(t.Context(), snapshot, allot.Change{Remove: allot.Removal{Workloads: []string{"sweep-1"}}})
	check("what if", json.RawMessage(answer(t, `{"version": 1, "remove": {"workloads": ["sweep-1"]}}`, "whatif", research, "-", "-json")), consequences, err)
}

func readResearch(t *testing.T) *allot.State {
	t.Helper()
	text, err := os.ReadFile(research)
	if err != nil {
		t.Fatal(err)
	}
	var state allot.State
	if err := state.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return &state
}

// Flags may stand after the arguments.
func TestFlagsAnywhere(t *testing.T) {
	if answer(t, "", "shares", "-json", research) != answer(t, "", "shares", research, "-json") {
		t.Error("the place of a flag matters")
	}
}

// A state with nothing in it has answers as well.
func TestEmptyState(t *testing.T) {
	const empty = `{"version": 1}`
	if got := answer(t, empty, "shares", "-"); got != "There are no nodes, so there is nothing to share.\n" {
		t.Error(got)
	}
	if got := answer(t, empty, "shares", "-", "-json"); !strings.HasPrefix(got, "[\n") {
		t.Error(got)
	}
	if got := answer(t, empty, "report", "-"); !strings.Contains(got, "<h1>0 workloads running, and nothing waits</h1>") {
		t.Error(got)
	}
}

// Colours are only added to the text: without them it is the same.
func TestColours(t *testing.T) {
	var coloured, stderr bytes.Buffer
	if code := run([]string{"shares", research}, nil, &coloured, &stderr, true); code != program.OK {
		t.Fatal(stderr.String())
	}
	text := coloured.String()
	if !strings.Contains(text, "\x1b[") {
		t.Error("there are no colours")
	}
	for _, code := range []style{"0", bold, faint, red, green, yellow, blue} {
		text = strings.ReplaceAll(text, "\x1b["+string(code)+"m", "")
	}
	golden.Check(t, "shares.txt", text)
}

// NO_COLOR is a no, and so are a terminal that cannot and what is no terminal.
func TestWantsColour(t *testing.T) {
	if wantsColour(nil) {
		t.Error("a file that is not there has colours")
	}
	file, err := os.Open(research)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if wantsColour(file) {
		t.Error("a file has colours")
	}
	device, err := os.Open(os.DevNull) // a device of letters, as terminals are
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	for _, test := range []struct {
		no, term string
		want     bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", test.no)
		t.Setenv("TERM", test.term)
		if got := wantsColour(device); got != test.want {
			t.Errorf("NO_COLOR=%q TERM=%q: %t", test.no, test.term, got)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("the pipe is closed") }

// What cannot be printed is no success.
func TestBrokenOutput(t *testing.T) {
	var stderr bytes.Buffer
	if code := plainly([]string{"shares", research}, nil, brokenWriter{}, &stderr); code != program.Failed || stderr.String() != "explain: the pipe is closed\n" {
		t.Errorf("exit code %d, %q", code, &stderr)
	}
}

// Prose keeps its words and its width, whatever comes.
func TestProse(t *testing.T) {
	var p page
	text := strings.Repeat("words and more ", 40) + strings.Repeat("x", 200)
	p.prose("  - ", "    ", plain, text)
	lines := strings.Split(strings.TrimSuffix(p.text.String(), "\n"), "\n")
	if got := strings.Join(strings.Fields(strings.TrimPrefix(p.text.String(), "  - ")), " "); got != strings.Join(strings.Fields(text), " ") {
		t.Errorf("the words are others: %s", got)
	}
	for i, line := range lines {
		if len(line) > lineWidth && len(strings.Fields(line)) > 1 || i > 0 && !strings.HasPrefix(line, "    ") {
			t.Errorf("line %d: %q", i, line)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{amount(allot.GPU, 1000), "1 GPU"}, {amount(allot.GPU, 500), "0.5 GPU"}, {amount(allot.GPU, 0), "0 GPUs"},
		{amount(allot.GPU, 2250), "2.25 GPUs"}, {amount(allot.Memory, 24<<30), "24 GiB"}, {amount(allot.Memory, 1536), "1.5 KiB"},
		{amount("licence", 3), "3 licence"}, {prose.Thousandths(-1500), "-1.5"}, {prose.Thousandths(-500), "-0.5"}, {percent(1, 3), "33%"},
		{fmt.Sprint(ratio(1<<52, 1<<53, 10_000)), "5000"}, {ranges([]int{0, 1, 2, 4, 6, 7}), "0–2, 4, 6–7"},
		{letter(0) + letter(25) + letter(26), "az27"},
	} {
		if test.got != test.want {
			t.Errorf("%s, want %s", test.got, test.want)
		}
	}
}

func TestCompareNames(t *testing.T) {
	sorted := []string{"", "a", "a1", "a01", "a2", "a10", "a10b", "b", "h1-9", "h1-10", "h02"}
	for i := range sorted {
		for j := range sorted {
			if got := compareNames(sorted[i], sorted[j]); got < 0 != (i < j) && sorted[i] != "a01" && sorted[j] != "a01" || got == 0 != (i == j) {
				t.Errorf("%q and %q: %d", sorted[i], sorted[j], got)
			}
		}
	}
}
