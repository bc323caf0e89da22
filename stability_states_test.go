package allot_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/deep"
	"github.com/allotsched/allot/preempt"
	"github.com/allotsched/allot/quota"
	"github.com/allotsched/allot/sim/scenario"
)

// A rapidChance draws with rapid, which shrinks what fails.
type rapidChance struct{ t *rapid.T }

func (c rapidChance) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "n") }

// The same as TestStability as a state machine of rapid's.
func TestStabilityMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newStabilityHost(rapidChance{t})
		actions := make(map[string]func(*rapid.T))
		for name, change := range changes { // a map from a map has no order
			actions[name] = func(*rapid.T) { change(h) }
		}
		actions[""] = func(t *rapid.T) {
			how := schedule{mode: hostMode(h.IntN(int(hostModes))), seed: uint64(h.IntN(1 << 16)), rounds: h.IntN(4)}
			next, broken := rest(h.s, how, newStabilityStats())
			if broken != nil && broken.kind == "stopped" {
				t.Fatalf("%s", (&failure{h.s, how, "a cause", broken}).scenario())
			}
			if broken != nil { // rapid draws anew in every run, and what TestStability finds rarely must not fail one by chance
				t.Skip(broken.Error())
			}
			h.s = next
		}
		t.Repeat(actions)
	})
}

// M5, X1: from any state, also from those to which no solve would lead, a plan
// applied or begun leaves nothing to do but to start what is claimed.
func TestM5FixpointOfDenseStates(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 1200), (*stabilityStats).seeds, func(seed uint64, stats *stabilityStats) *failure {
		return atRest(denseState(seed), seed, stats)
	}, total)
	total.log(t)
	if got := total.features["evicts"]; tellFailures(t, failures, total) && !testing.Short() && got*100 < 20*total.decisions {
		t.Errorf("only %d of %d plans evict", got, total.decisions)
	}
}

// atRest applies a plan and sees that nothing is left to do, or now and then
// begins it and goes on until the last victim has left.
func atRest(s *allot.State, seed uint64, stats *stabilityStats) *failure {
	how := schedule{mode: applies, seed: seed, rounds: 2}
	if seed%3 == 0 {
		how = schedule{mode: begins, seed: seed}
	}
	if _, broken := rest(s, how, stats); broken != nil {
		return &failure{s, how, "the beginning", broken}
	}
	return nil
}

// A denseHost places tasks without asking a solver.
type denseHost struct {
	*stabilityHost
	held map[string]*[3]int64 // what each phase holds of a thing (S4)
}

// denseState draws a state in which much runs, by whatever right.
func denseState(seed uint64) *allot.State {
	h := &denseHost{newStabilityHost(rand.New(rand.NewPCG(seed, 6))), make(map[string]*[3]int64)}
	for range h.IntN(4) {
		h.submit()
	}
	for i := range h.s.Workloads {
		if w := &h.s.Workloads[i]; h.IntN(3) > 0 {
			h.run(w)
		}
	}
	for range h.IntN(2) {
		h.change()
	}
	return h.s
}

// run places a workload's minimum or more, if there is room for it.
func (h *denseHost) run(w *allot.Workload) {
	phase := oneOf(h, allot.Running, allot.Running, allot.Running, allot.Running, allot.Running, allot.Running, allot.Terminating, allot.Claimed)
	since := h.s.Now.Add(-time.Duration(h.IntN(40)) * time.Second)
	var tasks []allot.Task
	for k := range w.PodSets {
		set := &w.PodSets[k]
		numbers := slices.DeleteFunc(rungs(set), func(n int) bool { return n > set.Count-set.Missing })
		if len(numbers) == 0 {
			return
		}
		for index := range oneOf(h, numbers...) {
			t := allot.Task{PodSet: set.Name, Index: index, Phase: phase, Since: since}
			if !h.hold(&t, &set.Request, w.Queue) {
				return // what it held stays held: that makes less dense, not wrong
			}
			tasks = append(tasks, t)
		}
	}
	w.Tasks = tasks
}

// hold looks for a node, from any one on, that takes the task.
func (h *denseHost) hold(t *allot.Task, r *allot.Request, leaf string) bool {
	pool := h.s.Queues[slices.IndexFunc(h.s.Queues, func(q allot.Queue) bool { return q.ID == leaf })].Pool
	nodes := h.s.Pools[slices.IndexFunc(h.s.Pools, func(p allot.Pool) bool { return p.ID == pool })].Nodes.IDs
	if len(nodes) == 0 {
		return false
	}
	from := h.IntN(len(nodes))
	for k := range nodes {
		id := nodes[(from+k)%len(nodes)]
		n := &h.s.Nodes[slices.IndexFunc(h.s.Nodes, func(n allot.Node) bool { return n.ID == id })]
		if h.holdOn(n, t, r) {
			return true
		}
	}
	return false
}

