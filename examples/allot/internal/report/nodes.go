package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/internal/prose"
)

// A clusterView is the nodes of a pool.
type clusterView struct {
	Title, Figures string
	// Groups are nodes with every device. Where there are too many nodes, only
	// those that the plan touches have such a card, and Models show all.
	Groups    []nodeGroup
	CardsNote string
	Models    []modelView
}

// A nodeGroup is the nodes of a domain of the topology; without a topology there
// is one, without a title.
type nodeGroup struct {
	Title string
	Cards []nodeCard
}

// A nodeCard is a node in full.
type nodeCard struct {
	Node, Figures, Model string
	Badges               []string
	Width, Height        int
	Squares              []square
	Tenants              []tenantLine
	Label                string
}

// A square is a device. Parts are drawn side by side.
type square struct {
	X, Y  int
	Title string
	Parts []squarePart
	// Other is the width of what others use. Broken is the cross over a device
	// that cannot be used, Going the corner of one that somebody is leaving.
	Other, OtherAt int
	Broken, Going  string
}

// A squarePart is a task's part of a device.
type squarePart struct {
	X, Y, Width int
	Colour      int
	// Letter stands at Middle and Base; Small is its class where it is of several.
	Letter, Small string
	Middle, Base  int
	// Ring is the width of the ring that marks every standing but running.
	Ring, RingX, RingY int
	Standing           string
}

// A tenantLine says who the letter is.
type tenantLine struct {
	Letter, ID, Workload, Place, Text string
	Colour                            int
	Going                             bool
}

// The measures of the squares.
const (
	squareSize = 26
	squareGap  = 4
	squaresRow = 8
)

// manyNodes is up to how many nodes a cluster is drawn node by node, manyCards how many
// nodes of a larger one are, and manyListed how many are listed at all.
const (
	manyNodes  = 48
	manyCards  = 6
	manyListed = 3000
)

// clusters shows the nodes, pool by pool.
func (d *drawing) clusters() []clusterView {
	var out []clusterView
	rest := slices.Clone(d.machines)
	for i := range d.state.Pools {
		p := &d.state.Pools[i]
		var own, others []*machine
		for _, m := range rest {
			if contains(&p.Nodes, m.node) {
				own = append(own, m)
			} else {
				others = append(others, m)
			}
		}
		rest = others
		if len(own) > 0 {
			out = append(out, d.cluster("Pool "+p.ID, own))
		}
	}
	if len(rest) > 0 {
		title := "All nodes"
		if len(d.state.Pools) > 0 {
			title = "Nodes of no pool"
		}
		out = append(out, d.cluster(title, rest))
	}
	return out
}

// contains says whether a node is of a pool's set.
func contains(s *allot.NodeSet, n *allot.Node) bool {
	return len(s.IDs) == 0 && s.Selector == nil || slices.Contains(s.IDs, n.ID) || s.Selector != nil && s.Selector.Matches(n.Labels)
}

func (d *drawing) cluster(title string, machines []*machine) clusterView {
	v := clusterView{Title: title}
	v.Figures = figuresOf(machines)
	d.byDomain(machines)
	if len(machines) <= manyNodes {
		for from, to := 0, 0; from < len(machines); from = to {
			domain := d.domainOf(machines[from].node)
			g := nodeGroup{}
			for to = from; to < len(machines) && d.domainOf(machines[to].node) == domain; to++ {
				g.Cards = append(g.Cards, d.card(machines[to]))
			}
			if len(d.state.Levels) > 0 {
				g.Title = cmp.Or(domain, "in no domain") + ": " + figuresOf(machines[from:to])
			}
			v.Groups = append(v.Groups, g)
		}
		return v
	}
	touched := nodeGroup{}
	for _, m := range machines {
		if m.touched && len(touched.Cards) < manyCards {
			touched.Cards = append(touched.Cards, d.card(m))
		}
	}
	if len(touched.Cards) > 0 {
		v.Groups = append(v.Groups, touched)
		v.CardsNote = "The first nodes that this plan changes; all of them are in the lists below."
	}
	v.Models = d.models(machines)
	return v
}

