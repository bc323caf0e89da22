package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/examples/allot/internal/output"
	"github.com/allotsched/allot/examples/internal/golden"
)

// plainly runs the program without a terminal.
func plainly(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(context.Background(), &Session{Stdin: stdin, Stdout: stdout, Stderr: stderr, format: output.Text}, args)
}

// ask runs the program, which must succeed.
func ask(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := plainly(args, strings.NewReader(stdin), &stdout, &stderr); code != OK {
		t.Fatalf("%q: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// A list says when what waits would start where that is known and asked for, and sorts by it.
func TestListForecast(t *testing.T) {
	const times = "../../testdata/times.yaml"
	var rows []struct {
		Workload string
		Starts   time.Time
	}
	if err := json.Unmarshal([]byte(ask(t, "", "list", "-sort", "start", "-status", "waits", "-o", "json", times)), &rows); err != nil {
		t.Fatal(err)
	}
	var order []string
	for i, row := range rows {
		order = append(order, row.Workload)
		if row.Starts.IsZero() != (i == 3) {
			t.Errorf("%s starts at %s", row.Workload, row.Starts)
		}
	}
	if want := []string{"small", "long", "large", "vast"}; !slices.Equal(order, want) {
		t.Errorf("by start: %q, want %q", order, want)
	}
	for _, args := range [][]string{{"list", "-forecast", "0", times}, {"list", lab}} {
		if got := ask(t, "", args...); strings.Contains(got, "starts in") {
			t.Errorf("%q: %s", args, got)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Setenv(StateVariable, "")
	for _, test := range []struct {
		args []string
		want string
		code int
	}{
		{nil, "allot: takes a command; allot -h shows the usage\n", Usage},
		{[]string{"pla"}, "allot: there is no command \"pla\"; did you mean plan?; allot -h shows the usage\n", Usage},
		{[]string{"lsit"}, "allot: there is no command \"lsit\"; did you mean fit or list?; allot -h shows the usage\n", Usage},
		{[]string{"report", "-o", "json", lab}, "allot: the answer is a page, and -o has no other form of it; allot report -h shows the usage\n", Usage},
		{[]string{"topology", "-o", "yaml", lab}, "allot: the answer is a picture, or with -html a page, and -o ", Usage},
		{[]string{"schema", "-o", "yaml"}, "allot: the answer is a JSON Schema, and -o ", Usage},
		{[]string{"plan"}, "allot: which state? name its files with -f FILE, or in ALLOT_STATE; allot plan -h shows the usage\n", Usage},
		{[]string{"plan", "-", "-f", "-"}, "allot: standard input can be read once only; allot plan -h shows the usage\n", Usage},
		{[]string{"plan", "-colour"}, "allot: there is no flag -colour; allot plan -h shows the usage\n", Usage},
		{[]string{"whatif", "-qouta", "vision=12"}, "allot: there is no flag -qouta; did you mean -quota?; allot whatif -h shows the usage\n", Usage},
		{[]string{"whatif", "--qouta=vision=12"}, "allot: there is no flag -qouta; did you mean -quota?; allot whatif -h shows the usage\n", Usage},
		{[]string{"list", "-forcast", "3"}, "allot: there is no flag -forcast; did you mean -forecast?; ", Usage},
		{[]string{"list", "-ouput", "json"}, "allot: there is no flag -ouput; did you mean -output?; ", Usage},
		{[]string{"list", "-verbos"}, "allot: there is no flag -verbos; did you mean -verbose?; ", Usage},
		{[]string{"list", "-quota", "vision=12"}, "allot: list has no flag -quota, but whatif has; ", Usage},
		{[]string{"-verison"}, "allot: there is no flag -verison; did you mean -version?; allot -h shows the usage\n", Usage},
		{[]string{"plan", "-ojsno", lab}, "allot: invalid argument \"jsno\" for \"-o, --output\" flag", Usage},
		{[]string{"fit", "-gpus", "4", "-f", lab}, "allot: which queue? say -queue, or queue: in the job's file; there are vision, speech, serving, batch; allot fit -h shows the usage\n", Usage},
		{[]string{"plan", "-o", "xml", "-"}, "allot: invalid argument \"xml\" for \"-o, --output\" flag: must be one of text, wide, json, yaml; allot plan -h shows the usage\n", Usage},
		{[]string{"list", "-status", "waitz", lab}, "allot: -status must be one of evicted, ", Usage},
		{[]string{"list", "-reason", "no-quot", lab}, "allot: -reason must be one of impossible-node, ", Usage},
		{[]string{"list", "-forecast", "-1", lab}, "allot: -forecast must be 0 or more, is -1", Usage},
		{[]string{"serve"}, "allot: which state? name its file, or a folder of them, or name it in ALLOT_STATE; allot serve -h", Usage},
		{[]string{"serve", "-f", lab, lab}, "allot: takes one file, or a folder", Usage},
		{[]string{"serve", "-f", "-"}, "allot: takes a file or a folder, which it reads anew", Usage},
		{[]string{"serve", "-f", "testdata/none.yaml"}, "allot: ", Failed},
		{[]string{"why"}, "allot: which job? name it before the files, such as allot why JOB; allot why -h shows the usage\n", Usage},
		{[]string{"plan", "testdata/none.yaml"}, "allot: stat testdata/none.yaml: ", Failed},
	} {
		var stdout, stderr bytes.Buffer
		code := plainly(test.args, strings.NewReader(""), &stdout, &stderr)
		if code != test.code || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), test.want) {
			t.Errorf("%q: exit code %d, %q, %q, want %d and %q", test.args, code, &stdout, &stderr, test.code, test.want)
		}
	}
}

// Short flags may be together or with what they take, and what a flag takes may begin with a dash.
func TestShortFlags(t *testing.T) {
	want := ask(t, "", "list", "-v", "-f", lab)
	for _, args := range [][]string{{"list", "-vf", lab}, {"list", "-f" + lab, "-verbose"}, {"list", "-file=" + lab, "--verbose"}} {
		if got := ask(t, "", args...); got != want {
			t.Errorf("%q: %s", args, got)
		}
	}
	if got := ask(t, "", "list", "-match", "-queue", lab); !strings.HasPrefix(got, "nothing of 18 workloads") {
		t.Errorf("got %s", got)
	}
	if got := ask(t, "", "plan", "-oyaml", lab); !strings.HasPrefix(got, "version: ") {
		t.Errorf("got %.60s", got)
	}
}

// A program is told the faults of a state as data.
func TestFaultsAsData(t *testing.T) {
	for _, form := range []string{"json", "yaml"} {
		var stdout, stderr bytes.Buffer
		code := plainly([]string{"check", "-o", form, "../../testdata/faulty.yaml"}, strings.NewReader(""), &stdout, &stderr)
		if code != Failed || stderr.Len() > 0 || strings.Count(stdout.String(), "unknown-value") != 1 || strings.Count(stdout.String(), "line") != 3 {
			t.Errorf("%s: exit code %d, %q, %s", form, code, &stderr, &stdout)
		}
	}
	if got := ask(t, "", "schema", "-o", "json"); !strings.HasPrefix(got, "{") {
		t.Errorf("got %.20q", got)
	}
}

func TestGolden(t *testing.T) {
	golden.Run(t, plainly, []golden.Case{
		{File: "help.txt", Args: []string{"-h"}},
	})
}
