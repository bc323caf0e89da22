package cluster

import "github.com/allotsched/allot/placement"

// A Ground is what is told of what stands on nodes: a pool's index, or a ledger of it.
type Ground interface {
	Take(placement.Shape, placement.Place) error
	Release(placement.Shape, placement.Place) error
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
