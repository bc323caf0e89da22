package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
)

// levels are how full a node can be: out of use, empty, up to half, more, full.
const levels = 5

var levelTexts = [levels]string{"out of use", "empty", "used up to half", "used by more than half", "full"}

// levelOf is how full a node is. A node without GPUs is full where it has work.
func levelOf(m *machine) int {
	usable, used := m.gpus()
	switch {
	case m.node.Cordoned || m.node.Lost || usable == 0 && len(m.node.Devices) > 0:
		return 0
	case used == 0 && (len(m.node.Devices) > 0 || len(m.tenants) == 0):
		return 1
	case used >= usable:
		return levels - 1
	case 2*used <= usable:
		return 2
	}
	return 3
}

// A modelView is the nodes of a pool that have the same devices.
type modelView struct {
	Kind, Figures                 string
	Nodes, Full, Part, Empty, Off int
	// Usable, Used, Free and Whole are GPUs; Whole are those that nobody uses.
	Usable, Used, Free, Whole string
	// Blocks are the maps of its domains, one without a name where there are none;
	// Domain names the levels in the table.
	Blocks []blockView
	Domain string
	Rows   []nodeRow
	// Open: the table is not folded away.
	Open bool
	Left string
}

// A rackView is a map of the nodes of a domain: a cell for each.
type rackView struct {
	Name, Figures string
	Width, Height int
	// Wide: it may be as wide as the page.
	Wide  bool
	Cells []mapCell
	Label string
}

// A mapCell is a node. From and Height are what is filled of it from below.
type mapCell struct {
	X, Y         int
	From, Height int
	Class, ID    string
	Title        string
	// Touched: the plan changes something there.
	Touched bool
}

// The measures of the cells: rows of a domain have rackRow of them, rows of a map
// without domains wideRow.
const (
	cellSize = 12
	cellStep = 15
	rackRow  = 8
	wideRow  = 56
)

// models parts nodes by what devices they have, the kind of most GPUs first.
func (d *drawing) models(machines []*machine) []modelView {
	at := make(map[string]int)
	var kinds [][]*machine
	for _, m := range machines {
		kind := cmp.Or(words.Models(m.node), "no GPUs")
		i, ok := at[kind]
		if !ok {
			i = len(kinds)
			at[kind] = i
			kinds = append(kinds, nil)
		}
		kinds[i] = append(kinds[i], m)
	}
	total := func(of []*machine) (n int) {
		for _, m := range of {
			n += len(m.node.Devices)
		}
		return n
	}
	slices.SortStableFunc(kinds, func(a, b []*machine) int {
		return cmp.Or(cmp.Compare(total(b), total(a)), cmp.Compare(len(b), len(a)), words.CompareNames(words.Models(a[0].node), words.Models(b[0].node)))
	})
	var out []modelView
	listed := 0
	for _, of := range kinds {
		v := modelOf(of)
		v.Domain = d.levelName()
		v.Blocks = d.blocks(of)
		for _, m := range of[:min(len(of), max(0, manyListed-listed))] {
			v.Rows = append(v.Rows, d.nodeRow(m))
		}
		if left := len(of) - len(v.Rows); left > 0 {
			v.Left = "and " + prose.Count(left, "more node")
		}
		listed += len(v.Rows)
		out = append(out, v)
	}
	return out
}

// modelOf sums nodes of one kind.
func modelOf(machines []*machine) modelView {
	v := modelView{Kind: cmp.Or(words.Models(machines[0].node), "no GPUs"), Figures: figuresOf(machines), Nodes: len(machines)}
	var usable, used, whole int64
	for _, m := range machines {
		switch levelOf(m) {
		case 0:
			v.Off++
		case 1:
			v.Empty++
		case levels - 1:
			v.Full++
		default:
			v.Part++
		}
		u, n := m.gpus()
		usable, used, whole = usable+u, used+n, whole+m.whole()
	}
	v.Usable, v.Used, v.Free = prose.Thousandths(usable), prose.Thousandths(used), prose.Thousandths(max(0, usable-used))
	v.Whole = prose.Decimal(whole)
	return v
}

