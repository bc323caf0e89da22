package allot

import (
	"slices"
	"strconv"

	"github.com/allotsched/allot/placement"
)

// checkLevels checks the levels and numbers them: from 1, the widest, to that of
// the nodes (T1).
func (c *checker) checkLevels(at *path) {
	levels := c.s.Levels
	list := at.field("levels")
	if len(levels) > maxLevels {
		c.fault(&list, FaultTooMany, strconv.Itoa(len(levels)), "must be at most "+strconv.Itoa(maxLevels))
	}
	c.levels = make(map[string]placement.Level, len(levels)+1)
	for i := range levels {
		below := list.at(i)
		name := levels[i].Name
		c.name(&below, "name", name)
		switch first, twice := c.levels[name]; {
		case name == NodeLevel:
			c.faultAt(&below, "name", FaultDuplicate, strconv.QuoteToASCII(name), "must not be the name of the level of nodes, which is always there")
		case twice && name != "":
			c.duplicate(&list, i, "name", name, int(first)-1)
		default:
			c.levels[name] = placement.Level(i + 1)
		}
	}
	c.levels[NodeLevel] = placement.Level(len(levels) + 1)
	delete(c.levels, "")
}

// domains checks the field "domains" of a node.
func (c *checker) domains(at *path, domains map[string]string) {
	if len(domains) == 0 {
		return
	}
	below := at.field("domains")
	for level, domain := range domains { // the faults are sorted in the end
		entry := below.key(level)
		if _, listed := c.levels[level]; !listed || level == NodeLevel {
			c.fault(&entry, FaultUnknownLevel, strconv.QuoteToASCII(level), "must name a level that is listed")
		}
		if !soundText(domain) {
			c.unsoundText(&entry, domain)
		}
	}
}

// hardware checks the field "hardware" of a node.
func (c *checker) hardware(at *path, n *Node) {
	if n.Hardware == "" {
		return
	}
	hardware, known := placement.HardwareNamed(n.Hardware)
	switch devices := hardware.Devices(); {
	case !known:
		c.faultAt(at, "hardware", FaultUnknownHardware, strconv.QuoteToASCII(n.Hardware), "must name a known hardware")
	case len(n.Devices) != devices:
		c.faultAt(at, "devices", FaultDeviceCount, strconv.Itoa(len(n.Devices)), "must be the "+strconv.Itoa(devices)+" devices of "+n.Hardware)
	}
}

// links checks the field "links" of a node: each pair of two devices once.
func (c *checker) links(at *path, n *Node) {
	list := at.field("links")
	const pairs = maxDevices * (maxDevices - 1) / 2
	if len(n.Links) > pairs {
		c.fault(&list, FaultTooMany, strconv.Itoa(len(n.Links)), "must be at most "+strconv.Itoa(pairs))
		return
	}
	var seen [maxDevices]uint64
	for i := range n.Links {
		link := &n.Links[i]
		below := list.at(i)
		c.within(&below, "nvlinks", int64(link.NVLinks), 0, placement.MaxNVLinks)
		a, b := min(link.A, link.B), max(link.A, link.B)
		devices := min(len(n.Devices), maxDevices)
		switch {
		case a < 0 || b >= devices:
			c.linkEnd(&below, "a", link.A, devices)
			c.linkEnd(&below, "b", link.B, devices)
		case a == b:
			c.faultAt(&below, "b", FaultDeviceTwice, strconv.Itoa(b), "must be another device than a")
		case seen[a]&(1<<b) != 0:
			first := slices.IndexFunc(n.Links, func(l Link) bool { return min(l.A, l.B) == a && max(l.A, l.B) == b })
			there := list.at(first)
			c.fault(&below, FaultDuplicate, strconv.Itoa(a)+" and "+strconv.Itoa(b), "must be of another pair than "+there.String())
		default:
			seen[a] |= 1 << b
		}
	}
}

// linkEnd reports an end of a link that is no device.
func (c *checker) linkEnd(at *path, field string, index, devices int) {
	if index < 0 || index >= devices {
		c.faultAt(at, field, FaultUnknownDevice, strconv.Itoa(index), "must be the index of one of the "+strconv.Itoa(devices)+" devices")
	}
}

