package allot_test

import (
	"github.com/allotsched/allot"
	"github.com/allotsched/allot/gang"
)

// A busyHost is a cluster on which more is asked than there is: workloads come and
// end, time passes, nodes are lost and come back, plans are carried out or set going.
// Nobody changes its nodes, pools and queues. What a snapshot of it decides has to be
// incremental nearly always.
type busyHost struct{ *treeHost }

// busyPolicies are those under which busy hosts live, with their loads in percent.
var busyPolicies = []struct {
	policy func() allot.Policy
	load   int
}{
	{allot.RunAI, 120}, {allot.RunAI, 120}, {allot.RunAI20, 120}, {allot.OSMO, 120},
	{allot.DeterminedFairShare, 95}, {allot.DeterminedPriority, 95},
}

// newBusyHost draws one; half of them have levels, and gangs that ask for one domain.
func newBusyHost(c chance) lawHost {
	calm := newCalmHost(c)
	h := busyHost{&treeHost{calm, 1 << 30, make(map[string]bool)}}
	one := busyPolicies[h.IntN(len(busyPolicies))]
	h.load, h.classes = one.load, []string{""}
	first := ""
	if len(h.s.Pools) > 0 {
		first = h.s.Pools[0].ID
	}
	h.s.Pools = []allot.Pool{{ID: "p", Policy: one.policy()}}
	kept := h.s.Queues[:0]
	for _, q := range h.s.Queues {
		if q.Pool == first {
			q.Pool = "p"
			kept = append(kept, q)
		}
	}
	h.s.Queues, h.s.Workloads = kept, nil
	if h.rarely(2) {
		h.every = oneOf(c, 2, 4)
		h.s.Levels = []allot.Level{{Name: "block"}, {Name: "rack"}}
		for i := range h.s.Nodes {
			h.settle(&h.s.Nodes[i])
		}
	}
	for h.wanted()*100 < h.load*h.gpus*len(h.s.Nodes) && len(h.s.Workloads) < 150 {
		h.arrive()
	}
	h.near()
	return h
}

// near has some of the new gangs ask for one rack.
func (h busyHost) near() {
	for i := range h.s.Workloads {
		w := &h.s.Workloads[i]
		if !h.known[w.ID] && w.PodSets[0].Count > 1 && h.rarely(h.every) {
			w.Topology = allot.Topology{Required: oneOf(h, "rack", "block"), Mode: gang.Pack}
		}
		h.known[w.ID] = true
	}
}

func (h busyHost) happen() string {
	defer h.near()
	switch n := h.IntN(20); {
	case n < 9:
		h.arrive()
		return "arrival"
	case n < 16:
		h.end()
		return "end"
	case n < 18:
		h.time()
		return "time"
	case n == 18:
		h.lose()
		return "node lost"
	}
	h.back()
	return "node back"
}
