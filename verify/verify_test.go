package verify

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/fairshare"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// broken returns what Verify finds.
func broken(t *testing.T, s *allot.State, p *allot.Plan) []Violation {
	t.Helper()
	err := Plan(s, p)
	var unlawful *Error
	if err != nil && !errors.As(err, &unlawful) {
		t.Fatalf("Plan: %v", err)
	}
	if unlawful == nil {
		return nil
	}
	return unlawful.Violations
}

func breaks(found []Violation, path, rule string) bool {
	return slices.ContainsFunc(found, func(v Violation) bool { return v.Path == path && v.Rule == rule })
}

func TestVerifyLawful(t *testing.T) {
	s, p := lifecycle()
	if err := Plan(s, p); err != nil {
		t.Fatal(err)
	}
	// What is displaced may start again on another device of its node.
	s, p = lifecycle()
	s.Nodes[0].Devices[0].Unhealthy = true
	s.Workloads = slices.DeleteFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == "end" })
	p.Actions = append([]allot.Action{
		{Kind: allot.Displace, Workload: "run", Queue: "a", Tasks: []allot.Placement{at(0, "n0", 0)}, Reason: allot.Reason{Code: allot.DeviceLost}},
		{Kind: allot.Start, Workload: "run", Queue: "a", Tasks: []allot.Placement{at(0, "n0", 3)}},
	}, p.Actions...)
	for _, v := range broken(t, s, p) {
		if v.Path != "shares" && !strings.HasPrefix(v.Path, "shares[") { // one device fewer
			t.Error(v)
		}
	}
	none := &allot.Plan{Shares: []allot.Share{{Resource: allot.GPU, Quota: quota.Unlimited(), Limit: quota.Unlimited()}}}
	if err := Plan(&allot.State{}, none); err != nil {
		t.Errorf("zero state: %v", err)
	}
	want := "verify: unlawful plan, violations: 1\n\t: no state or no plan (S1)"
	if err := Plan(nil, nil); err == nil || err.Error() != want {
		t.Errorf("no state: %v", err)
	}
}

// A mutant is a change of the lifecycle that makes its plan unlawful. Each
// names the rule that it breaks and where that must be found.
type mutant struct {
	rule, path, name string
	change           func(s *allot.State, p *allot.Plan)
}

// refused tests that verify tells the rule, and where, once the lawful scene is changed.
func (m mutant) refused(t *testing.T, scene func() (*allot.State, *allot.Plan)) {
	t.Run(m.rule+"/"+m.name, func(t *testing.T) {
		s, p := scene()
		m.change(s, p)
		if found := broken(t, s, p); !breaks(found, m.path, m.rule) {
			t.Errorf("no %s at %s in %v", m.rule, m.path, found)
		}
	})
}

// workload finds a workload of the state.
func workload(s *allot.State, id string) *allot.Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(w allot.Workload) bool { return w.ID == id })]
}

// onPlan is a mutation of the plan alone.
func onPlan(change func(p *allot.Plan)) func(*allot.State, *allot.Plan) {
	return func(_ *allot.State, p *allot.Plan) { change(p) }
}

// drop is a mutation that forgets an action.
func drop(action int) func(*allot.State, *allot.Plan) {
	return onPlan(func(p *allot.Plan) { p.Actions = slices.Delete(p.Actions, action, action+1) })
}

// add is a mutation that appends an action.
func add(a allot.Action) func(*allot.State, *allot.Plan) {
	return onPlan(func(p *allot.Plan) { p.Actions = append(p.Actions, a) })
}

const added = "actions[5]"

func TestVerifyRefuses(t *testing.T) {
	var mutants []mutant
	for _, list := range [][]mutant{
		mutantsOfNames(), mutantsOfLifecycle(), mutantsOfPlaces(), mutantsOfGangs(),
		mutantsOfQuotas(), mutantsOfReasons(), mutantsOfShares(),
	} {
		mutants = append(mutants, list...)
	}
	for _, m := range mutants {
		m.refused(t, lifecycle)
	}
	for _, m := range roomMutants() { // they are tried in TestVerifyRefusesRoom
		mutants = append(mutants, m.mutant)
	}
	mutants = append(mutants, promiseMutants()...)                // in TestVerifyRefusesPromises
	for _, rule := range []string{"T2", "T3", "T4", "T6", "P8"} { // in topology_test.go
		mutants = append(mutants, mutant{rule: rule})
	}
	for _, rule := range verifiedRules(t) {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.rule == rule }) {
			t.Errorf("rule %s: no plan breaks it in this test", rule)
		}
	}
}

