package input

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/jsonform"
	"github.com/allotsched/allot/quota"
)

func mustState(t *testing.T, text string) *allot.State {
	t.Helper()
	d, err := State([]File{{"state.yaml", []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return d.State
}

// What people write is what the exact form says.
func TestForPeople(t *testing.T) {
	got := mustState(t, `
policy: {preset: runai, order: deprived, staleGangGrace: 5m}
nodes:
- id: n1
  devices: 2
  capacity: {cpu: 64 cores, memory: 256Gi, rdma: 4}
- id: n2
  devices: [{count: 2, model: H100, memory: 80 GiB}, {model: A100, foreign: 0.5}]
  capacity: {cpu: 0.5, memory: 1000}
queues:
- {id: a, resources: [{resource: gpu, quota: 4 GPUs, limit: unlimited}, {resource: memory, limit: 1Ti}], minRuntime: {reclaim: 90}}
- {id: b, resources: [{resource: gpu, quota: 0.5}]}
workloads:
- &job
  id: x
  queue: a
  podSets: [{count: 2, request: {gpu: 2, resources: {cpu: 500m, rdma: 1}}}]
- {<<: *job, id: y, queue: b}
- {id: z, queue: b, podSets: [{count: 1, request: {gpu: 0.25}}]}
- {id: u, queue: b, podSets: [{count: 1, request: {gpu: 40Gi}}]}
`)
	policy := allot.RunAI()
	if err := policy.Order.UnmarshalText([]byte("deprived")); err != nil {
		t.Fatal(err)
	}
	policy.StaleGangGrace = quota.Of(300)
	h100 := allot.Device{Model: "H100", Memory: quota.GiB(80)}
	sets := []allot.PodSet{{Count: 2, Request: allot.Request{GPU: allot.GPURequest{Count: 2}, Resources: map[string]int64{allot.CPU: 500, "rdma": 1}}}}
	one := func(g allot.GPURequest) []allot.PodSet {
		return []allot.PodSet{{Count: 1, Request: allot.Request{GPU: g}}}
	}
	want := &allot.State{
		Pools: []allot.Pool{{ID: "main", Policy: policy}},
		Nodes: []allot.Node{
			{ID: "n1", Devices: make([]allot.Device, 2), Capacity: map[string]int64{allot.CPU: quota.Cores(64), allot.Memory: quota.GiB(256), "rdma": 4}},
			{ID: "n2", Devices: []allot.Device{h100, h100, {Model: "A100", Foreign: 500}}, Capacity: map[string]int64{allot.CPU: 500, allot.Memory: 1000}},
		},
		Queues: []allot.Queue{
			{ID: "a", MinRuntime: allot.MinRuntime{Reclaim: quota.Of(90)}, Resources: []allot.QueueResource{
				{Resource: allot.GPU, Quota: quota.Of(4000), Limit: quota.Unlimited()}, {Resource: allot.Memory, Limit: quota.Of(quota.GiB(1024))},
			}},
			{ID: "b", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(500)}}},
		},
		Workloads: []allot.Workload{
			{ID: "x", Queue: "a", PodSets: sets}, {ID: "y", Queue: "b", PodSets: sets},
			{ID: "z", Queue: "b", PodSets: one(allot.GPURequest{Milli: 250})}, {ID: "u", Queue: "b", PodSets: one(allot.GPURequest{Memory: quota.GiB(40)})},
		},
	}
	if d := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Error(d)
	}
}

// Every preset by its name is the library's.
func TestPresets(t *testing.T) {
	for _, p := range presets() {
		got := mustState(t, "policy: "+p.Name)
		if d := cmp.Diff(p, got.Pools[0].Policy, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%s: %s", p.Name, d)
		}
	}
}

