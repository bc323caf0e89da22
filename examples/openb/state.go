package main

import (
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/internal/openb"
	"github.com/allotsched/allot/quota"
)

// The qualities of service of the trace.
const (
	qosLatencySensitive = "LS"
	qosGuaranteed       = "Guaranteed"
	qosBurstable        = "Burstable"
	qosBestEffort       = "BE"
)

// A service is what a quality of service means here: a leaf queue, its quota
// in percent of the cluster's GPUs, and whether its pods may be evicted. The
// trace names no tenants and no quotas, so these are ours: services that
// answer people are not preemptible and have about what they ask in the trace;
// the batch half may borrow what they leave, and a tenth of the cluster
// belongs to nobody.
type service struct {
	qos            string
	parent, queue  string
	quotaPercent   int64
	nonPreemptible bool
}

var services = []service{
	{qosLatencySensitive, "production", "latency-sensitive", 60, true},
	{qosGuaranteed, "production", "guaranteed", 1, true},
	{qosBurstable, "batch", "burstable", 4, false},
	{qosBestEffort, "batch", "best-effort", 25, false},
}

func knownQoS(qos string) bool { return serviceOf(qos) != nil }

func serviceOf(qos string) *service {
	for i := range services {
		if services[i].qos == qos {
			return &services[i]
		}
	}
	return nil
}

func qosNames() string {
	names := make([]string, len(services))
	for i := range services {
		names[i] = services[i].qos
	}
	return strings.Join(names, ", ")
}

// A preset is a policy by name and how the trace is told in its words: the
// class of each quality of service, and whether its queues have quotas.
type preset struct {
	name    string
	policy  func() allot.Policy
	classes map[string]string // by quality of service; never ranged over
	quotas  bool
}

var presets = []preset{
	{"none", func() allot.Policy { return allot.Policy{} }, nil, true},
	{"osmo", allot.OSMO, map[string]string{
		qosLatencySensitive: "NORMAL", qosGuaranteed: "HIGH", qosBurstable: "LOW", qosBestEffort: "LOW",
	}, true},
	{"runai", allot.RunAI, map[string]string{
		qosLatencySensitive: "inference", qosGuaranteed: "build", qosBurstable: "interactive-preemptible", qosBestEffort: "train",
	}, true},
	{"runai20", allot.RunAI20, map[string]string{
		qosLatencySensitive: "interactive", qosGuaranteed: "interactive", qosBurstable: "training", qosBestEffort: "training",
	}, true},
	{"determined-fair-share", allot.DeterminedFairShare, determinedClasses, false},
	{"determined-priority", allot.DeterminedPriority, determinedClasses, false},
}

var determinedClasses = map[string]string{
	qosLatencySensitive: "command", qosGuaranteed: "notebook", qosBurstable: "trial", qosBestEffort: "trial",
}

func presetOf(name string) *preset {
	for i := range presets {
		if presets[i].name == name {
			return &presets[i]
		}
	}
	return nil
}

func presetNames() string {
	names := make([]string, len(presets))
	for i := range presets {
		names[i] = presets[i].name
	}
	return strings.Join(names, ", ")
}

const mebibyte = 1 << 20

// buildState is the trace as a State: an empty cluster, one pool under the
// policy, and all pods waiting.
func buildState(machines []machine, pods []pod, p *preset, policy allot.Policy) *allot.State {
	s := &allot.State{
		Revision: "openb",
		Pools:    []allot.Pool{{ID: "openb", Policy: policy}},
	}
	var gpus int64
	for i := range machines {
		m := &machines[i]
		gpus += int64(m.gpus)
		devices := make([]allot.Device, m.gpus)
		for d := range devices {
			devices[d].Model = m.model
		}
		s.Nodes = append(s.Nodes, allot.Node{
			ID:       m.name,
			Capacity: map[string]int64{allot.CPU: m.cpuMilli, allot.Memory: m.memoryMiB * mebibyte},
			Devices:  devices,
		})
	}
	s.Queues = buildQueues(gpus, p.quotas)
	forms := make(map[pod][]allot.PodSet) // pods of one shape share their plain data
	for i := range pods {
		form, ok := forms[pods[i].shape()]
		if !ok {
			form = []allot.PodSet{{Count: 1, Request: pods[i].request()}}
			forms[pods[i].shape()] = form
		}
		s.Workloads = append(s.Workloads, pods[i].workload(p, form))
	}
	return s
}

// queueTree are the queues of the services, each parent before its children.
var queueTree = func() (tree []allot.Queue) {
	for _, s := range services {
		if !slices.ContainsFunc(tree, func(q allot.Queue) bool { return q.ID == s.parent }) {
			tree = append(tree, allot.Queue{ID: s.parent})
		}
		tree = append(tree, allot.Queue{ID: s.queue, Parent: s.parent})
	}
	return tree
}()

// parentOf is the queue above one of the tree; empty if there is none.
func parentOf(id string) string {
	for i := range queueTree {
		if queueTree[i].ID == id {
			return queueTree[i].Parent
		}
	}
	return ""
}

// buildQueues gives the leaves of the tree their quota. That of an inner queue
// is absent: it is the sum of its children's (Q1).
func buildQueues(gpus int64, quotas bool) []allot.Queue {
	queues := slices.Clone(queueTree)
	for i := range queues {
		for _, s := range services {
			if quotas && s.queue == queues[i].ID {
				whole := gpus * s.quotaPercent / 100
				queues[i].Resources = []allot.QueueResource{{Resource: allot.GPU, Quota: quota.Of(1000 * whole)}}
			}
		}
	}
	return queues
}

// request is what the pod asks of its node.
func (p *pod) request() allot.Request {
	r := allot.Request{Resources: map[string]int64{allot.CPU: p.cpuMilli, allot.Memory: p.memoryMiB * mebibyte}}
	if p.gpus > 0 {
		r.GPU = allot.GPURequest{Count: p.gpus, Milli: p.gpuMilli}
		if p.models != "" {
			r.GPU.Models = strings.Split(p.models, openb.ModelSeparator)
		}
	}
	return r
}

// accepts reports whether a GPU of the model will do.
func (p *pod) accepts(model string) bool {
	return p.models == "" || slices.Contains(strings.Split(p.models, openb.ModelSeparator), model)
}

// workload is the pod as a workload of one task.
func (p *pod) workload(in *preset, form []allot.PodSet) allot.Workload {
	s := serviceOf(p.qos)
	w := allot.Workload{
		ID: p.name, Queue: s.queue, Class: in.classes[p.qos],
		Submitted: time.Unix(p.created, 0).UTC(), PodSets: form,
	}
	if in.classes == nil && s.nonPreemptible {
		w.Preemption = allot.NonPreemptible
	}
	return w
}