// verifiedRules reads from the source which rules Verify names.
func verifiedRules(t *testing.T) (rules []string) {
	files, err := filepath.Glob("verify*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if ok && strings.HasPrefix(spec.Names[0].Name, "rule") {
				rule, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, rule)
			}
			return true
		})
	}
	if len(rules) < 20 {
		t.Fatalf("only %d rules found", len(rules))
	}
	return rules
}

func mutantsOfNames() []mutant {
	return []mutant{
		{"S1", "revision", "other revision", onPlan(func(p *allot.Plan) { p.Revision = "8" })},
		{"V1", "actions[3]", "unknown workload", onPlan(func(p *allot.Plan) { p.Actions[startGang].Workload = "x" })},
		{"V1", "actions[3]", "unknown form", onPlan(func(p *allot.Plan) { p.Actions[startGang].Form = 1 })},
		{"V1", "actions[3]", "negative form", onPlan(func(p *allot.Plan) { p.Actions[startGang].Form = -1 })},
		{"V1", "actions[3]", "other queue", onPlan(func(p *allot.Plan) { p.Actions[startGang].Queue = "b" })},
		{"V1", "actions[3]", "no tasks", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks = nil })},
		{"V1", "actions[3]", "no kind", onPlan(func(p *allot.Plan) { p.Actions[startGang].Kind = 0 })},
		{"V1", "actions[3].tasks[1]", "unknown pod set", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].PodSet = "x" })},
		{"V1", "actions[3].tasks[1]", "unknown node", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Node = "x" })},
		{"V1", "actions[3].tasks[1]", "unknown device", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices[0] = 4 })},
		{"V1", "actions[3].tasks[1]", "negative device", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices[0] = -1 })},
		{"V1", "actions[3].tasks[1]", "index beyond", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Index = 2 })},
		{"V1", "actions[3].tasks[1]", "not submitted", func(s *allot.State, _ *allot.Plan) { workload(s, "gang").PodSets[0].Missing = 1 }},
		{"V1", "actions[3].tasks[0]", "negative index", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[0].Index = -1 })},
		{"V1", "actions[0].tasks[0]", "displaced elsewhere", onPlan(func(p *allot.Plan) { p.Actions[displaceLost].Tasks[0] = at(0, "n0", 0) })},
		{"V1", added + ".tasks[0]", "displaced twice", onPlan(func(p *allot.Plan) { p.Actions = append(p.Actions, p.Actions[displaceLost]) })},
		{"V1", "pending[0]", "unknown pending", onPlan(func(p *allot.Plan) { p.Pending[0].Workload = "a" })},
		{"V1", "pending[0]", "pending in other queue", onPlan(func(p *allot.Plan) { p.Pending[0].Queue = "b" })},
		{"V1", "pending[4].reasons[0]", "unknown form in reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons[0].Form = 1 })},
		{"V1", "pending[4].reasons[0]", "unknown pod set in reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons[0].PodSet = "x" })},
		{"V1", "pending[4].reasons[0]", "unknown workload in reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons[0].Workload = "x" })},
		{"V1", "pending[4].reasons[0]", "unknown queue in reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons[0].Queue = "x" })},
		{"V1", "pending[4].reasons[0]", "unknown node in reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons[0].Nearest = &allot.Nearest{Node: "x"} })},
		{"V1", "shares[0]", "unknown queue in share", onPlan(func(p *allot.Plan) { p.Shares[shareA].Queue = "0" })},
		{"V1", "shares[0]", "unknown pool in share", onPlan(func(p *allot.Plan) { p.Shares[shareA].Pool = "x" })},
		{"S3", "actions[3].tasks[1]", "tasks", onPlan(func(p *allot.Plan) { slices.Reverse(p.Actions[startGang].Tasks) })},
		{"S3", "actions[3].tasks[1]", "task twice", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1] = p.Actions[startGang].Tasks[0] })},
		{"S3", "pending[4]", "pending", onPlan(func(p *allot.Plan) { p.Pending[3], p.Pending[4] = p.Pending[4], p.Pending[3] })},
		{"S3", "pending[5]", "pending twice", onPlan(func(p *allot.Plan) { p.Pending = append(p.Pending, p.Pending[4]) })},
		{"S3", "shares[1]", "shares", onPlan(func(p *allot.Plan) { p.Shares[0], p.Shares[1] = p.Shares[1], p.Shares[0] })},
		{"S3", "shares[3]", "share twice", onPlan(func(p *allot.Plan) { p.Shares = append(p.Shares, p.Shares[shareDep]) })},
	}
}