// figuresOf says how many nodes these are and how much of them is in use.
func figuresOf(machines []*machine) string {
	var usable, used int64
	for _, m := range machines {
		u, n := m.gpus()
		usable, used = usable+u, used+n
	}
	text := prose.Count(len(machines), "node")
	if usable > 0 {
		text += ", " + prose.Thousandths(used) + " of " + words.Amount(allot.GPU, usable) + " in use"
	}
	return text
}

// byDomain brings the nodes of a domain together; those of none come last.
func (d *drawing) byDomain(machines []*machine) {
	slices.SortStableFunc(machines, func(a, b *machine) int {
		for _, l := range d.state.Levels {
			x, y := a.node.Domains[l.Name], b.node.Domains[l.Name]
			switch {
			case x == y:
			case x == "":
				return 1
			case y == "":
				return -1
			default:
				return words.CompareNames(x, y)
			}
		}
		return 0
	})
}

// domainOf says in which domains a node is, the widest first: "block b1, rack r2".
func (d *drawing) domainOf(n *allot.Node) string { return d.domainsOf(n, len(d.state.Levels)) }

// domainsOf is domainOf for so many levels.
func (d *drawing) domainsOf(n *allot.Node, levels int) string {
	var texts []string
	for _, l := range d.state.Levels[:levels] {
		if name := n.Domains[l.Name]; name != "" {
			texts = append(texts, l.Name+" "+name)
		}
	}
	return strings.Join(texts, ", ")
}

