package allot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/division"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/settling"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// mixText is the target mix of a pool of the state, read at the beginning: a line
// per shape.
func mixText(t *testing.T, s *State, pool int32) []string {
	t.Helper()
	w, err := newWorld(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := settling.Settle(w.World, &cluster.Decision{World: w.World}); err != nil {
		t.Fatal(err)
	}
	return targetTexts(w, pool)
}

func targetTexts(w *world, pool int32) []string {
	var lines []string
	for _, m := range division.TargetsOf(w.World, pool) {
		r := m.Request
		line := fmt.Sprintf("%d × %d devices of %d", m.Weight, r.Devices, r.Milli)
		for _, a := range r.Amounts {
			line += fmt.Sprintf(", %s %d", w.pools[pool].resources[a.Resource+1].name, a.Value)
		}
		if r.Models != nil {
			line += fmt.Sprintf(", %d models", len(r.Models))
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// mixed is a state in which one task runs and many wait.
func mixed() *State {
	ask := func(count, gpus int) []PodSet {
		return []PodSet{{Count: count, Request: Request{GPU: GPURequest{Count: gpus}}}}
	}
	cpu := ask(1, 0)
	cpu[0].Request.Resources = map[string]int64{CPU: 500}
	half := ask(1, 0)
	half[0].Request.GPU.Milli = 500
	half[0].Request.Selector.Labels = map[string]string{"zone": "a"}
	return &State{
		Nodes: []Node{{ID: "n0", Devices: make([]Device, 8)}, {ID: "n1", Devices: make([]Device, 8)}},
		Pools: []Pool{{ID: "p", Policy: Policy{GPUStrategy: placement.FragmentationGradient}}},
		Workloads: []Workload{
			{ID: "cpu", PodSets: cpu},
			{ID: "elastic", PodSets: []PodSet{{Count: 10, Min: 1, Missing: 4, Request: Request{GPU: GPURequest{Count: 1}}}}, Tasks: []Task{
				{Node: "n0", Devices: []int{0}}, {Index: 1, Node: "n0", Devices: []int{1}},
			}},
			{ID: "ending", PodSets: ask(1, 5), Ending: true},
			{ID: "forms", PodSets: ask(2, 2), Alternatives: []Form{{PodSets: ask(4, 1)}}, Form: 1, Tasks: []Task{
				{Node: "n1", Devices: []int{0}}, {Index: 1, Node: "n1", Devices: []int{1}}, {Index: 2, Node: "n1", Devices: []int{2}}, {Index: 3, Node: "n1", Devices: []int{3}},
			}},
			{ID: "gang", PodSets: ask(8, 2)},
			{ID: "half", PodSets: half},
		},
	}
}

// P4: the mix is made of the tasks that the policy names, the most frequent
// shapes first, and of what it gives.
func TestP4Mix(t *testing.T) {
	given := []MixShape{
		{Request: Request{GPU: GPURequest{Count: 2, Models: []string{"B", "A", "B"}}}, Weight: 7},
		{Request: Request{GPU: GPURequest{Count: 2}}, Weight: 3},
		{Request: Request{GPU: GPURequest{Count: 1, Milli: 1000}, Resources: map[string]int64{"unheard-of": 1, Memory: 0}}, Weight: 1},
		{Request: Request{GPU: GPURequest{Milli: 500}}, Weight: 2},
		{Request: Request{GPU: GPURequest{Count: 2, Models: []string{"A", "B"}}}, Weight: 1},
	}
	rows := []struct {
		why     string
		scoring Scoring
		want    []string
	}{
		{"all that is submitted in the preferred form; 16 of 18 tasks are less than 95%", Scoring{},
			[]string{"1 × 0 devices of 0, cpu 500", "1 × 1 devices of 500", "10 × 2 devices of 1000", "6 × 1 devices of 1000"}},
		{"16 of 18 tasks are 88%", Scoring{Coverage: 88}, []string{"10 × 2 devices of 1000", "6 × 1 devices of 1000"}},
		{"10 of 18 tasks are 55%", Scoring{Coverage: 55}, []string{"10 × 2 devices of 1000"}},
		{"what holds a place, in its form", Scoring{MixFrom: MixRunning}, []string{"6 × 1 devices of 1000"}},
		{"what does not", Scoring{MixFrom: MixPending, Coverage: 100},
			[]string{"1 × 0 devices of 0, cpu 500", "1 × 1 devices of 500", "4 × 1 devices of 1000", "8 × 2 devices of 1000"}},
		{"nothing", Scoring{MixFrom: MixGiven}, nil},
		{"what is given, in its own words", Scoring{MixFrom: MixGiven, Coverage: 1, Mix: given},
			[]string{"1 × 1 devices of 1000, unheard-of 1", "2 × 1 devices of 500", "3 × 2 devices of 1000", "8 × 2 devices of 1000, 2 models"}},
		{"both together: what is given is not cut", Scoring{Coverage: 55, Mix: given},
			[]string{"1 × 1 devices of 1000, unheard-of 1", "13 × 2 devices of 1000", "2 × 1 devices of 500", "8 × 2 devices of 1000, 2 models"}},
	}
	for _, row := range rows {
		s := mixed()
		s.Pools[0].Policy.Scoring = row.scoring
		want := slices.Sorted(slices.Values(row.want))
		if diff := cmp.Diff(want, mixText(t, s, 0)); diff != "" {
			t.Errorf("%s:\n%s", row.why, diff)
		}
		if diff := cmp.Diff(want, mixText(t, permuted(s, rand.New(rand.NewPCG(1, 2))), 0)); diff != "" {
			t.Errorf("%s, in another order:\n%s", row.why, diff)
		}
	}
}

// P4, M5: a plan leaves the mix as it was, and a solve reads it anew when a
// victim that ends for good takes its part along.
func TestP4MixOfThePlan(t *testing.T) {
	s := mixed()
	plan, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Apply(s, plan)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mixText(t, s, 0), mixText(t, after, 0)); diff != "" {
		t.Errorf("applied:\n%s", diff)
	}

	s.Workloads = []Workload{
		{ID: "low", PodSets: []PodSet{{Count: 4, Request: Request{GPU: GPURequest{Count: 4}}}}, Retries: quota.Of(0), Tasks: []Task{
			{Node: "n0", Devices: []int{0, 1, 2, 3}}, {Index: 1, Node: "n0", Devices: []int{4, 5, 6, 7}},
			{Index: 2, Node: "n1", Devices: []int{0, 1, 2, 3}}, {Index: 3, Node: "n1", Devices: []int{4, 5, 6, 7}},
		}},
		{ID: "top", Priority: 1, PodSets: []PodSet{{Count: 3, Request: Request{GPU: GPURequest{Count: 1}}}}},
	}
	w, err := newWorld(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Solve(t.Context(), w.World); err != nil {
		t.Fatal(err)
	}
	if plan, err = Solve(s); err != nil || !plan.Actions[0].Ending.Final {
		t.Fatalf("%v, %s", err, plan.String())
	}
	if after, err = Apply(s, plan); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(targetTexts(w, 0), mixText(t, after, 0)); diff != "" || len(targetTexts(w, 0)) != 1 {
		t.Errorf("applied, the victim gone:\n%s", diff)
	}
}

// P5: seeds are chance's only source, and each node has its own.
func TestP5Random(t *testing.T) {
	s := &State{Pools: []Pool{{ID: "p", Policy: Policy{GPUStrategy: placement.Random}}}, Workloads: []Workload{
		{ID: "w", PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}}},
	}}
	for i := range 4 {
		s.Nodes = append(s.Nodes, Node{ID: fmt.Sprint("n", i), Devices: make([]Device, 2)})
	}
	chosen := make(map[string]int)
	for seed := range int64(400) {
		s.Pools[0].Policy.Scoring.Seed = seed
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		at := p.Actions[0].Tasks[0]
		chosen[fmt.Sprint(at.Node, at.Devices)]++
	}
	if len(chosen) != 8 {
		t.Errorf("%d of 8 places are chosen: %v", len(chosen), chosen)
	}
	for place, n := range chosen { // each for itself: the order cannot matter
		if n < 20 || n > 90 {
			t.Errorf("%s is chosen %d times of 400", place, n)
		}
	}
}

// Every strategy solves what the others solve: as many single tasks start.
func TestP5SinglesStartUnderAnyStrategy(t *testing.T) {
	for st := placement.Default; st.Valid(); st++ {
		s := mixed()
		s.Pools[0].Policy.GPUStrategy, s.Pools[0].Policy.CPUStrategy = st, st
		s.Workloads = s.Workloads[:0]
		for i := range 20 {
			s.Workloads = append(s.Workloads, Workload{ID: fmt.Sprintf("w%02d", i), PodSets: []PodSet{
				{Count: 1, Request: Request{GPU: GPURequest{Count: i % 2}}},
			}})
		}
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := VerifyPlan(s, p); err != nil || len(p.Actions) != 20 {
			t.Errorf("%v: %d of 20 start: %v", st, len(p.Actions), err)
		}
	}
}
