package placement

import "math/bits"

// Pieces say whether what is free is there in pieces that a task can use: of one
// resource that the task asks, GPUs in milli, others in their unit.
type Pieces struct {
	// Resource is the index, −1 GPUs: the first that the task asks, GPUs before
	// the others, of which no node has enough; else the first that it asks.
	Resource int32
	// InAll is free on the nodes of the request's set, Eligible of it on the nodes
	// and devices that would take the task were they empty, Whole of that in
	// devices with room for the task's part (of what is not GPUs, all).
	InAll, Eligible, Whole int64
	// Largest is the most of Whole on one node: Node, −1 if there is none.
	Largest int64
	Node    int32
}

// Pieces tells how what is free is spread, for one task of the shape; ok is false
// for a shape that asks nothing, or nothing that a node can have. It takes time
// linear in the nodes.
func (x *Index) Pieces(s Shape) (p Pieces, ok bool) {
	sh := x.shape(s)
	if sh == nil || sh.senseless || sh.count == 0 && len(sh.amounts) == 0 {
		return Pieces{Resource: -1, Node: -1}, false
	}
	all := make([]Pieces, 0, 1+len(sh.amounts))
	if sh.count > 0 {
		all = append(all, Pieces{Resource: -1, Node: -1})
	}
	for _, a := range sh.amounts {
		all = append(all, Pieces{Resource: a.Resource, Node: -1})
	}
	most := 0 // devices with room on one node
	for v := range x.nodes {
		if sh.allowed.has(int32(v)) {
			most = max(most, x.addPieces(sh, int32(v), all))
		}
	}
	told := 0
	for i := range all {
		if r := all[i].Resource; r < 0 && most < sh.count || r >= 0 && all[i].Largest < sh.amounts.Of(r) {
			told = i
			break
		}
	}
	p = all[told]
	free := x.Free(sh.request.Set)
	if p.InAll = free.Milli; p.Resource >= 0 {
		p.InAll = free.Amounts[p.Resource]
	}
	return p, true
}

// addPieces adds what an allowed node has free, and returns its devices with
// room.
func (x *Index) addPieces(sh *shape, v int32, all []Pieces) (room int) {
	nd, free := &x.nodes[v], x.freeOf(v)
	for i := range all {
		p := &all[i]
		have, whole := int64(0), int64(0)
		if p.Resource >= 0 {
			have = max(0, free[p.Resource])
			whole = have
		} else {
			devices := x.couldTake(sh, nd)
			fit := x.withRoom(sh, nd, devices)
			room = bits.OnesCount64(fit)
			have, whole = x.freeMilli(nd, devices), x.freeMilli(nd, fit)
		}
		p.Eligible, p.Whole = addUpTo(p.Eligible, have), addUpTo(p.Whole, whole)
		if whole > p.Largest {
			p.Largest, p.Node = whole, v
		}
	}
	return room
}

// couldTake are the devices of a node that would take the task's part were they
// empty.
func (x *Index) couldTake(sh *shape, nd *node) uint64 {
	devices, l := sh.capable[nd.layout]&nd.healthy, &x.layouts[nd.layout]
	for m := devices &^ nd.whole; m != 0; m &= m - 1 {
		if d := bits.TrailingZeros64(m); x.unforeign(nd, d) < sh.units(l, d) {
			devices &^= 1 << d
		}
	}
	return devices
}
