package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/allotsched/allot"
)

// runLevels sets the levels of the topology, the widest first.
func (w *world) runLevels(st statement) error {
	if len(st.args) != 1 {
		return st.command.errorf("levels needs their names, the widest first, or none")
	}
	if st.args[0].text == none {
		w.state.Levels = nil
		return nil
	}
	names, err := unquoteAll(st.args[0].text)
	if err != nil {
		return st.args[0].errorf("%v", err)
	}
	w.state.Levels = nil
	for _, name := range names {
		w.state.Levels = append(w.state.Levels, allot.Level{Name: name})
	}
	return nil
}

// formatLevels writes what runLevels reads.
func formatLevels(levels []allot.Level) string {
	if len(levels) == 0 {
		return ""
	}
	names := make([]string, len(levels))
	for i := range levels {
		names[i] = quoteOrNone(levels[i].Name)
	}
	return newLine("levels", strings.Join(names, ",")).String()
}

// nameOrNone reads a name, where none takes it away.
func nameOrNone(text string) (string, error) {
	if text == none {
		return "", nil
	}
	return unquote(text)
}

// namesOrNone reads a list of names, where none is the empty one.
func namesOrNone(text string) ([]string, error) {
	if text == none {
		return nil, nil
	}
	return unquoteAll(text)
}

// quoteOrNone writes a name as nameOrNone reads it.
func quoteOrNone(name string) string {
	if name == none {
		return strconv.Quote(name)
	}
	return quote(name)
}

// domainPrefix is before a level of which the name alone would say something else.
const domainPrefix = "domain."

// domainKey is how the domain of a node at a level is written: by the level alone
// where it is listed and is no other argument.
func domainKey(levels []allot.Level, level string) string {
	key := quote(level)
	if key != level || nodeKey(level) || !slices.Contains(levels, allot.Level{Name: level}) {
		return domainPrefix + key
	}
	return key
}

// nodeKey tells the arguments of nodes.
func nodeKey(key string) bool {
	_, resource := resourceOf(strings.TrimPrefix(key, "foreign."))
	return resource || strings.HasPrefix(key, domainPrefix) || slices.Contains([]string{
		"gpu", "devices", "model", "gpumem", "unhealthy", "foreign.gpu", "hardware", "sockets", "switches", "links",
		"slots", "foreign.slots", "label", "taint", "class", "rank", "cordoned", "lost",
	}, key)
}

// readDomain reads LEVEL=NAME or domain.LEVEL=NAME; none takes it away.
func (c *nodeChange) readDomain(a arg) (known bool, err error) {
	level, prefixed := strings.CutPrefix(a.key, domainPrefix)
	if !prefixed && !slices.Contains(c.levels, allot.Level{Name: level}) {
		return false, nil
	}
	if level, err = unquote(level); err != nil {
		return true, a.errorf("%v", err)
	}
	domain, err := read(a, unquote)
	c.do(func(n *allot.Node) {
		// Several nodes may share the map.
		n.Domains = withLabel(n.Domains, [2]string{level, domain})
		if a.value == none {
			delete(n.Domains, level)
		}
	})
	return true, err
}

// readInside reads what is said of how devices are joined.
func (c *nodeChange) readInside(a arg) error {
	switch a.key {
	case "hardware":
		name, err := read(a, nameOrNone)
		c.do(func(n *allot.Node) { n.Hardware = name })
		return err
	case "links":
		links, err := read(a, parseLinks)
		c.do(func(n *allot.Node) { n.Links = slices.Clone(links) })
		return err
	}
	number, err := read(a, parseIslands)
	c.do(func(n *allot.Node) {
		for i := range n.Devices {
			if a.key == "sockets" {
				n.Devices[i].Socket = number[i]
			} else {
				n.Devices[i].Switch = number[i]
			}
		}
	})
	return err
}

// parseLinks reads a list of A-B:NVLINKS.
func parseLinks(text string) ([]allot.Link, error) {
	if text == none {
		return nil, nil
	}
	var links []allot.Link
	for _, part := range strings.Split(text, ",") {
		var l allot.Link
		pair, count, counted := strings.Cut(part, ":")
		a, b, paired := strings.Cut(pair, "-")
		for _, number := range []struct {
			target *int
			text   string
		}{{&l.A, a}, {&l.B, b}, {&l.NVLinks, count}} {
			var err error
			if *number.target, err = natural(number.text); err != nil || !counted || !paired {
				return nil, misshapen(err, part, "A-B:NVLINKS")
			}
		}
		links = append(links, l)
	}
	return links, nil
}

