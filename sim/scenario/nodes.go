package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allotsched/allot"
	"github.com/allotsched/allot/placement"
)

// A nodeChange is what a 'nodes' statement says; nil leaves alone.
type nodeChange struct {
	set     []func(*allot.Node) // in the order of the arguments
	devices *[]allot.Device     // gpu= or devices=
	model   *string
	memory  *int64
	levels  []allot.Level
}

// runNodes makes or changes the nodes that its first argument names.
func (w *world) runNodes(st statement) error {
	names, args, err := subject(st)
	if err != nil {
		return err
	}
	change := nodeChange{levels: w.state.Levels}
	for _, a := range args {
		if err := change.read(a); err != nil {
			return err
		}
	}
	for _, name := range names {
		n := w.node(name)
		if n == nil {
			w.state.Nodes = append(w.state.Nodes, allot.Node{ID: name})
			n = &w.state.Nodes[len(w.state.Nodes)-1]
		}
		change.apply(n)
	}
	return nil
}

// node is the node of that name, nil if there is none.
func (w *world) node(name string) *allot.Node {
	at := slices.IndexFunc(w.state.Nodes, func(n allot.Node) bool { return n.ID == name })
	if at < 0 {
		return nil
	}
	return &w.state.Nodes[at]
}

// apply makes the change. Devices come first: what concerns single ones needs
// them to be there.
func (c *nodeChange) apply(n *allot.Node) {
	if c.devices != nil {
		n.Devices = slices.Clone(*c.devices)
	}
	for i := range n.Devices {
		if c.model != nil {
			n.Devices[i].Model = *c.model
		}
		if c.memory != nil {
			n.Devices[i].Memory = *c.memory
		}
	}
	for _, set := range c.set {
		set(n)
	}
}

// read takes one argument.
func (c *nodeChange) read(a arg) error {
	switch a.key {
	case "gpu":
		return c.count(a)
	case "devices":
		devices, err := read(a, parseDevices)
		c.devices = &devices
		return err
	case "model":
		model, err := read(a, unquote)
		c.model = &model
		return err
	case "gpumem":
		memory, err := read(a, bytes)
		c.memory = &memory
		return err
	case "unhealthy", "foreign.gpu":
		return c.readDevices(a)
	case "cordoned", "lost":
		var value bool
		if err := a.flag(&value); err != nil {
			return err
		}
		c.do(func(n *allot.Node) {
			if a.key == "lost" {
				n.Lost = value
			} else {
				n.Cordoned = value
			}
		})
		return nil
	case "slots", "foreign.slots", "rank":
		return c.readNumber(a)
	case "class":
		class, err := read(a, unquote)
		c.do(func(n *allot.Node) { n.Class = class })
		return err
	case "label", "taint":
		return c.readMark(a)
	case "hardware", "sockets", "switches", "links":
		return c.readInside(a)
	}
	if nodeKey(a.key) && !strings.HasPrefix(a.key, domainPrefix) {
		return c.readAmount(a)
	}
	known, err := c.readDomain(a)
	if !known {
		return a.unknown("nodes")
	}
	return err
}

func (c *nodeChange) do(set func(*allot.Node)) { c.set = append(c.set, set) }

func (c *nodeChange) count(a arg) error {
	count, err := read(a, integer[int])
	if err != nil {
		return err
	}
	if count < 0 || count > maxRange {
		return a.errorf("gpu: %v", errRange)
	}
	devices := make([]allot.Device, count)
	c.devices = &devices
	return nil
}

// readDevices reads what is said of single devices; the others become healthy
// or free of foreign use.
func (c *nodeChange) readDevices(a arg) error {
	use, err := read(a, parseDeviceUse)
	if err != nil {
		return err
	}
	if a.key == "unhealthy" && len(indexes(a.value, ":")) > 0 {
		return a.errorf("unhealthy is a device as a whole")
	}
	c.do(func(n *allot.Node) {
		for i := range n.Devices {
			amount, named := use[i]
			if a.key == "unhealthy" {
				n.Devices[i].Unhealthy = named
			} else {
				n.Devices[i].Foreign = amount
			}
		}
	})
	return nil
}

func (c *nodeChange) readNumber(a arg) error {
	value, err := read(a, integer[int64])
	if err != nil {
		return err
	}
	c.do(func(n *allot.Node) {
		switch a.key {
		case "slots":
			n.MaxTasks = int(value)
		case "foreign.slots":
			n.ForeignTasks = int(value)
		default:
			n.Rank = value
		}
	})
	return nil
}

func (c *nodeChange) readMark(a arg) error {
	if a.key == "taint" {
		taint, err := read(a, parseTaint)
		c.do(func(n *allot.Node) { n.Taints = append(slices.Clip(n.Taints), taint) })
		return err
	}
	label, err := read(a, parsePair)
	c.do(func(n *allot.Node) { n.Labels = withLabel(n.Labels, label) })
	return err
}

