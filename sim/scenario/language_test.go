package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
)

// TestErrors: a mistake is reported where it stands.
func TestErrors(t *testing.T) {
	const cluster = "nodes n0..n1 gpu=2 cpu=8\nqueue q quota=2\n"
	tests := []struct{ name, text, want string }{
		{"unknown statement", "\n  frobnicate x", `2:3: unknown statement "frobnicate"`},
		{"unclosed quote", `queue "q`, `1:7: the quote is not closed`},
		{"half quoted", `queue q"x"`, `1:7: q"x" is neither bare nor quoted as a whole`},
		{"no name", "queue", `1:1: queue needs a name`},
		{"unknown argument", "nodes n0 gpus=8", `1:10: nodes takes no argument "gpus"`},
		{"unknown argument of a queue", "queue q cpu.quta=8", `1:9: queue takes no argument "cpu.quta"`},
		{"unknown argument of a workload", cluster + "submit q/w gpux=1", `3:12: submit takes no argument "gpux"`},
		{"neither argument nor class", cluster + "submit q/w gpu", `3:12: "gpu" is neither an argument nor a class of the policy`},
		{"unknown knob", "policy fast", `1:8: policy takes no argument "fast"`},
		{"unknown preset", "policy preset=slurm", `1:8: preset: no preset "slurm"`},
		{"twice", "nodes n0 gpu=8 gpu=4", `1:16: gpu is given twice`},
		{"missing value", "nodes n0 gpu", `1:10: gpu needs a value`},
		{"finer than milli", cluster + "submit q/w gpu=0.0005", `3:12: gpu: "0.0005": finer than the unit`},
		{"no number", "nodes n0 cpu=many", `1:10: cpu: "many" is no number`},
		{"too large", "nodes n0 memory=9999999999Gi", `1:10: memory: out of range`},
		{"backward range", "nodes n5..n3", `1:7: n5..n3 is no range`},
		{"range without number", "nodes a..b", `1:7: a is not a name with a number at its end`},
		{"second statement of a line", "queue q | queue", `1:11: queue needs a name`},
		{"workload twice", cluster + "submit q/w\nsubmit q/w", `4:8: there is a workload "w" already`},
		{"no such workload", "finish q/w", `1:8: there is no workload "w"`},
		{"other queue", cluster + "submit q/w\nfinish r/w", `4:8: workload "w" is in queue "q"`},
		{"no such node", cluster + "run q/w on n7", `3:12: there is no node "n7"`},
		{"devices taken", cluster + "run q/v gpu=2 on n0\nrun q/w gpu=1 on n0", `4:18: node "n0" has not the devices free that "w" asks`},
		{"no room", cluster + "run q/v gpu=1 tasks=5", `3:5: no node takes task 4 of "v"`},
		{"no such pod set", cluster + "run q/w on x@n0", `3:12: workload "w" has no pod set "x"`},
		{"too many places", cluster + "submit q/w set=a set=b\nrun q/w on n0 n0 n0", `4:18: every task of "w" has a place already`},
		{"several with places", cluster + "run q/a,b on n0", `3:14: places are for one workload`},
		{"redefined", cluster + "submit q/w\nrun q/w gpu=1", `4:9: run of a workload that exists takes no argument "gpu"`},
		{"apply nothing", "apply", `1:1: apply needs a solve before it`},
		{"no such figure", cluster + "solve shares=price", `3:7: "price" is no figure of a queue`},
		{"several pools", "pool a,b\npolicy lower-first", `2:1: there are several pools: policy needs pool= as its first argument`},
		{"several pools of a mix", "pool a,b\nmix 1 gpu=1", `2:1: there are several pools: mix needs pool= as its first argument`},
		{"mix without weight", "mix gpu=1", `1:5: the weight: "gpu=1" is no number`},
		{"mix of nothing", "mix", `1:1: mix needs a weight`},
		{"unknown argument of a mix", "mix 2 gpu=1 tasks=3", `1:13: mix takes no argument "tasks"`},
		{"unknown source of a mix", "policy scoring.mix-from=all", `1:8: scoring.mix-from: allot: no mix source "all": there is both, pending, running, given`},
		{"unknown knob of scoring", "policy scoring.mix=all", `1:8: policy takes no argument "scoring.mix"`},
		{"lose no device", cluster + "lose n0[2]", `3:6: node "n0" has no device 2`},
		{"skip beyond the plan", cluster + "submit q/w\nsolve quiet\napply skip=0,1", `5:7: the plan has no action 1`},
		{"apply what", cluster + "solve quiet\napply only=1", `4:7: apply takes no argument "only"`},
		{"skip no number", cluster + "solve quiet\napply skip=a", `4:7: skip: "a" is no number`},
		{"exit without action", "policy exit=3006", `1:8: exit: "3006" is not CODE:ACTION`},
		{"unknown exit", cluster + "submit q/w exit=1:retry", `3:12: exit: allot: no exit "retry": there is reschedule, fail`},
		{"unknown protection", "queue q min-runtime.moves=1", `1:9: queue takes no argument "min-runtime.moves"`},
		{"runtime without value", "policy min-runtime.preempt", `1:8: min-runtime.preempt needs a value`},
		{"grace not in seconds", "policy stale-gang-grace=1.5", `1:8: stale-gang-grace: "1.5" is no number`},
		{"unknown reclaim", "policy reclaim=sometimes", `1:8: reclaim: preempt: no Reclaim "sometimes": there is quota-and-share, quota, off`},
		{"unknown argument of a budget", "budget us max-running=1", `1:11: budget takes no argument "max-running"`},
		{"no such budget", "remove budget us", `1:15: there is no "us"`},
		{"remove what", "remove owner us", `1:8: remove takes nodes, queue, pool, budget or reservation`},
		{"unknown step", cluster + "submit q/w step=tripling", `3:12: step: gang: no Step "tripling": there is by-one, halving`},
		{"no levels", "levels", `1:1: levels needs their names, the widest first, or none`},
		{"domain of no level", "levels rack\nnodes n0 block=b", `2:10: nodes takes no argument "block"`},
		{"domain twice", "levels rack\nnodes n0 rack=a rack=b", `2:17: rack is given twice`},
		{"link of one", "nodes n0 gpu=2 links=0:1", `1:16: links: "0:1" is not A-B:NVLINKS`},
		{"link without number", "nodes n0 gpu=2 links=0-1", `1:16: links: "0-1" is not A-B:NVLINKS`},
		{"socket without number", "nodes n0 gpu=2 sockets=0-1", `1:16: sockets: "0-1" is not DEVICES:NUMBER`},
		{"unknown mode", cluster + "submit q/w mode=heap", `3:12: mode: gang: no Mode "heap": there is pack, balance, spread`},
		{"unknown island", cluster + "submit q/w gpu=1 island=atoll", `3:18: island: placement: no Island "atoll": there is any, socket, switch, nvlink`},
		{"slices without level", cluster + "submit q/w tasks=4 slices=2", `3:20: slices: "2" is not SIZE@LEVEL`},
		{"constraint twice", cluster + "submit q/w require=rack require=block", `3:25: require is given twice`},
		{"constraint of a group twice", cluster + "submit q/w group=g require=rack tasks=2 require=block in=g", `3:41: require is given twice`},
		{"unknown fitting", "policy fitting=tight", `1:8: fitting: gang: no Fitting "tight": there is any-nodes, whole-nodes, mixed-whole-nodes`},
		{"not UTF-8", "queue q\n# \xff", `2:3: the text is not UTF-8`},
		{"control character", "queue q\x00", `1:8: a control character, '\x00', stands in the text`},
		{"control character in an output", "check\n----\nvalid\x1b", `3:6: a control character, '\x1b', stands in the text`},
		{"bar before nothing", "queue q |", `1:9: there is no statement behind '|'`},
		{"bar behind nothing", "queue q || queue r", `1:10: there is no statement before '|'`},
		{"separator in a name", "pool a:b", `1:6: a:b must be quoted, for its ':'`},
		{"dots in a name", "revision a..b", `1:10: a..b must be quoted, for its dots`},
		{"empty name", "nodes n0,,n1", `1:7: a name is missing: the empty one is ""`},
		{"name without quotes of its own", "queue `\"q\"`", "1:7: `\"q\"` is neither bare nor quoted as a whole"},
		{"empty value", "queue q parent=", `1:9: parent needs a value`},
		{"plus", "queue q tier=+1", `1:9: tier: "+1" is no number`},
		{"effect missing", "nodes n0 taint=k:", `1:10: taint: a value is missing`},
		{"hour of one digit", "now 2026-11-20T1:00:00Z", `1:5: "2026-11-20T1:00:00Z" is no time of RFC 3339`},
		{"comma in a time", "now 2026-11-20T01:00:00,5Z", `1:5: "2026-11-20T01:00:00,5Z" is no time of RFC 3339`},
		{"part of a device unhealthy", "nodes n0 gpu=1 unhealthy=0:0.5", `1:16: unhealthy is a device as a whole`},
		{"socket of no device", "nodes n0 gpu=2 sockets=:1", `1:16: sockets: "" is no number`},
		{"no device lost", cluster + "lose n0[]", `3:6: "" is no number`},
		{"fewer than none", cluster + "run q/w only=-1", `3:9: only: "-1" is no number`},
		{"ending twice", cluster + "run q/w gpu=1 | terminate q/w ending ending", `3:38: ending is given twice`},
		{"more tasks than there are places", cluster + "run q/w tasks=2147483647", `3:1: workload "w" has more than 1048576 tasks to place`},
		{"unread, as the state has faults", "queue q parent=q\nsolve frobnicate", `2:7: solve takes no argument "frobnicate"`},
		{"queue outside a form", cluster + "submit q/w queue=r", `3:12: queue= stands behind 'or'`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := State(test.text)
			var located *Error
			if !errors.As(err, &located) || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// TestDecimal: amounts are read exactly or not at all.
func TestDecimal(t *testing.T) {
	tests := []struct {
		text  string
		scale int64
		want  int64
		ok    bool
	}{
		{"0.5", 1000, 500, true},
		{"-0.5", 1000, -500, true},
		{"1.250", 1000, 1250, true},
		{"0.0005", 1000, 0, false},
		{"1.5", 1 << 30, 3 << 29, true},
		{"0.1", 1 << 30, 0, false},
		{"0.000000000931322574615478515625", 1 << 30, 0, false}, // too many decimals to be meant
		{"9223372036854775807", 1, math.MaxInt64, true},
		{"9223372036854775808", 1, 0, false},
		{"9223372036854775.807", 1000, math.MaxInt64, true},
		{"9223372036854775.808", 1000, 0, false},
		{"", 1, 0, false},
		{".5", 1000, 0, false},
		{"5.", 1000, 0, false},
		{"1e3", 1, 0, false},
		{"+1", 1, 0, false},
		{"1.2.3", 1000, 0, false},
	}
	for _, test := range tests {
		got, err := decimal(test.text, test.scale)
		if got != test.want || (err == nil) != test.ok {
			t.Errorf("decimal(%q, %d) = %d, %v, want %d, %v", test.text, test.scale, got, err, test.want, test.ok)
		}
	}
}

// TestAmountsReadBack: what is written of an amount or a time is read as it.
func TestAmountsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Int64Range(-allot.MaxAmount, allot.MaxAmount).Draw(t, "value")
		for _, resource := range []string{allot.GPU, allot.CPU, allot.Memory, "other"} {
			if back, err := amount(resource, formatAmount(resource, value)); back != value || err != nil {
				t.Fatalf("%s: %d, %v from %s", resource, back, err, formatAmount(resource, value))
			}
		}
		moment := epoch.Add(time.Duration(rapid.Int64().Draw(t, "nanoseconds")))
		if back, err := instant(formatInstant(moment)); !back.Equal(moment) || err != nil {
			t.Fatalf("%v, %v from %s", back, err, formatInstant(moment))
		}
	})
}

