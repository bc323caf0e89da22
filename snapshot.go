package allot

import (
	"context"
)

// A Snapshot is a state that has been checked, and never changes: the fast path
// for a host that decides after every event, and for a planner that asks what
// would be if. Versions of one snapshot share what they have in common, so that
// a version costs memory and time in what it changes, and a host keeps as many
// old ones as it likes: every one can be decided upon, at any time.
//
// Snapshots are safe for concurrent use, and so are decisions on several
// versions at once. The law: for every snapshot, what [Snapshot.Decide] decides
// is what [Solve] decides on [Snapshot.State], bit for bit, Work aside.
//
// Make them with [NewSnapshot]; the zero Snapshot is that of the zero State.
type Snapshot struct {
	objects   objects
	bounds    bounds
	followers *followers
}

// NewSnapshot returns the snapshot of a state, which is checked (V1) and copied.
// The error is that of [Check]. A nil state is the zero State. It takes time in
// the size of the state.
func NewSnapshot(s *State) (*Snapshot, error) {
	if s == nil {
		s = new(State)
	}
	n, known, err := newObjects(s)
	if err != nil {
		return nil, err
	}
	return &Snapshot{objects: n, bounds: known, followers: new(followers)}, nil
}

// orZero is the snapshot, or for the zero Snapshot one that can be worked with.
func (s *Snapshot) orZero() *Snapshot {
	if s.followers != nil {
		return s
	}
	zero, _ := NewSnapshot(nil) // which has no faults
	return zero
}

// With returns the snapshot after the changes, made one after the other. s is as
// before. It takes time in the size of the changes, times the logarithm of that
// of the state; a change that reaches far (a pool, a queue, the labels of a
// node) takes time in the size of the state.
//
// The error is an [*InvalidError]: of the changes, with paths such as
// "changes[0].remove.nodes[2]", or of the state that would come of them, as
// [Check] tells it, whose lists are sorted by ID.
func (s *Snapshot) With(changes ...Change) (*Snapshot, error) {
	s = s.orZero()
	c := changer{objects: s.objects}
	top := root()
	list := top.field("changes")
	for i := range changes {
		at := list.at(i)
		c.change(&at, &changes[i])
	}
	if len(c.faults) > 0 {
		return nil, &InvalidError{Faults: c.faults}
	}
	c.made = c.increment(s.objects.workloads)
	bounds, err := checkChange(&s.objects, &c.objects, s.bounds)
	if err != nil {
		return nil, err
	}
	return &Snapshot{objects: c.objects, bounds: bounds, followers: s.followers}, nil
}

// Apply is [Apply] for a plan of this snapshot. It takes time in the size of the
// plan and of what stands on its nodes.
func (s *Snapshot) Apply(p *Plan) (*Snapshot, error) { return s.ApplySome(p, nil) }

// ApplySome is [ApplySome] for a plan of this snapshot, in the time of
// [Snapshot.Apply].
func (s *Snapshot) ApplySome(p *Plan, keep func(i int, a Action) bool) (*Snapshot, error) {
	return s.orZero().carryOut(p, keep, partly{ApplySome, true})
}

// Begin is [Begin] for a plan of this snapshot, in the time of [Snapshot.Apply].
func (s *Snapshot) Begin(p *Plan) (*Snapshot, error) { return s.BeginSome(p, nil) }

// BeginSome is [BeginSome] for a plan of this snapshot, in the time of
// [Snapshot.Apply].
func (s *Snapshot) BeginSome(p *Plan, keep func(i int, a Action) bool) (*Snapshot, error) {
	return s.orZero().carryOut(p, keep, partly{BeginSome, false})
}

// Decide decides what to do, as [Solve] does. The error tells of a fault of the
// library and of nothing else.
func (s *Snapshot) Decide() (*Decision, error) { return s.DecideContext(context.Background()) }

// DecideContext is [Snapshot.Decide] that gives up when the context ends: the
// error is the context's then. Time never shapes a decision.
func (s *Snapshot) DecideContext(ctx context.Context) (*Decision, error) {
	d := &Decision{snapshot: s.orZero()}
	if err := d.decide(ctx); err != nil {
		return nil, err
	}
	return d, nil
}
