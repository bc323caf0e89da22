package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/examples/allot/internal/words"
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
		kinds := kindsOf(works, len(works) > legendMost)
		for _, k := range kinds[:min(len(kinds), legendMost)] {
			c.entry(k)
		}
		if more := len(kinds) - legendMost; more > 0 {
			left := 0
			for _, k := range kinds[legendMost:] {
				left += len(k)
			}
			c.at += 34
			c.text("p q", margin+entryIndent, c.at, fmt.Sprintf("and %d more", left))
		}
		c.at += 22
	}
	return c.String(), c.at
}

const entryIndent = 54

// kindsOf are the workloads of a role one by one, or where alike is asked for those of
// a queue that ask the same and wait for the same kind of reason together, the most
// first.
func kindsOf(works []*work, alike bool) (kinds [][]*work) {
	at := make(map[string]int)
	for _, w := range works {
		key := w.queue() + "\x00" + w.asks() + "\x00" + w.code
		i, ok := at[key]
		if !ok || !alike {
			i = len(kinds)
			at[key] = i
			kinds = append(kinds, nil)
		}
		kinds[i] = append(kinds[i], w)
	}
	if alike {
		slices.SortStableFunc(kinds, func(a, b []*work) int { return cmp.Compare(len(b), len(a)) })
	}
	return kinds
}

// entry is a workload of the legend, or several alike ones.
func (c *canvas) entry(alike []*work) {
	w := alike[0]
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
	name, asks := w.called(), w.asks()+w.where()
	if len(alike) > 1 {
		name, asks = fmt.Sprintf("%d of queue %s", len(alike), words.QueueName(w.queue())), "each "+w.asks()+"; such as "+w.ID+w.where()
	}
	c.at += 26
	c.text("b", x+entryIndent, c.at, cut(name, 28, room))
	c.lines("p q", asks, x+entryIndent, room)
	for _, what := range w.what[:min(len(w.what), reasonsShown)] {
		c.lines("p", what, x+entryIndent, room)
	}
	c.at = max(c.at, y+deviceSize) + 6
}

// called is a workload's name with its queue.
func (w *work) called() string {
	if w.Queue != "" && !strings.HasPrefix(w.ID, w.Queue+"/") {
		return w.ID + " (" + w.Queue + ")"
	}
	return w.ID
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
		c.cellSigns()
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

// cellSigns explains the cells of a summary, and whose colour is which.
func (c *canvas) cellSigns() {
	for i, text := range []string{"idle", "half in use", "something starts", "something left", "cordoned, lost, unhealthy"} {
		x, y := margin+[]int{0, 130, 340, 580, 0}[i], c.at+i/4*40
		c.put(`<rect class="g" style="stroke-width:2" x="%d" y="%d" width="%d" height="%d"/>`, x, y, cellSize, cellSize)
		switch i {
		case 1:
			c.put(`<path class="c0" d="M%d %dh%dv%dh-%dz"/>`, x, y+cellSize/2, cellSize, cellSize/2, cellSize)
		case 2:
			c.put(`<path class="new" style="stroke-width:3" d="M%d %dh%dv%dh-%dz"/>`, x, y, cellSize, cellSize, cellSize)
		case 3:
			c.put(`<path class="tri" d="M%d %dh-9l9 9z"/>`, x+cellSize, y)
		case 4:
			c.put(`<path class="x" style="stroke-width:2" d="M%d %dl12 12m0 -12l-12 12"/>`, x+4, y+4)
		}
		c.text("p", x+30, y+18, text)
	}
	c.at += 84
	x := margin
	for i, queue := range c.queues {
		if i == queuesShown && len(c.queues) > queuesShown+1 {
			c.at += 36
			c.text("p q", margin, c.at+18, fmt.Sprintf("and %d more queues", len(c.queues)-i))
			break
		}
		name := cut(words.QueueName(queue), 23, columnWidth-2*margin-40)
		if x > margin && x+width(name, 23)+60 > columnWidth-margin {
			x = margin
			c.at += 36
		}
		c.put(`<rect class="c%d" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, i%len(hues), x, c.at, cellSize, cellSize)
		c.text("p", x+30, c.at+18, name)
		x += width(name, 23) + 60
	}
	c.at += 48
}

// queuesShown is how many queues are told with their colours.
const queuesShown = 24
