package explain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// TestHelpText has the words of every kind of remedy (X4).
func TestHelpText(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		remedy Remedy
		want   string
	}{
		{Remedy{Kind: WaitUntil, Change: allot.Change{Now: at}}, "wait until 2026-11-21T10:00:00Z, when what may go is protected no more"},
		{Remedy{Kind: WaitForLeaving, Workloads: []string{"a", "b c"}}, `wait until what is terminating of workloads a "b c" is gone`},
		{Remedy{Kind: SubmitTasks, Amount: 1, PodSet: "workers"}, "submit 1 more task of workers"},
		{Remedy{Kind: Tolerate, Taint: &placement.Taint{Key: "dedicated", Value: "ml"}}, "tolerate the taint dedicated=ml (NoSchedule)"},
		{Remedy{Kind: DropSelector, Name: "zone"}, "do not ask for the label zone"},
		{
			Remedy{Kind: DropSelector, Expression: &placement.Expression{Key: "zone", Operator: placement.In, Values: []string{"a", "b"}}},
			"do not ask for zone In a b",
		},
		{Remedy{Kind: AcceptModel, Name: "A100"}, "accept devices of model A100"},
		{Remedy{Kind: DropMinMemory}, "accept devices of less memory"},
		{Remedy{Kind: WiderDomain, Name: "rack"}, "do not ask for one domain of level rack"},
		{Remedy{Kind: WiderDomain, Name: "rack", Level: "block"}, "ask for one domain of level block instead of rack"},
		{Remedy{Kind: LessMinimum, From: 8, To: 6, Amount: 2, Form: 1}, "form 1: start with at least 6 tasks instead of 8"},
		{Remedy{Kind: LessGroupMinimum, Name: "replicas", From: 3, To: 1}, "let group replicas need 1 of its parts instead of 3"},
		{Remedy{Kind: ShorterDuration, From: 7200, To: 3600, Amount: 3600}, "say that it takes 1h0m0s at most instead of 2h0m0s"},
		{Remedy{Kind: ShorterDuration, To: 90}, "say that it takes 1m30s at most"},
		{Remedy{Kind: OtherPriority, From: 50, To: 51}, "give it priority 51 instead of 50"},
		{Remedy{Kind: OtherClass, Name: "LOW"}, "put it into class LOW"},
		{Remedy{Kind: BePreemptible}, "let it be preemptible"},
		{Remedy{Kind: OtherQueue, Queue: "q1"}, "submit it to queue q1"},
		{Remedy{Kind: OtherPool, Pool: "p1"}, "submit it to pool p1"},
		{Remedy{Kind: OtherPool, Pool: "p1", Queue: "q1"}, "submit it to queue q1 of pool p1"},
		{Remedy{Kind: Uncordon, Node: "n0"}, "uncordon node n0"},
		{Remedy{Kind: MoreWorkloads, Queue: "q1", From: 2, To: 3}, "let queue q1 run 3 workloads instead of 2"},
		{
			Remedy{Kind: MoreQuota, Queue: "q1", Resource: allot.GPU, From: 4000, To: 5500, Amount: 1500},
			"raise the quota of queue q1 from 4 GPUs to 5.5 GPUs (1.5 GPUs more)",
		},
		{
			Remedy{Kind: MoreLimit, Queue: "q1", Resource: allot.GPU, Class: "A100", From: 0, To: 1000, Amount: 1000},
			"raise the limit of queue q1 from 0 GPUs of A100 to 1 GPU of A100 (1 GPU more)",
		},
		{
			Remedy{Kind: MoreBorrowing, Queue: "q1", Resource: allot.Memory, From: 1 << 30, To: 3 << 30, Amount: 2 << 30},
			"raise the borrowing limit of queue q1 from 1 GiB to 3 GiB (2 GiB more)",
		},
		{
			Remedy{Kind: MoreLending, Queue: "q1", Resource: "fpga", From: 1, To: 2, Amount: 1},
			"raise the lending limit of queue q1 from 1 fpga to 2 fpga (1 fpga more)",
		},
		{
			Remedy{Kind: EndOf, Workloads: strings.Fields("a b c d e f g h i j"), Effects: Effects{Starts: []string{"z"}}},
			"the end of workloads a b c d e f g h and 2 more; also starts z",
		},
		{
			Remedy{Kind: MoreGPUs, Amount: 12, Nodes: 2, Node: "n0", Effects: Effects{Evicted: []string{"a"}, Moved: []string{"b"}, Delayed: []string{"c"}, After: []string{"a", "b", "d"}}},
			"add 12 GPUs: 2 nodes like n0; evicts a; moves b; delays c; runs after the end of d",
		},
		{Remedy{Kind: MoreNodes, Amount: 1, Node: "n0", Level: "rack", Domain: "b1/r2"}, "add 1 node like n0 in rack b1/r2"},
	}
	told := make(map[RemedyKind]bool)
	for _, test := range tests {
		told[test.remedy.Kind] = true
		if got := test.remedy.String(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.remedy.Kind, got, test.want)
		}
	}
	for k := WaitUntil; int(k) < len(remedyNames); k++ {
		if !told[k] {
			t.Errorf("no text of %s", k)
		}
	}
}

