package topology

import (
	"cmp"
	"slices"
	"strings"
)

// cells draws all nodes small: of each the parts of its devices that a queue uses, one
// above the other, in the queue's colour.
func (c *canvas) cells() {
	for _, b := range c.nodes {
		if sheet, ok := c.sheets[b.parent.path()]; ok {
			c.put(`<a href="#sheet-%d" tabindex="-1"><title>%s</title>`, sheet, escape(b.about()))
		} else {
			c.put(`<g><title>%s</title>`, escape(b.about()))
		}
		c.put(`<path class="nd" style="stroke-width:1" d="M%d %dh%dv%dh-%dz"/>`, b.x, b.y, cellSize, cellSize, cellSize)
		bottom := b.y + cellSize
		fresh, left, broken := false, false, b.tag() != ""
		type band struct {
			colour int
			milli  int64
		}
		var bands []band
		for i := range b.devices {
			left = left || b.devices[i].left
			broken = broken || b.node.Devices[i].Unhealthy
			for _, p := range b.devices[i].parts {
				fresh = fresh || p.fresh
				at := slices.IndexFunc(bands, func(o band) bool { return o.colour == p.of.colour })
				if at < 0 {
					at = len(bands)
					bands = append(bands, band{colour: p.of.colour})
				}
				bands[at].milli += p.milli
			}
		}
		slices.SortFunc(bands, func(a, b band) int { return cmp.Compare(a.colour, b.colour) })
		var used int64
		for _, o := range bands {
			used += o.milli
			// Rounded from the whole, so that what is full looks full.
			top := b.y + cellSize - int(min(used*cellSize/int64(1000*len(b.devices)), cellSize))
			top = max(b.y, min(top, bottom-2))
			if bottom > top {
				c.put(`<path class="c%d" d="M%d %dh%dv%dh-%dz"/>`, o.colour%len(hues), b.x, top, cellSize, bottom-top, cellSize)
			}
			bottom = top
		}
		if fresh {
			c.put(`<path class="new" style="stroke-width:3" d="M%d %dh%dv%dh-%dz"/>`, b.x, b.y, cellSize, cellSize, cellSize)
		}
		if left {
			c.put(`<path class="tri" d="M%d %dh-9l9 9z"/>`, b.x+cellSize, b.y)
		}
		if broken {
			c.put(`<path class="x" style="stroke-width:2" d="M%d %dl12 12m0 -12l-12 12"/>`, b.x+4, b.y+4)
		}
		if _, ok := c.sheets[b.parent.path()]; ok {
			c.put(`</a>`)
		} else {
			c.put(`</g>`)
		}
	}
}

// sheet is a domain by itself, with every device.
func (s *scene) sheet(b *box, o *Options) string {
	cluster, height := s.drawSheet(b)
	if !o.Page {
		return svg(o.Title, columnWidth, height, style()+cluster)
	}
	return page(o.Title, o.Nav, svg(o.Title, columnWidth, height, style()+cluster), s.names(b))
}

// drawSheet draws a domain and returns how high it is.
func (s *scene) drawSheet(b *box) (drawn string, height int) {
	c := &canvas{scene: s, at: margin}
	l := &layout{heights: make(map[sized]int)}
	l.place(b, margin, c.at, max(columnWidth-2*margin, l.narrowest(b)))
	c.domain(b, 0)
	c.rails(b)
	c.chips(b)
	for _, n := range s.nodes {
		if b.holds(n) {
			c.node(n)
		}
	}
	return c.String(), c.at + b.h + margin
}

// names are the workloads of a domain with their letters, as a list in HTML.
func (s *scene) names(b *box) string {
	var out strings.Builder
	out.WriteString(`<ul class="names">`)
	seen := make(map[*work]bool)
	var on []*work
	for _, n := range s.nodes {
		if !b.holds(n) {
			continue
		}
		for i := range n.devices {
			for _, p := range n.devices[i].parts {
				if !seen[p.of] {
					seen[p.of] = true
					on = append(on, p.of)
				}
			}
		}
	}
	slices.SortFunc(on, func(a, b *work) int {
		return cmp.Or(cmp.Compare(len(a.key), len(b.key)), cmp.Compare(a.key, b.key))
	})
	for _, w := range on {
		out.WriteString("<li><b>" + w.key + "</b> " + escape(w.called()) + "</li>\n")
	}
	out.WriteString("</ul>\n")
	return out.String()
}
