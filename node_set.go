package allot

import (
	"slices"

	"github.com/allotsched/allot/placement"
)

// all says whether the set is all nodes of its surroundings.
func (n *NodeSet) all() bool { return len(n.IDs) == 0 && n.Selector == nil }

// takes says whether a node belongs to the set.
func (n *NodeSet) takes(node *Node) bool {
	return n.all() || slices.Contains(n.IDs, node.ID) || n.Selector != nil && n.Selector.Matches(node.Labels)
}

// A nodeFinder finds the nodes of many sets: each looks at those that it names, and at those with a
// label that its selector demands, not at all there are.
type nodeFinder struct {
	nodes []Node
	ids   map[string]int32
	// labels are by key, as far as a selector has asked for it, and by value the nodes that have the label.
	labels map[string]map[string][]int32
}

// newNodeFinder finds among nodes of which ids has the index of each by ID.
func newNodeFinder(nodes []Node, ids map[string]int32) *nodeFinder {
	return &nodeFinder{nodes: nodes, ids: ids, labels: make(map[string]map[string][]int32)}
}

// nodeIDs are the indices of nodes by ID, the first of an ID that is given twice.
func nodeIDs(nodes []Node) map[string]int32 {
	ids := make(map[string]int32, len(nodes))
	for i := range nodes {
		if _, twice := ids[nodes[i].ID]; !twice {
			ids[nodes[i].ID] = int32(i)
		}
	}
	return ids
}

// of lists the nodes of a set by index, each once.
func (f *nodeFinder) of(set *NodeSet) []int32 {
	var out []int32
	if set.all() {
		for i := range f.nodes {
			out = append(out, int32(i))
		}
		return out
	}
	for _, id := range set.IDs {
		if i, known := f.ids[id]; known {
			out = append(out, i)
		}
	}
	if set.Selector != nil {
		out = f.selected(out, set.Selector)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selected appends the nodes that a selector matches.
func (f *nodeFinder) selected(out []int32, s *placement.Selector) []int32 {
	lists, narrowed := f.fewest(s)
	if !narrowed {
		for i := range f.nodes {
			if s.Matches(f.nodes[i].Labels) {
				out = append(out, int32(i))
			}
		}
		return out
	}
	for _, list := range lists {
		for _, i := range list {
			if s.Matches(f.nodes[i].Labels) {
				out = append(out, i)
			}
		}
	}
	return out
}

// fewest lists nodes among which are all that a selector matches: those with one of the labels that it
// demands, and of these labels the one that the fewest have. It is false where it demands none.
func (f *nodeFinder) fewest(s *placement.Selector) (lists [][]int32, narrowed bool) {
	least := 0
	narrow := func(key string, values ...string) {
		known, sum := f.labelled(key), 0
		for _, value := range values {
			sum += len(known[value])
		}
		if narrowed && sum >= least {
			return
		}
		least, narrowed, lists = sum, true, lists[:0]
		for _, value := range values {
			lists = append(lists, known[value])
		}
	}
	for key, value := range s.Labels { // the matches are the same whichever narrows: order cannot matter
		narrow(key, value)
	}
	for i := range s.Expressions {
		if e := &s.Expressions[i]; e.Operator == placement.In {
			narrow(e.Key, e.Values...)
		}
	}
	return lists, narrowed
}

// labelled are the nodes that have a label of the key, by its value.
func (f *nodeFinder) labelled(key string) map[string][]int32 {
	known, asked := f.labels[key]
	if !asked {
		known = make(map[string][]int32)
		for i := range f.nodes {
			if value, has := f.nodes[i].Labels[key]; has {
				known[value] = append(known[value], int32(i))
			}
		}
		f.labels[key] = known
	}
	return known
}

// members says of each node whether it belongs to the set.
func (f *nodeFinder) members(set *NodeSet) []bool {
	in := make([]bool, len(f.nodes))
	for _, i := range f.of(set) {
		in[i] = true
	}
	return in
}