func (h *denseHost) holdOn(n *allot.Node, t *allot.Task, r *allot.Request) bool {
	wanted, milli := max(r.GPU.Count, int(min(1, r.GPU.Milli+r.GPU.Memory))), int64(unit)
	switch {
	case r.GPU.Milli > 0:
		milli = r.GPU.Milli
	case r.GPU.Memory > 0:
		milli = r.GPU.Memory * unit / 4
	}
	var devices []int
	for d := range n.Devices {
		if len(devices) < wanted && h.has(fmt.Sprint(n.ID, d), t.Phase, milli, unit) {
			devices = append(devices, d)
		}
	}
	if len(devices) < wanted || n.MaxTasks > 0 && !h.has(n.ID, t.Phase, 1, int64(n.MaxTasks)) || !r.Selector.Matches(n.Labels) {
		return false
	}
	for _, name := range sortedKeys(r.Resources) {
		if !h.has(n.ID+name, t.Phase, r.Resources[name], n.Capacity[name]) {
			return false
		}
	}
	for _, d := range devices {
		h.take(fmt.Sprint(n.ID, d), t.Phase, milli)
	}
	for _, name := range sortedKeys(r.Resources) {
		h.take(n.ID+name, t.Phase, r.Resources[name])
	}
	h.take(n.ID, t.Phase, 1)
	t.Node, t.Devices = n.ID, devices
	return true
}

// has says whether S4 still holds for a thing when a phase takes more of it.
func (h *denseHost) has(thing string, phase allot.Phase, amount, capacity int64) bool {
	held := h.held[thing]
	if held == nil {
		return amount <= capacity
	}
	other := held[phase]
	if phase == allot.Running {
		other = max(held[allot.Claimed], held[allot.Terminating])
	}
	return amount <= capacity-held[allot.Running]-other
}

func (h *denseHost) take(thing string, phase allot.Phase, amount int64) {
	if h.held[thing] == nil {
		h.held[thing] = new([3]int64)
	}
	h.held[thing][phase] += amount
}

// cycles are the four that a naive reading of the rules falls into (R10), with
// everything waiting that may wait.
var cycles = map[string]string{
	"1": `nodes n0 gpu=1 | nodes n1 gpu=4
queue q0 quota=2 weight=0 | queue q1 quota=0 weight=1
submit q1/x gpu=3 | submit q0/b gpu=2 priority=1 | submit q0/a gpu=3 priority=2
`,
	"2": `nodes n0 gpu=8
queue q0 quota=0 weight=1 | queue q1 quota=1 weight=0 | queue q2 quota=0 weight=0
submit q0/A tasks=2 gpu=3 | submit q1/B gpu=2 | submit q1/b gpu=1
run q2/fixed gpu=2 non-preemptible
`,
	"3": `nodes n0 gpu=2
queue d0 quota=2 | queue d0/q2 quota=0 | queue d0/q3 quota=1 | queue d1 quota=0
submit d0/q3/w gpu=1 | submit d1/v gpu=1
run d0/q2/fixed gpu=1 non-preemptible
`,
	"4": `nodes n0 gpu=9
queue q0 quota=0 weight=0 | queue q1 quota=0 weight=1 | queue q2 quota=1 weight=0
submit q1/gang tasks=5 gpu=1 | submit q2/older gpu=2 | submit q2/newer gpu=1
run q0/fixed gpu=4 non-preemptible
`,
}

// R10: the four cycles come to rest, whoever of them runs at first and in
// whatever way the host carries out and victims leave.
func TestR10Cycles(t *testing.T) {
	for name, text := range cycles { // each is its own test
		t.Run(name, func(t *testing.T) {
			s, err := scenario.State(text + "now 100\n")
			if err != nil {
				t.Fatal(err)
			}
			all := beginnings(t, s)
			t.Logf("%d beginnings", len(all))
			for _, began := range all {
				for mode := range hostModes {
					for seed := range uint64(10) {
						how := schedule{mode: mode, seed: seed}
						if _, broken := rest(began, how, newStabilityStats()); broken != nil {
							t.Fatalf("%s", (&failure{began, how, "the beginning", broken}).scenario())
						}
					}
				}
			}
		})
	}
}

