package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// genChange draws a change such as a planner asks about.
func genChange(t *rapid.T, s *allot.State) allot.Change {
	g := draw{t}
	var c allot.Change
	if g.chance(5) {
		c.Now, c.Revision = s.Now.Add(time.Hour), "later"
	}
	for _, n := range s.Nodes {
		switch g.upTo(8) {
		case 0:
			n.Cordoned = !n.Cordoned
			c.Nodes = append(c.Nodes, n)
		case 1:
			n.Lost = true
			c.Nodes = append(c.Nodes, n)
		case 2:
			n.ID += " new"
			n.Devices = append(slices.Clone(n.Devices), allot.Device{})[:min(64, len(n.Devices)+1)]
			c.Nodes = append(c.Nodes, n)
		}
	}
	for _, p := range s.Pools {
		if g.chance(4) {
			p.Policy.NoConsolidation, p.Policy.Reclaim = true, pick(g, preempt.NoReclaim, preempt.ByQuota)
			c.Pools = append(c.Pools, p)
		}
	}
	for _, q := range s.Queues {
		if g.chance(4) {
			q.Resources = slices.Clone(q.Resources)
			for i := range q.Resources {
				q.Resources[i].Quota = quota.Of(int64(g.upTo(4)) * 1000)
			}
			c.Queues = append(c.Queues, q)
		}
	}
	for _, w := range s.Workloads {
		switch g.upTo(6) {
		case 0:
			c.Remove.Workloads = append(c.Remove.Workloads, w.ID)
		case 1:
			w.ID, w.Tasks, w.PartialSince = w.ID+" new", nil, time.Time{}
			c.Workloads = append(c.Workloads, w)
		case 2:
			w.Priority++
			c.Workloads = append(c.Workloads, w)
		}
	}
	if g.chance(4) {
		c.Budgets = append(c.Budgets, allot.DisruptionBudget{Owner: "ann", MinRunning: 1 + g.upTo(2)})
	}
	if g.chance(4) && len(s.Nodes) > 0 {
		c.Reservations = append(c.Reservations, allot.Reservation{ID: "closed", Nodes: []allot.ReservedNode{{Node: s.Nodes[0].ID}}})
	}
	for _, b := range s.Budgets {
		if g.chance(3) && b.Owner != "ann" {
			c.Remove.Budgets = append(c.Remove.Budgets, b.Owner)
		}
	}
	return c
}

// The law of WhatIf: it is the difference of what Solve says of the state
// before and after, and tells each thing of the state that is otherwise.
func TestWhatIfLaw(t *testing.T) {
	refused, asked, told := 0, 0, make(map[Object]int)
	rapid.Check(t, func(t *rapid.T) {
		s := genState(t)
		c := genChange(t, s)
		before := jsonOf(t, s)
		snapshot := must(allot.NewSnapshot(s))
		got, err := WhatIf(t.Context(), snapshot, c)
		if after := jsonOf(t, s); after != before {
			t.Fatalf("the state was changed")
		}
		asked++
		next, wrong := snapshot.With(c)
		if fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Fatalf("the error is %v and not %v", err, wrong)
		}
		if err != nil {
			refused++
			return
		}
		a, _ := allot.Solve(snapshot.State())
		b, _ := allot.Solve(next.State())
		d := checkDiff(t, a, b)
		checkAbsent(t, &got.Difference, snapshot, next)
		for i := range got.Difference.Workloads {
			got.Difference.Workloads[i].Before.Fate = d.Workloads[i].Before.Fate
			got.Difference.Workloads[i].After.Fate = d.Workloads[i].After.Fate
		}
		if diff := cmp.Diff(d, &got.Difference, exact); diff != "" {
			t.Fatalf("it is not the difference of the plans:\n%s", diff)
		}
		checkAlterations(t, got.Changes, snapshot, next)
		for _, x := range got.Changes {
			told[x.Object]++
		}
		var back Consequences
		data, err := json.Marshal(got)
		if err != nil || back.UnmarshalJSON(data) != nil || back.String() != got.String() {
			t.Fatalf("it does not come back from JSON: %v\n%s", err, data)
		}
	})
	if refused > asked/2 || asked >= 100 && len(told) < len(objectNames) { // fewer need not have drawn each
		t.Errorf("%d of %d changes were refused, and told was of %v", refused, asked, told)
	}
}

func checkAbsent(t *rapid.T, d *Difference, before, after *allot.Snapshot) {
	for _, w := range d.Workloads {
		for _, side := range []struct {
			s *allot.Snapshot
			o Outcome
		}{{before, w.Before}, {after, w.After}} {
			if _, there := side.s.Workload(w.Workload); there == (side.o.Fate == Absent) {
				t.Fatalf("%s is there: %t, and told to be %v", w.Workload, there, side.o.Fate)
			}
		}
	}
}

