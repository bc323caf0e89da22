package allot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// A fault of the change itself is told with its place, all of them, and there
// is no snapshot.
func TestChangeFaults(t *testing.T) {
	s := &allot.State{
		Nodes:     []allot.Node{{ID: "n0"}, {ID: "n1"}},
		Queues:    []allot.Queue{{ID: "q0"}},
		Workloads: []allot.Workload{{ID: "w0", Queue: "q0", PodSets: []allot.PodSet{{Count: 1}}}},
		Budgets:   []allot.DisruptionBudget{{Owner: "ann"}},
	}
	snapshot := mustSnapshot(t, s)
	w := func(id string) allot.Workload {
		return allot.Workload{ID: id, Queue: "q0", PodSets: []allot.PodSet{{Count: 1}}}
	}
	for _, test := range []struct {
		name    string
		changes []allot.Change
		want    string
	}{
		{"unknown", []allot.Change{{}, {Remove: allot.Removal{Nodes: []string{"n0", "n7"}, Pools: []string{"p"}, Queues: []string{"q1"}, Workloads: []string{""}, Budgets: []string{"bob"}}}},
			`changes[1].remove.workloads[0]: must be there, is ""
changes[1].remove.nodes[1]: must be there, is "n7"
changes[1].remove.pools[0]: must be there, is "p"
changes[1].remove.queues[0]: must be there, is "q1"
changes[1].remove.budgets[0]: must be there, is "bob"`},
		{"twice removed", []allot.Change{{Remove: allot.Removal{Nodes: []string{"n0", "n0"}}}}, `changes[0].remove.nodes[1]: must be there, is "n0"`},
		{"removed by two", []allot.Change{{Remove: allot.Removal{Nodes: []string{"n0"}}}, {Remove: allot.Removal{Nodes: []string{"n0"}}}},
			`changes[1].remove.nodes[0]: must be there, is "n0"`},
		{"twice put", []allot.Change{{Workloads: []allot.Workload{w("a"), w("b"), w("a")}, Budgets: []allot.DisruptionBudget{{Owner: "x"}, {Owner: "x"}}}},
			`changes[0].workloads[2]: must be put once, is "a"
changes[0].budgets[1]: must be put once, is "x"`},
		{"put by two", []allot.Change{{Workloads: []allot.Workload{w("a")}}, {Workloads: []allot.Workload{w("a")}}}, ""},
		{"put anew", []allot.Change{{Remove: allot.Removal{Workloads: []string{"w0"}}, Workloads: []allot.Workload{w("w0")}}}, ""},
		{"put and removed", []allot.Change{{Workloads: []allot.Workload{w("a")}}, {Remove: allot.Removal{Workloads: []string{"a"}}}}, ""},
		{"no change", nil, ""},
	} {
		next, err := snapshot.With(test.changes...)
		if got := faultLines(err); got != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", test.name, got, test.want)
		}
		if (next == nil) != (err != nil) {
			t.Errorf("%s: a snapshot and an error, or neither", test.name)
		}
	}
	if err := sameState(snapshot.State(), s); err != nil {
		t.Errorf("the snapshot itself has changed: %v", err)
	}
}

func faultLines(err error) string {
	var invalid *allot.InvalidError
	if !errors.As(err, &invalid) {
		return ""
	}
	lines := make([]string, len(invalid.Faults))
	for i, f := range invalid.Faults {
		lines[i] = f.String()
		// Faults at one place come in any order.
		for k := i; k > 0 && invalid.Faults[k-1].Path == f.Path && lines[k-1] > lines[k]; k-- {
			lines[k-1], lines[k] = lines[k], lines[k-1]
		}
	}
	return strings.Join(lines, "\n")
}

