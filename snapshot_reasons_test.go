package allot

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/allotsched/allot/internal/view"
)

// What a decision is asked stays what it was, whatever the caller does to the
// answers; workloads that ask the same share them inside.
func TestDecisionKeepsItsReasons(t *testing.T) {
	single := func(id string) Workload {
		return Workload{ID: id, PodSets: []PodSet{{Count: 1, Request: Request{GPU: GPURequest{Count: 2}}}}}
	}
	s, err := NewSnapshot(&State{
		Nodes: []Node{
			{ID: "n0", Devices: make([]Device, 1)}, {ID: "n1", Devices: make([]Device, 1)},
			{ID: "n2", Devices: make([]Device, 2), Cordoned: true},
		},
		Workloads: []Workload{single("a"), single("b")},
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	want, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Pending) != 2 || len(want.Pending[0].Reasons[0].Nodes) == 0 || want.Pending[0].Reasons[0].Nearest == nil {
		t.Fatalf("nothing to scribble over: %+v", want.Pending)
	}
	scribble := func(reasons []Reason) {
		for i := range reasons {
			clear(reasons[i].Nodes)
			*reasons[i].Nearest = Nearest{Node: "scribble"}
		}
		clear(reasons)
	}
	again, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	scribble(again.Pending[0].Reasons)
	why, err := d.Why(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	scribble(why)
	for p, err := range d.Pending() {
		if err != nil {
			t.Fatal(err)
		}
		scribble(p.Reasons)
	}
	if got, err := d.Plan(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Plan is %+v, %v, and was %+v", got, err, want)
	}
}

// lentState is a node that w0 holds and w1 waits for.
func lentState() *State {
	return &State{
		Now: time.Unix(1000, 0), Nodes: []Node{node("n", 1)}, Queues: []Queue{gpuQueue("q", "", 1)},
		Workloads: []Workload{single("w0", "q", gpus(1), task(Running, 0, "n", 0)), single("w1", "q", gpus(1))},
	}
}

// A question about what waits beyond its line tells the evaluators of no units, as a solve does not; one about what may
// reclaim, and gets nothing, tells them. What is decided after either is what a solve decides.
func TestQuestionsTellOfUnitsWhereTheyMust(t *testing.T) {
	for _, told := range []bool{false, true} {
		waits := single("waits", "run", gpus(2))
		if told {
			waits.Queue = "reclaim"
		}
		high, first := single("high", "run", gpus(3), task(Running, 0, "n", 1, 2, 3)), single("first", "run", gpus(4))
		high.Priority, first.Priority = 2, 3
		s, err := NewSnapshot(&State{
			Now: time.Unix(1000, 0), Nodes: []Node{node("m", 1), node("n", 4)},
			Queues: []Queue{gpuQueue("begin", "", 1), gpuQueue("reclaim", "", 2), gpuQueue("run", "", 4)},
			Workloads: []Workload{
				single("begins", "begin", gpus(1)), high, single("low", "run", gpus(1), task(Running, 0, "n", 0)), waits,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Decide()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Why(t.Context(), "waits"); err != nil {
			t.Fatal(err)
		}
		if d.borrowed == nil || d.world.Room.Told != told {
			t.Errorf("the evaluators are told: %t, want %t", !told, told)
		}
		later, err := s.With(Change{Workloads: []Workload{first}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := Solve(later.State())
		if err != nil {
			t.Fatal(err)
		}
		if d, err = later.Decide(); err != nil || len(want.Actions) != 4 || !reflect.DeepEqual(d.Actions(), want.Actions) {
			t.Errorf("decided %v, %v, solved %v", d.Actions(), err, want.Actions)
		}
	}
}

// A decision that was asked, and whose follower has gone on, holds no compiled state.
func TestDecisionLetsItsWorldGo(t *testing.T) {
	s, err := NewSnapshot(lentState())
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := d.Plan()
	if err != nil {
		t.Fatal(err)
	}
	held := weak.Make(d.world.World)
	if _, err := s.Decide(); err != nil {
		t.Fatal(err)
	}
	s.followers.idle = nil
	runtime.GC()
	if held.Value() != nil {
		t.Error("the compiled state is still there")
	}
	if again, err := d.Plan(); err != nil || again.Work != plan.Work {
		t.Errorf("%v: %+v, not %+v", err, again.Work, plan.Work)
	}
}

// However many decisions are asked at once, few followers are kept for them afterwards.
func TestFewFollowersAreLent(t *testing.T) {
	s, err := NewSnapshot(lentState())
	if err != nil {
		t.Fatal(err)
	}
	var asking, asked sync.WaitGroup
	const many = 4 * mostFollowers
	asking.Add(many)
	for i := range many {
		with, err := s.With(Change{Workloads: []Workload{single(fmt.Sprint("x", i), "q", gpus(1))}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := with.Decide()
		if err != nil {
			t.Fatal(err)
		}
		asked.Go(func() {
			err := d.View(t.Context(), view.Victims{}, func(view.Decision[Reason, Share]) error {
				asking.Done()
				asking.Wait() // all of them are looked at now
				return nil
			})
			if err != nil {
				t.Error(err)
				asking.Done()
			}
		})
	}
	asked.Wait()
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Plan(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.followers.idle) + len(s.followers.lent); n > mostFollowers {
		t.Errorf("%d followers are kept", n)
	}
}

// M8: where the searches of a decision cost too much only beside what is remembered of others, that
// is forgotten, and it is decided incrementally once more; and so are questions about it.
func TestM8WhatIsRememberedIsForgotten(t *testing.T) {
	state := splinteredState(112)
	waiting := state.Workloads[8*112:]
	state.Workloads = state.Workloads[:8*112]
	s, err := NewSnapshot(state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(); err != nil {
		t.Fatal(err)
	}
	searches := s.followers.idle[0].world.pools[0].Searching()
	searches.Spend(int(searches.Most() / 2)) // as much as is remembered without being forgotten
	if s, err = s.With(Change{Workloads: waiting}); err != nil {
		t.Fatal(err)
	}
	d, err := s.Decide()
	if err != nil {
		t.Fatal(err)
	}
	if !d.Incremental() || searches.Spent() < searches.Most()/8 {
		t.Errorf("incremental: %v, of %d steps %d were needed", d.Incremental(), searches.Most(), searches.Spent())
	}
	want, err := Solve(s.State())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Plan(); err != nil || !samePlan(got, want) {
		t.Errorf("%v: it decides otherwise", err)
	}
}
