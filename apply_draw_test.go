package allot

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/quota"
)

// S4: on plans drawn by hand's rules, Begin and what follows of itself come to
// what Apply says, whatever part is kept; what is not carried out is told; and
// every result is a state.
func TestBeginComesToApply(t *testing.T) {
	counts := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		s, p := drawRoom(t)
		if err := Check(s); err != nil {
			t.Fatal(err)
		}
		before := lives(s)
		left := rapid.SliceOfN(rapid.IntRange(0, 9), len(p.Actions), len(p.Actions)).Draw(t, "left out")
		whole := rapid.Bool().Draw(t, "whole")
		keep := func(i int, _ Action) bool { return whole || left[i] > 1 }
		begun, err := BeginSome(s, p, keep)
		applied, err2 := ApplySome(s, p, keep)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("Begin says %v, Apply %v", err, err2)
		}
		if lives(s) != before {
			t.Fatal("the state was modified")
		}
		for _, a := range p.Actions {
			counts[a.Kind.String()]++
		}
		if err != nil {
			if counts["mismatches"]++; whole {
				t.Fatalf("%v\n%s%s", err, before, p.Text())
			}
			return
		}
		if err := errors.Join(Check(begun), Check(applied), completes(s, p, begun, applied)); err != nil {
			t.Fatal(err)
		}
	})
	for _, name := range []string{"start", "resize", "displace", "unclaim", "evict", "shrink", "move", "mismatches"} {
		if t.Logf("%-10s %d", name, counts[name]); counts[name] == 0 {
			t.Errorf("none: %s", name)
		}
	}
}

// V1: whatever a plan says about making room, Apply and Begin answer alike, and
// leave state and plan as they were.
func TestApplyRoomNoPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := roomy()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			scrambleRoom(t, p)
		}
		before, text := lives(s), p.Text()
		applied, err := Apply(s, p)
		begun, err2 := Begin(s, p)
		if lives(s) != before || p.Text() != text {
			t.Fatal("state or plan were modified")
		}
		if err == nil && err2 == nil { // where After does not say who must leave, they may disagree
			if err := completes(s, p, begun, applied); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// scrambleRoom changes one thing of a plan that makes room.
func scrambleRoom(t *rapid.T, p *Plan) {
	name := rapid.SampledFrom([]string{"", "big", "claim", "elastic", "end", "follow", "lead", "retried", "small", "n0", "n1", "n2", "x"})
	a := &p.Actions[rapid.IntRange(0, len(p.Actions)-1).Draw(t, "action")]
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		a.Kind = ActionKind(rapid.IntRange(0, 8).Draw(t, "kind"))
	case 1:
		a.Workload = name.Draw(t, "workload")
	case 2:
		a.After = rapid.SliceOfN(name, 0, 2).Draw(t, "after")
	case 3:
		a.From = append(a.From, at(rapid.IntRange(-1, 2).Draw(t, "index"), name.Draw(t, "node"), rapid.IntRange(-1, 3).Draw(t, "device")))
	case 4:
		a.Ending.Final = !a.Ending.Final
	default:
		list := &a.Tasks
		if len(a.From) > 0 && rapid.Bool().Draw(t, "from") {
			list = &a.From
		}
		k := rapid.IntRange(0, len(*list)-1).Draw(t, "task")
		(*list)[k] = at(rapid.IntRange(-1, 4).Draw(t, "index"), name.Draw(t, "node"), rapid.SliceOfN(rapid.IntRange(-1, 4), 0, 2).Draw(t, "devices")...)
	}
}

// A roomDraw is a state of single devices and a plan that makes room in it.
type roomDraw struct {
	t     *rapid.T
	s     *State
	p     *Plan
	free  []Placement
	owner map[string]string // by place: who leaves it
}

func (d *roomDraw) upTo(n int) int { return rapid.IntRange(0, n).Draw(d.t, "n") }

// take draws a place that is free or will be, and who must leave it.
func (d *roomDraw) take(index int) (p Placement, after []string) {
	i := d.upTo(len(d.free) - 1)
	p = d.free[i]
	d.free = slices.Delete(d.free, i, i+1)
	p.Index = index
	if owner := d.owner[fmt.Sprint(p.Node, p.Devices)]; owner != "" {
		after = []string{owner}
	}
	return p, after
}

