package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/allotsched/allot/examples/allot/internal/output"
)

var lab = filepath.Join("..", "..", "testdata", "lab.yaml")

// endedAfter runs the program and ends it, as Ctrl-C does, after a time.
func endedAfter(d time.Duration, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	time.AfterFunc(d, cancel)
	if d == 0 {
		cancel()
	}
	var out, told bytes.Buffer
	s := &Session{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &told, format: output.Text, Progress: true}
	code = run(ctx, s, args)
	return code, out.String(), told.String()
}

// A firstWrite calls a function at the first thing that is written to it.
type firstWrite struct {
	bytes.Buffer
	once sync.Once
	call func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	defer w.once.Do(w.call)
	return w.Buffer.Write(p)
}

// endedWhenTold runs the program and ends it when it says how far it is.
func endedWhenTold(args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out bytes.Buffer
	told := &firstWrite{call: cancel}
	s := &Session{Stdin: strings.NewReader(""), Stdout: &out, Stderr: told, format: output.Text, Progress: true}
	code = run(ctx, s, args)
	return code, out.String(), told.String()
}

// endedAtAnswer runs the program and ends it when it begins to answer.
func endedAtAnswer(args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told bytes.Buffer
	out := &firstWrite{call: cancel}
	s := &Session{Stdin: strings.NewReader(""), Stdout: out, Stderr: &told, format: output.Text}
	code = run(ctx, s, args)
	return code, out.String(), told.String()
}

// Ctrl-C ends long work with its own code, and what was found is printed.
func TestInterrupted(t *testing.T) {
	if code, out, _ := endedAfter(0, "helps", "segment", "-f", lab); code != Interrupted || out != "" {
		t.Errorf("at once: code %d, %q", code, out)
	}
	code, out, told := endedWhenTold("minimise", "segment", "-f", lab)
	if code != Interrupted || !strings.Contains(out, "# It was ended: something may be left to take away.\n") || !strings.Contains(told, "Ctrl-C prints what is left") {
		t.Errorf("after a while: code %d, %q, %q", code, out, told)
	}
	page := filepath.Join(t.TempDir(), "runs.html")
	code, out, told = endedAfter(100*time.Millisecond, "replay", "-jobs", "200000", "-page", page)
	if code != Interrupted || !strings.HasPrefix(out, "200000 jobs like those of philly on 16 nodes: 0 of 4 runs are complete\n") || !strings.Contains(out, "runai (partial)") || !fileExists(page) {
		t.Errorf("replay: code %d, %q, %q", code, out, told)
	}
	if code, out, _ := endedAtAnswer("list", "-watch", "10s", "-f", lab); code != OK || !strings.HasPrefix(out, "1 is evicted") {
		t.Errorf("watching: code %d, %q", code, out)
	}
}

// The shell completes the names of jobs, and what there is to choose.
func TestCompletion(t *testing.T) {
	if got := ask(t, "", "__complete", "why", "-f", lab, "seg"); !strings.HasPrefix(got, "segment\n") {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct{ begun, want string }{{"--sort", "status\nqueue\n"}, {"--status", "evicted\n"}, {"--reason", "impossible-node\n"}, {"--output", "text\nwide\n"}, {"--queue", "research\n"}} {
		if got := ask(t, "", "__complete", "list", "-f", lab, c.begun, ""); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q", c.begun, got)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"list -st", "-status\t"},
		{"list --st", "--status\t"},
		{"why vision/se", "vision/segment\n:4\n"},
		{"helps se", "segment\n:4\n"},
		{"minimise giant x", ":0\n"},
		{"minimise -reason ", "impossible-node\n"},
		{"shares -queue vi", "vision\n:4\n"},
		{"fit -gpus 4 -queue vi", "vision\n:4\n"},
		{"fit job.yaml -queue vi", "vision\n:4\n"},
		{"whatif -quota vi", "vision=\n:6\n"},
		{"whatif -limit vi", "vision=\n:6\n"},
		{"whatif -add 2xh1", "2xh1\n2xh10\n"},
		{"whatif -add 3", "3xh1\n"},
		{"whatif -add ", "1xh1\n"},
		{"whatif -add x", ":4\n"},
		{"whatif -cordon h3,h10", "h3,h10\n:4\n"},
		{"whatif -uncordon ", "a8\n:4\n"},
		{"whatif -lose a", "a1\n"},
		{"whatif -end asr,seg", "asr,segment\n:4\n"},
		{"whatif -priority seg", "segment=\n:6\n"},
		{"whatif -class segment=b", "segment=build\n:4\n"},
		{"whatif -to segment=sp", "segment=speech\n:4\n"},
		{"whatif -submit x", ":0\n"},
	} {
		words := strings.Split(c.line, " ")
		args := append([]string{"__complete", words[0], "-f", lab}, words[1:]...)
		if got := ask(t, "", args...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.line, got, c.want)
		}
	}
	if got := ask(t, "", "__complete", "whatif", lab, "-quota", "vi"); !strings.HasPrefix(got, "vision=\n") {
		t.Errorf("with the state as an argument: got %q", got)
	}
	if got := ask(t, "", "completion", "bash"); !strings.Contains(got, "__allot") {
		t.Errorf("got %.80q", got)
	}
}

// The data of answers is the same as JSON and as YAML, and -version says what it is.
func TestForms(t *testing.T) {
	for _, command := range []string{"plan", "list", "order", "forecast", "shares", "check", "why segment", "whatif -end asr", "fit -gpus 1 -queue batch", "helps diarize"} {
		fields := append(strings.Fields(command), "-f", lab, "-o")
		asJSON, asYAML := ask(t, "", append(fields, "json")...), ask(t, "", append(fields, "yaml")...)
		if len(asJSON) < 3 || asJSON[0] != '{' && asJSON[0] != '[' || strings.HasPrefix(asYAML, "{") || len(asYAML) < 3 {
			t.Errorf("%s: %.60q and %.60q", command, asJSON, asYAML)
		}
		wide, verbose := ask(t, "", append(fields, "wide")...), ask(t, "", append(fields[:len(fields)-1], "-v")...)
		if wide == "" || verbose == "" {
			t.Errorf("%s says nothing", command)
		}
	}
	if code, _, told := endedAtAnswer("forecast", "-most", "0", "-f", lab); code != Usage || !strings.Contains(told, "-most must be 1 or more, is 0") {
		t.Errorf("code %d, %q", code, told)
	}
	if got := ask(t, "", "-version"); !strings.HasPrefix(got, "allot ") {
		t.Errorf("got %q", got)
	}
}

// A state that is decided upon is what is verified: a plan of another one is refused.
func TestVerifyRefuses(t *testing.T) {
	plan := ask(t, "", "plan", "-o", "json", lab)
	var out, told bytes.Buffer
	s := &Session{Stdin: strings.NewReader(strings.ReplaceAll(plan, "diarize", "giant")), Stdout: &out, Stderr: &told, format: output.Text}
	if code := run(context.Background(), s, []string{"verify", "-", "-f", lab}); code != Failed || !strings.HasPrefix(out.String(), "the plan is not lawful: ") {
		t.Errorf("code %d, %q, %q", code, &out, &told)
	}
}
