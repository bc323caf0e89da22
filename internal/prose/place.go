package prose

import "strings"

// Member is a thing by its name and that of what it belongs to: group/name, or the
// name alone where there is no group or the name begins with it.
func Member(group, name string) string {
	if group == "" || strings.HasPrefix(name, group+"/") {
		return Word(name)
	}
	return Word(group + "/" + name)
}

// Numbered are things of one name by their numbers: "workers[0-3]", or "[0-3]" where
// they have no name.
func Numbered(name string, numbers []int) string {
	if name != "" {
		name = Word(name)
	}
	return name + Ranges(numbers)
}

// A Place is a node, and the devices on it, if any.
type Place struct {
	Node    string
	Devices []int
}

// Places are places in their order, with spaces between: "n0[0-3]", or "n1*3" for
// three in a row on one node without devices.
func Places(places []Place) string {
	var parts []string
	for len(places) > 0 {
		n, text := 1, Word(places[0].Node)
		if len(places[0].Devices) > 0 {
			text += Ranges(places[0].Devices)
		} else {
			for n < len(places) && places[n].Node == places[0].Node && len(places[n].Devices) == 0 {
				n++
			}
		}
		if n > 1 {
			text += "*" + Decimal(n)
		}
		parts = append(parts, text)
		places = places[n:]
	}
	return strings.Join(parts, " ")
}
