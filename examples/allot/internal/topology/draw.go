package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot/internal/prose"
)

// A canvas is a picture so far.
type canvas struct {
	strings.Builder
	*scene
	// at is where the next thing of a column goes.
	at int
}

// put writes an element of the picture.
func (c *canvas) put(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

// text writes a text of a class.
func (c *canvas) text(class string, x, y int, text string) {
	c.put(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, escape(text))
}

// picture is what the program prints.
func picture(s *scene, o *Options) string {
	cluster, height := s.drawCluster(o.Title)
	legend, legendHeight := s.drawLegend()
	switch {
	case o.Page:
		return page(o.Title, o.Nav, svg(o.Title, columnWidth, height, style()+cluster), svg("The workloads", columnWidth, legendHeight, legend))
	case o.Wide:
		return svg(o.Title, 2*columnWidth, max(height, legendHeight), style()+cluster+fmt.Sprintf("<g transform=\"translate(%d 0)\">\n%s</g>\n", columnWidth, legend))
	}
	return svg(o.Title, columnWidth, height+legendHeight, style()+cluster+fmt.Sprintf("<g transform=\"translate(0 %d)\">\n%s</g>\n", height, legend))
}

// svg is a whole picture. Its natural size is two units a pixel.
func svg(title string, w, h int, inside string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" style="max-width:100%%;height:auto" role="img" aria-label="%s">
<title>%s</title>
%s</svg>
`, w, h, w/2, h/2, escape(title), escape(title), inside)
}

// page holds the cluster and the legend side by side, or one below the other where
// the screen is narrow.
func page(title, nav, cluster, legend string) string {
	return fmt.Sprintf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
:root{color-scheme:light dark}
body{margin:0;background:#fff}
main{display:flex;flex-wrap:wrap;justify-content:center;align-items:flex-start;max-width:1360px;margin:auto}
main>svg,.zoom,.beside{flex:1 1 440px;min-width:0;max-width:680px!important}
.zoom>svg,.beside svg{width:100%%}.sheet{display:none}.sheet:target{display:block}.beside{position:sticky;top:0;max-height:100vh;overflow-y:auto}
p,h2,details,.names,.site{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;color:#1c2126;margin:8px}h2{font-weight:700;font-size:18px;overflow-wrap:anywhere}a{color:#0b5cad}
.names{columns:220px;padding:0;list-style:none;overflow-wrap:anywhere}.hint{margin:12px 8px 0}.site a{margin-right:16px}
@media (max-width:880px){main>svg,.zoom,.beside{flex-basis:100%%}.beside{position:static;max-height:none;order:-1}.beside>svg{display:none}.zoom+.beside:not(:has(:target))>svg{display:block}.zoom+.beside:not(:has(:target)){order:1}}
@media (prefers-color-scheme:dark){body{background:#0f1318}p,h2,details,.names,.site{color:#e8ecf0}a{color:#74aef5}}
</style>
</head>
<body>
%s<main>
%s%s</main>
</body>
</html>
`, escape(title), nav, cluster, legend)
}

// drawCluster draws the heading and the boxes and returns how high they are.
func (s *scene) drawCluster(title string) (drawn string, height int) {
	c := &canvas{scene: s}
	c.at = margin + 34
	c.text("t", margin, c.at, cut(title, 40, columnWidth-2*margin))
	for _, line := range s.summary() {
		for _, l := range wrap(line, 23, columnWidth-2*margin) {
			c.at += 32
			c.text("p q", margin, c.at, l)
		}
	}
	c.at += 20
	l := &layout{summarised: s.summarised, heights: make(map[sized]int)}
	l.place(s.root, margin, c.at, max(columnWidth-2*margin, l.narrowest(s.root)))
	c.domain(s.root, 0)
	c.rails(s.root)
	c.chips(s.root)
	for _, n := range s.nodes {
		if s.summarised {
			continue
		}
		c.node(n)
	}
	if s.summarised {
		c.cells()
	}
	c.at += s.root.h + margin
	c.signs()
	return c.String(), c.at
}

