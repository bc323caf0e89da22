package allot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot/quota"
)

// second is the n-th second of the tests about making room.
func second(n int) time.Time { return time.Unix(1_700_000_000+int64(n), 0).UTC() }

// running is a task that runs since a second.
func running(index, since int, node string, devices ...int) Task {
	return Task{Index: index, Node: node, Devices: devices, Since: second(since)}
}

// roomy is a state in the tenth second and a plan that makes room in it, worked
// out by hand, with every kind of action that takes time. All devices but
// n2[1] are in use or left.
func roomy() (*State, *Plan) {
	retried := single("retried", "", gpus(1), running(0, 1, "n0", 0))
	retried.Retries = quota.Of(2)
	elastic := Workload{ID: "elastic", PodSets: []PodSet{{Count: 4, Min: 1, Request: gpus(1)}},
		Tasks: []Task{running(0, 2, "n0", 2), running(1, 3, "n0", 3), running(2, 3, "n1", 0)}}
	claim := single("claim", "", gpus(1), running(0, 4, "n1", 3))
	claim.Tasks[0].Phase = Claimed
	s := &State{
		Now:   second(10),
		Nodes: []Node{node("n0", 4), node("n1", 4), node("n2", 3)},
		Workloads: []Workload{
			single("big", "", gpus(2)), claim, elastic,
			single("end", "", gpus(1), running(0, 5, "n0", 1)),
			single("follow", "", gpus(1), running(0, 6, "n1", 2)),
			single("lead", "", gpus(1), running(0, 7, "n1", 1)),
			retried, single("small", "", gpus(1)),
		},
	}
	p := &Plan{Actions: []Action{
		{Kind: Evict, Workload: "retried", Tasks: []Placement{at(0, "n0", 0)}},
		{Kind: Evict, Workload: "end", Tasks: []Placement{at(0, "n0", 1)}, Ending: Ending{Final: true}},
		{Kind: Shrink, Workload: "elastic", Tasks: []Placement{at(1, "n0", 3), at(2, "n1", 0)}},
		{Kind: Move, Workload: "lead", Tasks: []Placement{at(0, "n2", 0)}, From: []Placement{at(0, "n1", 1)}},
		{Kind: Move, Workload: "follow", Tasks: []Placement{at(0, "n0", 0)}, From: []Placement{at(0, "n1", 2)}, After: []string{"retried"}},
		{Kind: Start, Workload: "claim", Tasks: []Placement{at(0, "n1", 3)}},
		{Kind: Start, Workload: "small", Tasks: []Placement{at(0, "n2", 1)}},
		{Kind: Start, Workload: "big", Tasks: []Placement{at(0, "n1", 1, 2)}, After: []string{"follow", "lead"}},
		{Kind: Resize, Workload: "elastic", Tasks: []Placement{at(3, "n0", 1)}, After: []string{"end"}},
	}}
	return s, p
}

// The actions of roomy's plan.
const (
	evictRetried = iota
	evictEnd
	shrinkElastic
	moveLead
	moveFollow
	startClaim
	startSmall
	startBig
	growElastic
)