// checkAlterations: a thing is told of if its JSON is not the same, in order.
func checkAlterations(t *rapid.T, told []Alteration, before, after *allot.Snapshot) {
	type thing struct {
		object Object
		id     string
	}
	texts := func(s *allot.State) map[thing]string {
		all := make(map[thing]string)
		for _, n := range s.Nodes {
			all[thing{ObjectNode, n.ID}] = string(must(allot.State{Nodes: []allot.Node{n}}.MarshalJSON()))
		}
		for _, p := range s.Pools {
			all[thing{ObjectPool, p.ID}] = string(must(allot.State{Pools: []allot.Pool{p}}.MarshalJSON()))
		}
		for _, q := range s.Queues {
			all[thing{ObjectQueue, q.ID}] = string(must(allot.State{Queues: []allot.Queue{q}}.MarshalJSON()))
		}
		for _, w := range s.Workloads {
			all[thing{ObjectWorkload, w.ID}] = string(must(allot.State{Workloads: []allot.Workload{w}}.MarshalJSON()))
		}
		for _, b := range s.Budgets {
			all[thing{ObjectBudget, b.Owner}] = string(must(allot.State{Budgets: []allot.DisruptionBudget{b}}.MarshalJSON()))
		}
		for _, r := range s.Reservations {
			all[thing{ObjectReservation, r.ID}] = string(must(allot.State{Reservations: []allot.Reservation{r}}.MarshalJSON()))
		}
		s.Nodes, s.Pools, s.Queues, s.Workloads, s.Budgets, s.Reservations = nil, nil, nil, nil, nil, nil
		all[thing{ObjectState, ""}] = string(must(s.MarshalJSON()))
		return all
	}
	was, is := texts(before.State()), texts(after.State())
	for i, a := range told {
		at := thing{a.Object, a.ID}
		if a.Came != (was[at] == "") || a.Went != (is[at] == "") || was[at] == is[at] || !a.Came && !a.Went && len(a.Fields) == 0 {
			t.Fatalf("%v is told of as %v and was\n%s\nand is\n%s", at, a, was[at], is[at])
		}
		for _, f := range a.Fields {
			if f.Before == f.After {
				t.Fatalf("of %v, %v is told though it is the same", at, f)
			}
		}
		if i > 0 && (told[i-1].Object > a.Object || told[i-1].Object == a.Object && told[i-1].ID >= a.ID) {
			t.Fatalf("%v stands after %v", at, told[i-1])
		}
		delete(was, at)
		delete(is, at)
	}
	if !reflect.DeepEqual(was, is) {
		t.Fatalf("not told of:\n%s", cmp.Diff(was, is))
	}
}

// manyChanges are some of every kind.
func manyChanges() (*allot.State, allot.Change) {
	node := func(id string) allot.Node {
		return allot.Node{ID: id, Devices: make([]allot.Device, 4), Capacity: map[string]int64{allot.CPU: 32000, allot.Memory: 64 << 30}, Labels: map[string]string{"zone": "a"}}
	}
	waits := func(id string, gpus int) allot.Workload {
		return allot.Workload{ID: id, Queue: "q", PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}}}
	}
	gpu := func(r allot.QueueResource) []allot.QueueResource {
		r.Resource = allot.GPU
		return []allot.QueueResource{r}
	}
	s := &allot.State{
		Nodes:     []allot.Node{node("n0"), node("n1")},
		Pools:     []allot.Pool{{ID: "p", Policy: allot.Policy{Classes: []allot.Class{{Name: "low"}, {Name: "high", Priority: 5}}}}},
		Levels:    []allot.Level{{Name: "rack"}},
		Queues:    []allot.Queue{{ID: "q", Resources: gpu(allot.QueueResource{Quota: quota.Of(8000), Weight: quota.Of(1)})}, {ID: "r", Resources: gpu(allot.QueueResource{Weight: quota.Of(1)})}},
		Workloads: []allot.Workload{waits("gone", 1), waits("stays", 2), waits("wants", 8)},
		Budgets:   []allot.DisruptionBudget{{Owner: "ann", MinRunning: 2}},
	}
	drained := node("n1")
	drained.Cordoned, drained.Devices = true, slices.Clone(drained.Devices)
	drained.Devices[3].Unhealthy = true
	drained.Domains = map[string]string{"rack": "r7"}
	drained.Capacity = map[string]int64{allot.CPU: 16000, "fpga": 2}
	drained.Labels = map[string]string{"zone": "b", "rack": "7"}
	c := allot.Change{
		Now:    time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		Levels: []allot.Level{{Name: "zone"}, {Name: "rack"}},
		Remove: allot.Removal{
			Workloads: []string{"gone"}, Budgets: []string{"ann"}, Queues: []string{"r"},
		},
		Nodes: []allot.Node{drained},
		Pools: []allot.Pool{{ID: "p", Nodes: allot.NodeSet{Selector: &placement.Selector{}}, Policy: allot.Policy{
			Classes: []allot.Class{{Name: "high", Priority: 9}, {Name: "new", Priority: 1}}, Reclaim: preempt.ByQuota, Granules: map[string]int64{allot.GPU: 500}, MaxEvictions: 3,
			ExitActions: []allot.ExitAction{{Code: 3006, Action: allot.Fail}},
		}}},
		Queues: []allot.Queue{{ID: "q", Resources: append(gpu(allot.QueueResource{Quota: quota.Of(6500), Limit: quota.Unlimited()}),
			allot.QueueResource{Resource: allot.GPU, Class: "H100", Limit: quota.Of(1000)}, allot.QueueResource{Resource: allot.Memory, Quota: quota.Of(3 << 30)})}},
		Workloads: []allot.Workload{waits("comes", 3), waits("stays", 1)},
	}
	for i := range 6 {
		big := node(fmt.Sprint("x", i))
		big.Devices = make([]allot.Device, 8)
		c.Nodes = append(c.Nodes, big)
	}
	return s, c
}

