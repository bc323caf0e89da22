package topology

import (
	"fmt"
	"slices"
	"strings"
)

// node draws a node with its devices and their links.
func (c *canvas) node(b *box) {
	c.put(`<g><title>%s</title>`, escape(b.about()))
	off := ""
	if b.tag() != "" {
		off = " off"
	}
	c.put(`<rect class="nd%s" x="%d" y="%d" width="%d" height="%d" rx="9"/>`, off, b.x, b.y, b.w, b.h)
	room := b.w - 2*nodePadding
	if tag := b.tag(); tag != "" {
		c.text("i q e", b.x+b.w-nodePadding, b.y+24, tag)
		room -= width(tag, 20) + 6
	}
	c.text("n", b.x+nodePadding, b.y+24, cut(b.name, 22, room))
	spots, rows := b.spots()
	if b.switched() {
		c.bus(b, spots, rows)
	} else {
		c.links(b, spots)
	}
	for d := range b.devices {
		c.device(b, d, b.x+spots[d].x, b.y+spots[d].y)
	}
	c.put(`</g>`)
}

// about names a node and what it is.
func (b *box) about() string {
	words := []string{b.name}
	if b.parent.parent != nil {
		words = append(words, b.parent.path())
	}
	if b.node.Hardware != "" {
		words = append(words, b.node.Hardware)
	}
	if len(b.node.Devices) > 0 && b.node.Devices[0].Model != "" {
		words = append(words, b.node.Devices[0].Model)
	}
	text := strings.Join(words, ", ")
	var on []*work
	for i := range b.devices {
		for _, p := range b.devices[i].parts {
			if !slices.Contains(on, p.of) {
				on = append(on, p.of)
			}
		}
	}
	for i, w := range on {
		if i == titleWorks && len(on) > titleWorks+1 {
			return text + fmt.Sprintf("\nand %d more", len(on)-i)
		}
		text += "\n" + strings.TrimSpace(w.key+" "+w.called())
	}
	return text
}

// titleWorks is how many workloads a node names when it is pointed at.
const titleWorks = 12

// on says whether a workload is on a device.
func (d *device) on(w *work) bool {
	return slices.ContainsFunc(d.parts, func(p part) bool { return p.of == w })
}

// joined lists the workloads that are on several devices of a node.
func (b *box) joined() (works []*work) {
	seen := make(map[*work]int)
	for i := range b.devices {
		for _, p := range b.devices[i].parts {
			seen[p.of]++
			if seen[p.of] == 2 {
				works = append(works, p.of)
			}
		}
	}
	return works
}

// bus draws an NVSwitch as a line to which every device is joined, and lights for
// every workload the part that it uses.
func (c *canvas) bus(b *box, spots []spot, rows int) {
	y := b.y + nodeHead + deviceSize + rowGap/2
	var all strings.Builder
	low, high := b.w, 0
	for d, s := range spots {
		if b.alone(d) {
			continue
		}
		x := s.x + deviceSize/2
		low, high = min(low, x), max(high, x)
		fmt.Fprintf(&all, "M%d %dV%d", b.x+x, b.y+s.y+deviceSize/2, y)
	}
	if low > high {
		return
	}
	fmt.Fprintf(&all, "M%d %dH%d", b.x+low, y, b.x+high)
	c.put(`<path class="l l2" d="%s"/>`, all.String())
	works := b.joined()
	for i, w := range works {
		lane := y + (2*i-len(works)+1)*5
		var d strings.Builder
		low, high := b.w, 0
		for at, s := range spots {
			if !b.devices[at].on(w) || b.alone(at) {
				continue
			}
			x := s.x + deviceSize/2
			low, high = min(low, x), max(high, x)
			fmt.Fprintf(&d, "M%d %dV%d", b.x+x, b.y+s.y+deviceSize/2, lane)
		}
		if low <= high {
			fmt.Fprintf(&d, "M%d %dH%d", b.x+low, lane, b.x+high)
			c.put(`<path class="l lit r%d" d="%s"/>`, w.colour%len(hues), d.String())
		}
	}
	c.down(b, spots)
}

// alone says whether no NVLink that is up joins a device.
func (b *box) alone(device int) bool {
	for _, l := range b.links {
		if int(l.A) == device || int(l.B) == device {
			return false
		}
	}
	return true
}

// links draws NVLinks that join devices pair by pair: first all, then those that
// are lit above them.
func (c *canvas) links(b *box, spots []spot) {
	for _, l := range b.links {
		class := "l"
		if l.NVLinks > 1 {
			class = "l l2"
		}
		c.put(`<path class="%s" d="%s"/>`, class, b.link(spots, int(l.A), int(l.B)))
	}
	for _, w := range b.joined() {
		var d strings.Builder
		for _, l := range b.links {
			if b.devices[l.A].on(w) && b.devices[l.B].on(w) {
				d.WriteString(b.link(spots, int(l.A), int(l.B)))
			}
		}
		if d.Len() > 0 {
			c.put(`<path class="l lit r%d" d="%s"/>`, w.colour%len(hues), d.String())
		}
	}
	c.down(b, spots)
}

