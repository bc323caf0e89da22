package allot

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/allotsched/allot/quota"
)

// gpus is a request for n whole devices.
func gpus(n int) Request { return Request{GPU: GPURequest{Count: n}} }

// single is a workload of one task.
func single(id, queue string, r Request, tasks ...Task) Workload {
	return Workload{ID: id, Queue: queue, PodSets: []PodSet{{Count: 1, Request: r}}, Tasks: tasks}
}

// node is a node with n devices.
func node(id string, n int) Node {
	devices := make([]Device, n)
	for i := range devices {
		devices[i] = Device{Model: "H100", Memory: 80}
	}
	return Node{ID: id, Devices: devices}
}

func at(index int, node string, devices ...int) Placement {
	return Placement{Index: index, Node: node, Devices: devices}
}

func task(phase Phase, index int, node string, devices ...int) Task {
	return Task{Phase: phase, Index: index, Node: node, Devices: devices}
}

// gpuQueue is a queue with a quota of so many devices.
func gpuQueue(id, parent string, devices int64) Queue {
	return Queue{ID: id, Parent: parent, Resources: []QueueResource{{Resource: GPU, Quota: quota.Of(1000 * devices)}}}
}

// workload finds a workload of the state.
func workload(s *State, id string) *Workload {
	return &s.Workloads[slices.IndexFunc(s.Workloads, func(w Workload) bool { return w.ID == id })]
}

// onPlan is a mutation of the plan alone.
func onPlan(change func(p *Plan)) func(*State, *Plan) {
	return func(_ *State, p *Plan) { change(p) }
}

// The actions of the plan of lifecycle.
const (
	displaceLost = iota
	unclaimCordoned
	startClaimed
	startGang
	resizeElastic
)

// lifecycle is a state in the middle of everything, and a lawful plan for it,
// worked out by hand: fixture_test.go of package verify has it with its reasons.
func lifecycle() (*State, *Plan) {
	s, p := new(State), new(Plan)
	for name, into := range map[string]any{"state.json": s, "plan.json": p} { // in any order
		text, err := os.ReadFile(filepath.Join("verify", "testdata", "lifecycle", name))
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			panic(err)
		}
	}
	return s, p
}