func mutantsOfLifecycle() []mutant {
	return []mutant{
		{"S4", added + ".tasks[0]", "starts what runs", add(allot.Action{Kind: allot.Start, Workload: "run", Queue: "a", Tasks: []allot.Placement{at(0, "n1", 3)}})},
		{"S4", added + ".tasks[0]", "starts twice", add(allot.Action{Kind: allot.Start, Workload: "gang", Queue: "a", Tasks: []allot.Placement{at(0, "n1", 0)}})},
		{"S4", "actions[2].tasks[0]", "claim starts elsewhere", onPlan(func(p *allot.Plan) { p.Actions[startClaimed].Tasks[0] = at(0, "n0", 3) })},
		{"S4", added + ".tasks[0]", "claim starts over what leaves", add(allot.Action{Kind: allot.Start, Workload: "held", Queue: "b", Tasks: []allot.Placement{at(0, "n0", 2)}})},
		{"S4", "actions[2].tasks[0]", "claim starts on a cordoned node", onPlan(func(p *allot.Plan) {
			p.Actions[startClaimed] = allot.Action{Kind: allot.Start, Workload: "unclaim", Queue: "b", Tasks: []allot.Placement{at(0, "cordoned", 0)}}
			p.Actions = slices.Delete(p.Actions, unclaimCordoned, unclaimCordoned+1)
			p.Actions = slices.Insert(p.Actions, 0, allot.Action{Kind: allot.Start, Workload: "claim", Queue: "b", Tasks: []allot.Placement{at(0, "n0", 1)}})
		})},
		{"S4", "actions[3].tasks[1]", "claimed place goes to another", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1] = at(1, "n0", 2) })},
		{"S4", added + ".tasks[0]", "gives up a good claim", add(allot.Action{Kind: allot.Unclaim, Workload: "held", Queue: "b",
			Tasks: []allot.Placement{at(0, "n0", 2)}, Reason: allot.Reason{Code: allot.PlaceLost}})},
		{"S4", added + ".tasks[0]", "unclaims what runs", add(allot.Action{Kind: allot.Unclaim, Workload: "run", Queue: "a",
			Tasks: []allot.Placement{at(0, "n0", 0)}, Reason: allot.Reason{Code: allot.PlaceLost}})},
		{"S4", "actions", "keeps a lost claim", drop(unclaimCordoned)},
		{"S4", "actions", "does not start a free claim", drop(startClaimed)},
		{"S5", "actions[3].tasks[0]", "starts what is leaving", onPlan(func(p *allot.Plan) {
			p.Actions[startGang] = allot.Action{Kind: allot.Start, Workload: "leave", Queue: "a", Tasks: []allot.Placement{at(0, "n1", 0)}}
		})},
		{"S4", added + ".tasks[0]", "displaces a claim", add(allot.Action{Kind: allot.Displace, Workload: "held", Queue: "b",
			Tasks: []allot.Placement{at(0, "n0", 2)}, Reason: allot.Reason{Code: allot.NodeLost}})},
		{"S5", "actions[3]", "starts what ends", func(s *allot.State, p *allot.Plan) {
			workload(s, "end").PodSets[0].Count = 2
			p.Actions[startGang] = allot.Action{Kind: allot.Start, Workload: "end", Queue: "a", Tasks: []allot.Placement{at(1, "n1", 0)}}
		}},
		{"S7", added + ".tasks[0]", "displaces from a good node", add(allot.Action{Kind: allot.Displace, Workload: "run", Queue: "a",
			Tasks: []allot.Placement{at(0, "n0", 0)}, Reason: allot.Reason{Code: allot.NodeLost}})},
		{"S7", "actions", "node lost, nothing displaced", drop(displaceLost)},
		{"S7", "actions", "device lost, nothing displaced", func(s *allot.State, _ *allot.Plan) { s.Nodes[0].Devices[0].Unhealthy = true }},
		{"S7", "actions", "leaves on a lost device", func(s *allot.State, _ *allot.Plan) { s.Nodes[0].Devices[3].Unhealthy = true }},
	}
}

