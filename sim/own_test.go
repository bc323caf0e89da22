package sim_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/sim"
	"github.com/allotsched/allot/sim/trace"
)

// ranked is first fit in the order of a function.
func ranked(rank func(*sim.View) []sim.Turn) sim.Scheduler {
	s := sim.FirstFit()
	s.Name, s.Rank = "own", rank
	return s
}

// TestOwnIsSRTF: the shortest remaining time first, as a function, is sim's own.
func TestOwnIsSRTF(t *testing.T) {
	own := ranked(func(v *sim.View) []sim.Turn {
		var turns []sim.Turn
		for i := range v.Jobs {
			turns = append(turns, sim.Turn{Job: i})
		}
		slices.SortStableFunc(turns, func(a, b sim.Turn) int { return cmp.Compare(v.Jobs[a.Job].Left, v.Jobs[b.Job].Left) })
		return turns
	})
	in := generate(t, trace.PhillyMix(), trace.Load{Seed: 4, Nodes: 2, Jobs: 200, Percent: 200})
	for _, costs := range []sim.Costs{{}, {Start: 40 * second, Grace: 30 * second, Loses: true, Checkpoint: 30 * time.Minute}} {
		o := sim.Options{Scheduler: own, Check: true, Costs: costs}
		got := mustRun(t, in, o)
		o.Scheduler = sim.SRTF()
		if want := mustRun(t, in, o); got.Trail != want.Trail {
			t.Errorf("with costs %+v it does something else", costs)
		}
	}
}

// TestOwnComesNoFurther: an algorithm that stops everybody at each round, before anything is
// saved, has a run end with an error that says so; not where a job runs through all the rounds.
func TestOwnComesNoFurther(t *testing.T) {
	own := ranked(func(v *sim.View) (turns []sim.Turn) {
		v.Wake(v.Now + second)
		for i := range v.Jobs {
			turns = append(turns, sim.Turn{Job: (i + int(v.Now/second)) % len(v.Jobs)})
		}
		slices.SortStableFunc(turns, func(a, b sim.Turn) int { // it is left alone
			first := func(t sim.Turn) int { return strings.Index(v.Jobs[t.Job].Workload.ID, "first") }
			return first(b) - first(a)
		})
		return turns
	})
	asked := 0
	o := sim.Options{Scheduler: own, Costs: sim.Costs{Loses: true}, NoVerify: true, NoReasons: true, Progress: func(sim.Progress) bool {
		asked++
		return asked < 2000 // 32,000 instants
	}}
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 1000*second), single("b", 1, 0, 1000*second), single("c", 1, 0, 1000*second)}}
	var fault *sim.Fault
	if r, err := sim.Run(in, o); !errors.As(err, &fault) || !strings.Contains(err.Error(), "scheduler own comes no further") || r.Partial {
		t.Errorf("%v", err)
	}
	asked = 0
	o.Costs = sim.Costs{Loses: true, Start: 2 * second, Grace: second}
	if _, err := sim.Run(in, o); !errors.As(err, &fault) {
		t.Errorf("where they never come to work: %v", err)
	}
	asked = 0
	o.Until = 11_000 * second
	if _, err := sim.Run(in, o); err != nil {
		t.Errorf("until an instant: %v", err)
	}
	asked = 0
	o.Until, o.Costs.Loses, o.Costs.Start, o.Costs.Grace = 0, true, 0, 0
	in.Cluster.Nodes = trace.Nodes(1, 2)
	in.Jobs = append([]sim.Job{single("first", 1, 0, 11_000*second)}, in.Jobs...)
	r, err := sim.Run(in, o)
	if !errors.As(err, &fault) || fault.At < 11_000*second || r.Jobs[0].Outcome != sim.Done {
		t.Errorf("beside a job that runs on: %v", err)
	}
}