// levelName is what the nodes of a table are parted by besides: the levels of the
// topology, or nothing.
func (d *drawing) levelName() string {
	var names []string
	for _, l := range d.state.Levels {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

// card draws a node in full.
func (d *drawing) card(m *machine) nodeCard {
	usable, used := m.gpus()
	n := len(m.node.Devices)
	c := nodeCard{Node: m.node.ID, Model: words.Models(m.node)}
	columns := min(n, squaresRow)
	lines := (n + squaresRow - 1) / squaresRow
	c.Width, c.Height = max(0, columns*(squareSize+squareGap)-squareGap), max(0, lines*(squareSize+squareGap)-squareGap)
	switch {
	case n == 0:
		c.Figures = "no GPUs"
	case usable == 0:
		c.Figures = "no GPU usable"
	default:
		c.Figures = prose.Thousandths(used) + " of " + words.Amount(allot.GPU, usable)
	}
	c.Badges = badgesOf(m.node)
	for i := range m.node.Devices {
		c.Squares = append(c.Squares, d.square(m, i))
	}
	for _, o := range m.tenants {
		c.Tenants = append(c.Tenants, d.tenantLine(&o))
	}
	c.Label = "Node " + c.Node + ": " + c.Figures
	return c
}

func badgesOf(n *allot.Node) []string {
	var out []string
	if n.Lost {
		out = append(out, "lost")
	} else if n.Cordoned {
		out = append(out, "cordoned")
	}
	if len(n.Foreign) > 0 || n.ForeignTasks > 0 {
		out = append(out, "others use a part")
	}
	if len(n.Taints) > 0 {
		out = append(out, "tainted")
	}
	return out
}

func (d *drawing) square(m *machine, device int) square {
	s := square{X: device % squaresRow * (squareSize + squareGap), Y: device / squaresRow * (squareSize + squareGap)}
	dev := &m.node.Devices[device]
	going, given, who := false, false, []string{}
	for _, p := range m.parts[device] {
		o := &m.tenants[p.tenant]
		of := ""
		if p.milli < 1000 {
			of = " with " + prose.Thousandths(p.milli) + " GPU"
		}
		who = append(who, words.WorkName(o.queue, o.workload)+of+" "+standingTexts[o.standing])
		going, given = going || o.standing == leaves, given || o.standing != leaves
	}
	at := int64(0)
	for _, p := range m.parts[device] {
		// Those who leave are drawn where nobody else is given the device.
		if o := &m.tenants[p.tenant]; o.standing != leaves || !given {
			s.Parts = append(s.Parts, d.part(&s, o, at, p.milli))
			at += p.milli
		}
	}
	if going {
		s.Going = fmt.Sprintf("M%d %dv12h-12z", s.X+squareSize, s.Y+squareSize-12)
	}
	if dev.Foreign > 0 {
		s.Other = int(max(dev.Foreign*squareSize/1000, 3))
		s.OtherAt = s.X + squareSize - s.Other
		who = append(who, "others use "+prose.Thousandths(dev.Foreign)+" GPU")
	}
	switch {
	case dev.Unhealthy:
		who = append(who, "unhealthy")
	case m.node.Lost || m.node.Cordoned:
		who = append(who, badgesOf(m.node)[0])
	case len(who) == 0:
		who = append(who, "free")
	}
	if m.node.Lost || m.node.Cordoned || dev.Unhealthy {
		s.Broken = fmt.Sprintf("M%d %dl16 16m0 -16l-16 16", s.X+5, s.Y+5)
	}
	s.Title = "GPU " + strconv.Itoa(device) + ": " + strings.Join(who, "; ")
	return s
}

// part draws a task's part of a device, which begins at so many thousandths.
func (d *drawing) part(s *square, o *tenant, at, milli int64) squarePart {
	from, to := min(at, 1000)*squareSize/1000, min(at+milli, 1000)*squareSize/1000
	q := squarePart{X: s.X + int(from), Y: s.Y, Width: int(max(to-from, 2)), Colour: d.colours[o.queue]}
	q.Standing = [...]string{runs: "runs", starts: "starts", waitsForPlace: "waits", leaves: "leaves"}[o.standing]
	if o.standing != runs {
		q.Ring, q.RingX, q.RingY = max(q.Width-6, 1), q.X+3, q.Y+3
	}
	if size := letterWidth[min(len(o.letter), len(letterWidth)-1)]; q.Width >= size && len(o.letter) < len(letterWidth) {
		q.Letter, q.Middle, q.Base = o.letter, q.X+q.Width/2, q.Y+17
		if len(o.letter) > 1 {
			q.Small = " letters"
		}
	}
	return q
}

// letterWidth is how wide a part is that has room for so many letters.
var letterWidth = [...]int{0, 10, 16, 22}

func (d *drawing) tenantLine(o *tenant) tenantLine {
	t := tenantLine{Letter: o.letter, ID: o.workload, Workload: words.WorkName(o.queue, o.workload), Colour: d.colours[o.queue], Going: o.standing == leaves}
	switch len(o.devices) {
	case 0:
		t.Place = prose.Count(o.tasks, "task") + " without GPUs"
	case 1:
		t.Place = "GPU " + words.Ranges(o.devices)
	default:
		t.Place = "GPUs " + words.Ranges(o.devices)
	}
	var more []string
	if o.standing != runs {
		more = append(more, standingTexts[o.standing])
	}
	if o.nodes > 1 && len(o.devices) > 0 {
		more = append(more, "on "+prose.Count(o.nodes, "node"))
	}
	t.Text = strings.Join(more, ", ")
	return t
}

// A nodeRow is a node in a table. Who are those on it, More the further ones.
type nodeRow struct {
	ID, Node, Domain   string
	Used, Usable, Free string
	Whole              string
	Badges             string
	Who, More          []tenantName
	Touched            bool
}

// A tenantName is one of those on a node in short.
type tenantName struct{ Workload, ID, Text string }

// namedTenants is how many of those on a node stand in its row, the others in a fold.
const namedTenants = 3

func (d *drawing) nodeRow(m *machine) nodeRow {
	usable, used := m.gpus()
	row := nodeRow{ID: nodeAnchor(m), Node: m.node.ID, Domain: d.domainOf(m.node), Used: prose.Thousandths(used), Usable: prose.Thousandths(usable)}
	row.Free, row.Whole = prose.Thousandths(max(0, usable-used)), prose.Decimal(m.whole())
	row.Badges, row.Touched = strings.Join(badgesOf(m.node), ", "), m.touched
	for i := range m.tenants {
		o := &m.tenants[i]
		name := tenantName{Workload: words.WorkName(o.queue, o.workload), ID: o.workload}
		name.Text = strings.TrimPrefix(tenantText(o), name.Workload)
		if i < namedTenants || len(m.tenants) == namedTenants+1 {
			row.Who = append(row.Who, name)
		} else {
			row.More = append(row.More, name)
		}
	}
	return row
}

// tenantText is one of those on a node: "vision/sweep [0-3] is leaving".
func tenantText(o *tenant) string {
	text := words.WorkName(o.queue, o.workload)
	if len(o.devices) > 0 {
		text += " [" + words.Ranges(o.devices) + "]"
	}
	if o.standing != runs {
		text += " " + standingTexts[o.standing]
	}
	return text
}
