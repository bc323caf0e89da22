package allot

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/internal/engine"
	"github.com/allotsched/allot/internal/view"
)

// The way in for package explain: what was decided, to be read, and a probe of a
// version. Names and reasons are made here, for all questions.

// A viewer is a world as package explain sees it.
type viewer struct{ *world }

// World implements [view.Decision] and [view.Probe]; what follows implements [view.Names].
func (v viewer) World() *cluster.World { return v.world.World }

func (v viewer) Workload(id string) (i int32, known bool) { return v.workOf(id) }

func (v viewer) WorkloadID(i int32) string { return v.source(&v.Works[i]).ID }

func (v viewer) Queue(id string) (at cluster.Leaf, known bool) {
	if at, known = v.leaf[id]; known || id != "" {
		return at, known
	}
	at.Pool = int32(slices.IndexFunc(v.pools, func(p *pool) bool { return p.queues[0] < 0 }))
	return at, at.Pool >= 0
}

func (v viewer) QueueID(pool, queue int32) string { return v.pools[pool].queueID(v.state, int(queue)) }

func (v viewer) PoolID(pool int32) string { return v.pools[pool].id }

func (v viewer) LowerFirst(pool int32) bool { return v.pools[pool].given.LowerFirst }

func (v viewer) Resource(pool, resource int32) string { return v.pools[pool].resources[resource].name }

func (v viewer) Class(pool, resource int32) string { return v.pools[pool].resources[resource].class }

func (v viewer) ResourceOf(pool int32, name string) int32 {
	if r, known := v.pools[pool].byName[name]; known {
		return r
	}
	return none
}

func (v viewer) NodeID(n int32) string { return v.state.Nodes[n].ID }

func (v viewer) PodSets(pool, definition int32) []string { return v.pools[pool].setNames[definition] }

func (v viewer) Instant(micros int64) time.Time { return timeOf(micros) }

// workOf is the index of a workload by ID.
func (w *world) workOf(id string) (int32, bool) {
	if w.slots != nil {
		i, known := w.slots[id]
		return i, known
	}
	i, known := slices.BinarySearchFunc(w.Works, id, func(k cluster.Work, id string) int {
		return strings.Compare(w.source(&k).ID, id)
	})
	return int32(i), known
}

// A decisionView is a decision as package explain sees it. The lock of a [Decision] is held.
type decisionView struct {
	viewer
	found   *cluster.Decision
	turns   map[int32][]int32 // by pool, once they were asked for, as are the
	holders map[int32]*engine.Holders
}

func newDecisionView(w *world, found *cluster.Decision) *decisionView {
	return &decisionView{viewer{w}, found, make(map[int32][]int32), make(map[int32]*engine.Holders)}
}

// Outcome implements [view.Decision], as does what follows.
func (v *decisionView) Outcome() *cluster.Decision { return v.found }

func (v *decisionView) Turns(pool int32) []int32 {
	turns, known := v.turns[pool]
	if !known {
		turns = engine.TurnsOf(v.viewer.world.World, pool)
		v.turns[pool] = turns
	}
	return turns
}

func (v *decisionView) Holders(pool int32) *engine.Holders {
	known := v.holders[pool]
	if known == nil {
		known = engine.HoldersOf(v.World(), pool, func(other, resource int32) int32 {
			return v.ResourceOf(other, v.Resource(pool, resource))
		})
		v.holders[pool] = known
	}
	return known
}

func (v *decisionView) Reasons(i int32) ([]Reason, error) {
	p, _, err := (&teller{world: v.world}).pendingAt(i)
	return p.Reasons, err
}

func (v *decisionView) Shares(of cluster.Leaf, resources []int32) []Share {
	p, q := v.pools[of.Pool], int(of.Queue)
	reachable := p.reachable(q)
	out := make([]Share, len(resources))
	for at, r := range resources {
		out[at] = p.share(v.state, q, int(r), p.Tree.Figures(q, int(r)), reachable[r])
	}
	return out
}

func (v *decisionView) Told(pool int32) []int32 {
	p := v.pools[pool]
	var out []int32
	for _, r := range p.toldOrder(p.reported(v.state)) {
		out = append(out, int32(r))
	}
	return out
}

// View is for package explain alone, which it shows what was decided: its types are this
// module's own, and a host takes explain.Workload and its like. No other question is answered
// until look returns, which must not ask the decision anything itself. victims are those of
// which look has to know how they were chosen: where that was not asked before, it takes one
// more solve.
//
// The error is the context's or look's.
func (d *Decision) View(ctx context.Context, victims view.Victims, look func(view.Decision[Reason, Share]) error) error {
	d.lock.Lock()
	defer d.lock.Unlock()
	if err := d.inFullWith(ctx, victims); err != nil {
		return err
	}
	if d.seen == nil {
		d.seen = newDecisionView(d.world, d.found)
	}
	return look(d.seen)
}

// View is for package explain alone, as is that of a [Decision]: it decides in the state from scratch, and shows
// that with the actions. How the victims were chosen is known of the one solve. The state is neither copied nor kept:
// what look is shown of it may be read until look returns, and no longer.
//
// The error is that of [Check], the context's or look's.
func (s *State) View(ctx context.Context, victims view.Victims, look func(view.Decision[Reason, Share], []Action) error) error {
	w, err := newWorld(s)
	if err != nil {
		return err
	}
	found, err := w.solve(ctx, victims)
	if err != nil {
		return err
	}
	var plan Plan
	w.writeActions(&plan, found)
	return look(newDecisionView(w, found), plan.Actions)
}

// Foresee is for package explain alone, whose Forecasts tell of it: its type is this module's own. Of a version in
// which a plan has begun it says when and where each workload that waits is foreseen to start, as if that were
// promised to it (B10). Nothing is decided, and what the plan promises stands. The error is the context's or tells of a fault of
// the library.
func (s *Snapshot) Foresee(ctx context.Context, ahead view.Ahead) ([]PlannedReservation, error) {
	n := &s.orZero().objects
	w, err := compileWith(n.frame(), n.works(), true)
	if err != nil {
		return nil, err
	}
	found, err := engine.Foresee(ctx, w.World, ahead.Most)
	if err != nil {
		return nil, err
	}
	var plan Plan
	w.writeReservations(&plan, found)
	return plan.Reservations, nil
}