func mustSnapshot(t *testing.T, s *allot.State) *allot.Snapshot {
	t.Helper()
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// TestWithChecks: whatever changes, With says of it what Check says of the state
// that would come of it, all faults and in the same words.
func TestWithChecks(t *testing.T) {
	const steps = 50
	faults, accepted, refused := make(map[allot.FaultCode]int), 0, 0
	for seed := range deep.Seeds(t, 60) {
		random := rand.New(rand.NewPCG(seed, 15))
		host := hostKinds[seed%2].make(random)
		settle(t, host)
		snapshot := mustSnapshot(t, host.state())
		for step := range steps {
			state := snapshot.State()
			what := ""
			for range 1 + random.IntN(2) {
				k := random.IntN(len(meddlings))
				what += " " + fmt.Sprint(k)
				meddlings[k](random, state)
			}
			wrong := allot.Check(byIDs(state))
			next, err := snapshot.With(changeOf(snapshot.State(), state))
			if faultLines(err) != faultLines(wrong) {
				t.Fatalf("seed %d, step %d, meddling%s:\n%s\nnot\n%s", seed, step, what, faultLines(err), faultLines(wrong))
			}
			if err == nil {
				accepted++
				if err := sameState(next.State(), state); err != nil {
					t.Fatalf("seed %d, step %d, meddling%s: %v", seed, step, what, err)
				}
				snapshot = next
				continue
			}
			refused++
			var invalid *allot.InvalidError
			errors.As(err, &invalid)
			for _, f := range invalid.Faults {
				faults[f.Code]++
			}
		}
	}
	t.Logf("%d changes accepted, %d refused, for %d kinds of fault: %v", accepted, refused, len(faults), faults)
	if accepted*4 < refused || refused*4 < accepted || len(faults) < 20 {
		t.Errorf("that is too one-sided")
	}
}

// settle has something run.
func settle(t *testing.T, host lawHost) {
	for range 2 {
		p, err := allot.Solve(host.state())
		if err != nil {
			t.Fatal(err)
		}
		next, err := allot.Begin(host.state(), p)
		if err != nil {
			t.Fatal(err)
		}
		host.become(next)
	}
}

// drawn draws an element; nil of an empty list.
func drawn[T any](c chance, list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[c.IntN(len(list))]
}

// someWorkload draws a workload and has the function meddle with it.
func someWorkload(meddle func(chance, *allot.Workload)) func(chance, *allot.State) {
	return func(c chance, s *allot.State) {
		if w := drawn(c, s.Workloads); w != nil {
			meddle(c, w)
		}
	}
}

func someTask(meddle func(chance, *allot.Task)) func(chance, *allot.State) {
	return func(c chance, s *allot.State) {
		for range 20 {
			if w := drawn(c, s.Workloads); w != nil && len(w.Tasks) > 0 {
				meddle(c, drawn(c, w.Tasks))
				return
			}
		}
	}
}

func someNode(meddle func(chance, *allot.Node)) func(chance, *allot.State) {
	return func(c chance, s *allot.State) { meddle(c, drawn(c, s.Nodes)) }
}

func someQueue(meddle func(chance, *allot.Queue)) func(chance, *allot.State) {
	return func(c chance, s *allot.State) {
		if q := drawn(c, s.Queues); q != nil {
			meddle(c, q)
		}
	}
}

func setResource(q *allot.Queue, set func(*allot.QueueResource)) {
	if len(q.Resources) > 0 {
		set(&q.Resources[0])
	}
}

// meddlings change a state, by half of them into one that makes no sense.
var meddlings = []func(chance, *allot.State){
	func(c chance, s *allot.State) { s.Now = s.Now.Add(time.Duration(1+c.IntN(60)) * time.Second) },
	func(c chance, s *allot.State) { s.Revision = oneOf(c, "r", "s", "\x00") },
	func(c chance, s *allot.State) { s.Now = oneOf(c, s.Now.Add(1), time.Unix(-5, 0).UTC()) },
	// Nodes.
	someNode(func(_ chance, n *allot.Node) { n.Lost = !n.Lost }),
	someNode(func(_ chance, n *allot.Node) { n.Cordoned = !n.Cordoned }),
	someNode(func(c chance, n *allot.Node) { n.MaxTasks = c.IntN(20) - 1 }),
	someNode(func(c chance, n *allot.Node) { n.Capacity = map[string]int64{allot.CPU: int64(c.IntN(20)) * unit} }),
	someNode(func(c chance, n *allot.Node) {
		n.Foreign = map[string]int64{oneOf(c, allot.CPU, allot.CPU, allot.GPU): int64(c.IntN(20) - 1)}
	}),
	someNode(func(c chance, n *allot.Node) {
		if len(n.Devices) > 0 {
			n.Devices = n.Devices[:len(n.Devices)-c.IntN(2)]
		}
	}),
	someNode(func(c chance, n *allot.Node) {
		if d := drawn(c, n.Devices); d != nil {
			d.Model, d.Memory = oneOf(c, "", "A", "B"), oneOf[int64](c, 1, 4, 80, 80, -1)
		}
	}),
	someNode(func(c chance, n *allot.Node) {
		if d := drawn(c, n.Devices); d != nil {
			d.Unhealthy, d.Foreign = c.IntN(2) == 0, int64(c.IntN(1200))
		}
	}),
	someNode(func(c chance, n *allot.Node) { n.Labels = map[string]string{"zone": oneOf(c, "a", "b", "\x00")} }),
	someNode(func(c chance, n *allot.Node) { n.Class = oneOf(c, "fast", "", "\x00") }),
	someNode(func(c chance, n *allot.Node) {
		n.Taints = []placement.Taint{{Key: oneOf(c, "k", "", "k"), Effect: placement.NoExecute}}
	}),
	func(c chance, s *allot.State) {
		if k := c.IntN(len(s.Nodes)); len(s.Nodes) > 1 {
			s.Nodes = slices.Delete(s.Nodes, k, k+1)
		}
	},
	func(c chance, s *allot.State) {
		id := fmt.Sprint("new", c.IntN(1_000_000))
		s.Nodes = append(s.Nodes, allot.Node{ID: id, Devices: make([]allot.Device, c.IntN(70))})
	},
	// Pools, queues and budgets.
	func(c chance, s *allot.State) {
		if p := drawn(c, s.Pools); p != nil && len(p.Nodes.IDs) > 0 {
			p.Nodes.IDs[0] = oneOf(c, p.Nodes.IDs[0], "n1", "nowhere")
		}
	},
	func(c chance, s *allot.State) {
		if p := drawn(c, s.Pools); p != nil {
			p.Policy.Classes = []allot.Class{{Name: oneOf(c, "HIGH", "training", "")}}
		}
	},
	func(c chance, s *allot.State) {
		if len(s.Pools) > 1 {
			s.Pools = s.Pools[:1]
		}
	},
	someQueue(func(c chance, q *allot.Queue) { q.Parent = oneOf(c, "", "q1", "q2", q.ID) }),
	someQueue(func(c chance, q *allot.Queue) { q.Pool = oneOf(c, "", "p0", "p1") }),
	someQueue(func(c chance, q *allot.Queue) {
		setResource(q, func(r *allot.QueueResource) { r.Weight = quota.Of(int64(c.IntN(5) - 1)) })
	}),
	someQueue(func(c chance, q *allot.Queue) {
		setResource(q, func(r *allot.QueueResource) { r.Quota = quota.Of(int64(c.IntN(4)) * unit) })
	}),
	func(c chance, s *allot.State) {
		if len(s.Queues) > 0 {
			k := c.IntN(len(s.Queues))
			s.Queues = slices.Delete(s.Queues, k, k+1)
		}
	},
	func(c chance, s *allot.State) {
		if q := drawn(c, s.Queues); q != nil {
			s.Queues = append(s.Queues, allot.Queue{ID: fmt.Sprint("new", c.IntN(1_000_000)), Parent: oneOf(c, q.Parent, "", q.ID), Pool: q.Pool})
		}
	},
	func(c chance, s *allot.State) {
		s.Budgets = []allot.DisruptionBudget{{Owner: "ann", MinRunning: c.IntN(4) - 1}}
	},
	// Workloads.
	func(c chance, s *allot.State) {
		if len(s.Workloads) > 0 {
			k := c.IntN(len(s.Workloads))
			s.Workloads = slices.Delete(s.Workloads, k, k+1)
		}
	},
	func(c chance, s *allot.State) {
		if w := drawn(c, s.Workloads); w != nil { // with its tasks: overbooked, mostly
			twin := *w
			twin.ID += "'"
			s.Workloads = slices.DeleteFunc(s.Workloads, func(o allot.Workload) bool { return o.ID == twin.ID })
			s.Workloads = append(s.Workloads, twin)
		}
	},
	someWorkload(func(c chance, w *allot.Workload) { w.Priority = int32(c.IntN(5)) }),
	someWorkload(func(c chance, w *allot.Workload) { w.Queue = oneOf(c, w.Queue, "q1", "q2", "p0q0", "nowhere", "") }),
	someWorkload(func(c chance, w *allot.Workload) { w.Class = oneOf(c, "", "HIGH", "nothing") }),
	someWorkload(func(c chance, w *allot.Workload) { w.Pool = oneOf(c, "", "p0", "p1") }),
	someWorkload(func(c chance, w *allot.Workload) { w.Tasks, w.Form = nil, 0 }),
	someWorkload(func(c chance, w *allot.Workload) { w.Ending = !w.Ending }),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets[0].Count = c.IntN(6) }),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets[0].Min = c.IntN(4) - 1 }),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets[0].Request.GPU.Count = c.IntN(4) }),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets[0].Request.GPU.Milli = int64(c.IntN(12) * 100) }),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets[0].Group = oneOf(c, "", "g") }),
	someWorkload(func(c chance, w *allot.Workload) {
		w.PodSets[0].Request.Resources = map[string]int64{allot.CPU: int64(c.IntN(8) * unit)}
	}),
	someWorkload(func(c chance, w *allot.Workload) { w.PodSets = append(w.PodSets, w.PodSets[0]) }),
	someWorkload(func(c chance, w *allot.Workload) {
		w.Alternatives = []allot.Form{{PodSets: w.PodSets[:c.IntN(2)]}}
		w.Form = c.IntN(2)
	}),
	someTask(func(c chance, t *allot.Task) { t.Phase = allot.Phase(c.IntN(4)) }),
	someTask(func(c chance, t *allot.Task) { t.Node = oneOf(c, "n0", "n1", "n2", "n01", "nowhere") }),
	someTask(func(c chance, t *allot.Task) { t.Index = c.IntN(4) - 1 }),
	someTask(func(c chance, t *allot.Task) { t.PodSet = oneOf(c, "", "a", "b") }),
	someTask(func(c chance, t *allot.Task) {
		if d := drawn(c, t.Devices); d != nil {
			*d = c.IntN(5) - 1
		}
	}),
	someWorkload(func(c chance, w *allot.Workload) {
		if len(w.Tasks) > 0 {
			w.Tasks = append(w.Tasks, w.Tasks[0])
		}
	}),
}

