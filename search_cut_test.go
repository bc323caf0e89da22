package allot

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/quota"
)

// M3: a search that ends at its budget is counted, also where it has found
// somebody who may go.
func TestM3CutSearchesAreCounted(t *testing.T) {
	for budget, cut := range map[int]bool{1: true, 1000: false} { // each is its own state
		s := &State{
			Pools:  []Pool{{ID: "p", Policy: Policy{SearchBudget: budget}}},
			Queues: []Queue{gpuQueue("a", "", 0), gpuQueue("b", "", 6)},
		}
		for n := range 4 {
			id := string(rune('m' + n))
			s.Nodes = append(s.Nodes, node(id, 2))
			for d := range 2 {
				s.Workloads = append(s.Workloads, single(fmt.Sprint("x", 2*n+d), "a", gpus(1), task(Running, 0, id, d)))
			}
		}
		s.Workloads = append(s.Workloads, single("y", "b", gpus(2)))
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Work.Cut > 0; got != cut || len(p.Actions) == 0 {
			t.Errorf("budget %d: %d searches cut, %d actions", budget, p.Work.Cut, len(p.Actions))
		}
	}
}

// M3, M8: a budget that cut nothing is not felt: the plan is that of a budget without end, as what
// a search counts and what its bounds refuse depends on no budget.
func TestM8BudgetIsNotFelt(t *testing.T) {
	same, room, cut := 0, 0, 0
	for seed := range deep.Seeds(t, 1200) {
		s := genRoom(seed)
		small, err := solveWithBudget(s, 1<<(seed%6))
		if err != nil {
			t.Fatal(err)
		}
		if small.Work.Cut > 0 {
			cut++
			continue
		}
		endless, err := solveWithBudget(s, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if same++; !samePlan(small, endless) {
			t.Fatalf("seed %d: budget %d, which cut nothing, gives %v, without end %v", seed, 1<<(seed%6), small.Actions, endless.Actions)
		}
		if slices.ContainsFunc(small.Actions, func(a Action) bool { return a.Kind == Evict || a.Kind == Move }) {
			room++
		}
	}
	if room == 0 || cut == 0 {
		t.Errorf("%d plans are the same, of which %d make room, and %d were cut", same, room, cut)
	}
}

// solveWithBudget solves a state of which every pool has the search budget.
func solveWithBudget(s *State, budget int) (*Plan, error) {
	other := *s
	other.Pools = slices.Clone(s.Pools)
	for i := range other.Pools {
		other.Pools[i].Policy.SearchBudget = budget
	}
	return Solve(&other)
}

// splinteredState has on every device of the nodes something that leaves a part of it too
// small for the others, and twice as many as nodes that wait for a part, all of them otherwise:
// each asks what has to move, and nothing that moves helps (W1).
func splinteredState(nodes int) *State {
	s := &State{Now: time.Unix(1_700_000_000, 0), Queues: []Queue{{ID: "q", Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(int64(nodes) * 8000)}}}}}
	add := func(milli, cpu int64, tasks ...Task) {
		s.Workloads = append(s.Workloads, Workload{
			ID: fmt.Sprintf("w%06d", len(s.Workloads)), Queue: "q", Submitted: s.Now, Tasks: tasks,
			PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Milli: milli}, Resources: map[string]int64{CPU: cpu}}}},
		})
	}
	for n := range nodes {
		id := fmt.Sprintf("n%05d", n)
		s.Nodes = append(s.Nodes, Node{ID: id, Devices: make([]Device, 8), Capacity: map[string]int64{CPU: 64_000}})
		for d := range 8 {
			add(int64(510+(8*n+d)%90), int64(3000+(8*n+d)%500), Task{Node: id, Devices: []int{d}})
		}
	}
	for i := range 2 * nodes {
		add(int64(491+i%500), int64(3000+i))
	}
	return s
}

// M8: what all searches of a solve cost together is bounded by the size of the state, and who
// waits for one that was cut is told so; a snapshot decides the same.
func TestM8SearchesAreBoundedTogether(t *testing.T) {
	for nodes, cut := range map[int]bool{8: false, 144: true} { // each is its own state
		s := splinteredState(nodes)
		w, err := newWorld(s)
		if err != nil {
			t.Fatal(err)
		}
		found, err := engine.Solve(context.Background(), w.World)
		if err != nil {
			t.Fatal(err)
		}
		spent, most := w.Pools[0].Effort()
		// Every question may end a little beyond its part: by one set, and what that moves.
		if slack := int64(len(s.Workloads)) * 2048; spent > most+slack {
			t.Errorf("%d nodes: %d steps, at most %d were to be", nodes, spent, most)
		}
		if got := found.Work.Cut > 0; got != cut {
			t.Errorf("%d nodes: %d searches cut", nodes, found.Work.Cut)
		}
		plan, err := w.write(found)
		if err != nil {
			t.Fatal(err)
		}
		last := plan.Pending[len(plan.Pending)-1].Reasons
		if got := slices.ContainsFunc(last, func(r Reason) bool { return r.Code == SearchCut && r.Need > 0 }); got != cut {
			t.Errorf("%d nodes: the last waits for %+v", nodes, last)
		}
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		decision, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		if decision.Incremental() == cut {
			t.Errorf("%d nodes: incremental: %v", nodes, decision.Incremental())
		}
		if again, err := decision.Plan(); err != nil || !samePlan(plan, again) {
			t.Errorf("%d nodes: the snapshot decides otherwise (%v)", nodes, err)
		}
	}
}