// TestInstants are the forms of a time.
func TestInstants(t *testing.T) {
	tests := []struct {
		text string
		want time.Time
	}{
		{"90", epoch.Add(90 * time.Second)},
		{"1.5", epoch.Add(1500 * time.Millisecond)},
		{"90s", epoch.Add(90 * time.Second)},
		{"2m", epoch.Add(2 * time.Minute)},
		{"1.5h", epoch.Add(90 * time.Minute)},
		{"1d", epoch.Add(24 * time.Hour)},
		{"7us", epoch.Add(7 * time.Microsecond)},
		{"2026-11-20T12:00:00+01:00", time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)},
		{"unset", time.Time{}},
	}
	for _, test := range tests {
		got, err := instant(test.text)
		if !got.Equal(test.want) || err != nil {
			t.Errorf("instant(%q) = %v, %v, want %v", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "soon", "1w", "2026-99-99T00:00:00Z", "0.5ns"} {
		if got, err := instant(text); err == nil {
			t.Errorf("instant(%q) = %v, want an error", text, got)
		}
	}
}

// TestNames: ranges of names read and written.
func TestNames(t *testing.T) {
	tests := []struct {
		text  string
		names []string
	}{
		{"a", []string{"a"}},
		{"n8..n11", []string{"n8", "n9", "n10", "n11"}},
		{"n08..n10", []string{"n08", "n09", "n10"}},
		{"n0..n2,m1,x7..x8", []string{"n0", "n1", "n2", "m1", "x7", "x8"}},
		{`"n0..n2"`, []string{"n0..n2"}},
		{"n09,n010", []string{"n09", "n010"}},
		{"n0,n2", []string{"n0", "n2"}},
		{"0..2", []string{"0", "1", "2"}},
	}
	for _, test := range tests {
		names, err := expand(test.text)
		if err != nil || !slices.Equal(names, test.names) {
			t.Errorf("expand(%s) = %q, %v, want %q", test.text, names, err, test.names)
		}
		if text := formatNames(test.names); text != test.text {
			t.Errorf("formatNames(%q) = %s, want %s", test.names, text, test.text)
		}
	}
}

// TestNamesReadBack: every list of names comes back.
func TestNamesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string {
			prefix := rapid.SampledFrom([]string{"", "n", "n0", "a-"}).Draw(t, "prefix")
			width := rapid.IntRange(1, 3).Draw(t, "width")
			return fmt.Sprintf("%s%0*d", prefix, width, rapid.IntRange(0, 12).Draw(t, "number"))
		})
		names := rapid.SliceOfN(name, 1, 8).Draw(t, "names")
		from := rapid.IntRange(0, 99).Draw(t, "from")
		for n := range rapid.IntRange(0, 12).Draw(t, "more") {
			names = append(names, fmt.Sprintf("x%d", from+n))
		}
		back, err := expand(formatNames(names))
		if err != nil || !slices.Equal(names, back) {
			t.Fatalf("%q, %v from %s for %q", back, err, formatNames(names), names)
		}
	})
}

