package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/internal/prose"
)

// legendMost is how many workloads of one role the legend lists.
const legendMost = 24

// drawLegend draws the workloads by role and returns how high they are.
func (s *scene) drawLegend() (drawn string, height int) {
	c := &canvas{scene: s, at: margin}
	for r := range roles {
		var works []*work
		for _, w := range s.works {
			if w.role == r {
				works = append(works, w)
			}
		}
		if len(works) == 0 {
			continue
		}
		c.at += 34
		c.text("s", margin, c.at, fmt.Sprintf("%s (%d)", roleTitles[r], len(works)))
		c.at += 6
		for _, w := range works[:min(len(works), legendMost)] {
			c.entry(w)
		}
		if more := len(works) - legendMost; more > 0 {
			c.at += 34
			c.text("p q", margin+entryIndent, c.at, fmt.Sprintf("and %d more", more))
		}
		c.at += 22
	}
	return c.String(), c.at
}

const entryIndent = 54

// entry is a workload of the legend.
func (c *canvas) entry(w *work) {
	c.at += 14
	x, y := margin, c.at
	switch {
	case w.key != "":
		c.put(`<rect class="g" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y, deviceSize, deviceSize)
		c.part(w, x, y, deviceSize, deviceSize)
		if w.role == started {
			c.ring(x, y)
		}
	case w.role == evicted:
		c.put(`<rect class="g" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y, deviceSize, deviceSize)
		c.notch(x, y)
	case w.role == waiting:
		c.put(`<rect class="w" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x+1, y+1, deviceSize-2, deviceSize-2)
	default:
		c.text("b c q", x+deviceSize/2, y+26, "–") // it has no device
	}
	const room = columnWidth - 2*margin - entryIndent
	name := w.ID
	if w.Queue != "" && !strings.HasPrefix(w.ID, w.Queue+"/") {
		name += " (" + w.Queue + ")"
	}
	c.at += 26
	c.text("b", x+entryIndent, c.at, cut(name, 28, room))
	c.lines("p q", w.asks()+w.where(), x+entryIndent, room)
	for _, what := range w.what[:min(len(w.what), reasonsShown)] {
		c.lines("p", what, x+entryIndent, room)
	}
	c.at = max(c.at, y+deviceSize) + 6
}

// lines writes a text that may need several lines.
func (c *canvas) lines(class, text string, x, room int) {
	for _, line := range wrap(text, 23, room) {
		c.at += 30
		c.text(class, x, c.at, line)
	}
}

// asks says what the workload asks for.
func (w *work) asks() string {
	topology, groups := w.Topology, w.Groups
	if w.Form > 0 && w.Form <= len(w.Alternatives) {
		topology, groups = w.Alternatives[w.Form-1].Topology, w.Alternatives[w.Form-1].Groups
	}
	var sets []string
	var words []string
	for i := range w.sets() {
		set := &w.sets()[i]
		text := fmt.Sprintf("%d × %s", set.Count, gpus(&set.Request.GPU))
		if set.Name != "" {
			text = set.Name + " " + text
		}
		sets = append(sets, text)
		own := constraint(&set.Topology)
		if k := set.Request.GPU.Island.String(); k != "any" {
			own = append(own, "each on one "+strings.Replace(k, "nvlink", "NVLink", 1)+" island")
		}
		if set.Name != "" && len(own) > 0 && len(w.sets()) > 1 {
			own[0] = set.Name + ": " + own[0]
		}
		words = append(words, own...)
	}
	for i := range groups {
		if own := constraint(&groups[i].Topology); len(own) > 0 {
			words = append(words, groups[i].Name+": "+strings.Join(own, ", "))
		}
	}
	words = append(constraint(&topology), words...)
	text := strings.Join(sets, " + ")
	if len(words) > 0 {
		text += "; " + strings.Join(words, ", ")
	}
	return text
}

// gpus is what one task asks of devices.
func gpus(r *allot.GPURequest) string {
	n := max(1, r.Count)
	switch {
	case r.Memory > 0:
		return fmt.Sprintf("%d MiB of %s", r.Memory>>20, prose.Count(n, "GPU"))
	case r.Milli > 0 && r.Milli < 1000 && n == 1:
		return strings.TrimRight(fmt.Sprintf("0.%03d", r.Milli), "0") + " GPU"
	case r.Milli > 0 && r.Milli < 1000:
		return strings.TrimRight(fmt.Sprintf("%d × 0.%03d", n, r.Milli), "0") + " GPU"
	case r.Count == 0 && r.Milli == 0:
		return "no GPU"
	}
	return prose.Count(n, "GPU")
}

// constraint is a constraint of the topology in words.
func constraint(t *allot.Topology) (words []string) {
	if t.Required != "" {
		words = append(words, "one "+t.Required+" required")
	}
	if t.Preferred != "" && t.Preferred != t.Required {
		words = append(words, "one "+t.Preferred+" preferred")
	}
	if mode := t.Mode.String(); mode != "pack" {
		words = append(words, map[string]string{"balance": "balanced", "spread": "spread"}[mode])
	}
	for _, slice := range t.Slices {
		words = append(words, fmt.Sprintf("every %d in one %s", slice.Size, slice.Level))
	}
	return words
}

// where says where the workload is in the end, or was.
func (w *work) where() string {
	nodes := slices.Concat(w.nodes, w.beside)
	switch {
	case len(nodes) == 0:
		return w.was()
	case len(nodes) == 1 || len(w.nodes) == 0:
		return "; on " + nodes[0].name
	}
	return fmt.Sprintf("; on %d nodes of %s", len(w.nodes), w.common.path())
}

// was names the nodes that the workload had to leave.
func (w *work) was() string {
	var names []string
	for _, p := range w.left {
		if !slices.Contains(names, p.Node) {
			names = append(names, p.Node)
		}
	}
	if len(names) > 4 {
		return fmt.Sprintf("; was on %d nodes", len(names))
	}
	if len(names) == 0 {
		return ""
	}
	return "; was on " + strings.Join(names, ", ")
}

// signs explains what colours do not.
func (c *canvas) signs() {
	texts := []string{"idle", "started by the plan", "in parts", "freed by the plan", "used by others, cordoned", "unhealthy or lost"}
	if c.summarised {
		c.tickSigns()
		return
	}
	for i, text := range texts {
		x, y := margin+i%2*columnWidth/2, c.at+i/2*48
		c.put(`<rect class="g" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y, deviceSize, deviceSize)
		switch i {
		case 1:
			c.ring(x, y)
		case 2:
			c.put(`<rect class="c0" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y+deviceSize/2, deviceSize, deviceSize/2)
			c.put(`<rect class="c1" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, x, y+deviceSize/4, deviceSize, deviceSize/4)
		case 3:
			c.notch(x, y)
		case 4:
			c.put(`<path class="h" d="%s"/>`, hatch(x+2, y+2, deviceSize-4, deviceSize-4))
		case 5:
			c.put(`<path class="x" d="M%d %dl16 16m0 -16l-16 16"/>`, x+9, y+9)
		}
		c.text("p", x+entryIndent, y+26, text)
	}
	c.at += (len(texts) + 1) / 2 * 48
	c.put(`<path class="l l2" d="M%d %dh34"/>`, margin, c.at+16)
	c.text("p", margin+entryIndent, c.at+24, "NVLink, or NVSwitch")
	c.put(`<path class="l lit r0" d="M%d %dh34"/>`, margin+columnWidth/2, c.at+16)
	c.text("p", margin+columnWidth/2+entryIndent, c.at+24, "links that a gang uses")
	c.at += 48
}

// tickSigns explains the ticks of tiles.
func (c *canvas) tickSigns() {
	for i, text := range []string{"idle", "started by the plan", "unhealthy, cordoned or lost"} {
		x, y := margin+[]int{0, 160, 480}[i], c.at
		class := []string{"g", "c0", "x"}[i]
		c.put(`<rect class="%s" style="stroke-width:2" x="%d" y="%d" width="14" height="%d"/>`, class, x, y, deviceSize)
		if i == 1 {
			c.put(`<path class="new" d="M%d %dh14"/>`, x, y+deviceSize-2)
		}
		c.text("p", x+24, y+26, text)
	}
	c.at += 48
}