// mutantsOfPlaces puts the second task of the gang elsewhere, or changes what
// it finds there. The meaning of the predicates is TestVerifyPredicates'.
func mutantsOfPlaces() []mutant {
	const second = "actions[3].tasks[1]"
	return []mutant{
		{"P1", second, "cordoned", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1] = at(1, "cordoned", 0) })},
		{"P1", second, "lost", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1] = at(1, "lost", 0) })},
		{"B9", second, "reserved for others", func(s *allot.State, _ *allot.Plan) {
			s.Reservations = []allot.Reservation{{ID: "r", Queue: "b", Nodes: []allot.ReservedNode{{Node: "n1", Devices: []int{1}}}}}
		}},
		{"B9", second, "an amount reserved for others", func(s *allot.State, _ *allot.Plan) {
			s.Reservations = []allot.Reservation{{ID: "r", Queue: "b", Domains: []allot.ReservedDomain{{Level: allot.NodeLevel, Domain: "n1", Devices: 2}}}}
		}},
		{"B1", "actions[3]", "cut without a least duration", func(s *allot.State, p *allot.Plan) {
			p.Actions[startGang].Until = s.Now.Add(time.Hour)
		}},
		{"B1", "actions[3]", "cut below its least", func(s *allot.State, p *allot.Plan) {
			workload(s, "gang").MinDuration, p.Actions[startGang].Until = 3601, s.Now.Add(time.Hour)
		}},
		{"B9", second, "there when it begins", func(s *allot.State, _ *allot.Plan) {
			workload(s, "gang").TimeLimit = quota.Of(3601)
			s.Reservations = []allot.Reservation{{ID: "r", From: s.Now.Add(time.Hour), Nodes: []allot.ReservedNode{{Node: "n1"}}}}
		}},
		{"B6", "actions[3]", "behind nobody", onPlan(func(p *allot.Plan) { p.Actions[startGang].Behind = "nobody" })},
		{"P1", second, "other pool", func(s *allot.State, _ *allot.Plan) {
			s.Pools = []allot.Pool{{ID: "p", Nodes: allot.NodeSet{IDs: []string{"n0", "cordoned", "lost"}}}}
		}},
		{"P1", second, "not of the queue", func(s *allot.State, _ *allot.Plan) { s.Queues[1].Nodes.IDs = []string{"n0"} }},
		{"P1", second, "not of the parent", func(s *allot.State, _ *allot.Plan) {
			s.Queues[0].Nodes.Selector = &placement.Selector{Labels: map[string]string{"zone": "a"}}
		}},
		{"P1", second, "slots", func(s *allot.State, _ *allot.Plan) { s.Nodes[1].MaxTasks = 2 }},
		{"P1", second, "foreign slots", func(s *allot.State, _ *allot.Plan) { s.Nodes[1].MaxTasks, s.Nodes[1].ForeignTasks = 8, 6 }},
		{"P1", second, "resource", func(s *allot.State, _ *allot.Plan) {
			s.Nodes[1].Capacity = map[string]int64{allot.CPU: 8}
			s.Nodes[1].Foreign = map[string]int64{allot.CPU: 3}
			workload(s, "gang").PodSets[0].Request.Resources = map[string]int64{allot.CPU: 3}
		}},
		{"P1", second, "resource that the node lacks", func(s *allot.State, _ *allot.Plan) {
			workload(s, "gang").PodSets[0].Request.Resources = map[string]int64{"fpga": 1}
		}},
		{"P1", second, "unhealthy", func(s *allot.State, _ *allot.Plan) { s.Nodes[1].Devices[1].Unhealthy = true }},
		{"P2", second, "too few devices", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices = nil })},
		{"P2", second, "device named twice", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices = []int{1, 1} })},
		{"P2", second, "device of the first", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices[0] = 0 })},
		{"P2", second, "device of a running task", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1].Devices[0] = 2 })},
		{"P2", second, "device of an ending task", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks[1] = at(1, "n0", 3) })},
		{"P2", second, "foreign", func(s *allot.State, _ *allot.Plan) { s.Nodes[1].Devices[1].Foreign = 1 }},
		{"P2", second, "mixed models", func(s *allot.State, p *allot.Plan) {
			s.Nodes[1].Devices[3].Model = "A100"
			workload(s, "gang").PodSets[0].Request.GPU.Count = 2
			p.Actions[startGang].Tasks[1].Devices = []int{1, 3}
		}},
		{"P7", second, "cap", func(s *allot.State, p *allot.Plan) {
			s.Pools = []allot.Pool{{ID: "p", Policy: allot.Policy{MaxCPUOnlyTasksPerNode: 1}}}
			workload(s, "gang").PodSets[0].Request = allot.Request{}
			p.Actions[startGang].Tasks = []allot.Placement{at(0, "n1"), at(1, "n1")}
		}},
	}
}