// What one node says matters to pools, queues and requests elsewhere.
func TestWithChecksNodes(t *testing.T) {
	labelled := func(id, pool string, memory int64) allot.Node {
		return allot.Node{ID: id, Labels: map[string]string{"pool": pool}, Devices: []allot.Device{{Memory: memory}}}
	}
	s := &allot.State{
		Nodes: []allot.Node{labelled("n0", "", 8), labelled("n00", "", 8), labelled("n1", "b", 8), labelled("n2", "b", 4), labelled("n3", "b", 8)},
		Pools: []allot.Pool{
			{ID: "a", Nodes: allot.NodeSet{IDs: []string{"n0", "n00"}}},
			{ID: "b", Nodes: allot.NodeSet{Selector: &placement.Selector{Labels: map[string]string{"pool": "b"}}}},
		},
		Queues: []allot.Queue{
			{ID: "qa", Pool: "a"},
			{ID: "qb", Pool: "b", Nodes: allot.NodeSet{IDs: []string{"n1"}}},
		},
		// By the least memory, 4, that is below 2^62 in all, and by 1 above.
		Workloads: []allot.Workload{{ID: "w", Queue: "qb", PodSets: []allot.PodSet{{
			Count: 1 << 20, Request: allot.Request{GPU: allot.GPURequest{Count: 1 << 25, Memory: 132}},
		}}}},
	}
	for name, test := range map[string]struct {
		change allot.Change
		want   string
	}{
		"into two pools":        {allot.Change{Nodes: []allot.Node{labelled("n00", "b", 8)}}, `nodes[1] (n00): must be in one pool, is in "a" and "b"`},
		"into no pool":          {allot.Change{Nodes: []allot.Node{labelled("n3", "", 8)}}, ""},
		"new":                   {allot.Change{Nodes: []allot.Node{labelled("n4", "b", 8)}}, ""},
		"new with little":       {allot.Change{Nodes: []allot.Node{labelled("n4", "b", 1)}}, `workloads: must request less than 2^62 of "gpu" in all, is 2^62 or more`},
		"new and elsewhere":     {allot.Change{Nodes: []allot.Node{labelled("n4", "", 1)}}, ""},
		"now with little":       {allot.Change{Nodes: []allot.Node{labelled("n3", "b", 1)}}, `workloads: must request less than 2^62 of "gpu" in all, is 2^62 or more`},
		"the least now more":    {allot.Change{Nodes: []allot.Node{labelled("n2", "b", 8)}}, ""},
		"gone":                  {allot.Change{Remove: allot.Removal{Nodes: []string{"n3"}}}, ""},
		"gone and named":        {allot.Change{Remove: allot.Removal{Nodes: []string{"n1"}}}, `queues[1] (qb).nodes.ids[0]: must name a node, is "n1"`},
		"gone and named by one": {allot.Change{Remove: allot.Removal{Nodes: []string{"n00"}}}, `pools[0] (a).nodes.ids[1]: must name a node, is "n00"`},
		"gone and back":         {allot.Change{Remove: allot.Removal{Nodes: []string{"n1"}}, Nodes: []allot.Node{labelled("n1", "b", 8)}}, ""},
		"without sense":         {allot.Change{Nodes: []allot.Node{{ID: "n4", MaxTasks: -1}}}, "nodes[5] (n4).maxTasks: must be ≥ 0, is -1"},
		"a queue elsewhere":     {allot.Change{Queues: []allot.Queue{{ID: "qa", Pool: "a", Nodes: allot.NodeSet{IDs: []string{"n9"}}}}}, `queues[0] (qa).nodes.ids[0]: must name a node, is "n9"`},
	} { // each is its own test
		next, err := mustSnapshot(t, s).With(test.change)
		if got := faultLines(err); got != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, got, test.want)
		}
		if err != nil {
			continue
		}
		// The version after it knows as much as one made anew.
		again := allot.Change{Nodes: []allot.Node{labelled("n5", "b", 1)}}
		_, got := next.With(again)
		_, want := mustSnapshot(t, next.State()).With(again)
		if faultLines(got) != faultLines(want) {
			t.Errorf("%s, and then a node of less:\n%s\nnot\n%s", name, faultLines(got), faultLines(want))
		}
	}
}

