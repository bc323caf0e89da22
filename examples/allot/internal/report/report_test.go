package report

import (
	"context"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/examples/internal/golden"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// pageOf is the report of a state.
func pageOf(t testing.TB, s *allot.State, o Options) string {
	t.Helper()
	snapshot, err := allot.NewSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	decision, err := snapshot.Decide()
	if err != nil {
		t.Fatal(err)
	}
	page, err := Page(context.Background(), decision, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// broadState is a cluster of many nodes and queues, full, with work that waits.
func broadState(nodes, queues, waiting int) *allot.State {
	s := &allot.State{Levels: []allot.Level{{Name: "block"}, {Name: "rack"}}, Pools: []allot.Pool{{ID: "main", Policy: allot.RunAI()}}}
	for i := range nodes {
		n := allot.Node{ID: fmt.Sprintf("n%04d", i), Devices: make([]allot.Device, 8), Cordoned: i%50 == 7}
		n.Domains = map[string]string{"block": fmt.Sprintf("b%d", i/250), "rack": fmt.Sprintf("r%d", i/25)}
		for d := range n.Devices {
			n.Devices[d].Model = []string{"H100", "A100"}[i%2]
		}
		s.Nodes = append(s.Nodes, n)
	}
	for d := range (queues + 9) / 10 {
		s.Queues = append(s.Queues, allot.Queue{ID: fmt.Sprintf("d%02d", d)})
	}
	for q := range queues {
		s.Queues = append(s.Queues, allot.Queue{
			ID: fmt.Sprintf("d%02d/q%03d", q/10, q), Parent: fmt.Sprintf("d%02d", q/10),
			Resources: []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(q%2*2*nodes*8/queues) * 1000)}},
		})
	}
	work := func(n, gpus int) {
		q := n % queues
		s.Workloads = append(s.Workloads, allot.Workload{
			ID: fmt.Sprintf("w%05d", n), Queue: fmt.Sprintf("d%02d/q%03d", q/10, q),
			PodSets: []allot.PodSet{{Count: 1, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}},
		})
	}
	for i := range nodes {
		if i%50 == 7 {
			continue
		}
		for d := range 4 {
			work(4*i+d, 2)
			w := &s.Workloads[len(s.Workloads)-1]
			w.Tasks = []allot.Task{{Node: s.Nodes[i].ID, Devices: []int{2 * d, 2*d + 1}}}
		}
	}
	for i := range waiting {
		work(4*nodes+i, 4)
	}
	return s
}

// The page of a small cluster, as the browser looks at it.
func TestResearch(t *testing.T) {
	golden.Check(t, "research.html", pageOf(t, research(t), Options{Helps: 1, Solves: 3}))
}

func research(t testing.TB) *allot.State {
	t.Helper()
	text, err := os.ReadFile("testdata/research.json")
	if err != nil {
		t.Fatal(err)
	}
	var s allot.State
	if err := s.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Hundreds of nodes make a page that a browser opens at once: tables are folded away,
// a node has a cell and a row, what is alike is told once, and every name is there to
// be found.
func TestManyNodes(t *testing.T) {
	nodes := 400
	if testing.Short() {
		nodes = 200
	}
	page := pageOf(t, broadState(nodes, nodes/5, nodes), Options{})
	if n := len(page); n > 3<<19 {
		t.Errorf("the page has %d bytes", n)
	}
	for what, most := range map[string]int{"class=\"node find\"": manyCards, "class=\"bar d": 1000, "class=\"card eviction": shownEvictions} {
		if n := strings.Count(page, what); n == 0 || n > most {
			t.Errorf("%s stands %d times, the most is %d", what, n, most)
		}
	}
	for what, want := range map[string]int{"<a class=\"cell\"": nodes, "<tr id=\"n": nodes} {
		if n := strings.Count(page, what); n != want {
			t.Errorf("%s stands %d times, not %d", what, n, want)
		}
	}
	for i := range nodes {
		if node := fmt.Sprintf("n%04d", i); !strings.Contains(page, "<td>"+node) {
			t.Errorf("nothing tells of node %s", node)
		}
	}
	for i := range 5 * nodes {
		if i%200/4 != 7 || i >= 4*nodes {
			if name := fmt.Sprintf("w%05d", i); !strings.Contains(page, name) {
				t.Errorf("nothing tells of workload %s", name)
			}
		}
	}
	if open := strings.Count(page, "<details open"); open > 0 {
		t.Errorf("%d lists are open", open)
	}
}

// Whatever stands in a state is text in the report.
func TestEscapes(t *testing.T) {
	const evil = `</title><script>alert("1")</script>'"&`
	for _, nodes := range []int{2, manyNodes + 2} {
		s := broadState(nodes, 2, 30)
		s.Revision = evil
		s.Pools[0].Policy.Name = evil
		for i := range s.Nodes {
			s.Nodes[i].ID += evil
			for l, name := range s.Nodes[i].Domains {
				s.Nodes[i].Domains[l] = name + evil
			}
			for k := range s.Nodes[i].Devices {
				s.Nodes[i].Devices[k].Model = evil
			}
		}
		for i := range s.Queues {
			s.Queues[i].ID += evil
			if s.Queues[i].Parent != "" {
				s.Queues[i].Parent += evil
			}
		}
		for i := range s.Workloads {
			w := &s.Workloads[i]
			w.ID += evil
			w.Queue += evil
			for k := range w.Tasks {
				w.Tasks[k].Node += evil
			}
		}
		for _, link := range []func(kind, id string) string{nil, func(kind, id string) string { return "/" + kind + "?id=" + id }} {
			page := pageOf(t, s, Options{Link: link})
			if strings.Count(page, "<script") != 1 || strings.Contains(page, `alert("`) {
				t.Error("a name of the state is code in the report")
			}
			if !strings.Contains(page, "&lt;script&gt;alert(") {
				t.Error("the names are not there")
			}
		}
	}
}

// The report needs nothing but itself, and its policy allows no script but its own.
func TestSelfContained(t *testing.T) {
	page := pageOf(t, research(t), Options{})
	for _, what := range []string{"<link rel=\"stylesheet", "@import", "@font-face", "http:", "https:", "src="} {
		if strings.Contains(page, what) {
			t.Errorf("the page has %s", what)
		}
	}
	for _, use := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(use[1], "#") {
			t.Errorf("the page asks for %s", use[1])
		}
	}
	if !strings.Contains(page, `default-src &#39;none&#39;`) || !strings.Contains(page, "script-src &#39;sha256-") {
		t.Error("the page has no policy")
	}
}