// whole counts the devices that nobody uses and anybody could.
func (m *machine) whole() (n int64) {
	for i := range m.node.Devices {
		if m.usableMilli(i) == 1000 && m.usedMilli(i) == 0 {
			n++
		}
	}
	return n
}

// A blockView is the maps of the domains of one wider domain.
type blockView struct {
	Name  string
	Racks []rackView
}

// blocks maps nodes domain by domain; they come with those of a domain together.
func (d *drawing) blocks(machines []*machine) (out []blockView) {
	deepest := len(d.state.Levels) - 1
	for from, to := 0, 0; from < len(machines); from = to {
		domain := d.domainOf(machines[from].node)
		for to = from; to < len(machines) && d.domainOf(machines[to].node) == domain; to++ {
		}
		v := mapOf(machines[from:to], deepest >= 0)
		wider := ""
		if deepest >= 0 {
			var own string
			wider, own = d.domainsOf(machines[from].node, deepest), d.domainsOf(machines[from].node, deepest+1)
			v.Name = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(own, wider), ", "), "in no "+d.state.Levels[deepest].Name)
		}
		if n := len(out); n == 0 || out[n-1].Name != wider {
			out = append(out, blockView{Name: wider})
		}
		b := &out[len(out)-1]
		b.Racks = append(b.Racks, v)
	}
	return out
}

// mapOf draws a cell for every node, filled from below.
func mapOf(machines []*machine, inDomain bool) rackView {
	columns := wideRow
	if inDomain {
		columns = rackRow
	}
	columns = min(columns, len(machines))
	rows := (len(machines) + columns - 1) / columns
	v := rackView{Width: columns*cellStep - cellStep + cellSize + 2, Height: rows*cellStep - cellStep + cellSize + 2, Wide: !inDomain && columns == wideRow}
	heights := [levels]int{cellSize, 0, 4, 8, cellSize}
	var numbers [levels]int
	var usable, used int64
	for i, m := range machines {
		level := levelOf(m)
		numbers[level]++
		u, n := m.gpus()
		usable, used = usable+u, used+n
		c := mapCell{X: i%columns*cellStep + 1, Y: i/columns*cellStep + 1, Height: heights[level], Class: "l" + strconv.Itoa(level), ID: nodeAnchor(m), Touched: m.touched}
		c.From = c.Y + cellSize - c.Height
		c.Title = titleOf(m)
		v.Cells = append(v.Cells, c)
	}
	var counts []string
	for i := levels - 1; i >= 0; i-- {
		if numbers[i] > 0 {
			counts = append(counts, strconv.Itoa(numbers[i])+" "+levelTexts[i])
		}
	}
	v.Figures = prose.Thousandths(max(0, usable-used)) + " of " + prose.Thousandths(usable) + " free"
	v.Label = "A cell for each of " + prose.Count(len(machines), "node") + ": " + strings.Join(counts, ", ")
	return v
}

// titleOf is what a node says when it is pointed at.
func titleOf(m *machine) string {
	usable, used := m.gpus()
	text := m.node.ID + ": " + prose.Thousandths(used) + " of " + words.Amount("gpu", usable) + " in use"
	if badges := badgesOf(m.node); len(badges) > 0 {
		text += ", " + strings.Join(badges, ", ")
	}
	for i := range m.tenants {
		if i == titleTenants && len(m.tenants) > titleTenants+1 {
			return text + "\nand " + strconv.Itoa(len(m.tenants)-i) + " more"
		}
		text += "\n" + tenantText(&m.tenants[i])
	}
	return text
}

// titleTenants is how many names a tooltip has.
const titleTenants = 12

// nodeAnchor is where the table tells of a node.
func nodeAnchor(m *machine) string { return "n" + strconv.Itoa(m.number) }