// A fault has its file, line, noun and what would be right.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"nodes:\n- id: a\n- id: a\n", "x:3: nodes[1].id: must differ from nodes[0].id, is \"a\" (duplicate)"},
		{"nodes:\n- id: a\n  capacity: {cpu: 4 GiB}\n", "x:3: nodes[0].capacity[\"cpu\"]: must be a number of cores, bare or with one of the units cores, core, CPUs, CPU, cpus, cpu, m, is \"4 GiB\" (json-format)"},
		{"nodes:\n- id: a\n  capacity: {cpu: 0.0001}\n", "x:3: nodes[0].capacity[\"cpu\"]: must be a whole number of thousandths of cores, is 0.0001 (json-format)"},
		{"node: []\n", "x:1: node: must not be there: no such field, is [] (json-unknown-field)"},
		{"policy: slurm\n", "x:1: pools[0].policy: must be one of osmo, runai, runai20, determined-fair-share, determined-priority, none, is \"slurm\" (unknown-value)"},
		{"policy: {order: random}\n", "x:1: pools[0] (main).policy.order: must be fair-share, priority-first, global, deprived or share-then-age, is \"random\" (unknown-value)"},
		{"policy: osmo\npools: []\n", "x:1: policy: must be that of a pool where there are pools (exclusive)"},
		{"workloads:\n- id: w\n  podSets: [{count: 1, request: {gpu: 1.5}}]\n", "x:3: workloads[0].podSets[0].request.gpu: must be a number of whole GPUs or a part of one: a part of each of several is count and milli, is 1.5 (out-of-range)"},
		{"a: [\n", "x:1: $: must be YAML or JSON: did not find expected node content (json-syntax)"},
		{"", "x: $: must be a document, and is empty (json-syntax)"},
		{"- a\n", "x:1: $: must be an object with the fields of a state (json-type)"},
		{"{\"nodes\": [{\"id\": \"a\"},]", "x: nodes[1]: must be a value"},
	} {
		_, err := State([]File{{"x", []byte(test.text)}})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.text, err, test.want)
		}
	}
}

// Several files are one state, and a fault is told of the file in which it is.
func TestSeveralFiles(t *testing.T) {
	nodes := File{"nodes.yaml", []byte("now: 2026-01-01T00:00:00Z\nnodes:\n- {id: n, devices: 1}\n")}
	jobs := File{"jobs.yaml", []byte("\nworkloads:\n- {id: a, podSets: [{count: 1}]}\n- {id: b, podSets: [{count: 0}]}\n")}
	_, err := State([]File{nodes, jobs})
	if want := "jobs.yaml:4: workloads[1] (b).podSets[0].count: must be > 0, is 0 (out-of-range)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = State([]File{nodes, {"more.yaml", []byte("now: 2027-01-01T00:00:00Z\n")}})
	if err == nil || !strings.HasPrefix(err.Error(), "more.yaml:1: now: must be said by one file only") {
		t.Errorf("got %v", err)
	}
	if !errors.Is(err, allot.FaultDuplicate) {
		t.Error("the code is lost")
	}
}

