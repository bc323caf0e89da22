package allot

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
)

// Probe is for package explain alone, whose Fitter asks it: its type is this module's own,
// and a host takes explain.NewFitter. It is a world of this version, or, if deserted, of the
// version of which everything has ended and all nodes are in order, in which one workload
// after the other is asked about. It takes the time of a solve's beginning; the error tells
// of a fault of the library.
func (s *Snapshot) Probe(deserted bool) (view.Probe[Workload, Reason], error) {
	s = s.orZero()
	f := &probe{snapshot: s, state: s.objects.frame(), names: make(map[cluster.Leaf]map[string]bool)}
	if deserted {
		putInOrder(f.state)
	} else {
		f.works = s.objects.works()
	}
	return f, f.compile()
}

// A probe is a version in which one workload after the other is asked about: what is
// posed is compiled into the slot of the engine's probe.
type probe struct {
	viewer
	asked    *engine.Probe
	snapshot *Snapshot
	state    *State
	works    []*Workload
	names    map[cluster.Leaf]map[string]bool // that were learnt, by a leaf of their pool
}

// putInOrder has no node of a state be out of order.
func putInOrder(s *State) {
	for i := range s.Nodes {
		s.Nodes[i].Cordoned = false
		s.Nodes[i].Devices = slices.Clone(s.Nodes[i].Devices)
		for d := range s.Nodes[i].Devices {
			s.Nodes[i].Devices[d].Unhealthy = false
		}
	}
}

// learn has the world know the resources that a workload asks for, in the pools of its forms.
func (f *probe) learn(k *Workload) error {
	note := func(queue string, sets []PodSet) {
		leaf := f.world.leafOf(k, queue)
		if f.names[leaf] == nil {
			f.names[leaf] = make(map[string]bool)
		}
		addRequested(f.names[leaf], sets)
	}
	note(k.Queue, k.PodSets)
	for a := range k.Alternatives {
		note(k.Alternatives[a].Queue, k.Alternatives[a].PodSets)
	}
	return f.compile()
}

// compile makes the world, with a workload for each leaf that has ended for good and asks for
// every name that was learnt there.
func (f *probe) compile() error {
	var gone []*Workload
	for _, leaf := range slices.SortedFunc(maps.Keys(f.names), cluster.Leaf.Compare) {
		asks := make(map[string]int64, len(f.names[leaf]))
		for name := range f.names[leaf] { // into a map: order cannot matter
			asks[name] = 1
		}
		p := f.world.pools[leaf.Pool]
		gone = append(gone, &Workload{
			Pool: p.id, Queue: p.queueID(f.state, int(leaf.Queue)), Ending: true,
			PodSets: []PodSet{{Count: 1, Request: Request{Resources: asks}}},
		})
	}
	works := slices.Concat(gone, f.works) // these have no ID
	w, err := compileWith(f.state, works, false)
	if err != nil {
		return err
	}
	slot := int32(len(w.Works))
	w.workloads = append(w.workloads, new(Workload))
	w.Works = append(w.Works, cluster.Work{Source: slot, Rare: cluster.Nothing, Live: -1, Status: cluster.Ending})
	f.viewer = viewer{w}
	f.asked, err = engine.NewProbe(w.World, slot)
	return err
}

// Pose implements [view.Probe]: it checks the workload and puts it where the world has a
// place for it.
func (f *probe) Pose(ctx context.Context, k Workload) error {
	with, err := f.snapshot.With(Change{Workloads: []Workload{k}})
	if err != nil {
		return err
	}
	asked := with.objects.workloads.Get(k.ID)
	if !f.world.knows(asked) {
		// A world has numbers for the resources that it was compiled with only.
		if err := f.learn(asked); err != nil {
			return err
		}
	}
	return f.pose(ctx, asked)
}

// pose puts the workload into the slot; [engine.Probe.Dismiss] takes it out.
func (f *probe) pose(ctx context.Context, k *Workload) error {
	w := f.world
	if err := f.asked.Clear(); err != nil {
		return err
	}
	w.workloads[f.asked.Slot] = k
	if err := w.compileWork(f.asked.Slot); err != nil {
		return err
	}
	w.compileTopologies() // a form may be the first to ask for a domain
	replaced, known := f.Workload(k.ID)
	if !known {
		replaced = none
	}
	f.asked.Pose(ctx, replaced)
	one := &w.Works[f.asked.Slot]
	for at := range int16(1 + len(one.Others)) {
		if g := w.FormOf(one, at); !w.pools[g.Pool].Mix.Knows(g.Definition) {
			w.compileMixes()
		}
	}
	return nil
}

// Workload implements [view.Names]: what is in the slot is not among them.
func (f *probe) Workload(id string) (int32, bool) {
	at, known := slices.BinarySearchFunc(f.Works[:f.asked.Slot], id, func(other cluster.Work, id string) int {
		return strings.Compare(f.source(&other).ID, id)
	})
	return int32(at), known
}

// Asked implements [view.Probe].
func (f *probe) Asked() *engine.Probe { return f.asked }

// Reasons implements [view.Probe].
func (f *probe) Reasons() ([]Reason, error) {
	verdicts, err := engine.Reasons(f.world.World, f.asked.Slot)
	return (&teller{world: f.world}).reasons(verdicts), err
}
