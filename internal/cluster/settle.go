package cluster

import "github.com/allotsched/allot/placement"

// A Ground is what is told of what stands on nodes: a pool's index, or a ledger of it.
type Ground interface {
	Take(placement.Shape, placement.Place) error
	Release(placement.Shape, placement.Place) error
	TakeTogether(s placement.Shape, p placement.Place, tasks int) error
}

// A whole is the index of a pool as a Ground.
type whole struct{ *placement.Index }

// TakeTogether implements [Ground].
func (x whole) TakeTogether(s placement.Shape, p placement.Place, tasks int) error {
	return placement.TakeTogether(x.Index, s, p, tasks)
}

// OccupyBy is occupy of one task: into names what is told of its node, and the node's position there.
func (w *World) OccupyBy(h *Holding, into func(p *Pool, node int32) (Ground, int32)) error {
	if w.NodePool[h.Node] < 0 {
		return nil
	}
	shape, p := w.Footprint(h)
	x, at := into(p, h.Node)
	place := placement.Place{Node: at, Devices: h.Devices, Pipelined: h.Phase == Claimed}
	if err := x.Take(shape.Placed, place); err != nil || h.Phase != Terminating {
		return err
	}
	return x.Release(shape.Placed, place)
}

// An Occupation tells of very many tasks: what runs on a node in one shape, be it of several workloads, together.
type Occupation struct {
	world *World
	into  func(p *Pool, node int32) (Ground, int32)
	known []together // by the number that the caller gives a node
}

// A together is what of one shape runs on a node and has yet to be told of.
type together struct {
	devices     uint64
	shape       placement.Shape
	node, tasks int32
}

// NewOccupation begins to tell of what stands on nodes that have so many numbers; into is that of OccupyBy.
func NewOccupation(w *World, nodes int, into func(p *Pool, node int32) (Ground, int32)) Occupation {
	return Occupation{w, into, make([]together, nodes)}
}

// Add takes a task, on the node of this number. Who has the last one ends by End.
func (o *Occupation) Add(h *Holding, number int32) error {
	if h.Phase != Running || o.world.NodePool[h.Node] < 0 {
		return o.world.OccupyBy(h, o.into)
	}
	shape, _ := o.world.Footprint(h)
	here := &o.known[number]
	if here.shape != shape.Placed || here.devices&h.Devices != 0 || here.tasks == placement.MaxTogether {
		if err := o.tell(here); err != nil {
			return err
		}
		*here = together{shape: shape.Placed}
	}
	here.node, here.devices, here.tasks = h.Node, here.devices|h.Devices, here.tasks+1
	return nil
}

// End tells of what has yet to be told.
func (o *Occupation) End() error {
	for number := range o.known {
		if err := o.tell(&o.known[number]); err != nil {
			return err
		}
	}
	return nil
}

// tell tells of what is together.
func (o *Occupation) tell(t *together) error {
	if t.tasks == 0 {
		return nil
	}
	x, at := o.into(o.world.Pools[o.world.NodePool[t.node]], t.node)
	return x.TakeTogether(t.shape, placement.Place{Node: at, Devices: t.devices}, int(t.tasks))
}