// topology checks the field "topology" of a workload, form or group, which has no
// slices.
func (c *checker) topology(at *path, t *Topology) {
	below := at.field("topology")
	c.constraint(&below, t)
	if len(t.Slices) > 0 {
		c.faultAt(&below, "slices", FaultSlice, strconv.Itoa(len(t.Slices)), "must not be there: slices are of a pod set (T3)")
	}
}

// constraint checks levels and mode and returns the number of the preferred level;
// 0 is the whole cluster.
func (c *checker) constraint(at *path, t *Topology) (preferred placement.Level) {
	required := c.level(at, "required", t.Required)
	preferred = c.level(at, "preferred", t.Preferred)
	if preferred == 0 {
		preferred = required
	}
	if preferred < required {
		c.faultAt(at, "preferred", FaultLevelOrder, strconv.QuoteToASCII(t.Preferred), "must be no wider than the required level")
	}
	enum(c, at, "mode", t.Mode)
	if t.Mode != 0 && t.Required == "" && t.Preferred == "" {
		c.faultAt(at, "mode", FaultLevelRequired, t.Mode.String(), "must stand beside a required or preferred level")
	}
	return preferred
}

// level finds a level by name; 0, which is the whole cluster, for none.
func (c *checker) level(at *path, field, name string) placement.Level {
	if name == "" {
		return 0
	}
	level, ok := c.levels[name]
	if !ok {
		c.faultAt(at, field, FaultUnknownLevel, strconv.QuoteToASCII(name), "must name a level")
	}
	return level
}

// setTopology checks the field "topology" of a pod set, slices included (T3).
func (c *checker) setTopology(at *path, p *PodSet) {
	below := at.field("topology")
	around := c.constraint(&below, &p.Topology)
	list := below.field("slices")
	for i := range p.Topology.Slices {
		slice := &p.Topology.Slices[i]
		here := list.at(i)
		if slice.Level == "" {
			c.faultAt(&here, "level", FaultEmpty, `""`, "must not be empty")
		} else if level := c.level(&here, "level", slice.Level); level != 0 {
			if level < around || i > 0 && level == around {
				c.faultAt(&here, "level", FaultLevelOrder, strconv.QuoteToASCII(slice.Level), "must be narrower than the level before, and no wider than the preferred")
			}
			around = level
		}
		if !c.within(&here, "size", int64(slice.Size), 1, maxCount) {
			continue
		}
		switch {
		case i > 0 && p.Topology.Slices[i-1].Size%slice.Size != 0:
			c.sliceFault(&here, slice.Size, "the size before, "+strconv.Itoa(p.Topology.Slices[i-1].Size))
		case i == 0 && p.Count > 0 && p.Count%slice.Size != 0:
			c.sliceFault(&here, slice.Size, "the count, "+strconv.Itoa(p.Count))
		case i == 0 && p.Min > 0 && p.Min%slice.Size != 0:
			c.sliceFault(&here, slice.Size, "the minimum, "+strconv.Itoa(p.Min))
		}
	}
}

func (c *checker) sliceFault(at *path, size int, whole string) {
	c.faultAt(at, "size", FaultSlice, strconv.Itoa(size), "must divide "+whole)
}

// islands checks the islands that a task asks for (T4).
func (c *checker) islands(at *path, g *GPURequest) {
	enum(c, at, "island", g.Island)
	enum(c, at, "preferIsland", g.PreferIsland)
	if g.devices() == 0 {
		if g.Island != 0 {
			c.faultAt(at, "island", FaultDevicesRequired, g.Island.String(), "must stand beside devices")
		}
		if g.PreferIsland != 0 {
			c.faultAt(at, "preferIsland", FaultDevicesRequired, g.PreferIsland.String(), "must stand beside devices")
		}
	}
	if g.PreferIsland != 0 && g.PreferIsland < g.Island {
		c.faultAt(at, "preferIsland", FaultLevelOrder, g.PreferIsland.String(), "must be no wider than the island")
	}
}
