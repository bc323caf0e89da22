package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/sim"
)

// still is a clock that stands.
func still() time.Time { return time.Time{} }

// runStill is the program of this package's tests: the flags, then the traces.
func runStill(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return runUntil(context.Background(), args, stdout, stderr)
}

func runUntil(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return program.Run("replay", stderr, func() (*Options, error) { return parse(args) }, func(o *Options) error {
		s, err := NewSweep(o)
		if err != nil {
			return err
		}
		m := NewMeter(stderr, false, still, s.Runs())
		s.CarryOut(ctx, m)
		m.End()
		s.print(stdout)
		return errors.Join(s.Failed(), s.WriteFiles())
	})
}

func parse(args []string) (*Options, error) {
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o := NewOptions(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return o, o.Check(flags.Args())
}

// print writes all that is told of the runs.
func (s *Sweep) print(w io.Writer) {
	fmt.Fprintln(w, s.Answer())
	for _, t := range s.Tables(false) {
		fmt.Fprintln(w, "\n"+t.Title)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range t.Rows {
			fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
		}
		table.Flush()
	}
	for _, note := range s.Notes() {
		fmt.Fprintln(w, note)
	}
}

func TestReplay(t *testing.T) {
	small := []string{"-jobs", "300", "-nodes", "3"}
	golden.Run(t, runStill, []golden.Case{
		{File: "table.txt", Args: append([]string{"-loads", "100,300", "-seeds", "1-2"}, small...), Code: program.OK},
		{File: "all.txt", Args: append([]string{"-loads", "300", "-policies", "all"}, small...), Code: program.OK},
		{File: "faults.txt", Args: append([]string{"-loads", "300", "-faults", "-costs"}, small...), Code: program.OK},
		{File: "queues.txt", Args: append([]string{"-loads", "300", "-by-queue"}, small...), Code: program.OK},
		{File: "fast.txt", Args: append([]string{"-loads", "300", "-fast"}, small...), Code: program.OK},
		{File: "native.txt", Args: []string{"-policies", "osmo,static-partition", "testdata/two-teams.jsonl"}, Code: program.OK},
		{File: "promises.txt", Args: []string{"-mix", "gangs", "-jobs", "200", "-nodes", "9", "-tenants", "0", "-policies", "first-fit,easy", "-estimates", "user", "-fast"}, Code: program.OK},
		{File: "no-estimates.txt", Args: []string{"-estimates", "wild"}, Code: program.Usage},
		{File: "no-policy.txt", Args: []string{"-policies", "best"}, Code: program.Usage},
		{File: "no-format.txt", Args: []string{"-format", "xml"}, Code: program.Usage},
		{File: "no-sample.txt", Args: []string{"-sample", "1ns"}, Code: program.Usage},
		{File: "no-verify.txt", Args: []string{"-verify", "-1"}, Code: program.Usage},
		{File: "no-load.txt", Args: []string{"-loads", "0"}, Code: program.Usage},
		{File: "no-file.txt", Args: []string{"testdata/nothing"}, Code: program.Failed},
	})
}

// TestFiles: each run has its files, and they are what they should be.
func TestFiles(t *testing.T) {
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	args := []string{"-jobs", "60", "-nodes", "2", "-loads", "300", "-faults", "-costs", "-policies", "runai,srtf", "-out", folder}
	if code := runStill(args, nil, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for _, run := range []string{"runai-300-1", "srtf-300-1"} {
		read := func(name string) []byte {
			text, err := os.ReadFile(filepath.Join(folder, run, name))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		var summary struct{ Seed, Decisions int }
		if err := json.Unmarshal(read("summary.json"), &summary); err != nil || summary.Decisions == 0 {
			t.Errorf("%s: summary %+v, %v", run, summary, err)
		}
		for name, lines := range map[string]int{"jobs.csv": 61, "series.csv": 10} {
			if rows, err := csv.NewReader(bytes.NewReader(read(name))).ReadAll(); err != nil || len(rows) < lines {
				t.Errorf("%s: %s has %d lines, %v", run, name, len(rows), err)
			}
		}
		for line := range strings.Lines(string(read("events.jsonl"))) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%s: events.jsonl has the line %s", run, line)
			}
		}
		var picture struct {
			TraceEvents []struct {
				Name, Ph string
				Pid, Tid int
				TS, Dur  float64
			}
		}
		if err := json.Unmarshal(read("trace.json"), &picture); err != nil || len(picture.TraceEvents) < 60 {
			t.Errorf("%s: trace.json has %d events, %v", run, len(picture.TraceEvents), err)
		}
		held := make(map[[2]int]float64) // for how long, by GPU
		for _, e := range picture.TraceEvents {
			if at := [2]int{e.Pid, e.Tid}; e.Ph == "X" {
				held[at] += e.Dur
			}
		}
		if len(held) != 16 {
			t.Errorf("%s: slices on %d GPUs, not 16", run, len(held))
		}
	}
}

// TestSweep: what comes of all runs is written, and a sweep that is resumed is the same to
// the byte, though its runs are not carried out again.
func TestSweep(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-jobs", "60", "-nodes", "2", "-loads", "300", "-seeds", "1-3", "-policies", "fifo,runai", "-out", folder}
	sweep := func(args []string) (string, map[string]string) {
		var stdout, stderr bytes.Buffer
		if code := runStill(args, nil, &stdout, &stderr); code != program.OK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		files := make(map[string]string)
		for _, name := range []string{"sweep.json", "runs.csv", "means.csv"} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
		return stdout.String(), files
	}
	text, files := sweep(args)
	if strings.Count(files["runs.csv"], "\n") != 7 || !strings.Contains(files["means.csv"], ",300,runai,fifo,wait_mean_s,3,") || !strings.Contains(text, "seed by seed") {
		t.Fatalf("%s%v", text, files)
	}
	marked := filepath.Join(folder, "fifo-300-2", "jobs.csv") // written by a run alone
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	isMarked := func() bool {
		text, err := os.ReadFile(marked)
		return err == nil && string(text) == "marked"
	}
	write(marked, "marked")
	missing := filepath.Join(folder, "runai-300-1", "jobs.csv")
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(folder, "runai-300-2", "picture.json")
	write(torn, "{}")
	if err := os.Remove(filepath.Join(folder, "runai-300-3", "key")); err != nil {
		t.Fatal(err)
	}
	again, same := sweep(append(args, "-resume"))
	if again != text || same["sweep.json"] != files["sweep.json"] || same["means.csv"] != files["means.csv"] {
		t.Errorf("resumed it is another one: %s", again)
	}
	if !isMarked() {
		t.Error("a run was carried out again")
	}
	if _, err := os.Stat(missing); err != nil {
		t.Error("a run without one of its files was not carried out again")
	}
	if info, err := os.Stat(torn); err != nil || info.Size() < 10 {
		t.Error("a run without its picture was not carried out again")
	}
	if _, err := os.Stat(filepath.Join(folder, "runai-300-3", "key")); err != nil {
		t.Error("a run that was not complete was not carried out again")
	}
	sweep(append(args, "-resume", "-costs"))
	if isMarked() {
		t.Error("with other flags a run was not carried out again")
	}
}

// TestLeftOutIsListed: what of a trace was not run stands in a file of each run, each by its line
// and job, and is counted wherever the run is told; a refusal lists all of it where it is asked for.
func TestLeftOutIsListed(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "log.csv")
	text := "job_id,submission_time,duration,num_gpu\ngood,0,100,1\n"
	for i := range 30 {
		text += fmt.Sprintf("\"bad,%d\",%d,\"\"\"soon\"\", or late\",1\n", i, i)
	}
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := runStill([]string{"-policies", "fifo", "-leave-out", "-out", folder, log}, nil, &stdout, &stderr); code != program.OK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	read := func(name string) [][]string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := read("fifo-100-1/left-out.csv")
	if want := []string{"32", "bad,29", "29", "duration", `duration is "\"soon\", or late": must be a number of digits and a point`}; len(rows) != 31 || !slices.Equal(rows[30], want) {
		t.Errorf("%d lines, the last is %q", len(rows), rows[len(rows)-1])
	}
	runs := read("runs.csv")
	if at := slices.Index(runs[0], "left_out"); at < 0 || runs[1][at] != "30" {
		t.Errorf("runs.csv has %q", runs)
	}
	for all, lines := range map[bool]int{false: 20, true: 30} {
		o, err := parse([]string{"-policies", "fifo", log})
		if err != nil {
			t.Fatal(err)
		}
		o.ListAll = all
		if _, err := NewSweep(o); err == nil || strings.Count(err.Error(), ", job ") != lines || strings.Contains(err.Error(), "and 10 more") == all {
			t.Errorf("all of it: %v, %v", all, err)
		}
	}
}

