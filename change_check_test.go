package allot

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/allotsched/allot/internal/table"
)

// TestCheckChangeOfMixtures: what comes of a state when some of its objects become
// those of another is checked as Check does it; where that is sure at once, it
// is right, and what is kept of the whole is what the whole says.
func TestCheckChangeOfMixtures(t *testing.T) {
	t.Parallel()
	sound, faulty, quick := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s, o := genState(t), genState(t)
		snapshot, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			m := mixer{t, 1 + rapid.IntRange(0, 12).Draw(t, "calm")}
			var c Change
			now := snapshot.State()
			c.Nodes, c.Remove.Nodes = mixture(m, now.Nodes, o.Nodes, nodeID)
			if rapid.Bool().Draw(t, "queues") {
				c.Queues, c.Remove.Queues = mixture(m, now.Queues, o.Queues, queueID)
			}
			c.Workloads, c.Remove.Workloads = mixture(m, now.Workloads, o.Workloads, workloadID)
			change := changer{objects: snapshot.objects}
			top := root()
			if change.change(&top, &c); len(change.faults) > 0 {
				t.Fatal(change.faults)
			}
			want := Check(change.objects.state())
			next, err := snapshot.With(c)
			if (err == nil) != (want == nil) {
				t.Fatalf("With says %v, and Check %v", err, want)
			}
			if err != nil {
				faulty++
				continue
			}
			sound++
			sameBounds(t, next)
			if next.bounds.frame == snapshot.bounds.frame {
				quick++
			}
			snapshot = next
		}
	})
	t.Logf("%d sound, of which %d were so at once, and %d not", sound, quick, faulty)
	if quick < sound/4 || sound < faulty/8 {
		t.Errorf("that is too one-sided")
	}
}

// A fatal is a test that can be ended.
type fatal interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// What is held of a node follows whoever comes, changes and leaves; and a node that is
// overbooked is found so by it.
func TestHeldIsKept(t *testing.T) {
	state := State{Nodes: []Node{{ID: "n", Devices: make([]Device, 4), Capacity: map[string]int64{"cpu": 10}}}}
	s, err := NewSnapshot(&state)
	if err != nil {
		t.Fatal(err)
	}
	job := func(id string, device int, phase Phase) Workload {
		return Workload{
			ID:      id,
			PodSets: []PodSet{{Name: "p", Count: 1, Request: Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{"cpu": 4}}}},
			Tasks:   []Task{{PodSet: "p", Phase: phase, Node: "n", Devices: []int{device}}},
		}
	}
	for i, change := range []Change{
		{Workloads: []Workload{job("a", 0, Running)}},
		{Workloads: []Workload{job("b", 1, Running)}},
		{Workloads: []Workload{job("a", 0, Terminating), job("c", 0, Claimed)}},
		{Workloads: []Workload{job("c", 0, Running)}, Remove: Removal{Workloads: []string{"a"}}},
		{Remove: Removal{Workloads: []string{"b"}}},
		{Workloads: []Workload{job("d", 3, Running)}},
	} {
		if s, err = s.With(change); err != nil {
			t.Fatal(i, err)
		}
		if sameBounds(t, s); s.objects.residents.Get("n").held == nil {
			t.Fatalf("after change %d it is not known", i)
		}
	}
	if _, err = s.With(Change{Workloads: []Workload{job("e", 2, Running)}}); err == nil {
		t.Error("12 of 10 cpu are held, and nobody says so")
	}
	if s, err = s.With(Change{Remove: Removal{Workloads: []string{"c", "d"}}}); err != nil || s.objects.residents.Get("n") != nil {
		t.Error("somebody is left", err)
	}
}