// A merge keeps what it does not say, and null takes away.
func TestMerge(t *testing.T) {
	s := mustState(t, `
queues:
- {id: a, resources: [{resource: gpu, quota: 4, limit: 8}, {resource: cpu, quota: 8}], maxWorkloads: 3}
workloads:
- {id: x, queue: a, priority: 5, podSets: [{count: 1, request: {gpu: 1}}]}
`)
	c, added, err := Change(File{"c", []byte("merge:\n  queues:\n  - {id: a, resources: [{resource: gpu, quota: 6}], maxWorkloads: null}\n  workloads:\n  - {id: x, priority: 7}\nadd: {queues: [{id: b}]}\nremove: {budgets: []}\n")}, s)
	if err != nil {
		t.Fatal(err)
	}
	q, w := c.Queues[0], c.Workloads[0]
	if len(q.Resources) != 2 || q.Resources[0].Quota.Amount() != 6000 || q.Resources[0].Limit.Amount() != 8000 || q.MaxWorkloads.Given() || w.Priority != 7 || w.PodSets[0].Request.GPU.Count != 1 {
		t.Errorf("got %+v and %+v", q, w)
	}
	if len(c.Queues) != 1 || len(added.Queues) != 1 || added.Queues[0].ID != "b" {
		t.Errorf("%d queues, and added %+v", len(c.Queues), added.Queues)
	}
	for text, want := range map[string]string{ // each by itself: order cannot matter
		"merge: {queues: [{id: b}]}":                "must be in the state, which has none of that name; the nearest: a",
		"add: {queues: [{id: 3}]}":                  "add.queues[0].id: must be a string",
		"add: {queus: []}":                          "add.queus: ",
		"merge: {queues: [{id: a, resource: gpu}]}": "merge.queues[0]",
		"merge: {workloads: [{id: x, queue: [1]}]}": "must be a string",
	} {
		if _, _, err := Change(File{"c", []byte(text)}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Documents that unfold are bounded.
func TestBombs(t *testing.T) {
	var b strings.Builder
	b.WriteString("workloads: [{id: x, exitActions: [&a0 {code: 1}]}]\n")
	for i := range 10 {
		fmt.Fprintf(&b, "n%d: &a%d [%s]\n", i, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	b.WriteString("pools: [{id: p, policy: {classes: *a10}}]\n")
	_, err := State([]File{{"x", []byte(b.String())}})
	if err == nil || !strings.Contains(err.Error(), "must not unfold") {
		t.Errorf("got %.200v", err)
	}
	for _, text := range []string{"a: &a [*a]\n", strings.Repeat("[", 5000), "nodes: &x [{id: a, <<: {b: *x}}]\n"} {
		if _, err := State([]File{{"x", []byte(text)}}); err == nil {
			t.Errorf("%.20q is taken", text)
		}
	}
}

// TestEveryAmountIsMeasured: a new field that is an amount needs a measure, or a place here.
func TestEveryAmountIsMeasured(t *testing.T) {
	counts := map[string]bool{
		"QueueResource.weight": true, "Queue.maxWorkloads": true, "Policy.maxRelocations": true, "Policy.maxReplacedStarts": true, "Policy.reclaimMarginMilli": true,
		"Policy.maxMovedPercent": true, "Scoring.coverage": true, "Scoring.scale": true, "Scoring.seed": true, "MixShape.weight": true, "Node.rank": true,
		"GPURequest.milli": true, "Workload.leavingForm": true, "Workload.retries": true,
		"ReservePolicy.fromPriority": true, "ReservePolicy.maxHeldPercent": true,
		// Used and capacity are a ratio, in any unit of amount and time that both have.
		"Policy.usageStrengthMilli": true, "Usage.used": true, "Usage.capacity": true,
	}
	seen := make(map[reflect.Type]bool)
	var walk func(f *jsonform.Form)
	walk = func(f *jsonform.Form) {
		for f.Elem != nil {
			f = f.Elem
		}
		if f.Kind != jsonform.Object || seen[f.Type] {
			return
		}
		seen[f.Type] = true
		for _, field := range f.Fields {
			below := field.Form
			for below.Elem != nil {
				below = below.Elem
			}
			name := f.Type.Name() + "." + field.Name
			amount := below.Kind == jsonform.Custom || below.Kind == jsonform.Int && below.Type.Kind() == reflect.Int64
			if amount && measures[f.Type][field.Name] == bare && !counts[name] {
				t.Errorf("%s is an amount of nothing", name)
			}
			walk(field.Form)
		}
	}
	walk(stateForm)
}

// TestCrowdedJSON: JSON in the form for people that has too much in it is told so, and not only
// that it is not the exact form.
func TestCrowdedJSON(t *testing.T) {
	_, err := State([]File{{"x", []byte(`{"nodes":[` + strings.Repeat(`{"id":"n","devices":8},`, maxSeparators/4) + `{}]}`)}})
	if err == nil || !strings.Contains(err.Error(), "commas, colons, lines and the like") {
		t.Errorf("%.300v", err)
	}
}

// FuzzState: no input makes the reading panic or hang, and what is read comes back.
func FuzzState(f *testing.F) {
	for _, text := range []string{
		"policy: {preset: runai, order: deprived}\nnodes: [{id: a, devices: 8}]", "nodes: &x [{id: a, devices: [{count: 2, memory: 80Gi}]}]",
		`{"version": 1, "nodes": [{"id": "a", "capacity": {"cpu": 1000}}]}`, "workloads: [{id: w, podSets: [{count: 1, request: {gpu: 0.5}}]}]",
		"a: &a {<<: *a}", "queues: [{id: q, resources: [{resource: gpu, quota: 4 GPUs}], minRuntime: {preempt: 5m}}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		d, err := State([]File{{"x", data}})
		if err != nil {
			return
		}
		text, err := YAML(d.State)
		if err != nil {
			t.Fatal(err)
		}
		back, err := State([]File{{"y", text}})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(d.State, back.State, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Fatalf("%s\n%s", d, text)
		}
	})
}

// V1: what follows the document is a fault: who reads a state is not to take for read what nobody has.
func TestTrailing(t *testing.T) {
	for _, text := range []string{
		"version: 1\n---\nnodes: [{id: a}]\n",
		`{"version":1} {"version":1}`,
		"{\"version\":1}\n{\"version\":1,\"nodes\":[{\"id\":\"a\"}]}",
		`{"version":1}x`,
		`{"version":1}]`,
	} {
		_, err := State([]File{{"f", []byte(text)}})
		var faulty *Error
		if !errors.As(err, &faulty) || faulty.Faults[0].Code != allot.FaultTrailing {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"---\nversion: 1\n", "version: 1\n...\n", "version: 1\n# end\n"} {
		if _, err := State([]File{{"f", []byte(text)}}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
