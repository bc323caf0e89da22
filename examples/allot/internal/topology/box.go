package topology

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
	"github.com/allotsched/allot/placement"
)

// A box is a domain of the cluster, or a node.
type box struct {
	name, level string
	parent      *box
	domains     []*box // inside, of narrower levels
	nodes       []*box // directly inside
	order       int    // of a node: its number in depth-first order
	lanes       []*work
	// almost says of those who wait what would fit here, the best domain for them.
	almost []string

	node    *allot.Node // of a node
	devices []device
	links   []placement.Link // those that are up
	down    []placement.Link // those that should be

	// What layout finds, in units.
	x, y, w, h int
	rows       []row
}

// A device is what is on a device when the plan is carried out.
type device struct {
	parts []part
	// left: the plan took it from somebody.
	left bool
}

// A part is a workload's part of a device.
type part struct {
	of    *work
	milli int64
	// fresh: the plan put it there.
	fresh bool
}

// tree makes the boxes of a cluster; the nodes of a domain are by rank, then by
// ID.
func tree(state *allot.State) (root *box, nodes []*box) {
	sorted := make([]*allot.Node, len(state.Nodes))
	for i := range sorted {
		sorted[i] = &state.Nodes[i]
	}
	slices.SortFunc(sorted, func(a, b *allot.Node) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
	})
	names := make([][]string, len(sorted))
	for i, n := range sorted {
		for _, level := range state.Levels {
			names[i] = append(names[i], n.Domains[level.Name])
		}
	}
	t := placement.NewTopology(len(state.Levels), names)
	root = &box{name: "cluster"}
	boxes := make(map[placement.Domain]*box)
	kinds := pieces(sorted, len(state.Levels) == 0, root)
	for _, v := range t.Nodes(0) {
		parent := root
		if kinds != nil {
			parent = kinds[sorted[v].ID]
		}
		for i, level := range state.Levels {
			d := t.Of(v, placement.Level(i+1))
			if d < 0 {
				continue
			}
			if boxes[d] == nil {
				boxes[d] = &box{name: t.Name(d), level: level.Name, parent: parent}
				parent.domains = append(parent.domains, boxes[d])
			}
			parent = boxes[d]
		}
		n := &box{name: sorted[v].ID, level: allot.NodeLevel, parent: parent, order: len(nodes), node: sorted[v], devices: make([]device, len(sorted[v].Devices))}
		n.findLinks()
		parent.nodes = append(parent.nodes, n)
		nodes = append(nodes, n)
	}
	return root, nodes
}

// pieces parts the nodes of a large cluster without a topology into boxes of one kind
// with so many nodes at most as one sees at once; nil is none.
func pieces(sorted []*allot.Node, flat bool, root *box) map[string]*box {
	if !flat || len(sorted) <= most {
		return nil
	}
	byKind := make(map[string][]*allot.Node)
	var kinds []string
	for _, n := range sorted {
		kind := cmp.Or(words.Models(n), "no GPUs")
		if byKind[kind] == nil {
			kinds = append(kinds, kind)
		}
		byKind[kind] = append(byKind[kind], n)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byKind[b]), len(byKind[a])), words.CompareNames(a, b))
	})
	of := make(map[string]*box, len(sorted))
	for _, kind := range kinds {
		k := &box{name: kind, parent: root}
		root.domains = append(root.domains, k)
		nodes := byKind[kind]
		if len(nodes) <= onePiece {
			for _, n := range nodes {
				of[n.ID] = k
			}
			continue
		}
		names := pieceNames(nodes)
		for from := 0; from < len(nodes); from += onePiece {
			piece := nodes[from:min(from+onePiece, len(nodes))]
			p := &box{name: names[from/onePiece], parent: k}
			k.domains = append(k.domains, p)
			for _, n := range piece {
				of[n.ID] = p
			}
		}
	}
	return of
}

// onePiece is how many nodes a piece has.
const onePiece = 32

