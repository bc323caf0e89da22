package placement

import (
	"encoding/binary"
	"slices"
)

// A layout is what devices a node has, whatever their health and use. Nodes
// share few of them: 1,213 nodes of a real cluster have 8.
type layout struct {
	memory []int64 // by device
	// scale is max(1, memory): a device is 1000 × scale units, so a milli is
	// scale units and a byte 1000, and no fraction is ever rounded (P2).
	scale  []int64
	groups []group
	mesh   *mesh // nil where nothing is known
	parts  []Part
}

// A group is the devices of one model: those of a task are of one (P2).
type group struct {
	model int32
	mask  uint64
}

// total is the whole device in share units.
func (l *layout) total(device int) int64 { return 1000 * l.scale[device] }

// all is every device.
func (l *layout) all() uint64 { return lowest(len(l.scale)) }

// lowest returns a mask of the n lowest bits, 0 ≤ n ≤ 64.
func lowest(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

func newLayout(devices []Device, parts []Part, near []uint8) layout {
	l := layout{parts: slices.Clone(parts)}
	if len(near) > 0 {
		l.mesh = newMesh(len(devices), near)
	}
	for i, d := range devices {
		l.memory = append(l.memory, d.Memory)
		l.scale = append(l.scale, max(1, d.Memory))
		at := slices.IndexFunc(l.groups, func(g group) bool { return g.model == d.Model })
		if at < 0 {
			at = len(l.groups)
			l.groups = append(l.groups, group{model: d.Model})
		}
		l.groups[at].mask |= 1 << i
	}
	return l
}

// closed are the devices that belong to one of these sets by themselves.
func (l *layout) closed(sets []int32) (mask uint64) {
	for _, part := range l.parts {
		if slices.Contains(sets, part.Set) {
			mask |= part.Devices
		}
	}
	return mask
}

// layoutKey tells layouts from each other; near is empty where nothing is known.
func layoutKey(devices []Device, parts []Part, near []uint8) string {
	var key []byte
	for _, d := range devices {
		key = binary.AppendVarint(key, int64(d.Model))
		key = binary.AppendVarint(key, d.Memory)
	}
	if len(parts) > 0 {
		key = append(key, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1) // no model
		for _, part := range parts {
			key = binary.AppendUvarint(binary.AppendVarint(key, int64(part.Set)), part.Devices)
		}
	}
	if len(near) > 0 {
		key = append(key, 0) // of one length no two lists read alike
		key = append(key, near...)
	}
	return string(key)
}

// laidOutAlike says whether two nodes have one layout as nothing that it follows from is otherwise.
func laidOutAlike(a, b *Node) bool {
	return slices.EqualFunc(a.Devices, b.Devices, func(c, d Device) bool {
		return c.Model == d.Model && c.Memory == d.Memory && c.Switch == d.Switch && c.Socket == d.Socket
	}) && slices.Equal(a.Links, b.Links) && slices.Equal(a.Parts, b.Parts)
}

// A kind is an equivalence class of nodes: what they have in common that decides,
// together with labels, whether a shape is allowed there at all.
type kind struct {
	layout   int32
	class    int32
	sets     []int32
	taints   []Taint
	cordoned bool
}

func (k *kind) key() string {
	key := binary.AppendVarint(nil, int64(k.layout))
	key = binary.AppendVarint(key, int64(k.class))
	key = binary.AppendUvarint(key, uint64(len(k.sets)))
	for _, set := range k.sets {
		key = binary.AppendVarint(key, int64(set))
	}
	key = binary.AppendUvarint(key, uint64(len(k.taints)))
	for _, t := range k.taints {
		key = appendText(key, t.Key)
		key = appendText(key, t.Value)
		key = append(key, byte(t.Effect))
	}
	if k.cordoned {
		key = append(key, 1)
	}
	return string(key)
}

// appendText appends a string so that no two lists of strings read alike.
func appendText(key []byte, s string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(s))), s...)
}
