package engine

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/allotsched/allot/gang"
	"github.com/allotsched/allot/internal/cluster"
	"github.com/allotsched/allot/placement"
	"github.com/allotsched/allot/preempt"
)

// What a workload that waits could use, whoever holds it now: others hold much that their
// end would not give it (X1).

// Usable is what of a pool the next unit of a workload could use were it free.
type Usable struct {
	// devices are, by position, those on which a task of the unit could stand, and vacancies
	// say by set and position what the node would be to tasks of it.
	devices   []uint64
	vacancies [][]placement.Vacancy
	asks      []map[int32]bool // by set: the plain resources that a task asks
}

// UsableBy tells what form f of workload i could use: of nodes and devices what a task of
// its next unit would go to were they empty (P1, P2), and where the unit has to be in
// one domain, of the domains that could hold it (T2, T6).
func UsableBy(w *cluster.World, i int32, f int16) *Usable {
	k := &w.Works[i]
	s, d := solverOf(w, k, f), w.Definition(k, f)
	unit := gang.Unit{Add: d.Counts}
	var held []int32
	if k.Current == f {
		held = w.CountsOf(k)
	}
	if next, verdict := NextUnit(d, held); verdict.OK {
		unit = next
	}
	out := &Usable{devices: make([]uint64, len(s.pool.Nodes)), vacancies: make([][]placement.Vacancy, len(d.Sets)), asks: make([]map[int32]bool, len(d.Sets))}
	for set, n := range unit.Add {
		if n > 0 {
			out.add(s, set, &d.Sets[set])
		}
	}
	if d.Gang.Constrained() {
		out.stay(domainsFor(s, i, d, unit, out.vacancies))
	}
	return out
}

// add adds the nodes of a set.
func (u *Usable) add(s *Solver, set int, shape *cluster.Shape) {
	u.vacancies[set], u.asks[set] = placement.Vacancies(s.pool.Index, shape.Placed), make(map[int32]bool)
	for _, a := range shape.Charge {
		u.asks[set][a.Resource] = true
	}
	for v := range u.vacancies[set] {
		u.devices[v] |= u.vacancies[set][v].Devices
	}
}

// stay leaves only the nodes that are marked; nil are all.
func (u *Usable) stay(nodes []bool) {
	for v := range u.devices {
		if nodes != nil && !nodes[v] {
			u.devices[v] = 0
			for set := range u.vacancies {
				if u.vacancies[set] != nil {
					u.vacancies[set][v] = placement.Vacancy{}
				}
			}
		}
	}
}

// domainsFor marks the nodes of the domains of which one has to hold the unit, and could
// were it empty; nil where no domain is asked for.
func domainsFor(s *Solver, i int32, d *cluster.Definition, unit gang.Unit, vacancies [][]placement.Vacancy) []bool {
	domains, exact := s.placer.Domains(s.nodes(), d.Gang, unit, s.reprieving().beside(i, d, unit))
	if domains == nil {
		return nil
	}
	marked := make([]bool, len(s.pool.Nodes))
	for _, domain := range domains {
		nodes := s.placer.Topology.Nodes(domain)
		if exact && !holdsAll(nodes, unit, vacancies) {
			continue
		}
		for _, v := range nodes {
			marked[v] = true
		}
	}
	return marked
}

// holdsAll says whether the empty nodes take the tasks of every set by itself.
func holdsAll(nodes []int32, unit gang.Unit, vacancies [][]placement.Vacancy) bool {
	for set, n := range unit.Add {
		left := int64(n)
		for _, v := range nodes {
			if left <= 0 {
				break
			}
			left -= vacancies[set][v].Tasks
		}
		if left > 0 {
			return false
		}
	}
	return true
}

// Holders are the workloads that hold something on the nodes of a pool, be they of another
// by now (S7): leaf by leaf, and there the worst standing first (R8). They are as the world
// is after the last action, for all who ask who holds what they wait for.
type Holders struct {
	works  []holder
	leaves []holdersOfLeaf
	pool   *cluster.Pool
	// held is task by task, in the order of the works, where it stands, and which of kinds it is:
	// of one definition's set, whose charge is by plain resource of the pool asked about.
	held  []heldTask
	kinds [][]int64
}

// A holder is one of them.
type holder struct {
	work           int32
	nonPreemptible bool
	from, to       int32 // of Holders.held
}

// A holdersOfLeaf is a queue in which some of them hold that.
type holdersOfLeaf struct {
	cluster.Leaf
	from, to int32 // of Holders.works
}

// Held is what the workloads of a leaf hold of a resource.
type Held struct {
	cluster.Leaf
	Amount, NonPreemptible int64
	Works                  int
	Worst                  []int32 // of the works, the worst standing first
}

// add adds what one holds.
func (h *Held) add(amount int64, one *holder, most int) {
	h.Amount += amount
	if one.nonPreemptible {
		h.NonPreemptible += amount
	}
	if h.Works++; h.Works <= most {
		if h.Worst == nil {
			h.Worst = make([]int32, 0, most)
		}
		h.Worst = append(h.Worst, one.work)
	}
}

