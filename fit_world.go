package allot

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/placement"
)

// A fitWorld is a state in which one workload after the other is asked about: what is
// posed is compiled into the slot of a probe.
type fitWorld struct {
	*engine.Probe
	state *State // with room for the slot at the end
	names map[string]bool
	world *world
}

// newFitWorld compiles and settles a state that has been checked.
func newFitWorld(s *State) (*fitWorld, error) {
	f := &fitWorld{state: s, names: make(map[string]bool)}
	return f, f.compile()
}

// learn has the world know the resources that a workload asks for.
func (f *fitWorld) learn(k *Workload) error {
	addRequested(f.names, k.PodSets)
	for a := range k.Alternatives {
		addRequested(f.names, k.Alternatives[a].PodSets)
	}
	return f.compile()
}

// compile makes the world, with a workload that has ended for good and asks for
// every name that was learnt.
func (f *fitWorld) compile() error {
	s := *f.state
	s.Workloads = slices.Clip(s.Workloads)
	if len(f.names) > 0 {
		asks := make(map[string]int64, len(f.names))
		for name := range f.names { // into a map: order cannot matter
			asks[name] = 1
		}
		gone := Workload{Ending: true, PodSets: []PodSet{{Count: 1, Request: Request{Resources: asks}}}}
		gone.Pool, gone.Queue = someLeaf(&s)
		s.Workloads = append(s.Workloads, gone)
	}
	w, err := compile(&s)
	if err != nil {
		return err
	}
	slot := int32(len(w.Works))
	s.Workloads = append(s.Workloads, Workload{})
	w.Works = append(w.Works, engine.Work{Source: int32(len(s.Workloads)) - 1, Live: -1, Status: engine.Ending})
	f.world = w
	f.Probe, err = engine.NewProbe(w.World, slot)
	return err
}

// someLeaf is a pool and a leaf queue in which a workload may stand.
func someLeaf(s *State) (pool, queue string) {
	inner := make(map[string]bool, len(s.Queues))
	for i := range s.Queues {
		inner[s.Queues[i].Parent] = true
	}
	for i := range s.Queues {
		if !inner[s.Queues[i].ID] {
			return "", s.Queues[i].ID
		}
	}
	if len(s.Pools) > 0 {
		pool = s.Pools[0].ID
	}
	return pool, ""
}

// knows says whether every pool has a number for every resource that the workload
// requests.
func (f *fitWorld) knows(k *Workload) bool {
	named := func(sets []PodSet) bool {
		for i := range sets {
			for name := range sets[i].Request.Resources { // all or not: order cannot matter
				unknown := func(p *pool) bool { _, ok := p.byName[name]; return !ok }
				if !f.names[name] && slices.ContainsFunc(f.world.pools, unknown) {
					return false
				}
			}
		}
		return true
	}
	return named(k.PodSets) && !slices.ContainsFunc(k.Alternatives, func(a Form) bool { return !named(a.PodSets) })
}

// pose puts the workload into the slot; dismiss takes it out.
func (f *fitWorld) pose(ctx context.Context, k *Workload) error {
	w := f.world
	if err := f.Clear(); err != nil {
		return err
	}
	one := &w.Works[f.Slot]
	source := one.Source
	w.state.Workloads[source] = *k
	if err := w.compileWork(f.Slot, source); err != nil {
		return err
	}
	w.compileTopologies() // a form may be the first to ask for a domain
	replaced, known := f.find(k.ID)
	if !known {
		replaced = none
	}
	f.Probe.Pose(ctx, replaced)
	for at := range int16(1 + len(one.Others)) {
		if g := w.FormOf(one, at); !w.pools[g.Pool].Mix.Knows(g.Definition) {
			w.compileMixes()
		}
	}
	return nil
}

// written is an answer in the words of a plan.
func (f *fitWorld) written(answer *engine.Answer) Fit {
	w := f.world
	k := &w.Works[f.Slot]
	out := Fit{OK: answer.Ok, Room: answer.Room, Form: int(answer.Form), Availability: answer.Availability}
	if answer.Unit.Add == nil {
		return out
	}
	p, names := w.pools[w.FormOf(k, answer.Form).Pool], w.setNames(k, answer.Form)
	out.Tasks = make([]Placement, 0, len(answer.Places))
	next := 0
	for set, n := range answer.Unit.Add {
		for i := range n {
			out.Tasks = append(out.Tasks, w.placement(p, names[set], int(i), answer.Places[next]))
			next++
		}
	}
	return out
}

func (w *world) placement(p *pool, set string, index int, place placement.Place) Placement {
	out := Placement{PodSet: set, Index: index, Node: w.state.Nodes[p.Nodes[place.Node]].ID}
	for rest := place.Devices; rest != 0; rest &= rest - 1 {
		out.Devices = append(out.Devices, bits.TrailingZeros64(rest))
	}
	return out
}

// find is the work of an ID.
func (f *fitWorld) find(id string) (int32, bool) {
	w := f.world
	at, known := slices.BinarySearchFunc(w.Works[:f.Slot], id, func(other engine.Work, id string) int {
		return strings.Compare(w.source(&other).ID, id)
	})
	return int32(at), known
}

// reasons are why what is in the slot would wait (X1).
func (f *fitWorld) reasons() ([]Reason, error) {
	verdicts, err := f.world.Reasons(f.Slot)
	return (&teller{world: f.world}).reasons(verdicts), err
}
