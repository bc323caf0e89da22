package allot

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// X1: supplying exactly the amount that a reason says is missing removes that
// reason. Each workload is looked at by itself, in the world after the plan and
// without the others that wait, as these would take what is supplied.

// A mending is what supplies a reason's amount, nil where it names none.
type mending func(m *mender, r *Reason) []func(*State)

var mendings = map[Code]mending{
	OverLimit: mendBound, ImpossibleLimit: mendBound, OverBorrowingLimit: mendBound,
	NoQuota: mendBound, ImpossibleQuota: mendBound, MaxWorkloads: mendCap,
	NotSubmitted: mendSubmitted, NoCapacity: mendCapacity, NoNode: mendNode, ImpossibleNode: mendNode,
	GangShort: mendGang, ImpossibleGang: mendGang, OverLine: mendLine, WaitsForLeaving: mendLeaving,
	Outranked: mendOutranked, ProtectedUntil: mendUntil, NotBefore: mendUntil,
}

// A mender is one workload that waits, and the world around it.
type mender struct {
	state    *State
	plan     *Plan
	workload string
	form     *PodSet // the only pod set, nil if there are several
	blocked  bool    // who blocks it is there, and would take what is supplied
}

// TestX1Mending mends every reason of some workloads of many states.
func TestX1Mending(t *testing.T) {
	seeds := uint64(600)
	if testing.Short() {
		seeds = 100
	}
	mended := make(map[Code]int)
	for seed := range seeds {
		for _, gen := range []func(uint64) *State{genDense, genRoom, genFirm} {
			for _, m := range menders(t, gen(seed)) {
				for _, r := range m.reasons() {
					if m.blocked != (r.Code == Outranked) {
						continue
					}
					if what := m.mend(t, &r, mended); what != "" {
						t.Errorf("seed %d: %s %v: %s", seed, m.workload, r, what)
					}
				}
			}
		}
	}
	for _, code := range []Code{
		OverLimit, OverBorrowingLimit, NoQuota, ImpossibleQuota, ImpossibleLimit, MaxWorkloads, NotSubmitted,
		NoCapacity, NoNode, ImpossibleNode, GangShort, OverLine, WaitsForLeaving,
	} {
		if mended[code] < int(seeds)/150 {
			t.Errorf("only %d of %v", mended[code], code)
		}
	}
	t.Log(mended)
}

// genFirm is genDense with nothing that waits preemptible, so that quotas bind (Q2).
func genFirm(seed uint64) *State {
	s := genDense(seed)
	for i := range s.Workloads {
		if k := &s.Workloads[i]; len(k.Tasks) == 0 {
			k.Preemption = NonPreemptible
		}
	}
	return s
}