type heldTask struct {
	devices        uint64
	position, kind int32
}

// A heldKind is a set of a definition of a pool.
type heldKind struct{ pool, definition, set int32 }

// HoldersOf are the holders of a pool; resourceOf gives a plain resource of it the index
// that another pool has for it.
func HoldersOf(w *cluster.World, pool int32, resourceOf func(other, resource int32) int32) *Holders {
	out, known := &Holders{pool: w.Pools[pool]}, make(map[heldKind]int32)
	leaves := make(map[cluster.Leaf][]preempt.EvictionRank) // by holder
	for i, seats := range w.Room.Seats {
		k, from, admitted := &w.Works[i], int32(len(out.held)), int64(0)
		f := w.FormOf(k, k.Current)
		for at := range seats {
			s := &seats[at]
			if w.NodePool[s.Node] != pool {
				continue
			}
			admitted = max(admitted, s.Admitted)
			key := heldKind{f.Pool, f.Definition, s.Set}
			kind, some := known[key]
			if !some {
				kind = int32(len(out.kinds))
				known[key], out.kinds = kind, append(out.kinds, make([]int64, out.pool.Plain))
				for r := range out.pool.Plain {
					out.kinds[kind][r] = w.Definition(k, k.Current).Sets[s.Set].Charge.Of(resourceOf(f.Pool, int32(r)))
				}
			}
			out.held = append(out.held, heldTask{s.Devices, w.Position[s.Node], kind})
		}
		if to := int32(len(out.held)); to > from {
			leaf := cluster.Leaf{Pool: f.Pool, Queue: f.Queue}
			leaves[leaf] = append(leaves[leaf], preempt.EvictionRank{
				NonPreemptible: f.NonPreemptible, Priority: f.Priority, Admitted: admitted, Submitted: k.Submitted, Rank: k.Rank, Work: int32(len(out.works)),
			})
			out.works = append(out.works, holder{int32(i), f.NonPreemptible, from, to})
		}
	}
	out.order(leaves)
	return out
}

// order puts the holders leaf by leaf.
func (all *Holders) order(leaves map[cluster.Leaf][]preempt.EvictionRank) {
	works, held := make([]holder, 0, len(all.works)), make([]heldTask, 0, len(all.held))
	for _, leaf := range slices.SortedFunc(maps.Keys(leaves), cluster.Leaf.Compare) {
		ranks, first := leaves[leaf], int32(len(works))
		slices.SortFunc(ranks, func(a, b preempt.EvictionRank) int { return b.Compare(a) }) // works are in the order of their IDs
		for at := range ranks {
			one, from := all.works[ranks[at].Work], int32(len(held))
			held = append(held, all.held[one.from:one.to]...)
			one.from, one.to = from, int32(len(held))
			works = append(works, one)
		}
		all.leaves = append(all.leaves, holdersOfLeaf{leaf, first, int32(len(works))})
	}
	all.works, all.held = works, held
}

// HeldBy returns leaf by leaf what workloads hold of a plain resource that could be used: of devices those
// that count, of all else all or nothing. Of each leaf it names at most so many workloads.
func (u *Usable) HeldBy(all *Holders, resource int32, most int) (out []Held) {
	amounts := make([]int64, len(all.kinds))
	for kind := range amounts {
		amounts[kind] = all.kinds[kind][resource]
	}
	could := u.devices
	if resource != 0 {
		could = u.nodesFor(resource)
	}
	for _, leaf := range all.leaves {
		h := Held{Leaf: leaf.Leaf}
		for _, one := range all.works[leaf.from:leaf.to] {
			sum := int64(0)
			for _, t := range all.held[one.from:one.to] {
				switch usable := could[t.position]; {
				case usable == 0:
				case resource != 0:
					sum += amounts[t.kind]
				default:
					sum += t.partOf(amounts[t.kind], usable)
				}
			}
			if sum > 0 {
				h.add(sum, &one, most)
			}
		}
		if h.Works > 0 {
			out = append(out, h)
		}
	}
	return out
}

// partOf is what of an amount the task holds on such devices.
func (t *heldTask) partOf(amount int64, usable uint64) int64 {
	switch usable &= t.devices; {
	case usable == 0:
		return 0
	case t.devices&(t.devices-1) == 0: // most have one
		return amount
	}
	return amount / int64(bits.OnesCount64(t.devices)) * int64(bits.OnesCount64(usable))
}

// nodesFor are by position not 0 where a task of the unit that asks the resource could stand.
func (u *Usable) nodesFor(resource int32) []uint64 {
	out := make([]uint64, len(u.devices))
	for set := range u.vacancies {
		if u.asks[set][resource] {
			for v := range u.vacancies[set] {
				if u.vacancies[set][v].Tasks > 0 {
					out[v] = 1
				}
			}
		}
	}
	return out
}
