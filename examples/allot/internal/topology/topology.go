// Package topology draws a cluster as it is when a plan is carried out: its domains as
// nested boxes, its devices coloured by workload, the links that gangs use, and beside
// them who started, who had to leave, and who waits for what. The picture is an SVG that
// needs nothing else, or a page that holds it.
//
// Of more than 200 nodes it is a summary: a cell is a node, filled by the colours of
// the queues that use it, and what is narrowest of the topology is a box; without a
// topology the boxes are pieces of the nodes of one kind. A box can be drawn by itself,
// with every device (Options.In), and on a page a click on a box shows it so.
//
// The same state and plan have the same bytes. Time and memory are linear in nodes,
// devices and tasks, but for the boxes, which are laid out in four widths at most.
package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
)

// Options say what is drawn.
type Options struct {
	// Title is the heading; empty is "The cluster and the plan".
	Title string
	// Wide puts the legend beside the cluster, for screens, not below it, for phones.
	Wide bool
	// Page makes a page of it, which puts the legend where there is room.
	Page bool
	// In is the path of a domain that alone is drawn, with every device, such as
	// "b0/r1"; empty is the whole cluster.
	In string
	// Nav is put before the picture of a page as it is; empty is nothing.
	Nav string
}

// Draw draws the state when the plan, which was made of it, is carried out.
func Draw(state *allot.State, plan *allot.Plan, o Options) (string, error) {
	o.Title = cmp.Or(o.Title, "The cluster and the plan")
	s, err := newScene(state, plan, o.In == "" && len(state.Nodes) > most)
	if err != nil {
		return "", err
	}
	if o.In == "" && !o.Page {
		return picture(s, &o), nil
	}
	if o.In != "" {
		b := s.root.at(o.In)
		if b == nil {
			return "", fmt.Errorf("there is no domain %q; there is %s", o.In, strings.Join(s.root.paths(8), ", "))
		}
		return s.sheet(b, &o), nil
	}
	if !s.summarised {
		return picture(s, &o), nil
	}
	full, err := newScene(state, plan, false)
	if err != nil {
		return "", err
	}
	return s.zoomable(full, &o), nil
}

// at finds a domain by its path; nil if there is none.
func (b *box) at(path string) *box {
	for _, inside := range b.domains {
		if inside.path() == path {
			return inside
		}
		if found := inside.at(path); found != nil {
			return found
		}
	}
	return nil
}

// paths are those of the first domains that hold nodes, in the order of the picture.
func (b *box) paths(most int) (paths []string) {
	for _, inside := range b.leaves() {
		if len(paths) == most {
			return append(paths, "…")
		}
		paths = append(paths, inside.path())
	}
	if len(paths) == 0 {
		return []string{"none"}
	}
	return paths
}

// leaves are the domains inside that hold nodes themselves.
func (b *box) leaves() (leaves []*box) {
	if b.parent != nil && len(b.nodes) > 0 {
		leaves = append(leaves, b)
	}
	for _, inside := range b.domains {
		leaves = append(leaves, inside.leaves()...)
	}
	return leaves
}

// Paths are the paths of the domains of a state that hold nodes, for Options.In.
func Paths(state *allot.State) []string {
	root, _ := tree(state)
	var paths []string
	for _, b := range root.leaves() {
		paths = append(paths, b.path())
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
