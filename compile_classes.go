package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// classesOf is what a task asks of each class that it could land in (Q8): of which some
// node, be it lost, cordoned or in use, is one for it. What it is charged is known only
// when it has a place.
func (p *pool) classesOf(s *State, r *Request, charge quota.Amounts) (out quota.Amounts) {
	for i, c := range p.Classes {
		value := charge.Of(c.Plain)
		name := p.resources[p.Plain+i].class
		if value > 0 && slices.ContainsFunc(s.Nodes, func(n Node) bool { return lands(&n, r, name, c.Plain == 0) }) {
			out = append(out, quota.Amount{Resource: int32(p.Plain + i), Value: value})
		}
	}
	return out
}

// lands says whether a task could stand on the node and be of the class there: that of the
// node or, of GPUs, that of devices.
func lands(n *Node, r *Request, class string, gpu bool) bool {
	if !r.Selector.Matches(n.Labels) || slices.ContainsFunc(n.Taints, func(t placement.Taint) bool { return t.TurnsAway(r.Tolerations) }) {
		return false
	}
	if !gpu {
		return n.Class == class
	}
	return slices.ContainsFunc(n.Devices, func(d Device) bool {
		return (n.Class == class || d.Model == class) && (len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, d.Model))
	})
}