// What stands on a node must still fit it, whatever becomes of it.
func TestWithChecksDevices(t *testing.T) {
	device := func(model string, memory int64) allot.Device { return allot.Device{Model: model, Memory: memory} }
	node := func(devices ...allot.Device) allot.Change {
		return allot.Change{Nodes: []allot.Node{{ID: "n1", Devices: devices}}}
	}
	s := &allot.State{
		Nodes: []allot.Node{
			{ID: "n0", Devices: []allot.Device{device("A", 1)}}, // the least memory there is
			node(device("A", 8), device("A", 8), device("A", 8)).Nodes[0],
		},
		Workloads: []allot.Workload{
			{ID: "wide", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: 2}}}}, Tasks: []allot.Task{{Node: "n1", Devices: []int{0, 1}}}},
			{ID: "deep", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Memory: 8}}}}, Tasks: []allot.Task{{Node: "n1", Devices: []int{2}}}},
		},
	}
	for name, test := range map[string]struct {
		change allot.Change
		want   string
	}{
		"two models":   {node(device("A", 8), device("B", 8), device("A", 8)), `workloads[1] (wide).tasks[0].devices: must be of one model, is "A" and "B"`},
		"other model":  {node(device("A", 8), device("A", 8), device("B", 8)), ""},
		"less memory":  {node(device("A", 8), device("A", 8), device("A", 4)), "nodes[1] (n1).devices[2]: must hold the 2000 of what runs or terminates, is 1000"},
		"more memory":  {node(device("A", 8), device("A", 8), device("A", 9)), ""},
		"less devices": {node(device("A", 8), device("A", 8)), `workloads[0] (deep).tasks[0].devices[0]: must be the index of one of the 2 devices of "n1", is 2`},
		"gone":         {allot.Change{Remove: allot.Removal{Nodes: []string{"n1"}}}, "workloads[0] (deep).tasks[0].node: must name a node, is \"n1\"\nworkloads[1] (wide).tasks[0].node: must name a node, is \"n1\""},
	} { // each is its own test
		if _, err := mustSnapshot(t, s).With(test.change); faultLines(err) != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, faultLines(err), test.want)
		}
	}
}