// summary says in words what there is.
func (s *scene) summary() []string {
	idle, all := s.root.idle()
	var count [roles]int
	shown := 0
	for _, w := range s.works {
		count[w.role]++
	}
	text := fmt.Sprintf("%s, %s, of which %d stay idle", prose.Count(len(s.nodes), "node"), prose.Count(all, "GPU"), idle)
	for r, verb := range [roles]string{"start", "wait", "evicted", "changed", "run on"} {
		if count[r] > 0 {
			text += fmt.Sprintf("%s %d %s", [...]string{";", ","}[min(shown, 1)], count[r], verb)
			shown++
		}
	}
	lines := []string{text + ". Drawn as it is when the plan is carried out."}
	if s.summarised {
		lines = append(lines, fmt.Sprintf("Summarised, for there are more than %d nodes: a cell is a node, filled by the colours of the queues that use it. 3/8: 3 of 8 GPUs are idle.", most))
	}
	if s.unlit > 0 {
		lines = append(lines, "The links of "+prose.Count(s.unlit, "further gang")+" are not drawn.")
	}
	return lines
}

// domain draws the frames of a domain and of those inside.
func (c *canvas) domain(b *box, depth int) {
	if b.framed() {
		c.frame(b, depth)
	}
	for _, inside := range b.domains {
		c.domain(inside, depth+1)
	}
}

// frame draws the frame of a domain with its name and what is idle.
func (c *canvas) frame(b *box, depth int) {
	if sheet, ok := c.sheets[b.path()]; ok {
		c.put(`<a href="#sheet-%d">`, sheet)
		defer c.put(`</a>`)
	}
	c.put(`<rect class="f%d" x="%d" y="%d" width="%d" height="%d" rx="14"/>`, depth%2, b.x, b.y, b.w, b.h)
	left := b.x + padding + b.trunk()
	right := b.x + b.w - padding
	name, figures := b.heading(right - left)
	c.text("d", left, b.y+29, cut(name, 27, right-left))
	if figures != "" {
		c.text("i q e", right, b.y+29, figures)
	}
	y := b.y + headHeight
	for _, text := range b.almost {
		c.put(`<rect class="w" x="%d" y="%d" width="18" height="18" rx="4"/>`, left+1, y+2)
		c.text("i", left+28, y+18, cut(text, 20, right-left-28))
		y += almostHeight
	}
	if c.summarised {
		c.keys(b, left, right, y)
	}
}

// heading is a domain's name and what of it is idle, as far as there is room.
func (b *box) heading(room int) (name, figures string) {
	idle, all := b.idle()
	full := strings.TrimSpace(b.level + " " + b.name)
	for _, name := range []string{full, b.name} {
		for _, format := range []string{"%d of %d GPUs idle", "%d of %d idle", "%d/%d"} {
			figures = fmt.Sprintf(format, idle, all)
			if boldWidth(name, 24)+width(figures, 20)+20 <= room {
				return name, figures
			}
		}
	}
	return b.name, ""
}

// keys are the workloads on the cells of a domain that are on several nodes: those have
// letters in a summary.
func (b *box) keys() (on []*work) {
	seen := make(map[*work]bool)
	for _, n := range b.nodes {
		for i := range n.devices {
			for _, p := range n.devices[i].parts {
				if len(p.of.nodes) > 1 && !seen[p.of] {
					seen[p.of] = true
					on = append(on, p.of)
				}
			}
		}
	}
	return on
}

// keys writes the letters of those on the cells of a domain, as far as there is room.
func (c *canvas) keys(b *box, left, right, y int) {
	on := b.keys()
	for i, w := range on {
		wide := chipWidth(w)
		if left+wide+4+30 > right && i+1 < len(on) {
			c.text("i q", left, y+20, "…")
			return
		}
		c.chip(w, left+wide/2, y+12)
		left += wide + 4
	}
}

// chipWidth is how wide the ground of a workload's letters is.
func chipWidth(w *work) int { return max(28, 12*len(w.key)+8) }

// chip writes a workload's letters on a round ground, its middle given.
func (c *canvas) chip(w *work, x, y int) {
	wide := chipWidth(w)
	c.put(`<rect class="c%d ch" x="%d" y="%d" width="%d" height="28" rx="14"/>`, w.colour%len(hues), x-wide/2, y-14, wide)
	c.put(`<text class="%s k%d" x="%d" y="%d">%s</text>`, chipClass(w), w.colour%len(hues), x, y+6, w.key)
}