// down draws the links that should be up. Where many are, their devices say it.
func (c *canvas) down(b *box, spots []spot) {
	for _, l := range b.down {
		c.put(`<path class="l l2 dn" d="%s"/>`, b.link(spots, int(l.A), int(l.B)))
	}
}

// link is the path of a link between two devices: straight to a neighbour, in an
// arc over what stands between, outside of the rows.
func (b *box) link(spots []spot, from, to int) string {
	one, other := spots[from], spots[to]
	x1, x2 := b.x+one.x+deviceSize/2, b.x+other.x+deviceSize/2
	y1, y2 := b.y+one.y+deviceSize/2, b.y+other.y+deviceSize/2
	apart := max(one.column-other.column, other.column-one.column)
	if one.row != other.row || apart == 1 {
		return fmt.Sprintf("M%d %dL%d %d", x1, y1, x2, y2)
	}
	side := -1
	if one.row > 0 {
		side = 1
	}
	edge := y1 + side*deviceSize/2
	reach := edge + side*(apart*14-16)
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, edge, x1, reach, x2, reach, x2, edge)
}

// device draws a device: what is on it from the bottom up, and its state.
func (c *canvas) device(b *box, d, x, y int) {
	v, of := &b.devices[d], &b.node.Devices[d]
	const size = deviceSize
	c.put(`<rect class="g" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y, size, size)
	bottom, fresh := y+size, false
	for _, p := range v.parts {
		h := int(min(p.milli, 1000)) * size / 1000
		h = max(4, min(h, bottom-y))
		bottom -= h
		c.part(p.of, x, bottom, size, h)
		fresh = fresh || p.fresh
	}
	if of.Foreign > 0 && bottom > y {
		h := min(bottom-y, max(6, int(of.Foreign)*size/1000))
		c.put(`<path class="h" d="%s"/>`, hatch(x+2, bottom-h, size-4, h))
	}
	if fresh {
		c.ring(x, y)
	}
	if v.left {
		c.notch(x, y)
	}
	switch {
	case of.Unhealthy || b.node.Lost:
		c.put(`<path class="x" d="M%d %dl%d %dm0 -%dl-%d %d"/>`, x+9, y+9, size-18, size-18, size-18, size-18, size-18)
	case b.node.Cordoned && len(v.parts) == 0:
		c.put(`<path class="h" d="%s"/>`, hatch(x+2, y+2, size-4, size-4))
	}
}

// part draws a workload's part of a device, with its letter where that has room.
func (c *canvas) part(w *work, x, y, wide, high int) {
	hue := w.colour % len(hues)
	c.put(`<rect class="c%d" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, hue, x, y, wide, high, min(6, high/2))
	if d := stripes(w.colour/len(hues), x, y, wide, high); d != "" {
		c.put(`<path class="st" d="%s"/>`, d)
	}
	c.put(`<rect class="o" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x, y, wide, high, min(6, high/2))
	class, down := "k", 8
	switch {
	case len(w.key) > 2:
		class, down = "z", 5
	case len(w.key) > 1 || high < 22:
		class, down = "m", 5
	}
	if high >= 15 {
		c.put(`<text class="%s k%d" x="%d" y="%d">%s</text>`, class, hue, x+wide/2, y+high/2+down, w.key)
	}
}

// stripes tell colours apart that have come round again: none, lying, standing,
// and none again.
func stripes(round, x, y, wide, high int) string {
	var d strings.Builder
	switch round % 3 {
	case 1:
		for at := 5; at < high; at += 8 {
			fmt.Fprintf(&d, "M%d %dh%d", x, y+at, wide)
		}
	case 2:
		for at := 5; at < wide; at += 8 {
			fmt.Fprintf(&d, "M%d %dv%d", x+at, y, high)
		}
	}
	return d.String()
}

// hatch is slanted lines in a box.
func hatch(x, y, wide, high int) string {
	var d strings.Builder
	for at := 8; at < wide+high; at += 10 {
		// From the left or lower side up to the upper or right one.
		x1, y1 := max(0, at-high), min(at, high)
		x2, y2 := min(at, wide), max(0, at-wide)
		fmt.Fprintf(&d, "M%d %dL%d %d", x+x1, y+y1, x+x2, y+y2)
	}
	return d.String()
}

// ring marks a device on which the plan starts something.
func (c *canvas) ring(x, y int) {
	c.put(`<rect class="new" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, x+1, y+1, deviceSize-2, deviceSize-2)
}

// notch marks a device that the plan took from somebody.
func (c *canvas) notch(x, y int) {
	c.put(`<path class="tri" d="M%d %dh-15l15 15z"/>`, x+deviceSize+2, y-2)
}