func mutantsOfGangs() []mutant {
	const gangStart, resize = "actions[3]", "actions[4]"
	// The gang becomes two pod sets in groups g and h of which one is needed,
	// and g needs both of its own.
	grouped := func(s *allot.State) *allot.Workload {
		w := workload(s, "gang")
		w.PodSets = []allot.PodSet{
			{Name: "g0", Count: 1, Group: "g", Request: gpus(1)},
			{Name: "g1", Count: 1, Group: "g", Request: gpus(1)},
			{Name: "h0", Count: 1, Group: "h", Request: gpus(1)},
		}
		w.Groups = []allot.Group{{Name: "any", Min: 1}, {Name: "g", Parent: "any"}, {Name: "h", Parent: "any"}}
		return w
	}
	in := func(podSet string, p allot.Placement) allot.Placement { p.PodSet = podSet; return p }
	return []mutant{
		{"G1", gangStart, "half a gang", onPlan(func(p *allot.Plan) { p.Actions[startGang].Tasks = p.Actions[startGang].Tasks[:1] })},
		{"G1", gangStart, "minimum not reached", func(s *allot.State, _ *allot.Plan) {
			workload(s, "gang").PodSets[0] = allot.PodSet{Count: 4, Min: 3, Request: gpus(1)}
		}},
		{"G1", "actions[2]", "half of a claimed gang", func(s *allot.State, _ *allot.Plan) {
			w := workload(s, "claim")
			w.PodSets[0].Count = 2
			w.Tasks = append(w.Tasks, task(allot.Claimed, 1, "n1", 3))
		}},
		{"G2", gangStart, "more than the minimum", func(s *allot.State, _ *allot.Plan) { workload(s, "gang").PodSets[0].Min = 1 }},
		{"G2", gangStart, "start at the minimum", func(s *allot.State, _ *allot.Plan) {
			w := workload(s, "gang")
			w.PodSets[0] = allot.PodSet{Count: 3, Min: 1, Request: gpus(1)}
			w.Tasks = []allot.Task{task(allot.Running, 2, "n1", 3)}
		}},
		{"G2", resize, "two at once", func(s *allot.State, p *allot.Plan) {
			p.Actions[resizeElastic].Tasks = append(p.Actions[resizeElastic].Tasks, at(2, "n0", 3))
		}},
		{"G2", gangStart, "resize below the minimum", onPlan(func(p *allot.Plan) { p.Actions[startGang].Kind = allot.Resize })},
		{"G2", "actions[2]", "resize of a claim", func(s *allot.State, p *allot.Plan) {
			w := workload(s, "claim")
			w.PodSets[0] = allot.PodSet{Count: 2, Min: 1, Request: gpus(1)}
			w.Tasks = append(w.Tasks, task(allot.Running, 1, "n1", 3))
			p.Actions[startClaimed].Kind = allot.Resize
		}},
		{"G3", gangStart, "half a group", func(s *allot.State, p *allot.Plan) {
			grouped(s)
			p.Actions[startGang].Tasks = []allot.Placement{in("g1", at(0, "n1", 0))}
		}},
		{"G2", gangStart, "two children where one is needed", func(s *allot.State, p *allot.Plan) {
			grouped(s)
			p.Actions[startGang].Tasks = []allot.Placement{in("g0", at(0, "n1", 0)), in("g1", at(0, "n1", 1)), in("h0", at(0, "n1", 3))}
		}},
		{"G2", gangStart, "a child and half another", func(s *allot.State, p *allot.Plan) {
			grouped(s)
			p.Actions[startGang].Tasks = []allot.Placement{in("g0", at(0, "n1", 0)), in("h0", at(0, "n1", 3))}
		}},
		{"G5", "actions[4]", "two forms", func(s *allot.State, p *allot.Plan) {
			workload(s, "gang").Alternatives = []allot.Form{{PodSets: []allot.PodSet{{Count: 1, Request: gpus(1)}}}}
			p.Actions = slices.Insert(p.Actions, startGang, allot.Action{Kind: allot.Start, Workload: "gang", Queue: "a", Form: 1,
				Tasks: []allot.Placement{at(0, "n1", 3)}})
		}},
		{"G5", gangStart, "another form than what runs", func(s *allot.State, _ *allot.Plan) {
			w := workload(s, "gang")
			w.Alternatives = []allot.Form{{PodSets: []allot.PodSet{{Count: 3, Min: 1, Request: gpus(1)}}}}
			w.Form, w.Tasks = 1, []allot.Task{task(allot.Running, 2, "n1", 3)}
		}},
	}
}