// menders are up to two of those that wait, each by itself.
func menders(t *testing.T, s *State) (out []*mender) {
	p, err := Solve(s)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Apply(s, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Pending {
		if len(out) == 2 {
			break
		}
		alone := cloneState(after)
		id := p.Pending[i].Workload
		alone.Workloads = slices.DeleteFunc(alone.Workloads, func(k Workload) bool {
			blocks := slices.ContainsFunc(p.Pending[i].Reasons, func(r Reason) bool { return r.Workload == k.ID })
			return k.ID != id && !blocks && (len(k.Tasks) == 0 || !frozen(&k))
		})
		for at := range alone.Workloads {
			if k := &alone.Workloads[at]; k.ID != id && frozen(k) {
				freeze(k)
			}
		}
		at := slices.IndexFunc(alone.Workloads, func(k Workload) bool { return k.ID == id })
		k := &alone.Workloads[at]
		if len(k.Alternatives) > 0 || len(k.Tasks) > 0 || len(k.Groups) > 0 {
			continue
		}
		m := &mender{state: alone, workload: id, blocked: slices.ContainsFunc(p.Pending[i].Reasons, func(r Reason) bool { return r.Workload != "" })}
		if len(k.PodSets) == 1 {
			m.form = &k.PodSets[0]
		}
		if m.plan, err = Solve(alone); err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// runs counts the tasks of a set that run, −1 if one of another index does.
func runs(k *Workload, set *PodSet) int {
	n, last := 0, -1
	for _, t := range k.Tasks {
		if t.PodSet == set.Name && t.Phase != Terminating {
			n, last = n+1, max(last, t.Index)
		}
	}
	if last+1 > n {
		return -1
	}
	return n
}

// frozen says whether a workload that holds something wants no more once it is
// frozen: all of it leaves, or it runs without gaps at its minimum. What claims its
// places beside somebody who leaves them would take what is supplied for its start.
func frozen(k *Workload) bool {
	leaves := 0
	for _, t := range k.Tasks {
		switch t.Phase {
		case Claimed:
			return false
		case Terminating:
			leaves++
		}
	}
	if leaves > 0 {
		return leaves == len(k.Tasks)
	}
	return k.Form == 0 && len(k.Groups) == 0 && !slices.ContainsFunc(k.PodSets, func(set PodSet) bool {
		return runs(k, &set) < cmp.Or(set.Min, set.Count) || set.Step != 0
	})
}

// freeze lets a workload that holds something want no more.
func freeze(k *Workload) {
	if len(k.Tasks) == 0 {
		return
	}
	if k.Tasks[0].Phase == Terminating {
		k.Ending = true
		return
	}
	for i := range k.PodSets {
		k.PodSets[i].Missing = k.PodSets[i].Count - runs(k, &k.PodSets[i])
	}
}

func (m *mender) reasons() []Reason {
	for i := range m.plan.Pending {
		if m.plan.Pending[i].Workload == m.workload {
			return m.plan.Pending[i].Reasons
		}
	}
	return nil
}

// mend supplies what is missing in each of the ways there are, of which one has to
// remove the reason.
func (m *mender) mend(t *testing.T, r *Reason, mended map[Code]int) string {
	how := mendings[r.Code]
	if how == nil {
		return ""
	}
	ways := how(m, r)
	left := ""
	for _, way := range ways {
		s := cloneState(m.state)
		way(s)
		p, err := Solve(s)
		if err != nil {
			t.Fatal(err)
		}
		with := &mender{plan: p, workload: m.workload}
		still := with.reasons()
		at := slices.IndexFunc(still, func(one Reason) bool { return sameShortage(&one, r) })
		if at < 0 {
			mended[r.Code]++
			return ""
		}
		left = fmt.Sprintf("%v is left\n%s%s", still[at], m.plan.String(), p.String())
	}
	return left
}

// sameShortage says whether two reasons are about the same.
func sameShortage(a, b *Reason) bool {
	same := a.Code == b.Code && a.Queue == b.Queue && a.Resource == b.Resource && a.Class == b.Class &&
		a.PodSet == b.PodSet && a.Workload == b.Workload && a.Until.Equal(b.Until)
	if a.Nearest != nil && b.Nearest != nil { // another node, or the next predicate there
		return same && a.Nearest.Node == b.Nearest.Node && a.Nearest.Predicate == b.Nearest.Predicate && a.Nearest.Resource == b.Nearest.Resource
	}
	return same
}

// entry is what a queue is given of a resource, made if there is nothing.
func entry(s *State, r *Reason) *QueueResource {
	q := &s.Queues[slices.IndexFunc(s.Queues, func(q Queue) bool { return q.ID == r.Queue })]
	at := slices.IndexFunc(q.Resources, func(g QueueResource) bool { return g.Resource == r.Resource && g.Class == r.Class })
	if at < 0 {
		q.Resources = append(q.Resources, QueueResource{Resource: r.Resource, Class: r.Class})
		at = len(q.Resources) - 1
	}
	return &q.Resources[at]
}

// row is the line of figures that a reason is about.
func (m *mender) row(r *Reason) *Share {
	return &m.plan.Shares[slices.IndexFunc(m.plan.Shares, func(s Share) bool {
		return s.Queue == r.Queue && s.Resource == r.Resource && s.Class == r.Class
	})]
}

func mendBound(m *mender, r *Reason) []func(*State) {
	missing := r.Need - r.Have
	raise := func(of func(*QueueResource) *quota.Bound, from func() int64) func(*State) {
		return func(s *State) {
			b := of(entry(s, r))
			*b = quota.Of(from() + missing)
		}
	}
	given := *entry(cloneState(m.state), r)
	switch r.Code {
	case OverBorrowingLimit:
		return []func(*State){raise(func(g *QueueResource) *quota.Bound { return &g.BorrowingLimit }, given.BorrowingLimit.Amount)}
	case OverLimit, ImpossibleLimit:
		if !given.Limit.Given() {
			return nil
		}
		return []func(*State){raise(func(g *QueueResource) *quota.Bound { return &g.Limit }, given.Limit.Amount)}
	}
	return []func(*State){raise(func(g *QueueResource) *quota.Bound { return &g.Quota }, m.row(r).Quota.Amount)}
}

func mendCap(m *mender, r *Reason) []func(*State) {
	return []func(*State){func(s *State) {
		q := &s.Queues[slices.IndexFunc(s.Queues, func(q Queue) bool { return q.ID == r.Queue })]
		q.MaxWorkloads = quota.Of(r.Have + 1)
	}}
}

func mendSubmitted(m *mender, r *Reason) []func(*State) {
	return []func(*State){func(s *State) {
		k := find(s, m.workload)
		for i := range k.PodSets {
			if k.PodSets[i].Name == r.PodSet {
				k.PodSets[i].Missing -= int(r.Need - r.Have)
			}
		}
	}}
}

func find(s *State, id string) *Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(k Workload) bool { return k.ID == id })]
}