// X4: the text of consequences is golden, whatever changes.
func TestConsequencesText(t *testing.T) {
	s, c := manyChanges()
	first := must(allot.NewSnapshot(s))
	got, err := WhatIf(t.Context(), first, c)
	if err != nil {
		t.Fatal(err)
	}
	text := got.String()
	next := must(first.With(c))
	back := allot.Change{Remove: allot.Removal{Nodes: []string{"x0", "x1"}, Workloads: []string{"comes"}}}
	got, err = WhatIf(t.Context(), next, back)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "consequences.golden", text+"\n"+got.String())
	nothing, err := WhatIf(t.Context(), first, allot.Change{}, allot.Change{Nodes: s.Nodes, Queues: s.Queues})
	if err != nil || nothing.String() != "Nothing is changed.\nNo difference.\n" {
		t.Errorf("no change: %q, %v", nothing.String(), err)
	}
	for _, w := range []*failingWriter{{after: 0}, {after: 1}} {
		if err := got.WriteText(w); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
}

var errFull = errors.New("full")

// A failingWriter takes a number of writes.
type failingWriter struct{ after int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A change that makes no sense is told as With does; a context that ends, ends it.
func TestWhatIfErrors(t *testing.T) {
	if _, err := WhatIf(t.Context(), new(allot.Snapshot), allot.Change{Nodes: []allot.Node{{}}}); !errors.Is(err, allot.FaultEmpty) {
		t.Error(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := WhatIf(ended, new(allot.Snapshot), allot.Change{Nodes: []allot.Node{{ID: "n"}}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := WhatIf(t.Context(), new(allot.Snapshot), allot.Change{Remove: allot.Removal{Nodes: []string{"n"}}}); err == nil || !strings.Contains(err.Error(), "changes[0].remove.nodes[0]") {
		t.Error(err)
	}
	got, err := WhatIf(t.Context(), new(allot.Snapshot), allot.Change{Workloads: []allot.Workload{{ID: "w", PodSets: []allot.PodSet{{Count: 1}}}}})
	if err != nil || len(got.Difference.Workloads) != 1 || got.Difference.Workloads[0].Before.Fate != Absent {
		t.Errorf("%+v, %v", got, err)
	}
}

// Where the order of a list says something, another order is told of.
func TestAlterationsOfOrder(t *testing.T) {
	gang := func(names ...string) allot.Workload {
		w := allot.Workload{ID: "w"}
		for _, name := range names {
			w.PodSets = append(w.PodSets, allot.PodSet{Name: name, Count: len(name)})
		}
		return w
	}
	for _, row := range []struct {
		before, after allot.Workload
		want          string
	}{
		{gang("a", "bb"), gang("bb", "a"), `podSets[0].name a -> bb, podSets[0].count 1 -> 2, podSets[1].name bb -> a, podSets[1].count 2 -> 1`},
		{gang("a", "bb"), gang("a", "ccc", "bb"), `podSets["ccc"].count 0 -> 3`},
		{gang("a", "bb"), gang("bb"), `podSets["a"].count 1 -> 0`},
		{gang("a", "bb"), gang("a", "bb"), ``},
	} {
		got, err := WhatIf(t.Context(), must(allot.NewSnapshot(&allot.State{Workloads: []allot.Workload{row.before}})), allot.Change{Workloads: []allot.Workload{row.after}})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if len(got.Changes) > 0 {
			text = strings.TrimPrefix(got.Changes[0].String(), "workload w: ")
		}
		if text != row.want {
			t.Errorf("%v\n%s\nwant\n%s", row.after.PodSets, text, row.want)
		}
	}
	texts := FieldDifference{Resource: "memory", Before: `"unset"`, After: `"no"`}
	if got := texts.value(texts.Before) + texts.value(texts.After) + texts.value("1073741824") + texts.value(""); got != `"unset""no"1GiBunset` {
		t.Error(got)
	}
}

// X3: comparing two decisions says what deciding on both anew does.
func TestCompareIsWhatIf(t *testing.T) {
	s := must(allot.NewSnapshot(scenarioStates()[0]))
	change := allot.Change{Now: s.Now().Add(time.Hour)}
	next := must(s.With(change))
	want := must(WhatIf(t.Context(), s, change))
	if got := must(Compare(must(s.Decide()), must(next.Decide()))); got.String() != want.String() || len(got.Changes) == 0 {
		t.Errorf("got %v, want %v", got, want)
	}
}
