package topology

import (
	"cmp"
	"slices"
)

// Measures in units of the picture, of which a phone shows about 2.3 a pixel.
const (
	columnWidth  = 880 // of the cluster, and of the legend
	margin       = 16
	padding      = 10 // inside the frame of a domain
	gap          = 12 // between domains
	nodeSpace    = 8
	laneHeight   = 14 // of a gang's link in a domain
	headHeight   = 40 // of a domain's name
	almostHeight = 30 // of a line about one who waits
	keysHeight   = 32 // of the letters of those on its cells

	deviceSize   = 32
	nearGap      = 4  // between devices of one PCIe switch
	farGap       = 8  // between others
	rowGap       = 30 // between sockets, where the links run
	nodePadding  = 8
	nodeHead     = 32
	widestRow    = 8  // devices
	cellSize     = 20 // of a node in a summary
	mostColumns  = 4
	narrowestBox = 150
)

// A row is boxes side by side in a domain, below the strip of the lanes by which
// gangs reach them.
type row struct {
	boxes []*box
	strip int // where the strip begins
}

// A layout places boxes.
type layout struct {
	summarised bool
	heights    map[sized]int
}

// sized is a box at a width.
type sized struct {
	*box
	width int
}

// trunk is the width that a domain's lanes take at its left.
func (b *box) trunk() int {
	if len(b.lanes) == 0 {
		return 0
	}
	return len(b.lanes)*laneHeight + 4
}

// stripHeight is that of a domain's lanes above a row of boxes: nothing where no
// gang goes down to one of them.
func (b *box) stripHeight(boxes []*box) int {
	for _, w := range b.lanes {
		for _, inside := range boxes {
			if inside.has(w) {
				return len(b.lanes)*laneHeight + 8
			}
		}
	}
	return 0
}

// has says whether a gang's links go to a box from the domain around it.
func (b *box) has(w *work) bool {
	return slices.Contains(w.stops, b) || slices.Contains(b.lanes, w)
}

// framed says whether a domain has a frame and a name: the whole cluster has none
// where all nodes are in domains.
func (b *box) framed() bool { return b.parent != nil || len(b.nodes) > 0 }

// side and head are what the frame takes at either side and above.
func (b *box) side() int {
	if b.framed() {
		return padding
	}
	return 0
}

func (l *layout) head(b *box) int {
	h := 0
	if b.framed() {
		h = headHeight + len(b.almost)*almostHeight
		if l.summarised && len(b.keys()) > 0 {
			h += keysHeight
		}
	}
	return h
}

// inner is the width for what is inside a domain.
func (b *box) inner(width int) int { return width - 2*b.side() - b.trunk() }

// narrowest is the least width of a box.
func (l *layout) narrowest(b *box) int {
	if b.node != nil {
		w, _ := l.nodeSize(b)
		return w
	}
	w := narrowestBox
	for _, inside := range b.domains {
		w = max(w, l.narrowest(inside))
	}
	for _, inside := range b.nodes {
		w = max(w, l.narrowest(inside))
	}
	return w + 2*b.side() + b.trunk()
}

// columns is into how many columns the domains inside are laid so that the box is
// lowest, and how high they are then.
func (l *layout) columns(b *box, width int) (columns, height int) {
	for c := 1; c <= min(mostColumns, len(b.domains)); c++ {
		w := (b.inner(width) - (c-1)*gap) / c
		total := 0
		for from := 0; from < len(b.domains); from += c {
			highest := 0
			for _, inside := range b.domains[from:min(from+c, len(b.domains))] {
				if c > 1 && l.narrowest(inside) > w {
					return columns, height
				}
				highest = max(highest, l.height(inside, w))
			}
			total += b.stripHeight(b.domains[from:min(from+c, len(b.domains))]) + highest + gap
		}
		if c == 1 || total < height {
			columns, height = c, total
		}
	}
	return columns, height
}

// height is that of a domain of a width.
func (l *layout) height(b *box, width int) int {
	if h, ok := l.heights[sized{b, width}]; ok {
		return h
	}
	_, h := l.columns(b, width)
	for _, shelf := range l.shelves(b, width) {
		highest := 0
		for _, n := range shelf {
			_, nh := l.nodeSize(n)
			highest = max(highest, nh)
		}
		h += b.stripHeight(shelf) + highest + l.nodeGap()
	}
	h += l.head(b) + b.side()
	l.heights[sized{b, width}] = h
	return h
}