func mutantsOfQuotas() []mutant {
	const gangStart, resize = "actions[3]", "actions[4]"
	class := func(s *allot.State, q int, class string, r allot.QueueResource) {
		r.Resource, r.Class = allot.GPU, class
		s.Queues[q].Resources = append(s.Queues[q].Resources, r)
	}
	return []mutant{
		{"Q2", gangStart, "quota", func(s *allot.State, _ *allot.Plan) { s.Queues[1].Resources[0].Quota = quota.Of(1999) }},
		{"Q2", gangStart, "quota of the parent", func(s *allot.State, _ *allot.Plan) {
			s.Queues[0].Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000)}}
		}},
		{"Q2", gangStart, "absent quota in a leaf", func(s *allot.State, _ *allot.Plan) { s.Queues[1].Resources[0].Quota = quota.Bound{} }},
		{"Q2", gangStart, "use of others", func(s *allot.State, _ *allot.Plan) {
			workload(s, "run").Preemption = allot.NonPreemptible
			s.Queues[1].Resources[0].Quota = quota.Of(2000)
		}},
		{"Q2", gangStart, "by class", func(s *allot.State, _ *allot.Plan) {
			s.Pools = []allot.Pool{{ID: "p", Policy: allot.OSMO()}}
			s.Queues[1].Resources[0].Quota = quota.Of(1000)
			workload(s, "gang").Preemption = allot.PreemptionByClass
		}},
		{"Q2", gangStart, "by own number", func(s *allot.State, _ *allot.Plan) {
			s.Pools = []allot.Pool{{ID: "p", Policy: allot.RunAI()}}
			s.Queues[1].Resources[0].Quota = quota.Of(1000)
			w := workload(s, "gang")
			w.Preemption, w.Class, w.Priority = allot.PreemptionByClass, "train", 100
		}},
		{"Q3", gangStart, "limit", func(s *allot.State, _ *allot.Plan) { s.Queues[1].Resources[0].Limit = quota.Of(2999) }},
		{"Q3", gangStart, "limit 0 of the parent", func(s *allot.State, _ *allot.Plan) {
			s.Queues[0].Resources = []allot.QueueResource{{Resource: allot.GPU, Limit: quota.Of(0)}}
		}},
		{"Q3", resize, "borrowing limit", func(s *allot.State, _ *allot.Plan) { s.Queues[2].Resources[0].BorrowingLimit = quota.Of(1999) }},
		{"Q5", gangStart, "kept by a sibling", func(s *allot.State, _ *allot.Plan) {
			s.Queues[2].Resources[0].Quota, s.Queues[2].Resources[0].LendingLimit = quota.Of(6000), quota.Of(0)
		}},
		{"Q5", gangStart, "kept by another's parent", func(s *allot.State, _ *allot.Plan) {
			s.Queues = append(s.Queues, allot.Queue{ID: "other", Resources: []allot.QueueResource{
				{Resource: allot.GPU, Quota: quota.Of(3000), LendingLimit: quota.Of(0)}}},
				allot.Queue{ID: "below", Parent: "other"})
		}},
		{"Q8", gangStart, "limit of a model", func(s *allot.State, _ *allot.Plan) { class(s, 1, "H100", allot.QueueResource{Limit: quota.Of(2999)}) }},
		{"Q8", gangStart, "quota of a node class", func(s *allot.State, _ *allot.Plan) {
			s.Nodes[1].Class = "spot"
			class(s, 1, "spot", allot.QueueResource{Quota: quota.Of(1000)})
		}},
		{"Q10", gangStart, "cap", func(s *allot.State, _ *allot.Plan) { s.Queues[1].MaxWorkloads = quota.Of(1) }},
		{"Q10", gangStart, "cap of the parent", func(s *allot.State, _ *allot.Plan) { s.Queues[0].MaxWorkloads = quota.Of(4) }},
	}
}