// beginnings are the state and those in which some of what waits runs already:
// what can, taken in every order.
func beginnings(t *testing.T, s *allot.State) []*allot.State {
	t.Helper()
	all := []*allot.State{s}
	seen := map[string]bool{running(s): true}
	for i := 0; i < len(all); i++ {
		for k := range s.Workloads {
			if len(all[i].Workloads[k].Tasks) > 0 {
				continue
			}
			alone := copyState(all[i]) // only it may start, and nothing is evicted for it
			var later []allot.Workload
			for j, w := range alone.Workloads {
				if j == k || len(w.Tasks) > 0 {
					w.Preemption = allot.NonPreemptible
					later = append(later, w)
				}
			}
			alone.Workloads = later
			alone.Pools = []allot.Pool{{ID: "default", Policy: allot.Policy{NonPreemptibleOverQuota: true}}}
			p, err := allot.Solve(alone)
			if err != nil {
				t.Fatal(err)
			}
			next := copyState(all[i])
			next, err = allot.Apply(next, &allot.Plan{Actions: p.Actions})
			if err != nil {
				t.Fatal(err)
			}
			next.Now = next.Now.Add(time.Second)
			if !seen[running(next)] {
				seen[running(next)] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// running names what runs, in the order of its start.
func running(s *allot.State) string {
	var names []string
	for _, w := range s.Workloads {
		for _, task := range w.Tasks {
			names = append(names, fmt.Sprint(task.Since.Unix(), w.ID, task.Node))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// TestStabilityOfCrowds: M5 and all laws on clusters of some dozens of nodes that gangs have
// filled node by node, on which most of who waits needs others to move.
func TestStabilityOfCrowds(t *testing.T) {
	total := newStabilityStats()
	failures := inParallel(deep.New(t, 40), (*stabilityStats).seeds, func(seed uint64, stats *stabilityStats) *failure {
		return atRest(crowdedState(seed), seed, stats)
	}, total)
	total.log(t)
	tellFailures(t, failures, total)
}

// A crowdHost fills a cluster of nodes that are all alike.
type crowdHost struct {
	chance
	s    *allot.State
	free []int // devices by node, of which the last ones are free
}

// crowdNodeGPUs is how many devices a node of a crowded cluster has.
const crowdNodeGPUs = 4

// crowdedState draws a cluster of 8 to 32 nodes that is filled with gangs of a few tasks,
// and some more that wait.
func crowdedState(seed uint64) *allot.State {
	h := &crowdHost{chance: rand.New(rand.NewPCG(seed, 7)), s: &allot.State{Now: time.Unix(1_000_000_000, 0).UTC()}}
	h.s.Pools = []allot.Pool{{ID: "p", Policy: h.policy()}}
	for n := range 8 + h.IntN(25) {
		h.s.Nodes = append(h.s.Nodes, allot.Node{ID: fmt.Sprintf("n%02d", n), Devices: make([]allot.Device, crowdNodeGPUs)})
		h.free = append(h.free, crowdNodeGPUs)
	}
	h.queues()
	for range 3 * len(h.s.Nodes) {
		h.runs()
	}
	for range 2 + h.IntN(8) {
		h.submit(1+h.IntN(8), 1+h.IntN(3), int32(h.IntN(6)))
	}
	return h.s
}

func (h *crowdHost) policy() allot.Policy {
	switch h.IntN(5) {
	case 0:
		return allot.RunAI()
	case 1:
		p := allot.DeterminedPriority()
		p.Preempt = preempt.WithinPool
		return p
	case 2:
		return allot.OSMO()
	}
	return allot.Policy{}
}

// queues draws the leaves, and now and then one queue above some of them.
func (h *crowdHost) queues() {
	gpus := func(n int) []allot.QueueResource {
		return []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(int64(n) * unit)}}
	}
	parent := ""
	leaves := 1 + h.IntN(4)
	if h.IntN(3) == 0 {
		parent = "top"
		h.s.Queues = append(h.s.Queues, allot.Queue{ID: parent, Resources: gpus(3 * len(h.s.Nodes))})
	}
	for q := range leaves {
		leaf := allot.Queue{ID: fmt.Sprint("q", q), Resources: gpus(h.IntN(crowdNodeGPUs * len(h.s.Nodes)))}
		if h.IntN(2) == 0 {
			leaf.Parent = parent
		}
		h.s.Queues = append(h.s.Queues, leaf)
	}
}

// submit adds a workload of so many tasks, to any leaf.
func (h *crowdHost) submit(tasks, gpus int, priority int32) *allot.Workload {
	first := 0
	if h.s.Queues[0].ID == "top" {
		first = 1
	}
	n := len(h.s.Workloads)
	h.s.Workloads = append(h.s.Workloads, allot.Workload{
		ID: fmt.Sprintf("w%03d", n), Queue: h.s.Queues[first+h.IntN(len(h.s.Queues)-first)].ID, Priority: priority,
		Submitted: h.s.Now.Add(-time.Duration(1000+h.IntN(1000)) * time.Second),
		PodSets:   []allot.PodSet{{Count: tasks, Request: allot.Request{GPU: allot.GPURequest{Count: gpus}}}},
	})
	return &h.s.Workloads[n]
}

// runs adds a workload that runs, wherever there is room on nodes that are drawn.
func (h *crowdHost) runs() {
	var tasks []allot.Task
	gpus, since := 1+h.IntN(2), h.s.Now.Add(-time.Duration(10+h.IntN(1000))*time.Second)
	for range 1 + h.IntN(4) {
		n := h.IntN(len(h.free))
		if h.free[n] < gpus {
			continue
		}
		t := allot.Task{Index: len(tasks), Node: h.s.Nodes[n].ID, Since: since.Add(time.Duration(len(tasks)) * time.Second)}
		for range gpus {
			h.free[n]--
			t.Devices = append([]int{h.free[n]}, t.Devices...)
		}
		tasks = append(tasks, t)
	}
	if len(tasks) == 0 {
		return
	}
	w := h.submit(len(tasks), gpus, int32(h.IntN(4)))
	if w.Tasks = tasks; h.IntN(4) == 0 {
		w.PodSets[0].Min = 1
	}
}
