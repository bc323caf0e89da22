package verify

import (
	"slices"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// alone is a state of one node and one waiting workload, and a plan that puts
// its tasks there; only what it says of places is right.
func alone(n allot.Node, r allot.Request, places ...allot.Placement) (*allot.State, *allot.Plan) {
	w := allot.Workload{ID: "w", PodSets: []allot.PodSet{{Count: len(places), Request: r}}}
	s := &allot.State{Nodes: []allot.Node{n}, Workloads: []allot.Workload{w}}
	return s, &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: "w", Tasks: places}}}
}

// TestVerifyPredicates: what P1 and P2 let pass and what they turn away.
func TestVerifyPredicates(t *testing.T) {
	expression := func(key string, op placement.Operator, values ...string) allot.Request {
		return allot.Request{Selector: placement.Selector{Expressions: []placement.Expression{{Key: key, Operator: op, Values: values}}}}
	}
	tolerates := func(l placement.Toleration) allot.Request {
		return allot.Request{Tolerations: []placement.Toleration{l}}
	}
	labelled := allot.Node{ID: "n", Labels: map[string]string{"zone": "a", "gen": "7"}}
	tainted := func(effect placement.Effect) allot.Node {
		return allot.Node{ID: "n", Taints: []placement.Taint{{Key: "k", Value: "v", Effect: effect}}}
	}
	gpu := func(g allot.GPURequest) allot.Request { return allot.Request{GPU: g} }
	two := allot.Node{ID: "n", Devices: []allot.Device{{Model: "A", Memory: 24}, {Model: "B"}}}
	for _, c := range []struct {
		name string
		node allot.Node
		r    allot.Request
		on   []int
		ok   bool
	}{
		{"label", labelled, allot.Request{Selector: placement.Selector{Labels: map[string]string{"zone": "a"}}}, nil, true},
		{"other label", labelled, allot.Request{Selector: placement.Selector{Labels: map[string]string{"zone": "b"}}}, nil, false},
		{"no label", labelled, allot.Request{Selector: placement.Selector{Labels: map[string]string{"rack": ""}}}, nil, false},
		{"in", labelled, expression("zone", placement.In, "b", "a"), nil, true},
		{"not in list", labelled, expression("zone", placement.In, "b"), nil, false},
		{"in, absent", labelled, expression("rack", placement.In, "a"), nil, false},
		{"NotIn", labelled, expression("zone", placement.NotIn, "b"), nil, true},
		{"NotIn fails", labelled, expression("zone", placement.NotIn, "a"), nil, false},
		{"NotIn, absent", labelled, expression("rack", placement.NotIn, "a"), nil, true},
		{"exists", labelled, expression("zone", placement.Exists), nil, true},
		{"exists, absent", labelled, expression("rack", placement.Exists), nil, false},
		{"does not exist", labelled, expression("rack", placement.DoesNotExist), nil, true},
		{"does not exist, there", labelled, expression("zone", placement.DoesNotExist), nil, false},
		{"greater", labelled, expression("gen", placement.Gt, "6"), nil, true},
		{"greater, equal", labelled, expression("gen", placement.Gt, "7"), nil, false},
		{"greater, as numbers", labelled, expression("gen", placement.Gt, "10"), nil, false},
		{"less", labelled, expression("gen", placement.Lt, "8"), nil, true},
		{"less, equal", labelled, expression("gen", placement.Lt, "7"), nil, false},
		{"less, absent", labelled, expression("rack", placement.Lt, "8"), nil, false},
		{"greater, no number", labelled, expression("zone", placement.Gt, "1"), nil, false},
		{"taint", tainted(placement.NoSchedule), allot.Request{}, nil, false},
		{"taint without effect", tainted(placement.DefaultEffect), allot.Request{}, nil, false},
		{"taint no execute", tainted(placement.NoExecute), allot.Request{}, nil, false},
		{"taint prefers", tainted(placement.PreferNoSchedule), allot.Request{}, nil, true},
		{"tolerates", tainted(placement.NoSchedule), tolerates(placement.Toleration{Key: "k", Value: "v"}), nil, true},
		{"tolerates the effect", tainted(placement.DefaultEffect), tolerates(placement.Toleration{Key: "k", Value: "v", Effect: placement.NoSchedule}), nil, true},
		{"tolerates another effect", tainted(placement.NoSchedule), tolerates(placement.Toleration{Key: "k", Value: "v", Effect: placement.NoExecute}), nil, false},
		{"tolerates another value", tainted(placement.NoSchedule), tolerates(placement.Toleration{Key: "k", Value: "w"}), nil, false},
		{"tolerates another key", tainted(placement.NoSchedule), tolerates(placement.Toleration{Key: "j", Operator: placement.TolerationExists}), nil, false},
		{"tolerates any value", tainted(placement.NoSchedule), tolerates(placement.Toleration{Key: "k", Operator: placement.TolerationExists}), nil, true},
		{"tolerates everything", tainted(placement.NoExecute), tolerates(placement.Toleration{Operator: placement.TolerationExists}), nil, true},
		{"model", two, gpu(allot.GPURequest{Count: 1, Models: []string{"C", "A"}}), []int{0}, true},
		{"other model", two, gpu(allot.GPURequest{Count: 1, Models: []string{"C", "A"}}), []int{1}, false},
		{"memory at least", two, gpu(allot.GPURequest{Count: 1, MinMemory: 24}), []int{0}, true},
		{"too little memory", two, gpu(allot.GPURequest{Count: 1, MinMemory: 25}), []int{0}, false},
		{"memory unknown", two, gpu(allot.GPURequest{Memory: 1}), []int{1}, false},
		{"all memory", two, gpu(allot.GPURequest{Memory: 24}), []int{0}, true},
		{"more memory", two, gpu(allot.GPURequest{Memory: 25}), []int{0}, false},
		{"no device asked", two, allot.Request{}, []int{0}, false},
		{"fraction", two, gpu(allot.GPURequest{Milli: 1}), []int{1}, true},
		{"two of two models", two, gpu(allot.GPURequest{Count: 2, Milli: 1}), []int{0, 1}, false},
		{"zero of a resource", two, allot.Request{Resources: map[string]int64{"fpga": 0}}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := alone(c.node, c.r, at(0, "n", c.on...))
			found := broken(t, s, p)
			if wrong := breaksAny(found, "P1", "P2"); wrong == c.ok {
				t.Errorf("found %v", found)
			}
		})
	}
}

