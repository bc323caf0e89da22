package allot

import (
	"slices"

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
