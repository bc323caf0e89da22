package answer

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allotsched/allot/examples/allot/internal/output"
)

// mostGroups is how many groups are told where there is more to tell beside them.
const mostGroups = 12

// A group is things of which the same is to be said.
type group struct {
	// cells say what is the same, in the columns of a table.
	cells []string
	count int
	// example is the first of them.
	example string
}

// groups puts things together by their cells, the largest first; equal ones stay in
// the order in which they came.
type groups struct {
	at   map[string]int
	list []group
}

func (g *groups) add(example string, cells ...string) {
	if g.at == nil {
		g.at = make(map[string]int)
	}
	key := ""
	for _, c := range cells {
		key += c + "\x00"
	}
	i, known := g.at[key]
	if !known {
		i = len(g.list)
		g.at[key] = i
		g.list = append(g.list, group{cells: cells, example: example})
	}
	g.list[i].count++
}

// write is a table of the groups, at most so many unless the page is to have all. The
// heads are those of the cells; count and example have their own.
func (g *groups) write(p *output.Page, most int, what string, heads ...string) {
	list := slices.Clone(g.list)
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(b.count, a.count) })
	left, of := 0, 0
	if !p.Verbose && len(list) > most {
		for _, rest := range list[most:] {
			left, of = left+1, of+rest.count
		}
		list = list[:most]
	}
	head := []output.Cell{output.Number("count")}
	for _, h := range heads {
		head = append(head, output.Words(h))
	}
	rows := [][]output.Cell{append(head, output.Words("such as"))}
	for _, one := range list {
		row := []output.Cell{output.Number(strconv.Itoa(one.count))}
		for _, c := range one.cells {
			row = append(row, output.Words(c))
		}
		rows = append(rows, append(row, output.Words(one.example)))
	}
	p.Table("  ", rows)
	if left > 0 {
		p.Line(output.Faint, "  and "+strconv.Itoa(of)+" "+what+" in "+strconv.Itoa(left)+" more groups; "+p.NotAll())
	}
}