// The same state has the same bytes, in whatever order its lists come.
func TestOrder(t *testing.T) {
	for _, nodes := range []int{20, 60} {
		s := broadState(nodes, 20, 30)
		want := pageOf(t, s, Options{})
		slices.Reverse(s.Nodes)
		slices.Reverse(s.Workloads)
		slices.Reverse(s.Queues)
		if pageOf(t, s, Options{}) != want {
			t.Error("the order of the state's lists shows in the report")
		}
	}
}

// What a node's squares say is what the state and the plan have: no device is used
// beyond what it has, and all use is drawn. A workload has one letter on all nodes, and
// no other has it.
func TestMachinesAddUp(t *testing.T) {
	s := broadState(60, 20, 200)
	for i := range 8 { // a gang on eight nodes
		s.Workloads[i].ID = fmt.Sprintf("x%d", i)
	}
	gang := &s.Workloads[0]
	gang.PodSets[0].Count = 3
	gang.Tasks = append(gang.Tasks, allot.Task{Index: 1, Node: "n0000", Devices: []int{2, 3}}, allot.Task{Index: 2, Node: "n0001", Devices: []int{0, 1}})
	s.Workloads = slices.Delete(s.Workloads, 1, 2)
	s.Workloads = slices.Delete(s.Workloads, 3, 4)
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	after, err := allot.Begin(s, plan)
	if err != nil {
		t.Fatal(err)
	}
	var drawn, used int64
	letters := make(map[string]string)
	for _, m := range machinesOf(s, after) {
		for i := range m.node.Devices {
			n := m.usedMilli(i)
			if n > 1000 {
				t.Errorf("%s GPU %d: %d", m.node.ID, i, n)
			}
			drawn += n
		}
		for _, o := range m.tenants {
			if had, ok := letters[o.letter]; ok && had != o.workload {
				t.Errorf("%s and %s are both %s", had, o.workload, o.letter)
			}
			letters[o.letter] = o.workload
		}
	}
	for _, share := range plan.Shares {
		if share.Resource == allot.GPU && !strings.Contains(share.Queue, "/") {
			used += share.Used
		}
	}
	if drawn != used || used == 0 {
		t.Errorf("%d drawn, %d used", drawn, used)
	}
	named := make(map[string]bool)
	for _, w := range letters {
		if named[w] {
			t.Errorf("%s has several letters", w)
		}
		named[w] = true
	}
}

// Every scene of the project's own scenarios can be reported: forms, fractions, claims,
// lost nodes, moves, several pools, and whatever comes to them.
func TestScenes(t *testing.T) {
	scenes := 0
	err := filepath.WalkDir("../../../../testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// What is set up before the first question is a state.
		before, _, found := strings.Cut(string(text), "\nsolve")
		state, err := scenario.State(before + "\n")
		if !found || err != nil || len(state.Workloads) > listedLines {
			return nil
		}
		scenes++
		plan, err := allot.Solve(state)
		if err != nil {
			t.Fatal(err)
		}
		tellsAll(t, path, plan, html.UnescapeString(pageOf(t, state, Options{})))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if scenes < 100 {
		t.Errorf("only %d scenes", scenes)
	}
}

// tellsAll: the report has an end, and before it all that the plan does and why
// the rest waits.
func tellsAll(t *testing.T, path string, plan *allot.Plan, page string) {
	t.Helper()
	want := func(text string) {
		t.Helper()
		if !strings.Contains(page, text) {
			t.Errorf("%s: the report lacks %q", path, text)
		}
	}
	if !strings.HasSuffix(page, "</html>\n") {
		t.Errorf("%s: the report has no end", path)
	}
	for i := range plan.Actions {
		a := &plan.Actions[i]
		want(words.WorkName(a.Queue, a.Workload))
		if a.Reason.Code != 0 && a.Kind != allot.Resize {
			want(words.UpperFirst(a.Reason.String()))
		}
	}
	for i := range plan.Pending {
		p := &plan.Pending[i]
		want(words.WorkName(p.Queue, p.Workload))
		for _, r := range p.Reasons {
			if len(plan.Pending) <= oneByOne {
				want(words.UpperFirst(r.String()))
			}
		}
	}
	for _, f := range plan.Warnings {
		want(words.UpperFirst(f.String()))
	}
}