// TestHelpOrder: first what disturbs nobody, then by kind, then by what it costs.
func TestHelpOrder(t *testing.T) {
	bad := Effects{Evicted: []string{"a"}}
	order := []Remedy{
		{Kind: SubmitTasks, Amount: 3},
		{Kind: MoreQuota, Queue: "q2", Amount: 1},
		{Kind: MoreQuota, Queue: "q1", Amount: 2},
		{Kind: MoreQuota, Queue: "q2", Amount: 2},
		{Kind: MoreGPUs, Amount: 1},
		{Kind: WaitUntil, Amount: 1, Effects: bad},
		{Kind: MoreQuota, Amount: 9, Effects: bad},
		{Kind: MoreQuota, Amount: 1, Effects: Effects{Delayed: []string{"a", "b"}}},
	}
	for i := range order {
		for j := range order {
			if got := compareRemedies(order[i], order[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%d and %d: %d", i, j, got)
			}
		}
	}
}

// TestHelpJSON: what helps is data, of which the JSON says all.
func TestHelpJSON(t *testing.T) {
	s := allot.State{
		Nodes:  []allot.Node{{ID: "n0", Devices: make([]allot.Device, 2)}},
		Queues: []allot.Queue{{ID: "q", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}}},
		Workloads: []allot.Workload{{ID: "w", Queue: "q", Preemption: allot.NonPreemptible, PodSets: []allot.PodSet{{
			Count: 2, Request: allot.Request{GPU: allot.GPURequest{Count: 1}},
		}}}},
	}
	h, err := WhatHelps(t.Context(), decide(t, &s), "w", HelpSearch{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back Help
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, &back, cmpopts.EquateComparable(quota.Bound{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	const want = `w would start with any one of these
less-minimum: start with at least 1 task instead of 2
be-preemptible: let it be preemptible
more-quota: raise the quota of queue q from 1 GPU to 2 GPUs (1 GPU more)
7 solves
`
	if got := h.String(); got != want {
		t.Error(got)
	}
}

// TestHelpNothing says when nothing has to help, and when nothing does.
func TestHelpNothing(t *testing.T) {
	for _, test := range []struct {
		name  string
		state allot.State
		want  string
	}{
		{
			"starts", allot.State{Nodes: []allot.Node{{ID: "n0"}}, Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 1}}}}},
			"w does not wait\n",
		},
		{
			"no nodes", allot.State{Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 1}}}}},
			"w waits, and no one change helps, nor do two together\n1 solve\n",
		},
	} {
		h, err := WhatHelps(t.Context(), decide(t, &test.state), "w", HelpSearch{})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.String(); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
	_, err := WhatHelps(t.Context(), decide(t, new(allot.State)), "w", HelpSearch{})
	if !errors.Is(err, allot.ErrUnknown) || !strings.Contains(err.Error(), `workload "w"`) {
		t.Errorf("nobody knows it: %v", err)
	}
}