// TestRowsOfAllKindsLeftOut: a change, a node, a queue and a row of the small file of tenants that cannot be read
// stop nothing with -leave-out, and are counted where the runs are told; without it nothing is run.
func TestRowsOfAllKindsLeftOut(t *testing.T) {
	folder := t.TempDir()
	native, queues := filepath.Join(folder, "a.jsonl"), filepath.Join(folder, "queues.csv")
	for name, text := range map[string]string{
		native: `{"trace":{"version":1}}
{"node":{"id":"n","devices":[{},{}]}}
{"node":{"id":7}}
{"queue":{"id":"q"}}
{"queue":{"id":"r","resources":7}}
{"change":{"at":"soon","kind":"node-lost","node":"n"}}
{"change":{"at":1,"kind":"explode","node":"n"}}
{"job":{"submit":0,"duration":1000000000,"workload":{"id":"a","queue":"q","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
`,
		queues: "tenant,quota\nq,1\nr,many\n",
	} { // each on its own: order cannot matter
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{native}, "2 change, 1 node, 1 queue"}, {[]string{"-queue-list", queues, native}, "2 change, 1 node, 1 queue, 1 tenant"}} {
		args := append([]string{"-policies", "fifo,runai"}, c.args...)
		var stdout, stderr bytes.Buffer
		if code := runStill(args, nil, &stdout, &stderr); code != program.Failed || !strings.Contains(stderr.String(), `line 7: sim: no such change: "explode"`) || stdout.Len() > 0 {
			t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
		}
		stderr.Reset()
		if code := runStill(append([]string{"-leave-out", "-out", folder}, args...), nil, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), "left out are "+c.want+"\n") {
			t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
		}
		summary, err := os.ReadFile(filepath.Join(folder, "runai-100-1", "summary.json"))
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(summary)), ""), `{"name":"change","n":2}`) {
			t.Errorf("%v: %s", err, summary)
		}
	}
}

