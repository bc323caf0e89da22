package gang

import "encoding/binary"

// A node is a set or a group of the gang's tree. The nodes stand in depth-first
// order, the root first, siblings in the order of their first sets: so a
// subtree is a range, the children of node i are i+1, the end of that, and so
// on up to the end of i, and a walk from the last node to the first sees
// children before their parents.
type node struct {
	// set is the set that the node is; -1 is a group.
	set int32
	// group is the group that the node is; -1 is a set or the root.
	group int32
	// parent is a node; -1 is the root's.
	parent int32
	// end is the node after the subtree.
	end int32
	// children and need: how many a group has and how many must be at their
	// minimum.
	children, need int32
	// list is where a group's children begin in a Walk's lists; every node but
	// the root has one place there.
	list int32
	// twin is the nearest earlier sibling of the same definition; -1 is none.
	twin int32
}

// A family is the tree while it is built: vertices are the groups, the root,
// and the sets, in this order, with the children of each as a linked list.
type family struct {
	up, next, first, last, children []int32
}

func newFamily(vertices int) *family {
	f := &family{}
	for _, list := range []*[]int32{&f.up, &f.next, &f.first, &f.last} {
		*list = make([]int32, vertices)
		for i := range *list {
			(*list)[i] = -1
		}
	}
	f.children = make([]int32, vertices)
	return f
}

// attach makes child the last child of parent.
func (f *family) attach(parent, child int32) {
	f.up[child] = parent
	if f.last[parent] < 0 {
		f.first[parent] = child
	} else {
		f.next[f.last[parent]] = child
	}
	f.last[parent] = child
	f.children[parent]++
}

// newTree links sets and groups and lays the tree out. Each set climbs to the
// first group that an earlier set has linked already, so that children come to
// stand in the order of their first sets and all climbing is linear.
func newTree(sets []Set, groups []Group) ([]node, error) {
	root := int32(len(groups))
	for i, g := range groups {
		if g.Parent < -1 || g.Parent >= root {
			return nil, &DefinitionError{Fault: BadParent, Set: -1, Group: int32(i)}
		}
	}
	f := newFamily(len(groups) + 1 + len(sets))
	// linked is, by group, one more than the set that climbed through it.
	linked := make([]int32, len(groups))
	for s := range sets {
		child, parent := root+1+int32(s), sets[s].Parent
		for parent >= 0 && linked[parent] == 0 {
			f.attach(parent, child)
			linked[parent] = int32(s) + 1
			child, parent = parent, groups[parent].Parent
		}
		switch {
		case parent < 0:
			f.attach(root, child)
		case linked[parent] == int32(s)+1:
			return nil, &DefinitionError{Fault: Cycle, Set: -1, Group: parent}
		default:
			f.attach(parent, child)
		}
	}
	for i, g := range groups {
		fault := Fault(0)
		if linked[i] == 0 {
			fault = EmptyGroup
		} else if g.Min < 0 || g.Min > f.children[i] {
			fault = BadMin
		}
		if fault != 0 {
			return nil, &DefinitionError{Fault: fault, Set: -1, Group: int32(i)}
		}
	}
	return f.layOut(groups), nil
}

// layOut writes the nodes in depth-first order.
func (f *family) layOut(groups []Group) []node {
	root := int32(len(groups))
	tree := make([]node, 0, len(f.up))
	// at is the node of a vertex, list the next free place of a Walk's lists.
	at := make([]int32, len(f.up))
	list := int32(0)
	for stack := []int32{root}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := node{set: v - root - 1, group: -1, parent: -1, children: f.children[v], list: list, twin: -1}
		if v <= root {
			n.set, n.need = -1, n.children
			if v < root {
				n.group = v
			}
			if v < root && groups[v].Min > 0 {
				n.need = groups[v].Min
			}
		}
		if f.up[v] >= 0 {
			n.parent = at[f.up[v]]
		}
		list += n.children
		at[v] = int32(len(tree))
		tree = append(tree, n)
		if f.next[v] >= 0 {
			stack = append(stack, f.next[v])
		}
		if f.first[v] >= 0 {
			stack = append(stack, f.first[v])
		}
	}
	for i := len(tree) - 1; i >= 0; i-- {
		n := &tree[i]
		n.end = max(n.end, int32(i)+1)
		if n.parent >= 0 {
			tree[n.parent].end = max(tree[n.parent].end, n.end)
		}
	}
	return tree
}

// markTwins finds the siblings of one definition: choosing one of them or
// another is the same choice while they hold the same.
func markTwins(sets []Set, tree []node, bounds []Constraint) {
	classes := make(map[string]int32)
	class := make([]int32, len(tree))
	var key []byte
	for i := len(tree) - 1; i >= 0; i-- {
		n := &tree[i]
		if key = key[:0]; n.set >= 0 {
			key = appendSet(append(key, 's'), &sets[n.set])
		} else {
			key = binary.AppendVarint(append(key, 'g'), int64(n.need))
			for c := int32(i) + 1; c < n.end; c = tree[c].end {
				key = binary.AppendVarint(key, int64(class[c]))
			}
		}
		if bounds != nil {
			key = appendConstraint(key, &bounds[i])
		}
		c, known := classes[string(key)]
		if !known {
			c = int32(len(classes))
			classes[string(key)] = c
		}
		class[i] = c
	}
	// last is, by class, the last child of the group at hand; of another group
	// it says nothing.
	last := make([]int32, len(classes))
	for i := range tree {
		if tree[i].set >= 0 {
			continue
		}
		for c := int32(i) + 1; c < tree[i].end; c = tree[c].end {
			if l := last[class[c]]; l > int32(i) && tree[l].parent == int32(i) {
				tree[c].twin = l
			}
			last[class[c]] = c
		}
	}
}

// appendSet appends the set's definition but for its parent, in a form that is
// a prefix of no other's.
func appendSet(key []byte, s *Set) []byte {
	for _, v := range [...]int64{int64(s.Shape), int64(s.Devices), int64(s.Count),
		int64(s.Min), int64(s.Submitted), int64(len(s.Amounts))} {
		key = binary.AppendVarint(key, v)
	}
	for _, a := range s.Amounts {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(a.Resource)), a.Value)
	}
	return key
}

// A status is what a node comes to with what is held.
type status struct {
	// atMin: at its minimum. reachable: at its minimum, or could be with what
	// is submitted. holds: some task is held inside.
	atMin, reachable, holds bool
	// active: the node and all groups around it are at their minimum (a Walk
	// finds it out). needed: were the node below its minimum, so were the
	// gang (AboveMinimum finds it out).
	active, needed bool
	// done and open count a group's children that are atMin and reachable.
	done, open int32
}

// assess fills in the status of every node; state is as long as the tree. O(n).
func (g *Gang) assess(state []status, counts []int32) {
	clear(state)
	for i := len(g.tree) - 1; i >= 0; i-- {
		n, st := &g.tree[i], &state[i]
		if n.set >= 0 {
			s, h := &g.sets[n.set], held(counts, int(n.set))
			st.holds = h > 0
			st.atMin = h >= s.Min
			st.reachable = st.atMin || s.Submitted >= s.Min
		} else {
			st.atMin = st.done >= n.need
			st.reachable = st.open >= n.need
		}
		if n.parent < 0 {
			continue
		}
		p := &state[n.parent]
		p.holds = p.holds || st.holds
		if st.atMin {
			p.done++
		}
		if st.reachable {
			p.open++
		}
	}
}