// What one queue says matters to its siblings, and to the work in it.
func TestWithChecksQueues(t *testing.T) {
	in := func(id, queue, pool string) allot.Workload {
		return allot.Workload{ID: id, Queue: queue, Pool: pool, PodSets: []allot.PodSet{{Count: 1}}}
	}
	s := &allot.State{
		Nodes:     []allot.Node{{ID: "n0"}, {ID: "n1"}},
		Pools:     []allot.Pool{{ID: "a", Nodes: allot.NodeSet{IDs: []string{"n0"}}}, {ID: "b", Nodes: allot.NodeSet{IDs: []string{"n1"}}}},
		Queues:    []allot.Queue{{ID: "qa", Pool: "a"}, {ID: "qb", Pool: "b"}, {ID: "qc", Pool: "b"}, {ID: "qd", Pool: "b"}},
		Workloads: []allot.Workload{in("wa", "qa", "a"), in("wb", "qb", "b")},
	}
	weighing := allot.Queue{ID: "qc", Pool: "b", Resources: []allot.QueueResource{{Resource: allot.GPU, Weight: quota.Of(1)}}}
	given := allot.Queue{ID: "qc", Pool: "b", Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}}
	for name, test := range map[string]struct {
		change allot.Change
		want   string
	}{
		"below work":     {allot.Change{Queues: []allot.Queue{{ID: "qc", Pool: "b", Parent: "qb"}}}, `workloads[1] (wb).queue: must be a leaf queue, with none below it, is "qb"`},
		"below none":     {allot.Change{Queues: []allot.Queue{{ID: "qc", Pool: "b", Parent: "qd"}}}, ""},
		"new below work": {allot.Change{Queues: []allot.Queue{{ID: "qe", Pool: "b", Parent: "qb"}}}, `workloads[1] (wb).queue: must be a leaf queue, with none below it, is "qb"`},
		"other pool":     {allot.Change{Queues: []allot.Queue{{ID: "qb", Pool: "a"}}}, `workloads[1] (wb).pool: must be the pool of its queue, is "b"`},
		"gone":           {allot.Change{Remove: allot.Removal{Queues: []string{"qb"}}}, `workloads[1] (wb).queue: must name a queue, is "qb"`},
		"gone unused":    {allot.Change{Remove: allot.Removal{Queues: []string{"qc"}}}, ""},
		"weight":         {allot.Change{Queues: []allot.Queue{weighing}}, "queues[1] (qb).resources: must give a weight for \"gpu\" as its siblings do, or none must (F4), is absent\nqueues[3] (qd).resources: must give a weight for \"gpu\" as its siblings do, or none must (F4), is absent"},
		"quota":          {allot.Change{Queues: []allot.Queue{given}}, ""},
		"pool gone":      {allot.Change{Remove: allot.Removal{Pools: []string{"b"}}}, "queues[1] (qb).pool: must name a pool, is \"b\"\nqueues[2] (qc).pool: must name a pool, is \"b\"\nqueues[3] (qd).pool: must name a pool, is \"b\""},
	} { // each is its own test
		if _, err := mustSnapshot(t, s).With(test.change); faultLines(err) != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", name, faultLines(err), test.want)
		}
	}
}