// TestRun: blocks share a state, and only what is printed is output.
func TestRun(t *testing.T) {
	const text = `# A title: and more.
nodes n0 gpu=2 | queue q  # a comment
submit q/a gpu=1

submit q/b gpu=1
solve
----
stale

apply
check
----
`
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "A title: and more." || len(s.Blocks) != 2 || s.Blocks[0].Expected != "stale\n" {
		t.Fatalf("title %q, blocks %+v", s.Title, s.Blocks)
	}
	outputs, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"start q/a n0[0]\nstart q/b n0[1]\n", "valid\n"}
	if !slices.Equal(outputs, want) {
		t.Fatalf("outputs %q, want %q", outputs, want)
	}
	rewritten := strings.Replace(text, "stale\n", want[0], 1) + want[1]
	if got := s.Rewrite(outputs); got != rewritten {
		t.Errorf("rewritten\n%s\nwant\n%s", got, rewritten)
	}
}

// TestFaultsArePrinted: a state that is no state is output, not an error.
func TestFaultsArePrinted(t *testing.T) {
	s, err := Parse("nodes n0 gpu=1\nqueue a parent=b\nqueue b parent=a\nsolve\n----\n")
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(outputs[0], "fault cycle ") {
		t.Errorf("output %q", outputs[0])
	}
}

