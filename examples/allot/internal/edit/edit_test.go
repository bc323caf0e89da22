package edit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/allotsched/allot/examples/allot/internal/input"
)

const state = `
policy: runai
nodes:
- {id: h1, devices: 4}
- {id: h2, devices: 4}
queues:
- {id: vision, resources: [{resource: gpu, quota: 4, limit: 8}]}
- {id: speech, resources: [{resource: gpu, quota: 4}]}
workloads:
- {id: asr, queue: speech, podSets: [{count: 1, request: {gpu: 4}}]}
`

// change is what edits come to; a file of them holds its argument.
func change(t *testing.T, edits ...Edit) error {
	t.Helper()
	d, err := input.State([]input.File{{Name: "state", Data: []byte(state)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Change(d.State, edits, func(text string) (input.File, error) { return input.File{Name: "file", Data: []byte(text)}, nil })
	return err
}

// A name that is mistyped is an error with the nearest, wherever it stands, and makes nothing new.
func TestMistyped(t *testing.T) {
	for _, c := range []struct{ kind, argument, want string }{
		{"add", "2xh3", `there is no node "h3"; the nearest: h1, h2`},
		{"add", "xh1", "must be COUNTxNODE"},
		{"add", "0xh1", "must be COUNTxNODE"},
		{"cordon", "h1,h22", `there is no node "h22"; the nearest: h2, h1`},
		{"uncordon", "h", `there is no node "h"`},
		{"lose", "", `there is no node ""`},
		{"quota", "visoin=4", `there is no queue "visoin"; the nearest: vision, speech`},
		{"quota", "vision", "must be QUEUE=AMOUNT"},
		{"quota", "vision=many", `"many" must be a number of GPUs, bare or with one of the units`},
		{"limit", "visoin:cpu=4", `there is no queue "visoin"`},
		{"end", "asr,tts", `there is no workload "tts"; the nearest: asr`},
		{"priority", "ars=3", `there is no workload "ars"; the nearest: asr`},
		{"priority", "asr=high", `"high" must be a whole number`},
		{"class", "asr=traim", `there is no class "traim"; the nearest: train`},
		{"to", "asr=visoin", `there is no queue "visoin"`},
		{"submit", "{id: asr, queue: speech, podSets: [{count: 1}]}", `there is a workload "asr" already`},
		{"submit", "{id: new, queue: visoin, podSets: [{count: 1}]}", `job new: there is no queue "visoin"; the nearest: vision, speech`},
		{"change", "queues: [{id: visoin}]", `there is no queue "visoin"; the nearest: vision, speech; what is new stands under "add"`},
		{"change", "nodes: [{id: h3}]", `there is no node "h3"`},
		{"change", "workloads: [{id: tts, podSets: [{count: 1}]}]", `there is no workload "tts"`},
		{"change", "workloads: [{id: asr, queue: visoin, podSets: [{count: 1}]}]", `job asr: there is no queue "visoin"`},
		{"change", "merge: {queues: [{id: visoin}]}", "which has none of that name; the nearest: vision, speech"},
		{"change", "remove: {queues: [visoin]}", `remove: there is no queue "visoin"; the nearest: vision, speech`},
		{"change", "add: {queues: [{id: vision}]}", `add: there is a queue "vision" already`},
		{"change", "add: {queues: [{id: new, parent: visoin}]}", `queue new: there is no queue "visoin"; the nearest: vision, new, speech`},
	} {
		if err := change(t, Edit{c.kind, c.argument}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.kind, c.argument, err, c.want)
		}
	}
}

// What is new is taken where it says so, and one edit knows what another has made.
func TestAdds(t *testing.T) {
	for _, edits := range [][]Edit{
		{{"change", "add: {queues: [{id: guests, resources: [{resource: gpu, quota: 1}]}], workloads: [{id: tour, queue: guests, podSets: [{count: 1}]}]}"}},
		{{"change", "add: {queues: [{id: guests}]}"}, {"submit", "{id: tour, queue: guests, podSets: [{count: 1}]}"}},
		{{"change", "merge: {queues: [{id: vision, parent: all}]}\nadd: {queues: [{id: all}]}\nremove: {workloads: [asr]}"}},
	} {
		if err := change(t, edits...); err != nil {
			t.Errorf("%v: %v", edits, err)
		}
	}
}

// A change of as many nouns as a cluster has is looked through once: to look for the nearest
// of each new name among all would take minutes.
func TestManyNames(t *testing.T) {
	jobs := func(name string) string {
		var out strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&out, "  - {id: %s-%05d, queue: vision, podSets: [{count: 1}]}\n", name, i)
		}
		return out.String()
	}
	if err := change(t, Edit{"submit", jobs("first")}, Edit{"change", "add:\n  workloads:\n" + jobs("second")}, Edit{"submit", jobs("third")}); err != nil {
		t.Errorf("%.200s", err.Error())
	}
}
