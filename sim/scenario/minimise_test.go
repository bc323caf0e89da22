package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// big is a cluster in which several things can be wondered about.
const big = `
nodes n0..n9 gpu=8 cpu=64 memory=512Gi label=zone:a
nodes m0..m3 gpu=4 model=A100 gpumem=80Gi cpu=32 label=zone:b taint=dedicated=infer
pool p
policy pool=p preset=osmo class=NORMAL:2
queue d1 quota=40 limit=60 | queue d2 quota=40
queue d1/a quota=20 limit=24 weight=1 | queue d1/b quota=20 weight=2 | queue d2/c quota=40
budget ann min-running=3
run d1/a/r1,d1/a/r2 low tasks=2 gpu=8 cpu=4 owner=ann
run d1/b/r3 normal tasks=3 min=1 gpu=4
run d2/c/r4,d2/c/r5,d2/c/r6 low tasks=4 gpu=2 memory=16Gi
submit d1/a/x1 low gpu=8 | submit d1/a/x2 normal tasks=2 gpu=4 | submit d2/c/x3 normal tasks=6 gpu=8
submit d1/b/x4 low gpu=0.5 | submit d2/c/x5 low gpu=4 selector=zone:b
`

// A big state comes down to what the surprise hangs on, and nothing else.
func TestMinimiseKnown(t *testing.T) {
	for _, row := range []struct {
		name, state string
		shows       Predicate
		want        string
	}{
		{"over its limit", big, WaitsFor("x1", allot.OverLimit), `# over its limit
nodes n2 gpu=1
queue d1/a parent="" limit=1
submit d1/a/r2 at=unset gpu=1
submit d1/a/x1 at=unset gpu=1
now unset
solve reasons
----
start d1/a/r2 n2[0]
wait d1/a/x1: over-limit d1/a gpu have 0 need 1; no-capacity d1/a gpu have 0 need 1
`},
		{"a gang", big, WaitsFor("x3", allot.GangShort), `# a gang
nodes n8..n9 gpu=1
pool p
policy pool=p class=LOW:1
submit x3 at=unset tasks=2 gpu=1
submit x4 class=LOW at=unset gpu=1
now unset
solve reasons
----
start x4 n8[0]
wait x3: no-capacity gpu have 1 need 2; gang-short have 1 need 2
`},
		{"no such label", big, WaitsFor("x5", allot.ImpossibleNode), `# no such label
submit x5 at=unset
now unset
solve reasons
----
no action
wait x5: impossible-node
`},
		{"no such label, where there are nodes", big, func(_ *allot.State, p *allot.Plan) bool {
			return slices.ContainsFunc(p.Pending, func(w allot.Pending) bool {
				return slices.ContainsFunc(w.Reasons, func(r allot.Reason) bool {
					return slices.ContainsFunc(r.Nodes, func(c allot.PredicateCount) bool { return c.Predicate == placement.Labels })
				})
			})
		}, `# no such label, where there are nodes
nodes n0
submit x5 at=unset selector=zone:""
now unset
solve reasons
----
no action
wait x5: impossible-node labels:1 nearest n0 labels have 0 need 1
`},
		{"a victim of reclaim", `
nodes n0..n3 gpu=4
queue a quota=6 | queue b quota=10 | queue c quota=0
run a/old gpu=2 | run a/older tasks=3 gpu=2 | run a/newer gpu=3 | run c/other gpu=1
submit b/claims tasks=2 gpu=4 | submit b/later gpu=8
`, Loses("older", allot.ReclaimedByQuota), `# a victim of reclaim
nodes n0 gpu=1
queue a
queue b quota=1
submit a/older at=unset gpu=1
run a/older since=unset on n0[0]
submit b/claims at=unset gpu=1
now unset
solve reasons
----
evict a/older n0[0] for b/claims reclaim-quota a gpu 1 of 0
start b/claims n0[0] after a/older
wait a/older: no-capacity a gpu have 0 need 1; over-line a gpu have 0 need 1
`},
		{"a rack too small", `
levels zone,rack
nodes n0..n3 gpu=8 zone=a rack=r0 hardware=nvswitch-8 | nodes n4..n7 gpu=8 zone=a rack=r1 | nodes n8..n9 gpu=8 zone=b rack=r0
queue q quota=80
run q/fills,q/more tasks=2 gpu=8 prefer=rack
submit q/gang tasks=5 gpu=8 require=rack | submit q/other gpu=1
`, WaitsFor("gang", allot.ImpossibleDomain), `# a rack too small
levels rack
nodes n5
submit gang at=unset require=rack
now unset
solve reasons
----
no action
wait gang: impossible-domain have 0 need 1 best rack have 0 need 1
`},
		{"a rack in use", `
levels zone,rack
nodes n0..n3 gpu=8 zone=a rack=r0 hardware=nvswitch-8 | nodes n4..n7 gpu=8 zone=a rack=r1
queue q quota=80
run q/fills non-preemptible tasks=2 gpu=8 on n0 n1 | run q/more non-preemptible tasks=2 gpu=8 on n4 n5
submit q/gang tasks=3 gpu=8 require=rack | submit q/later gpu=8 cpu=4
`, WaitsOnlyFor("gang", allot.NoDomain), `# a rack in use
levels rack
nodes n0 gpu=1
nodes n1 gpu=1 rack=r0
submit fills non-preemptible at=unset gpu=1
run fills since=unset on n1[0]
submit gang at=unset require=rack gpu=1
now unset
solve reasons
----
no action
wait gang: no-domain have 0 need 1 best rack have 0 need 1
`},
		{"a form", `
nodes n0..n1 gpu=4 cpu=8
queue q quota=2 | queue r
run r/one gpu=4 on n1[0-3]
run r/two form=1 tasks=4 gpu=2 or tasks=3 gpu=1 cpu=1 or gpu=4 on n0[0] n0[1] n0[2]
submit q/claims gpu=2
`, Loses("two", allot.ReclaimedByQuota), `# a form
nodes n0 gpu=1
queue q quota=1
queue r
submit r/two at=unset gpu=1
run r/two since=unset on n0[0]
submit q/claims at=unset gpu=1
now unset
solve reasons
----
evict r/two n0[0] for q/claims reclaim-quota r gpu 1 of 0
start q/claims n0[0] after r/two
wait r/two: no-capacity r gpu have 0 need 1; over-line r gpu have 0 need 1
`},
	} {
		s, err := State(row.state)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Minimise(s, row.shows, 0)
		if err != nil {
			t.Errorf("%s: %v", row.name, err)
			continue
		}
		got, err := Report(row.name, m.State)
		if err != nil || got != row.want {
			t.Errorf("%s, %d solves: %v\n%s\nnot\n%s", row.name, m.Solves, err, got, row.want)
		}
	}
}