// Sums over all of the state are kept whoever adds to them.
func TestWithChecksSums(t *testing.T) {
	big := func(id string, count int) allot.Workload {
		return allot.Workload{ID: id, PodSets: []allot.PodSet{{Count: count, Request: allot.Request{Resources: map[string]int64{"x": allot.MaxAmount}}}}}
	}
	node := func(id string) allot.Node {
		return allot.Node{ID: id, Capacity: map[string]int64{"y": allot.MaxAmount}, Foreign: map[string]int64{"z": allot.MaxAmount}}
	}
	sums := map[string]func(i int) allot.Change{
		"requests": func(i int) allot.Change {
			return allot.Change{Workloads: []allot.Workload{big(fmt.Sprint("w", i), 64)}}
		},
		"tasks": func(i int) allot.Change {
			return allot.Change{Workloads: []allot.Workload{{ID: fmt.Sprint("w", i), PodSets: []allot.PodSet{{Count: 1 << 21}}}}}
		},
		"nodes": func(i int) allot.Change {
			var c allot.Change
			for k := range 64 {
				c.Nodes = append(c.Nodes, node(fmt.Sprint("n", i, ":", k)))
			}
			return c
		},
	}
	for name, change := range sums { // each is its own test
		t.Run(name, func(t *testing.T) {
			snapshot, refused := mustSnapshot(t, &allot.State{}), 0
			for i := range 20 {
				c := change(i)
				if i%3 == 2 && len(c.Workloads) > 0 { // what went makes room again
					gone := allot.Change{Remove: allot.Removal{Workloads: []string{snapshot.State().Workloads[0].ID}}}
					var err error
					if snapshot, err = snapshot.With(gone); err != nil {
						t.Fatal(err)
					}
				}
				state := snapshot.State()
				state.Workloads, state.Nodes = append(state.Workloads, c.Workloads...), append(state.Nodes, c.Nodes...)
				wrong := allot.Check(byIDs(state))
				next, err := snapshot.With(c)
				if faultLines(err) != faultLines(wrong) {
					t.Fatalf("%d: %s\nnot\n%s", i, faultLines(err), faultLines(wrong))
				}
				if err != nil {
					refused++
					continue
				}
				snapshot = next
			}
			if refused == 0 || refused == 20 {
				t.Errorf("%d refused", refused)
			}
		})
	}
}