// trunkX is where a gang comes into a domain.
func (b *box) trunkX(w *work) int {
	return b.x + b.side() + slices.Index(b.lanes, w)*laneHeight + laneHeight/2
}

// laneY is the height of a gang's lane above a row.
func (b *box) laneY(r *row, w *work) int {
	return r.strip + slices.Index(b.lanes, w)*laneHeight + laneHeight/2
}

// ends lists where a gang's lane above a row goes down: into domains by their
// trunk, into nodes at their top.
func (b *box) ends(r *row, w *work) (xs []int, to []*box) {
	for _, inside := range r.boxes {
		switch {
		case slices.Contains(w.stops, inside):
			i := slices.Index(b.lanes, w)
			xs = append(xs, inside.x+min(14+i*laneHeight, inside.w-6))
			to = append(to, inside)
		case inside.has(w):
			xs = append(xs, inside.trunkX(w))
			to = append(to, inside)
		}
	}
	return xs, to
}

// rails draws the links of gangs in a domain and in those inside.
func (c *canvas) rails(b *box) {
	for _, w := range b.lanes {
		var d strings.Builder
		first, last, used := 0, 0, 0
		for i := range b.rows {
			r := &b.rows[i]
			xs, to := b.ends(r, w)
			if len(xs) == 0 {
				continue
			}
			y := b.laneY(r, w)
			if used == 0 {
				first = y
			}
			last = y
			used++
			fmt.Fprintf(&d, "M%d %dH%d", b.laneFrom(w, xs), y, slices.Max(xs))
			for i, x := range xs {
				down := to[i].y
				if !slices.Contains(w.stops, to[i]) {
					down = to[i].entry(w)
				}
				fmt.Fprintf(&d, "M%d %dV%d", x, y, down)
			}
		}
		if used > 1 {
			fmt.Fprintf(&d, "M%d %dV%d", b.trunkX(w), first, last)
		}
		c.put(`<path class="r r%d" d="%s"/>`, w.colour%len(hues), d.String())
	}
	for _, inside := range b.domains {
		c.rails(inside)
	}
}

// laneFrom is where a gang's lane above a row begins: at the trunk, if that leads to
// it, else where the first box is to which it goes down.
func (b *box) laneFrom(w *work, xs []int) int {
	if b == w.common && b.usedRows(w) == 1 {
		return slices.Min(xs)
	}
	return b.trunkX(w)
}

// usedRows counts the rows of a domain in which a gang is.
func (b *box) usedRows(w *work) int {
	n := 0
	for i := range b.rows {
		if xs, _ := b.ends(&b.rows[i], w); len(xs) > 0 {
			n++
		}
	}
	return n
}

// entry is how deep a gang's link comes into a domain from above: to its first row.
func (b *box) entry(w *work) int {
	for i := range b.rows {
		if xs, _ := b.ends(&b.rows[i], w); len(xs) > 0 {
			return b.laneY(&b.rows[i], w)
		}
	}
	return b.y
}

// chips writes the letters of the gangs onto their links, in the domain that holds
// the gang.
func (c *canvas) chips(b *box) {
	for i, w := range b.lanes {
		if b != w.common {
			continue
		}
		longest, x, y := -1, 0, 0
		for j := range b.rows {
			r := &b.rows[j]
			xs, _ := b.ends(r, w)
			if len(xs) == 0 {
				continue
			}
			from, to := b.laneFrom(w, xs), slices.Max(xs)
			if to-from > longest {
				longest, x, y = to-from, (from+to)/2+(2*i-len(b.lanes)+1)*16, b.laneY(r, w)
				x = max(from, min(x, to))
			}
		}
		c.chip(w, x, y)
	}
	for _, inside := range b.domains {
		c.chips(inside)
	}
}

// chipClass is that of a letter on a round ground: of several the letters are small.
func chipClass(w *work) string {
	if len(w.key) > 1 {
		return "m"
	}
	return "v"
}
