package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/quota"
)

// landings are the nodes on which a task may be of a class, each once, in the order of the state: those
// of the class, and those with a device of which it is the model.
type landings struct{ own, with []int32 }

// landingsOf are those of all classes, by name.
func landingsOf(nodes []Node) map[string]landings {
	out := make(map[string]landings)
	for n := range nodes {
		if class := nodes[n].Class; class != "" {
			of := out[class]
			of.own = append(of.own, int32(n))
			out[class] = of
		}
		for d := range nodes[n].Devices {
			of := out[nodes[n].Devices[d].Model]
			if last := len(of.with) - 1; last < 0 || of.with[last] != int32(n) {
				of.with = append(of.with, int32(n))
				out[nodes[n].Devices[d].Model] = of
			}
		}
	}
	return out
}

// classesOf is what a task asks of each class that it could land in (Q8): of which some
// node, be it lost, cordoned or in use, is one for it. What it is charged is known only
// when it has a place.
func (w *world) classesOf(p *pool, r *Request, charge quota.Amounts) (out quota.Amounts) {
	if len(p.Classes) > 0 && w.landings == nil {
		w.landings = landingsOf(w.state.Nodes)
	}
	for i, c := range p.Classes {
		value := charge.Of(c.Plain)
		if value == 0 {
			continue
		}
		name, gpu := p.resources[p.Plain+i].class, c.Plain == 0
		may := func(n int32) bool { return lands(&w.state.Nodes[n], r, name, gpu) }
		on := w.landings[name]
		if slices.ContainsFunc(on.own, may) ||
			gpu && (len(r.GPU.Models) == 0 || slices.Contains(r.GPU.Models, name)) && slices.ContainsFunc(on.with, may) {
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