// Nothing that goes into a snapshot or comes out of one is shared with it.
func TestSnapshotSharesNothing(t *testing.T) {
	for seed := range uint64(40) {
		host := hostKinds[seed%2].make(rand.New(rand.NewPCG(seed, 16)))
		settle(t, host)
		given := host.state()
		want := copyState(given)
		snapshot := mustSnapshot(t, given)
		scribble(reflect.ValueOf(given))
		mustBe(t, snapshot, want)

		whole := changeOf(&allot.State{}, copyState(want))
		next, err := mustSnapshot(t, &allot.State{}).With(whole)
		if err != nil {
			t.Fatal(err)
		}
		scribble(reflect.ValueOf(&whole))
		mustBe(t, next, want)

		scribble(reflect.ValueOf(next.State()))
		for i := range want.Workloads {
			w, ok := next.Workload(want.Workloads[i].ID)
			if !ok || !reflect.DeepEqual(w, want.Workloads[i]) {
				t.Fatalf("workload %v is not %v", w, want.Workloads[i])
			}
			scribble(reflect.ValueOf(&w))
		}
		for i := range want.Nodes {
			n, ok := next.Node(want.Nodes[i].ID)
			if !ok || !reflect.DeepEqual(n, want.Nodes[i]) {
				t.Fatalf("node %v is not %v", n, want.Nodes[i])
			}
			mustStand(t, want, n.ID, next.WorkloadsOn(n.ID))
			scribble(reflect.ValueOf(&n))
			scribble(reflect.ValueOf(next.WorkloadsOn(n.ID)))
		}
		for i := range want.Queues {
			q, ok := next.Queue(want.Queues[i].ID)
			if !ok || !reflect.DeepEqual(q, want.Queues[i]) {
				t.Fatalf("queue %v is not %v", q, want.Queues[i])
			}
			scribble(reflect.ValueOf(&q))
		}
		for i := range want.Pools {
			p, ok := next.Pool(want.Pools[i].ID)
			if !ok || !reflect.DeepEqual(p, want.Pools[i]) {
				t.Fatalf("pool %v is not %v", p, want.Pools[i])
			}
			scribble(reflect.ValueOf(&p))
		}
		mustBe(t, next, want)
	}
}

func mustBe(t *testing.T, s *allot.Snapshot, want *allot.State) {
	t.Helper()
	if err := sameState(s.State(), want); err != nil {
		t.Fatal(err)
	}
}

func mustStand(t *testing.T, s *allot.State, node string, got []string) {
	t.Helper()
	var want []string
	for i := range s.Workloads {
		if slices.ContainsFunc(s.Workloads[i].Tasks, func(task allot.Task) bool { return task.Node == node }) {
			want = append(want, s.Workloads[i].ID)
		}
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Fatalf("on %s are %v, not %v", node, got, want)
	}
}

// scribble writes over everything that can be reached.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribble(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if v.CanSet() {
			v.SetInt(77)
		}
	case reflect.Bool:
		if v.CanSet() {
			v.SetBool(!v.Bool())
		}
	}
}