// TestSavingNothingComesNoFurther: a job that is stopped again and again before it has come to work
// comes no further for it that the stop would save its work.
func TestSavingNothingComesNoFurther(t *testing.T) {
	own := sim.FirstFit()
	own.Name, own.Plan = "own", func(v *sim.View, _ *allot.State) (*allot.Plan, error) {
		v.Wake(v.Now + second)
		a := allot.Action{Kind: allot.Start, Workload: "a", Tasks: []allot.Placement{{Node: "node-0", Devices: []int{0}}}}
		if v.Jobs[0].Runs {
			a.Kind, a.Ending.Checkpoint = allot.Evict, true
		}
		return &allot.Plan{Actions: []allot.Action{a}}, nil
	}
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 1000*second)}}
	asked := 0
	o := sim.Options{Scheduler: own, Costs: sim.Costs{Loses: true, Start: 2 * second}, NoVerify: true, NoReasons: true, Progress: func(sim.Progress) bool {
		asked++
		return asked < 2000
	}}
	var fault *sim.Fault
	if _, err := sim.Run(in, o); !errors.As(err, &fault) || !strings.Contains(err.Error(), "comes no further") {
		t.Errorf("%v", err)
	}
}

// twoModels is a node of 2 fast GPUs and one of 2 slow ones, and two jobs of 2 GPUs. The
// first is four times as fast on the fast ones, the second hardly faster.
func twoModels() *sim.Input {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 2)}}
	for i, model := range []string{"slow", "fast"} {
		for d := range in.Cluster.Nodes[i].Devices {
			in.Cluster.Nodes[i].Devices[d].Model = model
		}
	}
	in.Jobs = []sim.Job{single("much", 2, 0, 400*second), single("little", 2, 0, 400*second)}
	in.Jobs[0].ModelSpeed = map[string]int64{"fast": 4000}
	in.Jobs[1].ModelSpeed = map[string]int64{"fast": 1250}
	return in
}

// gavel gives each job the model on which it gains most over the others, as Gavel's
// throughput policies do (OSDI 2020).
func gavel(v *sim.View) []sim.Turn {
	var turns []sim.Turn
	for i := range v.Jobs {
		turns = append(turns, sim.Turn{Job: i})
	}
	gain := func(t sim.Turn) int64 { return v.Jobs[t.Job].ModelSpeed["fast"] }
	slices.SortStableFunc(turns, func(a, b sim.Turn) int { return int(gain(b) - gain(a)) })
	for i := range turns {
		turns[i].Models = []string{"slow"}
		if i == 0 {
			turns[i].Models = []string{"fast"}
		}
	}
	return turns
}

// TestSpeedByModel: a job works as fast as its GPUs, and an algorithm that knows can give
// each what suits it.
func TestSpeedByModel(t *testing.T) {
	in := twoModels()
	ends := func(s sim.Scheduler, costs sim.Costs) string {
		r := mustRun(t, in, sim.Options{Scheduler: s, Check: true, Costs: costs})
		return fmt.Sprint(r.Jobs[0].End, r.Jobs[1].End)
	}
	// First fit gives the first the slow node; IDs order those that come at once.
	if got := ends(sim.FirstFit(), sim.Costs{}); got != "1m40s 6m40s" && got != "6m40s 5m20s" {
		t.Errorf("first fit ends at %s", got)
	}
	// From 100 s on the second, which has done a quarter, is alone, and goes to the fast
	// node: 300 s at 1.25.
	if got := ends(ranked(gavel), sim.Costs{}); got != "1m40s 5m40s" {
		t.Errorf("gavel ends at %s", got)
	}
	// It leaves for 10 s, and starts in 20 s.
	if got := ends(ranked(gavel), sim.Costs{Grace: 10 * second, Start: 20 * second}); got != "2m0s 6m30s" {
		t.Errorf("with costs gavel ends at %s", got)
	}
	// A gang on both is as slow as its slower half.
	in.Jobs = in.Jobs[:1]
	in.Jobs[0].Workload.PodSets[0].Count = 2
	if r := mustRun(t, in, sim.Options{Check: true}); r.Jobs[0].End != 400*second {
		t.Errorf("on both it ends at %v", r.Jobs[0].End)
	}
	for _, speed := range []int64{0, -1, 1 << 62} {
		in.Jobs[0].ModelSpeed = map[string]int64{"fast": speed}
		if err := sim.Check(in, sim.Options{}); err == nil {
			t.Errorf("a speed of %d is taken", speed)
		}
	}
}