// pieceNames are what pieces of nodes are called: by the first and the last node, in full or by
// what is not the same of all names; by their places where that is too long to be seen.
func pieceNames(nodes []*allot.Node) []string {
	begin, end := nodes[0].ID, nodes[0].ID
	for _, n := range nodes {
		for !strings.HasPrefix(n.ID, begin) {
			begin = begin[:len(begin)-1]
		}
		for !strings.HasSuffix(n.ID, end) {
			end = end[1:]
		}
	}
	begin, end = strings.TrimRight(begin, "0123456789"), strings.TrimLeft(end, "0123456789")
	whole, short := true, true
	var names, inShort, places []string
	for from := 0; from < len(nodes); from += onePiece {
		last := min(from+onePiece, len(nodes)) - 1
		a, b := nodes[from].ID, nodes[last].ID
		c, d := strings.TrimSuffix(a[len(begin):], end), strings.TrimSuffix(b[len(begin):], end)
		names, inShort = append(names, a+"–"+b), append(inShort, c+"–"+d)
		places = append(places, strconv.Itoa(from+1)+"–"+strconv.Itoa(last+1))
		whole = whole && utf8.RuneCountInString(a+b) <= mostPieceName
		short = short && utf8.RuneCountInString(c+d) <= mostPieceName && c != "" && d != "" && utf8.ValidString(c+d)
	}
	switch {
	case whole:
		return names
	case short:
		return inShort
	}
	return places
}

// mostPieceName is how many letters the two names of a piece have at most, so that they fit.
const mostPieceName = 8

// findLinks lists the NVLinks of a node.
func (b *box) findLinks() {
	hardware, _ := placement.HardwareNamed(b.node.Hardware)
	var overrides []placement.Link
	for _, l := range b.node.Links {
		overrides = append(overrides, placement.Link{A: int32(l.A), B: int32(l.B), NVLinks: int32(l.NVLinks)})
	}
	b.links = hardware.Links(overrides)
	for _, l := range hardware.Links(nil) {
		if !slices.ContainsFunc(b.links, func(up placement.Link) bool { return up.A == l.A && up.B == l.B }) {
			b.down = append(b.down, l)
		}
	}
}

// switched says whether an NVSwitch joins the devices of a node.
func (b *box) switched() bool {
	hardware, _ := placement.HardwareNamed(b.node.Hardware)
	return strings.Contains(hardware.About(), "NVSwitch")
}

// socket and pcie are the NUMA socket and the PCIe switch of a device.
func (b *box) socket(device int) int {
	hardware, _ := placement.HardwareNamed(b.node.Hardware)
	return cmp.Or(b.node.Devices[device].Socket, int(hardware.Socket(device)))
}

func (b *box) pcie(device int) int {
	hardware, _ := placement.HardwareNamed(b.node.Hardware)
	return cmp.Or(b.node.Devices[device].Switch, int(hardware.Switch(device)))
}

// holds says whether n is b or inside it.
func (b *box) holds(n *box) bool {
	for ; n != nil; n = n.parent {
		if n == b {
			return true
		}
	}
	return false
}

// path names a domain from the widest level on.
func (b *box) path() string {
	if b.parent == nil {
		return "the cluster"
	}
	if b.node != nil {
		return b.name
	}
	if b.parent.parent == nil {
		return b.name
	}
	return b.parent.path() + "/" + b.name
}

// idle counts the devices inside on which there is nothing and that could take
// something, and all devices.
func (b *box) idle() (idle, all int) {
	for _, inside := range slices.Concat(b.domains, b.nodes) {
		i, a := inside.idle()
		idle, all = idle+i, all+a
	}
	for i := range b.devices {
		d := &b.node.Devices[i]
		if len(b.devices[i].parts) == 0 && d.Foreign == 0 && !d.Unhealthy && !b.node.Cordoned && !b.node.Lost {
			idle++
		}
	}
	return idle, all + len(b.devices)
}

// find finds a domain inside by its level and path; nil if there is none.
func (b *box) find(level, path string) *box {
	if b.parent != nil && b.level == level && b.path() == path {
		return b
	}
	for _, inside := range b.domains {
		if found := inside.find(level, path); found != nil {
			return found
		}
	}
	return nil
}