// leave gives places back, once their owner has gone.
func (d *roomDraw) leave(owner string, places ...Placement) {
	for _, p := range places {
		d.owner[fmt.Sprint(p.Node, p.Devices)] = owner
		d.free = append(d.free, p)
	}
}

func drawRoom(t *rapid.T) (*State, *Plan) {
	d := &roomDraw{t: t, s: &State{Now: second(10)}, p: &Plan{}, owner: map[string]string{}}
	for i := range 3 {
		n := node(fmt.Sprint("n", i), 4)
		d.s.Nodes = append(d.s.Nodes, n)
		for k := range n.Devices {
			d.free = append(d.free, at(0, n.ID, k))
		}
	}
	for i := range 2 + d.upTo(6) {
		d.workload(i)
	}
	for i := range d.s.Workloads {
		d.action(&d.s.Workloads[i])
	}
	for i := range d.s.Workloads {
		d.fill(&d.s.Workloads[i])
	}
	return d.s, d.p
}

// workload draws a workload that waits, runs, claims or leaves.
func (d *roomDraw) workload(i int) {
	w := Workload{ID: fmt.Sprint("w", i), PodSets: []PodSet{{Count: 1 + d.upTo(3), Request: gpus(1)}}}
	set := &w.PodSets[0]
	set.Min = 1 + d.upTo(set.Count-1)
	if d.upTo(3) == 0 {
		w.Retries = quota.Of(int64(d.upTo(1)))
	}
	phase := rapid.SampledFrom([]Phase{Running, Running, Running, Claimed, Terminating}).Draw(d.t, "phase")
	for index := range d.upTo(set.Count) {
		if len(d.free) == 0 {
			break
		}
		p, _ := d.take(index)
		w.Tasks = append(w.Tasks, Task{Index: index, Phase: phase, Node: p.Node, Devices: p.Devices, Since: second(d.upTo(9))})
	}
	d.s.Workloads = append(d.s.Workloads, w)
}

// action draws what is done to a workload that holds places.
func (d *roomDraw) action(w *Workload) {
	if len(w.Tasks) == 0 {
		return
	}
	var places []Placement
	for _, t := range w.Tasks {
		places = append(places, at(t.Index, t.Node, t.Devices...))
	}
	a := Action{Workload: w.ID, Tasks: places}
	switch phase := w.Tasks[0].Phase; {
	case phase == Claimed:
		a.Kind = rapid.SampledFrom([]ActionKind{Unclaim, Start}).Draw(d.t, "kind")
	case phase == Terminating:
		w.Ending = d.upTo(1) == 0
		d.leave(w.ID, places...)
		return
	default:
		a.Kind = rapid.SampledFrom([]ActionKind{Displace, Evict, Shrink, Move}).Draw(d.t, "kind")
	}
	switch a.Kind {
	case Evict:
		a.Ending.Final = d.upTo(2) == 0
		d.leave(w.ID, places...)
	case Unclaim, Displace:
		d.leave("", places...) // to somebody who need not wait
	case Shrink:
		a.Tasks = places[d.upTo(len(places)-1):]
		d.leave(w.ID, a.Tasks...)
	case Move:
		if len(d.free) == 0 {
			return
		}
		task, after := d.take(places[0].Index)
		a.Tasks, a.From, a.After = []Placement{task}, places[:1], after
		d.leave(w.ID, places[0])
	}
	d.p.Actions = append(d.p.Actions, a)
}

// fill starts pending tasks in places that are free, or will be.
func (d *roomDraw) fill(w *Workload) {
	ended := w.Ending || slices.ContainsFunc(d.p.Actions, func(a Action) bool { return a.Workload == w.ID && a.Ending.Final })
	for index := range w.PodSets[0].Count {
		pending := !slices.ContainsFunc(w.Tasks, func(t Task) bool { return t.Index == index })
		if len(d.free) == 0 || !pending || ended || d.upTo(2) == 0 {
			continue
		}
		kind := rapid.SampledFrom([]ActionKind{Start, Resize}).Draw(d.t, "kind")
		task, after := d.take(index)
		d.p.Actions = append(d.p.Actions, Action{Kind: kind, Workload: w.ID, Tasks: []Placement{task}, After: after})
	}
}
