package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/quota"
)

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

// asHTML is the report of a state.
func asHTML(t testing.TB, s *allot.State) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out, problems strings.Builder
	if code := plainly([]string{"report", "-"}, strings.NewReader(string(text)), &out, &problems); code != 0 {
		t.Fatal(problems.String())
	}
	return out.String()
}

// A thousand nodes make a page that a browser opens at once: most of it is
// folded away, and a node has a cell and a line.
func TestReportOfManyNodes(t *testing.T) {
	nodes := 1000
	if testing.Short() {
		nodes = 200
	}
	page := asHTML(t, broadState(nodes, nodes/5, nodes))
	if n := len(page); n > 1<<20 {
		t.Errorf("the page has %d bytes", n)
	}
	for what, most := range map[string]int{"class=\"node\"": manyCards, "class=\"bar d": 1000, "class=\"card eviction\"": shownEvictions} {
		if n := strings.Count(page, what); n == 0 || n > most {
			t.Errorf("%s stands %d times, the most is %d", what, n, most)
		}
	}
	for _, node := range []string{"n0000", fmt.Sprintf("n%04d", nodes-1)} {
		if !strings.Contains(page, "<td>"+node+"</td>") {
			t.Errorf("nothing tells of node %s", node)
		}
	}
	if open := strings.Count(page, "<details open"); open > 0 {
		t.Errorf("%d lists are open", open)
	}
}

// Whatever stands in a state is text in the report.
func TestReportEscapes(t *testing.T) {
	const evil = `</title><script>alert("1")</script>'"&`
	s := broadState(2, 2, 2)
	s.Revision = evil
	s.Pools[0].Policy.Name = evil
	for i := range s.Nodes {
		s.Nodes[i].ID += evil
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
	page := asHTML(t, s)
	if strings.Contains(page, "<script") || strings.Contains(page, `alert("`) {
		t.Error("a name of the state is code in the report")
	}
	if !strings.Contains(page, "&lt;script&gt;alert(") {
		t.Error("the names are not there")
	}
}

// The report needs nothing but itself.
func TestReportIsSelfContained(t *testing.T) {
	bytes, err := os.ReadFile("testdata/research.html") // TestGolden: the page of report
	if err != nil {
		t.Fatal(err)
	}
	page := string(bytes)
	for _, what := range []string{"<script", "<link rel=\"stylesheet", "@import", "@font-face", "http:", "https:", "src="} {
		if strings.Contains(page, what) {
			t.Errorf("the page has %s", what)
		}
	}
	for _, use := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(use[1], "#") {
			t.Errorf("the page asks for %s", use[1])
		}
	}
}

// The same state has the same bytes, in whatever order its lists come.
func TestReportOrder(t *testing.T) {
	s := broadState(60, 20, 30)
	want := asHTML(t, s)
	for i, j := 0, len(s.Nodes)-1; i < j; i, j = i+1, j-1 {
		s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i]
	}
	for i, j := 0, len(s.Workloads)-1; i < j; i, j = i+1, j-1 {
		s.Workloads[i], s.Workloads[j] = s.Workloads[j], s.Workloads[i]
	}
	for i, j := 0, len(s.Queues)-1; i < j; i, j = i+1, j-1 {
		s.Queues[i], s.Queues[j] = s.Queues[j], s.Queues[i]
	}
	if asHTML(t, s) != want {
		t.Error("the order of the state's lists shows in the report")
	}
}

// What a node's squares say is what the state and the plan have: no device is
// used beyond what it has, and all use is drawn.
func TestMachinesAddUp(t *testing.T) {
	s := broadState(60, 20, 200)
	plan, err := allot.Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	after, err := allot.Begin(s, plan)
	if err != nil {
		t.Fatal(err)
	}
	var drawn, used int64
	for _, m := range machinesOf(s, after) {
		for i := range m.node.Devices {
			n := m.usedMilli(i)
			if n > 1000 {
				t.Errorf("%s GPU %d: %d", m.node.ID, i, n)
			}
			drawn += n
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
}

// Every reason for which work waits has a title in plain words.
func TestCodeTitles(t *testing.T) {
	for c := allot.ImpossibleNode; !strings.HasPrefix(c.String(), "Code("); c++ {
		if _, ok := codeTitles[c.String()]; !ok {
			t.Errorf("%s has no title", c)
		}
	}
}
