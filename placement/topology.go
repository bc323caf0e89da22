package placement

import (
	"cmp"
	"slices"
	"strings"
)

// A Level is a level of a [Topology]: 0 is the whole cluster, 1 the widest named
// level, and so on to the narrowest, below which is that of the nodes.
type Level int32

// A Domain names a domain of a [Topology]: 0 is the whole cluster; the domains of
// a level, and those inside a domain, are numbered one after the other. −1 is no
// domain.
type Domain int32

// A Topology is the tree of a cluster's named levels (T1). It never changes and
// is safe for concurrent use. Nodes are in it by position, and each of them is a
// domain of the narrowest level, [Topology.NodeLevel].
//
// A node that lacks a level is in no domain of it; it hangs directly below its
// domain of the next wider level that it has. Domains of one name are the same
// where the names of all wider levels are, one that is lacking included.
//
// The nodes of a domain are one range of the depth-first order, in which siblings
// follow by name and nodes of one domain by position.
type Topology struct {
	levels  int
	domains []domain // level by level, each in depth-first order
	first   []int32  // by level: its first domain; one more at the end
	of      []Domain // by node × (levels + 2) + level; −1 where it lacks the level
	order   []int32  // nodes in depth-first order
}

// A domain is a range of the depth-first order.
type domain struct {
	name     string
	level    Level
	parent   Domain
	from, to int32 // of order
}

// NewTopology builds the tree of so many named levels. The nodes are by position,
// each with the names of its domains, the widest level first; a name that is empty
// or left out is a level that the node lacks. O(n·l·(l + log n)) for n nodes and l
// levels, and memory of n·l domains at most.
func NewTopology(levels int, nodes [][]string) *Topology {
	levels = max(0, levels)
	t := &Topology{levels: levels, order: make([]int32, len(nodes))}
	for i := range nodes {
		t.order[i] = int32(i)
	}
	name := func(node int32, level int) string { return nameAt(nodes[node], level) }
	slices.SortStableFunc(t.order, func(a, b int32) int {
		for level := range levels {
			if c := strings.Compare(name(a, level), name(b, level)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a, b)
	})
	width := levels + 2
	t.of = make([]Domain, len(nodes)*width)
	t.first = append(t.first, 0)
	t.domains = append(t.domains, domain{parent: -1, to: int32(len(nodes))})
	for level := 1; level <= levels+1; level++ {
		t.first = append(t.first, int32(len(t.domains)))
		t.addLevel(Level(level), nodes)
	}
	t.first = append(t.first, int32(len(t.domains)))
	return t
}

// nameAt is the node's domain of a named level, counted from 0.
func nameAt(names []string, level int) string {
	if level < len(names) {
		return names[level]
	}
	return ""
}

// addLevel adds the domains of a level: of nodes side by side those that have the
// same path of names down to it.
func (t *Topology) addLevel(level Level, nodes [][]string) {
	same := func(a, b int32) bool {
		for above := range int(level) {
			if nameAt(nodes[a], above) != nameAt(nodes[b], above) {
				return false
			}
		}
		return level <= Level(t.levels)
	}
	width := t.levels + 2
	for at, v := range t.order {
		d := Domain(len(t.domains))
		switch {
		case level <= Level(t.levels) && nameAt(nodes[v], int(level)-1) == "":
			d = -1
		case at > 0 && same(t.order[at-1], v):
			d = t.of[int(t.order[at-1])*width+int(level)]
			t.domains[d].to = int32(at) + 1
		default:
			parent := Domain(0)
			for above := level - 1; above > 0 && parent == 0; above-- {
				parent = max(0, t.of[int(v)*width+int(above)])
			}
			name := ""
			if level <= Level(t.levels) {
				name = nameAt(nodes[v], int(level)-1)
			}
			t.domains = append(t.domains, domain{name: name, level: level, parent: parent, from: int32(at), to: int32(at) + 1})
		}
		t.of[int(v)*width+int(level)] = d
	}
}

// NodeLevel is the level of the nodes, the narrowest.
func (t *Topology) NodeLevel() Level { return Level(t.levels + 1) }

// Of returns the domain of a level in which a node is, −1 where it lacks the
// level; every node lacks a level that the tree does not have.
func (t *Topology) Of(node int32, level Level) Domain {
	if level < 0 || level > t.NodeLevel() {
		return -1
	}
	return t.of[int(node)*(t.levels+2)+int(level)]
}

// Nodes lists the nodes of a domain in depth-first order. It must not be modified.
func (t *Topology) Nodes(d Domain) []int32 {
	return t.order[t.domains[d].from:t.domains[d].to]
}

// Name is the name of a domain at its level; empty for the whole cluster and for
// nodes.
func (t *Topology) Name(d Domain) string { return t.domains[d].name }

// LevelOf is the level of a domain.
func (t *Topology) LevelOf(d Domain) Level { return t.domains[d].level }

// Parent is the domain around a domain, of the next wider level that its nodes
// have; −1 of the whole cluster.
func (t *Topology) Parent(d Domain) Domain { return t.domains[d].parent }

// At returns the domains of a level inside a domain, the first and the one after
// the last: those between are all of them. Of a wider level, and of one that the
// tree does not have, there are none. O(log n).
func (t *Topology) At(level Level, inside Domain) (from, to Domain) {
	switch own := t.LevelOf(inside); {
	case level < own || level > t.NodeLevel():
		return 0, 0
	case level == own:
		return inside, inside + 1
	}
	from, to = Domain(t.first[level]), Domain(t.first[level+1])
	if inside == 0 {
		return from, to
	}
	within := t.domains[inside]
	all := t.domains[from:to]
	low, _ := slices.BinarySearchFunc(all, within.from, func(d domain, at int32) int { return cmp.Compare(d.from, at) })
	high, _ := slices.BinarySearchFunc(all, within.to, func(d domain, at int32) int { return cmp.Compare(d.from, at) })
	return from + Domain(low), from + Domain(high)
}

// Contains says whether a domain is the other, or around it.
func (t *Topology) Contains(outer, inner Domain) bool {
	o, i := &t.domains[outer], &t.domains[inner]
	return o.level <= i.level && o.from <= i.from && i.to <= o.to
}
