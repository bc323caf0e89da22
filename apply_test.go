package allot

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

func TestApply(t *testing.T) {
	s, p := lifecycle()
	sameState, samePlan := lifecycle()
	want, _ := lifecycle()
	for _, state := range []*State{s, sameState, want} {
		workload(state, "claim").Tasks[0].Since = s.Now.Add(-time.Hour)
	}
	got, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	workload(want, "displaced").Tasks, workload(want, "displaced").WaitingSince = nil, s.Now
	workload(want, "unclaim").Tasks = nil
	started := func(index int, node string, device int) Task {
		task := task(Running, index, node, device)
		task.Since = s.Now
		return task
	}
	workload(want, "claim").Tasks[0].Phase = Running // with the Since of the claim
	workload(want, "claim").Tasks[0].Started = s.Now // when it runs (B1)
	workload(want, "gang").Tasks = []Task{started(0, "n1", 0), started(1, "n1", 1)}
	workload(want, "elastic").Tasks = append(workload(want, "elastic").Tasks, started(1, "n1", 3))
	equal(t, "applied", want, got)
	equal(t, "the state given", sameState, s)
	equal(t, "the plan given", samePlan, p)

	begun, err := Begin(s, p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "begun", want, begun)
	if _, err := Apply(got, p); err == nil {
		t.Error("a plan can be applied twice")
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	// Tasks may be nil or empty; Bounds compare with ==.
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b quota.Bound) bool { return a == b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestApplyForm: the form that holds places is that of the tasks (G5), and
// says nothing once there are none.
func TestApplyForm(t *testing.T) {
	n := Node{ID: "n", Lost: true}
	w := Workload{
		ID:           "w",
		PodSets:      []PodSet{{Name: "x", Count: 1}},
		Alternatives: []Form{{PodSets: []PodSet{{Name: "x", Count: 2}}}},
		Form:         1,
		Tasks:        []Task{{PodSet: "x", Node: "n"}},
	}
	s := &State{Nodes: []Node{n, {ID: "m"}}, Workloads: []Workload{w}}
	displace := Action{Kind: Displace, Workload: "w", Form: 1, Tasks: []Placement{{PodSet: "x", Node: "n"}}}
	start := Action{Kind: Start, Workload: "w", Tasks: []Placement{{PodSet: "x", Node: "m"}}}
	for _, c := range []struct {
		name    string
		actions []Action
		form    int
		tasks   int
	}{
		{"displaced", []Action{displace}, 0, 0},
		{"displaced and started", []Action{displace, start}, 0, 1},
	} {
		got, err := Apply(s, &Plan{Actions: c.actions})
		if err != nil {
			t.Fatal(err)
		}
		if w := got.Workloads[0]; w.Form != c.form || len(w.Tasks) != c.tasks {
			t.Errorf("%s: form %d, tasks %v", c.name, w.Form, w.Tasks)
		}
	}
	if _, err := Apply(s, &Plan{Actions: []Action{start}}); err == nil {
		t.Error("two forms at once: no error")
	}
}

// TestApplyLeavingForm: what a plan evicts in one form claims places in another until it
// has left (S5), and runs in that alone then.
func TestApplyLeavingForm(t *testing.T) {
	s := &State{Nodes: []Node{{ID: "n"}, {ID: "m"}}, Workloads: []Workload{{
		ID: "w", PodSets: []PodSet{{Name: "x", Count: 1}}, Alternatives: []Form{{PodSets: []PodSet{{Name: "x", Count: 2}}}},
		Tasks: []Task{{PodSet: "x", Node: "n", Since: time.Unix(1, 0)}},
	}}, Now: time.Unix(9, 0)}
	evict := Action{Kind: Evict, Workload: "w", Tasks: []Placement{{PodSet: "x", Node: "n"}}}
	start := Action{Kind: Start, Workload: "w", Form: 1, After: []string{"w"}, Tasks: []Placement{{PodSet: "x", Node: "m"}, {PodSet: "x", Index: 1, Node: "m"}}}
	p := &Plan{Actions: []Action{evict, start}}
	claimed := []Task{{PodSet: "x", Phase: Claimed, Node: "m", Since: s.Now}, {PodSet: "x", Index: 1, Phase: Claimed, Node: "m", Since: s.Now}}
	begun, err := Begin(s, p)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]Task{{PodSet: "x", Phase: Terminating, Node: "n", Since: time.Unix(1, 0)}}, claimed...)
	if w := begun.Workloads[0]; w.Form != 1 || w.LeavingForm != quota.Of(0) || !cmp.Equal(w.Tasks, want) {
		t.Errorf("begun: form %d, leaving %v, tasks %v", w.Form, w.LeavingForm, w.Tasks)
	}
	applied, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range claimed {
		claimed[i].Phase = Running
	}
	if w := applied.Workloads[0]; w.Form != 1 || w.LeavingForm.Given() || !cmp.Equal(w.Tasks, claimed) {
		t.Errorf("applied: form %d, leaving %v, tasks %v", w.Form, w.LeavingForm, w.Tasks)
	}
	unclaim := Action{Kind: Unclaim, Workload: "w", Form: 1, Tasks: start.Tasks}
	displace := Action{Kind: Displace, Workload: "w", Tasks: evict.Tasks}
	back := Action{Kind: Start, Workload: "w", After: []string{"w"}, Tasks: []Placement{{PodSet: "x", Node: "m"}}}
	for _, c := range []struct {
		name    string
		actions []Action
		form    int
		leaving quota.Bound
		tasks   int
	}{
		{"gives up the claims", []Action{unclaim}, 1, quota.Of(0), 1},
		{"and claims in the form that leaves", []Action{unclaim, back}, 0, quota.Bound{}, 2},
		{"what leaves is displaced", []Action{displace}, 1, quota.Bound{}, 2},
		{"all goes", []Action{displace, unclaim}, 0, quota.Bound{}, 0},
	} {
		got, err := Begin(begun, &Plan{Actions: c.actions})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if w := got.Workloads[0]; w.Form != c.form || w.LeavingForm != c.leaving || len(w.Tasks) != c.tasks {
			t.Errorf("%s: form %d, leaving %v, tasks %v", c.name, w.Form, w.LeavingForm, w.Tasks)
		}
	}
	start.After = nil
	for _, broken := range [][]Action{{start}, {evict, start}, {displace, unclaim, {Kind: Evict, Workload: "w", Tasks: evict.Tasks}}} {
		if _, err := Begin(s, &Plan{Actions: broken}); err == nil {
			t.Errorf("%v: no error", broken)
		}
	}
}