// Of a full cluster with a long list of who waits there is left the one move
// that somebody wondered about.
func TestMinimiseFullCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a few hundred solves of a cluster")
	}
	var b strings.Builder
	b.WriteString("nodes n000..n029 gpu=8 cpu=64\nqueue a quota=120 | queue b quota=120\n")
	for i := range 240 {
		fmt.Fprintf(&b, "run %s/r%03d gpu=1 cpu=1 on n%03d[%d]\n", [2]string{"a", "b"}[i/150], i, i/8, i%8)
	}
	b.WriteString("submit a/x000..x029 gpu=2 cpu=1\nsubmit b/y0..y2 tasks=2 gpu=8 cpu=1\n")
	s, err := State(b.String())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Minimise(s, Loses("r143"), 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = `nodes n016 gpu=1
nodes n017 gpu=2
submit r143 at=unset gpu=1
run r143 since=unset on n017[1]
submit x028 at=unset gpu=2
now unset
`
	if got := Format(m.State); got != want || m.Solves > 1000 {
		t.Errorf("after %d solves\n%s\nnot\n%s", m.Solves, got, want)
	}
}

// drawCluster draws a small state in which some work runs and some waits.
func drawCluster(t *rapid.T) *allot.State {
	var b strings.Builder
	n := func(low, high int) int { return rapid.IntRange(low, high).Draw(t, "n") }
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "pick") }
	nodes, rack, near := n(1, 4), []string{""}, []string{""}
	if pick("", "levels") != "" {
		b.WriteString("levels zone,rack\n")
		rack = []string{"zone=a rack=r", "zone=a rack=s", "zone=b rack=r", "zone=b"}
		near = []string{"", "require=rack", "prefer=rack", "require=zone prefer=node", "prefer=rack mode=balance", "require=zone prefer=rack mode=spread"}
	}
	for i := range nodes {
		fmt.Fprintf(&b, "nodes n%d %s gpu=%d cpu=%d %s %s\n", i, pick(rack...), n(1, 4), n(1, 8), pick("", "label=zone:a", "label=zone:b", "cordoned"), pick("", "model=A", "class=big"))
	}
	if pick("", "pool") != "" {
		fmt.Fprintf(&b, "pool p\npolicy pool=p %s %s\n", pick("", "preset=osmo", "preset=runai", "preset=determined-priority"), pick("", "no-consolidation", "max-evictions=1"))
	}
	queues := []string{"a", "b", "b/c"}[:n(1, 3)]
	for _, q := range queues {
		fmt.Fprintf(&b, "queue %s quota=%d %s %s\n", q, n(0, 4), pick("", "limit=3", "limit=6"), pick("", "created=5"))
	}
	leaves := queues
	if len(queues) == 3 {
		leaves = []string{"a", "b/c"}
	}
	for i := range n(1, 6) {
		fmt.Fprintf(&b, "submit %s/w%d %s gpu=%s tasks=%d %s %s %s\n", pick(leaves...), i, pick(near...), pick("1", "2", "0.5", "3"), n(1, 3),
			pick("", "min=1"), pick("", "selector=zone:a", "cpu=2", "model=A"), pick("", "preemptible", "non-preemptible", "priority=3"))
	}
	if pick("", "apply") != "" { // some of it runs, and then more comes
		b.WriteString("solve quiet\napply\n")
		for i := range n(1, 3) {
			fmt.Fprintf(&b, "submit %s/x%d gpu=%d priority=%d\n", pick(leaves...), i, n(1, 4), n(0, 5))
		}
	}
	s, err := State(b.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return s
}

