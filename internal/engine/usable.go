package engine

import (
	"math/bits"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/placement"
)

// What a workload that waits could use, whoever holds it now: others hold much that their
// end would not give it (X1).

// Usable is what of a pool the next unit of a workload could use were it free.
type Usable struct {
	// devices are, by position, those on which a task of the unit could stand, and takes
	// says by set and position whether the node could take one.
	devices []uint64
	takes   [][]bool
	asks    []map[int32]bool // by set: the plain resources that a task asks
}

// UsableBy tells what form f of workload i could use: of nodes and devices what a task of
// its next unit would go to were they empty (P1, P2), and where the unit has to be in
// one domain, of the domains that could hold it (T2, T6).
func UsableBy(w *World, i int32, f int16) *Usable {
	k := &w.Works[i]
	s, d := w.solverOf(k, f), w.Definition(k, f)
	unit := gang.Unit{Add: d.Counts}
	var held []int32
	if k.Live >= 0 && k.Current == f && w.holds(k) {
		held = w.live[k.Live].held
	}
	if next, verdict := d.Next(held); verdict.OK {
		unit = next
	}
	out := &Usable{devices: make([]uint64, len(s.pool.Nodes)), takes: make([][]bool, len(d.Sets)), asks: make([]map[int32]bool, len(d.Sets))}
	rooms := make([][]int64, len(d.Sets))
	for set, n := range unit.Add {
		if n > 0 {
			rooms[set] = out.add(s, set, &d.Sets[set])
		}
	}
	if d.Gang.Constrained() {
		out.stay(domainsFor(s, i, d, unit, rooms))
	}
	return out
}

// add adds the nodes of a set, and returns how many of its tasks each would take.
func (u *Usable) add(s *Solver, set int, shape *Shape) []int64 {
	u.takes[set], u.asks[set] = make([]bool, len(u.devices)), make(map[int32]bool)
	for _, a := range shape.Charge {
		u.asks[set][a.Resource] = true
	}
	room := make([]int64, len(u.devices))
	for v := range u.devices {
		vacant := placement.Vacant(s.pool.Index, shape.Placed, int32(v))
		room[v], u.takes[set][v] = vacant.Tasks, vacant.Tasks > 0
		u.devices[v] |= vacant.Devices
	}
	return room
}

// stay leaves only the nodes that are marked; nil are all.
func (u *Usable) stay(nodes []bool) {
	for v := range u.devices {
		if nodes != nil && !nodes[v] {
			u.devices[v] = 0
			for set := range u.takes {
				if u.takes[set] != nil {
					u.takes[set][v] = false
				}
			}
		}
	}
}

// domainsFor marks the nodes of the domains of which one has to hold the unit, and could
// were it empty; nil where no domain is asked for.
func domainsFor(s *Solver, i int32, d *Definition, unit gang.Unit, rooms [][]int64) []bool {
	domains, exact := s.placer.Domains(s.nodes(), d.Gang, unit, s.reprieving().beside(i, d, unit))
	if domains == nil {
		return nil
	}
	marked := make([]bool, len(s.pool.Nodes))
	for _, domain := range domains {
		nodes := s.placer.Topology.Nodes(domain)
		if exact && !holdsAll(nodes, unit, rooms) {
			continue
		}
		for _, v := range nodes {
			marked[v] = true
		}
	}
	return marked
}

// holdsAll says whether the empty nodes take the tasks of every set by itself.
func holdsAll(nodes []int32, unit gang.Unit, rooms [][]int64) bool {
	for set, n := range unit.Add {
		left := int64(n)
		for _, v := range nodes {
			if left <= 0 {
				break
			}
			left -= rooms[set][v]
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// Of is how much of an amount of a plain resource that a task holds on a node, by position,
// could be used: of devices those that count, of all else all or nothing.
func (u *Usable) Of(resource, position int32, devices uint64, amount int64) int64 {
	if resource == 0 {
		if devices == 0 {
			return 0
		}
		return amount / int64(bits.OnesCount64(devices)) * int64(bits.OnesCount64(devices&u.devices[position]))
	}
	for set := range u.takes {
		if u.asks[set][resource] && u.takes[set][position] {
			return amount
		}
	}
	return 0
}