func TestApplySome(t *testing.T) {
	s, p := lifecycle()
	got, err := ApplySome(s, p, func(i int, a Action) bool { return a.Kind == Resize && i == resizeElastic })
	if err != nil {
		t.Fatal(err)
	}
	if n := len(workload(got, "elastic").Tasks); n != 2 {
		t.Errorf("elastic has %d tasks", n)
	}
	if n := len(workload(got, "gang").Tasks); n != 0 {
		t.Errorf("gang has %d tasks", n)
	}
	none, err := ApplySome(s, p, func(int, Action) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "nothing applied", s, none)
}

func TestApplyMismatch(t *testing.T) {
	for _, c := range []struct {
		name, path string
		change     func(*State, *Plan)
	}{
		{"revision", "revision", onPlan(func(p *Plan) { p.Revision = "8" })},
		{"workload", "actions[3].workload", onPlan(func(p *Plan) { p.Actions[startGang].Workload = "x" })},
		{"form", "actions[3].form", onPlan(func(p *Plan) { p.Actions[startGang].Form = 1 })},
		{"negative form", "actions[3].form", onPlan(func(p *Plan) { p.Actions[startGang].Form = -1 })},
		{"queue", "actions[3].queue", onPlan(func(p *Plan) { p.Actions[startGang].Queue = "b" })},
		{"kind", "actions[3].kind", onPlan(func(p *Plan) { p.Actions[startGang].Kind = 9 })},
		{"pod set", "actions[3].tasks[1].podSet", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].PodSet = "x" })},
		{"index", "actions[3].tasks[1].index", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].Index = 2 })},
		{"not submitted", "actions[3].tasks[1].index", func(s *State, _ *Plan) { workload(s, "gang").PodSets[0].Missing = 1 }},
		{"node", "actions[3].tasks[1].node", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].Node = "x" })},
		{"device", "actions[3].tasks[1].devices[0]", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].Devices[0] = 9 })},
		{"device twice", "actions[3].tasks[1].devices[1]", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].Devices = []int{1, 1} })},
		{"started twice", "actions[3].tasks[1]", onPlan(func(p *Plan) { p.Actions[startGang].Tasks[1].Index = 0 })},
		{"claims elsewhere", "actions[2].tasks[0]", onPlan(func(p *Plan) { p.Actions[startClaimed].Tasks[0].Devices[0] = 3 })},
		{"displaced elsewhere", "actions[0].tasks[0]", onPlan(func(p *Plan) { p.Actions[displaceLost].Tasks[0].Node = "n0" })},
		{"nothing there", "actions[0].tasks[0]", onPlan(func(p *Plan) { p.Actions[displaceLost].Tasks[0].Index = 1 })},
		{"displaces a claim", "actions[1].tasks[0]", onPlan(func(p *Plan) { p.Actions[unclaimCordoned].Kind = Displace })},
		{"unclaims what runs", "actions[0].tasks[0]", onPlan(func(p *Plan) { p.Actions[displaceLost].Kind = Unclaim })},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := lifecycle()
			c.change(s, p)
			got, err := Apply(s, p)
			var mismatch *MismatchError
			if got != nil || !errors.As(err, &mismatch) || mismatch.Path != c.path {
				t.Errorf("got state %v and error %v, want one at %s", got != nil, err, c.path)
			}
		})
	}
	for _, c := range []struct {
		s    *State
		p    *Plan
		want string
	}{
		{nil, nil, "allot: plan does not match the state: no state or no plan"},
		{&State{Revision: "1"}, &Plan{}, `allot: plan does not match the state: revision: "" is not the state's, "1"`},
	} {
		if _, err := Apply(c.s, c.p); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestCloneShares: no memory that could be written to is shared. The state has
// every field set, so that a new field which cloneState forgets is found.
func TestCloneShares(t *testing.T) {
	s := new(State)
	fill(t, reflect.ValueOf(s).Elem(), "State")
	c := cloneState(s)
	if !reflect.DeepEqual(s, c) {
		t.Fatal("the clone differs")
	}
	apart(t, reflect.ValueOf(s).Elem(), reflect.ValueOf(c).Elem(), "State")
}

// fill sets every exported field to something that is not zero, with one
// element in every list and map.
func fill(t *testing.T, v reflect.Value, path string) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case reflect.TypeFor[quota.Bound]():
		v.Set(reflect.ValueOf(quota.Of(1)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path+"[0]")
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value, path+"[k]")
		v.SetMapIndex(reflect.ValueOf("k"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				fill(t, v.Field(i), path+"."+field.Name)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		t.Fatalf("%s: fill knows no %s", path, v.Kind())
	}
}

// apart checks that a and b, which are deeply equal, share no memory.
func apart(t *testing.T, a, b reflect.Value, path string) {
	shared := func() bool { return a.UnsafePointer() == b.UnsafePointer() }
	switch a.Kind() {
	case reflect.Pointer:
		if shared() {
			t.Errorf("%s is shared", path)
		}
		apart(t, a.Elem(), b.Elem(), path)
	case reflect.Slice:
		if shared() {
			t.Errorf("%s is shared", path)
		}
		for i := range a.Len() {
			apart(t, a.Index(i), b.Index(i), path+"[]")
		}
	case reflect.Map:
		if shared() {
			t.Errorf("%s is shared", path)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if field := a.Type().Field(i); field.IsExported() {
				apart(t, a.Field(i), b.Field(i), path+"."+field.Name)
			}
		}
	}
}

// TestNoPanic: whatever a plan says, Verify and Apply answer, and leave state
// and plan as they were; what Verify finds lawful Apply carries out.
func TestNoPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := lifecycle()
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			scramble(t, p)
		}
		same, _ := lifecycle()
		lawful := VerifyPlan(s, p)
		_, err := Apply(s, p)
		if lawful == nil && err != nil {
			t.Errorf("lawful, and %v", err)
		}
		if !reflect.DeepEqual(s, same) {
			t.Error("the state was modified")
		}
	})
}