func mutantsOfReasons() []mutant {
	reason := func(i int, r allot.Reason) func(*allot.State, *allot.Plan) {
		return onPlan(func(p *allot.Plan) { p.Pending[i].Reasons[0] = r })
	}
	const first = "pending[4].reasons[0]"
	return []mutant{
		{"X1", "pending", "not told", onPlan(func(p *allot.Plan) { p.Pending = p.Pending[1:] })},
		{"X1", "pending", "gang not started", drop(startGang)},
		{"X1", "pending[4]", "does not wait", onPlan(func(p *allot.Plan) {
			p.Pending = slices.Insert(p.Pending, 4, allot.Pending{Workload: "run", Queue: "a"})
		})},
		{"X1", "pending[4]", "no reason", onPlan(func(p *allot.Plan) { p.Pending[4].Reasons = nil })},
		{"X1", first, "no code", reason(4, allot.Reason{})},
		{"X1", first, "unknown code", reason(4, allot.Reason{Code: allot.SearchCut + 1})},
		{"X1", first, "code of an action", reason(4, allot.Reason{Code: allot.PlaceLost})},
		{"X1", first, "nothing short", reason(4, allot.Reason{Code: allot.NoCapacity, Resource: allot.GPU, Have: 2000, Need: 2000})},
		{"X1", first, "queue of others", reason(4, allot.Reason{Code: allot.OverLimit, Queue: "b", Resource: allot.GPU, Have: 0, Need: 1000})},
		{"X1", first, "limit", reason(4, allot.Reason{Code: allot.OverLimit, Queue: "a", Resource: allot.GPU, Have: 1999, Need: 2000})},
		{"X1", first, "borrowing limit", reason(4, allot.Reason{Code: allot.OverBorrowingLimit, Queue: "a", Resource: allot.GPU, Have: 0, Need: 2000})},
		{"X1", first, "quota", reason(4, allot.Reason{Code: allot.NoQuota, Queue: "a", Resource: allot.GPU, Have: 1999, Need: 2000})},
		{"X1", first, "whole quota", reason(4, allot.Reason{Code: allot.ImpossibleQuota, Queue: "a", Resource: allot.GPU, Have: 3999, Need: 4000})},
		{"X1", first, "whole limit", reason(4, allot.Reason{Code: allot.ImpossibleLimit, Queue: "a", Resource: allot.GPU, Have: 4000, Need: 5001})},
		{"X1", first, "running workloads", reason(4, allot.Reason{Code: allot.MaxWorkloads, Queue: "a", Have: 3, Need: 3})},
		{"X1", first, "submitted", reason(4, allot.Reason{Code: allot.NotSubmitted, Have: 0, Need: 1})},
		{"X1", first, "not leaving", reason(4, allot.Reason{Code: allot.Leaving, Need: 1})},
		{"X1", "pending[1].reasons[0]", "claims", reason(1, allot.Reason{Code: allot.ClaimHeld, Need: 2})},
		{"X2", "actions[0].tasks[0]", "other loss", onPlan(func(p *allot.Plan) { p.Actions[displaceLost].Reason.Code = allot.DeviceLost })},
		{"X2", "actions[1].tasks[0]", "no reason", onPlan(func(p *allot.Plan) { p.Actions[unclaimCordoned].Reason = allot.Reason{} })},
		{"X2", "actions[3]", "reason to start", onPlan(func(p *allot.Plan) { p.Actions[startGang].Reason.Code = allot.NodeLost })},
	}
}