// What is held of a node is of the node as it is: once it has less of something, less fits, and
// once it has more devices they can be used.
func TestHeldIsOfTheNodeAsItIs(t *testing.T) {
	job := func(id string, device int) Workload {
		return Workload{
			ID:      id,
			PodSets: []PodSet{{Name: "p", Count: 1, Request: Request{GPU: GPURequest{Count: 1}, Resources: map[string]int64{"cpu": 4}}}},
			Tasks:   []Task{{PodSet: "p", Phase: Running, Node: "n", Devices: []int{device}}},
		}
	}
	node := func(devices, slots int, cpu int64) Node {
		return Node{ID: "n", Devices: make([]Device, devices), MaxTasks: slots, Capacity: map[string]int64{"cpu": cpu}}
	}
	for _, after := range []Node{node(4, 0, 5), node(4, 1, 10), node(1, 0, 10), node(6, 0, 20)} {
		s, err := NewSnapshot(&State{Nodes: []Node{node(4, 0, 10)}})
		for _, change := range []Change{{Workloads: []Workload{job("a", 0)}}, {Nodes: []Node{after}}} {
			if err == nil {
				s, err = s.With(change)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []Workload{job("b", 1), job("c", 5)} {
			state := s.State()
			state.Workloads = append(state.Workloads, k)
			want := Check(state)
			if _, err := s.With(Change{Workloads: []Workload{k}}); (err == nil) != (want == nil) {
				t.Errorf("%s comes to a node that has become %v: %v, not %v", k.ID, after, err, want)
			}
		}
	}
}

// sameBounds asks whether what a version keeps is what its state says.
func sameBounds(t fatal, s *Snapshot) {
	got := s.bounds
	want, err := checkWhole(&s.objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*sums{{&got.requested, &want.requested}, {&got.capacity, &want.capacity}, {&got.foreign, &want.foreign}} {
		if a, b := totalsOf(pair[0]), totalsOf(pair[1]); !reflect.DeepEqual(a, b) {
			t.Fatalf("a total is kept as %v, and is %v", a, b)
		}
	}
	if got.tasks != want.tasks {
		t.Fatalf("%d tasks are kept of %d", got.tasks, want.tasks)
	}
	if !reflect.DeepEqual(got.frame.leastMemory, want.frame.leastMemory) || !reflect.DeepEqual(got.named, want.named) {
		t.Fatal("the least memory, or who is named, is not kept")
	}
	if !sameResidents(residentsOf(s.objects.workloads), s.objects.residents) {
		t.Fatal("what stands on nodes is not kept")
	}
	for r := range s.objects.residents.All() {
		if r.held == nil || r.of != s.objects.nodes.Get(r.node) { // it is counted when it is asked for
			continue
		}
		if !reflect.DeepEqual(amountsOf(r.held), amountsOf(heldAnew(&s.objects, r))) {
			t.Fatalf("on %s is held %v, and kept is %v", r.node, amountsOf(heldAnew(&s.objects, r)), amountsOf(r.held))
		}
	}
}

// heldAnew is what tasks hold of a node, counted from its workloads.
func heldAnew(n *objects, r *resident) *heldOn {
	node := n.nodes.Get(r.node)
	h := &newLedger([]Node{*node})[0]
	for _, id := range r.workloads {
		w := n.workloads.Get(id)
		for i := range w.Tasks {
			if t := &w.Tasks[i]; t.Node == r.node {
				h.enter(node, w.setOf(t), t, 1)
			}
		}
	}
	return h
}

// amountsOf is what is held of each thing of which there is some, or something is held.
func amountsOf(h *heldOn) map[string]held {
	m := map[string]held{"slots": h.slots}
	for i, d := range h.devices {
		m["device "+strconv.Itoa(i)] = d
	}
	for _, a := range h.amounts {
		if a.held != (held{}) {
			m["resource "+a.resource] = a.held
		}
	}
	return m
}

func totalsOf(s *sums) map[string]total {
	m := make(map[string]total)
	for _, sum := range s.list {
		if sum.total != 0 {
			m[sum.name] = sum.total
		}
	}
	return m
}

// A mixer changes one object in so many.
type mixer struct {
	t    *rapid.T
	calm int
}

// mixture draws what is put and removed of one list by that of another.
func mixture[T any](m mixer, here, there []T, id func(*T) string) (put []T, gone []string) {
	had := make(map[string]bool)
	for i := range here {
		had[id(&here[i])] = true
	}
	for i := range there {
		if rapid.IntRange(0, m.calm).Draw(m.t, "put") == m.calm {
			put = append(put, there[i])
			delete(had, id(&there[i]))
		}
	}
	for i := range here {
		if name := id(&here[i]); had[name] && rapid.IntRange(0, 3*m.calm).Draw(m.t, "remove") == 3*m.calm {
			gone = append(gone, name)
		}
	}
	return put, gone
}

// TestChangedSince: what a version has otherwise than the one that it was made from, as it is
// kept, is what the two tables differ in, whatever the changes put, took away and put again.
func TestChangedSince(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &State{Nodes: []Node{{ID: "n", Capacity: map[string]int64{"cpu": 1000}}}}
		there := make(map[string]bool)
		for i := range rapid.IntRange(0, 6).Draw(t, "before") {
			id := strconv.Itoa(i)
			s.Workloads, there[id] = append(s.Workloads, Workload{ID: id, PodSets: []PodSet{{Count: 1}}}), true
		}
		before, err := NewSnapshot(s)
		if err != nil {
			t.Fatal(err)
		}
		var changes []Change
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			var c Change
			for i := range 8 {
				id := strconv.Itoa(i)
				does := rapid.IntRange(0, 3).Draw(t, id)
				if does >= 2 && there[id] {
					c.Remove.Workloads, there[id] = append(c.Remove.Workloads, id), false
				}
				if does%2 == 1 {
					c.Workloads, there[id] = append(c.Workloads, Workload{ID: id, PodSets: []PodSet{{Count: 1 + i}}}), true
				}
			}
			changes = append(changes, c)
		}
		after, err := before.With(changes...)
		if err != nil {
			t.Fatal(err)
		}
		want := table.Differences(before.objects.workloads, after.objects.workloads)
		if got := after.objects.changedSince(before.objects.workloads); !slices.Equal(got, want) || after.objects.made.from != before.objects.workloads {
			t.Errorf("%d are changed, not %d", len(got), len(want))
		}
		// Of another version it is found out; a snapshot that no change has made knows nothing.
		later, err := after.With(Change{Workloads: []Workload{{ID: "new", PodSets: []PodSet{{Count: 1}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2]*Snapshot{{before, later}, {later, before}, {new(Snapshot).orZero(), before}} {
			if got := pair[1].objects.changedSince(pair[0].objects.workloads); !slices.Equal(got, table.Differences(pair[0].objects.workloads, pair[1].objects.workloads)) {
				t.Errorf("%d are changed since another version", len(got))
			}
		}
	})
}