// parseIslands reads a list of INDEX[-INDEX]:NUMBER, by device.
func parseIslands(text string) (map[int]int, error) {
	numbered := map[int]int{}
	if text == none {
		return numbered, nil
	}
	for _, part := range strings.Split(text, ",") {
		devices, number, _ := strings.Cut(part, ":")
		n, err := natural(number)
		if err != nil {
			return nil, misshapen(err, part, "DEVICES:NUMBER")
		}
		list, err := numbers(devices)
		if err != nil {
			return nil, err
		}
		for _, index := range list {
			numbered[index] = n
		}
	}
	return numbered, nil
}

// inside writes what readInside reads.
func (l *line) inside(n *allot.Node) {
	if n.Hardware != "" {
		l.add("hardware", quoteOrNone(n.Hardware))
	}
	l.islands("sockets", n.Devices, func(d *allot.Device) int { return d.Socket })
	l.islands("switches", n.Devices, func(d *allot.Device) int { return d.Switch })
	var links []string
	for _, link := range n.Links {
		links = append(links, fmt.Sprintf("%d-%d:%d", link.A, link.B, link.NVLinks))
	}
	if len(links) > 0 {
		l.add("links", strings.Join(links, ","))
	}
}

// islands writes what parseIslands reads, where something is numbered.
func (l *line) islands(key string, devices []allot.Device, number func(*allot.Device) int) {
	var parts []string
	for from := 0; from < len(devices); {
		n := number(&devices[from])
		var same []int
		for ; from < len(devices) && number(&devices[from]) == n; from++ {
			same = append(same, from)
		}
		if n != 0 {
			parts = append(parts, formatNumbers(same)+":"+strconv.Itoa(n))
		}
	}
	if len(parts) > 0 {
		l.add(key, strings.Join(parts, ","))
	}
}

// readTopology reads the constraint of what was named last: the workload, a form,
// a group or a pod set. Slices are of the pod set.
func (d *definition) readTopology(a arg) (known bool, err error) {
	switch a.key {
	case "require":
		return true, set(&d.topology.Required, a, nameOrNone)
	case "prefer":
		return true, set(&d.topology.Preferred, a, nameOrNone)
	case "mode":
		return true, set(&d.topology.Mode, a, fromText)
	case "slices":
		return true, set(&d.podSet().Topology.Slices, a, parseSlices)
	}
	return false, nil
}

// parseCounted reads a list, or none, of how many of what: a number, an @ and what of says.
func parseCounted[T any](text, form string, of func(n int, what string) (T, error)) (list []T, err error) {
	if text == none {
		return nil, nil
	}
	for _, part := range split(text, ",") {
		number, what, ok := cut(part, "@")
		n, err := integer[int](number)
		if err != nil || !ok {
			return nil, misshapen(err, part, form)
		}
		one, err := of(n, what)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// parseSlices reads a list of SIZE@LEVEL.
func parseSlices(text string) ([]allot.Slice, error) {
	return parseCounted(text, "SIZE@LEVEL", func(n int, what string) (allot.Slice, error) {
		level, err := unquote(what)
		return allot.Slice{Size: n, Level: level}, err
	})
}

// topology writes what readTopology reads, but for slices.
func (l *line) topology(t *allot.Topology) {
	if t.Required != "" {
		l.add("require", quoteOrNone(t.Required))
	}
	if t.Preferred != "" {
		l.add("prefer", quoteOrNone(t.Preferred))
	}
	if t.Mode != 0 {
		l.add("mode", t.Mode.String())
	}
}

func (l *line) slices(t *allot.Topology) {
	var parts []string
	for _, s := range t.Slices {
		parts = append(parts, strconv.Itoa(s.Size)+"@"+quote(s.Level))
	}
	if len(parts) > 0 {
		l.add("slices", strings.Join(parts, ","))
	}
}
