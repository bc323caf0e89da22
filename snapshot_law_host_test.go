package allot_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
)

// A calmHost is a larger cluster than those of the stability tests, on which
// mostly small things happen: what a snapshot is made for.
type calmHost struct {
	chance
	s          *allot.State
	gpus       int // of a node
	priorities bool
	load       int // percent of all GPUs that are wanted
	named      int
	classes    []string
}

func newCalmHost(c chance) *calmHost {
	h := &calmHost{
		chance: c, s: &allot.State{Now: time.Unix(1_000_000_000, 0).UTC()},
		gpus: oneOf(c, 8, 8, 4, 2), priorities: c.IntN(2) == 0, load: oneOf(c, 50, 90, 110, 140, 200), classes: []string{""},
	}
	pools := h.pools()
	for i := range 4 + h.IntN(27) {
		n := h.node(i)
		if pools > 1 {
			set := &h.s.Pools[i%pools].Nodes
			set.IDs = append(set.IDs, n.ID)
		}
		h.s.Nodes = append(h.s.Nodes, n)
	}
	for p := range max(1, pools) {
		h.tree(p)
	}
	for range 12 { // enough to come to the load, and no more
		if h.arrive(); h.wanted()*100 > h.load*h.gpus*len(h.s.Nodes) {
			break
		}
	}
	for h.wanted()*100 < h.load*h.gpus*len(h.s.Nodes) && len(h.s.Workloads) < 150 {
		h.arrive()
	}
	if h.rarely(12) {
		h.s.Budgets = []allot.DisruptionBudget{{Owner: "ann", MinRunning: h.IntN(6)}}
	}
	return h
}

func (h *calmHost) state() *allot.State   { return h.s }
func (h *calmHost) become(s *allot.State) { h.s = s }
func (h *calmHost) rarely(n int) bool     { return h.IntN(n) == n-1 }

// pools draws none, one or two.
func (h *calmHost) pools() int {
	switch h.IntN(6) {
	case 0:
		h.s.Pools = []allot.Pool{{ID: "p0", Policy: allot.RunAI()}}
	case 1:
		h.s.Pools = []allot.Pool{{ID: "p0", Policy: allot.OSMO()}}
		h.classes = []string{"", "", "HIGH", "LOW", "LOW"}
	case 2:
		h.s.Pools = []allot.Pool{{ID: "p0"}, {ID: "p1", Policy: oneOf(h, allot.Policy{}, allot.RunAI(), allot.OSMO())}}
	case 3: // nobody is ever disturbed
		h.s.Pools = []allot.Pool{{ID: "p0", Policy: allot.Policy{Reclaim: preempt.NoReclaim, Preempt: preempt.NoPreemption, NoConsolidation: true}}}
	}
	return len(h.s.Pools)
}

func (h *calmHost) node(i int) allot.Node {
	n := allot.Node{ID: fmt.Sprintf("n%02d", i), Capacity: map[string]int64{allot.CPU: 16 * unit}}
	if !h.rarely(12) {
		n.Devices = make([]allot.Device, h.gpus)
		for d := range n.Devices {
			n.Devices[d].Memory = 80
		}
	}
	if h.rarely(3) {
		n.Labels = map[string]string{"zone": "a"}
	}
	return n
}

// tree draws 3 to 12 queues in two or three levels.
func (h *calmHost) tree(pool int) {
	id := ""
	if pool < len(h.s.Pools) {
		id = h.s.Pools[pool].ID
	}
	total := int64(len(h.s.Nodes)*h.gpus) * unit / int64(max(1, len(h.s.Pools)))
	weighted, tops := h.rarely(2), 1+h.IntN(3)
	for top := range tops {
		t := h.queue(fmt.Sprintf("p%dq%d", pool, top), id, "", total/int64(tops), weighted)
		for k := range 1 + h.IntN(3) {
			m := h.queue(fmt.Sprint(t, "/", k), id, t, total/int64(tops*3), weighted)
			for j := range max(0, h.IntN(4)-2) * 2 {
				h.queue(fmt.Sprint(m, "/", j), id, m, total/int64(tops*6), weighted)
			}
		}
	}
}

func (h *calmHost) queue(id, pool, parent string, amount int64, weighted bool) string {
	q := allot.Queue{ID: id, Pool: pool, Parent: parent, Resources: []allot.QueueResource{{Resource: allot.GPU}}}
	r := &q.Resources[0]
	if r.Quota = quota.Of(amount / unit * unit); h.rarely(6) {
		r.Quota = quota.Bound{}
	}
	if weighted {
		r.Weight = quota.Of(int64(h.IntN(4)))
	}
	if h.rarely(16) {
		r.Limit = quota.Of(amount / unit * unit * 2)
	}
	h.s.Queues = append(h.s.Queues, q)
	return id
}