// TestSkip: what is left out of a plan has not happened.
func TestSkip(t *testing.T) {
	state, err := State("nodes n0 gpu=2 | queue q | submit q/w0..w2 gpu=1\nsolve quiet\napply skip=0")
	if err != nil {
		t.Fatal(err)
	}
	var held []int
	for _, o := range state.Workloads {
		held = append(held, len(o.Tasks))
	}
	if !slices.Equal(held, []int{0, 1, 0}) {
		t.Errorf("tasks %d", held)
	}
}

// TestLifecycle follows a task through its phases.
func TestLifecycle(t *testing.T) {
	steps := []struct{ statements, want string }{
		{"nodes n0 gpu=2 | submit w tasks=2 gpu=1", "submit w at=1s tasks=2 gpu=1"},
		{"run w only=1", "run w since=2s on n0[0]"},
		{"terminate w", "terminate w since=2s on n0[0]"},
		{"claim w on 1@n0[1]", "terminate w since=2s on n0[0] claim w since=3s on n0[1]"},
		{"left", "claim w since=3s on 1@n0[1]"},
		{"terminate w", ""},
		{"run w", "run w since=4s on n0[0] n0[1]"},
		{"terminate w ending", "terminate w since=4s on n0[0] n0[1]"},
	}
	text := ""
	for _, step := range steps {
		text += step.statements + "\n"
		state, err := State(text)
		if err != nil {
			t.Fatalf("%s: %v", step.statements, err)
		}
		tasks := strings.Join(formatTasks(&state.Workloads[0]), " ")
		if tasks == "" && step.want != "" {
			tasks = formatDefinition(&state.Workloads[0])
		}
		if tasks != step.want {
			t.Errorf("%s: %q, want %q", step.statements, tasks, step.want)
		}
	}
	if state, err := State(text + "left"); err != nil || len(state.Workloads) != 0 {
		t.Errorf("what ended for good is still there: %v, %v", state, err)
	}
}