// TestModelsOfATurn: a turn lets a job have no model that it does not accept.
func TestModelsOfATurn(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1)}, Jobs: []sim.Job{single("j", 1, 0, 100*second)}}
	in.Cluster.Nodes[0].Devices[0].Model, in.Cluster.Nodes[1].Devices[0].Model = "a", "b"
	in.Jobs[0].Workload.PodSets[0].Request.GPU.Models = []string{"a"}
	in.Jobs[0].ModelSpeed = map[string]int64{"b": 500}
	for then, end := range map[string]time.Duration{"": 150 * second, "a": 150 * second, "b": 0} {
		turns := func(v *sim.View) []sim.Turn {
			v.Wake(50 * second)
			models := []string{"b"}
			if v.Now >= 50*second && then == "" {
				models = nil
			} else if v.Now >= 50*second {
				models = []string{"b", then}
			}
			return []sim.Turn{{Job: 0, Models: models}}[:len(v.Jobs)]
		}
		for _, costs := range []sim.Costs{{}, {Grace: second}} {
			if r := mustRun(t, in, sim.Options{Scheduler: ranked(turns), Check: true, Costs: costs}); r.Jobs[0].End != end {
				t.Errorf("with models b and then %q it ends at %v, not %v", then, r.Jobs[0].End, end)
			}
		}
	}
}

// TestGoodput: elastic jobs get one GPU more where it makes most, as Sia and Pollux have it
// (SOSP 2023, OSDI 2021), by their tables of goodput.
func TestGoodput(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	for i, goodput := range [][]int64{{100, 190, 270, 340}, {100, 120, 130, 135}} {
		j := single(fmt.Sprint(i), 1, 0, 100*second)
		j.Workload.PodSets[0].Count, j.Workload.PodSets[0].Min, j.Speed = 4, 1, goodput
		in.Jobs = append(in.Jobs, j)
	}
	sia := func(v *sim.View) []sim.Turn {
		turns := make([]sim.Turn, len(v.Jobs))
		for i := range turns {
			turns[i] = sim.Turn{Job: i, Tasks: 1}
		}
		for range int(v.Usable/1000) - len(turns) {
			best, most := -1, int64(0)
			for i := range turns {
				if s, n := v.Jobs[i].Speed, turns[i].Tasks; n < len(s) && s[n]-s[n-1] > most {
					best, most = i, s[n]-s[n-1]
				}
			}
			if best >= 0 {
				turns[best].Tasks++
			}
		}
		return turns
	}
	// The first has 3 GPUs at 270 of 340, the second one at 100 of 135. After 125.926 s the
	// first is done; the second has done 12592.6 of 13500, and has 6.722 s to go at 135.
	r := mustRun(t, in, sim.Options{Scheduler: ranked(sia), Check: true})
	if a, b := r.Jobs[0].End, r.Jobs[1].End; a != 125925925926 || b != 132647462278 {
		t.Errorf("they end at %d and %d", a, b)
	}
	// With costs they keep what they have, and the second grows by tasks that take 5 s.
	r = mustRun(t, in, sim.Options{Scheduler: ranked(sia), Check: true, Costs: sim.Costs{Start: 5 * second, Grace: second}})
	if a, b := r.Jobs[0].End, r.Jobs[1].End; a != 130925925926 || b <= a || r.Jobs[1].Evictions != 0 {
		t.Errorf("with costs they end at %d and %d", a, b)
	}
}

// TestResizedAnew: who is planned anew with fewer tasks has shrunk, with more has grown, and has
// moved only if a task stands elsewhere, whether stopping costs something or not.
func TestResizedAnew(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 4)}}
	j := single("a", 1, 0, 100*second)
	j.Workload.PodSets[0].Count, j.Workload.PodSets[0].Min = 4, 1
	in.Jobs = []sim.Job{j}
	for _, c := range []struct{ early, late, shrinks int }{{4, 2, 1}, {2, 4, 0}, {3, 3, 0}} {
		turns := func(v *sim.View) []sim.Turn {
			v.Wake(50 * second)
			list := make([]sim.Turn, len(v.Jobs)) // none when it has ended
			for i := range list {
				if list[i].Tasks = c.early; v.Now >= 50*second {
					list[i].Tasks = c.late
				}
			}
			return list
		}
		for _, costs := range []sim.Costs{{}, {Grace: 5 * second}} {
			r := mustRun(t, in, sim.Options{Scheduler: ranked(turns), Check: true, Costs: costs})
			if a := r.Jobs[0]; a.Shrinks != c.shrinks || a.Moves != 0 || a.Evictions != 0 || a.Starts != 1 {
				t.Errorf("from %d tasks to %d with %+v: %d shrinks, %d moves, %d evictions, %d starts", c.early, c.late, costs, a.Shrinks, a.Moves, a.Evictions, a.Starts)
			}
		}
	}
}