// readAmount reads capacity and foreign use.
func (c *nodeChange) readAmount(a arg) error {
	key, foreign := strings.CutPrefix(a.key, "foreign.")
	resource, ok := resourceOf(key)
	if !ok {
		return a.unknown("nodes")
	}
	var scratch map[string]int64 // to find faults now
	if err := a.amountIn(&scratch, resource); err != nil {
		return err
	}
	c.do(func(n *allot.Node) {
		target := &n.Capacity
		if foreign {
			target = &n.Foreign
		}
		_ = a.amountIn(target, resource) // read without a fault above
	})
	return nil
}

// parseDevices reads a list of COUNTx[MODEL][:MEMORY].
func parseDevices(text string) ([]allot.Device, error) {
	var devices []allot.Device
	for _, part := range split(text, ",") {
		digits, kind, ok := strings.Cut(part, "x")
		count, err := natural(digits)
		if !ok || err != nil {
			return nil, misshapen(err, part, "COUNTxMODEL:MEMORY")
		}
		if count > maxRange {
			return nil, errRange
		}
		model, memory, hasMemory := cut(kind, ":")
		device := allot.Device{}
		if model != "" {
			if device.Model, err = unquote(model); err != nil {
				return nil, err
			}
		}
		if hasMemory {
			if device.Memory, err = bytes(memory); err != nil {
				return nil, err
			}
		}
		devices = append(devices, slices.Repeat([]allot.Device{device}, count)...)
	}
	return devices, nil
}

// parseDeviceUse reads a list of INDEX[-INDEX][:AMOUNT]; without an amount it
// is the whole device. Of none nothing is said.
func parseDeviceUse(text string) (map[int]int64, error) {
	use := map[int]int64{}
	if text == none {
		return use, nil
	}
	for _, part := range strings.Split(text, ",") {
		indexes, share, partly := strings.Cut(part, ":")
		list, err := numbers(indexes)
		if err != nil {
			return nil, err
		}
		amount := int64(1000)
		if partly {
			if amount, err = milli(share); err != nil {
				return nil, err
			}
		}
		for _, index := range list {
			use[index] = amount
		}
	}
	return use, nil
}

// parsePair reads KEY:VALUE.
func parsePair(text string) ([2]string, error) {
	var pair [2]string
	key, value, ok := cut(text, ":")
	if !ok {
		return pair, fmt.Errorf("%q is not KEY:VALUE", text)
	}
	var err error
	if pair[0], err = unquote(key); err == nil {
		pair[1], err = unquote(value)
	}
	return pair, err
}

// withLabel is the labels and one more; labels is not changed, since several
// nodes may share it.
func withLabel(labels map[string]string, label [2]string) map[string]string {
	with := map[string]string{label[0]: label[1]}
	for key, value := range labels { // into a map: the order cannot matter
		if key != label[0] {
			with[key] = value
		}
	}
	return with
}

// parseTaint reads KEY[=VALUE][:EFFECT].
func parseTaint(text string) (placement.Taint, error) {
	var taint placement.Taint
	mark, effect, hasEffect := cut(text, ":")
	key, value, hasValue := cut(mark, "=")
	var err error
	if taint.Key, err = unquote(key); err != nil {
		return taint, err
	}
	if hasValue {
		if taint.Value, err = unquote(value); err != nil {
			return taint, err
		}
	}
	if hasEffect {
		taint.Effect, err = fromText[placement.Effect](effect)
	}
	return taint, err
}

// runHealth carries out lose, restore, cordon and uncordon on nodes or, where
// devices are named, lose and restore on those.
func (w *world) runHealth(st statement) error {
	if len(st.args) == 0 {
		return st.command.errorf("%s needs a node", st.command.text)
	}
	for _, target := range st.args {
		list, devices, hasDevices := cut(target.text, "[")
		names, err := expand(list)
		if err != nil {
			return target.errorf("%v", err)
		}
		for _, name := range names {
			n := w.node(name)
			if n == nil {
				return target.errorf("there is no node %q", name)
			}
			if !hasDevices {
				setHealth(n, st.command.text)
			} else if err := setDeviceHealth(n, st.command.text, devices); err != nil {
				return target.errorf("%v", err)
			}
		}
	}
	return nil
}

func setHealth(n *allot.Node, command string) {
	switch command {
	case "lose":
		n.Lost = true
	case "restore":
		n.Lost = false
	case "cordon":
		n.Cordoned = true
	case "uncordon":
		n.Cordoned = false
	}
}

func setDeviceHealth(n *allot.Node, command, text string) error {
	list, closed := strings.CutSuffix(text, "]")
	if !closed || command == "cordon" || command == "uncordon" {
		return fmt.Errorf("%s takes no such devices", command)
	}
	indexes, err := numbers(list)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if index >= len(n.Devices) {
			return fmt.Errorf("node %q has no device %d", n.ID, index)
		}
		n.Devices[index].Unhealthy = command == "lose"
	}
	return nil
}