// scramble changes one thing of the plan.
func scramble(t *rapid.T, p *Plan) {
	name := rapid.SampledFrom([]string{"", "a", "b", "dep", "run", "gang", "held", "leave", "n0", "n1", "lost", "cordoned", "x"})
	number := rapid.SampledFrom([]int{math.MinInt, -1, 0, 1, 2, 3, 4, 63, 64, math.MaxInt})
	if len(p.Actions) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.Actions)-1).Draw(t, "action")
	a := &p.Actions[i]
	a.Tasks = slices.Clone(a.Tasks)
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		a.Kind = ActionKind(rapid.IntRange(0, 5).Draw(t, "kind"))
	case 1:
		a.Workload = name.Draw(t, "workload")
	case 2:
		a.Queue = name.Draw(t, "queue")
	case 3:
		a.Form = number.Draw(t, "form")
	case 4:
		p.Actions = slices.Delete(slices.Clone(p.Actions), i, i+1)
	case 5:
		p.Actions = append(p.Actions, *a)
	case 6:
		p.Pending = append(p.Pending, Pending{Workload: name.Draw(t, "workload"),
			Reasons: []Reason{{Code: Code(rapid.Byte().Draw(t, "code")), Queue: name.Draw(t, "queue"), Form: number.Draw(t, "form")}}})
	case 7:
		p.Shares = append(p.Shares, Share{Queue: name.Draw(t, "queue"), Resource: name.Draw(t, "resource"), FairShare: int64(number.Draw(t, "share"))})
	default:
		k := rapid.IntRange(0, len(a.Tasks)-1).Draw(t, "task")
		a.Tasks[k] = Placement{PodSet: rapid.SampledFrom([]string{"", "x"}).Draw(t, "podSet"),
			Index: number.Draw(t, "index"), Node: name.Draw(t, "node"), Devices: rapid.SliceOfN(number, 0, 3).Draw(t, "devices")}
	}
}

func ExampleApply() {
	s := &State{
		Nodes:     []Node{{ID: "n", Devices: []Device{{Model: "H100"}}}},
		Workloads: []Workload{{ID: "w", PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 1}}}}}},
	}
	p, err := Solve(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := Apply(s, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(s.Workloads[0].Tasks), "tasks before,", len(after.Workloads[0].Tasks), "after")
	again, err := Solve(after)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(again.Actions), "actions more")
	// Output:
	// 0 tasks before, 1 after
	// 0 actions more
}

// ExampleApplySome carries out what takes away, and leaves what starts for
// later.
func ExampleApplySome() {
	s := &State{
		Nodes: []Node{{ID: "lost", Lost: true}, {ID: "n"}},
		Workloads: []Workload{{
			ID: "w", PodSets: []PodSet{{Count: 1}}, Tasks: []Task{{Node: "lost"}},
		}},
	}
	p, err := Solve(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := ApplySome(s, p, func(_ int, a Action) bool { return a.Kind == Displace })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(p.Actions), "actions;", len(after.Workloads[0].Tasks), "tasks when one is carried out")
	// Output:
	// 2 actions; 0 tasks when one is carried out
}