// lives tells the workloads of a state and their tasks, with the second that
// they are there since.
func lives(s *State) string {
	var b strings.Builder
	for i := range s.Workloads {
		w := &s.Workloads[i]
		fmt.Fprint(&b, w.ID)
		if w.Ending {
			fmt.Fprint(&b, " ending")
		}
		if w.Retries.Given() {
			fmt.Fprint(&b, " retries ", w.Retries)
		}
		if !w.PartialSince.IsZero() {
			fmt.Fprint(&b, " partial ", w.PartialSince.Unix()-second(0).Unix())
		}
		for _, t := range w.Tasks {
			fmt.Fprintf(&b, "; %d %v %s%v %d", t.Index, t.Phase, t.Node, t.Devices, t.Since.Unix()-second(0).Unix())
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// S4, S6, R8: what evictions, moves and starts that wait for them come to.
func TestApplyMakesRoom(t *testing.T) {
	s, p := roomy()
	before := lives(s)
	begun, err := Begin(s, p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "begun", `big; 0 claimed n1[1 2] 10
claim; 0 running n1[3] 4
elastic; 0 running n0[2] 2; 1 terminating n0[3] 3; 2 terminating n1[0] 3; 3 claimed n0[1] 10
end ending; 0 terminating n0[1] 5
follow; 0 terminating n1[2] 6; 0 claimed n0[0] 6
lead; 0 terminating n1[1] 7; 0 claimed n2[0] 7
retried retries 1; 0 terminating n0[0] 1
small; 0 running n2[1] 10
`, lives(begun))
	applied, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "applied", `big; 0 running n1[1 2] 10
claim; 0 running n1[3] 4
elastic; 0 running n0[2] 2; 3 running n0[1] 10
follow; 0 running n0[0] 6
lead; 0 running n2[0] 7
retried retries 1
small; 0 running n2[1] 10
`, lives(applied))
	equal(t, "the state given", before, lives(s))
	if _, err := Begin(begun, p); err == nil {
		t.Error("a plan can be begun twice")
	}
	if err := completes(s, p, begun, applied); err != nil {
		t.Error(err)
	}
}

// completes says whether Begin and Apply agree: when all that was Terminating
// has left and then all that was Claimed runs, both have come to the same.
// Apply leaves Terminating only what was, and Claimed besides only what waits
// for that.
func completes(s *State, p *Plan, begun, applied *State) error {
	if got, want := lives(completed(begun)), lives(completed(applied)); got != want {
		return fmt.Errorf("what was begun comes to\n%sand not to\n%sunder\n%s", got, want, p.String())
	}
	stays := make(map[string]bool)
	for i := range s.Workloads {
		for _, t := range s.Workloads[i].Tasks {
			stays[fmt.Sprint(s.Workloads[i].ID, t.PodSet, t.Index, t.Phase)] = true
			stays[fmt.Sprint(t.Node, t.Phase)] = true
		}
	}
	for i := range applied.Workloads {
		w := &applied.Workloads[i]
		waits := slices.ContainsFunc(w.Tasks, func(t Task) bool { return stays[fmt.Sprint(t.Node, Terminating)] })
		for _, t := range w.Tasks {
			if t.Phase == Running || stays[fmt.Sprint(w.ID, t.PodSet, t.Index, t.Phase)] || t.Phase == Claimed && waits {
				continue
			}
			return fmt.Errorf("%s is %v on %s after\n%s", w.ID, t.Phase, t.Node, p.String())
		}
	}
	return nil
}

// completed is the state when all that was Terminating has left and then all
// that was Claimed runs.
func completed(s *State) *State {
	end := cloneState(s)
	for i := range end.Workloads {
		w := &end.Workloads[i]
		w.Tasks = slices.DeleteFunc(w.Tasks, func(t Task) bool { return t.Phase == Terminating })
		for k := range w.Tasks {
			w.Tasks[k].Phase = Running
		}
	}
	end.Workloads = slices.DeleteFunc(end.Workloads, func(w Workload) bool { return w.Ending })
	return end
}

// S4: what does not match is told, by Apply and Begin alike.
func TestApplyRoomMismatch(t *testing.T) {
	for _, c := range []struct {
		name, path string
		change     func(*State, *Plan)
	}{
		{"after nobody", "actions[7].after[1]", onPlan(func(p *Plan) { p.Actions[startBig].After[1] = "x" })},
		{"an evict after somebody", "actions[0].after", onPlan(func(p *Plan) { p.Actions[evictRetried].After = []string{"end"} })},
		{"move from too few", "actions[3].from", onPlan(func(p *Plan) { p.Actions[moveLead].From = nil })},
		{"move from too many", "actions[3].from", onPlan(func(p *Plan) { p.Actions[moveLead].From = append(p.Actions[moveLead].From, at(1, "n0")) })},
		{"start from somewhere", "actions[6].from", onPlan(func(p *Plan) { p.Actions[startSmall].From = []Placement{at(0, "n0")} })},
		{"move of another task", "actions[3].from[0]", onPlan(func(p *Plan) { p.Actions[moveLead].From[0].Index = 1 })},
		{"move from another pod set", "actions[3].from[0]", onPlan(func(p *Plan) { p.Actions[moveLead].From[0].PodSet = "x" })},
		{"move from elsewhere", "actions[3].from[0]", onPlan(func(p *Plan) { p.Actions[moveLead].From[0].Devices = []int{2} })},
		{"move from an unknown node", "actions[3].from[0].node", onPlan(func(p *Plan) { p.Actions[moveLead].From[0].Node = "x" })},
		{"move to an unknown device", "actions[3].tasks[0].devices[0]", onPlan(func(p *Plan) { p.Actions[moveLead].Tasks[0].Devices[0] = 3 })},
		{"moves already", "actions[3].from[0]", func(s *State, _ *Plan) {
			w := workload(s, "lead")
			w.Tasks[0].Phase = Terminating
			w.Tasks = append(w.Tasks, task(Claimed, 0, "n2", 0))
		}},
		{"moves twice", "actions[4].from[0]", onPlan(func(p *Plan) { p.Actions[moveFollow] = p.Actions[moveLead] })},
		{"no tasks", "actions[0].tasks", onPlan(func(p *Plan) { p.Actions[evictRetried].Tasks = nil })},
		{"evict elsewhere", "actions[0].tasks[0]", onPlan(func(p *Plan) { p.Actions[evictRetried].Tasks[0].Devices[0] = 1 })},
		{"evict of what waits", "actions[0].tasks[0]", onPlan(func(p *Plan) { p.Actions[evictRetried].Workload = "big" })},
		{"evict of a claim", "actions[0].tasks[0]", onPlan(func(p *Plan) {
			p.Actions[evictRetried] = Action{Kind: Evict, Workload: "claim", Tasks: []Placement{at(0, "n1", 3)}}
		})},
		{"evict of what leaves", "actions[0].tasks[0]", func(s *State, _ *Plan) { workload(s, "retried").Tasks[0].Phase = Terminating }},
		{"evict of a part", "actions[2].tasks", onPlan(func(p *Plan) { p.Actions[shrinkElastic].Kind = Evict })},
		{"shrink of nothing", "actions[2].tasks[1]", onPlan(func(p *Plan) { p.Actions[shrinkElastic].Tasks[1].Index = 3 })},
		{"the end of what has claims", "actions[1].tasks", func(s *State, p *Plan) {
			w := workload(s, "end")
			w.PodSets[0].Count = 2
			w.Tasks = append(w.Tasks, task(Claimed, 1, "n2", 2))
		}},
		{"start of what ends", "actions[6].tasks[0]", onPlan(func(p *Plan) { p.Actions[startSmall].Workload = "end" })},
		{"start of what ended before", "actions[6].tasks[0]", func(s *State, _ *Plan) { workload(s, "small").Ending = true }},
		{"start of what was evicted", "actions[6].tasks[0]", onPlan(func(p *Plan) { p.Actions[startSmall].Workload = "retried" })},
		{"start in another form of what was evicted", "actions[6].form", func(s *State, p *Plan) {
			workload(s, "retried").Alternatives = []Form{{PodSets: []PodSet{{Count: 1, Request: gpus(1)}}}}
			p.Actions[startSmall].Workload, p.Actions[startSmall].Form = "retried", 1
		}},
		{"start of what moves", "actions[6].tasks[0]", onPlan(func(p *Plan) { p.Actions[startSmall].Workload = "lead" })},
		{"start twice", "actions[8].tasks[0]", onPlan(func(p *Plan) { p.Actions[growElastic] = p.Actions[startBig] })},
		{"start in a place that is taken", "", onPlan(func(p *Plan) { p.Actions[startSmall].Tasks[0].Devices[0] = 0 })},
		{"start in a place that stays taken", "", onPlan(func(p *Plan) { p.Actions[startBig].Tasks[0].Node = "n0" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, carry := range map[string]func(*State, *Plan) (*State, error){"Apply": Apply, "Begin": Begin} {
				s, p := roomy()
				c.change(s, p)
				if err := Check(s); err != nil {
					t.Fatal(err)
				}
				got, err := carry(s, p)
				var mismatch *MismatchError
				if got != nil || !errors.As(err, &mismatch) || mismatch.Path != c.path {
					t.Errorf("%s: got state %v and error %v, want one at %q", name, got != nil, err, c.path)
				}
			}
		})
	}
}

// V1: of a state that Check refuses nothing comes but a mismatch.
func TestApplyRefusesFaults(t *testing.T) {
	for _, row := range faultRows {
		s := sound()
		row.spoil(s)
		var mismatch *MismatchError
		if got, err := Apply(s, &Plan{Revision: s.Revision}); got != nil || !errors.As(err, &mismatch) {
			t.Errorf("%s: %v", row.want, err)
		}
	}
}

// A part that leaves out what a later action rests on is none; any other is.
func TestApplySomeRoom(t *testing.T) {
	for _, c := range []struct {
		name, path string
		leftOut    []int
	}{
		{"the start of what nobody waits for", "", []int{startSmall}},
		{"what waits", "", []int{moveFollow, startBig, growElastic}},
		{"an evict that a move needs", "actions[4].after[0]", []int{evictRetried}},
		{"an evict, and the move that needs it", "actions[7].after[0]", []int{evictRetried, moveFollow}},
		{"a whole chain", "", []int{evictRetried, moveFollow, startBig}},
		{"an evict that a resize needs", "actions[8].after[0]", []int{evictEnd}},
		{"everything", "", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		s, p := roomy()
		keep := func(i int, _ Action) bool { return !slices.Contains(c.leftOut, i) }
		applied, err := ApplySome(s, p, keep)
		begun, err2 := BeginSome(s, p, keep)
		if fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%s: Apply says %v, Begin %v", c.name, err, err2)
		}
		var mismatch *MismatchError
		if c.path == "" && err != nil || c.path != "" && (!errors.As(err, &mismatch) || mismatch.Path != c.path) {
			t.Errorf("%s: %v, want one at %q", c.name, err, c.path)
		}
		if err == nil {
			if err := completes(s, p, begun, applied); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// S4: what waits for somebody whom the plan does not send away is still Claimed
// when the plan has been carried out; what waits for others runs.
func TestApplyWaitsForWhatLeft(t *testing.T) {
	leaving := running(0, 1, "n0", 0)
	leaving.Phase = Terminating
	s := &State{Now: second(10), Nodes: []Node{node("n0", 3), node("n1", 2)}, Workloads: []Workload{
		{ID: "both", PodSets: []PodSet{{Count: 2, Request: gpus(1)}}},
		single("evicted", "", gpus(1), running(0, 2, "n0", 1)),
		single("leaving", "", gpus(1), leaving),
		single("moved", "", gpus(1), running(0, 3, "n0", 2)),
		single("one", "", gpus(1)),
	}}
	p := &Plan{Actions: []Action{
		{Kind: Evict, Workload: "evicted", Tasks: []Placement{at(0, "n0", 1)}},
		{Kind: Move, Workload: "moved", Tasks: []Placement{at(0, "n0", 0)}, From: []Placement{at(0, "n0", 2)}, After: []string{"leaving"}},
		{Kind: Start, Workload: "both", Tasks: []Placement{at(0, "n0", 1), at(1, "n1", 0)}, After: []string{"evicted"}},
		{Kind: Start, Workload: "one", Tasks: []Placement{at(0, "n0", 2)}, After: []string{"moved"}},
	}}
	const begun = `both; 0 claimed n0[1] 10; 1 claimed n1[0] 10
evicted; 0 terminating n0[1] 2
leaving; 0 terminating n0[0] 1
moved; 0 terminating n0[2] 3; 0 claimed n0[0] 3
one; 0 claimed n0[2] 10
`
	const applied = `both; 0 running n0[1] 10; 1 running n1[0] 10
evicted
leaving; 0 terminating n0[0] 1
moved; 0 claimed n0[0] 3
one; 0 running n0[2] 10
`
	got, err := Begin(s, p)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "begun", begun, lives(got))
	if got, err = Apply(s, p); err != nil {
		t.Fatal(err)
	}
	equal(t, "applied", applied, lives(got))
	// The same place without a word of whom it waits for.
	p.Actions[1].After = nil
	if _, err := Apply(s, p); err == nil {
		t.Error("a task runs where another one is Terminating")
	}
}

// S6: an eviction takes a retry, or ends the workload.
func TestApplyEnding(t *testing.T) {
	for _, c := range []struct {
		name    string
		retries quota.Bound
		ending  Ending
		leaving bool // another task of it is leaving already
		want    string
		wait    string
	}{
		{"any number", quota.Bound{}, Ending{}, false, "w; 0 terminating n[0] 1\n", "w\n"},
		{"unlimited", quota.Unlimited(), Ending{}, false, "w retries unlimited; 0 terminating n[0] 1\n", "w retries unlimited\n"},
		{"counted", quota.Of(1), Ending{Status: "x"}, false, "w retries 0; 0 terminating n[0] 1\n", "w retries 0\n"},
		{"none left", quota.Of(0), Ending{}, false, "w retries 0; 0 terminating n[0] 1\n", "w retries 0\n"},
		{"final", quota.Of(1), Ending{Final: true}, false, "w ending retries 1; 0 terminating n[0] 1\n", ""},
		{"final, and still leaving", quota.Bound{}, Ending{Final: true}, true,
			"w ending; 0 terminating n[0] 1; 1 terminating n[1] 2\n", "w ending; 1 terminating n[1] 2\n"},
		{"again, and still leaving", quota.Bound{}, Ending{}, true,
			"w; 0 terminating n[0] 1; 1 terminating n[1] 2\n", "w; 1 terminating n[1] 2\n"},
	} {
		s := &State{Now: second(10), Nodes: []Node{node("n", 2)}, Workloads: []Workload{
			{ID: "w", PodSets: []PodSet{{Count: 2, Min: 1, Request: gpus(1)}}, Retries: c.retries, Tasks: []Task{running(0, 1, "n", 0)}}}}
		if c.leaving {
			s.Workloads[0].Tasks = append(s.Workloads[0].Tasks, running(1, 2, "n", 1))
			s.Workloads[0].Tasks[1].Phase = Terminating
		}
		p := &Plan{Actions: []Action{{Kind: Evict, Workload: "w", Tasks: []Placement{at(0, "n", 0)}, Ending: c.ending}}}
		begun, err := Begin(s, p)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := Apply(s, p)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, c.name+": begun", c.want, lives(begun))
		equal(t, c.name+": applied", c.wait, lives(applied))
		if len(applied.Workloads) > 0 && applied.Workloads[0].Tasks == nil && applied.Workloads[0].Form != 0 {
			t.Errorf("%s: a form without tasks", c.name)
		}
	}
}

// G1: PartialSince is since when a workload that holds something holds less
// than its minimum.
func TestApplyPartialSince(t *testing.T) {
	gang := func(since int, tasks ...Task) Workload {
		w := Workload{ID: "w", PodSets: []PodSet{{Count: 4, Min: 3, Request: gpus(1)}}, Tasks: tasks}
		if since > 0 {
			w.PartialSince = second(since)
		}
		return w
	}
	three := []Task{running(0, 1, "n", 0), running(1, 1, "n", 1), running(2, 1, "m", 0)}
	four := append(slices.Clip(three), running(3, 1, "m", 1))
	two := Workload{ID: "w", PodSets: []PodSet{{Name: "a", Count: 1, Group: "g"}, {Name: "b", Count: 1, Group: "g"}},
		Groups: []Group{{Name: "g", Min: 1}}, Tasks: []Task{{PodSet: "a", Node: "n"}, {PodSet: "b", Node: "n"}}}
	act := func(kind ActionKind, tasks ...Placement) Action {
		return Action{Kind: kind, Workload: "w", Tasks: tasks}
	}
	inB := Placement{PodSet: "b", Node: "n"}
	for _, c := range []struct {
		name    string
		before  Workload
		actions []Action
		want    int // the second, 0 for none
	}{
		{"whole", gang(0, three...), nil, 0},
		{"below the minimum, and nobody has said so", gang(0, three[:2]...), nil, 10},
		{"below the minimum since the fifth second", gang(5, three[:2]...), nil, 5},
		{"it is not so any more", gang(5, three...), nil, 0},
		{"a task of the minimum is lost", gang(0, three...), []Action{act(Displace, at(2, "m", 0))}, 10},
		{"another one is lost", gang(5, three[:2]...), []Action{act(Displace, at(1, "n", 1))}, 5},
		{"all are lost", gang(5, three[:1]...), []Action{act(Displace, at(0, "n", 0))}, 0},
		{"what is above the minimum is lost", gang(0, four...), []Action{act(Displace, at(0, "n", 0))}, 0},
		{"it shrinks to its minimum", gang(0, four...), []Action{act(Shrink, at(3, "m", 1))}, 0},
		{"it is evicted", gang(5, three[:2]...), []Action{act(Evict, at(0, "n", 0), at(1, "n", 1))}, 0},
		{"it is completed", gang(5, three[:2]...), []Action{act(Start, at(2, "m", 0))}, 0},
		{"it is lost and completed", gang(0, three...), []Action{act(Displace, at(2, "m", 0)), act(Start, at(2, "n", 2))}, 0},
		{"it is completed once somebody has left", gang(5, three[:2]...), []Action{
			{Kind: Start, Workload: "w", Tasks: []Placement{at(2, "m", 0)}, After: []string{"w"}}}, 0},
		{"a task moves", gang(0, three...), []Action{
			{Kind: Move, Workload: "w", Tasks: []Placement{at(2, "m", 1)}, From: []Placement{at(2, "m", 0)}}}, 0},
		{"one of two alternatives is lost", two, []Action{act(Displace, inB)}, 0},
	} {
		s := &State{Now: second(10), Nodes: []Node{node("n", 3), node("m", 2)}, Workloads: []Workload{c.before}}
		for name, carry := range map[string]func(*State, *Plan) (*State, error){"applied": Apply, "begun": Begin} {
			got, err := carry(s, &Plan{Actions: c.actions})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			want := time.Time{}
			if c.want > 0 {
				want = second(c.want)
			}
			if got := got.Workloads[0].PartialSince; !got.Equal(want) {
				t.Errorf("%s, %s: %v, want %v", c.name, name, got, want)
			}
		}
	}
}

// ExampleBeginSome: one of two orders could not be given. What was set going
// shows in the next state, and what waits for it claims its place.
func ExampleBeginSome() {
	one := Request{GPU: GPURequest{Count: 1}}
	s := &State{
		Nodes: []Node{{ID: "n", Devices: make([]Device, 2)}},
		Workloads: []Workload{
			{ID: "low", PodSets: []PodSet{{Count: 1, Request: one}}, Tasks: []Task{{Node: "n", Devices: []int{0}}}},
			{ID: "other", PodSets: []PodSet{{Count: 1, Request: one}}},
			{ID: "high", Priority: 1, PodSets: []PodSet{{Count: 1, Request: one}}},
		},
	}
	p := &Plan{Actions: []Action{
		{Kind: Evict, Workload: "low", Tasks: []Placement{{Node: "n", Devices: []int{0}}}, Reason: Reason{Code: Preempted, Workload: "high"}},
		{Kind: Start, Workload: "high", Tasks: []Placement{{Node: "n", Devices: []int{0}}}, After: []string{"low"}},
		{Kind: Start, Workload: "other", Tasks: []Placement{{Node: "n", Devices: []int{1}}}},
	}}
	next, err := BeginSome(s, p, func(_ int, a Action) bool { return a.Workload != "other" })
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range next.Workloads {
		for _, t := range w.Tasks {
			fmt.Println(w.ID, "is", t.Phase, "on", t.Node, t.Devices)
		}
	}
	_, err = BeginSome(s, p, func(_ int, a Action) bool { return a.Kind == Start })
	fmt.Println(err)
	// Output:
	// low is terminating on n [0]
	// high is claimed on n [0]
	// allot: plan does not match the state: actions[1].after[0]: "low" keeps its places, as actions[0] is left out
}