// samePlan compares plans but for what they cost.
func samePlan(a, b *Plan) bool {
	x, y := *a, *b
	x.Work, y.Work = Work{}, Work{}
	one, err1 := x.MarshalJSON()
	other, err2 := y.MarshalJSON()
	return err1 == nil && err2 == nil && string(one) == string(other)
}

// G1: of very many stale gangs a part goes at a time, so that the turns that follow are not
// as many as their square.
func TestG1ManyStaleGangsGoTogether(t *testing.T) {
	turns := map[int]int64{}
	for _, n := range []int{200, 800} {
		s := &State{
			Now:    time.Unix(1_700_000_000, 0),
			Pools:  []Pool{{ID: "p", Policy: Policy{StaleGangGrace: quota.Of(0)}}},
			Queues: []Queue{gpuQueue("a", "", int64(n)*8)},
		}
		for i := range n {
			id := fmt.Sprintf("n%05d", i)
			s.Nodes = append(s.Nodes, node(id, 8))
			w := single(fmt.Sprintf("w%05d", i), "a", gpus(8), task(Running, 0, id, 0, 1, 2, 3, 4, 5, 6, 7))
			w.PodSets[0].Count = 9
			s.Workloads = append(s.Workloads, w)
		}
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		if turns[n] = p.Work.Turns; len(p.Pending) < n*8/10 {
			t.Errorf("%d of %d gangs wait", len(p.Pending), n)
		}
	}
	if turns[800] > 8*turns[200] {
		t.Errorf("%d turns of 200 stale gangs, %d of 800", turns[200], turns[800])
	}
}

// G3: of a gang of very many pod sets fewer choices are tried.
func TestG3VeryManyPodSets(t *testing.T) {
	const sets = 4096
	s := &State{Nodes: []Node{node("n", 8)}, Queues: []Queue{gpuQueue("a", "", 8)}}
	w := Workload{ID: "w", Queue: "a", Groups: []Group{{Name: "g", Min: sets / 2}}}
	for i := range sets {
		w.PodSets = append(w.PodSets, PodSet{Name: fmt.Sprint("s", i), Count: 1, Group: "g", Request: Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{CPU: int64(i)}}})
	}
	s.Workloads = []Workload{w}
	p, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	if p.Work.Searches > cluster.UnitBudget/8 || len(p.Pending) != 1 {
		t.Errorf("%d searches, %d wait", p.Work.Searches, len(p.Pending))
	}
}

// An incremental decision may search for as long as a solve from scratch of the same version,
// whatever came and went before: its workloads and tasks are counted as they change.
func TestIncrementalEffortIsThatOfASolve(t *testing.T) {
	state := State{Nodes: []Node{{ID: "n", Devices: make([]Device, 8)}, {ID: "m", Devices: make([]Device, 8)}}}
	s, err := NewSnapshot(&state)
	if err != nil {
		t.Fatal(err)
	}
	job := func(i, tasks int) Workload {
		w := Workload{ID: fmt.Sprintf("w%d", i), PodSets: []PodSet{{Name: "p", Count: 2, Request: Request{GPU: GPURequest{Count: 1}}}}}
		for k := range tasks {
			w.Tasks = append(w.Tasks, Task{PodSet: "p", Index: k, Phase: Running, Node: "n", Devices: []int{2*i + k}})
		}
		return w
	}
	for i, change := range []Change{
		{Workloads: []Workload{job(0, 0), job(1, 0), job(2, 2)}},
		{Workloads: []Workload{job(0, 2), job(3, 2)}},
		{Workloads: []Workload{job(3, 0)}, Remove: Removal{Workloads: []string{"w0"}}},
		{Remove: Removal{Workloads: []string{"w1", "w2", "w3"}}},
	} {
		if s, err = s.With(change); err != nil {
			t.Fatal(err)
		}
		f := s.followers.take(&s.objects, 1)
		if _, err := f.Decide(context.Background()); err != nil {
			t.Fatal(err)
		}
		w, err := compile(s.objects.state())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Solve(context.Background(), w.World); err != nil {
			t.Fatal(err)
		}
		_, got := f.world.Pools[0].Effort()
		if _, want := w.Pools[0].Effort(); got != want {
			t.Errorf("after change %d it may cost %d steps, and a solve %d", i, got, want)
		}
		s.followers.giveBack(f)
	}
}