func (l *layout) nodeGap() int {
	if l.summarised {
		return 5
	}
	return nodeSpace
}

// shelves parts the nodes directly inside a domain into rows.
func (l *layout) shelves(b *box, width int) (shelves [][]*box) {
	left := -1
	for _, n := range b.nodes {
		w, _ := l.nodeSize(n)
		if left -= w + l.nodeGap(); left < 0 {
			shelves = append(shelves, nil)
			left = b.inner(width) - w
		}
		shelves[len(shelves)-1] = append(shelves[len(shelves)-1], n)
	}
	return shelves
}

// place gives a domain and all that is inside its place.
func (l *layout) place(b *box, x, y, width int) {
	b.x, b.y, b.w, b.h, b.rows = x, y, width, l.height(b, width), nil
	left := x + b.side() + b.trunk()
	at := y + l.head(b)
	columns, _ := l.columns(b, width)
	for from := 0; from < len(b.domains); from += max(1, columns) {
		r := row{boxes: b.domains[from:min(from+columns, len(b.domains))], strip: at}
		at += b.stripHeight(r.boxes)
		w := (b.inner(width) - (columns-1)*gap) / columns
		highest := 0
		for i, inside := range r.boxes {
			l.place(inside, left+i*(w+gap), at, w)
			highest = max(highest, inside.h)
		}
		for _, inside := range r.boxes {
			inside.h = highest // frames end together
		}
		at += highest + gap
		b.rows = append(b.rows, r)
	}
	for _, shelf := range l.shelves(b, width) {
		r := row{boxes: shelf, strip: at}
		at += b.stripHeight(shelf)
		nx, highest := left, 0
		for _, n := range shelf {
			n.x, n.y = nx, at
			n.w, n.h = l.nodeSize(n)
			nx += n.w + l.nodeGap()
			highest = max(highest, n.h)
		}
		for _, n := range shelf {
			n.h = highest
		}
		at += highest + l.nodeGap()
		b.rows = append(b.rows, r)
	}
}

// A spot is where a device is in its node, from the node's corner.
type spot struct{ x, y, row, column int }

// spots places the devices of a node: a socket is a row, devices of one PCIe switch
// stand close together.
func (b *box) spots() (spots []spot, rows int) {
	rowOf := make(map[int]int) // socket → its last row
	filled := make(map[int]int)
	edge := make(map[int]int)
	last := make(map[int]int)
	spots = make([]spot, len(b.devices))
	for d := range b.devices {
		socket := b.socket(d)
		r, ok := rowOf[socket]
		if !ok || filled[r] == widestRow {
			r = rows
			rowOf[socket] = r
			rows++
		}
		x := nodePadding
		if filled[r] > 0 {
			x = edge[r] + farGap
			if s := b.pcie(d); s != 0 && s == last[r] {
				x = edge[r] + nearGap
			}
		}
		spots[d] = spot{x: x, y: nodeHead + b.arcs() + r*(deviceSize+rowGap), row: r, column: filled[r]}
		filled[r]++
		edge[r], last[r] = x+deviceSize, b.pcie(d)
	}
	return spots, rows
}

// arcs is the height of the links that pass over other devices of their row.
func (b *box) arcs() int {
	if b.switched() || len(b.links) == 0 || len(b.devices) <= 4 {
		return 0
	}
	return 20
}

// nodeSize is the size of a node by itself.
func (l *layout) nodeSize(b *box) (w, h int) {
	if l.summarised {
		return cellSize, cellSize
	}
	spots, rows := b.spots()
	w = 2*nodePadding + max(deviceSize, min(boldWidth(b.name, 20), 110))
	for _, s := range spots {
		w = max(w, s.x+deviceSize+nodePadding)
	}
	if tag := b.tag(); tag != "" {
		w = max(w, 2*nodePadding+14+min(boldWidth(b.name, 20), 120)+width(tag, 20))
	}
	h = nodeHead + 2*b.arcs() + nodePadding + rows*(deviceSize+rowGap) - cmp.Compare(rows, 0)*rowGap
	if rows == 1 && b.switched() {
		h += rowGap // the switch is below
	}
	return w, h
}

// tag is the state of a node in a word.
func (b *box) tag() string {
	switch {
	case b.node.Lost:
		return "lost"
	case b.node.Cordoned:
		return "cordoned"
	}
	return ""
}
