package gang_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/gang"
	"pgregory.net/rapid"
)

// A definition is a gang as its caller gives it, read by the oracle in the
// plainest way: by recursion over parents, with no layout of its own.
type definition struct {
	sets   []gang.Set
	groups []gang.Group
}

// A member is a set or a group of a definition; workload is the root.
type member struct {
	group bool
	index int
}

var workload = member{group: true, index: -1}

// firstSet is the first set at or inside a member.
func (d definition) firstSet(m member) int {
	if !m.group {
		return m.index
	}
	first := len(d.sets)
	for _, c := range d.childrenUnordered(m) {
		first = min(first, d.firstSet(c))
	}
	return first
}

func (d definition) childrenUnordered(m member) []member {
	var out []member
	for i, s := range d.sets {
		if int(s.Parent) == m.index {
			out = append(out, member{index: i})
		}
	}
	for i, g := range d.groups {
		if int(g.Parent) == m.index {
			out = append(out, member{group: true, index: i})
		}
	}
	return out
}

// children are in listed order.
func (d definition) children(m member) []member {
	out := d.childrenUnordered(m)
	slices.SortFunc(out, func(a, b member) int { return d.firstSet(a) - d.firstSet(b) })
	return out
}

// need is how many children of a group must be at their minimum.
func (d definition) need(m member) int {
	if m != workload && d.groups[m.index].Min > 0 {
		return int(d.groups[m.index].Min)
	}
	return len(d.childrenUnordered(m))
}

// atMinimum is G1 and G3, word for word.
func (d definition) atMinimum(m member, held []int32) bool {
	if !m.group {
		return held[m.index] >= d.sets[m.index].Min
	}
	at := 0
	for _, c := range d.childrenUnordered(m) {
		if d.atMinimum(c, held) {
			at++
		}
	}
	return at >= d.need(m)
}

// aboveMinimum: a task could be taken away.
func (d definition) aboveMinimum(held []int32) bool {
	for s := range held {
		less := slices.Clone(held)
		less[s]--
		if less[s] >= 0 && d.atMinimum(workload, less) {
			return true
		}
	}
	return false
}

// reachable: with all that is submitted.
func (d definition) reachable(m member, held []int32) bool {
	most := make([]int32, len(held))
	for i, s := range d.sets {
		most[i] = max(held[i], s.Submitted)
	}
	return d.atMinimum(m, most)
}

func (d definition) holds(m member, held []int32) bool {
	if !m.group {
		return held[m.index] > 0
	}
	return slices.ContainsFunc(d.childrenUnordered(m), func(c member) bool { return d.holds(c, held) })
}

// look is what a member looks like, but for its place among its siblings:
// definition, what is held and what is added.
func (d definition) look(m member, held, add []int32) string {
	if !m.group {
		s := d.sets[m.index]
		s.Parent = 0
		return fmt.Sprint(s, held[m.index], add[m.index])
	}
	var parts []string
	for _, c := range d.children(m) {
		parts = append(parts, d.look(c, held, add))
	}
	return fmt.Sprint(d.need(m), parts)
}

// symmetric is look with siblings sorted: equal for choices that differ only by
// an exchange of alike siblings.
func (d definition) symmetric(m member, held, add []int32) string {
	if !m.group {
		return d.look(m, held, add)
	}
	var parts []string
	for _, c := range d.children(m) {
		parts = append(parts, d.symmetric(c, held, add))
	}
	slices.Sort(parts)
	return fmt.Sprint(d.need(m), parts)
}

// choices are the ways to bring a reachable member to its minimum, in the
// documented order, by recursion.
func (d definition) choices(m member, held []int32) [][]int32 {
	none := make([]int32, len(d.sets))
	if d.atMinimum(m, held) {
		return [][]int32{none}
	}
	if !m.group {
		none[m.index] = d.sets[m.index].Min - held[m.index]
		return [][]int32{none}
	}
	var candidates []member
	lacking := d.need(m)
	for _, holding := range []bool{true, false} {
		for _, c := range d.children(m) {
			switch {
			case d.holds(c, held) != holding:
			case d.atMinimum(c, held):
				lacking--
			case d.reachable(c, held):
				candidates = append(candidates, c)
			}
		}
	}
	var out [][]int32
	for _, combination := range combinations(len(candidates), lacking) {
		if d.exchanged(candidates, combination, held) {
			continue
		}
		product := [][]int32{none}
		for _, p := range combination {
			var longer [][]int32
			for _, head := range product {
				for _, tail := range d.choices(candidates[p], held) {
					longer = append(longer, plus(head, tail))
				}
			}
			product = longer
		}
		out = append(out, product...)
	}
	return out
}

// exchanged: the combination leaves out a candidate and has a later one that is
// just like it.
func (d definition) exchanged(candidates []member, combination []int, held []int32) bool {
	none := make([]int32, len(d.sets))
	for _, p := range combination {
		for earlier := range p {
			if !slices.Contains(combination, earlier) &&
				d.look(candidates[earlier], held, none) == d.look(candidates[p], held, none) {
				return true
			}
		}
	}
	return false
}