// TestNothingLeft: a trace of which nothing can be run is refused, also with -leave-out, whether its jobs cannot be
// read or cannot be run.
func TestNothingLeft(t *testing.T) {
	const head = "{\"trace\":{\"version\":1}}\n{\"node\":{\"id\":\"n\",\"devices\":[{}]}}\n"
	for line, want := range map[string]string{
		"": "it has no jobs", "{\"job\":7}\n": "line 3: json",
		"{\"job\":{\"submit\":0,\"duration\":-5,\"workload\":{\"id\":\"a\"}}}\n": `line 3, job "a": a time is negative`,
	} { // each on its own: order cannot matter
		name := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(name, []byte(head+line), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := runStill([]string{"-leave-out", name}, nil, &stdout, &stderr); code != program.Failed || !strings.Contains(stderr.String(), "there are no jobs to run: ") || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
		}
	}
}

// TestUnwritable: where a page or a folder cannot be written nothing is run for it.
func TestUnwritable(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-page", filepath.Join(taken, "x.html")}, {"-page", filepath.Dir(taken)}, {"-out", filepath.Join(taken, "runs")}} {
		o, err := parse(append(args, "-jobs", "1"))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := NewSweep(o); err == nil || s != nil {
			t.Errorf("%q: it can be written", args)
		}
	}
}

// TestLateTrace: of a trace whose jobs come long after its zero what is held, and the run-up, are of the time of
// submission: one GPU that is held from the first submission on is in use all the time.
func TestLateTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "late.jsonl")
	text := "{\"trace\":{\"version\":1}}\n{\"node\":{\"id\":\"n\",\"devices\":[{}]}}\n"
	for i, at := range []int{1000, 1002, 1003, 1010} {
		text += fmt.Sprintf("{\"job\":{\"submit\":%d,\"duration\":%d,\"workload\":{\"id\":\"%d\",\"podSets\":[{\"count\":1,\"request\":{\"gpu\":{\"count\":1}}}]}}}\n", time.Duration(at)*time.Hour, 3*time.Hour, i)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for warmUp, want := range map[string]string{"0": "4 0 90.0%", "25": "2 0 86.7%"} {
		var stdout, stderr bytes.Buffer
		if code := runStill([]string{"-policies", "fifo", "-warm-up", warmUp, name}, nil, &stdout, &stderr); code != program.OK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		if f := strings.Fields(lines[len(lines)-1]); f[3]+" "+f[4]+" "+f[8] != want {
			t.Errorf("-warm-up %s: %s, want %s", warmUp, lines[len(lines)-1], want)
		}
	}
}

