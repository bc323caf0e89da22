package explain

import (
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim/scenario"
)

// A scene is a state and what is asked about it.
type scene struct {
	title, state string
	workloads    []string
	queues       []string
	arrival      *allot.Workload
}

var scenes = []scene{
	{
		title: "16 GPUs are free, and the job of 16 waits",
		state: `
nodes n0..n3 gpu=8
queue team quota=32
run team/a gpu=4 on n0[0-3] | run team/b gpu=4 on n1[0-3] | run team/c gpu=4 on n2[0-3] | run team/d gpu=4 on n3[0-3]
submit team/job tasks=2 gpu=8 non-preemptible
policy no-consolidation
`,
		workloads: []string{"job", "a"},
		queues:    []string{"team"},
	},
	{
		title: "What was borrowed goes, and not what is within the quota (R7)",
		state: `
policy preset=osmo
nodes n0 gpu=4
queue q1 quota=2 | queue q2 quota=2
run q1/wf1 normal gpu=1 | run q1/wf2 low gpu=1 | run q1/wf3 low gpu=1
run q2/wf4 normal gpu=1
submit q2/wf5 normal gpu=1
`,
		workloads: []string{"wf5", "wf3", "wf2"},
		queues:    []string{"q1", "q2"},
	},
	{
		title: "Departments: shares by quota and weight, tier by tier",
		state: `
nodes n0..n4 gpu=8
queue north quota=16 | queue south quota=8
queue north/a quota=8 weight=2 | queue north/b quota=4 weight=1 | queue north/c weight=3 tier=1 limit=6
queue south/d quota=8
run north/a/a1..a10 gpu=1
run south/d/d1..d12 gpu=1
submit north/a/more tasks=8 min=1 gpu=1
submit north/b/wants tasks=10 min=1 gpu=1
submit north/c/first tasks=8 min=1 gpu=1
`,
		workloads: []string{"d12", "wants"},
		queues:    []string{"north/a", "north/c", "south/d"},
	},
	{
		title: "Places: the younger goes, the protected stay, and priority decides in the queue",
		state: `
policy min-runtime.preempt=60
nodes n0..n2 gpu=2
queue q quota=6
run q/old gpu=2 | run q/high priority=9 gpu=2
run q/new since=200s gpu=1 | run q/newer since=255s gpu=1
submit q/top priority=5 gpu=1
submit q/never gpu=3
submit q/late gpu=2 non-preemptible
now 260s
`,
		workloads: []string{"new", "never", "late", "top"},
	},
	{
		title: "Who goes if vision asks for four more?",
		state: `
nodes n0..n1 gpu=8
queue search quota=6 | queue vision quota=10
run search/index gpu=4 | run search/rank gpu=3 | run search/tune gpu=2 | run vision/detect gpu=6
submit search/extra gpu=1
`,
		arrival: &allot.Workload{Queue: "vision", PodSets: []allot.PodSet{{Count: 4, Request: allot.Request{GPU: allot.GPURequest{Count: 1}}}}},
	},
}

// X4: the texts of explanations are golden.
func TestExplainText(t *testing.T) {
	var b strings.Builder
	for _, scene := range scenes {
		b.WriteString("# " + scene.title + "\n\n")
		state, err := scenario.State(scene.state)
		if err != nil {
			t.Fatal(scene.title, err)
		}
		d := decide(t, state)
		for _, id := range scene.workloads {
			e, err := Workload(t.Context(), d, id)
			if err != nil {
				t.Fatal(scene.title, err)
			}
			b.WriteString(e.String() + "\n")
		}
		for _, id := range scene.queues {
			e, err := Queue(t.Context(), d, id)
			if err != nil {
				t.Fatal(scene.title, err)
			}
			b.WriteString(e.String() + "\n")
		}
		if scene.arrival != nil {
			e, err := Reclaim(t.Context(), d, *scene.arrival)
			if err != nil {
				t.Fatal(scene.title, err)
			}
			b.WriteString(e.String() + "\n")
		}
	}
	golden(t, "explain.golden", b.String())
}

// The parts of an answer have texts of their own (X4).
func TestPartsText(t *testing.T) {
	level := QueueLevel{Share: allot.Share{Queue: "q2", Resource: allot.GPU}}
	if got := level.String(); !strings.HasPrefix(got, level.Share.String()) || !strings.HasSuffix(got, " line=- quota-left=- line-left=- limit-left=-") {
		t.Error(got)
	}
	for want, fit := range map[string]Fit{ // each by itself
		"would start: n0[0-3]":                                {OK: true, Tasks: []allot.Placement{{Node: "n0", Devices: []int{0, 1, 2, 3}}}},
		"would start in form 1 in room that is made for it":   {OK: true, Room: true, Form: 1},
		"would not start; by quotas and limits: within-quota": {Availability: 0},
		"would start: w[0-1] n0*2 v[2] n1":                    {OK: true, Tasks: []allot.Placement{{PodSet: "w", Node: "n0"}, {PodSet: "w", Index: 1, Node: "n0"}, {PodSet: "v", Index: 2, Node: "n1"}}},
	} {
		if got := fit.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