func (h *calmHost) leaves() (ids []string) {
	inner := make(map[string]bool)
	for i := range h.s.Queues {
		inner[h.s.Queues[i].Parent] = true
	}
	for i := range h.s.Queues {
		if q := &h.s.Queues[i]; !inner[q.ID] {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// wanted is how many GPUs all workloads ask together.
func (h *calmHost) wanted() (gpus int) {
	for i := range h.s.Workloads {
		p := &h.s.Workloads[i].PodSets[0]
		gpus += p.Count * p.Request.GPU.Count
	}
	return gpus
}

// arrive submits a workload.
func (h *calmHost) arrive() {
	h.named++
	w := allot.Workload{ID: fmt.Sprintf("w%05d", h.named*7919%100_000), Queue: oneOf(h, h.leaves()...), Owner: oneOf(h, "", "", "ann")}
	w.Submitted = h.s.Now.Add(-time.Duration(h.IntN(3)) * time.Second)
	if h.priorities {
		w.Priority = int32(oneOf(h, 0, 0, 10, 20))
	}
	if h.rarely(12) {
		w.Preemption = oneOf(h, allot.Preemptible, allot.NonPreemptible)
	}
	if len(h.s.Pools) == 1 {
		w.Class = oneOf(h, h.classes...)
	}
	w.PodSets = []allot.PodSet{h.podSet()}
	h.s.Workloads = append(h.s.Workloads, w)
}

func (h *calmHost) podSet() allot.PodSet {
	p := allot.PodSet{Count: 1}
	p.Request.GPU.Count = 1
	switch n := h.IntN(20); {
	case n < 9: // a single
		p.Request.GPU.Count = oneOf(h, 1, 1, 1, 2, h.gpus/2)
	case n < 13:
		p.Request.GPU = allot.GPURequest{Milli: int64(100 * (1 + h.IntN(5)))}
	case n < 16: // whole nodes
		p.Count, p.Request.GPU.Count = 1+h.IntN(4), h.gpus
	case n < 18: // elastic
		p.Count, p.Min = 2+h.IntN(4), 1+h.IntN(2)
	case n == 18:
		p.Request.GPU.Count = 0
		p.Request.Resources = map[string]int64{allot.CPU: unit}
	default:
		p.Request.GPU = allot.GPURequest{Memory: int64(10 * (1 + h.IntN(8)))}
	}
	if h.rarely(3) {
		p.Request.Resources = map[string]int64{allot.CPU: unit * int64(1+h.IntN(2))}
	}
	if h.rarely(24) {
		p.Request.Selector.Labels = map[string]string{"zone": "a"}
	}
	return p
}

// calmEvents are what happens to a calm host, as often as it is listed.
var calmEvents = []struct {
	name string
	do   func(*calmHost)
	n    int
}{
	{"arrival", (*calmHost).arrive, 10}, {"end", (*calmHost).end, 8}, {"burst", (*calmHost).burst, 1},
	{"node lost", (*calmHost).lose, 1}, {"node back", (*calmHost).back, 2}, {"cordon", (*calmHost).cordon, 1},
	{"device", (*calmHost).device, 1}, {"quota", (*calmHost).quota, 1}, {"weight", (*calmHost).weight, 1},
	{"time", (*calmHost).time, 4}, {"priority", (*calmHost).priority, 1}, {"task lost", (*calmHost).taskLost, 1},
	{"ending", (*calmHost).ending, 1}, {"foreign", (*calmHost).foreign, 1}, {"node set", (*calmHost).nodeSet, 1},
	{"pool set", (*calmHost).poolSet, 1}, {"queue set", (*calmHost).queueSet, 1}, {"nothing", func(*calmHost) {}, 1},
}

func (h *calmHost) happen() string {
	var names []int
	for i := range calmEvents {
		for range calmEvents[i].n {
			names = append(names, i)
		}
	}
	e := &calmEvents[oneOf(h, names...)]
	e.do(h)
	if len(h.s.Workloads) > 150 || h.wanted()*100 > h.load*h.gpus*len(h.s.Nodes) {
		h.end()
	}
	return e.name
}

func (h *calmHost) workload(wanted func(*allot.Workload) bool) *allot.Workload {
	return (&stabilityHost{chance: h, s: h.s}).workload(wanted)
}

func (h *calmHost) end() {
	w := h.workload(has(allot.Running))
	if w == nil || h.rarely(6) {
		w = h.workload(anyWorkload)
	}
	if w != nil {
		(&stabilityHost{chance: h, s: h.s}).remove(w)
	}
}

func (h *calmHost) burst() {
	for range 2 + h.IntN(6) {
		h.arrive()
	}
}

func (h *calmHost) anyNode() *allot.Node { return &h.s.Nodes[h.IntN(len(h.s.Nodes))] }
func (h *calmHost) lose()                { h.anyNode().Lost = true }
func (h *calmHost) cordon()              { n := h.anyNode(); n.Cordoned = !n.Cordoned }

func (h *calmHost) back() {
	for i := range h.s.Nodes {
		if n := &h.s.Nodes[i]; n.Lost {
			n.Lost = false
			return
		}
	}
}

func (h *calmHost) device() {
	if n := h.anyNode(); len(n.Devices) > 0 {
		d := &n.Devices[h.IntN(len(n.Devices))]
		d.Unhealthy = !d.Unhealthy
	}
}

func (h *calmHost) foreign() {
	h.anyNode().Foreign = map[string]int64{allot.CPU: unit * int64(h.IntN(16))}
}

func (h *calmHost) quota() {
	q := &h.s.Queues[h.IntN(len(h.s.Queues))]
	q.Resources[0].Quota = quota.Of(unit * int64(h.IntN(3*h.gpus)))
}

func (h *calmHost) weight() {
	if r := &h.s.Queues[h.IntN(len(h.s.Queues))].Resources[0]; r.Weight.Given() {
		r.Weight = quota.Of(int64(h.IntN(4)))
	}
}

func (h *calmHost) time() {
	h.s.Now = h.s.Now.Add(time.Duration(oneOf(h, 1, 10, 60)) * time.Second)
}

func (h *calmHost) priority() {
	if w := h.workload(anyWorkload); w != nil && h.priorities {
		w.Priority = int32(10 * h.IntN(4))
	}
}

func (h *calmHost) taskLost() { (&stabilityHost{chance: h, s: h.s}).taskLost() }
func (h *calmHost) ending()   { (&stabilityHost{chance: h, s: h.s}).ending() }

// nodeSet adds a node, or takes one away with what stands on it.
func (h *calmHost) nodeSet() {
	h.named++
	if len(h.s.Nodes) < 5 || h.rarely(2) {
		n := h.node(30 + h.named)
		h.s.Nodes = append(h.s.Nodes, n)
		if len(h.s.Pools) > 1 {
			set := &h.s.Pools[h.IntN(len(h.s.Pools))].Nodes
			set.IDs = append(slices.Clone(set.IDs), n.ID)
		}
		return
	}
	k := h.IntN(len(h.s.Nodes))
	id := h.s.Nodes[k].ID
	h.s.Nodes = slices.Delete(slices.Clone(h.s.Nodes), k, k+1)
	for i := range h.s.Pools {
		set := &h.s.Pools[i].Nodes
		set.IDs = slices.DeleteFunc(slices.Clone(set.IDs), func(o string) bool { return o == id })
		if len(set.IDs) == 0 && len(h.s.Pools) > 1 { // none would be all
			set.IDs = []string{h.s.Nodes[0].ID}
			other := &h.s.Pools[1-i].Nodes
			other.IDs = slices.DeleteFunc(slices.Clone(other.IDs), func(o string) bool { return o == h.s.Nodes[0].ID })
		}
	}
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		w.Tasks = slices.DeleteFunc(slices.Clone(w.Tasks), func(t allot.Task) bool { return t.Node == id })
		if len(w.Tasks) == 0 {
			w.Tasks, w.Form = nil, 0
		}
	}
	sweepEnded(h.s)
}

// poolSet takes a node out of its pool, with what runs there, or puts it into one.
func (h *calmHost) poolSet() {
	if len(h.s.Pools) > 1 {
		(&stabilityHost{chance: h, s: h.s}).poolChange(h.anyNode().ID)
	}
}

// queueSet adds a leaf beside another, or takes an empty leaf away.
func (h *calmHost) queueSet() {
	leaf := oneOf(h, h.leaves()...)
	k := slices.IndexFunc(h.s.Queues, func(q allot.Queue) bool { return q.ID == leaf })
	used := slices.ContainsFunc(h.s.Workloads, func(w allot.Workload) bool { return w.Queue == leaf })
	alone := !slices.ContainsFunc(h.s.Queues, func(q allot.Queue) bool {
		return q.ID != leaf && q.Parent == h.s.Queues[k].Parent && q.Pool == h.s.Queues[k].Pool
	})
	if !used && !alone {
		h.s.Queues = slices.Delete(slices.Clone(h.s.Queues), k, k+1)
		return
	}
	h.named++
	q := h.s.Queues[k]
	q.ID = fmt.Sprint(q.ID, "+", h.named)
	q.Resources = slices.Clone(q.Resources)
	h.s.Queues = append(h.s.Queues, q)
}

// lawStats count what lives have met.
type lawStats struct {
	counts map[string]int
	met    map[string]int // by versions that were solved
	solved int
}

func newLawStats() *lawStats {
	return &lawStats{counts: make(map[string]int), met: make(map[string]int)}
}

func (s *lawStats) add(o *lawStats) {
	s.solved += o.solved
	for name, n := range o.counts { // adding has no order
		s.counts[name] += n
	}
	for name, n := range o.met { // adding has no order
		s.met[name] += n
	}
}

// features counts what a version has.
func (s *lawStats) features(c chance, v *lawVersion) {
	state := v.snapshot.State()
	if len(state.Workloads) > 20 && c.IntN(5) > 0 {
		return // it takes its time
	}
	s.solved++
	f := decisionFeatures(state, v.plan)
	f["several pools"] = len(state.Pools) > 1
	f["nothing to do"] = len(v.plan.Actions) == 0
	f["somebody waits"] = len(v.plan.Pending) > 0
	f["no pool"] = len(state.Pools) == 0
	for i := range state.Workloads {
		p := &state.Workloads[i].PodSets[0]
		f["elastic"] = f["elastic"] || p.Min > 0 && p.Min < p.Count
		f["fraction"] = f["fraction"] || p.Request.GPU.Milli > 0
		f["device memory"] = f["device memory"] || p.Request.GPU.Memory > 0
	}
	for i := range state.Nodes {
		f["node lost"] = f["node lost"] || state.Nodes[i].Lost
		f["cordon"] = f["cordon"] || state.Nodes[i].Cordoned
	}
	treeFeatures(f, state, v.plan)
	for name, has := range f { // counting has no order
		if has {
			s.met[name]++
		}
	}
}

// leastMet is how many in 1000 of the solved versions must have a feature.
var leastMet = map[string]map[string]int{
	"tight": {
		"depth 3": 100, "gang": 100, "elastic": 100, "halving": 50, "alternatives": 20, "several pools": 50, "evicts": 50,
		"reclaim-share": 5, "reclaim-quota": 2, "preempt": 5, "move": 5, "shrink": 1, "claims in flight": 50, "terminating": 100,
		"start": 100, "displace": 20, "unclaim": 2, "nothing to do": 50, "fraction": 50, "device memory": 50, "node lost": 50,
	},
	"calm": {
		"depth 3": 100, "gang": 300, "elastic": 300, "several pools": 50, "no pool": 50, "evicts": 10, "claims in flight": 20,
		"start": 100, "displace": 5, "nothing to do": 200, "fraction": 300, "device memory": 200, "node lost": 100, "cordon": 50,
		"somebody waits": 200,
	},
	"few": {"node lost": 250, "cordon": 150, "displace": 20, "evicts": 30, "move": 5, "several pools": 30},
	"tree": {
		"constrained": 300, "unconstrained": 50, "slices": 50, "island": 50, "hardware": 300, "no levels": 10, "no domain": 10, "start": 50,
		"runs constrained": 100, "fitting": 50,
	},
}

// leastCount is how many in 1000 changes must be of a kind.
var leastCount = map[string]int{
	"decided": 500, "plans": 150, "apply": 40, "begin": 40, "part": 10, "parts refused": 1, "old versions": 20, "branches": 10,
	"versions skipped": 50, "changes in parts": 20, "incremental": 5,
}

// leastAt is how many in 1000 changes must have been decided at a desk, and have
// led to actions there. Where there is much conflict it rarely is.
var leastAt = map[string]map[string]int{
	"tight": {"incremental": 10, "incremental, with actions": 5},
	"calm":  {"incremental": 350, "incremental, with actions": 200},
	"busy":  {"incremental": 950},
	"tree":  {"incremental": 8},
}

// log prints what was met.
func (s *lawStats) log(t *testing.T) {
	for _, name := range sortedKeys(s.counts) {
		t.Logf("%-24s %8d", name, s.counts[name])
	}
	for _, name := range sortedKeys(s.met) {
		t.Logf("%-24s %6.1f%%", name, 100*float64(s.met[name])/float64(max(1, s.solved)))
	}
}

// check demands enough of what is to be met.
func (s *lawStats) check(t *testing.T, kind string) {
	for name, least := range leastMet[kind] { // each is judged by itself
		if s.met[name]*1000 < least*s.solved {
			t.Errorf("%s: %d of %d, less than %d in 1000", name, s.met[name], s.solved, least)
		}
	}
	for _, floors := range []map[string]int{leastCount, leastAt[kind]} {
		for name, least := range floors { // each is judged by itself
			if s.counts[name]*1000 < least*s.counts["changes"] {
				t.Errorf("%s: %d of %d changes, less than %d in 1000", name, s.counts[name], s.counts["changes"], least)
			}
		}
	}
}
