package allot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An explainedWorld is the state that a plan leaves, as far as explanations are
// held against it, read by the oracle's model.
type explainedWorld struct {
	pools     []*oraclePool
	workloads map[string]*explainedWork
	tasks     []explainedTask // running and claimed
}

// An explainedWork is a workload with its forms in their queues.
type explainedWork struct {
	source *Workload
	forms  []explainedForm
	held   int // tasks that run and claim
}

// An explainedForm is a form in its queue, and the pool of that.
type explainedForm struct {
	Form
	pool  *oraclePool
	queue *oracleQueue
}

// An explainedTask is a task that runs or claims on its node.
type explainedTask struct {
	work    *explainedWork
	request *Request
	node    *Node
}

// explained reads the state.
func explained(s *State) *explainedWorld {
	e := &explainedWorld{pools: oraclePools(s), workloads: make(map[string]*explainedWork)}
	nodes := make(map[string]*Node)
	for i := range s.Nodes {
		nodes[s.Nodes[i].ID] = &s.Nodes[i]
	}
	for i := range s.Workloads {
		w := &explainedWork{source: &s.Workloads[i]}
		e.workloads[w.source.ID] = w
		for k := range 1 + len(w.source.Alternatives) {
			f := explainedForm{Form: formOf(w.source, k)}
			for _, p := range e.pools {
				if q := p.queue(f.Queue); q != nil && (f.Queue != "" || w.source.Pool == p.id || len(e.pools) == 1) {
					f.pool, f.queue = p, q
				}
			}
			w.forms = append(w.forms, f)
		}
		sets := w.forms[w.source.Form].PodSets
		for _, t := range w.source.Tasks {
			if t.Phase != Terminating {
				w.held++
				set := slices.IndexFunc(sets, func(ps PodSet) bool { return ps.Name == t.PodSet })
				e.tasks = append(e.tasks, explainedTask{w, &sets[set].Request, nodes[t.Node]})
			}
		}
	}
	return e
}

// reaches says whether the form may use the node: it is of its pool, and its
// queue and all above it name it.
func (f *explainedForm) reaches(n *Node) bool {
	return slices.Contains(f.pool.nodes, n) && !slices.ContainsFunc(f.queue.path(), func(q *oracleQueue) bool {
		return !oracleInSet(q.source.Nodes, n)
	})
}

// couldUse says whether some task of the form might use what the other task holds of a
// resource were it free, and whether it surely could, as it asks the same of nodes.
func (f *explainedForm) couldUse(task *explainedTask, resource string) (could, like bool) {
	apart := constrained(&f.Topology, f.PodSets, f.Groups)
	for i := range f.PodSets {
		r := &f.PodSets[i].Request
		if !f.reaches(task.node) || !f.pool.accepts(f.queue, task.node, r) {
			continue
		}
		if resource == GPU && len(r.GPU.Models) > 0 && !slices.ContainsFunc(task.node.Devices, func(d Device) bool { return slices.Contains(r.GPU.Models, d.Model) }) {
			continue
		}
		could = true
		same := cmp.Equal(r.GPU, task.request.GPU) && cmp.Equal(r.Resources, task.request.Resources)
		like = like || same && !apart && len(f.PodSets) == 1
	}
	return could, like
}

// answerState is a state of testdata/answers.
func answerState(t *testing.T, name string) *State {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "answers", name))
	if err != nil {
		t.Fatal(err)
	}
	s := new(State)
	if err := s.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return s
}

// X1 (N42): who is told to hold what a workload waits for holds it where the workload
// could use it: of a model that it accepts, on nodes that its selector and tolerations
// let it go to, in domains that could take all of it.
func TestHoldersOfWhatItCouldUse(t *testing.T) {
	one := func(models ...string) Request { return Request{GPU: GPURequest{Count: 1, Models: models}} }
	runs := func(id, node string, r Request, devices ...int) Workload {
		return Workload{ID: id, PodSets: []PodSet{{Count: 1, Request: r}}, Tasks: []Task{{Node: node, Devices: devices}}}
	}
	racks := &State{
		Levels: []Level{{"rack"}},
		Nodes: []Node{
			{ID: "n0", Devices: make([]Device, 1), Domains: map[string]string{"rack": "small"}},
			{ID: "n1", Devices: make([]Device, 1), Domains: map[string]string{"rack": "large"}},
			{ID: "n2", Devices: make([]Device, 1), Domains: map[string]string{"rack": "large"}},
			{ID: "n3", Devices: make([]Device, 1)},
		},
		Workloads: []Workload{
			runs("r0", "n0", one(), 0), runs("r1", "n1", one(), 0), runs("r3", "n3", one(), 0),
			{ID: "waits", Topology: Topology{Required: "rack"}, PodSets: []PodSet{{Count: 2, Request: one()}}},
		},
	}
	chosen := &State{
		Nodes: []Node{
			{ID: "n0", Devices: []Device{{Model: "A10"}}, Labels: map[string]string{"zone": "a"}},
			{ID: "n1", Devices: []Device{{Model: "A10"}}, Labels: map[string]string{"zone": "b"}},
			{ID: "n2", Devices: []Device{{Model: "H100"}, {Model: "A10"}}, Labels: map[string]string{"zone": "a"}},
		},
		Workloads: []Workload{
			runs("r0", "n0", one(), 0), runs("r1", "n1", one(), 0), runs("r2", "n2", one("H100"), 0), runs("r3", "n2", one("A10"), 1),
			{ID: "waits", PodSets: []PodSet{{Count: 1, Request: one("A10")}}},
		},
	}
	chosen.Workloads[4].PodSets[0].Request.Selector.Labels = map[string]string{"zone": "a"}
	for _, row := range []struct {
		name  string
		state *State
		work  string
		want  []string
	}{
		{"the model", answerState(t, "N42-holder.json"), "wants-a10", []string{"y gpu 1000: small"}},
		{"the domains", racks, "waits", []string{" gpu 1000: r1"}},
		{"labels and models", chosen, "waits", []string{" gpu 2000: r3 r0"}},
	} {
		snapshot, err := NewSnapshot(row.state)
		if err != nil {
			t.Fatal(err)
		}
		d, err := snapshot.Decide()
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Explain(t.Context(), row.work)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range e.Holders {
			slices.Sort(h.Last)
			slices.Reverse(h.Last)
			text := fmt.Sprintf("%s %s %d:", h.Queue, h.Resource, h.Held)
			for _, id := range h.Last {
				text += " " + id
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", row.name, diff)
		}
	}
}

// X1 (N43): sets that together ask more than there is can never start.
func TestSetsLargerThanTheCluster(t *testing.T) {
	plan, err := Solve(answerState(t, "N43-imp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range plan.Pending {
		for _, r := range p.Reasons {
			got = append(got, p.Workload+" "+r.Code.String()+": "+r.String())
		}
	}
	want := []string{
		"v impossible-gang: the empty cluster takes at most 4 of the 5 tasks of a that must start together",
		"w impossible-gang: the empty cluster takes at most 1 of the 2 tasks that must start together",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