// TestOwnPlan: a whole plan is carried out as it is, and refused if it cannot be.
func TestOwnPlan(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(2, 1)}}
	in.Jobs = []sim.Job{single("a", 1, 0, 10*second), single("b", 1, 0, 10*second)}
	last := sim.FirstFit()
	last.Plan = func(v *sim.View, s *allot.State) (*allot.Plan, error) {
		for i := range v.Jobs {
			if v.Jobs[i].Runs {
				return nil, nil // one at a time, the last first
			}
		}
		if len(v.Jobs) == 0 {
			return nil, nil
		}
		j := v.Jobs[len(v.Jobs)-1]
		return &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: j.Workload.ID, Tasks: []allot.Placement{{Node: "node-1", Devices: []int{0}}}}}}, nil
	}
	r := mustRun(t, in, sim.Options{Scheduler: last, Check: true})
	if r.Jobs[0].End != 20*second || r.Jobs[1].End != 10*second {
		t.Errorf("they end at %v and %v", r.Jobs[0].End, r.Jobs[1].End)
	}
	for name, plan := range map[string]func(*sim.View, *allot.State) (*allot.Plan, error){
		"an error": func(*sim.View, *allot.State) (*allot.Plan, error) { return nil, errors.New("no idea") },
		"cannot be": func(v *sim.View, _ *allot.State) (*allot.Plan, error) {
			return &allot.Plan{Actions: []allot.Action{{Kind: allot.Start, Workload: "x", Tasks: []allot.Placement{{Node: "node-1", Devices: []int{0}}}}}}, nil
		},
		"no room": func(v *sim.View, _ *allot.State) (*allot.Plan, error) {
			var p allot.Plan
			for _, id := range []string{"a", "b"} {
				p.Actions = append(p.Actions, allot.Action{Kind: allot.Start, Workload: id, Tasks: []allot.Placement{{Node: "node-1", Devices: []int{0}}}})
			}
			return &p, nil
		},
	} { // each on its own: order cannot matter
		s := sim.FirstFit()
		s.Plan = plan
		var fault *sim.Fault
		if _, err := sim.Run(in, sim.Options{Scheduler: s}); !errors.As(err, &fault) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestOddTurns: an order that makes no sense ends the run.
func TestOddTurns(t *testing.T) {
	in := &sim.Input{Cluster: allot.State{Nodes: trace.Nodes(1, 1)}, Jobs: []sim.Job{single("a", 1, 0, 10*second)}}
	for want, turns := range map[string][]sim.Turn{
		"is of job -1": {{Job: -1}}, "is of job 1": {{Job: 1}}, "two turns": {{}, {}}, "with -2 tasks": {{Tasks: -2}},
	} {
		if _, err := sim.Run(in, sim.Options{Scheduler: ranked(func(*sim.View) []sim.Turn { return turns })}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// Nobody has a turn: all wait for ever.
	none := ranked(func(*sim.View) []sim.Turn { return nil })
	if r := mustRun(t, in, sim.Options{Scheduler: none, Until: 20 * second, Check: true}); r.Jobs[0].Outcome != sim.Unfinished || idleSeconds(r) != "by-rule 20" {
		t.Errorf("%+v, idle %s", r.Jobs[0], idleSeconds(r))
	}
	// Nor does a run last for ever in which an algorithm wants to be asked again and again.
	none.Rank = func(v *sim.View) []sim.Turn { v.Wake(v.Now + second); return nil }
	if r := mustRun(t, in, sim.Options{Scheduler: none}); r.Jobs[0].Outcome != sim.Unfinished || r.End > 24*time.Hour {
		t.Errorf("%+v", r.Jobs[0])
	}
	two := sim.SRTF()
	two.Rank = func(*sim.View) []sim.Turn { return nil }
	if err := sim.Check(in, sim.Options{Scheduler: two}); err == nil {
		t.Error("two algorithms are taken")
	}
}