// TestResumeLeftOut: a run is not taken for one of a trace of which something else is left out.
func TestResumeLeftOut(t *testing.T) {
	folder := t.TempDir()
	log := filepath.Join(folder, "log.csv")
	for _, bad := range []string{"a,1,soon,1\n", "a,1,soon,1\nb,1,1,none\n"} {
		if err := os.WriteFile(log, []byte("job_id,submission_time,duration,num_gpu\ngood,0,100,1\n"+bad), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := runStill([]string{"-policies", "fifo", "-leave-out", "-resume", "-out", folder, log}, nil, &stdout, &stderr); code != program.OK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		want := []string{"left out are 1 duration", "left out are 1 duration, 1 num_gpu"}[strings.Count(bad, "\n")-1]
		if !strings.Contains(stdout.String(), want+"\n") {
			t.Errorf("%s, want %s", &stdout, want)
		}
	}
}

// TestResumeInterrupted: a run that was interrupted is not taken for the one before it, whose
// folder it writes, nor for one that is complete.
func TestResumeInterrupted(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-jobs", "300", "-nodes", "3", "-policies", "osmo", "-out", folder}
	run := func(ctx context.Context, args ...string) string {
		var stdout, stderr bytes.Buffer
		if code := runUntil(ctx, args, &stdout, &stderr); code != program.OK {
			t.Fatalf("exit code %d: %s", code, &stderr)
		}
		return stdout.String()
	}
	ended, end := context.WithCancel(context.Background())
	end()
	want := run(context.Background(), args...)
	for _, again := range [][]string{args, append(args, "-costs")} {
		if got := run(ended, again...); !strings.Contains(got, "(partial)") {
			t.Fatalf("it was not interrupted: %s", got)
		}
		if got := run(context.Background(), append(args, "-resume")...); got != want {
			t.Errorf("%q: resumed it is another run: %s", again, got)
		}
	}
	summary := filepath.Join(folder, "osmo-100-1", "summary.json")
	text, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"partial": false`), []byte(`"partial": true`), 1)
	if err := os.WriteFile(summary, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(context.Background(), append(args, "-resume")...); got != want {
		t.Errorf("what is partial is taken for complete: %s", got)
	}
}

// TestOnce: seeds make one run of a trace without chance.
func TestOnce(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := []string{"-policies", "osmo", "-seeds", "1-3", "testdata/two-teams.jsonl"}
	if code := runStill(args, nil, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), "The seeds make no other runs") || strings.Count(stdout.String(), "  osmo") != 1 {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
	stdout.Reset()
	args = []string{"-policies", "osmo", "testdata/two-teams.jsonl", "../../../sim/trace/testdata/sacct.txt"}
	if code := runStill(args, nil, &stdout, &stderr); code != program.Failed {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
}

// TestSameJobs: what one scheduler cannot run is run under none, and said under whom; what all can
// run is not asked of a trace's own pools; and what a scheduler does not take is refused before
// any run.
func TestSameJobs(t *testing.T) {
	text := func(pool string) string {
		return `{"trace":{"version":1}}
{"node":{"id":"n0"}}
` + pool + `{"job":{"submit":0,"duration":1000,"workload":{"id":"a","class":"train","podSets":[{"count":1,"request":{}}]}}}
{"job":{"submit":0,"duration":1000,"workload":{"id":"b","podSets":[{"count":1,"request":{}}]}}}
`
	}
	file := filepath.Join(t.TempDir(), "classes.jsonl")
	sweep := func(trace string, args ...string) (string, error) {
		if err := os.WriteFile(file, []byte(trace), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := flag.NewFlagSet("replay", flag.ContinueOnError)
		o := NewOptions(flags)
		if err := o.Add(allot.Policy{Name: "unclassed"}, ""); err != nil {
			t.Fatal(err)
		}
		if err := flags.Parse(append(args, file)); err != nil {
			t.Fatal(err)
		}
		if err := o.Check(flags.Args()); err != nil {
			t.Fatal(err)
		}
		s, err := NewSweep(o)
		if err != nil {
			return "", err
		}
		s.CarryOut(context.Background(), NewMeter(io.Discard, false, still, s.Runs()))
		var told bytes.Buffer
		s.print(&told)
		for _, r := range s.runs {
			fmt.Fprintf(&told, "%s: %d\n", r.scheduler.Name, r.summary.All.Jobs)
		}
		return told.String(), s.Failed()
	}
	pool := `{"pool":{"id":"p","policy":{"classes":[{"name":"train"}]}}}` + "\n"
	if told, err := sweep(text(pool), "-policies", "fifo"); err == nil || !strings.Contains(err.Error(), `line 4, job "a": under unclassed: `) || !strings.Contains(err.Error(), "-leave-out runs the rest") {
		t.Errorf("error %v: %s", err, told)
	}
	told, err := sweep(text(pool), "-policies", "fifo", "-leave-out")
	if err != nil || !strings.Contains(told, "fifo: 1\nunclassed: 1\n") || !strings.Contains(told, "left out are 1 class\n") {
		t.Errorf("error %v: %s", err, told)
	}
	if told, err := sweep(strings.Replace(text(""), `"class":"train",`, "", 1), "-policies", "fifo,srtf", "-drop", "10"); err == nil || !strings.Contains(err.Error(), "scheduler srtf") {
		t.Errorf("error %v: %s", err, told)
	}
	if err := os.WriteFile(file, []byte(text("")), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer // the presets and baselines set the class themselves
	if code := runStill([]string{"-policies", "fifo,runai", file}, nil, &stdout, &stderr); code != program.OK {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

// TestNames: of several traces each is named as its file is, but for what says its format.
func TestNames(t *testing.T) {
	text, err := os.ReadFile("testdata/two-teams.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	folder, args := t.TempDir(), []string{"-policies", "osmo"}
	for _, name := range []string{"log.2024.jsonl", "log.2025.jsonl"} {
		args = append(args, filepath.Join(folder, name))
		if err := os.WriteFile(args[len(args)-1], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil || len(s.runs) != 2 || s.runs[0].name() != "log.2024-osmo-100-1" || s.runs[1].name() != "log.2025-osmo-100-1" {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestNamesAreWords: a trace whose file has a newline in its name breaks no table and no line.
func TestNamesAreWords(t *testing.T) {
	s := &Sweep{Options: &Options{}}
	s.traces = []string{"a\nb.jsonl", "c.jsonl"}
	if got := s.Title(); got != `Runs of "a\nb.jsonl", c.jsonl` {
		t.Error(got)
	}
	if got := loadOf("a\nb", 90); got != `"a\nb" 90%` {
		t.Error(got)
	}
}

// TestTitle: one job is not several.
func TestTitle(t *testing.T) {
	o, err := parse([]string{"-jobs", "1", "-nodes", "1"})
	if err != nil {
		t.Fatal(err)
	}
	if s := (&Sweep{Options: o}); s.Title() != "1 job like those of philly on 1 node" {
		t.Error(s.Title())
	}
}

// TestNobodyEnded: of a run in which nobody has ended the tables tell no figures of those who
// have, the wide one too, and how many have not, in the means as well.
func TestNobodyEnded(t *testing.T) {
	o, err := parse([]string{"-jobs", "30", "-nodes", "2", "-policies", "fifo,osmo", "-seeds", "1-2", "-loads", "1000", "-until", "1s", "-by-queue"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil {
		t.Fatal(err)
	}
	s.CarryOut(context.Background(), NewMeter(io.Discard, false, still, s.Runs()))
	tables := s.Tables(true)
	if at := slices.Index(tables[0].Rows[0], "unfair"); at < 0 || tables[0].Rows[1][at] != "-" {
		t.Errorf("%q", tables[0].Rows)
	}
	for _, table := range tables {
		if !slices.Contains(table.Rows[0], "unfinished") {
			t.Errorf("%s: nothing says how many are unfinished: %q", table.Title, table.Rows[0])
		}
	}
}

// TestMeter: without a terminal there is a line every ten seconds, and no more.
func TestMeter(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	m := NewMeter(&out, false, func() time.Time { return at }, 2)
	for range 45 {
		at = at.Add(time.Second)
		m.progress(0, sim.Progress{Now: time.Hour, Events: 90, Jobs: 10, Arrived: 5, Ended: 5})
	}
	m.End()
	const first = "replay: 0 of 2 runs, at 1h0m0s, 9 events/s, 30s left\n"
	if got := out.String(); strings.Count(got, "\n") != 4 || !strings.HasPrefix(got, first) {
		t.Errorf("%s", got)
	}
}

// TestFormats: every format that is published has its sample, and quotas by a small file.
func TestFormats(t *testing.T) {
	const samples = "../../../sim/trace/testdata/"
	queues := filepath.Join(t.TempDir(), "queues.csv")
	if err := os.WriteFile(queues, []byte("tenant,quota\nchem,4\nphys,8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-format", "philly-log", "-node-list", samples + "philly_machines.csv", samples + "philly.json"},
		{"-format", "helios", "-nodes", "4", samples + "helios.csv"},
		{"-format", "acme", "-nodes", "8", "-tenant-column", "type", samples + "acme.csv"},
		{"-format", "slurm", "-nodes", "4", "-per-node", "4", "-queue-list", queues, "-period", "30s", "-latency", "1s", "-drop", "100", samples + "sacct.txt"},
		{"-format", "pai", "-task-list", samples + "pai_task_table.csv", "-node-list", samples + "pai_machine_spec.csv", samples + "pai_job_table.csv"},
	} {
		var stdout, stderr bytes.Buffer
		if f := openTrace(args[len(args)-1], auto); f.format != args[1] && (f.err == nil || args[1] != "pai") {
			t.Errorf("%s is taken for %q, %v", args[len(args)-1], f.format, f.err)
		}
		all := append([]string{"-policies", "osmo", "-leave-out=false"}, args...)
		if code := runStill(all, nil, &stdout, &stderr); code != program.Failed || !strings.Contains(stderr.String(), "cannot be run") {
			t.Errorf("%q: exit code %d: %s", args, code, &stderr)
		}
		stderr.Reset()
		if code := runStill(slices.Replace(all, 2, 3, "-leave-out"), nil, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), "left out are") {
			t.Errorf("%q: exit code %d: %s%s", args, code, &stdout, &stderr)
		}
	}
	quoted := "\xef\xbb\xbf\"job_id\",\"submission_time\",\"duration\",\"num_gpu\"\r\n"
	if format, err := formatOf(bufio.NewReaderSize(strings.NewReader(quoted), headSize)); format != "elasticflow" {
		t.Errorf("names in quotes are taken for %q, %v", format, err)
	}
}

// TestFormatsOfNothing: of a trace that has no first line, or not all of it, it is said why none of
// the formats is its own.
func TestFormatsOfNothing(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write([]byte(strings.Repeat(`{"trace":{"version":1,"name":"a long one"}}`, 20) + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "it is empty, "},
		{" \n\t\r\n", "it is empty, "},
		{"\xef\xbb\xbf", "it is empty, "},
		{zipped.String()[:zipped.Len()/2], "it is cut off in its first line: unexpected EOF"},
		{zipped.String()[:5], "unexpected EOF"},
		{"a,b\n", "its first line is that of none of the formats"},
	} {
		if format, err := formatOf(bufio.NewReaderSize(strings.NewReader(c.text), headSize)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q is taken for %q, %v", c.text, format, err)
		}
	}
}

// TestPipe: a trace is read once, and may be a pipe, zipped or not.
func TestPipe(t *testing.T) {
	text, err := os.ReadFile("testdata/two-teams.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	packed := gzip.NewWriter(&zipped)
	if _, err := packed.Write(bytes.Repeat([]byte("\n"), 3*headSize)); err != nil { // behind the head
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	plain := zipped.Bytes()
	zipped = bytes.Buffer{}
	packed.Reset(&zipped)
	if _, err := packed.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{text, zipped.Bytes(), append(zipped.Bytes(), plain...)} {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		go func() {
			defer to.Close()
			_, _ = to.Write(content)
		}()
		var stdout, stderr bytes.Buffer
		if code := runStill([]string{"-policies", "osmo", fmt.Sprintf("/dev/fd/%d", from.Fd())}, nil, &stdout, &stderr); code != program.OK {
			t.Errorf("exit code %d: %s", code, &stderr)
		}
	}
}

// TestTracesAreClosed: a trace that has been opened to tell its format is closed once it is read, and whatever goes
// wrong with one of them.
func TestTracesAreClosed(t *testing.T) {
	good, bad := "testdata/two-teams.jsonl", filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, traces := range [][]string{{good}, {bad, good}} {
		o, err := parse(append([]string{"-policies", "osmo"}, traces...))
		if err != nil {
			t.Fatal(err)
		}
		files := o.files
		if len(files) != len(traces) {
			t.Fatalf("%d files of %d traces", len(files), len(traces))
		}
		if _, err := NewSweep(o); (err != nil) != (len(traces) > 1) {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := f.file.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%v: %s is open still", traces, f.name)
			}
		}
	}
}

// TestProcessors: -nodes and -per-node say how many processors there are of a log that does not
// say, or says otherwise, also where they are as many as go without saying.
func TestProcessors(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log.swf")
	const jobs = "1 0 0 9 8 0 0 8 0 0 1 1 1 1 1 1 -1 -1\n2 0 0 9 8 0 0 8 0 0 1 1 1 1 1 1 -1 -1\n"
	for _, c := range []struct {
		head string
		args []string
		want string
	}{
		{"", nil, "swf: no header MaxProcs"},
		{"", []string{"-nodes", "16"}, "  0.00  "}, {"", []string{"-nodes", "1"}, "  0.01  "}, {"", []string{"-nodes", "2", "-per-node", "4"}, "  0.01  "},
		{"; MaxProcs: 8\n", nil, "  0.01  "}, {"; MaxProcs: 8\n", []string{"-nodes", "2"}, "  0.00  "},
	} {
		if err := os.WriteFile(log, []byte(c.head+strings.Replace(jobs, " 0 9 8", " 0 99 8", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		runStill(append(append([]string{"-policies", "fifo", "-fast"}, c.args...), log), nil, &stdout, &stderr)
		if got := stdout.String() + stderr.String(); !strings.Contains(got, c.want) {
			t.Errorf("%q: %q: %s", c.head, c.args, got)
		}
	}
}

// TestAdd: a policy of a file is a scheduler, of a name that no other has.
func TestAdd(t *testing.T) {
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ policy, file, want string }{
		{"mine", "x.yaml", "mine"}, {"", "a/ours.yaml", "ours"}, {"osmo", "x.yaml", "file-osmo"}, {"a/b", "x.yaml", "a-b"}, {"mine", "x.yaml", "file-mine"},
	} {
		if err := o.Add(allot.Policy{Name: c.policy}, c.file); err != nil || o.added[len(o.added)-1].Name != c.want {
			t.Errorf("%+v: %v, %+v", c, err, o.added)
		}
	}
	if err := o.Add(allot.Policy{Name: "mine"}, "x.yaml"); err == nil {
		t.Error("two have one name")
	}
}

// TestInterrupt: an interrupt ends the runs early, and they say so.
func TestInterrupt(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var stdout, stderr bytes.Buffer
	if code := runUntil(ctx, []string{"-jobs", "300", "-by-queue", "-warm-up", "50"}, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), "(partial)") {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
}

// TestHalfInterrupted: of an interrupt in the second run, both are told, by queue.
func TestHalfInterrupted(t *testing.T) {
	o, err := parse([]string{"-jobs", "300", "-nodes", "3", "-policies", "fifo,osmo", "-by-queue", "-warm-up", "50", "-cores", "1"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	nothing := func(sim.Progress) {}
	s.runs[0].err = s.one(ctx, s.runs[0], nothing)
	stop()
	s.runs[1].err = s.one(ctx, s.runs[1], nothing)
	var stdout bytes.Buffer
	s.print(&stdout)
	if err := s.Failed(); err != nil || strings.Count(stdout.String(), "tenant-") != 4 || !strings.Contains(stdout.String(), "osmo (partial)") || !strings.Contains(stdout.String(), "1 of 2 runs are complete") {
		t.Errorf("%v: %s", err, &stdout)
	}
}

// TestInputsAreLetGo: of a sweep one input is there at a time that its runs share, where they are
// carried out one after the other, and none is left. Each is made once, the first before the first run.
func TestInputsAreLetGo(t *testing.T) {
	o, err := parse([]string{"-jobs", "30", "-nodes", "2", "-policies", "fifo,osmo", "-seeds", "1-3", "-loads", "100,200"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil {
		t.Fatal(err)
	}
	there := func() (some []*sim.Input) {
		for _, r := range s.runs {
			if in := r.of.in; in != nil && !slices.Contains(some, in) {
				some = append(some, in)
			}
		}
		return some
	}
	if len(there()) != 1 || s.runs[0].of.make != nil {
		t.Errorf("%d inputs are there before the first run", len(there()))
	}
	made := make(map[*sharedInput]int)
	for i := 2; i < len(s.runs); i += 2 {
		of := s.runs[i].of
		makes := of.make
		of.make = func() (*sim.Input, error) { made[of]++; return makes() }
	}
	var before *sim.Input
	for i, r := range s.runs {
		if i%2 == 1 && i > 1 && made[r.of] != 1 {
			t.Errorf("run %d: its input was made %d times", i, made[r.of])
		}
		err := s.one(context.Background(), r, func(sim.Progress) {
			some := there()
			if len(some) != 1 || some[0] != r.of.in || i%2 == 1 && some[0] != before {
				t.Errorf("run %d: %d inputs are there", i, len(some))
			}
			before = r.of.in
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if some := there(); len(some) != 0 || before == nil || len(made) != 5 {
		t.Errorf("%d inputs are left of %d", len(some), len(made))
	}
}

// TestInputsThatFail: an input that comes later and cannot be made fails its runs alone.
func TestInputsThatFail(t *testing.T) {
	o, err := parse([]string{"-jobs", "30", "-nodes", "2", "-policies", "fifo,osmo", "-seeds", "1-2"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("it cannot be made")
	s.runs[2].of.make = func() (*sim.Input, error) { return nil, wrong }
	s.CarryOut(context.Background(), NewMeter(io.Discard, false, time.Now, s.Runs()))
	for i, r := range s.runs {
		if i < 2 && r.err != nil || i >= 2 && !errors.Is(r.err, wrong) {
			t.Errorf("run %d: %v", i, r.err)
		}
	}
	if s.Failed() == nil {
		t.Error("nothing is said of runs that failed")
	}
}

// TestUses: a flag that would say nothing of any trace is refused; of several traces it may say
// something of one.
func TestUses(t *testing.T) {
	const native, slurm = "testdata/two-teams.jsonl", "../../../sim/trace/testdata/sacct.txt"
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"-tenant-list", "none.csv", native}, program.Usage},
		{[]string{"-task-list", "none.csv", native}, program.Usage},
		{[]string{"-node-list", "none.csv", native}, program.Usage},
		{[]string{"-tenant-column", "nonsense", native}, program.Usage},
		{[]string{"-per-node", "3", native}, program.Usage},
		{[]string{"-nodes", "77", native}, program.Usage},
		{[]string{"-nodes", "77", "-format", "pai", "-node-list", "nodes.csv", "-task-list", "tasks.csv", "jobs.csv"}, program.Usage},
		{[]string{"-jobs", "3", native}, program.Usage},
		{[]string{"-tenants", "9", native}, program.Usage},
		{[]string{"-mix", "gangs", native}, program.Usage},
		{[]string{"-per-node", "4"}, program.Usage},
		{[]string{"-from", "1h"}, program.Usage},
		{[]string{"-to", "1h"}, program.Usage},
		{[]string{"-tenant-column", "type"}, program.Usage},
		{[]string{"-queue-list", "none.csv"}, program.Usage},
		{[]string{"-nodes", "4", "-jobs", "9", "-tenants", "2", "-mix", "gangs", "-policies", "fifo"}, program.OK},
		{[]string{"-per-node", "4", "-nodes", "4", "-leave-out", "-policies", "osmo", native, slurm}, program.OK},
	} {
		var stdout, stderr bytes.Buffer
		if code := runStill(c.args, nil, &stdout, &stderr); code != c.code || code == program.Usage && !strings.Contains(stderr.String(), "says nothing of a trace that is ") {
			t.Errorf("%q: exit code %d: %s", c.args, code, &stderr)
		}
	}
}

// TestWithoutQuotas: where no queue has a quota it is said, if somebody is compared who would go
// by it.
func TestWithoutQuotas(t *testing.T) {
	const slurm = "../../../sim/trace/testdata/sacct.txt"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-leave-out", "-policies", "fifo,static-partition", slurm}, "The trace has no quotas of GPUs: there is no partition, and presets have none to go by. -queue-list gives some.\n"},
		{[]string{"-leave-out", "-policies", "runai", slurm, "testdata/two-teams.jsonl"}, "sacct has no quotas of GPUs: "},
		{[]string{"-leave-out", "-policies", "fifo,srtf", slurm}, ""},
		{[]string{"-tenants", "0", "-jobs", "9"}, "-tenants gives some.\n"},
		{[]string{"-jobs", "9"}, ""},
	} {
		var stdout, stderr bytes.Buffer
		if code := runStill(c.args, nil, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), c.want) || strings.Count(stdout.String(), "no quotas") != min(len(c.want), 1) {
			t.Errorf("%q: exit code %d: %s%s", c.args, code, &stdout, &stderr)
		}
	}
}

// TestStarvedIsNotBest: who never starts a job is not said to be the one under whom jobs wait
// least, though its run ends the sooner.
func TestStarvedIsNotBest(t *testing.T) {
	starved := filepath.Join(t.TempDir(), "starved.jsonl")
	text := `{"trace":{"version":1,"name":"starved"}}
{"node":{"id":"n0","devices":[{},{}]}}
{"queue":{"id":"A","resources":[{"resource":"gpu","quota":1000}]}}
{"queue":{"id":"B","resources":[{"resource":"gpu","quota":1000}]}}
{"job":{"submit":0,"duration":36000000000000,"workload":{"id":"a","queue":"A","podSets":[{"count":1,"request":{"gpu":{"count":2}}}]}}}
{"job":{"submit":1000000000,"duration":3600000000000,"workload":{"id":"b","queue":"B","podSets":[{"count":1,"request":{"gpu":{"count":1}}}]}}}
`
	if err := os.WriteFile(starved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for policies, want := range map[string]string{
		"fifo,static-partition":           ": under fifo jobs wait 5.00 h in the mean; jobs have not ended: 1 under static-partition\n",
		"fifo,static-partition,srtf":      ": jobs wait least under srtf, 0.50 h in the mean, and longest under fifo, 5.00 h; jobs have not ended: 1 under static-partition\n",
		"static-partition":                ": under static-partition jobs wait 0.50 h in the mean; jobs have not ended: 1 under static-partition\n",
		"fifo,static-partition,first-fit": ": under fifo, first-fit jobs wait 5.00 h in the mean; ",
		"fifo,first-fit":                  ": jobs wait 5.00 h in the mean under all 2 schedulers\n",
	} { // each on its own: order cannot matter
		var stdout, stderr bytes.Buffer
		if code := runStill([]string{"-policies", policies, starved}, nil, &stdout, &stderr); code != program.OK || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: exit code %d: %s%s", policies, code, &stdout, &stderr)
		}
	}
}

// TestTwice: two runs of one name would write the same files.
func TestTwice(t *testing.T) {
	for _, args := range [][]string{{"-policies", "fifo,osmo,fifo"}, {"-seeds", "1-3,2"}, {"-loads", "100,100"}, {"-warm-up", "100"}} {
		var stdout, stderr bytes.Buffer
		if code := runStill(args, nil, &stdout, &stderr); code != program.Usage {
			t.Errorf("%q: exit code %d: %s", args, code, &stderr)
		}
	}
}

// TestPhilly: the sweep of Philly's tenants that the README shows is made by the command that
// stands there, its table has what comes of it, and its picture is there. Of the loads and
// schedulers it is the last load and two.
func TestPhilly(t *testing.T) {
	const readme = "../../replay/README.md"
	data := filepath.Join(filepath.Dir(openb.Folder()), "philly")
	if _, err := os.Stat(data); err != nil {
		t.Skip("no folder shared/data/philly above this one")
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, part, found := strings.Cut(string(text), "### In one command, with its picture\n")
	_, command, begins := strings.Cut(part, "$ allot replay ")
	command, _, ends := strings.Cut(command, "\n\n")
	if !found || !begins || !ends || !strings.Contains(part, "](philly.png)") {
		t.Fatal("the README has no such command, or no picture")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(readme), "philly.png")); err != nil {
		t.Error(err)
	}
	folder := t.TempDir()
	command = strings.NewReplacer(
		"\\\n", " ", "philly.csv.gz", filepath.Join(data, "philly.csv.gz"), "vc_nodes.csv", filepath.Join(data, "vc_nodes.csv"),
		"-loads 1200,2000", "-loads 2000", "-policies fifo,static-partition,osmo,runai", "-policies static-partition,runai", "/tmp/philly", folder,
	).Replace(command)
	args := strings.Fields(command)
	o, err := parse(append(args[1:], args[0])) // the trace is behind the flags for this parser
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(o)
	if err != nil {
		t.Fatal(err)
	}
	s.CarryOut(context.Background(), NewMeter(io.Discard, false, still, s.Runs()))
	if err := errors.Join(s.Failed(), s.WriteFiles()); err != nil {
		t.Fatal(err)
	}
	for i, scheduler := range []string{"static-partition", "runai"} {
		row := s.Tables(false)[0].Rows[i+1]
		at := func(column string) string { return row[slices.Index(s.Tables(false)[0].Rows[0], column)] }
		want := fmt.Sprintf("| %s | %s | %s | %s |", at("wait h"), at("p99 h"), at("allocated"), at("evictions"))
		_, table, _ := strings.Cut(string(text), "\n| 2000% |")
		at2000 := false
		for line := range strings.Lines(table) {
			if names, figures, ok := strings.Cut(strings.TrimPrefix(line, "| |"), "|"); ok && strings.Contains(names, scheduler) {
				at2000 = strings.HasPrefix("|"+figures, want)
				break
			}
		}
		if !at2000 {
			t.Errorf("%s has %s at 2000%%, which the table of the README has not", scheduler, want)
		}
	}
	if page, err := os.ReadFile(filepath.Join(folder, "page.html")); err != nil || !bytes.Contains(page, []byte(`"places":[{`)) {
		t.Errorf("the page has %d bytes, %v", len(page), err)
	}
}

// TestLarge: the jobs of so many GPUs have priority 1, counted over all their tasks, and the others what they had.
func TestLarge(t *testing.T) {
	input := func(args ...string) *sim.Input {
		o, err := parse(append(args, "-mix", "gangs", "-jobs", "200", "-nodes", "9"))
		if err != nil {
			t.Fatal(err)
		}
		in, err := o.input(nil, 1, 100)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	as, is := input(), input("-large", "8")
	large := 0
	for i := range is.Jobs {
		w := is.Jobs[i].Workload
		gpus := 0
		for _, p := range w.PodSets {
			gpus += p.Count * p.Request.GPU.Count
		}
		want := as.Jobs[i].Workload.Priority
		if gpus >= 8 {
			want, large = 1, large+1
		}
		if w.Priority != want {
			t.Errorf("%s of %d GPUs has priority %d", w.ID, gpus, w.Priority)
		}
	}
	if large == 0 || large == len(is.Jobs) {
		t.Errorf("%d of %d jobs are large", large, len(is.Jobs))
	}
	if _, err := parse([]string{"-large", "-1"}); err == nil {
		t.Error("fewer than none are taken")
	}
}