// surprises are what a plan can be asked about.
func surprises(p *allot.Plan) (all []Predicate) {
	for _, a := range p.Actions {
		if a.Kind == allot.Evict || a.Kind == allot.Shrink || a.Kind == allot.Move {
			all = append(all, Loses(a.Workload), Loses(a.Workload, a.Reason.Code))
		}
	}
	for _, w := range p.Pending {
		for _, r := range w.Reasons {
			all = append(all, WaitsFor(w.Workload, r.Code))
		}
		if len(w.Reasons) == 1 {
			all = append(all, WaitsOnlyFor(w.Workload, w.Reasons[0].Code))
		}
	}
	return all
}

// TestMinimise: what is left shows it, as do its text and what its text prints;
// nothing can be taken away from it; the state itself stays, and the same is
// found again.
func TestMinimise(t *testing.T) {
	drawn, shown, lost := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawCluster(t)
		p, err := allot.Solve(s)
		if err != nil {
			t.Skip("an odd state")
		}
		all := surprises(p)
		if drawn++; len(all) == 0 {
			return
		}
		if shown++; slices.ContainsFunc(p.Actions, func(a allot.Action) bool { return Loses(a.Workload)(s, p) }) {
			lost++
		}
		shows := rapid.SampledFrom(all).Draw(t, "surprise")
		before, _ := json.Marshal(s)
		m, err := Minimise(s, shows, 0)
		if err != nil || m.Cut {
			t.Fatalf("%v, cut %t", err, m.Cut)
		}
		if after, _ := json.Marshal(s); string(after) != string(before) {
			t.Fatal("the state was changed")
		}
		text, err := Report("it", m.State)
		if err != nil {
			t.Fatal(err)
		}
		read, err := State(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if p, err := allot.Solve(read); err != nil || !shows(read, p) {
			t.Fatalf("the text does not show it: %v\n%s", err, text)
		}
		script, _ := Parse(text)
		out, err := Run(script, Options{SkipLaws: true})
		if err != nil || script.Rewrite(out) != text {
			t.Fatalf("the text prints something else: %v\n%s\n%s", err, text, script.Rewrite(out))
		}
		if smaller := smallerState(m.State, shows); smaller != "" {
			t.Fatalf("there is less:\n%s\nshows it, as does\n%s", smaller, text)
		}
		again, err := Minimise(s, shows, 0)
		if err != nil || Format(again.State) != Format(m.State) || again.Solves != m.Solves {
			t.Fatalf("another time it is\n%s\nnot\n%s", Format(again.State), Format(m.State))
		}
	})
	// About one plan in twenty-five has a victim: of a hundred maybe none.
	if shown < drawn/2 || drawn >= 1000 && lost < drawn/50 {
		t.Errorf("of %d plans %d had something to wonder about, and %d victims", drawn, shown, lost)
	}
}

// smallerState finds a state with one thing less that still shows it: by the
// JSON, in which every entry of a list, key of an object and number is tried.
func smallerState(s *allot.State, shows Predicate) string {
	data, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	var found string
	eachLess(decoded(data), func(v any) any { return v }, func(less any) bool {
		text, err := json.Marshal(less)
		var c allot.State
		if err != nil || string(text) == string(data) || c.UnmarshalJSON(text) != nil {
			return false
		}
		p, err := allot.Solve(&c)
		if err == nil && shows(&c, p) {
			found = Format(&c)
		}
		return found != ""
	})
	return found
}