func breaksAny(found []Violation, rules ...string) bool {
	return slices.ContainsFunc(found, func(v Violation) bool { return slices.Contains(rules, v.Rule) })
}

// TestVerifyDevices: sharing of devices is exact (P2): fractions up to 1000
// milli, memory up to the last byte, both together.
func TestVerifyDevices(t *testing.T) {
	for _, c := range []struct {
		name    string
		request allot.GPURequest
		tasks   int
		device  allot.Device
		ok      bool
	}{
		{"four quarters", allot.GPURequest{Milli: 250}, 4, allot.Device{}, true},
		{"a quarter too many", allot.GPURequest{Milli: 250}, 5, allot.Device{}, false},
		{"three thirds of the memory", allot.GPURequest{Memory: 8}, 3, allot.Device{Memory: 24}, true},
		{"a byte too many", allot.GPURequest{Memory: 8}, 3, allot.Device{Memory: 23}, false},
		{"foreign", allot.GPURequest{Milli: 250}, 3, allot.Device{Foreign: 250}, true},
		{"foreign too much", allot.GPURequest{Milli: 250}, 3, allot.Device{Foreign: 251}, false},
		{"foreign over memory", allot.GPURequest{Memory: 12}, 1, allot.Device{Memory: 24, Foreign: 500}, true},
		{"foreign over memory too much", allot.GPURequest{Memory: 13}, 1, allot.Device{Memory: 24, Foreign: 500}, false},
		{"largest", allot.GPURequest{Memory: allot.MaxAmount}, 1, allot.Device{Memory: allot.MaxAmount}, true},
		{"largest thrice", allot.GPURequest{Memory: allot.MaxAmount}, 3, allot.Device{Memory: allot.MaxAmount}, false},
		{"whole in milli", allot.GPURequest{Milli: 1000}, 1, allot.Device{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var places []allot.Placement
			for i := range c.tasks {
				places = append(places, at(i, "n", 0))
			}
			s, p := alone(allot.Node{ID: "n", Devices: []allot.Device{c.device}}, allot.Request{GPU: c.request}, places...)
			found := broken(t, s, p)
			if wrong := breaksAny(found, "P2"); wrong == c.ok {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestVerifyShort: where the state itself is beyond what a node can give,
// nothing starts that asks for the same, and what asks for else may (S7).
func TestVerifyShort(t *testing.T) {
	n := node("n", 1)
	n.Capacity, n.Foreign = map[string]int64{allot.CPU: 4, "fpga": 1}, map[string]int64{allot.CPU: 5}
	for resource, ok := range map[string]bool{allot.CPU: false, "fpga": true} {
		s, p := alone(n, allot.Request{Resources: map[string]int64{resource: 1}}, at(0, "n"))
		if found := broken(t, s, p); breaksAny(found, "P1") == ok {
			t.Errorf("%s: found %v", resource, found)
		}
	}
}

// TestVerifyUnits: what a Start and a Resize of nested groups may take (G1–G3).
func TestVerifyUnits(t *testing.T) {
	// One of two replicas is needed, each a leader and 2 to 3 workers.
	replica := func(name string) []allot.PodSet {
		return []allot.PodSet{{Name: name + "-leader", Count: 1, Group: name}, {Name: name + "-workers", Count: 3, Min: 2, Group: name}}
	}
	w := allot.Workload{
		ID:      "w",
		PodSets: slices.Concat(replica("a"), replica("b")),
		Groups:  []allot.Group{{Name: "replicas", Min: 1}, {Name: "a", Parent: "replicas"}, {Name: "b", Parent: "replicas"}},
	}
	type tasks = []allot.Placement
	task := func(podSet string, index int) allot.Placement {
		return allot.Placement{PodSet: podSet, Index: index, Node: "n"}
	}
	replicaA := tasks{task("a-leader", 0), task("a-workers", 0), task("a-workers", 1)}
	replicaB := tasks{task("b-leader", 0), task("b-workers", 0), task("b-workers", 1)}
	for _, c := range []struct {
		name  string
		runs  tasks
		kind  allot.ActionKind
		takes tasks
		rule  string
	}{
		{"the first", nil, allot.Start, replicaA, ""},
		{"the second", nil, allot.Start, replicaB, ""},
		{"both", nil, allot.Start, slices.Concat(replicaA, replicaB), ruleUnit},
		{"leaders only", nil, allot.Start, tasks{replicaA[0], replicaB[0]}, ruleGroup},
		{"no leader", nil, allot.Start, replicaA[1:], ruleGroup},
		{"a worker too many", nil, allot.Start, append(slices.Clip(replicaA), task("a-workers", 2)), ruleUnit},
		{"a survivor completed", replicaA[:1], allot.Start, replicaA[1:], ""},
		{"a survivor left alone", replicaA[:1], allot.Start, replicaB, ""},
		{"one more worker", replicaA, allot.Resize, tasks{task("a-workers", 2)}, ""},
		{"another replica", replicaA, allot.Resize, replicaB, ""},
		{"half of it", replicaA, allot.Resize, replicaB[:2], ruleUnit},
		{"one more and another", replicaA, allot.Resize, append(tasks{task("a-workers", 2)}, replicaB...), ruleUnit},
		{"another and one more", replicaA, allot.Resize, append(slices.Clip(replicaB), task("b-workers", 2)), ruleUnit},
		{"another as a start", replicaA, allot.Start, replicaB, ruleUnit},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w
			for _, p := range c.runs {
				w.Tasks = append(w.Tasks, allot.Task{PodSet: p.PodSet, Index: p.Index, Node: "n"})
			}
			s := &allot.State{Nodes: []allot.Node{{ID: "n"}}, Workloads: []allot.Workload{w}}
			a := allot.Action{Kind: c.kind, Workload: "w", Tasks: c.takes}
			if c.kind == allot.Resize {
				a.Reason.Code = allot.Grown
			}
			found := broken(t, s, &allot.Plan{
				Actions: []allot.Action{a},
				Shares:  []allot.Share{{Resource: allot.GPU, Quota: quota.Unlimited(), Limit: quota.Unlimited()}},
			})
			if c.rule == "" && len(found) > 0 || c.rule != "" && !breaks(found, "actions[0]", c.rule) {
				t.Errorf("want %q, found %v", c.rule, found)
			}
		})
	}
}
