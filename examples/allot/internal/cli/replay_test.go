package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What replay is given is said on the command line and in files, and what is wrong with
// either is told before anything runs.
func TestReplay(t *testing.T) {
	trace := filepath.Join("..", "..", "testdata", "two-teams.jsonl")
	policy := filepath.Join(t.TempDir(), "ours.yaml")
	if err := os.WriteFile(policy, []byte("preset: runai\nname: ours\nsearchBudget: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "", "replay", "-policies", "fifo", "-policy-file", policy, "-f", trace); !strings.Contains(got, "  ours ") {
		t.Errorf("got %s", got)
	}
	for _, format := range []string{"json", "yaml"} {
		if got := ask(t, "", "replay", "-policies", "fifo", "-o", format, trace); !strings.Contains(got, "wait_mean_s") {
			t.Errorf("%s: %s", format, got)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-policies", "best", trace}, Usage, `allot: -policies: "best" is none of fifo, `},
		{[]string{"-policy-file", "none.yaml", trace}, Failed, "allot: stat none.yaml: "},
		{[]string{"-policy-file", trace, trace}, Failed, "allot: "},
		{[]string{lab}, Failed, "allot: ../../testdata/lab.yaml: its first line is that of none of the formats; -format says which it is\n"},
		{[]string{"-format", "openb", trace}, Failed, "allot: ../../testdata/two-teams.jsonl: a trace of format openb needs -node-list\n"},
		{[]string{"-page", "none/page.html", "-policies", "fifo", trace}, Failed, "allot: open none/page.html: "},
		{[]string{"-loads", "0"}, Usage, "allot: -loads must be "},
	} {
		var stdout, stderr bytes.Buffer
		if code := plainly(append([]string{"replay"}, c.args...), nil, &stdout, &stderr); code != c.code || !strings.HasPrefix(stderr.String(), c.want) {
			t.Errorf("%q: code %d, %s", c.args, code, &stderr)
		}
	}
}

// The help says what columns replay wants of sacct: a file of just these is run, and the README
// says no others.
func TestReplaySacct(t *testing.T) {
	_, columns, _ := strings.Cut(ask(t, "", "replay", "-h"), "sacct -aPX -o ")
	columns, _, _ = strings.Cut(columns, " ")
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "replay", "README.md"))
	if err != nil || !strings.Contains(string(readme), "sacct -aPX -o "+columns+" > jobs.txt") {
		t.Errorf("the README has other columns than %s, %v", columns, err)
	}
	values := strings.NewReplacer(
		"JobID", "1", "Account", "vision", "State", "COMPLETED", "Submit", "2026-03-01T08:00:00", "End", "2026-03-01T09:00:10",
		"ElapsedRaw", "3600", "TimelimitRaw", "120", "NNodes", "1", "ReqTRES", "gres/gpu=4", "AllocTRES", "gres/gpu=4", ",", "|",
	)
	jobs := filepath.Join(t.TempDir(), "jobs.txt")
	text := strings.ReplaceAll(columns, ",", "|") + "\n" + values.Replace(columns) + "\n"
	if err := os.WriteFile(jobs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, "", "replay", "-format", "slurm", "-nodes", "1", "-policies", "fifo", "-o", "json", jobs); !strings.Contains(got, `"mean": 3600.000000`) {
		t.Errorf("of %s came %s", text, got)
	}
}
