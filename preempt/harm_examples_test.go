package preempt_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// The oracle of least harm on the worked examples, with the answers that SPEC
// and SCENARIOS give, by hand.
func TestHarmOracleExamples(t *testing.T) {
	for _, row := range harmExamples {
		t.Run(row.name, func(t *testing.T) {
			s, err := scenario.State(row.state)
			if err != nil {
				t.Fatal(err)
			}
			if err := allot.Check(s); err != nil {
				t.Fatal(err)
			}
			if got := newHarmCase(s, row.preemptor).best().String(); got != row.want {
				t.Errorf("takes %q, want %q", got, row.want)
			}
		})
	}
}

// The scenarios of testdata/harm have the plans that they say, each with the laws.
func TestHarmScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/harm/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, err := scenario.Parse(string(text))
		if err != nil {
			t.Fatalf("%s:%v", file, err)
		}
		outputs, err := scenario.Run(script, scenario.Options{})
		if err != nil {
			t.Fatalf("%s:%v", file, err)
		}
		for i, block := range script.Blocks {
			if difference := cmp.Diff(block.Expected, outputs[i]); difference != "" {
				t.Errorf("%s:%d: -want +got\n%s", file, block.Line, difference)
			}
		}
	}
}

// What the oracle would do, or what would be lawful, in the scenarios of
// testdata/harm, where Solve finds nothing or worse: a comment says so before the
// solve.
func TestHarmMisses(t *testing.T) {
	files, err := filepath.Glob("testdata/harm/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios, error %v", len(files), err)
	}
	said := regexp.MustCompile(`(?m)^# (oracle of|lawful for) (\S+): (.*)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\nreset\n") {
			answer := said.FindStringSubmatch(part)
			if answer == nil {
				continue // nothing is lawful
			}
			state, _, _ := strings.Cut(part, "\nsolve")
			s, err := scenario.State(state)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			c := newHarmCase(s, answer[2])
			got, lawful := c.best().String(), c.exists().String()
			if answer[1] == "lawful for" && got == "" {
				got = lawful
			}
			if got != answer[3] {
				t.Errorf("%s: %s is %q, lawful %q", file, answer[0], got, lawful)
			}
		}
	}
}

var harmExamples = []struct{ name, preemptor, want, state string }{
	{"R7: the borrowed part goes", "wf5", "reclaim by quota: wf3", `
		policy preset=osmo
		nodes n0 gpu=4
		queue q1 quota=2 | queue q2 quota=2
		run q1/wf1 normal gpu=1 | run q1/wf2 low gpu=1 | run q1/wf3 low gpu=1 | run q2/wf4 normal gpu=1
		submit q2/wf5 normal gpu=1`},
	{"R7: shares in whole granules", "b", "reclaim by share: x", `
		nodes n0 gpu=7
		queue q0 quota=2 weight=2 | queue q1 quota=1 weight=1
		run q0/a1..a4 gpu=1 | run q1/x gpu=3
		submit q0/b gpu=1`},
	{"R7: a department blocks its child", "b", "", `
		nodes n0 gpu=4
		queue d0 quota=1 | queue d1 quota=1
		queue d0/q0 quota=3 | queue d1/q1 quota=1
		run d0/q0/a1..a2 gpu=1 | run d1/q1/x1..x2 gpu=1
		submit d0/q0/b gpu=1`},
	{"R7: a hopeless gang hurts nobody", "b", "", `
		nodes n0..n3 gpu=1
		queue q0 quota=0 | queue q1 quota=2
		run q0/x1..x4 gpu=1
		submit q1/b tasks=4 gpu=1 selector=zone:a`},
	{"R7: a single, not the gang", "b", "reclaim by quota: s3", `
		nodes n0 gpu=7
		queue q0 quota=3 | queue q1 quota=1
		run q0/g tasks=4 gpu=1 priority=1 | run q0/s1..s3 gpu=1
		submit q1/b gpu=1`},
	{"R9: either the single or the gang", "b", "reclaim by quota: g", `
		nodes n0 gpu=4
		queue q0 quota=2 | queue q1 quota=2
		run q0/g tasks=3 gpu=1 priority=1 | run q0/s gpu=1
		submit q1/b gpu=2`},
	{"R4: what straddles is spared", "b", "", `
		policy straddle=spare
		nodes n0 gpu=4
		queue q0 quota=2 | queue q1 quota=2
		run q0/g tasks=3 gpu=1 priority=1 | run q0/s gpu=1
		submit q1/b gpu=2`},
	{"R3: who is over fair share first", "b", "reclaim by quota: a4", `
		nodes n0 gpu=6
		queue q0 quota=0 weight=2 | queue q1 quota=0 weight=1 | queue q2 quota=2 weight=0
		run q0/a1..a4 gpu=1 priority=9 | run q1/x1..x2 gpu=1
		submit q2/b gpu=1`},
	{"R8: below a side its own queues within quota give last", "b", "reclaim by quota: y", `
		nodes n0 gpu=4
		queue d0 quota=2 | queue d1 quota=2
		queue d0/q0 quota=2 | queue d0/q1 quota=0 | queue d1/q2 quota=2
		run d0/q1/y gpu=1 priority=5 | run d0/q0/x1..x2 gpu=1 | run d1/q2/z gpu=1
		submit d1/q2/b gpu=1`},
	{"G2: both singles, not the five", "b", "reclaim by share: s2 s1", `
		nodes n0 gpu=8
		queue q0 quota=4 weight=4 | queue q1 quota=2 weight=2
		run q0/five gpu=5 | run q0/s1..s2 gpu=1
		submit q1/b gpu=3`},
	{"G4: the Train goes, Build never", "b", "reclaim by quota: train", `
		policy preset=runai
		nodes n0..n1 gpu=3
		queue d1 quota=2 | queue d2 quota=2
		queue d1/q0 quota=4 | queue d2/q1 quota=2
		run d1/q0/train gpu=2 on n0[0-1] | run d1/q0/build build gpu=2 on n1[0-1]
		submit d2/q1/b gpu=2`},
	{"G5: sibling first", "b", "reclaim by quota: new", `
		policy preset=runai
		nodes n0 gpu=6
		queue d1 quota=3 | queue d2 quota=3
		queue d1/q0 quota=3 | queue d2/q1 quota=2 | queue d2/q2 quota=1
		run d1/q0/x1..x3 gpu=1 | run d2/q1/old gpu=2 | run d2/q1/new gpu=1
		submit d2/q2/b gpu=1`},
	{"G6: a gang is one unit", "b", "reclaim by quota: g", `
		policy preset=runai
		nodes n0..n1 gpu=16
		queue q0 quota=10 | queue q1 quota=10
		run q0/g tasks=2 gpu=10 on n0 n1
		submit q1/b gpu=10`},
	{"G7: the elastic part first", "b", "reclaim by quota: x+1", `
		policy preset=runai
		nodes n0 gpu=3
		queue q0 quota=1 | queue q1 quota=2
		run q0/x tasks=2 min=1 gpu=1
		submit q1/b tasks=3 min=2 gpu=1`},
	{"G8: the newer half moves", "b", "consolidate: y", `
		policy preset=runai
		nodes n0..n1 gpu=1
		queue q0 quota=0 | queue q1 quota=0 | queue q2 quota=2
		run q0/x gpu=0.5 on n0 | run q1/y gpu=0.5 on n1
		submit q2/b gpu=1`},
	{"G8: the newer one goes", "b", "reclaim by quota: y", `
		policy preset=runai
		nodes n0..n1 gpu=1
		queue q0 quota=0 | queue q1 quota=0 | queue q2 quota=2
		run q0/x gpu=0.7 on n0 | run q1/y gpu=0.7 on n1
		submit q2/b gpu=1`},
	{"A4: one move", "b", "consolidate: y", `
		policy preset=runai20
		nodes n0..n1 gpu=4
		queue q0 quota=8
		run q0/x gpu=2 on n0[0-1] | run q0/y gpu=2 on n1[0-1]
		submit q0/b gpu=4`},
	{"E5: the lower priority goes", "wf5", "preempt: wf1", `
		policy preset=osmo
		nodes n0 gpu=2
		queue q quota=2
		run q/wf1 low gpu=1 | run q/wf2 normal gpu=1
		submit q/wf5 normal gpu=1`},
	{"D14: the node without the oldest", "b", "preempt: x8 x6 x4 x2", `
		policy preset=determined-priority preempt=pool
		nodes n0..n1 gpu=4
		queue q0 | queue q1
		run q0/x1 priority=9 gpu=1 on n0[0] | run q0/x2 priority=9 gpu=1 on n1[0]
		run q0/x3 priority=9 gpu=1 on n0[1] | run q0/x4 priority=9 gpu=1 on n1[1]
		run q0/x5 priority=9 gpu=1 on n0[2] | run q0/x6 priority=9 gpu=1 on n1[2]
		run q0/x7 priority=9 gpu=1 on n0[3] | run q0/x8 priority=9 gpu=1 on n1[3]
		submit q1/b priority=1 gpu=4`},
	{"E8: as much is released as is started", "b", "preempt: z y x", `
		policy no-consolidation
		nodes n0 gpu=4
		queue q0 quota=0 | queue q1 quota=4
		run q0/x gpu=1 | run q0/y gpu=1 | run q0/z gpu=1
		submit q0/b gpu=3 priority=1 | submit q1/w gpu=4`},
	{"E8: not more is started than is released", "b", "", `
		policy no-consolidation
		nodes n0 gpu=4
		queue q0 quota=0 | queue q1 quota=4
		run q0/x gpu=1 | run q0/y gpu=1 | run q1/z gpu=1
		submit q0/b gpu=3 priority=1 | submit q1/w gpu=3`},
	{"E7: what is protected yields only to what will be", "b", "", `
		policy no-consolidation
		nodes n0 gpu=2
		queue q0 quota=1 | queue q1 quota=1
		run q0/x gpu=1 | run q1/z gpu=1 non-preemptible
		submit q0/b gpu=2 priority=1`},
	{"R10 1: by share against the lower share", "a", "", `
		nodes n0 gpu=1 | nodes n1 gpu=4
		queue q0 quota=2 weight=0 | queue q1 quota=0 weight=1
		run q0/b tasks=2 gpu=1 priority=1 on n1[0] n1[1]
		submit q0/a tasks=3 gpu=1 priority=2 | submit q1/x tasks=3 gpu=1`},
	{"R10 2: quota takes the gang", "b", "reclaim by quota: A", `
		nodes n0 gpu=8
		queue q0 quota=0 weight=1 | queue q1 quota=1 weight=0 | queue q2 quota=0 weight=0
		run q2/n gpu=2 non-preemptible | run q0/A tasks=2 gpu=3
		submit q1/B gpu=2 | submit q1/b gpu=1`},
	{"R10 2: two are beyond quota and share", "B", "", `
		nodes n0 gpu=8
		queue q0 quota=0 weight=1 | queue q1 quota=1 weight=0 | queue q2 quota=0 weight=0
		run q2/n gpu=2 non-preemptible | run q0/A tasks=2 gpu=3
		submit q1/B gpu=2 | submit q1/b gpu=1`},
	{"R10 3: d1 has no line, d0 takes the place", "b", "reclaim by quota: x", `
		nodes n0 gpu=2
		queue d0 quota=2 | queue d1 quota=0
		queue d0/q2 quota=0 | queue d0/q3 quota=1 | queue d1/q4 quota=0
		run d0/q2/n gpu=1 non-preemptible | run d1/q4/x gpu=1
		submit d0/q3/b gpu=1`},
	{"R10 4: the gang of five goes for one", "new", "reclaim by quota: five", `
		nodes n0 gpu=9
		queue q0 quota=0 weight=0 | queue q1 quota=0 weight=1 | queue q2 quota=1 weight=0
		run q0/n gpu=4 non-preemptible | run q1/five tasks=5 gpu=1
		submit q2/old gpu=2 | submit q2/new gpu=1`},
	{"R10 4: the five do not come back over it", "five", "", `
		nodes n0 gpu=9
		queue q0 quota=0 weight=0 | queue q1 quota=0 weight=1 | queue q2 quota=1 weight=0
		run q0/n gpu=4 non-preemptible | run q2/new gpu=1
		submit q2/old gpu=2 | submit q1/five tasks=5 gpu=1`},
}
