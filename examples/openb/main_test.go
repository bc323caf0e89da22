package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/examples/internal/program"
	"github.com/allotsched/allot/internal/prose"
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

// S1: the same bytes every time. Every run verifies its plan.
func TestGolden(t *testing.T) {
	small := []string{"-nodes", "testdata/nodes.csv", "-pods", "testdata/pods.csv"}
	for _, test := range []struct {
		file string
		args []string
	}{
		{"default.txt", nil},
		{"load130-spread.txt", []string{"-load", "130", "-strategy", "spread"}},
		{"load5-first.txt", []string{"-load=5", "-strategy=first", "-preset=osmo"}},
		{"fair-share.txt", []string{"-preset", "determined-fair-share"}},
		{"priority.txt", []string{"-preset", "determined-priority", "-load=50"}},
		{"small.txt", small},
		{"small.json", append([]string{"-json", "-preset=runai20"}, small...)},
		{"small-none.txt", append([]string{"-preset=none", "-verify=false", "-load=0"}, small...)},
		{"help.txt", []string{"-h"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			if testing.Short() && test.file == "load130-spread.txt" {
				t.Skip("consolidation takes its time on it")
			}
			stdout, stderr, code := command(t, test.args...)
			if code != program.OK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			golden.Check(t, test.file, stdout)
		})
	}
}

// The text and the JSON tell the same figures, and they add up.
func TestFiguresAddUp(t *testing.T) {
	stdout, _, code := command(t, "-json", "-load", "120")
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); code != program.OK || err != nil {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if r.Placed.Pods+r.Waiting.Pods != r.Arrived.Pods || r.Placed.GPU+r.Waiting.GPU != r.Arrived.GPU {
		t.Errorf("%+v placed and %+v waiting are not the %+v that arrived", r.Placed, r.Waiting, r.Arrived)
	}
	var allocated, capacity, used, borrowed, why int64
	for _, m := range r.Models {
		allocated, capacity = allocated+m.Allocated, capacity+m.GPU
	}
	if allocated != r.Placed.GPU || capacity != r.GPU || r.Free.GPU != capacity-allocated {
		t.Errorf("models have %d of %d allocated and %d free, placed is %d of %d", allocated, capacity, r.Free.GPU, r.Placed.GPU, r.GPU)
	}
	for _, q := range r.Queues {
		if q.Used != q.InQuota+q.OverQuota {
			t.Errorf("queue %s uses %d, not %d + %d", q.Queue, q.Used, q.InQuota, q.OverQuota)
		}
		if parentOf(q.Queue) == "" {
			used, borrowed = used+q.Used, borrowed+q.Borrowed
		}
	}
	if used != r.Placed.GPU || borrowed == 0 {
		t.Errorf("queues use %d of the %d placed, and borrow %d", used, r.Placed.GPU, borrowed)
	}
	for _, w := range r.Reasons {
		why += int64(w.Amount.Pods)
	}
	if why != int64(r.Waiting.Pods) || r.Free.Fragmented <= 0 || r.Free.Fragmented > r.Free.GPU {
		t.Errorf("%d pods have reasons, %d wait; %d fragmented of %d free", why, r.Waiting.Pods, r.Free.Fragmented, r.Free.GPU)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-nope"}, "openb: flag provided but not defined: -nope; -h shows the usage\n"},
		{[]string{"file"}, `openb: takes no argument, got "file"; -h shows the usage` + "\n"},
		{[]string{"-load=1001"}, "openb: -load must be from 0 to 1000, is 1001; -h shows the usage\n"},
		{[]string{"-preset=slurm"}, "openb: -preset must be one of " + presetNames() + `, is "slurm"; -h shows the usage` + "\n"},
	} {
		stdout, stderr, code := command(t, test.args...)
		if code != program.Usage || stdout != "" || stderr != test.want {
			t.Errorf("%q: exit code %d, %q, %q, want 2 and %q", test.args, code, stdout, stderr, test.want)
		}
	}
}

// Nothing about time reaches standard output; on a terminal the stage is told
// and wiped again.
func TestMeter(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(0, 0)
	m := newMeter(&out, func() time.Time { at = at.Add(time.Millisecond); return at })
	m.terminal = true
	m.begin("solve")
	m.begin("report")
	m.end()
	m.summary(10)
	got, rest, _ := strings.Cut(out.String(), "report 1ms, ")
	want := "openb: solve …\r\x1b[Kopenb: report …\r\x1b[Kopenb: solve 1ms, 100µs a pod, "
	if got != want || !strings.HasSuffix(rest, " MiB from the system\n") {
		t.Errorf("%q", out.String())
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{gpus(0), "0.0"}, {gpus(49), "0.0"}, {gpus(50), "0.1"}, {gpus(1234), "1.2"}, {gpus(999_950), "1000.0"},
		{percent(1, 3), "33.3%"}, {percent(2, 3), "66.7%"}, {percent(0, 0), "-"}, {percent(13, 10), "130.0%"},
		{prose.Count(1, "pod"), "1 pod"}, {prose.Count(0, "pod"), "0 pods"},
		{strings.Join(wrap("aa bb  cc d", 5), "|"), "aa bb|cc d"}, {strings.Join(wrap("toolong a", 3), "|"), "toolong|a"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

// FGD's measure, by hand: a node with 300 and 1000 milli free.
func TestFragmented(t *testing.T) {
	node := nodeUse{machine: &machine{model: "T4"}, cpuFree: 4000, freeGPUs: []int64{300, 0, 1000}}
	for _, test := range []struct {
		why  string
		pod  pod
		want int64
	}{
		{"a quarter fits both", pod{gpus: 1, gpuMilli: 250}, 0},
		{"a half fits one", pod{gpus: 1, gpuMilli: 500}, 300},
		{"two do not fit", pod{gpus: 2, gpuMilli: 1000}, 1300},
		{"no GPU asked", pod{cpuMilli: 1}, 1300},
		{"no CPU left", pod{gpus: 1, gpuMilli: 250, cpuMilli: 4001}, 1300},
		{"of another model", pod{gpus: 1, gpuMilli: 250, models: "P100|G2"}, 1300},
		{"of an accepted model", pod{gpus: 1, gpuMilli: 500, models: "P100|T4"}, 300},
	} {
		if got := node.fragments(&test.pod); got != test.want {
			t.Errorf("%s: %d, want %d", test.why, got, test.want)
		}
	}
	half := pod{gpus: 1, gpuMilli: 500}
	load := []pod{half, half, half, {cpuMilli: 1}}
	if got := fragmented([]nodeUse{node}, load); got != (3*300+1300)/4 {
		t.Errorf("average is %d, want 550", got)
	}
}
