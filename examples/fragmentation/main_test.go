package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/placement"
)

// frozen is a clock that stands still.
func frozen() time.Time { return time.Time{} }

// command runs the program and returns what it prints and its exit code.
func command(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errors bytes.Buffer
	code = run(args, &out, &errors, frozen)
	return out.String(), errors.String(), code
}

var small = []string{"-nodes", "testdata/nodes.csv", "-pods", "testdata/pods.csv"}

func TestGolden(t *testing.T) {
	for _, test := range []struct {
		file string
		args []string
	}{
		{"help.txt", []string{"-h"}},
		{"shapes.txt", []string{"-seeds", "42"}},
		{"small.txt", append([]string{"-seeds", "1-3"}, small...)},
		{"small-two.txt", append([]string{"-pods=", "-policies", "bin-pack,fragmentation-gradient", "-seeds=7", "-load=25"}, small...)},
		{"small.json", append([]string{"-json", "-policies", "best-fit,random", "-seeds", "1,5", "-load", "20"}, small...)},
	} {
		t.Run(test.file, func(t *testing.T) {
			stdout, stderr, code := command(t, test.args...)
			if code != program.OK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			golden.Check(t, test.file, stdout)
		})
	}
}

// S1: the same bytes, however many runs go at once; the picture is well-formed and
// draws nothing from elsewhere.
func TestPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "picture.svg")
	var texts, pictures []string
	for _, jobs := range []string{"1", "3"} {
		stdout, stderr, code := command(t, append([]string{"-seeds", "1-3", "-svg", file, "-jobs", jobs}, small...)...)
		picture, err := os.ReadFile(file)
		if code != program.OK || err != nil {
			t.Fatalf("exit code %d: %s, %v", code, stderr, err)
		}
		texts, pictures = append(texts, stdout), append(pictures, string(picture))
	}
	if texts[0] != texts[1] || pictures[0] != pictures[1] {
		t.Error("other jobs, other output")
	}
	golden.Check(t, "small.svg", pictures[0])
	tokens := xml.NewDecoder(strings.NewReader(pictures[0]))
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				if a.Name.Local == "href" || strings.Contains(a.Value, "url(") {
					t.Errorf("%s refers to %s", start.Name.Local, a.Value)
				}
			}
		}
	}
}