// reachesAll says whether a node more is one of the workload's, whatever its
// labels.
func (m *mender) reachesAll() bool {
	return !slices.ContainsFunc(m.state.Queues, func(q Queue) bool { return len(q.Nodes.IDs) > 0 || q.Nodes.Selector != nil }) &&
		!slices.ContainsFunc(m.state.Pools, func(p Pool) bool { return len(p.Nodes.IDs) > 0 || p.Nodes.Selector != nil }) && len(m.state.Pools) < 2
}

func mendCapacity(m *mender, r *Reason) []func(*State) {
	if !m.reachesAll() {
		return nil
	}
	return []func(*State){func(s *State) {
		n := Node{ID: "zz-more", Capacity: map[string]int64{}}
		if missing := r.Need - r.Have; r.Resource != GPU {
			n.Capacity[r.Resource] = missing
		} else {
			n.Devices = make([]Device, (missing+cluster.WholeDevice-1)/cluster.WholeDevice)
			for i := range n.Devices {
				n.Devices[i] = Device{Model: "A", Memory: 6}
			}
			n.Devices[0].Foreign = int64(len(n.Devices))*cluster.WholeDevice - missing
		}
		s.Nodes = append(s.Nodes, n)
	}}
}

// mendNode gives the nearest node what it lacks.
func mendNode(m *mender, r *Reason) []func(*State) {
	miss := r.Nearest
	if miss == nil {
		return nil
	}
	change := func(f func(s *State, n *Node)) []func(*State) {
		return []func(*State){func(s *State) {
			f(s, &s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == miss.Node })])
		}}
	}
	missing := miss.Need - miss.Have
	switch miss.Predicate {
	case placement.Cordoned:
		return change(func(_ *State, n *Node) { n.Cordoned = false })
	case placement.Taints:
		return change(func(_ *State, n *Node) { n.Taints = nil })
	case placement.Capacity, placement.Resources:
		return change(func(_ *State, n *Node) {
			if n.Capacity == nil {
				n.Capacity = make(map[string]int64)
			}
			n.Capacity[miss.Resource] += missing
		})
	case placement.TaskSlots:
		return change(func(_ *State, n *Node) { n.MaxTasks += int(missing) })
	case placement.CPUOnlySlots:
		return change(func(s *State, _ *Node) { s.Pools[0].Policy.MaxCPUOnlyTasksPerNode += int(missing) })
	case placement.Model, placement.DeviceCount, placement.FreeDevices, placement.Fragmented:
		var ways []func(*State)
		for _, model := range []string{"A", "B", ""} {
			ways = append(ways, change(func(_ *State, n *Node) {
				for range missing {
					n.Devices = append(n.Devices, Device{Model: model, Memory: 6})
				}
			})...)
		}
		return ways
	}
	return nil
}

// mendGang adds as many nodes as tasks are missing, each for one task.
func mendGang(m *mender, r *Reason) []func(*State) {
	if m.form == nil || !m.reachesAll() {
		return nil
	}
	request := &m.form.Request
	var ways []func(*State)
	for _, model := range []string{"A", "B"} {
		ways = append(ways, func(s *State) {
			for i := range r.Need - r.Have {
				n := Node{ID: fmt.Sprint("zz-more-", i), MaxTasks: 1, Labels: map[string]string{"zone": "a"}, Capacity: request.Resources}
				for range oracleDevices(request.GPU) {
					n.Devices = append(n.Devices, Device{Model: model, Memory: 6})
				}
				s.Nodes = append(s.Nodes, n)
			}
		})
	}
	return ways
}

// mendLine asks no more than the line leaves, as what it leaves is not one queue's
// alone to raise (R8).
func mendLine(m *mender, r *Reason) []func(*State) {
	if m.form == nil || r.Have == 0 {
		return nil
	}
	n := int64(cmp.Or(m.form.Min, m.form.Count))
	fit := r.Have / (r.Need / n)
	if fit == 0 {
		return nil
	}
	return []func(*State){func(s *State) {
		set := &find(s, m.workload).PodSets[0]
		set.Min = int(fit) // what it demands in all stays the same
	}}
}

func mendLeaving(m *mender, r *Reason) []func(*State) {
	return []func(*State){func(s *State) {
		for i := range s.Workloads {
			k := &s.Workloads[i]
			k.Tasks = slices.DeleteFunc(k.Tasks, func(t Task) bool { return t.Phase == Terminating })
			k.Ending = k.Ending && len(k.Tasks) > 0
		}
		s.Workloads = slices.DeleteFunc(s.Workloads, func(k Workload) bool { return len(k.Tasks) == 0 && k.ID != m.workload })
	}}
}

func mendOutranked(m *mender, r *Reason) []func(*State) {
	return []func(*State){func(s *State) {
		s.Workloads = slices.DeleteFunc(s.Workloads, func(k Workload) bool { return k.ID == r.Workload })
	}}
}

func mendUntil(m *mender, r *Reason) []func(*State) {
	if r.Until.IsZero() {
		return nil
	}
	return []func(*State){func(s *State) { s.Now = r.Until }}
}
