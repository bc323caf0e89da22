package explain

import (
	"strings"
	"testing"

	"github.com/allotsched/allot/sim/scenario"
)

// TestHelpTogether are scenarios in which w waits for more than one thing, and what
// would help it (X3): the least of each, in the unit of the resource.
func TestHelpTogether(t *testing.T) {
	for _, test := range []struct{ name, state, want string }{
		{
			"half a GPU is missing, and not a whole one",
			`policy preset=runai
nodes n0 gpu=2
queue d quota=unlimited | queue d/p quota=1
run d/p/a build gpu=0.7
submit d/p/w build gpu=0.5`,
			`w would start with any one of these
other-class: put it into class interactive-preemptible
other-class: put it into class train
be-preemptible: let it be preemptible
more-quota: raise the quota of queue d/p from 1 GPU to 1.2 GPUs (0.2 GPU more)
end-of: the end of workload a
`,
		},
		{
			"the quotas of all queues on the way bind, each by its own amount",
			`policy preset=runai
nodes n0 gpu=8
queue o quota=6 | queue o/d quota=3 | queue o/d/p quota=1
run o/d/p/a build gpu=1 | run o/d/p2/b build gpu=1
queue o/d/p2 quota=1
submit o/d/p/w build gpu=5`,
			`w would start with any one of these
other-class: put it into class interactive-preemptible
other-class: put it into class train
be-preemptible: let it be preemptible
more-quota: raise the quota of queue o/d/p from 1 GPU to 6 GPUs (5 GPUs more), and raise the quota of queue o/d from 3 GPUs to 7 GPUs (4 GPUs more), and raise the quota of queue o from 6 GPUs to 7 GPUs (1 GPU more)
`,
		},
		{
			"memory and CPUs are short of quota, each in its unit",
			`nodes n0 cpu=8 memory=8Gi
queue q cpu.quota=2 memory.quota=1Gi
submit q/w non-preemptible cpu=2.5 memory=1073741827`,
			`w would start with any one of these
be-preemptible: let it be preemptible
more-quota: raise the quota of queue q from 2 CPUs to 2.5 CPUs (0.5 CPU more), and raise the quota of queue q from 1 GiB to 1073741827 bytes (3 bytes more)
`,
		},
		{
			"a quota and room are short",
			`policy reclaim=off preempt=off no-consolidation
nodes n0 gpu=2
queue q quota=1 | queue o quota=1
run o/a non-preemptible gpu=1
submit q/w non-preemptible gpu=2`,
			`w would start with any one of these
be-preemptible: let it be preemptible, and the end of workload a
be-preemptible: let it be preemptible, and add 2 GPUs: 1 node like n0
more-quota: raise the quota of queue q from 1 GPU to 2 GPUs (1 GPU more), and the end of workload a
more-quota: raise the quota of queue q from 1 GPU to 2 GPUs (1 GPU more), and add 2 GPUs: 1 node like n0
`,
		},
		{
			"a taint and a label keep it away",
			`nodes n0 gpu=1 taint=team=red:NoSchedule
submit w gpu=1 selector=zone:a`,
			`w would start with any one of these
tolerate: tolerate the taint team=red (NoSchedule), and do not ask for the label zone
`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := scenario.State(test.state)
			if err != nil {
				t.Fatal(err)
			}
			h, err := WhatHelps(t.Context(), decide(t, s), "w", HelpSearch{})
			if err != nil {
				t.Fatal(err)
			}
			got := h.String()
			got = got[:strings.LastIndexByte(got[:len(got)-1], '\n')+1] // without the count of solves
			if got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}