// The text and the JSON tell the same figures, and they make sense.
func TestFiguresAddUp(t *testing.T) {
	stdout, _, code := command(t, "-json", "-seeds", "42", "-policies", "first,best-fit")
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); code != program.OK || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	w := r.Workloads[0]
	if r.Nodes != 1213 || r.GPU != 6_212_000 || w.Pods != 8152 || w.Published != "default" || w.MixShapes != 35 {
		t.Errorf("%d nodes, %d milli, %d pods, published as %q, %d shapes", r.Nodes, r.GPU, w.Pods, w.Published, w.MixShapes)
	}
	for _, p := range w.Policies {
		if (p.Published != nil) != (p.Policy == placement.BestFit) {
			t.Errorf("%s: published %v", p.Policy, p.Published)
		}
		if len(p.Mean.Allocated) != 131 || !slices.IsSorted(p.Mean.Allocated) || !slices.Equal(p.Mean.Fragmented, p.Seeds[0].Fragmented) {
			t.Errorf("%s: %v", p.Policy, p.Mean)
		}
		for k := range p.Mean.Allocated {
			if a, f := p.Mean.Allocated[k], p.Mean.Fragmented[k]; a > int64(100*k+50) || a+f > 10_000 {
				t.Errorf("%s at %d%%: %d allocated, %d fragmented", p.Policy, k, a, f)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-nope"}, "flag provided but not defined: -nope"},
		{[]string{"file"}, `takes no argument, got "file"`},
		{[]string{"-load=0"}, "-load must be from 1 to 1000, is 0"},
		{[]string{"-jobs=-1"}, "-jobs must be from 0 to 1024, is -1"},
		{[]string{"-policies=best-fit,tetris"}, `invalid value "best-fit,tetris" for flag -policies: no strategy is called "tetris"`},
		{[]string{"-policies=first,first"}, `invalid value "first,first" for flag -policies: first stands there twice`},
		{[]string{"-seeds="}, `invalid value "" for flag -seeds: "" is no seed`},
		{[]string{"-seeds=5-4"}, `invalid value "5-4" for flag -seeds: "5-4" is no range of at most 1000 seeds`},
		{[]string{"-seeds=5,1-9"}, `invalid value "5,1-9" for flag -seeds: must be at most 1000 seeds, each once`},
	} {
		stdout, stderr, code := command(t, test.args...)
		if want := "fragmentation: " + test.want + "; -h shows the usage\n"; code != program.Usage || stdout != "" || stderr != want {
			t.Errorf("%q: exit code %d, %q, %q, want 2 and %q", test.args, code, stdout, stderr, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	const nodes, pods = "sn,cpu_milli,memory_mib,gpu,model\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
	for _, test := range []struct{ nodes, pods, want string }{
		{nodes + "a,1,1,1,T4\n", pods + "a,1,1,1,0\n", `pods.csv:2: gpu_milli must be from 1 to 1000 where GPUs are asked, is "0"`},
		{nodes + "a,1,1,1\n", pods, "nodes.csv:2: wrong number of fields"},
		{nodes + "a,1,1,0,T4\n", pods, "nodes.csv: no node has a GPU"},
		{nodes + "a,1,1,1,T4\n", pods + "a,1,1,0,0\n", "pods.csv: no pod asks a GPU"},
		{nodes + "a,1,1,1,T4\n", pods, "pods.csv: no pod asks a GPU"},
		{"count,cpu_milli,memory_mib,gpu,model\n9999,1,1,64,T4\n", pods + "a,1,1,1,1\n",
			"pods.csv: the pods ask so little that more than 4194304 would have to arrive"},
	} {
		folder := t.TempDir()
		for file, content := range map[string]string{"nodes.csv": test.nodes, "pods.csv": test.pods} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		stdout, stderr, code := command(t, "-nodes", filepath.Join(folder, "nodes.csv"), "-pods", filepath.Join(folder, "pods.csv"))
		got := strings.ReplaceAll(stderr, folder+string(filepath.Separator), "")
		if code != program.Failed || stdout != "" || got != "fragmentation: "+test.want+"\n" {
			t.Errorf("exit code %d: %s, want %s", code, got, test.want)
		}
	}
	absent := append([]string{"-seeds=1", "-svg", filepath.Join("testdata", "absent", "picture.svg")}, small...)
	if stdout, stderr, code := command(t, absent...); code != program.Failed || stdout != "" || !strings.Contains(stderr, "absent") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Nothing about time reaches standard output; on a terminal the runs are counted,
// and the line is wiped.
func TestMeter(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	m := newMeter(&out, func() time.Time { at = at.Add(time.Second); return at })
	m.terminal = true
	m.begin(2, 2)
	m.done(1000)
	m.done(1000)
	m.end()
	m.summary()
	const wipe = "\r\x1b[K"
	want := wipe + "fragmentation: 0 of 2 runs, 2 at once" + wipe + "fragmentation: 1 of 2 runs, 2 at once" +
		wipe + "fragmentation: 2 of 2 runs, 2 at once" + wipe + "fragmentation: 2 runs in 1s, 2 at once, 1ms a pod\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{percent(0), "0.00"}, {percent(5), "0.05"}, {percent(-123), "-1.23"}, {signed(7), "+0.07"}, {signed(0), "0.00"},
		{gpus(12_000), "12"}, {gpus(12_049), "12.0"}, {gpus(12_050), "12.1"}, {count(1, "seed"), "1 seed"}, {count(2, "seed"), "2 seeds"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
	for _, test := range []struct{ a, b, want int64 }{{5, 2, 2}, {7, 2, 4}, {3, 2, 2}, {1, 3, 0}, {2, 3, 1}, {0, 9, 0}} {
		if got := halfToEven(test.a, test.b); got != test.want {
			t.Errorf("%d/%d is %d, want %d", test.a, test.b, got, test.want)
		}
	}
	// A list that asks more than the load loses pods, one that asks less is drawn
	// from again.
	c, err := readCluster("testdata/nodes.csv")
	if err != nil {
		t.Fatal(err)
	}
	w, err := readWorkload("testdata/pods.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, load := range []int{10, 60, 200} {
		pods, rank := w.arrivals(c, load, 1)
		sum := int64(0)
		for i := range pods {
			sum += pods[i].milli()
		}
		if (len(pods) < len(w.pods)) != (load < 100) || len(rank) != 4 || load < 100 && sum*100 > c.milli*int64(load) {
			t.Errorf("%d%%: %d pods that ask %d", load, len(pods), sum)
		}
	}
}
