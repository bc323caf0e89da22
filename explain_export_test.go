package allot

import (
	"slices"

	"github.com/google/go-cmp/cmp"
)

// What package explain says is held against the oracle's model by tests outside of this
// package, as package explain imports it: what they need of the inside stands here.

// The generators that they draw from.
var (
	GenDense, GenRoom, GenFull = genDense, genRoom, genFull
	GenState, GenStillState    = genState, genStillState
	CloneState, Permuted       = cloneState, permuted
)

// An ExplainedWorld is the state that a plan leaves, as far as explanations are
// held against it, read by the oracle's model.
type ExplainedWorld struct {
	pools     []*oraclePool
	Workloads map[string]*ExplainedWork
	tasks     []ExplainedTask // running and claimed
}

// An ExplainedWork is a workload with its forms in their queues.
type ExplainedWork struct {
	Source *Workload
	Forms  []ExplainedForm
	Held   int // tasks that run and claim
}

// An ExplainedForm is a form in its queue, and the pool of that.
type ExplainedForm struct {
	Form
	pool  *oraclePool
	queue *oracleQueue
}

// An ExplainedTask is a task that runs or claims on its node.
type ExplainedTask struct {
	work    *ExplainedWork
	request *Request
	node    *Node
}

// Explained reads the state.
func Explained(s *State) *ExplainedWorld {
	e := &ExplainedWorld{pools: oraclePools(s), Workloads: make(map[string]*ExplainedWork)}
	nodes := make(map[string]*Node)
	for i := range s.Nodes {
		nodes[s.Nodes[i].ID] = &s.Nodes[i]
	}
	for i := range s.Workloads {
		w := &ExplainedWork{Source: &s.Workloads[i]}
		e.Workloads[w.Source.ID] = w
		for k := range 1 + len(w.Source.Alternatives) {
			f := ExplainedForm{Form: formOf(w.Source, k)}
			for _, p := range e.pools {
				if q := p.queue(f.Queue); q != nil && (f.Queue != "" || w.Source.Pool == p.id || len(e.pools) == 1) {
					f.pool, f.queue = p, q
				}
			}
			w.Forms = append(w.Forms, f)
		}
		sets := w.Forms[w.Source.Form].PodSets
		for _, t := range w.Source.Tasks {
			if t.Phase != Terminating {
				w.Held++
				set := slices.IndexFunc(sets, func(ps PodSet) bool { return ps.Name == t.PodSet })
				e.tasks = append(e.tasks, ExplainedTask{w, &sets[set].Request, nodes[t.Node]})
			}
		}
	}
	return e
}

// reaches says whether the form may use the node: it is of its pool, and its
// queue and all above it name it.
func (f *ExplainedForm) reaches(n *Node) bool {
	return slices.Contains(f.pool.nodes, n) && !slices.ContainsFunc(f.queue.path(), func(q *oracleQueue) bool {
		return !oracleInSet(q.source.Nodes, n)
	})
}

// couldUse says whether some task of the form might use what the other task holds of a
// resource were it free, and whether it surely could, as it asks the same of nodes.
func (f *ExplainedForm) couldUse(task *ExplainedTask, resource string) (could, like bool) {
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

// HeldFor is at least and at most how much of a resource is held that the form of the
// workload could use: all that runs or claims on nodes that take one of its tasks by what
// nodes are, on devices of a model that it accepts; and, but for domains and islands, what
// is like one of its tasks.
func (e *ExplainedWorld) HeldFor(workload string, form int, resource string) (least, most int64) {
	f := &e.Workloads[workload].Forms[form]
	for i := range e.tasks {
		task := &e.tasks[i]
		amount := task.work.Forms[task.work.Source.Form].pool.charge(task.request, resource)
		could, like := f.couldUse(task, resource)
		if could {
			most += amount
		}
		if like {
			least += amount
		}
	}
	return least, most
}

// Policy is that of the pool of its first form.
func (w *ExplainedWork) Policy() *Policy { return &w.Forms[0].pool.policy }

// SameQueue says whether the first forms of both stand in one queue.
func (w *ExplainedWork) SameQueue(other *ExplainedWork) bool {
	return w.Forms[0].queue == other.Forms[0].queue
}

// Standing is what O1 compares: the higher priority, then who was submitted earlier.
func (w *ExplainedWork) Standing() (priority int32, submitted int64) {
	priority, _ = w.Policy().standing(w.Source)
	return priority, micros(w.Source.Submitted)
}

// An OracleLine is what a queue may defend of a resource that is divided (R8), as the
// oracle draws it.
type OracleLine struct {
	Queue, Resource string
	Quota, Share    int64 // LQ and LF
}

// OracleLines are the lines of all queues of a pool.
func OracleLines(s *State, pool string) (lines []OracleLine) {
	for _, p := range oraclePools(s) {
		if p.id != pool {
			continue
		}
		p.divide()
		p.drawLines()
		for _, q := range p.queues {
			for _, r := range p.resources {
				if p.divided(r) {
					lines = append(lines, OracleLine{q.id, r, q.byQuota[r], q.byShare[r]})
				}
			}
		}
	}
	return lines
}
