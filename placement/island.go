package placement

import (
	"fmt"
	"strings"
)

// An Island is what the devices of one task have in common inside a node (T4). An
// island is a set of devices of which every two are joined so, or more tightly.
type Island uint8

const (
	// AnyIsland is the whole node.
	AnyIsland Island = iota
	// SocketIsland: the devices hang on one NUMA socket.
	SocketIsland
	// SwitchIsland: the devices hang on one PCIe switch.
	SwitchIsland
	// NVLinkIsland: NVLinks join every two of the devices, directly or by an
	// NVSwitch.
	NVLinkIsland
)

var islands = [...]string{AnyIsland: "any", SocketIsland: "socket", SwitchIsland: "switch", NVLinkIsland: "nvlink"}

// Valid reports whether i is one of the constants.
func (i Island) Valid() bool { return int(i) < len(islands) }

// String returns the text form: "any", "socket", "switch" or "nvlink".
func (i Island) String() string {
	if i.Valid() {
		return islands[i]
	}
	return fmt.Sprintf("Island(%d)", uint8(i))
}

// MarshalText returns the text form; a value that is not valid is an error.
func (i Island) MarshalText() ([]byte, error) {
	if !i.Valid() {
		return nil, fmt.Errorf("placement: no Island %d", uint8(i))
	}
	return []byte(islands[i]), nil
}

// UnmarshalText reads the text form; any other text is an error and leaves i as
// it was.
func (i *Island) UnmarshalText(text []byte) error {
	for n, known := range islands {
		if known == string(text) {
			*i = Island(n)
			return nil
		}
	}
	return fmt.Errorf("placement: no Island %q: there is %s", text, strings.Join(islands[:], ", "))
}

// MaxNVLinks is the most NVLinks that may join two devices.
const MaxNVLinks = 64