func mutantsOfShares() []mutant {
	figure := func(name string, change func(*allot.Share)) mutant {
		return mutant{"Q6", "shares[1]", name, onPlan(func(p *allot.Plan) { change(&p.Shares[shareB]) })}
	}
	return []mutant{
		figure("quota", func(r *allot.Share) { r.Quota = quota.Of(2001) }),
		figure("limit", func(r *allot.Share) { r.Limit = quota.Of(9000) }),
		figure("used", func(r *allot.Share) { r.Used++ }),
		figure("in quota", func(r *allot.Share) { r.InQuota++ }),
		figure("over quota", func(r *allot.Share) { r.OverQuota-- }),
		figure("non-preemptible", func(r *allot.Share) { r.NonPreemptible++ }),
		figure("borrowed", func(r *allot.Share) { r.Borrowed = 0 }),
		{"Q6", "shares", "lent", onPlan(func(p *allot.Plan) { p.Shares[shareA].Lent = 999 })},
		figure("reachable", func(r *allot.Share) { r.Reachable = 9000 }),
		figure("pool total", func(r *allot.Share) { r.PoolTotal = 10000 }),
		{"Q6", "shares", "row missing", onPlan(func(p *allot.Plan) { p.Shares = p.Shares[:2] })},
		{"Q6", "shares", "row of a class missing", func(s *allot.State, _ *allot.Plan) {
			s.Queues[2].Resources = append(s.Queues[2].Resources, allot.QueueResource{Resource: allot.GPU, Class: "H100", Limit: quota.Of(9000)})
		}},
		{"F1", "shares[1]", "demand", onPlan(func(p *allot.Plan) { p.Shares[shareB].Demand = 5000 })},
		{"F1", "shares[2]", "demand of the parent", onPlan(func(p *allot.Plan) { p.Shares[shareDep].Demand = 0 })},
		{"F2", "shares", "less than the quota part", func(s *allot.State, p *allot.Plan) {
			s.Queues[2].Resources[0].LendingLimit = quota.Bound{} // what is kept from lending is handed down to nobody
			p.Shares[shareB].FairShare = 1000
		}},
		{"F7", "shares", "more than there is", onPlan(func(p *allot.Plan) { p.Shares[shareB].FairShare = 4000 })},
		{"F7", "shares", "more than the pool has", onPlan(func(p *allot.Plan) { p.Shares[shareDep].FairShare = 9000 })},
		{"F7", "shares", "more than can be used", onPlan(func(p *allot.Plan) { p.Shares[shareA].FairShare, p.Shares[shareB].FairShare = 6000, 2000 })},
		{"F12", "shares[0]", "state", onPlan(func(p *allot.Plan) { p.Shares[shareA].State = fairshare.OverQuota })},
		{"F12", "shares[0]", "divided", onPlan(func(p *allot.Plan) { p.Shares[shareA].Divided = false })},
		{"F12", "shares[1]", "over the fair share", onPlan(func(p *allot.Plan) { p.Shares[shareB].State = fairshare.OverQuota })},
	}
}

// TestVerifyDivision: where a method divides without quotas, the capacity
// alone bounds the shares.
func TestVerifyDivision(t *testing.T) {
	s := &allot.State{
		Pools:     []allot.Pool{{ID: "p", Policy: allot.Policy{Shares: fairshare.ByDemand}}},
		Nodes:     []allot.Node{node("n", 8)},
		Queues:    []allot.Queue{{ID: "a"}, {ID: "b"}},
		Workloads: []allot.Workload{single("w", "a", gpus(4)), single("x", "b", gpus(8))},
	}
	for _, c := range []struct {
		a, b int64
		ok   bool
	}{{3000, 5000, true}, {4000, 5000, false}, {5000, 3000, false}} {
		row := allot.Share{Pool: "p", Quota: quota.Unlimited(), Limit: quota.Unlimited(), Resource: allot.GPU, Divided: true, Reachable: 8000, PoolTotal: 8000}
		a, b := row, row
		a.Queue, a.Demand, a.FairShare = "a", 4000, c.a
		b.Queue, b.Demand, b.FairShare = "b", 8000, c.b
		p := &allot.Plan{Shares: []allot.Share{a, b}, Pending: []allot.Pending{
			{Workload: "w", Queue: "a", Reasons: []allot.Reason{{Code: allot.NoNode}}},
			{Workload: "x", Queue: "b", Reasons: []allot.Reason{{Code: allot.NoNode}}},
		}}
		if found := broken(t, s, p); (len(found) == 0) != c.ok {
			t.Errorf("shares %d and %d: %v", c.a, c.b, found)
		}
	}
}
