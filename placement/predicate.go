package placement

// A Predicate is one of the conditions of P1. The constants stand in the
// order in which a node is tested; a node is counted under the first one that
// fails. There is no zero Predicate. The text forms are stable.
type Predicate uint8

const (
	// NodeSet: the queue may use the node.
	NodeSet Predicate = iota + 1
	// Reserved: neither the node nor all devices that the request accepts there are
	// closed to it (B9).
	Reserved
	// Cordoned: the node is schedulable.
	Cordoned
	// NodeClass: the node's class is accepted.
	NodeClass
	// Labels: the selector matches the node's labels.
	Labels
	// Taints: every taint is tolerated.
	Taints
	// Model: the node has a device of an accepted model.
	Model
	// DeviceMemory: one of them has enough memory in all.
	DeviceMemory
	// DeviceCount: enough of them, of one model, are healthy, each with enough
	// left beside foreign use.
	DeviceCount
	// IslandSize: as many of those are in one island of the kind that is required
	// (T4).
	IslandSize
	// Capacity: the empty node has enough of every resource.
	Capacity
	// TaskSlots: a task slot is free. A node that has none even when empty
	// fails it too.
	TaskSlots
	// CPUOnlySlots: a place for a task without devices is free (P7).
	CPUOnlySlots
	// Resources: enough of every resource is free.
	Resources
	// FreeDevices: enough devices of one model are free.
	FreeDevices
	// Fragmented stands in for FreeDevices where enough is free in all, but
	// in pieces on too many devices: a fraction never crosses devices (P2).
	Fragmented
	// FreeIsland: as many of the free devices are in one island of the kind that is
	// required (T4).
	FreeIsland
)

var predicateNames = []string{
	"", "node-set", "reserved", "cordoned", "class", "labels", "taints", "model", "device-memory", "device-count", "island-size",
	"capacity", "slots", "cpu-only-slots", "resources", "free-devices", "fragmented", "free-island",
}

// Static reports whether the predicate depends on the node's description only:
// no task that ends will make it true.
func (p Predicate) Static() bool { return p <= Capacity }

// Valid reports whether p is one of the constants above.
func (p Predicate) Valid() bool { return p > 0 && int(p) < len(predicateNames) }

// String returns the text form.
// The texts are "node-set", "reserved", "cordoned", "class", "labels",
// "taints", "model", "device-memory", "device-count", "island-size", "capacity",
// "slots", "cpu-only-slots", "resources", "free-devices", "fragmented" and
// "free-island".
func (p Predicate) String() string { return nameOf("predicate", predicateNames, uint8(p)) }

// MarshalText returns the text form, "" for the zero value; any other value
// that is not [Predicate.Valid] is an error.
func (p Predicate) MarshalText() ([]byte, error) {
	return marshalName("predicate", predicateNames, uint8(p))
}

// UnmarshalText reads the text form; any other text is an error and leaves p
// as it was.
func (p *Predicate) UnmarshalText(text []byte) error {
	v, err := unmarshalName("predicate", predicateNames, text)
	if err == nil {
		*p = Predicate(v)
	}
	return err
}