// combinations are the ascending choices of m of n, in lexicographic order.
func combinations(n, m int) [][]int {
	var out [][]int
	var extend func(head []int, from int)
	extend = func(head []int, from int) {
		if len(head) == m {
			out = append(out, slices.Clone(head))
			return
		}
		for p := from; p < n; p++ {
			extend(append(head, p), p+1)
		}
	}
	extend(nil, 0)
	return out
}

func plus(a, b []int32) []int32 {
	sum := slices.Clone(a)
	for i := range b {
		sum[i] += b[i]
	}
	return sum
}

// units are what Gang.Units must yield with no budget.
func (d definition) units(held []int32) [][]int32 {
	var out [][]int32
	active := make([]bool, len(d.sets))
	var descend func(m member)
	descend = func(m member) {
		switch {
		case !d.atMinimum(m, held):
			if d.reachable(m, held) {
				out = append(out, d.choices(m, held)...)
			}
		case !m.group:
			active[m.index] = true
		default:
			for _, c := range d.children(m) {
				descend(c)
			}
		}
	}
	descend(workload)
	for i, s := range d.sets {
		if active[i] && held[i] < s.Submitted {
			one := make([]int32, len(d.sets))
			one[i] = 1
			out = append(out, one)
		}
	}
	return out
}

// minimal are all the smallest additions that bring a gang from below its
// minimum to it, by trying every vector.
func (d definition) minimal(held []int32) [][]int32 {
	var out [][]int32
	add := make([]int32, len(d.sets))
	var try func(i int)
	try = func(i int) {
		if i < len(d.sets) {
			for add[i] = 0; held[i]+add[i] <= max(held[i], d.sets[i].Submitted); add[i]++ {
				try(i + 1)
			}
			add[i] = 0
			return
		}
		if !d.atMinimum(workload, plus(held, add)) {
			return
		}
		for s := range add {
			if add[s] > 0 {
				less := plus(held, add)
				less[s]--
				if d.atMinimum(workload, less) {
					return
				}
			}
		}
		out = append(out, slices.Clone(add))
	}
	try(0)
	return out
}

func (d definition) String() string {
	var b strings.Builder
	for i, s := range d.sets {
		fmt.Fprintf(&b, "set %d: %+v\n", i, s)
	}
	for i, g := range d.groups {
		fmt.Fprintf(&b, "group %d: %+v\n", i, g)
	}
	return b.String()
}

// definitions draws small gangs: up to maxSets sets, nested up to four levels,
// siblings often alike, sets and groups listed in any order.
func definitions(maxSets int) *rapid.Generator[definition] {
	return rapid.Custom(func(t *rapid.T) definition {
		var d definition
		var fill func(parent int32, depth int) int
		fill = func(parent int32, depth int) int {
			children := 0
			wanted := rapid.SampledFrom([]int{3, 2, 4, 1}).Draw(t, "children")
			for children == 0 || children < wanted && len(d.sets) < maxSets {
				children++
				if depth < 3 && len(d.sets) < maxSets && rapid.SampledFrom([]bool{true, false, false}).Draw(t, "group") {
					g := int32(len(d.groups))
					d.groups = append(d.groups, gang.Group{Parent: parent})
					n := fill(g, depth+1)
					if d.groups[g].Min = int32(rapid.IntRange(1, n).Draw(t, "m")); int(d.groups[g].Min) == n {
						d.groups[g].Min *= int32(rapid.IntRange(0, 1).Draw(t, "explicit"))
					}
					continue
				}
				count := int32(rapid.IntRange(1, 2).Draw(t, "count"))
				d.sets = append(d.sets, gang.Set{
					Count:     count,
					Min:       count - int32(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "elastic")),
					Submitted: count - int32(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1}).Draw(t, "missing")),
					Parent:    parent,
				})
			}
			return children
		}
		fill(-1, 0)
		d.sets = rapid.Permutation(d.sets).Draw(t, "sets")
		return d.permuteGroups(t)
	})
}

// permuteGroups lists the groups in another order.
func (d definition) permuteGroups(t *rapid.T) definition {
	indices := make([]int, len(d.groups))
	for i := range indices {
		indices[i] = i
	}
	at := rapid.Permutation(indices).Draw(t, "groups")
	moved := func(parent int32) int32 {
		if parent < 0 {
			return parent
		}
		return int32(at[parent])
	}
	out := definition{sets: slices.Clone(d.sets), groups: make([]gang.Group, len(d.groups))}
	for i := range out.sets {
		out.sets[i].Parent = moved(out.sets[i].Parent)
	}
	for i, g := range d.groups {
		out.groups[at[i]] = gang.Group{Parent: moved(g.Parent), Min: g.Min}
	}
	return out
}

// drawHeld draws what a gang holds: nothing, any part of what is submitted, or
// most of it.
func drawHeld(t *rapid.T, d definition) []int32 {
	held := make([]int32, len(d.sets))
	mode := rapid.SampledFrom([]int{2, 1, 1, 0}).Draw(t, "mode")
	for i, s := range d.sets {
		part := int32(rapid.IntRange(0, int(s.Submitted)).Draw(t, "part"))
		switch mode {
		case 1:
			held[i] = part
		case 2: // small numbers are drawn more often
			held[i] = s.Submitted - part
		}
	}
	return held
}