// eachLess visits all values with one thing less than v until one is taken; rest
// puts what stands in v's place into the whole.
func eachLess(v any, rest func(any) any, take func(any) bool) bool {
	switch x := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(x) {
			if key == "version" || key == "id" {
				continue
			}
			with := func(e any) any {
				c := make(map[string]any, len(x))
				for k, old := range x { // copied: the order cannot matter
					c[k] = old
				}
				if c[key] = e; e == nil {
					delete(c, key)
				}
				return rest(c)
			}
			if take(with(nil)) || eachLess(x[key], with, take) {
				return true
			}
		}
	case []any:
		for i := range x {
			if take(rest(slices.Delete(slices.Clone(x), i, i+1))) {
				return true
			}
			with := func(e any) any {
				c := slices.Clone(x)
				c[i] = e
				return rest(c)
			}
			if _, number := x[i].(json.Number); !number && eachLess(x[i], with, take) {
				return true
			}
		}
	case json.Number:
		if n, err := x.Int64(); err == nil {
			for _, less := range lowerNumbers(n) {
				if take(rest(json.Number(fmt.Sprint(less)))) {
					return true
				}
			}
		}
	}
	return false
}

// What cannot be done is told.
func TestMinimiseErrors(t *testing.T) {
	s, err := State(big)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Minimise(s, WaitsFor("x1", allot.Leaving), 0); !errors.Is(err, ErrNotShown) {
		t.Error(err)
	}
	if _, err := Minimise(s, Loses("x1"), 0); !errors.Is(err, ErrNotShown) {
		t.Error(err)
	}
	if _, err := Minimise(&allot.State{Nodes: []allot.Node{{}}}, Loses(""), 0); !errors.Is(err, allot.FaultEmpty) {
		t.Error(err)
	}
	always := func(*allot.State, *allot.Plan) bool { return true }
	if m, err := Minimise(nil, always, 0); err != nil || m.Solves == 0 || Format(m.State) != "now unset\n" {
		t.Errorf("%v, %v", m, err)
	}
	for _, limit := range []int{1, 2, 3, 40, 100} {
		m, err := Minimise(s, WaitsFor("x1", allot.OverLimit), limit)
		if err != nil || m.Solves != limit || !m.Cut {
			t.Errorf("limit %d: %v", limit, err)
		}
		if p, err := allot.Solve(m.State); err != nil || !WaitsFor("x1", allot.OverLimit)(m.State, p) {
			t.Errorf("limit %d: what is left does not show it", limit)
		}
	}
}

// Counts that are round go down to 1 where 1 shows the same.
func TestMinimiseCounts(t *testing.T) {
	s, err := State(`nodes n0 gpu=1
queue q max-workloads=10
submit q/a tasks=10 gpu=2 priority=100
`)
	if err != nil {
		t.Fatal(err)
	}
	waits := func(_ *allot.State, p *allot.Plan) bool {
		return len(p.Pending) > 0
	}
	m, err := Minimise(s, waits, 0)
	if err != nil || m.State.Workloads[0].PodSets[0].Count != 1 {
		t.Fatal(Format(m.State), err)
	}
	over := func(s *allot.State, _ *allot.Plan) bool {
		return len(s.Queues) > 0 && s.Queues[0].MaxWorkloads.Given() && s.Queues[0].MaxWorkloads.Amount() > 0
	}
	if m, err = Minimise(s, over, 0); err != nil || m.State.Queues[0].MaxWorkloads.Amount() != 1 {
		t.Fatal(Format(m.State), err)
	}
}

// Numbers go down, and stay as round as they were.
func TestLowerNumbers(t *testing.T) {
	for n, want := range map[int64]string{ // each by itself: order cannot matter
		0: "[]", 1: "[0]", 2: "[0 1]", 7: "[0 1 4 6]", 3000: "[0 1000 2000]", 2500: "[0 500 1500 2000]", 6 << 30: "[0 1073741824 3221225472 5368709120]",
		-2: "[0 -1]", 128000: "[0 1000 64000 96000 112000 120000 124000 126000 127000]",
	} {
		if got := fmt.Sprint(lowerNumbers(n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestTextSays: what the language cannot tell is told.
func TestTextSays(t *testing.T) {
	if _, err := Text(&allot.State{Nodes: []allot.Node{{}}}); !errors.Is(err, allot.FaultEmpty) {
		t.Error(err)
	}
	s := &allot.State{Now: time.Date(2026, 1, 31, 12, 0, 0, 1, time.UTC), Nodes: []allot.Node{{ID: `a "b"|,`}}}
	if text, err := Text(s); err != nil || !strings.Contains(text, "nodes") {
		t.Error(text, err)
	}
	a, b := &allot.State{Nodes: []allot.Node{{ID: "n"}, {ID: "m", Rank: 1}}}, &allot.State{Nodes: []allot.Node{{ID: "n"}, {ID: "m", Rank: 2}}}
	if got := firstDifference(a, b); got != "state.nodes[1].rank" {
		t.Error(got)
	}
	if got := firstDifference(a, &allot.State{}); got != "state.nodes" {
		t.Error(got)
	}
	if got, err := Report("a\ntitle", a); err != nil || got != "# a title\nnodes n\nnodes m rank=1\nnow unset\nsolve reasons\n----\nno action\n" {
		t.Errorf("%q %v", got, err)
	}
}
